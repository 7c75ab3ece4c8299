//! Totals of a phase.

use iolite_model::{OpKind, OpTotals, PerKind};

use crate::counts::{Counts, OpRecord, ReportedCounts};
use crate::histogram::{Histogram, HistogramError};
use crate::recorder::Completion;
use crate::sections::{Cut, Section};
use crate::series::Point;

/// Totals over the measured part of a phase: the sum of its intervals.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PhaseTotals {
    pub(crate) counts: Counts,
    /// When the measured part began, in nanoseconds since the phase's start: the length of the ramp.
    pub ramp_end: u64,
    /// Measured time, in nanoseconds.
    pub measured: u64,
    /// The intervals of the measured part, in order and without gaps; in a long phase several joined to one, so that
    /// there are 4,096 at most. Their sums are the totals.
    pub series: Vec<Point>,
    /// The response times of each of some sections of the measured part.
    pub(crate) cut: Cut,
    /// Longest response among the operations that came back after the end.
    pub drain_max: u64,
    pub(crate) beside: UnmeasuredCounts,
}

/// What totals leave out, but physical counters don't: successful operations of the ramp and the drain, with their bytes, by
/// kind.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct UnmeasuredCounts {
    done: PerKind<(u64, u64)>,
    errors: u64,
}

impl UnmeasuredCounts {
    pub(crate) fn add(&mut self, kind: OpKind, operations: u64, bytes: u64) {
        let (had, had_bytes) = self.done.entry(kind);
        (*had, *had_bytes) = (had.saturating_add(operations), had_bytes.saturating_add(bytes));
    }

    pub(crate) fn add_errors(&mut self, errors: u64) {
        self.errors = self.errors.saturating_add(errors);
    }

    pub(crate) fn and(mut self, other: &UnmeasuredCounts) -> UnmeasuredCounts {
        self.add_errors(other.errors);
        for (kind, (operations, bytes)) in other.done.iter() {
            self.add(kind, *operations, *bytes);
        }
        self
    }
}

impl PhaseTotals {
    /// Counts that were recorded apart from any interval; `measured` in nanoseconds.
    ///
    /// # Errors
    /// A histogram is damaged.
    pub fn of_counts(measured: u64, operations: &[OpTotals]) -> Result<PhaseTotals, HistogramError> {
        let mut counts = Counts::default();
        for totals in operations {
            counts.add_reported(&ReportedCounts::try_from(totals)?);
        }
        Ok(PhaseTotals { counts, measured, ..PhaseTotals::default() })
    }

    /// Counts an operation that succeeded apart from any interval.
    pub fn count(&mut self, op: &Completion) {
        self.counts.count(op);
    }

    /// Counts an operation that failed apart from any interval.
    pub fn count_error(&mut self, kind: OpKind) {
        self.counts.count_error(kind);
    }

    /// The measured counts of each kind that occurred.
    pub fn by_kind(&self) -> Vec<OpTotals> {
        self.counts.totals()
    }

    /// Whether no operation came back, failed ones included.
    pub fn is_empty(&self) -> bool {
        OpKind::all().all(|kind| self.operations(kind) == 0 && self.errors(kind) == 0)
    }

    /// Operations of a kind that succeeded.
    pub fn operations(&self, kind: OpKind) -> u64 {
        self.record_of(kind).map_or(0, |record| record.sums.operations)
    }

    /// Operations of a kind that failed.
    pub fn errors(&self, kind: OpKind) -> u64 {
        self.record_of(kind).map_or(0, |record| record.sums.errors)
    }

    /// Operations of all kinds that failed over the whole phase, ramp and drain included.
    pub fn errors_of_all_stages(&self) -> u64 {
        let measured: u64 = OpKind::all().map(|kind| self.errors(kind)).sum();
        measured.saturating_add(self.beside.errors)
    }

    /// Bytes moved by a kind.
    pub fn bytes(&self, kind: OpKind) -> u64 {
        self.record_of(kind).map_or(0, |record| record.sums.bytes)
    }

    /// Operations of a kind that succeeded over the whole phase, ramp and drain included, and the bytes they moved: what
    /// counters of devices are to be compared with.
    pub fn whole(&self, kind: OpKind) -> (u64, u64) {
        let (operations, bytes) = self.beside.done.get(kind).copied().unwrap_or_default();
        (operations.saturating_add(self.operations(kind)), bytes.saturating_add(self.bytes(kind)))
    }

    /// Response times of a kind, where it occurred.
    pub fn response(&self, kind: OpKind) -> Option<&Histogram> {
        self.record_of(kind).map(|record| &record.response)
    }

    /// Response times of a kind over the course of the measured part: start and end of each section in seconds, 24 sections at
    /// most; those in which it did not occur are left out.
    pub fn responses_over_time(&self, kind: OpKind) -> impl Iterator<Item = (f64, f64, &Histogram)> {
        self.responses_of(&self.cut.sections, kind)
    }

    /// The same in more and shorter sections, 96 at most: fewer operations in each, for pictures.
    pub fn responses_in_detail(&self, kind: OpKind) -> impl Iterator<Item = (f64, f64, &Histogram)> {
        self.responses_of(&self.cut.fine, kind)
    }

    fn responses_of<'a>(
        &'a self,
        sections: &'a [Section],
        kind: OpKind,
    ) -> impl Iterator<Item = (f64, f64, &'a Histogram)> {
        let end = self.measured as f64 / 1e9;
        sections.iter().filter_map(move |section| {
            let response = section.response(kind).filter(|response| response.count() > 0)?;
            let (from, to) = (section.span.0 as f64 / 1e9, section.span.1 as f64 / 1e9);
            Some((from, if end > from { to.min(end) } else { to }, response))
        })
    }

    /// Sum of the service times of a kind in nanoseconds, exact.
    pub fn service_sum(&self, kind: OpKind) -> u64 {
        self.record_of(kind).map_or(0, |record| record.sums.service_sum())
    }

    /// Sum of the response times of a kind in nanoseconds, exact.
    pub fn response_sum(&self, kind: OpKind) -> u64 {
        self.record_of(kind).map_or(0, |record| record.sums.response_sum)
    }

    /// Service times of a kind, where it occurred.
    pub fn service(&self, kind: OpKind) -> Option<&Histogram> {
        self.record_of(kind).map(|record| &record.service)
    }

    pub(crate) fn record_of(&self, kind: OpKind) -> Option<&OpRecord> {
        self.counts.of(kind)
    }

    /// The totals of two phases that ran side by side: counts and histograms add up, the measured time is the longer of
    /// the two.
    ///
    /// Their series are joined from each instant at which both have an interval's end to the next, provided that they
    /// are of the same length. Otherwise there is nothing to join by: the series is left empty, and so estimates take
    /// what was counted as independent.
    #[must_use]
    pub fn merge(&self, other: &PhaseTotals) -> PhaseTotals {
        let mut counts = self.counts.clone();
        counts.merge(&other.counts);
        PhaseTotals {
            counts,
            ramp_end: self.ramp_end.min(other.ramp_end),
            measured: self.measured.max(other.measured),
            series: side_by_side(&self.series, &other.series),
            cut: Cut {
                sections: sections_side_by_side(&self.cut.sections, &other.cut.sections),
                fine: sections_side_by_side(&self.cut.fine, &other.cut.fine),
            },
            drain_max: self.drain_max.max(other.drain_max),
            beside: self.beside.clone().and(&other.beside),
        }
    }
}

/// Sections of the same time as one; with another number they cannot be matched in time, and none remain.
fn sections_side_by_side(one: &[Section], other: &[Section]) -> Vec<Section> {
    if one.len() != other.len() {
        return Vec::new();
    }
    let pairs = one.iter().zip(other);
    pairs
        .map(|(one, other)| {
            let mut both = one.clone();
            both.merge(other);
            both
        })
        .collect()
}

/// Two series of the same time as one.
fn side_by_side(one: &[Point], other: &[Point]) -> Vec<Point> {
    let (one, other) = (ends(one), ends(other));
    if one.last().map(|last| last.0) != other.last().map(|last| last.0) {
        return Vec::new();
    }
    let mut joined = Vec::with_capacity(one.len().min(other.len()));
    let (mut one, mut other) = (one.into_iter().peekable(), other.into_iter().peekable());
    let (mut open, mut start) = (Point::default(), 0);
    while let (Some(&(mine, _)), Some(&(theirs, _))) = (one.peek(), other.peek()) {
        let taken = [one.next_if(|_| mine <= theirs), other.next_if(|_| theirs <= mine)];
        taken.iter().flatten().for_each(|(_, point)| open.join(point));
        if mine == theirs {
            let seconds = Point::idle(mine - start).seconds;
            joined.push(Point { seconds, ..std::mem::take(&mut open) });
            start = mine;
        }
    }
    // Points at the very end that have no time of their own.
    for (_, point) in one.chain(other) {
        if let Some(last) = joined.last_mut() {
            last.join(point);
        }
    }
    joined
}

/// Each point with the instant at which it ends, in nanoseconds since the first one's start.
fn ends(series: &[Point]) -> Vec<(u64, &Point)> {
    let mut end = 0u64;
    let each = series.iter().map(|point| {
        end = end.saturating_add((point.seconds * 1e9).round() as u64);
        (end, point)
    });
    each.collect()
}
