//! What was sampled while a run went on: CPU, devices, pressure and memory, over the time of the run.

use iolite_model::Reading;
use iolite_results::Run;

use super::axis::Axis;
use super::chart::{Panel, Series};
use super::source::{Drawn, Lines, MAX_SERIES, MIB, cut, values};

/// Devices drawn of each run, the busiest first.
const DEVICES: usize = 4;

/// Share of the CPU time, in percent, above which a host has too little left for peaks: a usual threshold of monitoring.
const BUSY_CPU: f64 = 80.0;

/// Mean time of an operation of a device, in milliseconds, that flash storage of a database should keep.
const DEVICE_TIME: f64 = 1.0;

/// One line over time, and the panel it belongs to.
pub(super) struct Line {
    panel: usize,
    series: Series,
    points: Vec<(f64, f64)>,
}

/// Shares of the CPU time of the host.
pub(super) fn cpu(runs: &[Run]) -> Drawn {
    const PARTS: [(&str, &str); 4] = [
        ("user_seconds", "user"),
        ("system_seconds", "system"),
        ("iowait_seconds", "waiting for I/O"),
        ("steal_seconds", "stolen by the hypervisor"),
    ];
    let of_run = |run: &Run| -> Vec<Line> {
        let cpus = f64::from(run.info.host.cpus.max(1)) / 100.0;
        let readings = run.readings.of("cpu", "");
        let part =
            |(counter, name): (&str, &str)| line(run, 0, name.to_owned(), rates(readings, counter, cpus));
        let threshold = threshold(run, 0, format!("threshold: {BUSY_CPU} %"), readings, BUSY_CPU);
        PARTS.into_iter().map(part).chain([threshold]).collect()
    };
    let lines = runs.iter().flat_map(of_run).collect();
    drawn(
        "CPU",
        "Shares of the CPU time of the host, sampled while the run went on",
        &["% of all CPUs"],
        lines,
    )
}

pub(super) fn devices(runs: &[Run]) -> Drawn {
    let lines = runs.iter().flat_map(devices_of).collect();
    let panels = [
        "MiB per second",
        "operations per second",
        "mean time of an operation, ms",
        "% of the time busy",
        "requests in flight",
    ];
    drawn("Devices", "What the devices of the host did, sampled while the run went on", &panels, lines)
}

fn devices_of(run: &Run) -> Vec<Line> {
    let mut busiest: Vec<(f64, &str, &[Reading])> = run
        .readings
        .series()
        .filter(|(probe, ..)| *probe == "device")
        .filter_map(|(_, name, readings)| {
            let (first, last) = (readings.first()?, readings.last()?);
            let moved = last.growth(first, "reads")? + last.growth(first, "writes")?;
            (moved > 0.0).then_some((last.growth(first, "busy_seconds")?, name, readings))
        })
        .collect();
    busiest.sort_by(|one, other| other.0.total_cmp(&one.0));
    let of_device = |(_, name, readings): &(f64, &str, &[Reading])| -> Vec<Line> {
        let rate = |panel, what: &str, counter, unit| {
            line(run, panel, format!("{name} {what}"), rates(readings, counter, unit))
        };
        let time = |what: &str, seconds, operations| {
            line(run, 2, format!("{name} {what}"), means(readings, seconds, operations, 1e-3))
        };
        vec![
            rate(0, "read", "read_bytes", MIB),
            rate(0, "written", "written_bytes", MIB),
            rate(1, "read", "reads", 1.0),
            rate(1, "written", "writes", 1.0),
            time("read", "read_seconds", "reads"),
            time("written", "write_seconds", "writes"),
            rate(3, "busy", "busy_seconds", 0.01),
            line(run, 4, format!("{name} in flight"), gauge(readings, "in_flight", 1.0)),
        ]
    };
    let first = busiest.first().map_or(&[][..], |device| device.2);
    let threshold = threshold(run, 2, format!("threshold: {DEVICE_TIME} ms"), first, DEVICE_TIME);
    busiest.iter().take(DEVICES).flat_map(of_device).chain([threshold]).collect()
}

/// Shares of the time in which some task waited for a resource.
pub(super) fn pressure(runs: &[Run]) -> Drawn {
    let of_run = |run: &Run| -> Vec<Line> {
        let of = |(resource, name): (&str, &str)| {
            line(run, 0, name.to_owned(), rates(run.readings.of("pressure", resource), "some_seconds", 0.01))
        };
        [("cpu", "CPU"), ("io", "I/O"), ("memory", "memory")].into_iter().map(of).collect()
    };
    let lines = runs.iter().flat_map(of_run).collect();
    let about =
        "Share of the time in which some task of the host waited for a resource (pressure stall information)";
    drawn("Pressure", about, &["% of the time"], lines)
}

/// Dirty pages, pages under write-back, and available memory.
pub(super) fn memory(runs: &[Run]) -> Drawn {
    let of_run = |run: &Run| -> Vec<Line> {
        let of = |(panel, value, name): (usize, &str, &str)| {
            line(run, panel, name.to_owned(), gauge(run.readings.of("memory", ""), value, MIB))
        };
        let parts = [
            (0, "dirty_bytes", "dirty"),
            (0, "writeback_bytes", "write-back"),
            (1, "available_bytes", "available"),
        ];
        parts.into_iter().map(of).collect()
    };
    let lines = runs.iter().flat_map(of_run).collect();
    let about = "Memory of the host: dirty pages, pages under write-back, and available memory";
    drawn("Memory", about, &["MiB of the page cache", "MiB available"], lines)
}

pub(super) fn line(run: &Run, panel: usize, name: String, points: Vec<(f64, f64)>) -> Line {
    Line { panel, series: Series::new(&run.info.id.0, name), points }
}

/// What a counter grew by per second, in units of this size, between each two readings.
fn rates(readings: &[Reading], counter: &str, unit: f64) -> Vec<(f64, f64)> {
    let between = readings.windows(2).filter_map(|pair| {
        let middle = (pair[0].at.0 as f64 + pair[1].at.0 as f64) / 2e9;
        Some((middle, pair[1].rate(&pair[0], counter)? / unit))
    });
    between.collect()
}

/// What a counter of time grew by per operation of another counter, in units of this size, between each two readings with operations.
fn means(readings: &[Reading], seconds: &str, operations: &str, unit: f64) -> Vec<(f64, f64)> {
    let between = readings.windows(2).filter_map(|pair| {
        let operations = pair[1].growth(&pair[0], operations).filter(|count| *count > 0.0)?;
        let middle = (pair[0].at.0 as f64 + pair[1].at.0 as f64) / 2e9;
        Some((middle, pair[1].growth(&pair[0], seconds)? / operations / unit))
    });
    between.collect()
}

/// A horizontal line over the time of the readings.
fn threshold(run: &Run, panel: usize, name: String, readings: &[Reading], at: f64) -> Line {
    let ends = [readings.first(), readings.last()];
    let points = ends.into_iter().flatten().map(|end| (end.at.0 as f64 / 1e9, at)).collect();
    Line { panel, series: Series::bound(&run.info.id.0, name), points }
}

fn gauge(readings: &[Reading], name: &str, unit: f64) -> Vec<(f64, f64)> {
    readings
        .iter()
        .filter_map(|reading| Some((reading.at.0 as f64 / 1e9, reading.value(name)? / unit)))
        .collect()
}

/// Panels of the lines that have points; a series whose name is in several panels is one.
pub(super) fn drawn(title: &'static str, about: &'static str, panels: &[&str], lines: Vec<Line>) -> Drawn {
    let lines: Vec<Line> = lines.into_iter().filter(|line| line.points.len() > 1).collect();
    let mut series: Vec<Series> = Vec::new();
    for line in &lines {
        if !series.contains(&line.series) {
            series.push(line.series.clone());
        }
    }
    let note = cut(&mut series, MAX_SERIES);
    let all: Vec<Lines> = lines.iter().map(|line| vec![line.points.clone()]).collect();
    let x = Axis::run_time(values(&all, |point| point.0));
    let panel = |(number, label): (usize, &&str)| {
        let of_series = |series: &Series| -> Lines {
            let own = lines.iter().filter(|line| line.panel == number && line.series == *series);
            own.map(|line| line.points.clone()).collect()
        };
        let lines: Vec<Lines> = series.iter().map(of_series).collect();
        // Shares are shown against the whole.
        let whole = label.starts_with('%').then_some(100.0);
        let y = Axis::linear(label, Some(0.0), values(&lines, |point| point.1).chain(whole));
        Panel::of_lines(x.clone(), y, lines)
    };
    let panels: Vec<Panel> = panels.iter().enumerate().map(panel).collect();
    let panels =
        panels.into_iter().filter(|panel| panel.lines.iter().any(|lines| !lines.is_empty())).collect();
    Drawn { title, about, series, panels, note }
}
