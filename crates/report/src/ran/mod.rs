//! What `iolite ranread`, `ranwrite` and `ranio` print of a run: the database, PerfTools' two lines, the figures, and
//! physical against logical.

use iolite_model::{Calibration, DatabaseFacts, DatabaseUse, Ending, RunInfo, Warning};
use iolite_stats::PhaseResult;
use serde_json::{Value, json as object};

use crate::pen::{Pen, Style};
use crate::text::filled;
use crate::{answer, json as shared, machine};

/// Name and version of the document.
pub const JSON_FORMAT: &str = "iolite-ran/1";

/// A run of RanRead, RanWrite or RanIO with all that is to be said of it.
#[derive(Debug, Clone, PartialEq)]
pub struct RanReport {
    /// What was known when the run started: the storage, the machine.
    pub run: RunInfo,
    /// The program's own cost, where it came to be measured.
    pub calibration: Option<Calibration>,
    /// The database, where it came to be asked.
    pub facts: Option<DatabaseFacts>,
    /// The phase, of a database's task, where it came to its end.
    pub phase: Option<PhaseResult>,
    /// What the operations took.
    pub used: Option<DatabaseUse>,
    /// The doubts, in the order they arose.
    pub warnings: Vec<Warning>,
    /// How the run ended.
    pub ending: Ending,
}

/// The complete terminal output of a run.
pub fn text(report: &RanReport, style: Style) -> String {
    let pen = Pen(style);
    filled([
        machine::describe(&report.run, report.calibration.as_ref(), pen),
        answer::warnings(&report.warnings, pen),
        answer::ended(&report.ending, "this", pen),
    ])
}

/// The document of a run.
pub fn json(report: &RanReport) -> Value {
    object!({
        "format": JSON_FORMAT,
        "run": shared::run(&report.run),
        "calibration": report.calibration.as_ref().map(shared::calibration),
        "warnings": report.warnings.iter().map(shared::warning).collect::<Vec<_>>(),
        "ending": shared::ending(&report.ending),
    })
}
