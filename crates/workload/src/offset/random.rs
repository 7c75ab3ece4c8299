//! Uniformly random places: single blocks, and runs of them.

use rand_xoshiro::Xoshiro256PlusPlus;

use crate::random::below;

/// Runs of consecutive blocks from uniformly random ones on.
#[derive(Debug, Clone)]
pub(super) struct Runs {
    /// Blocks in the span.
    blocks: u64,
    /// Blocks in a run.
    length: u64,
    /// Blocks left of this run.
    left: u64,
    next: u64,
    generator: Xoshiro256PlusPlus,
}

impl Runs {
    /// `None` for no blocks. A run that is longer than the span goes on at its start.
    pub(super) fn new(blocks: u64, length: u64, generator: Xoshiro256PlusPlus) -> Option<Runs> {
        (blocks > 0 && length > 0).then_some(Runs { blocks, length, left: 0, next: 0, generator })
    }

    /// The next block of the span.
    #[inline]
    pub(super) fn next_block(&mut self) -> u64 {
        if self.left == 0 {
            self.left = self.length;
            self.next = below(&mut self.generator, self.blocks);
        }
        self.left -= 1;
        let block = self.next;
        self.next = if block + 1 == self.blocks { 0 } else { block + 1 };
        block
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Purpose, generator};

    #[test]
    fn runs_are_consecutive_and_start_anywhere() {
        let mut runs = Runs::new(50, 8, generator(1, 0, Purpose::Offsets)).unwrap();
        let (mut starts, mut hits) = ([0f64; 50], [0f64; 50]);
        for _ in 0..50_000 {
            let run: Vec<_> = (0..8).map(|_| runs.next_block()).collect();
            assert!(run.windows(2).all(|pair| pair[1] == (pair[0] + 1) % 50), "{run:?}");
            starts[run[0] as usize] += 1.0;
            run.iter().for_each(|block| hits[*block as usize] += 1.0);
        }
        // 49 degrees of freedom: 85.4 is the 99.9 % quantile.
        let chi_square: f64 = starts.iter().map(|count| (count - 1000.0).powi(2) / 1000.0).sum();
        assert!(chi_square < 85.4, "{chi_square}");
        // Each block belongs to eight of fifty possible runs: no block is favoured, within 5 standard deviations.
        assert!(hits.iter().all(|count| (count - 8000.0).abs() < 5.0 * 8000f64.sqrt()), "{hits:?}");
    }

    #[test]
    fn runs_longer_than_the_span_begin_again_at_its_start() {
        let new = |blocks, length| Runs::new(blocks, length, generator(1, 0, Purpose::Offsets));
        assert!(new(8, 0).is_none() && new(0, 0).is_none() && new(8, 8).is_some());
        let mut runs = new(3, 7).unwrap();
        let run: Vec<_> = (0..7).map(|_| runs.next_block()).collect();
        assert!(run.windows(2).all(|pair| pair[1] == (pair[0] + 1) % 3), "{run:?}");
    }
}
