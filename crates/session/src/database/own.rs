//! A run's own database: an SQLite one, inside the scratch directory.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use iolite_db::Monitor;
use iolite_engine::Control;
use iolite_model::{Bytes, Durability, Nanos, Task, Warning};
use iolite_observe::{CacheProbe, LeafCounters};
use iolite_oltp::ran::{Adapter, RanSqlite, run_db_task};
use iolite_suites::{Check, DatabaseSize, DatabaseState, database_warnings};

use super::probes;
use crate::drive::{Environment, no_database};
use crate::error::{Error, Result};
use crate::events::Events;
use crate::patience::GaveUp;
use crate::session::Session;

/// The database of a check: created when the check asks for it, removed with the run's files.
pub struct CheckDatabase {
    /// Time for the whole check.
    time: Nanos,
    /// When it must have been created, since the check's start.
    deadline: Nanos,
    database: Option<OwnDatabase>,
}

impl CheckDatabase {
    /// None yet; `time` is that of the whole check.
    pub fn new(time: Nanos, thorough: bool) -> CheckDatabase {
        // The share of the time by which the database must have been created.
        let percent = if thorough { 97 } else { 85 };
        CheckDatabase { time, deadline: Nanos(time.0 / 100 * percent), database: None }
    }
}

impl Environment<Check> for CheckDatabase {
    fn prepare(&mut self, session: &mut Session<'_>, check: &mut Check, size: DatabaseSize) -> Result<()> {
        let limit = left(self.deadline, session.elapsed());
        match create(size, session, limit) {
            CreatedDatabase::Database(database) => self.database = Some(OwnDatabase { database }),
            CreatedDatabase::Without(why) => check.without_database(why),
            CreatedDatabase::Interrupted => {}
        }
        Ok(())
    }

    fn inside_database(&mut self, session: &mut Session<'_>, task: Task) -> Result<()> {
        let limit = left(self.time, session.elapsed());
        match &self.database {
            Some(database) => database.run(session, task, limit),
            None => Err(no_database(&task)),
        }
    }
}

/// A database that a run has created for itself, and that is removed with the run's files.
pub(super) struct OwnDatabase {
    database: Arc<dyn Adapter>,
}

/// Its engine, as its readings name it.
const ENGINE: &str = "SQLite";

/// As long as it takes: the user can interrupt.
const PATIENCE: Duration = Duration::from_secs(24 * 3600);

impl OwnDatabase {
    /// Creates it, for as long as it takes; `None` where the user has interrupted that.
    ///
    /// # Errors
    /// It can't be created.
    pub(super) fn create(session: &mut Session<'_>, size: DatabaseSize) -> Result<Option<OwnDatabase>> {
        match create(size, session, PATIENCE) {
            CreatedDatabase::Database(database) => Ok(Some(OwnDatabase { database })),
            CreatedDatabase::Without(reason) => Err(Error::NotCreated { reason }),
            CreatedDatabase::Interrupted => Ok(None),
        }
    }

    /// Runs a task of RanRead, RanWrite or RanIO; what the task before it left in the log is written first, within `limit`.
    ///
    /// # Errors
    /// It is another workload.
    pub(super) fn run(&self, session: &mut Session<'_>, task: Task, limit: Duration) -> Result<()> {
        let Task::Database(task) = task else { return Err(no_database(&task)) };
        let database = &self.database;
        let storage = session.run().info.storage.clone();
        let counters = LeafCounters::new(&storage);
        let phase = session.phase_by(Task::Database(task.clone()), |number, clock, control, events| {
            settle(database, control, events, limit)?;
            // What settling wrote is not the phase's. The database runs within this program, and its commits are durable: what the
            // devices do beyond its I/O is others', however many pages and blocks of log a set takes.
            let probe = CacheProbe::start(counters.as_ref(), None).on(&storage).synchronised();
            let monitor = Monitor::start(database.instance());
            let latest = monitor.as_ref().map(Monitor::latest);
            latest.into_iter().for_each(|latest| events.watch(probes::counters(ENGINE.into(), latest)));
            let outcome = run_db_task(database, &task, number, clock, control, events);
            monitor.map(Monitor::finish);
            events.unwatch(probes::DATABASE);
            let outcome = outcome?;
            let (read, written) = events.run().requested(number);
            Ok((outcome, Some(probe.finish(read, written))))
        });
        let ended = session.run().phases.iter().rfind(|result| result.info.index == phase);
        let state = DatabaseState { durability: Durability::Full, settings: &[] };
        let warnings = ended.map(|result| database_warnings(result, state, None, &storage));
        warnings.into_iter().flatten().for_each(|warning| session.warn(warning));
        Ok(())
    }
}

/// Time until `deadline`.
fn left(deadline: Nanos, elapsed: Nanos) -> Duration {
    deadline.saturating_sub(elapsed).as_duration()
}

/// Brings what an earlier phase left in the log into the files: reads are to find it there.
fn settle(
    database: &Arc<dyn Adapter>,
    control: &Control,
    events: &mut Events,
    limit: Duration,
) -> Result<()> {
    let database = database.clone();
    match events.patiently(control, limit, move || database.settle()) {
        Ok(done) => Ok(done?),
        // The phase that follows sees the interruption by itself.
        Err(GaveUp::Interrupted) => Ok(()),
        Err(GaveUp::Late) => Err(Error::LateCheckpoint),
        Err(GaveUp::NoThread) => Err(Error::NoThread),
        Err(GaveUp::Failed) => Err(Error::Bug { what: "the checkpoint's thread has failed" }),
    }
}

/// What came of creating the database.
enum CreatedDatabase {
    /// It is there.
    Database(Arc<dyn Adapter>),
    /// It could not be created; the check goes on without.
    Without(String),
    /// The user wants to stop.
    Interrupted,
}

/// Said where creating the database would take more than its share of the time.
const TOO_SLOW: &str = "its creation exceeded the time budget; use a larger --budget-time";

/// Time to finish the sync that it is at, when the time for creating the database is over.
const LAST_SYNC: Duration = Duration::from_secs(1);

/// Makes the database, within `limit`. On a thread of its own: a sync on a slow disk can take long, and the user must
/// not have to wait for it.
fn create(size: DatabaseSize, session: &mut Session<'_>, limit: Duration) -> CreatedDatabase {
    let (control, scratch) = (session.control(), session.scratch());
    // Written down before they are made, so that they are known as ours even after a crash.
    for file in files(size.globals) {
        if let Err(error) = scratch.claim(&file) {
            return CreatedDatabase::Without(error.to_string());
        }
    }
    let sqlite = Arc::new(RanSqlite::new(scratch.path().to_owned()));
    session.events().message("creating the database");
    // What the globals leave of the space is for the blocks to read.
    let globals = database_bytes(&sqlite, size);
    let blocks = Bytes(size.size.0.saturating_sub(globals.0));
    let (database, stop) = (sqlite.clone(), Arc::new(AtomicBool::new(false)));
    let (stopped, stopping) = (stop.clone(), control.clone());
    let end = Instant::now() + limit;
    // It ends by itself when it is late, so that no thread goes on creating files in a directory that is removed.
    let created = session.patiently(limit + LAST_SYNC, move || {
        let mut go_on = |_done, _total| {
            let late = Instant::now() >= end;
            let stop = late || stopped.load(Ordering::Relaxed) || stopping.interrupted();
            if stop { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        database.setup(blocks, &mut go_on)?;
        database.add_globals(size.globals, size.subscripts, &mut go_on)
    });
    stop.store(true, Ordering::Relaxed);
    match created {
        Ok(Ok(())) => {
            if !sqlite.describe().is_ok_and(|description| description.direct) {
                session.warn(Warning::NoDirectIo { filesystem: "the file system under the database".into() });
            }
            CreatedDatabase::Database(sqlite)
        }
        Err(GaveUp::Interrupted) => CreatedDatabase::Interrupted,
        Ok(Err(iolite_db::Error::Cancelled)) if control.interrupted() => CreatedDatabase::Interrupted,
        Ok(Err(error)) => {
            // What could not be removed now goes with the scratch directory.
            let _ = sqlite.purge();
            let late = matches!(error, iolite_db::Error::Cancelled);
            CreatedDatabase::Without(if late { TOO_SLOW.into() } else { error.to_string() })
        }
        Err(GaveUp::Late) => CreatedDatabase::Without(TOO_SLOW.into()),
        Err(GaveUp::NoThread) => CreatedDatabase::Without(Error::NoThread.to_string()),
        Err(GaveUp::Failed) => {
            CreatedDatabase::Without("the thread that creates it has failed, which is a bug".into())
        }
    }
}

/// Bytes that the globals take.
fn database_bytes(sqlite: &RanSqlite, size: DatabaseSize) -> Bytes {
    Bytes(sqlite.global_size(size.subscripts).0.saturating_mul(size.globals.into()))
}

/// The names that SQLite may use for a database of so many globals.
fn files(globals: u32) -> impl Iterator<Item = PathBuf> {
    let names = (1..=globals).map(|global| format!("RanWriteGlobal{global}"));
    names.chain(["RanRead".into()]).flat_map(|name| {
        ["", "-wal", "-shm", "-journal"].map(|suffix| PathBuf::from(format!("{name}.db{suffix}")))
    })
}
