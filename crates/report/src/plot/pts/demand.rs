//! Demand: rates by operations in flight, response times by rate, and the response times at the operating points.

use iolite_model::{PtsPoint, PtsSection, PtsTerms, PtsTest};
use iolite_results::{PtsDemandFigures, PtsProgress, Run};

use super::{Line, by_panel, linear, of_runs, series};
use crate::plot::axis::Axis;
use crate::plot::buckets::outline;
use crate::plot::source::{Drawn, Lines, values};

/// The sections that vary the demand, with the number of their test.
fn sections(terms: &PtsTerms) -> impl Iterator<Item = (usize, PtsSection)> {
    let number = |section: PtsSection| match section.test {
        PtsTest::DemandVariation => Some((0, section)),
        PtsTest::DemandIntensity => Some((1, section)),
        _ => None,
    };
    terms.sections().into_iter().filter_map(number)
}

/// Demand variation: operations per second by operations in flight. Demand intensity: mean response time by operations per
/// second. A series for each number of threads.
pub(in crate::plot) fn demand(runs: &[Run]) -> Drawn {
    const FLIGHT: &str = "operations in flight";
    const RATE: &str = "operations per second";
    const AXES: [(&str, &str, bool); 4] = [
        (FLIGHT, "demand variation: operations per second by operations in flight", false),
        (RATE, "demand variation: mean response time by operations per second", true),
        (FLIGHT, "demand intensity: operations per second by operations in flight", false),
        (RATE, "demand intensity: mean response time by operations per second", true),
    ];
    let found = of_runs(runs);
    let mut lines = Vec::new();
    for (run, terms) in &found {
        let progress = PtsProgress::of(run, terms);
        for (number, section) in sections(terms) {
            let figures = progress.by_demand(section);
            for &threads in &terms.demand {
                let many = if threads == 1 { "thread" } else { "threads" };
                let name = format!("{}, {threads} {many}", section.test.name());
                let mut own: Vec<&PtsDemandFigures> =
                    figures.iter().filter(|found| found.demand.threads == threads).collect();
                own.sort_by_key(|found| found.demand.depth);
                let rates = own.iter().map(|one| (f64::from(one.demand.outstanding()), one.figures.mean));
                let responses = own.iter().map(|one| (one.figures.mean, one.figures.response.max(1.0)));
                let lines_of = vec![(2 * number, rates.collect()), (2 * number + 1, responses.collect())];
                lines.push(Line { series: series(run, name), lines: lines_of });
            }
        }
    }
    let about = "Operations per second by operations in flight, and mean response time by operations per second, a series for each \
                 number of threads";
    by_panel("Demand variation and intensity", about, &AXES, linear, lines)
}

/// Response times at the operating points: share of the operations by response time.
pub(in crate::plot) fn histogram(runs: &[Run]) -> Drawn {
    const AXES: [(&str, &str, bool); 2] = [
        ("response time", "demand variation: % of the operations", false),
        ("response time", "demand intensity: % of the operations", false),
    ];
    let found = of_runs(runs);
    let mut lines = Vec::new();
    for (run, terms) in &found {
        let progress = PtsProgress::of(run, terms);
        for (number, section) in sections(terms) {
            for point in PtsPoint::ALL {
                let Some(responses) = progress.responses(section, point) else { continue };
                let demand = progress.operating_point(section, point);
                let demand = demand.map_or_else(String::new, |demand| format!(" ({demand})"));
                let name = format!("{}: {}{demand}", section.test.name(), point.name());
                lines.push(Line::new(number, series(run, name), outline(&responses)));
            }
        }
    }
    let about = "Share of the operations by response time, at the operating points with the highest, the middle and the lowest rate";
    by_panel("Response time histograms", about, &AXES, log_time, lines)
}

fn log_time(label: &str, lines: &[Lines]) -> Axis {
    Axis::log_time(label, values(lines, |point| point.0))
}
