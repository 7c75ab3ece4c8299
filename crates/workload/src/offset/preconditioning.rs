//! One pass of random writes that leaves a solid-state drive as many of them do.

use iolite_model::{Bytes, Precondition};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::covering::Covering;
use crate::error::WorkloadError;
use crate::random::below;

/// The most regions.
const MAX_REGIONS: u32 = 1 << 20;

/// Writes each block once in an order that looks random, and some of them again, as many blocks as the drive has of memory.
///
/// The drive is taken for a log: it writes to erased memory, and what a block held before is invalid. In the steady state of uniformly
/// random writes, the part of the log's data of age `a` that is still valid is `exp(-k * a)`, with `a` from 0 (just written) to 1 (about
/// to be erased): each write hits each block with the same probability. Its mean is the share of the memory that blocks can fill:
/// `(1 - exp(-k)) / k = 1 / (1 + over-provisioning)`, which determines `k`. The log is divided into regions. Behind each of them, as many
/// of its blocks are written again as it has invalid ones in that state.
#[derive(Debug, Clone)]
pub(super) struct Preconditioning {
    fresh: Covering,
    chance: Xoshiro256PlusPlus,
    /// By region: its writes, and those of its blocks that are written again.
    regions: Vec<(u64, u64)>,
    /// A region lies between the one with a block and the one where it is written again.
    delayed: bool,
    /// Blocks of the span.
    blocks: u64,
    /// The region that is being written; behind the last one what that one needs again.
    region: usize,
    /// Blocks that have not been written.
    fresh_left: u64,
    /// Writes left in this region.
    left: u64,
    /// Blocks to choose from these.
    to_choose: u64,
    /// Blocks that earlier regions were too small to have chosen from.
    owed: u64,
    /// Blocks of this region that are written again.
    chosen: Vec<u64>,
    /// Those of the region before, where they wait for another one.
    waiting: Vec<u64>,
    /// Those that are written next.
    again: Vec<u64>,
}

impl Preconditioning {
    /// Of this number of blocks; `None` where there is none.
    pub(super) fn new(
        what: &Precondition,
        blocks: u64,
        keys: Xoshiro256PlusPlus,
        chance: Xoshiro256PlusPlus,
    ) -> Option<Preconditioning> {
        let fresh = Covering::new(blocks, 0, 1, keys)?;
        let regions = regions(what, blocks);
        let mut preconditioning = Preconditioning {
            fresh,
            chance,
            regions,
            delayed: what.delayed,
            blocks,
            region: 0,
            fresh_left: 0,
            left: 0,
            to_choose: 0,
            owed: 0,
            chosen: Vec::new(),
            waiting: Vec::new(),
            again: Vec::new(),
        };
        preconditioning.begin();
        Some(preconditioning)
    }

    /// The next block of the span.
    pub(super) fn next_block(&mut self) -> u64 {
        if self.left == 0 {
            self.next_region();
        }
        // One of them by chance, here rather than all in a new order at once: a write does not wait for that.
        let block = match self.again.len() {
            0 => {
                self.fresh_left -= 1;
                self.fresh.next_block()
            }
            number => self.again.swap_remove(below(&mut self.chance, number as u64) as usize),
        };
        // Each choice of so many of what is left has the same probability.
        if self.to_choose > 0 && below(&mut self.chance, self.left) < self.to_choose {
            self.chosen.push(block);
            self.to_choose -= 1;
        }
        self.left -= 1;
        block
    }

    fn begin(&mut self) {
        self.region = 0;
        self.owed = 0;
        self.fresh_left = self.blocks;
        self.enter();
    }

    #[cold]
    fn next_region(&mut self) {
        self.region += 1;
        let chosen = std::mem::take(&mut self.chosen);
        let mut next = if self.delayed { std::mem::replace(&mut self.waiting, chosen) } else { chosen };
        if next.is_empty() && self.again.is_empty() && self.fresh_left == 0 {
            next = std::mem::take(&mut self.waiting);
        }
        if self.again.is_empty() {
            // Its memory is used again.
            self.chosen = std::mem::replace(&mut self.again, next);
        } else {
            self.again.append(&mut next);
        }
        self.enter();
        if self.left == 0 {
            self.begin();
        }
    }

    fn enter(&mut self) {
        let there = self.again.len() as u64 + self.fresh_left;
        let (writes, again) = self.regions.get(self.region).copied().unwrap_or((there, 0));
        self.left = writes.min(there);
        self.to_choose = (again + self.owed).min(self.left);
        self.owed = again + self.owed - self.to_choose;
    }
}

/// By region: its writes, and those of its blocks that are written again.
fn regions(what: &Precondition, blocks: u64) -> Vec<(u64, u64)> {
    let physical = what.writes(blocks);
    let number = u64::from(what.regions.max(1)).min(physical);
    // What whole blocks come to, so that the sum is exact.
    let decay = decay((physical - blocks) as f64 / blocks as f64);
    // The part of the data in the oldest `share` of the log that is valid, of all that is: the integral of exp(-k * a).
    let valid = |share: f64| ((-decay * (1.0 - share)).exp() - (-decay).exp()) / (1.0 - (-decay).exp());
    let edge = |region: u64| ((u128::from(physical) * u128::from(region)) / u128::from(number)) as u64;
    let invalid = |region: u64| {
        if physical == blocks {
            return 0;
        }
        let end = edge(region);
        let share = end as f64 / physical as f64;
        end.saturating_sub((valid(share) * blocks as f64) as u64)
    };
    let mut before = 0;
    let region = |region| {
        // Rounded as a sum, so that all of them together are what the drive has more than blocks.
        let again = invalid(region + 1).saturating_sub(before);
        before += again;
        (edge(region + 1) - edge(region), again)
    };
    (0..number).map(region).collect()
}

/// `k` for which `(1 - exp(-k)) / k` is the share of the memory that blocks can fill, by bisection: it falls with `k`.
fn decay(over_provisioning: f64) -> f64 {
    let filled = 1.0 / (1.0 + over_provisioning);
    let (mut low, mut high) = (1e-9, 1e6);
    for _ in 0..200 {
        let middle = (low + high) / 2.0;
        if (1.0 - f64::exp(-middle)) / middle > filled { low = middle } else { high = middle }
    }
    low
}

/// Checks the parameters for a span and blocks of these sizes.
///
/// # Errors
/// They describe no drive, or a region is smaller than the drive's cache.
pub(super) fn check(what: &Precondition, span: Bytes, block: Bytes) -> Result<(), WorkloadError> {
    WorkloadError::unless(
        what.over_provisioning.is_finite() && what.over_provisioning > 0.0 && what.over_provisioning <= 10.0,
        || format!("the over-provisioning is {}", what.over_provisioning),
        "it is the memory beyond the capacity, divided by the capacity: above 0 and at most 10",
        "divide percentages by 100; 0.15 is usual",
    )?;
    let blocks = span.0.checked_div(block.0).unwrap_or(0);
    WorkloadError::unless(
        (1..=MAX_REGIONS).contains(&what.regions)
            && (blocks == 0 || u64::from(what.regions) <= what.writes(blocks)),
        || format!("there are {} regions for {blocks} blocks", what.regions),
        "a region has a block at least, and there are 1048576 regions at most",
        "specify fewer; 100 are usual",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Purpose, generator};
    use proptest::prelude::*;

    fn preconditioning(what: &Precondition, blocks: u64) -> Preconditioning {
        let chance = |purpose| generator(7, 0, purpose);
        Preconditioning::new(what, blocks, chance(Purpose::Permutation), chance(Purpose::Offsets)).unwrap()
    }

    /// Valid blocks of each region of a log with these writes.
    fn valid(writes: &[u64], blocks: u64, regions: usize) -> Vec<u64> {
        let mut place = vec![usize::MAX; blocks as usize];
        for (number, block) in writes.iter().enumerate() {
            place[*block as usize] = number;
        }
        let mut valid = vec![0; regions];
        let edge = |region: usize| writes.len() * region / regions;
        for place in place {
            let region = (0..regions).find(|region| place < edge(region + 1)).unwrap();
            valid[region] += 1;
        }
        valid
    }

    proptest! {
        #[test]
        fn a_round_writes_each_block_and_as_many_as_there_is_memory(
            blocks in 1u64..3000, regions in 1u32..50, over_provisioning in 0.01f64..2.0, delayed: bool,
        ) {
            let what = Precondition { over_provisioning, regions, delayed };
            prop_assume!(u64::from(regions) <= what.writes(blocks));
            let mut order = preconditioning(&what, blocks);
            for _ in 0..2 {
                let mut seen = vec![0; blocks as usize];
                (0..what.writes(blocks)).for_each(|_| seen[order.next_block() as usize] += 1);
                prop_assert!(seen.iter().all(|times| *times > 0));
            }
        }
    }

    /// Regions are as valid as after many random writes to a log that erases what is oldest: simulated, with what is still valid there
    /// written again.
    #[test]
    fn regions_are_as_valid_as_in_the_steady_state() {
        let (blocks, regions) = (20_000u64, 20usize);
        let what = Precondition { over_provisioning: 0.25, regions: regions as u32, delayed: false };
        let physical = what.writes(blocks);
        let mut order = preconditioning(&what, blocks);
        let writes: Vec<u64> = (0..physical).map(|_| order.next_block()).collect();
        let ours = valid(&writes, blocks, regions);
        assert_eq!(ours.iter().sum::<u64>(), blocks);
        let mut chance = generator(3, 0, Purpose::Offsets);
        let mut log: std::collections::VecDeque<u64> = writes.iter().copied().collect();
        let mut copies = vec![0u32; blocks as usize];
        writes.iter().for_each(|block| copies[*block as usize] += 1);
        for _ in 0..20 * physical {
            let mut block = below(&mut chance, blocks);
            // The newest copy is valid: the last one that is left of its block.
            let oldest = log.pop_front().unwrap();
            copies[oldest as usize] -= 1;
            if copies[oldest as usize] == 0 {
                block = oldest;
            }
            log.push_back(block);
            copies[block as usize] += 1;
        }
        let steady = valid(log.make_contiguous(), blocks, regions);
        for (region, (ours, steady)) in ours.iter().zip(&steady).enumerate() {
            let apart = ours.abs_diff(*steady);
            // Six standard deviations of a count of this size.
            assert!(apart * apart <= 36 * steady.max(&1), "region {region}: {ours} and {steady}");
        }
        assert!(ours.windows(2).all(|pair| pair[0] <= pair[1]), "what is older is less valid: {ours:?}");
    }

    /// Blocks that are written again come in no order that a drive could make use of: as many before the one chosen first as behind it.
    #[test]
    fn blocks_are_written_again_in_a_random_order() {
        let blocks = 20_000;
        let what = Precondition { over_provisioning: 0.25, regions: 5, delayed: false };
        let mut order = preconditioning(&what, blocks);
        let writes: Vec<u64> = (0..what.writes(blocks)).map(|_| order.next_block()).collect();
        let (mut first, mut again) = (std::collections::HashMap::new(), Vec::new());
        for (number, block) in writes.iter().enumerate() {
            match first.get(block) {
                None => drop(first.insert(*block, number)),
                Some(before) => again.push(*before),
            }
        }
        let ahead = again.windows(2).filter(|pair| pair[0] < pair[1]).count() as f64;
        let pairs = again.len() as f64;
        // Neighbours of a random order are in either order: the number of ascending ones has a variance of a twelfth of theirs.
        assert!((ahead - pairs / 2.0).abs() < 6.0 * (pairs / 12.0).sqrt(), "{ahead} of {pairs}");
    }

    #[test]
    fn with_a_cache_a_region_lies_between() {
        let what = |delayed| Precondition { over_provisioning: 0.25, regions: 10, delayed };
        let distance = |delayed| {
            let mut order = preconditioning(&what(delayed), 8000);
            let writes: Vec<u64> = (0..10_000).map(|_| order.next_block()).collect();
            let mut last = std::collections::HashMap::new();
            let apart = writes
                .iter()
                .enumerate()
                .filter_map(|(now, block)| last.insert(*block, now).map(|before| now - before));
            // The last region has none behind it.
            apart.take(1000).min().unwrap()
        };
        assert!(distance(false) < 1000 && distance(true) >= 1000, "{} {}", distance(false), distance(true));
    }

    #[test]
    fn parameters_are_checked() {
        let with = |over_provisioning, regions| {
            let what = Precondition { over_provisioning, regions, delayed: false };
            check(&what, Bytes(1 << 20), Bytes(4096)).map_err(|error| error.to_string())
        };
        assert_eq!(with(0.15, 100), Ok(()));
        for over_provisioning in [0.0, -1.0, f64::NAN, 20.0] {
            assert!(with(over_provisioning, 100).unwrap_err().contains("above 0"));
        }
        assert!(with(0.15, 0).unwrap_err().contains("regions") && with(0.15, 1000).is_err());
    }
}
