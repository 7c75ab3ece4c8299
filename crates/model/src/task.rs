//! Block I/O as plain data.

use serde::{Deserialize, Serialize};

use crate::access::{Access, Regions};
use crate::arrival::{Arrival, Stop};
use crate::backend::BackendKind;
use crate::fault::OnError;
use crate::load::{Contents, SizeLaw, Sizes};
use crate::phase_task::{Layer, PhaseTask};
use crate::priority::{IoPriority, PriorityShare};
use crate::target::Target;
use crate::trace::TracedKinds;
use crate::units::{Bytes, Iops, Nanos};
use crate::verify::Verify;

/// Block I/O by `workers` threads or processes, with `concurrency` operations outstanding among them.
///
/// The default is random reads of 4 KiB by one worker on nothing, for ever: every description starts from it and says
/// what is different.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct FileTask {
    /// Name shown in results, for example `random read 8 KiB`.
    pub name: String,
    /// Results of the tasks with the same group that run at the same time, from the same start to the same end, are also reported
    /// as one.
    pub group: Option<String>,
    /// When it starts, among the tasks of a [`Job`](crate::Job).
    pub start: Start,
    /// What the operations go to.
    pub target: Target,
    /// How the operations reach the kernel.
    pub backend: BackendKind,
    /// What the operations do.
    pub mix: Mix,
    /// Order of the offsets.
    pub access: Access,
    /// Which part of the target's span is whose.
    pub regions: Regions,
    /// Size of each operation, unless there are `sizes`.
    pub block: Bytes,
    /// Different sizes.
    pub sizes: Option<Sizes>,
    /// What is written.
    pub contents: Contents,
    /// Bypass the page cache (O_DIRECT).
    pub direct: bool,
    /// Threads or processes.
    pub workers: u32,
    /// Where the workers run, as threads or processes, and their scheduling priority.
    pub placement: Placement,
    /// Shares of the operations that have an I/O priority of their own; on io_uring and libaio only.
    pub priorities: Vec<PriorityShare>,
    /// Operations outstanding at once over all workers; at least `workers`.
    pub concurrency: u32,
    /// Number of operations that are submitted and reaped at a time.
    pub batch: Batch,
    /// When operations are meant to start.
    pub arrival: Arrival,
    /// When written data is made durable.
    pub durability: WriteDurability,
    /// What the page cache holds and how it reads ahead.
    pub cache: PageCache,
    /// Whether what is read is what was written.
    pub verify: Option<Verify>,
    /// Errors that end the phase.
    pub errors: OnError,
    /// Keeps a ratio of operations to other tasks that start together with it.
    pub flow: Option<Flow>,
    /// What is kept of each operation, beyond counts and histograms.
    pub watch: Watch,
    /// What ends the phase.
    pub stop: Stop,
    /// Time at the start that is recorded apart and left out of the totals.
    pub ramp: Nanos,
    /// Length of the intervals of the time series; at least 10 ms.
    pub interval: Nanos,
    /// Seed of every generator of this phase.
    pub seed: u64,
}

impl Default for FileTask {
    fn default() -> FileTask {
        FileTask {
            name: String::new(),
            group: None,
            start: Start::default(),
            target: Target::Null { size: Bytes::GIB },
            backend: BackendKind::Null,
            mix: Mix::Read,
            access: Access::Random,
            regions: Regions::Natural,
            block: Bytes(4096),
            sizes: None,
            contents: Contents::default(),
            direct: false,
            workers: 1,
            placement: Placement::default(),
            priorities: Vec::new(),
            concurrency: 1,
            batch: Batch::default(),
            arrival: Arrival::Closed,
            durability: WriteDurability::default(),
            cache: PageCache::default(),
            verify: None,
            errors: OnError::default(),
            flow: None,
            watch: Watch::default(),
            stop: Stop::default(),
            ramp: Nanos(0),
            interval: Nanos::SECOND,
            seed: 1,
        }
    }
}

/// When a task starts, among the tasks of a [`Job`](crate::Job).
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Start {
    /// Starts together with the task before it, rather than when that has ended.
    pub together: bool,
    /// Waits until the task of this name, which starts together with it or before it, has ended.
    pub after: Option<String>,
    /// Time from the phase's start to the first operation.
    pub delay: Nanos,
}

/// When written data is made durable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct WriteDurability {
    /// A sync after every so many writes.
    pub sync: Option<SyncRule>,
    /// A sync at the end, within the measured time.
    pub end_sync: Option<SyncMethod>,
    /// Opened so that every write is durable when it completes (O_DSYNC, O_SYNC).
    pub open: Option<OpenSync>,
}

impl WriteDurability {
    /// A sync after every so many writes, and nothing else.
    pub const fn synced(rule: SyncRule) -> WriteDurability {
        WriteDurability { sync: Some(rule), end_sync: None, open: None }
    }
}

/// What the page cache holds of the target, and how it reads ahead.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PageCache {
    /// Drop what the page cache holds of the target before the phase, and, without `direct`, again whenever a worker starts
    /// over: the first operation of the new round bears the time that takes.
    pub invalidate: bool,
    /// Advice to the kernel about the order of the offsets, from which its read-ahead follows.
    pub advice: Advice,
}

impl PageCache {
    /// Its pages of the target are dropped.
    pub const INVALIDATED: PageCache = PageCache { invalidate: true, advice: Advice::None };
}

/// Number of operations that a worker submits and reaps at a time. It changes nothing for back ends that have one
/// operation in flight.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Batch {
    /// Operations that are handed to the kernel together at most; 0 for all that are due. They do not wait for others
    /// that are not due yet.
    pub submit: u32,
    /// Completions that are waited for, as far as so many operations are in flight; 0 to look without waiting, also
    /// after each batch.
    pub complete_min: u32,
    /// Completions that are taken at once at most, not below `complete_min`; 0 for all that have come back. Those that are
    /// left count as in flight.
    pub complete_max: u32,
    /// A worker that has reached its depth begins nothing until no more than this are in flight; 0 to refill at once.
    pub low: u32,
}

impl Default for Batch {
    /// All that is due is handed over, and all that has come back is taken.
    fn default() -> Batch {
        Batch { submit: 0, complete_min: 1, complete_max: 0, low: 0 }
    }
}

/// Advice to the kernel about the order of the offsets in a file (posix_fadvise(2)). Means nothing to direct I/O.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Advice {
    /// Nothing: it finds out by itself.
    #[default]
    None,
    /// One after the other: it reads further ahead.
    Sequential,
    /// At random: it does not read ahead.
    Random,
}

/// How a file is opened so that writes are durable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OpenSync {
    /// O_DSYNC: the data, and what of the metadata is needed to find it.
    Data,
    /// O_SYNC: all metadata too.
    All,
}

/// A share of the operations of a group of tasks (fio's `flow`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Flow {
    /// Tasks that start together and have the same group keep the ratio of their weights.
    pub group: u32,
    /// Operations of a worker of this task to those of the others' workers; at least 1.
    pub weight: u32,
    /// How long a worker that is ahead waits before it looks again.
    #[serde(default)]
    pub pause: Nanos,
}

/// What is kept of each operation. All of it costs time in the measured loop, and is compiled out where it is not asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Watch {
    /// Submission and completion apart, queue depths, and sizes of batches.
    pub detail: bool,
    /// Every operation is reported when it has completed ([`Event::Operations`](crate::Event)), some hundreds at once. Nothing is lost:
    /// where whoever listens is slower than the device, the workers wait for it.
    pub operations: bool,
}

/// How written data is made durable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SyncMethod {
    /// fdatasync: the data, and what of the metadata is needed to find it.
    #[default]
    Fdatasync,
    /// fsync: all metadata too.
    Fsync,
    /// sync_file_range over what this worker has written since its last one, with WAIT_BEFORE, WRITE and WAIT_AFTER: the
    /// page cache is written out, but neither metadata nor the device's cache: not durable.
    FileRange,
}

/// A sync after every N writes of a worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SyncRule {
    /// Writes from one sync to the next, which is of all files that may have been written since; at least 1. With 1 each write with its sync is also recorded as one
    /// [`OpKind::Commit`](crate::OpKind).
    pub every: u32,
    /// Which call.
    #[serde(default)]
    pub method: SyncMethod,
}

impl SyncRule {
    /// An fdatasync after every so many writes.
    pub const fn fdatasync(every: u32) -> SyncRule {
        SyncRule { every, method: SyncMethod::Fdatasync }
    }
}

/// Where workers run, as threads or processes, and their scheduling priority.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Placement {
    /// Each worker is a process of its own rather than a thread.
    pub processes: bool,
    /// CPUs that they may run on; empty for all.
    pub cpus: Vec<u32>,
    /// NUMA nodes whose CPUs they may run on, besides `cpus`.
    pub nodes: Vec<u32>,
    /// Worker w gets one CPU, the one at w modulo their number, instead of all.
    pub one_each: bool,
    /// NUMA nodes that their memory comes from.
    pub memory: MemoryPolicy,
    /// Their nice value: from -20, which gets most of the CPU, to 19. Values below that of the program are for privileged users.
    pub nice: Option<i8>,
    /// Priority of their I/O, unless an operation has its own.
    pub io_priority: Option<IoPriority>,
    /// User that they run as, by number; needs a privileged user. Files are opened before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user: Option<u32>,
    /// Group that they run as, by number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<u32>,
    /// Name of their threads that the system shows, of which it keeps 15 bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thread_name: Option<String>,
}

/// NUMA nodes that memory comes from (set_mempolicy(2)). An empty list means all nodes.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MemoryPolicy {
    /// As the system has it: from the node that the worker runs on.
    #[default]
    Default,
    /// From this node as long as it has some.
    Prefer(u32),
    /// From these nodes and only from them.
    Bind(Vec<u32>),
    /// From these nodes in turns, page by page.
    Interleave(Vec<u32>),
}

/// What operations do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mix {
    /// Reads only.
    Read,
    /// Writes only.
    Write,
    /// Each operation a read with this probability in percent (0 to 100), otherwise a write.
    ReadPercent(u8),
    /// Trims only: the target's blocks are given back (discard on a device, a punched hole in a file).
    Trim,
    /// Each operation a trim with this probability in percent (0 to 100), otherwise a write.
    TrimPercent(u8),
    /// A trim of each block, then a write of the same one (fio's `trimwrite`).
    TrimThenWrite,
    /// Reads, each of which is followed by a write of the same block with this probability in percent (0 to 100): a block is read,
    /// changed and written back. With 100, `stop.loops` counts blocks; below, it counts reads and writes alike.
    ReadThenWrite(u8),
    /// What a trace says ([`Access::Trace`]): these kinds.
    Traced(TracedKinds),
}

impl PhaseTask for FileTask {
    fn name(&self) -> &str {
        &self.name
    }

    fn layer(&self) -> Layer {
        match self.target {
            Target::Null { .. } => Layer::Calibration,
            _ => Layer::File,
        }
    }

    fn workers(&self) -> u32 {
        self.workers
    }

    fn concurrency(&self) -> u32 {
        self.concurrency
    }

    fn threads(&self) -> u32 {
        if self.backend == BackendKind::Threads { self.concurrency } else { self.workers }
    }

    fn stop(&self) -> Stop {
        self.stop
    }

    fn ramp(&self) -> Nanos {
        self.ramp
    }

    fn interval(&self) -> Nanos {
        self.interval
    }

    fn delay(&self) -> Nanos {
        self.start.delay
    }

    fn is_uniform(&self) -> bool {
        !matches!(self.arrival, Arrival::Bursts { .. } | Arrival::Traced(_) | Arrival::ThinkTime { .. })
    }

    fn reseed(&mut self, by: u64) {
        self.seed = self.seed.wrapping_add(by);
    }
}

impl FileTask {
    /// The queue depth of worker `index`: the concurrency spread evenly, the first workers taking the remainder.
    pub fn depth_of(&self, index: u32) -> u32 {
        let workers = self.workers.max(1);
        self.concurrency / workers + u32::from(index < self.concurrency % workers)
    }

    /// The largest operation: what a buffer has to hold.
    pub fn largest(&self) -> Bytes {
        self.sizes.as_ref().map_or(self.block, Sizes::largest)
    }

    /// Bytes of an operation in the mean, by the laws of its sizes and the shares of its mix.
    pub fn mean_size(&self) -> f64 {
        if let Access::Trace(trace) = &self.access {
            return trace.mean_size();
        }
        let [reads, writes, trims] = self.mean_sizes();
        let mixed = |percent: u8, one: f64, other: f64| {
            let share = f64::from(percent) / 100.0;
            share * one + (1.0 - share) * other
        };
        match self.mix {
            Mix::Read => reads,
            Mix::Write | Mix::TrimThenWrite => writes,
            Mix::Trim => trims,
            Mix::ReadPercent(percent) => mixed(percent, reads, writes),
            // The write has the read's size.
            Mix::ReadThenWrite(_) => reads,
            Mix::TrimPercent(percent) => mixed(percent, trims, writes),
            Mix::Traced(_) => self.block.0 as f64,
        }
    }

    /// Bytes of a read, a write and a trim in the mean.
    pub fn mean_sizes(&self) -> [f64; 3] {
        let laws = self.sizes.as_ref().map(|sizes| [&sizes.reads, &sizes.writes, &sizes.trims]);
        laws.map_or([self.block.0 as f64; 3], |laws| laws.map(SizeLaw::mean))
    }

    /// The rate asked for over all workers, in operations a second; `None` in a closed loop.
    pub fn asked_rate(&self) -> Option<Iops> {
        if let (Access::Trace(trace), Arrival::Traced(percent)) = (&self.access, self.arrival) {
            let last = trace.operations().last().filter(|last| last.at.0 > 0)?;
            let operations = trace.operations().len() as f64;
            return Some(Iops(operations * f64::from(percent) / 100.0 / last.at.as_secs_f64()));
        }
        let [reads, writes, trims] = self.mean_sizes();
        let done = [
            self.mix.reads().then_some(reads),
            self.mix.writes().then_some(writes),
            self.mix.trims().then_some(trims),
        ];
        self.arrival.rate(self.mean_size(), done)
    }
}

impl Mix {
    /// Whether any operation reads.
    pub fn reads(self) -> bool {
        matches!(
            self,
            Mix::Read
                | Mix::ReadPercent(1..)
                | Mix::ReadThenWrite(_)
                | Mix::Traced(TracedKinds { reads: true, .. })
        )
    }

    /// Whether any operation writes data.
    pub fn writes(self) -> bool {
        match self {
            Mix::Traced(kinds) => kinds.writes,
            mix => !matches!(
                mix,
                Mix::Read | Mix::ReadPercent(100) | Mix::ReadThenWrite(0) | Mix::Trim | Mix::TrimPercent(100)
            ),
        }
    }

    /// Whether any operation trims.
    pub fn trims(self) -> bool {
        match self {
            Mix::Traced(kinds) => kinds.trims,
            mix => matches!(mix, Mix::Trim | Mix::TrimThenWrite | Mix::TrimPercent(1..)),
        }
    }
}
