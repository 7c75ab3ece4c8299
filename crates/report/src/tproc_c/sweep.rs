//! A sweep over the number of virtual users: a line for each, the curve, the knee, the verdict.

use std::collections::{BTreeMap, BTreeSet};

use iolite_model::{Nanos, OpKind, Quantile};
use iolite_stats::{Estimate, KneeFound};

use super::repeats::Repeats;
use super::{NOT_COMPARED, TprocCPhase, TprocCReport, header, legend};
use crate::answer;
use crate::chart::bars;
use crate::grid::{Line, columns};
use crate::run::INDENT;
use crate::styler::{Emphasis, Styler, count, filled};
use crate::table::{NONE, percent};

const COLUMNS: usize = 10;
/// Left out first where there is no room.
const SPARED: [usize; 5] = [9, 7, 2, 5, 4];
/// The quantiles of New-Order's response times that have a column.
const QUANTILES: [f64; 3] = [0.5, 0.9, 0.99];

/// The complete terminal output of a sweep.
pub(super) fn text(report: &TprocCReport<'_>, styler: Styler) -> String {
    filled([
        header(report, styler),
        table(report, styler),
        knee(report, styler),
        legend(report, styler),
        answer::closing(report.run, "this", styler),
    ])
}

/// The phases with the same number of users: one, or those of several passes.
type Step<'a> = Vec<&'a TprocCPhase<'a>>;

fn steps<'a>(report: &'a TprocCReport<'a>) -> BTreeMap<u32, Step<'a>> {
    let mut steps: BTreeMap<u32, Step<'_>> = BTreeMap::new();
    for phase in &report.phases {
        steps.entry(phase.result.info.task.concurrency()).or_default().push(phase);
    }
    steps
}

fn table(report: &TprocCReport<'_>, styler: Styler) -> String {
    if report.phases.is_empty() {
        return String::new();
    }
    let steps = steps(report);
    let mean = |step: &Step<'_>| {
        let nopm = nopm(step);
        if nopm.is_empty() { 0.0 } else { nopm.iter().sum::<f64>() / nopm.len() as f64 }
    };
    let bars = bars(steps.values().map(mean).collect(), styler);
    let heading = ["NOPM", "±", "", "TPM", "±", "mean", "p50", "p90", "p99", "deadlocks"]
        .map(|text| styler.clean(text));
    let mut lines = vec![Line::new("users", heading)];
    let at = report.run.concluded().last().map(|KneeFound { knee, .. }| knee.concurrency);
    for ((users, step), bar) in steps.iter().zip(bars) {
        let mark = if at == Some(*users) { styler.glyph("▸ ", "> ") } else { "  " };
        lines.push(Line::new(format!("{mark}{users}"), cells(step, bar, styler)));
    }
    let title = styler.paint(Emphasis::Strong, "NOPM by virtual users, response times of New-Order");
    let stamps: BTreeSet<_> =
        report.phases.iter().map(|phase| phase.result.end.cache.stamp().to_string()).collect();
    let stamps = stamps.into_iter().collect::<Vec<_>>().join(", ");
    let stamps = styler.item("", 0, format!("cache stamp: {stamps} ({NOT_COMPARED})"));
    title + "\n" + &columns(&lines, &SPARED, INDENT, styler) + &passes(&steps, styler) + &stamps
}

/// Of how many passes the figures are, where there are several.
fn passes(steps: &BTreeMap<u32, Step<'_>>, styler: Styler) -> String {
    let runs = || steps.values().map(Vec::len);
    let (Some(min), Some(max)) = (runs().min(), runs().max().filter(|max| *max > 1)) else {
        return String::new();
    };
    let each = if min == max { max.to_string() } else { format!("{min} to {max}") };
    styler.item("", 0, format!("{each} runs of each step, interleaved; ± of their mean, between runs"))
}

fn nopm(step: &[&TprocCPhase<'_>]) -> Vec<f64> {
    step.iter().filter_map(|phase| Some(phase.counted.as_ref()?.nopm())).collect()
}

fn tpm(step: &[&TprocCPhase<'_>]) -> Vec<f64> {
    step.iter().filter_map(|phase| phase.counted.as_ref()?.tpm()).collect()
}

/// A rate and its uncertainty: of a single run within it, of several between them.
fn rate(values: &[f64], single: Option<Estimate>) -> [String; 2] {
    let whole = |value: f64| count(value.round() as u64);
    match (Repeats::of_values(values), single) {
        (Some(repeats), _) => [whole(repeats.mean), percent(repeats.half_width / repeats.mean)],
        (None, Some(rate)) => [whole(rate.value), percent(rate.relative_half_width())],
        (None, None) => [NONE.to_owned(), NONE.to_owned()],
    }
}

fn cells(step: &[&TprocCPhase<'_>], bar: String, styler: Styler) -> [String; COLUMNS] {
    let mut cells: [String; COLUMNS] = std::array::from_fn(|_| NONE.to_owned());
    let time = |value: f64| styler.clean(Nanos(value as u64));
    let rates = step.first().and_then(|phase| phase.rates());
    if !nopm(step).is_empty() {
        [cells[0], cells[1]] = rate(&nopm(step), rates.as_ref().map(|rates| rates.nopm));
        cells[2] = bar;
        [cells[3], cells[4]] = rate(&tpm(step), rates.and_then(|rates| rates.tpm));
        cells[9] = count(step.iter().filter_map(|phase| Some(phase.counted.as_ref()?.deadlocks)).sum());
    }
    let Some((kind, (first, others))) = OpKind::named("new-order").zip(step.split_first()) else {
        return cells;
    };
    let result = others.iter().fold(first.result.clone(), |all, phase| all.followed_by(phase.result));
    if let Some(summary) = result.summary(kind) {
        cells[5] = time(summary.mean.value);
        for (cell, quantile) in cells[6..].iter_mut().zip(QUANTILES.map(Quantile)) {
            if let Some(value) = result.quantile(kind, quantile) {
                *cell = time(value.value);
            }
        }
    }
    cells
}

fn knee(report: &TprocCReport<'_>, styler: Styler) -> String {
    let Some(KneeFound { knee, .. }) = report.run.concluded().last() else { return String::new() };
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
