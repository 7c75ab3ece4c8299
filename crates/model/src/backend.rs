//! How operations reach the kernel.

use crate::units::Nanos;
use serde::{Deserialize, Serialize};

/// How operations reach the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BackendKind {
    /// No system call at all.
    Null,
    /// pread and pwrite, one operation per thread.
    Sync,
    /// io_uring, many operations per thread.
    IoUring(RingOptions),
    /// preadv2 and pwritev2 with these flags, one operation per thread.
    Vectored(IoFlags),
    /// io_submit (libaio), many operations per thread; asynchronous with direct I/O only.
    Libaio,
    /// Copies from and to the mapped file, one operation per thread. No direct I/O.
    Mmap,
    /// splice between the file and a pipe, one operation per thread.
    Splice,
    /// fallocate(2): a write reserves its blocks, a read does so without changing the size, a trim punches a hole.
    Fallocate,
    /// ftruncate(2) to each write's offset.
    Truncate,
    /// No I/O: each operation keeps the CPU busy for a while.
    Busy(BusyOptions),
    /// A pool of threads doing pread and pwrite, one for each outstanding operation.
    Threads,
}

/// Ways to use an io_uring. Without any, it is set up for one issuing thread with deferred task work, where the kernel has
/// that; file and buffers are registered always.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RingOptions {
    /// A thread of the kernel takes operations from the ring, so that submitting needs no system call.
    pub submit_polling: bool,
    /// Poll the device for completions; direct I/O only, and a driver with polling queues.
    pub completion_polling: bool,
    /// Submit each write with its sync as linked operations; needs a sync after every write.
    pub linked_sync: bool,
}

/// How [`BackendKind::Busy`] keeps the CPU busy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BusyOptions {
    /// Share of the time, in percent (1 to 100); the rest of it the thread sleeps.
    pub percent: u8,
    /// How long each operation keeps the CPU busy.
    pub chunk: Nanos,
    /// What the CPU is busy with.
    #[serde(default)]
    pub work: BusyWork,
}

/// What [`BackendKind::Busy`] keeps the CPU busy with.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BusyWork {
    /// Waiting in a loop.
    #[default]
    Spin,
    /// Sorting numbers: branches, comparisons and memory, and so more power.
    Sort,
}

impl RingOptions {
    /// None of them.
    pub const PLAIN: RingOptions =
        RingOptions { submit_polling: false, completion_polling: false, linked_sync: false };
}

/// Flags of each operation (`RWF_` of preadv2(2)). A flag goes only with the operations that it is about.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
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
    /// Its name in text and JSON.
    pub const fn name(self) -> &'static str {
        match self {
            BackendKind::Null => "null",
            BackendKind::Sync => "sync",
            BackendKind::IoUring(_) => "io_uring",
            BackendKind::Vectored(_) => "vectored",
            BackendKind::Libaio => "libaio",
            BackendKind::Mmap => "mmap",
            BackendKind::Threads => "threads",
            BackendKind::Splice => "splice",
            BackendKind::Fallocate => "fallocate",
            BackendKind::Truncate => "truncate",
            BackendKind::Busy(_) => "busy",
        }
    }

    /// Whether its operations move data.
    pub fn moves_data(self) -> bool {
        !matches!(self, BackendKind::Fallocate | BackendKind::Truncate | BackendKind::Busy(_))
    }

    /// Whether it has one outstanding operation per thread at most.
    pub fn is_synchronous(self) -> bool {
        matches!(
            self,
            BackendKind::Sync
                | BackendKind::Vectored(_)
                | BackendKind::Mmap
                | BackendKind::Splice
                | BackendKind::Fallocate
                | BackendKind::Truncate
                | BackendKind::Busy(_)
        )
    }
}
