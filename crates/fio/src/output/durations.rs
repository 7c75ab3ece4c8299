//! Durations of the operations that are reported together, with their exact sum.

use std::ops::Deref;

use iolite_stats::Histogram;

/// A histogram, whose mean is exact.
#[derive(Debug, Clone, Default)]
pub(crate) struct Durations {
    histogram: Histogram,
    /// Sum in nanoseconds.
    sum: u128,
}

impl Durations {
    /// Adds durations with their sum in nanoseconds. A sum of 0, or one that has reached the largest number, is not known.
    pub(crate) fn add(&mut self, histogram: &Histogram, sum: u64) {
        if histogram.count() == 0 {
            return;
        }
        let known = sum > 0 && sum < u64::MAX;
        let estimated = || (histogram.mean() * histogram.count() as f64).round() as u128;
        self.sum += if known { u128::from(sum) } else { estimated() };
        self.histogram.merge(histogram);
    }

    /// Adds others.
    pub(crate) fn join(&mut self, others: &Durations) {
        self.sum += others.sum;
        self.histogram.merge(&others.histogram);
    }

    /// Mean in nanoseconds; 0 of none.
    pub(crate) fn mean(&self) -> f64 {
        match self.histogram.count() {
            0 => 0.0,
            count => self.sum as f64 / count as f64,
        }
    }
}

impl Deref for Durations {
    type Target = Histogram;

    fn deref(&self) -> &Histogram {
        &self.histogram
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn histogram(nanos: &[u64]) -> Histogram {
        let mut histogram = Histogram::new();
        nanos.iter().for_each(|nanos| histogram.record(*nanos));
        histogram
    }

    #[test]
    fn the_mean_is_that_of_the_sum() {
        let mut durations = Durations::default();
        assert_eq!(durations.mean(), 0.0);
        durations.add(&histogram(&[1_000_001, 3_000_002]), 4_000_003);
        durations.add(&histogram(&[]), 77);
        assert_eq!((durations.mean(), durations.count()), (2_000_001.5, 2));
        durations.join(&durations.clone());
        assert_eq!((durations.mean(), durations.count()), (2_000_001.5, 4));
    }

    #[test]
    fn without_a_sum_it_is_the_histogram_s() {
        for sum in [0, u64::MAX] {
            let mut durations = Durations::default();
            durations.add(&histogram(&[500]), sum);
            durations.add(&histogram(&[700]), sum);
            assert_eq!(durations.mean(), 600.0);
        }
    }
}
