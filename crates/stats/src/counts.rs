//! Counts of each kind of operation, added up where nobody measures.

use std::sync::Arc;

use iolite_model::{Nanos, OpKind, OpTotals, PerKind, Percentiles, Quantile};

use crate::histogram::{Histogram, HistogramError, counted};
use crate::recorder::{Completion, OpTally, Snapshot};
use crate::sums::Sums;

/// Counts of one kind of operation.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct OpRecord {
    pub(crate) sums: Sums,
    pub(crate) response: Histogram,
    pub(crate) service: Histogram,
}

/// Counts of one kind of operation as another process reports them; histograms are pairs of duration and count.
#[derive(Debug)]
pub(crate) struct ReportedCounts {
    pub(crate) kind: OpKind,
    pub(crate) sums: Sums,
    response: Vec<(u64, u64)>,
    service: Vec<(u64, u64)>,
}

/// Counts of each kind of operation; a kind that did not occur has none. Copies share what they count until one of them counts
/// on: a thousand jobs have their counts in several places when they have ended.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Counts(PerKind<Option<Arc<OpRecord>>>);

impl OpRecord {
    fn count(&mut self, op: &Completion) {
        let response = op.completed.saturating_sub(op.intended);
        self.sums.count(op.bytes, response);
        self.sums.delay_sum = self.sums.delay_sum.saturating_add(op.issued.saturating_sub(op.intended));
        self.response.record(response);
        self.service.record(op.completed.saturating_sub(op.issued));
    }

    fn add(&mut self, tally: &OpTally) {
        self.sums.merge(&tally.sums);
        tally.add_responses(&mut self.response);
        tally.add_services(&mut self.service);
    }

    fn merge(&mut self, other: &OpRecord) {
        self.sums.merge(&other.sums);
        self.response.merge(&other.response);
        self.service.merge(&other.service);
    }

    fn totals(&self, kind: OpKind) -> OpTotals {
        let Sums { operations, bytes, errors, response_sum, delay_sum, response_max } = self.sums;
        OpTotals {
            kind,
            operations,
            bytes,
            errors,
            response_sum: Nanos(response_sum),
            delay_sum: Nanos(delay_sum),
            response_max: Nanos(response_max),
            response: self.response.encode(),
            service: self.service.encode(),
        }
    }

    fn percentiles(&self, kind: OpKind) -> Percentiles {
        // A bucket's longest duration may lie beyond the longest that occurred, which is known.
        let at = |share| self.response.quantile(Quantile(share)).min(Nanos(self.sums.response_max));
        Percentiles { kind, p50: at(0.5), p95: at(0.95), p99: at(0.99), p999: at(0.999) }
    }
}

impl TryFrom<&OpTotals> for ReportedCounts {
    type Error = HistogramError;

    fn try_from(totals: &OpTotals) -> Result<ReportedCounts, HistogramError> {
        let (response, service) = (counted(&totals.response)?, counted(&totals.service)?);
        Ok(ReportedCounts { kind: totals.kind, sums: Sums::from(totals), response, service })
    }
}

impl ReportedCounts {
    /// Adds the response times to a histogram.
    pub(crate) fn add_responses(&self, histogram: &mut Histogram) {
        histogram.record_all(&self.response);
    }
}

impl Counts {
    /// Counts an operation that succeeded.
    pub(crate) fn count(&mut self, op: &Completion) {
        self.record(op.kind).count(op);
    }

    /// Counts an operation that failed.
    pub(crate) fn count_error(&mut self, kind: OpKind) {
        self.record(kind).sums.errors += 1;
    }

    /// Adds what a worker has counted in an interval.
    pub(crate) fn add(&mut self, snapshot: &Snapshot) {
        for (kind, tally) in snapshot.tallies() {
            self.record(kind).add(tally);
        }
    }

    /// Adds others.
    pub(crate) fn merge(&mut self, other: &Counts) {
        for (kind, theirs) in other.0.iter() {
            let Some(theirs) = theirs else { continue };
            match self.0.entry(kind) {
                Some(mine) => Arc::make_mut(mine).merge(theirs),
                none => *none = Some(theirs.clone()),
            }
        }
    }

    /// Adds what another process reports.
    pub(crate) fn add_reported(&mut self, reported: &ReportedCounts) {
        let record = self.record(reported.kind);
        record.sums.merge(&reported.sums);
        record.response.record_all(&reported.response);
        record.service.record_all(&reported.service);
    }

    /// Those of a kind, to count in.
    fn record(&mut self, kind: OpKind) -> &mut OpRecord {
        Arc::make_mut(self.0.entry(kind).get_or_insert_default())
    }

    /// Gives back memory that was kept to count on.
    pub(crate) fn shrink(&mut self) {
        for record in self.0.values_mut().flatten() {
            let record = Arc::make_mut(record);
            record.response.shrink();
            record.service.shrink();
        }
    }

    /// Those of one kind, where it occurred.
    pub(crate) fn of(&self, kind: OpKind) -> Option<&OpRecord> {
        self.0.get(kind)?.as_deref()
    }

    /// As they are stored.
    pub(crate) fn totals(&self) -> Vec<OpTotals> {
        self.occurred().map(|(kind, record)| record.totals(kind)).collect()
    }

    /// Percentiles of the response times; a kind of which nothing succeeded has none.
    pub(crate) fn percentiles(&self) -> Vec<Percentiles> {
        let succeeded = self.occurred().filter(|(_, record)| record.response.count() > 0);
        succeeded.map(|(kind, record)| record.percentiles(kind)).collect()
    }

    fn occurred(&self) -> impl Iterator<Item = (OpKind, &OpRecord)> {
        self.0.iter().filter_map(|(kind, record)| Some((kind, record.as_deref()?)))
    }
}
