//! The results database: one SQLite file that holds every run, readable with the `sqlite3` command line alone.
//!
//! [`Writer`] stores a run as it goes, from a thread that does not measure. [`Store`] opens the database, reads runs
//! back as the events they were, and marks the runs that a crash cut short. Facts are stored, estimates are derived;
//! the tables and views are described in `docs/results.md`.

mod copy;
mod database;
mod error;
mod insert;
mod log;
mod phases;
mod place;
mod process;
mod read;
mod readings;
mod rows;
mod runs;
mod schema;
mod selection;
mod store;
mod transfer;
mod unlocked;
mod writer;

#[cfg(test)]
mod synthetic;
#[cfg(test)]
mod views;

pub use error::Error;
pub use phases::DatabasePhase;
pub use place::{default_path, default_path_from, files_of};
pub use process::Measuring;
pub use selection::Marks;
pub use store::{RunSummary, Store};
pub use transfer::Answer;
pub use writer::Writer;
