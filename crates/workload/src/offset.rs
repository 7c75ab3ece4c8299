//! Order of the offsets.

mod covering;
mod cycle;
mod jumps;
mod normal;
mod pareto;
mod permutation;
mod preconditioning;
mod random;
mod sequential;
mod zipf;
mod zones;

use iolite_model::{Access, Bytes};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::error::WorkloadError;
use crate::random::Purpose;
use crate::random::below;
use crate::random::generator;
use covering::Covering;
pub(crate) use cycle::Cycle;
pub(crate) use jumps::JumpWalk;
pub(crate) use normal::Normal;
pub(crate) use pareto::Pareto;
use permutation::Permutation;
use preconditioning::Preconditioning;
use random::Runs;
pub(crate) use sequential::Slice;
use sequential::{Back, Columns, Steps};
pub(crate) use zipf::Zipf;
use zones::Zones;

/// What direct I/O aligns offsets to at least, in bytes: the smallest logical block of any device.
pub(crate) const DIRECT_ALIGNMENT: u64 = 512;

/// Offsets of equal blocks over a span, in bytes; multiples of the block, except after holes of other sizes.
///
/// Appends ([`Access::Append`]) have offsets for the record only, counted up without end from 0.
#[derive(Debug, Clone)]
pub struct Offsets {
    /// Size of a block in bytes.
    block: u64,
    order: Order,
}

/// One variant per family; the choice is made once, and is always predicted right.
#[derive(Debug, Clone)]
enum Order {
    Steps(Steps),
    Back(Back),
    Columns(Columns),
    Runs(Runs),
    Random {
        blocks: u64,
        generator: Xoshiro256PlusPlus,
    },
    // Boxed, because its keys would make all others large.
    Covering(Box<Covering>),
    Zipf {
        law: Zipf,
        places: Box<Scattered>,
        generator: Xoshiro256PlusPlus,
    },
    Pareto {
        law: Pareto,
        places: Box<Scattered>,
        generator: Xoshiro256PlusPlus,
    },
    Normal {
        law: Normal,
        generator: Xoshiro256PlusPlus,
    },
    Zones(Zones),
    Cycle(Box<Cycle>),
    /// With the last place at which a block begins.
    Jumps(Box<JumpWalk>, u64),
    Precondition(Box<Preconditioning>),
}

/// Whose offsets they are.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WorkerIndex {
    /// Worker: has a chance of its own.
    pub(crate) worker: u32,
    /// Its turn among those that share the span.
    pub(crate) turn: u32,
    /// Number of workers that share it; 1 for a worker that goes about it as if it were alone.
    pub(crate) turns: u32,
    /// The phase's seed.
    pub(crate) seed: u64,
}

impl WorkerIndex {
    /// The generator of the offsets.
    pub(crate) fn chance(&self) -> Xoshiro256PlusPlus {
        generator(self.seed, self.worker, Purpose::Offsets)
    }

    /// The generator of what those that share the span have in common.
    pub(crate) fn common(&self) -> Xoshiro256PlusPlus {
        let whose = if self.turns > 1 { 0 } else { self.worker };
        generator(self.seed, whose, Purpose::Permutation)
    }
}

impl Offsets {
    /// The offsets of worker `worker` of `workers` over `span` bytes; `None` where the span has too few blocks (one, or
    /// one for each worker where they have parts of their own, or a run, or one for each zone) or the parameters are
    /// such as [`validate`](crate::validate) refuses.
    pub fn new(
        access: &Access,
        span: u64,
        block: u64,
        worker: u32,
        workers: u32,
        seed: u64,
    ) -> Option<Offsets> {
        Offsets::seated(access, span, block, WorkerIndex { worker, turn: worker, turns: workers, seed })
    }

    /// The offsets of a worker that may be alone or share the span, whatever its number; `None` as with
    /// [`new`](Offsets::new).
    pub(crate) fn seated(access: &Access, span: u64, block: u64, seat: WorkerIndex) -> Option<Offsets> {
        let blocks = span.checked_div(block).filter(|blocks| *blocks > 0)?;
        check(access, Bytes(span), Bytes(block), false).ok()?;
        let slice = || Slice::of(blocks, seat.turn, seat.turns);
        let (generator, seed) = (seat.chance(), seat.seed);
        let order = match access {
            Access::Sequential => Order::Steps(Steps::forwards(slice()?, block, 0)?),
            Access::SequentialSkip { hole } => Order::Steps(Steps::forwards(slice()?, block, hole.0)?),
            Access::SequentialBack { step } => {
                let slice = slice()?;
                // A part that is one worker's alone goes on to its last byte.
                let length = if seat.turns == 1 { span } else { slice.blocks * block };
                Order::Back(Back::new(slice.first * block, length, block, step.0)?)
            }
            Access::Backwards => Order::Steps(Steps::backwards(slice()?, block)),
            Access::Strided { stride } => Order::Columns(Columns::new(slice()?, stride.0 / block)),
            Access::Runs { blocks: length } => Order::Runs(Runs::new(blocks, *length, generator)?),
            Access::Random => Order::Random { blocks, generator },
            Access::Covering => {
                Order::Covering(Box::new(Covering::new(blocks, seat.turn, seat.turns, seat.common())?))
            }
            Access::Zipf { theta, centre } => {
                let places = Box::new(Scattered::new(blocks, seed, *centre));
                Order::Zipf { law: Zipf::new(blocks, *theta), places, generator }
            }
            Access::Pareto { h, centre } => {
                let places = Box::new(Scattered::new(blocks, seed, *centre));
                Order::Pareto { law: Pareto::new(blocks, *h), places, generator }
            }
            Access::Normal { deviation_percent, centre } => Order::Normal {
                law: Normal::new(blocks, *deviation_percent, centre.unwrap_or(0.5)),
                generator,
            },
            Access::Zoned(zones) => Order::Zones(Zones::zoned(zones, blocks, block, generator).ok()?),
            Access::HotSpots(spots) => Order::Zones(Zones::hot_spots(spots, blocks, block, generator).ok()?),
            Access::ZoneCycle(zones) => {
                let slice = slice()?;
                let (start, length) = (slice.first * block, slice.blocks * block);
                Order::Cycle(Box::new(Cycle::new(*zones, start, length, block, block, generator)?))
            }
            Access::Jumps(jumps) => {
                let to = Offsets::seated(&jumps.to, span, block, seat)?;
                let walk = JumpWalk::new(jumps, to, seat.common());
                Order::Jumps(Box::new(walk), span.checked_sub(block)?)
            }
            Access::Precondition(what) => {
                Order::Precondition(Box::new(Preconditioning::new(what, blocks, seat.common(), generator)?))
            }
            Access::Append => Order::Steps(Steps::endless(block)),
            // A trace and a mixture have operations, not an order; kinds have their own.
            Access::Trace(_) | Access::ByKind(_) | Access::Mixture(_) => return None,
        };
        Some(Offsets { block, order })
    }

    /// The next offset.
    #[inline]
    pub fn next_offset(&mut self) -> u64 {
        let block = match &mut self.order {
            Order::Steps(steps) => return steps.next_offset(),
            Order::Back(back) => return back.next_offset(),
            Order::Columns(columns) => columns.next_block(),
            Order::Runs(runs) => runs.next_block(),
            Order::Random { blocks, generator } => below(generator, *blocks),
            Order::Covering(covering) => covering.next_block(),
            Order::Zipf { law, places, generator } => places.image(law.rank(generator)),
            Order::Pareto { law, places, generator } => places.image(law.rank(generator)),
            Order::Normal { law, generator } => law.block(generator),
            Order::Zones(zones) => zones.next_block(),
            Order::Precondition(order) => order.next_block(),
            Order::Cycle(cycle) => return cycle.next_offset(self.block),
            Order::Jumps(jumps, last) => return jumps.next_place(self.block, *last, 1),
        };
        block * self.block
    }
}

/// Where each rank of a skewed law lies: the same for all workers, so that they share the hot blocks.
#[derive(Debug, Clone)]
struct Scattered {
    permutation: Permutation,
    blocks: u64,
    /// Blocks that all ranks are moved by, around the end of the span.
    shift: u64,
}

impl Scattered {
    /// All ranks of `blocks` blocks; the first one lies at `centre` (0 to 1), if that is given.
    fn new(blocks: u64, seed: u64, centre: Option<f64>) -> Scattered {
        let permutation = Permutation::new(blocks, &mut generator(seed, 0, Purpose::Permutation));
        let shift = centre.map_or(0, |centre| {
            let first = ((centre * blocks as f64) as u64).min(blocks - 1);
            let there = permutation.image(0);
            if first >= there { first - there } else { blocks - (there - first) }
        });
        Scattered { permutation, blocks, shift }
    }

    #[inline]
    fn image(&self, rank: u64) -> u64 {
        let block = self.permutation.image(rank);
        let left = self.blocks - block;
        if self.shift < left { block + self.shift } else { self.shift - left }
    }
}

/// Checks an order's parameters for a span and blocks of these sizes. A span with too few blocks is no matter of
/// parameters, except for zones, whose sizes are parameters.
///
/// # Errors
/// The parameters make no order, or one that direct I/O can't do.
pub(crate) fn check(access: &Access, span: Bytes, block: Bytes, direct: bool) -> Result<(), WorkloadError> {
    match access {
        Access::Sequential | Access::Backwards | Access::Random | Access::Covering | Access::Append => Ok(()),
        Access::ByKind(both) => [&both.reads, &both.writes].into_iter().try_for_each(|access| {
            WorkloadError::unless(
                !matches!(
                    access,
                    Access::ByKind(_)
                        | Access::Mixture(_)
                        | Access::Trace(_)
                        | Access::Append
                        | Access::Precondition(_)
                ),
                || "an order of one kind of operations is none of its own".to_owned(),
                "it is an order of a job that does this kind only",
                "specify a sequential or random order",
            )?;
            check(access, span, block, direct)
        }),
        // Their operations are looked at as a whole.
        Access::Trace(_) | Access::Mixture(_) => Ok(()),
        Access::ZoneCycle(zones) => cycle::check(*zones, block, direct),
        Access::Jumps(jumps) => jumps::check(jumps, span, block, direct),
        Access::Precondition(what) => preconditioning::check(what, span, block),
        Access::SequentialSkip { hole } => check_hole(*hole, block, direct),
        Access::SequentialBack { step } => check_step(*step, span, block, direct),
        Access::Strided { stride } => WorkloadError::unless(
            stride.0 > 0 && block.0 > 0 && stride.0.is_multiple_of(block.0),
            || format!("the stride is {stride} with blocks of {block}"),
            "it has to be a multiple of the block, so that a round does each block once",
            "choose a multiple; to leave holes of any size out, use sequential with skip",
        ),
        Access::Runs { blocks } => WorkloadError::unless(
            *blocks > 0,
            || "a run has no block".to_owned(),
            "it needs at least one before it jumps",
            "specify the number of blocks in a row; 1 is the same as random",
        ),
        Access::Zipf { theta, centre } => zipf::check(*theta).and_then(|()| check_centre(*centre)),
        Access::Pareto { h, centre } => pareto::check(*h).and_then(|()| check_centre(*centre)),
        Access::Normal { deviation_percent, centre } => {
            normal::check(*deviation_percent).and_then(|()| check_centre(*centre))
        }
        Access::Zoned(zones) => {
            let blocks = span.0.checked_div(block.0).unwrap_or(0);
            Zones::zoned(zones, blocks, block.0, generator(0, 0, Purpose::Offsets)).map(drop)
        }
        Access::HotSpots(spots) => {
            let blocks = span.0.checked_div(block.0).unwrap_or(0);
            Zones::hot_spots(spots, blocks, block.0, generator(0, 0, Purpose::Offsets)).map(drop)
        }
    }
}

/// Direct I/O needs distances of whole sectors.
pub(crate) fn check_aligned(
    direct: bool,
    distance: Bytes,
    given: impl FnOnce() -> String,
) -> Result<(), WorkloadError> {
    WorkloadError::unless(
        !direct || distance.0.is_multiple_of(DIRECT_ALIGNMENT),
        given,
        "direct I/O needs offsets that are multiples of at least 512 bytes",
        "round it to 512 bytes or to the device's block, or use the page cache",
    )
}

fn check_centre(centre: Option<f64>) -> Result<(), WorkloadError> {
    WorkloadError::unless(
        centre.is_none_or(|centre| (0.0..=1.0).contains(&centre)),
        || format!("the centre is {}", centre.unwrap_or_default()),
        "it is a part of the region, between 0 (its start) and 1 (its end)",
        "divide percentages by 100",
    )
}

fn check_step(step: Bytes, span: Bytes, block: Bytes, direct: bool) -> Result<(), WorkloadError> {
    WorkloadError::unless(
        step >= block && step <= span,
        || format!("each operation is to begin {} bytes before the end of the one before", step.0),
        "that has to be at least a block, and no more than there is",
        "twice the block goes back block by block",
    )?;
    check_aligned(direct, step, || {
        format!("operations begin {} bytes before the end of the one before", step.0)
    })
}

fn check_hole(hole: Bytes, block: Bytes, direct: bool) -> Result<(), WorkloadError> {
    WorkloadError::unless(
        hole.0.checked_add(block.0).is_some(),
        || format!("the hole is {} bytes", hole.0),
        "hole and block together exceed the largest offset there is",
        "make it smaller than the target",
    )?;
    check_aligned(direct, hole, || format!("the hole is {} bytes", hole.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use iolite_model::{HotSpot, Zone, ZoneCycle, ZoneSize};
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn sequential_workers_cover_every_block_once_a_round(blocks in 1u64..500, workers in 1u32..9) {
            prop_assume!(blocks >= u64::from(workers));
            let mut seen = BTreeSet::new();
            for worker in 0..workers {
                let mut offsets = Offsets::new(&Access::Sequential, blocks * 512 + 100, 512, worker, workers, 1).unwrap();
                let share = Slice::of(blocks, worker, workers).unwrap().blocks;
                let first_round: Vec<_> = (0..share).map(|_| offsets.next_offset()).collect();
                prop_assert!(first_round.windows(2).all(|pair| pair[1] == pair[0] + 512));
                prop_assert_eq!(offsets.next_offset(), first_round[0]);
                for offset in first_round {
                    prop_assert!(seen.insert(offset));
                }
            }
            prop_assert_eq!(seen, (0..blocks).map(|block| block * 512).collect::<BTreeSet<_>>());
        }

        #[test]
        fn random_offsets_are_aligned_within_and_repeatable(blocks in 1u64..1_000_000, seed: u64) {
            let new = || Offsets::new(&Access::Random, blocks * 8192, 8192, 0, 1, seed).unwrap();
            let (mut one, mut other) = (new(), new());
            for _ in 0..100 {
                let offset = one.next_offset();
                prop_assert_eq!(offset, other.next_offset());
                prop_assert!(offset % 8192 == 0 && offset / 8192 < blocks);
            }
        }
    }

    /// Chi-square of 100,000 draws over 100 blocks: 99 degrees of freedom, 148.2 is the 99.9 % quantile.
    #[test]
    fn random_offsets_are_uniform() {
        let mut offsets = Offsets::new(&Access::Random, 100, 1, 3, 4, 42).unwrap();
        let mut counts = [0f64; 100];
        (0..100_000).for_each(|_| counts[offsets.next_offset() as usize] += 1.0);
        let chi_square: f64 = counts.iter().map(|count| (count - 1000.0).powi(2) / 1000.0).sum();
        assert!((60.0..148.2).contains(&chi_square), "{chi_square}");
    }

    #[test]
    fn a_span_too_small_is_refused() {
        assert!(Offsets::new(&Access::Random, 4095, 4096, 0, 1, 1).is_none());
        assert!(Offsets::new(&Access::Sequential, 4096 * 3, 4096, 0, 4, 1).is_none());
        assert!(Offsets::new(&Access::Random, 4096, 0, 0, 1, 1).is_none());
    }

    /// One of each family.
    fn families() -> Vec<Access> {
        let zone = |io_percent, size| Zone { io_percent, size: ZoneSize::Percent(size) };
        let spot = HotSpot { offset: Bytes::MIB, length: Bytes::MIB, io_percent: 90.0 };
        vec![
            Access::Sequential,
            Access::SequentialSkip { hole: Bytes(8192) },
            Access::SequentialBack { step: Bytes(8192) },
            Access::Backwards,
            Access::Strided { stride: Bytes(4096 * 7) },
            Access::Runs { blocks: 8 },
            Access::Random,
            Access::Covering,
            Access::Zipf { theta: 0.99, centre: None },
            Access::Pareto { h: 0.2, centre: None },
            Access::Normal { deviation_percent: 10.0, centre: None },
            Access::Zoned(vec![zone(80.0, 20.0), zone(20.0, 80.0)]),
            Access::HotSpots(vec![spot]),
            Access::ZoneCycle(ZoneCycle {
                range: Bytes::MIB,
                amount: Bytes(64 << 10),
                skip: Bytes::MIB,
                random: true,
            }),
        ]
    }

    fn draw(access: &Access, worker: u32, seed: u64, count: usize) -> Vec<u64> {
        let mut offsets = Offsets::new(access, 4096 * 10_000 + 77, 4096, worker, 3, seed).unwrap();
        (0..count).map(|_| offsets.next_offset()).collect()
    }

    #[test]
    fn the_same_seed_gives_the_same_offsets_within_the_span() {
        for access in families() {
            let drawn = draw(&access, 1, 5, 5000);
            assert_eq!(drawn, draw(&access, 1, 5, 5000), "{access:?}");
            assert!(drawn.iter().all(|offset| offset % 4096 == 0 && *offset < 4096 * 10_000), "{access:?}");
            assert_ne!(drawn, draw(&access, 2, 5, 5000), "{access:?}: workers differ");
            let is_random = !matches!(
                access,
                Access::Sequential
                    | Access::SequentialSkip { .. }
                    | Access::SequentialBack { .. }
                    | Access::Backwards
                    | Access::Strided { .. }
            );
            assert_eq!(drawn != draw(&access, 1, 6, 5000), is_random, "{access:?}: another seed");
        }
    }

    /// Two workers' offsets, each in its quarter of what it draws: chi-square of independence over 4 x 4 cells, 9
    /// degrees of freedom, of which 27.9 is the 99.9 % quantile. Classes are by the middle digits of the block number,
    /// which every law here spreads evenly enough to fill all cells.
    #[test]
    fn workers_are_independent() {
        for access in families().into_iter().filter(|access| !matches!(access, Access::Covering)).skip(6) {
            let class = |offset: u64| (offset / 4096 % 4) as usize;
            let mut cells = [[0f64; 4]; 4];
            let count = 20_000;
            for (one, other) in draw(&access, 0, 5, count).into_iter().zip(draw(&access, 1, 5, count)) {
                cells[class(one)][class(other)] += 1.0;
            }
            let row = |index: usize| cells[index].iter().sum::<f64>();
            let column = |index: usize| cells.iter().map(|row| row[index]).sum::<f64>();
            let chi_square: f64 = (0..16)
                .map(|cell| {
                    let expected = row(cell / 4) * column(cell % 4) / count as f64;
                    (cells[cell / 4][cell % 4] - expected).powi(2) / expected
                })
                .sum();
            assert!(chi_square < 27.9, "{access:?}: {chi_square}");
        }
    }

    #[test]
    fn workers_share_hot_blocks_which_are_scattered() {
        for access in [Access::Zipf { theta: 1.0, centre: None }, Access::Pareto { h: 0.05, centre: None }] {
            let hottest = |worker| {
                let mut counts = vec![0; 10_000];
                draw(&access, worker, 5, 100_000)
                    .iter()
                    .for_each(|offset| counts[(offset / 4096) as usize] += 1);
                let mut blocks: Vec<_> = (0..10_000usize).collect();
                blocks.sort_by_key(|block| std::cmp::Reverse(counts[*block]));
                blocks.truncate(5);
                blocks
            };
            let (one, other) = (hottest(0), hottest(1));
            assert_eq!(one[0], other[0], "{access:?}");
            let mut places = one;
            places.sort_unstable();
            // Five random blocks of 10,000 are within 10 of each other with a probability of 2 %; the seed is fixed.
            assert!(places.windows(2).all(|pair| pair[1] - pair[0] > 10), "{access:?}: {places:?}");
        }
    }

    /// The first rank of 100,000 draws lies at the centre, and each block is still one rank's.
    #[test]
    fn the_hottest_block_lies_at_the_centre() {
        for centre in [0.0, 0.3, 0.999, 1.0] {
            let expected = ((centre * 10_000.0) as u64).min(9_999);
            for access in [
                Access::Zipf { theta: 1.2, centre: Some(centre) },
                Access::Pareto { h: 0.02, centre: Some(centre) },
            ] {
                let mut counts = std::collections::BTreeMap::new();
                for offset in draw(&access, 0, 5, 100_000) {
                    *counts.entry(offset / 4096).or_insert(0) += 1;
                }
                let hottest = counts.iter().max_by_key(|(_, count)| **count).map(|(block, _)| *block);
                assert_eq!(hottest, Some(expected), "{access:?}");
            }
            let places = Scattered::new(1000, 7, Some(centre));
            let images: BTreeSet<u64> = (0..1000).map(|rank| places.image(rank)).collect();
            assert_eq!((images.len(), images.last()), (1000, Some(&999)));
        }
    }

    #[test]
    fn covering_shares_agree_with_the_slices() {
        for (blocks, workers) in [(10u64, 3u32), (4097, 4), (999, 8)] {
            let mut seen = BTreeSet::new();
            for worker in 0..workers {
                let share = Slice::of(blocks, worker, workers).unwrap().blocks;
                let mut offsets =
                    Offsets::new(&Access::Covering, blocks * 512, 512, worker, workers, 3).unwrap();
                (0..share).for_each(|_| assert!(seen.insert(offsets.next_offset())));
            }
            assert_eq!(seen.len() as u64, blocks);
        }
    }

    #[test]
    fn parameters_out_of_range_are_refused() {
        let refused = |access| {
            assert!(Offsets::new(&access, 1 << 30, 4096, 0, 1, 1).is_none());
            check(&access, Bytes::GIB, Bytes(4096), false).unwrap_err().to_string()
        };
        for (access, part) in [
            (Access::Strided { stride: Bytes(6000) }, "multiple of the block"),
            (Access::Strided { stride: Bytes(0) }, "multiple of the block"),
            (Access::Runs { blocks: 0 }, "at least one"),
            (Access::SequentialBack { step: Bytes(2048) }, "at least a block"),
            (Access::SequentialBack { step: Bytes(u64::MAX) }, "no more than there is"),
            (Access::SequentialSkip { hole: Bytes(u64::MAX) }, "smaller than the target"),
            (Access::Zipf { theta: -1.0, centre: None }, "from 0"),
            (Access::Zipf { theta: 1.2, centre: Some(1.1) }, "the centre is 1.1"),
            (Access::Pareto { h: 20.0, centre: None }, "below 1"),
            (Access::Pareto { h: 0.2, centre: Some(-0.1) }, "the centre is -0.1"),
            (Access::Normal { deviation_percent: 0.0, centre: None }, "at most 100"),
            (Access::Normal { deviation_percent: 5.0, centre: Some(f64::NAN) }, "between 0"),
            (Access::Zoned(vec![]), "100 in all"),
            (
                Access::ZoneCycle(ZoneCycle {
                    range: Bytes(0),
                    amount: Bytes(1),
                    skip: Bytes(0),
                    random: true,
                }),
                "multiple",
            ),
            (
                Access::HotSpots(vec![HotSpot { offset: Bytes(0), length: Bytes(1), io_percent: 1.0 }]),
                "no block",
            ),
        ] {
            let error = refused(access);
            assert!(error.contains(part), "{error}");
        }
        let hole = Access::SequentialSkip { hole: Bytes(1000) };
        assert!(check(&hole, Bytes::GIB, Bytes(4096), false).is_ok());
        assert!(check(&hole, Bytes::GIB, Bytes(4096), true).unwrap_err().to_string().contains("direct"));
    }

    /// Prints the cost of an offset by family: `cargo test --release -p iolite-workload -- --ignored --nocapture`.
    #[test]
    #[ignore = "measures time, which belongs to a release build on an idle machine"]
    fn nanoseconds_per_offset() {
        for (name, span) in [("1 GiB", 1u64 << 30), ("1 PiB", 1 << 50)] {
            for access in families() {
                let mut offsets = Offsets::new(&access, span, 4096, 0, 4, 1).unwrap();
                let draws = 10_000_000u32;
                let start = std::time::Instant::now();
                let sum = (0..draws).fold(0u64, |sum, _| sum.wrapping_add(offsets.next_offset()));
                let nanos = start.elapsed().as_nanos() as f64 / f64::from(draws);
                println!("{name}: {nanos:6.1} ns/offset {access:?} ({})", std::hint::black_box(sum) % 10);
            }
        }
    }
}
