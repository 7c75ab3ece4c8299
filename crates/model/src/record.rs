//! What came of it: facts as they are measured and stored. Estimates are derived from these, never stored.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::cache::Cache;
use crate::fault::{ErrorTally, Stuck};
use crate::kind::OpKind;
use crate::phase::Task;
use crate::storage::{Host, Storage};
use crate::units::{Iops, Nanos};
use crate::verify::Verified;

/// Identifies a run: its UTC start and a random suffix, for example `20261120T160301-3f2a91c0`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RunId(pub String);

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// What is known when a run starts.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct RunInfo {
    /// The run.
    pub id: RunId,
    /// Version of the program.
    pub version: String,
    /// Version of this data ([`MODEL_VERSION`](crate::MODEL_VERSION)).
    pub model_version: u32,
    /// The command line as given.
    pub command: Vec<String>,
    /// Start, in nanoseconds since 1970 (UTC).
    #[serde(rename = "started_unix_ns")]
    pub started_unix: Nanos,
    /// Process that measures.
    pub process: u32,
    /// The machine.
    pub host: Host,
    /// The storage under test.
    pub storage: Storage,
}

/// The overhead of the measuring program: stored with each run so that its share is known.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Calibration {
    /// Clock in use: `tsc` or `clock_monotonic`.
    pub clock: String,
    /// Cost of one reading of the clock, in nanoseconds.
    pub clock_cost_ns: f64,
    /// Smallest step the clock was seen to make.
    #[serde(rename = "clock_resolution_ns")]
    pub clock_resolution: Nanos,
    /// Cost of one operation of the measured loop on the null back end with everything recorded, in nanoseconds.
    pub loop_cost_ns: f64,
}

/// A phase as it starts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PhaseInfo {
    /// Number within the run, from 0.
    pub index: u32,
    /// What is done.
    pub task: Task,
    /// Start, since the run's start on the monotonic clock.
    pub started: Nanos,
}

/// The instant that a phase's times are counted from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct PhaseRelease {
    /// Number of the phase.
    pub phase: u32,
    /// That instant, since 1970 (UTC): after all that had to be made ready, and after the phase's delay.
    pub at_unix: Nanos,
}

/// Which part of a phase an interval belongs to; ordered by time.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, strum::IntoStaticStr,
)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Stage {
    /// Warming up: not in the totals.
    Ramp,
    /// Measured: the totals are the sum of these.
    Measured,
    /// Completions after the end was called: not in the totals.
    Drain,
}

impl Stage {
    /// As stored and printed: `ramp`, `measured`, `drain`.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// A histogram of nanoseconds in the HdrHistogram V2 encoding (uncompressed), which any HdrHistogram tool reads.
///
/// In JSON it is base64 text, as HdrHistogram's own logs have it.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct HistogramBytes(pub Vec<u8>);

impl Serialize for HistogramBytes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&BASE64.encode(&self.0))
    }
}

impl<'de> Deserialize<'de> for HistogramBytes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<HistogramBytes, D::Error> {
        let text = String::deserialize(deserializer)?;
        BASE64.decode(text).map(HistogramBytes).map_err(serde::de::Error::custom)
    }
}

impl fmt::Debug for HistogramBytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "HistogramBytes({} bytes)", self.0.len())
    }
}

/// Counts of one kind of operation over an interval or a phase.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpTotals {
    /// Kind of operation.
    pub kind: OpKind,
    /// Operations completed without error.
    pub operations: u64,
    /// Bytes transferred by them.
    pub bytes: u64,
    /// Operations that failed or transferred fewer bytes than requested.
    pub errors: u64,
    /// Sum of the response times, for exact means.
    pub response_sum: Nanos,
    /// Sum of the delays of the starts (issued minus intended): response times minus these are the service times.
    #[serde(default)]
    pub delay_sum: Nanos,
    /// Largest response time, exact.
    pub response_max: Nanos,
    /// Response times: completed minus intended.
    pub response: HistogramBytes,
    /// Service times: completed minus issued.
    pub service: HistogramBytes,
}

/// Counts of all workers together over one interval of a phase.
///
/// A worker that was held up by its device delivers its share late, as a further `Interval` with the same start: the
/// counts of all `Interval`s with one start add up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Interval {
    /// Phase it belongs to.
    pub phase: u32,
    /// Start since the phase's start.
    pub start: Nanos,
    /// Length; intervals with different starts do not overlap.
    pub length: Nanos,
    /// Which part of the phase.
    pub stage: Stage,
    /// One entry per kind of operation that occurred.
    pub ops: Vec<OpTotals>,
}

/// Totals of one worker over the measured part of a phase.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkerTotals {
    /// Phase it belongs to.
    pub phase: u32,
    /// Worker, from 0.
    pub worker: u32,
    /// Measured time.
    pub length: Nanos,
    /// One entry per kind of operation that occurred.
    pub ops: Vec<OpTotals>,
    /// Percentiles of each kind's response times, for those who can't read histograms; empty in older data.
    #[serde(default)]
    pub percentiles: Vec<Percentiles>,
}

/// Percentiles of the response times of one kind of operation, from its histogram; the longest is beside that.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Percentiles {
    /// Kind of operation.
    pub kind: OpKind,
    /// Half of the operations took no longer.
    pub p50: Nanos,
    /// 95 % of them.
    pub p95: Nanos,
    /// 99 % of them.
    pub p99: Nanos,
    /// 99.9 % of them.
    pub p999: Nanos,
}

/// How a run or a phase ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ending {
    /// As planned.
    Completed,
    /// By the user, a signal or a crash; what was measured is kept.
    Interrupted,
    /// By an error, which is said.
    Failed(String),
}

impl Ending {
    /// As in documents and in the store.
    pub const fn name(&self) -> &'static str {
        match self {
            Ending::Completed => "completed",
            Ending::Interrupted => "interrupted",
            Ending::Failed(_) => "failed",
        }
    }

    /// The error of a failure.
    pub fn error(&self) -> Option<&str> {
        match self {
            Ending::Failed(error) => Some(error),
            Ending::Completed | Ending::Interrupted => None,
        }
    }

    /// The state of a run that has ended so, or has not ended.
    pub fn state(ending: Option<&Ending>) -> &'static str {
        ending.map_or("running", Ending::name)
    }
}

/// Operations that had not completed when a phase's time was up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Outstanding {
    /// Operations in flight at the end of the measured time.
    pub at_end: u64,
    /// Of these, the ones given up on: they never completed while the program waited.
    pub lost: u64,
    /// Age of the oldest when it completed or was given up.
    #[serde(rename = "oldest_ns")]
    pub oldest: Nanos,
    /// In an open loop: operations that were due by the end of the measured time but not yet issued.
    pub backlog: u64,
}

impl Outstanding {
    /// Adds another worker's.
    pub fn add(&mut self, other: Outstanding) {
        self.at_end += other.at_end;
        self.lost += other.lost;
        self.backlog += other.backlog;
        self.oldest = self.oldest.max(other.oldest);
    }
}

/// What the measuring program itself used of the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Usage {
    /// CPU time in user mode.
    pub user: Nanos,
    /// CPU time in the kernel.
    pub system: Nanos,
    /// Context switches, voluntary and not.
    pub context_switches: u64,
    /// Page faults that needed I/O.
    pub major_faults: u64,
    /// Page faults that needed none.
    pub minor_faults: u64,
    /// CPU time of the worker that used most.
    #[serde(default)]
    pub busiest: Nanos,
    /// Longest time that one worker was ready to run but waited for a CPU.
    #[serde(default)]
    pub longest_run_delay: Nanos,
}

impl Usage {
    /// Adds another worker's.
    pub fn add(&mut self, other: Usage) {
        self.user.0 += other.user.0;
        self.system.0 += other.system.0;
        self.context_switches += other.context_switches;
        self.major_faults += other.major_faults;
        self.minor_faults += other.minor_faults;
        self.busiest = self.busiest.max(other.busiest);
        self.longest_run_delay = self.longest_run_delay.max(other.longest_run_delay);
    }
}

/// A phase as it ends.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PhaseEnd {
    /// The phase.
    pub phase: u32,
    /// How it ended.
    pub ending: Ending,
    /// Measured time, the ramp excluded.
    pub measured: Nanos,
    /// What had not completed by then.
    pub outstanding: Outstanding,
    /// How much of what was requested reached the device.
    pub cache: Cache,
    /// Errors of operations by kind and class.
    pub errors: Vec<ErrorTally>,
    /// The operations that were given up on, the oldest first.
    pub stuck: Vec<Stuck>,
    /// In an open loop: whether the requested rate was reached.
    pub rate: Option<RateKept>,
    /// What verification found, where it was asked for.
    pub verified: Option<Verified>,
}

/// The rate of an open loop: asked for, and achieved over the measured part.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct RateKept {
    /// Operations per second asked for.
    #[serde(rename = "asked_iops")]
    pub asked: Iops,
    /// Operations per second that were completed, failed ones included.
    #[serde(rename = "achieved_iops")]
    pub achieved: Iops,
    /// Operations that were due by the end but not yet issued.
    pub backlog: u64,
    /// Whether that is the rate asked for: the backlog is no more than chance explains.
    pub kept: bool,
}
