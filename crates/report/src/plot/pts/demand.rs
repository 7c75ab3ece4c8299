//! Demand: rates by operations in flight, response times by rate, and the response times at the operating points.

use iolite_model::{PtsPoint, PtsSection, PtsTerms, PtsTest};
use iolite_results::{PtsDemandFigures, PtsProgress, Run};

use super::{Line, by_panel, linear, of_runs, series};
use crate::plot::axis::Axis;
use crate::plot::source::{Drawn, Lines, values};

/// Buckets of a histogram per power of ten.
const BUCKETS: f64 = 20.0;

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
                let name = format!("{}, {threads} threads", section.test.name());
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
    by_panel("Demand variation and intensity", about, &AXES, linear, lines, &found)
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
                let demand = demand.map_or_else(String::new, |demand| {
                    format!(" ({} threads, queue depth {})", demand.threads, demand.depth)
                });
                let name = format!("{}: {}{demand}", section.test.name(), point.name());
                lines.push(Line::new(number, series(run, name), shares(responses.iter(), responses.count())));
            }
        }
    }
    let about = "Share of the operations by response time, at the operating points with the highest, the middle and the lowest rate";
    by_panel("Response time histograms", about, &AXES, log_time, lines, &found)
}

/// Shares of the operations in percent by buckets of equal width on a logarithmic axis.
fn shares(counts: impl Iterator<Item = (iolite_model::Nanos, u64)>, total: u64) -> Vec<(f64, f64)> {
    let mut buckets: Vec<(i64, u64)> = Vec::new();
    for (time, count) in counts {
        let bucket = ((time.0.max(1) as f64).log10() * BUCKETS).floor() as i64;
        match buckets.last_mut() {
            Some((last, sum)) if *last == bucket => *sum += count,
            _ => buckets.push((bucket, count)),
        }
    }
    let middle = |bucket: i64| 10f64.powf((bucket as f64 + 0.5) / BUCKETS);
    let share = |count: u64| 100.0 * count as f64 / total.max(1) as f64;
    let mut points = Vec::new();
    for (bucket, count) in buckets {
        // Between two buckets without operations the line is at zero.
        if let Some(before) =
            points.last().map(|(last, _): &(i64, f64)| *last).filter(|last| bucket > last + 1)
        {
            points.push((before + 1, 0.0));
            if bucket > before + 2 {
                points.push((bucket - 1, 0.0));
            }
        }
        points.push((bucket, share(count)));
    }
    points.into_iter().map(|(bucket, share)| (middle(bucket), share)).collect()
}

fn log_time(label: &str, lines: &[Lines]) -> Axis {
    Axis::log_time(label, values(lines, |point| point.0))
}

#[cfg(test)]
mod tests {
    use iolite_model::Nanos;

    use super::*;

    #[test]
    fn shares_are_of_all_operations_and_zero_where_there_are_none() {
        let counts = [(Nanos(1_000_000), 30), (Nanos(1_010_000), 20), (Nanos(10_000_000), 50)];
        let points = shares(counts.into_iter(), 100);
        let of: Vec<f64> = points.iter().map(|point| point.1).collect();
        assert_eq!(of, [50.0, 0.0, 0.0, 50.0]);
        assert!(points[0].0 >= 1e6 && points[0].0 < 1.2e6 && points[3].0 > 1e7, "{points:?}");
    }
}
