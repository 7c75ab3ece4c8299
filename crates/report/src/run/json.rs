//! The machine-readable document of a run, `"format": "iolite-run/1"`.
//!
//! Keys, units and promises are those of the document of a check: see [`json`](crate::json()). What it has besides or
//! otherwise:
//!
//! | key | holds |
//! |---|---|
//! | `format` | `iolite-run/1` |
//! | `name` | the job's; empty where it has none |
//! | `phases[].operations[].quantiles` | list: `quantile` (0 to 1), `response_ns` (`value`, `low`, `high`, `resolved`), `service_ns` |
//! | `phases[].ramp_seconds` | what was left out at the start |
//! | `phases[].drain_max_ns` | longest response among the operations that came back after the end |
//! | `phases[].series` | list, the measured part from interval to interval (in a long phase several joined to one): `start_seconds` (since the ramp's end), `seconds`, `operations` and `mean_response_ns` by kind |
//! | `groups` | list, of the phases with one `group` that ran together: `name`, `phases` (indices), `measured_seconds`, `operations` (as in a phase) |
//! | `stalls` | list, with `--stalls`: `phase` (index), `bound_ns` and its `quantile` (null where given), `operations`, `outliers`, `examined`, `traced`, `largest_part` (outliers by the part that took most of the time: `device`, `scheduler`, `waiting`, `elsewhere`), `beside` (`cause`, `operations`, `share_of_time`), `longest`, `devices` (latency of requests by `device` and `class`), `lost_events` |
//!
//! There are no `knees` and no `verdict`. The `cache` of phases that ran together is that of them all.

use iolite_model::{Nanos, OpKind, Quantile, Task};
use iolite_results::{Run, StateVerified};
use iolite_stats::PhaseResult;
use serde_json::{Map, Value, json};

use super::groups;
use crate::document::document;
use crate::json as shared;

/// Name and version of the document.
pub const JSON_FORMAT: &str = "iolite-run/1";

/// Name and version of the document of a verification.
const VERIFIED_FORMAT: &str = "iolite-verified/1";

/// The quantiles given.
const QUANTILES: [f64; 24] = [
    0.0, 0.01, 0.05, 0.1, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.7, 0.75, 0.8, 0.9, 0.95, 0.98, 0.99, 0.995, 0.999,
    0.9995, 0.9999, 0.99999, 0.999999, 1.0,
];

/// The document of a run.
pub fn json(run: &Run) -> Value {
    let members = json!({
        "name": run.subject(),
        "phases": phases(run),
        "groups": groups(&run.phases).iter().map(group).collect::<Vec<_>>(),
    });
    document(JSON_FORMAT, run, members)
}

/// The document of a verification: what every document has, with `format` `iolite-verified/1`, `task` and `verified`, as in a
/// phase.
pub(crate) fn verified_json(run: &Run, StateVerified { task, found }: &StateVerified) -> Value {
    let task = shared::task(&Task::File(task.clone()));
    document(VERIFIED_FORMAT, run, json!({ "task": task, "verified": found }))
}

/// All phases in full.
pub(crate) fn phases(run: &Run) -> Value {
    run.phases.iter().map(phase).collect()
}

/// A phase in full.
pub fn phase(result: &PhaseResult) -> Value {
    let mut value = shared::phase(result);
    value["operations"] = operations(result);
    value["ramp_seconds"] = Nanos(result.totals.ramp_end).as_secs_f64().into();
    value["drain_max_ns"] = result.totals.drain_max.into();
    value["series"] = series(result);
    value
}

fn group(group: &super::Group) -> Value {
    json!({
        "name": group.name,
        "phases": group.phases,
        "measured_seconds": group.merged.totals.measured as f64 / 1e9,
        "operations": operations(&group.merged),
    })
}

pub(crate) fn operations(result: &PhaseResult) -> Value {
    let rendered = OpKind::all().filter_map(|kind| {
        let mut value = shared::operations(result, kind)?;
        value["quantiles"] = quantiles(result, kind);
        Some(value)
    });
    rendered.collect::<Vec<_>>().into()
}

fn quantiles(result: &PhaseResult, kind: OpKind) -> Value {
    let operations = result.totals.operations(kind);
    let rendered = QUANTILES.into_iter().filter_map(|share| {
        let response = result.quantile(kind, Quantile(share))?;
        let service = result.totals.service(kind).map(|service| service.quantile(Quantile(share)).0);
        Some(json!({
            "quantile": share,
            "response_ns": shared::quantile(&response, share, operations),
            "service_ns": service,
        }))
    });
    rendered.collect::<Vec<_>>().into()
}

fn series(result: &PhaseResult) -> Value {
    let kinds: Vec<OpKind> = OpKind::all().filter(|&kind| result.totals.operations(kind) > 0).collect();
    let mut start = 0.0;
    let rendered = result.totals.series.iter().map(|point| {
        let (mut operations, mut means) = (Map::new(), Map::new());
        for kind in &kinds {
            let (number, sum) = (point.operations[*kind], point.response_sum[*kind]);
            operations.insert(kind.name().into(), number.into());
            let mean = (number > 0).then(|| sum as f64 / number as f64);
            means.insert(kind.name().into(), mean.into());
        }
        let value = json!({
            "start_seconds": start,
            "seconds": point.seconds,
            "operations": operations,
            "mean_response_ns": means,
        });
        start += point.seconds;
        value
    });
    rendered.collect::<Vec<_>>().into()
}
