//! Counts of durations as the measured loop takes them: the cheapest thing that loses nothing.
//!
//! The buckets are those of an HdrHistogram of three significant digits (Tene, HdrHistogram: 2048 linear sub-buckets,
//! doubling), so that a tally turns into a [`Histogram`] without any loss. Counting is one shift and one addition; the
//! rest (totals, extremes, quantiles) is worked out where nobody measures.

use crate::buckets::{COUNTS, HALF, HALF_BITS, LONGEST, index, lowest};
use crate::histogram::Histogram;

/// Counts of `N` durations of the same operations, each from 0 ns to 1 h; longer ones count as that.
///
/// All of them lie in one block of memory, which is mapped on its own: a thousand jobs have some thousands of blocks, of which
/// only the pages that are used are there, and the first one of each. A count has two bytes, so that two rows share a page: the
/// few buckets of a fast device overflow some times a second. The first durations are noted one by one in the first page, so that the
/// few that a slow job has, which may lie far apart, do not take a page each.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Tally<const N: usize> {
    /// [`FIRST`] buckets of the first durations, a part for each number; then the counts of the others.
    counts: Vec<u16>,
    /// Durations of each number that are noted.
    noted: [usize; N],
    /// Which rows of [`HALF`] counts of each duration have any: a bit each. Of the 33 rows a device's durations touch a few, and
    /// only those are read and emptied.
    rows: [u64; N],
    /// Counts that have exceeded the largest number: how often.
    overflow: Vec<(usize, u64)>,
}

/// Places for first durations: with the 16 bytes that the allocator puts before them they fill a page, after which the rows begin.
const FIRST: usize = 2040;

// A bucket is noted in two bytes.
const _: () = assert!(COUNTS <= 1 << u16::BITS);

/// What an overflow stands for.
const OVERFLOW: u64 = 1 << u16::BITS;

impl<const N: usize> Default for Tally<N> {
    fn default() -> Tally<N> {
        // Space for the buckets that most of a fast device's durations fall into: they overflow while time is measured.
        Tally {
            counts: vec![0; FIRST + N * COUNTS],
            noted: [0; N],
            rows: [0; N],
            overflow: Vec::with_capacity(16),
        }
    }
}

impl<const N: usize> Tally<N> {
    /// Durations of each number that are noted one by one.
    const NOTED: usize = FIRST / N;

    /// Counts a duration of number `which` in nanoseconds.
    #[inline]
    pub(crate) fn count(&mut self, which: usize, nanos: u64) {
        let index = index(nanos.min(LONGEST));
        let noted = self.noted[which];
        if noted < Self::NOTED
            && let Some(place) = self.counts.get_mut(which * Self::NOTED + noted)
        {
            *place = index as u16;
            self.noted[which] = noted + 1;
            return;
        }
        self.rows[which] |= 1 << (index >> HALF_BITS);
        let index = FIRST + which * COUNTS + index;
        // In bounds by construction, which the compiler does not see.
        if let Some(count) = self.counts.get_mut(index) {
            *count = count.wrapping_add(1);
            if *count == 0 {
                self.overflowed(index);
            }
        }
    }

    #[cold]
    fn overflowed(&mut self, index: usize) {
        match self.overflow.iter_mut().find(|(bucket, _)| *bucket == index) {
            Some((_, times)) => *times += 1,
            None => self.overflow.push((index, 1)),
        }
    }

    /// Buckets of number `which`, with a count that is not zero; a bucket may come several times.
    fn counted(&self, which: usize) -> impl Iterator<Item = (usize, u64)> {
        let noted = self.counts.get(which * Self::NOTED..).unwrap_or_default();
        let noted = noted.iter().take(self.noted[which]).map(|bucket| (usize::from(*bucket), 1));
        let part = FIRST + which * COUNTS..FIRST + (which + 1) * COUNTS;
        let all = self.counts.get(part.clone()).unwrap_or_default();
        let rows = all.chunks(HALF).enumerate().filter(move |(row, _)| self.rows[which] >> row & 1 == 1);
        let counts = rows.flat_map(|(row, counts)| {
            let counted = counts.iter().enumerate().filter(|(_, count)| **count > 0);
            counted.map(move |(place, &count)| ((row << HALF_BITS) + place, u64::from(count)))
        });
        let part_start = part.start;
        let overflow = self.overflow.iter().filter(move |(index, _)| part.contains(index));
        let overflow = overflow.map(move |(index, times)| (index - part_start, times * OVERFLOW));
        noted.chain(counts).chain(overflow)
    }

    /// Adds all counts of number `which` to a histogram.
    pub(crate) fn add_to(&self, which: usize, histogram: &mut Histogram) {
        self.counted(which).for_each(|(index, count)| histogram.record_many(lowest(index), count));
    }

    /// Forgets all counts, keeping the memory.
    pub(crate) fn reset(&mut self) {
        let (first, counts) = self.counts.split_at_mut(FIRST);
        for (noted, buckets) in self.noted.iter_mut().zip(first.chunks_mut(Self::NOTED)) {
            buckets[..*noted].fill(0);
            *noted = 0;
        }
        for (rows, counts) in self.rows.iter_mut().zip(counts.chunks_mut(COUNTS)) {
            let used = counts.chunks_mut(HALF).enumerate().filter(|(row, _)| *rows >> row & 1 == 1);
            used.for_each(|(_, counts)| counts.fill(0));
            *rows = 0;
        }
        self.overflow.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_tally_is_the_histogram_of_the_same_durations(
            values in prop::collection::vec(prop_oneof![0u64..5000, 0u64..4_000_000_000_000, any::<u64>()], 0..3000),
        ) {
            let (mut tally, mut direct) = (Tally::<2>::default(), Histogram::new());
            for &nanos in &values {
                tally.count(1, nanos);
                direct.record(nanos);
            }
            tally.count(0, 5);
            let (mut histogram, mut other) = (Histogram::new(), Histogram::new());
            tally.add_to(1, &mut histogram);
            tally.add_to(0, &mut other);
            prop_assert_eq!((other.count(), other.min()), (1, iolite_model::Nanos(5)));
            for q in [0.0, 0.1, 0.5, 0.9, 0.99, 1.0] {
                let quantile = iolite_model::Quantile(q);
                prop_assert_eq!(histogram.quantile(quantile), direct.quantile(quantile));
            }
            prop_assert_eq!(histogram.count(), values.len() as u64);
            tally.reset();
            prop_assert_eq!(tally, Tally::default());
        }

        #[test]
        fn a_bucket_begins_within_a_thousandth_of_what_falls_into_it(nanos in 0u64..=LONGEST) {
            let low = lowest(index(nanos));
            prop_assert!(low <= nanos && nanos - low <= nanos / 1000);
        }
    }

    #[test]
    fn buckets_are_consecutive() {
        for index_ in 0..COUNTS {
            assert_eq!(index(lowest(index_)), index_);
        }
    }

    #[test]
    fn a_count_that_overflows_is_kept() {
        let mut tally = Tally::<2>::default();
        let noted = Tally::<2>::NOTED as u64;
        (0..2 * OVERFLOW + noted).for_each(|_| tally.count(1, 7));
        assert_eq!(tally.overflow.len(), 1);
        let (mut histogram, mut other) = (Histogram::new(), Histogram::new());
        tally.add_to(1, &mut histogram);
        tally.add_to(0, &mut other);
        assert_eq!(
            (histogram.count(), histogram.min(), other.count()),
            (2 * OVERFLOW + noted, iolite_model::Nanos(7), 0)
        );
    }
}
