//! Histogram of durations: 1 ns to 1 h at three significant digits.
//!
//! Buckets, the choice of a quantile's and the encoding are HdrHistogram's (Tene), whose Rust library the tests compare with. The
//! library's own histogram is 270 KiB whatever it holds; of these there are some for each of a thousand jobs.

use std::fmt;

use iolite_model::{HistogramBytes, Nanos, Quantile};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::buckets::{LONGEST, checked_lowest, index, lowest};

/// Significant decimal digits: a value read back is within 0.1 % of the one recorded.
const DIGITS: u8 = 3;

/// How an uncompressed V2 encoding begins.
const COOKIE: u32 = 0x1c84_9313;

/// Length of its header in bytes: cookie, length of the counts, offset, digits, bounds, ratio.
const HEADER: usize = 40;

/// Counts of durations from 1 ns to 1 h, each within 0.1 %. Merging is exact: the merged histogram is the one that
/// recording everything in one place would have given. It holds what has occurred and no more.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Histogram {
    /// Index of each bucket that has any, in their order. Mostly they come in order; where they do not, there are some
    /// thousands at most to be moved.
    buckets: Vec<u16>,
    /// How many each of them has: apart, since a pair of both would be more than half as large again.
    counts: Vec<u64>,
    /// Their sum.
    count: u64,
}

impl fmt::Debug for Histogram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Histogram({} durations)", self.count())
    }
}

/// Why bytes are not a histogram.
#[derive(Debug, thiserror::Error)]
#[error(
    "not a histogram in the HdrHistogram V2 encoding ({0}): the results database is damaged or was edited"
)]
pub struct HistogramError(String);

/// The longest duration of a bucket.
fn highest(index: u16) -> u64 {
    lowest(usize::from(index) + 1) - 1
}

/// The middle of a bucket, which stands for all that it counts.
fn middle(index: u16) -> f64 {
    let (low, next) = (lowest(index.into()), lowest(usize::from(index) + 1));
    (low + ((next - low) >> 1)) as f64
}

impl Histogram {
    /// An empty histogram.
    pub fn new() -> Histogram {
        Histogram::default()
    }

    /// Counts one duration in nanoseconds.
    pub fn record(&mut self, nanos: u64) {
        self.record_many(nanos, 1);
    }

    /// Counts a duration in nanoseconds many times.
    pub fn record_many(&mut self, nanos: u64, count: u64) {
        self.add(index(nanos.min(LONGEST)) as u16, count);
    }

    fn add(&mut self, index: u16, count: u64) {
        if count == 0 {
            return;
        }
        self.count = self.count.saturating_add(count);
        if self.buckets.last().is_none_or(|last| *last < index) {
            self.buckets.push(index);
            self.counts.push(count);
            return;
        }
        match self.buckets.binary_search(&index) {
            Ok(at) => self.counts[at] = self.counts[at].saturating_add(count),
            Err(at) => {
                self.buckets.insert(at, index);
                self.counts.insert(at, count);
            }
        }
    }

    /// The buckets that have any, in their order, and how many each has.
    fn counted(&self) -> impl Iterator<Item = (u16, u64)> + '_ {
        self.buckets.iter().copied().zip(self.counts.iter().copied())
    }

    /// Gives back memory that was kept for further buckets: nothing more is to be counted.
    pub(crate) fn shrink(&mut self) {
        self.buckets.shrink_to_fit();
        self.counts.shrink_to_fit();
    }

    /// Adds all counts of another histogram.
    pub fn merge(&mut self, other: &Histogram) {
        other.counted().for_each(|(index, count)| self.add(index, count));
    }

    /// Forgets all counts.
    pub fn reset(&mut self) {
        *self = Histogram::default();
    }

    /// Durations counted.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The duration that the given share of all counted durations does not exceed; zero when empty.
    pub fn quantile(&self, quantile: Quantile) -> Nanos {
        if quantile.0 <= 0.0 {
            return self.min();
        }
        let wanted = ((quantile.0.min(1.0) * self.count as f64).ceil() as u64).max(1);
        let mut reached = 0u64;
        let bucket = self.counted().find(|(_, count)| {
            reached = reached.saturating_add(*count);
            reached >= wanted
        });
        // Beyond 2^53 the product may be more than there are.
        bucket.map_or_else(|| self.max(), |(index, _)| Nanos(highest(index)))
    }

    /// The shortest duration counted, within 0.1 % below; zero when empty.
    pub fn min(&self) -> Nanos {
        Nanos(self.buckets.first().map_or(0, |&index| lowest(index.into())))
    }

    /// The longest duration counted, within 0.1 % above; zero when empty. Where the exact one is kept, it is beside the
    /// histogram.
    pub fn max(&self) -> Nanos {
        Nanos(self.buckets.last().map_or(0, |&index| highest(index)))
    }

    /// What was counted, the shortest first: the lowest duration of each bucket that has any, and how many it has.
    pub fn iter(&self) -> impl Iterator<Item = (Nanos, u64)> + '_ {
        self.counted().map(|(index, count)| (Nanos(lowest(index.into())), count))
    }

    /// How far all counted durations lie above `bound` together, in nanoseconds.
    pub fn excess_above(&self, bound: Nanos) -> f64 {
        self.above(bound).map(|(nanos, count)| (nanos - bound.0) as f64 * count as f64).sum()
    }

    /// The number of durations of one length that would be as uncertain a sum of what lies above `bound` as these are: (Σx)² / Σx²
    /// (Kish 1965, Survey Sampling, 8.2). A single long one among many short ones is worth little more than one.
    pub fn effective_above(&self, bound: Nanos) -> f64 {
        let over = || self.above(bound).map(|(nanos, count)| ((nanos - bound.0) as f64, count as f64));
        let squares: f64 = over().map(|(excess, count)| excess * excess * count).sum();
        if squares > 0.0 { self.excess_above(bound).powi(2) / squares } else { 0.0 }
    }

    /// Durations counted that lie above `bound`.
    pub fn count_above(&self, bound: Nanos) -> u64 {
        self.above(bound).map(|(_, count)| count).sum()
    }

    /// The buckets whose longest durations lie above `bound`: that duration, and count.
    fn above(&self, bound: Nanos) -> impl Iterator<Item = (u64, u64)> + '_ {
        let buckets = self.counted().map(|(index, count)| (highest(index), count));
        buckets.filter(move |(nanos, _)| *nanos > bound.0)
    }

    /// Standard deviation in nanoseconds, within the histogram's 0.1 %.
    pub fn standard_deviation(&self) -> f64 {
        let mean = self.mean();
        let square = |(index, count): (u16, u64)| (middle(index) - mean).powi(2) * count as f64;
        let squares: f64 = self.counted().map(square).sum();
        if self.count == 0 { 0.0 } else { (squares / self.count as f64).sqrt() }
    }

    /// Mean in nanoseconds, within the histogram's three digits.
    pub fn mean(&self) -> f64 {
        let share = |(index, count): (u16, u64)| middle(index) * count as f64 / self.count as f64;
        self.counted().map(share).sum()
    }

    /// In the HdrHistogram V2 encoding.
    pub fn encode(&self) -> HistogramBytes {
        let mut bytes = vec![0; HEADER];
        let mut next = 0;
        for (index, count) in self.counted() {
            match i64::from(index - next) {
                0 => {}
                // A single bucket without any is a count of 0; of more it says how many.
                1 => put_number(&mut bytes, 0),
                none => put_number(&mut bytes, -none),
            }
            put_number(&mut bytes, i64::try_from(count).unwrap_or(i64::MAX));
            next = index + 1;
        }
        if self.buckets.is_empty() {
            put_number(&mut bytes, 0);
        }
        let length = (bytes.len() - HEADER) as u32;
        bytes[..4].copy_from_slice(&COOKIE.to_be_bytes());
        bytes[4..8].copy_from_slice(&length.to_be_bytes());
        bytes[12..16].copy_from_slice(&u32::from(DIGITS).to_be_bytes());
        bytes[16..24].copy_from_slice(&1u64.to_be_bytes());
        bytes[24..32].copy_from_slice(&LONGEST.to_be_bytes());
        bytes[32..].iter_mut().zip(1f64.to_be_bytes()).take(8).for_each(|(byte, one)| *byte = one);
        HistogramBytes(bytes)
    }

    /// From the HdrHistogram V2 encoding.
    ///
    /// # Errors
    /// The bytes are not such an encoding, or of other bounds than iolite's.
    pub fn decode(bytes: &HistogramBytes) -> Result<Histogram, HistogramError> {
        let mut histogram = Histogram::new();
        histogram.record_all(&counted(bytes)?);
        Ok(histogram)
    }

    /// Counts durations, each many times.
    pub(crate) fn record_all(&mut self, counted: &[(u64, u64)]) {
        counted.iter().for_each(|&(nanos, count)| self.record_many(nanos, count));
    }
}

impl Serialize for Histogram {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.encode().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Histogram {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Histogram, D::Error> {
        let bytes = HistogramBytes::deserialize(deserializer)?;
        Histogram::decode(&bytes).map_err(serde::de::Error::custom)
    }
}

/// Puts a number: zigzag, seven bits in a byte, the ninth byte whole (HdrHistogram's LEB128-64b9B).
fn put_number(bytes: &mut Vec<u8>, number: i64) {
    let mut rest = (number << 1 ^ number >> 63) as u64;
    for _ in 0..8 {
        if rest < 0x80 {
            break;
        }
        bytes.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    bytes.push(rest as u8);
}

/// The durations that an encoding counts, and how often each: without the memory of a histogram.
pub(crate) fn counted(bytes: &HistogramBytes) -> Result<Vec<(u64, u64)>, HistogramError> {
    let error = |what: &str| HistogramError(what.to_owned());
    let (header, mut counts) = bytes.0.split_at_checked(HEADER).ok_or_else(|| error("cut off"))?;
    check_header(header, counts.len() as u64)?;
    let mut counted = Vec::new();
    let mut index = 0usize;
    while !counts.is_empty() {
        let number = number(&mut counts).ok_or_else(|| error("cut off within a number"))?;
        if number < 0 {
            // So many buckets have none.
            index = index.saturating_add(usize::try_from(number.unsigned_abs()).unwrap_or(usize::MAX));
            continue;
        }
        let nanos = checked_lowest(index).ok_or_else(|| error("more counts than it can have"))?;
        counted.push((nanos, number.unsigned_abs()));
        index += 1;
    }
    Ok(counted)
}

/// Whether a header is that of iolite's own histograms, with so many bytes of counts behind it.
fn check_header(header: &[u8], counts: u64) -> Result<(), HistogramError> {
    let error = |what: &str| Err(HistogramError(what.to_owned()));
    let number = |at, length| {
        let bytes = header.get(at..at + length).unwrap_or_default();
        bytes.iter().fold(0u64, |number, &byte| number << 8 | u64::from(byte))
    };
    if number(0, 4) != u64::from(COOKIE) {
        return error("another format");
    }
    if number(4, 4) != counts {
        return error("cut off");
    }
    let (offset, digits) = (number(8, 4), number(12, 4));
    let (shortest, longest, ratio) = (number(16, 8), number(24, 8), number(32, 8));
    let ours = (0, u64::from(DIGITS), 1, LONGEST, 1f64.to_bits());
    if (offset, digits, shortest, longest, ratio) == ours { Ok(()) } else { error("of other bounds") }
}

/// Takes the next number: zigzag, seven bits in a byte, the ninth byte whole (HdrHistogram's LEB128-64b9B).
fn number(bytes: &mut &[u8]) -> Option<i64> {
    let mut value = 0u64;
    for place in 0..9 {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        let last = place == 8 || byte < 0x80;
        value |= u64::from(if place == 8 { byte } else { byte & 0x7f }) << (7 * place);
        if last {
            break;
        }
    }
    Some((value >> 1) as i64 ^ -((value & 1) as i64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use hdrhistogram::Histogram as Hdr;
    use hdrhistogram::serialization::{Serializer, V2Serializer};
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
    fn what_was_counted_is_reported_bucket_by_bucket() {
        let mut histogram = Histogram::new();
        assert_eq!((histogram.min(), histogram.max(), histogram.iter().count()), (Nanos(0), Nanos(0), 0));
        histogram.record_many(5, 3);
        histogram.record(10_001);
        histogram.record(10_003);
        assert_eq!(histogram.iter().collect::<Vec<_>>(), [(Nanos(5), 3), (Nanos(10_000), 2)]);
        assert_eq!((histogram.min(), histogram.max()), (Nanos(5), Nanos(10_007)));
        histogram.record(u64::MAX);
        assert!(histogram.max().0 as f64 <= LONGEST as f64 * 1.001);
    }

    #[test]
    fn a_long_stall_among_short_ones_is_worth_hardly_more_than_one() {
        let mut histogram = Histogram::new();
        let bound = Nanos(5_000_000);
        assert!((histogram.effective_above(bound), histogram.excess_above(bound)) == (0.0, 0.0));
        histogram.record_many(1_000, 1_000_000);
        histogram.record_many(7_000_000, 20);
        assert!((histogram.effective_above(bound) - 20.0).abs() < 1e-6);
        histogram.record(1_000_000_000);
        let effective = histogram.effective_above(bound);
        assert!((1.0..1.2).contains(&effective), "{effective}");
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

    /// What the library makes of an encoding.
    fn by_library(bytes: &HistogramBytes) -> Histogram {
        let decoded: Hdr<u64> =
            hdrhistogram::serialization::Deserializer::new().deserialize(&mut bytes.0.as_slice()).unwrap();
        let mut histogram = Histogram::new();
        for value in decoded.iter_recorded() {
            histogram.record_many(value.value_iterated_to(), value.count_at_value());
        }
        histogram
    }

    proptest! {
        #[test]
        fn it_is_the_librarys_histogram(
            values in prop::collection::vec((prop_oneof![0u64..5000, 0u64..4_000_000_000_000], 1u64..1 << 40), 0..60),
            quantiles in prop::collection::vec(0.0f64..=1.0, 10),
        ) {
            let (mut ours, mut theirs) = (Histogram::new(), Hdr::<u64>::new_with_bounds(1, LONGEST, DIGITS).unwrap());
            for &(nanos, count) in &values {
                ours.record_many(nanos, count);
                theirs.saturating_record_n(nanos.min(LONGEST), count);
            }
            let mut encoded = Vec::new();
            V2Serializer::new().serialize(&theirs, &mut encoded).unwrap();
            prop_assert_eq!(ours.encode().0, encoded);
            prop_assert_eq!((ours.min().0, ours.max().0, ours.count()), (theirs.min(), theirs.max(), theirs.len()));
            for quantile in quantiles.into_iter().chain([0.0, 1.0]) {
                prop_assert_eq!(ours.quantile(Quantile(quantile)).0, theirs.value_at_quantile(quantile));
            }
            let close = |one: f64, other: f64| (one - other).abs() <= 1e-9 * one.abs().max(1.0);
            prop_assert!(close(ours.mean(), theirs.mean()) && close(ours.standard_deviation(), theirs.stdev()));
        }
    }

    #[test]
    fn evil_numbers_are_refused_or_kept_within_bounds() {
        let mut histogram = Histogram::new();
        histogram.record_many(7, u64::MAX / 2);
        histogram.record_many(LONGEST, u64::MAX / 2);
        let decoded = Histogram::decode(&histogram.encode()).unwrap();
        assert_eq!(decoded, histogram);
        let with = |counts: &[u8]| {
            let mut bytes = Histogram::new().encode();
            bytes.0.truncate(HEADER);
            bytes.0.extend(counts);
            bytes.0[4..8].copy_from_slice(&(counts.len() as u32).to_be_bytes());
            Histogram::decode(&bytes).map(|histogram| histogram.count())
        };
        assert_eq!(with(&[]).unwrap(), 0);
        assert_eq!(with(&[0x02, 0x02]).unwrap(), 2);
        // The most negative number of zeros, then a count.
        assert!(with(&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02]).is_err());
        assert!(with(&[0x80]).is_err());
    }

    proptest! {
        #[test]
        fn no_bytes_make_decoding_panic(
            values in prop::collection::vec(0u64..10_000_000, 1..20),
            changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
            kept in any::<prop::sample::Index>(),
            cut in any::<bool>(),
        ) {
            let mut histogram = Histogram::new();
            values.iter().for_each(|&nanos| histogram.record(nanos));
            let mut bytes = histogram.encode();
            for (index, byte) in changes {
                let at = index.index(bytes.0.len());
                bytes.0[at] = byte;
            }
            if cut {
                bytes.0.truncate(kept.index(bytes.0.len()));
                prop_assert!(Histogram::decode(&bytes).is_err());
            } else {
                let _ = Histogram::decode(&bytes);
            }
        }

        #[test]
        fn decoding_is_what_the_library_makes_of_it(
            values in prop::collection::vec((prop_oneof![0u64..5000, 0u64..4_000_000_000_000], prop_oneof![1u64..4, any::<u64>()]), 0..60),
        ) {
            let mut histogram = Histogram::new();
            values.iter().for_each(|&(nanos, count)| histogram.record_many(nanos, (count >> 8).max(1)));
            let bytes = histogram.encode();
            let decoded = Histogram::decode(&bytes).unwrap();
            prop_assert_eq!(&decoded, &by_library(&bytes));
            prop_assert_eq!(decoded, histogram);
        }

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
            let reported = histogram.quantile(Quantile(q)).0 as f64;
            prop_assert!((reported - exact).abs() <= exact * 0.001 + 1.0, "{} against {}", reported, exact);
        }
    }
}
