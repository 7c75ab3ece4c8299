//! Every byte once, by operations of different sizes.

use rand_xoshiro::Xoshiro256PlusPlus;

use crate::free_map::FreeMap;
use crate::random::below;

/// A walk over granules, each of which is done exactly once per round.
///
/// An operation begins at the first granule that is free from a uniformly random one on, as with fio's map: one behind
/// a long stretch that is done is somewhat more likely. It is cut short where the next granule is done already. Unlike
/// the walk over equal blocks it has to remember what it has done: a bit for each granule, and at each round's end the
/// time to write them.
#[derive(Debug, Clone)]
pub(super) struct Cover {
    free: FreeMap,
    granules: u64,
    /// Bytes in a granule, of which all sizes are multiples.
    granule: u64,
    /// Granules left of this round.
    left: u64,
    generator: Xoshiro256PlusPlus,
}

impl Cover {
    /// `None` where there are no granules, or no memory for them.
    pub(super) fn new(granules: u64, granule: u64, generator: Xoshiro256PlusPlus) -> Option<Cover> {
        let free = FreeMap::new(granules)?;
        (granule > 0).then_some(Cover { free, granules, granule, left: granules, generator })
    }

    /// Where the next operation goes, and the size that is left of the one it should have.
    pub(super) fn next(&mut self, size: u32) -> (u64, u32) {
        if self.left == 0 {
            self.begin_round();
        }
        let drawn = below(&mut self.generator, self.granules);
        let place = self.free.next_free(drawn).or_else(|| self.free.next_free(0)).unwrap_or_default();
        let count = self.free.run(place, (u64::from(size) / self.granule).max(1));
        self.free.take(place, count);
        self.left = self.left.saturating_sub(count);
        (place * self.granule, (count * self.granule) as u32)
    }

    #[cold]
    fn begin_round(&mut self) {
        self.free.free_all();
        self.left = self.granules;
    }
}

#[cfg(test)]
mod tests {
    use crate::OpStream;
    use iolite_model::{Access, Bytes, FileTask, SizeLaw, Sizes, Target, WeightedSize};
    use proptest::prelude::*;

    fn covering(sizes: &[u64], alignment: u64, span: u64, workers: u32, seed: u64) -> FileTask {
        let percent = 100.0 / sizes.len() as f64;
        let law =
            SizeLaw::Split(sizes.iter().map(|&size| WeightedSize { size: Bytes(size), percent }).collect());
        FileTask {
            access: Access::Covering,
            sizes: Some(Sizes::alike(law, Bytes(alignment))),
            target: Target::Null { size: Bytes(span) },
            workers,
            concurrency: workers,
            seed,
            ..FileTask::default()
        }
    }

    proptest! {
        #[test]
        fn every_byte_is_done_once_a_round(
            granules in 8u64..3000, rest in 0u64..512, workers in 1u32..5, seed: u64,
            steps in prop::collection::vec(1u64..40, 1..4), alignment in prop::sample::select(vec![1u64, 256, 512]),
        ) {
            let sizes: Vec<_> = steps.iter().map(|step| step * 512).collect();
            let largest = sizes.iter().copied().max().unwrap();
            let task = covering(&sizes, alignment, granules * 512 + rest, workers, seed);
            prop_assert!(crate::validate(&task).is_ok());
            for worker in 0..workers {
                let Some(mut stream) = OpStream::new(&task, worker) else { continue };
                let part = stream.part();
                for round in 0..2 {
                    let mut times = vec![0u8; (part.end - part.start) as usize];
                    let mut left = part.end - part.start;
                    while left > 0 {
                        let op = stream.next_op();
                        let size = u64::from(op.length);
                        prop_assert!(size > 0 && size <= largest && op.offset % alignment == 0);
                        let start = (op.offset - part.start) as usize;
                        for byte in &mut times[start..start + size as usize] {
                            *byte += 1;
                            prop_assert_eq!(*byte, 1, "round {}", round);
                        }
                        left -= size;
                    }
                }
            }
        }
    }

    #[test]
    fn most_operations_have_their_size() {
        let task = covering(&[4096, 8192], 512, 64 << 20, 1, 3);
        let mut stream = OpStream::new(&task, 0).unwrap();
        let cut = (0..4000).filter(|_| stream.next_op().length < 4096).count();
        assert_eq!(cut, 0, "the granule is the sizes' common divisor, not the alignment");
    }

    #[test]
    fn the_first_places_are_uniform() {
        // 50 places of 1,000 walks: 49 degrees of freedom, 85.4 is the 99.9 % quantile.
        let mut counts = [0f64; 50];
        for seed in 0..5000 {
            let mut stream = OpStream::new(&covering(&[512], 512, 50 * 512, 1, seed), 0).unwrap();
            counts[(stream.next_op().offset / 512) as usize] += 1.0;
        }
        let chi_square: f64 = counts.iter().map(|count| (count - 100.0).powi(2) / 100.0).sum();
        assert!(chi_square < 85.4, "{chi_square}");
    }
}
