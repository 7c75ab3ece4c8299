//! The two rates of data that is written from end to end: before it is durable, and when it is.

use iolite_model::OpKind;

use crate::summary::PhaseResult;

/// Bytes of one kind of a phase and the time they took, the last sync apart.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Streamed {
    /// Bytes moved.
    pub bytes: u64,
    /// Seconds of the phase, the sync at its end included.
    pub seconds: f64,
    /// Seconds of the longest sync: those of several workers run at the same time.
    pub sync: f64,
}

impl Streamed {
    /// The bytes of a kind; `None` where none were moved.
    pub fn of(phase: &PhaseResult, kind: OpKind) -> Option<Streamed> {
        let bytes = phase.totals.bytes(kind);
        let seconds = phase.totals.measured as f64 / 1e9;
        let sync =
            phase.totals.record_of(OpKind::Sync).map_or(0.0, |sync| sync.sums.response_max as f64 / 1e9);
        (bytes > 0 && seconds > 0.0).then_some(Streamed { bytes, seconds, sync })
    }

    /// Bytes a second until the last operation had completed, before the sync: what dd prints.
    pub fn rate(&self) -> f64 {
        let seconds = self.seconds - self.sync;
        // A sync of all the time leaves none for the writes: then the whole is all that is known.
        self.bytes as f64 / if seconds > 0.0 { seconds } else { self.seconds }
    }

    /// Bytes a second until all was durable.
    pub fn durable_rate(&self) -> f64 {
        self.bytes as f64 / self.seconds
    }
}
