//! Where the time of the slowest operations went: requests of block devices, and what a phase's outliers fall into.

use serde::{Deserialize, Serialize};

use crate::kind::OpKind;
use crate::units::Nanos;

/// A request that a block device has completed. Instants are of CLOCK_MONOTONIC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlockRequest {
    /// Major and minor number of the device.
    pub device: (u32, u32),
    /// What it was.
    pub class: BlockClass,
    /// When it was handed to the I/O scheduler; when it was issued where it was handed to the device at once.
    pub inserted: Nanos,
    /// When it was issued to the device.
    pub issued: Nanos,
    /// When the device had completed it.
    pub completed: Nanos,
}

/// What a request of a block device is.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, strum::IntoStaticStr,
)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum BlockClass {
    /// A read.
    Read,
    /// A write that somebody waits for: direct, synchronous, or of a sync.
    Write,
    /// A write that nobody waits for: write-back in the background.
    WriteBack,
    /// A flush of the device's write cache.
    Flush,
    /// A discard.
    Discard,
}

/// What goes on beside operations, and may be why they take long.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StallCause {
    /// A flush of the device's write cache.
    Flush,
    /// A discard.
    Discard,
    /// Write-back in the background.
    WriteBack,
    /// A second in which the hypervisor took more than 5 % of the CPUs' time.
    Steal,
    /// A second in which tasks waited for memory more than 5 % of the time.
    MemoryPressure,
    /// A second in which the database wrote its data files: a checkpoint, its background writer or write daemon, by its own counters.
    DataFileWrites,
    /// InnoDB's redo log was nearly full, so that pages are written as fast as possible, and at its maximum sessions wait for that.
    CheckpointAge,
    /// Sessions waited for a free page of InnoDB's buffer pool: pages had to be written to make one.
    FreePageWaits,
    /// Sessions waited for space in InnoDB's log buffer.
    LogBufferWaits,
    /// A second in which sessions of the database were seen waiting for locks of each other.
    LockWaits,
}

/// Where the time of an operation went. The parts add up to its response time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct StallParts {
    /// From the intended start until it was issued by iolite.
    pub waiting: Nanos,
    /// Its request waited in the I/O scheduler.
    pub scheduler: Nanos,
    /// The device worked on its request.
    pub device: Nanos,
    /// The rest: in system calls, the file system, throttles before the block layer, on the way back, waiting for a CPU.
    pub elsewhere: Nanos,
}

/// One of the slowest operations.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StalledOperation {
    /// What it was.
    pub kind: OpKind,
    /// When it was intended to start, since the phase's start.
    pub at: Nanos,
    /// Where the time went.
    pub parts: StallParts,
    /// What went on meanwhile.
    pub beside: Vec<StallCause>,
}

/// A cause, and the operations that it was beside.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct StallsBeside {
    /// The cause.
    pub cause: StallCause,
    /// Outliers beside it.
    pub operations: u64,
    /// Share of the whole phase in which it went on (0 to 1): what would be expected of operations that it does not matter to.
    pub share_of_time: f64,
}

/// Latency of the requests of one class on a device.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlockLatency {
    /// Name of the device.
    pub device: String,
    /// The class.
    pub class: BlockClass,
    /// Requests completed.
    pub requests: u64,
    /// Time in the I/O scheduler: median, 99th and 99.9th percentile.
    pub scheduler: [Nanos; 3],
    /// Time in the device: the same.
    pub in_device: [Nanos; 3],
}

/// What a phase's outliers fall into. Of the outliers, the `examined` longest are attributed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StallsFound {
    /// Response time above which an operation is an outlier.
    pub bound: Nanos,
    /// The quantile that the bound is, where none was given.
    pub quantile: Option<f64>,
    /// Operations of the phase.
    pub operations: u64,
    /// Outliers.
    pub outliers: u64,
    /// Outliers that were attributed.
    pub examined: u64,
    /// Whether requests of the devices were traced; otherwise time in the scheduler and the device is part of `elsewhere`.
    pub traced: bool,
    /// Outliers whose largest part was waiting for their issue.
    pub waiting: u64,
    /// Outliers whose largest part was the I/O scheduler.
    pub scheduler: u64,
    /// Outliers whose largest part was the device.
    pub device: u64,
    /// Outliers whose largest part was elsewhere.
    pub elsewhere: u64,
    /// What went on beside them.
    pub beside: Vec<StallsBeside>,
    /// The longest.
    pub longest: Vec<StalledOperation>,
    /// Latency of the devices' requests during the phase.
    pub devices: Vec<BlockLatency>,
    /// Events of the trace that were lost.
    pub lost_events: u64,
}

impl BlockRequest {
    /// Time in the I/O scheduler.
    pub fn in_scheduler(&self) -> Nanos {
        self.issued.saturating_sub(self.inserted)
    }

    /// Time in the device.
    pub fn in_device(&self) -> Nanos {
        self.completed.saturating_sub(self.issued)
    }
}

impl BlockClass {
    /// As printed.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

impl StallCause {
    /// As printed after "beside".
    pub const fn name(self) -> &'static str {
        match self {
            StallCause::Flush => "a flush of the device",
            StallCause::Discard => "a discard",
            StallCause::WriteBack => "write-back",
            StallCause::Steal => "stolen CPU time",
            StallCause::MemoryPressure => "memory pressure",
            StallCause::DataFileWrites => {
                "writes of the database to its data files (checkpoint, background writer, page cleaner)"
            }
            StallCause::CheckpointAge => {
                "a nearly full redo log (InnoDB's checkpoint age above 7/8 of its maximum)"
            }
            StallCause::FreePageWaits => "waits for a free page of InnoDB's buffer pool",
            StallCause::LogBufferWaits => "waits for space in InnoDB's log buffer",
            StallCause::LockWaits => "waits of sessions for locks of each other",
        }
    }
}

impl StallParts {
    /// The response time.
    pub fn response(&self) -> Nanos {
        Nanos(self.waiting.0 + self.scheduler.0 + self.device.0 + self.elsewhere.0)
    }
}
