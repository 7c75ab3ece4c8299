//! One task, once or several times.

use iolite_model::{DbTask, Ending, Nanos, Task, TprocCTask};
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
                Step::Run(vec![seeded(self.task.clone(), u64::from(run.next_phase()))])
            }
            _ => Step::Done(Conclusions::default()),
        }
    }
}

/// The task with the random numbers of its phase.
fn seeded(task: Task, phase: u64) -> Task {
    match task {
        Task::Database(task) => Task::Database(DbTask { seed: task.seed.wrapping_add(phase), ..task }),
        Task::TprocC(task) => Task::TprocC(TprocCTask { seed: task.seed.wrapping_add(phase), ..task }),
        other @ (Task::File(_) | Task::Metadata(_)) => other,
    }
}
