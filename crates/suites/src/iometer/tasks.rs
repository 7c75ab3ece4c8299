//! The tasks of points: one for each worker and target.

use std::collections::BTreeMap;

use iolite_model::{
    Access, AccessLine, Arrival, BackendKind, Bytes, FileTarget, FileTask, Flow, IometerLoad, IometerPoint,
    IometerTerms, IometerWorker, Jumps, Mix, Mixture, MixtureLine, Nanos, Regions, SizeLaw, Sizes, Stop,
    Target, Task, WeightedSize,
};

use super::{IometerAccess, IometerError, lines_of};

/// Bytes of the operations that fill a test file.
const BULK: Bytes = Bytes(1 << 20);

/// Time that a line which is ahead of the others waits: short beside delays, which are milliseconds.
const FLOW_PAUSE: Nanos = Nanos(100_000);

/// Fills the test file of a number.
pub(super) fn lay_out(number: u32, size: Bytes, access: IometerAccess) -> Task {
    let which = if number > 1 { format!(" {number}") } else { String::new() };
    Task::File(FileTask {
        name: format!("fill the test file{which}"),
        target: file(number, size, true),
        backend: BackendKind::Sync,
        mix: Mix::Write,
        access: Access::Sequential,
        block: BULK,
        direct: access.direct,
        stop: Stop { loops: Some(1), ..Stop::default() },
        ..FileTask::default()
    })
}

fn file(number: u32, size: Bytes, create: bool) -> Target {
    let name = IometerTerms::file(number);
    Target::File(FileTarget { name, size, create, preallocate: false, per_worker: false })
}

/// The tasks of a point, which start together.
pub(super) fn of_point(
    terms: &IometerTerms,
    files: &BTreeMap<u32, Bytes>,
    (point, number): (&IometerPoint, usize),
    access: IometerAccess,
) -> Vec<Task> {
    let loads = terms.loads(point);
    let named = |Used { load, target, file }| {
        let lines = of_target(terms, load, &file, access).into_iter().zip(1..);
        lines.map(move |(task, line)| {
            let name = terms.task_name(number, load, line, target);
            Task::File(FileTask { name, ..task })
        })
    };
    used(terms, files, &loads).into_iter().flat_map(named).collect()
}

/// A target of a worker.
struct Used<'a> {
    load: &'a IometerLoad,
    /// Its number among those of the worker, from 1.
    target: u32,
    file: UsedFile,
}

/// All targets of all workers.
fn used<'a>(terms: &IometerTerms, files: &BTreeMap<u32, Bytes>, loads: &'a [IometerLoad]) -> Vec<Used<'a>> {
    let mut ordinal = 1_u32;
    let mut used = Vec::new();
    for (load, target) in loads.iter().flat_map(|load| (1..=load.targets).map(move |target| (load, target))) {
        let number = terms.file_of(load.worker, target);
        let size = files.get(&number).copied().unwrap_or(terms.size);
        let part = part(terms, loads, load, number);
        used.push(Used { load, target, file: UsedFile { target: file(number, size, false), part, ordinal } });
        // Each line may be a task of its own.
        ordinal = ordinal.saturating_add(u32::try_from(load.spec.lines.len()).unwrap_or(u32::MAX).max(1));
    }
    used
}

/// A test file as a worker uses it.
struct UsedFile {
    target: Target,
    part: Part,
    /// Differs from those of others, for flows and random places of their own.
    ordinal: u32,
}

/// What a worker uses of a test file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Part {
    start: u64,
    length: u64,
    /// Its turn among the workers that go through the same part sequentially, and their number.
    turn: u64,
    turns: u64,
}

impl Part {
    /// Where its share of the part begins, or that of a later turn, as a multiple of so many bytes.
    fn begin(self, turn: u64, grain: u64) -> u64 {
        let grain = grain.max(1);
        let blocks = self.length / grain;
        // Not the product of the turn and the blocks, which could be too large.
        (blocks / self.turns * turn + blocks % self.turns * turn / self.turns) * grain
    }
}

fn is_sequential(load: &IometerLoad) -> bool {
    lines_of(&load.spec).iter().any(|line| line.random < 100)
}

/// The part of a test file that a worker uses, and its turn. Workers that would all begin at the same place share the part.
fn part(terms: &IometerTerms, loads: &[IometerLoad], load: &IometerLoad, number: u32) -> Part {
    let range = |load: &IometerLoad| {
        let worker = terms.worker(load.worker);
        worker.map_or((Bytes(0), terms.size), |IometerWorker { start, size, .. }| (*start, *size))
    };
    let uses =
        |load: &&IometerLoad| (1..=load.targets).any(|target| terms.file_of(load.worker, target) == number);
    let own = range(load);
    let sharing = loads.iter().filter(uses).filter(|other| is_sequential(other) && range(other) == own);
    let sharing: Vec<u32> = sharing.map(|load| load.worker).collect();
    let turn = sharing.iter().position(|worker| *worker == load.worker).unwrap_or(0);
    Part { start: own.0.0, length: own.1.0, turn: turn as u64, turns: sharing.len().max(1) as u64 }
}

/// Checks that each operation fits into the part of its worker.
///
/// # Errors
/// One does not.
pub(super) fn check_parts(
    terms: &IometerTerms,
    files: &BTreeMap<u32, Bytes>,
    point: &IometerPoint,
    unit: u64,
) -> Result<(), IometerError> {
    let access = IometerAccess { backend: BackendKind::Sync, direct: false, unit: Bytes(unit) };
    let loads = terms.loads(point);
    for Used { load, target, file } in used(terms, files, &loads) {
        for task in of_target(terms, load, &file, access) {
            let part = match task.regions {
                Regions::Part { length, .. } => length,
                _ => task.target.size(),
            };
            if task.block > part {
                let (worker, spec) = (terms.worker(load.worker), load.spec.name.clone());
                let worker = worker.map_or_else(String::new, |worker| worker.name.clone());
                return Err(IometerError::Small { spec, size: task.block, worker, target, part });
            }
        }
    }
    Ok(())
}

/// The tasks of a worker at a target: one, or one for each line if their delays differ; they keep the ratio of their shares.
fn of_target(
    terms: &IometerTerms,
    load: &IometerLoad,
    file: &UsedFile,
    access: IometerAccess,
) -> Vec<FileTask> {
    let lines = lines_of(&load.spec);
    if super::has_one_delay(&load.spec) {
        return lines_together(terms, load, &lines, file, access).into_iter().collect();
    }
    let with_share = |(line, index): (&AccessLine, u32)| {
        // The ratio is kept at each target.
        let flow = Some(Flow { group: file.ordinal, weight: u32::from(line.share), pause: FLOW_PAUSE });
        let seed = u64::from(file.ordinal.saturating_add(index));
        let task = lines_together(terms, load, &[*line], file, access)?;
        Some(FileTask { flow, group: Some(load.spec.name.clone()), seed, ..task })
    };
    lines.iter().zip(0..).filter_map(with_share).collect()
}

/// A queue of operations of all these lines.
fn lines_together(
    terms: &IometerTerms,
    load: &IometerLoad,
    lines: &[AccessLine],
    file: &UsedFile,
    access: IometerAccess,
) -> Option<FileTask> {
    let first = *lines.first()?;
    let task = FileTask {
        target: file.target.clone(),
        seed: file.ordinal.into(),
        ..queue(terms, load, first, access)
    };
    let alike =
        |line: &AccessLine| (line.reads, line.random, line.align) == (first.reads, first.random, first.align);
    let mixed = first.random < 100 && !matches!(first.reads, 0 | 100);
    if mixed || !lines.iter().all(alike) {
        return Some(mixture(task, lines, file.part, access.unit));
    }
    let sizes = (lines.len() > 1).then(|| split(lines, access.unit));
    // Without an alignment of its own a line's offsets are multiples of its size.
    let own = Sizes::alike(SizeLaw::Fixed(first.size), first.align);
    let sizes = sizes.or((first.align.0 > 0).then_some(own));
    let block = lines.iter().map(|line| line.size).max().unwrap_or(first.size);
    let grain = sizes.as_ref().map_or(block, |sizes| sizes.alignment);
    let slices = if first.random == 0 { file.part.turns } else { 1 };
    Some(FileTask { block, regions: region(file, slices, grain.0), sizes, ..task })
}

/// The part that operations go to: the whole of it, or the worker's share of those that go through it sequentially.
fn region(file: &UsedFile, slices: u64, grain: u64) -> Regions {
    let Part { start, length, turn, .. } = file.part;
    let (from, to) = if slices > 1 {
        (file.part.begin(turn, grain), file.part.begin(turn + 1, grain))
    } else {
        (0, length)
    };
    let whole = (from, to, start) == (0, file.target.size().0, 0);
    if whole {
        Regions::Natural
    } else {
        Regions::Part { start: Bytes(start + from), length: Bytes(to - from) }
    }
}

/// Lines of several kinds as one queue, whose operations in a row go on from the one before, whichever that was.
fn mixture(task: FileTask, lines: &[AccessLine], part: Part, unit: Bytes) -> FileTask {
    let common = common_size(lines).max(unit);
    let line = |line: &AccessLine| MixtureLine {
        share: line.share.into(),
        size: line.size,
        alignment: if line.align.0 > 0 { line.align } else { common },
        reads: line.reads,
        random: line.random,
    };
    let share =
        |of: fn(&AccessLine) -> u64| lines.iter().map(|line| of(line) * u64::from(line.share)).sum::<u64>();
    let reads = share(|line| line.reads.into()) / share(|_| 1).max(1);
    let (any_reads, any_writes) =
        (lines.iter().any(|line| line.reads > 0), lines.iter().any(|line| line.reads < 100));
    let first = Bytes(part.begin(part.turn, common.0));
    let region = Regions::Part { start: Bytes(part.start), length: Bytes(part.length) };
    let whole = (part.start, part.length) == (0, task.target.size().0);
    FileTask {
        mix: match (any_reads, any_writes) {
            (true, false) => Mix::Read,
            (false, _) => Mix::Write,
            (true, true) => Mix::ReadPercent(u8::try_from(reads.clamp(1, 99)).unwrap_or(50)),
        },
        block: lines.iter().map(|line| line.size).max().unwrap_or(task.block),
        access: Access::Mixture(Box::new(Mixture { lines: lines.iter().map(line).collect(), first })),
        regions: if whole { Regions::Natural } else { region },
        sizes: None,
        ..task
    }
}

/// The sizes of lines by their shares.
fn split(lines: &[AccessLine], unit: Bytes) -> Sizes {
    let weighted = |line: &AccessLine| WeightedSize { size: line.size, percent: f64::from(line.share) };
    let law = SizeLaw::Split(lines.iter().map(weighted).collect());
    // Without an alignment, as of a single line: offsets are multiples of each operation's size as far as the sizes have one in common.
    let asked = lines.first().map(|line| line.align).filter(|align| align.0 > 0);
    let alignment = asked.unwrap_or_else(|| common_size(lines)).max(unit).max(Bytes(1));
    Sizes { reads: law.clone(), writes: law.clone(), trims: law, alignment }
}

/// The largest size that divides those of all lines.
fn common_size(lines: &[AccessLine]) -> Bytes {
    lines.iter().fold(Bytes(0), |common, line| common.common_divisor(line.size))
}

/// Where the operations of a line go.
pub(super) fn order(random: u8) -> Access {
    match random {
        0 => Access::Sequential,
        100.. => Access::Random,
        percent => Access::Jumps(Box::new(Jumps { percent, ..Jumps::default() })),
    }
}

/// A queue of operations of one line.
fn queue(terms: &IometerTerms, load: &IometerLoad, line: AccessLine, access: IometerAccess) -> FileTask {
    FileTask {
        backend: access.backend,
        direct: access.direct,
        mix: match line.reads {
            100.. => Mix::Read,
            0 => Mix::Write,
            percent => Mix::ReadPercent(percent),
        },
        access: order(line.random),
        block: line.size,
        arrival: match line.delay {
            0 => Arrival::Closed,
            millis => Arrival::ThinkTime {
                pause: Nanos(u64::from(millis) * Nanos::MILLISECOND.0),
                operations: line.burst.max(1),
                io_time: Nanos(0),
                spin: Nanos(0),
            },
        },
        workers: 1,
        concurrency: load.depth.max(1),
        stop: Stop { runtime: Some(terms.run_time), ..Stop::default() },
        ramp: terms.ramp.into(),
        interval: Nanos((terms.run_time.0 / 10).clamp(10_000_000, Nanos::SECOND.0)),
        ..FileTask::default()
    }
}
