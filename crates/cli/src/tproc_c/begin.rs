//! What `run` and `sweep` begin with: the database, and the run in it.

use iolite_engine::Control;
use iolite_model::{Bytes, Iops, Nanos, Stop, TprocCTask, WritePlan};
use iolite_session::{Session, TprocCSite, answered, unix_now};

use super::args::{DatabaseArgs, LoadArgs};
use super::open::refused;
use crate::exit::refuse;
use crate::setup;
use crate::shared_args::OutputArgs;

/// Number of users, duration and rate.
#[derive(Debug, Clone, Copy)]
pub(super) struct Extent {
    pub(super) users: u32,
    pub(super) duration: Nanos,
    pub(super) ramp: Nanos,
    pub(super) rate: Option<Iops>,
    pub(super) whole_cycles: Option<Nanos>,
}

/// Opens the database for so many users.
///
/// # Errors
/// There is no such database, or it takes fewer sessions than `users`;
/// [`EngineError::Interrupted`](iolite_engine::EngineError::Interrupted).
pub(super) fn open(
    args: &DatabaseArgs,
    load: &LoadArgs,
    users: u32,
    control: &Control,
) -> anyhow::Result<TprocCSite> {
    let url = setup::database(&args.db).map_err(refused)?;
    let (durability, waits) = (load.durability, load.waits.sampling());
    let open = move || TprocCSite::open(url, durability)?.sampling_waits(waits);
    let site = answered(control, open).map_err(refused)?;
    if load.spread_warehouse && !site.spreads_warehouses() {
        refuse!(
            "--spread-warehouse needs PostgreSQL, MariaDB or MySQL: SQLite has one writer at a time, which waits for no page"
        );
    }
    match site.free_sessions() {
        Some(free) if free < users => {
            refuse!(
                "{users} virtual users need as many sessions, but the server accepts only {free} more: raise \
                 its max_connections, or use fewer users"
            );
        }
        _ => Ok(site.held_to(load.writes.limits())),
    }
}

/// Opens the results and the live view for a run of about `duration`, and records what the database is.
///
/// # Errors
/// `--results` names no results database.
pub(super) fn begin<'a>(
    site: &TprocCSite,
    output: &OutputArgs,
    duration: Nanos,
    control: &'a Control,
) -> anyhow::Result<Session<'a>> {
    let mut session = setup::begin(site.storage().clone(), None, output, duration, control)?;
    site.describe(&mut session);
    Ok(session)
}

/// Shows what a run of about `duration` writes, with copies of so many bytes that take so much space, and holds it to what is allowed.
///
/// # Errors
/// The plan does not keep the limits.
pub(super) fn plan(
    session: &mut Session<'_>,
    site: &TprocCSite,
    load: &LoadArgs,
    (duration, (bytes, space)): (Nanos, (Bytes, Bytes)),
    quiet: bool,
) -> anyhow::Result<()> {
    let plan = WritePlan { timed: duration, duration, bytes, space, ..WritePlan::default() };
    session.plan_writes(&load.writes.accept_in_database(plan, site.storage(), quiet)?);
    Ok(())
}

/// A task of this database.
pub(super) fn task(site: &TprocCSite, load: &LoadArgs, extent: Extent) -> TprocCTask {
    TprocCTask {
        name: "TPROC-C".into(),
        users: extent.users,
        warehouses: site.layout().warehouses,
        reduction: site.layout().reduction,
        all_warehouses: load.all_warehouses,
        keying_thinking: load.keying_thinking,
        procedures: site.has_procedures() && !load.client_side,
        spread_warehouse: load.spread_warehouse,
        rate: extent.rate,
        stop: Stop { runtime: Some(extent.duration), ..Stop::default() },
        whole_cycles: extent.whole_cycles,
        ramp: extent.ramp,
        interval: Nanos::SECOND,
        seed: load.seed.unwrap_or_else(|| unix_now().0),
        kinds: site.kinds().to_vec(),
    }
}
