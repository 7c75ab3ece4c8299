//! Which charts a page shows.

use iolite_model::PtsTerms;
use iolite_results::Run;
use maud::{Markup, html};

use super::figure;
use crate::plot::{Axis, Chart, PlotKind, Unit, chart};
use crate::styler::escaped;

/// Charts of all runs together, in the order of the page. What has not been measured has none.
const OF_OPERATIONS: [PlotKind; 9] = [
    PlotKind::Timeline,
    PlotKind::Percentiles,
    PlotKind::Heatmap,
    PlotKind::Histogram,
    PlotKind::Cdf,
    PlotKind::Sweep,
    PlotKind::Surface,
    PlotKind::Relief,
    PlotKind::Database,
];

/// Charts of SNIA's specification, before all others: a run of it is about them.
const OF_PTS: [PlotKind; 10] = [
    PlotKind::PtsConvergence,
    PlotKind::PtsVerification,
    PlotKind::PtsWindow,
    PlotKind::PtsRelief,
    PlotKind::PtsBoxes,
    PlotKind::PtsSaturation,
    PlotKind::PtsRecovery,
    PlotKind::PtsDemand,
    PlotKind::PtsHistogram,
    PlotKind::PtsZones,
];

/// Charts that pool phases by their load: of the specification they would mix its tests, and rounds before steady state.
const BY_LOAD: [PlotKind; 3] = [PlotKind::Sweep, PlotKind::Surface, PlotKind::Relief];

/// Charts of several runs.
const OF_RUNS: [PlotKind; 3] = [PlotKind::Overlay, PlotKind::Compare, PlotKind::Trend];

/// Charts of what was sampled meanwhile.
const SAMPLED: [PlotKind; 6] = [
    PlotKind::Waits,
    PlotKind::Counters,
    PlotKind::Cpu,
    PlotKind::Devices,
    PlotKind::Pressure,
    PlotKind::Memory,
];

/// The charts of all runs; the reason where nothing can be drawn.
pub(super) fn charts(runs: &[Run]) -> Markup {
    let several = if runs.len() > 1 { &OF_RUNS[..] } else { &[] };
    let is_pts = runs.iter().all(|run| run.concluded::<PtsTerms>().next().is_some());
    let kinds = OF_PTS.iter().chain(&OF_OPERATIONS).chain(several);
    let kinds = kinds.filter(|kind| !(is_pts && BY_LOAD.contains(kind)));
    let mut drawn: Vec<_> = kinds.map(|kind| (*kind, chart(runs, *kind))).collect();
    // Of several runs each has its own: curves of different runs would hide each other.
    for run in runs {
        drawn.extend(SAMPLED.iter().map(|kind| (*kind, chart(std::slice::from_ref(run), *kind))));
    }
    // What a run did not do is no reason for anything.
    let errors = drawn.iter().filter(|(kind, _)| !OF_PTS.contains(kind));
    let first_error = errors.filter_map(|(_, chart)| chart.as_ref().err()).next().map(ToString::to_string);
    let charts = drawn.into_iter().filter_map(|(kind, chart)| Some((kind, chart.ok()?)));
    let mut charts: Vec<_> = charts.filter(|(kind, chart)| is_worthwhile(*kind, chart)).collect();
    share_time(&mut charts);
    html! {
        @if let Some(error) = first_error.filter(|_| charts.is_empty()) { p { (escaped(error)) } } @else {
            p.with-script hidden {
                "Drag across a chart to zoom, double-click to show all of it. With the keyboard: arrow keys move through the values, "
                kbd { "+" } " and " kbd { "-" } " zoom, " kbd { "0" } " shows all. The names below a chart switch its series on and off."
            }
            p.with-script hidden {
                label { input id="link-time" type="checkbox" checked; " Zoom all time axes together" }
            }
            @for (number, (kind, chart)) in charts.iter().enumerate() { (figure::figure(*kind, chart, number)) }
        }
    }
}

/// Whether a chart shows more than the others do: of a single load there is no curve, and of a single size no surface.
fn is_worthwhile(kind: PlotKind, chart: &Chart) -> bool {
    match kind {
        PlotKind::Sweep => {
            chart.panels.iter().any(|panel| panel.lines.iter().flatten().any(|line| line.len() > 1))
        }
        PlotKind::Surface | PlotKind::Relief => {
            chart.panels.iter().any(|panel| panel.x.ticks.len() > 1 && panel.y.ticks.len() > 1)
        }
        _ => true,
    }
}

/// Gives all axes of time the same range, so that what is above one another happened at the same time.
fn share_time(charts: &mut [(PlotKind, Chart)]) {
    let panels = charts.iter_mut().flat_map(|(_, chart)| &mut chart.panels);
    let mut axes: Vec<&mut Axis> =
        panels.map(|panel| &mut panel.x).filter(|axis| axis.unit == Unit::RunTime).collect();
    let end = axes.iter().map(|axis| axis.high).fold(0.0, f64::max);
    for axis in &mut axes {
        **axis = Axis::run_time([0.0, end].into_iter());
    }
}
