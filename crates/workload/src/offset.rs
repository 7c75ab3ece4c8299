//! Order of the offsets.

use iolite_model::Access;
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::{Purpose, below, generator};

/// Offsets of equal, aligned blocks over a span.
#[derive(Debug, Clone)]
pub enum Offsets {
    /// One after the other through a slice of the span, over and over.
    Sequential {
        /// First block of the slice.
        first: u64,
        /// Blocks in the slice.
        blocks: u64,
        /// Blocks done in this round.
        done: u64,
        /// Size of a block.
        block: u64,
    },
    /// Uniformly random blocks of the span.
    Random {
        /// Blocks in the span.
        blocks: u64,
        /// Size of a block.
        block: u64,
        /// Where the chance comes from.
        generator: Xoshiro256PlusPlus,
    },
}

impl Offsets {
    /// The offsets of worker `worker` of `workers`; `None` where the span has not a block for each worker.
    pub fn new(
        access: Access,
        span: u64,
        block: u64,
        worker: u32,
        workers: u32,
        seed: u64,
    ) -> Option<Offsets> {
        let blocks = span.checked_div(block)?;
        match access {
            Access::Sequential => {
                let (worker, workers) = (u64::from(worker), u64::from(workers.max(1)));
                // What the division leaves goes to the first workers, as with their shares of the operations: so many
                // operations as there are blocks then do each block once.
                let (share, rest) = (blocks / workers, blocks % workers);
                let first = worker * share + worker.min(rest);
                let blocks = share + u64::from(worker < rest);
                (share > 0).then_some(Offsets::Sequential { first, blocks, done: 0, block })
            }
            Access::Random => {
                let generator = generator(seed, worker, Purpose::Offsets);
                (blocks > 0).then_some(Offsets::Random { blocks, block, generator })
            }
        }
    }

    /// The next offset.
    #[inline]
    pub fn next_offset(&mut self) -> u64 {
        match self {
            Offsets::Sequential { first, blocks, done, block } => {
                if *done == *blocks {
                    *done = 0;
                }
                let offset = (*first + *done) * *block;
                *done += 1;
                offset
            }
            Offsets::Random { blocks, block, generator } => below(generator, *blocks) * *block,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn sequential_workers_cover_every_block_once_a_round(blocks in 1u64..500, workers in 1u32..9) {
            prop_assume!(blocks >= u64::from(workers));
            let mut seen = BTreeSet::new();
            for worker in 0..workers {
                let mut offsets = Offsets::new(Access::Sequential, blocks * 512 + 100, 512, worker, workers, 1).unwrap();
                let Offsets::Sequential { blocks: share, .. } = offsets else { unreachable!() };
                let first_round: Vec<_> = (0..share).map(|_| offsets.next_offset()).collect();
                prop_assert!(first_round.windows(2).all(|pair| pair[1] == pair[0] + 512));
                prop_assert_eq!(offsets.next_offset(), first_round[0]);
                for offset in first_round {
                    prop_assert!(seen.insert(offset));
                }
            }
            prop_assert_eq!(seen, (0..blocks).map(|block| block * 512).collect::<BTreeSet<_>>());
        }

        #[test]
        fn random_offsets_are_aligned_within_and_repeatable(blocks in 1u64..1_000_000, seed: u64) {
            let new = || Offsets::new(Access::Random, blocks * 8192, 8192, 0, 1, seed).unwrap();
            let (mut one, mut other) = (new(), new());
            for _ in 0..100 {
                let offset = one.next_offset();
                prop_assert_eq!(offset, other.next_offset());
                prop_assert!(offset % 8192 == 0 && offset / 8192 < blocks);
            }
        }
    }

    /// Chi-square of 100,000 draws over 100 blocks: 99 degrees of freedom, 148.2 is the 99.9 % quantile.
    #[test]
    fn random_offsets_are_uniform() {
        let mut offsets = Offsets::new(Access::Random, 100, 1, 3, 4, 42).unwrap();
        let mut counts = [0f64; 100];
        (0..100_000).for_each(|_| counts[offsets.next_offset() as usize] += 1.0);
        let chi_square: f64 = counts.iter().map(|count| (count - 1000.0).powi(2) / 1000.0).sum();
        assert!((60.0..148.2).contains(&chi_square), "{chi_square}");
    }

    #[test]
    fn a_span_too_small_is_refused() {
        assert!(Offsets::new(Access::Random, 4095, 4096, 0, 1, 1).is_none());
        assert!(Offsets::new(Access::Sequential, 4096 * 3, 4096, 0, 4, 1).is_none());
        assert!(Offsets::new(Access::Random, 4096, 0, 0, 1, 1).is_none());
    }
}
