//! What more operations in flight, larger ones and another mix bring.

use iolite_model::{Bytes, OpKind};

use super::axis::{Axis, number_label};
use super::chart::{Cell, Panel, Series};
use super::source::{Drawn, Lines, MAX_SERIES, Source, cut, values};

/// Surfaces at most: below a fifth of the height nothing can be read.
const MAX_SURFACES: usize = 4;

/// Percent that shares of reads are rounded to: what was achieved varies around what was asked for.
const SHARE_STEP: f64 = 5.0;

/// The form of the load besides its depth, as it was measured: bytes per operation, and the share of reads in percent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Form {
    bytes: u64,
    reads: u64,
}

impl Form {
    fn of(source: &Source<'_>) -> Form {
        let totals = &source.phase.totals;
        let count = |kind| totals.operations(kind) as f64;
        let (reads, writes) = (count(OpKind::Read), count(OpKind::Write));
        let share = 100.0 * reads / (reads + writes).max(1.0);
        Form {
            bytes: totals.bytes(source.kind) / totals.operations(source.kind).max(1),
            reads: ((share / SHARE_STEP).round() * SHARE_STEP) as u64,
        }
    }

    fn name(self, kind: OpKind) -> String {
        let size = if self.bytes > 0 { format!(" {}", Bytes(self.bytes)) } else { String::new() };
        match self.reads {
            0 | 100 => format!("{}{size}", kind.name()),
            reads => format!("{}{size}, {reads} % reads", kind.name()),
        }
    }
}

fn depth(source: &Source<'_>) -> f64 {
    f64::from(source.phase.info.task.concurrency().max(1))
}

/// The sources of each run, form and kind.
fn grouped<'s, 'r, K: PartialEq>(
    sources: &'s [Source<'r>],
    key: impl Fn(&Source<'r>) -> K,
) -> Vec<(K, Vec<&'s Source<'r>>)> {
    let mut groups: Vec<(K, Vec<&Source<'r>>)> = Vec::new();
    for source in sources {
        let key = key(source);
        match groups.iter_mut().find(|(had, _)| *had == key) {
            Some((_, group)) => group.push(source),
            None => groups.push((key, vec![source])),
        }
    }
    groups
}

/// Operations per second, mean and 99th percentile of the response time by operations in flight.
pub(super) fn sweep(sources: &[Source<'_>]) -> Drawn {
    let mut groups = grouped(sources, |source| (&source.run.info.id.0, Form::of(source), source.kind));
    let note = cut(&mut groups, MAX_SERIES);
    let line = |figure: &dyn Fn(&Source<'_>) -> Option<f64>| -> Vec<Lines> {
        let of_group = |group: &[&Source<'_>]| {
            let points = group.iter().filter_map(|source| Some((depth(source), figure(source)?)));
            let mut points: Vec<(f64, f64)> = points.collect();
            points.sort_by(|one, other| one.0.total_cmp(&other.0));
            vec![points]
        };
        groups.iter().map(|(_, group)| of_group(group)).collect()
    };
    let rates = line(&|source| Some(source.figures().0));
    let means = line(&|source| source.figures().1);
    let tails = line(&|source| source.quantile(0.99));
    let x = Axis::steps("operations in flight", values(&rates, |point| point.0));
    let top = Axis::linear("operations per second", Some(0.0), values(&rates, |point| point.1));
    let middle = Axis::log_time("mean response time", values(&means, |point| point.1));
    let mut panels = vec![Panel::of_lines(x.clone(), top, rates), Panel::of_lines(x.clone(), middle, means)];
    if tails.iter().flatten().any(|line| !line.is_empty()) {
        let below = Axis::log_time("99th percentile of the response time", values(&tails, |point| point.1));
        panels.push(Panel::of_lines(x, below, tails));
    }
    let name =
        |(run, form, kind): &(&String, Form, OpKind)| Series { run: (*run).clone(), name: form.name(*kind) };
    Drawn {
        title: "Operations per second and response time by load",
        about: "Operations per second and response time by the number of operations in flight",
        series: groups.iter().map(|(key, _)| name(key)).collect(),
        panels,
        note,
    }
}

/// A panel for each run and kind of operation: operations in flight across, their size upwards (their mix, where all have the
/// same size), the operations per second as colour and number.
pub(super) fn surface(sources: &[Source<'_>]) -> Drawn {
    let mut groups = grouped(sources, |source| (&source.run.info.id.0, source.kind));
    let note = cut(&mut groups, MAX_SURFACES);
    let panels = groups.iter().map(|((run, kind), group)| terrain(run, *kind, group)).collect();
    Drawn {
        title: "Operations per second by load and form",
        about: "Operations per second by the number of operations in flight and their size or mix",
        series: Vec::new(),
        panels,
        note,
    }
}

fn terrain(run: &str, kind: OpKind, group: &[&Source<'_>]) -> Panel {
    let sorted = |values: &mut Vec<u64>| {
        values.sort_unstable();
        values.dedup();
    };
    let mut depths: Vec<u64> = group.iter().map(|source| depth(source) as u64).collect();
    let mut sizes: Vec<u64> = group.iter().map(|source| Form::of(source).bytes).collect();
    let mut shares: Vec<u64> = group.iter().map(|source| Form::of(source).reads).collect();
    [&mut depths, &mut sizes, &mut shares].into_iter().for_each(sorted);
    let by_share = sizes.len() == 1 && shares.len() > 1;
    let rows = if by_share { &shares } else { &sizes };
    let row = |source: &Source<'_>| if by_share { Form::of(source).reads } else { Form::of(source).bytes };
    let highest = group.iter().map(|source| source.figures().0).fold(f64::MIN_POSITIVE, f64::max);
    let cell = |source: &&Source<'_>| {
        let at = |values: &[u64], value| values.iter().position(|had| *had == value).unwrap_or(0) as f64;
        let (x, y) = (at(&depths, depth(source) as u64), at(rows, row(source)));
        let rate = source.figures().0;
        let value = number_label(rate.round(), 1.0);
        let span = |middle: f64| (middle - 0.5, middle + 0.5);
        Cell { x: span(x), y: span(y), share: rate / highest, value, is_labelled: true }
    };
    let x = Axis::names("operations in flight", depths.iter().map(u64::to_string));
    let upwards = if by_share { "share of reads" } else { "size" };
    let label = format!("{upwards}; operations per second of {}, run {run}", kind.name());
    let of_row = |row: &u64| if by_share { format!("{row} %") } else { Bytes(*row).to_string() };
    let y = Axis::names(&label, rows.iter().map(of_row));
    Panel::of_cells(x, y, group.iter().map(cell).collect())
}
