//! Stored runs as one HTML page, which needs no network; its own script zooms the charts, and without it they are fixed pictures.

mod charts;
mod comparison;
mod figure;
mod frame;
mod list;
mod tables;
mod values;

use iolite_model::{Fitness, PtsTerms, Verdict};
use iolite_results::Run;
use iolite_stats::PhaseResult;
use maud::{Markup, html};

use crate::show::{Format, show};
use crate::styler::{Style, escaped, harmless};
pub use comparison::compared;
pub use frame::{Frame, framed};
pub use list::{ListFilter, listed};

/// Characters of a line of the command's output: as in a pipe, tables have all their columns.
const WIDTH: usize = 200;

/// Runs of any command as a page: verdicts, what was measured on what, charts with all runs overlaid, what the commands printed,
/// settings, command lines.
pub fn page(runs: &[Run]) -> String {
    framed(&Frame::default(), &title(runs), &content(runs))
}

/// The heading of a page about runs.
pub fn title(runs: &[Run]) -> String {
    let named = |run: &Run| {
        let mark = if run.rehearsal().is_some() { " (rehearsal)" } else { "" };
        format!("{}{mark}", run.info.id.0)
    };
    format!("iolite report: {}", escaped(runs.iter().map(named).collect::<Vec<_>>().join(", ")))
}

/// The page about runs without its frame.
pub fn content(runs: &[Run]) -> Markup {
    html! {
        h1 { (title(runs)) }
        nav aria-label="Sections" {
            @for (number, run) in runs.iter().enumerate() {
                a href=(format!("#run-{number}")) { "Run " (escaped(&run.info.id.0)) } " "
            }
            a href="#charts" { "Charts" } " "
            @for (number, run) in runs.iter().enumerate() {
                a href=(format!("#output-{number}")) {
                    @if is_specification(run) { "Settings of " } @else { "Output and settings of " }
                    (escaped(&run.info.id.0))
                } " "
            }
        }
        @for (number, run) in runs.iter().enumerate() {
            section id=(format!("run-{number}")) data-live {
                (verdict(run))
                (rehearsal(run))
                (conformity(run))
                (tables::facts(run))
                @if is_specification(run) { (printed(run)) }
                (tables::warnings(run))
                (tables::configuration_notes(run))
                (tables::figures(run))
            }
        }
        section id="charts" { h2 { "Charts" } (charts::charts(runs)) }
        @for (number, run) in runs.iter().enumerate() {
            section id=(format!("output-{number}")) data-live { (details(run)) }
        }
    }
}

/// The verdict of a run, the worst reasons first; without one, the run's name.
fn verdict(run: &Run) -> Markup {
    let id = escaped(&run.info.id.0);
    let Some(Verdict { profile, fitness, reasons }) = &run.verdict else {
        return html! { h2 { "Run " (id) } };
    };
    let mut reasons: Vec<_> = reasons.iter().collect();
    reasons.sort_by_key(|reason| std::cmp::Reverse(reason.fitness));
    html! {
        h2 { "Verdict of run " (id) ": " span class=(fitness) { (fitness) } " for profile " (escaped(profile)) }
        div.scroll tabindex="0" role="region" aria-label=(format!("Reasons of the verdict of run {id}")) {
            table {
                thead { tr { th scope="col" { "Outcome" } th scope="col" { "Criterion" }
                    th scope="col" { "Measured" } th scope="col" { "Required" } } }
                tbody {
                    @for reason in reasons {
                        @let is_criterion = reason.fitness != Fitness::Fit || !reason.asked.is_empty();
                        tr { @if is_criterion { td class=(reason.fitness) { (reason.fitness) } } @else { td { "–" } } td { (escaped(&reason.what)) }
                            td { (escaped(&reason.measured))
                                @for reservation in &reason.reservations { br; small { (escaped(reservation)) } } } td { (escaped(&reason.asked)) } }
                    }
                }
            }
        }
    }
}

/// Says of a rehearsal of SNIA's specification that it is one.
fn rehearsal(run: &Run) -> Markup {
    html! {
        @if let Some(scale) = run.rehearsal() {
            p { strong.marginal {
                "Rehearsal at scale " (scale) ": these figures do not conform to the specification."
            } }
        }
    }
}

/// Whether it is a run of SNIA's specification: its tables are what it was run for, and its phases too many to be read.
fn is_specification(run: &Run) -> bool {
    run.concluded::<PtsTerms>().next().is_some()
}

/// Of a run of SNIA's specification, whether its figures are those of it.
fn conformity(run: &Run) -> Markup {
    html! {
        @if let Some((conforms, result)) = crate::pts::result(run) {
            p { strong class=(if conforms { Fitness::Fit } else { Fitness::Unfit }) { (escaped(result)) } }
        }
    }
}

/// What the run's command printed.
fn printed(run: &Run) -> Markup {
    let printed = show(run, Format::Text, Style { color: false, unicode: true, width: WIDTH });
    let id = escaped(&run.info.id.0);
    html! {
        h3 { "Output of run " (id) }
        div.scroll tabindex="0" role="region" aria-label=(format!("Output of run {id}")) { pre { (printed) } }
    }
}

/// What the run's command printed, where that is not above the charts; its settings and its command line.
fn details(run: &Run) -> Markup {
    let id = escaped(&run.info.id.0);
    let above = is_specification(run);
    html! {
        h2 { @if above { "Settings of run " (id) } @else { "Output and settings of run " (id) } }
        @if !above { (printed(run)) }
        h3 { "Settings of run " (id) }
        @for phase in &run.phases {
            @let name = escaped(phase.info.task.name());
            details {
                summary { (u64::from(phase.info.index) + 1) ". " (name) }
                pre.long { (settings(phase)) }
            }
        }
        h3 { "Command line that repeats run " (id) }
        pre.long { (command(&run.info.command)) }
    }
}

/// The task of a phase as JSON; names in it are escaped as everywhere.
fn settings(phase: &PhaseResult) -> String {
    harmless(&serde_json::to_string_pretty(&phase.info.task).unwrap_or_default(), true)
}

/// A command line as a shell reads it.
fn command(words: &[String]) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,+@%".contains(c);
    let quoted = words.iter().map(|word| match word {
        word if !word.is_empty() && word.chars().all(plain) => word.clone(),
        word => format!("'{}'", escaped(word).replace('\'', "'\\''")),
    });
    quoted.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests;
