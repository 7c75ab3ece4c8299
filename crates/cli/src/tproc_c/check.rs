//! `check`: the consistency conditions.

use iolite_engine::Control;
use iolite_model::{Concluded, Ending, Nanos, TprocCChecked};
use iolite_results::RunRequest;
use iolite_session::{TprocCSite, answered};
use iolite_suites::SingleStep;

use super::args::CheckArgs;
use super::begin::begin;
use super::open::refused;
use crate::conduct::conduct;
use crate::exit::Exit;
use crate::{setup, signals};

/// Checks the conditions.
///
/// # Errors
/// There is no such database. A failure later is part of what is printed.
pub(super) fn check(args: &CheckArgs) -> anyhow::Result<Exit> {
    let control = Control::new(signals::interrupt_flag()?);
    let url = setup::database(&args.database.db).map_err(refused)?;
    let open = move || TprocCSite::open(url, iolite_model::Durability::AsConfigured);
    let mut site = answered(&control, open).map_err(refused)?;
    let output = args.output.output();
    let mut session = begin(&site, &output, Nanos(0), &control)?;
    session.conclude(Concluded::of(&RunRequest::new("tproc-c-check", "")));
    let run = conduct(session, &mut SingleStep::new(()), &mut site, &output)?;
    let consistent = run.concluded::<TprocCChecked>().last().map(|checked| checked.is_consistent());
    Ok(match (&run.ending, consistent) {
        (Some(Ending::Completed), Some(true)) => Exit::Fit,
        (Some(Ending::Completed), Some(false)) => Exit::Unfit,
        (Some(Ending::Failed(_)), _) => Exit::Failure,
        _ => Exit::Interrupted,
    })
}
