//! Operations that were written down, to be done again.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::units::Nanos;

/// Operations in the order in which they are begun; clones share them. Written as a list of
/// `[at, kind, file, offset, length]`.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Vec<TracedOp>", into = "Vec<TracedOp>")]
pub struct Trace(Arc<[TracedOp]>);

/// An operation of a [`Trace`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "(u64, TracedKind, u16, u64, u32)", into = "(u64, TracedKind, u16, u64, u32)")]
pub struct TracedOp {
    /// Time from the start of the trace; not before that of the previous operation.
    pub at: Nanos,
    /// Offset within the region of the file, in bytes.
    pub offset: u64,
    /// Length in bytes; 0 for a sync.
    pub length: u32,
    /// Index of the file among those of the task.
    pub file: u16,
    /// What it does.
    pub kind: TracedKind,
}

/// What an operation of a [`Trace`] does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TracedKind {
    /// Reads.
    Read,
    /// Writes.
    Write,
    /// Trims.
    Trim,
    /// fsync of the file.
    Fsync,
    /// fdatasync of the file.
    Fdatasync,
}

/// Kinds of operations in a [`Trace`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TracedKinds {
    /// Reads.
    pub reads: bool,
    /// Writes.
    pub writes: bool,
    /// Trims.
    pub trims: bool,
    /// Syncs of either kind.
    pub syncs: bool,
}

impl Trace {
    /// The operations.
    pub fn operations(&self) -> &[TracedOp] {
        &self.0
    }

    /// The kinds that it has.
    pub fn kinds(&self) -> TracedKinds {
        let mut kinds = TracedKinds::default();
        for operation in &*self.0 {
            match operation.kind {
                TracedKind::Read => kinds.reads = true,
                TracedKind::Write => kinds.writes = true,
                TracedKind::Trim => kinds.trims = true,
                TracedKind::Fsync | TracedKind::Fdatasync => kinds.syncs = true,
            }
        }
        kinds
    }

    /// Bytes of an operation in the mean, syncs being of none; 0 where there is no operation.
    pub fn mean_size(&self) -> f64 {
        let sum: f64 = self.0.iter().map(|operation| f64::from(operation.length)).sum();
        if self.0.is_empty() { 0.0 } else { sum / self.0.len() as f64 }
    }
}

impl From<Vec<TracedOp>> for Trace {
    fn from(operations: Vec<TracedOp>) -> Trace {
        Trace(operations.into())
    }
}

impl From<Trace> for Vec<TracedOp> {
    fn from(trace: Trace) -> Vec<TracedOp> {
        trace.0.to_vec()
    }
}

impl fmt::Debug for Trace {
    /// Their number: there may be millions.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Trace({} operations)", self.0.len())
    }
}

impl From<(u64, TracedKind, u16, u64, u32)> for TracedOp {
    fn from((at, kind, file, offset, length): (u64, TracedKind, u16, u64, u32)) -> TracedOp {
        TracedOp { at: Nanos(at), offset, length, file, kind }
    }
}

impl From<TracedOp> for (u64, TracedKind, u16, u64, u32) {
    fn from(TracedOp { at, offset, length, file, kind }: TracedOp) -> (u64, TracedKind, u16, u64, u32) {
        (at.0, kind, file, offset, length)
    }
}
