//! What `iolite pts` prints: convergence, steady-state verification and measurement window of each test.
//!
//! The documents have `"format": "iolite-pts/1"`; keys, units and promises are those of the document of a run
//! ([`run::json`](crate::run::json)):
//!
//! | key | holds |
//! |---|---|
//! | `format` | `iolite-pts/1` |
//! | `rehearsal` | whether times were scaled down: the figures are then none of the specification |
//! | `terms` | what was asked for; sizes in bytes, times in nanoseconds |
//! | `sections` | list: `name`, `unit`, `rounds` (the tracked figure of each), `purged`, `window` (null, or `first`, `last`, `mean`, `range_percent`, `rise_percent`, `steady`), `cells` (list, means over the window: `read_percent`, `block_bytes`, `value`) |
//! | `run`, `calibration`, `phases`, `warnings`, `ending` | as in a run |

use iolite_model::{Bytes, Iops, Nanos, PtsCell, PtsPhase, PtsSection, PtsTerms, PtsTest};
use iolite_results::{MAX_RANGE, MAX_RISE, PtsProgress, PtsRounds, PtsWindow, Run};
use serde_json::{Value, json};

use crate::run::phase_json;
use crate::styler::{Emphasis, Style, Styler};
use crate::table::NONE;
use crate::text::filled;
use crate::{answer, chart, json as shared, machine};

/// Name and version of the document.
pub const JSON_FORMAT: &str = "iolite-pts/1";

/// Columns of a figure.
const CELL: usize = 12;

/// Values of the write saturation test that are printed one by one at most.
const LISTED: usize = 30;

/// The terminal output of a run of the specification's tests.
pub(crate) fn text(run: &Run, terms: &PtsTerms, style: Style) -> String {
    let styler = Styler(style);
    let version = styler.clean(&run.info.version);
    let target = styler.clean(terms.target.display());
    let title = format!("iolite {version}: SNIA Performance Test Specification on {target}");
    let mut header = styler.paint(Emphasis::Strong, &title) + "\n";
    header += &machine::describe(&run.info, run.calibration.as_ref(), styler);
    header += &settings(terms, styler);
    let progress = PtsProgress::of(run, terms);
    let sections = terms.sections().into_iter().map(|section| text_of(&progress, terms, section, styler));
    let ending = crate::document::ending(run);
    filled(
        std::iter::once(header)
            .chain(sections)
            .chain([answer::warnings(&run.warnings, styler), answer::ended(&ending, "this", styler)]),
    )
}

fn settings(terms: &PtsTerms, styler: Styler) -> String {
    let purge =
        if terms.purges { "purged by discarding all blocks" } else { "not purged: discard is not supported" };
    let text = format!(
        "active range {}, {} threads with {} outstanding operations each, {} per cell and round, window of {} \
         rounds, at most {}; {purge}",
        terms.span, terms.threads, terms.depth, terms.cell, terms.window, terms.max_rounds
    );
    let mut out = machine::line(styler, "settings", text);
    if terms.is_rehearsal() {
        let text =
            format!("REHEARSAL at scale {}: these figures do not conform to the specification", terms.scale);
        out += &(styler.paint(Emphasis::Caution, &styler.clean(text)) + "\n");
    }
    out
}

fn text_of(progress: &PtsProgress<'_>, terms: &PtsTerms, section: PtsSection, styler: Styler) -> String {
    let rounds = progress.rounds(section);
    let mut out = styler.paint(Emphasis::Strong, &section.name()) + rehearsal(terms) + "\n";
    if rounds.values.is_empty() {
        return out + "  no complete round\n";
    }
    out += &convergence(section, &rounds, styler);
    if section.test == PtsTest::WriteSaturation {
        let written = Bytes(progress.written(section, rounds.values.len()));
        let line = format!("written {written} of the {} that end the test", terms.saturated());
        return out + &styler.item("  ", 2, line);
    }
    match rounds.window {
        Some(window) => {
            out += &verification(terms, window, styler);
            out += &measured(progress, terms, section, window, styler);
        }
        None => out += &styler.item("  ", 2, format!("fewer rounds than the window of {}", terms.window)),
    }
    out
}

fn rehearsal(terms: &PtsTerms) -> &'static str {
    if terms.is_rehearsal() { " (rehearsal)" } else { "" }
}

/// A figure with its unit.
fn figure(test: PtsTest, value: f64) -> String {
    match test {
        PtsTest::Iops | PtsTest::WriteSaturation => format!("{} IOPS", Iops(value)),
        PtsTest::Latency => Nanos(value as u64).to_string(),
        PtsTest::Throughput => format!("{}/s", Bytes(value as u64)),
    }
}

/// The tracked figure of each round, with bars.
fn convergence(section: PtsSection, rounds: &PtsRounds, styler: Styler) -> String {
    let max = rounds.values.iter().copied().fold(0.0, f64::max);
    // Of a day's minutes every so manieth is printed.
    let stride = rounds.values.len().div_ceil(LISTED).max(1);
    let line = |(index, value): (usize, &f64)| {
        let bar = chart::horizontal_bar(*value, max, 30, styler);
        let text = styler.clean(figure(section.test, *value));
        format!("  round {:>5} {text:>16}  {bar}\n", index + 1)
    };
    rounds.values.iter().enumerate().step_by(stride).map(line).collect()
}

/// The window and the two criteria.
fn verification(terms: &PtsTerms, window: PtsWindow, styler: Styler) -> String {
    let first = (window.last + 1).saturating_sub(terms.window.max(2));
    let verdict = if window.steady { "steady" } else { "NOT STEADY" };
    let text = format!(
        "rounds {first} to {}: {verdict}; range {:.1} % of the mean (at most {MAX_RANGE:.0} %), rise of the line {:.1} % (at \
         most {MAX_RISE:.0} %)",
        window.last, window.range, window.rise
    );
    let text = styler.item("  ", 2, text);
    if window.steady { text } else { styler.paint(Emphasis::Caution, text.trim_end()) + "\n" }
}

/// The table of the measurement window: mixes across, block sizes down.
fn measured(
    progress: &PtsProgress<'_>,
    terms: &PtsTerms,
    section: PtsSection,
    window: PtsWindow,
    styler: Styler,
) -> String {
    let mixes = section.test.mixes();
    let heads = mixes.iter().map(|mix| format!("{:>CELL$}", format!("{mix}/{}", 100 - mix)));
    let mut out = format!("  {:>10}{}\n", "read/write", heads.collect::<String>());
    let mut blocks: Vec<Bytes> = terms.cells(section, 1).iter().map(|cell| cell.block).collect();
    blocks.sort_unstable();
    blocks.dedup();
    for block in blocks.into_iter().rev() {
        let cell = PtsCell { round: window.last, read_percent: 0, block };
        let figures = mixes.iter().map(|&mix| {
            let mean = progress.mean(section, window, mix, cell);
            let text = mean.map_or_else(|| NONE.to_owned(), |mean| short(section.test, mean));
            format!("{:>CELL$}", styler.clean(text))
        });
        out += &format!("  {:>10}{}\n", block.to_string(), figures.collect::<String>());
    }
    out + &styler.item("  ", 2, format!("{}, means of the window's rounds", unit(section.test)))
}

fn short(test: PtsTest, value: f64) -> String {
    match test {
        PtsTest::Throughput => crate::table::mebibytes(value),
        PtsTest::Latency => Nanos(value as u64).to_string(),
        PtsTest::Iops | PtsTest::WriteSaturation => Iops(value).to_string(),
    }
}

fn unit(test: PtsTest) -> &'static str {
    match test {
        PtsTest::Iops | PtsTest::WriteSaturation => "operations per second",
        PtsTest::Latency => "mean response time",
        PtsTest::Throughput => "MiB per second",
    }
}

/// The document of a run of the specification's tests.
pub(crate) fn json(run: &Run, terms: &PtsTerms) -> Value {
    let progress = PtsProgress::of(run, terms);
    let sections = terms.sections();
    json!({
        "format": JSON_FORMAT,
        "rehearsal": terms.is_rehearsal(),
        "terms": terms,
        "sections": sections.iter().map(|section| json_of(&progress, terms, *section)).collect::<Vec<_>>(),
        "run": shared::run(&run.info),
        "calibration": run.calibration.as_ref().map(shared::calibration),
        "phases": run.phases.iter().map(phase_json).collect::<Vec<_>>(),
        "warnings": run.warnings.iter().map(shared::warning).collect::<Vec<_>>(),
        "ending": shared::ending(&crate::document::ending(run)),
    })
}

fn json_of(progress: &PtsProgress<'_>, terms: &PtsTerms, section: PtsSection) -> Value {
    let rounds = progress.rounds(section);
    let window = rounds.window.map(|window| {
        json!({
            "first": (window.last + 1).saturating_sub(terms.window.max(2)),
            "last": window.last,
            "mean": window.mean,
            "range_percent": window.range,
            "rise_percent": window.rise,
            "steady": window.steady,
        })
    });
    let cells = terms.cells(section, 1).into_iter().filter_map(|cell| {
        let value = progress.mean(section, rounds.window?, cell.read_percent, cell)?;
        Some(json!({ "read_percent": cell.read_percent, "block_bytes": cell.block.0, "value": value }))
    });
    let unit = match section.test {
        PtsTest::Iops | PtsTest::WriteSaturation => "operations_per_second",
        PtsTest::Latency => "nanoseconds",
        PtsTest::Throughput => "bytes_per_second",
    };
    json!({
        "name": section.name(),
        "unit": unit,
        "purged": progress.phase(section, PtsPhase::Purge).is_some(),
        "rounds": rounds.values,
        "window": window,
        "cells": cells.collect::<Vec<_>>(),
    })
}
