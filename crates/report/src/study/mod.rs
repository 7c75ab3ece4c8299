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
    BlockPoint, CachePoint, OpKind, ReadAheadPoint, StudyFinding, StudySetting, StudyWindow, Task,
};
use iolite_results::Run;
use iolite_stats::{Estimate, PhaseResult};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::document::document;
use crate::json::{described, stored};
use crate::run::phases_json;
use crate::styler::{Emphasis, Style, Styler, filled};
use crate::{answer, machine};

/// Name and version of the document.
pub const JSON_FORMAT: &str = "iolite-study/1";

/// The windows of a study that were measured to their end, in order, with their run.
#[derive(Debug)]
pub struct StudyReport<'a, C> {
    run: &'a Run,
    windows: Vec<StudyWindow<C>>,
}

/// What is particular about the windows of a study.
pub trait Circumstance: Sized + Serialize + DeserializeOwned {
    /// The study's name: what is asked for.
    const STUDY: &'static str;
    /// What is studied, after `iolite VERSION: `.
    const TITLE: &'static str;

    /// The windows as text; `styler` writes them.
    #[doc(hidden)]
    fn figures(report: &StudyReport<'_, Self>, style: Style) -> String;
}

impl Circumstance for CachePoint {
    const STUDY: &'static str = "study-cache";
    const TITLE: &'static str = "effect of the page cache on reads of";

    fn figures(report: &StudyReport<'_, CachePoint>, style: Style) -> String {
        cache::figures(report, Styler(style))
    }
}

impl Circumstance for ReadAheadPoint {
    const STUDY: &'static str = "study-readahead";
    const TITLE: &'static str = "effect of read-ahead on reads of";

    fn figures(report: &StudyReport<'_, ReadAheadPoint>, style: Style) -> String {
        read_ahead::figures(report, Styler(style))
    }
}

impl Circumstance for BlockPoint {
    const STUDY: &'static str = "study-blocksize";
    const TITLE: &'static str = "effect of the block size on";

    fn figures(report: &StudyReport<'_, BlockPoint>, style: Style) -> String {
        block_size::figures(report, Styler(style))
    }
}

impl<'a, C: Circumstance> StudyReport<'a, C> {
    fn of(run: &'a Run) -> StudyReport<'a, C> {
        StudyReport { run, windows: run.concluded().collect() }
    }
}

/// The complete terminal output of a study.
pub fn text<C: Circumstance>(run: &Run, style: Style) -> String {
    let styler = Styler(style);
    let report = StudyReport::<C>::of(run);
    filled([
        machine::header(run, format_args!("{} {}", C::TITLE, run.subject()), styler),
        if report.windows.is_empty() { String::new() } else { C::figures(&report, style) },
        findings(run, styler),
        answer::closing(run, "the table", styler),
    ])
}

fn findings(run: &Run, styler: Styler) -> String {
    let mut out = String::new();
    for (number, finding) in run.concluded::<StudyFinding>().enumerate() {
        if number == 0 {
            out = styler.paint(Emphasis::Strong, "interpretation") + "\n";
        }
        let label = format!("{:>3}. ", number + 1);
        out += &styler.item(&label, label.len(), finding);
    }
    out
}

/// The document of a study.
pub fn json<C: Circumstance>(run: &Run) -> Value {
    let report = StudyReport::<C>::of(run);
    let finding = |finding: StudyFinding| described(&finding, "finding");
    let mut members = json!({
        "study": C::STUDY.trim_start_matches("study-"),
        "target": run.subject(),
        "windows": report.windows.iter().map(|each| window(&report, each)).collect::<Vec<_>>(),
        "findings": run.concluded().map(finding).collect::<Vec<_>>(),
        "phases": phases_json(run),
    });
    if let Some(setting) = run.concluded::<StudySetting>().next() {
        members["setting"] = stored(setting);
    }
    document(JSON_FORMAT, run, members)
}

fn window<C: Circumstance>(report: &StudyReport<'_, C>, window: &StudyWindow<C>) -> Value {
    let mut value = stored(window);
    let asked = asked(report, window);
    value["requested_operations"] = asked.map(|asked| asked.operations).into();
    value["requested_bytes"] = asked.map(|asked| asked.bytes).into();
    value
}

/// What a window asked for, from its start to its last completion: what the device's counters are to be compared with.
#[derive(Debug, Clone, Copy)]
struct Requested {
    operations: u64,
    bytes: u64,
}

fn asked<C>(report: &StudyReport<'_, C>, window: &StudyWindow<C>) -> Option<Requested> {
    let result = result(report, window)?;
    let Task::File(task) = &result.info.task else { return None };
    let cache = result.end.cache;
    let bytes = cache.requested_read.0 + cache.requested_written.0;
    Some(Requested { operations: bytes / task.block.0.max(1), bytes })
}

fn result<'a, C>(report: &'a StudyReport<'_, C>, window: &StudyWindow<C>) -> Option<&'a PhaseResult> {
    report.run.phases.get(window.phase as usize)
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
