//! An operation to come, and what it does.

use iolite_model::SyncMethod;

/// What a planned operation does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IoKind {
    /// Read.
    Read,
    /// Write.
    Write,
    /// Trim: the blocks are given back.
    Trim,
    /// Makes what was written to its file durable; at the file's start, of no length.
    Sync(SyncMethod),
}

/// An operation to come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlannedOp {
    /// What it does.
    pub kind: IoKind,
    /// Where, in bytes from the span's start.
    pub offset: u64,
    /// How much, in bytes.
    pub length: u32,
}
