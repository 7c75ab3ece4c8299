//! A ramp that an amount of I/O ends.

use std::sync::atomic::{AtomicU64, Ordering};

use iolite_model::Stage;

use crate::timetable::Slot;

/// No instant yet.
const OPEN: u64 = u64::MAX;

/// A ramp that ends when all workers of a phase together have done an amount of I/O: shared by their recorders.
///
/// Intervals of such a phase are on a grid from its start, because when the measured part begins is not known beforehand; the
/// first interval is the rest of the one in which the ramp ended.
#[derive(Debug)]
pub struct AmountRamp {
    /// Bytes that are still to be done.
    left: AtomicU64,
    /// The first nanosecond of the measured part, or [`OPEN`].
    ended: AtomicU64,
    /// Length of the measured part, where time ends it.
    runtime: Option<u64>,
}

impl AmountRamp {
    /// A ramp of this number of bytes, above 0, before a measured part of `runtime` nanoseconds.
    pub fn new(bytes: u64, runtime: Option<u64>) -> AmountRamp {
        AmountRamp { left: AtomicU64::new(bytes.max(1)), ended: AtomicU64::new(OPEN), runtime }
    }

    /// When the measured part began, in nanoseconds since the phase's start; `None` in the ramp.
    pub fn ended(&self) -> Option<u64> {
        Some(self.ended.load(Ordering::Acquire)).filter(|ended| *ended != OPEN)
    }

    /// When the measured part is to end; `u64::MAX` in the ramp, and where no time ends it.
    pub fn phase_end(&self) -> u64 {
        self.end_of(self.ended())
    }

    /// [`phase_end`](AmountRamp::phase_end), given when the measured part began.
    pub(crate) fn end_of(&self, ended: Option<u64>) -> u64 {
        let end = ended.zip(self.runtime).map(|(ended, runtime)| ended.saturating_add(runtime));
        end.unwrap_or(u64::MAX)
    }

    /// Counts what has come back in the ramp. What completes the amount still belongs to it.
    pub(crate) fn count(&self, bytes: u64, completed: u64) {
        let subtract = |left: u64| Some(left.saturating_sub(bytes));
        let before = self.left.fetch_update(Ordering::AcqRel, Ordering::Acquire, subtract).unwrap_or(0);
        if before > 0 && before <= bytes {
            self.ended.store(completed.saturating_add(1).min(OPEN - 1), Ordering::Release);
        }
    }

    /// The interval that an instant falls into, given when the measured part began, and the interval of a phase without a ramp. In the ramp it ends at once, so that a
    /// recorder asks again with every operation, and never after the ramp.
    pub(crate) fn cut(ended: Option<u64>, slot: Slot, at: u64) -> Slot {
        let ramp = |end| Slot { stage: Stage::Ramp, start: 0, end };
        match ended {
            _ if slot.stage != Stage::Measured => slot,
            None => ramp(0),
            Some(ended) if at < ended => ramp(ended),
            Some(ended) => Slot { start: slot.start.max(ended), ..slot },
        }
    }
}
