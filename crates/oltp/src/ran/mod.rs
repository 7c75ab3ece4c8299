//! RanRead, RanWrite and RanIO: InterSystems PerfTools' operations, each operation timed: around its call (`stepwise`),
//! or by the database in which a whole batch of them is done (`within`).

mod contract;
mod dice;
mod gtm;
mod layout;
#[cfg(feature = "mysql")]
mod mysql;
mod open;
mod placing;
#[cfg(feature = "postgres")]
mod postgres;
mod sqlite;
mod stepwise;
#[cfg(test)]
mod tests;
mod within;

use std::sync::Arc;
use std::time::Duration;

use iolite_db::Error;
use iolite_model::{DbTask, Nanos, Outstanding, Sink, TimedBy};
use iolite_sys::clock::Clock;
use iolite_workers::{Control, Finished, Outcome, Patience, WorkerEnd, WorkerGroup, WorkerStart};

use crate::error::OltpError;
pub use contract::{
    Adapter, Batch, Cycle, Description, NewBlocks, Progress, Session, Settings, Timed, Within,
};
use dice::Dice;
pub use gtm::{GtmCommits, RanGtm};
pub use layout::check_replacing;
#[cfg(feature = "mysql")]
pub use mysql::RanMysql;
pub use open::open;
#[cfg(feature = "postgres")]
pub use postgres::RanPostgres;
pub use sqlite::RanSqlite;

/// How long sessions may take to get ready (one that reads its global into the buffers, from a slow disk), and to finish what
/// they have begun: a commit may have to wait for a checkpoint.
const PATIENCE: Patience = Patience {
    ready: Duration::from_secs(600),
    ended: Duration::from_secs(60),
    interrupted: Duration::from_secs(10),
};

/// Runs a task inside a database as phase number `phase`: one session per worker, prepared, then released together.
/// Intervals and workers' totals go to `sink` as they come.
///
/// # Errors
/// The task is invalid, or a session could not be opened: nothing was measured. A database that fails later ends
/// the phase, whose outcome then says so.
pub fn run_db_task(
    database: &Arc<dyn Adapter>,
    task: &DbTask,
    phase: u32,
    clock: Clock,
    control: &Control,
    sink: &mut dyn Sink,
) -> Result<Outcome, OltpError> {
    let blocks = database.blocks()?;
    validate(task, blocks)?;
    let globals = database.sizes()?.len();
    if task.operation.writes() && (globals as u64) < u64::from(task.workers) {
        return Err(Error::FewGlobals { jobs: task.workers, globals: globals as u32 }.into());
    }
    let group = WorkerGroup {
        phase,
        first: 0,
        workers: task.workers,
        delay: Nanos(0),
        kinds: task.operation.kinds().to_vec(),
        stop: task.stop,
        ramp: task.ramp.into(),
        interval: task.interval,
        clock,
        control: control.clone(),
        patience: PATIENCE,
    };
    let outcome = group.run(None, sink, |worker| {
        let (database, task) = (database.clone(), task.clone());
        move |start| work(database.as_ref(), &task, worker, blocks, start)
    })?;
    Ok(outcome)
}

fn validate(task: &DbTask, blocks: u64) -> Result<(), OltpError> {
    let refuse = |reason: &str| Err(OltpError::Task { task: task.name.clone(), reason: reason.into() });
    if task.workers == 0 {
        return refuse("it needs at least one worker");
    }
    if blocks == 0 {
        return refuse("the database has no blocks to read: create it first");
    }
    if task.stop.runtime.is_none() && task.stop.operations.is_none() {
        return refuse("nothing would end it: specify a runtime or operations");
    }
    match task.operation.cycle() {
        Some((0, _)) => refuse("a transaction needs at least one operation"),
        _ => Ok(()),
    }
}

/// What one worker does from its release to its end: its lane, and how it ended.
fn work(
    database: &dyn Adapter,
    task: &DbTask,
    worker: u32,
    blocks: u64,
    start: WorkerStart,
) -> Result<Finished, OltpError> {
    let (reads, writes) = (task.operation.reads(), task.operation.writes());
    let dice = |subscripts| Dice::new(task, worker, blocks, subscripts);
    let (mut lane, failure, last_completed) = match task.timed_by {
        TimedBy::Client => {
            let mut session = database.session(worker)?;
            session.prepare(reads, writes)?;
            let dice = dice(session.subscripts());
            let Some(lane) = start.ready() else { return Ok(None) };
            stepwise::Worker::new(session.as_mut(), lane, dice).run()
        }
        TimedBy::Database => {
            let Some(mut session) = database.within(worker)? else {
                return Err(OltpError::NoBatches);
            };
            session.prepare(reads, writes)?;
            let dice = dice(session.subscripts());
            let Some(lane) = start.ready() else { return Ok(None) };
            within::Worker::new(session.as_mut(), lane, dice).run()
        }
    };
    // A session has one operation at a time: the last one was in flight when the time was over.
    let at_end = u64::from(last_completed > lane.end());
    let now = lane.now();
    lane.close(now);
    let outstanding = Outstanding { at_end, ..Outstanding::default() };
    let mut end = WorkerEnd::default();
    (end.outstanding, end.failure) = (outstanding, failure.map(Into::into));
    Ok(Some((lane, end)))
}
