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

use crate::document::document;
use crate::run::phases_json;
use crate::styler::{Style, Styler, filled};
use crate::{answer, machine};

/// Name and version of the document.
pub const JSON_FORMAT: &str = "iolite-classic/1";

/// The terminal output of a run of these tests.
pub(crate) fn text(run: &Run, terms: &ClassicTerms, style: Style) -> String {
    let styler = Styler(style);
    let what = format!("disk performance tests on {}", run.info.storage.directory.display());
    filled([
        machine::header(run, what, styler),
        terms.dd.as_ref().map_or_else(String::new, |dd| dd::text(run, dd, styler)),
        terms.bonnie.as_ref().map_or_else(String::new, |bonnie| bonnie::text(run, bonnie, styler)),
        terms.iozone.as_ref().map_or_else(String::new, |iozone| iozone::text(run, iozone, styler)),
        answer::closing(run, "this", styler),
    ])
}

/// The document of a run of these tests.
pub(crate) fn json(run: &Run, terms: &ClassicTerms) -> Value {
    let members = json!({
        "terms": terms,
        "dd": terms.dd.as_ref().map(|_| dd::json(run)),
        "bonnie": terms.bonnie.as_ref().map(|bonnie| bonnie::json(run, bonnie)),
        "iozone": terms.iozone.as_ref().map(|iozone| iozone::json(run, iozone)),
        "phases": phases_json(run),
        "verdict": run.verdict,
    });
    document(JSON_FORMAT, run, members)
}

#[cfg(test)]
mod tests;
