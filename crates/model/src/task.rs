//! Block I/O as plain data.

use serde::{Deserialize, Serialize};

use crate::access::{Access, Regions};
use crate::arrival::{Arrival, Stop};
use crate::backend::BackendKind;
use crate::fault::OnError;
use crate::load::{Contents, SizeLaw, Sizes};
use crate::phase_task::{Layer, PhaseTask, task_fields};
use crate::priority::{IoPriority, PriorityShare};
use crate::ramp::Ramp;
use crate::target::Target;
use crate::trace::TracedKinds;
use crate::units::{Bytes, Iops, Nanos};
use crate::verify::Verify;
use crate::zoned::Zoned;

/// Block I/O by `workers` threads or processes with `concurrency` outstanding operations in total.
///
/// The default is random reads of 4 KiB by one worker on the null target, without end. A description specifies only the
/// differences.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct FileTask {
    /// Name shown in results, for example `random read 8 KiB`.
    pub name: String,
    /// Results of tasks with the same group that start together are also reported as a total.
    pub group: Option<String>,
    /// When the task starts, among the tasks of a [`Job`](crate::Job).
    pub start: Start,
    /// Target of the operations.
    pub target: Target,
    /// How the operations reach the kernel.
    pub backend: BackendKind,
    /// Kinds of operations.
    pub mix: Mix,
    /// Order of the offsets.
    pub access: Access,
    /// Region of the target that each worker uses.
    pub regions: Regions,
    /// Use of a zoned block device.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub zoned: Option<Zoned>,
    /// Size of each operation, unless `sizes` is given.
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
    /// Percentages of the operations that have their own I/O priority; io_uring and libaio only.
    pub priorities: Vec<PriorityShare>,
    /// Queue depth: number of outstanding operations over all workers; at least `workers`.
    pub concurrency: u32,
    /// Number of operations that are submitted and reaped at a time.
    pub batch: Batch,
    /// When operations are scheduled to start.
    pub arrival: Arrival,
    /// When written data is made durable.
    pub durability: WriteDurability,
    /// Use of the page cache and read-ahead.
    pub cache: PageCache,
    /// Verification of written data.
    pub verify: Option<Verify>,
    /// Errors that end the phase.
    pub errors: OnError,
    /// Keeps a ratio of operations among tasks that start together.
    pub flow: Option<Flow>,
    /// Details recorded for each operation, in addition to counts and histograms.
    pub watch: Watch,
    /// What ends the phase.
    pub stop: Stop,
    /// Start that is recorded separately and excluded from the totals: a time, or an amount of I/O, `{ bytes = "1 GiB" }`.
    pub ramp: Ramp,
    /// Length of the intervals of the time series; at least 10 ms.
    pub interval: Nanos,
    /// Seed of the random number generators of this task.
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
            zoned: None,
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
            ramp: Ramp::NONE,
            interval: Nanos::SECOND,
            seed: 1,
        }
    }
}

/// When a task starts, among the tasks of a [`Job`](crate::Job).
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Start {
    /// Starts together with the previous task instead of after it.
    pub together: bool,
    /// Waits until the task with this name, which starts together with it or earlier, has ended.
    pub after: Option<String>,
    /// Time from the phase's start to the first operation.
    pub delay: Nanos,
}

/// When written data is made durable.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct WriteDurability {
    /// A sync after every N writes.
    pub sync: Option<SyncRule>,
    /// Further syncs, each after its own number of writes. If several are due after the same write, only the strongest method is
    /// executed (syncfs, fsync, fdatasync, sync_file_range in this order).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub also: Vec<SyncRule>,
    /// A sync at the end, within the measured time.
    pub end_sync: Option<SyncMethod>,
    /// Opens the file so that every write is durable when it completes (O_DSYNC, O_SYNC).
    pub open: Option<OpenSync>,
    /// What [`SyncMethod::FileRange`] does.
    #[serde(skip_serializing_if = "RangeSync::is_all")]
    pub range: RangeSync,
}

/// What sync_file_range(2) does with the range: one of them at least.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RangeSync {
    /// Waits for what is being written already (SYNC_FILE_RANGE_WAIT_BEFORE).
    pub wait_before: bool,
    /// Begins to write what is dirty (SYNC_FILE_RANGE_WRITE); alone it does not wait.
    pub write: bool,
    /// Waits until all is written (SYNC_FILE_RANGE_WAIT_AFTER).
    pub wait_after: bool,
}

impl RangeSync {
    /// All of them.
    pub const ALL: RangeSync = RangeSync { wait_before: true, write: true, wait_after: true };

    // The signature is serde's.
    #[expect(clippy::trivially_copy_pass_by_ref)]
    fn is_all(&self) -> bool {
        *self == RangeSync::ALL
    }
}

impl Default for RangeSync {
    fn default() -> RangeSync {
        RangeSync::ALL
    }
}

impl WriteDurability {
    /// All rules of syncs after so many writes.
    pub fn rules(&self) -> impl Iterator<Item = &SyncRule> {
        self.sync.iter().chain(&self.also)
    }

    /// Whether each write is synced on its own: write and sync together are a commit.
    pub fn commits(&self) -> bool {
        self.rules().any(|rule| rule.every == 1)
    }

    /// A sync after every so many writes, and nothing else.
    pub const fn synced(rule: SyncRule) -> WriteDurability {
        let range = RangeSync::ALL;
        WriteDurability { sync: Some(rule), also: Vec::new(), end_sync: None, open: None, range }
    }
}

/// Use of the page cache and read-ahead.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PageCache {
    /// Drop the page cache of the target before the phase and, without `direct`, whenever a worker starts over; the time is part
    /// of the first operation of the new round.
    pub invalidate: bool,
    /// Advice to the kernel about the access pattern, which affects read-ahead.
    pub advice: Advice,
}

impl PageCache {
    /// Its pages of the target are dropped.
    pub const INVALIDATED: PageCache = PageCache { invalidate: true, advice: Advice::None };
}

/// Number of operations that a worker submits and reaps at a time. It has no effect on back ends with one operation in flight.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Batch {
    /// Maximum number of operations submitted together; 0 for all that are due. Operations do not wait for others that are not
    /// yet due.
    pub submit: u32,
    /// Minimum number of completions to wait for, if as many operations are in flight; 0 to poll without waiting, also after each
    /// batch.
    pub complete_min: u32,
    /// Maximum number of completions to reap at a time, not below `complete_min`; 0 for all available ones. The others count as
    /// in flight.
    pub complete_max: u32,
    /// A worker that has reached its queue depth submits again only when at most this number of operations are in flight; 0 to
    /// refill immediately.
    pub low: u32,
    /// An operation waits until those of the worker that overlap it have completed; it waits with its queue depth, as for any other
    /// reason. Without it, what storage holds after two overlapping writes is not determined.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub disjoint: bool,
}

impl Default for Batch {
    /// All that is due is handed over, and all that has come back is taken.
    fn default() -> Batch {
        Batch { submit: 0, complete_min: 1, complete_max: 0, low: 0, disjoint: false }
    }
}

/// Advice to the kernel about the access pattern (posix_fadvise(2)). It has no effect on direct I/O.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Advice {
    /// No advice: the kernel detects the pattern.
    #[default]
    None,
    /// Sequential access: more read-ahead.
    Sequential,
    /// Random access: no read-ahead.
    Random,
}

/// How a file is opened so that writes are durable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OpenSync {
    /// O_DSYNC: the data, and the metadata needed to access it.
    Data,
    /// O_SYNC: all metadata too.
    All,
}

/// Ratio of operations in a group of tasks (fio's `flow`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Flow {
    /// Tasks that start together and have the same group keep their operations in the ratio of their weights.
    pub group: u32,
    /// Weight of each worker of this task, relative to the workers of the other tasks; at least 1.
    pub weight: u32,
    /// Time that a worker that is ahead waits before it checks again.
    #[serde(default)]
    pub pause: Nanos,
}

/// Details recorded for each operation. They cost time in the measured loop, and only if they are requested.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Watch {
    /// Separate submission and completion latency, queue depths, and batch sizes.
    pub detail: bool,
    /// Every operation is reported when it completes ([`Event::Operations`](crate::Event)), some hundreds at a time. None is
    /// lost: workers wait if the receiver is slower than the device.
    pub operations: bool,
}

/// How written data is made durable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SyncMethod {
    /// fdatasync: the data, and the metadata needed to access it.
    #[default]
    Fdatasync,
    /// fsync: all metadata too.
    Fsync,
    /// sync_file_range over the data written since the last sync, as [`WriteDurability::range`] says: writes the page cache, but
    /// neither metadata nor the device's cache, so the data is not durable.
    FileRange,
    /// syncfs: everything that was written to the file system, by other programs too.
    FileSystem,
}

impl SyncMethod {
    /// The one of two that makes more durable.
    pub fn stronger(self, other: SyncMethod) -> SyncMethod {
        let strength = |method| match method {
            SyncMethod::FileRange => 0,
            SyncMethod::Fdatasync => 1,
            SyncMethod::Fsync => 2,
            SyncMethod::FileSystem => 3,
        };
        if strength(other) > strength(self) { other } else { self }
    }
}

/// A sync after every N writes of a worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SyncRule {
    /// Number of writes between syncs of all files that may have been written; at least 1. With 1, each write with its sync is
    /// also recorded as an [`OpKind::Commit`](crate::OpKind).
    pub every: u32,
    /// System call.
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
    /// Each worker is a process instead of a thread.
    pub processes: bool,
    /// CPUs on which workers may run; empty for all.
    pub cpus: Vec<u32>,
    /// NUMA nodes on whose CPUs workers may run, in addition to `cpus`.
    pub nodes: Vec<u32>,
    /// Each worker w runs on one CPU, the one at position w modulo the number of CPUs.
    pub one_each: bool,
    /// NUMA nodes from which memory is allocated.
    pub memory: MemoryPolicy,
    /// Nice value, from -20 (highest priority) to 19. Values below that of the program require privileges.
    pub nice: Option<i8>,
    /// I/O priority, unless an operation has its own.
    pub io_priority: Option<IoPriority>,
    /// Numeric id of the user to run as; requires privileges. Files are opened before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user: Option<u32>,
    /// Numeric id of the group to run as.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<u32>,
    /// Name of the threads, as shown by the system (at most 15 bytes).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thread_name: Option<String>,
    /// Memory that each worker locks while it runs (mlock(2)), so that less of it is free for the page cache.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub locked_memory: Option<Bytes>,
    /// Name of the control group that the workers join, in the hierarchy of the controller blkio (or io, version 2); it must exist.
    /// Version 2 has no groups for threads: there, the workers must be processes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub control_group: Option<String>,
    /// Size of the huge pages of the buffers, a power of two of at least 64 KiB; the system must have reserved as many.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub huge_pages: Option<Bytes>,
    /// The back end mmap asks the kernel for huge pages for its mapping (madvise(2), MADV_HUGEPAGE).
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub huge_mapping: bool,
}

/// NUMA nodes from which memory is allocated (set_mempolicy(2)). An empty list means all nodes.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MemoryPolicy {
    /// The system's default: the node on which the worker runs.
    #[default]
    Default,
    /// This node, as long as it has free memory.
    Prefer(u32),
    /// These nodes only.
    Bind(Vec<u32>),
    /// These nodes in turn, page by page.
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
    /// Each operation is a read with this probability in percent (0 to 100), otherwise a write.
    ReadPercent(u8),
    /// Trims only: blocks are deallocated (discard on a device, a punched hole in a file).
    Trim,
    /// Each operation is a trim with this probability in percent (0 to 100), otherwise a write.
    TrimPercent(u8),
    /// Each operation is a read or a trim with these probabilities in percent (at most 100 together), otherwise a write. In sequential
    /// orders, trims take their turn among the writes.
    ReadTrimPercent {
        /// Percentage of reads.
        reads: u8,
        /// Percentage of trims.
        trims: u8,
    },
    /// Each block is trimmed, then written (fio's `trimwrite`).
    TrimThenWrite,
    /// Reads, each followed by a write of the same block with this probability in percent (0 to 100): read, modify, write. With
    /// 100, `stop.loops` counts blocks, otherwise reads and writes.
    ReadThenWrite(u8),
    /// The kinds of operations in a trace ([`Access::Trace`]).
    Traced(TracedKinds),
}

impl PhaseTask for FileTask {
    task_fields!();

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

    fn delay(&self) -> Nanos {
        self.start.delay
    }

    fn is_uniform(&self) -> bool {
        !matches!(
            self.arrival,
            Arrival::Bursts { .. }
                | Arrival::Traced(_)
                | Arrival::ThinkTime { .. }
                | Arrival::RatedThinkTime(_)
        )
    }
}

impl FileTask {
    /// The largest operation: one read or write of Linux moves no more than 2 GiB less a page (read(2)); buffers are smaller.
    pub const LARGEST_OPERATION: Bytes = Bytes::GIB;

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
        if let Access::Mixture(mixture) = &self.access {
            return mixture.mean_size();
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
            Mix::ReadTrimPercent { reads: read, trims: trimmed } => {
                let rest = 100u8.saturating_sub(read).saturating_sub(trimmed);
                let weighted = [(read, reads), (trimmed, trims), (rest, writes)];
                weighted.iter().map(|(percent, size)| f64::from(*percent) / 100.0 * size).sum()
            }
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
                | Mix::ReadTrimPercent { reads: 1.., .. }
                | Mix::ReadThenWrite(_)
                | Mix::Traced(TracedKinds { reads: true, .. })
        )
    }

    /// Whether any operation writes data.
    pub fn writes(self) -> bool {
        match self {
            Mix::Traced(kinds) => kinds.writes,
            Mix::ReadTrimPercent { reads, trims } => u16::from(reads) + u16::from(trims) < 100,
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
            mix => matches!(
                mix,
                Mix::Trim
                    | Mix::TrimThenWrite
                    | Mix::TrimPercent(1..)
                    | Mix::ReadTrimPercent { trims: 1.., .. }
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_two_syncs_the_stronger_one_includes_the_other() {
        let methods =
            [SyncMethod::FileRange, SyncMethod::Fdatasync, SyncMethod::Fsync, SyncMethod::FileSystem];
        for (place, weak) in methods.into_iter().enumerate() {
            for strong in &methods[place..] {
                assert_eq!((weak.stronger(*strong), strong.stronger(weak)), (*strong, *strong));
            }
        }
    }
}
