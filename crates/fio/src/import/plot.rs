//! fio's logs drawn as they are: what fio2gnuplot and fio-plot draw.

use iolite_report::plot::{Axis, Chart, Panel, Series};

use super::ImportError;
use super::log::{Log, Quantity};

/// Series at most; beyond, nobody can distinguish them.
const MAX_SERIES: usize = 32;

/// Points of a line at most: more than a picture has columns.
const MAX_POINTS: usize = 4096;

/// What a log's values of one direction come to.
#[derive(Debug, Clone, PartialEq)]
pub struct Figures {
    /// The file, and the direction where it has several.
    pub name: String,
    /// Unit of the values.
    pub unit: &'static str,
    /// Smallest, mean and largest value, and the standard deviation of the values.
    pub min: f64,
    /// Mean of the values.
    pub mean: f64,
    /// Largest value.
    pub max: f64,
    /// Standard deviation of the values.
    pub deviation: f64,
}

/// What is drawn of a log: its values of one direction, by seconds.
struct Drawn<'a> {
    log: &'a Log,
    name: String,
    points: Vec<(f64, f64)>,
}

fn series(logs: &[Log]) -> Vec<Drawn<'_>> {
    let mut all = Vec::new();
    for log in logs {
        for (direction, name) in ["read", "write", "trim"].into_iter().enumerate() {
            let entries = log.entries.iter().filter(|entry| entry.direction == direction);
            let points: Vec<_> = entries
                .map(|entry| (entry.milliseconds as f64 / 1e3, entry.value * scale(log.quantity)))
                .collect();
            if !points.is_empty() {
                let thread = log.thread.map_or(String::new(), |thread| format!(".{thread}"));
                let prefix = log.prefix.rsplit('/').next().unwrap_or_default();
                all.push(Drawn { log, name: format!("{prefix}{thread}, {name}"), points });
            }
        }
    }
    all
}

/// To the unit that is shown: MiB for KiB.
fn scale(quantity: Quantity) -> f64 {
    if quantity == Quantity::Bandwidth { 1.0 / 1024.0 } else { 1.0 }
}

fn label(quantity: Quantity) -> (&'static str, &'static str) {
    match quantity {
        Quantity::Bandwidth => ("bandwidth in MiB per second", "MiB/s"),
        Quantity::Iops => ("operations per second", "1/s"),
        Quantity::Latency => ("total latency", "ns"),
        Quantity::Completion => ("completion latency", "ns"),
        Quantity::Submission => ("submission latency", "ns"),
        Quantity::Histogram => ("operations in the window", "operations"),
    }
}

/// Smallest, mean and largest value and standard deviation of each log and direction.
pub fn figures(logs: &[Log]) -> Vec<Figures> {
    let of = |drawn: Drawn<'_>| {
        let count = drawn.points.len() as f64;
        let values = || drawn.points.iter().map(|point| point.1);
        let mean = values().sum::<f64>() / count;
        let squares: f64 = values().map(|value| (value - mean).powi(2)).sum();
        let end = Quantity::ALL.iter().find(|(quantity, _)| *quantity == drawn.log.quantity);
        Figures {
            name: format!("{} {}", drawn.name, end.map_or("", |(_, end)| end.trim_start_matches('_'))),
            unit: label(drawn.log.quantity).1,
            min: values().fold(f64::INFINITY, f64::min),
            mean,
            max: values().fold(0.0, f64::max),
            deviation: (squares / (count - 1.0).max(1.0)).sqrt(),
        }
    };
    series(logs).into_iter().map(of).collect()
}

/// Logs over time: a panel for each quantity, each file and direction a line. With `smooth` each value is the mean over so many
/// seconds around it; with `trend` each line has its straight line of least squares.
///
/// # Errors
/// The logs are empty.
pub fn chart(logs: &[Log], smooth: Option<f64>, trend: bool) -> Result<Chart, ImportError> {
    let mut all = series(logs);
    if all.is_empty() {
        let files: Vec<&str> = logs.iter().map(|log| log.file.as_str()).collect();
        return Err(ImportError::Empty { file: files.join(" ") });
    }
    let count = all.len();
    let mut names: Vec<String> = all.iter().map(|drawn| drawn.name.clone()).collect();
    names.sort();
    names.dedup();
    let dropped = names.split_off(names.len().min(MAX_SERIES));
    all.retain(|drawn| !dropped.contains(&drawn.name));
    let mut quantities: Vec<Quantity> = all.iter().map(|drawn| drawn.log.quantity).collect();
    quantities.sort();
    quantities.dedup();
    let x =
        Axis::linear("seconds", None, all.iter().flat_map(|drawn| drawn.points.iter().map(|point| point.0)));
    let panels = quantities.iter().map(|&quantity| {
        let lines: Vec<Vec<Vec<(f64, f64)>>> = names
            .iter()
            .map(|name| {
                let own = all.iter().filter(|drawn| drawn.log.quantity == quantity && &drawn.name == name);
                own.flat_map(|drawn| lines(&drawn.points, smooth, trend)).collect()
            })
            .collect();
        let values = lines.iter().flatten().flatten().map(|point| point.1);
        let y = match quantity {
            Quantity::Latency | Quantity::Completion | Quantity::Submission => {
                Axis::log_time(label(quantity).0, values)
            }
            _ => Axis::linear(label(quantity).0, Some(0.0), values),
        };
        Panel::of_lines(x.clone(), y, lines)
    });
    let note =
        (!dropped.is_empty()).then(|| format!("{MAX_SERIES} of {count} series are drawn: the first ones."));
    Ok(Chart {
        title: "Logs of fio over time".into(),
        description: format!("{} of fio's logs over time, {} series.", logs.len(), names.len()),
        panels: panels.collect(),
        series: names.into_iter().map(|name| Series::new("job, direction", name)).collect(),
        note,
    })
}

/// The lines of a series: the values, smoothed or joined where they are many, and their trend.
fn lines(points: &[(f64, f64)], smooth: Option<f64>, trend: bool) -> Vec<Vec<(f64, f64)>> {
    let shown = match smooth {
        Some(seconds) => smoothed(points, seconds),
        None => points.to_vec(),
    };
    let mut lines = vec![joined(&shown)];
    if trend && points.len() > 1 {
        lines.push(straight(points));
    }
    lines
}

/// Each value replaced by the mean of those no further away than half of `seconds`.
fn smoothed(points: &[(f64, f64)], seconds: f64) -> Vec<(f64, f64)> {
    let (mut from, mut to, mut sum) = (0, 0, 0.0);
    let mut out = Vec::with_capacity(points.len());
    for &(at, _) in points {
        while to < points.len() && points[to].0 <= at + seconds / 2.0 {
            sum += points[to].1;
            to += 1;
        }
        while from < to && points[from].0 < at - seconds / 2.0 {
            sum -= points[from].1;
            from += 1;
        }
        out.push((at, sum / (to - from).max(1) as f64));
    }
    out
}

/// Neighbours joined to their smallest and largest value, so that no more than [`MAX_POINTS`] are left and no peak is lost.
fn joined(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    if points.len() <= MAX_POINTS {
        return points.to_vec();
    }
    let each = points.len().div_ceil(MAX_POINTS / 2);
    let ends = |some: &[(f64, f64)]| {
        let by_value = |one: &&(f64, f64), other: &&(f64, f64)| one.1.total_cmp(&other.1);
        let mut ends = [some.iter().min_by(by_value), some.iter().max_by(by_value)]
            .map(|end| end.copied().unwrap_or_default());
        ends.sort_by(|one, other| one.0.total_cmp(&other.0));
        ends
    };
    points.chunks(each).flat_map(ends).collect()
}

/// The straight line of least squares, from the first to the last point.
fn straight(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let count = points.len() as f64;
    let mean = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / count;
    let (x, y) = (mean(|point| point.0), mean(|point| point.1));
    let across: f64 = points.iter().map(|point| (point.0 - x).powi(2)).sum();
    let both: f64 = points.iter().map(|point| (point.0 - x) * (point.1 - y)).sum();
    let slope = if across > 0.0 { both / across } else { 0.0 };
    let at = |place: f64| (place, (y + slope * (place - x)).max(0.0));
    let (first, last) = (points.first(), points.last());
    [first, last].into_iter().flatten().map(|point| at(point.0)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn logs_are_drawn_by_quantity_with_figures_smoothing_and_trend() {
        let text: String =
            (0..50).map(|at| format!("{}, {}, {}, 0\n", at * 100, 2048 + at % 2 * 1024, at % 2)).collect();
        let read = |name: &str| Log::read(Path::new(name), &text).unwrap();
        let logs = [read("a_bw.1.log"), read("a_lat.1.log")];
        let drawn = chart(&logs, Some(1.0), true).unwrap();
        assert_eq!((drawn.panels.len(), drawn.series.len()), (2, 2));
        let read_lines = &drawn.panels[0].lines[0];
        assert_eq!((read_lines.len(), read_lines[0].len(), read_lines[1].len()), (2, 25, 2));
        assert!(read_lines.iter().flatten().all(|point| (point.1 - 2.0).abs() < 1e-9), "{read_lines:?}");
        let figures = figures(&logs);
        assert_eq!(figures.len(), 4);
        assert_eq!(
            (figures[1].name.as_str(), figures[1].mean, figures[1].deviation),
            ("a.1, write bw", 3.0, 0.0)
        );
        assert!(chart(&[Log::read(Path::new("a_bw.log"), "").unwrap()], None, false).is_err());
    }

    #[test]
    fn many_points_keep_their_peaks() {
        let mut points: Vec<(f64, f64)> = (0..100_000).map(|at| (f64::from(at), 1.0)).collect();
        points[77_777].1 = 9.0;
        let joined = joined(&points);
        assert!(joined.len() <= MAX_POINTS && joined.contains(&(77_777.0, 9.0)));
        assert!(joined.windows(2).all(|pair| pair[0].0 <= pair[1].0));
    }
}
