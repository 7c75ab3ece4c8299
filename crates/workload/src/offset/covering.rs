//! Every block once, in an order that looks random.

use rand_xoshiro::Xoshiro256PlusPlus;

use super::permutation::{Cell, Permutation};

/// One worker's part of a walk over all blocks in permuted order, with a new permutation for each round.
///
/// All workers have the same keys; worker w takes the places w, w + workers, w + 2 workers... of the order, so that
/// together they do each block once per round, and as many each as is their share of the operations. A worker that is
/// ahead begins its next round by itself: nothing is shared.
#[derive(Debug, Clone)]
pub(super) struct Covering {
    permutation: Permutation,
    keys: Xoshiro256PlusPlus,
    /// This worker's first place of a round.
    first: Cell,
    /// From one of its places to the next.
    step: Cell,
    next: Cell,
    /// Places of this worker in a round.
    share: u64,
    /// Places left of this round.
    left: u64,
}

impl Covering {
    /// `keys` is the same for all workers. `None` where there is not a block for each.
    pub(super) fn new(
        blocks: u64,
        worker: u32,
        workers: u32,
        mut keys: Xoshiro256PlusPlus,
    ) -> Option<Covering> {
        let (worker, workers) = (u64::from(worker), u64::from(workers.max(1)));
        if blocks < workers || worker >= workers {
            return None;
        }
        let permutation = Permutation::new(blocks, &mut keys);
        let first = permutation.cell(worker);
        let step = permutation.cell(workers);
        let share = blocks / workers + u64::from(worker < blocks % workers);
        Some(Covering { permutation, keys, first, step, next: first, share, left: share })
    }

    /// The next block of the span.
    #[inline]
    pub(super) fn next_block(&mut self) -> u64 {
        if self.left == 0 {
            self.begin_round();
        }
        self.left -= 1;
        let cell = self.next;
        self.next = self.permutation.after(cell, self.step);
        self.permutation.image_of(cell)
    }

    #[cold]
    fn begin_round(&mut self) {
        self.permutation.renew(&mut self.keys);
        self.next = self.first;
        self.left = self.share;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Purpose, generator};
    use proptest::prelude::*;

    fn covering(blocks: u64, worker: u32, workers: u32, seed: u64) -> Option<Covering> {
        Covering::new(blocks, worker, workers, generator(seed, 0, Purpose::Permutation))
    }

    proptest! {
        #[test]
        fn workers_together_do_each_block_once_a_round(blocks in 1u64..5000, workers in 1u32..9, seed: u64) {
            prop_assume!(blocks >= u64::from(workers));
            let mut crew: Vec<_> =
                (0..workers).map(|worker| covering(blocks, worker, workers, seed).unwrap()).collect();
            for round in 1..=2u32 {
                let mut times = vec![0; blocks as usize];
                for worker in &mut crew {
                    (0..worker.share).for_each(|_| times[worker.next_block() as usize] += 1);
                }
                prop_assert!(times.iter().all(|times| *times == 1), "round {}", round);
            }
        }
    }

    #[test]
    fn each_round_has_an_order_of_its_own() {
        let mut covering = covering(1000, 0, 1, 7).unwrap();
        let mut round = || (0..1000).map(|_| covering.next_block()).collect::<Vec<_>>();
        let (first, second) = (round(), round());
        let same = first.iter().zip(&second).filter(|(one, other)| one == other).count();
        assert!(same <= 8, "{same} of 1,000 blocks at the same place; one is to be expected");
    }

    /// A petabyte of 512 B blocks, and the largest number of blocks there is: a few hundred bytes, and no heap, for
    /// nothing in the type can hold any.
    #[test]
    fn a_petabyte_costs_no_memory() {
        assert!(size_of::<Covering>() <= 256, "{}", size_of::<Covering>());
        for blocks in [(1u64 << 50) / 512, u64::MAX] {
            let mut covering = covering(blocks, 7, 8, 1).unwrap();
            let mut drawn: Vec<_> = (0..100_000).map(|_| covering.next_block()).collect();
            drawn.sort_unstable();
            drawn.dedup();
            assert_eq!(drawn.len(), 100_000);
            assert!(drawn.iter().all(|block| *block < blocks));
        }
    }

    #[test]
    fn more_workers_than_blocks_are_refused() {
        assert!(covering(3, 0, 4, 1).is_none());
        assert!(covering(0, 0, 1, 1).is_none());
    }
}
