//! What a group of workers is: its phase, its clock, and how long to wait for it.

use std::sync::Arc;
use std::time::Duration;

use iolite_model::{Nanos, OpKind, Ramp, Stop};
use iolite_stats::{AmountRamp, Timetable};
use iolite_sys::clock::Clock;

use crate::control::Control;

/// How long to wait for operations in flight after the end of a phase, before they are reported as lost.
pub const DRAIN: Duration = Duration::from_secs(3);

/// How long workers may take to get ready: beyond it one of them hangs.
const PREPARATION: Duration = Duration::from_secs(30);

/// How long to wait for operations in flight when the user wants to stop.
pub const DRAIN_INTERRUPTED: Duration = Duration::from_millis(250);

/// What a group needs to know of its phase.
#[derive(Debug, Clone)]
pub struct WorkerGroup {
    /// Number of the phase within the run.
    pub phase: u32,
    /// Number of the first worker: above 0 where the phase's workers are spread over processes.
    pub first: u32,
    /// Workers.
    pub workers: u32,
    /// Kinds of operation that the workers will record.
    pub kinds: Vec<OpKind>,
    /// Time from the release to the phase's start.
    pub delay: Nanos,
    /// What ends the phase; bytes and operations are the work's own affair.
    pub stop: Stop,
    /// What is recorded apart at the start. One that an amount ends needs workers that are threads.
    pub ramp: Ramp,
    /// Length of the intervals.
    pub interval: Nanos,
    /// The clock.
    pub clock: Clock,
    /// The way to end it from outside.
    pub control: Control,
    /// How long to wait for operations in flight.
    pub patience: Patience,
}

/// How long to wait for workers, and for operations that are in flight before they are reported as lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Patience {
    /// For workers to get ready; beyond it one of them hangs.
    pub ready: Duration,
    /// After the end of a phase.
    pub ended: Duration,
    /// When the user wants to stop.
    pub interrupted: Duration,
}

impl Default for Patience {
    /// That of block I/O.
    fn default() -> Patience {
        Patience { ready: PREPARATION, ended: DRAIN, interrupted: DRAIN_INTERRUPTED }
    }
}

impl WorkerGroup {
    /// The division of the phase's time, as far as it is known before: where an amount ends the ramp, it has no ramp and no end,
    /// see `amount_ramp`.
    pub fn timetable(&self) -> Timetable {
        let (ramp_end, end) = match (self.ramp, self.stop.runtime) {
            (Ramp::Time(ramp), Some(runtime)) => (ramp.0, ramp.0.saturating_add(runtime.0)),
            (Ramp::Time(ramp), None) => (ramp.0, u64::MAX),
            (Ramp::Amount(_), _) => (0, u64::MAX),
        };
        Timetable { ramp_end, interval: self.interval.0.max(1), end }
    }

    /// The ramp's end, to be shared by the workers, where an amount is it.
    pub(crate) fn amount_ramp(&self) -> Option<Arc<AmountRamp>> {
        let Ramp::Amount(bytes) = self.ramp else { return None };
        Some(Arc::new(AmountRamp::new(bytes.0, self.stop.runtime.map(|runtime| runtime.0))))
    }
}
