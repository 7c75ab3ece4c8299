//! The steps: figures by number of jobs, and the same as bars.

use iolite_model::{DbOperation, Iops, Nanos, OpKind, Quantile};
use iolite_stats::{Estimate, PhaseResult, SweptStep};

use super::SweepReport;
use crate::chart::horizontal_bar;
use crate::grid::{Line, columns};
use crate::styler::{Emphasis, Styler};
use crate::table::{NONE, longest, nanos, percent, stamp};
use unicode_width::UnicodeWidthStr;

const COLUMNS: usize = 10;

/// The quantiles that have a column, from [`FIRST_QUANTILE`] on.
const QUANTILES: [f64; 4] = [0.5, 0.95, 0.99, 0.999];
const FIRST_QUANTILE: usize = 4;

/// What is left out first where there is no room.
const SPARED: [usize; 4] = [4, 6, 5, 2];

/// Columns of a bar: no fewer, and no more than a glance takes in.
const BAR: std::ops::RangeInclusive<usize> = 8..=30;

/// What the lines of a group are about.
#[derive(Clone, Copy)]
enum Group {
    /// Reads and sets together.
    All,
    Kind(OpKind),
}

/// The groups of a tool; where there is only one it needs no label.
fn groups(operation: DbOperation) -> &'static [(&'static str, Group)] {
    const ALL: (&str, Group) = ("all", Group::All);
    const SETS: (&str, Group) = ("sets", Group::Kind(OpKind::Write));
    const COMMITS: (&str, Group) = ("commits", Group::Kind(OpKind::Commit));
    match (operation.reads(), operation.writes()) {
        (_, false) => &[("", Group::Kind(OpKind::Read))],
        (false, true) => &[ALL, SETS, COMMITS],
        (true, true) => &[ALL, ("reads", Group::Kind(OpKind::Read)), SETS, COMMITS],
    }
}

/// The table with its legend; empty without steps.
pub(super) fn table(report: &SweepReport<'_>, styler: Styler) -> String {
    if report.steps.is_empty() {
        return String::new();
    }
    let heading = ["jobs", "IOPS", "±", "mean", "p50", "p95", "p99", "p99.9", "max", "cache"];
    let mut lines = vec![Line::new("", heading.map(|title| styler.clean(title)))];
    let groups = groups(report.concluded.terms.operation);
    for &(label, group) in groups {
        for (number, step) in report.steps.iter().enumerate() {
            let label = if number == 0 { label } else { "" };
            let mut cells = cells(step, group);
            cells[0] = jobs(report, step, styler);
            lines.push(Line::new(label, cells.map(|cell| styler.clean(cell))));
        }
    }
    let mut legend =
        String::from("±: 95 % interval of the rate, within this run; times: response; -: too few operations");
    if report.steps.iter().any(|step| is_knee(report, step)) {
        legend.insert_str(0, &format!("{}: the knee; ", mark(styler)));
    }
    if report.concluded.terms.repeat > 1 {
        legend += "; each line is of all repetitions";
    }
    if groups.len() > 1 {
        legend += "; all: the time of a job per operation, including its share of the commit";
    }
    columns(&lines, &SPARED, 0, styler) + &styler.item("", 0, legend)
}

fn mark(styler: Styler) -> &'static str {
    styler.glyph("▸", ">")
}

fn is_knee(report: &SweepReport<'_>, step: &SweptStep) -> bool {
    report.concluded.knee.as_ref().is_some_and(|knee| knee.concurrency == step.jobs)
}

fn jobs(report: &SweepReport<'_>, step: &SweptStep, styler: Styler) -> String {
    if is_knee(report, step) { format!("{} {}", mark(styler), step.jobs) } else { step.jobs.to_string() }
}

fn cells(step: &SweptStep, group: Group) -> [String; COLUMNS] {
    let mut cells: [String; COLUMNS] = std::array::from_fn(|_| NONE.to_owned());
    let result = &step.result;
    let rendered = match group {
        Group::All => result.logical().map(|logical| (logical.rate, logical.response)),
        Group::Kind(kind) => result.summary(kind).map(|summary| (summary.rate, summary.mean)),
    };
    if let Some((rate, mean)) = rendered {
        cells[1] = Iops(rate.value).to_string();
        cells[2] = percent(rate.relative_half_width());
        cells[3] = nanos(mean.value);
    }
    match group {
        // Of times of different kinds there is no percentile worth knowing.
        Group::All => cells[FIRST_QUANTILE..].fill(String::new()),
        Group::Kind(kind) => times(result, kind, &mut cells),
    }
    let reads = matches!(group, Group::Kind(OpKind::Read));
    cells[9] = if reads { stamp(result.end.cache.stamp()) } else { String::new() };
    cells
}

fn times(result: &PhaseResult, kind: OpKind, cells: &mut [String; COLUMNS]) {
    let operations = result.totals.operations(kind);
    for (cell, quantile) in cells[FIRST_QUANTILE..].iter_mut().zip(QUANTILES.map(Quantile)) {
        let estimate = result.quantile(kind, quantile);
        if let Some(estimate) = estimate.filter(|_| Estimate::resolves(quantile, operations)) {
            *cell = nanos(estimate.value);
        }
    }
    if let Some(summary) = result.summary(kind) {
        cells[8] = longest(summary.max);
    }
}

/// IOPS and response time over the jobs as bars, each scaled to its largest; empty with fewer than two steps.
pub(super) fn picture(report: &SweepReport<'_>, styler: Styler) -> String {
    let rendered = report.steps.iter().filter_map(|step| Some((step, step.result.logical()?)));
    let points: Vec<(String, f64, f64)> = rendered
        .map(|(step, logical)| (jobs(report, step, styler), logical.rate.value, logical.response.value))
        .collect();
    if points.len() < 2 {
        return String::new();
    }
    let rates: Vec<String> = points.iter().map(|point| Iops(point.1).to_string()).collect();
    let means: Vec<String> = points.iter().map(|point| styler.clean(Nanos(point.2.round() as u64))).collect();
    let widest = |cells: &mut dyn Iterator<Item = usize>| cells.max().unwrap_or(0);
    let jobs = widest(&mut points.iter().map(|point| point.0.width())).max("jobs".len());
    let rate = widest(&mut rates.iter().map(|cell| cell.width()));
    let mean = widest(&mut means.iter().map(|cell| cell.width()));
    // Two spaces between the columns.
    let room = styler.text_width().saturating_sub(jobs + rate + mean + 8) / 2;
    let room = room.clamp(*BAR.start(), *BAR.end());
    let max = |value: fn(&(String, f64, f64)) -> f64| points.iter().map(value).fold(0.0, f64::max);
    let (max_rate, max_mean) = (max(|point| point.1), max(|point| point.2));
    let second = room + rate + 2;
    let heading = format!("{:>jobs$}  {:<second$}  mean response", "jobs", "IOPS");
    let mut out = styler.paint(Emphasis::Strong, &heading) + "\n";
    for ((point, iops), time) in points.iter().zip(&rates).zip(&means) {
        let bars = [
            horizontal_bar(point.1, max_rate, room, styler),
            horizontal_bar(point.2, max_mean, room, styler),
        ];
        out += &format!(
            "{:>jobs$}  {:<room$}  {iops:>rate$}  {:<room$}  {time:>mean$}\n",
            point.0, bars[0], bars[1]
        );
    }
    out
}
