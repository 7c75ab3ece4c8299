//! What `iolite iometer` prints: the figures of each point, best and worst of the patterns; and results as Iometer lays them out.
//!
//! The documents have `"format": "iolite-iometer/1"`; keys, units and promises are those of the document of a run
//! ([`run::json`](crate::run::json)):
//!
//! | key | holds |
//! |---|---|
//! | `format` | `iolite-iometer/1` |
//! | `terms` | what was asked for: specifications, workers, outstanding operations |
//! | `points` | list: `number`, `name`, `workers`, `depth`, `operations_per_second`, `read_operations_per_second`, `write_operations_per_second`, `bytes_per_second`, `mean_response_ns`, `max_response_ns`, `errors`, `cpu_percent` |
//! | `ratios` | best by worst of the points: `operations`, `bytes`; null with less than two |
//! | `csv` | the results in the columns of Iometer's file |
//! | `run`, `calibration`, `phases`, `warnings`, `ending` | as in a run |

use iolite_model::{IometerPoint, IometerTerms, Iops, Nanos, OpKind, Usage};
use iolite_results::Run;
use iolite_stats::PhaseResult;
use serde_json::{Value, json};

use crate::run::phase_json;
use crate::styler::{Emphasis, Style, Styler};
use crate::text::filled;
use crate::{answer, json as shared, machine};

/// Name and version of the document.
pub const JSON_FORMAT: &str = "iolite-iometer/1";

/// Decimal and binary megabytes.
const MEGA: [f64; 2] = [1e6, 1_048_576.0];

/// The columns of Iometer's results that have a value here, in its order.
const COLUMNS: &str = "'Target Type,Target Name,Access Specification Name,# Managers,# Workers,# Disks,IOps,Read IOps,Write \
 IOps,MBps, Read MBps,Write MBps,Average Response Time,Average Read Response Time,Average Write Response Time,Maximum \
                       Response Time,Maximum Read Response Time,Maximum Write Response Time,Errors,Read Errors,Write Errors,\
                       Queue Depth,% CPU Utilization";

/// What came of a point. Rates a second; of all, reads, writes.
struct Figures<'a> {
    number: usize,
    point: &'a IometerPoint,
    rates: [f64; 3],
    bytes: [f64; 3],
    means: [f64; 3],
    longest: [Nanos; 3],
    errors: [u64; 3],
    cpu: f64,
}

fn figures<'a>(run: &Run, number: usize, point: &'a IometerPoint) -> Option<Figures<'a>> {
    let lines = point.spec.lines.len().max(1);
    let named = |line| {
        let name = point.task_name(number, line);
        run.phases.iter().find(move |phase| phase.info.task.name() == name)
    };
    let phases: Vec<&PhaseResult> = (1..=lines).filter_map(named).collect();
    let seconds = phases.iter().map(|phase| phase.totals.measured).max()? as f64 / 1e9;
    let sum = |of: &dyn Fn(&PhaseResult, OpKind) -> f64| {
        let [reads, writes] =
            [OpKind::Read, OpKind::Write].map(|kind| phases.iter().map(|phase| of(phase, kind)).sum::<f64>());
        [reads + writes, reads, writes]
    };
    let counts = sum(&|phase, kind| phase.totals.operations(kind) as f64);
    let times = sum(&|phase, kind| {
        let mean = phase.summary(kind).map_or(0.0, |summary| summary.mean.value);
        mean * phase.totals.operations(kind) as f64
    });
    let longest =
        |kind| phases.iter().filter_map(|phase| Some(phase.summary(kind)?.max)).max().unwrap_or(Nanos(0));
    let [read, write] = [longest(OpKind::Read), longest(OpKind::Write)];
    let used: u64 = phases
        .iter()
        .filter_map(|phase| run.of_phase::<Usage>(phase.info.index))
        .map(|usage| usage.user.0 + usage.system.0)
        .sum();
    let per_second = |all: [f64; 3]| all.map(|value| if seconds > 0.0 { value / seconds } else { 0.0 });
    let mean = |index: usize| if counts[index] > 0.0 { times[index] / counts[index] } else { 0.0 };
    Some(Figures {
        number,
        point,
        rates: per_second(counts),
        bytes: per_second(sum(&|phase, kind| phase.totals.bytes(kind) as f64)),
        means: [mean(0), mean(1), mean(2)],
        longest: [read.max(write), read, write],
        errors: sum(&|phase, kind| phase.totals.errors(kind) as f64).map(|errors| errors as u64),
        cpu: if seconds > 0.0 { used as f64 / 1e7 / seconds } else { 0.0 },
    })
}

fn all<'a>(run: &Run, terms: &'a IometerTerms) -> Vec<Figures<'a>> {
    let points = terms.points.iter().enumerate();
    points.filter_map(|(index, point)| figures(run, index + 1, point)).collect()
}

/// Best by worst of operations and bytes a second; `None` with less than two points that did anything.
fn ratios(figures: &[Figures<'_>]) -> Option<[f64; 2]> {
    let ratio = |of: fn(&Figures<'_>) -> f64| {
        let values: Vec<f64> = figures.iter().map(of).filter(|value| *value > 0.0).collect();
        let best = values.iter().copied().fold(0.0, f64::max);
        let worst = values.iter().copied().reduce(f64::min).filter(|_| values.len() > 1)?;
        Some(best / worst)
    };
    Some([ratio(|it| it.rates[0])?, ratio(|it| it.bytes[0])?])
}

/// The terminal output of a run of access specifications.
pub(crate) fn text(run: &Run, terms: &IometerTerms, style: Style) -> String {
    let styler = Styler(style);
    let version = styler.clean(&run.info.version);
    let directory = styler.clean(run.info.storage.directory.display());
    let title = format!("iolite {version}: {} on {directory}", styler.clean(&terms.test));
    let header = styler.paint(Emphasis::Strong, &title)
        + "\n"
        + &machine::describe(&run.info, run.calibration.as_ref(), styler);
    let figures = all(run, terms);
    filled([
        header,
        table(&figures, styler),
        meaning(terms, &figures, styler),
        answer::warnings(&run.warnings, styler),
        answer::ended(&crate::document::ending(run), "the table", styler),
    ])
}

fn table(figures: &[Figures<'_>], styler: Styler) -> String {
    let mut out = format!(
        "{:>3}  {:<34}{:>7}{:>12}{:>10}{:>11}{:>11}{:>7}{:>6}\n",
        "", "access specification", "load", "IO/s", "MB/s", "average", "longest", "errors", "%CPU"
    );
    for it in figures {
        let name: String = it.point.spec.name.chars().take(33).collect();
        let line = format!(
            "{:>3}  {name:<34}{:>7}{:>12}{:>10.2}{:>11}{:>11}{:>7}{:>6.0}",
            it.number,
            format!("{}x{}", it.point.workers, it.point.depth),
            Iops(it.rates[0]).to_string(),
            it.bytes[0] / MEGA[0],
            Nanos(it.means[0] as u64).to_string(),
            it.longest[0].to_string(),
            it.errors[0],
            it.cpu
        );
        out += &(styler.clean(line) + "\n");
    }
    out + &styler.item(
        "",
        0,
        "load: workers x outstanding operations of each; MB/s: decimal; times: response",
    )
}

/// What best and worst say of a database.
fn meaning(terms: &IometerTerms, figures: &[Figures<'_>], styler: Styler) -> String {
    let Some([operations, bytes]) = ratios(figures).filter(|_| terms.patterns) else { return String::new() };
    let mut out = format!("IO/s: best / worst = {operations:.1}\nMB/s: best / worst = {bytes:.1}\n");
    let random = figures.iter().find(|it| it.point.spec.lines.iter().any(|line| line.random > 0));
    if let Some(random) = random {
        let text = format!(
            "a data sheet shows the best of these; a database with index lookups gets pattern {}: {} operations and {:.2} MB per \
             second",
            random.number,
            Iops(random.rates[0]),
            random.bytes[0] / MEGA[0]
        );
        out += &styler.item("", 0, text);
    }
    out
}

/// The results in the columns of Iometer's file.
fn csv(run: &Run, terms: &IometerTerms, figures: &[Figures<'_>]) -> String {
    let clean = |text: &str| text.replace([',', '"', '\n', '\r'], " ");
    let target = clean(&run.info.storage.directory.display().to_string());
    let mut out = format!("'Test Description\n{}\n'Results\n{COLUMNS}\n", clean(&terms.test));
    for it in figures {
        let megabytes = it.bytes.map(|bytes| bytes / MEGA[1]);
        let millis = |nanos: f64| nanos / 1e6;
        let numbers = it.rates.into_iter().chain(megabytes).chain(it.means.map(millis));
        let numbers = numbers.chain(it.longest.map(|longest| longest.as_millis_f64()));
        let numbers: Vec<String> = numbers.map(|value| format!("{value:.6}")).collect();
        let [all, reads, writes] = it.errors;
        out += &format!(
            "ALL,{target},{},1,{},1,{},{all},{reads},{writes},{},{:.6}\n",
            clean(&it.point.spec.name),
            it.point.workers,
            numbers.join(","),
            it.point.depth,
            it.cpu
        );
    }
    out
}

/// The document of a run of access specifications.
pub(crate) fn json(run: &Run, terms: &IometerTerms) -> Value {
    let figures = all(run, terms);
    let points = figures.iter().map(|it| {
        json!({
            "number": it.number,
            "name": it.point.spec.name,
            "workers": it.point.workers,
            "depth": it.point.depth,
            "operations_per_second": it.rates[0],
            "read_operations_per_second": it.rates[1],
            "write_operations_per_second": it.rates[2],
            "bytes_per_second": it.bytes[0],
            "mean_response_ns": it.means[0],
            "max_response_ns": it.longest[0].0,
            "errors": it.errors[0],
            "cpu_percent": it.cpu,
        })
    });
    json!({
        "format": JSON_FORMAT,
        "terms": terms,
        "points": points.collect::<Vec<_>>(),
        "ratios": ratios(&figures).map(|[operations, bytes]| json!({ "operations": operations, "bytes": bytes })),
        "csv": csv(run, terms, &figures),
        "run": shared::run(&run.info),
        "calibration": run.calibration.as_ref().map(shared::calibration),
        "phases": run.phases.iter().map(phase_json).collect::<Vec<_>>(),
        "warnings": run.warnings.iter().map(shared::warning).collect::<Vec<_>>(),
        "ending": shared::ending(&crate::document::ending(run)),
    })
}
