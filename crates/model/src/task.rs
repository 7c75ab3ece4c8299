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
}

/// Order of the offsets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Access {
    /// One block after the other; each worker in its own slice, starting over at its end.
    Sequential,
    /// Uniformly random blocks over the whole span.
    Random,
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
