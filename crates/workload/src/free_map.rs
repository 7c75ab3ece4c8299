//! What has not been done yet, as a bitmap in which the next one is found at once.

/// Numbers in a word.
const WORD: u64 = 64;

/// The free ones of the numbers below `size`: a bit for each, and above that level by level a bit for each word that is
/// not all zeros. A search goes up as many levels as it has to and down again: at most 11 of each for 2^64 numbers. The
/// levels above the first take a 63rd of its memory.
#[derive(Debug, Clone)]
pub(crate) struct FreeMap {
    size: u64,
    levels: Vec<Vec<u64>>,
}

impl FreeMap {
    /// All of `size` numbers free; `None` where there is no memory for them, or nothing to remember.
    pub(crate) fn new(size: u64) -> Option<FreeMap> {
        let mut levels = Vec::new();
        let mut bits = size;
        while bits > 0 && (bits > 1 || levels.is_empty()) {
            let words = usize::try_from(bits.div_ceil(WORD)).ok()?;
            let mut level: Vec<u64> = Vec::new();
            level.try_reserve_exact(words).ok()?;
            level.resize(words, 0);
            levels.push(level);
            bits = words as u64;
        }
        let mut map = FreeMap { size, levels };
        map.free_all();
        (size > 0).then_some(map)
    }

    /// Frees all numbers.
    pub(crate) fn free_all(&mut self) {
        let mut bits = self.size;
        for level in &mut self.levels {
            level.fill(u64::MAX);
            if let Some(last) = level.last_mut()
                && !bits.is_multiple_of(WORD)
            {
                *last = (1 << (bits % WORD)) - 1;
            }
            bits = bits.div_ceil(WORD);
        }
    }

    /// Takes all numbers.
    pub(crate) fn take_all(&mut self) {
        self.levels.iter_mut().for_each(|level| level.fill(0));
    }

    /// Frees a number.
    pub(crate) fn free(&mut self, number: u64) {
        let mut bit = number;
        for level in &mut self.levels {
            let Some(word) = level.get_mut((bit / WORD) as usize) else { return };
            *word |= 1 << (bit % WORD);
            bit /= WORD;
        }
    }

    /// The first free number from `from` on.
    pub(crate) fn next_free(&self, from: u64) -> Option<u64> {
        let mut bit = from;
        for (height, level) in self.levels.iter().enumerate() {
            let word = bit / WORD;
            let rest = level.get(word as usize)? & (u64::MAX << (bit % WORD));
            if rest != 0 {
                let found = word * WORD + u64::from(rest.trailing_zeros());
                let below = self.levels[..height].iter().rev();
                return Some(
                    below.fold(found, |bit, level| {
                        bit * WORD + u64::from(level[bit as usize].trailing_zeros())
                    }),
                );
            }
            bit = word + 1;
        }
        None
    }

    /// Length of the run of free numbers from `from` on, up to `max`.
    pub(crate) fn run(&self, from: u64, max: u64) -> u64 {
        let mut length = 0;
        while length < max {
            let bit = from + length;
            let Some(word) = self.levels.first().and_then(|level| level.get((bit / WORD) as usize)) else {
                break;
            };
            let in_word = WORD - bit % WORD;
            let free = u64::from((word >> (bit % WORD)).trailing_ones()).min(in_word);
            length += free;
            if free < in_word {
                break;
            }
        }
        length.min(max)
    }

    /// Takes `count` numbers from `from` on.
    pub(crate) fn take(&mut self, from: u64, count: u64) {
        let (mut first, mut end) = (from, from.saturating_add(count).min(self.size));
        for level in &mut self.levels {
            if first >= end {
                return;
            }
            // Only words that are all zeros now are gone from the level above.
            let (mut gone_first, mut gone_end) = (u64::MAX, 0);
            for word in first / WORD..=(end - 1) / WORD {
                let low = first.saturating_sub(word * WORD);
                let high = (end - word * WORD).min(WORD);
                let mask = (u64::MAX << low) & (u64::MAX >> (WORD - high));
                let Some(bits) = level.get_mut(word as usize) else { return };
                *bits &= !mask;
                if *bits == 0 {
                    (gone_first, gone_end) = (gone_first.min(word), word + 1);
                }
            }
            // Of a row of words only the two at its ends can keep a bit: those that are gone are a row as well.
            (first, end) = (gone_first, gone_end);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn it_agrees_with_a_plain_list(
            size in 1u64..20_000,
            takes in prop::collection::vec((any::<u64>(), 1u64..3000), 1..60),
        ) {
            let mut map = FreeMap::new(size).unwrap();
            let mut plain = vec![true; size as usize];
            for (from, count) in takes {
                let from = from % size;
                let next = (from..size).find(|number| plain[*number as usize]);
                prop_assert_eq!(map.next_free(from), next);
                let run = (from..size).take_while(|number| plain[*number as usize]).count() as u64;
                prop_assert_eq!(map.run(from, u64::MAX), run);
                prop_assert_eq!(map.run(from, count), run.min(count));
                map.take(from, count);
                plain[from as usize..(from + count).min(size) as usize].fill(false);
            }
            map.take_all();
            prop_assert_eq!(map.next_free(0), None);
            for number in (0..size).filter(|number| plain[*number as usize]) {
                map.free(number);
                prop_assert_eq!(map.next_free(0), plain.iter().position(|free| *free).map(|first| first as u64));
                prop_assert_eq!(map.next_free(number + 1), None);
            }
            prop_assert!((0..size).all(|number| (map.next_free(number) == Some(number)) == plain[number as usize]));
            map.free_all();
            prop_assert_eq!(map.run(0, u64::MAX), size);
        }
    }

    #[test]
    fn the_last_free_one_is_found_across_levels() {
        let size = 64 * 64 * 64 * 3 + 5;
        let mut map = FreeMap::new(size).unwrap();
        map.take(0, size - 1);
        assert_eq!(map.next_free(0), Some(size - 1));
        map.take(size - 1, 1);
        assert_eq!(map.next_free(0), None);
        assert_eq!(map.next_free(size), None);
    }

    #[test]
    fn what_no_memory_can_hold_is_refused() {
        assert!(FreeMap::new(u64::MAX).is_none());
        assert!(FreeMap::new(0).is_none());
    }
}
