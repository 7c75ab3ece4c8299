//! Tests that vary the demand: rates and response times by number of threads and queue depth, and the response times at the
//! operating points. The composite workload with its one demand.

use iolite_model::{Bytes, Iops, Nanos, PtsDemand, PtsPoint, PtsSection, PtsStage, PtsTerms, Quantile};
use iolite_results::{MAX_POINT_RESPONSE, PtsDemandFigures, PtsProgress};
use iolite_stats::Histogram;
use serde_json::{Value, json};

use super::window::{counted, percent};
use crate::grid::folded;
use crate::styler::Styler;
use crate::table::{self, NONE};

/// The percentiles of an operating point.
const PERCENTILES: [(&str, f64); 4] = [("p50", 0.5), ("p99", 0.99), ("p99.9", 0.999), ("p99.999", 0.99999)];

/// Rates and response times by demand, and the operating points.
pub(super) fn text(progress: &PtsProgress<'_>, section: PtsSection, styler: Styler) -> String {
    let figures = progress.by_demand(section);
    let rate = |found: &PtsDemandFigures| Iops(found.figures.mean).to_string();
    let response = |found: &PtsDemandFigures| Nanos(found.figures.response as u64).to_string();
    let mut out = grid(progress.terms(), &figures, &rate, styler);
    out += &styler.item("  ", 2, "operations per second, means of the window's rounds");
    out += &grid(progress.terms(), &figures, &response, styler);
    out += &styler.item("  ", 2, "mean response time");
    let stamps = figures.iter().flat_map(|found| found.figures.stamps.iter().copied());
    out += &styler.item("  ", 2, format!("cache: {}", counted(stamps.map(table::stamp))));
    out + &points(progress, section, styler)
}

/// A row for each number of threads, a column for each queue depth.
fn grid(
    terms: &PtsTerms,
    figures: &[PtsDemandFigures],
    cell: &dyn Fn(&PtsDemandFigures) -> String,
    styler: Styler,
) -> String {
    let heads = terms.demand.iter().map(u32::to_string);
    let mut rows = vec![std::iter::once("threads/depth".to_owned()).chain(heads).collect::<Vec<_>>()];
    rows.extend(terms.demand.iter().map(|&threads| {
        let of = |&depth: &u32| {
            let found = figures.iter().find(|found| found.demand == PtsDemand { threads, depth });
            styler.clean(found.map_or_else(|| NONE.to_owned(), cell))
        };
        std::iter::once(threads.to_string()).chain(terms.demand.iter().map(of)).collect()
    }));
    folded(&rows, 2, 1, |_| true, styler)
}

/// The operating points with their percentiles.
fn points(progress: &PtsProgress<'_>, section: PtsSection, styler: Styler) -> String {
    let names = PERCENTILES.iter().map(|(name, _)| *name);
    let head = ["", "demand", "IOPS"].into_iter().chain(names).chain(["max"]).map(str::to_owned);
    let mut rows = vec![head.collect::<Vec<_>>()];
    rows.extend(PtsPoint::ALL.into_iter().filter_map(|point| Point::of(progress, section, point)).map(
        |found| {
            let percentiles = PERCENTILES.iter().map(|(_, share)| {
                quantile(&found.responses, *share).map_or_else(|| NONE.to_owned(), |at| at.to_string())
            });
            let PtsDemand { threads, depth } = found.demand;
            let point =
                [found.point.name().to_owned(), format!("{threads}x{depth}"), Iops(found.rate).to_string()];
            let cells = point.into_iter().chain(percentiles).chain([found.responses.max().to_string()]);
            cells.map(|cell| styler.clean(cell)).collect()
        },
    ));
    let mut out = folded(&rows, 2, 1, |_| true, styler);
    let time = progress.terms().length(PtsStage::Histogram(PtsPoint::Max));
    let legend = format!(
        "response times over {time} at each operating point (threads x queue depth); max IOPS: the highest rate with a mean \
         below {MAX_POINT_RESPONSE}"
    );
    out += &styler.item("  ", 2, legend);
    out
}

/// An operating point as measured.
struct Point {
    point: PtsPoint,
    demand: PtsDemand,
    rate: f64,
    responses: Histogram,
}

impl Point {
    fn of(progress: &PtsProgress<'_>, section: PtsSection, point: PtsPoint) -> Option<Point> {
        let demand = progress.operating_point(section, point)?;
        let stage = PtsStage::Histogram(point);
        let rate = progress.stage(section, stage)?.mean?;
        Some(Point { point, demand, rate, responses: progress.responses(section, point)? })
    }
}

/// A quantile; `None` where less than one operation is beyond it.
fn quantile(responses: &Histogram, share: f64) -> Option<Nanos> {
    let beyond = responses.count() as f64 * (1.0 - share);
    (beyond >= 1.0).then(|| responses.quantile(Quantile(share)))
}

/// The figures of the composite workload.
pub(super) fn composite(progress: &PtsProgress<'_>, section: PtsSection, styler: Styler) -> String {
    let window = progress.rounds(section).window;
    let cell = progress.terms().cells(section, 1).into_iter().next();
    let figures = window.zip(cell).and_then(|(window, cell)| progress.figures(section, window, cell));
    let Some(figures) = figures else { return String::new() };
    let interval = figures.interval.as_ref().map(|interval| percent(interval.relative_half_width()));
    let text = format!(
        "{} IOPS {}, {}/s, mean response time {}, longest {}; means of the window's rounds; ±: their 95 % interval, within this run",
        Iops(figures.mean),
        interval.unwrap_or_default(),
        Bytes(figures.bytes_per_second as u64),
        Nanos(figures.response as u64),
        figures.max
    );
    let mut out = styler.item("  ", 2, text);
    out += &styler.item("  ", 2, format!("cache: {}", counted(figures.stamps.into_iter().map(table::stamp))));
    out
}

/// The operating points; empty of other tests.
pub(super) fn json(progress: &PtsProgress<'_>, section: PtsSection) -> Value {
    if !section.test.is_by_demand() {
        return json!([]);
    }
    let of = |point| {
        let found = Point::of(progress, section, point)?;
        let at = |share| quantile(&found.responses, share).map(|at| at.0);
        Some(json!({
            "name": point.name(),
            "threads": found.demand.threads,
            "depth": found.demand.depth,
            "operations_per_second": found.rate,
            "p50_ns": at(0.5),
            "p99_ns": at(0.99),
            "p999_ns": at(0.999),
            "p99999_ns": at(0.99999),
            "max_ns": found.responses.max().0,
        }))
    };
    PtsPoint::ALL.into_iter().filter_map(of).collect::<Vec<_>>().into()
}
