//! A comparison as text and as a JSON document.
//!
//! The document has `"format": "iolite-comparison/1"`; `before` and `after` (lists of run ids), `covers` (`within-runs` or
//! `between-runs`), `pairs` (their number, if all parts were compared in as many pairs; else null), `figures_compared`, `detect` (a share), `repeats_suggested` (per side; null where there are as many already, 1000 where even these would be too few), `caveats` (list of
//! sentences), `parts` (list: `name`, `concurrency` and `stamp` with `before` and `after` each, `pairs` (number of pairs of runs that were compared; null where both sides were compared as sets), `figures`) and `failed` (the
//! conditions of `--fail-if` that hold, a sentence each). A figure has `kind`, `figure` (`rate`, `bandwidth`, `mean`, `p50`, `p99`,
//! `p99.9`), `before`, `after` (operations or bytes per second, nanoseconds), `ratio` (after over before) with `ratio_low` and
//! `ratio_high` (95 % interval), `p`, `smallest_detectable` (a share; null where it is unknown) and `finding` (`better`, `worse`,
//! `no-difference-shown`).

use iolite_results::comparison::{Comparison, FigureComparison, Finding, PartComparison};
use iolite_stats::{Covers, Difference, MAX_REPEATS};
use serde_json::{Value, json};

use crate::grid::aligned;
use crate::styler::{Emphasis, Style, Styler};

/// Name and version of the document.
const FORMAT: &str = "iolite-comparison/1";

const COLUMNS: [&str; 7] = ["", "", "before", "after", "change", "95 % interval", ""];

/// The comparison for a terminal; `failed` holds the conditions that hold, a sentence each.
pub fn text(comparison: &Comparison, failed: &[String], style: Style) -> String {
    let styler = Styler(style);
    let runs = |ids: &[String]| format!("{} ({})", ids.join(", "), count(ids.len() as u64, "run", "runs"));
    let mut out = styler.item("before  ", 8, runs(&comparison.before));
    out += &styler.item("after   ", 8, runs(&comparison.after));
    for part in &comparison.parts {
        out.push('\n');
        out += &table_of(part, styler);
    }
    if !comparison.caveats.is_empty() {
        out.push('\n');
        for caveat in &comparison.caveats {
            out += &styler.paint(Emphasis::Caution, "NOTE: ");
            out += &styler.item("", 6, caveat);
        }
    }
    out.push('\n');
    out += &answer(comparison, styler);
    for condition in failed {
        out += &styler.paint(Emphasis::Bad, "FAILED: ");
        out += &styler.item("", 8, condition);
    }
    out
}

fn count(number: u64, one: &str, several: &str) -> String {
    format!("{} {}", crate::styler::count(number), if number == 1 { one } else { several })
}

fn table_of(part: &PartComparison, styler: Styler) -> String {
    let pair = |before: &str, after: &str| {
        if before == after { before.to_owned() } else { format!("{before} -> {after}") }
    };
    let (before, after) = part.concurrency;
    let title = format!(
        "{}, concurrency {}, {}",
        part.name,
        pair(&before.to_string(), &after.to_string()),
        pair(&part.stamps.0, &part.stamps.1)
    );
    let mut rows = vec![COLUMNS.map(str::to_owned)];
    let mut kind = None;
    for figure in &part.figures {
        let name = if kind == Some(figure.kind) { "" } else { figure.kind.name() };
        kind = Some(figure.kind);
        rows.push(cells(name, figure).map(|cell| styler.clean(cell)));
    }
    let lines = aligned(rows, 2, |_| false).into_iter().map(|line| line + "\n");
    styler.paint(Emphasis::Strong, &styler.clean(title)) + "\n" + &lines.collect::<String>()
}

fn cells(kind: &str, figure: &FigureComparison) -> [String; 7] {
    let difference = &figure.difference;
    [
        kind.to_owned(),
        figure.figure.to_string(),
        figure.figure.describe(difference.before),
        figure.figure.describe(difference.after),
        percent(difference.change()),
        format!("{} to {}", percent(difference.low - 1.0), percent(difference.high - 1.0)),
        sentence(figure),
    ]
}

/// A change in percent, with its sign.
pub(crate) fn percent(share: f64) -> String {
    if !share.is_finite() {
        return "unbounded".to_owned();
    }
    let digits = if share.abs() < 0.0995 { 1 } else { 0 };
    format!("{:+.digits$} %", 100.0 * share)
}

/// What is said of a figure.
pub(crate) fn sentence(figure: &FigureComparison) -> String {
    match figure.finding {
        Finding::Better => "better".to_owned(),
        Finding::Worse => "worse".to_owned(),
        Finding::NoDifferenceShown => format!("no difference shown; {}", smallest(&figure.difference)),
    }
}

fn smallest(difference: &Difference) -> String {
    if difference.detectable.is_finite() && difference.detectable < 10.0 {
        format!("smallest detectable difference {}", percent(difference.detectable).trim_start_matches('+'))
    } else {
        "too little was measured to detect one".to_owned()
    }
}

fn answer(comparison: &Comparison, styler: Styler) -> String {
    let (ink, sentences) = answered(comparison);
    let mut sentences = sentences.into_iter();
    let mut out = styler.paint(ink, "ANSWER: ") + &styler.item("", 8, sentences.next().unwrap_or_default());
    sentences.for_each(|sentence| out += &styler.item("", 0, sentence));
    out
}

/// The answer, what it covers, and how to get a better one.
pub(crate) fn answered(comparison: &Comparison) -> (Emphasis, Vec<String>) {
    let with = |finding: Finding| comparison.all().filter(move |(_, figure)| figure.finding == finding);
    let (better, worse) = (with(Finding::Better).count(), with(Finding::Worse).count());
    let (ink, said) = match (better, worse) {
        (0, 0) => (Emphasis::Strong, "no difference shown".to_owned()),
        (_, 0) => (Emphasis::Good, "better".to_owned()),
        (0, _) => (Emphasis::Bad, "worse".to_owned()),
        _ => (Emphasis::Caution, "better in some figures, worse in others".to_owned()),
    };
    let all = count(comparison.figures as u64, "figure", "figures");
    let counted = match better + worse {
        0 => format!("{said} in any of {all}"),
        _ => format!("{said}: of {all} compared, {better} better and {worse} worse"),
    };
    let mut sentences = vec![format!("{counted}{}.", scope(comparison.covers))];
    if comparison.covers == Covers::WithinRuns {
        let text = "The intervals cover only the variation within one run of each side. Other runs of the same workload \
                    may differ by more.";
        sentences.push(text.to_owned());
    }
    sentences.extend(in_pairs(comparison));
    sentences.extend(comparison.repeats.map(|repeats| repeated(comparison.detect, repeats)));
    (ink, sentences)
}

/// How many runs would show a difference.
fn repeated(detect: f64, repeats: u32) -> String {
    let difference = percent(detect);
    let asked = format!(
        "To detect a difference of {} in rate or mean with a probability of 90 %",
        difference.trim_start_matches('+')
    );
    if repeats >= MAX_REPEATS {
        // As many are too few; the number that would do rests on next to nothing.
        return format!(
            "{asked}, even {MAX_REPEATS} runs of each side like these are too few: measure longer in each run (--runtime, --size)."
        );
    }
    format!(
        "{asked}: {repeats} runs of each side, run alternately in random order (as `iolite ab` does), compared with `--before A... \
         --after B...`."
    )
}

/// Which runs were compared with which, where that is not all of one side with all of the other.
fn in_pairs(comparison: &Comparison) -> Vec<String> {
    if let Some(pairs) = comparison.pairs {
        return vec![format!(
            "The runs of both sides alternate: they were compared in {pairs} pairs, each run with its neighbour in time."
        )];
    }
    if comparison.parts.iter().all(|part| part.pairs.is_none()) {
        return Vec::new();
    }
    let each = comparison.parts.iter().map(|part| match part.pairs {
        Some(pairs) => {
            format!("`{}` was compared in {pairs} pairs, each run with its neighbour in time.", part.name)
        }
        None => format!("`{}` was compared as two sets of runs, not in pairs.", part.name),
    });
    each.collect()
}

fn scope(covers: Covers) -> &'static str {
    match covers {
        Covers::WithinRuns => " (within these two runs only)",
        Covers::BetweenRuns => "",
    }
}

/// The document of a comparison.
pub fn json(comparison: &Comparison, failed: &[String]) -> Value {
    json!({
        "format": FORMAT,
        "before": comparison.before,
        "after": comparison.after,
        "covers": comparison.covers,
        "pairs": comparison.pairs,
        "figures_compared": comparison.figures,
        "detect": comparison.detect,
        "repeats_suggested": comparison.repeats,
        "caveats": comparison.caveats,
        "parts": comparison.parts.iter().map(part).collect::<Vec<_>>(),
        "failed": failed,
    })
}

fn part(part: &PartComparison) -> Value {
    json!({
        "name": part.name,
        "concurrency": { "before": part.concurrency.0, "after": part.concurrency.1 },
        "stamp": { "before": part.stamps.0, "after": part.stamps.1 },
        "pairs": part.pairs,
        "figures": part.figures.iter().map(figure).collect::<Vec<_>>(),
    })
}

fn figure(figure: &FigureComparison) -> Value {
    let difference = &figure.difference;
    json!({
        "kind": figure.kind.name(),
        "figure": figure.figure,
        "before": difference.before,
        "after": difference.after,
        "ratio": difference.ratio,
        "ratio_low": difference.low,
        "ratio_high": difference.high,
        "p": difference.p,
        "smallest_detectable": difference.detectable,
        "finding": figure.finding,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(name: &str, pairs: Option<usize>) -> PartComparison {
        let stamp = || "device".to_owned();
        let (name, figures) = (name.to_owned(), Vec::new());
        PartComparison { name, concurrency: (1, 1), stamps: (stamp(), stamp()), pairs, figures }
    }

    fn with(pairs: Option<usize>, parts: Vec<PartComparison>) -> Comparison {
        Comparison {
            before: vec!["a".into()],
            after: vec!["b".into()],
            parts,
            caveats: Vec::new(),
            covers: Covers::BetweenRuns,
            pairs,
            figures: 0,
            detect: 0.05,
            repeats: None,
        }
    }

    #[test]
    fn a_number_of_repeats_that_is_too_small_is_not_suggested() {
        let said = |repeats| answered(&Comparison { repeats, ..with(None, Vec::new()) }).1.join("\n");
        assert!(
            said(Some(12)).contains("5.0 % in rate or mean with a probability of 90 %: 12 runs of each side")
        );
        let too_few = said(Some(MAX_REPEATS));
        assert!(
            too_few.contains("even 1000 runs of each side") && !too_few.contains("iolite ab"),
            "{too_few}"
        );
        assert!(!said(None).contains("To detect"));
    }

    #[test]
    fn pairs_are_claimed_only_for_the_parts_that_were_compared_in_pairs() {
        let said = |comparison: &Comparison| answered(comparison).1[1..].join("\n");
        let all = with(Some(6), vec![part("reads", Some(6)), part("writes", Some(6))]);
        assert!(said(&all).contains("in 6 pairs"), "{}", said(&all));
        assert_eq!(said(&with(None, vec![part("reads", None)])), "");
        let mixed = with(None, vec![part("reads", Some(7)), part("writes", None)]);
        let text = said(&mixed);
        assert!(text.contains("`reads` was compared in 7 pairs"), "{text}");
        assert!(text.contains("`writes` was compared as two sets"), "{text}");
        let document = json(&mixed, &[]);
        assert_eq!((&document["pairs"], &document["parts"][0]["pairs"]), (&Value::Null, &json!(7)));
        assert_eq!(document["parts"][1]["pairs"], Value::Null);
    }
}
