//! The database of a check: an SQLite one, inside the scratch directory.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use iolite_db::Error;
use iolite_engine::{Control, Scratch};
use iolite_model::{Bytes, Nanos, Warning};
use iolite_oltp::ran::{Adapter, RanSqlite};
use iolite_suites::DatabaseSize;

use super::SharedDatabase;
use crate::events::Events;
use crate::patience::{GaveUp, patiently};

/// What came of making the database.
pub(super) enum Made {
    /// It is there.
    Database(SharedDatabase),
    /// It could not be made; the check goes on without.
    Without(String),
    /// The user wants to stop.
    Interrupted,
}

/// Said where creating the database would take more than its share of the time.
const TOO_SLOW: &str = "it took too long to create; give a larger --budget-time";

/// Makes the database, within `limit`. On a thread of its own: a sync on a slow disk can take long, and the user must
/// not have to wait for it.
pub(super) fn create(
    size: DatabaseSize,
    scratch: &mut Scratch,
    control: &Control,
    limit: Duration,
    events: &mut Events,
) -> Made {
    // Written down before they are made, so that they are known as ours even after a crash.
    for file in files(size.globals) {
        if let Err(error) = scratch.claim(&file) {
            return Made::Without(error.to_string());
        }
    }
    events.message("creating the database");
    let sqlite = Arc::new(RanSqlite::new(scratch.path().to_owned()));
    // What the globals leave of the space is for the blocks to read.
    let globals = database_bytes(&sqlite, size);
    let blocks = Bytes(size.size.0.saturating_sub(globals.0));
    let (database, stop) = (sqlite.clone(), Arc::new(AtomicBool::new(false)));
    let (stopped, stopping) = (stop.clone(), control.clone());
    let created = patiently(control, limit, move || {
        let mut go_on = |_done, _total| {
            let stop = stopped.load(Ordering::Relaxed) || stopping.interrupted();
            if stop { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        database.setup(blocks, &mut go_on)?;
        database.add_globals(size.globals, size.subscripts, &mut go_on)
    });
    stop.store(true, Ordering::Relaxed);
    match created {
        Ok(Ok(())) => {
            if !sqlite.describe().is_ok_and(|description| description.direct) {
                events.warn(Warning::NoDirectIo { filesystem: "the file system under the database".into() });
            }
            Made::Database(sqlite)
        }
        Err(GaveUp::Interrupted) => Made::Interrupted,
        Ok(Err(Error::Cancelled)) if control.interrupted() => Made::Interrupted,
        Ok(Err(error)) => {
            // What could not be removed now goes with the scratch directory.
            let _ = sqlite.purge();
            Made::Without(error.to_string())
        }
        Err(GaveUp::Late) => Made::Without(TOO_SLOW.into()),
        Err(GaveUp::Failed) => Made::Without("the thread that creates it has died, which is a bug".into()),
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

/// The share of a check's time by which the database must have been made.
pub(super) fn deadline(time: Nanos) -> Nanos {
    Nanos(time.0 / 100 * 85)
}
