//! A zone for a while, then the next: around and around.

use iolite_model::{Bytes, ZoneCycle};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::check_aligned;
use crate::error::WorkloadError;
use crate::random::below;

/// Operations in one zone after the other. Only whole zones count: what is left of the worker's part at its end is not
/// touched. Each visit to a zone begins at its start, or anywhere in it.
#[derive(Debug, Clone)]
pub(crate) struct Cycle {
    /// First byte of the first zone.
    start: u64,
    /// Length of a zone.
    range: u64,
    /// From one zone's start to the next one's.
    pitch: u64,
    zones: u64,
    /// Bytes of operations in a visit; the last may go beyond.
    amount: u64,
    /// What offsets within a zone are multiples of.
    grain: u64,
    /// This visit's zone.
    zone: u64,
    /// Bytes of operations so far in this visit.
    done: u64,
    /// Where the next operation goes, counted from the zone's start, unless at random.
    next: u64,
    random: bool,
    generator: Xoshiro256PlusPlus,
}

/// Checks zones for blocks, or an alignment, of this size.
///
/// # Errors
/// Nothing would be done in a zone, or operations would lie across blocks.
pub(super) fn check(zones: ZoneCycle, block: Bytes, direct: bool) -> Result<(), WorkloadError> {
    let ZoneCycle { range, amount, skip, .. } = zones;
    WorkloadError::unless(
        range.0 > 0 && block.0 > 0 && range.0.is_multiple_of(block.0),
        || format!("a zone of the cycle has {} bytes with blocks of {block}", range.0),
        "it has to be a multiple of the block, or of the alignment where sizes differ",
        "round it",
    )?;
    WorkloadError::unless(
        amount.0 > 0,
        || "no bytes are to be done in a zone of the cycle".to_owned(),
        "nothing would ever be done",
        "specify the bytes of a visit; the zone's length does each block once",
    )?;
    WorkloadError::unless(
        range.0.checked_add(skip.0).is_some(),
        || format!("{} bytes are skipped between zones", skip.0),
        "zone and gap together exceed the largest offset there is",
        "make the gap smaller than the target",
    )?;
    check_aligned(direct, skip, || format!("{} bytes are skipped between zones", skip.0))
}

impl Cycle {
    /// Zones over `length` bytes from `start` on, for operations of at most `max` bytes. `None` where there is no whole
    /// zone, or where a zone is smaller than an operation.
    pub(crate) fn new(
        zones: ZoneCycle,
        start: u64,
        length: u64,
        grain: u64,
        max: u64,
        generator: Xoshiro256PlusPlus,
    ) -> Option<Cycle> {
        let ZoneCycle { range: Bytes(range), amount, skip, random } = zones;
        let pitch = range.checked_add(skip.0)?;
        if grain == 0 || range < max.max(grain) || length < range {
            return None;
        }
        // The last zone has to fit; its gap does not.
        let zones = (length - range) / pitch + 1;
        let (amount, zone, done, next) = (amount.0, 0, 0, 0);
        Some(Cycle { start, range, pitch, zones, amount, grain, zone, done, next, random, generator })
    }

    /// Where the next operation goes, which has `size` bytes: not more than the largest.
    #[inline]
    pub(crate) fn next_offset(&mut self, size: u64) -> u64 {
        if self.done >= self.amount {
            self.zone = if self.zone + 1 == self.zones { 0 } else { self.zone + 1 };
            (self.done, self.next) = (0, 0);
        }
        self.done = self.done.saturating_add(size);
        let last = self.range.saturating_sub(size);
        let within = if self.random {
            let drawn = below(&mut self.generator, self.range / self.grain) * self.grain;
            if drawn > last { last - last % self.grain } else { drawn }
        } else {
            let here = if self.next > last { 0 } else { self.next };
            self.next = (here + size).checked_next_multiple_of(self.grain).unwrap_or(u64::MAX);
            here
        };
        self.start + self.zone * self.pitch + within
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Purpose, generator};
    use proptest::prelude::*;

    fn zones(range: u64, amount: u64, skip: u64, random: bool) -> ZoneCycle {
        ZoneCycle { range: Bytes(range), amount: Bytes(amount), skip: Bytes(skip), random }
    }

    fn cycle(zones: ZoneCycle, length: u64) -> Option<Cycle> {
        Cycle::new(zones, 100, length, 4, 4, generator(2, 0, Purpose::Offsets))
    }

    fn take(zones: ZoneCycle, length: u64, count: usize) -> Vec<u64> {
        let mut cycle = cycle(zones, length).unwrap();
        (0..count).map(|_| cycle.next_offset(4)).collect()
    }

    #[test]
    fn zones_follow_each_other_and_start_over() {
        // Zones at 100 and 118; a third would end at 148.
        assert_eq!(take(zones(12, 8, 6, false), 47, 6), [100, 104, 118, 122, 100, 104]);
        assert_eq!(take(zones(12, 8, 6, false), 48, 6)[4], 136, "its gap need not fit");
        // More than a zone holds starts over in it; a part of a block is done as a whole one.
        assert_eq!(take(zones(8, 9, 0, false), 16, 4), [100, 104, 100, 108]);
    }

    #[test]
    fn zones_that_do_not_fit_are_refused() {
        assert!(cycle(zones(12, 8, 6, false), 11).is_none());
        assert!(cycle(zones(12, 8, u64::MAX, false), 100).is_none());
        assert!(
            Cycle::new(zones(12, 8, 0, true), 0, 100, 4, 16, generator(2, 0, Purpose::Offsets)).is_none()
        );
    }

    /// 8 blocks of one of two zones: 7 degrees of freedom, 24.3 is the 99.9 % quantile.
    #[test]
    fn random_zones_are_uniform() {
        let mut counts = [0f64; 8];
        let drawn = take(zones(32, 16, 4, true), 68, 32_000);
        for (index, offset) in drawn.into_iter().enumerate() {
            let start = if index / 4 % 2 == 0 { 100 } else { 136 };
            counts[((offset - start) / 4) as usize] += 1.0;
        }
        let chi_square: f64 = counts.iter().map(|count| (count - 4000.0).powi(2) / 4000.0).sum();
        assert!(chi_square < 24.3, "{chi_square}");
    }

    proptest! {
        #[test]
        fn operations_stay_within_their_zone(
            blocks in 4u64..50, amount in 1u64..500, skip in 0u64..50, random: bool,
            sizes in prop::collection::vec(1u64..=16, 300),
        ) {
            let (range, length) = (blocks * 4, 1000);
            let mut cycle =
                Cycle::new(zones(range, amount, skip, random), 0, length, 4, 16, generator(1, 0, Purpose::Offsets))
                    .unwrap();
            for size in sizes {
                let offset = cycle.next_offset(size);
                let within = offset % (range + skip);
                prop_assert!(within + size <= range && offset + size <= length && within.is_multiple_of(4));
            }
        }
    }

    #[test]
    fn cycles_without_sense_are_refused() {
        for (zones, direct, part) in [
            (zones(0, 1, 0, true), false, "multiple of the block"),
            (zones(6, 1, 0, true), false, "multiple of the block"),
            (zones(8, 0, 0, true), false, "nothing would ever be done"),
            (zones(8, 1, u64::MAX, true), false, "largest offset"),
            (zones(8, 1, 100, true), true, "direct"),
        ] {
            let error = check(zones, Bytes(4), direct).unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
        }
        assert!(check(zones(8, 1, 100, true), Bytes(4), false).is_ok());
    }
}
