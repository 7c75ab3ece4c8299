//! What is exact of the operations of one kind: counts, sums and the longest.

use iolite_model::OpTotals;

/// The exact part of what is counted; the histograms go with it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Sums {
    /// Operations that succeeded.
    pub(crate) operations: u64,
    /// Bytes transferred by them.
    pub(crate) bytes: u64,
    /// Operations that failed.
    pub(crate) errors: u64,
    /// Sum of the response times in nanoseconds.
    pub(crate) response_sum: u64,
    /// Sum of the delays of the starts (issued minus intended) in nanoseconds: response times less these are service times.
    pub(crate) delay_sum: u64,
    /// Longest response time in nanoseconds.
    pub(crate) response_max: u64,
}

impl Sums {
    /// Counts an operation that succeeded.
    #[inline(always)]
    pub(crate) fn count(&mut self, bytes: u64, response: u64) {
        self.operations += 1;
        self.bytes += bytes;
        self.response_sum = self.response_sum.saturating_add(response);
        self.response_max = self.response_max.max(response);
    }

    /// Sum of the service times in nanoseconds.
    pub(crate) fn service_sum(&self) -> u64 {
        self.response_sum.saturating_sub(self.delay_sum)
    }

    /// Adds others. What another process says may be anything: sums stop at the largest number.
    pub(crate) fn merge(&mut self, other: &Sums) {
        self.operations = self.operations.saturating_add(other.operations);
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.errors = self.errors.saturating_add(other.errors);
        self.response_sum = self.response_sum.saturating_add(other.response_sum);
        self.delay_sum = self.delay_sum.saturating_add(other.delay_sum);
        self.response_max = self.response_max.max(other.response_max);
    }

    /// Whether nothing has been counted.
    pub(crate) fn is_empty(&self) -> bool {
        self.operations == 0 && self.errors == 0
    }
}

impl From<&OpTotals> for Sums {
    fn from(totals: &OpTotals) -> Sums {
        Sums {
            operations: totals.operations,
            bytes: totals.bytes,
            errors: totals.errors,
            response_sum: totals.response_sum.0,
            delay_sum: totals.delay_sum.0,
            response_max: totals.response_max.0,
        }
    }
}
