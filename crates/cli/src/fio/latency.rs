//! `latency_target`: the largest queue depth that keeps a latency, searched in windows.
//!
//! fio changes the depth within one run; here each window is a phase of its own, so that nothing of one load is counted with
//! another. What is told of the job is the last window at the depth that was found.

use anyhow::anyhow;
use iolite_fio::language::Thread;
use iolite_fio::output::JobResult;
use iolite_model::{JobTask, LatencyTarget, Load};
use iolite_stats::PhaseResult;
use iolite_suites::{LatencyConclusion, LatencyFound, LatencySearch, LatencyStep};

use super::perform::{Performance, failed};

/// Searches, and returns the result of the window that answers.
pub(super) fn search(
    performance: &mut Performance<'_, '_>,
    thread: &Thread,
    target: LatencyTarget,
) -> JobResult {
    let JobTask::Io(base) = &thread.task else {
        return failed(thread, &anyhow!("latency_target is for jobs that read or write"));
    };
    let search = match LatencySearch::new((**base).clone(), target) {
        Ok(search) => search,
        Err(error) => return failed(thread, &anyhow!(error)),
    };
    let (mut windows, mut history): (Vec<JobResult>, Vec<PhaseResult>) = (Vec::new(), Vec::new());
    loop {
        match search.next(&history) {
            LatencyStep::Run(task) if !performance.control.interrupted() => {
                let window = Thread { task: JobTask::Io(task), ..thread.clone() };
                let Some(result) = performance.run(std::slice::from_ref(&window)).pop() else { break };
                history.push(result.phase.clone());
                windows.push(result);
            }
            LatencyStep::Run(_) => break,
            LatencyStep::Done(found) => return conclude(thread, windows, &found),
        }
    }
    windows.pop().unwrap_or_else(|| failed(thread, &anyhow!("interrupted")))
}

fn conclude(thread: &Thread, mut windows: Vec<JobResult>, found: &LatencyFound) -> JobResult {
    let (load, failure) = match &found.conclusion {
        LatencyConclusion::Found { load, .. } => (Some(*load), None),
        LatencyConclusion::NoneKept { lowest } => (Some(*lowest), None),
        LatencyConclusion::Failed(failure) => (None, Some(anyhow!("{failure}"))),
    };
    if let Some(failure) = failure {
        return failed(thread, &failure);
    }
    let answering = found.tries.iter().rposition(|tried| Some(tried.load) == load);
    let index = answering.filter(|index| *index < windows.len());
    let Some(mut result) = index.map(|index| windows.swap_remove(index)) else {
        return failed(thread, &anyhow!("the search for the latency target has no window"));
    };
    result.depth = load.map(|load| match load {
        Load::Depth(depth) => depth,
        Load::Rate(_) => 1,
    });
    result
}
