//! Figures in columns: one line per kind of operation.

use iolite_model::{Iops, Nanos, OpKind, Quantile, Task};
use iolite_stats::{Estimate, Histogram, PhaseChanges, PhaseResult, Summary};

use crate::grid::{Line, columns};
use crate::styler::{Styler, count};
use crate::table::{NONE, longest, mebibytes, nanos, percent};

/// The columns behind the label.
pub(crate) const COLUMNS: usize = 11;

/// The quantiles that have a column, from [`FIRST_QUANTILE`] on.
const QUANTILES: [f64; 5] = [0.5, 0.9, 0.99, 0.999, 0.9999];
const FIRST_QUANTILE: usize = 5;

/// What is left out first where there is no room.
const SPARED: [usize; 6] = [3, 6, 0, 9, 5, 2];

/// A service time that differs from the response time by less than this share is the same to a reader.
const ALIKE: f64 = 0.01;

/// Lines of figures under one heading.
#[derive(Debug, Default)]
pub(crate) struct Figures {
    pub(crate) lines: Vec<Line<COLUMNS>>,
}

impl Figures {
    /// Adds a line with what a kind of operation did, and one with its service times where these add something.
    pub(crate) fn add(&mut self, label: String, result: &PhaseResult, kind: OpKind, styler: Styler) {
        let mut cells: [String; COLUMNS] = std::array::from_fn(|_| NONE.to_owned());
        cells[0] = count(result.totals.operations(kind));
        if let Some(summary) = result.summary(kind) {
            let Summary { rate, bytes_per_second, mean, max, operations, .. } = summary;
            cells[1] = Iops(rate.value).to_string();
            cells[2] = percent(rate.relative_half_width());
            if let Some(levels) = levels(result, kind) {
                (cells[1], cells[2]) = (levels, "levels".to_owned());
            }
            cells[3] = mebibytes(bytes_per_second);
            cells[4] = nanos(mean.value);
            quantiles(&mut cells, operations, |quantile| {
                result.quantile(kind, quantile).map(|estimate| estimate.value)
            });
            cells[10] = longest(max);
        }
        self.push(label, cells, styler);
        if let Some(service) = result.totals.service(kind).filter(|service| differs(result, kind, service)) {
            let mut cells: [String; COLUMNS] = std::array::from_fn(|_| String::new());
            let value = |quantile| Some(service.quantile(quantile).0 as f64);
            quantiles(&mut cells, service.count(), value);
            self.push("  service".to_owned(), cells, styler);
        }
    }

    fn push(&mut self, label: String, cells: [String; COLUMNS], styler: Styler) {
        self.lines.push(Line::new(label, cells.map(|cell| styler.clean(cell))));
    }

    /// The lines under their heading, indented; `rate` is what operations a second are called.
    pub(crate) fn draw(&self, indent: usize, rate: &str, styler: Styler) -> String {
        let heading =
            ["operations", rate, "±", "MiB/s", "mean", "p50", "p90", "p99", "p99.9", "p99.99", "max"];
        let heading = Line::new("", heading.map(|title| styler.clean(title)));
        let lines: Vec<_> = std::iter::once(heading).chain(self.lines.iter().cloned()).collect();
        columns(&lines, &SPARED, indent, styler)
    }
}

/// The rates where a phase had several: their mean is a rate that never was. `None` where there was one.
fn levels(result: &PhaseResult, kind: OpKind) -> Option<String> {
    let levels = PhaseChanges::of(result)?.levels(result, kind);
    let rates: Vec<f64> = levels.iter().map(|level| level.value).collect();
    match rates.as_slice() {
        [] => None,
        [before, after] => Some(format!("{} > {}", Iops(*before), Iops(*after))),
        rates => {
            let min = rates.iter().copied().fold(f64::INFINITY, f64::min);
            let max = rates.iter().copied().fold(0.0, f64::max);
            Some(format!("{} to {}", Iops(min), Iops(max)))
        }
    }
}

/// Fills the columns of the quantiles: those that this number of operations supports.
fn quantiles(cells: &mut [String; COLUMNS], operations: u64, value: impl Fn(Quantile) -> Option<f64>) {
    for (column, quantile) in (FIRST_QUANTILE..).zip(QUANTILES.map(Quantile)) {
        let is_resolved = Estimate::resolves(quantile, operations);
        let rendered = value(quantile).filter(|_| is_resolved).map(nanos);
        cells[column] = rendered.unwrap_or_else(|| NONE.to_owned());
    }
}

/// Whether an open loop's operations took less time once they were issued than since they were meant to be.
fn differs(result: &PhaseResult, kind: OpKind, service: &Histogram) -> bool {
    let is_open = matches!(&result.info.task, Task::File(task) if task.asked_rate().is_some());
    let Some(response) = result.totals.response(kind).filter(|_| is_open && service.count() > 0) else {
        return false;
    };
    let tail = |histogram: &Histogram| {
        let Nanos(nanos) = histogram.quantile(Quantile(0.99));
        nanos as f64
    };
    tail(response) > tail(service) * (1.0 + ALIKE)
}
