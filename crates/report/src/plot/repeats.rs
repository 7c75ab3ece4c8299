//! Runs side by side, and one after the other.

use iolite_model::OpKind;

use super::axis::Axis;
use super::chart::{Panel, Series};
use super::source::{Drawn, Lines, MAX_SERIES, RESPONSE, Source, cut, grouped, rate_and_times, values};

/// The same measurement in several runs: a phase's name, which of those of that name in its run, and the kind of operation.
type Key<'a> = (&'a str, usize, OpKind);

/// Sources of the same measurement, in the order of the runs.
fn same<'s, 'r>(sources: &'s [Source<'r>]) -> Vec<(Key<'r>, Vec<&'s Source<'r>>)> {
    grouped(sources, |source| {
        let name = source.phase.info.task.name();
        let is_like = |other: &&Source<'_>| {
            let same_run = std::ptr::eq(other.run, source.run);
            same_run && other.kind == source.kind && other.phase.info.task.name() == name
        };
        let earlier = sources.iter().take_while(|other| !std::ptr::eq(*other, source));
        (name, earlier.filter(is_like).count(), source.kind)
    })
}

fn named((name, before, kind): &Key<'_>) -> String {
    match before {
        0 => format!("{name}, {}", kind.name()),
        before => format!("{name} ({}), {}", before + 1, kind.name()),
    }
}

/// The runs, in the order in which they started.
fn runs<'a>(sources: &[Source<'a>]) -> Vec<&'a iolite_results::Run> {
    let mut runs: Vec<&iolite_results::Run> = Vec::new();
    for source in sources {
        if !runs.iter().any(|run| std::ptr::eq(*run, source.run)) {
            runs.push(source.run);
        }
    }
    runs.sort_by_key(|run| run.info.started_unix);
    runs
}

/// Operations per second, mean and 99th percentile of each measurement over the runs, by their start.
pub(super) fn trend(sources: &[Source<'_>]) -> Drawn {
    let runs = runs(sources);
    let mut groups = same(sources);
    let note = cut(&mut groups, MAX_SERIES);
    let place = |source: &Source<'_>| {
        runs.iter().position(|run| std::ptr::eq(*run, source.run)).unwrap_or_default() as f64
    };
    let line = |figure: &dyn Fn(&Source<'_>) -> Option<f64>| -> Vec<Lines> {
        let of_group = |(_, group): &(Key<'_>, Vec<&Source<'_>>)| {
            let points = group.iter().filter_map(|source| Some((place(source), figure(source)?)));
            let mut points: Vec<(f64, f64)> = points.collect();
            points.sort_by(|one, other| one.0.total_cmp(&other.0));
            vec![points]
        };
        groups.iter().map(of_group).collect()
    };
    let rates = line(&|source| Some(source.figures().0));
    let means = line(&|source| source.figures().1);
    let tails = line(&|source| source.quantile(0.99));
    let x = Axis::names("run, by its start", runs.iter().map(|run| run.info.id.0.chars().take(15).collect()));
    let panels = rate_and_times(&x, rates, means, tails);
    let series = groups.iter().map(|(key, _)| Series::new("all runs", named(key)));
    Drawn {
        title: "Trend over runs",
        about: "Operations per second and response time of the same phases over runs",
        series: series.collect(),
        panels,
        note,
    }
}

/// Each measurement with the runs beside each other: range and mean of the operations per second of its intervals, and the
/// response times from the median to the 99th percentile with the mean.
pub(super) fn compare(sources: &[Source<'_>]) -> Drawn {
    let mut runs = runs(sources);
    let note = cut(&mut runs, MAX_SERIES);
    let groups = same(sources);
    let (mut rates, mut times): (Vec<Lines>, Vec<Lines>) = (Vec::new(), Vec::new());
    for (number, run) in runs.iter().enumerate() {
        let (mut rate, mut time) = (Lines::new(), Lines::new());
        let offset = (number + 1) as f64 / (runs.len() + 1) as f64 - 0.5;
        for (place, (_, group)) in groups.iter().enumerate() {
            let Some(source) = group.iter().find(|source| std::ptr::eq(source.run, *run)) else { continue };
            let x = place as f64 + offset;
            let (mean_rate, mean) = source.figures();
            let points = source.phase.totals.series.iter().filter(|point| point.seconds > 0.0);
            let (low, high) = points
                .map(|point| point.operations[source.kind] as f64 / point.seconds)
                .fold((mean_rate, mean_rate), |(low, high), value| (low.min(value), high.max(value)));
            rate.extend([vec![(x, low), (x, high)], vec![(x, mean_rate)]]);
            if let (Some(median), Some(p99)) = (source.quantile(0.5), source.quantile(0.99)) {
                time.push(vec![(x, median), (x, p99)]);
            }
            time.extend(mean.map(|mean| vec![(x, mean)]));
        }
        rates.push(rate);
        times.push(time);
    }
    let x = Axis::names("phase and kind of operation", groups.iter().map(|(key, _)| named(key)));
    let rate = "operations per second: mean, and range of the intervals";
    let top = Axis::linear(rate, Some(0.0), values(&rates, |point| point.1));
    let label = format!("{RESPONSE}: median to 99th percentile, and mean");
    let below = Axis::log_time(&label, values(&times, |point| point.1));
    let name = |run: &&iolite_results::Run| Series::new("runs", &run.info.id.0);
    Drawn {
        title: "Runs compared",
        about: "Operations per second and response times of runs side by side",
        series: runs.iter().map(name).collect(),
        panels: vec![Panel::of_lines(x.clone(), top, rates), Panel::of_lines(x, below, times)],
        note,
    }
}
