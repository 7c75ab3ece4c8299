//! A procedure of one step.

use iolite_model::Nanos;
use iolite_results::Run;

use crate::procedure::{Conclusions, Procedure, Step};

/// One step that the environment takes, and that runs no task: an observation, a verification, a check. The environment records
/// what it finds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SingleStep<S> {
    ahead: Option<S>,
}

impl<S> SingleStep<S> {
    /// This step: what the environment has to know of it.
    pub fn new(step: S) -> SingleStep<S> {
        SingleStep { ahead: Some(step) }
    }
}

impl<S> Procedure for SingleStep<S> {
    type Preparation = S;

    fn next(&mut self, _run: &Run, _elapsed: Nanos) -> Step<S> {
        self.ahead.take().map_or_else(|| Step::Done(Conclusions::default()), Step::Prepare)
    }

    fn runs_tasks(&self) -> bool {
        false
    }
}
