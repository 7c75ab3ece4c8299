//! How operations reach the kernel.

use crate::units::Nanos;
use serde::{Deserialize, Serialize};

/// How operations reach the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, strum::IntoStaticStr)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum BackendKind {
    /// No system calls.
    Null,
    /// pread and pwrite, one operation per thread.
    Sync,
    /// lseek (unless the position is right already), read and write, one operation per thread.
    Seek,
    /// io_uring, many operations per thread.
    #[strum(serialize = "io_uring")]
    IoUring(RingOptions),
    /// preadv2 and pwritev2 with these flags, one operation per thread.
    Vectored(IoFlags),
    /// io_submit (libaio), many operations per thread; asynchronous with direct I/O only.
    Libaio,
    /// Copies from and to a mapped file, one operation per thread. No direct I/O.
    Mmap,
    /// splice between the file and a pipe, one operation per thread.
    Splice,
    /// fallocate(2): a write reserves blocks, a read reserves blocks without changing the size, a trim punches a hole.
    Fallocate,
    /// ftruncate(2) to each write's offset.
    Truncate,
    /// Each write exchanges the blocks there with those of another file (ext4's `EXT4_IOC_MOVE_EXT`); what the files hold stays, what the
    /// other one held is lost.
    MoveExtents,
    /// No I/O: each operation uses CPU time.
    Busy(BusyOptions),
    /// A pool of threads doing pread and pwrite, one for each outstanding operation.
    Threads,
}

/// Options of io_uring. By default, the ring is set up for one issuing thread with deferred task work, if the kernel supports it.
/// Files and buffers are always registered.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RingOptions {
    /// A kernel thread takes operations from the ring, so that submission needs no system call.
    pub submit_polling: bool,
    /// CPU of that thread; the scheduler chooses it if it is not set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub submit_polling_cpu: Option<u32>,
    /// Poll the device for completions; requires direct I/O and a driver with polling queues.
    pub completion_polling: bool,
    /// Submit each write and its sync as linked operations; requires a sync after every write.
    pub linked_sync: bool,
    /// Each operation after so many is executed by a kernel thread (`IOSQE_ASYNC`); 0: none.
    #[serde(skip_serializing_if = "is_zero")]
    pub force_async: u32,
    /// Reads and writes fail with EAGAIN, which counts as an error, instead of waiting (`RWF_NOWAIT`).
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub nowait: bool,
    /// Reads and writes do not keep data in the page cache (`RWF_DONTCACHE`); not with direct I/O.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub dontcache: bool,
}

fn is_no_percentage(percent: &u8) -> bool {
    *percent == 0
}

fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// CPU load of [`BackendKind::Busy`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BusyOptions {
    /// CPU load in percent (0 to 100); the thread sleeps for the rest of the time. With 0 it does nothing until it is ended.
    pub percent: u8,
    /// CPU time of each operation.
    pub chunk: Nanos,
    /// Kind of work.
    #[serde(default)]
    pub work: BusyWork,
}

/// Kind of CPU load of [`BackendKind::Busy`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BusyWork {
    /// A busy loop.
    #[default]
    Spin,
    /// Sorting: branches, comparisons and memory accesses, which consume more power.
    Sort,
}

impl RingOptions {
    /// None of them.
    pub const PLAIN: RingOptions = RingOptions {
        submit_polling: false,
        submit_polling_cpu: None,
        completion_polling: false,
        linked_sync: false,
        force_async: 0,
        nowait: false,
        dontcache: false,
    };
}

/// Flags of each operation (`RWF_` of preadv2(2)). A flag is set only for the operations to which it applies.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct IoFlags {
    /// Writes: wait until the data is durable.
    pub dsync: bool,
    /// Poll for the completion; direct I/O only.
    pub hipri: bool,
    /// With `hipri`: percentage of the operations that poll, evenly distributed; 0 for all.
    #[serde(skip_serializing_if = "is_no_percentage")]
    pub hipri_percent: u8,
    /// Fail with EAGAIN, which counts as an error, instead of waiting.
    pub nowait: bool,
    /// Writes: atomic, even across a power failure; direct I/O only.
    pub atomic: bool,
    /// Do not keep data in the page cache; not with direct I/O.
    pub dontcache: bool,
}

impl BackendKind {
    /// Its name in text and JSON.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// Whether its operations move data.
    pub fn moves_data(self) -> bool {
        !matches!(
            self,
            BackendKind::Fallocate | BackendKind::Truncate | BackendKind::MoveExtents | BackendKind::Busy(_)
        )
    }

    /// Whether it has one outstanding operation per thread at most.
    pub fn is_synchronous(self) -> bool {
        matches!(
            self,
            BackendKind::Sync
                | BackendKind::Seek
                | BackendKind::Vectored(_)
                | BackendKind::Mmap
                | BackendKind::Splice
                | BackendKind::Fallocate
                | BackendKind::Truncate
                | BackendKind::MoveExtents
                | BackendKind::Busy(_)
        )
    }
}
