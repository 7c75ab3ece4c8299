//! A sweep over the number of virtual users: a line for each, the curve, the knee, the verdict.

use std::collections::BTreeSet;

use iolite_model::{Nanos, OpKind, Quantile};
use iolite_stats::{Estimate, KneeFound};

use super::{NOT_COMPARED, TprocCPhase, TprocCReport, header, legend};
use crate::answer;
use crate::chart::bars;
use crate::grid::{Line, columns};
use crate::run::INDENT;
use crate::styler::{Emphasis, Styler, count};
use crate::table::{NONE, percent};
use crate::text::filled;

const COLUMNS: usize = 10;
/// Left out first where there is no room.
const SPARED: [usize; 5] = [9, 7, 2, 5, 4];
/// The quantiles of New-Order's response times that have a column.
const QUANTILES: [f64; 3] = [0.5, 0.9, 0.99];

/// The complete terminal output of a sweep.
pub(super) fn text(report: &TprocCReport, styler: Styler) -> String {
    filled([
        header(report, styler),
        table(report, styler),
        knee(report, styler),
        legend(report, styler),
        answer::warnings(&report.warnings, styler),
        answer::ended(&report.ending, "this", styler),
        report.verdict.as_ref().map_or(String::new(), |verdict| answer::reasons(verdict, styler)),
    ])
}

fn table(report: &TprocCReport, styler: Styler) -> String {
    if report.phases.is_empty() {
        return String::new();
    }
    let nopm = |phase: &TprocCPhase| phase.counted.as_ref().map_or(0.0, |counted| counted.nopm());
    let bars = bars(report.phases.iter().map(nopm).collect(), styler);
    let heading = ["NOPM", "±", "", "TPM", "±", "mean", "p50", "p90", "p99", "deadlocks"]
        .map(|text| styler.clean(text));
    let mut lines = vec![Line::new("users", heading)];
    let at = report.knee.as_ref().map(|found| found.knee.concurrency);
    for (phase, bar) in report.phases.iter().zip(bars) {
        let users = phase.result.info.task.concurrency();
        let mark = if at == Some(users) { styler.glyph("▸ ", "> ") } else { "  " };
        lines.push(Line::new(format!("{mark}{users}"), cells(phase, bar, styler)));
    }
    let title = styler.paint(Emphasis::Strong, "NOPM by virtual users, response times of New-Order");
    let stamps: BTreeSet<_> =
        report.phases.iter().map(|phase| phase.result.end.cache.stamp().to_string()).collect();
    let stamps = stamps.into_iter().collect::<Vec<_>>().join(", ");
    let stamps = styler.item("", 0, format!("cache stamp: {stamps} ({NOT_COMPARED})"));
    title + "\n" + &columns(&lines, &SPARED, INDENT, styler) + &stamps
}

fn cells(phase: &TprocCPhase, bar: String, styler: Styler) -> [String; COLUMNS] {
    let mut cells: [String; COLUMNS] = std::array::from_fn(|_| NONE.to_owned());
    let whole = |value: f64| count(value.round() as u64);
    let time = |value: f64| styler.clean(Nanos(value as u64));
    if let Some((counted, rates)) = phase.counted.as_ref().zip(phase.rates()) {
        let cells_of = |rate: &Estimate| [whole(rate.value), percent(rate.relative_half_width())];
        [cells[0], cells[1]] = cells_of(&rates.nopm);
        cells[2] = bar;
        if let Some(tpm) = &rates.tpm {
            [cells[3], cells[4]] = cells_of(tpm);
        }
        cells[9] = count(counted.deadlocks);
    }
    let Some(kind) = OpKind::named("new-order") else { return cells };
    if let Some(summary) = phase.result.summary(kind) {
        cells[5] = time(summary.mean.value);
        for (cell, quantile) in cells[6..].iter_mut().zip(QUANTILES.map(Quantile)) {
            if let Some(value) = phase.result.quantile(kind, quantile) {
                *cell = time(value.value);
            }
        }
    }
    cells
}

fn knee(report: &TprocCReport, styler: Styler) -> String {
    let Some(KneeFound { knee, .. }) = &report.knee else { return String::new() };
    let minutes = |rate: f64| count((rate * 60.0).round() as u64);
    let plateau = &knee.plateau;
    let limit = if knee.saturated { "plateau" } else { "no plateau yet, maximum measured" };
    let text = format!(
        "{} virtual users ({} to {}, 95 %), {} NOPM; {limit} {} NOPM ({} to {})",
        knee.concurrency,
        knee.low,
        knee.high,
        minutes(knee.throughput),
        minutes(plateau.value),
        minutes(plateau.low),
        minutes(plateau.high)
    );
    styler.item(&styler.paint(Emphasis::Strong, "knee  "), 6, text)
}
