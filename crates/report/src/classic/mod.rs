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

use crate::run::phase_json;
use crate::styler::{Emphasis, Style, Styler};
use crate::text::filled;
use crate::{answer, json as shared, machine};

/// Name and version of the document.
pub const JSON_FORMAT: &str = "iolite-classic/1";

/// The terminal output of a run of these tests.
pub(crate) fn text(run: &Run, terms: &ClassicTerms, style: Style) -> String {
    let styler = Styler(style);
    let version = styler.clean(&run.info.version);
    let directory = styler.clean(run.info.storage.directory.display());
    let title = format!("iolite {version}: disk performance tests on {directory}");
    let header = styler.paint(Emphasis::Strong, &title)
        + "\n"
        + &machine::describe(&run.info, run.calibration.as_ref(), styler);
    let ending = crate::document::ending(run);
    let verdict = run.verdict.as_ref().map_or_else(String::new, |verdict| answer::reasons(verdict, styler));
    filled([
        header,
        terms.dd.as_ref().map_or_else(String::new, |dd| dd::text(run, dd, styler)),
        terms.bonnie.as_ref().map_or_else(String::new, |bonnie| bonnie::text(run, bonnie, styler)),
        terms.iozone.as_ref().map_or_else(String::new, |iozone| iozone::text(run, iozone, styler)),
        answer::warnings(&run.warnings, styler),
        answer::ended(&ending, "this", styler) + &verdict,
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
        "run": shared::stored(&run.info),
        "calibration": shared::stored(&run.calibration),
        "phases": run.phases.iter().map(phase_json).collect::<Vec<_>>(),
        "warnings": run.warnings.iter().map(shared::warning).collect::<Vec<_>>(),
        "verdict": shared::stored(&run.verdict),
        "ending": shared::ending(&crate::document::ending(run)),
    })
}

#[cfg(test)]
mod tests;
