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
//! | `asked` | `jobs` (list; empty for 1, 5, 10, 20...), `step_seconds`, `ramp_seconds`, `repeat`, `closer`, `stop_response_ns`, `min_growth` (share per doubling of the jobs), `average_ns`, `ceiling_ns`, `target_iops` (null for none) |
//! | `steps` | list, by the number of jobs: `jobs`, `phases` (indices), `measured_seconds`, `iops` and `response_ns` (estimates, of reads and sets together, of the time that a job takes for one, its share of the commit included; null where none succeeded), `operations` (as in a phase), `cache` (as in a phase) |
//! | `used` | list, by phase: `phase`, and what its operations took, as in a run of one of the tools |
//! | `knee` | null, or as in a check, without `name` and `phases` |
//! | `end` | why no more jobs were tried: `end` (`response-over`, `not-growing`, `list-done`, `globals`, `max-jobs`, `not-started`, `failed`, `interrupted`), `text`, and what belongs to it |
//! | `max_within` | null where no number of jobs tried keeps the bounds, or `jobs` and `iops` (an estimate): the most jobs that keep them |
//! | `judged` | null, or `jobs` and `why`: the step that response times were judged at |

use iolite_model::{DatabaseUse, SweepEnd, SweepTerms};
use iolite_stats::{PhaseResult, SweptStep};
use serde_json::{Value, json as object};

use super::SweepReport;
use crate::json as shared;
use crate::ran;
use crate::run::{operations_json, phase_json};

/// Name and version of the document.
pub const JSON_FORMAT: &str = "iolite-sweep/1";

/// The document of a sweep.
pub fn json(report: &SweepReport) -> Value {
    object!({
        "format": JSON_FORMAT,
        "tool": report.tool,
        "run": shared::stored(&report.run),
        "calibration": shared::stored(&report.calibration),
        "database": report.facts.as_ref().map(ran::database_json),
        "asked": asked(&report.terms),
        "steps": report.steps.iter().map(step).collect::<Vec<_>>(),
        "knee": report.knee.as_ref().map(shared::knee_found),
        "end": end(&report.end),
        "max_within": max_within(report),
        "judged": report.judged.as_ref().map(|judged| object!({ "jobs": judged.jobs, "why": judged.why })),
        "verdict": shared::stored(&report.verdict),
        "phases": report.phases.iter().map(phase_json).collect::<Vec<_>>(),
        "used": report.uses.iter().map(|each| used(each, &report.phases)).collect::<Vec<_>>(),
        "warnings": report.warnings.iter().map(shared::warning).collect::<Vec<_>>(),
        "ending": shared::ending(&report.ending),
    })
}

fn max_within(report: &SweepReport) -> Option<Value> {
    let step = SweptStep::max_within(&report.steps, &report.terms)?;
    let rate = step.result.logical()?.rate;
    Some(object!({ "jobs": step.jobs, "iops": shared::estimate(&rate) }))
}

fn asked(terms: &SweepTerms) -> Value {
    object!({
        "jobs": terms.jobs,
        "step_seconds": terms.step.as_secs_f64(),
        "ramp_seconds": terms.ramp.as_secs_f64(),
        "repeat": terms.repeat,
        "closer": terms.closer,
        "stop_response_ns": terms.stop_response.0,
        "min_growth": terms.min_growth,
        "average_ns": terms.average.0,
        "ceiling_ns": terms.ceiling.0,
        "target_iops": terms.target_iops.map(|target| target.0),
    })
}

fn used(used: &DatabaseUse, phases: &[PhaseResult]) -> Value {
    let mut value = ran::took(used, phases.iter().find(|phase| phase.info.index == used.phase));
    value["phase"] = used.phase.into();
    value
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

fn end(end: &SweepEnd) -> Value {
    let mut value = match end {
        SweepEnd::ResponseOver { limit, before, jobs } => {
            object!({ "end": "response-over", "limit_ns": limit.0, "before": before, "jobs": jobs })
        }
        SweepEnd::NotGrowing { before, jobs, growth } => {
            object!({ "end": "not-growing", "before": before, "jobs": jobs, "growth": growth })
        }
        SweepEnd::ListDone => object!({ "end": "list-done" }),
        SweepEnd::Globals { globals } => object!({ "end": "globals", "globals": globals }),
        SweepEnd::MaxJobs { max } => object!({ "end": "max-jobs", "max": max }),
        SweepEnd::NotStarted { jobs, why } => object!({ "end": "not-started", "jobs": jobs, "why": why }),
        SweepEnd::Failed { jobs, why } => object!({ "end": "failed", "jobs": jobs, "why": why }),
        SweepEnd::Interrupted => object!({ "end": "interrupted" }),
    };
    value["text"] = end.to_string().into();
    value
}
