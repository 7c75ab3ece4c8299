//! The measurement windows: the figures of every mix by block size, as lines and in three dimensions.

use iolite_model::{Bytes, Nanos, PtsCell, PtsSection, PtsTerms, PtsTest};
use iolite_results::{PtsFigures, PtsProgress, Run};

use super::{Line, by_panel, linear, named, of_runs, series, sorted};
use crate::plot::axis::{Axis, number_label};
use crate::plot::chart::{Cell, Panel, Series};
use crate::plot::source::{Drawn, MIB};

/// A figure of a test: its panel, its test, what it is, whether it is a time in nanoseconds, and its value.
type OfWindow = (PtsTest, &'static str, bool, fn(&PtsFigures) -> f64);

/// The figures that are drawn, a panel each.
const FIGURES: [OfWindow; 4] = [
    (PtsTest::Iops, "IOPS test: operations per second", false, |figures| figures.mean),
    (PtsTest::Latency, "latency test: mean response time", true, |figures| figures.mean),
    (PtsTest::Latency, "latency test: longest response time", true, |figures| figures.max.0 as f64),
    (PtsTest::Throughput, "throughput test: MiB per second", false, |figures| figures.mean / MIB),
];

/// Surfaces drawn at most.
const MAX_SURFACES: usize = 8;

/// The label of the mixes.
const MIX: &str = "% reads/writes";

/// What a cell of the window has come to: its mix, its block size, and the figures.
type Measured = (u8, Bytes, PtsFigures);

/// The cells of the measurement windows of a test: of the throughput test, of all its block sizes.
fn measured(progress: &PtsProgress<'_>, terms: &PtsTerms, test: PtsTest) -> Vec<Measured> {
    let of_section = |section: PtsSection| -> Vec<Measured> {
        let Some(window) = progress.rounds(section).window else { return Vec::new() };
        let cells = terms.cells(section, window.last).into_iter();
        let of_cell =
            |cell: PtsCell| Some((cell.read_percent, cell.block, progress.figures(section, window, cell)?));
        cells.filter_map(of_cell).collect()
    };
    terms.sections().into_iter().filter(|section| section.test == test).flat_map(of_section).collect()
}

fn mix(read_percent: u8) -> String {
    format!("{read_percent}/{}", 100 - read_percent)
}

fn place<T: PartialEq>(of: &[T], value: &T) -> f64 {
    of.iter().position(|other| other == value).unwrap_or(0) as f64
}

/// The figures of the measurement windows by block size: a series for each mix.
pub(in crate::plot) fn window(runs: &[Run]) -> Drawn {
    let found = of_runs(runs);
    let all: Vec<Vec<Vec<Measured>>> = found
        .iter()
        .map(|(run, terms)| {
            let progress = PtsProgress::of(run, terms);
            FIGURES.iter().map(|(test, ..)| measured(&progress, terms, *test)).collect()
        })
        .collect();
    let blocks = sorted(all.iter().flatten().flatten().map(|(_, block, _)| *block).collect());
    let mut lines = Vec::new();
    for ((run, _), of_run) in found.iter().zip(&all) {
        let mut mixes = sorted(of_run.iter().flatten().map(|(mix, ..)| *mix).collect());
        mixes.reverse();
        for read_percent in mixes {
            let of_panel = |((_, _, _, value), cells): (&OfWindow, &Vec<Measured>)| {
                let own = cells.iter().filter(|(mix, ..)| *mix == read_percent);
                let mut points: Vec<(f64, f64)> =
                    own.map(|(_, block, figures)| (place(&blocks, block), value(figures))).collect();
                points.sort_by(|one, other| one.0.total_cmp(&other.0));
                points
            };
            let lines_of = FIGURES.iter().zip(of_run).map(of_panel).enumerate().collect();
            let name = format!("{} % reads/writes", mix(read_percent));
            lines.push(Line { series: series(run, name), lines: lines_of });
        }
    }
    let about = "Means of the measurement windows by block size: operations per second, mean and longest response time, throughput; a \
                 series for each mix";
    let axes = FIGURES.map(|(_, label, is_time, _)| ("block size", label, is_time));
    let mut drawn = by_panel("Measurement windows", about, &axes, linear, lines);
    let x = Axis::names("block size", blocks.iter().map(Bytes::to_string));
    drawn.panels.iter_mut().for_each(|panel| panel.x = x.clone());
    drawn
}

/// The same in three dimensions: mix across, block size to the back, the figure upwards; a panel for each figure and run. Those of the
/// same figure follow one another and have the same height, so that devices can be compared.
pub(in crate::plot) fn relief(runs: &[Run]) -> Drawn {
    let found = of_runs(runs);
    let mut panels = Vec::new();
    for (test, label, is_time, value) in FIGURES {
        let all: Vec<Vec<Measured>> =
            found.iter().map(|(run, terms)| measured(&PtsProgress::of(run, terms), terms, test)).collect();
        // Heights are linear, so that they can be compared: times in microseconds.
        let height_of = |(.., figures): &Measured| value(figures) / if is_time { 1e3 } else { 1.0 };
        let Some(highest) = all.iter().flatten().map(height_of).reduce(f64::max) else { continue };
        let unit = if is_time { "µs" } else { "per second" };
        let height = Axis::linear(unit, Some(0.0), std::iter::once(highest));
        for ((run, _), cells) in found.iter().zip(&all).filter(|(_, cells)| !cells.is_empty()) {
            let unit = if is_time { " in µs" } else { "" };
            let label = format!("block size; {label}{unit}, run {}", named(run));
            let shown = |figures: &PtsFigures| match is_time {
                true => Nanos(value(figures) as u64).to_string(),
                false => number_label(value(figures).round(), 1.0),
            };
            panels.push(surface(cells, &label, &height, height_of, shown));
        }
    }
    let cut =
        crate::plot::source::cut(&mut panels, MAX_SURFACES).map(|note| note.replace("series", "surfaces"));
    Drawn {
        title: "Measurement windows, in three dimensions",
        about: "Means of the measurement windows as the height over mix and block size",
        series: Vec::<Series>::new(),
        panels,
        note: cut,
    }
}

/// A surface.
fn surface(
    cells: &[Measured],
    label: &str,
    height: &Axis,
    height_of: impl Fn(&Measured) -> f64,
    shown: impl Fn(&PtsFigures) -> String,
) -> Panel {
    let mut mixes = sorted(cells.iter().map(|(mix, ..)| *mix).collect());
    mixes.reverse();
    let blocks = sorted(cells.iter().map(|(_, block, _)| *block).collect());
    let cell = |measured: &Measured| {
        let (mix, block, figures) = measured;
        let span = |middle: f64| (middle - 0.5, middle + 0.5);
        Cell {
            x: span(place(&mixes, mix)),
            y: span(place(&blocks, block)),
            share: (height_of(measured) / height.high).max(0.0),
            value: shown(figures),
            is_labelled: true,
        }
    };
    let cells = cells.iter().map(cell).collect();
    let x = Axis::names(MIX, mixes.iter().map(|read_percent| mix(*read_percent)));
    let y = Axis::names(label, blocks.iter().map(Bytes::to_string));
    Panel { height: Some(height.clone()), ..Panel::of_cells(x, y, cells) }
}
