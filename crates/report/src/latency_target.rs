//! What a search for the largest load under a bound on the response time prints.
//!
//! The document has `"format": "iolite-latency-target/1"`; keys, units and promises are those of the document of a run
//! ([`run::json`](crate::run::json)):
//!
//! | key | holds |
//! |---|---|
//! | `format` | `iolite-latency-target/1` |
//! | `name`, `run`, `calibration`, `phases`, `warnings`, `ending` | as in a run; the phases are the tries |
//! | `task` | what was searched on, as in a phase |
//! | `target` | `bound_ns`, `quantile`, `window_ns`, `ramp_ns`, `parameter` (`depth` or `rate`), `max` (null for none), `precision` (null for a depth) |
//! | `tries` | list: `phase` (index), `window_ns`, `depth` or `rate_iops` (the other null), `purpose` (`sounding`, `search`, `confirmation`), `outcome` (`sounded`, `kept`, `broken`, `behind`, `too few`: tried again in a longer window), `quantile_ns` (by operations or by time, whichever is longer; null where nothing completed), `operations`, `iops`, `backlog` |
//! | `answer` | null, or `depth` or `rate_iops` (the other null), `limited`, `low` (the largest load that surely keeps the bound, with 95 % certainty within this run; null where none is that sure), `high` (the smallest that surely does not; null likewise) |
//! | `failure` | null, or why the search could not continue |

use iolite_model::{
    Calibration, Ending, FileTask, LatencyAnswer, LatencyTarget, LatencyTerms, Load, LoadParameter, Nanos,
    RunInfo, Task, Try, TryOutcome, TryPurpose, Warning,
};
use iolite_results::Run;
use iolite_stats::PhaseResult;
use serde_json::{Value, json};

use crate::grid::{Line, columns};
use crate::run::phase_json;
use crate::styler::{Emphasis, Style, Styler, count};
use crate::table::{NONE, stamp, uncertainty};
use crate::text::filled;
use crate::{answer, json as shared, machine, words};

/// Name and version of the document.
pub const JSON_FORMAT: &str = "iolite-latency-target/1";

/// Columns of the labels.
const LABEL: usize = 9;

/// What is left out of the table first where there is no room.
const SPARED: [usize; 4] = [5, 4, 2, 1];

/// A search with all that is to be said of it.
#[derive(Debug, Clone, PartialEq)]
pub struct LatencyReport {
    /// What was known when the run started: the storage, the machine.
    pub run: RunInfo,
    /// The program's own cost, where it came to be measured.
    pub calibration: Option<Calibration>,
    /// What was searched on.
    pub task: FileTask,
    /// What was asked.
    pub target: LatencyTarget,
    /// The tries, in order.
    pub tries: Vec<Try>,
    /// What came of them; `None` where the search did not end.
    pub answer: Option<LatencyAnswer>,
    /// The tries' phases.
    pub phases: Vec<PhaseResult>,
    /// The warnings, in the order they arose.
    pub warnings: Vec<Warning>,
    /// How the run ended.
    pub ending: Ending,
}

impl LatencyReport {
    /// What a run of a search says; `None` where what was asked for is not known.
    pub fn of(run: &Run) -> Option<LatencyReport> {
        let LatencyTerms { task, target } = run.concluded().next()?;
        let tries: Vec<Try> = run.concluded().collect();
        Some(LatencyReport {
            run: run.info.clone(),
            calibration: run.calibration.clone(),
            task,
            target,
            tries,
            answer: run.concluded().last(),
            phases: run.phases.clone(),
            warnings: run.warnings.clone(),
            ending: crate::document::ending(run),
        })
    }
}

/// The complete terminal output of a search.
pub fn text(report: &LatencyReport, style: Style) -> String {
    let styler = Styler(style);
    let version = styler.clean(&report.run.version);
    let directory = styler.clean(report.run.storage.directory.display());
    let title = format!("iolite {version}: highest load within a response time bound, on {directory}");
    let header = styler.paint(Emphasis::Strong, &title)
        + "\n"
        + &machine::describe(&report.run, report.calibration.as_ref(), styler);
    filled([
        header,
        asked(report, styler),
        table(report, styler),
        answer::warnings(&report.warnings, styler),
        answer::ended(&report.ending, "the table", styler) + &conclusion(report, styler),
    ])
}

fn asked(report: &LatencyReport, styler: Styler) -> String {
    let task = Task::File(report.task.clone());
    let line = |label: &str, text: String| styler.item(&format!("{label:<LABEL$}"), LABEL, text);
    let (max, what) = match report.target.parameter {
        LoadParameter::Depth { max } => (format!(", up to {max}"), "operations outstanding"),
        LoadParameter::Rate { max, .. } => {
            let max = max.map_or(String::new(), |max| format!(", up to {max}"));
            (format!("{max}, with {} outstanding at most", report.task.concurrency), "operations per second")
        }
    };
    let ramp = if report.target.ramp.0 > 0 {
        format!(" after a ramp of {}", report.target.ramp)
    } else {
        String::new()
    };
    line(
        "target",
        format!("{} of at most {}: the most {what}{max}", report.target.quantile, report.target.bound),
    ) + &line("task", format!("{}: {}", report.task.name, words::does(&task)))
        + &words::way(&task).map_or(String::new(), |way| line("by", way))
        + &line("windows", format!("of {}{ramp}{}", report.target.window, lengthened(report)))
}

/// How long the windows became, where operations were too slow for those asked for.
fn lengthened(report: &LatencyReport) -> String {
    let longest = report.tries.iter().map(|each| each.window).max();
    longest.filter(|longest| *longest > report.target.window).map_or(String::new(), |longest| {
        format!(", up to {longest} if {} rested on too few operations", report.target.quantile)
    })
}

fn table(report: &LatencyReport, styler: Styler) -> String {
    if report.tries.is_empty() {
        return String::new();
    }
    let load = match report.target.parameter {
        LoadParameter::Depth { .. } => "outstanding",
        LoadParameter::Rate { .. } => "asked",
    };
    let quantile = report.target.quantile.to_string();
    let heading = Line::new(
        "",
        [load, "IOPS", "±", &quantile, "operations", "for", "", "cache"].map(|text| styler.clean(text)),
    );
    let rows = report.tries.iter().map(|each| Line::new("", row(each, report, styler)));
    let lines: Vec<_> = std::iter::once(heading).chain(rows).collect();
    columns(&lines, &SPARED, 0, styler)
        + &styler.item("", 0, "±: 95 % interval of the rate, within this run; cache: cache stamp")
}

/// Load, rate with its uncertainty, quantile, operations, what it was for, how it came out, cache stamp.
fn row(each: &Try, report: &LatencyReport, styler: Styler) -> [String; 8] {
    let load = match (each.load, report.target.parameter) {
        (Load::Depth(depth), LoadParameter::Depth { .. }) => depth.to_string(),
        (Load::Depth(depth), _) => format!("{depth} outstanding"),
        (Load::Rate(rate), _) => rate.to_string(),
    };
    let purpose = match each.purpose {
        TryPurpose::Sounding => "a start",
        TryPurpose::Search => "the search",
        TryPurpose::Confirmation => "certainty",
    };
    let outcome = match each.outcome {
        TryOutcome::Sounded => String::new(),
        TryOutcome::Kept => styler.glyph("✓ kept", "+ kept").to_owned(),
        TryOutcome::Broken => styler.glyph("✗ too slow", "x too slow").to_owned(),
        TryOutcome::TooFew => "too few".to_owned(),
        TryOutcome::Behind => format!("{} {} behind", styler.glyph("✗", "x"), count(each.backlog)),
    };
    let quantile = each.quantile.map_or(NONE.to_owned(), |quantile| styler.clean(quantile));
    let phase = report.phases.iter().find(|phase| phase.info.index == each.phase);
    let (rate, uncertain) = (each.rate.to_string(), phase.map_or(NONE.to_owned(), uncertainty));
    let cache = phase.map_or(NONE.to_owned(), |phase| stamp(phase.end.cache.stamp()));
    [load, rate, uncertain, quantile, count(each.operations), purpose.to_owned(), outcome, cache]
}

fn rendered(load: Load) -> String {
    match load {
        Load::Depth(1) => "1 operation outstanding".to_owned(),
        Load::Depth(depth) => format!("{depth} operations outstanding"),
        Load::Rate(rate) => format!("{rate} IOPS"),
    }
}

/// The answer in a sentence.
fn conclusion(report: &LatencyReport, styler: Styler) -> String {
    let (quantile, bound) = (report.target.quantile, report.target.bound);
    let item = |ink, label: &str, text: String| styler.item(&styler.paint(ink, label), label.len(), text);
    match &report.answer {
        None => item(Emphasis::Caution, "ANSWER: ", "none: the search was not completed".to_owned()),
        Some(LatencyAnswer::Failed(why)) => item(Emphasis::Bad, "FAILED: ", why.clone()),
        Some(LatencyAnswer::NoneKept { lowest }) => {
            let min = match lowest {
                Load::Depth(_) => "",
                Load::Rate(_) => ", the lowest load that windows of this length can judge,",
            };
            let text = format!("none: even with {}{min} {quantile} exceeded {bound}", rendered(*lowest));
            item(Emphasis::Bad, "ANSWER: ", text)
        }
        Some(LatencyAnswer::Found { load, limited, low, high }) => {
            let kept = report
                .tries
                .iter()
                .filter(|each| each.load == *load && each.outcome == TryOutcome::Kept)
                .collect::<Vec<_>>();
            let worst = kept.iter().filter_map(|each| each.quantile).max();
            let mut facts: Vec<String> = Vec::new();
            facts.extend(worst.map(|worst| format!("{worst} in the worse of two windows")));
            if let (Load::Depth(_), Some(last)) = (load, kept.last()) {
                facts.push(format!("at {} IOPS", last.rate));
            }
            facts.extend(sure(*low, *high));
            let facts = if facts.is_empty() { String::new() } else { format!(" ({})", facts.join(", ")) };
            let more = if *limited { "the maximum was reached" } else { "not with more" };
            let text = format!("{quantile} is within {bound} up to {}{facts}; {more}", rendered(*load));
            item(Emphasis::Good, "ANSWER: ", text)
        }
    }
}

/// What the answer's interval is, in words.
fn sure(low: Option<Load>, high: Option<Load>) -> Option<String> {
    let parts: Vec<String> =
        [low.map(|low| format!("at least {low}")), high.map(|high| format!("below {high}"))]
            .into_iter()
            .flatten()
            .collect();
    (!parts.is_empty()).then(|| format!("95 % interval within this run: {}", parts.join(", ")))
}

/// The document of a search.
pub fn json(report: &LatencyReport) -> Value {
    let (parameter, max, precision) = match report.target.parameter {
        LoadParameter::Depth { max } => ("depth", Some(f64::from(max)), None),
        LoadParameter::Rate { max, precision } => ("rate", max.map(|max| max.0), Some(precision)),
    };
    let failure = match &report.answer {
        Some(LatencyAnswer::Failed(why)) => Some(why),
        _ => None,
    };
    json!({
        "format": JSON_FORMAT,
        "name": report.task.name,
        "run": shared::stored(&report.run),
        "calibration": shared::stored(&report.calibration),
        "task": shared::task(&Task::File(report.task.clone())),
        "target": {
            "bound_ns": report.target.bound.0,
            "quantile": report.target.quantile.0,
            "window_ns": report.target.window.0,
            "ramp_ns": report.target.ramp.0,
            "parameter": parameter,
            "max": max,
            "precision": precision,
        },
        "tries": report.tries.iter().map(each_try).collect::<Vec<_>>(),
        "answer": report.answer.as_ref().and_then(found),
        "failure": failure,
        "phases": report.phases.iter().map(phase_json).collect::<Vec<_>>(),
        "warnings": report.warnings.iter().map(shared::warning).collect::<Vec<_>>(),
        "ending": shared::ending(&report.ending),
    })
}

fn each_try(each: &Try) -> Value {
    let (depth, rate) = load(each.load);
    json!({
        "phase": each.phase,
        "window_ns": each.window.0,
        "depth": depth,
        "rate_iops": rate,
        "purpose": match each.purpose {
            TryPurpose::Sounding => "sounding",
            TryPurpose::Search => "search",
            TryPurpose::Confirmation => "confirmation",
        },
        "outcome": match each.outcome {
            TryOutcome::Sounded => "sounded",
            TryOutcome::Kept => "kept",
            TryOutcome::Broken => "broken",
            TryOutcome::Behind => "behind",
            TryOutcome::TooFew => "too few",
        },
        "quantile_ns": each.quantile.map(|Nanos(nanos)| nanos),
        "operations": each.operations,
        "iops": each.rate.0,
        "backlog": each.backlog,
    })
}

fn load(load: Load) -> (Option<u32>, Option<f64>) {
    match load {
        Load::Depth(depth) => (Some(depth), None),
        Load::Rate(rate) => (None, Some(rate.0)),
    }
}

fn found(answer: &LatencyAnswer) -> Option<Value> {
    let LatencyAnswer::Found { load: largest, limited, low, high } = answer else { return None };
    let (depth, rate) = load(*largest);
    let end = |load: &Load| match *load {
        Load::Depth(depth) => f64::from(depth),
        Load::Rate(rate) => rate.0,
    };
    Some(json!({
        "depth": depth,
        "rate_iops": rate,
        "limited": limited,
        "low": low.as_ref().map(end),
        "high": high.as_ref().map(end),
    }))
}

#[cfg(test)]
mod tests;
