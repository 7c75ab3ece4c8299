//! How much the rounds of the measurement windows differ: a box for each block size and mix.

use iolite_model::{Bytes, PtsCell, PtsTerms, PtsTest};
use iolite_results::{PtsProgress, Run};

use super::{Line, by_panel, linear, of_runs, series, sorted};
use crate::plot::axis::Axis;
use crate::plot::source::{Drawn, Lines};

/// The tests that are drawn, a panel each.
const PANELS: [(PtsTest, &str); 3] = [
    (PtsTest::Iops, "IOPS test: rounds of the window, % of their mean"),
    (PtsTest::Latency, "latency test: rounds of the window, % of their mean"),
    (PtsTest::Throughput, "throughput test: rounds of the window, % of their mean"),
];

/// Space that the boxes of a block size take of the space from one block size to the next, and a box of its share.
const TAKEN: f64 = 0.8;
const BOX: f64 = 0.7;

/// Smallest value, quartiles and largest value.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Spread {
    low: f64,
    lower: f64,
    median: f64,
    upper: f64,
    high: f64,
}

impl Spread {
    /// Quartiles by linear interpolation between the values next to them; `None` without any value.
    fn of(mut values: Vec<f64>) -> Option<Spread> {
        values.sort_by(f64::total_cmp);
        let last = values.len().checked_sub(1)?;
        let at = |share: f64| {
            let place = share * last as f64;
            let (below, part) = (place.floor() as usize, place.fract());
            let above = (below + 1).min(last);
            values[below] + part * (values[above] - values[below])
        };
        Some(Spread { low: at(0.0), lower: at(0.25), median: at(0.5), upper: at(0.75), high: at(1.0) })
    }

    /// The box around `middle`, its median, and the lines to the smallest and largest value.
    fn lines(&self, middle: f64, width: f64) -> Lines {
        let (left, right) = (middle - width / 2.0, middle + width / 2.0);
        let Spread { low, lower, median, upper, high } = *self;
        vec![
            vec![(left, lower), (left, upper), (right, upper), (right, lower), (left, lower)],
            vec![(left, median), (right, median)],
            vec![(middle, low), (middle, lower)],
            vec![(middle, upper), (middle, high)],
        ]
    }
}

/// A cell with its rounds, in percent of their mean.
struct Measured {
    run: usize,
    panel: usize,
    read_percent: u8,
    block: Bytes,
    spread: Spread,
}

/// The cells of the measurement windows of a run.
fn measured(number: usize, run: &Run, terms: &PtsTerms) -> Vec<Measured> {
    let progress = PtsProgress::of(run, terms);
    let mut found = Vec::new();
    for section in terms.sections() {
        let panel = PANELS.iter().position(|(test, _)| *test == section.test);
        let Some((panel, window)) = panel.zip(progress.rounds(section).window) else { continue };
        for cell in terms.cells(section, window.last) {
            let rounds = progress.rounds_of(window);
            let values: Vec<f64> =
                rounds.filter_map(|round| progress.figure(section, PtsCell { round, ..cell })).collect();
            let mean = values.iter().sum::<f64>() / values.len().max(1) as f64;
            let shares = values.iter().filter(|_| mean > 0.0).map(|value| 100.0 * value / mean).collect();
            let of = |spread| Measured {
                run: number,
                panel,
                read_percent: cell.read_percent,
                block: cell.block,
                spread,
            };
            found.extend(Spread::of(shares).map(of));
        }
    }
    found
}

/// A series for each run and mix, with a box for each block size: the middle half of the rounds with their median, and lines to the
/// smallest and the largest.
pub(in crate::plot) fn boxes(runs: &[Run]) -> Drawn {
    let found = of_runs(runs);
    let all: Vec<Measured> =
        found.iter().enumerate().flat_map(|(number, (run, terms))| measured(number, run, terms)).collect();
    let blocks = sorted(all.iter().map(|one| one.block).collect());
    let keys = sorted(all.iter().map(|one| (one.run, 100 - one.read_percent)).collect());
    let width = TAKEN / keys.len().max(1) as f64;
    let line = |(place, &(number, writes)): (usize, &(usize, u8))| {
        let offset = (place as f64 + 0.5) * width - TAKEN / 2.0;
        let own = all.iter().filter(|one| (one.run, 100 - one.read_percent) == (number, writes));
        let lines = own.flat_map(|one| {
            let at = blocks.iter().position(|block| *block == one.block).unwrap_or(0) as f64 + offset;
            one.spread.lines(at, width * BOX).into_iter().map(move |line| (one.panel, line))
        });
        let name = format!("{}/{writes} % reads/writes", 100 - writes);
        Line { series: series(found[number].0, name), lines: lines.collect() }
    };
    let lines = keys.iter().enumerate().map(line).collect();
    let about = "Rounds of the measurement windows in percent of their mean, by block size, a series for each mix: the box is the middle half \
                 of the rounds with their median, its lines reach to the smallest and the largest";
    let axes = PANELS.map(|(_, label)| ("block size", label, false));
    let mut drawn = by_panel("Rounds of the measurement windows", about, &axes, linear, lines);
    let x = Axis::names("block size", blocks.iter().map(Bytes::to_string));
    drawn.panels.iter_mut().for_each(|panel| panel.x = x.clone());
    drawn
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quartiles_lie_between_the_values_next_to_them() {
        let of = |values: &[f64]| {
            let Spread { low, lower, median, upper, high } = Spread::of(values.to_vec()).unwrap();
            [low, lower, median, upper, high]
        };
        assert_eq!(of(&[5.0, 1.0, 4.0, 2.0, 3.0]), [1.0, 2.0, 3.0, 4.0, 5.0]);
        assert_eq!(of(&[1.0, 2.0, 3.0, 10.0]), [1.0, 1.75, 2.5, 4.75, 10.0]);
        assert_eq!(of(&[7.0]), [7.0; 5]);
        assert_eq!(Spread::of(Vec::new()), None);
    }
}
