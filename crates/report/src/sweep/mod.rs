//! What `iolite ranread sweep`, `ranwrite sweep` and `ranio sweep` print: the steps, the knee, the verdict.

mod json;
mod steps;

use iolite_model::{
    Calibration, DatabaseFacts, DatabaseUse, Ending, Iops, JudgedStep, Layer, RunInfo, SweepEnd, SweepTerms,
    Verdict, Warning,
};
use iolite_results::Run;
use iolite_stats::{Knee, PhaseResult, SweepConcluded, SweptStep};

use crate::styler::{Emphasis, Style, Styler};
use crate::text::filled;
use crate::{answer, knees, machine, ran};

pub use json::{JSON_FORMAT, json};

/// Columns of the labels.
const LABEL: usize = 9;

/// A sweep with all that is to be said of it.
#[derive(Debug, Clone, PartialEq)]
pub struct SweepReport {
    /// What was known when the run started: the storage, the machine.
    pub run: RunInfo,
    /// The program's own cost, where it came to be measured.
    pub calibration: Option<Calibration>,
    /// The database as it was before the first step, where it came to be asked.
    pub facts: Option<DatabaseFacts>,
    /// The tool: `RanRead`, `RanWrite` or `RanIO`.
    pub tool: String,
    /// What was asked.
    pub terms: SweepTerms,
    /// The steps, by the number of jobs.
    pub steps: Vec<SweptStep>,
    /// Why no more jobs were tried.
    pub end: SweepEnd,
    /// The knee; `None` with fewer than two steps.
    pub knee: Option<Knee>,
    /// The step that response times were judged at.
    pub judged: Option<JudgedStep>,
    /// The answer, where one was reached.
    pub verdict: Option<Verdict>,
    /// All phases, in the order they ran.
    pub phases: Vec<PhaseResult>,
    /// What the phases took.
    pub uses: Vec<DatabaseUse>,
    /// The warnings, in the order they arose.
    pub warnings: Vec<Warning>,
    /// How the run ended.
    pub ending: Ending,
}

impl SweepReport {
    /// What a run of a sweep says; `None` where it did not come to conclude anything.
    pub fn of(run: &Run) -> Option<SweepReport> {
        let SweepConcluded { tool, terms, end, knee, judged } = run.concluded().last()?;
        Some(SweepReport {
            run: run.info.clone(),
            calibration: run.calibration.clone(),
            facts: run.databases.values().next().cloned(),
            tool,
            terms,
            steps: SweptStep::all(&run.phases),
            end,
            knee,
            judged,
            verdict: run.verdict.clone(),
            phases: run.phases.clone(),
            uses: run.database_use.values().cloned().collect(),
            warnings: run.warnings.clone(),
            ending: crate::document::ending(run),
        })
    }
}

/// The complete terminal output of a sweep.
pub fn text(report: &SweepReport, style: Style) -> String {
    let styler = Styler(style);
    filled([
        header(report, styler),
        asked(&report.terms, styler),
        steps::table(report, styler),
        steps::picture(report, styler),
        found(report, styler),
        answer::warnings(&report.warnings, styler),
        answer::ended(&report.ending, "the table", styler) + &verdict(report, styler),
    ])
}

fn header(report: &SweepReport, styler: Styler) -> String {
    let version = styler.clean(&report.run.version);
    let place = match &report.facts {
        Some(facts) => styler.clean(&facts.url),
        None => styler.clean(report.run.storage.directory.display()),
    };
    let title = format!(
        "iolite {version}: {} with an increasing number of jobs on {place}",
        styler.clean(&report.tool)
    );
    styler.paint(Emphasis::Strong, &title)
        + "\n"
        + &machine::describe(&report.run, report.calibration.as_ref(), styler)
        + &report.facts.as_ref().map_or(String::new(), |facts| ran::describe(facts, styler))
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
fn found(report: &SweepReport, styler: Styler) -> String {
    /// As wide as `knee`.
    const END: &str = "end   ";
    let end = styler.item(&styler.paint(Emphasis::Strong, END), END.len(), &report.end);
    if report.steps.is_empty() {
        return end;
    }
    let limit = styler.item(&styler.paint(Emphasis::Strong, "limit "), END.len(), largest(report));
    match &report.knee {
        Some(knee) => {
            knees::rendered(&report.tool, knee, Layer::Database, report.steps.len(), styler) + &limit + &end
        }
        None => {
            let none = "none: at least two numbers of jobs are needed";
            styler.item(&styler.paint(Emphasis::Strong, "knee  "), END.len(), none) + &limit + &end
        }
    }
}

/// The most jobs, and operations per second, that keep the bounds.
fn largest(report: &SweepReport) -> String {
    let terms = &report.terms;
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

fn verdict(report: &SweepReport, styler: Styler) -> String {
    match &report.verdict {
        Some(verdict) => answer::reasons(verdict, styler),
        None => {
            let why = match (&report.ending, report.steps.is_empty()) {
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
