//! The distribution of response times over the course of a phase.

use std::collections::BTreeMap;

use iolite_model::Nanos;
use iolite_stats::Histogram;

use super::axis::Axis;
use super::chart::{Cell, Panel, Series};
use super::source::{Drawn, Lane, Source, cut};

/// Fields per power of ten.
const FIELDS: f64 = 10.0;

/// Panels at most: below a fifth of the height nothing can be read.
const MAX_PANELS: usize = 4;

/// A panel for each kind of operation of a run: time across, response time upwards, the share of the section's operations as colour.
pub(super) fn heatmap(sources: &[Source<'_>]) -> Drawn {
    let mut lanes = Lane::of(sources);
    let missing = sources.iter().filter(|source| source.response.count() == 0).count();
    let cut = cut(&mut lanes, MAX_PANELS).map(|note| note.replace("series", "panels"));
    let ends = lanes.iter().flat_map(|lane| lane.sections().concat());
    let x = Axis::run_time(ends.flat_map(|(begin, end, _)| [begin, end]));
    let note = cut.or_else(|| (missing > 0).then(|| format!("{missing} series have no histogram.")));
    Drawn {
        title: "Response times over time",
        about: "Share of the operations by response time and section of the phase; brighter: more operations",
        series: Vec::<Series>::new(),
        panels: lanes.iter().map(|lane| panel(lane, &x)).collect(),
        note: note.or(Some("Bright: most operations of the section; dark: few.".into())),
    }
}

fn panel(lane: &Lane<'_, '_>, x: &Axis) -> Panel {
    let sections = lane.sections().concat();
    let edges = sections.iter().flat_map(|(_, _, response)| {
        [response.min(), response.max()].map(|Nanos(nanos)| nanos.max(1) as f64)
    });
    let y = Axis::log_time(&lane.label(), edges);
    let cells = sections.iter().flat_map(|(begin, end, response)| column((*begin, *end), response));
    Panel::of_cells(x.clone(), y, cells.collect())
}

/// The fields of one section. Their colours follow the square root of the share, so that rare ones are seen.
fn column(x: (f64, f64), response: &Histogram) -> Vec<Cell> {
    let mut fields = BTreeMap::<i32, u64>::new();
    for (Nanos(nanos), count) in response.iter() {
        let field = ((nanos.max(1) as f64).log10() * FIELDS).floor() as i32;
        let had = fields.entry(field).or_default();
        *had = had.saturating_add(count);
    }
    let edge = |field: i32| 10f64.powf(f64::from(field) / FIELDS);
    let cell = |(field, count): (i32, u64)| {
        let share = count as f64 / response.count().max(1) as f64;
        let value = format!(
            "{count} operations ({:.2} %) of about {}",
            100.0 * share,
            Nanos((edge(field) * 1.12) as u64)
        );
        Cell { x, y: (edge(field), edge(field + 1)), share: share.sqrt(), value, is_labelled: false }
    };
    fields.into_iter().map(cell).collect()
}
