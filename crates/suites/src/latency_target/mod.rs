//! The largest load under which response times keep a bound: so many operations outstanding, or so many a second.
//!
//! Each try is a window of its own. The load is doubled from a low one until the bound is broken (a rate whose first try breaks
//! it is halved until it is kept), then the gap is halved, and what comes of it is tried once more: a load is an answer only if two
//! windows have kept the bound, and too high only if two in a row have broken it.
//!
//! A quantile is judged by operations and by time: a closed loop that stalls has few slow operations, but whoever comes at a random
//! instant waits (coordinated omission). Operations in flight and those that were due but not issued count. Where a window gives
//! too few operations for the quantile, it is repeated, and all that follow are as long as it takes, up to ten times what was
//! asked for.

mod caveat;
mod interval;
mod operations;
mod search;
mod windows;

use iolite_model::{
    Access, Arrival, Concluded, Ending, ErrorClass, FileTask, Iops, LatencyAnswer, LatencyTarget, Load,
    LoadParameter, Nanos, OnError, Quantile, Start, Stop, Target, Task, Try, TryOutcome, TryPurpose, Verify,
};
use iolite_results::Run;
use iolite_stats::PhaseResult;

use crate::job_list::JobList;
use crate::procedure::{Conclusions, Nothing, Procedure, Step};

use search::{Plan, Scale, State};
use windows::Window;

/// What to do next.
#[derive(Debug, Clone, PartialEq)]
pub enum LatencyStep {
    /// Run this and append its result to the history.
    Run(Box<FileTask>),
    /// All is measured.
    Done(Box<LatencyFound>),
}

/// The end of a search.
#[derive(Debug, Clone, PartialEq)]
pub struct LatencyFound {
    /// What was asked.
    pub target: LatencyTarget,
    /// The tries, in order.
    pub tries: Vec<Try>,
    /// What came of them.
    pub conclusion: LatencyConclusion,
}

/// What came of a search.
pub type LatencyConclusion = LatencyAnswer<LatencyFailure>;

/// Why a search could not go on.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum LatencyFailure {
    /// Operations failed.
    #[error(
        "with {load}, {errors} operations failed, the first with: {first}; {}", .class.cause()
    )]
    Errors {
        /// Load of the try.
        load: Load,
        /// How many.
        errors: u64,
        /// The first one's error.
        first: String,
        /// Its class.
        class: ErrorClass,
    },
    /// Operations never completed.
    #[error(
        "with {load}, {lost} operations had not completed after {age}: the device hangs; see the kernel log (dmesg)"
    )]
    Lost {
        /// Load of the try.
        load: Load,
        /// How many.
        lost: u64,
        /// Age of the oldest.
        age: Nanos,
    },
    /// A phase failed or was interrupted.
    #[error("with {load}, the window was not completed: {reason}")]
    Ended {
        /// Load of the try.
        load: Load,
        /// Why.
        reason: String,
    },
    /// The quantile would rest on too few operations.
    #[error(
        "with {load}, {quantile} would rest on only {operations} operations, but at least {needed} are needed: use windows of \
         {remedy} or longer"
    )]
    WindowTooShort {
        /// Load of the try.
        load: Load,
        /// The quantile asked for.
        quantile: Quantile,
        /// Operations in the window.
        operations: u64,
        /// The least that the quantile can rest on.
        needed: u64,
        /// A window in which so many would come together.
        remedy: Nanos,
    },
    /// No load was kept twice.
    #[error(
        "loads that meet the bound in one window exceed it in the next: the device is not in steady state; precondition it, or \
         use longer windows"
    )]
    Unsteady,
}

/// Why a search cannot be made.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum LatencyTargetError {
    /// The target is none.
    #[error("{0}")]
    Target(&'static str),
    /// The task cannot be run again and again with other loads.
    #[error("`{task}` cannot be used for a search: {reason}")]
    Task {
        /// The task's name.
        task: String,
        /// Why, and what would help.
        reason: &'static str,
    },
    /// The window is too short to judge the largest rate allowed.
    #[error(
        "in a window of {window}, a rate of at most {max} IOPS gives fewer operations than the {needed} needed for {quantile}: \
         use windows of {remedy} or longer, or a higher rate"
    )]
    WindowTooShort {
        /// Length of the windows.
        window: Nanos,
        /// The highest rate.
        max: Iops,
        /// The least that the quantile can rest on.
        needed: u64,
        /// The quantile.
        quantile: Quantile,
        /// A window that is long enough.
        remedy: Nanos,
    },
}

/// A search as a procedure: the tasks that prepare it, then its tries.
#[derive(Debug, Clone)]
pub struct LatencyProcedure {
    /// The tasks before, until they have ended.
    before: Option<JobList>,
    search: LatencySearch,
    /// Phases of the run before the first try.
    first: usize,
}

impl LatencyProcedure {
    /// A search that `before` prepares; a task of these that fails is the end.
    pub fn new(before: JobList, search: LatencySearch) -> LatencyProcedure {
        LatencyProcedure { before: Some(before), search, first: 0 }
    }
}

impl Procedure for LatencyProcedure {
    type Preparation = Nothing;

    fn next(&mut self, run: &Run, elapsed: Nanos) -> Step {
        if let Some(before) = &mut self.before {
            match before.next(run, elapsed) {
                Step::Done(_) => (self.before, self.first) = (None, run.phases.len()),
                step => return step,
            }
        }
        match self.search.next(run.phases.get(self.first..).unwrap_or_default()) {
            LatencyStep::Run(task) => Step::Run(vec![Task::File(*task)]),
            LatencyStep::Done(found) => {
                let tries = run.phases.get(self.first..).unwrap_or_default();
                let warnings = caveat::caveat(tries).into_iter().collect();
                let mut concluded: Vec<_> = found.tries.iter().map(Concluded::of).collect();
                concluded.push(Concluded::of(&found.conclusion.in_words()));
                Step::Done(Conclusions { concluded, warnings, ..Conclusions::default() })
            }
        }
    }

    /// A try that failed has a result, from which the search sees what that means.
    fn survives_failures(&self) -> bool {
        self.before.is_none()
    }
}

/// The search: from the results so far to the next try.
#[derive(Debug, Clone)]
pub struct LatencySearch {
    base: FileTask,
    target: LatencyTarget,
    scale: Scale,
}

impl LatencySearch {
    /// A search on a task of block I/O. What ends the task and its ramp are replaced by the target's; what it works on
    /// must exist already.
    ///
    /// # Errors
    /// Target and task make no sense, alone or together.
    pub fn new(base: FileTask, target: LatencyTarget) -> Result<LatencySearch, LatencyTargetError> {
        validate(&target)?;
        validate_task(&base, &target)?;
        let scale = Scale::of(&base, &target)?;
        Ok(LatencySearch { base, target, scale })
    }

    /// The next step, from the results of this search's tasks so far, in order.
    pub fn next(&self, history: &[PhaseResult]) -> LatencyStep {
        let mut state = State::start(&self.scale);
        let mut tries = Vec::with_capacity(history.len());
        for result in history {
            let Some(load) = state.load(&self.scale) else { break };
            let window = Window::of(result, &self.target);
            let before = state.clone();
            let outcome = match window.judge(load, state.purpose()) {
                Err((_, LatencyFailure::WindowTooShort { remedy, .. }))
                    if state.lengthen(remedy, &self.scale) =>
                {
                    TryOutcome::TooFew
                }
                Err((outcome, failure)) => {
                    state.fail(failure);
                    outcome
                }
                Ok(outcome) => {
                    state.take(outcome, window.rate(), &self.scale);
                    outcome
                }
            };
            tries.push(window.reported(&before, load, outcome));
        }
        match state.plan() {
            Plan::Over(conclusion) => {
                let mut conclusion = conclusion.clone();
                if let LatencyConclusion::Found { low, high, .. } = &mut conclusion {
                    (*low, *high) = interval::interval(&tries, self.target.bound);
                }
                LatencyStep::Done(Box::new(LatencyFound { target: self.target, tries, conclusion }))
            }
            _ => LatencyStep::Run(Box::new(self.task(&state, history.len()))),
        }
    }

    /// The task of the next try.
    fn task(&self, state: &State, number: usize) -> FileTask {
        let task = FileTask {
            group: None,
            stop: Stop { runtime: Some(state.window()), ..Stop::default() },
            ramp: self.target.ramp.into(),
            // What one try has read or written helps no cache or deduplication in the next.
            seed: self.base.seed.wrapping_add(number as u64),
            // A device that fails is the end of the search: no need to see how often.
            errors: OnError {
                max_service: self.base.errors.max_service,
                max_service_of: self.base.errors.max_service_of.clone(),
                ..OnError::stop_always()
            },
            start: Start { together: false, delay: Nanos(0), ..self.base.start.clone() },
            ..self.base.clone()
        };
        match (state.plan(), state.load(&self.scale)) {
            (Plan::Sound, _) => with_depth(FileTask { arrival: Arrival::Closed, ..task }, 1),
            (_, Some(Load::Depth(depth))) => with_depth(task, depth),
            (_, Some(Load::Rate(rate))) => FileTask { arrival: at_rate(&task, rate), ..task },
            (_, None) => task,
        }
    }
}

/// So many operations outstanding: by as many workers where each can have only one.
fn with_depth(task: FileTask, depth: u32) -> FileTask {
    let workers = if task.backend.is_synchronous() { depth } else { task.workers.min(depth) };
    FileTask { workers, concurrency: depth, ..task }
}

/// Arrivals of the same law at another rate; Poisson's where the task has none. Rates of kinds keep their ratio.
fn at_rate(task: &FileTask, rate: Iops) -> Arrival {
    match task.arrival {
        Arrival::ByKind(rates) => match task.asked_rate() {
            Some(asked) => Arrival::ByKind(rates.scaled(rate.0 / asked.0)),
            // Refused before.
            None => Arrival::ByKind(rates),
        },
        Arrival::Constant(_) | Arrival::ConstantBytes(_) => Arrival::Constant(rate),
        Arrival::Bursts { operations, .. } => Arrival::Bursts { rate, operations },
        Arrival::Poisson(_)
        | Arrival::PoissonBytes(_)
        | Arrival::Traced(_)
        | Arrival::Closed
        | Arrival::ThinkTime { .. }
        | Arrival::RatedThinkTime(_) => Arrival::Poisson(rate),
    }
}

fn validate(target: &LatencyTarget) -> Result<(), LatencyTargetError> {
    let refuse = |reason| Err(LatencyTargetError::Target(reason));
    if !(target.quantile.0 > 0.0 && target.quantile.0 < 1.0) {
        return refuse(
            "the quantile must lie between 0 and 1: 0.99 is the 99th percentile; 1 cannot be measured",
        );
    }
    if target.bound.0 == 0 || target.bound >= target.window {
        return refuse("the bound must be longer than zero and shorter than the window");
    }
    match target.parameter {
        LoadParameter::Depth { max: 0 } => refuse("the largest depth must be at least 1"),
        LoadParameter::Rate { precision, .. } if !(0.001..=1.0).contains(&precision) => {
            refuse("the precision must lie between 0.001 (0.1 %) and 1")
        }
        LoadParameter::Rate { max: Some(max), .. } if !(max.0.is_finite() && max.0 > 0.0) => {
            refuse("the highest rate must be a number above 0")
        }
        _ => Ok(()),
    }
}

fn validate_task(task: &FileTask, target: &LatencyTarget) -> Result<(), LatencyTargetError> {
    let refuse = |reason| Err(LatencyTargetError::Task { task: task.name.clone(), reason });
    let is_open = task.asked_rate().is_some();
    let think = matches!(task.arrival, Arrival::ThinkTime { .. } | Arrival::RatedThinkTime(_));
    if task.access == Access::Append || matches!(&task.target, Target::File(file) if file.create) {
        return refuse("every try would have to make its file anew: lay it out before, and search on that");
    }
    if matches!(task.access, Access::Trace(_)) {
        return refuse("a trace ends by itself: use a task without a trace");
    }
    if matches!(&task.verify, Some(Verify { state: Some(_), .. })) {
        return refuse("the verification state cannot be saved in a search: remove `state`");
    }
    match target.parameter {
        LoadParameter::Depth { .. } if is_open => refuse(
            "a search for the depth needs a closed loop, but the task sets a rate: remove the rate, or search for the rate",
        ),
        LoadParameter::Rate { .. } if think => {
            refuse("a rate cannot be combined with think time: remove the think time")
        }
        LoadParameter::Rate { .. } if !is_open && matches!(task.arrival, Arrival::ByKind(_)) => refuse(
            "one of its kinds of operations has a rate, and another has none: set the rate of each kind, or none",
        ),
        LoadParameter::Rate { .. }
            if task.asked_rate().is_some_and(|rate| !(rate.0.is_finite() && rate.0 > 0.0)) =>
        {
            refuse("the rate of the task, from which the search starts, must be above 0")
        }
        _ => Ok(()),
    }
}

/// How a phase ended, where not as planned.
fn untimely(ending: &Ending) -> Option<String> {
    match ending {
        Ending::Completed => None,
        Ending::Interrupted => Some("interrupted".into()),
        Ending::Failed(error) => Some(error.clone()),
    }
}

#[cfg(test)]
mod tests;
