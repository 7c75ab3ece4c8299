//! What `iolite classic` prints: each test's figures as its original has them, what each phase means for a database, and the
//! verdict.
//!
//! The documents have `"format": "iolite-classic/1"`; keys, units and promises are those of the document of a run
//! ([`run::json`](crate::run::json)):
//!
//! | key | holds |
//! |---|---|
//! | `format` | `iolite-classic/1` |
//! | `terms` | what was asked for: `dd`, `bonnie`, `iozone` (sizes in bytes, null where left out), `keep_cache` |
//! | `dd` | list of steps: `step`, `bytes`, `rate_bytes_per_second` (as dd prints it), `durable_bytes_per_second` (the sync included) |
//! | `bonnie` | `phases`: list of `phase`, `rate_per_second` (bytes; of seeks and files their number), `cpu_percent`, `latency_ns`, `long_enough`; `csv`: Bonnie++'s line, format 1.98 |
//! | `iozone` | `tests`: list of `test`, `number`, `children`, `parent`, `min`, `max`, `avg` (bytes per second), `min_transfer_bytes`, `durable`; `report`: IOzone's `-R` report |
//! | `run`, `calibration`, `phases`, `warnings`, `verdict`, `ending` | as in a run |

mod bonnie;
mod dd;
mod iozone;
mod parts;

use iolite_model::ClassicTerms;
use iolite_results::Run;
use serde_json::{Value, json};

use crate::pen::{Ink, Pen, Style};
use crate::run::phase_json;
use crate::text::filled;
use crate::{answer, json as shared, machine};

/// Name and version of the document.
pub const JSON_FORMAT: &str = "iolite-classic/1";

/// The terminal output of a run of these tests.
pub(crate) fn text(run: &Run, terms: &ClassicTerms, style: Style) -> String {
    let pen = Pen(style);
    let version = pen.clean(&run.info.version);
    let directory = pen.clean(run.info.storage.directory.display());
    let title = format!("iolite {version}: disk performance tests on {directory}");
    let header =
        pen.paint(Ink::Strong, &title) + "\n" + &machine::describe(&run.info, run.calibration.as_ref(), pen);
    let ending = crate::ending(run);
    let verdict = run.verdict.as_ref().map_or_else(String::new, |verdict| answer::reasons(verdict, pen));
    filled([
        header,
        terms.dd.as_ref().map_or_else(String::new, |dd| dd::text(run, dd, pen)),
        terms.bonnie.as_ref().map_or_else(String::new, |bonnie| bonnie::text(run, bonnie, pen)),
        terms.iozone.as_ref().map_or_else(String::new, |iozone| iozone::text(run, iozone, pen)),
        answer::warnings(&run.warnings, pen),
        answer::ended(&ending, "this", pen) + &verdict,
    ])
}

/// The document of a run of these tests.
pub(crate) fn json(run: &Run, terms: &ClassicTerms) -> Value {
    json!({
        "format": JSON_FORMAT,
        "terms": terms,
        "dd": terms.dd.as_ref().map(|_| dd::json(run)),
        "bonnie": terms.bonnie.as_ref().map(|bonnie| bonnie::json(run, bonnie)),
        "iozone": terms.iozone.as_ref().map(|iozone| iozone::json(run, iozone)),
        "run": shared::run(&run.info),
        "calibration": run.calibration.as_ref().map(shared::calibration),
        "phases": run.phases.iter().map(phase_json).collect::<Vec<_>>(),
        "warnings": run.warnings.iter().map(shared::warning).collect::<Vec<_>>(),
        "verdict": run.verdict.as_ref().map(shared::verdict),
        "ending": shared::ending(&crate::ending(run)),
    })
}

#[cfg(test)]
mod tests;
