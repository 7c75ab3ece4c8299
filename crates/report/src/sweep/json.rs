//! The machine-readable document of a sweep, `"format": "iolite-sweep/1"`.
//!
//! Keys, units and promises are those of the document of a run ([`run::json`](crate::run::json)):
//!
//! | key | holds |
//! |---|---|
//! | `format` | `iolite-sweep/1` |
//! | `tool` | `RanRead`, `RanWrite` or `RanIO` |
//! | `run`, `calibration`, `phases`, `warnings`, `ending` | as in a run |
//! | `verdict` | as in a check |
//! | `database` | null, or as in a run of one of the tools ([`ran::json`](crate::ran::json)), before the first step |
//! | `asked` | `jobs` (list; empty for 1, 5, 10, 20...), `operation`, `step_ns`, `ramp_ns`, `repeat`, `closer`, `stop_response_ns`, `min_growth` (share per doubling of the jobs), `average_ns`, `ceiling_ns`, `target_iops` (null for none) |
//! | `steps` | list, by the number of jobs: `jobs`, `phases` (indices), `measured_seconds`, `iops` and `response_ns` (estimates, of reads and sets together, of the time that a job takes for one, its share of the commit included; null where none succeeded), `operations` (as in a phase), `cache` (as in a phase) |
//! | `used` | list, by phase: `phase`, and what its operations took, as in a run of one of the tools |
//! | `knee` | null, or as in a check, without `name` and `phases` |
//! | `end` | why no more jobs were tried: `end` (`response-over`, `not-growing`, `list-done`, `globals`, `max-jobs`, `not-started`, `failed`, `interrupted`), `text`, and what belongs to it |
//! | `max_within` | null where no number of jobs tried keeps the bounds, or `jobs` and `iops` (an estimate): the most jobs that keep them |
//! | `judged` | null, or `jobs` and `why`: the step that response times were judged at |

use iolite_model::DatabaseUse;
use iolite_results::Run;
use iolite_stats::{PhaseResult, SweepConcluded, SweptStep};
use serde_json::{Value, json as object};

use super::SweepReport;
use crate::document::document;
use crate::json as shared;
use crate::ran;
use crate::run::{operations_json, phases_json};

/// Name and version of the document.
pub const JSON_FORMAT: &str = "iolite-sweep/1";

/// The document of a sweep.
pub(crate) fn json(run: &Run, concluded: &SweepConcluded) -> Value {
    let report = SweepReport::of(run, concluded);
    let mut end = shared::stored(&concluded.end);
    end["text"] = concluded.end.to_string().into();
    let members = object!({
        "tool": concluded.tool,
        "database": run.databases.values().next(),
        "asked": concluded.terms,
        "steps": report.steps.iter().map(step).collect::<Vec<_>>(),
        "knee": concluded.knee.as_ref().map(shared::knee_found),
        "end": end,
        "max_within": max_within(&report),
        "judged": concluded.judged,
        "verdict": run.verdict,
        "phases": phases_json(run),
        "used": run.database_use.values().map(|each| used(each, &run.phases)).collect::<Vec<_>>(),
    });
    document(JSON_FORMAT, run, members)
}

fn max_within(report: &SweepReport<'_>) -> Option<Value> {
    let step = SweptStep::max_within(&report.steps, &report.concluded.terms)?;
    let rate = step.result.logical()?.rate;
    Some(object!({ "jobs": step.jobs, "iops": shared::estimate(&rate) }))
}

fn used(used: &DatabaseUse, phases: &[PhaseResult]) -> Value {
    ran::took(used, phases.iter().find(|phase| phase.info.index == used.phase))
}

fn step(step: &SweptStep) -> Value {
    let logical = step.result.logical();
    object!({
        "jobs": step.jobs,
        "phases": step.phases,
        "measured_seconds": step.result.end.measured.as_secs_f64(),
        "iops": logical.map(|logical| shared::estimate(&logical.rate)),
        "response_ns": logical.map(|logical| shared::estimate(&logical.response)),
        "operations": operations_json(&step.result),
        "cache": shared::cache(&step.result.end.cache),
    })
}
