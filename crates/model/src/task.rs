//! What is to be done, as plain data: every job language, suite and command lowers to a [`Task`].

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::units::{Bytes, Iops, Nanos};

/// One phase of work.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Task {
    /// Block I/O on a file or on nothing.
    File(FileTask),
    /// Operations inside a database.
    Database(DbTask),
}

/// Which layer of the system a phase exercises.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Layer {
    /// The measuring program itself, on the null back end.
    Calibration,
    /// Block I/O through the file system.
    File,
    /// Operations through a database.
    Database,
}

/// Block I/O by `workers` threads, with `concurrency` operations outstanding among them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FileTask {
    /// Name shown to people, for example `random read 8 KiB`.
    pub name: String,
    /// What the operations go to.
    pub target: Target,
    /// How the operations reach the kernel.
    pub backend: BackendKind,
    /// Reads or writes.
    pub mix: Mix,
    /// Order of the offsets.
    pub access: Access,
    /// Size of each operation.
    pub block: Bytes,
    /// Bypass the page cache (O_DIRECT).
    pub direct: bool,
    /// Threads.
    pub workers: u32,
    /// Operations outstanding at once over all workers; at least `workers`.
    pub concurrency: u32,
    /// When operations are meant to start.
    pub arrival: Arrival,
    /// An fdatasync after every so many writes; `None` never. With `Some(1)` each write with its sync is also
    /// recorded as one [`OpKind::Commit`](crate::OpKind).
    pub sync_every: Option<u32>,
    /// What ends the phase.
    pub stop: Stop,
    /// Time at the start that is recorded apart and left out of the totals.
    pub ramp: Nanos,
    /// Length of the intervals of the time series.
    pub interval: Nanos,
    /// Seed of every generator of this phase.
    pub seed: u64,
}

/// What the operations of a [`FileTask`] go to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Target {
    /// Nothing: operations complete at once. Measures the loop itself.
    Null {
        /// Pretended size.
        size: Bytes,
    },
    /// A file inside the run's scratch directory.
    File(FileTarget),
}

/// A file that iolite makes for itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileTarget {
    /// Name within the scratch directory, without slashes.
    pub name: PathBuf,
    /// Size of the span that operations cover.
    pub size: Bytes,
    /// Make the file at the start of the phase (it must not exist); otherwise it must exist already.
    pub create: bool,
    /// When created: reserve its blocks (fallocate) before the first write, so that writes do not extend it.
    pub preallocate: bool,
}

/// How operations reach the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BackendKind {
    /// No system call at all.
    Null,
    /// pread and pwrite, one operation per thread.
    Sync,
    /// io_uring, many operations per thread.
    IoUring,
    /// preadv2 and pwritev2 with these flags, one operation per thread.
    Vectored(IoFlags),
    /// io_submit (libaio), many operations per thread; asynchronous with direct I/O only.
    Libaio,
    /// Copies from and to the mapped file, one operation per thread. No direct I/O.
    Mmap,
    /// A pool of threads doing pread and pwrite, one for each outstanding operation.
    Threads,
}

/// Flags of each operation (`RWF_` of preadv2(2)). A flag goes only with the operations that it is about.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct IoFlags {
    /// Writes: wait until the data is durable.
    pub dsync: bool,
    /// Poll for the completion; direct I/O only.
    pub hipri: bool,
    /// Fail with EAGAIN, which counts as an error, rather than wait.
    pub nowait: bool,
    /// Writes: all or nothing, even across a power failure; direct I/O only.
    pub atomic: bool,
    /// Leave nothing behind in the page cache; not with direct I/O, which uses none.
    pub dontcache: bool,
}

impl BackendKind {
    /// Its name in output for people and programs.
    pub const fn name(self) -> &'static str {
        match self {
            BackendKind::Null => "null",
            BackendKind::Sync => "sync",
            BackendKind::IoUring => "io_uring",
            BackendKind::Vectored(_) => "vectored",
            BackendKind::Libaio => "libaio",
            BackendKind::Mmap => "mmap",
            BackendKind::Threads => "threads",
        }
    }

    /// Whether it has one outstanding operation per thread at most.
    pub fn is_synchronous(self) -> bool {
        matches!(self, BackendKind::Sync | BackendKind::Vectored(_) | BackendKind::Mmap)
    }
}

/// Order of the offsets. Where workers have slices, each starts over at its own slice's end; otherwise all workers share
/// the whole span.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Access {
    /// One block after the other; each worker in its own slice, starting over at its end.
    Sequential,
    /// As [`Sequential`](Access::Sequential), leaving out so many bytes after each block (fio's `rw=read:8k`). The holes
    /// are never touched.
    SequentialSkip {
        /// Bytes left out after each block.
        hole: Bytes,
    },
    /// From the last block of each worker's slice down to its first.
    Backwards,
    /// Every so many bytes through each worker's slice, then again one block further, and so on: as a table stored by
    /// rows is read by columns. A round does each block of the slice once.
    Strided {
        /// Distance between the starts of two operations; a multiple of the block.
        stride: Bytes,
    },
    /// So many blocks one after the other from a uniformly random one on, then from another (fio's `rw=randread:8` with
    /// `rw_sequencer=sequential`). A run that meets the span's end goes on at its start, so that all blocks are equally
    /// likely.
    Runs {
        /// Blocks in a run; at least 1.
        blocks: u64,
    },
    /// Uniformly random blocks over the whole span.
    Random,
    /// Every block of the span exactly once per round over all workers, in an order that looks random and is new in each
    /// round.
    Covering,
    /// The block of rank k (from 1) with a probability in proportion to 1 / k^theta; ranks are scattered over the span.
    Zipf {
        /// Skew: 0 is uniform; 0.99 is YCSB's; any finite number from 0 up.
        theta: f64,
    },
    /// Self-similar: the share `h` of the blocks gets the share `1 - h` of the operations, and so on within them (0.2 is
    /// the rule of 80 and 20, 0.5 is uniform). Hot blocks are scattered over the span.
    Pareto {
        /// Share of the blocks, above 0 and below 1.
        h: f64,
    },
    /// Normally distributed around the middle of the span, cut off at its ends. Not scattered: neighbours are alike.
    Normal {
        /// Standard deviation in percent of the span; above 0 and at most 100.
        deviation_percent: f64,
    },
    /// Zones one after the other from the span's start, uniformly random within each. What they leave of the span is not
    /// touched.
    Zoned(Vec<Zone>),
    /// Places with a share of the operations of their own, uniformly random within each; the operations that are left
    /// are uniformly random over the rest of the span.
    HotSpots(Vec<HotSpot>),
}

/// A zone of [`Access::Zoned`].
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Zone {
    /// Share of the operations in percent; over all zones 100.
    pub io_percent: f64,
    /// How much of the span it is.
    pub size: ZoneSize,
}

/// Size of a [`Zone`].
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ZoneSize {
    /// In percent of the span.
    Percent(f64),
    /// Absolute.
    Bytes(Bytes),
}

/// A place of [`Access::HotSpots`].
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct HotSpot {
    /// Where it starts, counted from the span's start; rounded down to a block.
    pub offset: Bytes,
    /// How long it is; its end is rounded down to a block.
    pub length: Bytes,
    /// Share of the operations in percent; over all spots at most 100.
    pub io_percent: f64,
}

/// Reads or writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mix {
    /// Reads only.
    Read,
    /// Writes only.
    Write,
    /// Each operation a read with this probability in percent (0 to 100).
    ReadPercent(u8),
}

/// When operations are meant to start.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Arrival {
    /// As soon as an earlier one completes.
    Closed,
    /// At random instants of this mean rate over all workers (a Poisson process), whether or not earlier ones have
    /// completed: response time counts from the intended instant, so nothing is omitted.
    Poisson(Iops),
    /// At equal distances of this rate over all workers, which take turns; otherwise as
    /// [`Poisson`](Arrival::Poisson).
    Constant(Iops),
    /// So many operations meant to start at the same instant, at equal distances. The workers take turns at the bursts,
    /// each of which belongs to one of them. The instants are kept whether or not earlier operations have completed.
    Bursts {
        /// Mean rate of the operations over all workers.
        rate: Iops,
        /// Operations in a burst; at least 1.
        operations: u32,
    },
    /// A closed loop in which each worker, after every so many operations, waits for all that it has underway and then
    /// pauses (fio's `thinktime` and `thinktime_blocks`).
    ThinkTime {
        /// Length of the pause.
        pause: Nanos,
        /// Operations of a worker between two pauses; at least 1.
        operations: u32,
    },
}

impl Arrival {
    /// The rate asked for over all workers; `None` in a closed loop.
    pub fn rate(self) -> Option<Iops> {
        match self {
            Arrival::Closed | Arrival::ThinkTime { .. } => None,
            Arrival::Poisson(rate) | Arrival::Constant(rate) | Arrival::Bursts { rate, .. } => Some(rate),
        }
    }
}

/// What ends a phase; whichever comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Stop {
    /// Measured time, after the ramp.
    pub runtime: Option<Nanos>,
    /// Bytes written or read over all workers, the ramp included.
    pub bytes: Option<Bytes>,
    /// Operations over all workers, the ramp included.
    pub operations: Option<u64>,
}

/// Operations inside a database by `workers` sessions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DbTask {
    /// Name shown to people, for example `RanRead`.
    pub name: String,
    /// What each session does.
    pub operation: DbOperation,
    /// Sessions ("jobs" in PerfTools).
    pub workers: u32,
    /// What ends the phase.
    pub stop: Stop,
    /// Time at the start that is recorded apart and left out of the totals.
    pub ramp: Nanos,
    /// Length of the intervals of the time series.
    pub interval: Nanos,
    /// Seed of every generator of this phase.
    pub seed: u64,
}

/// The operations of InterSystems PerfTools.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DbOperation {
    /// Reads of random physical blocks by number.
    RanRead,
    /// Transactions of `transaction_length` sets of random subscripts, each followed by a pause of `hang`.
    RanWrite {
        /// Sets per transaction.
        transaction_length: u32,
        /// Pause after each transaction.
        hang: Nanos,
    },
    /// In each cycle either a batch of block reads or a transaction of sets, by the roll of a die.
    RanIo {
        /// Operations per batch.
        transaction_length: u32,
        /// Pause after each batch.
        hang: Nanos,
        /// Probability of a batch of reads, in percent (0 to 100).
        read_percent: u8,
    },
}

impl Task {
    /// Name shown to people.
    pub fn name(&self) -> &str {
        match self {
            Task::File(task) => &task.name,
            Task::Database(task) => &task.name,
        }
    }

    /// The layer it exercises.
    pub fn layer(&self) -> Layer {
        match self {
            Task::File(FileTask { target: Target::Null { .. }, .. }) => Layer::Calibration,
            Task::File(_) => Layer::File,
            Task::Database(_) => Layer::Database,
        }
    }

    /// Operations outstanding at once.
    pub fn concurrency(&self) -> u32 {
        match self {
            Task::File(task) => task.concurrency,
            Task::Database(task) => task.workers,
        }
    }

    /// What ends the phase.
    pub fn stop(&self) -> Stop {
        match self {
            Task::File(task) => task.stop,
            Task::Database(task) => task.stop,
        }
    }

    /// Time at the start that is left out of the totals.
    pub fn ramp(&self) -> Nanos {
        match self {
            Task::File(task) => task.ramp,
            Task::Database(task) => task.ramp,
        }
    }
}

impl FileTask {
    /// The queue depth of worker `index`: the concurrency spread evenly, the first workers taking the remainder.
    pub fn depth_of(&self, index: u32) -> u32 {
        let workers = self.workers.max(1);
        self.concurrency / workers + u32::from(index < self.concurrency % workers)
    }
}

impl Target {
    /// Size of the span that operations cover.
    pub fn size(&self) -> Bytes {
        match self {
            Target::Null { size } => *size,
            Target::File(file) => file.size,
        }
    }
}

impl Mix {
    /// Whether any operation writes.
    pub fn writes(self) -> bool {
        !matches!(self, Mix::Read | Mix::ReadPercent(100))
    }
}
