//! The operations of one worker, one after the other.

mod traced;

use std::ops::Range;

use iolite_model::{Access, FileTask, Mix};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::files;
use crate::mixed::Mixed;
use crate::mixture::MixtureStream;
use crate::offset::{Offsets, WorkerIndex};
use crate::planned::{IoKind, PlannedOp};
use crate::random::{Purpose, below, generator};
use crate::region::{Region, grain, kinds_apart};
use crate::spread::Spread;
use traced::Traced;

/// The operations of one worker.
#[derive(Debug, Clone)]
pub struct OpStream {
    course: MixStream,
    part: Range<u64>,
}

/// The variant is chosen once a run, and is always predicted right: equal blocks of one kind or of two pay for nothing
/// else.
#[derive(Debug, Clone)]
enum MixStream {
    Always {
        kind: IoKind,
        blocks: Blocks,
    },
    Or {
        dice: Dice,
        blocks: Blocks,
    },
    /// Each kind goes through the span by itself.
    Apart {
        dice: Dice,
        blocks: Box<[Blocks; 2]>,
    },
    Other(Box<Other>),
    Traced(Box<Traced>),
    Mixture(Box<MixtureStream>),
}

/// Equal blocks.
#[derive(Debug, Clone)]
struct Blocks {
    offsets: Offsets,
    start: u64,
    length: u32,
}

/// The first kind with a probability of `percent`, otherwise the second.
#[derive(Debug, Clone)]
struct Dice {
    kinds: [IoKind; 2],
    percent: u64,
    generator: Xoshiro256PlusPlus,
}

/// Different sizes, or trims with their writes.
#[derive(Debug, Clone)]
struct Other {
    kinds: Kinds,
    places: Places,
}

/// What operations do.
#[derive(Debug, Clone)]
enum Kinds {
    Always(IoKind),
    Or(Dice),
    /// Reads, trims and writes: the dice's first kind is a read, its second one of the others' dice.
    OrTrim(Dice, Dice),
    /// A trim, then the write that it was for.
    TrimThenWrite(Option<PlannedOp>),
    /// A read, then perhaps the write of what it has read.
    ReadThenWrite(Option<PlannedOp>, Dice),
}

/// Where operations go, and how long they are.
#[derive(Debug, Clone)]
enum Places {
    Equal(Blocks),
    /// Those of writes come second, and with them those of trims where that is set.
    Apart(Box<[Blocks; 2]>, bool),
    Mixed(Mixed),
    Spread(Box<Spread<Places>>),
}

impl OpStream {
    /// The operations of worker `worker` of the task; `None` where the target, or the worker's part of it, is too small
    /// for its blocks or its largest size. Parameters that [`validate`](crate::validate) refuses give `None` as well.
    pub fn new(task: &FileTask, worker: u32) -> Option<OpStream> {
        if let Access::Trace(trace) = &task.access {
            let starts = files::file_starts(task);
            let traced = Traced { trace: trace.clone(), next: 0, starts };
            return Some(OpStream {
                course: MixStream::Traced(Box::new(traced)),
                part: 0..task.target.size().0,
            });
        }
        if let Access::Mixture(what) = &task.access {
            let region = Region::of(task, worker)?;
            let chance = generator(task.seed, worker, Purpose::Mix);
            let stream = MixtureStream::new(what, region.start, region.length, chance)?;
            let part = region.start..region.start + region.length;
            return Some(OpStream { course: MixStream::Mixture(Box::new(stream)), part });
        }
        let (places, part) =
            if files::has_several(task) { spread(task, worker)? } else { Places::of(task, worker, 0)? };
        let course = match (Kinds::of(task, worker), places) {
            (Kinds::Always(kind), Places::Equal(blocks)) => MixStream::Always { kind, blocks },
            (Kinds::Or(dice), Places::Equal(blocks)) => MixStream::Or { dice, blocks },
            (Kinds::Or(dice), Places::Apart(blocks, _)) => MixStream::Apart { dice, blocks },
            (kinds, places) => MixStream::Other(Box::new(Other { kinds, places })),
        };
        Some(OpStream { course, part })
    }

    /// The part of the span that all operations of this worker lie in, in bytes. Other workers' operations may lie
    /// there too, unless they have parts of their own.
    pub fn part(&self) -> Range<u64> {
        self.part.clone()
    }

    /// The next operation.
    #[inline]
    pub fn next_op(&mut self) -> PlannedOp {
        match &mut self.course {
            MixStream::Always { kind, blocks } => blocks.next(*kind),
            MixStream::Or { dice, blocks } => blocks.next(dice.roll()),
            MixStream::Apart { dice, blocks } => {
                let which = dice.which();
                blocks[which].next(dice.kinds[which])
            }
            MixStream::Other(other) => other.next(),
            MixStream::Traced(traced) => traced.next(),
            MixStream::Mixture(mixture) => mixture.next(),
        }
    }
}

impl OpStream {
    /// The next operation, of this kind where the mix leaves it to chance.
    #[inline(never)]
    pub fn next_of(&mut self, kind: IoKind) -> PlannedOp {
        match &mut self.course {
            MixStream::Or { blocks, .. } => blocks.next(kind),
            MixStream::Apart { dice, blocks } => {
                let which = usize::from(kind != dice.kinds[0]);
                blocks[which].next(kind)
            }
            MixStream::Other(other) if matches!(other.kinds, Kinds::Or(_)) => other.places.next(kind),
            MixStream::Always { .. } | MixStream::Other(_) | MixStream::Traced(_) | MixStream::Mixture(_) => {
                self.next_op()
            }
        }
    }
}

impl Blocks {
    #[inline]
    fn next(&mut self, kind: IoKind) -> PlannedOp {
        PlannedOp { kind, offset: self.start + self.offsets.next_offset(), length: self.length }
    }
}

impl Dice {
    #[inline]
    fn roll(&mut self) -> IoKind {
        // An index rather than a branch, which would be mispredicted as often as the rarer kind comes.
        self.kinds[self.which()]
    }

    /// The first kind or the second.
    #[inline]
    fn which(&mut self) -> usize {
        usize::from(below(&mut self.generator, 100) >= self.percent)
    }
}

impl Other {
    /// Apart, so that the fast path stays small.
    #[inline(never)]
    fn next(&mut self) -> PlannedOp {
        let kind = match &mut self.kinds {
            Kinds::Always(kind) => *kind,
            Kinds::Or(dice) => dice.roll(),
            Kinds::OrTrim(reads, others) => match reads.roll() {
                IoKind::Read => IoKind::Read,
                _ => others.roll(),
            },
            Kinds::TrimThenWrite(pending) => match pending.take() {
                Some(write) => return write,
                None => {
                    // The pair has a write's size.
                    let write = self.places.next(IoKind::Write);
                    *pending = Some(write);
                    return PlannedOp { kind: IoKind::Trim, ..write };
                }
            },
            Kinds::ReadThenWrite(pending, dice) => match pending.take() {
                Some(write) => return write,
                None => {
                    let read = self.places.next(IoKind::Read);
                    *pending =
                        (dice.roll() == IoKind::Read).then_some(PlannedOp { kind: IoKind::Write, ..read });
                    return read;
                }
            },
        };
        self.places.next(kind)
    }
}

impl Places {
    /// The places of a worker in the task's one file, or in number `index` of several, and its part of it.
    fn of(task: &FileTask, worker: u32, index: u64) -> Option<(Places, Range<u64>)> {
        let region = Region::of(task, worker)?;
        // Each file has an order of its own.
        let seed = task.seed.wrapping_add(index.wrapping_mul(0xd1b5_4a32_d192_ed03));
        let seat = WorkerIndex { worker, turn: region.turn, turns: region.turns, seed };
        let blocks_of = |access, seat| {
            Some(Blocks {
                offsets: Offsets::seated(access, region.length, grain(task), seat)?,
                start: region.start,
                length: u32::try_from(task.block.0).ok()?,
            })
        };
        let blocks = || blocks_of(&task.access, seat);
        let trims = matches!(task.mix, Mix::ReadTrimPercent { .. });
        let places = match (&task.sizes, &task.access) {
            (None, Access::ByKind(both)) => {
                // Each has a chance of its own.
                let other = WorkerIndex { seed: !seed, ..seat };
                Places::Apart(
                    Box::new([blocks_of(&both.reads, seat)?, blocks_of(&both.writes, other)?]),
                    trims,
                )
            }
            (None, _) if kinds_apart(task) => Places::Apart(Box::new([blocks()?, blocks()?]), trims),
            (None, _) => Places::Equal(blocks()?),
            (Some(sizes), _) => Places::Mixed(Mixed::new(task, sizes, region, seat)?),
        };
        Some((places, region.start..region.start + region.length))
    }

    fn next(&mut self, kind: IoKind) -> PlannedOp {
        match self {
            Places::Spread(spread) => spread.next(|places| places.next(kind)),
            Places::Equal(blocks) => blocks.next(kind),
            // The first of the two is that of the kind beside the writes; of three kinds trims belong to the writes.
            Places::Apart(blocks, trims) => {
                blocks[usize::from(kind == IoKind::Write || (kind == IoKind::Trim && *trims))].next(kind)
            }
            Places::Mixed(mixed) => {
                let (offset, length) = mixed.next(kind);
                PlannedOp { kind, offset, length }
            }
        }
    }
}

/// The places of a worker in several files, and the range that they lie in.
fn spread(task: &FileTask, worker: u32) -> Option<(Places, Range<u64>)> {
    let starts = files::file_starts(task);
    let mut index = 0;
    let each = files::each(task, |alone| {
        index += 1;
        Places::of(alone, worker, index - 1)
    });
    let (places, parts): (Vec<_>, Vec<_>) = each.into_iter().collect::<Option<Vec<_>>>()?.into_iter().unzip();
    let range = starts.first()? + parts.first()?.start..starts.last()?.checked_add(parts.last()?.end)?;
    Some((Places::Spread(Box::new(Spread::new(task, worker, places)?)), range))
}

impl Kinds {
    fn of(task: &FileTask, worker: u32) -> Kinds {
        let dice = |one, percent: u8| {
            let generator = generator(task.seed, worker, Purpose::Mix);
            Dice { kinds: [one, IoKind::Write], percent: u64::from(percent), generator }
        };
        let or = |one, percent: u8| Kinds::Or(dice(one, percent));
        match task.mix {
            Mix::Read => Kinds::Always(IoKind::Read),
            Mix::Write => Kinds::Always(IoKind::Write),
            Mix::Trim => Kinds::Always(IoKind::Trim),
            Mix::ReadPercent(percent) => or(IoKind::Read, percent),
            Mix::TrimPercent(percent) => or(IoKind::Trim, percent),
            Mix::ReadTrimPercent { reads, trims } => {
                let rest = u64::from(100u8.saturating_sub(reads)).max(1);
                // In percent of what is no read; drawn apart from whether it is one.
                let generator = generator(task.seed, worker, Purpose::Trims);
                let percent = (u64::from(trims) * 100 + rest / 2) / rest;
                let others = Dice { percent, generator, ..dice(IoKind::Trim, 0) };
                Kinds::OrTrim(dice(IoKind::Read, reads), others)
            }
            Mix::TrimThenWrite => Kinds::TrimThenWrite(None),
            // The dice's first kind comes with the probability of a write.
            Mix::ReadThenWrite(percent) => Kinds::ReadThenWrite(None, dice(IoKind::Read, percent)),
            // That goes with a trace, which has its own.
            Mix::Traced(_) => Kinds::Always(IoKind::Read),
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::Share;
    use iolite_model::{
        Access, Bytes, FileTarget, FilesTarget, NamedFile, Regions, SizeLaw, Sizes, Stop, Target,
    };
    use std::collections::BTreeSet;

    pub(crate) fn task(mix: Mix, stop: Stop) -> FileTask {
        let target = Target::Null { size: Bytes::MIB };
        FileTask { target, mix, workers: 3, concurrency: 3, stop, seed: 9, ..FileTask::default() }
    }

    fn draw(task: &FileTask, worker: u32, count: usize) -> Vec<PlannedOp> {
        let mut stream = OpStream::new(task, worker).unwrap();
        (0..count).map(|_| stream.next_op()).collect()
    }

    #[test]
    fn each_kind_has_an_order_of_its_own() {
        let access = Access::ByKind(Box::new(iolite_model::ByKind {
            reads: Access::Sequential,
            writes: Access::Covering,
        }));
        let mut task = FileTask { access, ..task(Mix::ReadPercent(50), Stop::default()) };
        (task.workers, task.concurrency) = (1, 1);
        let drawn = draw(&task, 0, 1000);
        let of = |kind| drawn.iter().filter(|op| op.kind == kind).map(|op| op.offset).collect::<Vec<_>>();
        let (reads, writes) = (of(IoKind::Read), of(IoKind::Write));
        assert!(reads.windows(2).all(|pair| pair[1] == (pair[0] + 4096) % (1 << 20)), "{reads:?}");
        let round: BTreeSet<u64> = writes[..256].iter().copied().collect();
        assert_eq!(round.len(), 256, "each block once");
        assert!(!writes[..256].is_sorted());
        assert!(crate::validate(&task).is_ok());
        assert!(crate::validate(&FileTask { mix: Mix::Write, ..task }).is_err());
    }

    #[test]
    fn the_mix_is_as_asked() {
        for (mix, kind, low, high) in [
            (Mix::Read, IoKind::Read, 10_000, 10_000),
            (Mix::Write, IoKind::Read, 0, 0),
            (Mix::ReadPercent(70), IoKind::Read, 6_800, 7_200),
            (Mix::Trim, IoKind::Trim, 10_000, 10_000),
            (Mix::TrimPercent(20), IoKind::Trim, 1_840, 2_160),
            (Mix::TrimPercent(20), IoKind::Write, 7_840, 8_160),
            (Mix::TrimPercent(100), IoKind::Trim, 10_000, 10_000),
            (Mix::ReadTrimPercent { reads: 50, trims: 10 }, IoKind::Read, 4_800, 5_200),
            (Mix::ReadTrimPercent { reads: 50, trims: 10 }, IoKind::Trim, 880, 1_120),
            (Mix::ReadTrimPercent { reads: 50, trims: 10 }, IoKind::Write, 3_800, 4_200),
            (Mix::ReadTrimPercent { reads: 30, trims: 70 }, IoKind::Write, 0, 0),
        ] {
            let drawn = draw(&task(mix, Stop::default()), 0, 10_000);
            let count = drawn.iter().filter(|op| op.kind == kind).count();
            assert!((low..=high).contains(&count), "{mix:?}: {count} {kind:?}");
        }
    }

    #[test]
    fn each_trim_is_followed_by_its_write_and_draws_no_offset_of_its_own() {
        let changed = draw(&task(Mix::ReadThenWrite(100), Stop::default()), 1, 2000);
        for pair in changed.chunks(2) {
            assert_eq!((pair[0].kind, pair[1].kind), (IoKind::Read, IoKind::Write));
            assert_eq!((pair[0].offset, pair[0].length), (pair[1].offset, pair[1].length));
        }
        let some = draw(&task(Mix::ReadThenWrite(10), Stop::default()), 1, 20_000);
        let writes = some.iter().filter(|op| op.kind == IoKind::Write).count();
        // A tenth of the reads, which is an eleventh of all.
        assert!((1700..=1940).contains(&writes), "{writes}");
        let paired = draw(&task(Mix::TrimThenWrite, Stop::default()), 1, 2000);
        let plain = draw(&task(Mix::Write, Stop::default()), 1, 1000);
        for (pair, write) in paired.chunks(2).zip(plain) {
            assert_eq!(pair[0], PlannedOp { kind: IoKind::Trim, ..write });
            assert_eq!(pair[1], write);
        }
    }

    #[test]
    fn kinds_of_a_mix_go_through_the_span_by_themselves() {
        let sizes = Sizes::alike(SizeLaw::Fixed(Bytes(4096)), Bytes(4096));
        let plain = FileTask { access: Access::Sequential, ..task(Mix::ReadPercent(50), Stop::default()) };
        let several = |plain: &FileTask| {
            let file = |name: &str| NamedFile { path: name.into(), offset: Bytes(0), size: Bytes::MIB };
            let target = Target::Files(FilesTarget::of(vec![file("a"), file("b")]));
            FileTask { target, ..plain.clone() }
        };
        for task in [
            plain.clone(),
            FileTask { sizes: Some(sizes), ..plain.clone() },
            FileTask { workers: 1, ..plain.clone() },
        ] {
            let mut next = [None, None];
            for op in draw(&task, 0, 80) {
                let next = &mut next[usize::from(op.kind == IoKind::Write)];
                assert!(next.is_none_or(|next| op.offset == next), "{op:?}");
                *next = Some(op.offset + 4096);
            }
            assert!(next[0] != next[1], "one of them is ahead");
        }
        let mut ends = [[0; 2]; 2];
        for op in draw(&FileTask { workers: 1, ..several(&plain) }, 0, 80) {
            let end = &mut ends[usize::from(op.offset >= 1 << 20)][usize::from(op.kind == IoKind::Write)];
            assert_eq!(op.offset % (1 << 20), *end);
            *end += 4096;
        }
    }

    #[test]
    fn sequential_workers_with_a_spans_worth_of_operations_do_each_block_once() {
        for blocks in 3..40 {
            for stop in [
                Stop { bytes: Some(Bytes(4096 * blocks)), ..Stop::default() },
                Stop { loops: Some(1), ..Stop::default() },
            ] {
                let target = Target::Null { size: Bytes(4096 * blocks) };
                let task = FileTask { access: Access::Sequential, target, ..task(Mix::Write, stop) };
                let mut done = BTreeSet::new();
                for worker in 0..3 {
                    for op in draw(&task, worker, Share::of(&task, worker).operations as usize) {
                        assert!(done.insert(op.offset), "{blocks} blocks");
                    }
                }
                assert_eq!(done.len() as u64, blocks);
            }
        }
    }

    #[test]
    fn slices_hold_all_of_a_workers_operations_whatever_the_order() {
        let orders = [
            Access::Sequential,
            Access::Random,
            Access::Covering,
            Access::Zipf { theta: 0.9, centre: None },
            Access::Runs { blocks: 4 },
            Access::Normal { deviation_percent: 20.0, centre: None },
        ];
        for access in orders {
            let regions = Regions::Slices;
            let task = FileTask { access, regions, ..task(Mix::Read, Stop::default()) };
            let mut touched = BTreeSet::new();
            for worker in 0..3 {
                let part = OpStream::new(&task, worker).unwrap().part();
                let drawn: BTreeSet<_> = draw(&task, worker, 5000).into_iter().map(|op| op.offset).collect();
                assert!(drawn.iter().all(|offset| part.contains(offset) && part.contains(&(offset + 4095))));
                assert!(drawn.iter().all(|offset| touched.insert(*offset)), "slices are apart");
            }
            assert!(touched.len() > 240, "{:?}: {} of 256 blocks", task.access, touched.len());
        }
    }

    #[test]
    fn covering_slices_are_covered_in_orders_of_their_own() {
        let (access, regions, workers) = (Access::Covering, Regions::Slices, 4);
        let task = FileTask { access, regions, workers, ..task(Mix::Read, Stop::default()) };
        let relative = |worker: u32| {
            let start = OpStream::new(&task, worker).unwrap().part().start;
            draw(&task, worker, 64).iter().map(|op| op.offset - start).collect::<Vec<_>>()
        };
        assert_eq!(relative(1).iter().collect::<BTreeSet<_>>().len(), 64);
        assert_ne!(relative(0), relative(1));
    }

    #[test]
    fn shared_workers_go_through_the_span_side_by_side() {
        let with = |access| FileTask { access, regions: Regions::Shared, ..task(Mix::Read, Stop::default()) };
        let sequential = with(Access::Sequential);
        assert_eq!(draw(&sequential, 0, 300), draw(&sequential, 2, 300));
        let random = with(Access::Random);
        assert_ne!(draw(&random, 0, 300), draw(&random, 2, 300), "chance is still each one's own");
        let covering = with(Access::Covering);
        let all: BTreeSet<_> = (0..3)
            .flat_map(|worker| draw(&covering, worker, if worker == 0 { 86 } else { 85 }))
            .map(|op| op.offset)
            .collect();
        assert_eq!(all.len(), 256, "covering is shared all the same");
    }

    #[test]
    fn increments_shift_the_start() {
        let with = |distance| {
            let (access, regions) = (Access::Sequential, Regions::Increment(Bytes(distance)));
            FileTask { access, regions, ..task(Mix::Read, Stop::default()) }
        };
        let offsets =
            |worker| draw(&with(512 << 10), worker, 129).iter().map(|op| op.offset).collect::<Vec<_>>();
        assert_eq!(offsets(1)[..2], [512 << 10, (512 << 10) + 4096]);
        assert_eq!(offsets(1)[128], 512 << 10, "starts over at the span's end");
        assert_eq!(offsets(0)[128], 512 << 10);
        assert!(OpStream::new(&with(512 << 10), 2).is_none(), "nothing is left for the third");
    }

    #[test]
    fn appends_count_up() {
        let file = |per_worker| {
            let (name, size) = ("f".into(), Bytes(4096 * 3));
            Target::File(FileTarget { name, size, create: true, preallocate: false, per_worker })
        };
        for target in [file(true), file(false)] {
            let task = FileTask { access: Access::Append, target, ..task(Mix::Write, Stop::default()) };
            let offsets: Vec<_> = draw(&task, 1, 4).iter().map(|op| op.offset).collect();
            assert_eq!(offsets, [0, 4096, 8192, 12288]);
        }
    }

    /// Prints the cost of an operation: `cargo test --release -p iolite-workload -- --ignored --nocapture`. A covering
    /// walk over different sizes goes through several rounds, and so meets maps that are nearly full.
    #[test]
    #[ignore = "measures time, which belongs to a release build on an idle machine"]
    fn nanoseconds_per_operation() {
        let law = SizeLaw::Range { min: Bytes(4096), max: Bytes(65536), multiple: Bytes(4096) };
        let mixed = Some(Sizes::alike(law, Bytes(4096)));
        for (mix, access, sizes) in [
            (Mix::Read, Access::Random, None),
            (Mix::Read, Access::Sequential, None),
            (Mix::ReadPercent(70), Access::Random, None),
            (Mix::ReadPercent(70), Access::Sequential, None),
            (Mix::TrimThenWrite, Access::Random, None),
            (Mix::Read, Access::Random, mixed.clone()),
            (Mix::Read, Access::Sequential, mixed.clone()),
            (Mix::Read, Access::Covering, mixed),
        ] {
            let target = Target::Null { size: Bytes(64 << 30) };
            let task = FileTask { access, target, sizes, ..task(mix, Stop::default()) };
            let mut stream = OpStream::new(&task, 1).unwrap();
            let mut best = f64::MAX;
            for _ in 0..7 {
                let draws = 10_000_000u32;
                let start = std::time::Instant::now();
                for _ in 0..draws {
                    // As in the engine's loop, nothing is known of the stream from one operation to the next.
                    std::hint::black_box(std::hint::black_box(&mut stream).next_op());
                }
                best = best.min(start.elapsed().as_nanos() as f64 / f64::from(draws));
            }
            let sizes = if task.sizes.is_some() { "4 to 64 KiB" } else { "4 KiB" };
            println!("{best:6.2} ns/operation {mix:?} {:?} {sizes}", task.access);
        }
    }
}
