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

    /// Mean response time in nanoseconds, exact; `None` where nothing succeeded, or the times are not known (imported totals).
    pub fn mean(&self) -> Option<f64> {
        self.is_known(self.sums.response_sum)
            .then(|| self.sums.response_sum as f64 / self.sums.operations as f64)
    }

    /// Longest response time, exact; `None` where nothing succeeded, or it is not known.
    pub fn max(&self) -> Option<Nanos> {
        self.is_known(self.sums.response_max).then_some(Nanos(self.sums.response_max))
    }

    /// The response time that a share of the operations did not exceed; `None` without a histogram.
    pub fn quantile(&self, quantile: Quantile) -> Option<Nanos> {
        // A bucket's longest duration may lie beyond the longest that occurred, which is known.
        let is_recorded = self.response.count() > 0;
        Some(self.response.quantile(quantile).min(self.max()?)).filter(|_| is_recorded)
    }

    /// Whether operations took this time together, or at the longest. Without a histogram, 0 stands for an unknown one.
    fn is_known(&self, time: u64) -> bool {
        self.sums.operations > 0 && (time > 0 || self.response.count() > 0)
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
            delay_sum: Nanos(0),
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
    fn of_totals_without_times_nothing_is_made_up() {
        let bare = OpTotals { operations: 5, ..op(OpKind::Read, &[]) };
        let totals = StoredTotals::of(OpKind::Read, [&bare]).unwrap();
        assert_eq!((totals.operations(), totals.mean(), totals.max()), (5, None, None));
        assert_eq!(totals.quantile(Quantile(0.99)), None);
        let timed = OpTotals { response_sum: Nanos(50), ..bare };
        let totals = StoredTotals::of(OpKind::Read, [&timed]).unwrap();
        assert_eq!((totals.mean(), totals.max(), totals.quantile(Quantile(0.5))), (Some(10.0), None, None));
    }

    #[test]
    fn a_damaged_histogram_is_reported() {
        let damaged = OpTotals { response: HistogramBytes(vec![1, 2, 3]), ..op(OpKind::Read, &[1]) };
        StoredTotals::of(OpKind::Read, [&damaged]).unwrap_err();
    }
}
