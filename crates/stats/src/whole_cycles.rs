//! NOPM of whole cycles of checkpoints.

use iolite_model::{CheckpointCycles, Nanos, OpKind};
use serde::{Deserialize, Serialize};

use crate::estimate::{Direction, Estimate};
use crate::totals::PhaseTotals;

/// New-Orders of the whole cycles of checkpoints that lie within the measured time of a phase: from the first start of one in it to the
/// last. What comes before and after belongs to cycles of which only a part was measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WholeCycles {
    /// When the first of them started, and the last one ended, since the phase's release.
    pub span: [Nanos; 2],
    /// New-Orders per minute over all of them, by the transactions that users completed in the intervals whose middle is within.
    pub nopm: Estimate,
    /// New-Orders per minute of each.
    pub each: Vec<f64>,
}

impl WholeCycles {
    /// Of the totals of a phase that has ended, whose intervals follow a ramp of this length; `None` where no whole cycle is within its measured time, and where intervals are too
    /// long to assign them to cycles.
    pub fn of(totals: &PhaseTotals, ramp: Nanos, cycles: &CheckpointCycles) -> Option<WholeCycles> {
        let kind = OpKind::named("new-order")?;
        let starts = cycles.within();
        let span = [*starts.first()?, *starts.last()?];
        let mut at = ramp.as_secs_f64();
        let points: Vec<(f64, f64, f64)> = totals
            .series
            .iter()
            .map(|point| {
                let middle = at + point.seconds / 2.0;
                at += point.seconds;
                (middle, point.seconds, point.operations[kind] as f64)
            })
            .collect();
        let within = |from: Nanos, to: Nanos| -> Vec<(f64, f64)> {
            let is_in = |middle: f64| middle >= from.as_secs_f64() && middle < to.as_secs_f64();
            points
                .iter()
                .filter(|(middle, ..)| is_in(*middle))
                .map(|(_, time, count)| (*time, *count))
                .collect()
        };
        let each: Option<Vec<f64>> =
            starts.windows(2).map(|cycle| per_minute(&within(cycle[0], cycle[1]))).collect();
        let each = each.filter(|each| !each.is_empty())?;
        let nopm = Estimate::rate(&within(span[0], span[1]), Direction::HigherIsBetter).scaled(60.0);
        Some(WholeCycles { span, nopm, each })
    }
}

/// `None` of no time.
fn per_minute(points: &[(f64, f64)]) -> Option<f64> {
    let (seconds, count) = points.iter().fold((0.0, 0.0), |sum, point| (sum.0 + point.0, sum.1 + point.1));
    (seconds > 0.0).then(|| count * 60.0 / seconds)
}

#[cfg(test)]
mod tests {
    use iolite_model::{CheckpointDue, OpClass};

    use super::*;
    use crate::{Collector, Completion, Timetable, recorder};

    const SECOND: u64 = 1_000_000_000;
    const RAMP: Nanos = Nanos(10 * SECOND);

    /// A phase of 70 s after a ramp of 10: 100 New-Orders a second, but only 40 in the ten seconds after the start of a checkpoint.
    fn totals(starts: &[u64]) -> PhaseTotals {
        let kind = OpKind::of("new-order", OpClass::Write, false).unwrap();
        let timetable = Timetable { ramp_end: 10 * SECOND, interval: SECOND, end: 80 * SECOND };
        let (mut recorder, feed) = recorder(timetable, &[kind]);
        let mut collector = Collector::new(0, vec![feed]);
        for second in 0..80 {
            let is_slow = starts.iter().any(|start| (*start..start + 10).contains(&second));
            let count = if is_slow { 40 } else { 100 };
            for number in 0..count {
                let completed = second * SECOND + SECOND / count * number + 1;
                recorder.record(Completion { kind, intended: 0, issued: 0, completed, bytes: 0 });
                collector.collect(completed);
            }
        }
        recorder.close(80 * SECOND);
        recorder.finish().iter().for_each(|left| collector.absorb(0, left));
        collector.finish(10 * SECOND, 80 * SECOND).2
    }

    fn cycles(starts: &[u64]) -> CheckpointCycles {
        CheckpointCycles {
            cycles: 0.0,
            at: [0.0; 2],
            // The database was slow to say where it was when the ramp ended.
            measured: [Nanos(11_600_000_000), Nanos(80 * SECOND)],
            started: starts.iter().map(|second| Nanos(second * SECOND)).collect(),
            has_starts: true,
            due: CheckpointDue::default(),
            age: None,
        }
    }

    /// 70 s hold three of the slow times, but only two cycles of 30 s: the rate over all of the time is too low.
    #[test]
    fn whole_cycles_have_each_checkpoint_once() {
        let starts = [0, 12, 42, 72];
        let totals = totals(&starts);
        let found = WholeCycles::of(&totals, RAMP, &cycles(&starts)).unwrap();
        let true_rate = (10.0 * 40.0 + 20.0 * 100.0) * 60.0 / 30.0;
        assert_eq!(found.span, [Nanos(12 * SECOND), Nanos(72 * SECOND)]);
        assert!((found.nopm.value - true_rate).abs() < 1e-6 * true_rate, "{found:?}");
        assert_eq!(found.each.len(), 2);
        assert!(found.each.iter().all(|each| (each - true_rate).abs() < 1e-6 * true_rate), "{found:?}");
        let all: u64 =
            totals.series.iter().map(|point| point.operations[OpKind::named("new-order").unwrap()]).sum();
        assert!((all as f64 * 60.0 / 70.0) < 0.97 * true_rate, "{all}");
    }

    #[test]
    fn without_a_whole_cycle_there_is_none() {
        for starts in [&[][..], &[42], &[5, 42]] {
            assert_eq!(WholeCycles::of(&totals(starts), RAMP, &cycles(starts)), None, "{starts:?}");
        }
    }
}
