//! The contract of every suite: given what has been measured, it decides what comes next.

use iolite_model::{Concluded, Nanos, Task, Verdict, Warning};
use iolite_results::Run;

/// A suite, a search, a study, a job: something that runs phase after phase and concludes.
///
/// It does no I/O and reads no clock: the run so far and the time that has passed are all that it knows, so that it is
/// tested on simulated devices.
pub trait Procedure {
    /// What it may ask its caller to prepare or do between phases: a database, a cold cache, an observation. [`Nothing`] where there
    /// is none.
    type Preparation;

    /// The next step, from what has been measured so far and the time since the run began.
    fn next(&mut self, run: &Run, elapsed: Nanos) -> Step<Self::Preparation>;

    /// What it concludes where it is not asked for a next step any more: from what was measured until then.
    fn cut_short(&mut self, _run: &Run, _why: CutShort) -> Conclusions {
        Conclusions::default()
    }

    /// What is still to be done where it ends before it is done; asked for again until nothing is left.
    fn remaining(&mut self, _run: &Run) -> Option<Self::Preparation> {
        None
    }

    /// Time since the run's begin by which everything is to be done; `None` without a limit.
    fn deadline(&self) -> Option<Nanos> {
        None
    }

    /// Whether it runs tasks: what the program itself costs is then measured before the first one.
    fn runs_tasks(&self) -> bool {
        true
    }

    /// Whether it goes on where a phase has failed; otherwise that is the run's end.
    fn survives_failures(&self) -> bool {
        false
    }
}

/// Why a procedure ends before it is done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CutShort {
    /// The user has interrupted it.
    Interrupted,
    /// A step has failed, or the procedure has said so, for this reason.
    Failed(String),
}

/// What comes next.
// One lives at a time.
#[allow(clippy::large_enum_variant)]
#[derive(Debug, Clone, PartialEq)]
pub enum Step<P = Nothing> {
    /// Run these tasks, which start together.
    Run(Vec<Task>),
    /// Prepare or do this, then ask again.
    Prepare(P),
    /// All is measured.
    Done(Conclusions),
    /// It can't go on, for this reason.
    Failed(String),
}

/// No preparation: it can't be asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Nothing {}

/// What a procedure concludes.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Conclusions {
    /// Findings, each of its own kind.
    pub concluded: Vec<Concluded>,
    /// Warnings about the measurement, and what was left out.
    pub warnings: Vec<Warning>,
    /// The verdict, where one is reached.
    pub verdict: Option<Verdict>,
}
