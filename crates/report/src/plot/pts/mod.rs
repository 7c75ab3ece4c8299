//! The plots of SNIA's specification.

pub(super) mod boxes;
pub(super) mod demand;
pub(super) mod recovery;
pub(super) mod steady;
pub(super) mod window;
pub(super) mod zones;

use std::collections::{BTreeMap, BTreeSet};

use iolite_model::PtsTerms;
use iolite_results::Run;

use super::axis::Axis;
use super::chart::{Panel, Series};
use super::source::{Drawn, Lines, MAX_SERIES, values};

/// A series: its lines, each in a panel.
struct Line {
    series: Series,
    lines: Vec<(usize, Vec<(f64, f64)>)>,
}

impl Line {
    fn new(panel: usize, series: Series, points: Vec<(f64, f64)>) -> Line {
        Line { series, lines: vec![(panel, points)] }
    }

    fn points(&self) -> impl Iterator<Item = &(f64, f64)> {
        self.lines.iter().flat_map(|(_, points)| points)
    }

    fn within(&self, panel: usize) -> Lines {
        let own = self.lines.iter().filter(|(number, points)| *number == panel && !points.is_empty());
        own.map(|(_, points)| points.clone()).collect()
    }
}

/// The runs of the specification's tests.
fn of_runs(runs: &[Run]) -> Vec<(&Run, PtsTerms)> {
    runs.iter().filter_map(|run| Some((run, run.concluded::<PtsTerms>().last()?))).collect()
}

/// Each once, from the smallest to the largest.
fn sorted<T: Ord>(mut values: Vec<T>) -> Vec<T> {
    values.sort_unstable();
    values.dedup();
    values
}

fn series(run: &Run, name: String) -> Series {
    Series::new(named(run), name)
}

/// A run with the device that it has measured: with several runs, devices are compared.
fn named(run: &Run) -> String {
    let device = run.concluded::<PtsTerms>().last().map(|terms| format!(" ({})", terms.target.display()));
    run.info.id.0.clone() + &device.unwrap_or_default()
}

/// Keeps as many series of each panel as can be distinguished; the note says how many there were. Panels are of different tests: of all
/// together there are more, and of several runs the last ones would lose theirs.
fn cut(lines: &mut Vec<Line>) -> Option<String> {
    let all = lines.len();
    let mut counts: BTreeMap<usize, usize> = BTreeMap::new();
    lines.retain(|line| {
        let own = || line.lines.iter().filter(|(_, points)| !points.is_empty()).map(|(panel, _)| *panel);
        // A box has several lines in its panel.
        let own: BTreeSet<usize> = own().collect();
        let fits = own.iter().all(|panel| counts.get(panel).is_none_or(|count| *count < MAX_SERIES));
        if fits {
            own.into_iter().for_each(|panel| *counts.entry(panel).or_default() += 1);
        }
        fits
    });
    (lines.len() < all)
        .then(|| format!("{} of {all} series are drawn: the first {MAX_SERIES} of each panel.", lines.len()))
}

/// A panel's horizontal axis by the label and the points of its lines.
type Horizontal = fn(&str, &[Lines]) -> Axis;

fn linear(label: &str, lines: &[Lines]) -> Axis {
    Axis::linear(label, None, values(lines, |point| point.0))
}

/// The lines in their panels, which share the horizontal axis; panels without any are left out. `axes` are labels, and whether
/// the values are times.
fn drawn(
    title: &'static str,
    about: &'static str,
    axes: &[(&str, bool)],
    x: &str,
    lines: Vec<Line>,
) -> Drawn {
    let all = Axis::linear(x, None, lines.iter().flat_map(Line::points).map(|point| point.0));
    let axes: Vec<_> = axes.iter().map(|(label, is_time)| (x, *label, *is_time)).collect();
    let mut drawn = by_panel(title, about, &axes, linear, lines);
    drawn.panels.iter_mut().for_each(|panel| panel.x = all.clone());
    drawn
}

/// The lines in panels with their own horizontal axes: labels of both axes, and whether the vertical values are times.
fn by_panel(
    title: &'static str,
    about: &'static str,
    axes: &[(&str, &str, bool)],
    horizontal: Horizontal,
    mut lines: Vec<Line>,
) -> Drawn {
    lines.retain(|line| line.points().next().is_some());
    let cut = cut(&mut lines);
    let panel = |(number, (x, label, is_time)): (usize, &(&str, &str, bool))| {
        let own: Vec<Lines> = lines.iter().map(|line| line.within(number)).collect();
        if own.iter().all(Vec::is_empty) {
            return None;
        }
        let upwards = values(&own, |point| point.1);
        let y = if *is_time { Axis::log_time(label, upwards) } else { Axis::linear(label, None, upwards) };
        Some(Panel::of_lines(horizontal(x, &own), y, own))
    };
    let panels = axes.iter().enumerate().filter_map(panel).collect();
    let series = lines.iter().map(|line| line.series.clone()).collect();
    Drawn { title, about, series, panels, note: cut }
}
