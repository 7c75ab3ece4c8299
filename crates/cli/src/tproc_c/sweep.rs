//! `sweep`: more and more virtual users.

use iolite_engine::Control;
use iolite_model::{Bytes, Concluded, Ending, Nanos};
use iolite_results::RunRequest;
use iolite_session::ending;
use iolite_suites::UserSweep;

use super::args::SweepArgs;
use super::begin::{Extent, begin, open, plan, task};
use crate::exit::{Exit, UsageError};
use crate::{output, signals};

/// Measures with each number of users.
///
/// # Errors
/// The arguments are invalid, or the database is not there. A failure later is part of what is printed.
pub(super) fn sweep(args: SweepArgs) -> anyhow::Result<Exit> {
    let control = Control::new(signals::interrupt_flag()?);
    if args.step == Nanos(0) {
        return Err(UsageError::new("--step must be above 0: specify, for example, 60s").into());
    }
    let max = args.users.iter().copied().max().unwrap_or(1);
    let each = args.step.0.saturating_add(args.ramp.0);
    let whole = Nanos(each.saturating_mul(args.users.len() as u64).saturating_mul(args.repeat.into()));
    let site = open(&args.database, &args.load, max, &control)?;
    let extent = Extent { users: 1, duration: args.step, ramp: args.ramp, rate: None, whole_cycles: None };
    let task = task(&site, &args.load, extent);
    let procedure = UserSweep::new(task, args.users, args.response, args.all).map_err(UsageError::new)?;
    let mut procedure = procedure.repeated(args.repeat);
    let mut session = begin(&site, args.output.results.clone(), (&args.output.view, whole), &control)?;
    let copies = (Bytes(0), Bytes(0));
    plan(&mut session, &site, &args.load, (whole, copies), args.output.view.quiet)?;
    session.conclude(Concluded::of(&RunRequest::new("tproc-c-sweep", "")));
    args.stalls.watch(&mut session);
    let failure = session.drive(&mut procedure, &mut &site).err();
    let run = session.end(ending(failure, &control));
    output::run(&run, args.output.format())?;
    output::failure(&run, args.output.view.quiet);
    Ok(match (run.ending.as_ref(), &run.verdict) {
        (Some(Ending::Completed), Some(verdict)) => verdict.fitness.into(),
        (Some(Ending::Completed), None) => Exit::Marginal,
        (Some(Ending::Failed(_)), _) => Exit::Failure,
        _ => Exit::Interrupted,
    })
}
