//! Counts of each kind of operation, added up where nobody measures.

use iolite_model::{Nanos, OpKind, OpTotals};

use crate::histogram::{Histogram, HistogramError, counted};
use crate::recorder::{OpTally, Snapshot};
use crate::sums::Sums;

/// Counts of one kind of operation.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct OpRecord {
    pub(crate) sums: Sums,
    pub(crate) response: Histogram,
    pub(crate) service: Histogram,
}

/// Counts of one kind of operation as another process tells them, the histograms as durations and how often each.
#[derive(Debug)]
pub(crate) struct Told {
    pub(crate) kind: OpKind,
    pub(crate) sums: Sums,
    response: Vec<(u64, u64)>,
    service: Vec<(u64, u64)>,
}

/// Counts of each kind of operation; a kind that did not occur has none.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Counts([Option<Box<OpRecord>>; OpKind::ALL.len()]);

impl OpRecord {
    fn add(&mut self, tally: &OpTally) {
        self.sums.merge(&tally.sums);
        tally.responses().for_each(|counted| counted.add_to(&mut self.response));
        tally.services().for_each(|counted| counted.add_to(&mut self.service));
    }

    fn merge(&mut self, other: &OpRecord) {
        self.sums.merge(&other.sums);
        self.response.merge(&other.response);
        self.service.merge(&other.service);
    }

    fn totals(&self, kind: OpKind) -> OpTotals {
        let Sums { operations, bytes, errors, response_sum, response_max } = self.sums;
        OpTotals {
            kind,
            operations,
            bytes,
            errors,
            response_sum: Nanos(response_sum),
            response_max: Nanos(response_max),
            response: self.response.encode(),
            service: self.service.encode(),
        }
    }
}

impl TryFrom<&OpTotals> for Told {
    type Error = HistogramError;

    fn try_from(totals: &OpTotals) -> Result<Told, HistogramError> {
        let (response, service) = (counted(&totals.response)?, counted(&totals.service)?);
        Ok(Told { kind: totals.kind, sums: Sums::from(totals), response, service })
    }
}

impl Counts {
    /// Adds what a worker has counted in an interval.
    pub(crate) fn add(&mut self, snapshot: &Snapshot) {
        for (kind, tally) in snapshot.tallies() {
            self.0[kind.index()].get_or_insert_default().add(tally);
        }
    }

    /// Adds others.
    pub(crate) fn merge(&mut self, other: &Counts) {
        for (mine, theirs) in self.0.iter_mut().zip(&other.0) {
            if let Some(theirs) = theirs {
                mine.get_or_insert_default().merge(theirs);
            }
        }
    }

    /// Adds what another process tells.
    pub(crate) fn add_told(&mut self, told: &Told) {
        let record = self.0[told.kind.index()].get_or_insert_default();
        record.sums.merge(&told.sums);
        record.response.record_all(&told.response);
        record.service.record_all(&told.service);
    }

    /// Those of one kind, where it occurred.
    pub(crate) fn of(&self, kind: OpKind) -> Option<&OpRecord> {
        self.0[kind.index()].as_deref()
    }

    /// As they are stored.
    pub(crate) fn totals(&self) -> Vec<OpTotals> {
        let records = OpKind::ALL.iter().zip(&self.0);
        records.filter_map(|(&kind, record)| record.as_ref().map(|record| record.totals(kind))).collect()
    }
}
