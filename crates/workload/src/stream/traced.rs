//! Operations that were written down.

use iolite_model::{SyncMethod, Trace, TracedKind};

use crate::planned::{IoKind, PlannedOp};

/// The operations of a trace, over and over.
#[derive(Debug, Clone)]
pub(super) struct Traced {
    pub(super) trace: Trace,
    pub(super) next: usize,
    /// Where each file begins in the span; empty where there is one.
    pub(super) starts: Vec<u64>,
}

impl Traced {
    /// Apart, so that the fast path stays small.
    #[inline(never)]
    pub(super) fn next(&mut self) -> PlannedOp {
        let operations = self.trace.operations();
        // validate() has seen to it that there is one.
        let Some(traced) = operations.get(self.next).or(operations.first()) else {
            return PlannedOp { kind: IoKind::Read, offset: 0, length: 0 };
        };
        self.next = if self.next + 1 < operations.len() { self.next + 1 } else { 0 };
        let start = self.starts.get(usize::from(traced.file)).copied().unwrap_or(0);
        let (kind, offset) = match traced.kind {
            TracedKind::Read => (IoKind::Read, traced.offset),
            TracedKind::Write => (IoKind::Write, traced.offset),
            TracedKind::Trim => (IoKind::Trim, traced.offset),
            TracedKind::Fsync => (IoKind::Sync(SyncMethod::Fsync), 0),
            TracedKind::Fdatasync => (IoKind::Sync(SyncMethod::Fdatasync), 0),
        };
        PlannedOp { kind, offset: start + offset, length: traced.length }
    }
}
