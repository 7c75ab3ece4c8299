//! One task, once or several times.

use iolite_model::{Ending, Nanos, Task};
use iolite_results::Run;

use crate::procedure::{Conclusions, Nothing, Procedure, Step};

/// A task that is run once or several times, each time with other random numbers; a phase that fails is the end.
#[derive(Debug, Clone, PartialEq)]
pub struct Repeat {
    task: Task,
    ahead: u32,
}

impl Repeat {
    /// Runs `task` so many times.
    pub fn new(task: Task, times: u32) -> Repeat {
        Repeat { task, ahead: times }
    }
}

impl Procedure for Repeat {
    type Preparation = Nothing;

    fn next(&mut self, run: &Run, _elapsed: Nanos) -> Step {
        match run.phases.last().map(|phase| &phase.end.ending) {
            Some(Ending::Failed(reason)) => Step::Failed(reason.clone()),
            None | Some(Ending::Completed) if self.ahead > 0 => {
                self.ahead -= 1;
                let mut task = self.task.clone();
                task.reseed(u64::from(run.next_phase()));
                Step::Run(vec![task])
            }
            _ => Step::Done(Conclusions::default()),
        }
    }
}
