//! Plain, versioned data that every part of iolite shares.
//!
//! The way of a measurement is: what the user asks becomes a [`Task`]; doing it emits [`Event`]s; the store, the
//! live view and the report read those events. Nothing here touches a file, a clock, a thread or a terminal.

mod access;
pub mod acknowledged;
mod arrival;
mod backend;
mod cache;
mod checkpoint;
mod classic;
mod concluded;
mod conclusions;
mod configuration;
mod database;
pub mod errno;
mod error_cause;
mod event;
mod fault;
mod host_limit;
mod iometer;
mod job;
mod kind;
mod latency;
mod listen_address;
mod load;
mod log_copy;
mod metadata;
mod observed_database;
mod oplog;
mod parse;
mod phase;
mod phase_task;
mod priority;
mod profile;
mod pts;
mod ramp;
mod ran;
mod reading;
mod record;
mod result_table;
mod stalls;
mod storage;
mod study;
mod sweep;
mod target;
mod task;
mod tproc_c;
mod trace;
mod units;
mod verdict;
mod verify;
mod waits;
mod warning;
mod write_plan;
mod zoned;

pub use access::{
    Access, ByKind, HotSpot, Jumps, Mixture, MixtureLine, Precondition, Regions, Zone, ZoneCycle, ZoneSize,
};
pub use arrival::{Arrival, KindRates, Pace, RatedThinkTime, Schedule, Stop};
pub use backend::{BackendKind, BusyOptions, BusyWork, IoFlags, RingOptions};
pub use cache::{Cache, CacheStamp};
pub use checkpoint::{CheckpointCycles, CheckpointDue, CheckpointReading};
pub use classic::{
    BonniePhase, BonnieTerms, ClassicStep, ClassicTerms, DdStep, DdTerms, IozoneTerms, IozoneTest,
    MetadataStep,
};
pub use concluded::{Concluded, Conclusion, real};
pub use configuration::{Configuration, ConfigurationNote, HostSettings};
pub use database::{DatabaseFacts, DatabaseUse, Durability, Physical, TimedBy};
pub use error_cause::{ErrorArea, ErrorCause, ErrorOrigin};
pub use event::{Event, NullSink, Sink, View};
pub use fault::{ErrorClass, ErrorTally, KindLimit, OnError, Stuck};
pub use host_limit::{GeneratorUse, HostLimit};
pub use iometer::{
    AccessLine, AccessSpec, IometerComparison, IometerComparisonPoint, IometerLoad, IometerPoint,
    IometerTerms, IometerWorker,
};
pub use job::{Job, JobTask};
pub use kind::{OpClass, OpKind, PerKind, TooManyKinds};
pub use latency::{
    LatencyAnswer, LatencyTarget, LatencyTerms, Load, LoadParameter, Try, TryOutcome, TryPurpose,
};
pub use listen_address::listen_address;
pub use load::{Contents, Duplicates, Fill, Lifetime, SizeLaw, Sizes, WeightedSize};
pub use log_copy::{CopiedWrites, LogCopy};
pub use metadata::{MetadataOperation, MetadataTask};
pub use observed_database::{ObservationGap, ObservedDatabase};
pub use oplog::{LoggedOperation, OperationLog};
pub use parse::ParseError;
pub use phase::Task;
pub use phase_task::{Layer, PhaseTask};
pub use priority::{IoClass, IoPriority, Prioritized, PriorityShare};
pub use profile::{Criterion, Floor, Measure, Profile, Rate};
pub use pts::{
    PtsCell, PtsClass, PtsDemand, PtsDevice, PtsPhase, PtsPoint, PtsPreWrite, PtsPurge, PtsPurged,
    PtsResumed, PtsSection, PtsStage, PtsStep, PtsTerms, PtsTest, PtsWriteCache, composite_sizes,
};
pub use ramp::Ramp;
pub use ran::{DbOperation, DbTask};
pub use reading::{Reading, ReadingKind, ReadingValue};
pub use record::{
    Calibration, Ending, HistogramBytes, Interval, OpTotals, Outstanding, Percentiles, PhaseEnd, PhaseInfo,
    PhaseRelease, RateKept, RunId, RunInfo, Stage, Usage, WorkerTotals,
};
pub use result_table::{ResultTable, TableCell, TableColumn, TableRow, TableUnit};
pub use stalls::{
    BlockClass, BlockLatency, BlockRequest, StallCause, StallParts, StalledOperation, StallsBeside,
    StallsFound,
};
pub use storage::{Device, DeviceCounters, DiskCounts, DiskUse, Filesystem, Host, Storage};
pub use study::{
    BlockPoint, CachePoint, CacheWay, Order, ReadAheadPoint, StudyFinding, StudySetting, StudyWindow,
};
pub use sweep::{JudgedStep, SweepEnd, SweepTerms};
pub use target::{
    Donor, ExistingTarget, FileLock, FileOrder, FileTarget, FilesTarget, LayOut, NamedFile, Overwrite,
    Reserve, Target,
};
pub use task::{
    Advice, Batch, FileTask, Flow, MemoryPolicy, Mix, OpenSync, PageCache, Placement, RangeSync, Start,
    SyncMethod, SyncRule, Watch, WriteDurability,
};
pub use tproc_c::{
    TprocCChecked, TprocCCondition, TprocCCounted, TprocCCounts, TprocCDatabase, TprocCTask, TprocCViolation,
};
pub use trace::{Trace, TracedKind, TracedKinds, TracedOp};
pub use units::{Bandwidth, Bytes, Iops, Nanos, Quantile, UnitError};
pub use verdict::{Fitness, Reason, ReasonUnit, Statistic, Verdict};
pub use verify::{Checksum, Damage, Finding, FioChecksum, Verified, Verify};
pub use waits::{Blocker, HotPage, StatementShare, WaitShare, WaitsFound};
pub use warning::Warning;
pub use write_plan::{DriveWear, WritePlan};
pub use zoned::{ZoneResets, Zoned};

/// Version of this data as stored and printed; raised when a field changes its meaning.
pub const MODEL_VERSION: u32 = 1;
