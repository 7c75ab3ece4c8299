//! A keyed permutation of the numbers below any bound, in constant memory.

use rand_xoshiro::rand_core::Rng;

/// Half rounds of the network. Consecutive numbers share their row, which spends the first; three are left, which Luby
/// & Rackoff (1988), How to construct pseudorandom permutations, need with ideal round functions. Ours are less
/// than ideal, but the tests below, which two half rounds fail, find nothing that more would mend.
const ROUNDS: usize = 4;

/// An odd constant without pattern: 2^64 / golden ratio.
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// A permutation of `0..size`, drawn by a key: a generalized Feistel network over a table of about
/// sqrt(size) x sqrt(size) cells, with cycle walking for the cells beyond `size`.
///
/// Black & Rogaway (2002), Ciphers with arbitrary finite domains: cycle walking and the generalized Feistel
/// construction. Adding modulo the table's sides instead of xor-ing bits leaves less than sqrt(size) + 1 cells to walk
/// over, where the next power of four would leave up to three quarters: hardly any branch is mispredicted. It is meant
/// for order, not for secrecy.
#[derive(Debug, Clone)]
pub(super) struct Permutation {
    size: u64,
    columns: u64,
    rows: u64,
    keys: [(u64, u64); ROUNDS],
}

/// A place in the table. Places in order of their numbers are found without division.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Cell {
    column: u64,
    row: u64,
}

impl Permutation {
    /// Draws a permutation of `0..size` (at least 1).
    pub(super) fn new(size: u64, key: &mut impl Rng) -> Permutation {
        let size = size.max(1);
        let columns = (size - 1).isqrt() + 1;
        let rows = size.div_ceil(columns);
        let mut permutation = Permutation { size, columns, rows, keys: [(0, 0); ROUNDS] };
        permutation.renew(key);
        permutation
    }

    /// Draws another permutation of the same numbers.
    pub(super) fn renew(&mut self, key: &mut impl Rng) {
        // Odd multipliers are invertible: no two inputs of a round meet before its reduction.
        self.keys.fill_with(|| (key.next_u64(), key.next_u64() | 1));
    }

    /// The image of `index`, which is below `size`.
    #[inline]
    pub(super) fn image(&self, index: u64) -> u64 {
        self.image_of(self.cell(index))
    }

    /// The image of the number at `cell`.
    #[inline]
    pub(super) fn image_of(&self, mut cell: Cell) -> u64 {
        loop {
            cell = self.encipher(cell);
            let image = cell.row * self.columns + cell.column;
            // A walk that starts below `size` comes back there: at the latest it returns to its start.
            if image < self.size {
                return image;
            }
        }
    }

    /// Where `index` stands in the table.
    #[inline]
    pub(super) fn cell(&self, index: u64) -> Cell {
        Cell { column: index % self.columns, row: index / self.columns }
    }

    /// The cell `by` numbers after `cell`.
    #[inline]
    pub(super) fn after(&self, cell: Cell, by: Cell) -> Cell {
        let column = cell.column + by.column;
        let carry = column >= self.columns;
        Cell {
            column: if carry { column - self.columns } else { column },
            row: cell.row + by.row + u64::from(carry),
        }
    }

    #[inline]
    fn encipher(&self, Cell { mut column, mut row }: Cell) -> Cell {
        for pair in self.keys.chunks_exact(2) {
            column = add(column, scatter(row, pair[0], self.columns), self.columns);
            row = add(row, scatter(column, pair[1], self.rows), self.rows);
        }
        Cell { column, row }
    }
}

/// `(a + b) mod modulus`; both below `modulus`, which is at most 2^32.
#[inline]
fn add(a: u64, b: u64, modulus: u64) -> u64 {
    let sum = a + b;
    // Below zero wraps around to a huge number: the smaller of the two is the remainder, without a branch.
    sum.min(sum.wrapping_sub(modulus))
}

/// The round function: `value` (below 2^32) to a number below `bound` (at most 2^32) that the key decides.
#[inline]
fn scatter(value: u64, (mask, factor): (u64, u64), bound: u64) -> u64 {
    let mut hash = (value ^ mask).wrapping_mul(GOLDEN);
    hash ^= hash >> 32;
    ((hash.wrapping_mul(factor) >> 32) * bound) >> 32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Purpose, generator};
    use proptest::prelude::*;

    fn permutation(size: u64, seed: u64) -> Permutation {
        Permutation::new(size, &mut generator(seed, 0, Purpose::Permutation))
    }

    proptest! {
        #[test]
        fn each_number_comes_once(size in 1u64..5000, seed: u64) {
            let permutation = permutation(size, seed);
            let mut seen = vec![false; size as usize];
            for index in 0..size {
                prop_assert!(!std::mem::replace(&mut seen[permutation.image(index) as usize], true));
            }
        }

        #[test]
        fn steps_without_division_agree(size in 1u64..100_000, by in 0u64..1000, start: u64) {
            let permutation = permutation(size, 1);
            let start = start % size;
            let after = permutation.after(permutation.cell(start), permutation.cell(by));
            prop_assert_eq!(after, permutation.cell(start + by));
        }
    }

    #[test]
    fn the_largest_sizes_work() {
        for size in [u64::MAX, u64::MAX - 1, 1 << 63, (1 << 62) + 1, (1 << 32) * ((1 << 32) - 1)] {
            let permutation = permutation(size, 3);
            let mut images: Vec<_> =
                (0..1000).chain(size - 1000..size).map(|i| permutation.image(i)).collect();
            images.sort_unstable();
            images.dedup();
            assert_eq!(images.len(), 2000);
            assert!(images.iter().all(|image| *image < size));
            // Spread over the whole: 2,000 numbers leave no tenth of the range empty.
            assert!(images[0] < size / 10 && images[1999] > size / 10 * 9);
        }
    }

    #[test]
    fn few_cells_have_to_be_walked_over() {
        for size in [1, 2, 3, 5, 17, 257, 4097, 1_000_003, (1 << 40) + 1, u64::MAX] {
            let permutation = permutation(size, 1);
            let cells = u128::from(permutation.columns) * u128::from(permutation.rows);
            assert!(cells - u128::from(size) < u128::from(permutation.columns), "{size}");
        }
    }

    /// Pairs of neighbours along a row and down a column of the table: both images in 10 x 10 cells, and their distance
    /// in 100 classes: chi-square with 99 degrees of freedom, of which 148.2 is the 99.9 % and 56.0 the 0.02 %
    /// quantile.
    #[test]
    fn neighbours_are_independent() {
        for (size, seed) in [(1_000_000, 1), (999_983, 2), (1 << 20, 3), (1 << 40, 4), ((1 << 41) + 1, 5)] {
            let permutation = permutation(size, seed);
            for lag in [1, permutation.columns] {
                let images = |index: u64| {
                    let index = index * 2 % (size - lag);
                    (permutation.image(index), permutation.image(index + lag))
                };
                let (pairs, distances) = chi_squares(size, images);
                assert!((56.0..148.2).contains(&pairs), "{size}, {lag}: {pairs}");
                assert!((56.0..148.2).contains(&distances), "{size}, {lag}: {distances}");
            }
        }
    }

    fn chi_squares(size: u64, images: impl Fn(u64) -> (u64, u64)) -> (f64, f64) {
        let class =
            |image: u64, classes: u64| (u128::from(image) * u128::from(classes) / u128::from(size)) as usize;
        let (mut pairs, mut distances) = ([0f64; 100], [0f64; 100]);
        let draws = 200_000;
        for (one, other) in (0..draws).map(images) {
            pairs[class(one, 10) * 10 + class(other, 10)] += 1.0;
            let distance = if other >= one { other - one } else { size - (one - other) };
            distances[class(distance, 100)] += 1.0;
        }
        let expected = draws as f64 / 100.0;
        let chi_square =
            |counts: [f64; 100]| counts.iter().map(|count| (count - expected).powi(2) / expected).sum();
        (chi_square(pairs), chi_square(distances))
    }

    #[test]
    fn keys_decide_the_order() {
        let (one, other) = (permutation(1000, 1), permutation(1000, 2));
        let same = (0..1000).filter(|&index| one.image(index) == other.image(index)).count();
        // Two random permutations agree in one place on average (Poisson: more than 8 has probability 1e-6).
        assert!(same <= 8, "{same}");
    }
}
