//! The machine-readable document of a check, `"format": "iolite-check/1"`.
//!
//! The number after the slash is raised when a key goes away or changes its meaning; new keys may appear at any time.
//! Keys are in snake_case and end in their unit: `_ns` nanoseconds, `_bytes`, `_seconds`, `_unix_ns` nanoseconds
//! since 1970 (UTC); `iops` is operations per second. JSON has no infinity: a number that is unknown or infinite is
//! null. Text is as it was found, JSON's own escapes aside; paths that are not UTF-8 have U+FFFD in place of what
//! is not.
//!
//! | key | holds |
//! |---|---|
//! | `format` | `iolite-check/1` |
//! | `run` | `id`, `version`, `model_version`, `command` (list), `started_unix_ns`, `process`, `host`, `storage` |
//! | `run.host` | `name`, `kernel`, `architecture`, `cpu`, `cpus`, `memory_bytes`, `virtualisation` |
//! | `run.storage` | `directory`, `filesystem`, `devices` (each before the ones it rests on) |
//! | `calibration` | null, or `clock`, `clock_cost_ns`, `clock_resolution_ns`, `loop_cost_ns` |
//! | `configuration` | of a check, an observation and every run inside a database: null, or `settings` of the host (null where unknown) and `notes`: list of `kind`, `text`, `source`, `data` |
//! | `phases` | list: `index`, `name`, `layer` (`calibration`, `file`, `metadata`, `database`), `concurrency`, `task`, `started_ns` (since the run's start), `ending`, `measured_seconds`, `cache`, `outstanding`, `operations`, `errors`, `stuck`, `rate`, `changes`, `verified` |
//! | `phases[].task` | what was asked; `kind` is `file`, `metadata` or `database`, the rest are the fields of a job (docs/job.md), sizes in bytes and times in nanoseconds |
//! | `phases[].cache` | `stamp` (`device`, `partly cached`, `cached`, `unwritten`, `compressed`, `zeros`, `unknown (other I/O on the device)`, `unknown (server I/O not counted)`, `unknown`), `cached_share` (with `partly cached`, else null), `requested_read_bytes`, `requested_written_bytes`, `device_read_bytes`, `device_written_bytes`, `device_flushes`, `own_read_bytes` and `own_written_bytes` (this program's part, null where it is not known), `resident_before`, `resident_after`, `unwritten`, `compressed`, `zeros` (shares from 0 to 1), `unattributed`, `direct_confirmed`, `direct`, `synchronised` |
//! | `phases[].outstanding` | `at_end`, `lost`, `oldest_ns`, `backlog` |
//! | `phases[].operations` | list, one per kind that occurred: `kind` (`read`, `write`, `sync`, `commit`, `trim`, `create`...), `operations`, `errors`, `bytes`, `iops`, `bytes_per_second`, `response_ns`, `service_ns`; `iops` and both times are null where none succeeded |
//! | `phases[].changes` | null, or `operation` (whose rate changed) and `found`: list of `kind` (`level-shift`, `stall`, `periodic`), `at_seconds` (since the start of the measured part), `before_iops` and `after_iops` (estimates), `seconds` (of a stall), `period_seconds`, `amplitude` (share of the mean rate) |
//! | `…iops` | `value`, `low`, `high` (95 % interval, of the variation within this run), `standard_error`, `effective_samples` |
//! | `…response_ns` | `mean` (an estimate like `iops`), `p50`, `p90`, `p99`, `p99_9`, `p99_99`, `max`; each quantile has `value`, `low`, `high` and `resolved`: whether there were operations enough for both ends of its interval |
//! | `…service_ns` | `p50`, `p90`, `p99`, `p99_9`, `p99_99` as numbers: the device's part of the response |
//! | `phases[].errors` | list: `kind`, `class` (`short`, `device`, `space`, `again`, `unsupported`, `verify`, `other`), `count`, `first_offsets` (bytes), `first` (the first one in words) |
//! | `phases[].stuck` | operations given up on, the oldest first: `worker`, `kind`, `offset` (bytes), `age_ns` |
//! | `phases[].rate` | null in a closed loop, or `asked_iops`, `achieved_iops`, `backlog`, `kept` |
//! | `phases[].verified` | null, or `units`, `wrong`, `unknown`, `unreadable`, `incomplete`, `first` (list: `offset` in bytes, `what`) |
//! | `knees` | list: `name`, `phases` (indices), `concurrency` (`value`, `low`, `high`), `iops` (at the knee, by the model), `plateau_iops` (an estimate), `saturated`, `relative_residual`, `model` (`name` `usl` or `asymptotes`, its parameters, `text`) |
//! | `preconditioned` | null, or of a thorough check `steady`, `rounds`, `iops` (mean of the last five rounds), `deviation_percent` |
//! | `warnings` | list: `kind`, `text`, `data` (the warning's own fields; sizes in bytes, times in nanoseconds) |
//! | `verdict` | null, or `profile`, `fitness` (`fit`, `marginal`, `unfit`), `reasons` (list: `fitness`, `what`, `measured`, `asked`, `value`, `bound`, `unit` (null, `nanoseconds`, `operations-per-second`, `bytes-per-second`, `count`), `statistic` (null, `mean`, `quantile 0.999`, `longest`, `rate`, `count`), `phase` (null, or the one that was judged), `reservations`: a list of sentences) |
//! | `meanwhile` | what was sampled during the run, null or empty where it was over too soon: `cpu` (`cpus`, and shares of all of them: `user_share`, `system_share`, `iowait_share`, `steal_share`), `pressure` (list: `resource`, `waiting_share` of the time), `memory` (`min_available_bytes`, `max_dirty_bytes`), `devices` (list, the busiest first: `name`, per second `reads`, `read_bytes`, `writes`, `written_bytes`, and `busy_share`), `databases` (list: `name`, per second `data_reads`, `data_writes`, `log_writes`, `log_syncs`), `waits` (list: `name`, `sessions` on average), `sampling` (`cpu_share` of one CPU, `skipped` samples) |
//! | `stalls` | with `--stalls`, as in a run ([`run::json`](crate::run::json)) |
//! | `ending` | `kind` (`completed`, `interrupted`, `failed`), `error` (null unless failed) |

use iolite_model::{Cache, CacheStamp, Ending, Layer, Nanos, OpKind, Quantile, Task, Warning};
use iolite_stats::{Change, Estimate, Histogram, Knee, PhaseChanges, PhaseResult, ScalingModel};
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::configuration;
use crate::document::Report;
use iolite_stats::KneeFound;

/// Name and version of the document.
pub const JSON_FORMAT: &str = "iolite-check/1";

/// The quantiles given, with their keys.
const QUANTILES: [(&str, f64); 5] =
    [("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p99_9", 0.999), ("p99_99", 0.9999)];

/// The document of a check.
pub fn json(report: &Report) -> Value {
    json!({
        "format": JSON_FORMAT,
        "run": stored(&report.run),
        "calibration": stored(&report.calibration),
        "configuration": report.configuration.as_ref().map(configuration::json),
        "phases": report.phases.iter().map(phase).collect::<Vec<_>>(),
        "knees": report.knees.iter().map(knee).collect::<Vec<_>>(),
        "preconditioned": stored(&report.preconditioned),
        "warnings": report.warnings.iter().map(warning).collect::<Vec<_>>(),
        "verdict": stored(&report.verdict),
        "ending": ending(&report.ending),
    })
}

/// What has the document's keys as it is stored: texts and numbers, which always serialise.
pub fn stored(value: impl Serialize) -> Value {
    serde_json::to_value(value).unwrap_or_default()
}

pub(crate) fn phase(result: &PhaseResult) -> Value {
    let (info, end) = (&result.info, &result.end);
    let layer = match info.task.layer() {
        Layer::Calibration => "calibration",
        Layer::File => "file",
        Layer::Metadata => "metadata",
        Layer::Database => "database",
    };
    json!({
        "index": info.index,
        "name": info.task.name(),
        "layer": layer,
        "concurrency": info.task.concurrency(),
        "task": task(&info.task),
        "started_ns": info.started.0,
        "ending": ending(&end.ending),
        "measured_seconds": end.measured.as_secs_f64(),
        "cache": cache(&end.cache),
        "outstanding": {
            "at_end": end.outstanding.at_end,
            "lost": end.outstanding.lost,
            "oldest_ns": end.outstanding.oldest.0,
            "backlog": end.outstanding.backlog,
        },
        "operations": OpKind::all().filter_map(|kind| operations(result, kind)).collect::<Vec<_>>(),
        "errors": stored(&end.errors),
        "stuck": stored(&end.stuck),
        "rate": stored(end.rate),
        "changes": PhaseChanges::of(result).as_ref().map(changes),
        "verified": stored(&end.verified),
    })
}

/// What was asked, as a job in TOML has it (docs/job.md) and as the store keeps it, with its `kind`.
pub(crate) fn task(task: &Task) -> Value {
    // A task is text and numbers, which always serialise: an object of one entry, its kind with its fields.
    let tagged = serde_json::to_value(task).ok().and_then(|value| match value {
        Value::Object(tagged) => tagged.into_iter().next(),
        _ => None,
    });
    let (kind, mut value) = tagged.unwrap_or_default();
    value["kind"] = kind.into();
    value
}

fn changes(found: &PhaseChanges) -> Value {
    let change = |change: &Change| match change {
        Change::LevelShift { at, before, after } => json!({
            "kind": "level-shift",
            "at_seconds": at,
            "before_iops": estimate(before),
            "after_iops": estimate(after),
        }),
        Change::Stall { at, seconds } => json!({ "kind": "stall", "at_seconds": at, "seconds": seconds }),
        Change::Periodic { seconds, amplitude } => {
            json!({ "kind": "periodic", "period_seconds": seconds, "amplitude": amplitude })
        }
    };
    json!({
        "operation": found.operation.name(),
        "found": found.changes.iter().map(change).collect::<Vec<_>>(),
    })
}

pub(crate) fn cache(cache: &Cache) -> Value {
    let stamp = cache.stamp();
    let mut value = stored(cache);
    value["stamp"] = stamp.name().into();
    value["cached_share"] =
        matches!(stamp, CacheStamp::PartlyCached(_)).then(|| stamp.share()).flatten().into();
    value
}

/// What a kind of operation did; `None` where it did not occur.
pub(crate) fn operations(result: &PhaseResult, kind: OpKind) -> Option<Value> {
    let totals = &result.totals;
    if totals.operations(kind) == 0 && totals.errors(kind) == 0 {
        return None;
    }
    let summary = result.summary(kind);
    let response = summary.as_ref().map(|summary| {
        let mut times = Map::new();
        times.insert("mean".into(), known(&summary.mean).into());
        for (key, share) in QUANTILES {
            let value =
                result.quantile(kind, Quantile(share)).map(|e| quantile(&e, share, summary.operations));
            times.insert(key.into(), value.into());
        }
        times.insert("max".into(), summary.max.map(|max| max.0).into());
        Value::Object(times)
    });
    let longest = summary.as_ref().and_then(|summary| summary.max).unwrap_or(Nanos(u64::MAX));
    let service = totals.service(kind).filter(|service| service.count() > 0);
    let service = service.map(|service| times(service, longest));
    Some(json!({
        "kind": kind.name(),
        "operations": totals.operations(kind),
        "errors": totals.errors(kind),
        "bytes": totals.bytes(kind),
        "iops": summary.as_ref().map(|summary| estimate(&summary.rate)),
        "bytes_per_second": summary.as_ref().map(|summary| summary.bytes_per_second),
        "response_ns": response,
        "service_ns": service,
    }))
}

/// Service times; no bucket's end exceeds the longest response.
fn times(service: &Histogram, longest: Nanos) -> Value {
    let value = |(key, share): (&str, f64)| {
        let Nanos(nanos) = service.quantile(Quantile(share)).min(longest);
        (key.to_owned(), Value::from(nanos))
    };
    Value::Object(QUANTILES.into_iter().map(value).collect())
}

pub(crate) fn estimate(estimate: &Estimate) -> Value {
    json!({
        "value": estimate.value,
        "low": estimate.low,
        "high": estimate.high,
        "standard_error": estimate.standard_error,
        "effective_samples": estimate.effective_samples,
    })
}

/// An estimate; `None` where there is no value to estimate.
pub(crate) fn known(of: &Estimate) -> Option<Value> {
    of.value.is_finite().then(|| estimate(of))
}

pub(crate) fn quantile(estimate: &Estimate, share: f64, operations: u64) -> Value {
    json!({
        "value": estimate.value,
        "low": estimate.low,
        "high": estimate.high,
        "resolved": Estimate::resolves(Quantile(share), operations),
    })
}

pub(crate) fn knee(result: &KneeFound) -> Value {
    let mut value = knee_found(&result.knee);
    value["name"] = result.name.clone().into();
    value["phases"] = result.phases.clone().into();
    value
}

/// A knee without what it was searched in.
pub(crate) fn knee_found(knee: &Knee) -> Value {
    let mut model = match knee.model {
        ScalingModel::Usl { lambda, sigma, kappa } => {
            json!({ "name": "usl", "lambda_iops": lambda, "sigma": sigma, "kappa": kappa })
        }
        ScalingModel::Asymptotes { lambda, plateau } => {
            json!({ "name": "asymptotes", "lambda_iops": lambda, "plateau_iops": plateau })
        }
    };
    model["text"] = knee.model.to_string().into();
    json!({
        "concurrency": { "value": knee.concurrency, "low": knee.low, "high": knee.high },
        "iops": knee.throughput,
        "plateau_iops": estimate(&knee.plateau),
        "saturated": knee.saturated,
        "relative_residual": knee.relative_residual,
        "model": model,
    })
}

/// A warning.
pub fn warning(warning: &Warning) -> Value {
    // The fields are text and integers, which always serialise.
    let mut data = serde_json::to_value(warning).unwrap_or_default();
    let kind = data.as_object_mut().and_then(|fields| fields.remove("warning"));
    json!({ "kind": kind, "text": warning.to_string(), "data": data })
}

/// How a run or a phase ended.
pub fn ending(ending: &Ending) -> Value {
    let (kind, error) = match ending {
        Ending::Completed => ("completed", None),
        Ending::Interrupted => ("interrupted", None),
        Ending::Failed(error) => ("failed", Some(error)),
    };
    json!({ "kind": kind, "error": error })
}

#[cfg(test)]
mod tests;
