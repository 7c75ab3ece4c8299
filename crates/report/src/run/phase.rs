//! A phase: what was asked, the figures, and what else there is to say.

use iolite_model::{FileTask, Iops, Nanos, OpKind, Task};
use iolite_results::Run;
use iolite_stats::PhaseResult;

use super::figures::Figures;
use super::notes::{Note, notes, verified};
use super::{flow, groups};
use crate::chart::course;
use crate::styler::{Emphasis, Styler, count};
use crate::words;

/// Columns before a label, and with it.
pub(crate) const INDENT: usize = 3;
const TEXT: usize = 12;

/// Columns that a course leaves for its legend.
const LEGEND: usize = 48;

/// A phase with its heading.
pub(super) fn phase(run: &Run, phase: &PhaseResult, styler: Styler) -> String {
    let task = &phase.info.task;
    let beside = run
        .phases
        .iter()
        .any(|other| other.info.index != phase.info.index && other.info.started == phase.info.started);
    let heading = styler.item(&styler.paint(Emphasis::Strong, &number(phase)), INDENT, heading(run, phase));
    heading + &asked(task, styler) + &came(phase, beside, styler)
}

pub(crate) fn asked(task: &Task, styler: Styler) -> String {
    let asked = [
        Some(Note::plain("does", words::does(task))),
        words::way(task).map(|way| Note::plain("by", way)),
        Some(Note::plain("load", words::load(task))),
        Some(Note::plain("time", words::extent(task))),
    ];
    asked.iter().flatten().map(|note| rendered(note, styler)).collect()
}

/// What came of it: figures, course, and what else there is to say. `beside` says that it did not run alone.
pub(crate) fn came(phase: &PhaseResult, beside: bool, styler: Styler) -> String {
    let mut out = figures(phase, styler);
    if let Some(course) = over_time(phase, styler) {
        out += &course;
    }
    notes(phase, beside).iter().for_each(|note| out += &rendered(note, styler));
    if let Some(found) = &phase.end.verified {
        out +=
            &verified(found, &format!("{:INDENT$}{:<width$}", "", "verified", width = TEXT - INDENT), styler);
    }
    out
}

fn number(phase: &PhaseResult) -> String {
    format!("{:<INDENT$}", format!("{}.", phase.info.index + 1))
}

/// The name, and whom the phase belongs to.
fn heading(run: &Run, phase: &PhaseResult) -> String {
    let mut text = phase.info.task.name().to_owned();
    if text.is_empty() {
        text.push_str("unnamed");
    }
    let others: Vec<String> = run
        .phases
        .iter()
        .filter(|other| other.info.index != phase.info.index && other.info.started == phase.info.started)
        .map(|other| (other.info.index + 1).to_string())
        .collect();
    if !others.is_empty() {
        text += &format!(" (together with {})", others.join(", "));
    }
    if let Task::File(FileTask { group: Some(group), .. }) = &phase.info.task {
        text += &format!(" [{group}]");
    }
    text
}

/// A note after its label, indented as all of a phase.
pub(crate) fn rendered(note: &Note, styler: Styler) -> String {
    let label = format!("{:<width$}", note.label, width = TEXT - INDENT);
    let painted = note.ink.map_or(label.clone(), |ink| styler.paint(ink, &label));
    styler.item(&format!("{:INDENT$}{painted}", ""), TEXT, &note.text)
}

/// The kinds that occurred, the ones that matter most first.
fn kinds(phase: &PhaseResult) -> Vec<OpKind> {
    let occurred = |kind: &OpKind| phase.totals.operations(*kind) + phase.totals.errors(*kind) > 0;
    let mut kinds: Vec<OpKind> = OpKind::all().filter(occurred).collect();
    if words::commits(&phase.info.task) {
        // A write alone is done when a cache has it.
        kinds.sort_by_key(|kind| match *kind {
            OpKind::Commit => 0,
            OpKind::Sync => 1,
            _ => 2,
        });
    }
    kinds
}

fn figures(phase: &PhaseResult, styler: Styler) -> String {
    let mut figures = Figures::default();
    for kind in kinds(phase) {
        figures.add(words::kind(&phase.info.task, kind).to_owned(), phase, kind, styler);
    }
    if figures.lines.is_empty() {
        return rendered(&Note::plain("", "nothing completed".into()), styler);
    }
    figures.draw(INDENT, phase.info.task.rate_word(), styler)
}

/// The rate from interval to interval.
fn over_time(phase: &PhaseResult, styler: Styler) -> Option<String> {
    let kinds = flow(phase);
    let operations =
        |point: &iolite_stats::Point| kinds.iter().map(|kind| point.operations[*kind]).sum::<u64>() as f64;
    let series: Vec<(f64, f64)> =
        phase.totals.series.iter().map(|point| (point.seconds, operations(point))).collect();
    let course = course(&series, styler.text_width().saturating_sub(TEXT + LEGEND).max(10), styler)?;
    let label = format!("{:INDENT$}{:<width$}", "", "timeline", width = TEXT - INDENT);
    let (min, max) = (Iops(course.min), Iops(course.max));
    let each = styler.clean(Nanos::from_secs_f64(course.seconds));
    // Not wrapped and not cleaned: every character is ours, and blanks mean something.
    let word = phase.info.task.rate_word();
    Some(format!("{label}{} {min} to {max} {word}, {each} per mark\n", course.marks))
}

/// The groups, with the figures of all their phases together; empty without any.
pub(super) fn groups_text(run: &Run, styler: Styler) -> String {
    let mut out = String::new();
    for group in groups(&run.phases) {
        let phases: Vec<String> = group.phases.iter().map(|index| (index + 1).to_string()).collect();
        let label = styler.paint(Emphasis::Strong, "group ");
        out += &styler.item(
            &label,
            6,
            format_args!(
                "{}: {} phases together ({})",
                group.name,
                count(phases.len() as u64),
                phases.join(", ")
            ),
        );
        out += &figures(&group.merged, styler);
    }
    out
}
