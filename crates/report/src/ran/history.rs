//! The list of a tool's runs, as text and as JSON.

use iolite_model::{Ending, Iops, Nanos, OpKind, Quantile};
use iolite_stats::{Estimate, StoredTotals};
use serde_json::{Value, json};

use super::listed::{Listed, ListedPhase};
use crate::grid::aligned;
use crate::json::state;
use crate::styler::{Style, Styler};
use crate::table::{NONE, SHIFTED, percent};

/// Name and version of the document.
pub const HISTORY_FORMAT: &str = "iolite-history/1";

/// Columns of the table.
const COLUMNS: [&str; 13] =
    ["run", "date", "time", "jobs", "seconds", "", "per second", "±", "mean", "p99", "max", "stamp", "ended"];

/// The column that distinguishes kinds of operation.
const KIND: usize = 5;

/// Quantiles of the document, with their keys.
const QUANTILES: [(&str, f64); 4] = [("p50_ns", 0.5), ("p95_ns", 0.95), ("p99_ns", 0.99), ("p999_ns", 0.999)];

/// The runs as a table, in the order given: each database's together as long as they follow one another.
pub fn history(runs: &[Listed], style: Style) -> String {
    let styler = Styler(style);
    let mut out = String::new();
    for of_database in runs.chunk_by(|one, next| heading(one) == heading(next)) {
        if !out.is_empty() {
            out.push('\n');
        }
        if let Some(first) = of_database.first() {
            out += &styler.item("", 0, heading(first));
        }
        out += &table(of_database, styler);
        for run in of_database {
            if let Some(error) = run.ending.as_ref().and_then(Ending::error) {
                out += &styler.item("  ", 4, format!("{}: {error}", name(run)));
            }
        }
    }
    let mut legend =
        "times: UTC; mean, p99, max: response; ±: half of the rate's 95 % interval; -: nothing, or too few operations"
            .to_owned();
    if runs.iter().any(|run| run.measured.as_ref().is_some_and(|phase| phase.shifted)) {
        legend += &format!("; {SHIFTED} the rate changed during the run, and its mean is no level of it");
    }
    out + &styler.item("", 0, legend)
}

fn heading(run: &Listed) -> String {
    match run.measured.as_ref().and_then(|phase| phase.facts.as_ref()) {
        Some(facts) => format!(
            "{} ({} {}, durability {}, timed by the {})",
            facts.url,
            facts.engine,
            facts.version,
            facts.durability.name(),
            facts.timed_by.name()
        ),
        None => run.database(),
    }
}

fn table(runs: &[Listed], styler: Styler) -> String {
    let rows = runs.iter().flat_map(rows).map(|row| row.map(|cell| styler.clean(cell)));
    let rows = std::iter::once(COLUMNS.map(str::to_owned)).chain(rows);
    let right = |column| (3..COLUMNS.len() - 2).contains(&column) && column != KIND;
    aligned(rows, 2, right).into_iter().map(|line| line + "\n").collect()
}

/// The run's id, and which of its steps this is where it has several.
fn name(run: &Listed) -> String {
    let several = run.measured.as_ref().filter(|phase| phase.one_of_several);
    several.map_or(run.run.0.clone(), |phase| format!("{} step {}", run.run.0, phase.number + 1))
}

/// A run's lines: one per kind of operation.
fn rows(run: &Listed) -> Vec<[String; COLUMNS.len()]> {
    let (date, time) = run.started();
    let mut first: [String; COLUMNS.len()] = std::array::from_fn(|_| String::new());
    (first[0], first[1], first[2], first[12]) = (name(run), date, time, run.state().to_owned());
    let Some(phase) = &run.measured else { return vec![first] };
    first[3] = phase.task.workers.to_string();
    first[4] = format!("{:.1}", phase.seconds());
    let kinds = phase.kinds();
    let mut rows = Vec::with_capacity(kinds.len());
    for (number, (of, kind, totals)) in kinds.iter().enumerate() {
        let mut row = if number == 0 { first.clone() } else { std::array::from_fn(|_| String::new()) };
        row[KIND] = (*kind).to_owned();
        figures(&mut row, phase, *of, totals);
        rows.push(row);
    }
    rows
}

fn figures(row: &mut [String; COLUMNS.len()], phase: &ListedPhase, kind: OpKind, totals: &StoredTotals) {
    let none = || NONE.to_owned();
    let p99 = Quantile(0.99);
    let resolved = Estimate::resolves(p99, totals.operations());
    let shown = |time: Option<Nanos>| time.map_or_else(none, |time| time.to_string());
    row[6] = phase.per_second(totals.operations()).map_or_else(none, |rate| Iops(rate).to_string());
    if phase.shifted {
        row[6] += SHIFTED;
    }
    let bounds = phase.bounds.rate(kind).filter(|(low, high)| low + high > 0.0);
    row[7] = bounds.map_or_else(none, |(low, high)| percent((high - low) / (high + low)));
    row[8] = shown(totals.mean().map(|mean| Nanos(mean.round() as u64)));
    row[9] = shown(totals.quantile(p99).filter(|_| resolved));
    row[10] = shown(totals.max());
    row[11] = phase.stamp.clone().unwrap_or_else(none);
    if totals.errors() > 0 {
        row[6] += &format!(" ({})", crate::styler::errors(totals.errors()));
    }
}

/// The runs as a document.
pub fn history_json(tool: &str, runs: &[Listed]) -> Value {
    json!({
        "format": HISTORY_FORMAT,
        "tool": tool,
        "runs": runs.iter().map(run).collect::<Vec<_>>(),
    })
}

fn run(run: &Listed) -> Value {
    let phase = run.measured.as_ref();
    let facts = phase.and_then(|phase| phase.facts.as_ref());
    json!({
        "id": run.run.0,
        "phase": phase.map(|phase| phase.number),
        "started_unix_ns": run.started_unix.0,
        "host": run.host,
        "ending": state(run.ending.as_ref()),
        "database": run.database(),
        "engine": facts.map(|facts| &facts.engine),
        "version": facts.map(|facts| &facts.version),
        "durability": facts.map(|facts| facts.durability.name()),
        "timed_by": phase.map(|phase| phase.task.timed_by.name()),
        "stamp": phase.map(|phase| &phase.stamp),
        "jobs": phase.map(|phase| phase.task.workers),
        "measured_seconds": phase.map(ListedPhase::seconds),
        "operations": phase.map(operations).unwrap_or_default(),
    })
}

fn operations(phase: &ListedPhase) -> Vec<Value> {
    let kinds = phase.kinds().into_iter().map(|(of, _, totals)| {
        let mut value = json!({
            "kind": of.name(),
            "operations": totals.operations(),
            "errors": totals.errors(),
            "per_second": phase.per_second(totals.operations()),
            "per_second_low": phase.bounds.rate(of).map(|bounds| bounds.0),
            "per_second_high": phase.bounds.rate(of).map(|bounds| bounds.1),
            "mean_ns": totals.mean(),
            "max_ns": totals.max().map(|max| max.0),
        });
        for (key, share) in QUANTILES {
            value[key] = json!(totals.quantile(Quantile(share)).map(|time| time.0));
        }
        value
    });
    kinds.collect()
}
