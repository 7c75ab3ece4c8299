//! What sessions of a database waited for: active sessions, sampled.

use serde::{Deserialize, Serialize};

use crate::concluded::Conclusion;
use crate::units::Nanos;

/// What samples of a database's active sessions have shown, of a phase or of a time without any.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct WaitsFound {
    /// Samples.
    pub samples: u64,
    /// Time between samples, as asked for.
    pub interval: Nanos,
    /// Time sampled.
    pub observed: Nanos,
    /// Mean time that a sample took: what it costs the server is about this share of one session.
    pub cost: Nanos,
    /// Waits, the one with the most sessions first.
    pub waits: Vec<WaitShare>,
    /// Statements, the one with the most sessions first.
    pub statements: Vec<StatementShare>,
    /// Who held up whom, the one with the most sessions first.
    pub blockers: Vec<Blocker>,
    /// Objects that sessions waited for, the one with the most sessions first.
    pub objects: Vec<WaitShare>,
    /// Why nothing more was sampled, where a sample failed.
    pub failure: Option<String>,
}

/// A wait, or an object, and how many sessions were in it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WaitShare {
    /// Its name, for example `Lock:transactionid`, or `CPU` for a session that waits for nothing.
    pub name: String,
    /// Sessions in it on average over all samples.
    pub sessions: f64,
}

/// A statement and how many sessions executed it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StatementShare {
    /// Its text, shortened, with numbers and texts replaced by `?`.
    pub statement: String,
    /// Sessions that executed it on average over all samples.
    pub sessions: f64,
    /// What they waited for most.
    pub wait: String,
}

/// Sessions that waited for another one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Blocker {
    /// What the waiting session executed.
    pub waiting: String,
    /// What the session that held it up executed, or its state.
    pub holder: String,
    /// What both wanted, where the server shows that.
    pub object: String,
    /// Sessions held up so on average over all samples.
    pub sessions: f64,
}

impl Conclusion for WaitsFound {
    const KIND: &'static str = "waits";
}

impl WaitsFound {
    /// Sessions that were active, on average.
    pub fn active(&self) -> f64 {
        self.waits.iter().map(|wait| wait.sessions).sum()
    }
}
