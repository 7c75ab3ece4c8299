//! The tables of a comparison of layers, and where the time goes.

use iolite_model::{
    Bandwidth, CacheStamp, GeneratorUse, Nanos, OpKind, Quantile, ResultTable, TableCell, TableColumn,
    TableRow, TableUnit, Usage,
};
use iolite_results::Run;
use iolite_stats::{Direction, Estimate, PhaseResult};

use super::{DatabaseCommits, Layers, LayersDatabase, Path, Shape, tasks};

/// What a layer did under a shape.
struct Cost {
    path: Path,
    /// Mean response time in nanoseconds, its interval including drift between the windows.
    mean: Estimate,
    p99: Option<Estimate>,
    /// Operations per second; bytes per second of a scan, whose reads are not of one size in all layers.
    rate: Estimate,
    /// CPU time of this program for each operation, in nanoseconds.
    cpu: Option<Estimate>,
    /// CPU time of all other programs and of the kernel's threads for each operation, in nanoseconds.
    other_cpu: Option<Estimate>,
    /// Bytes that the device read or wrote for each operation, by anybody.
    device: Option<Estimate>,
    stamp: CacheStamp,
}

const LEGEND: &str = "mean and p99: response time; ±: 95 % interval, between the windows; CPU: of this program, for each \
                      operation; other CPU: of all other programs on this host, such as the server of a database, and of the kernel's \
                      threads, for each operation; device: bytes that the devices transferred, for each operation; \
                      a commit of the file system is a write of 8 KiB and an fdatasync, that of a database a transaction of one set, whose p99 is of \
                      the commit alone";

/// A table for each shape that was measured.
pub(super) fn tables(layers: &Layers, run: &Run) -> Vec<ResultTable> {
    let knee = layers.knee(run);
    let of_shape = |shape| {
        let costs: Vec<Cost> =
            layers.paths().into_iter().filter_map(|path| cost(layers, run, path, shape)).collect();
        (!costs.is_empty()).then(|| table(layers, shape, knee, &costs))
    };
    Shape::ALL.into_iter().filter_map(of_shape).collect()
}

fn cost(layers: &Layers, run: &Run, path: Path, shape: Shape) -> Option<Cost> {
    let (merged, windows) = layers.merged(run, path, shape)?;
    let kind = if shape == Shape::Commit { OpKind::Commit } else { OpKind::Read };
    let summary = merged.summary(kind)?;
    let of_windows = |direction, of: &dyn Fn(&PhaseResult) -> Option<(f64, f64)>| {
        let windows: Vec<_> = windows.iter().filter_map(|window| of(window)).collect();
        Estimate::of_windows(&windows, direction)
    };
    let mean = of_windows(Direction::LowerIsBetter, &|window| {
        let own = window.summary(kind)?;
        let time = |summary: &iolite_stats::Summary| summary.mean.value * summary.operations as f64;
        // Databases time the set and the commit of a transaction one after the other, a file system the write as part of the commit.
        let is_apart = shape == Shape::Commit && matches!(path, Path::Database(_));
        let sets = window.summary(OpKind::Write).filter(|_| is_apart);
        Some((own.operations as f64, time(&own) + sets.as_ref().map_or(0.0, time)))
    });
    let scan = shape == Shape::Scan;
    let rate = of_windows(Direction::HigherIsBetter, &|window| {
        let amount = if scan { window.totals.bytes(kind) } else { window.totals.operations(kind) };
        Some((window.totals.measured as f64 / 1e9, amount as f64))
    });
    let of_cpu = |used: &dyn Fn(u32) -> Option<Nanos>| {
        // Figures of a layer are of the same windows.
        let all = windows.iter().all(|window| used(window.info.index).is_some());
        let each = |window: &PhaseResult| {
            Some((window.totals.operations(kind) as f64, used(window.info.index)?.0 as f64))
        };
        of_windows(Direction::LowerIsBetter, &each).filter(|_| all)
    };
    let cpu = of_cpu(&|phase| {
        let usage = run.of_phase::<Usage>(phase)?;
        Some(Nanos(usage.user.0.saturating_add(usage.system.0)))
    });
    let other_cpu = of_cpu(&|phase| run.of_phase::<GeneratorUse>(phase)?.others);
    let device = of_windows(Direction::LowerIsBetter, &|window| {
        let cache = &window.end.cache;
        let bytes = if shape == Shape::Commit { cache.device_written } else { cache.device_read };
        // The device has counted the ramp's operations too.
        Some((requested(window, shape)? / bytes_each(window, shape)?, bytes?.0 as f64))
    });
    Some(Cost {
        path,
        mean: mean.unwrap_or(summary.mean),
        p99: merged.quantile(kind, Quantile(0.99)),
        rate: rate?,
        cpu,
        other_cpu,
        device,
        stamp: merged.end.cache.stamp(),
    })
}

/// Bytes that a window asked for, its ramp included.
fn requested(window: &PhaseResult, shape: Shape) -> Option<f64> {
    let cache = &window.end.cache;
    let bytes = if shape == Shape::Commit { cache.requested_written } else { cache.requested_read };
    Some(bytes.0 as f64).filter(|&bytes| bytes > 0.0)
}

/// Bytes of an operation.
fn bytes_each(window: &PhaseResult, shape: Shape) -> Option<f64> {
    let kind = if shape == Shape::Commit { OpKind::Write } else { OpKind::Read };
    let summary = window.summary(kind)?;
    Some(summary.bytes_per_second / summary.rate.value).filter(|bytes| bytes.is_finite())
}

fn table(layers: &Layers, shape: Shape, knee: u32, costs: &[Cost]) -> ResultTable {
    let column = |name: &str, unit| TableColumn { name: name.into(), unit };
    let reads = shape != Shape::Commit;
    let mut columns = vec![
        column("mean", TableUnit::Nanoseconds),
        column("p99", TableUnit::Nanoseconds),
        match shape {
            Shape::Scan => column("throughput", TableUnit::BytesPerSecond),
            Shape::Commit => column("commits/s", TableUnit::PerSecond),
            _ => column("IOPS", TableUnit::PerSecond),
        },
        column("CPU", TableUnit::Nanoseconds),
        column("other CPU", TableUnit::Nanoseconds),
        column("device", TableUnit::Bytes),
    ];
    columns.extend(reads.then(|| column("cache", TableUnit::Text)));
    let estimate = |of: &Estimate| TableCell::Estimate { value: of.value, low: of.low, high: of.high };
    let known = |of: &Option<Estimate>| of.as_ref().map_or(TableCell::Missing, estimate);
    let row = |cost: &Cost| {
        let mut cells = vec![
            estimate(&cost.mean),
            TableCell::of(cost.p99.map(|p99| p99.value)),
            estimate(&cost.rate),
            known(&cost.cpu),
            known(&cost.other_cpu),
            known(&cost.device),
        ];
        cells.extend(reads.then(|| TableCell::Text(cost.stamp.to_string())));
        TableRow { label: tasks::path_name(&layers.options, cost.path), cells }
    };
    ResultTable {
        title: tasks::shape_name(shape, knee),
        columns,
        rows: costs.iter().map(row).collect(),
        legend: LEGEND.into(),
        findings: sentences(layers, shape, costs).into_iter().chain(left_out(layers, shape)).collect(),
    }
}

/// Databases whose commits are not measured.
fn left_out(layers: &Layers, shape: Shape) -> Vec<String> {
    let databases = layers.options.databases.iter().filter(|_| shape == Shape::Commit);
    let named = |database: &LayersDatabase| {
        let why = match database.commits {
            DatabaseCommits::Measured => return None,
            DatabaseCommits::NoGlobals => {
                "it has no globals to write to; create one (iolite ranwrite create-globals)"
            }
            DatabaseCommits::Standby => "it is a hot standby, which only reads; measure the primary",
        };
        Some(format!("Commits of {} were not measured: {why}.", database.name))
    };
    databases.filter_map(named).collect()
}

/// Where the time goes: each layer against the one below it that did the same.
fn sentences(layers: &Layers, shape: Shape, costs: &[Cost]) -> Vec<String> {
    let below = |position: usize| match costs[position].path {
        Path::Device => None,
        // A database reads past the page cache where it can, and so stands on the file itself.
        Path::Database(_) => costs[..position]
            .iter()
            .find(|cost| cost.path == Path::Direct)
            .or(costs[..position].iter().find(|cost| cost.path == Path::Buffered)),
        _ => position.checked_sub(1).map(|below| &costs[below]),
    };
    let pairs = (0..costs.len()).filter_map(|position| Some((below(position)?, &costs[position])));
    pairs.map(|(below, above)| sentence(layers, shape, below, above)).collect()
}

/// How fast a layer scans, relative to the one below it.
fn scanned(name: impl Fn(&Cost) -> String, below: &Cost, above: &Cost) -> String {
    let ratio = above.rate.value / below.rate.value;
    let relative = |of: &Estimate| (of.high - of.low) / 2.0 / of.value;
    let uncertain = ratio * relative(&above.rate).hypot(relative(&below.rate));
    let rate = |cost: &Cost| Bandwidth(cost.rate.value).to_string();
    format!(
        "A scan of {} has {}, {:.0} ± {:.0} % of the throughput of {} ({}).",
        name(above),
        rate(above),
        ratio * 100.0,
        uncertain * 100.0,
        name(below),
        rate(below),
    )
}

fn sentence(layers: &Layers, shape: Shape, below: &Cost, above: &Cost) -> String {
    let name = |cost: &Cost| tasks::path_name(&layers.options, cost.path);
    if shape == Shape::Scan {
        return scanned(name, below, above);
    }
    let time = |nanos: f64| Nanos(nanos.abs().round() as u64).to_string();
    let what = if shape == Shape::Commit { "commit" } else { "read" };
    let (whole, part) = (time(above.mean.value), time(below.mean.value));
    let difference = above.mean.value - below.mean.value;
    // The difference of two independent estimates: half-widths add in squares.
    let half = |of: &Estimate| (of.high - of.low) / 2.0;
    let uncertain = half(&above.mean).hypot(half(&below.mean));
    if difference.abs() <= uncertain {
        return format!(
            "A {what} through {} takes {whole}, one through {} {part}: no difference shown (less than {}).",
            name(above),
            name(below),
            time(uncertain + difference.abs()),
        );
    }
    if difference < 0.0 {
        let cached = if shape != Shape::Commit && above.stamp != CacheStamp::Device {
            " Some of them did not reach the device (see the column cache)."
        } else {
            ""
        };
        return format!(
            "A {what} through {} takes {whole}, {} ± {} less than one through {} ({part}).{cached}",
            name(above),
            time(difference),
            time(uncertain),
            name(below),
        );
    }
    format!(
        "Of the {whole} of a {what} through {}, {part} ({:.0} %) is what {} takes for the same; {} ± {} is added above it.",
        name(above),
        below.mean.value / above.mean.value * 100.0,
        name(below),
        time(difference),
        time(uncertain),
    )
}
