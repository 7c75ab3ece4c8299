//! What `iolite ranread sweep`, `ranwrite sweep` and `ranio sweep` print: the steps, the knee, the verdict.

mod json;
mod steps;

use iolite_model::{Ending, Iops, Layer, SweepTerms};
use iolite_results::Run;
use iolite_stats::{SweepConcluded, SweptStep};

use crate::document::ending;
use crate::styler::{Emphasis, Style, Styler, filled};
use crate::{answer, knees, machine, ran};

pub use json::JSON_FORMAT;
pub(crate) use json::json;

/// Columns of the labels.
const LABEL: usize = 9;

/// A sweep: its terms and end, and what was measured with each number of jobs.
struct SweepReport<'a> {
    run: &'a Run,
    concluded: &'a SweepConcluded,
    steps: Vec<SweptStep>,
}

impl<'a> SweepReport<'a> {
    fn of(run: &'a Run, concluded: &'a SweepConcluded) -> SweepReport<'a> {
        SweepReport { run, concluded, steps: SweptStep::all(&run.phases) }
    }
}

/// The complete terminal output of a sweep.
pub(crate) fn text(run: &Run, concluded: &SweepConcluded, style: Style) -> String {
    let styler = Styler(style);
    let report = &SweepReport::of(run, concluded);
    filled([
        header(report, styler),
        asked(&concluded.terms, styler),
        steps::table(report, styler),
        steps::picture(report, styler),
        found(report, styler),
        answer::warnings(&run.warnings, styler),
        answer::ended(run, "the table", styler) + &verdict(report, styler),
    ])
}

fn header(report: &SweepReport<'_>, styler: Styler) -> String {
    let run = report.run;
    let facts = run.databases.values().next();
    let place = machine::place(run, facts.map(|facts| &facts.url));
    let what = format!("{} with an increasing number of jobs on {place}", report.concluded.tool);
    machine::header(run, what, styler) + &facts.map_or(String::new(), |facts| ran::describe(facts, styler))
}

fn line(label: &str, text: impl std::fmt::Display, styler: Styler) -> String {
    styler.item(&format!("{label:<LABEL$}"), LABEL, text)
}

/// What was asked: the steps, what ends them, what is judged.
fn asked(terms: &SweepTerms, styler: Styler) -> String {
    let list: Vec<String> = terms.jobs.iter().map(u32::to_string).collect();
    let jobs = if list.is_empty() { "1, 5, 10, 20, 40 and so on".to_owned() } else { list.join(", ") };
    let ramp = if terms.ramp.0 > 0 { format!(" after a ramp of {}", terms.ramp) } else { String::new() };
    let repeat = match terms.repeat {
        0 | 1 => String::new(),
        2 => ", twice, the second time in reverse order".to_owned(),
        times => format!(", {times} times, each time in a different order"),
    };
    let closer = match terms.closer {
        0 => String::new(),
        1 => "; then additional steps near the knee".to_owned(),
        looks => format!("; then up to {looks} additional measurements at the knee"),
    };
    let target = terms.target_iops.map_or(String::new(), |target| format!(", at least {target} IOPS"));
    line("jobs", format!("{jobs}: each {}{ramp}{repeat}", terms.step), styler)
        + &line(
            "until",
            format!(
                "the mean response time exceeds {} in two consecutive steps, or IOPS grow by less than {:.0} % per doubling of \
                 the jobs in two or three{closer}",
                terms.stop_response,
                terms.min_growth * 100.0
            ),
            styler,
        )
        + &line(
            "asked",
            format!("mean at most {}, maximum at most {}{target}", terms.average, terms.ceiling),
            styler,
        )
}

/// The knee, and why the jobs were raised no further.
fn found(report: &SweepReport<'_>, styler: Styler) -> String {
    /// As wide as `knee`.
    const END: &str = "end   ";
    let end = styler.item(&styler.paint(Emphasis::Strong, END), END.len(), &report.concluded.end);
    if report.steps.is_empty() {
        return end;
    }
    let limit = styler.item(&styler.paint(Emphasis::Strong, "limit "), END.len(), largest(report));
    match &report.concluded.knee {
        Some(knee) => {
            knees::rendered(&report.concluded.tool, knee, Layer::Database, report.steps.len(), styler)
                + &limit
                + &end
        }
        None => {
            let none = "none: at least two numbers of jobs are needed";
            styler.item(&styler.paint(Emphasis::Strong, "knee  "), END.len(), none) + &limit + &end
        }
    }
}

/// The most jobs, and operations per second, that keep the bounds.
fn largest(report: &SweepReport<'_>) -> String {
    let terms = &report.concluded.terms;
    let bounds = format!("mean {} and max {}", terms.average, terms.ceiling);
    let within = SweptStep::max_within(&report.steps, terms);
    let Some((step, did)) = within.and_then(|step| Some((step, step.result.logical()?))) else {
        return format!("no tested number of jobs meets {bounds}");
    };
    let jobs = knees::load_word(Layer::Database, step.jobs);
    let limited = report.steps.last().is_some_and(|last| last.jobs == step.jobs);
    let more = if limited { "; more jobs were not tested" } else { "" };
    let rate = did.rate;
    format!(
        "up to {} {jobs} within {bounds}: {} IOPS ({} to {}, 95 % within this run){more}",
        step.jobs,
        Iops(rate.value),
        Iops(rate.low),
        Iops(rate.high)
    )
}

fn verdict(report: &SweepReport<'_>, styler: Styler) -> String {
    match &report.run.verdict {
        Some(verdict) => answer::reasons(verdict, styler),
        None => {
            let why = match (ending(report.run), report.steps.is_empty()) {
                (Ending::Completed, _) | (Ending::Failed(_), true) => {
                    "nothing was measured that could be judged"
                }
                _ => "the sweep was not completed",
            };
            format!("{} ({why})\n", styler.paint(Emphasis::Caution, "VERDICT: none"))
        }
    }
}

#[cfg(test)]
mod tests;
