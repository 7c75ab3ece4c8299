//! `sweep`: more and more virtual users.

use iolite_engine::Control;
use iolite_model::{Bytes, Concluded, Nanos};
use iolite_results::RunRequest;
use iolite_suites::{UserSweep, default_users};

use super::args::SweepArgs;
use super::begin::{Extent, begin, open, plan, task};
use crate::conduct::conduct;
use crate::exit::{self, Exit, UsageError, refuse};
use crate::signals;

/// Measures with each number of users.
///
/// # Errors
/// The arguments are invalid, or the database is not there. A failure later is part of what is printed.
pub(super) fn sweep(args: SweepArgs) -> anyhow::Result<Exit> {
    let control = Control::new(signals::interrupt_flag()?);
    if args.step == Nanos(0) {
        refuse!("--step must be above 0: specify, for example, 60s");
    }
    let max = args.users.iter().copied().max().unwrap_or(1);
    let site = open(&args.database, &args.load, max, &control)?;
    let (users, limited) = match args.users.is_empty() {
        true => default_users(site.free_sessions()),
        false => (args.users, None),
    };
    let each = args.step.0.saturating_add(args.ramp.0);
    let whole = Nanos(each.saturating_mul(users.len() as u64).saturating_mul(args.repeat.into()));
    let extent = Extent { users: 1, duration: args.step, ramp: args.ramp, rate: None, whole_cycles: None };
    let task = task(&site, &args.load, extent);
    let procedure = UserSweep::new(task, users, args.response, args.all).map_err(UsageError::new)?;
    let mut procedure = procedure.repeated(args.repeat);
    let mut session = begin(&site, &args.output, whole, &control)?;
    limited.into_iter().for_each(|warning| session.warn(warning));
    let copies = (Bytes(0), Bytes(0));
    plan(&mut session, &site, &args.load, (whole, copies), args.output.view.quiet)?;
    session.conclude(Concluded::of(&RunRequest::new("tproc-c-sweep", "")));
    args.stalls.watch(&mut session);
    let run = conduct(session, &mut procedure, &mut &site, &args.output)?;
    Ok(exit::of_verdict(&run))
}
