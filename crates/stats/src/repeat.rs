//! Phases that repeat each other, as one; and what a phase on a database did of logical operations.

use std::collections::BTreeMap;

use iolite_model::{
    Bytes, Cache, Ending, ErrorTally, JudgedStep, Nanos, OpKind, PerKind, PhaseEnd, SweepEnd, SweepTerms,
};
use serde::{Deserialize, Serialize};

use crate::estimate::{Direction, Estimate};
use crate::knee::Knee;
use crate::sections::Cut;
use crate::summary::PhaseResult;
use crate::totals::PhaseTotals;

/// A number of jobs with all that was measured with it.
#[derive(Debug, Clone, PartialEq)]
pub struct SweptStep {
    /// The number.
    pub jobs: u32,
    /// The phases, by their numbers, in the order they were run.
    pub phases: Vec<u32>,
    /// All of them as one.
    pub result: PhaseResult,
}

impl SweptStep {
    /// The phases that came to their end, by the number of jobs.
    pub fn all(history: &[PhaseResult]) -> Vec<SweptStep> {
        let mut steps: BTreeMap<u32, SweptStep> = BTreeMap::new();
        let whole = |result: &&PhaseResult| {
            result.end.ending == Ending::Completed
                && result.errors() == 0
                && result.end.outstanding.lost == 0
                && result.logical().is_some()
        };
        for result in history.iter().filter(whole) {
            let jobs = result.info.task.concurrency();
            steps
                .entry(jobs)
                .and_modify(|step| {
                    step.phases.push(result.info.index);
                    step.result = step.result.followed_by(result);
                })
                .or_insert_with(|| SweptStep {
                    jobs,
                    phases: vec![result.info.index],
                    result: result.clone(),
                });
        }
        steps.into_values().collect()
    }

    /// The most jobs within the bounds of a sweep: every kind of operation takes `average` or less in the mean, and no more than
    /// one in 1,000 of them longer than `ceiling`, with these jobs and with all fewer that were tried. `None` where not even the fewest
    /// keep them.
    pub fn max_within<'a>(steps: &'a [SweptStep], terms: &SweepTerms) -> Option<&'a SweptStep> {
        steps.iter().take_while(|step| step.is_within(terms)).last()
    }

    fn is_within(&self, terms: &SweepTerms) -> bool {
        TIMED.iter().all(|&kind| {
            let Some(summary) = self.result.summary(kind) else { return true };
            let slow = self.result.totals.response(kind).map_or(0, |times| times.count_above(terms.ceiling));
            summary.mean.value <= terms.average.0 as f64 && slow as f64 <= RARE * summary.operations as f64
        })
    }
}

/// Share of the operations up to which those above a sweep's ceiling are rare.
const RARE: f64 = 0.001;

/// What a sweep over the number of jobs was asked for, and what came of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SweepConcluded {
    /// The tool: `RanRead`, `RanWrite` or `RanIO`.
    pub tool: String,
    /// What was asked.
    pub terms: SweepTerms,
    /// Why no more jobs were tried.
    pub end: SweepEnd,
    /// The knee; `None` with fewer than two steps.
    pub knee: Option<Knee>,
    /// The step that response times were judged at.
    pub judged: Option<JudgedStep>,
}

/// What counts as an operation on a database: reads of blocks and sets of subscripts. A commit is part of its sets.
const LOGICAL: [OpKind; 2] = [OpKind::Read, OpKind::Write];

/// What takes a session's time meanwhile.
const TIMED: [OpKind; 3] = [OpKind::Read, OpKind::Write, OpKind::Commit];

/// What a phase on a database did, reads and sets together.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Logical {
    /// Reads and sets that succeeded.
    pub operations: u64,
    /// Operations per second, pauses between transactions included.
    pub rate: Estimate,
    /// Mean time that a session takes for one operation in nanoseconds: its share of the commit included, pauses not.
    pub response: Estimate,
}

impl PhaseTotals {
    /// The totals of two phases that did the same one after the other: everything adds up, the measured time too, and the
    /// series of the second follows the first's.
    ///
    /// A difference between the two is then a slow change of one series, which its estimates account for as they do for any
    /// correlation.
    #[must_use]
    pub fn followed_by(&self, other: &PhaseTotals) -> PhaseTotals {
        let mut counts = self.counts.clone();
        counts.merge(&other.counts);
        PhaseTotals {
            counts,
            ramp_end: self.ramp_end,
            measured: self.measured.saturating_add(other.measured),
            series: self.series.iter().chain(&other.series).cloned().collect(),
            cut: Cut {
                sections: self.cut.sections.iter().chain(&other.cut.sections).cloned().collect(),
                fine: self.cut.fine.iter().chain(&other.cut.fine).cloned().collect(),
            },
            drain_max: self.drain_max.max(other.drain_max),
            beside: self.beside.clone().and(&other.beside),
        }
    }
}

impl PhaseResult {
    /// Two phases that did the same one after the other, as one with the number, the start and the ending of the first.
    #[must_use]
    pub fn followed_by(&self, other: &PhaseResult) -> PhaseResult {
        let mut end = PhaseEnd {
            measured: Nanos(self.end.measured.0.saturating_add(other.end.measured.0)),
            cache: both(self.end.cache, other.end.cache),
            ..self.end.clone()
        };
        end.outstanding.add(other.end.outstanding);
        other.end.errors.iter().for_each(|tally| add(&mut end.errors, tally));
        end.stuck.extend(other.end.stuck.iter().cloned());
        PhaseResult { info: self.info.clone(), end, totals: self.totals.followed_by(&other.totals) }
    }

    /// What a phase on a database did, reads and sets together; `None` where none succeeded.
    pub fn logical(&self) -> Option<Logical> {
        let operations: u64 = LOGICAL.iter().map(|&kind| self.totals.operations(kind)).sum();
        if operations == 0 {
            return None;
        }
        let sum =
            |of: &PerKind<u64>, kinds: &[OpKind]| -> f64 { kinds.iter().map(|kind| of[*kind] as f64).sum() };
        let series = &self.totals.series;
        let rates: Vec<_> = series.iter().map(|p| (p.seconds, sum(&p.operations, &LOGICAL))).collect();
        let times: Vec<_> =
            series.iter().map(|p| (sum(&p.operations, &LOGICAL), sum(&p.response_sum, &TIMED))).collect();
        let taken: f64 = times.iter().map(|entry| entry.1).sum();
        let mean = taken / operations as f64;
        let direction = Direction::LowerIsBetter;
        Some(Logical {
            operations,
            rate: Estimate::rate(&rates, Direction::HigherIsBetter),
            // Of a single interval nothing is known but its mean: an error as large as that claims little.
            response: Estimate::ratio(&times, direction)
                .unwrap_or_else(|| Estimate::mean(mean, mean, 1.0, direction)),
        })
    }

    /// Operations that failed, of all kinds and in all stages: ramp, measured part and drain, and what is listed of the
    /// preparation.
    pub fn errors(&self) -> u64 {
        let listed = self.end.errors.iter().map(|tally| tally.count).fold(0, u64::saturating_add);
        self.totals.errors_of_all_stages().max(listed)
    }
}

/// What was asked for and what the devices counted, over both: unknown where either is.
fn both(one: Cache, other: Cache) -> Cache {
    let sum = |one: Option<Bytes>, other: Option<Bytes>| Some(Bytes(one?.0.saturating_add(other?.0)));
    // Of two residencies the larger is what may have served reads.
    let max = |one: Option<f64>, other: Option<f64>| Some(one?.max(other?));
    Cache {
        requested_read: Bytes(one.requested_read.0.saturating_add(other.requested_read.0)),
        requested_written: Bytes(one.requested_written.0.saturating_add(other.requested_written.0)),
        device_read: sum(one.device_read, other.device_read),
        device_written: sum(one.device_written, other.device_written),
        device_flushes: one
            .device_flushes
            .zip(other.device_flushes)
            .map(|(one, other)| one.saturating_add(other)),
        resident_before: max(one.resident_before, other.resident_before),
        resident_after: max(one.resident_after, other.resident_after),
        own_read: sum(one.own_read, other.own_read),
        own_written: sum(one.own_written, other.own_written),
        unwritten: max(one.unwritten, other.unwritten),
        compressed: max(one.compressed, other.compressed),
        zeros: max(one.zeros, other.zeros),
        unattributed: one.unattributed || other.unattributed,
        direct_confirmed: one.direct_confirmed && other.direct_confirmed,
        direct: one.direct && other.direct,
        synchronised: one.synchronised && other.synchronised,
    }
}

fn add(tallies: &mut Vec<ErrorTally>, tally: &ErrorTally) {
    match tallies.iter_mut().find(|mine| mine.kind == tally.kind && mine.class == tally.class) {
        Some(mine) => mine.count = mine.count.saturating_add(tally.count),
        None => tallies.push(tally.clone()),
    }
}

#[cfg(test)]
mod tests {
    use iolite_model::{DbOperation, DbTask, Ending, Outstanding, PhaseInfo, Quantile, Stop, Task, TimedBy};

    use super::*;
    use crate::{Collector, Completion, Timetable, recorder};

    const SECOND: u64 = 1_000_000_000;

    /// Sets of 10 µs in transactions of ten whose commits take `commit` ns, for ten seconds by one session.
    fn transactions(index: u32, commit: u64) -> PhaseResult {
        let timetable = Timetable { ramp_end: 0, interval: SECOND, end: 10 * SECOND };
        let (mut recorder, feed) = recorder(timetable, &[OpKind::Write, OpKind::Commit]);
        let mut collector = Collector::new(index, vec![feed]);
        let mut at = 0;
        while at < 10 * SECOND {
            let lengths = std::iter::repeat_n((OpKind::Write, 10_000), 10).chain([(OpKind::Commit, commit)]);
            for (kind, length) in lengths {
                let completed = at + length;
                recorder.record(Completion { kind, intended: at, issued: at, completed, bytes: 100 });
                collector.collect(completed);
                at = completed;
            }
        }
        recorder.finish().iter().for_each(|left| collector.absorb(0, left));
        let (_, _, totals) = collector.finish(0, 10 * SECOND);
        let cache = Cache {
            requested_read: Bytes(1000),
            device_read: (index < 2).then_some(Bytes(900)),
            ..Cache::default()
        };
        let task = DbTask {
            name: "RanWrite".into(),
            operation: DbOperation::RanWrite { transaction_length: 10, hang: Nanos(0) },
            workers: 1,
            stop: Stop { runtime: Some(Nanos(10 * SECOND)), ..Stop::default() },
            ramp: Nanos(0),
            interval: Nanos(SECOND),
            seed: 1,
            timed_by: TimedBy::Client,
        };
        PhaseResult {
            info: PhaseInfo { index, task: Task::Database(task), started: Nanos(0) },
            end: PhaseEnd {
                phase: index,
                ending: Ending::Completed,
                measured: Nanos(10 * SECOND),
                outstanding: Outstanding { at_end: 1, ..Outstanding::default() },
                cache,
                errors: Vec::new(),
                stuck: Vec::new(),
                rate: None,
                verified: None,
            },
            totals,
        }
    }

    #[test]
    fn a_set_bears_its_share_of_the_commit() {
        let phase = transactions(0, 900_000);
        let logical = phase.logical().unwrap();
        assert_eq!(logical.operations, phase.totals.operations(OpKind::Write));
        assert!((logical.response.value / 100_000.0 - 1.0).abs() < 1e-3, "{logical:?}");
        assert!((logical.rate.value / 10_000.0 - 1.0).abs() < 1e-3, "{logical:?}");
        assert!((phase.summary(OpKind::Write).unwrap().mean.value - 10_000.0).abs() < 1.0);
    }

    #[test]
    fn repetitions_add_up_and_what_differs_between_them_is_uncertainty() {
        let (one, same, slower) =
            (transactions(0, 900_000), transactions(1, 900_000), transactions(2, 1_900_000));
        let alike = one.followed_by(&same);
        assert_eq!(alike.end.measured, Nanos(20 * SECOND));
        assert_eq!(alike.end.cache.device_read, Some(Bytes(1800)));
        assert_eq!(alike.end.outstanding.at_end, 2);
        assert_eq!(alike.totals.operations(OpKind::Write), 2 * one.totals.operations(OpKind::Write));
        let rate = alike.logical().unwrap().rate;
        assert!((rate.high - rate.low) / rate.value < 0.01, "{rate:?}");
        let apart = one.followed_by(&slower);
        let rate = apart.logical().unwrap().rate;
        assert!((rate.value / 7500.0 - 1.0).abs() < 0.01, "{rate:?}");
        // 10,000 and 5,000 a second: the interval holds both.
        assert!(rate.low < 5100.0 && rate.high > 9900.0, "{rate:?}");
        assert_eq!(apart.end.cache.device_read, None);
        let max = apart.quantile(OpKind::Commit, Quantile(1.0)).unwrap().value;
        assert_eq!(max, 1_900_000.0);
    }
}
