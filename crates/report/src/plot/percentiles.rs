//! Percentiles of the response times over the course of each phase.

use iolite_model::Quantile;
use iolite_stats::Histogram;

use super::axis::Axis;
use super::bounds::{Bound, Bounded, bounds_of_distributions};
use super::chart::{Marking, Panel, Series};
use super::source::{Drawn, Lane, Lines, MAX_PANELS, Source, cut, values};

/// The percentiles, from below: each pair of neighbours has the area between them filled.
const SHARES: [(&str, f64); 5] = [
    ("median", 0.5),
    ("90th percentile", 0.9),
    ("99th percentile", 0.99),
    ("99.9th percentile", 0.999),
    ("maximum", 1.0),
];

/// A panel for each kind of operation of a run, a line for each percentile, and for each bound of one over the phases that it applies to;
/// a percentile that rests on less than one operation of a section is left out.
pub(super) fn percentiles(sources: &[Source<'_>]) -> Drawn {
    let mut lanes = Lane::of(sources);
    let missing = sources.iter().filter(|source| source.response.count() == 0).count();
    let cut = cut(&mut lanes, MAX_PANELS).map(|note| note.replace("series", "panels"));
    let note = cut.or_else(|| (missing > 0).then(|| format!("{missing} series have no histogram.")));
    let bounds = bounds_of_distributions(sources);
    let name = |(name, _): &(&str, f64)| Series::new("all", *name);
    let of_lane = |lane: &Lane<'_, '_>| -> Vec<Lines> {
        let bounds = bounds.iter().map(|bound| lines_of(bound, lane));
        lines(lane).into_iter().chain(bounds).collect()
    };
    let lines: Vec<Vec<Lines>> = lanes.iter().map(of_lane).collect();
    let x = Axis::run_time(lines.iter().flat_map(|lines| values(lines, |point| point.0)));
    let panel = |(lane, lines): (&Lane<'_, '_>, Vec<Lines>)| {
        let y = Axis::log_time(&lane.label(), values(&lines, |point| point.1));
        Panel { marking: Marking::Bands, ..Panel::of_lines(x.clone(), y, lines) }
    };
    Drawn {
        title: "Percentiles of the response time over time",
        about: "Median, 90th, 99th and 99.9th percentile and maximum of the response time by section of the phase",
        series: SHARES.iter().map(name).chain(bounds.iter().map(|bound| bound.series.clone())).collect(),
        panels: lanes.iter().zip(lines).map(panel).collect(),
        note,
    }
}

/// The lines of a bound in the panel of a lane: those of its run and kind of operation.
fn lines_of(bound: &Bound, lane: &Lane<'_, '_>) -> Lines {
    let first = lane.0[0];
    let is_own = bound.series.run == first.run.info.id.0;
    if is_own { bound.lines_of(Bounded::Distribution(first.kind)) } else { Lines::new() }
}

/// The lines of each percentile, one for each phase.
fn lines(lane: &Lane<'_, '_>) -> Vec<Lines> {
    let sections = lane.sections();
    let of_share = |(_, share): &(&str, f64)| -> Lines {
        let point = |(begin, end, response): &(f64, f64, &Histogram)| {
            let beyond = response.count() as f64 * (1.0 - share);
            let value = response.quantile(Quantile(*share)).0.max(1) as f64;
            (*share == 1.0 || beyond >= 1.0).then_some(((begin + end) / 2.0, value))
        };
        sections.iter().map(|phase| phase.iter().filter_map(point).collect()).collect()
    };
    SHARES.iter().map(of_share).collect()
}
