//! Places for operations of different sizes.

mod covering;

use iolite_model::{Access, Bytes, FileTask, Sizes};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::error::WorkloadError;
use crate::offset::{Cycle, JumpWalk, Offsets, WorkerIndex};
use crate::planned::IoKind;
use crate::random::below;
use crate::region::{Region, grain, is_unknown};
use crate::size::{self, SizeStream};
use covering::Cover;

/// The largest map of a covering walk, in granules of one worker: half a gibibyte of memory.
const MAX_GRANULES: u64 = 1 << 32;

/// Where the operations of one worker go whose sizes differ, all within its part of the span.
///
/// Orders with a cursor move it by each operation's own size, and round it up to the alignment. Laws are drawn over the
/// multiples of the alignment; what would reach beyond the part's end is moved back as far as it has to. So a zone or a
/// hot spot is where operations begin: the last may reach beyond it.
#[derive(Debug, Clone)]
pub(crate) struct Mixed {
    sizes: SizeStream,
    /// First byte of the worker's part.
    start: u64,
    /// Bytes of it.
    length: u64,
    alignment: u64,
    walk: Walk,
}

#[derive(Debug, Clone)]
enum Walk {
    Up {
        next: [u64; 2],
        hole: u64,
    },
    Down {
        next: [u64; 2],
    },
    /// Each so many bytes before the end of the one before.
    Back {
        next: [u64; 2],
        step: u64,
    },
    Runs {
        next: u64,
        run: u64,
        left: u64,
        generator: Xoshiro256PlusPlus,
    },
    Drawn(Offsets),
    Jumps(Box<JumpWalk>),
    Cycle(Cycle),
    Covering(Cover),
    Append {
        next: u64,
    },
}

/// Why an order does not go with different sizes.
fn of_equal_blocks() -> WorkloadError {
    WorkloadError::new(
        "the order is that of preconditioning, or one for each kind of operations, and the sizes differ"
            .to_owned(),
        "its blocks are equal",
        "specify one block size",
    )
}

/// Checks what different sizes ask of an order, besides what equal ones do. `length` is the smallest part of a worker.
///
/// # Errors
/// The order is invalid with different sizes, or not with these.
pub(crate) fn check(task: &FileTask, sizes: &Sizes, length: u64) -> Result<(), WorkloadError> {
    let (alignment, divisor) = (sizes.alignment, size::divisor(sizes, task.mix));
    match &task.access {
        Access::Precondition(_) | Access::ByKind(_) | Access::Mixture(_) => Err(of_equal_blocks()),
        Access::Strided { .. } => Err(WorkloadError::new(
            "the order is strided and the sizes differ".to_owned(),
            "columns are of equal blocks",
            "specify one block size, or use sequential with skip",
        )),
        Access::Jumps(jumps) => WorkloadError::unless(
            jumps.step.0.is_multiple_of(alignment.0.max(1)),
            || {
                format!(
                    "operations begin {} bytes after the one before, at multiples of {alignment}",
                    jumps.step.0
                )
            },
            "operations in a row would not begin where they are to",
            "round the step to the alignment, or leave it out",
        ),
        Access::SequentialBack { step } => {
            let max = size::largest(sizes, task.mix);
            WorkloadError::unless(
                step.0 >= max,
                || {
                    format!(
                        "each operation is to begin {} bytes before the end of the one before, with sizes up to {max}",
                        step.0
                    )
                },
                "that has to be at least the largest size",
                "specify more",
            )
        }
        Access::ZoneCycle(zones) => {
            let max = Bytes(size::largest(sizes, task.mix));
            WorkloadError::unless(
                zones.range >= max && zones.skip.0.is_multiple_of(alignment.0.max(1)),
                || {
                    format!(
                        "a zone of {} and a gap of {} bytes meet sizes up to {max}",
                        zones.range, zones.skip.0
                    )
                },
                "the largest operation has to fit into a zone, and zones have to begin at the alignment",
                "make the zone larger, or round the gap to the alignment",
            )
        }
        Access::Covering => {
            WorkloadError::unless(
                divisor > 0 && divisor.is_multiple_of(alignment.0.max(1)),
                || {
                    format!(
                        "the sizes have {divisor} bytes in common and offsets are multiples of {alignment}"
                    )
                },
                "to cover each byte once, operations have to begin wherever another may end",
                "specify an alignment that divides all sizes, or use random",
            )?;
            WorkloadError::unless(
                is_unknown(task) || length / divisor.max(1) <= MAX_GRANULES,
                || format!("a worker is to cover {} pieces of {divisor} bytes", length / divisor.max(1)),
                "what has been done is remembered piece by piece, and that is too much to remember",
                "choose sizes that are multiples of a larger one, more workers, or random",
            )
        }
        _ => Ok(()),
    }
}

impl Mixed {
    /// `None` where the part is too small for the largest size, or the parameters are refused by
    /// [`validate`](crate::validate).
    pub(crate) fn new(task: &FileTask, sizes: &Sizes, region: Region, seat: WorkerIndex) -> Option<Mixed> {
        check(task, sizes, region.length).ok()?;
        let stream = SizeStream::new(sizes, seat.worker, seat.seed).ok()?;
        let (max, grain, length) = (size::largest(sizes, task.mix), grain(task), region.length);
        if max == 0 || length / grain == 0 || (length < max && task.access != Access::Covering) {
            return None;
        }
        let walk = match &task.access {
            Access::Sequential => Walk::Up { next: [0; 2], hole: 0 },
            Access::SequentialSkip { hole } => Walk::Up { next: [0; 2], hole: hole.0 },
            Access::SequentialBack { step } => Walk::Back { next: [0; 2], step: step.0 },
            Access::Backwards => Walk::Down { next: [length; 2] },
            Access::Runs { blocks } => {
                Walk::Runs { next: 0, run: (*blocks).max(1), left: 0, generator: seat.chance() }
            }
            Access::ZoneCycle(zones) => {
                Walk::Cycle(Cycle::new(*zones, 0, length, grain, max, seat.chance())?)
            }
            Access::Covering => Walk::Covering(Cover::new(length / grain, grain, seat.chance())?),
            Access::Append => Walk::Append { next: 0 },
            Access::Jumps(jumps) => {
                let to = Offsets::seated(&jumps.to, length, grain, seat)?;
                Walk::Jumps(Box::new(JumpWalk::new(jumps, to, seat.common())))
            }
            Access::Strided { .. }
            | Access::Precondition(_)
            | Access::ByKind(_)
            | Access::Mixture(_)
            | Access::Trace(_) => return None,
            Access::Random
            | Access::Zipf { .. }
            | Access::Pareto { .. }
            | Access::Normal { .. }
            | Access::Zoned(_)
            | Access::HotSpots(_) => Walk::Drawn(Offsets::seated(&task.access, length, grain, seat)?),
        };
        let alignment = sizes.alignment.0;
        Some(Mixed { sizes: stream, start: region.start, length, alignment, walk })
    }

    /// Where the next operation goes, in bytes from the span's start, and its size.
    pub(crate) fn next(&mut self, kind: IoKind) -> (u64, u32) {
        let mut size = self.sizes.next_size(kind);
        let bytes = u64::from(size);
        // No size is larger than the part.
        let last = self.length.saturating_sub(bytes);
        // In a mix each kind goes by itself.
        let whose = usize::from(kind == IoKind::Write);
        let place = match &mut self.walk {
            Walk::Up { next, hole } => {
                let next = &mut next[whose];
                if *next > last {
                    // To the end by what still fits.
                    match self.sizes.next_size_within(kind, self.length.saturating_sub(*next)) {
                        Some(less) => size = less,
                        None => *next = 0,
                    }
                }
                let here = *next;
                *next = round_up((here + u64::from(size)).saturating_add(*hole), self.alignment);
                here
            }
            Walk::Down { next } => {
                let next = &mut next[whose];
                if *next < bytes
                    && let Some(less) = self.sizes.next_size_within(kind, *next)
                {
                    size = less;
                }
                let here = next.checked_sub(u64::from(size)).unwrap_or(last);
                *next = here - here % self.alignment;
                *next
            }
            Walk::Back { next, step } => {
                let next = &mut next[whose];
                let here = if *next > last { 0 } else { *next };
                let after = (here + bytes).checked_sub(*step).unwrap_or(self.length - *step);
                *next = after - after % self.alignment;
                here
            }
            Walk::Runs { next, run, left, generator } => {
                if *left == 0 {
                    *left = *run;
                    *next = below(generator, self.length / self.alignment) * self.alignment;
                }
                *left -= 1;
                let here = if *next > last { 0 } else { *next };
                *next = round_up(here + bytes, self.alignment);
                here
            }
            Walk::Drawn(offsets) => {
                self.sizes.place(offsets.next_offset(), size, self.length).unwrap_or_default()
            }
            Walk::Jumps(jumps) => jumps.next_place(bytes, last, self.alignment),
            Walk::Cycle(cycle) => cycle.next_offset(bytes),
            Walk::Covering(cover) => {
                let (place, size) = cover.next(size);
                return (self.start + place, size);
            }
            Walk::Append { next } => {
                let here = *next;
                *next = here.wrapping_add(bytes);
                here
            }
        };
        (self.start + place, size)
    }
}

/// The next multiple of the alignment; beyond all numbers, the largest number, which is beyond every part.
fn round_up(offset: u64, alignment: u64) -> u64 {
    offset.checked_next_multiple_of(alignment).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::OpStream;
    use iolite_model::{
        HotSpot, Jumps, Mix, Regions, SizeLaw, Target, WeightedSize, Zone, ZoneCycle, ZoneSize,
    };
    use proptest::prelude::*;

    fn range(min: u64, max: u64) -> SizeLaw {
        SizeLaw::Range { min: Bytes(min), max: Bytes(max), multiple: Bytes(512) }
    }

    fn task(access: Access, law: SizeLaw, alignment: u64, span: u64) -> FileTask {
        FileTask {
            access,
            sizes: Some(Sizes::alike(law, Bytes(alignment))),
            target: Target::Null { size: Bytes(span) },
            workers: 2,
            concurrency: 2,
            ..FileTask::default()
        }
    }

    fn draw(task: &FileTask, worker: u32, count: usize) -> Vec<(u64, u32)> {
        let mut stream = OpStream::new(task, worker).unwrap();
        (0..count).map(|_| stream.next_op()).map(|op| (op.offset, op.length)).collect()
    }

    fn families() -> Vec<Access> {
        let zone = |io_percent, size| Zone { io_percent, size: ZoneSize::Percent(size) };
        let spot = HotSpot { offset: Bytes(0), length: Bytes(8192), io_percent: 90.0 };
        let cycle =
            |random| ZoneCycle { range: Bytes(16384), amount: Bytes(20_000), skip: Bytes(4096), random };
        vec![
            Access::Sequential,
            Access::SequentialSkip { hole: Bytes(1000) },
            Access::SequentialBack { step: Bytes(12288) },
            Access::Backwards,
            Access::Runs { blocks: 5 },
            Access::Random,
            Access::Covering,
            Access::Zipf { theta: 0.99, centre: None },
            Access::Pareto { h: 0.2, centre: Some(0.3) },
            Access::Normal { deviation_percent: 10.0, centre: Some(0.9) },
            Access::Zoned(vec![zone(80.0, 20.0), zone(20.0, 80.0)]),
            Access::HotSpots(vec![spot]),
            Access::ZoneCycle(cycle(false)),
            Access::ZoneCycle(cycle(true)),
            Access::Jumps(Box::new(Jumps { percent: 40, ..Jumps::default() })),
            Access::Jumps(Box::new(Jumps { run: 3, step: Bytes(16384), ..Jumps::default() })),
            Access::Jumps(Box::new(Jumps { run: 3, repeat: true, ..Jumps::default() })),
        ]
    }

    proptest! {
        #[test]
        fn operations_lie_in_their_part_at_the_alignment(
            span in 50_000u64..1_000_000, alignment in prop::sample::select(vec![1u64, 512, 4096]),
            family in 0usize..17, regions in 0usize..4, worker in 0u32..2, seed: u64,
        ) {
            let access = families()[family].clone();
            let law = if access == Access::Covering { range(4096, 4096) } else { range(512, 8192) };
            let regions =
                [Regions::Natural, Regions::Shared, Regions::Slices, Regions::Increment(Bytes(4096))][regions];
            let task = FileTask { regions, seed, ..task(access, law, alignment, span) };
            prop_assert!(crate::validate(&task).is_ok());
            let part = OpStream::new(&task, worker).unwrap().part();
            prop_assert!(part.end <= span);
            let drawn = draw(&task, worker, 500);
            for (offset, length) in &drawn {
                prop_assert!(offset % alignment == 0);
                prop_assert!(*offset >= part.start && offset + u64::from(*length) <= part.end);
            }
            prop_assert_eq!(drawn, draw(&task, worker, 500));
        }
    }

    #[test]
    fn a_cursor_moves_by_each_operations_size() {
        let law = range(512, 8192);
        let part = |access| task(access, law.clone(), 4096, 1 << 20);
        for pair in draw(&part(Access::Sequential), 1, 1000).windows(2) {
            let next = (pair[0].0 + u64::from(pair[0].1)).next_multiple_of(4096);
            // To the end by sizes that fit.
            assert_eq!(pair[1].0, if next + 512 > 1 << 20 { 1 << 19 } else { next });
        }
        for pair in draw(&part(Access::Backwards), 1, 1000).windows(2) {
            let end = if (1 << 19) + 512 <= pair[0].0 { pair[0].0 } else { 1 << 20 };
            assert_eq!(pair[1].0, (end - u64::from(pair[1].1)) / 4096 * 4096);
        }
        for pair in draw(&part(Access::SequentialSkip { hole: Bytes(9000) }), 0, 1000).windows(2) {
            let next = (pair[0].0 + u64::from(pair[0].1) + 9000).next_multiple_of(4096);
            assert_eq!(pair[1].0, if next + 512 > 1 << 19 { 0 } else { next });
        }
        for pair in draw(&part(Access::SequentialBack { step: Bytes(12288) }), 0, 1000).windows(2) {
            let end = pair[0].0 + u64::from(pair[0].1);
            assert_eq!(pair[1].0, end.checked_sub(12288).unwrap_or((1 << 19) - 12288) / 4096 * 4096);
        }
        for run in draw(&part(Access::Runs { blocks: 5 }), 0, 1000).chunks(5) {
            for pair in run.windows(2) {
                let next = (pair[0].0 + u64::from(pair[0].1)).next_multiple_of(4096);
                assert!(pair[1].0 == next || pair[1].0 == 0, "{pair:?}");
            }
        }
    }

    /// 20,000 operations: five standard deviations of a share are below 0.018.
    #[test]
    fn a_share_of_operations_of_different_sizes_jumps() {
        for percent in [10, 25, 60, 80, 99] {
            let jumps = Access::Jumps(Box::new(Jumps { percent, ..Jumps::default() }));
            let task = FileTask { workers: 1, ..task(jumps, range(512, 8192), 512, 1 << 30) };
            let drawn = draw(&task, 0, 20_001);
            let in_a_row = |pair: &&[(u64, u32)]| pair[1].0 == pair[0].0 + u64::from(pair[0].1);
            let found = drawn.windows(2).filter(|pair| !in_a_row(pair)).count() as f64 / 20_000.0;
            assert!((found - f64::from(percent) / 100.0).abs() < 0.018, "{percent} %: {found}");
        }
    }

    #[test]
    fn appends_count_up_by_their_sizes() {
        let task = FileTask { mix: Mix::Write, ..task(Access::Append, range(512, 8192), 1, 1 << 20) };
        let drawn = draw(&task, 1, 100);
        assert_eq!(drawn[0].0, 0);
        assert!(drawn.windows(2).all(|pair| pair[1].0 == pair[0].0 + u64::from(pair[0].1)));
    }

    /// A round of a walk without holes is all of the part.
    #[test]
    fn walks_end_with_their_part() {
        for access in [Access::Sequential, Access::Backwards] {
            let task = FileTask { workers: 1, ..task(access, range(512, 8192), 512, 100 * 512) };
            let drawn = draw(&task, 0, 1000);
            let mut left: u64 = 100 * 512;
            for (offset, length) in drawn {
                left = left.checked_sub(u64::from(length)).unwrap_or_else(|| panic!("{offset}+{length}"));
                if left == 0 {
                    left = 100 * 512;
                }
            }
        }
    }

    /// 100 places of the alignment, all sizes fit everywhere but at the end: 98 classes, 97 degrees of freedom, of which
    /// 145.9 is the 99.9 % quantile. The size does not depend on the place.
    #[test]
    fn random_places_are_uniform() {
        let sizes = [512, 1024].map(|size| WeightedSize { size: Bytes(size), percent: 50.0 });
        let task =
            FileTask { workers: 1, ..task(Access::Random, SizeLaw::Split(sizes.to_vec()), 512, 100 * 512) };
        let (mut counts, mut large) = ([0f64; 100], 0);
        for (offset, length) in draw(&task, 0, 100_000) {
            counts[(offset / 512) as usize] += 1.0;
            large += u32::from(length == 1024);
        }
        let chi_square: f64 = counts[..98].iter().map(|count| (count - 1000.0).powi(2) / 1000.0).sum();
        assert!(chi_square < 145.9, "{chi_square}");
        assert!((49_300..50_700).contains(&large), "{large}");
    }

    #[test]
    fn a_part_smaller_than_the_largest_size_is_refused() {
        let small = task(Access::Random, range(512, 8192), 512, 8191);
        assert!(OpStream::new(&small, 0).is_none());
        let slices =
            FileTask { regions: Regions::Slices, ..task(Access::Random, range(512, 8192), 512, 10_000) };
        assert!(OpStream::new(&slices, 0).is_none());
        // A mix without trims does not care for their sizes.
        let mut reads = task(Access::Random, range(512, 8192), 512, 8192);
        reads.sizes.as_mut().unwrap().trims = SizeLaw::Fixed(Bytes::MIB);
        assert!(OpStream::new(&reads, 0).is_some());
    }
}
