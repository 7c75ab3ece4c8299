//! What a result or a job leaves uncertain, or puts at risk: one type, with its words and what it concludes from figures that
//! results of fio and of iolite both have.

use std::fmt;

use iolite_model::{Bytes, Iops, Nanos};

use super::tree::{Figure, Unit};

/// Shorter is no measurement, in seconds.
const SHORT: f64 = 1.0;

/// Reads faster than any device responds, in nanoseconds.
const MEMORY_NS: f64 = 4000.0;

/// A caveat. Its text says what is uncertain, and what to do.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub(super) enum Caveat {
    #[error("error {0:.0}: the job ended with this error; the figures describe the time before it")]
    JobError(f64),
    #[error("{0:.0} operations failed and are not included in any rate; see the kernel log (dmesg)")]
    JobFailures(f64),
    #[error("operations failed, see `errors` (--all)")]
    Failures,
    #[error("the phase failed: the figures describe the time before the failure")]
    PhaseFailed,
    #[error("the phase was interrupted: the figures describe the time before the interruption")]
    PhaseInterrupted,
    #[error("operations never completed: the device hangs; see the kernel log (dmesg)")]
    NeverCompleted,
    #[error("data read differs from data written")]
    WrongData,
    #[error("steady state was not reached: performance was still changing when the figures were measured")]
    NotSteady,
    #[error("{0} are too short to be meaningful: use a runtime of 30 s or more")]
    TooShort(Figure),
    #[error(
        "{operations} operations are too few for percentiles from p{percent} on, which need about {needed}"
    )]
    TooFew { operations: Figure, percent: f64, needed: Figure },
    #[error("too few operations for {0}")]
    Unresolved(String),
    #[error("{0:.0} operations {1}")]
    Incomplete(f64, &'static str),
    #[error(
        "the slowest {interval} had {min}, compared with a mean of {mean}: a stall, or a change of state (a full write \
         cache, garbage collection)"
    )]
    SlowInterval { interval: &'static str, min: Figure, mean: Figure },
    #[error("the {what} varied by {percent:.0} %: unsteady, check it over time{how}")]
    Unsteady { what: &'static str, percent: f64, how: &'static str },
    #[error("the rate is uncertain by {0:.0} %: too short, or unsteady")]
    Uncertain(f64),
    #[error("bw_mean ({mean}) and bw ({exact}) differ, because they are sampled separately; bw is exact")]
    SampledApart { mean: Figure, exact: Figure },
    #[error(
        "the rate changed permanently {at} after the start, from {before} to {after} IOPS: a change of state (burst \
         credits, a throttle, a full write cache, garbage collection); the mean describes neither level"
    )]
    LevelShift { at: Figure, before: Figure, after: Figure },
    #[error(
        "almost no operations completed for {length}, {at} after the start: a stall; see the kernel log (dmesg)"
    )]
    Stall { length: Figure, at: Figure },
    #[error(
        "the rate oscillates with a period of {period} by {amplitude} of its mean: checkpoints, write-back or a throttle"
    )]
    Periodic { period: Figure, amplitude: Figure },
    #[error(
        "p99 is {p99}, {:.0} times the mean of {mean}: the mean hides how long one operation in a hundred takes",
        .p99.0 / .mean.0
    )]
    Tail { p99: Figure, mean: Figure },
    #[error("one operation took {0}: a stall; see the kernel log (dmesg)")]
    Longest(Figure),
    #[error("fio's percentiles end at 17.1 s; what took longer is reported as that (the maximum is exact)")]
    Clipped,
    #[error(
        "handing operations over took longer ({submission}) than waiting for them ({completion}): the submission blocks, as \
         it does through the page cache or with a full device queue"
    )]
    SubmissionBlocks { submission: Figure, completion: Figure },
    #[error(
        "total latency ({total}) is more than submission and completion together ({parts}): the time between is the \
         program's own, too many jobs for the CPUs"
    )]
    OwnTime { total: Figure, parts: Figure },
    #[error("served from memory, not from the device")]
    Cached,
    #[error("{0} was served by a cache")]
    CachedShare(Figure),
    #[error("it is not known whether the device was reached: {0}")]
    CacheUnknown(&'static str),
    #[error(
        "cached: only {:.0} % of the bytes that all jobs read came from the device; the rest was served from memory \
         (no direct=1)",
        .0 * 100.0
    )]
    DeviceShare(f64),
    #[error("cached: a mean of {mean} is that of memory, not of a device ({without})")]
    TimeOfMemory { mean: Figure, without: &'static str },
    #[error(
        "reads went through the page cache ({0}): part of them may come from memory, and sequential ones from \
         read-ahead"
    )]
    BufferedReads(&'static str),
    #[error(
        "writes went through the page cache ({without}): they complete when the data is in memory, unless {unless} is set"
    )]
    BufferedWrites { without: &'static str, unless: &'static str },
    #[error(
        "zeros were written{0}: storage that compresses, deduplicates or detects zeros stored almost nothing"
    )]
    Zeros(&'static str),
    #[error(
        "iodepth={asked} had no effect: the engine {engine} has only one operation in flight; use io_uring or libaio, or \
         numjobs"
    )]
    DepthWithoutEffect { asked: u64, engine: String },
    #[error("iodepth={asked} was not reached: {alone:.0} % of the time one operation was outstanding; {why}")]
    DepthLevels { asked: u64, alone: f64, why: &'static str },
    #[error(
        "{asked:.0} outstanding operations were not reached: {in_flight:.1} were in flight on average (rate x response \
         time); submission blocks ({engine}), or iolite was the limit"
    )]
    DepthNotReached { asked: f64, in_flight: f64, engine: String },
    #[error("the requested rate was not reached: response times grew over time and depend on the duration")]
    RateNotReached,
    #[error(
        "with a rate, fio measures latency from the issue of an operation, not from its scheduled start: waiting behind \
         slow operations is not included (coordinated omission), so percentiles are too low if the rate was not reached"
    )]
    CoordinatedOmission,
    #[error(
        "CPU bound: {:.0} % of a CPU ({user:.0} % program, {system:.0} % kernel): the job's thread was the limit, not the \
         storage; use more jobs (numjobs)",
        .user + .system
    )]
    CpuBound { user: f64, system: f64 },
    #[error(
        "the busiest device was busy for only {0:.0} % of the time: the storage was not the limit; use more outstanding \
         operations, or more jobs, for a higher rate (start and layout also count as idle)"
    )]
    IdleDevice(f64),

    // Of a job, before it is run.
    #[error("overwrites {}; its contents are lost{}", .paths.join(", "), unless(*.unless_found))]
    Overwrites { paths: Vec<String>, unless_found: bool },
    #[error(
        "writes complete when the data is in the page cache{}: {}, or sync",
        if *.end_sync { " and synced only at the end" } else { "" },
        remedy(*.mapped)
    )]
    WritesCached { end_sync: bool, mapped: bool },
    #[error(
        "the page cache is not bypassed: the kernel's read-ahead determines the requests to the device; {}",
        remedy(*.mapped)
    )]
    ReadAhead { mapped: bool },
    #[error(
        "the page cache is not bypassed and all {span} fit into the memory of this host ({memory}): after the first pass, \
         reads are served from memory; {}",
        remedy(*.mapped)
    )]
    FitsMemory { span: Bytes, memory: Bytes, mapped: bool },
    #[error("the page cache is not bypassed and serves a part of the reads: {}", remedy(*.mapped))]
    ReadsCached { mapped: bool },
    #[error("all {span} may fit into a cache of the device or the host: use {wanted} or more")]
    SmallRegion { span: Bytes, wanted: Bytes },
    #[error(
        "{0}: storage that compresses, deduplicates or detects zeros stores almost nothing; write new random data each \
         time (refill_buffers)"
    )]
    Contents(&'static str),
    #[error(
        "{depth} outstanding operations with the engine {engine}, which supports only one: use io_uring or libaio, or more \
         workers (numjobs)"
    )]
    SynchronousEngine { depth: u32, engine: &'static str },
    #[error("libaio is asynchronous only with direct I/O: without it, one operation is outstanding")]
    BufferedLibaio,
    #[error(
        "{rate} operations per second are requested: response times are measured from the scheduled start, so they include \
         waiting behind slow operations; fio measures from the issue and reports lower latencies if the rate is not reached \
         (at most {outstanding} outstanding)"
    )]
    ScheduledStart { rate: Iops, outstanding: u32 },
    #[error("{0} is short: the state of caches and flash changes over minutes; use 60 s or more")]
    ShortRuntime(Nanos),
    #[error(
        "writes complete when the data is in the cache of the device: a database also waits for a sync (fdatasync=1, \
         sync=dsync)"
    )]
    NotSynced,
    #[error(
        "direct I/O in blocks of {0} fails on devices with 4 KiB blocks, and causes read-modify-write on others"
    )]
    SmallBlock(Bytes),
    #[error(
        "random writes without preconditioning or ramp: fresh flash is faster; write the whole device twice first, or use a \
         ramp (ramp_time)"
    )]
    Fresh,
    #[error(
        "every run reads the same random offsets (randrepeat), and the page cache is not dropped first (invalidate=0): the \
         second run reads from memory"
    )]
    SameOffsets,
    #[error(
        "{0} tasks read the same blocks sequentially: all but the first are served from a cache; give each its own region \
         (offset_increment)"
    )]
    TasksRead(usize),
    #[error(
        "{0} tasks write to the same file: they overwrite each other's blocks, and the file system serializes them"
    )]
    TasksWrite(usize),
    #[error("{0} workers read the same blocks concurrently: all but the first are served from a cache")]
    WorkersRead(u32),
}

fn unless(found: bool) -> &'static str {
    if found { ", unless data is found in its first or last MiB" } else { "" }
}

fn remedy(mapped: bool) -> &'static str {
    if mapped { "use another engine with direct I/O" } else { "add direct I/O (direct=1)" }
}

/// A caveat with what it is about.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Subject {
    /// Names of tasks, or a kind of operation; empty if it is about the whole.
    pub(super) names: Vec<String>,
    pub(super) caveat: Caveat,
}

impl From<Caveat> for Subject {
    fn from(caveat: Caveat) -> Self {
        Self { names: Vec::new(), caveat }
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let separator = if self.names.is_empty() { "" } else { ": " };
        write!(f, "{}{separator}{}", self.names.join(", "), self.caveat)
    }
}

impl Caveat {
    /// About tasks of this name, or operations of this kind.
    pub(super) fn of(self, name: &str) -> Subject {
        Subject { names: vec![name.to_owned()], caveat: self }
    }

    /// A measurement of this length.
    pub(super) fn of_length(seconds: f64) -> Option<Self> {
        (seconds < SHORT).then_some(Self::TooShort(Figure(seconds, Unit::Seconds)))
    }

    /// What the times of operations leave open, in nanoseconds.
    pub(super) fn of_times(mean: f64, p99: f64, max: f64) -> impl Iterator<Item = Self> {
        let nanos = |value| Figure(value, Unit::Nanos);
        let tail =
            (mean > 0.0 && p99 > mean * 5.0).then_some(Self::Tail { p99: nanos(p99), mean: nanos(mean) });
        tail.into_iter().chain((max > 1e9).then_some(Self::Longest(nanos(max))))
    }

    /// Reads through the page cache with this mean time in nanoseconds, and what the job is without.
    pub(super) fn of_buffered_reads(mean: f64, without: &'static str) -> Self {
        if mean > 0.0 && mean < MEMORY_NS {
            return Self::TimeOfMemory { mean: Figure(mean, Unit::Nanos), without };
        }
        Self::BufferedReads(without)
    }
}
