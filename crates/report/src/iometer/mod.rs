//! What `iolite iometer` prints: the figures of each point, best and worst of the patterns; and results as Iometer lays them out.
//!
//! The documents have `"format": "iolite-iometer/1"`; keys, units and promises are those of the document of a run
//! ([`run::json`](crate::run::json)):
//!
//! | key | holds |
//! |---|---|
//! | `format` | `iolite-iometer/1` |
//! | `terms` | what was asked for: specifications, workers, outstanding operations |
//! | `points` | list: `number`, `name`, `workers`, `targets` (of each worker), `depth` (of each worker at each target), `operations_per_second`, `read_operations_per_second`, `write_operations_per_second`, `rate` (of all operations, with its interval within the run), `bytes_per_second`, `mean_response_ns`, `p99_response_ns` (null with too few operations), `max_response_ns`, `errors`, `cpu_percent` (of one CPU), `cache` |
//! | `comparison` | null, or the figures of the first of two directories: `run`, `directory`, `points` (`number`, `operations_per_second`, `bytes_per_second`) |
//! | `verdict` | null: access specifications have no limits |
//! | `ratios` | best by worst of the points: `operations`, `bytes`; null with less than two |
//! | `csv` | the results in the columns of Iometer's file |
//! | `run`, `calibration`, `phases`, `warnings`, `ending` | as in a run |

mod csv;
mod figures;
#[cfg(test)]
mod tests;

use iolite_model::{IometerComparison, IometerPoint, IometerTerms, Iops, Nanos};
use iolite_results::Run;
use serde_json::{Value, json};

use self::figures::Figures;
use crate::document::document;
use crate::run::phases_json;
use crate::styler::{self, Emphasis, Style, Styler, filled};
use crate::table::{self, NONE};
use crate::{answer, json as shared, machine};

pub use csv::csv;
pub use figures::comparison;

/// Name and version of the document.
pub const JSON_FORMAT: &str = "iolite-iometer/1";

/// Bytes of a decimal megabyte.
const MEGA: f64 = 1e6;

/// Width of the names of specifications.
const NAME: usize = 30;

/// The same where there is space for those of all standard specifications.
const LONG_NAME: usize = 38;

/// Width of workers, targets and outstanding operations.
const LOAD: usize = 9;

/// Why there is no verdict.
const NO_VERDICT: &str = "no verdict: Iometer's access specifications have no limits to compare with; `iolite check` judges the \
                          storage for databases";

/// The terminal output of a run of access specifications.
pub(crate) fn text(run: &Run, terms: &IometerTerms, style: Style) -> String {
    let styler = Styler(style);
    let what = format!("{} on {}", terms.test, run.info.storage.directory.display());
    let figures = figures::all(run, terms);
    let comparison: Option<IometerComparison> = run.concluded().last();
    filled([
        machine::header(run, what, styler),
        table(&figures, styler),
        idle(terms, styler),
        meaning(terms, &figures, styler),
        comparison
            .map_or_else(String::new, |comparison| side_by_side(run, terms, &figures, &comparison, styler)),
        styler.item("", 0, NO_VERDICT),
        answer::closing(run, "the table", styler),
    ])
}

fn table(figures: &[Figures<'_>], styler: Styler) -> String {
    let spread = styler.clean("±");
    let loads = figures.iter().map(|it| load(it.point).len() + 1);
    let wide = loads.max().unwrap_or_default().max(LOAD);
    let mut out = format!(
        "{:>3}  {:<NAME$}{:>wide$}{:>10}{spread:>8}{:>10}{:>9}{:>9}{:>9}{:>6}  cache\n",
        "", "access specification", "load", "IO/s", "MB/s", "average", "p99", "longest", "%CPU"
    );
    for it in figures {
        let name = styler.clean(&it.point.spec.name);
        // A long name has a line of its own.
        let (above, name) =
            if name.chars().count() < NAME { (None, name) } else { (Some(name), String::new()) };
        if let Some(above) = above {
            out += &format!("{:>3}  {above}\n", it.number);
        }
        let number = if name.is_empty() { String::new() } else { it.number.to_string() };
        let line = format!(
            "{number:>3}  {name:<NAME$}{:>wide$}{:>10}{:>8}{:>10.2}{:>9}{:>9}{:>9}{:>6.0}  {}",
            load(it.point),
            Iops(it.rates[0]).to_string(),
            table::percent(it.rate.relative_half_width()),
            it.bytes_per_second[0] / MEGA,
            Nanos(it.means[0] as u64).to_string(),
            it.p99().map_or_else(|| NONE.to_owned(), |p99| p99.to_string()),
            it.longest[0].to_string(),
            it.cpu.iter().sum::<f64>(),
            table::stamp(it.stamp),
        );
        out += &(styler.clean(line) + "\n");
        if it.errors[0] > 0 {
            let text = styler.clean(styler::errors(it.errors[0]));
            out += &format!("     {}\n", styler.paint(Emphasis::Bad, &text));
        }
    }
    let of = if figures.iter().any(|it| it.point.targets > 1) {
        "workers x targets x outstanding operations at each"
    } else {
        "workers x outstanding operations of each"
    };
    let text = format!(
        "load: {of}; ±: 95 % interval of the rate, within this run; MB/s: decimal; times: response; -: too few operations"
    );
    out + &styler.item("", 0, text)
}

/// Workers, targets if there are several, and outstanding operations.
fn load(point: &IometerPoint) -> String {
    let IometerPoint { workers, targets, depth, .. } = point;
    if *targets > 1 { format!("{workers}x{targets}x{depth}") } else { format!("{workers}x{depth}") }
}

/// The specifications without operations.
fn idle(terms: &IometerTerms, styler: Styler) -> String {
    let idle = terms.points.iter().filter(|point| point.spec.lines.is_empty());
    let names: Vec<&str> = idle.map(|point| point.spec.name.as_str()).collect();
    if names.is_empty() {
        return String::new();
    }
    styler.item("", 0, format!("idle, not measured: {}", names.join(", ")))
}

/// What best and worst say of a database.
fn meaning(terms: &IometerTerms, figures: &[Figures<'_>], styler: Styler) -> String {
    let Some([operations, bytes]) = figures::ratios(figures).filter(|_| terms.patterns) else {
        return String::new();
    };
    let mut out = format!("IO/s: best / worst = {operations:.1}\nMB/s: best / worst = {bytes:.1}\n");
    let random = figures.iter().find(|it| it.point.spec.lines.iter().any(|line| line.random > 0));
    if let Some(random) = random {
        let text = format!(
            "a data sheet shows the best of these; a database with index lookups gets pattern {}: {} operations and {:.2} MB per \
             second",
            random.number,
            Iops(random.rates[0]),
            random.bytes_per_second[0] / MEGA
        );
        out += &styler.item("", 0, text);
    }
    out
}

/// Two targets of the same test.
fn side_by_side(
    run: &Run,
    terms: &IometerTerms,
    figures: &[Figures<'_>],
    comparison: &IometerComparison,
    styler: Styler,
) -> String {
    let pairs = pairs(figures, comparison);
    let [first, second] =
        [&comparison.directory, &run.info.storage.directory].map(|path| path.display().to_string());
    let mut out =
        styler.item("", 0, format!("A: {first} (run {}), B: {second}, measured after A", comparison.run.0));
    out += &format!(
        "{:>3}  {:<LONG_NAME$}{:>10}{:>10}{:>9}{:>11}{:>10}\n",
        "", "access specification", "A: IO/s", "B: IO/s", "B / A", "A: MB/s", "B: MB/s"
    );
    for (it, [rate, bytes]) in &pairs {
        let name = &it.point.spec.name;
        let ratio = if *rate > 0.0 { format!("{:.2}", it.rates[0] / rate) } else { NONE.to_owned() };
        let line = format!(
            "{:>3}  {name:<LONG_NAME$}{:>10}{:>10}{ratio:>9}{:>11.2}{:>10.2}",
            it.number,
            Iops(*rate).to_string(),
            Iops(it.rates[0]).to_string(),
            bytes / MEGA,
            it.bytes_per_second[0] / MEGA,
        );
        out += &(styler.clean(line) + "\n");
    }
    out += &compared(terms, &pairs, styler);
    let of = |index: usize| {
        crate::extremes::best_by_worst(
            comparison
                .points
                .iter()
                .map(move |point| [point.operations_per_second, point.bytes_per_second][index]),
        )
    };
    if let (Some([operations, bytes]), Some(other_operations), Some(other_bytes)) =
        (figures::ratios(figures), of(0), of(1))
    {
        out += &format!("best / worst: A: {other_operations:.1} (IO/s), {other_bytes:.1} (MB/s); ");
        out += &format!("B: {operations:.1} (IO/s), {bytes:.1} (MB/s)\n");
    }
    out
}

/// What the ratios of two targets mean for a database: those of random patterns, and the range of those of sequential ones. Empty of tests
/// other than the patterns.
fn compared(terms: &IometerTerms, pairs: &[(&Figures<'_>, [f64; 2])], styler: Styler) -> String {
    let is_random = |it: &Figures<'_>| it.point.spec.lines.iter().any(|line| line.random > 0);
    let ratio = |(it, [rate, _]): &(&Figures<'_>, [f64; 2])| (*rate > 0.0).then(|| it.rates[0] / rate);
    let random =
        pairs.iter().filter(|(it, _)| is_random(it)).find_map(|pair| Some((pair.0.number, ratio(pair)?)));
    let sequential: Vec<f64> = pairs.iter().filter(|(it, _)| !is_random(it)).filter_map(ratio).collect();
    let range = sequential.iter().copied().reduce(f64::min).zip(sequential.iter().copied().reduce(f64::max));
    let Some(((number, random), (low, high))) = random.zip(range).filter(|_| terms.patterns) else {
        return String::new();
    };
    let text = format!(
        "a database with index lookups gets pattern {number}: {random:.2} times as many operations on B as on A; of the sequential \
         patterns, which loads, scans and backups resemble, B has {low:.2} to {high:.2} times as many"
    );
    styler.item("", 0, text)
}

/// The points of a run with the rate and the bytes per second of the same point of the other.
fn pairs<'f, 'a>(
    figures: &'f [Figures<'a>],
    comparison: &IometerComparison,
) -> Vec<(&'f Figures<'a>, [f64; 2])> {
    let other = |it: &'f Figures<'a>| {
        let same = comparison.points.iter().find(|point| point.number == it.number as u64)?;
        Some((it, [same.operations_per_second, same.bytes_per_second]))
    };
    figures.iter().filter_map(other).collect()
}

/// The document of a run of access specifications.
pub(crate) fn json(run: &Run, terms: &IometerTerms) -> Value {
    let figures = figures::all(run, terms);
    let comparison: Option<IometerComparison> = run.concluded().last();
    let points = figures.iter().map(|it| {
        json!({
            "number": it.number,
            "name": it.point.spec.name,
            "workers": it.point.workers,
            "targets": it.point.targets,
            "depth": it.point.depth,
            "operations_per_second": it.rates[0],
            "read_operations_per_second": it.rates[1],
            "write_operations_per_second": it.rates[2],
            "rate": shared::estimate(&it.rate),
            "bytes_per_second": it.bytes_per_second[0],
            "mean_response_ns": it.means[0],
            "p99_response_ns": it.p99().map(|p99| p99.0),
            "max_response_ns": it.longest[0].0,
            "errors": it.errors[0],
            "cpu_percent": it.cpu.iter().sum::<f64>(),
            "cache": it.stamp.to_string(),
        })
    });
    let members = json!({
        "terms": terms,
        "points": points.collect::<Vec<_>>(),
        "comparison": comparison,
        "verdict": null,
        "ratios": figures::ratios(&figures).map(|[operations, bytes]| json!({ "operations": operations, "bytes": bytes })),
        "csv": csv::of_points(run, terms, &figures),
        "phases": phases_json(run),
    });
    document(JSON_FORMAT, run, members)
}
