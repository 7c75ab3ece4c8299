//! Parts of the span with a share of the operations each: zones and hot spots.

use iolite_model::{HotSpot, Zone, ZoneSize};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::Rng;

use crate::error::WorkloadError;
use crate::random::below;

/// Percentages may be typed as decimals: their sum may miss 100 by so much.
const ROUNDING: f64 = 1e-6;

/// A part of the span.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Part {
    first: u64,
    blocks: u64,
    io_percent: f64,
}

/// Uniformly random blocks of parts that are drawn by their share of the operations.
#[derive(Debug, Clone)]
pub(super) struct Zones {
    /// Each part with the draw, out of 2^64, at which it ends; the last ends at the largest number.
    parts: Vec<(u64, Part)>,
    generator: Xoshiro256PlusPlus,
}

impl Zones {
    /// Zones one after the other over a span of `blocks` blocks of `block` bytes.
    ///
    /// # Errors Shares that are not percentages or do not add up to 100, zones larger than the span, or one that has
    /// operations but not a block.
    pub(super) fn zoned(
        zones: &[Zone],
        blocks: u64,
        block: u64,
        generator: Xoshiro256PlusPlus,
    ) -> Result<Zones, WorkloadError> {
        let total: f64 = zones.iter().map(|zone| zone.io_percent).sum();
        WorkloadError::unless(
            (total - 100.0).abs() < ROUNDING,
            || format!("the zones get {total} % of the operations"),
            "it has to be 100 in all",
            "give the rest to a further zone",
        )?;
        // Ends are rounded, not lengths: so nothing is lost between zones.
        let (mut percent, mut bytes, mut first) = (0.0, 0u64, 0);
        let mut parts = Vec::with_capacity(zones.len());
        for zone in zones {
            match zone.size {
                ZoneSize::Percent(size) => {
                    check_percent("the size of a zone", size)?;
                    percent += size;
                }
                ZoneSize::Bytes(size) => bytes = bytes.saturating_add(size.0),
            }
            // Rounding errors of a few percentages that make 100 must not make the span longer than it is.
            let by_percent = if percent > 100.0 && percent < 100.0 + ROUNDING { 100.0 } else { percent };
            let end =
                ((by_percent / 100.0 * blocks as f64).round() as u64).saturating_add(bytes / block.max(1));
            WorkloadError::unless(
                end <= blocks && by_percent <= 100.0,
                || format!("the zones reach to block {end} ({by_percent} % and {bytes} bytes)"),
                "the span ends before",
                "make the zones smaller or the target larger",
            )?;
            parts.push(Part { first, blocks: end - first, io_percent: zone.io_percent });
            first = end;
        }
        Zones::new(parts, generator)
    }

    /// Hot spots, and what they leave of the span as further parts that share the rest of the operations by size.
    ///
    /// # Errors Shares that are not percentages or exceed 100 in all, spots that overlap, exceed the span or have not a
    /// block, or a rest of the operations with no rest of the span.
    pub(super) fn hot_spots(
        spots: &[HotSpot],
        blocks: u64,
        block: u64,
        generator: Xoshiro256PlusPlus,
    ) -> Result<Zones, WorkloadError> {
        let block = block.max(1);
        let mut hot = Vec::with_capacity(spots.len());
        for spot in spots {
            let (first, end) = (spot.offset.0 / block, spot.offset.0.saturating_add(spot.length.0) / block);
            WorkloadError::unless(
                first < end && end <= blocks,
                || format!("a hot spot of {} at {} has no block within the span", spot.length, spot.offset),
                "each spot needs at least one whole block there",
                "move it, or make it or the target larger",
            )?;
            hot.push(Part { first, blocks: end - first, io_percent: spot.io_percent });
        }
        hot.sort_by_key(|part| part.first);
        WorkloadError::unless(
            hot.windows(2).all(|pair| pair[0].first + pair[0].blocks <= pair[1].first),
            || "two hot spots overlap".to_owned(),
            "a block's share of the operations would not be clear",
            "split them where they overlap",
        )?;
        let mut rest = 100.0 - hot.iter().map(|part| part.io_percent).sum::<f64>();
        if rest.abs() < ROUNDING {
            rest = 0.0;
        }
        WorkloadError::unless(
            rest >= 0.0,
            || format!("the hot spots get {} % of the operations", 100.0 - rest),
            "it may be 100 at most",
            "lower their shares",
        )?;
        let cold = between(&hot, blocks);
        let cold_blocks: u64 = cold.iter().map(|part| part.blocks).sum();
        WorkloadError::unless(
            rest == 0.0 || cold_blocks > 0,
            || format!("the hot spots take the whole span, and {rest} % of the operations are left"),
            "these have nowhere to go",
            "raise the spots' shares to 100 % in all, or leave them space",
        )?;
        hot.extend(
            cold.into_iter()
                .map(|part| Part { io_percent: rest * part.blocks as f64 / cold_blocks as f64, ..part }),
        );
        Zones::new(hot, generator)
    }

    fn new(parts: Vec<Part>, generator: Xoshiro256PlusPlus) -> Result<Zones, WorkloadError> {
        let mut reached = 0.0;
        let mut ends = Vec::with_capacity(parts.len());
        for part in parts {
            check_percent("a part's share of the operations", part.io_percent)?;
            WorkloadError::unless(
                part.blocks > 0 || part.io_percent == 0.0,
                || format!("a zone with {} % of the operations has not one block", part.io_percent),
                "an operation needs a whole block",
                "make the zone or the target larger, or the blocks smaller",
            )?;
            if part.io_percent > 0.0 {
                reached += part.io_percent / 100.0;
                // Beyond the range, the conversion gives the largest number.
                ends.push(((reached * 2f64.powi(64)) as u64, part));
            }
        }
        // The sum is 100 but for rounding.
        if let Some((end, _)) = ends.last_mut() {
            *end = u64::MAX;
        }
        WorkloadError::unless(
            !ends.is_empty(),
            || "no zone gets any operation".to_owned(),
            "there would be nothing to do",
            "specify at least one zone a share",
        )?;
        Ok(Zones { parts: ends, generator })
    }

    /// The next block of the span.
    #[inline]
    pub(super) fn next_block(&mut self) -> u64 {
        let draw = self.generator.next_u64();
        let index = self.parts.partition_point(|(end, _)| *end < draw);
        let (_, part) = self.parts[index.min(self.parts.len() - 1)];
        part.first + below(&mut self.generator, part.blocks)
    }
}

/// What parts in order leave of the span.
fn between(parts: &[Part], blocks: u64) -> Vec<Part> {
    let mut gaps = Vec::new();
    let mut reached = 0;
    for (first, end) in
        parts.iter().map(|part| (part.first, part.first + part.blocks)).chain([(blocks, blocks)])
    {
        if first > reached {
            gaps.push(Part { first: reached, blocks: first - reached, io_percent: 0.0 });
        }
        reached = end;
    }
    gaps
}

fn check_percent(what: &str, percent: f64) -> Result<(), WorkloadError> {
    WorkloadError::unless(
        (0.0..=100.0 + ROUNDING).contains(&percent),
        || format!("{what} is {percent} %"),
        "a percentage is between 0 and 100",
        "correct it",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Purpose, generator};
    use iolite_model::Bytes;

    fn chance() -> Xoshiro256PlusPlus {
        generator(4, 0, Purpose::Offsets)
    }

    fn percent(io_percent: f64, size: f64) -> Zone {
        Zone { io_percent, size: ZoneSize::Percent(size) }
    }

    fn absolute(io_percent: f64, size: u64) -> Zone {
        Zone { io_percent, size: ZoneSize::Bytes(Bytes(size)) }
    }

    fn spot(offset: u64, length: u64, io_percent: f64) -> HotSpot {
        HotSpot { offset: Bytes(offset), length: Bytes(length), io_percent }
    }

    /// Chi-square of 100,000 draws over 100 blocks against `expected` percent by block.
    fn chi_square(mut zones: Zones, expected: impl Fn(u64) -> f64) -> f64 {
        let mut counts = [0f64; 100];
        (0..100_000).for_each(|_| counts[zones.next_block() as usize] += 1.0);
        for block in (0..100u64).filter(|block| expected(*block) == 0.0) {
            assert_eq!(counts[block as usize], 0.0, "block {block} is in no zone");
        }
        (0..100u64)
            .filter(|block| expected(*block) > 0.0)
            .map(|block| {
                (counts[block as usize] - expected(block) * 1000.0).powi(2) / (expected(block) * 1000.0)
            })
            .sum()
    }

    /// fio's example `zoned:60/10:30/20:8/30:2/40`: 99 degrees of freedom, 148.2 is the 99.9 % quantile.
    #[test]
    fn zones_by_percentage_get_their_shares() {
        let zones = [percent(60.0, 10.0), percent(30.0, 20.0), percent(8.0, 30.0), percent(2.0, 40.0)];
        let zones = Zones::zoned(&zones, 100, 4096, chance()).unwrap();
        let law = |block| match block {
            0..10 => 6.0,
            10..30 => 1.5,
            30..60 => 8.0 / 30.0,
            _ => 0.05,
        };
        let value = chi_square(zones, law);
        assert!(value < 148.2, "{value}");
    }

    /// 59 blocks: 58 degrees of freedom, 97.0 is the 99.9 % quantile. The zone without operations and what is beyond
    /// the zones stay untouched.
    #[test]
    fn absolute_zones_get_their_shares_and_the_rest_nothing() {
        let zones = [absolute(25.0, 4096 * 50), absolute(0.0, 4096 * 10), absolute(75.0, 4096 * 9)];
        let zones = Zones::zoned(&zones, 100, 4096, chance()).unwrap();
        let value = chi_square(zones, |block| match block {
            0..50 => 0.5,
            60..69 => 75.0 / 9.0,
            _ => 0.0,
        });
        assert!(value < 97.0, "{value}");
    }

    #[test]
    fn hot_spots_get_their_shares_and_the_rest_is_uniform() {
        // Out of order, one at an odd place: 5,000 to 45,056 of blocks of 4,096 is blocks 1 to 10.
        let spots = [spot(4096 * 90, 4096 * 10, 20.0), spot(5000, 40056, 50.0)];
        let zones = Zones::hot_spots(&spots, 100, 4096, chance()).unwrap();
        let value = chi_square(zones, |block| match block {
            1..11 => 5.0,
            90..100 => 2.0,
            _ => 30.0 / 80.0,
        });
        assert!(value < 148.2, "{value}");
    }

    #[test]
    fn percentages_that_miss_100_by_rounding_are_taken() {
        let zones: Vec<_> = (0..10).map(|_| percent(10.0, 10.0)).chain([percent(0.0, 0.0)]).collect();
        let thirds: Vec<_> = (0..3).map(|_| percent(100.0 / 3.0, 33.3)).collect();
        for zones in [zones, thirds] {
            let mut zones = Zones::zoned(&zones, 70, 1, chance()).unwrap();
            assert!((0..1000).all(|_| zones.next_block() < 70));
        }
    }

    #[test]
    fn zones_without_sense_are_refused() {
        let zoned = |zones: &[Zone]| Zones::zoned(zones, 100, 10, chance()).unwrap_err().to_string();
        for (zones, part) in [
            (vec![], "100 in all"),
            (vec![percent(60.0, 50.0)], "60 %"),
            (vec![percent(100.0, 101.0)], "between 0 and 100"),
            (vec![percent(50.0, 60.0), percent(50.0, 60.0)], "span ends before"),
            (vec![percent(120.0, 10.0), percent(-20.0, 10.0)], "between 0 and 100"),
            (vec![percent(f64::NAN, 10.0)], "100 in all"),
            (vec![percent(100.0, f64::NAN)], "between 0 and 100"),
            (vec![absolute(100.0, 1001 * 10)], "span ends before"),
            (vec![absolute(100.0, 9)], "not one block"),
        ] {
            let error = zoned(&zones);
            assert!(error.contains(part), "{zones:?}: {error}");
        }
    }

    #[test]
    fn hot_spots_without_sense_are_refused() {
        let refused = |spots: &[HotSpot]| Zones::hot_spots(spots, 100, 10, chance()).unwrap_err().to_string();
        for (spots, part) in [
            (vec![spot(0, 100, 60.0), spot(90, 100, 10.0)], "overlap"),
            (vec![spot(0, 100, 101.0)], "at most"),
            (vec![spot(0, 100, -1.0)], "between 0 and 100"),
            (vec![spot(0, 100, f64::NAN)], "operations"),
            (vec![spot(1000, 10, 1.0)], "no block within"),
            (vec![spot(0, 9, 1.0)], "no block within"),
            (vec![spot(0, 1000, 90.0)], "nowhere to go"),
        ] {
            let error = refused(&spots);
            assert!(error.contains(part), "{spots:?}: {error}");
        }
        assert!(Zones::hot_spots(&[spot(0, 1000, 100.0)], 100, 10, chance()).is_ok());
    }
}
