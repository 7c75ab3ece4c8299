//! The database of a check: an SQLite one, inside the scratch directory.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;

use iolite_db::{Database, Error, Layout, Sqlite};
use iolite_engine::{Control, Scratch};
use iolite_model::{Nanos, Warning};
use iolite_suites::DatabaseSize;

use super::SharedDatabase;
use super::events::Events;

/// What came of making the database.
pub(super) enum Made {
    /// It is there.
    Database(SharedDatabase),
    /// It could not be made; the check goes on without.
    Without(String),
    /// The user wants to stop.
    Interrupted,
}

/// Makes the database, telling the progress; gives up when `late` says that the time is over.
pub(super) fn create(
    size: DatabaseSize,
    scratch: &mut Scratch,
    control: &Control,
    late: impl Fn() -> bool,
    events: &mut Events,
) -> Made {
    let sqlite = Sqlite::new(scratch.path().to_owned());
    // Written down before they are made, so that they are known as ours even after a crash.
    for file in files(size.globals) {
        if let Err(error) = scratch.claim(&file) {
            return Made::Without(error.to_string());
        }
    }
    let layout = Layout { globals: size.globals, subscripts: size.subscripts, size: size.size };
    let created = sqlite.create(&layout, &mut |done, total| {
        let percent = (done * 100).checked_div(total).unwrap_or(0);
        events.message(&format!("creating the database, {percent} %"));
        if control.interrupted() || late() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    match created {
        Ok(()) => {
            if !sqlite.describe().direct {
                let filesystem = "the file system under the database".to_owned();
                events.warn(Warning::NoDirectIo { filesystem });
            }
            Made::Database(Arc::new(sqlite))
        }
        Err(Error::Cancelled) if control.interrupted() => Made::Interrupted,
        Err(error) => {
            let why = match error {
                Error::Cancelled => "it took too long to create; give a larger --budget-time".to_owned(),
                other => other.to_string(),
            };
            // What could not be removed now goes with the scratch directory.
            let _ = sqlite.purge();
            Made::Without(why)
        }
    }
}

/// The names that SQLite may use for a database of so many globals.
fn files(globals: u32) -> impl Iterator<Item = PathBuf> {
    (1..=globals).flat_map(|global| {
        ["", "-wal", "-shm", "-journal"]
            .map(|suffix| PathBuf::from(format!("RanWriteGlobal{global}.db{suffix}")))
    })
}

/// The share of a check's time by which the database must have been made.
pub(super) fn deadline(time: Nanos) -> Nanos {
    Nanos(time.0 / 100 * 85)
}
