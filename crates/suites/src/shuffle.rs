//! Random order: what drifts while a run goes on then falls on all that is compared alike.

/// A random order (Durstenfeld 1964, Communications of the ACM 7) by a generator for seeds (SplitMix64, Steele et al.
/// 2014, OOPSLA).
pub(crate) fn shuffle<T>(items: &mut [T], seed: u64) {
    let mut state = seed;
    for last in (1..items.len()).rev() {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        items.swap(last, ((bits ^ (bits >> 31)) % (last as u64 + 1)) as usize);
    }
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
