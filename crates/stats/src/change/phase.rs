//! The changes within a phase, as they are recorded.

use iolite_model::OpKind;
use serde::{Deserialize, Serialize};

use super::{Change, changes};
use crate::estimate::{Direction, Estimate};
use crate::series::Point;
use crate::summary::PhaseResult;

/// What did not stay as it was within a phase: concluded at the phase's end, where there is anything to report.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PhaseChanges {
    /// The kind of operation whose rate changed: the phase's main one.
    pub operation: OpKind,
    /// The changes: level shifts by time, stalls by time, then periodicity. Never empty.
    pub changes: Vec<Change>,
}

impl PhaseChanges {
    /// The changes within a phase that asks for the same load all the time; `None` where it did not, and where nothing
    /// changed.
    pub fn of(phase: &PhaseResult) -> Option<PhaseChanges> {
        if !phase.info.task.is_uniform() {
            return None;
        }
        let operation = main_kind(phase);
        let working = series_of(phase.before_end_sync(), operation);
        let changes = changes(&working);
        (!changes.is_empty()).then_some(PhaseChanges { operation, changes })
    }

    /// The instants of the level shifts, in seconds since the start of the measured part.
    pub fn shifts(&self) -> Vec<f64> {
        let at = |change: &Change| match change {
            Change::LevelShift { at, .. } => Some(*at),
            Change::Stall { .. } | Change::Periodic { .. } => None,
        };
        self.changes.iter().filter_map(at).collect()
    }

    /// The rates of a kind of operation between the level shifts, in order; empty without shifts.
    pub fn levels(&self, phase: &PhaseResult, kind: OpKind) -> Vec<Estimate> {
        let shifts = self.shifts();
        if shifts.is_empty() {
            return Vec::new();
        }
        if kind == self.operation {
            return self.own_levels();
        }
        let mut levels = vec![Vec::new(); shifts.len() + 1];
        let mut begin = 0.0;
        for (seconds, count) in series(phase, kind) {
            let middle = begin + seconds / 2.0;
            levels[shifts.iter().filter(|&&at| at <= middle).count()].push((seconds, count));
            begin += seconds;
        }
        levels.iter().map(|level| Estimate::rate(level, Direction::HigherIsBetter)).collect()
    }
}

impl PhaseChanges {
    /// The rates of the kind that they are about, as they were found.
    fn own_levels(&self) -> Vec<Estimate> {
        let shift = |change: &Change| match change {
            Change::LevelShift { before, after, .. } => Some([*before, *after]),
            Change::Stall { .. } | Change::Periodic { .. } => None,
        };
        let shifts: Vec<[Estimate; 2]> = self.changes.iter().filter_map(shift).collect();
        shifts.first().map(|first| first[0]).into_iter().chain(shifts.iter().map(|shift| shift[1])).collect()
    }
}

/// The kind that most of the measured time's operations are of; the commit where there are any; the task's own.
fn main_kind(phase: &PhaseResult) -> OpKind {
    let total = |kind: OpKind| phase.totals.series.iter().map(|point| point.operations[kind]).sum::<u64>();
    if let Some(kind) = phase.info.task.main_kind().filter(|kind| total(*kind) > 0) {
        return kind;
    }
    if total(OpKind::Sync) > 0 && total(OpKind::Commit) > 0 {
        return OpKind::Commit;
    }
    OpKind::all().max_by_key(|&kind| total(kind)).unwrap_or(OpKind::Read)
}

fn series(phase: &PhaseResult, kind: OpKind) -> Vec<(f64, f64)> {
    series_of(&phase.totals.series, kind)
}

fn series_of(points: &[Point], kind: OpKind) -> Vec<(f64, f64)> {
    points.iter().map(|point| (point.seconds, point.operations[kind] as f64)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_recorded_is_read_back() {
        let level = |value| Estimate::rate(&[(1.0, value), (1.0, value + 1.0)], Direction::HigherIsBetter);
        let changes = PhaseChanges {
            operation: OpKind::Read,
            changes: vec![
                Change::LevelShift { at: 2.0, before: level(22_000.0), after: level(0.0) },
                Change::Stall { at: 0.1 + 0.2, seconds: 0.5 },
                Change::Periodic { seconds: 5.0, amplitude: 0.3 },
            ],
        };
        let concluded = iolite_model::Concluded::of_phase(3, &changes);
        // As the view `rate_change` of the results database reads it.
        let json = &concluded.value;
        assert_eq!(
            (&json["operation"], &json["changes"][0]["change"]),
            (&"read".into(), &"level-shift".into())
        );
        assert_eq!(json["changes"][0]["before"]["value"], 22_000.5);
        assert_eq!(concluded.read::<PhaseChanges>(), Some(changes));
    }
}
