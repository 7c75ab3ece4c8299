//! Warnings about a result of iolite's: at least what is found in one of fio's.

use serde_json::Value;

use super::caveat::{Caveat, Subject};
use super::tree::{Figure, Unit};

/// What a task has without direct I/O.
const BUFFERED: &str = "not direct";

/// Intervals from which on their spread says something.
const INTERVALS: usize = 4;

pub(super) fn caveats(phase: &Value) -> Vec<Subject> {
    let mut caveats = state(phase);
    let seconds = phase.get("measured_seconds").and_then(Value::as_f64);
    caveats.extend(seconds.and_then(Caveat::of_length));
    caveats.extend(through_the_page_cache(phase));
    caveats.extend(depth(phase));
    caveats.extend(changes(phase));
    let mut caveats: Vec<_> = caveats.into_iter().map(Subject::from).collect();
    for operations in kinds(phase) {
        let kind = operations["kind"].as_str().unwrap_or("?");
        let found = of_kind(operations).into_iter().chain(unsteady(phase, operations));
        caveats.extend(found.map(|caveat| caveat.of(kind)));
    }
    caveats
}

/// How it ended, and what it has reached.
fn state(phase: &Value) -> Vec<Caveat> {
    let text = |path: &str| phase.pointer(path).and_then(Value::as_str);
    let ending = match text("/ending/kind") {
        Some("failed") => Some(Caveat::PhaseFailed),
        Some("interrupted") => Some(Caveat::PhaseInterrupted),
        _ => None,
    };
    let cache = match text("/cache/stamp") {
        Some("cached") => Some(Caveat::Cached),
        Some("partly cached") => {
            Some(Caveat::CachedShare(Figure(field(phase, "/cache/cached_share"), Unit::Share)))
        }
        Some("unknown (other I/O on the device)") => {
            Some(Caveat::CacheUnknown("other I/O on it hides that of iolite"))
        }
        Some("unknown (server I/O not counted)") => {
            Some(Caveat::CacheUnknown("the I/O of the server's processes was not counted"))
        }
        Some("unknown") => Some(Caveat::CacheUnknown("no counters are available")),
        _ => None,
    };
    let is_rate_missed = phase.pointer("/rate/kept") == Some(&Value::Bool(false));
    [
        ending,
        cache,
        (field(phase, "/outstanding/lost") > 0.0).then_some(Caveat::NeverCompleted),
        is_rate_missed.then_some(Caveat::RateNotReached),
        (field(phase, "/verified/wrong") > 0.0).then_some(Caveat::WrongData),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn kinds(phase: &Value) -> impl Iterator<Item = &Value> {
    phase.get("operations").and_then(Value::as_array).into_iter().flatten()
}

fn field(value: &Value, path: &str) -> f64 {
    value.pointer(path).and_then(Value::as_f64).unwrap_or(0.0)
}

/// What a task that is not direct leaves open, and what it writes.
fn through_the_page_cache(phase: &Value) -> Vec<Caveat> {
    let Some(task) = phase.get("task").filter(|task| task["kind"] == "file") else { return Vec::new() };
    let of = |name: &str| kinds(phase).find(|kind| kind["kind"] == name && field(kind, "/operations") > 0.0);
    let is_buffered =
        task["direct"] == false && task.pointer("/target/kind").is_none_or(|kind| kind != "null");
    let reads = of("read").filter(|_| is_buffered);
    let is_durable = ["sync", "end_sync", "open"].iter().any(|key| !task["durability"][*key].is_null());
    let is_written = of("write").is_some();
    let unless = "one of durability.sync, durability.end_sync and durability.open";
    [
        reads.map(|read| Caveat::of_buffered_reads(field(read, "/response_ns/mean/value"), BUFFERED)),
        (is_written && is_buffered && !is_durable)
            .then_some(Caveat::BufferedWrites { without: BUFFERED, unless }),
        (is_written && task["contents"].to_string().contains("\"zeros\"")).then_some(Caveat::Zeros("")),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Whether the depth that was asked for was reached, by Little's law: rate times response time is what was in flight.
fn depth(phase: &Value) -> Option<Caveat> {
    let task = phase.get("task").filter(|task| task["kind"] == "file" && task["arrival"] == "closed")?;
    let asked = field(phase, "/concurrency");
    let all = kinds(phase).filter(|kind| kind["kind"] != "commit");
    let in_flight: f64 =
        all.map(|kind| field(kind, "/iops/value") * field(kind, "/response_ns/mean/value") / 1e9).sum();
    let engine = task["backend"].as_str().unwrap_or("the back end").to_owned();
    (asked > 1.0 && in_flight > 0.0 && in_flight < asked / 2.0).then_some(Caveat::DepthNotReached {
        asked,
        in_flight,
        engine,
    })
}

/// The changes that the detector has found.
fn changes(phase: &Value) -> impl Iterator<Item = Caveat> {
    let found = phase.pointer("/changes/found").and_then(Value::as_array).into_iter().flatten();
    found.filter_map(|change| {
        let figure = |path: &str, unit| Figure(field(change, path), unit);
        let at = figure("/at_seconds", Unit::Seconds);
        match change["kind"].as_str()? {
            "level-shift" => Some(Caveat::LevelShift {
                at,
                before: figure("/before_iops/value", Unit::Iops),
                after: figure("/after_iops/value", Unit::Iops),
            }),
            "stall" => Some(Caveat::Stall { length: figure("/seconds", Unit::Seconds), at }),
            "periodic" => Some(Caveat::Periodic {
                period: figure("/period_seconds", Unit::Seconds),
                amplitude: figure("/amplitude", Unit::Share),
            }),
            _ => None,
        }
    })
}

/// Whether the rate was the same from interval to interval, where no change explains that it was not.
fn unsteady(phase: &Value, operations: &Value) -> Option<Caveat> {
    let kind = operations["kind"].as_str()?;
    let series: Vec<(f64, f64)> = phase
        .get("series")?
        .as_array()?
        .iter()
        .map(|point| (field(point, "/seconds"), point["operations"][kind].as_f64().unwrap_or(0.0)))
        .collect();
    let longest = series.iter().fold(0.0, |longest: f64, point| longest.max(point.0));
    // The rest at the end may be too short for a rate.
    let rates: Vec<f64> = series
        .iter()
        .filter(|point| point.0 > longest / 2.0)
        .map(|(seconds, count)| count / seconds)
        .collect();
    let mean = rates.iter().sum::<f64>() / rates.len().max(1) as f64;
    if rates.len() < INTERVALS || mean <= 0.0 || phase["changes"].is_object() {
        return None;
    }
    let min = rates.iter().copied().fold(f64::INFINITY, f64::min);
    let variance = rates.iter().map(|rate| (rate - mean).powi(2)).sum::<f64>() / rates.len() as f64;
    let rate = |value: f64| Figure(value, Unit::IopsNamed);
    // Few operations in an interval vary by themselves: of a Poisson process a deviation of three.
    let chance = 3.0 / (mean * longest).max(1e-9).sqrt();
    if min < mean * 0.5 && 1.0 - min / mean > chance {
        return Some(Caveat::SlowInterval { interval: "interval", min: rate(min), mean: rate(mean) });
    }
    let share = variance.sqrt() / mean;
    (share > 0.3_f64.max(chance)).then_some(Caveat::Unsteady {
        what: "rate",
        percent: share * 100.0,
        how: "",
    })
}

fn of_kind(operations: &Value) -> Vec<Caveat> {
    let at = |path: &str| field(operations, path);
    let half = (at("/iops/high") - at("/iops/low")) / 2.0;
    let rate = at("/iops/value");
    let unresolved = ["p99", "p99_9", "p99_99"]
        .iter()
        .find(|key| operations.pointer(&format!("/response_ns/{key}/resolved")) == Some(&Value::Bool(false)));
    let found = [
        (at("/errors") > 0.0).then_some(Caveat::Failures),
        (rate > 0.0 && half > rate * 0.1).then(|| Caveat::Uncertain(half / rate * 100.0)),
        unresolved.map(|key| Caveat::Unresolved(key.replace('_', "."))),
    ];
    let (mean, p99) = (at("/response_ns/mean/value"), at("/response_ns/p99/value"));
    found.into_iter().flatten().chain(Caveat::of_times(mean, p99, at("/response_ns/max"))).collect()
}
