//! What `iolite run` and `iolite verify` print: phase by phase what was asked and what came of it.

use iolite_model::{
    Calibration, Ending, FileTask, Nanos, OpKind, RunInfo, StallsFound, Task, Verified, Warning,
};
use iolite_results::Run;
use iolite_stats::PhaseResult;

use crate::styler::{Emphasis, Style, Styler};
use crate::text::filled;
use crate::{answer, machine, stalls, words};

mod figures;
mod json;
mod notes;
mod phase;

pub(crate) use json::operations as operations_json;
pub use json::phase as phase_json;
pub use json::{JSON_FORMAT, json, verified_json};
pub(crate) use notes::Note;
pub(crate) use phase::{INDENT, asked, came, rendered};

/// A run of a job with all that is to be said of it.
#[derive(Debug, Clone, PartialEq)]
pub struct RunReport {
    /// What was known when the run started: the storage, the machine.
    pub run: RunInfo,
    /// The job's name; empty where it has none.
    pub name: String,
    /// The program's own cost, where it came to be measured.
    pub calibration: Option<Calibration>,
    /// The finished phases, in the order of the job's tasks.
    pub phases: Vec<PhaseResult>,
    /// What the outliers of phases, by number, fall into, where that was asked for.
    pub stalls: Vec<(u32, StallsFound)>,
    /// The warnings, in the order they arose.
    pub warnings: Vec<Warning>,
    /// How the run ended.
    pub ending: Ending,
}

impl RunReport {
    /// What a run says, phase by phase.
    pub fn of(run: &Run) -> RunReport {
        RunReport {
            run: run.info.clone(),
            name: run.asked().map(|asked| asked.subject).unwrap_or_default(),
            calibration: run.calibration.clone(),
            phases: run.phases.clone(),
            stalls: stalls::of(run),
            warnings: run.warnings.clone(),
            ending: crate::document::ending(run),
        }
    }
}

/// The complete terminal output of a run.
pub fn text(report: &RunReport, style: Style) -> String {
    let styler = Styler(style);
    let version = styler.clean(&report.run.version);
    let directory = styler.clean(report.run.storage.directory.display());
    let title = match report.name.as_str() {
        "" => format!("iolite {version}: a job on {directory}"),
        name => format!("iolite {version}: {} on {directory}", styler.clean(name)),
    };
    let header = styler.paint(Emphasis::Strong, &title)
        + "\n"
        + &machine::describe(&report.run, report.calibration.as_ref(), styler);
    let phases = report.phases.iter().map(|phase| phase::phase(report, phase, styler));
    let rest = [
        phase::groups_text(report, styler),
        legend(report, styler),
        answer::warnings(&report.warnings, styler),
        answer::ended(&report.ending, "this", styler),
    ];
    filled(std::iter::once(header).chain(phases).chain(rest))
}

/// What the figures mean; empty without any.
fn legend(report: &RunReport, styler: Styler) -> String {
    if report.phases.is_empty() {
        return String::new();
    }
    styler.item(
        "",
        0,
        "±: 95 % interval of the rate, within this run (levels: the rate before and after it changed); times: response, from the \
         intended start (service: from the issue); -: too few operations; timeline: the rate over the measured time",
    )
}

/// What the verification of an earlier run's data found, as text.
pub fn verified_text(task: &FileTask, found: &Verified) -> String {
    // Verification results are printed in every format.
    let styler = Styler(Style { color: false, unicode: true, width: 110 });
    let label = "target    ";
    let does = words::target(&task.target);
    let target = styler.item(label, label.len(), does.strip_prefix("on ").unwrap_or(&does));
    target + &notes::verified(found, "verified  ", styler)
}

/// Phases with one group name that ran together, with the totals of them all.
struct Group {
    name: String,
    /// Their numbers.
    phases: Vec<u32>,
    /// The first one with the totals of all.
    merged: PhaseResult,
}

/// The groups of more than one phase, in the order they ran.
fn groups(phases: &[PhaseResult]) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    for phase in phases {
        let Task::File(FileTask { group: Some(name), .. }) = &phase.info.task else { continue };
        // One after another they are no common load: each set of tasks that run together has groups of its own.
        // Nor are those that began or ended apart: a rate of them all would be one that never was.
        let same = |group: &&mut Group| {
            group.name == *name
                && group.merged.info.started == phase.info.started
                && group.merged.info.task.delay() == phase.info.task.delay()
                && group.merged.totals.measured.abs_diff(phase.totals.measured) <= TOGETHER.0
        };
        match groups.iter_mut().find(same) {
            Some(group) => {
                group.phases.push(phase.info.index);
                group.merged.totals = group.merged.totals.merge(&phase.totals);
            }
            None => groups.push(Group {
                name: name.clone(),
                phases: vec![phase.info.index],
                merged: phase.clone(),
            }),
        }
    }
    groups.retain(|group| group.phases.len() > 1);
    groups
}

/// How far apart the ends of phases may be that are reported as one.
const TOGETHER: Nanos = Nanos(50_000_000);

/// The kinds whose operations are the phase's flow: commits where each write is one, else what was asked for.
fn flow(phase: &PhaseResult) -> Vec<OpKind> {
    if phase.main_kind() == OpKind::Commit {
        return vec![OpKind::Commit];
    }
    OpKind::all().filter(|kind| !matches!(*kind, OpKind::Sync | OpKind::Commit)).collect()
}

#[cfg(test)]
mod tests;
