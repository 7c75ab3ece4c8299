//! The task of each stage: how long, how much, at what load.

use std::path::PathBuf;

use iolite_model::{
    Access, Arrival, BackendKind, Bytes, Criterion, DbOperation, DbTask, FileTarget, FileTask, Iops, Measure,
    Mix, Nanos, OpenSync, Profile, RingOptions, Stop, SyncRule, Target, Task, TimedBy, WriteDurability,
};

use super::plan::{Pattern, Search, Stage};
use super::{Check, CheckOptions};

/// Shares of the space: what each stage may write. They leave a tenth for what the file system and the database's log
/// add on their own.
const LAYOUT_SHARE: f64 = 0.30;
const RANDOM_WRITE_SHARE: f64 = 0.15;
/// Of each pattern of commits.
const COMMIT_SHARE: f64 = 0.02;
const DATABASE_SHARE: f64 = 0.10;
const RAN_WRITE_SHARE: f64 = 0.17;
const RAN_IO_SHARE: f64 = 0.08;

/// Of a thorough check: shares of the space that the fill and the random writes before the measurement may take. What is left is
/// shared out among the usual stages other than the layout.
pub(super) const FILL_SHARE: f64 = 0.45;
const PRECONDITION_SHARE: f64 = 0.35;
const THOROUGH_SPACE: f64 = 0.2 / 0.6;

/// Share of the free space that a thorough check's data file takes at most.
pub(super) const FILLED: f64 = 0.8;

/// Share of the time that the usual stages of a thorough check have, of what they would have else.
const USUAL: f64 = 0.35;

/// Shares of the time of the fill, of all rounds of random writes, and of the sustained load.
const FILL_TIME: f64 = 0.24;
const ROUNDS_TIME: f64 = 0.2;
const SUSTAINED_TIME: f64 = 0.25;

/// Rounds of random writes at most (SNIA PTS 2.0.2 has 25).
pub(super) const ROUNDS: usize = 20;

/// Operations outstanding in these rounds (SNIA PTS 2.0.2).
const ROUNDS_DEPTH: u32 = 32;

/// The smallest data file that every task has a block for.
pub(super) const MIN_LAYOUT: Bytes = Bytes(4 << 20);

/// Globals of the database, and sessions that write: each writes to a global of its own.
const GLOBALS: u32 = 4;

/// PerfTools' defaults for RanWrite and RanIO.
const TRANSACTION_LENGTH: u32 = 50;
const HANG: Nanos = Nanos(2_000_000);
const READ_PERCENT: u8 = 50;

/// The most that one set can cause to be written: its page to the log with the frame's header, and once more to the
/// database at a checkpoint. SQLite's pages are 4 KiB in globals.
const BYTES_PER_SET: u64 = 2 * 4096 + 24;

/// The most outstanding operations of an open loop: what is due beyond them is late, and counted as late.
const OPEN_LOOP_DEPTH: u32 = 256;

/// Operations that let p99.9 be bounded though they come in clusters, which are worth less than their number: at a low
/// rate they take longer.
const OPERATIONS_FOR_P999: f64 = 8000.0;

/// Random writes outstanding at least.
const WRITES_OUTSTANDING: u32 = 8;

/// Size of the entries in the test that etcd's documentation recommends for its log.
const ETCD_ENTRY: Bytes = Bytes(2300);

/// Seconds of a run of the search inside the database, and of all windows at its knee, in a check of 90 s.
const SEARCHED_IN_DATABASE: f64 = 1.2;

/// Mean response time that ends a search where the profile names none: PerfTools' advice to stop at 10 ms.
const RESPONSE_LIMIT: Nanos = Nanos(10_000_000);

/// Length of the intervals: short, so that a run of a second or two has enough of them to estimate its own uncertainty.
const INTERVAL: Nanos = Nanos(100_000_000);

/// The data file as it was laid out.
#[derive(Debug, Clone, Copy)]
pub(super) struct Layout {
    /// Bytes written to it.
    pub(super) size: Bytes,
    /// How fast, where it was measured.
    pub(super) bytes_per_second: Option<f64>,
}

/// The database that the check needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DatabaseSize {
    /// Globals, which are written to independently of each other.
    pub globals: u32,
    /// Subscripts in each.
    pub subscripts: u64,
    /// Size of all together at least.
    pub size: Bytes,
}

/// Time relative to the usual 90 seconds, in whole tenths of a second: a throttle that counts by tenths (blkio's does)
/// then lets each run have exactly its share.
fn time(options: &CheckOptions, seconds: f64) -> Nanos {
    let share = if options.thorough { USUAL } else { 1.0 };
    let scaled = seconds * share * options.time.as_secs_f64() / 90.0;
    Nanos((scaled * 10.0).round().max(1.0) as u64 * 100_000_000)
}

/// A share of the whole time, in whole tenths of a second.
fn of_time(options: &CheckOptions, share: f64) -> Nanos {
    Nanos((options.time.as_secs_f64() * share * 10.0).round().max(1.0) as u64 * 100_000_000)
}

fn space(options: &CheckOptions, share: f64) -> Bytes {
    // What the usual stages leave to the fill and the rounds of random writes is theirs.
    let share = if options.thorough { share * THOROUGH_SPACE } else { share };
    Bytes((options.space.0 as f64 * share) as u64)
}

/// A task on the data file, to be adapted.
fn base(options: &CheckOptions, name: &str, layout: Layout, block: Bytes, seconds: f64) -> FileTask {
    FileTask {
        name: name.into(),
        target: data_file(layout.size, false),
        backend: if options.io_uring {
            BackendKind::IoUring(RingOptions::default())
        } else {
            BackendKind::Sync
        },
        mix: Mix::Read,
        access: Access::Random,
        block,
        direct: options.direct,
        stop: Stop { runtime: Some(time(options, seconds)), ..Stop::default() },
        ramp: time(options, 0.2).into(),
        interval: INTERVAL,
        seed: options.seed,
        ..FileTask::default()
    }
}

fn data_file(size: Bytes, create: bool) -> Target {
    let name = PathBuf::from(Check::DATA_FILE);
    Target::File(FileTarget { name, size, create, preallocate: true, per_worker: false })
}

/// Spreads the concurrency over threads: one feeds many operations through io_uring, until there are so many that a
/// second helps.
fn with_concurrency(options: &CheckOptions, mut task: FileTask, concurrency: u32) -> FileTask {
    task.concurrency = concurrency.max(1);
    task.workers = match task.backend {
        BackendKind::IoUring(_) => (task.concurrency / 16).clamp(1, options.cpus.clamp(1, 4)),
        _ => task.concurrency,
    };
    task
}

/// Size of the data file, where there is time to write it.
fn layout_size(options: &CheckOptions) -> Bytes {
    if !options.thorough {
        return space(options, LAYOUT_SHARE);
    }
    let written = options.space.0 as f64 * FILL_SHARE;
    Bytes(written.min(options.free.0 as f64 * FILLED) as u64)
}

/// A round of random writes before anything is judged.
pub(super) fn precondition(options: &CheckOptions, layout: Layout) -> Task {
    let task = base(options, "precondition, random write 8 KiB", layout, Bytes(8192), 1.0);
    let share = Bytes((options.space.0 as f64 * PRECONDITION_SHARE / ROUNDS as f64) as u64);
    let runtime = Some(of_time(options, ROUNDS_TIME / ROUNDS as f64));
    let stop = Stop { bytes: Some(share), runtime, ..task.stop };
    let task = FileTask { mix: Mix::Write, ramp: Nanos(0).into(), stop, ..task };
    Task::File(with_concurrency(options, task, ROUNDS_DEPTH))
}

/// Random reads at the knee for so long that burst credits come to their end.
pub(super) fn sustained(options: &CheckOptions, layout: Layout, concurrency: u32) -> Task {
    let task = base(options, "sustained random read 8 KiB", layout, Bytes(8192), 1.0);
    let stop = Stop { runtime: Some(of_time(options, SUSTAINED_TIME)), ..task.stop };
    Task::File(with_concurrency(options, FileTask { stop, ..task }, concurrency))
}

/// The tasks that depend on nothing but the options.
pub(super) fn fixed(options: &CheckOptions, stage: Stage, layout: Layout) -> Option<Task> {
    let mib = Bytes::MIB;
    Some(match stage {
        Stage::Layout => {
            let size = layout_size(options).round_down(mib.0);
            let task = base(options, "sequential write 1 MiB", layout, mib, 8.0);
            let runtime =
                if options.thorough { Some(of_time(options, FILL_TIME)) } else { task.stop.runtime };
            let stop = Stop { bytes: Some(size), runtime, ..task.stop };
            let task = FileTask {
                target: data_file(size, true),
                mix: Mix::Write,
                access: Access::Sequential,
                ramp: Nanos(0).into(),
                stop,
                ..task
            };
            // One writer, so that what is written when the time is over is the beginning of the file.
            Task::File(FileTask { concurrency: if options.io_uring { 4 } else { 1 }, ..task })
        }
        Stage::SequentialRead => {
            let task =
                base(options, "sequential read 1 MiB", layout, mib, 2.0 / stage.windows(options) as f64);
            // Without io_uring it takes a thread for each operation outstanding.
            let workers = if options.io_uring { 1 } else { 4 };
            Task::File(FileTask { access: Access::Sequential, workers, concurrency: 4, ..task })
        }
        Stage::RanWrite => Task::Database(DbTask {
            operation: DbOperation::RanWrite { transaction_length: TRANSACTION_LENGTH, hang: HANG },
            workers: GLOBALS,
            stop: sets(options, stage, RAN_WRITE_SHARE, 1),
            ramp: Nanos(0),
            ..database_task(options, "RanWrite", 3.0)
        }),
        Stage::RanIo => Task::Database(DbTask {
            operation: DbOperation::RanIo {
                transaction_length: TRANSACTION_LENGTH,
                hang: HANG,
                read_percent: READ_PERCENT,
            },
            workers: GLOBALS,
            stop: sets(options, stage, RAN_IO_SHARE, 2),
            ramp: Nanos(0),
            ..database_task(options, "RanIO 50 %", 3.0)
        }),
        _ => return None,
    })
}

/// One window of durable writes by one writer, as a database's log does them.
pub(super) fn commit(options: &CheckOptions, layout: Layout, pattern: Pattern, window: usize) -> Task {
    let windows = Stage::Commit(pattern).windows(options);
    let block = if pattern == Pattern::Append { ETCD_ENTRY } else { Bytes(8192) };
    let size = Bytes(space(options, COMMIT_SHARE).0 / windows as u64).round_down(block.0);
    let name = match pattern {
        Pattern::Append => "commit, buffered append",
        Pattern::Growing => "commit, growing file",
        Pattern::OverwriteDirect => "commit, direct overwrite",
        Pattern::OverwriteBuffered => "commit, buffered overwrite",
        Pattern::OverwriteDsync => "commit, O_DSYNC overwrite",
    };
    let task = base(options, name, layout, block, 2.0 / windows as f64);
    // Each window of appends has a file of its own.
    let created = |kind: &str, preallocate| {
        let name = PathBuf::from(format!("commit-{kind}-{window}"));
        Target::File(FileTarget { name, size, create: true, preallocate, per_worker: false })
    };
    let target = match pattern {
        Pattern::Append => created("append", true),
        Pattern::Growing => created("growing", false),
        // Blocks that the layout has written.
        _ => data_file(layout.size, false),
    };
    let durable = pattern == Pattern::OverwriteDsync;
    Task::File(FileTask {
        target,
        backend: BackendKind::Sync,
        mix: Mix::Write,
        access: Access::Sequential,
        direct: options.direct && pattern == Pattern::OverwriteDirect,
        stop: Stop { bytes: Some(size), ..task.stop },
        // Bytes end it, perhaps before any ramp would be over.
        ramp: Nanos(0).into(),
        durability: WriteDurability {
            sync: (!durable).then(|| SyncRule::fdatasync(1)),
            open: durable.then_some(OpenSync::Data),
            ..task.durability
        },
        ..task
    })
}

/// One run of a search.
pub(super) fn search(options: &CheckOptions, what: Search, layout: Layout, concurrency: u32) -> Task {
    load(options, what, layout, concurrency, 1.5)
}

/// The run that the verdict rests on.
pub(super) fn at_knee(
    options: &CheckOptions,
    what: Search,
    layout: Layout,
    (concurrency, throughput): (u32, f64),
) -> Task {
    let max = if what == Search::RanRead { SEARCHED_IN_DATABASE } else { 7.0 };
    let seconds = (OPERATIONS_FOR_P999 / throughput).clamp(3.0, 7.0).min(max)
        / Stage::AtKnee(what).windows(options) as f64;
    load(options, what, layout, concurrency, seconds).named(&format!("{}, at the knee", what.name()))
}

/// The run at the rate that the user asks for: an open loop.
pub(super) fn at_target(options: &CheckOptions, what: Search, layout: Layout, target: Iops) -> Task {
    let name = format!("{}, at {target} IOPS", what.name());
    let windows = Stage::AtTarget(what).windows(options) as f64;
    let seconds = (OPERATIONS_FOR_P999 / target.0).clamp(3.0, 7.0) / windows;
    match load(options, what, layout, OPEN_LOOP_DEPTH, seconds) {
        Task::File(task) => Task::File(FileTask { name, arrival: Arrival::Poisson(target), ..task }),
        database => database,
    }
}

fn load(options: &CheckOptions, what: Search, layout: Layout, concurrency: u32, seconds: f64) -> Task {
    let block = match what {
        Search::Read8k => Bytes(8 << 10),
        Search::Read64k => Bytes(64 << 10),
        Search::RanRead => {
            let task = database_task(options, what.name(), seconds.min(SEARCHED_IN_DATABASE));
            return Task::Database(DbTask { workers: concurrency, ..task });
        }
    };
    Task::File(with_concurrency(options, base(options, what.name(), layout, block, seconds), concurrency))
}

/// Random writes of 8 KiB over the data file, at the concurrency of the reads' knee, but at least as many as a checkpoint keeps
/// outstanding: how many a device can take is not seen with one at a time.
pub(super) fn random_write(options: &CheckOptions, layout: Layout, concurrency: u32) -> Task {
    let windows = Stage::RandomWrite.windows(options);
    let task = base(options, "random write 8 KiB", layout, Bytes(8192), 3.0 / windows as f64);
    let share = Bytes(space(options, RANDOM_WRITE_SHARE).0 / windows as u64);
    let stop = Stop { bytes: Some(share), ..task.stop };
    let task = FileTask { mix: Mix::Write, ramp: Nanos(0).into(), stop, ..task };
    Task::File(with_concurrency(options, task, concurrency.max(WRITES_OUTSTANDING)))
}

fn database_task(options: &CheckOptions, name: &str, seconds: f64) -> DbTask {
    DbTask {
        name: name.into(),
        operation: DbOperation::RanRead,
        workers: 1,
        stop: Stop { runtime: Some(time(options, seconds)), ..Stop::default() },
        ramp: time(options, 0.2),
        interval: INTERVAL,
        seed: options.seed,
        timed_by: TimedBy::Client,
    }
}

/// Time and operations of a window of a task of which one in `one_in` operations is a set.
fn sets(options: &CheckOptions, stage: Stage, share: f64, one_in: u64) -> Stop {
    let windows = stage.windows(options) as u64;
    let operations = space(options, share).0 / BYTES_PER_SET * one_in / windows;
    let runtime = time(options, 3.0 / windows as f64);
    Stop { runtime: Some(runtime), operations: Some(operations), ..Stop::default() }
}

/// The database: its share of the space, but no more than can be written in some seconds.
pub(super) fn database_size(options: &CheckOptions, layout: Layout) -> DatabaseSize {
    let seconds = time(options, 3.0).as_secs_f64();
    let writable = layout.bytes_per_second.map_or(u64::MAX, |rate| (rate * seconds) as u64);
    let size = space(options, DATABASE_SHARE).0.min(writable).max(4 << 20);
    // About a third of it are subscripts, which take about 120 bytes each with what SQLite adds.
    let subscripts = (size / 3 / u64::from(GLOBALS) / 120).max(1000);
    DatabaseSize { globals: GLOBALS, subscripts, size: Bytes(size) }
}

/// Time that the database layer takes: creation (3 s), a search of nine steps of 1.5 s, nine windows.
pub(super) fn database_time(options: &CheckOptions) -> Nanos {
    time(options, 3.0 + 9.0 * 1.5 + 9.0)
}

/// The response time that ends a search: the strictest mean that the profile asks of this read.
pub(super) fn response_limit(options: &CheckOptions, what: Search) -> Nanos {
    let measure = what.measure();
    let mean = |criterion: &&Criterion| criterion.measure == measure && criterion.quantile.is_none();
    let bounds = options.profile.criteria.iter().filter(mean).map(|criterion| criterion.at_most);
    bounds.min().or(options.target_response).unwrap_or(RESPONSE_LIMIT)
}

/// Makes a bound on the mean response time of random reads part of the profile, in place of its own.
pub(super) fn demand_response(profile: &mut Profile, bound: Nanos) {
    for measure in [Measure::RandomRead8k, Measure::RandomRead64k] {
        let own = profile.criteria.iter_mut().find(|own| own.measure == measure && own.quantile.is_none());
        match own {
            Some(criterion) => criterion.at_most = bound,
            None => {
                let criterion = Criterion {
                    measure,
                    quantile: None,
                    at_most: bound,
                    marginal_factor: 1.25,
                    source: None,
                };
                profile.criteria.push(criterion);
            }
        }
    }
}
