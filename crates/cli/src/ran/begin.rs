//! What `run` and `sweep` begin with: the database, and the run in it.

use iolite_engine::Control;
use iolite_model::{Nanos, WritePlan};
use iolite_oltp::ran::Settings;
use iolite_session::{RanDatabase, Session, answered};

use super::options::SessionArgs;
use super::refused::refused;
use super::runs::measuring_on;
use crate::exit::refuse;
use crate::setup;

/// Opens the database that the arguments name, and checks whether it exists.
///
/// # Errors
/// It is not there, does not respond, is not ours, or can't do what is asked;
/// [`EngineError::Interrupted`](iolite_engine::EngineError::Interrupted).
pub(super) fn open(args: &SessionArgs, control: &Control) -> anyhow::Result<RanDatabase> {
    let url = setup::database(&args.database.db).map_err(refused)?;
    let settings = Settings { durability: args.durability, through_buffers: args.through_buffers };
    let (client_timed, waits) = (args.client_timed, args.waits.sampling());
    let open = move || RanDatabase::open(url, settings, client_timed)?.sampling_waits(waits);
    Ok(answered(control, open).map_err(refused)?.held_to(args.writes.limits()))
}

/// Refuses a second run that writes: each global is one job's alone.
///
/// # Errors
/// Another run writes into this database.
pub(super) fn refuse_other_writers(database: &RanDatabase, args: &SessionArgs) -> anyhow::Result<()> {
    let url = database.url();
    let Some(run) = measuring_on(url, args.output.results.clone(), true) else { return Ok(()) };
    refuse!(
        "run {run} is writing to the globals of {url}, each of which is used by one job only: wait until it ends, stop it (stop \
         {run}), or set up another database"
    );
}

/// Shows what will be written, opens the results and the live view for a run of about `duration`, and prints warnings about the database.
///
/// # Errors
/// `--results` names no results database; the plan does not keep the limits.
pub(super) fn begin<'a>(
    database: &RanDatabase,
    args: &SessionArgs,
    (plan, duration): (WritePlan, Nanos),
    control: &'a Control,
) -> anyhow::Result<Session<'a>> {
    let storage = database.storage().clone();
    let plan = args.writes.accept_in_database(plan, &storage, args.output.view.quiet)?;
    let mut session = setup::begin(storage, None, &args.output, duration, control)?;
    session.plan_writes(&plan);
    database.warn(&mut session, args.controller_cache);
    Ok(session)
}
