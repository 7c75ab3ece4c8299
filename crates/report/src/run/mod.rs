//! What `iolite run` and `iolite verify` print: phase by phase what was asked and what came of it.

use iolite_model::{FileTask, Nanos, OpKind, Task};
use iolite_results::{Run, StateVerified};
use iolite_stats::PhaseResult;

use crate::styler::{Style, Styler, filled};
use crate::{answer, machine, words};

mod figures;
mod json;
mod notes;
mod phase;

pub(crate) use json::operations as operations_json;
pub use json::phase as phase_json;
pub(crate) use json::phases as phases_json;
pub(crate) use json::verified_json;
pub use json::{JSON_FORMAT, json};
pub(crate) use notes::Note;
pub(crate) use phase::{INDENT, asked, came, rendered};

/// The complete terminal output of a run.
pub fn text(run: &Run, style: Style) -> String {
    let styler = Styler(style);
    let directory = run.info.storage.directory.display();
    let what = match run.subject().as_str() {
        "" => format!("a job on {directory}"),
        name => format!("{name} on {directory}"),
    };
    let phases = run.phases.iter().map(|phase| phase::phase(run, phase, styler));
    let rest = [phase::groups_text(run, styler), legend(run, styler), answer::closing(run, "this", styler)];
    filled(std::iter::once(machine::header(run, what, styler)).chain(phases).chain(rest))
}

/// What the figures mean; empty without any.
fn legend(run: &Run, styler: Styler) -> String {
    if run.phases.is_empty() {
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
pub(crate) fn verified_text(_: &Run, StateVerified { task, found }: &StateVerified, style: Style) -> String {
    let styler = Styler(style);
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
