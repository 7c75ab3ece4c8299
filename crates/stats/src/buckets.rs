//! The buckets of an HdrHistogram of three significant digits (Tene, HdrHistogram: 2048 linear sub-buckets, doubling).

/// Longest duration distinguished from longer ones: one hour. Longer ones count as this, and exactly in sum and maximum.
pub(crate) const LONGEST: u64 = 3_600_000_000_000;

/// Linear sub-buckets: the first power of two that resolves 0.1 %.
const SUB_BUCKETS: u64 = 2048;
pub(crate) const HALF_BITS: u32 = 10;
pub(crate) const HALF: usize = 1 << HALF_BITS;

/// Counts enough for the longest duration.
pub(crate) const COUNTS: usize = index(LONGEST) + 1;

/// The bucket of a duration.
#[inline]
pub(crate) const fn index(nanos: u64) -> usize {
    let bucket = (nanos | (SUB_BUCKETS - 1)).ilog2() - HALF_BITS;
    let sub_bucket = (nanos >> bucket) as usize;
    ((bucket as usize + 1) << HALF_BITS) + sub_bucket - HALF
}

/// The shortest duration of a bucket.
pub(crate) const fn lowest(index: usize) -> u64 {
    if index < 2 * HALF {
        return index as u64;
    }
    let bucket = (index >> HALF_BITS) - 1;
    (((index & (HALF - 1)) + HALF) as u64) << bucket
}

/// [`lowest`], `None` for a bucket that there is not.
pub(crate) fn checked_lowest(index: usize) -> Option<u64> {
    (index < COUNTS).then(|| lowest(index))
}
