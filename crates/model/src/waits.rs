//! What sessions of a database waited for: active sessions, sampled.

use serde::{Deserialize, Serialize};

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
    /// Number of sessions, at least, whose activity or wait was hidden from the account that sampled; the averages are without them.
    pub hidden: u64,
    /// What makes them visible, if some were hidden.
    pub remedy: Option<String>,
    /// Kinds of waits that the server does not show as it is set, with what makes it show them.
    #[serde(default)]
    pub gap: Option<String>,
    /// Waits, the one with the most sessions first.
    pub waits: Vec<WaitShare>,
    /// Statements, the one with the most sessions first.
    pub statements: Vec<StatementShare>,
    /// Who held up whom, the one with the most sessions first.
    pub blockers: Vec<Blocker>,
    /// Objects that sessions waited for, the one with the most sessions first.
    pub objects: Vec<WaitShare>,
    /// Pages that sessions waited for, the one with the most sessions first.
    pub pages: Vec<HotPage>,
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

/// A page with rows that sessions waited for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HotPage {
    /// The table, and the index if the page is one of an index.
    pub table: String,
    /// Number of the page.
    pub page: u64,
    /// Sessions that waited for a row in it on average over all samples.
    pub sessions: f64,
    /// Distinct rows in it that sessions waited for at the same moment, at most: so many hot rows share it, at least.
    pub rows: u64,
    /// Rows in it after sampling, where the server shows that.
    pub rows_in_page: Option<u64>,
    /// What would reduce the waits.
    pub advice: Option<String>,
}

impl WaitsFound {
    /// Sessions that were active, on average.
    pub fn active(&self) -> f64 {
        self.waits.iter().fold(0.0, |sum, wait| sum + wait.sessions)
    }
}
