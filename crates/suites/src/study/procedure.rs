//! A study as a procedure: before each step its circumstance is prepared, after it the window is recorded.

use iolite_model::{Concluded, Nanos, StudyFinding, StudyWindow, Task};
use iolite_results::Run;
use iolite_stats::PhaseResult;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::subject::StudyStep;
use crate::procedure::{Conclusions, CutShort, Procedure, Step};

/// What is studied: the steps, which are known beforehand, and what their windows show.
pub trait Study {
    /// What is particular about a window.
    type Circumstance: Copy + Serialize + DeserializeOwned;

    /// All steps: the windows in a random order, which follows from the seed.
    fn steps(&self, seed: u64) -> Vec<StudyStep<Self::Circumstance>>;

    /// What the windows show.
    fn findings(
        &self,
        windows: &[StudyWindow<Self::Circumstance>],
        history: &[PhaseResult],
    ) -> Vec<StudyFinding>;
}

/// What a study needs before and after each step.
#[derive(Debug, Clone, PartialEq)]
pub enum StudyPreparation<C> {
    /// Bring about the circumstance of this step, which is run next, and read the counters.
    Begin(Box<StudyStep<C>>),
    /// Read them again, and record the window, where the step was one.
    End,
}

/// A study as a procedure.
#[derive(Debug, Clone)]
pub struct StudyProcedure<S: Study> {
    study: S,
    ahead: std::vec::IntoIter<Step<StudyPreparation<S::Circumstance>>>,
}

impl<S: Study> StudyProcedure<S> {
    /// The steps of a study, in an order that follows from the seed.
    pub fn new(study: S, seed: u64) -> StudyProcedure<S> {
        let step = |step: StudyStep<S::Circumstance>| {
            let task = Task::File(step.task.clone());
            let begin = StudyPreparation::Begin(Box::new(step));
            [Step::Prepare(begin), Step::Run(vec![task]), Step::Prepare(StudyPreparation::End)]
        };
        let ahead: Vec<_> = study.steps(seed).into_iter().flat_map(step).collect();
        StudyProcedure { study, ahead: ahead.into_iter() }
    }

    fn conclusions(&self, run: &Run) -> Conclusions {
        let windows: Vec<StudyWindow<S::Circumstance>> = run.concluded().collect();
        let findings = self.study.findings(&windows, &run.phases);
        Conclusions { concluded: findings.iter().map(Concluded::of).collect(), ..Conclusions::default() }
    }
}

impl<S: Study> Procedure for StudyProcedure<S> {
    type Preparation = StudyPreparation<S::Circumstance>;

    fn next(&mut self, run: &Run, _elapsed: Nanos) -> Step<StudyPreparation<S::Circumstance>> {
        self.ahead.next().unwrap_or_else(|| Step::Done(self.conclusions(run)))
    }

    fn cut_short(&mut self, run: &Run, _why: CutShort) -> Conclusions {
        self.conclusions(run)
    }
}
