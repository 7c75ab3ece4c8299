//! Operations one by one, for logs.

use serde::{Deserialize, Serialize};

use crate::kind::OpKind;

/// Operations of one worker in the order in which they came back.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct OperationLog {
    /// Phase they belong to.
    pub phase: u32,
    /// Worker, from 0.
    pub worker: u32,
    /// The operations; those of ramp and drain are among them. A write and its sync are one each, never a commit.
    pub operations: Vec<LoggedOperation>,
}

/// An operation that has come back. Instants are in nanoseconds since the phase's start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoggedOperation {
    /// What it was.
    pub kind: OpKind,
    /// Where, in bytes from the start of its file.
    pub offset: u64,
    /// Index of the file among those of the task.
    pub file: u32,
    /// How much was asked for, in bytes.
    pub length: u32,
    /// The error number, where it failed: 0 where it transferred fewer bytes than requested for, EILSEQ (84) where what was read
    /// is not what was written.
    pub error: Option<i32>,
    /// Its I/O priority, its own or the worker's, packed as [`IoPriority::packed`](crate::IoPriority::packed) has it; 0 where
    /// neither was asked for.
    pub priority: u16,
    /// When it was meant to start.
    pub intended: u64,
    /// When it was handed over.
    pub issued: u64,
    /// When its submission returned; where that did the operation itself, the instant at which it was complete.
    pub submitted: u64,
    /// When it came back.
    pub completed: u64,
    /// It is among the phase's totals: neither the ramp's nor the drain's.
    pub counted: bool,
}
