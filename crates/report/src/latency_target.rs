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
//! | `target` | `bound_ns`, `quantile`, `window_ns`, `ramp_ns`, `parameter` (`depth` or `rate`), `max` (null for none), `precision` (of a rate) |
//! | `tries` | list: `phase` (index), `window_ns`, `depth` or `rate_iops`, `purpose` (`sounding`, `search`, `confirmation`), `outcome` (`sounded`, `kept`, `broken`, `behind`, `too-few`: tried again in a longer window), `quantile_ns` (by operations or by time, whichever is longer; null where nothing completed), `operations`, `iops`, `backlog` |
//! | `answer` | null, or `depth` or `rate_iops` (the other null), `limited`, `low` (the largest load that surely keeps the bound, with 95 % certainty within this run; null where none is that sure), `high` (the smallest that surely does not; null likewise) |
//! | `failure` | null, or why the search could not continue |

use iolite_model::{LatencyAnswer, LatencyTerms, Load, LoadParameter, Task, Try, TryOutcome, TryPurpose};
use iolite_results::Run;
use serde_json::{Value, json};

use crate::document::document;
use crate::grid::{Line, columns};
use crate::run::phases_json;
use crate::styler::{Emphasis, Style, Styler, count, filled};
use crate::table::{NONE, stamp, uncertainty};
use crate::{answer, json as shared, machine, words};

/// Name and version of the document.
pub const JSON_FORMAT: &str = "iolite-latency-target/1";

/// Columns of the labels.
const LABEL: usize = 9;

/// What is left out of the table first where there is no room.
const SPARED: [usize; 4] = [5, 4, 2, 1];

/// A search: what was asked, and what came of it.
struct LatencyReport<'a> {
    run: &'a Run,
    terms: LatencyTerms,
    tries: Vec<Try>,
    /// `None` where the search did not end.
    answer: Option<LatencyAnswer>,
}

impl LatencyReport<'_> {
    /// What a run of a search says.
    fn of<'a>(run: &'a Run, terms: &LatencyTerms) -> LatencyReport<'a> {
        let (tries, answer) = (run.concluded().collect(), run.concluded().last());
        LatencyReport { run, terms: terms.clone(), tries, answer }
    }
}

/// The complete terminal output of a search.
pub(crate) fn text(run: &Run, terms: &LatencyTerms, style: Style) -> String {
    let styler = Styler(style);
    let report = &LatencyReport::of(run, terms);
    let what =
        format!("highest load within a response time bound, on {}", run.info.storage.directory.display());
    filled([
        machine::header(run, what, styler),
        asked(report, styler),
        table(report, styler),
        answer::warnings(&run.warnings, styler),
        answer::ended(run, "the table", styler) + &conclusion(report, styler),
    ])
}

fn asked(report: &LatencyReport<'_>, styler: Styler) -> String {
    let task = Task::File(report.terms.task.clone());
    let line = |label: &str, text: String| styler.item(&format!("{label:<LABEL$}"), LABEL, text);
    let (max, what) = match report.terms.target.parameter {
        LoadParameter::Depth { max } => (format!(", up to {max}"), "operations outstanding"),
        LoadParameter::Rate { max, .. } => {
            let max = max.map_or(String::new(), |max| format!(", up to {max}"));
            (
                format!("{max}, with {} outstanding at most", report.terms.task.concurrency),
                "operations per second",
            )
        }
    };
    let ramp = if report.terms.target.ramp.0 > 0 {
        format!(" after a ramp of {}", report.terms.target.ramp)
    } else {
        String::new()
    };
    line(
        "target",
        format!(
            "{} of at most {}: the most {what}{max}",
            report.terms.target.quantile, report.terms.target.bound
        ),
    ) + &line("task", format!("{}: {}", report.terms.task.name, words::does(&task)))
        + &words::way(&task).map_or(String::new(), |way| line("by", way))
        + &line("windows", format!("of {}{ramp}{}", report.terms.target.window, lengthened(report)))
}

/// How long the windows became, where operations were too slow for those asked for.
fn lengthened(report: &LatencyReport<'_>) -> String {
    let longest = report.tries.iter().map(|each| each.window).max();
    longest.filter(|longest| *longest > report.terms.target.window).map_or(String::new(), |longest| {
        format!(", up to {longest} if {} rested on too few operations", report.terms.target.quantile)
    })
}

fn table(report: &LatencyReport<'_>, styler: Styler) -> String {
    if report.tries.is_empty() {
        return String::new();
    }
    let load = match report.terms.target.parameter {
        LoadParameter::Depth { .. } => "outstanding",
        LoadParameter::Rate { .. } => "asked",
    };
    let quantile = report.terms.target.quantile.to_string();
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
fn row(each: &Try, report: &LatencyReport<'_>, styler: Styler) -> [String; 8] {
    let load = match (each.load, report.terms.target.parameter) {
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
    let phase = report.run.phases.iter().find(|phase| phase.info.index == each.phase);
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
fn conclusion(report: &LatencyReport<'_>, styler: Styler) -> String {
    let (quantile, bound) = (report.terms.target.quantile, report.terms.target.bound);
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
pub(crate) fn json(run: &Run, terms: &LatencyTerms) -> Value {
    let LatencyReport { tries, answer, .. } = LatencyReport::of(run, terms);
    let failure = match &answer {
        Some(LatencyAnswer::Failed(why)) => Some(why),
        _ => None,
    };
    let members = json!({
        "name": terms.task.name,
        "task": shared::task(&Task::File(terms.task.clone())),
        "target": terms.target,
        "tries": tries,
        "answer": answer.as_ref().and_then(found),
        "failure": failure,
        "phases": phases_json(run),
    });
    document(JSON_FORMAT, run, members)
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
