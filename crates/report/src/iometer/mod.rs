//! What `iolite iometer` prints: the figures of each point, best and worst of the patterns; and results as Iometer lays them out.
//!
//! The documents have `"format": "iolite-iometer/1"`; keys, units and promises are those of the document of a run
//! ([`run::json`](crate::run::json)):
//!
//! | key | holds |
//! |---|---|
//! | `format` | `iolite-iometer/1` |
//! | `terms` | what was asked for: specifications, workers, outstanding operations |
//! | `points` | list: `number`, `name`, `workers`, `targets` (of each worker), `depth` (of each worker at each target), `operations_per_second`, `read_operations_per_second`, `write_operations_per_second`, `rate` (of all operations, with its interval within the run), `bytes_per_second`, `mean_response_ns`, `p99_response_ns` (null with too few operations), `max_response_ns`, `errors`, `cpu_percent` (of one CPU), `cache`, `by_worker` (list; empty if there is one): `worker` (its name), `name` (of its specification), and the others from `targets` on |
//! | `comparison` | null, or the figures of the first of two directories: `run`, `directory`, `points` (`number`, `operations_per_second`, `bytes_per_second`) |
//! | `verdict` | null: access specifications have no limits |
//! | `ratios` | best by worst of the points: `operations`, `bytes`; null with less than two |
//! | `csv` | the results in the columns of Iometer's file |
//! | `run`, `calibration`, `phases`, `warnings`, `ending` | as in a run |

mod csv;
mod figures;
#[cfg(test)]
mod tests;
mod words;

use iolite_model::{IometerComparison, IometerLoad, IometerPoint, IometerTerms, Iops, Nanos};
use iolite_results::Run;
use serde_json::{Value, json};

use self::figures::{Figures, Phases};
use crate::document::document;
use crate::grid::folded;
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

/// Rows of workers in the table at most.
const WORKER_ROWS: usize = 40;

/// Characters of the name of a specification at most: those of all standard specifications fit.
const NAME: usize = 38;

/// Why there is no verdict.
const NO_VERDICT: &str = "no verdict: Iometer's access specifications have no limits to compare with; `iolite check` judges the \
                          storage for databases";

/// The terminal output of a run of access specifications.
pub(crate) fn text(run: &Run, terms: &IometerTerms, style: Style) -> String {
    let styler = Styler(style);
    let what = format!("{} on {}", terms.test, run.info.storage.directory.display());
    let phases = Phases::of(run, terms);
    let figures = phases.all();
    let comparison: Option<IometerComparison> = run.concluded().last();
    filled([
        machine::header(run, what, styler),
        table(terms, &phases, &figures, styler),
        idle(terms, styler),
        meaning(terms, &figures, styler),
        comparison
            .map_or_else(String::new, |comparison| side_by_side(run, terms, &figures, &comparison, styler)),
        styler.item("", 0, NO_VERDICT),
        answer::closing(run, "the table", styler),
    ])
}

fn table(terms: &IometerTerms, phases: &Phases<'_>, figures: &[Figures<'_>], styler: Styler) -> String {
    let head = [
        "     access specification",
        "load",
        "IO/s",
        "±",
        "MB/s",
        "average",
        "p99",
        "longest",
        "%CPU",
        "cache",
    ];
    let mut rows = vec![head.map(|head| styler.clean(head)).to_vec()];
    let by_worker: Vec<_> = figures.iter().map(|it| workers(terms, phases, it)).collect();
    let count: usize = by_worker.iter().map(Vec::len).sum();
    for (it, workers) in figures.iter().zip(&by_worker) {
        rows.push(cells(numbered(it), words::load(it.point), it, styler));
        if count <= WORKER_ROWS {
            rows.extend(workers.iter().map(|(load, own)| {
                let name = shortened(&worker_words(terms, it.point, load));
                cells(format!("       {name}"), words::product(1, load.targets, load.depth), own, styler)
            }));
        }
    }
    let mut out = folded(&rows, 0, 1, |column| (1..9).contains(&column), styler);
    for it in figures.iter().filter(|it| it.errors[0] > 0) {
        let text = format!("{}: {}", it.number, styler::errors(it.errors[0]));
        out += &(styler.paint(Emphasis::Bad, styler.item("", 0, text).trim_end()) + "\n");
    }
    for it in figures.iter().filter(|it| it.measured.0 < terms.run_time.0 / 10 * 9) {
        out +=
            &styler.item("", 0, format!("{}: measured for {} of {}", it.number, it.measured, terms.run_time));
    }
    for it in figures.iter().filter(|it| it.point.spec.name.chars().count() > NAME) {
        out += &styler.item("", 4, format!("{}: {}", it.number, it.point.spec.name));
    }
    let of = if figures.iter().any(|it| it.point.targets > 1) {
        "workers x targets x outstanding operations at each"
    } else {
        "workers x outstanding operations of each"
    };
    let ramp = if terms.ramp.0 > 0 {
        format!("; a ramp of {} before each is left out", terms.ramp)
    } else {
        String::new()
    };
    let text = format!(
        "load: {of}; ±: 95 % interval of the rate, within this run; MB/s: decimal; times: response; -: too few operations{ramp}"
    );
    out += &styler.item("", 0, text);
    if count > WORKER_ROWS {
        let text = format!(
            "the {count} results of single workers are in the results file (--csv) and the document (--json)"
        );
        out += &styler.item("", 0, text);
    }
    out
}

fn cells(name: String, load: String, it: &Figures<'_>, styler: Styler) -> Vec<String> {
    let cells = [
        name,
        load,
        Iops(it.rates[0]).to_string(),
        table::percent(it.rate.relative_half_width()),
        format!("{:.2}", it.bytes_per_second[0] / MEGA),
        Nanos(it.means[0] as u64).to_string(),
        it.p99().map_or_else(|| NONE.to_owned(), |p99| p99.to_string()),
        it.longest[0].to_string(),
        format!("{:.0}", it.cpu.iter().sum::<f64>()),
        table::stamp(it.stamp),
    ];
    cells.map(|cell| styler.clean(cell)).to_vec()
}

/// The workers of a point that have run, with their figures, if there are several.
fn workers<'r>(
    terms: &IometerTerms,
    phases: &Phases<'r>,
    it: &Figures<'r>,
) -> Vec<(IometerLoad, Figures<'r>)> {
    let loads = terms.loads(it.point);
    if loads.len() < 2 && it.point.loads.is_empty() {
        return Vec::new();
    }
    let own = |load: IometerLoad| {
        let figures = phases.some(it.number, it.point, |other, _| other.worker == load.worker)?;
        Some((load, figures))
    };
    loads.into_iter().filter_map(own).collect()
}

/// Name of a worker, with what it does if another one does something else.
fn worker_words(terms: &IometerTerms, point: &IometerPoint, load: &IometerLoad) -> String {
    let name = words::full_name(terms, load.worker);
    let differs = point.loads.iter().any(|other| other.spec != load.spec);
    if differs { format!("{name}: {}", load.spec.name) } else { name }
}

/// Number and name of a point; of a name that is too long for a table its beginning.
fn numbered(it: &Figures<'_>) -> String {
    format!("{:>3}  {}", it.number, shortened(&it.point.spec.name))
}

fn shortened(name: &str) -> String {
    if name.chars().count() <= NAME {
        return name.to_owned();
    }
    format!("{}...", name.chars().take(NAME - 3).collect::<String>())
}

/// The specifications without operations.
fn idle(terms: &IometerTerms, styler: Styler) -> String {
    let idle = terms.points.iter().filter(|point| point.is_idle());
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
    let head = ["     access specification", "A: IO/s", "B: IO/s", "B / A", "A: MB/s", "B: MB/s"];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    rows.extend(pairs.iter().map(|(it, [rate, bytes])| {
        let cells = [
            numbered(it),
            Iops(*rate).to_string(),
            Iops(it.rates[0]).to_string(),
            if *rate > 0.0 { format!("{:.2}", it.rates[0] / rate) } else { NONE.to_owned() },
            format!("{:.2}", bytes / MEGA),
            format!("{:.2}", it.bytes_per_second[0] / MEGA),
        ];
        cells.map(|cell| styler.clean(cell)).to_vec()
    }));
    out += &folded(&rows, 0, 1, |column| column > 0, styler);
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
        let text = format!(
            "best / worst: A: {other_operations:.1} (IO/s), {other_bytes:.1} (MB/s); B: {operations:.1} (IO/s), {bytes:.1} (MB/s)"
        );
        out += &styler.item("", 0, text);
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

/// Figures in the document.
fn measured(it: &Figures<'_>) -> Value {
    json!({
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
}

/// The document of a run of access specifications.
pub(crate) fn json(run: &Run, terms: &IometerTerms) -> Value {
    let phases = Phases::of(run, terms);
    let figures = phases.all();
    let comparison: Option<IometerComparison> = run.concluded().last();
    let points = figures.iter().map(|it| {
        let by_worker = workers(terms, &phases, it).into_iter().map(|(load, own)| {
            let mut worker = measured(&own);
            worker["worker"] = words::full_name(terms, load.worker).into();
            worker["name"] = load.spec.name.into();
            worker["targets"] = load.targets.into();
            worker["depth"] = load.depth.into();
            worker
        });
        let mut point = measured(it);
        point["number"] = it.number.into();
        point["name"] = it.point.spec.name.clone().into();
        point["workers"] = it.point.workers.into();
        point["targets"] = it.point.targets.into();
        point["depth"] = it.point.depth.into();
        point["by_worker"] = by_worker.collect::<Vec<_>>().into();
        point
    });
    let members = json!({
        "terms": terms,
        "points": points.collect::<Vec<_>>(),
        "comparison": comparison,
        "verdict": null,
        "ratios": figures::ratios(&figures).map(|[operations, bytes]| json!({ "operations": operations, "bytes": bytes })),
        "csv": csv::of_points(run, terms, &phases),
        "phases": phases_json(run),
    });
    document(JSON_FORMAT, run, members)
}
