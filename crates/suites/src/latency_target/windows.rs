//! What one window says of its load.

use iolite_model::{ErrorClass, Iops, Nanos, OpKind, RateKept};
use iolite_stats::{Histogram, PhaseResult};

use super::operations::{BEYOND, needed, window_for};
use super::search::State;
use super::{LatencyFailure, LatencyTarget, Load, Try, TryOutcome, TryPurpose, untimely};

/// Ages of operations in flight at the end that are distinguished.
const AGES: u64 = 64;

/// A window's response times over all operations.
pub(super) struct Window<'a> {
    result: &'a PhaseResult,
    target: &'a LatencyTarget,
    response: Histogram,
    longest: Nanos,
}

impl<'a> Window<'a> {
    /// The window of a finished phase.
    pub(super) fn of(result: &'a PhaseResult, target: &'a LatencyTarget) -> Window<'a> {
        let mut response = Histogram::new();
        let mut longest = Nanos(0);
        for kind in kinds(result) {
            result.totals.response(kind).into_iter().for_each(|times| response.merge(times));
            longest = longest.max(result.summary(kind).and_then(|summary| summary.max).unwrap_or(Nanos(0)));
        }
        Window { result, target, response, longest }
    }

    /// Operations a second that came of it.
    pub(super) fn rate(&self) -> f64 {
        let seconds = self.result.totals.measured as f64 / 1e9;
        if seconds > 0.0 { self.response.count() as f64 / seconds } else { 0.0 }
    }

    /// Whether the bound was kept; with a failure, what can be said all the same.
    pub(super) fn judge(
        &self,
        load: Load,
        purpose: TryPurpose,
    ) -> Result<TryOutcome, (TryOutcome, LatencyFailure)> {
        let outcome = self.outcome(purpose);
        let failure = self.failure(load).or_else(|| {
            let decided = outcome != TryOutcome::Kept && self.is_broken_for_good();
            let asked = !matches!(outcome, TryOutcome::Sounded | TryOutcome::Behind);
            if asked && !decided { self.too_short(load) } else { None }
        });
        failure.map_or(Ok(outcome), |failure| Err((outcome, failure)))
    }

    pub(super) fn reported(&self, state: &State, load: Load, outcome: TryOutcome) -> Try {
        Try {
            phase: self.result.info.index,
            window: state.window(),
            load,
            purpose: state.purpose(),
            outcome,
            quantile: self.quantile(),
            operations: self.response.count(),
            rate: Iops(self.rate()),
            backlog: self.result.end.outstanding.backlog,
        }
    }

    /// The quantile of the response times: of the operations, or of what an arrival at a random instant would wait, whichever is
    /// longer. No histogram says more than the exact maximum.
    fn quantile(&self) -> Option<Nanos> {
        let occurred = self.response.count() > 0;
        let by_operations = || self.response.quantile(self.target.quantile).min(self.longest);
        occurred.then(|| self.quantile_by_time(by_operations()))
    }

    /// The shortest time, at least this one, that an arrival at a random instant waits longer than with no more than the
    /// probability allowed.
    fn quantile_by_time(&self, min: Nanos) -> Nanos {
        let allowed = 1.0 - self.target.quantile.0;
        if self.share_above(min) <= allowed {
            return min;
        }
        let longest = self.longest.max(self.result.end.outstanding.oldest);
        if self.share_above(longest) > allowed {
            // So much is overdue that no time within the window is long enough.
            return self.target.window.max(longest);
        }
        // The histogram's own resolution: between two buckets that have anything there is nothing to find but the age of what
        // is in flight.
        let mut times: Vec<Nanos> =
            self.response.iter().map(|(time, _)| time).filter(|time| *time > min).collect();
        let oldest = self.result.end.outstanding.oldest.0;
        times.extend((1..=AGES).map(|part| Nanos(oldest / AGES * part)));
        times.push(longest);
        times.sort_unstable();
        let first = times.partition_point(|time| self.share_above(*time) > allowed);
        times.get(first).copied().unwrap_or(longest)
    }

    /// The probability of waiting longer than `time` at a random instant. In an open loop these are the late operations, those in
    /// flight and those not yet issued included; in a closed one the share of the time, over all outstanding operations, for which
    /// they had taken longer. Operations in flight at the end are taken as evenly old, up to the oldest.
    fn share_above(&self, time: Nanos) -> f64 {
        let outstanding = self.result.end.outstanding;
        let (count, age) = (outstanding.at_end as f64, outstanding.oldest.0.max(1) as f64);
        let older = outstanding.oldest.saturating_sub(time).0 as f64;
        if self.result.end.rate.is_some() {
            let backlog = outstanding.backlog as f64;
            let late = self.response.count_above(time) as f64 + count * older / age + backlog;
            return late / (self.response.count() as f64 + count + backlog).max(1.0);
        }
        let excess = self.response.excess_above(time) + count * older * older / age / 2.0;
        let slots = f64::from(self.result.info.task.concurrency().max(1));
        excess / (self.result.totals.measured as f64 * slots).max(1.0)
    }

    fn outcome(&self, purpose: TryPurpose) -> TryOutcome {
        if purpose == TryPurpose::Sounding {
            return TryOutcome::Sounded;
        }
        if matches!(self.result.end.rate, Some(RateKept { kept: false, .. })) {
            return TryOutcome::Behind;
        }
        let kept = self.quantile().is_some_and(|quantile| quantile <= self.target.bound);
        if kept { TryOutcome::Kept } else { TryOutcome::Broken }
    }

    fn failure(&self, load: Load) -> Option<LatencyFailure> {
        let end = &self.result.end;
        let errors = self.result.errors();
        if errors > 0 {
            let first = end.errors.first().map_or("an unknown error", |tally| &tally.first).to_owned();
            let class = end.errors.first().map_or(ErrorClass::Other, |tally| tally.class);
            return Some(LatencyFailure::Errors { load, errors, first, class });
        }
        let outstanding = end.outstanding;
        if outstanding.lost > 0 {
            return Some(LatencyFailure::Lost { load, lost: outstanding.lost, age: outstanding.oldest });
        }
        untimely(&end.ending).map(|reason| LatencyFailure::Ended { load, reason })
    }

    /// Whether so many operations were slow that the bound would be broken even if all that are missing to a quantile
    /// were fast: then there are enough, however few. Those still in flight that are older than the bound are slow too.
    fn is_broken_for_good(&self) -> bool {
        let outstanding = self.result.end.outstanding;
        let old = if outstanding.oldest > self.target.bound { outstanding.at_end } else { 0 };
        (self.response.count_above(self.target.bound) + old) as f64 > BEYOND
    }

    /// Whether the quantile rests on too few operations.
    fn too_short(&self, load: Load) -> Option<LatencyFailure> {
        let (quantile, operations) = (self.target.quantile, self.response.count());
        let needed = needed(quantile);
        // Where nothing completed, one operation a window is the most that can be hoped for.
        let per_second = self.rate().max(1.0 / self.target.window.as_secs_f64());
        let remedy = window_for(quantile, per_second);
        (operations < needed).then_some(LatencyFailure::WindowTooShort {
            load,
            quantile,
            operations,
            needed,
            remedy,
        })
    }
}

/// The kinds whose operations count: commits where each write is one, else all that was asked for.
fn kinds(result: &PhaseResult) -> Vec<OpKind> {
    match result.main_kind() {
        OpKind::Commit => vec![OpKind::Commit],
        _ => vec![OpKind::Read, OpKind::Write, OpKind::Trim],
    }
}
