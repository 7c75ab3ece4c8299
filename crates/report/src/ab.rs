//! Two jobs in turns, as text and as a JSON document.
//!
//! The document has `"format": "iolite-ab/1"`, `run` (as in a check's), `database` (null, or as in a run of TPROC-C), `jobs` (`a`, `b`), `pairs`, `repeat`, `detect` (a share),
//! `error` (the probability of a false answer), `end` (`different`, `alike`, `repeats`), `pairs_suggested` (number, or null), `order` (list of `a` and `b`: which came first),
//! `figures` (list: `part`, `kind`, `figure`, `decides`, `a`, `b`, `ratio` (b over a) with `ratio_low` and `ratio_high`, `pairs`, `finding`),
//! `warnings` and `ending`.

use iolite_model::TprocCDatabase;
use iolite_results::Run;
use iolite_results::ab::{AB_ERROR, AbConcluded, AbEnd, AbFigure, figures};
use iolite_results::comparison::Finding;
use serde_json::{Value, json};

use crate::document::document;
use crate::grid::aligned;
use crate::styler::{Emphasis, Style, Styler};
use crate::{answer, machine, tproc_c};

/// Name and version of the document.
const FORMAT: &str = "iolite-ab/1";

const COLUMNS: [&str; 7] = ["", "", "A", "B", "B against A", "95 % interval", ""];

/// A run of two jobs in turns.
#[derive(Debug, Clone, PartialEq)]
pub struct AbReport<'a> {
    run: &'a Run,
    concluded: AbConcluded,
    figures: Vec<AbFigure>,
}

impl<'a> AbReport<'a> {
    /// What the run says; `None` where it came to no conclusion.
    pub fn of(run: &'a Run) -> Option<AbReport<'a>> {
        Some(AbReport::with(run, run.concluded().last()?))
    }

    fn with(run: &'a Run, concluded: AbConcluded) -> AbReport<'a> {
        let figures = figures(run, &concluded.blocks, concluded.terms.figure);
        AbReport { run, concluded, figures }
    }

    /// Number of pairs that would show the difference asked for in nine cases of ten; `None` where it is clear whether there is one,
    /// and where no reasonable number is enough.
    pub fn pairs_suggested(&self) -> Option<u32> {
        let decides = self.figures.iter().find(|figure| figure.decides)?;
        let terms = &self.concluded.terms;
        let is_open = self.concluded.end == AbEnd::Repeats && decides.finding == Finding::NoDifferenceShown;
        decides.test.pairs_for(terms.detect, AB_ERROR).filter(|_| is_open)
    }

    /// What may be said of the figure that decided.
    pub fn finding(&self) -> Option<Finding> {
        self.figures.iter().find(|figure| figure.decides).map(|figure| figure.finding)
    }
}

/// The result for a terminal.
pub(crate) fn text(run: &Run, concluded: &AbConcluded, style: Style) -> String {
    let styler = Styler(style);
    let report = &AbReport::with(run, concluded.clone());
    let terms = &concluded.terms;
    let mut out = machine::header(run, "two jobs, run alternately", styler);
    if let Some(database) = run.concluded::<TprocCDatabase>().last() {
        out += &tproc_c::describe(&database, styler);
    }
    out += &styler.item("A  ", 3, &terms.jobs.0);
    out += &styler.item("B  ", 3, &terms.jobs.1);
    let mut parts: Vec<&str> = report.figures.iter().map(|figure| &*figure.part).collect();
    parts.dedup();
    for part in parts {
        out.push('\n');
        out += &styler.paint(Emphasis::Strong, &styler.clean(part));
        out.push('\n');
        out += &table(report.figures.iter().filter(|figure| figure.part == part), styler);
    }
    let warnings = answer::warnings(&run.warnings, styler);
    if !warnings.is_empty() {
        out.push('\n');
        out += &warnings;
    }
    out.push('\n');
    out + &said(report, styler)
}

fn table<'a>(figures: impl Iterator<Item = &'a AbFigure>, styler: Styler) -> String {
    let row = |figure: &AbFigure| {
        let interval = &figure.interval;
        let cells = [
            figure.kind.name().to_owned(),
            figure.figure.to_string(),
            figure.figure.describe(figure.values.0),
            figure.figure.describe(figure.values.1),
            percent(interval.ratio),
            format!("{} to {}", percent(interval.low), percent(interval.high)),
            words(figure.finding).to_owned(),
        ];
        cells.map(|cell| styler.clean(cell))
    };
    let rows = std::iter::once(COLUMNS.map(str::to_owned)).chain(figures.map(row));
    aligned(rows, 2, |_| false).into_iter().map(|line| line + "\n").collect()
}

fn percent(ratio: f64) -> String {
    if ratio.is_finite() && ratio < 100.0 {
        format!("{:+.1} %", 100.0 * (ratio - 1.0))
    } else {
        "unbounded".into()
    }
}

fn words(finding: Finding) -> &'static str {
    match finding {
        Finding::Better => "better",
        Finding::Worse => "worse",
        Finding::NoDifferenceShown => "no difference shown",
    }
}

fn said(report: &AbReport<'_>, styler: Styler) -> String {
    let AbConcluded { terms, blocks, end } = &report.concluded;
    let pairs = format!("{} pairs in random order", blocks.len());
    let detect = format!("{:.1} %", 100.0 * terms.detect);
    let figure = terms.figure;
    let (ink, text) = match (report.finding(), end) {
        (Some(Finding::Better), _) => {
            (Emphasis::Good, format!("B is better than A in {figure}, shown after {pairs}."))
        }
        (Some(Finding::Worse), _) => {
            (Emphasis::Bad, format!("B is worse than A in {figure}, shown after {pairs}."))
        }
        (_, AbEnd::Alike) => (
            Emphasis::Strong,
            format!("no difference shown in {figure}: after {pairs}, a difference of {detect} is excluded."),
        ),
        _ => {
            let advice = match report.pairs_suggested() {
                Some(pairs) => {
                    format!("with --repeat {pairs}, a difference of {detect} is shown in nine cases of ten.")
                }
                None => "the jobs vary too much from run to run to show one of that size.".to_owned(),
            };
            let text = format!(
                "no difference shown in {figure} after {pairs}; a difference of {detect} is not excluded: {advice}"
            );
            (Emphasis::Strong, text)
        }
    };
    let mut out = styler.paint(ink, "ANSWER: ") + &styler.item("", 8, text);
    let method = format!(
        "The error rate of this result is at most {:.0} %, also after an early end; the other figures share the same rate.",
        100.0 * AB_ERROR
    );
    out += &styler.item("", 0, method);
    out
}

/// The document.
pub(crate) fn json(run: &Run, concluded: &AbConcluded) -> Value {
    let AbConcluded { terms, blocks, end } = concluded;
    let report = AbReport::with(run, concluded.clone());
    let members = json!({
        "database": run.concluded::<TprocCDatabase>().last(),
        "jobs": { "a": terms.jobs.0, "b": terms.jobs.1 },
        "pairs": blocks.len(),
        "repeat": terms.repeat,
        "detect": terms.detect,
        "error": AB_ERROR,
        "end": end,
        "pairs_suggested": report.pairs_suggested(),
        "order": blocks.iter().map(|block| block.first).collect::<Vec<_>>(),
        "figures": report.figures.iter().map(figure).collect::<Vec<_>>(),
    });
    document(FORMAT, run, members)
}

fn figure(figure: &AbFigure) -> Value {
    json!({
        "part": figure.part,
        "kind": figure.kind.name(),
        "figure": figure.figure,
        "decides": figure.decides,
        "a": figure.values.0,
        "b": figure.values.1,
        "ratio": figure.interval.ratio,
        "ratio_low": figure.interval.low,
        "ratio_high": figure.interval.high,
        "pairs": figure.interval.pairs,
        "finding": figure.finding,
    })
}
