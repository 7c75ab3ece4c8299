//! Random numbers: a generator for each purpose, and uniform draws.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

/// What a generator is for: each purpose draws from a sequence of its own, so that changing one leaves the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// Order of the offsets.
    Offsets = 1,
    /// Reads or writes.
    Mix = 2,
    /// Instants.
    Arrivals = 3,
    /// Contents.
    Data = 4,
    /// Permutations of the blocks; drawn as worker 0 by all workers, which share them.
    Permutation = 5,
    /// Sizes.
    Sizes = 6,
    /// Which blocks repeat others.
    Duplicates = 7,
    /// The contents that are repeated; each is drawn as a worker of its number.
    Duplicate = 8,
    /// Which file of several.
    Files = 9,
    /// Which operations have a priority of their own.
    Priorities = 10,
    /// Which of the operations that do not read trim.
    Trims = 11,
}

/// The generator of a purpose for one worker of a phase.
pub fn generator(seed: u64, worker: u32, purpose: Purpose) -> Xoshiro256PlusPlus {
    // seed_from_u64 spreads the bits (SplitMix64), so that neighbouring numbers give unrelated sequences.
    Xoshiro256PlusPlus::seed_from_u64(
        seed ^ (u64::from(worker) << 8 | purpose as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15),
    )
}

/// A uniformly random number below `bound`, by the multiplication method (Lemire 2019, Fast Random Integer
/// Generation in an Interval, without the rejection: the bias is below bound / 2^64).
#[inline]
pub fn below(generator: &mut impl Rng, bound: u64) -> u64 {
    ((u128::from(generator.next_u64()) * u128::from(bound)) >> 64) as u64
}

/// A uniformly random number in (0, 1].
#[inline]
pub fn unit(generator: &mut impl Rng) -> f64 {
    ((generator.next_u64() >> 11) + 1) as f64 / (1u64 << 53) as f64
}
