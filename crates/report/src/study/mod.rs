//! What `iolite study` prints: the windows side by side, and what the comparison says.
//!
//! The documents have `"format": "iolite-study/1"`; keys, units and promises are those of the document of a run
//! ([`run::json`](crate::run::json)):
//!
//! | key | holds |
//! |---|---|
//! | `format` | `iolite-study/1` |
//! | `study` | `cache`, `readahead` or `blocksize` |
//! | `target` | what was studied: a path |
//! | `run`, `calibration`, `phases`, `warnings`, `ending` | as in a run; phases that only prepare are there too |
//! | `windows` | list: what is particular (`way` and `order`; `read_ahead_bytes` and `order`; `block_bytes` and `read_percent`), `phase` (index), `requested_operations`, `requested_bytes`, `device` (null, or `reads`, `read_bytes`, `writes`, `written_bytes`, `flushes`), `resident_before`, `resident_after` (shares from 0 to 1) |
//! | `findings` | list: `kind`, `text`, `data` (the finding's own fields) |
//! | `setting` | with `readahead`: `device`, `original_bytes` |

mod block_size;
mod cache;
mod read_ahead;

use iolite_model::{
    BlockPoint, CachePoint, Calibration, Ending, OpKind, ReadAheadPoint, RunInfo, StudyFinding, StudySetting,
    StudyWindow, Task, Warning,
};
use iolite_results::Run;
use iolite_stats::{Estimate, PhaseResult};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::run::phase_json;
use crate::styler::{Emphasis, Style, Styler};
use crate::text::filled;
use crate::{answer, json as shared, machine};

/// Name and version of the document.
pub const JSON_FORMAT: &str = "iolite-study/1";

/// A study with all that is to be said of it.
#[derive(Debug, Clone, PartialEq)]
pub struct StudyReport<C> {
    /// What was known when the run started: the storage, the machine.
    pub run: RunInfo,
    /// The program's own cost, where it came to be measured.
    pub calibration: Option<Calibration>,
    /// What was studied: a path.
    pub target: String,
    /// The windows that were measured to their end, in order.
    pub windows: Vec<StudyWindow<C>>,
    /// What they say.
    pub findings: Vec<StudyFinding>,
    /// The setting that was changed, and what it was.
    pub setting: Option<StudySetting>,
    /// All finished phases.
    pub phases: Vec<PhaseResult>,
    /// The warnings, in the order they arose.
    pub warnings: Vec<Warning>,
    /// How the run ended.
    pub ending: Ending,
}

impl<C: Circumstance> StudyReport<C> {
    /// What a run of a study says.
    pub fn of(run: &Run) -> StudyReport<C> {
        StudyReport {
            run: run.info.clone(),
            calibration: run.calibration.clone(),
            target: run.asked().map(|asked| asked.subject).unwrap_or_default(),
            windows: run.concluded().collect(),
            findings: run.concluded().collect(),
            setting: run.concluded().next(),
            phases: run.phases.clone(),
            warnings: run.warnings.clone(),
            ending: crate::document::ending(run),
        }
    }
}

/// What is particular about the windows of a study.
pub trait Circumstance: Sized + Serialize + DeserializeOwned {
    /// The study's name: what is asked for.
    const STUDY: &'static str;
    /// What is studied, after `iolite VERSION: `.
    const TITLE: &'static str;

    /// Its keys in the document.
    fn keys(&self) -> Value;

    /// The windows as text; `styler` writes them.
    #[doc(hidden)]
    fn figures(report: &StudyReport<Self>, style: Style) -> String;
}

impl Circumstance for CachePoint {
    const STUDY: &'static str = "study-cache";
    const TITLE: &'static str = "effect of the page cache on reads of";

    fn keys(&self) -> Value {
        json!({ "way": self.way, "order": self.order })
    }

    fn figures(report: &StudyReport<CachePoint>, style: Style) -> String {
        cache::figures(report, Styler(style))
    }
}

impl Circumstance for ReadAheadPoint {
    const STUDY: &'static str = "study-readahead";
    const TITLE: &'static str = "effect of read-ahead on reads of";

    fn keys(&self) -> Value {
        json!({ "read_ahead_bytes": self.read_ahead.0, "order": self.order })
    }

    fn figures(report: &StudyReport<ReadAheadPoint>, style: Style) -> String {
        read_ahead::figures(report, Styler(style))
    }
}

impl Circumstance for BlockPoint {
    const STUDY: &'static str = "study-blocksize";
    const TITLE: &'static str = "effect of the block size on";

    fn keys(&self) -> Value {
        json!({ "block_bytes": self.block.0, "read_percent": self.read_percent })
    }

    fn figures(report: &StudyReport<BlockPoint>, style: Style) -> String {
        block_size::figures(report, Styler(style))
    }
}

/// The complete terminal output of a study.
pub fn text<C: Circumstance>(report: &StudyReport<C>, style: Style) -> String {
    let styler = Styler(style);
    let version = styler.clean(&report.run.version);
    let title = format!("iolite {version}: {} {}", C::TITLE, styler.clean(&report.target));
    let header = styler.paint(Emphasis::Strong, &title)
        + "\n"
        + &machine::describe(&report.run, report.calibration.as_ref(), styler);
    filled([
        header,
        if report.windows.is_empty() { String::new() } else { C::figures(report, style) },
        findings(&report.findings, styler),
        answer::warnings(&report.warnings, styler),
        answer::ended(&report.ending, "the table", styler),
    ])
}

fn findings(findings: &[StudyFinding], styler: Styler) -> String {
    if findings.is_empty() {
        return String::new();
    }
    let mut out = styler.paint(Emphasis::Strong, "interpretation") + "\n";
    for (number, finding) in findings.iter().enumerate() {
        let label = format!("{:>3}. ", number + 1);
        out += &styler.item(&label, label.len(), finding);
    }
    out
}

/// The document of a study.
pub fn json<C: Circumstance>(report: &StudyReport<C>) -> Value {
    let mut document = json!({
        "format": JSON_FORMAT,
        "study": C::STUDY.trim_start_matches("study-"),
        "target": report.target,
        "run": shared::stored(&report.run),
        "calibration": shared::stored(&report.calibration),
        "windows": report.windows.iter().map(|each| window(report, each)).collect::<Vec<_>>(),
        "findings": report.findings.iter().map(finding).collect::<Vec<_>>(),
        "phases": report.phases.iter().map(phase_json).collect::<Vec<_>>(),
        "warnings": report.warnings.iter().map(shared::warning).collect::<Vec<_>>(),
        "ending": shared::ending(&report.ending),
    });
    if let Some(StudySetting { device, original }) = &report.setting {
        document["setting"] = json!({ "device": device, "original_bytes": original.0 });
    }
    document
}

fn window<C: Circumstance>(report: &StudyReport<C>, window: &StudyWindow<C>) -> Value {
    let mut value = window.circumstance.keys();
    let asked = asked(report, window);
    value["phase"] = window.phase.into();
    value["requested_operations"] = asked.map(|asked| asked.operations).into();
    value["requested_bytes"] = asked.map(|asked| asked.bytes).into();
    value["device"] = shared::stored(window.device);
    value["resident_before"] = window.resident_before.into();
    value["resident_after"] = window.resident_after.into();
    value
}

fn finding(finding: &StudyFinding) -> Value {
    // The fields are text and numbers, which always serialise.
    let mut data = serde_json::to_value(finding).unwrap_or_default();
    let kind = data.as_object_mut().and_then(|fields| fields.remove("finding"));
    json!({ "kind": kind, "text": finding.to_string(), "data": data })
}

/// What a window asked for, from its start to its last completion: what the device's counters are to be compared with.
#[derive(Debug, Clone, Copy)]
struct Requested {
    operations: u64,
    bytes: u64,
}

fn asked<C>(report: &StudyReport<C>, window: &StudyWindow<C>) -> Option<Requested> {
    let result = result(report, window)?;
    let Task::File(task) = &result.info.task else { return None };
    let cache = result.end.cache;
    let bytes = cache.requested_read.0 + cache.requested_written.0;
    Some(Requested { operations: bytes / task.block.0.max(1), bytes })
}

fn result<'a, C>(report: &'a StudyReport<C>, window: &StudyWindow<C>) -> Option<&'a PhaseResult> {
    report.phases.get(window.phase as usize)
}

/// Operations and bytes a second of reads and writes together.
fn rates(result: &PhaseResult) -> Option<(f64, f64)> {
    let seconds = result.totals.measured as f64 / 1e9;
    let sum = |of: &dyn Fn(OpKind) -> u64| (of(OpKind::Read) + of(OpKind::Write)) as f64;
    let operations = sum(&|kind| result.totals.operations(kind));
    let bytes = sum(&|kind| result.totals.bytes(kind));
    (operations > 0.0 && seconds > 0.0).then(|| (operations / seconds, bytes / seconds))
}

/// A quantile of the response times, of reads or writes whichever is the longer; `None` where there are too few operations.
fn slowest(result: &PhaseResult, share: f64) -> Option<f64> {
    let quantile = iolite_model::Quantile(share);
    let of = |kind| {
        let operations = result.totals.operations(kind);
        let rendered =
            (operations > 0).then(|| result.quantile(kind, quantile).map(|estimate| estimate.value))?;
        Some(rendered.filter(|_| Estimate::resolves(quantile, operations)))
    };
    let rendered: Option<Vec<f64>> = [OpKind::Read, OpKind::Write].into_iter().filter_map(of).collect();
    rendered?.into_iter().reduce(f64::max)
}

#[cfg(test)]
mod tests;
