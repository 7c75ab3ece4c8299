//! The distribution of response times over the course of a phase.

use std::collections::BTreeMap;

use iolite_model::Nanos;
use iolite_stats::Histogram;

use super::axis::Axis;
use super::chart::{Cell, Panel, Series};
use super::source::{Drawn, Source, cut, released};

/// Fields per power of ten.
const FIELDS: f64 = 10.0;

/// Panels at most: below a fifth of the height nothing can be read.
const MAX_PANELS: usize = 4;

/// A panel for each source: time across, response time upwards, the share of the section's operations as colour.
pub(super) fn heatmap(sources: &[Source<'_>]) -> Drawn {
    let all = sources.iter().filter(|source| source.response.count() > 0).count();
    let mut known: Vec<&Source<'_>> = sources.iter().filter(|source| source.response.count() > 0).collect();
    let cut = cut(&mut known, MAX_PANELS);
    let panels = known.iter().map(|source| panel(source)).collect();
    let missing = sources.len() - all;
    let note = cut.or_else(|| (missing > 0).then(|| format!("{missing} series have no histogram.")));
    Drawn {
        title: "Response times over time",
        about: "Share of the operations by response time and section of the phase; brighter: more operations",
        series: Vec::<Series>::new(),
        panels,
        note: note.or(Some("Bright: most operations of the section; dark: few.".into())),
    }
}

fn panel(source: &Source<'_>) -> Panel {
    let start = released(source);
    let columns: Vec<_> = source.phase.totals.responses_over_time(source.kind).collect();
    let times = columns.iter().flat_map(|(begin, end, _)| [*begin, *end]);
    let x = Axis::linear("seconds since the start of the run", None, times.map(|time| start + time));
    let edges = columns.iter().flat_map(|(_, _, response)| {
        [response.min(), response.max()].map(|Nanos(nanos)| nanos.max(1) as f64)
    });
    let number = u64::from(source.phase.info.index) + 1;
    let (name, run) = (source.phase.info.task.name(), &source.run.info.id.0);
    let label = format!("response time: {number}. {name}, {}, run {run}", source.kind.name());
    let y = Axis::log_time(&label, edges);
    let cells =
        columns.iter().flat_map(|(begin, end, response)| column((start + begin, start + end), response));
    Panel::of_cells(x, y, cells.collect())
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
