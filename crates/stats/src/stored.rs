//! Totals that were stored, added up again.

use iolite_model::{Nanos, OpKind, OpTotals, Quantile};

use crate::histogram::{Histogram, HistogramError};
use crate::sums::Sums;

/// What was stored of one kind of operation, several workers' or intervals' together: counts, the exact mean and maximum, and
/// percentiles of the merged histogram.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct StoredTotals {
    sums: Sums,
    response: Histogram,
}

impl StoredTotals {
    /// Adds up the totals of a kind, of workers or of intervals.
    ///
    /// # Errors
    /// A histogram is damaged.
    pub fn of<'a>(
        kind: OpKind,
        ops: impl IntoIterator<Item = &'a OpTotals>,
    ) -> Result<StoredTotals, HistogramError> {
        let mut totals = StoredTotals::default();
        for op in ops.into_iter().filter(|op| op.kind == kind) {
            totals.sums.merge(&Sums::from(op));
            totals.response.merge(&Histogram::decode(&op.response)?);
        }
        Ok(totals)
    }

    /// Operations that succeeded.
    pub fn operations(&self) -> u64 {
        self.sums.operations
    }

    /// Operations that failed.
    pub fn errors(&self) -> u64 {
        self.sums.errors
    }

    /// Mean response time in nanoseconds, exact; `None` where nothing succeeded.
    pub fn mean(&self) -> Option<f64> {
        (self.sums.operations > 0).then(|| self.sums.response_sum as f64 / self.sums.operations as f64)
    }

    /// Longest response time, exact; `None` where nothing succeeded.
    pub fn max(&self) -> Option<Nanos> {
        (self.sums.operations > 0).then_some(Nanos(self.sums.response_max))
    }

    /// The response time that a share of the operations did not exceed; `None` where nothing succeeded.
    pub fn quantile(&self, quantile: Quantile) -> Option<Nanos> {
        // A bucket's longest duration may lie beyond the longest that occurred, which is known.
        Some(self.response.quantile(quantile).min(self.max()?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iolite_model::HistogramBytes;

    fn op(kind: OpKind, times: &[u64]) -> OpTotals {
        let mut response = Histogram::new();
        times.iter().for_each(|&time| response.record(time));
        OpTotals {
            kind,
            operations: times.len() as u64,
            bytes: 0,
            errors: 1,
            response_sum: Nanos(times.iter().sum()),
            response_max: Nanos(times.iter().copied().max().unwrap_or(0)),
            response: response.encode(),
            service: Histogram::new().encode(),
        }
    }

    #[test]
    fn percentiles_are_of_all_workers_together() {
        let fast: Vec<u64> = vec![100; 99];
        let ops = [op(OpKind::Read, &fast), op(OpKind::Write, &[5]), op(OpKind::Read, &[1_000_001])];
        let totals = StoredTotals::of(OpKind::Read, &ops).unwrap();
        assert_eq!((totals.operations(), totals.errors()), (100, 2));
        assert_eq!(totals.mean(), Some((9_900.0 + 1_000_001.0) / 100.0));
        assert_eq!(totals.quantile(Quantile(0.99)), Some(Nanos(100)));
        assert_eq!(totals.quantile(Quantile(0.999)), Some(Nanos(1_000_001)));
        assert_eq!(totals.max(), Some(Nanos(1_000_001)));
        let none = StoredTotals::of(OpKind::Commit, &ops).unwrap();
        assert_eq!((none.operations(), none.mean(), none.max()), (0, None, None));
        assert_eq!(none.quantile(Quantile(0.5)), None);
    }

    #[test]
    fn a_damaged_histogram_is_reported() {
        let damaged = OpTotals { response: HistogramBytes(vec![1, 2, 3]), ..op(OpKind::Read, &[1]) };
        StoredTotals::of(OpKind::Read, [&damaged]).unwrap_err();
    }
}
