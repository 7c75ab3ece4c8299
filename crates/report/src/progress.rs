//! Progress of something long that is no measurement: making a database, counting its subscripts.

use crate::live::LiveKind;

/// What is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProgressUnit {
    /// Bytes.
    Bytes,
    /// Subscripts of globals.
    Subscripts,
}

/// The view of something long. Dropped at any time, it leaves the terminal clean.
#[derive(Debug)]
pub struct Progress {
    what: String,
    unit: ProgressUnit,
}

impl Progress {
    /// A view of `what`, for example `creating the database`.
    pub fn new(kind: LiveKind, what: &str, unit: ProgressUnit) -> Progress {
        let _ = kind;
        Progress { what: what.to_owned(), unit }
    }

    /// So much of so much is done.
    pub fn update(&mut self, done: u64, total: u64) {
        let _ = (done, total, self.unit, &self.what);
    }

    /// All is done.
    pub fn finish(self) {}

    /// It came to no end.
    pub fn abandon(self) {}
}
