//! A job: sets of tasks, one after the other.

use iolite_model::{Job, JobTask, Nanos, Task};
use iolite_results::Run;

use crate::procedure::{Conclusions, Nothing, Procedure, Step};

/// The tasks of a job in their order; those that start together are one step.
#[derive(Debug, Clone, PartialEq)]
pub struct JobList {
    /// Sets that have not been run yet, the next one last.
    ahead: Vec<Vec<Task>>,
}

impl JobList {
    /// The sets of a job.
    pub fn new(job: &Job) -> JobList {
        let set = |set: &[JobTask]| set.iter().map(JobTask::task).collect();
        JobList { ahead: job.sets().into_iter().rev().map(set).collect() }
    }
}

impl Procedure for JobList {
    type Preparation = Nothing;

    fn next(&mut self, _run: &Run, _elapsed: Nanos) -> Step {
        self.ahead.pop().map_or(Step::Done(Conclusions::default()), Step::Run)
    }
}
