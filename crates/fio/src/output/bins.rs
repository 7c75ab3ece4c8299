//! fio's buckets of latencies: exact below 128 ns, 64 to each doubling from there on.
//!
//! iolite's own are 16 times as fine and start at the same places, so that each falls into one of fio's.

use iolite_stats::Histogram;

/// Buckets in a group: what a doubling is divided into.
const GROUP: u64 = 64;

/// Columns of a histogram log: 29 groups. What is longer than 17 s is in the last one there; nowhere else.
pub(crate) const COLUMNS: usize = 29 * GROUP as usize;

/// The bucket of a latency.
pub(crate) fn bucket(nanos: u64) -> usize {
    if nanos < 2 * GROUP {
        return nanos as usize;
    }
    let shift = nanos.ilog2() - GROUP.ilog2();
    let within = (nanos >> shift) - GROUP;
    ((u64::from(shift) + 1) * GROUP + within) as usize
}

/// What a bucket is called by: its middle.
pub(crate) fn middle(bucket: usize) -> u64 {
    let bucket = bucket as u64;
    if bucket < 2 * GROUP {
        return bucket;
    }
    let shift = bucket / GROUP - 1;
    let lowest = (GROUP + bucket % GROUP) << shift;
    lowest + (1 << (shift - 1))
}

/// The buckets of a histogram that are not empty: their middles, and counts.
pub(crate) fn bins(histogram: &Histogram) -> Vec<(u64, u64)> {
    let mut bins: Vec<(u64, u64)> = Vec::new();
    for (shortest, count) in histogram.iter() {
        let middle = middle(bucket(shortest.0));
        match bins.last_mut() {
            Some(last) if last.0 == middle => last.1 += count,
            _ => bins.push((middle, count)),
        }
    }
    bins
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_are_those_that_fio_was_seen_to_use() {
        // Middles out of results of fio 3.33.
        for (nanos, expected) in [
            (28, 28),
            (95, 95),
            (127, 127),
            (7858, 7840),
            (8278, 8256),
            (122_400, 122_368),
            (8_160_000, 8_159_232),
        ] {
            assert_eq!(middle(bucket(nanos)), expected);
        }
    }

    #[test]
    fn buckets_follow_one_another_without_gaps() {
        for index in 0..COLUMNS + 200 {
            assert_eq!(bucket(middle(index)), index);
        }
        assert_eq!(bucket((1 << 34) - 1), COLUMNS - 1);
        assert_eq!(bucket(1 << 34), COLUMNS);
        assert!(middle(bucket(u64::MAX)) > 1 << 63);
    }

    #[test]
    fn a_histogram_is_reported_in_bins() {
        let mut histogram = Histogram::new();
        [27, 27, 29, 8256, 8300, 8400].into_iter().for_each(|nanos| histogram.record(nanos));
        assert_eq!(bins(&histogram), [(27, 2), (29, 1), (8256, 2), (8384, 1)]);
    }
}
