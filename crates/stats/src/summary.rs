//! A phase's result, and the estimates derived from it.

use iolite_model::{Arrival, FileTask, Nanos, OpKind, PhaseEnd, PhaseInfo, Quantile, Task};

use crate::estimate::{Direction, Estimate, MAX_BATCHES, worth_for_quantile};
use crate::rare;
use crate::series::Point;
use crate::totals::PhaseTotals;

/// A finished phase: what was asked, how it ended, what was counted. The suites' history is made of these.
#[derive(Debug, Clone, PartialEq)]
pub struct PhaseResult {
    /// What was asked.
    pub info: PhaseInfo,
    /// How it ended.
    pub end: PhaseEnd,
    /// What was counted over the measured part.
    pub totals: PhaseTotals,
}

/// What one kind of operation did over the measured part of a phase.
#[derive(Debug, Clone, PartialEq)]
pub struct Summary {
    /// Kind of operation.
    pub kind: OpKind,
    /// Operations that succeeded.
    pub operations: u64,
    /// Operations that failed.
    pub errors: u64,
    /// Operations per second.
    pub rate: Estimate,
    /// Bytes per second.
    pub bytes_per_second: f64,
    /// Mean response time in nanoseconds; its value is not a number where the times are not known: of totals that were imported.
    pub mean: Estimate,
    /// Longest response time; `None` where it is not known.
    pub max: Option<Nanos>,
}

impl PhaseResult {
    /// The kind of operation that the phase is about: the task's own, the commit where there is one, else the one that occurred most.
    pub fn main_kind(&self) -> OpKind {
        if let Some(kind) = self.info.task.main_kind().filter(|kind| self.totals.operations(*kind) > 0) {
            return kind;
        }
        if self.totals.operations(OpKind::Sync) > 0 && self.totals.operations(OpKind::Commit) > 0 {
            return OpKind::Commit;
        }
        OpKind::all().max_by_key(|&kind| self.totals.operations(kind)).unwrap_or(OpKind::Read)
    }

    /// What a kind of operation did; `None` where none succeeded.
    pub fn summary(&self, kind: OpKind) -> Option<Summary> {
        let totals = &self.totals;
        let record = totals.record_of(kind).filter(|record| record.sums.operations > 0)?;
        let counts: Vec<_> = totals.series.iter().map(|p| (p.seconds, p.operations[kind] as f64)).collect();
        // Response times within an interval resemble each other: the error of the mean comes from interval to interval.
        let responses: Vec<_> =
            totals.series.iter().map(|p| (p.operations[kind] as f64, p.response_sum[kind] as f64)).collect();
        let sums = record.sums;
        let count = sums.operations as f64;
        // A sum that has reached the largest number says nothing any more (weeks of operations, or hours of overload).
        let known = sums.response_sum < u64::MAX;
        let mean = if known { sums.response_sum as f64 / count } else { record.response.mean() };
        let deviation = record.response.standard_deviation();
        let direction = Direction::LowerIsBetter;
        let (up, is_recorded) = (Direction::HigherIsBetter, record.response.count() > 0);
        let rate = self.rate(kind, &counts);
        // A total from elsewhere, without a distribution or a course: nothing is known of how its rate varied.
        let is_bare = counts.len() < 2 && !is_recorded;
        Some(Summary {
            kind,
            operations: sums.operations,
            errors: sums.errors,
            rate: if is_bare { Estimate::unknown(rate.value, up) } else { rate },
            bytes_per_second: sums.bytes as f64 / (totals.measured as f64 / 1e9),
            mean: match Estimate::ratio(&responses, direction).filter(|_| known) {
                _ if !is_recorded && sums.response_sum == 0 => Estimate::unknown(f64::NAN, direction),
                _ if is_bare => Estimate::unknown(mean, direction),
                Some(ratio) => ratio,
                None => Estimate::mean(mean, deviation, count, direction),
            },
            max: (is_recorded || sums.response_max > 0).then_some(Nanos(sums.response_max)),
        })
    }

    /// Operations per second over all the time. How much it varies follows from the intervals without the sync at the end, in which no
    /// operation is due.
    fn rate(&self, kind: OpKind, counts: &[(f64, f64)]) -> Estimate {
        let whole = Estimate::rate(counts, Direction::HigherIsBetter);
        let working = self.before_end_sync().len();
        if kind == OpKind::Sync || working == counts.len() {
            return whole;
        }
        let part = Estimate::rate(&counts[..working], Direction::HigherIsBetter);
        if part.value > 0.0 { self.with_sync(part.scaled(whole.value / part.value), working) } else { whole }
    }

    /// An estimate from the first `working` points of the course, for all the time. The sync after them was seen once: it may as well
    /// take twice the time, or hardly any.
    fn with_sync(&self, estimate: Estimate, working: usize) -> Estimate {
        let seconds = |points: &[Point]| points.iter().map(|point| point.seconds).sum::<f64>();
        let all = seconds(&self.totals.series);
        let share = if all > 0.0 { 1.0 - seconds(&self.totals.series[..working]) / all } else { 0.0 };
        Estimate {
            low: estimate.low.max(0.0) / (1.0 + share),
            high: estimate.high * (1.0 + share),
            ..estimate
        }
    }

    /// Bytes per second of a kind over all the time, with the variation from interval to interval as for the rate; `None` where none
    /// were moved.
    pub fn bandwidth(&self, kind: OpKind) -> Option<Estimate> {
        self.per_second(self.totals.bytes(kind) as f64, |point| point.bytes[kind] as f64)
    }

    /// What an amount is per second over all the time, `total` of it in all and `of` an interval, with the variation from interval to
    /// interval as for the rate; `None` where it is nothing.
    pub fn per_second(&self, total: f64, of: impl Fn(&Point) -> f64) -> Option<Estimate> {
        let value = total / (self.totals.measured as f64 / 1e9);
        let points = self.before_end_sync();
        let moved: Vec<_> = points.iter().map(|point| (point.seconds, of(point))).collect();
        let direction = Direction::HigherIsBetter;
        let varied = Estimate::ratio(&moved, direction).filter(|varied| varied.value > 0.0);
        let bare = || Estimate::mean(value, 0.0, 0.0, direction);
        // Imported totals may have a course that is not theirs.
        let scaled = |varied: Estimate| match points.len() == self.totals.series.len() {
            true => varied,
            false => self.with_sync(varied.scaled(value / varied.value), points.len()),
        };
        (value > 0.0 && value.is_finite()).then(|| varied.map_or_else(bare, scaled))
    }

    /// The course of the phase up to the sync at its end, in which no operation is due; all of it where there is none, and where it
    /// leaves too few points.
    pub(crate) fn before_end_sync(&self) -> &[Point] {
        const FEWEST: usize = 3;
        let series = &self.totals.series;
        let working = self.end_sync_begins().unwrap_or(series.len());
        if working < FEWEST { series } else { &series[..working] }
    }

    /// The first point of the course that belongs to the sync at the end: behind the last operation that is no sync, or with it where the
    /// sync began before that point was over. A worker that syncs while others still work, because its share is done, is none.
    fn end_sync_begins(&self) -> Option<usize> {
        let Task::File(task) = &self.info.task else { return None };
        let FileTask { durability, arrival, .. } = task;
        // Of several syncs, which one was at the end is not known.
        if durability.end_sync.is_none() || durability.sync.is_some() || !durability.also.is_empty() {
            return None;
        }
        let series = &self.totals.series;
        let works =
            |point: &Point| point.operations.iter().any(|(kind, count)| kind != OpKind::Sync && *count > 0);
        let last = series.iter().rposition(works)?;
        let is_synced = series[last..].iter().any(|point| point.operations[OpKind::Sync] > 0);
        if is_synced {
            let longest = self.totals.record_of(OpKind::Sync).map_or(0, |sync| sync.sums.response_max);
            let begin = (self.totals.measured as f64 - longest as f64) / 1e9;
            // Sums of seconds have rounding errors.
            let before = series[..=last].iter().map(|point| point.seconds).sum::<f64>() <= begin + 1e-6;
            return Some(last + usize::from(before));
        }
        // One that was not over when the time was is not counted: nothing else was in flight, and a closed loop waits for nothing else.
        let cut_off = *arrival == Arrival::Closed && self.end.outstanding.at_end == 0;
        (cut_off && last + 1 < series.len()).then_some(last)
    }

    /// Number of independent operations the operations of a kind are worth: slow ones come together, so that many
    /// operations of little time carry less information than their number. Taken from how much the mean's own samples, the
    /// intervals with such operations, are worth.
    pub fn effective_operations(&self, kind: OpKind) -> u64 {
        let occurred = self.totals.series.iter().filter(|point| point.operations[kind] > 0).count();
        // A long series is batched: that makes fewer samples of it, not samples that are worth less.
        let intervals = occurred.max(1) as f64 / occurred.div_ceil(MAX_BATCHES as usize).max(1) as f64;
        let worth = self.summary(kind).map_or(0.0, |summary| summary.mean.effective_samples / intervals);
        (self.totals.operations(kind) as f64 * worth.min(1.0)) as u64
    }

    /// The probability that an operation would take longer than `bound` if it came at a random instant, as a client's
    /// does that does not wait for others.
    ///
    /// In an open loop these are the late ones, those still in flight or not yet issued at the end included. A closed
    /// loop issues nothing while it is stalled, and so sees one slow operation where a client would see as many as
    /// arrive meanwhile (coordinated omission): there it is the share of the time, over all outstanding operations, for
    /// which they took longer than the bound.
    pub fn probability_above(&self, kind: OpKind, bound: Nanos) -> f64 {
        let Some(record) = self.totals.record_of(kind) else { return 0.0 };
        let outstanding = self.end.outstanding;
        let late_at_end = if outstanding.oldest > bound { outstanding.at_end as f64 } else { 0.0 };
        if matches!(&self.info.task, Task::File(task) if task.asked_rate().is_some()) {
            let late = record.response.count_above(bound) as f64 + late_at_end + outstanding.backlog as f64;
            let all = record.sums.operations as f64 + outstanding.at_end as f64 + outstanding.backlog as f64;
            return late / all.max(1.0);
        }
        let excess = record.response.excess_above(bound);
        let at_end = late_at_end * outstanding.oldest.saturating_sub(bound).0 as f64;
        let time = self.totals.measured as f64 * f64::from(self.info.task.concurrency().max(1));
        ((excess + at_end) / time.max(1.0)).min(1.0)
    }

    /// The least that [`probability_above`](PhaseResult::probability_above) is, with 95 % confidence, if stalls occur at random instants:
    /// a single one says hardly more than that there are any. Operations that are outstanding together count as one stall, and
    /// stalls of different lengths as fewer ([`Histogram::effective_above`](crate::Histogram::effective_above)).
    pub fn probability_above_at_least(&self, kind: OpKind, bound: Nanos) -> f64 {
        let Some(record) = self.totals.record_of(kind) else { return 0.0 };
        let together = f64::from(self.info.task.concurrency().max(1));
        let stalls = (record.response.effective_above(bound) / together).max(1.0);
        self.probability_above(kind, bound) * rare::at_least(stalls, 0.95)
    }

    /// The largest share of operations that take longer than `bound`, with 97.5 % confidence: what a quantile says of a bound, without
    /// the detour over how the operations below it are distributed. Slow operations of one section of the phase count as one
    /// occurrence. 1 where nothing is known.
    pub fn share_above_at_most(&self, kind: OpKind, bound: Nanos) -> f64 {
        let Some(record) = self.totals.record_of(kind).filter(|record| record.response.count() > 0) else {
            return 1.0;
        };
        let slow = self.totals.cut.sections.iter().map(|section| section.above(kind, bound).1);
        let seen = record.response.count_above(bound) as f64;
        // Where the sections do not have them all, all count as one occurrence.
        let of_sections = slow.clone().sum::<f64>() >= seen;
        let slow = slow.filter(|_| of_sections).chain((!of_sections).then_some(seen));
        rare::share_at_most(record.response.count() as f64, slow, 0.975)
    }

    /// Number of independent operations the operations of a kind are worth for a quantile: from how the share of
    /// operations slower than it varies between the sections of the phase ([`Estimate::quantile_of_sections`]). Where the
    /// sections say nothing, [`PhaseResult::effective_operations`].
    pub fn effective_for_quantile(&self, kind: OpKind, quantile: Quantile) -> u64 {
        let Some(record) = self.totals.record_of(kind) else { return 0 };
        let value = record.response.quantile(quantile);
        let sections: Vec<_> =
            self.totals.cut.sections.iter().map(|section| section.above(kind, value)).collect();
        worth_for_quantile(&sections).unwrap_or_else(|| self.effective_operations(kind))
    }

    /// A quantile of a kind's response times in nanoseconds, with its interval within this run; `None` where none
    /// succeeded.
    ///
    /// No histogram reports more than the exact maximum.
    pub fn quantile(&self, kind: OpKind, quantile: Quantile) -> Option<Estimate> {
        let record = self.totals.record_of(kind).filter(|record| record.response.count() > 0)?;
        let value_at = |q: f64| record.response.quantile(Quantile(q)).0.min(record.sums.response_max) as f64;
        let sections: Vec<_> =
            self.totals.cut.sections.iter().filter_map(|section| section.response(kind)).collect();
        let direction = Direction::LowerIsBetter;
        Estimate::quantile_of_sections(quantile, &sections, value_at, direction).or_else(|| {
            let worth = self.effective_operations(kind).max(1);
            Some(Estimate::quantile(quantile, worth, value_at, direction))
        })
    }
}
