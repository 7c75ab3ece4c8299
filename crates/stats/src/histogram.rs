//! Histogram of durations: 1 ns to 1 h at three significant digits.

use hdrhistogram::Histogram as Hdr;
use hdrhistogram::serialization::{Deserializer, Serializer, V2Serializer};
use iolite_model::{HistogramBytes, Nanos, Quantile};

/// Longest duration told apart from longer ones: one hour. Longer ones count as this, and exactly in sum and maximum.
pub(crate) const LONGEST: u64 = 3_600_000_000_000;

/// Significant decimal digits: a value read back is within 0.1 % of the one recorded.
const DIGITS: u8 = 3;

/// Counts of durations from 1 ns to 1 h, each within 0.1 %. Merging is exact: the merged histogram is the one that
/// recording everything in one place would have given.
#[derive(Debug, Clone, PartialEq)]
pub struct Histogram(Hdr<u64>);

/// Why bytes are not a histogram.
#[derive(Debug, thiserror::Error)]
#[error(
    "not a histogram in the HdrHistogram V2 encoding ({0}): the results database is damaged or was edited"
)]
pub struct HistogramError(String);

impl Default for Histogram {
    fn default() -> Histogram {
        Histogram::new()
    }
}

impl Histogram {
    /// An empty histogram; its memory (about 270 KiB) is touched only where values fall.
    pub fn new() -> Histogram {
        // Bounds and digits are constants that the library accepts; a unit test builds one.
        #[allow(clippy::expect_used)]
        Histogram(Hdr::new_with_bounds(1, LONGEST, DIGITS).expect("constant bounds are valid"))
    }

    /// Counts one duration in nanoseconds.
    #[inline]
    pub fn record(&mut self, nanos: u64) {
        self.0.saturating_record(nanos.min(LONGEST));
    }

    /// Counts a duration in nanoseconds many times.
    pub(crate) fn record_many(&mut self, nanos: u64, count: u64) {
        self.0.saturating_record_n(nanos.min(LONGEST), count);
    }

    /// Adds all counts of another histogram.
    pub fn merge(&mut self, other: &Histogram) {
        // Both have the same fixed bounds, the only thing that adding checks.
        let added = self.0.add(&other.0);
        debug_assert!(added.is_ok());
    }

    /// Forgets all counts, keeping the memory.
    pub fn reset(&mut self) {
        if !self.0.is_empty() {
            self.0.reset();
        }
    }

    /// Durations counted.
    pub fn count(&self) -> u64 {
        self.0.len()
    }

    /// The duration that the given share of all counted durations does not exceed; zero when empty.
    pub fn quantile(&self, quantile: Quantile) -> Nanos {
        Nanos(self.0.value_at_quantile(quantile.0))
    }

    /// How far all counted durations lie above `bound` together, in nanoseconds.
    pub fn excess_above(&self, bound: Nanos) -> f64 {
        let above = self.0.iter_recorded().filter(|value| value.value_iterated_to() > bound.0);
        above.map(|value| (value.value_iterated_to() - bound.0) as f64 * value.count_at_value() as f64).sum()
    }

    /// Durations counted that lie above `bound`.
    pub fn count_above(&self, bound: Nanos) -> u64 {
        let above = self.0.iter_recorded().filter(|value| value.value_iterated_to() > bound.0);
        above.map(|value| value.count_at_value()).sum()
    }

    /// Standard deviation in nanoseconds, within the histogram's 0.1 %.
    pub fn standard_deviation(&self) -> f64 {
        self.0.stdev()
    }

    /// In the HdrHistogram V2 encoding.
    pub fn encode(&self) -> HistogramBytes {
        let mut bytes = Vec::new();
        // Writing to a Vec cannot fail, and the counts fit the encoding by construction.
        let written = V2Serializer::new().serialize(&self.0, &mut bytes);
        debug_assert!(written.is_ok());
        HistogramBytes(bytes)
    }

    /// From the HdrHistogram V2 encoding.
    ///
    /// # Errors
    /// The bytes are not such an encoding, or of other bounds than iolite's.
    pub fn decode(bytes: &HistogramBytes) -> Result<Histogram, HistogramError> {
        let decoded: Hdr<u64> = Deserializer::new()
            .deserialize(&mut bytes.0.as_slice())
            .map_err(|error| HistogramError(error.to_string()))?;
        let mut histogram = Histogram::new();
        histogram.0.add(&decoded).map_err(|error| HistogramError(error.to_string()))?;
        Ok(histogram)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn spans_a_nanosecond_to_an_hour() {
        let mut histogram = Histogram::new();
        for nanos in [1, 999, 1_000_000, LONGEST - 1, LONGEST, u64::MAX] {
            histogram.record(nanos);
        }
        assert_eq!(histogram.count(), 6);
        assert_eq!(histogram.quantile(Quantile(0.0)), Nanos(1));
        let longest = histogram.quantile(Quantile(1.0)).0 as f64;
        assert!((longest / LONGEST as f64 - 1.0).abs() < 0.002, "{longest}");
    }

    #[test]
    fn damaged_bytes_are_refused() {
        let mut histogram = Histogram::new();
        histogram.record(5);
        let mut bytes = histogram.encode();
        bytes.0.truncate(10);
        assert!(Histogram::decode(&bytes).is_err());
        assert!(Histogram::decode(&HistogramBytes(b"no histogram at all".to_vec())).is_err());
    }

    proptest! {
        #[test]
        fn merging_parts_equals_recording_the_whole(parts in prop::collection::vec(prop::collection::vec(1u64..10_000_000_000, 0..50), 1..6)) {
            let mut whole = Histogram::new();
            let mut merged = Histogram::new();
            for part in &parts {
                let mut histogram = Histogram::new();
                for &nanos in part {
                    histogram.record(nanos);
                    whole.record(nanos);
                }
                merged.merge(&Histogram::decode(&histogram.encode()).unwrap());
            }
            prop_assert_eq!(whole.encode(), merged.encode());
        }

        #[test]
        fn quantiles_are_within_the_stated_error(mut values in prop::collection::vec(1u64..3_600_000_000_000, 1..300), q in 0.0f64..=1.0) {
            let mut histogram = Histogram::new();
            values.iter().for_each(|&nanos| histogram.record(nanos));
            values.sort_unstable();
            let rank = ((q * values.len() as f64).ceil() as usize).clamp(1, values.len());
            let exact = values[rank - 1] as f64;
            let told = histogram.quantile(Quantile(q)).0 as f64;
            prop_assert!((told - exact).abs() <= exact * 0.001 + 1.0, "{} against {}", told, exact);
        }
    }
}
