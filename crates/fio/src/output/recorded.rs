//! What a run of fio's jobs records besides its phases, and the results that are put together from it.

use iolite_model::{Conclusion, DiskUse, Ending, Nanos, RunInfo, Task};
use iolite_report::Style;
use iolite_results::{PhaseDetail, Run};
use serde::{Deserialize, Serialize};

use super::blocks::BlockResult;
use super::idle::Idleness;
use super::result::{JobResult, Results, SteadyResult};
use super::terse::TerseVersion;
use super::{has_text, output};
use crate::language::command_line::Format;
use crate::language::thread::ThreadFacts;

/// What the outputs of a run are to be: recorded when it begins.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FioRequest {
    /// The version that is reported, for example `fio-3.42-iolite`.
    pub version: String,
    /// The formats that were asked for.
    pub formats: Vec<Format>,
    /// The version of the terse format.
    pub terse_version: TerseVersion,
    /// Settings of global sections, by canonical name, as written.
    pub global_settings: Vec<(String, String)>,
    /// The lines that normal output begins with: the jobs, the version, the number of processes.
    pub header: String,
}

impl Conclusion for FioRequest {
    const KIND: &'static str = "fio";
}

/// What came of a thread besides its phase: one for each thread, recorded at the end.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct JobEnd {
    /// What the thread was.
    pub facts: ThreadFacts,
    /// Its phase; `None` where it has not begun.
    pub phase: Option<u32>,
    /// What it would have done, where it has not begun.
    pub task: Option<Task>,
    /// When it started, where it has not begun: when it was given up, since 1970.
    pub started_unix: Nanos,
    /// Error number that it ended with, 0 if none.
    pub error: i32,
    /// How it ended, where its phase does not say so.
    pub ending: Option<Ending>,
    /// Errors that it went on after: their number, and the number of the first one's cause.
    pub continued: Option<(u64, i32)>,
    /// What came of the search for a steady state.
    pub steady: Option<SteadyResult>,
    /// What came of the blocks (`block_error_percentiles`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocks: Option<BlockResult>,
    /// The depth that a latency target ended at.
    pub depth: Option<u32>,
}

impl Conclusion for JobEnd {
    const KIND: &'static str = "fio-job";
}

/// The end of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FioEnd {
    /// When the results were put together, since 1970.
    pub ended_unix: Nanos,
    /// What the block devices beneath did meanwhile.
    pub disks: Vec<DiskUse>,
    /// How idle the CPUs were, where it was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle: Option<Idleness>,
}

impl Conclusion for FioEnd {
    const KIND: &'static str = "fio-ended";
}

impl JobResult {
    /// The result of a thread, from what a run says; `None` where its phase is missing, which a run that was cut short and
    /// changed by hand may be.
    pub fn of(ended: &JobEnd, run: &Run) -> Option<JobResult> {
        let not_begun =
            |task, started| JobResult::not_begun(ended.facts.clone(), task, run.info.process, started);
        let mut result = match ended.phase {
            None => not_begun(ended.task.clone()?, ended.started_unix),
            Some(number) => {
                let phase = run.phases.iter().find(|phase| phase.info.index == number)?.clone();
                let PhaseDetail { read_back, usage, detail } = PhaseDetail::of(run, number);
                let started = run.released.get(&number).copied().unwrap_or(ended.started_unix);
                let begun = not_begun(phase.info.task.clone(), started);
                JobResult { phase, detail, read_back, usage, ..begun }
            }
        };
        if let Some(ending) = &ended.ending {
            result.phase.end.ending = ending.clone();
        }
        (result.error, result.continued) = (ended.error, ended.continued);
        (result.steady, result.depth) = (ended.steady.clone(), ended.depth);
        result.blocks.clone_from(&ended.blocks);
        Some(result)
    }
}

impl Results {
    /// The results of a run of fio's jobs, live or read back; `None` where it is none, or was cut short.
    pub fn of(run: &Run) -> Option<Results> {
        let asked: FioRequest = run.concluded().next()?;
        let FioEnd { ended_unix, disks, idle } = run.concluded().last()?;
        let jobs = run.concluded::<JobEnd>().map(|ended| JobResult::of(&ended, run));
        Some(Results {
            version: asked.version,
            ended_unix,
            global_settings: asked.global_settings,
            jobs: jobs.collect::<Option<_>>()?,
            disks,
            idle,
            run: run.info.clone(),
            calibration: run.calibration.clone(),
            warnings: run.warnings.clone(),
            ending: run.ending.clone().unwrap_or(Ending::Interrupted),
        })
    }

    /// The results of jobs that still run, as far as they are known.
    pub fn so_far(asked: &FioRequest, jobs: &[JobResult], run: &RunInfo, now_unix: Nanos) -> Results {
        Results {
            version: asked.version.clone(),
            ended_unix: now_unix,
            global_settings: asked.global_settings.clone(),
            jobs: jobs.to_vec(),
            disks: Vec::new(),
            idle: None,
            run: run.clone(),
            calibration: None,
            warnings: Vec::new(),
            ending: Ending::Completed,
        }
    }
}

impl FioRequest {
    /// Results in all formats that were asked for.
    pub fn render(&self, results: &Results) -> String {
        output(results, &self.formats, self.terse_version)
    }
}

/// What a run of fio's jobs printed, in the formats that were asked for, its text followed by what was sampled during the run; or in
/// JSON alone. `None` where it is no such run, or was cut short before its results were put together.
pub fn show(run: &Run, json: bool, style: Style) -> Option<String> {
    let mut asked: FioRequest = run.concluded().next()?;
    let results = Results::of(run)?;
    if json {
        let plus = asked.formats.contains(&Format::JsonPlus);
        asked.formats = vec![if plus { Format::JsonPlus } else { Format::Json }];
    }
    let rendered = asked.render(&results);
    if !has_text(&asked.formats) {
        return Some(rendered);
    }
    let meanwhile = iolite_report::meanwhile(run, style);
    let apart = if meanwhile.is_empty() { "" } else { "\n" };
    Some(format!("{}{rendered}{apart}{meanwhile}", asked.header))
}
