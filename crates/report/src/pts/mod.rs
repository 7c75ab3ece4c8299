//! What `iolite pts` prints: convergence, steady-state verification and measurement window of each test.
//!
//! The documents have `"format": "iolite-pts/1"`; keys, units and promises are those of the document of a run
//! ([`run::json`](crate::run::json)):
//!
//! | key | holds |
//! |---|---|
//! | `format` | `iolite-pts/1` |
//! | `rehearsal` | whether times and sizes were scaled down: the figures are then none of the specification |
//! | `steady` | whether all tests that require it have reached steady state |
//! | `not_steady` | names of the sections that have not |
//! | `not_complete` | names of the other sections that the run was ended before, or in |
//! | `no_figure` | names of the measurements in which no operation completed: they have no figure, and means that would include them are null |
//! | `resumed_from` | null, or the run that this one continues: `run`, `phases` (number of its phases in this run), `idle` (ns between both) |
//! | `terms` | what was asked for; sizes in bytes, times in nanoseconds; `logical_block`: smaller operations of the specification are replaced by it; `physical_block`: what the drive reads and writes at once |
//! | `replaced` | names of the tests with operations that the logical block replaces, or that their composite workload omits |
//! | `write_cache` | null, or the drive's write cache: `device`, `by` (what was switched), `before` and `during` (whether it was on) |
//! | `sections` | list: `name`, `unit`, `preconditioning` (`rounds`: rates of the first minutes of writes of the test's access pattern, and whether they are `steady`; null without), `rounds` (the tracked figure of each, null where no operation completed; of tests by zone, of each zone), `purged`, `paused` (whether a recovery or write saturation test was continued in the middle by another run), `window` (null, or `first`, `last`, `mean`, `range_percent`, `rise_percent`, `steady`; the three figures are null where a round has none), `cells` (list, means over the window, null where a round of it has no figure: `read_percent`, `block_bytes` (of the composite workload the largest), `threads` and `depth` (null where they are not varied), `value`, `interval` over the window's rounds, `mean_response_ns`, `max_response_ns`, `bytes_per_second`, `cache` of each round; of host idle recovery, `value` and `interval` are of the last `terms.cell` of each round, the others of the whole round), `stages`, `operating_points`, `zones` |
//! | `sections[].stages` | list, of recovery tests: `name`, `steps` (number), `value`, `interval` over the steps, `first`, `last`, `ratio` (to the writes before), `wait_ns` and `idle_ns` (asked for and measured), `mean_response_ns`, `max_response_ns` |
//! | `sections[].operating_points` | list, of tests that vary the demand: `name`, `threads`, `depth`, `operations_per_second`, `p50_ns`, `p99_ns`, `p999_ns`, `p99999_ns`, `max_ns`; a percentile is null where less than one operation is beyond it |
//! | `sections[].zones` | list, of tests by zone: `zone`, `name`, `offset_bytes`, `length_bytes`, `cells` (`read_percent`, `block_bytes`, `value`) |
//! | `run`, `calibration`, `phases`, `warnings`, `ending` | as in a run |

mod demand;
mod stages;
#[cfg(test)]
pub(crate) mod tests;
mod window;
mod zones;

use iolite_model::{
    Bytes, Ending, Iops, Nanos, PtsPreWrite, PtsPurge, PtsResumed, PtsSection, PtsTerms, PtsTest,
    PtsWriteCache,
};
use iolite_results::{MAX_RANGE, MAX_RISE, PtsCriteria, PtsProgress, PtsRounds, PtsWindow, Run};
use serde_json::{Value, json};

use crate::document::document;
use crate::run::phases_json;
use crate::styler::{Emphasis, Style, Styler, filled};
use crate::table::NONE;
use crate::{answer, chart, json as shared, machine};

/// Name and version of the document.
pub const JSON_FORMAT: &str = "iolite-pts/1";

/// Values of the write saturation test that are printed one by one at most.
const LISTED: usize = 30;

/// The terminal output of a run of the specification's tests.
pub(crate) fn text(run: &Run, terms: &PtsTerms, style: Style) -> String {
    let styler = Styler(style);
    let what = format!("SNIA Performance Test Specification on {}", terms.target.display());
    let mut header = machine::header(run, what, styler);
    header += &settings(terms, styler);
    header += &run.concluded().last().map_or_else(String::new, |cache| write_cache(&cache, styler));
    header += &run.concluded().last().map_or_else(String::new, |resumed| resumed_from(&resumed, styler));
    let progress = PtsProgress::of(run, terms);
    let sections = terms.sections().into_iter().map(|section| text_of(&progress, section, styler));
    let rest =
        [result_line(&progress, styler), to_continue(run, styler), answer::closing(run, "this", styler)];
    filled(std::iter::once(header).chain(sections).chain(rest))
}

/// How a run that was ended early is continued; empty of others.
fn to_continue(run: &Run, styler: Styler) -> String {
    match run.ending {
        Some(Ending::Interrupted | Ending::Failed(_)) => {
            let text = format!(
                "to continue at the step at which it ended: the same command with --resume {}",
                run.info.id.0
            );
            styler.item("", 0, text)
        }
        _ => String::new(),
    }
}

fn settings(terms: &PtsTerms, styler: Styler) -> String {
    let purge = match terms.purge {
        Some(PtsPurge::Discard) => "purged by discarding all blocks",
        Some(PtsPurge::SecureDiscard) => "purged by secure discard of all blocks",
        Some(PtsPurge::Format) => "purged by NVMe format",
        Some(PtsPurge::Sanitize) => "purged by NVMe sanitize",
        None => "not purged",
    };
    let threads = if terms.threads == 1 { "1 thread".into() } else { format!("{} threads", terms.threads) };
    let class = terms.class.map(|class| format!("class {}, ", class.name())).unwrap_or_default();
    let (rounds, blocks) = (last_part(terms), blocks(terms));
    let text = format!(
        "{class}active range {}, {} with queue depth {}, {} per cell and round, window of {} rounds, at most {}; {blocks}; \
         {purge}{rounds}",
        terms.span, threads, terms.depth, terms.cell, terms.window, terms.max_rounds
    );
    let mut out = machine::line(styler, "settings", text);
    if terms.is_rehearsal() {
        let text =
            format!("REHEARSAL at scale {}: these figures do not conform to the specification", terms.scale);
        out += &(styler.paint(Emphasis::Caution, &styler.clean(text)) + "\n");
    }
    out
}

/// The blocks of the device, and what they mean for operations that are smaller.
fn blocks(terms: &PtsTerms) -> String {
    let (logical, physical) = (terms.logical_block, terms.physical_block);
    let mut text = format!("logical block {logical}");
    if physical > logical {
        text += &format!(", physical block {physical}: the drive reads before it writes a part of a block");
    }
    if !terms.replaced().is_empty() {
        text += ", no operations below it";
    }
    text
}

/// The rounds of host idle recovery, which are longer than a cell; empty where there are none.
fn last_part(terms: &PtsTerms) -> String {
    let test = PtsTest::HostIdleRecovery;
    let length = terms.cell_length(test);
    if !terms.tests.contains(&test) || length <= terms.cell {
        return String::new();
    }
    format!("; {}: rounds of {length}, of which the last {} count", test.name(), terms.cell)
}

/// The drive's write cache during the run.
fn write_cache(cache: &PtsWriteCache, styler: Styler) -> String {
    let named = |on: bool| if on { "on" } else { "off" };
    let PtsWriteCache { device, by, before, during } = cache;
    let text = format!("{} during the tests, {} before: {by} of {device}", named(*during), named(*before));
    machine::line(styler, "write cache", text)
}

/// The run that this one continues.
fn resumed_from(resumed: &PtsResumed, styler: Styler) -> String {
    let PtsResumed { run, phases, idle } = resumed;
    let text = format!("from run {}: {phases} phases are from that run; then {idle} without I/O", run.0);
    machine::line(styler, "resumed", text)
}

/// Whether the figures of a run of the specification's tests are those of it, and the sentence that says so; `None` of other runs.
pub(crate) fn result(run: &Run) -> Option<(bool, String)> {
    let terms: PtsTerms = run.concluded().last()?;
    Some(sentence(&PtsProgress::of(run, &terms)))
}

/// What does not conform, by its cause.
fn sentence(progress: &PtsProgress<'_>) -> (bool, String) {
    let named = |what: &str, sections: Vec<PtsSection>| {
        let names: Vec<String> = sections.iter().map(|section| section.name()).collect();
        (!names.is_empty()).then(|| format!("{what}: {}", names.join(", ")))
    };
    let causes = [
        named("NOT STEADY", progress.unsteady()),
        named("NOT COMPLETE", progress.incomplete()),
        named("PAUSED", progress.paused()),
        named("NO FIGURE", progress.lacking()),
    ];
    let causes: Vec<String> = causes.into_iter().flatten().collect();
    if progress.conforms() {
        return (true, "RESULT: steady state reached in all tests that require it".to_owned());
    }
    (false, format!("RESULT: {}: these figures do not conform to the specification", causes.join("; ")))
}

/// Whether the figures are those of a steady state, in one line.
fn result_line(progress: &PtsProgress<'_>, styler: Styler) -> String {
    let (conforms, text) = sentence(progress);
    let line = styler.item("", 0, text);
    if conforms { line } else { styler.paint(Emphasis::Bad, line.trim_end()) + "\n" }
}

fn text_of(progress: &PtsProgress<'_>, section: PtsSection, styler: Styler) -> String {
    measured(progress, section, styler) + &without_figure(progress, section, styler)
}

/// How many measurements of a section have no figure; empty where all have.
fn without_figure(progress: &PtsProgress<'_>, section: PtsSection, styler: Styler) -> String {
    let text = match progress.without_figure(section).as_slice() {
        [] => return String::new(),
        [only] => format!("NO FIGURE: no operation completed in `{}`", only.info.task.name()),
        [first, others @ ..] => format!(
            "NO FIGURE: no operation completed in {} measurements, the first of them `{}`",
            others.len() + 1,
            first.info.task.name()
        ),
    };
    styler.paint(Emphasis::Caution, styler.item("  ", 2, text).trim_end()) + "\n"
}

fn measured(progress: &PtsProgress<'_>, section: PtsSection, styler: Styler) -> String {
    let (terms, test) = (progress.terms(), section.test);
    let rounds = progress.rounds(section);
    let mut out = styler.paint(Emphasis::Strong, &section.name()) + rehearsal(terms) + "\n";
    if test == PtsTest::CrossStimulusRecovery {
        return out + &stages::text(progress, section, styler);
    }
    out += &preconditioning(progress, section, styler);
    if rounds.values.is_empty() {
        return out + "  no complete round\n";
    }
    if test.is_by_zone() {
        return out + &zones::text(progress, section, styler);
    }
    out += &convergence(section, &rounds, styler);
    if test == PtsTest::WriteSaturation {
        let written = Bytes(progress.written(section, rounds.values.len()));
        let line = format!("written {written} of the {} that end the test", terms.saturated());
        return out + &styler.item("  ", 2, line) + &paused(progress, section, styler);
    }
    let Some(window) = rounds.window else {
        return out + &styler.item("  ", 2, format!("fewer rounds than the window of {}", terms.window));
    };
    out += &verification(terms, window, styler);
    out + &match test {
        PtsTest::HostIdleRecovery => stages::text(progress, section, styler),
        test if test.is_by_demand() => demand::text(progress, section, styler),
        PtsTest::Composite => demand::composite(progress, section, styler),
        _ => window::tables(progress, section, window, styler),
    }
}

/// Marks a test that was continued in the middle where it must not pause; empty of others.
fn paused(progress: &PtsProgress<'_>, section: PtsSection, styler: Styler) -> String {
    if !progress.paused().contains(&section) {
        return String::new();
    }
    let text = "PAUSED: continued by another run in the middle; the device could recover meanwhile: these figures do not conform to \
                the specification";
    styler.paint(Emphasis::Caution, styler.item("  ", 2, text).trim_end()) + "\n"
}

fn rehearsal(terms: &PtsTerms) -> &'static str {
    if terms.is_rehearsal() { " (rehearsal)" } else { "" }
}

/// A figure with its unit.
fn figure(test: PtsTest, value: f64) -> String {
    match test {
        PtsTest::Latency => Nanos(value as u64).to_string(),
        test if test.is_throughput() => format!("{}/s", Bytes(value as u64)),
        _ => format!("{} IOPS", Iops(value)),
    }
}

/// The tracked figure of each round, with bars.
fn convergence(section: PtsSection, rounds: &PtsRounds, styler: Styler) -> String {
    let max = rounds.values.iter().flatten().copied().fold(0.0, f64::max);
    // Of a day's minutes every so manieth is printed.
    let stride = rounds.values.len().div_ceil(LISTED).max(1);
    let line = |(index, value): (usize, &Option<f64>)| {
        let bar = value.map_or_else(String::new, |value| chart::horizontal_bar(value, max, 30, styler));
        let text = value.map_or_else(|| NONE.to_owned(), |value| figure(section.test, value));
        format!("  round {:>5} {:>16}  {bar}\n", index + 1, styler.clean(text))
    };
    rounds.values.iter().enumerate().step_by(stride).map(line).collect()
}

/// What the workload-dependent preconditioning came to; empty of tests without.
fn preconditioning(progress: &PtsProgress<'_>, section: PtsSection, styler: Styler) -> String {
    let writes = progress.pre_writes(section);
    if writes.values.is_empty() {
        return String::new();
    }
    let text = format!(
        "preconditioned by {} times {} of the same writes",
        writes.values.len(),
        progress.terms().pre_write_length(PtsPreWrite::Precondition(1))
    );
    let line = styler.item("  ", 2, text);
    line + &writes.window.map_or_else(String::new, |window| verification(progress.terms(), window, styler))
}

/// The window and the two criteria.
fn verification(terms: &PtsTerms, window: PtsWindow, styler: Styler) -> String {
    let first = (window.last + 1).saturating_sub(terms.window.max(2));
    let verdict = if window.steady { "steady" } else { "NOT STEADY" };
    let criteria = match window.criteria {
        Some(PtsCriteria { range, rise, .. }) => format!(
            "range {range:.1} % of the mean (at most {MAX_RANGE:.0} %), rise of the line {rise:.1} % (at most {MAX_RISE:.0} %)"
        ),
        None => "no operation completed in a round of it".to_owned(),
    };
    let text = format!("rounds {first} to {}: {verdict}; {criteria}", window.last);
    let text = styler.item("  ", 2, text);
    if window.steady { text } else { styler.paint(Emphasis::Caution, text.trim_end()) + "\n" }
}

fn unit(test: PtsTest) -> &'static str {
    match test {
        PtsTest::Latency => "mean response time",
        test if test.is_throughput() => "MiB per second",
        _ => "operations per second",
    }
}

/// The document of a run of the specification's tests.
pub(crate) fn json(run: &Run, terms: &PtsTerms) -> Value {
    let progress = PtsProgress::of(run, terms);
    let sections = terms.sections();
    let members = json!({
        "rehearsal": terms.is_rehearsal(),
        "steady": progress.unsteady().is_empty(),
        "not_steady": progress.unsteady().iter().map(|section| section.name()).collect::<Vec<_>>(),
        "not_complete": progress.incomplete().iter().map(|section| section.name()).collect::<Vec<_>>(),
        "no_figure": sections
            .iter()
            .flat_map(|section| progress.without_figure(*section))
            .map(|result| result.info.task.name())
            .collect::<Vec<_>>(),
        "replaced": terms.replaced().iter().map(|test| test.name()).collect::<Vec<_>>(),
        "write_cache": run.concluded::<PtsWriteCache>().last(),
        "resumed_from": run.concluded::<PtsResumed>().last(),
        "terms": terms,
        "sections": sections.iter().map(|section| json_of(&progress, *section)).collect::<Vec<_>>(),
        "phases": phases_json(run),
    });
    document(JSON_FORMAT, run, members)
}

fn json_of(progress: &PtsProgress<'_>, section: PtsSection) -> Value {
    let (terms, rounds, writes) = (progress.terms(), progress.rounds(section), progress.pre_writes(section));
    let window = rounds.window.map(|window| {
        json!({
            "first": (window.last + 1).saturating_sub(terms.window.max(2)),
            "last": window.last,
            "mean": window.mean(),
            "range_percent": window.criteria.map(|criteria| criteria.range),
            "rise_percent": window.criteria.map(|criteria| criteria.rise),
            "steady": window.steady,
        })
    });
    let cells = terms.cells(section, 1).into_iter().filter_map(|cell| {
        let figures = progress.figures(section, rounds.window?, cell);
        let figures = figures.as_ref();
        Some(json!({
            "read_percent": cell.read_percent,
            "block_bytes": cell.block.0,
            "threads": cell.demand.map(|demand| demand.threads),
            "depth": cell.demand.map(|demand| demand.depth),
            "value": figures.map(|figures| figures.mean),
            "interval": figures.and_then(|figures| figures.interval.as_ref()).map(shared::estimate),
            "bytes_per_second": figures.map(|figures| figures.bytes_per_second),
            "mean_response_ns": figures.map(|figures| figures.response),
            "max_response_ns": figures.map(|figures| figures.max.0),
            "cache": figures
                .map(|figures| figures.stamps.iter().map(ToString::to_string).collect::<Vec<_>>())
                .unwrap_or_default(),
        }))
    });
    let unit = match section.test {
        PtsTest::Latency => "nanoseconds",
        test if test.is_throughput() => "bytes_per_second",
        _ => "operations_per_second",
    };
    json!({
        "name": section.name(),
        "unit": unit,
        "purged": progress.is_purged(section),
        "paused": progress.paused().contains(&section),
        "preconditioning": {
            "rounds": writes.values,
            "steady": writes.window.map(|window| window.steady),
        },
        "rounds": rounds.values,
        "window": window,
        "cells": cells.collect::<Vec<_>>(),
        "stages": stages::json(progress, section),
        "operating_points": demand::json(progress, section),
        "zones": zones::json(progress, section),
    })
}
