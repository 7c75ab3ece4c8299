//! The division of a phase's time into the ramp, the intervals and the drain.

use iolite_model::Stage;

/// The division of a phase's time, in nanoseconds since the phase's start (its barrier).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timetable {
    /// End of the ramp and start of the measured part.
    pub ramp_end: u64,
    /// Length of an interval of the measured part; at least 1.
    pub interval: u64,
    /// End of the measured part; `u64::MAX` where bytes or operations end it.
    pub end: u64,
}

/// One interval of a timetable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Slot {
    /// Part of the phase.
    pub stage: Stage,
    /// First nanosecond since the phase's start.
    pub start: u64,
    /// First nanosecond no longer in it.
    pub end: u64,
}

impl Timetable {
    /// The interval that an instant falls into.
    pub fn slot_at(&self, at: u64) -> Slot {
        if at >= self.end {
            Slot { stage: Stage::Drain, start: self.end, end: u64::MAX }
        } else if at < self.ramp_end {
            Slot { stage: Stage::Ramp, start: 0, end: self.ramp_end.min(self.end) }
        } else {
            let interval = self.interval.max(1);
            let start = self.ramp_end + (at - self.ramp_end) / interval * interval;
            Slot { stage: Stage::Measured, start, end: start.saturating_add(interval).min(self.end) }
        }
    }

    /// As [`slot_at`](Timetable::slot_at), the last interval going on for ever.
    pub(crate) fn open_slot_at(&self, at: u64) -> Slot {
        let last = self.end.saturating_sub(1);
        if at > last { Slot { end: u64::MAX, ..self.slot_at(last) } } else { self.slot_at(at) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIMETABLE: Timetable = Timetable { ramp_end: 100, interval: 10, end: 125 };

    #[test]
    fn a_timetable_has_ramp_intervals_and_drain() {
        let slot = |at| {
            let slot = TIMETABLE.slot_at(at);
            (slot.stage, slot.start, slot.end)
        };
        assert_eq!(slot(0), (Stage::Ramp, 0, 100));
        assert_eq!(slot(100), (Stage::Measured, 100, 110));
        assert_eq!(slot(119), (Stage::Measured, 110, 120));
        assert_eq!(slot(124), (Stage::Measured, 120, 125));
        assert_eq!(slot(125), (Stage::Drain, 125, u64::MAX));
    }
}
