//! The distribution of response times over the course of a phase.

use std::borrow::Cow;

use iolite_model::Nanos;
use iolite_stats::Histogram;

use super::axis::Axis;
use super::buckets::{buckets, edge};
use super::chart::{Cell, Panel, Series};
use super::source::{Drawn, Lane, MAX_PANELS, Source, cut};

/// Fields per power of ten.
const FIELDS: f64 = 10.0;

/// Columns of a panel at most: a pixel each, about, and a page of a size that opens at once. A phase alone has 96.
const MAX_COLUMNS: usize = 480;

/// A column: begin, end and response times.
type Column<'r> = (f64, f64, Cow<'r, Histogram>);

/// A panel for each kind of operation of a run: time across, response time upwards, the share of the section's operations as colour.
pub(super) fn heatmap(sources: &[Source<'_>]) -> Drawn {
    let mut lanes = Lane::of(sources);
    let missing = sources.iter().filter(|source| source.response.count() == 0).count();
    let cut = cut(&mut lanes, MAX_PANELS).map(|note| note.replace("series", "panels"));
    let columns: Vec<Vec<Column<'_>>> = lanes.iter().map(|lane| lane.columns(MAX_COLUMNS)).collect();
    let x = Axis::run_time(columns.iter().flatten().flat_map(|(begin, end, _)| [*begin, *end]));
    let note = cut.or_else(|| (missing > 0).then(|| format!("{missing} series have no histogram.")));
    Drawn {
        title: "Response times over time",
        about: "Share of the operations by response time and section of the phase; brighter: more operations",
        series: Vec::<Series>::new(),
        panels: lanes.iter().zip(&columns).map(|(lane, columns)| panel(lane, columns, &x)).collect(),
        note: note.or(Some("Bright: most operations of the section; dark: few.".into())),
    }
}

fn panel(lane: &Lane<'_, '_>, columns: &[Column<'_>], x: &Axis) -> Panel {
    let edges = columns.iter().flat_map(|(_, _, response)| {
        [response.min(), response.max()].map(|Nanos(nanos)| nanos.max(1) as f64)
    });
    let y = Axis::log_time(&lane.label(), edges);
    let cells = columns.iter().flat_map(|(begin, end, response)| fields((*begin, *end), response));
    Panel::of_cells(x.clone(), y, cells.collect())
}

/// The fields of one column. Their colours follow the square root of the share, so that rare ones are seen.
fn fields(x: (f64, f64), response: &Histogram) -> Vec<Cell> {
    let cell = |(field, count): (i32, u64)| {
        let share = count as f64 / response.count().max(1) as f64;
        let value = format!(
            "{count} operations ({:.2} %) of about {}",
            100.0 * share,
            Nanos((edge(field, FIELDS) * 1.12) as u64)
        );
        Cell {
            x,
            y: (edge(field, FIELDS), edge(field + 1, FIELDS)),
            share: share.sqrt(),
            value,
            is_labelled: false,
        }
    };
    buckets(response, FIELDS).into_iter().map(cell).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic;
    use iolite_model::{Event, Interval, OpKind, OpTotals, PhaseInfo, Stage};
    use iolite_results::Run;

    /// A run of phases, one after the other, of so many intervals of a second with one operation each.
    fn run(phases: &[u64]) -> Run {
        let mut events = vec![Event::RunStarted(Box::new(synthetic::run()))];
        let mut clock = 0;
        for (index, seconds) in (0u32..).zip(phases) {
            let mut task = synthetic::read("reads", 4096, 1);
            if let iolite_model::Task::File(task) = &mut task {
                task.interval = Nanos::SECOND;
            }
            let started = Nanos(clock * Nanos::SECOND.0);
            events.push(Event::PhaseStarted(PhaseInfo { index, task, started }));
            events.extend((0..*seconds).map(|second| Event::Interval(interval(index, second))));
            clock += seconds;
        }
        let mut run = Run::of(&events).unwrap();
        run.close();
        run
    }

    fn interval(phase: u32, second: u64) -> Interval {
        let mut response = Histogram::new();
        response.record(100_000);
        let op = OpTotals {
            kind: OpKind::Read,
            operations: 1,
            bytes: 4096,
            errors: 0,
            response_sum: Nanos(100_000),
            delay_sum: Nanos(0),
            response_max: Nanos(100_000),
            response: response.encode(),
            service: response.encode(),
        };
        let (start, length) = (Nanos(second * Nanos::SECOND.0), Nanos::SECOND);
        Interval { phase, start, length, stage: Stage::Measured, ops: vec![op] }
    }

    #[test]
    fn a_phase_has_up_to_96_columns_and_many_phases_share_480() {
        let columns = |phases: &[u64]| {
            let chart = crate::plot::chart(&[run(phases)], crate::plot::PlotKind::Heatmap).unwrap();
            let cells = chart.panels[0].cells.clone();
            let counted = |cell: &Cell| cell.value.split(' ').next().unwrap().parse::<u64>().unwrap();
            assert_eq!(cells.iter().map(counted).sum::<u64>(), phases.iter().sum::<u64>());
            assert!(cells.windows(2).all(|pair| pair[0].x.1 <= pair[1].x.0 + 1e-9), "{cells:?}");
            cells.len()
        };
        assert_eq!(columns(&[90]), 90);
        assert_eq!(columns(&[3000]), 94);
        assert_eq!(columns(&[80; 12]), 480);
        assert_eq!(columns(&[10; 100]), 400);
    }
}
