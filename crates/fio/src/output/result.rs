//! What came of jobs, as plain data: the outputs' input.

use super::blocks::BlockResult;
use super::idle::Idleness;
use crate::language::thread::ThreadFacts;
use iolite_model::{
    Cache, Calibration, DiskUse, Ending, Nanos, Outstanding, PhaseEnd, PhaseInfo, RunInfo, Task, Usage,
    Warning,
};
use iolite_stats::{Detail, PhaseResult, PhaseTotals};
use serde::{Deserialize, Serialize};

/// All that is to be reported.
#[derive(Debug, Clone, PartialEq)]
pub struct Results {
    /// The version that is reported, for example `fio-3.42-iolite`.
    pub version: String,
    /// When the results were put together, since 1970.
    pub ended_unix: Nanos,
    /// Settings of global sections, by canonical name, as written.
    pub global_settings: Vec<(String, String)>,
    /// One per thread, in the order of their numbers.
    pub jobs: Vec<JobResult>,
    /// What the block devices beneath did meanwhile.
    pub disks: Vec<DiskUse>,
    /// How idle the CPUs were, where it was asked for.
    pub idle: Option<Idleness>,
    /// The machine and the storage.
    pub run: RunInfo,
    /// The program's own cost, where it was measured.
    pub calibration: Option<Calibration>,
    /// The warnings.
    pub warnings: Vec<Warning>,
    /// How it ended.
    pub ending: Ending,
}

/// What came of a thread.
#[derive(Debug, Clone, PartialEq)]
pub struct JobResult {
    /// What it was.
    pub thread: ThreadFacts,
    /// Its process, or the number that its thread had.
    pub process: u32,
    /// What was measured. Of a thread that could not begin, a phase with empty totals.
    pub phase: PhaseResult,
    /// Submission and completion apart, depths and batches; `None` where they weren't watched.
    pub detail: Option<Detail>,
    /// What reading back all that was written counted, where it was verified so.
    pub read_back: Option<PhaseTotals>,
    /// What it used of the machine.
    pub usage: Usage,
    /// When it started, since 1970: when all was ready and its delay was over.
    pub started_unix: Nanos,
    /// Error number that it ended with, 0 if none. Its words, where known, are in the phase's ending.
    pub error: i32,
    /// Errors that it went on after (`continue_on_error`): how many, and the number of the first.
    pub continued: Option<(u64, i32)>,
    /// What came of the search for a steady state, where one was asked for.
    pub steady: Option<SteadyResult>,
    /// What came of its blocks, where they were watched.
    pub blocks: Option<BlockResult>,
    /// The depth that a latency target ended at.
    pub depth: Option<u32>,
}

impl JobResult {
    /// The result of a thread that has not begun.
    pub fn not_begun(thread: ThreadFacts, task: Task, process: u32, started_unix: Nanos) -> JobResult {
        let number = thread.number;
        let end = PhaseEnd {
            phase: number,
            ending: Ending::Interrupted,
            measured: Nanos(0),
            outstanding: Outstanding::default(),
            cache: Cache::default(),
            errors: Vec::new(),
            stuck: Vec::new(),
            rate: None,
            verified: None,
        };
        let info = PhaseInfo { index: number, task, started: Nanos(0) };
        JobResult {
            thread,
            process,
            phase: PhaseResult { info, end, totals: PhaseTotals::default() },
            detail: None,
            read_back: None,
            usage: Usage::default(),
            started_unix,
            error: 0,
            continued: None,
            steady: None,
            blocks: None,
            depth: None,
        }
    }
}

/// What came of a search for a steady state.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct SteadyResult {
    /// Whether it was found.
    pub attained: bool,
    /// What was compared with the limit, last: in percent where that is.
    #[serde(with = "iolite_model::real")]
    pub criterion: f64,
    /// Largest deviation from the mean over the window.
    #[serde(with = "iolite_model::real")]
    pub max_deviation: f64,
    /// Slope over the window.
    #[serde(with = "iolite_model::real")]
    pub slope: f64,
    /// The last window.
    pub window: Vec<SteadyPoint>,
}

/// A value of the window of a steady state.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct SteadyPoint {
    /// Operations per second.
    #[serde(with = "iolite_model::real")]
    pub iops: f64,
    /// Bytes per second.
    #[serde(with = "iolite_model::real")]
    pub bytes: f64,
    /// Mean latency in nanoseconds.
    #[serde(with = "iolite_model::real")]
    pub latency: f64,
}

/// Whether the devices are shown: not where every job says `disk_util=0`.
pub(super) fn disks_wanted(results: &Results) -> bool {
    results.jobs.is_empty() || results.jobs.iter().any(|job| job.thread.reporting.disks)
}
