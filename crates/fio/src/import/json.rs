//! fio's JSON and JSON+.

use iolite_model::{
    Access, BackendKind, Bytes, ExistingTarget, FileTask, Nanos, OpKind, Overwrite, RingOptions, Target,
};
use serde_json::Value;

use super::ImportError;
use iolite_results::Imported;

use super::events::{Counted, DIRECTIONS, Phase, mix, run};

/// Names of the directions, in the order of their numbers.
const NAMES: [&str; 3] = ["read", "write", "trim"];

/// The run that a JSON document of fio's describes; `file` is its name. Text before the first `{` of a line of its own and
/// after the last `}` is skipped: fio mixes its messages in.
///
/// # Errors
/// It is not JSON, not fio's, or nothing was counted.
pub fn json(file: &str, text: &str) -> Result<Imported, ImportError> {
    let begin = if text.starts_with('{') { Some(0) } else { text.find("\n{").map(|at| at + 1) };
    let body = match (begin, text.rfind('}')) {
        (Some(begin), Some(end)) if begin < end => &text[begin..=end],
        _ => text,
    };
    let document: Value = serde_json::from_str(body)
        .map_err(|error| ImportError::NotJson { file: file.to_owned(), reason: error.to_string() })?;
    let jobs = document.get("jobs").and_then(Value::as_array);
    let Some(jobs) = jobs.filter(|_| document.get("fio version").is_some()) else {
        return Err(ImportError::NotOfFio { file: file.to_owned() });
    };
    let version = document["fio version"].as_str().unwrap_or("fio").to_owned();
    let ended = document["timestamp_ms"]
        .as_u64()
        .or_else(|| Some(document["timestamp"].as_u64()?.saturating_mul(1000)))
        .unwrap_or(0)
        .saturating_mul(1_000_000);
    let global = &document["global options"];
    // A group's longest run is the phase; groups ran one after the other.
    let mut phases: Vec<Phase> = Vec::new();
    let (mut group, mut group_start, mut group_end) = (None, 0, 0);
    for job in jobs {
        if group.is_some() && group != job["groupid"].as_u64() {
            group_start = group_end;
        }
        group = job["groupid"].as_u64();
        if let Some(mut phase) = phase(job, global) {
            phase.started = group_start;
            let length = phase.intervals.iter().map(|(start, length, _)| start.saturating_add(*length)).max();
            group_end = group_end.max(group_start.saturating_add(length.unwrap_or(0)));
            phases.push(phase);
        }
    }
    if phases.is_empty() {
        return Err(ImportError::Empty { file: file.to_owned() });
    }
    let without = phases.iter().any(|phase| {
        let counted = phase.intervals.iter().flat_map(|(_, _, counted)| counted);
        counted.into_iter().any(|(_, counted)| counted.response.count() == 0)
    });
    let mut note = format!("imported from {file} of {version}");
    if without {
        note += "; no percentiles: it has no histogram (--output-format=json+ writes one)";
    } else {
        note += "; percentiles are from fio's histogram of completion times, the mean from its total latency";
    }
    let started = ended.saturating_sub(group_end);
    let events = run(file, &[body], &version, started, "", phases);
    Ok(Imported { events, note })
}

/// A job; `None` where it has done nothing.
fn phase(job: &Value, global: &Value) -> Option<Phase> {
    let option = |name: &str| {
        let own = job["job options"].get(name).or_else(|| global.get(name));
        own.and_then(Value::as_str)
    };
    let number = |name: &str| option(name).and_then(|text| text.parse::<u32>().ok()).unwrap_or(1).max(1);
    let counted: Vec<(OpKind, Counted)> = NAMES
        .iter()
        .zip(DIRECTIONS)
        .map(|(name, kind)| (kind, direction(&job[*name])))
        .filter(|(_, counted)| counted.operations > 0 || counted.errors > 0)
        .collect();
    let milliseconds = NAMES.iter().filter_map(|name| job[*name]["runtime"].as_u64()).max().unwrap_or(0);
    if counted.is_empty() {
        return None;
    }
    let of = |wanted: OpKind| {
        let found = counted.iter().find(|(kind, _)| *kind == wanted);
        found.map_or((0, 0), |(_, counted)| (counted.operations, counted.bytes))
    };
    let [reads, writes, trims] = DIRECTIONS.map(of);
    let (operations, bytes) = [reads, writes, trims].into_iter().max().unwrap_or_default();
    let is_random = option("rw").or(option("readwrite")).is_some_and(|order| order.contains("rand"));
    let reported = option("group_reporting").is_some();
    let workers = if reported { number("numjobs") } else { 1 };
    let length = milliseconds.max(1).saturating_mul(1_000_000);
    let name = job["jobname"].as_str().unwrap_or("job");
    let (target, backend) = storage(option("ioengine"), option("filename").unwrap_or(name));
    let task = FileTask {
        name: name.to_owned(),
        target,
        backend,
        mix: mix(reads.0, writes.0, trims.0),
        access: if is_random { Access::Random } else { Access::Sequential },
        block: Bytes(bytes / operations.max(1)),
        direct: option("direct").is_some_and(|value| value.is_empty() || value == "1"),
        workers,
        concurrency: workers.saturating_mul(number("iodepth")),
        interval: Nanos(length),
        ..FileTask::default()
    };
    let failed = job["error"].as_u64().filter(|error| *error != 0);
    Some(Phase {
        task,
        started: 0,
        intervals: vec![(0, length, counted)],
        failed: failed.map(|error| format!("fio reports error {error}")),
    })
}

/// What the operations went to, and the back end that is most like fio's I/O engine.
pub(super) fn storage(engine: Option<&str>, file: &str) -> (Target, BackendKind) {
    let existing =
        ExistingTarget { path: file.into(), offset: Bytes(0), size: Bytes(0), overwrite: Overwrite::Never };
    let backend = match engine {
        Some("null") => return (Target::Null { size: Bytes(0) }, BackendKind::Null),
        Some("io_uring") => BackendKind::IoUring(RingOptions::default()),
        Some("libaio") => BackendKind::Libaio,
        Some("mmap") => BackendKind::Mmap,
        Some("splice") => BackendKind::Splice,
        Some("posixaio") => BackendKind::Threads,
        _ => BackendKind::Sync,
    };
    (Target::Existing(existing), backend)
}

/// What a direction did: total latency where fio has kept it (`lat`), else completion latency; since 3.0 in nanoseconds, before
/// that in microseconds.
fn direction(found: &Value) -> Counted {
    let operations = found["total_ios"].as_u64().unwrap_or(0);
    let bytes = found["io_bytes"].as_u64().unwrap_or(0);
    // Before 3.0 `io_bytes` was in KiB.
    let bytes = if found.get("io_kbytes").is_some() { bytes } else { bytes.saturating_mul(1024) };
    let mut counted = Counted { operations, bytes, ..Counted::default() };
    let latency = [("lat_ns", 1.0), ("clat_ns", 1.0), ("lat", 1e3), ("clat", 1e3)];
    let known = latency
        .iter()
        .filter_map(|(name, unit)| Some((found.get(*name)?, unit)))
        .find(|(latency, _)| latency["mean"].as_f64().is_some_and(|mean| mean > 0.0));
    if let Some((latency, unit)) = known {
        counted.sum = latency["mean"].as_f64().unwrap_or(0.0) * unit * operations as f64;
        counted.longest = (latency["max"].as_f64().unwrap_or(0.0) * unit) as u64;
    }
    let bins = latency.iter().find_map(|(name, unit)| Some((found.get(*name)?["bins"].as_object()?, unit)));
    for (time, count) in
        bins.into_iter().flat_map(|(bins, unit)| bins.iter().map(move |bin| (bin, unit))).filter_map(
            |((time, count), unit)| Some(((time.parse::<f64>().ok()? * unit) as u64, count.as_u64()?)),
        )
    {
        counted.response.record_many(time, count);
    }
    counted
}

#[cfg(test)]
mod tests {
    use super::*;
    use iolite_model::Quantile;
    use iolite_results::Run;

    fn document(latency: &str) -> String {
        format!(
            r#"fio: a message
{{
 "fio version": "fio-3.33", "timestamp_ms": 1795414227526, "global options": {{"rw": "randread"}},
 "jobs": [{{"jobname": "a", "groupid": 0, "error": 0, "job options": {{"iodepth": "4"}},
   "read": {{"io_bytes": 409600, "io_kbytes": 400, "runtime": 2000, "total_ios": 100, {latency}}}}}]
}}
another message"#
        )
    }

    #[test]
    fn json_plus_has_its_percentiles_and_json_has_none() {
        let plus = document(
            r#""lat_ns": {"mean": 1000.0, "max": 9000}, "clat_ns": {"mean": 900, "bins": {"800": 90, "5000": 10}}"#,
        );
        let run = Run::of(&json("x.json", &plus).unwrap().events).unwrap();
        let phase = &run.phases[0];
        let summary = phase.summary(OpKind::Read).unwrap();
        assert_eq!((summary.operations, summary.max), (100, Some(Nanos(9000))));
        assert!((summary.rate.value - 50.0).abs() < 1e-9 && (summary.mean.value - 1000.0).abs() < 1.0);
        let response = phase.totals.response(OpKind::Read).unwrap();
        assert_eq!(response.count(), 100);
        assert!((790..=810).contains(&response.quantile(Quantile(0.5)).0));
        assert_eq!((phase.info.task.concurrency(), phase.info.task.name()), (4, "a"));

        let imported = json("x.json", &document(r#""lat_ns": {"mean": 1000.0, "max": 9000}"#)).unwrap();
        assert!(imported.note.contains("no percentiles"), "{}", imported.note);
        let run = Run::of(&imported.events).unwrap();
        assert_eq!(run.phases[0].totals.response(OpKind::Read).unwrap().count(), 0);
        assert_eq!(run.phases[0].quantile(OpKind::Read, Quantile(0.99)), None);
    }

    #[test]
    fn the_same_file_is_the_same_run_and_foreign_ones_are_refused() {
        let text = document(r#""lat_ns": {"mean": 1.0}"#);
        assert_eq!(json("a", &text).unwrap().events[2..], json("b", &text).unwrap().events[2..]);
        for (text, says) in [
            ("", "not valid JSON"),
            ("{", "not valid JSON"),
            ("[1]", "not output of fio"),
            ("{\"jobs\": []}", "not output of fio"),
        ] {
            let error = json("f", text).unwrap_err().to_string();
            assert!(error.contains(says), "{text}: {error}");
        }
        let idle = r#"{"fio version": "fio-3.42", "jobs": [{"read": {"total_ios": 0}}]}"#;
        assert_eq!(json("f", idle), Err(ImportError::Empty { file: "f".into() }));
    }
}
