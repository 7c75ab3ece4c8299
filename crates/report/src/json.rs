//! Parts that several documents have: phases, operations, estimates, knees, warnings. Keys and units: [`json`](crate::json()).

use std::fmt::Display;

use iolite_model::{Cache, CacheStamp, Ending, Nanos, OpKind, Quantile, Task, Warning};
use iolite_stats::{Change, Estimate, Histogram, Knee, KneeFound, PhaseChanges, PhaseResult, ScalingModel};
use serde::Serialize;
use serde_json::{Map, Value, json};

/// The quantiles given, with their keys.
const QUANTILES: [(&str, f64); 5] =
    [("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p99_9", 0.999), ("p99_99", 0.9999)];

/// What has the document's keys as it is stored: texts and numbers, which always serialise.
pub fn stored(value: impl Serialize) -> Value {
    serde_json::to_value(value).unwrap_or_default()
}

pub(crate) fn phase(result: &PhaseResult) -> Value {
    let (info, end) = (&result.info, &result.end);
    json!({
        "index": info.index,
        "name": info.task.name(),
        "layer": info.task.layer(),
        "concurrency": info.task.concurrency(),
        "task": task(&info.task),
        "started_ns": info.started.0,
        "ending": ending(&end.ending),
        "measured_seconds": end.measured.as_secs_f64(),
        "cache": cache(&end.cache),
        "outstanding": end.outstanding,
        "operations": OpKind::all().filter_map(|kind| operations(result, kind)).collect::<Vec<_>>(),
        "errors": end.errors,
        "stuck": end.stuck,
        "rate": end.rate,
        "changes": PhaseChanges::of(result).as_ref().map(changes),
        "verified": end.verified,
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
    described(warning, "warning")
}

/// What says itself in words and is stored with its kind under `tag`: `kind`, `text`, `data`.
pub(crate) fn described(what: &(impl Serialize + Display), tag: &str) -> Value {
    let mut data = stored(what);
    let kind = data.as_object_mut().and_then(|fields| fields.remove(tag));
    json!({ "kind": kind, "text": what.to_string(), "data": data })
}

/// How a run or a phase ended.
pub fn ending(ending: &Ending) -> Value {
    state(Some(ending))
}

/// How a run ended, or that it is running.
pub(crate) fn state(ending: Option<&Ending>) -> Value {
    json!({ "kind": Ending::state(ending), "error": ending.and_then(Ending::error) })
}
