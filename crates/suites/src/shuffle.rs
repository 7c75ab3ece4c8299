//! Random order: what drifts while a run goes on then falls on all that is compared alike.

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_xoshiro::Xoshiro256PlusPlus;

/// Puts the items into a random order, the same for the same seed.
pub(crate) fn shuffle<T>(items: &mut [T], seed: u64) {
    items.shuffle(&mut Xoshiro256PlusPlus::seed_from_u64(seed));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_seed_gives_an_order_of_the_same_items() {
        let order = |seed| {
            let mut items: Vec<u32> = (0..10).collect();
            shuffle(&mut items, seed);
            items
        };
        let sorted = |mut items: Vec<u32>| {
            items.sort_unstable();
            items
        };
        assert_eq!(order(1), order(1));
        assert_ne!(order(1), order(2));
        assert_eq!(sorted(order(3)), (0..10).collect::<Vec<_>>());
    }
}
