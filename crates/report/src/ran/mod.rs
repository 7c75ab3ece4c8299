//! What `iolite ranread`, `ranwrite` and `ranio` print of a run: the database, PerfTools' two lines, the figures, and
//! physical against logical.

use iolite_model::{DatabaseFacts, DatabaseUse, OpKind, WaitsFound};
use iolite_results::Run;
use iolite_stats::PhaseResult;

use crate::run::{asked, came};
use crate::styler::{Style, Styler, filled};
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
pub(crate) use json::took;
pub use json::{JSON_FORMAT, json};
pub use listed::{Listed, ListedPhase, ListedTotals};

use total::Total;

/// A run of one of the tools: its only phase, and what is known of its database.
struct RanReport<'a> {
    run: &'a Run,
    facts: Option<&'a DatabaseFacts>,
    phase: Option<&'a PhaseResult>,
    used: Option<&'a DatabaseUse>,
}

impl RanReport<'_> {
    fn of(run: &Run) -> RanReport<'_> {
        RanReport {
            run,
            facts: run.databases.values().next(),
            phase: run.phases.first(),
            used: run.database_use.values().next(),
        }
    }

    /// What its sessions waited for, where that was sampled.
    fn waits(&self) -> Option<WaitsFound> {
        self.run.of_phase(self.phase?.info.index)
    }
}

/// The complete terminal output of a run.
pub fn text(run: &Run, style: Style) -> String {
    let styler = Styler(style);
    let report = &RanReport::of(run);
    filled([
        header(report, styler),
        report.phase.map_or(String::new(), |phase| asked(&phase.info.task, styler)),
        report.phase.and_then(Total::of).map_or(String::new(), |total| total.text(styler)),
        report.phase.map_or(String::new(), |phase| came(phase, false, styler)),
        compared(report, styler),
        report.waits().map_or(String::new(), |found| waits::section(&found, styler)),
        legend(report, styler),
        answer::closing(run, "this", styler),
    ])
}

fn header(report: &RanReport<'_>, styler: Styler) -> String {
    let run = report.run;
    let place = machine::place(run, report.facts.map(|facts| &facts.url));
    let what = match report.phase.map_or("", |phase| phase.info.task.name()) {
        "" => place,
        tool => format!("{tool} on {place}"),
    };
    machine::header(run, what, styler)
        + &report.facts.map_or(String::new(), |facts| database::describe(facts, styler))
}

/// Physical against logical; empty where nothing was counted.
fn compared(report: &RanReport<'_>, styler: Styler) -> String {
    let (Some(phase), Some(used)) = (report.phase, report.used) else { return String::new() };
    physical::section(phase, used, report.facts, styler)
}

/// What the figures mean; empty without any.
fn legend(report: &RanReport<'_>, styler: Styler) -> String {
    let Some(phase) = report.phase.filter(|phase| !phase.totals.is_empty()) else {
        return String::new();
    };
    let mut parts = vec![
        "±: 95 % interval of the rate, within this run; -: too few operations, or not counted".to_owned(),
    ];
    if phase.totals.operations(OpKind::Write) > 0 {
        parts.push(words::SETS.to_owned());
    }
    if report.used.is_some() {
        parts.push(physical::legend(&phase.info.task, report.facts));
    }
    styler.item("", 0, parts.join("; "))
}

#[cfg(test)]
mod tests;
