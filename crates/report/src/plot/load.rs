//! What more operations in flight, larger ones and another mix bring.

use iolite_model::{Bytes, Layer, OpKind, Quantile};
use iolite_stats::{Knee, KneeFound, SweepConcluded};

use super::axis::{Axis, number_label};
use super::chart::{Cell, Mark, Panel, Series};
use super::relief;
use super::source::{Drawn, Lines, MAX_SERIES, Source, cut, grouped, rate_and_times, values};

/// Points that a model's curve is drawn by, less one.
const MODEL_POINTS: u32 = 60;

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

/// Operations per second, mean and 99th percentile of the response time by operations in flight.
pub(super) fn sweep(sources: &[Source<'_>]) -> Drawn {
    let key = |source: &Source<'_>| {
        (source.run.info.id.0.clone(), source.phase.info.task.layer(), Form::of(source), source.kind)
    };
    let mut groups = grouped(sources, key);
    // A load that was not varied is no line: where others were, it is left out.
    let is_varied = |group: &[&Source<'_>]| group.iter().any(|source| depth(source) != depth(group[0]));
    if groups.iter().any(|(_, group)| is_varied(group)) {
        groups.retain(|(_, group)| is_varied(group));
    }
    let note = cut(&mut groups, MAX_SERIES);
    let line = |figure: &dyn Fn(&Load<'_>) -> Option<f64>| -> Vec<Lines> {
        let of_group = |group: &[&Source<'_>]| {
            let points = loads(group);
            let points = points.iter().filter_map(|load| Some((load.depth, figure(load)?)));
            vec![points.collect()]
        };
        groups.iter().map(|(_, group)| of_group(group)).collect()
    };
    let rates = line(&|load| Some(load.rate()));
    let means = line(&|load| load.mean());
    let tails = line(&|load| load.p99());
    let x = Axis::steps("operations in flight", values(&rates, |point| point.0));
    let mut panels = rate_and_times(&x, rates, means, tails);
    let name = |(run, layer, form, kind): &(String, Layer, Form, OpKind)| {
        let within = if *layer == Layer::Database { "database: " } else { "" };
        Series::new(run, format!("{within}{}", form.name(*kind)))
    };
    let mut series: Vec<Series> = groups.iter().map(|(key, _)| name(key)).collect();
    for knee in knees(sources) {
        let free = series.len() < MAX_SERIES;
        if free {
            series.push(Series::new(&knee.run, format!("{}: model", knee.name)));
        }
        add_knee(&mut panels, &knee, free);
    }
    Drawn {
        title: "Operations per second and response time by load",
        about: "Operations per second and response time by the number of operations in flight; knees with their 95 % intervals \
                and models where they were searched for",
        series,
        panels,
        note,
    }
}

/// The phases of the same load.
struct Load<'a> {
    depth: f64,
    sources: Vec<&'a Source<'a>>,
}

/// The phases of a group by their load, the smallest first.
fn loads<'a>(group: &[&'a Source<'a>]) -> Vec<Load<'a>> {
    let mut loads: Vec<Load<'a>> = Vec::new();
    for source in group {
        match loads.iter_mut().find(|load| load.depth == depth(source)) {
            Some(load) => load.sources.push(source),
            None => loads.push(Load { depth: depth(source), sources: vec![source] }),
        }
    }
    loads.sort_by(|one, other| one.depth.total_cmp(&other.depth));
    loads
}

impl Load<'_> {
    /// Operations per second over all the time.
    fn rate(&self) -> f64 {
        let sum = |of: &dyn Fn(&Source<'_>) -> f64| self.sources.iter().map(|source| of(source)).sum::<f64>();
        let operations = sum(&|source| source.phase.totals.operations(source.kind) as f64);
        let seconds = sum(&|source| source.phase.totals.measured as f64 / 1e9);
        if seconds > 0.0 { operations / seconds } else { 0.0 }
    }

    /// Mean of all operations.
    fn mean(&self) -> Option<f64> {
        let weighted = self.sources.iter().filter_map(|source| {
            let operations = source.phase.totals.operations(source.kind) as f64;
            Some((operations, operations * source.figures().1?))
        });
        let (operations, sum) = weighted.fold((0.0, 0.0), |all, each| (all.0 + each.0, all.1 + each.1));
        (operations > 0.0).then(|| sum / operations)
    }

    /// The 99th percentile of all operations.
    fn p99(&self) -> Option<f64> {
        let mut all = self.sources[0].response.clone();
        self.sources[1..].iter().for_each(|source| all.merge(source.response));
        (all.count() > 0).then(|| all.quantile(Quantile(0.99)).0.max(1) as f64)
    }
}

struct RunKnee {
    run: String,
    name: String,
    knee: Knee,
    /// Largest number of operations in flight it rests on.
    max: f64,
}

/// The knees that the runs have found.
fn knees(sources: &[Source<'_>]) -> Vec<RunKnee> {
    let mut knees: Vec<RunKnee> = Vec::new();
    for source in sources {
        let run = &source.run.info.id.0;
        if knees.iter().any(|had| had.run == *run) {
            continue;
        }
        let max = |phases: &dyn Fn(u32) -> bool| {
            let own = source.run.phases.iter().filter(|phase| phases(phase.info.index));
            own.map(|phase| f64::from(phase.info.task.concurrency())).fold(1.0, f64::max)
        };
        let searches = source.run.concluded::<KneeFound>().map(|found| {
            let max = max(&|index| found.phases.contains(&index));
            RunKnee { run: run.clone(), name: found.name, knee: found.knee, max }
        });
        let sweeps = source.run.concluded::<SweepConcluded>().filter_map(|swept| {
            Some(RunKnee { run: run.clone(), name: swept.tool, knee: swept.knee?, max: max(&|_| true) })
        });
        knees.extend(searches.chain(sweeps));
    }
    knees
}

/// Marks the knee in all panels, and draws its model in the first one where there is a series for it.
fn add_knee(panels: &mut [Panel], found: &RunKnee, with_model: bool) {
    for (number, panel) in panels.iter_mut().enumerate() {
        let knee = &found.knee;
        panel.marks.push(Mark {
            at: f64::from(knee.concurrency),
            interval: (f64::from(knee.low), f64::from(knee.high)),
            label: format!("knee of {}: {} ({} to {})", found.name, knee.concurrency, knee.low, knee.high),
        });
        if !with_model {
            continue;
        }
        let at = |step: u32| found.max.powf(f64::from(step) / f64::from(MODEL_POINTS));
        let point = |step| (at(step), knee.model.throughput(at(step)));
        let line = (0..=MODEL_POINTS).map(point).filter(|point| point.1.is_finite()).collect();
        panel.lines.push(if number == 0 { vec![line] } else { Vec::new() });
    }
}

/// A panel for each run and kind of operation: operations in flight across, their size upwards (their mix, where all have the
/// same size), the operations per second as colour and number. Where size and mix vary, each mix has a panel.
pub(super) fn surface(sources: &[Source<'_>]) -> Drawn {
    let (terrains, note) = terrains(sources);
    Drawn {
        title: "Operations per second by load and form",
        about: "Operations per second by the number of operations in flight and their size or mix",
        series: Vec::new(),
        panels: terrains.into_iter().map(|(panel, _)| panel).collect(),
        note,
    }
}

/// The same surfaces in three dimensions: the operations per second upwards.
pub(super) fn relief(sources: &[Source<'_>]) -> Drawn {
    let (terrains, note) = terrains(sources);
    let raised = |(mut panel, highest): (Panel, f64)| {
        let height = Axis::linear("operations per second", Some(0.0), [highest].into_iter());
        panel.cells.iter_mut().for_each(|cell| cell.share *= highest / height.high);
        panel.height = Some(height);
        panel
    };
    Drawn {
        title: "Operations per second by load and form, in three dimensions",
        about: "Operations per second as the height over the number of operations in flight and their size or mix",
        series: Vec::new(),
        panels: terrains.into_iter().map(raised).collect(),
        note,
    }
}

/// The surfaces of all runs, kinds of operation and mixes, each with its highest rate.
fn terrains(sources: &[Source<'_>]) -> (Vec<(Panel, f64)>, Option<String>) {
    let of = |source: &Source<'_>| (source.run.info.id.0.clone(), source.kind);
    let mixed: Vec<(String, OpKind)> = grouped(sources, of)
        .into_iter()
        .filter(|(_, group)| {
            let forms: Vec<Form> = group.iter().map(|source| Form::of(source)).collect();
            let differ = |value: fn(&Form) -> u64| forms.iter().any(|form| value(form) != value(&forms[0]));
            differ(|form| form.bytes) && differ(|form| form.reads)
        })
        .map(|(key, _)| key)
        .collect();
    let mut groups = grouped(sources, |source| {
        let key = of(source);
        let share = mixed.contains(&key).then(|| Form::of(source).reads);
        (key, share)
    });
    let note = cut(&mut groups, MAX_SURFACES);
    let terrains =
        groups.iter().map(|(((run, kind), share), group)| terrain(run, *kind, *share, group)).collect();
    (terrains, note)
}

/// A surface with its highest rate: of the operations with this share of reads, where it is one of several.
fn terrain(run: &str, kind: OpKind, share: Option<u64>, group: &[&Source<'_>]) -> (Panel, f64) {
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
    // The phases of the same load and form are one cell.
    let cells: Vec<(u64, Load<'_>)> = rows
        .iter()
        .flat_map(|of_row| {
            let own: Vec<&Source<'_>> =
                group.iter().copied().filter(|source| row(source) == *of_row).collect();
            loads(&own).into_iter().map(|load| (*of_row, load))
        })
        .collect();
    let highest = cells.iter().map(|(_, load)| load.rate()).fold(f64::MIN_POSITIVE, f64::max);
    let cell = |(of_row, load): &(u64, Load<'_>)| {
        let at = |values: &[u64], value| values.iter().position(|had| *had == value).unwrap_or(0) as f64;
        let (x, y) = (at(&depths, load.depth as u64), at(rows, *of_row));
        let value = number_label(load.rate().round(), 1.0);
        let span = |middle: f64| (middle - 0.5, middle + 0.5);
        Cell { x: span(x), y: span(y), share: load.rate() / highest, value, is_labelled: true }
    };
    let x = Axis::names(relief::IN_FLIGHT, depths.iter().map(u64::to_string));
    let upwards = if by_share { "share of reads" } else { "size" };
    let of_mix = share.map_or(String::new(), |share| format!(", {share} % reads"));
    let label = format!("{upwards}; operations per second of {}{of_mix}, run {run}", kind.name());
    let of_row = |row: &u64| if by_share { format!("{row} %") } else { Bytes(*row).to_string() };
    let y = Axis::names(&label, rows.iter().map(of_row));
    (Panel::of_cells(x, y, cells.iter().map(cell).collect()), highest)
}
