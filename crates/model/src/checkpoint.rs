//! Checkpoints of a database during a phase: how many of their cycles the measured time holds.

use serde::{Deserialize, Serialize};

use crate::units::{Bytes, Nanos};

/// Share of the measured time that may be outside whole cycles.
const OUTSIDE: f64 = 0.1;

/// When the next checkpoint is due: so long, or so many bytes of the log, after the start of one, whichever is first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct CheckpointDue {
    /// Time; `None` where time alone makes none due.
    pub time: Option<Nanos>,
    /// Bytes of the log; `None` where they alone make none due.
    pub log: Option<Bytes>,
}

/// What a database reports of its checkpoints at an instant.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct CheckpointReading {
    /// Checkpoints that have started, since some fixed instant; `None` of a database whose checkpoints have no start (InnoDB): a
    /// cycle is then as much log as makes one due.
    pub started: Option<u64>,
    /// Bytes of the log, since some fixed instant.
    pub log: u64,
    /// Time and bytes of the log since the start of the last completed checkpoint, where the database knows them. The time may be
    /// up to a second too long.
    pub latest: Option<(Nanos, u64)>,
    /// When the next one is due.
    pub due: CheckpointDue,
    /// Share of the largest checkpoint age (InnoDB): log that is still needed, because the pages it changed are not written.
    pub age: Option<f64>,
}

/// Cycles of checkpoints in the measured time of a phase.
///
/// A cycle lasts from the start of one checkpoint to the start of the next. What a checkpoint costs (the pages that it writes, and
/// images of whole pages in the log after it) is spread unevenly over its cycle: a rate over a part of one is not that over all of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CheckpointCycles {
    /// Cycles that the measured time holds: 1.5 is one and a half.
    pub cycles: f64,
    /// How far a cycle was when the measured time began, and when it ended: 0 at the start of a checkpoint, 1 where the next is due.
    pub at: [f64; 2],
    /// When the measured time began and ended, since the phase's release.
    pub measured: [Nanos; 2],
    /// When cycles started, since the phase's release: of the first thousand.
    pub started: Vec<Nanos>,
    /// Whether a cycle starts with a checkpoint; otherwise (InnoDB) it is as much log as makes one due.
    pub has_starts: bool,
    /// When a checkpoint is due.
    pub due: CheckpointDue,
    /// Share of the largest checkpoint age when the measured time began, and when it ended (InnoDB).
    pub age: Option<[f64; 2]>,
}

impl CheckpointCycles {
    /// Share of the measured time that is outside whole cycles: 1 below half a cycle.
    pub fn outside(&self) -> f64 {
        outside(self.cycles)
    }

    /// Whether the measured time is, but for at most a tenth, a whole number of cycles.
    pub fn is_whole(&self) -> bool {
        CheckpointCycles::are_whole(self.cycles)
    }

    /// Whether so many cycles are, but for at most a tenth, a whole number of them.
    pub fn are_whole(cycles: f64) -> bool {
        outside(cycles) <= OUTSIDE
    }

    /// Starts of cycles within the measured time.
    pub fn within(&self) -> Vec<Nanos> {
        let [from, to] = self.measured;
        self.started.iter().copied().filter(|at| (from..=to).contains(at)).collect()
    }

    /// About how long a cycle takes at this load; `None` where next to nothing of one has passed.
    pub fn length(&self) -> Option<Nanos> {
        let [from, to] = self.measured;
        let length = to.saturating_sub(from).0 as f64 / self.cycles;
        (self.cycles > 0.001).then_some(Nanos(length as u64))
    }
}

/// Share of so many cycles that is outside whole ones.
pub(crate) fn outside(cycles: f64) -> f64 {
    if cycles > 0.0 { ((cycles - cycles.round()).abs() / cycles).min(1.0) } else { 1.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    fn of(cycles: f64) -> CheckpointCycles {
        CheckpointCycles {
            cycles,
            at: [0.0, 0.5],
            measured: [Nanos(10 * SECOND), Nanos(70 * SECOND)],
            started: [5, 20, 70, 71].map(|second| Nanos(second * SECOND)).to_vec(),
            has_starts: true,
            due: CheckpointDue::default(),
            age: None,
        }
    }

    #[test]
    fn a_tenth_of_the_time_may_be_outside_whole_cycles() {
        let whole = |cycles| of(cycles).is_whole();
        for (cycles, expected) in
            [(0.0, false), (0.4, false), (0.95, true), (1.0, true), (1.05, true), (1.4, false), (10.4, true)]
        {
            assert_eq!(whole(cycles), expected, "{cycles}");
        }
        assert_eq!((of(0.4).outside(), of(0.0).outside()), (1.0, 1.0));
    }

    #[test]
    fn starts_and_length_are_those_of_the_measured_time() {
        assert_eq!(of(2.0).within(), [Nanos(20 * SECOND), Nanos(70 * SECOND)]);
        assert_eq!(of(2.0).length(), Some(Nanos(30 * SECOND)));
        assert_eq!(of(0.0).length(), None);
    }
}
