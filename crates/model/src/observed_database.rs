//! A database that was observed beside the host, without a workload of ours.

use serde::{Deserialize, Serialize};

use crate::units::Nanos;

/// Which database was observed, and when nothing could be read of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ObservedDatabase {
    /// Where it is: the URL without its password.
    pub url: String,
    /// Name and version of the engine; `None` where it never responded.
    pub engine: Option<String>,
    /// Times in which nothing, or not everything, was read, in order.
    pub gaps: Vec<ObservationGap>,
}

/// A time in which something of a database was not read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ObservationGap {
    /// Its start, since the run's start.
    pub from: Nanos,
    /// Its end.
    pub to: Nanos,
    /// What was not read, for example `counters and waits`.
    pub what: String,
    /// Why, and what helps.
    pub why: String,
}
