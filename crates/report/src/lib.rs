//! The outputs of a run: the terminal's text, the live view, the JSON document and the page.
//!
//! Everything here turns plain data into text. Nothing is decided here, and nothing is read from anywhere: the caller
//! hands over a [`Report`] with all that is to be said.

use iolite_model::{Calibration, Ending, RunInfo, Verdict, Warning};
use iolite_results::Run;
use iolite_stats::{KneeFound, PhaseResult, Preconditioned};

pub mod ab;
mod answer;
mod chart;
pub mod classic;
pub mod comparison;
pub mod durability;
pub mod explain;
pub mod export;
mod grid;
pub mod html;
pub mod iometer;
mod json;
mod knees;
pub mod latency_target;
mod live;
mod machine;
mod meanwhile;
pub mod observed;
pub mod parts;
pub mod plot;
mod progress;
pub mod prometheus;
pub mod pts;
pub mod ran;
mod result_table;
pub mod run;
pub mod runs;
mod screen;
mod show;
pub mod study;
mod styler;
pub mod sweep;
#[cfg(test)]
mod synthetic;
mod table;
mod text;
pub mod tproc_c;
pub mod waits;
mod words;
pub mod write_plan;

pub use grid::aligned;
pub use html::page;
pub use json::{JSON_FORMAT, json};
pub use live::{Live, LiveKind};
pub use progress::{Progress, ProgressUnit};
pub use screen::Screen;
pub use show::{Format, show};
pub use styler::{Style, count, harmless};
pub use text::{judgement, text};

/// A run with all that is to be said of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    /// What was known when the run started: the storage, the machine.
    pub run: RunInfo,
    /// The program's own cost, where it came to be measured.
    pub calibration: Option<Calibration>,
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
