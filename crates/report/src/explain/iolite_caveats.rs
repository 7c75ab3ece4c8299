//! Warnings about a result of iolite's: at least what is found in one of fio's.

use serde_json::Value;

use super::tree::{Unit, quantity};

/// Shorter is no measurement, in seconds.
const SHORT: f64 = 1.0;

/// Reads faster than any device responds, in nanoseconds.
const MEMORY_NS: f64 = 4000.0;

/// Intervals from which on their spread says something.
const INTERVALS: usize = 4;

/// Caveats in a phase.
pub(super) fn caveats(phase: &Value) -> Vec<String> {
    let at = |path: &str| phase.pointer(path);
    let number = |path: &str| at(path).and_then(Value::as_f64).unwrap_or(0.0);
    let mut caveats = Vec::new();
    match at("/ending/kind").and_then(Value::as_str) {
        Some("failed") => {
            caveats.push("the phase failed: the figures describe the time before the failure".to_owned())
        }
        Some("interrupted") => caveats.push(
            "the phase was interrupted: the figures describe the time before the interruption".to_owned(),
        ),
        _ => {}
    }
    match at("/cache/stamp").and_then(Value::as_str) {
        Some("cached") => caveats.push("served from memory, not from the device".to_owned()),
        Some("partly cached") => {
            let share = quantity(number("/cache/cached_share"), Unit::Share);
            caveats.push(format!("{share} was served by a cache"));
        }
        Some("unknown (other I/O on the device)") => caveats.push(
            "it is not known whether the device was reached: other I/O on it hides that of iolite".to_owned(),
        ),
        Some("unknown (server I/O not counted)") => caveats.push(
            "it is not known whether the device was reached: the I/O of the server's processes was not counted".to_owned(),
        ),
        Some("unknown") => caveats
            .push("it is not known whether the device was reached: no counters are available".to_owned()),
        _ => {}
    }
    if number("/outstanding/lost") > 0.0 {
        caveats.push("operations never completed: the device hangs; see the kernel log (dmesg)".to_owned());
    }
    if at("/rate/kept").and_then(Value::as_bool) == Some(false) {
        caveats.push(
            "the requested rate was not reached: response times grew over time and depend on the duration"
                .to_owned(),
        );
    }
    if number("/verified/wrong") > 0.0 {
        caveats.push("data read differs from data written".to_owned());
    }
    caveats.extend(short(phase));
    caveats.extend(through_the_page_cache(phase));
    caveats.extend(depth(phase));
    caveats.extend(changes(phase));
    for operations in kinds(phase) {
        caveats.extend(of_kind(operations));
        caveats.extend(unsteady(phase, operations));
    }
    caveats
}

fn kinds(phase: &Value) -> impl Iterator<Item = &Value> {
    phase.get("operations").and_then(Value::as_array).into_iter().flatten()
}

fn field(value: &Value, path: &str) -> f64 {
    value.pointer(path).and_then(Value::as_f64).unwrap_or(0.0)
}

fn short(phase: &Value) -> Option<String> {
    let seconds = phase.get("measured_seconds").and_then(Value::as_f64)?;
    (seconds < SHORT).then(|| {
        let seconds = quantity(seconds, Unit::Seconds);
        format!("{seconds} are too short to be meaningful: use a runtime of 30 s or more")
    })
}

/// What a task that is not direct leaves open, and what it writes.
fn through_the_page_cache(phase: &Value) -> Vec<String> {
    let Some(task) = phase.get("task").filter(|task| task["kind"] == "file") else { return Vec::new() };
    let mut caveats = Vec::new();
    let of = |name: &str| kinds(phase).find(|kind| kind["kind"] == name && field(kind, "/operations") > 0.0);
    let is_buffered =
        task["direct"] == false && task.pointer("/target/kind").is_none_or(|kind| kind != "null");
    if let Some(read) = of("read").filter(|_| is_buffered) {
        let mean = field(read, "/response_ns/mean/value");
        caveats.push(if mean > 0.0 && mean < MEMORY_NS {
            let mean = quantity(mean, Unit::Nanos);
            format!("cached: a mean of {mean} is that of memory, not of a device (not direct)")
        } else {
            "reads went through the page cache (not direct): part of them may come from memory, and sequential ones from \
             read-ahead"
                .to_owned()
        });
    }
    let is_durable = ["sync", "end_sync", "open"].iter().any(|key| !task["durability"][*key].is_null());
    if of("write").is_some() && is_buffered && !is_durable {
        caveats.push(
            "writes went through the page cache (not direct): they complete when the data is in memory, unless \
         one of durability.sync, durability.end_sync and durability.open is set"
                .to_owned(),
        );
    }
    if of("write").is_some() && task["contents"].to_string().contains("\"zeros\"") {
        caveats.push(
            "zeros were written: storage that compresses, deduplicates or detects zeros stored almost nothing".to_owned(),
        );
    }
    caveats
}

/// Whether the depth that was asked for was reached, by Little's law: rate times response time is what was in flight.
fn depth(phase: &Value) -> Option<String> {
    let task = phase.get("task").filter(|task| task["kind"] == "file" && task["arrival"] == "closed")?;
    let asked = field(phase, "/concurrency");
    let all = kinds(phase).filter(|kind| kind["kind"] != "commit");
    let in_flight: f64 =
        all.map(|kind| field(kind, "/iops/value") * field(kind, "/response_ns/mean/value") / 1e9).sum();
    (asked > 1.0 && in_flight > 0.0 && in_flight < asked / 2.0).then(|| {
        let engine = task["backend"].as_str().unwrap_or("the back end");
        format!(
            "{asked:.0} outstanding operations were not reached: {in_flight:.1} were in flight on average (rate x \
         response time); submission blocks ({engine}), or iolite was the limit"
        )
    })
}

/// The changes that the detector has found.
fn changes(phase: &Value) -> Vec<String> {
    let found = phase.pointer("/changes/found").and_then(Value::as_array).into_iter().flatten();
    let seconds = |change: &Value, key: &str| quantity(field(change, key), Unit::Seconds);
    let rate = |change: &Value, key: &str| quantity(field(change, key), Unit::Iops);
    let text = |change: &Value| match change["kind"].as_str()? {
        "level-shift" => Some(format!(
            "the rate changed permanently {} after the start, from {} to {} IOPS: a change of state (burst \
         credits, a throttle, a full write cache, garbage collection); the mean describes neither level",
            seconds(change, "/at_seconds"),
            rate(change, "/before_iops/value"),
            rate(change, "/after_iops/value")
        )),
        "stall" => Some(format!(
            "almost no operations completed for {}, {} after the start: a stall; see the kernel log (dmesg)",
            seconds(change, "/seconds"),
            seconds(change, "/at_seconds")
        )),
        "periodic" => Some(format!(
            "the rate oscillates with a period of {} by {} of its mean: checkpoints, write-back or a throttle",
            seconds(change, "/period_seconds"),
            quantity(field(change, "/amplitude"), Unit::Share)
        )),
        _ => None,
    };
    found.filter_map(text).collect()
}

/// Whether the rate was the same from interval to interval, where no change explains that it was not.
fn unsteady(phase: &Value, operations: &Value) -> Option<String> {
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
    let rate = |value: f64| quantity(value, Unit::Iops);
    // Few operations in an interval vary by themselves: of a Poisson process a deviation of three.
    let chance = 3.0 / (mean * longest).max(1e-9).sqrt();
    if min < mean * 0.5 && 1.0 - min / mean > chance {
        return Some(format!(
            "{kind}: the slowest interval had {} IOPS, compared with a mean of {}: a stall, or a change of state \
         (a full write cache, garbage collection)",
            rate(min),
            rate(mean)
        ));
    }
    let share = variance.sqrt() / mean;
    (share > 0.3_f64.max(chance))
        .then(|| format!("{kind}: the rate varied by {:.0} %: unsteady, check it over time", share * 100.0))
}

fn of_kind(operations: &Value) -> Vec<String> {
    let kind = operations.get("kind").and_then(Value::as_str).unwrap_or("?");
    let nanos = |value: f64| quantity(value, Unit::Nanos);
    let mut caveats = Vec::new();
    if field(operations, "/errors") > 0.0 {
        caveats.push(format!("{kind}: operations failed, see `errors` (--all)"));
    }
    let (value, low, high) =
        (field(operations, "/iops/value"), field(operations, "/iops/low"), field(operations, "/iops/high"));
    if value > 0.0 && (high - low) / 2.0 > value * 0.1 {
        let half = (high - low) / 2.0 / value * 100.0;
        caveats.push(format!("{kind}: the rate is uncertain by {half:.0} %: too short, or unsteady"));
    }
    let unresolved = ["p99", "p99_9", "p99_99"]
        .iter()
        .find(|key| operations.pointer(&format!("/response_ns/{key}/resolved")) == Some(&Value::Bool(false)));
    if let Some(key) = unresolved {
        caveats.push(format!("{kind}: too few operations for {}", key.replace('_', ".")));
    }
    let (mean, p99, max) = (
        field(operations, "/response_ns/mean/value"),
        field(operations, "/response_ns/p99/value"),
        field(operations, "/response_ns/max"),
    );
    if mean > 0.0 && p99 > mean * 5.0 {
        caveats.push(format!(
            "{kind}: p99 is {}, {:.0} times the mean of {}: the mean hides how long one operation in a hundred takes",
            nanos(p99),
            p99 / mean,
            nanos(mean)
        ));
    }
    if max > 1e9 {
        caveats
            .push(format!("{kind}: one operation took {}: a stall; see the kernel log (dmesg)", nanos(max)));
    }
    caveats
}
