//! What `iolite ranread`, `ranwrite` and `ranio` print of a run: the database, PerfTools' two lines, the figures, and
//! physical against logical.

use iolite_model::{Calibration, DatabaseFacts, DatabaseUse, Ending, OpKind, RunInfo, WaitsFound, Warning};
use iolite_results::Run;
use iolite_stats::PhaseResult;

use crate::run::{asked, came};
use crate::styler::{Emphasis, Style, Styler};
use crate::text::filled;
use crate::{answer, machine, waits, words};

mod database;
mod export;
mod history;
mod json;
mod listed;
mod physical;
mod ratios;
mod total;

pub(crate) use database::describe;
pub use export::{ExportFormat, export};
pub use history::{HISTORY_FORMAT, history, history_json};
pub use json::{JSON_FORMAT, json};
pub(crate) use json::{database as database_json, took};
pub use listed::{Listed, ListedPhase, ListedTotals};

use total::Total;

/// A run of RanRead, RanWrite or RanIO with all that is to be said of it.
#[derive(Debug, Clone, PartialEq)]
pub struct RanReport {
    /// What was known when the run started: the storage, the machine.
    pub run: RunInfo,
    /// The program's own cost, where it came to be measured.
    pub calibration: Option<Calibration>,
    /// The database, where it came to be asked.
    pub facts: Option<DatabaseFacts>,
    /// The phase, of a database's task, where one came to be measured.
    pub phase: Option<PhaseResult>,
    /// What the operations took.
    pub used: Option<DatabaseUse>,
    /// What its sessions waited for, where the database shows that.
    pub waits: Option<WaitsFound>,
    /// The warnings, in the order they arose.
    pub warnings: Vec<Warning>,
    /// How the run ended.
    pub ending: Ending,
}

impl RanReport {
    /// What a run says.
    pub fn of(run: &Run) -> RanReport {
        RanReport {
            run: run.info.clone(),
            calibration: run.calibration.clone(),
            facts: run.databases.values().next().cloned(),
            phase: run.phases.first().cloned(),
            used: run.database_use.values().next().cloned(),
            waits: run.phases.first().and_then(|phase| run.of_phase(phase.info.index)),
            warnings: run.warnings.clone(),
            ending: crate::document::ending(run),
        }
    }
}

/// The complete terminal output of a run.
pub fn text(report: &RanReport, style: Style) -> String {
    let styler = Styler(style);
    let phase = report.phase.as_ref();
    filled([
        header(report, styler),
        phase.map_or(String::new(), |phase| asked(&phase.info.task, styler)),
        phase.and_then(Total::of).map_or(String::new(), |total| total.text(styler)),
        phase.map_or(String::new(), |phase| came(phase, false, styler)),
        compared(report, styler),
        report.waits.as_ref().map_or(String::new(), |found| waits::section(found, styler)),
        legend(report, styler),
        answer::warnings(&report.warnings, styler),
        answer::ended(&report.ending, "this", styler),
    ])
}

/// What was measured, on what machine and which database.
fn header(report: &RanReport, styler: Styler) -> String {
    let version = styler.clean(&report.run.version);
    let place = match &report.facts {
        Some(facts) => styler.clean(&facts.url),
        None => styler.clean(report.run.storage.directory.display()),
    };
    let tool = report.phase.as_ref().map_or(String::new(), |phase| styler.clean(phase.info.task.name()));
    let title = match tool.as_str() {
        "" => format!("iolite {version}: {place}"),
        tool => format!("iolite {version}: {tool} on {place}"),
    };
    let mut out = styler.paint(Emphasis::Strong, &title)
        + "\n"
        + &machine::describe(&report.run, report.calibration.as_ref(), styler);
    if let Some(facts) = &report.facts {
        out += &database::describe(facts, styler);
    }
    out
}

/// Physical against logical; empty where nothing was counted.
fn compared(report: &RanReport, styler: Styler) -> String {
    let (Some(phase), Some(used)) = (&report.phase, &report.used) else { return String::new() };
    physical::section(phase, used, report.facts.as_ref(), styler)
}

/// What the figures mean; empty without any.
fn legend(report: &RanReport, styler: Styler) -> String {
    let Some(phase) = report.phase.as_ref().filter(|phase| !phase.totals.is_empty()) else {
        return String::new();
    };
    let mut parts = vec![
        "±: 95 % interval of the rate, within this run; -: too few operations, or not counted".to_owned(),
    ];
    if phase.totals.operations(OpKind::Write) > 0 {
        parts.push(words::SETS.to_owned());
    }
    if report.used.is_some() {
        parts.push(physical::legend(&phase.info.task, report.facts.as_ref()));
    }
    styler.item("", 0, parts.join("; "))
}

#[cfg(test)]
mod tests;
