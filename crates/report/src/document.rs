//! What a run of a check says, and how any run ended.

use iolite_model::{Calibration, Configuration, Ending, RunInfo, Verdict, Warning};
use iolite_results::Run;
use iolite_stats::{KneeFound, PhaseResult, Preconditioned};

/// A run with all that is to be said of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    /// What was known when the run started: the storage, the machine.
    pub run: RunInfo,
    /// The program's own cost, where it came to be measured.
    pub calibration: Option<Calibration>,
    /// How the host is configured for databases, where it was recorded.
    pub configuration: Option<Configuration>,
    /// The finished phases, in the order they ran.
    pub phases: Vec<PhaseResult>,
    /// One per search for a knee that found one.
    pub knees: Vec<KneeFound>,
    /// What came of the random writes before a thorough check's measurement.
    pub preconditioned: Option<Preconditioned>,
    /// The warnings, in the order they arose.
    pub warnings: Vec<Warning>,
    /// The answer, where one was reached.
    pub verdict: Option<Verdict>,
    /// How the run ended.
    pub ending: Ending,
}

impl Report {
    /// What a run of a check says.
    pub fn of(run: &Run) -> Report {
        Report {
            run: run.info.clone(),
            calibration: run.calibration.clone(),
            configuration: run.concluded().last(),
            phases: run.phases.clone(),
            knees: run.concluded().collect(),
            preconditioned: run.concluded().last(),
            warnings: run.warnings.clone(),
            verdict: run.verdict.clone(),
            ending: ending(run),
        }
    }
}

/// How a run ended; one that never said so was cut short.
pub(crate) fn ending(run: &Run) -> Ending {
    run.ending.clone().unwrap_or(Ending::Interrupted)
}
