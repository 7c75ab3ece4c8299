//! `latency_target`: the largest queue depth that keeps a latency, searched in windows.
//!
//! fio changes the depth within one run; here each window is a phase of its own, so that nothing of one load is counted with
//! another. What is reported of the job is the last window at the depth that was found.

use iolite_model::errno::{EINVAL, EIO};
use iolite_model::{FileTask, JobTask, LatencyTarget, Load};
use iolite_results::Run;
use iolite_stats::PhaseResult;
use iolite_suites::{LatencyConclusion, LatencyFound, LatencySearch, LatencyStep};

use super::failure::Failure;

/// A search in progress.
pub(super) struct Search {
    search: LatencySearch,
    /// The phases of its windows, in order.
    windows: Vec<u32>,
}

/// What comes next.
pub(super) enum Searched {
    /// A window with this task.
    Window(Box<FileTask>),
    /// The answer: the phase of its window, and the depth.
    Found { phase: u32, depth: u32 },
    /// There is none.
    Failed(Failure),
}

impl Search {
    /// A search with the load of a task.
    ///
    /// # Errors
    /// The target is invalid for the task.
    pub(super) fn new(task: &JobTask, target: LatencyTarget) -> Result<Search, Failure> {
        let refused = |reason: String| Failure { number: EINVAL, reason };
        let JobTask::Io(base) = task else {
            return Err(refused("latency_target is for jobs that read or write".into()));
        };
        let search =
            LatencySearch::new((**base).clone(), target).map_err(|error| refused(error.to_string()))?;
        Ok(Search { search, windows: Vec::new() })
    }

    /// The phase of the last window.
    pub(super) fn last(&self) -> Option<u32> {
        self.windows.last().copied()
    }

    /// The next step, from what the run says of the windows so far; the next phase has the number `first`.
    pub(super) fn next(&mut self, run: &Run, first: u32) -> Searched {
        let of = |window: &u32| run.phases.iter().find(|phase| phase.info.index == *window).cloned();
        let history: Vec<PhaseResult> = self.windows.iter().filter_map(of).collect();
        match self.search.next(&history) {
            LatencyStep::Run(task) => {
                self.windows.push(first);
                Searched::Window(task)
            }
            LatencyStep::Done(found) => self.conclude(&found),
        }
    }

    fn conclude(&self, found: &LatencyFound) -> Searched {
        let load = match &found.conclusion {
            LatencyConclusion::Found { load, .. } => *load,
            LatencyConclusion::NoneKept { lowest } => *lowest,
            LatencyConclusion::Failed(failure) => {
                return Searched::Failed(Failure { number: EIO, reason: failure.to_string() });
            }
        };
        let answering = found.tries.iter().rposition(|tried| tried.load == load);
        let depth = match load {
            Load::Depth(depth) => depth,
            Load::Rate(_) => 1,
        };
        match answering.and_then(|index| self.windows.get(index)) {
            Some(&phase) => Searched::Found { phase, depth },
            None => {
                let reason = "the search for the latency target has no window".into();
                Searched::Failed(Failure { number: EIO, reason })
            }
        }
    }
}
