//! Sizes of operations.

use iolite_model::{Bytes, FileTask, Mix, SizeLaw, Sizes};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::Rng;

use crate::error::WorkloadError;
use crate::planned::IoKind;
use crate::random::Purpose;
use crate::random::below;
use crate::random::generator;

/// Percentages may be typed as decimals: their sum may miss 100 by so much.
const ROUNDING: f64 = 1e-6;

/// The sizes of one worker's operations.
#[derive(Debug, Clone)]
pub struct SizeStream {
    reads: Law,
    writes: Law,
    trims: Law,
    alignment: u64,
    generator: Xoshiro256PlusPlus,
}

#[derive(Debug, Clone)]
enum Law {
    Fixed(u32),
    /// `min` and up to `steps - 1` times `multiple` more.
    Range {
        min: u32,
        multiple: u32,
        steps: u64,
    },
    /// Each size with the draw, out of 2^64, at which it ends; the last ends at the largest number.
    Split(Vec<(u64, u32)>),
}

impl SizeStream {
    /// The sizes of worker `worker`.
    ///
    /// # Errors An alignment of 0, or sizes that are 0, larger than 1 GiB, not multiples of what they should be, or
    /// whose shares do not add up.
    pub fn new(sizes: &Sizes, worker: u32, seed: u64) -> Result<SizeStream, WorkloadError> {
        WorkloadError::unless(
            sizes.alignment.0 > 0,
            || "the alignment of the offsets is 0".to_owned(),
            "every offset has to be a multiple of it",
            "1 allows any offset; direct I/O needs the device's logical block",
        )?;
        Ok(SizeStream {
            reads: Law::new(&sizes.reads)?,
            writes: Law::new(&sizes.writes)?,
            trims: Law::new(&sizes.trims)?,
            alignment: sizes.alignment.0,
            generator: generator(seed, worker, Purpose::Sizes),
        })
    }

    /// The size of the next operation, in bytes.
    #[inline]
    pub fn next_size(&mut self, kind: IoKind) -> u32 {
        // Not by `law`, which would lend the generator too.
        let law = match kind {
            IoKind::Read => &self.reads,
            IoKind::Write => &self.writes,
            IoKind::Trim | IoKind::Sync(_) => &self.trims,
        };
        match law {
            Law::Fixed(size) => *size,
            Law::Range { min, multiple, steps } => min + below(&mut self.generator, *steps) as u32 * multiple,
            Law::Split(ends) => {
                let draw = self.generator.next_u64();
                let index = ends.partition_point(|(end, _)| *end < draw);
                ends[index.min(ends.len() - 1)].1
            }
        }
    }

    /// The size of the next operation, of those that are no more than `max` bytes, in their proportions; `None` where there are
    /// none. It is drawn anew: for what a size drawn before does not fit into.
    #[cold]
    pub fn next_size_within(&mut self, kind: IoKind, max: u64) -> Option<u32> {
        let fits = |size: u32| u64::from(size) <= max;
        match self.law(kind).clone() {
            Law::Fixed(size) => Some(size).filter(|size| fits(*size)),
            Law::Range { min, multiple, steps } => {
                let fitting = max.checked_sub(u64::from(min))? / u64::from(multiple) + 1;
                Some(min + below(&mut self.generator, fitting.min(steps)) as u32 * multiple)
            }
            Law::Split(ends) => {
                let starts = std::iter::once(0).chain(ends.iter().map(|(end, _)| *end));
                let shares = starts.zip(&ends).map(|(start, (end, size))| (end - start, *size));
                let fitting: Vec<(u64, u32)> = shares.filter(|(_, size)| fits(*size)).collect();
                let total = fitting.iter().fold(0u64, |sum, (share, _)| sum.saturating_add(*share));
                let mut drawn = below(&mut self.generator, total.max(1));
                for (share, size) in fitting {
                    if drawn < share {
                        return Some(size);
                    }
                    drawn -= share;
                }
                None
            }
        }
    }

    fn law(&self, kind: IoKind) -> &Law {
        match kind {
            IoKind::Read => &self.reads,
            IoKind::Write => &self.writes,
            IoKind::Trim | IoKind::Sync(_) => &self.trims,
        }
    }

    /// The aligned offset at or below `offset` from which `size` bytes lie within `span` bytes; `None` where the span
    /// is smaller than that.
    #[inline]
    pub fn place(&self, offset: u64, size: u32, span: u64) -> Option<u64> {
        let last = span.checked_sub(u64::from(size))?;
        let offset = offset.min(last);
        Some(offset - offset % self.alignment)
    }
}

impl Law {
    fn new(law: &SizeLaw) -> Result<Law, WorkloadError> {
        match law {
            SizeLaw::Fixed(size) => Ok(Law::Fixed(checked(*size)?)),
            SizeLaw::Range { min, max, multiple } => {
                let (low, high, step) = (checked(*min)?, checked(*max)?, checked(*multiple)?);
                WorkloadError::unless(
                    low <= high && low.is_multiple_of(step) && high.is_multiple_of(step),
                    || format!("the sizes go from {min} to {max} in multiples of {multiple}"),
                    "both ends have to be multiples of it, the smaller one first",
                    "round the ends or choose a smaller multiple",
                )?;
                Ok(Law::Range { min: low, multiple: step, steps: u64::from((high - low) / step) + 1 })
            }
            SizeLaw::Split(sizes) => {
                let total: f64 = sizes.iter().map(|weighted| weighted.percent).sum();
                WorkloadError::unless(
                    (total - 100.0).abs() < ROUNDING && sizes.iter().all(|weighted| weighted.percent >= 0.0),
                    || format!("the shares of the sizes are {total} % in all"),
                    "they have to be 100, and none negative",
                    "correct the shares, or give the rest to a further size",
                )?;
                let mut reached = 0.0;
                let mut ends = Vec::with_capacity(sizes.len());
                for weighted in sizes {
                    let size = checked(weighted.size)?;
                    if weighted.percent > 0.0 {
                        reached += weighted.percent / 100.0;
                        // Beyond the range, the conversion gives the largest number.
                        ends.push(((reached * 2f64.powi(64)) as u64, size));
                    }
                }
                if let Some((end, _)) = ends.last_mut() {
                    *end = u64::MAX;
                }
                Ok(Law::Split(ends))
            }
        }
    }
}

/// The laws that operations of this mix follow. A trim that a write follows has the write's size.
fn followed(sizes: &Sizes, mix: Mix) -> impl Iterator<Item = &SizeLaw> {
    let trims = mix.trims() && mix != Mix::TrimThenWrite;
    // A write that follows a read has the read's size.
    let writes = mix.writes() && !matches!(mix, Mix::ReadThenWrite(_));
    [(mix.reads(), &sizes.reads), (writes, &sizes.writes), (trims, &sizes.trims)]
        .into_iter()
        .filter_map(|(follows, law)| follows.then_some(law))
}

/// The largest size that an operation of this mix may have.
pub(crate) fn largest(sizes: &Sizes, mix: Mix) -> u64 {
    followed(sizes, mix).map(|law| law.largest().0).max().unwrap_or(0)
}

/// The greatest common divisor of all sizes that an operation of this mix may have; 0 where there are none.
pub(crate) fn divisor(sizes: &Sizes, mix: Mix) -> u64 {
    let of = |law: &SizeLaw| match law {
        SizeLaw::Fixed(size) => size.0,
        SizeLaw::Range { min, max, .. } if min == max => min.0,
        SizeLaw::Range { min, multiple, .. } => min.common_divisor(*multiple).0,
        SizeLaw::Split(sizes) => {
            sizes
                .iter()
                .filter(|weighted| weighted.percent > 0.0)
                .fold(Bytes(0), |divisor, weighted| divisor.common_divisor(weighted.size))
                .0
        }
    };
    followed(sizes, mix).map(of).map(Bytes).fold(Bytes(0), Bytes::common_divisor).0
}

/// A size as the kernel takes it.
fn checked(size: Bytes) -> Result<u32, WorkloadError> {
    let valid = (Bytes(1)..=FileTask::LARGEST_OPERATION).contains(&size);
    u32::try_from(size.0).ok().filter(|_| valid).ok_or_else(|| {
        WorkloadError::new(
            format!("a size is {} bytes", size.0),
            "sizes are between 1 byte and 1 GiB",
            "choose one within",
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use iolite_model::WeightedSize;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    fn sizes(reads: SizeLaw, writes: SizeLaw) -> Sizes {
        Sizes { reads, trims: writes.clone(), writes, alignment: Bytes(512) }
    }

    fn range(min: u64, max: u64, multiple: u64) -> SizeLaw {
        SizeLaw::Range { min: Bytes(min), max: Bytes(max), multiple: Bytes(multiple) }
    }

    fn split(sizes: &[(u64, f64)]) -> SizeLaw {
        let weighted = |&(size, percent)| WeightedSize { size: Bytes(size), percent };
        SizeLaw::Split(sizes.iter().map(weighted).collect())
    }

    fn count(law: SizeLaw, draws: usize) -> BTreeMap<u32, f64> {
        let mut stream = SizeStream::new(&sizes(law, SizeLaw::Fixed(Bytes(1))), 0, 3).unwrap();
        let mut counts = BTreeMap::new();
        (0..draws).for_each(|_| *counts.entry(stream.next_size(IoKind::Read)).or_insert(0.0) += 1.0);
        counts
    }

    /// 16 sizes: 15 degrees of freedom, 37.7 is the 99.9 % quantile of chi-square.
    #[test]
    fn each_size_of_a_range_is_equally_likely() {
        let counts = count(range(512, 8192, 512), 16_000);
        assert!(counts.keys().copied().eq((1..=16).map(|step| step * 512)));
        let chi_square: f64 = counts.values().map(|count| (count - 1000.0).powi(2) / 1000.0).sum();
        assert!(chi_square < 37.7, "{chi_square}");
    }

    /// 3 sizes: 2 degrees of freedom, 13.8 is the 99.9 % quantile. A share of 0 never comes.
    #[test]
    fn a_split_has_its_shares() {
        let counts = count(split(&[(4096, 60.0), (512, 0.0), (65536, 30.0), (1 << 20, 10.0)]), 100_000);
        let expected = [(4096, 6e4), (65536, 3e4), (1 << 20, 1e4)];
        assert!(counts.keys().copied().eq(expected.map(|(size, _)| size)));
        let chi_square: f64 =
            expected.iter().map(|(size, count)| (counts[size] - count).powi(2) / count).sum();
        assert!(chi_square < 13.8, "{chi_square}");
    }

    #[test]
    fn what_fits_is_drawn_in_its_proportions() {
        let laws = [
            (range(512, 8192, 512), 1100, vec![(512, 5000.0f64), (1024, 5000.0)]),
            (
                split(&[(4096, 60.0), (512, 10.0), (65536, 10.0), (1024, 20.0)]),
                4096,
                vec![(512, 1111.0), (1024, 2222.0), (4096, 6667.0)],
            ),
            (SizeLaw::Fixed(Bytes(4096)), 4096, vec![(4096, 10_000.0)]),
        ];
        for (law, max, expected) in laws {
            let mut stream = SizeStream::new(&sizes(law, SizeLaw::Fixed(Bytes(1))), 0, 3).unwrap();
            assert_eq!(stream.next_size_within(IoKind::Read, 511), None);
            let mut counts = BTreeMap::new();
            for _ in 0..10_000 {
                *counts.entry(stream.next_size_within(IoKind::Read, max).unwrap()).or_insert(0.0) += 1.0;
            }
            assert!(counts.keys().eq(expected.iter().map(|(size, _)| size)), "{counts:?}");
            // Two degrees of freedom at most: 13.8 is the 99.9 % quantile.
            let chi_square: f64 =
                expected.iter().map(|(size, count)| (counts[size] - count).powi(2) / count).sum();
            assert!(chi_square < 13.8, "{chi_square}");
        }
    }

    #[test]
    fn reads_and_writes_have_sizes_of_their_own() {
        let new = |worker| {
            SizeStream::new(&sizes(range(512, 4096, 512), SizeLaw::Fixed(Bytes(8192))), worker, 1).unwrap()
        };
        let draw = |worker| {
            let mut stream = new(worker);
            (0..100).map(|_| stream.next_size(IoKind::Read)).collect::<Vec<_>>()
        };
        assert_eq!(new(0).next_size(IoKind::Write), 8192);
        assert_eq!(draw(0), draw(0));
        assert_ne!(draw(0), draw(1));
    }

    proptest! {
        #[test]
        fn places_are_aligned_and_within(offset: u64, size in 1u32..1 << 30, span: u64, alignment in 1u64..1 << 20) {
            let fixed = SizeLaw::Fixed(Bytes(u64::from(size)));
            let sizes = Sizes::alike(fixed, Bytes(alignment));
            let place = SizeStream::new(&sizes, 0, 0).unwrap().place(offset, size, span);
            prop_assert_eq!(place.is_some(), span >= u64::from(size));
            if let Some(place) = place {
                prop_assert!(place % alignment == 0 && place <= offset && place + u64::from(size) <= span);
                // The nearest such place below.
                let next = u128::from(place) + u128::from(alignment);
                let fits = next <= u128::from(offset) && next + u128::from(size) <= u128::from(span);
                prop_assert!(!fits, "{} is nearer", next);
            }
        }
    }

    #[test]
    fn sizes_without_sense_are_refused() {
        let fixed = |size| SizeLaw::Fixed(Bytes(size));
        for (law, part) in [
            (fixed(0), "between 1 byte"),
            (fixed((1 << 30) + 1), "1 GiB"),
            (fixed(u64::MAX), "1 GiB"),
            (range(512, 1000, 512), "multiples of it"),
            (range(1024, 512, 512), "smaller one first"),
            (range(512, 1024, 0), "between 1 byte"),
            (split(&[]), "100"),
            (split(&[(512, 60.0), (1024, 30.0)]), "90 %"),
            (split(&[(512, 120.0), (1024, -20.0)]), "none negative"),
            (split(&[(512, f64::NAN)]), "100"),
            (split(&[(0, 100.0)]), "between 1 byte"),
        ] {
            for sizes in [sizes(law.clone(), fixed(512)), sizes(fixed(512), law)] {
                let error = SizeStream::new(&sizes, 0, 0).unwrap_err().to_string();
                assert!(error.contains(part), "{error}");
            }
        }
        let unaligned = Sizes { alignment: Bytes(0), ..sizes(fixed(512), fixed(512)) };
        assert!(SizeStream::new(&unaligned, 0, 0).unwrap_err().to_string().contains("alignment"));
    }

    #[test]
    fn only_the_sizes_that_come_count() {
        let trims = split(&[(1 << 20, 50.0), (3 << 19, 50.0), (7, 0.0)]);
        let sizes = Sizes { trims, ..sizes(range(1024, 8192, 512), SizeLaw::Fixed(Bytes(6144))) };
        for (mix, expected, common) in [
            (Mix::Read, 8192, 512),
            (Mix::ReadPercent(50), 8192, 512),
            (Mix::Write, 6144, 6144),
            (Mix::Trim, 3 << 19, 1 << 19),
            (Mix::TrimPercent(50), 3 << 19, 2048),
            (Mix::TrimThenWrite, 6144, 6144),
        ] {
            assert_eq!((largest(&sizes, mix), divisor(&sizes, mix)), (expected, common), "{mix:?}");
        }
        let mut stream = SizeStream::new(&sizes, 0, 1).unwrap();
        assert!((0..100).all(|_| stream.next_size(IoKind::Trim) >= 1 << 20));
    }

    #[test]
    fn the_largest_size_is_known() {
        assert_eq!(range(512, 8192, 512).largest(), Bytes(8192));
        assert_eq!(split(&[(4096, 50.0), (65536, 50.0)]).largest(), Bytes(65536));
        assert_eq!(SizeLaw::Fixed(Bytes(7)).largest(), Bytes(7));
    }
}
