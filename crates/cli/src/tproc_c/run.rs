//! `run`: a number of virtual users, for a time, once or several times from the same start.

use iolite_engine::Control;
use iolite_model::{Bytes, Concluded, Iops, Nanos, Task};
use iolite_results::RunRequest;
use iolite_suites::Repeat;

use super::args::RunArgs;
use super::begin::{Extent, begin, open, plan, task};
use super::open::refused;
use crate::conduct::conduct;
use crate::exit::{self, Exit, refuse};
use crate::signals;

/// Measures.
///
/// # Errors
/// The arguments are invalid, or the database is not there. A failure later is part of what is printed.
pub(super) fn run(args: RunArgs) -> anyhow::Result<Exit> {
    let control = Control::new(signals::interrupt_flag()?);
    if args.duration == Nanos(0) {
        refuse!("--duration must be above 0: specify, for example, 60s");
    }
    let longest = args.duration.0.saturating_add(args.whole_cycles.unwrap_or_default().0);
    let each = longest.saturating_add(args.ramp.0);
    let whole = Nanos(each.saturating_mul(args.repeat.into()));
    let site = open(&args.database, &args.load, args.users, &control)?;
    let site = site.restoring(args.restore).map_err(refused)?;
    let copies = if args.restore { site.copied(args.repeat)? } else { (Bytes(0), Bytes(0)) };
    let mut session = begin(&site, &args.output, whole, &control)?;
    plan(&mut session, &site, &args.load, (whole, copies), args.output.view.quiet)?;
    session.conclude(Concluded::of(&RunRequest::new("tproc-c", "")));
    let extent = Extent {
        users: args.users,
        duration: args.duration,
        ramp: args.ramp,
        rate: args.rate.map(Iops),
        whole_cycles: args.whole_cycles,
    };
    let task = Task::TprocC(task(&site, &args.load, extent));
    args.stalls.watch(&mut session);
    let run = conduct(session, &mut Repeat::new(task, args.repeat), &mut &site, &args.output)?;
    Ok(exit::of_run(&run))
}
