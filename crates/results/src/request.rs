//! What a run was asked for.

use iolite_model::Conclusion;
use serde::{Deserialize, Serialize};

/// Which procedure a run is of, and on what: recorded when it begins, so that the run can be shown as it was printed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunRequest {
    /// The procedure: `check`, `run`, `latency-target`, `study-cache` and so on.
    pub procedure: String,
    /// What it was about: the job's name, the target's path; empty where the storage says it all.
    pub subject: String,
}

impl RunRequest {
    /// A procedure on something.
    pub fn new(procedure: &str, subject: impl Into<String>) -> RunRequest {
        RunRequest { procedure: procedure.to_owned(), subject: subject.into() }
    }
}

impl Conclusion for RunRequest {
    const KIND: &'static str = "asked";
}
