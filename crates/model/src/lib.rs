//! Plain, versioned data that every part of iolite shares.
//!
//! The way of a measurement is: what the user asks becomes a [`Task`]; doing it emits [`Event`]s; the store, the
//! live view and the report read those events. Nothing here touches a file, a clock, a thread or a terminal.

mod event;
mod load;
mod profile;
mod record;
mod storage;
mod task;
mod units;
mod verdict;
mod warning;

pub use event::{Event, Sink};
pub use load::{Contents, Fill, SizeLaw, Sizes, WeightedSize};
pub use profile::{Criterion, Measure, Profile};
pub use record::{
    Cache, CacheStamp, Calibration, Ending, HistogramBytes, Interval, OpKind, OpTotals, Outstanding,
    PhaseEnd, PhaseInfo, RunId, RunInfo, Stage, WorkerTotals,
};
pub use storage::{Device, DeviceCounters, Filesystem, Host, Storage};
pub use task::{
    Access, Arrival, BackendKind, DbOperation, DbTask, FileTarget, FileTask, HotSpot, IoFlags, Layer, Mix,
    Stop, Target, Task, Zone, ZoneSize,
};
pub use units::{Bytes, Iops, Nanos, Quantile, UnitError};
pub use verdict::{Fitness, Reason, Verdict};
pub use warning::Warning;

/// Version of this data as stored and printed; raised when a field changes its meaning.
pub const MODEL_VERSION: u32 = 1;
