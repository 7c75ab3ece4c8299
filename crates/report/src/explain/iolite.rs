//! What the keys of iolite's own documents mean.

use serde_json::Value;

use super::iolite_caveats::caveats;
use super::tree::Inside::{Each, Many, One, Part, Texts};
use super::tree::Unit::{Bytes, BytesPerSecond, Count, Iops, Nanos, Percent, Plain, Seconds, Share};
use super::tree::{Meaning, Walk, key, main};
use crate::styler::{Emphasis, Styler, filled};

/// The documents that are known, without their versions.
const FORMATS: [&str; 4] = ["iolite-run/", "iolite-check/", "iolite-latency-target/", "iolite-study/"];

/// Whether it is a format of a result.
pub(super) fn knows(format: &str) -> bool {
    FORMATS.iter().any(|known| format.starts_with(known))
}

const ESTIMATE: &[Meaning] = &[
    main("value", One(Iops), "operations per second"),
    main("low", One(Iops), "lower limit of the 95 % confidence interval"),
    main("high", One(Iops), "upper limit of the 95 % confidence interval, within this run"),
    key("standard_error", One(Iops), "uncertainty of the rate"),
    key("effective_samples", One(Plain), "effective sample size"),
];

const MEAN: &[Meaning] = &[
    main("value", One(Nanos), "the mean; hides a few operations that took very long"),
    key("low", One(Nanos), "lower limit of the 95 % confidence interval"),
    key("high", One(Nanos), "upper limit of the 95 % confidence interval, within this run"),
    key("standard_error", One(Nanos), "uncertainty of the mean"),
    key("effective_samples", One(Plain), "effective sample size"),
];

const QUANTILE: &[Meaning] = &[
    main("value", One(Nanos), "this share of the operations took less"),
    key("low", One(Nanos), "lower limit of the 95 % confidence interval"),
    key("high", One(Nanos), "upper limit of the 95 % confidence interval, within this run"),
    key("resolved", One(Plain), "whether there were enough operations for this percentile"),
];

const RESPONSE: &[Meaning] = &[
    main("mean", Part(MEAN), "the mean"),
    main("p50", Part(QUANTILE), "half of the operations took less"),
    key("p90", Part(QUANTILE), "one in ten took longer"),
    main("p99", Part(QUANTILE), "one in a hundred took longer"),
    main("p99_9", Part(QUANTILE), "one in a thousand took longer"),
    key("p99_99", Part(QUANTILE), "one in ten thousand took longer"),
    main("max", One(Nanos), "the longest, exact"),
];

const SERVICE: &[Meaning] = &[
    key("p50", One(Nanos), "half of the operations took less, from their issue"),
    key("p90", One(Nanos), "one in ten took longer"),
    key("p99", One(Nanos), "one in a hundred took longer"),
    key("p99_9", One(Nanos), "one in a thousand took longer"),
    key("p99_99", One(Nanos), "one in ten thousand took longer"),
];

const OPERATIONS: &[Meaning] = &[
    main("kind", One(Plain), "kind of operation"),
    main("operations", One(Count), "number of successful operations"),
    main("errors", One(Count), "number of failed operations, not included in rates"),
    main("iops", Part(ESTIMATE), "the rate, with its uncertainty"),
    main("bytes_per_second", One(BytesPerSecond), "the rate in bytes"),
    main("response_ns", Part(RESPONSE), "from the intended start of each operation: what a client waits for"),
    key("service_ns", Part(SERVICE), "from the issue of each operation: the part of the device"),
    key("bytes", One(Bytes), "bytes transferred"),
    key("quantiles", Many, "more percentiles of the same times"),
];

const CACHE: &[Meaning] = &[
    main("stamp", One(Plain), "whether the device was measured (`device`) or memory (`cached`)"),
    main("requested_read_bytes", One(Bytes), "bytes requested to be read"),
    main("device_read_bytes", One(Bytes), "bytes read by the underlying devices in the same time"),
    key("cached_share", One(Share), "share served by a cache, with `partly cached`"),
    key("requested_written_bytes", One(Bytes), "bytes requested to be written"),
    key("device_written_bytes", One(Bytes), "bytes written by the underlying devices in the same time"),
    key(
        "device_flushes",
        One(Count),
        "flushes of their write caches by the underlying devices in the same time",
    ),
    key("own_read_bytes", One(Bytes), "of these, bytes read from devices for iolite, if known"),
    key("own_written_bytes", One(Bytes), "bytes sent to devices by iolite, if known"),
    key("unwritten", One(Share), "share of the file without data: holes, or allocated but never written"),
    key("compressed", One(Share), "share of the file that is stored compressed"),
    key("zeros", One(Share), "share of the file or device that holds nothing but zeros, by samples"),
    key(
        "unattributed",
        One(Plain),
        "whether a database server did the I/O whose processes could not be counted",
    ),
    key(
        "direct_confirmed",
        One(Plain),
        "whether direct I/O is known to bypass the page cache on this file system",
    ),
    key("direct", One(Plain), "whether all I/O was requested to bypass the page cache"),
    key("synchronised", One(Plain), "whether all that was written was made durable before the phase ended"),
    key("resident_before", One(Share), "share of the file that was in the page cache before"),
    key("resident_after", One(Share), "share of the file that was in the page cache after"),
];

const OUTSTANDING: &[Meaning] = &[
    key("at_end", One(Count), "operations in flight at the end of the measured time"),
    key("lost", One(Count), "of these, operations that never completed: the device hangs"),
    key("oldest_ns", One(Nanos), "age of the oldest of them"),
    key("backlog", One(Count), "operations that were due but not yet issued: the rate was not reached"),
];

const RATE: &[Meaning] = &[
    main("asked_iops", One(Iops), "the requested rate"),
    main("achieved_iops", One(Iops), "the rate achieved"),
    main("kept", One(Plain), "whether this is the requested rate, within statistical error"),
    key("backlog", One(Count), "operations that were due but not yet issued at the end"),
];

const VERIFIED: &[Meaning] = &[
    main("units", One(Count), "units of data that were compared"),
    main("wrong", One(Count), "of these, units that differ from the data written: data is damaged"),
    key("unknown", One(Count), "units that could not be compared"),
    key("unreadable", One(Count), "units that could not be read"),
    key("incomplete", One(Plain), "whether it was interrupted"),
    key("first", Many, "the first findings"),
];

const ENDING: &[Meaning] = &[
    main("kind", One(Plain), "completed, interrupted or failed"),
    main("error", One(Plain), "why it failed"),
];

const CHANGE: &[Meaning] = &[
    main("kind", One(Plain), "level-shift, stall or periodic"),
    main("at_seconds", One(Seconds), "time since the start of the measured part"),
    main("before_iops", Part(ESTIMATE), "the rate before"),
    main("after_iops", Part(ESTIMATE), "the rate after"),
    main("seconds", One(Seconds), "duration of a stall"),
    main("period_seconds", One(Seconds), "length of a period"),
    key("amplitude", One(Share), "amplitude of the rate as a share of its mean"),
];

const CHANGES: &[Meaning] = &[
    main("operation", One(Plain), "the kind of operation whose rate changed"),
    main("found", Each(CHANGE), "list of the changes"),
];

const PHASE: &[Meaning] = &[
    main("concurrency", One(Count), "number of outstanding operations"),
    main("measured_seconds", One(Seconds), "measured time, without the ramp"),
    main("cache", Part(CACHE), "how much of what was requested reached the device"),
    main("operations", Each(OPERATIONS), "results of each kind of operation"),
    main("changes", Part(CHANGES), "changes of the rate within the phase"),
    main("rate", Part(RATE), "whether the requested rate was reached"),
    main("verified", Part(VERIFIED), "whether the data read matches the data written"),
    key("name", One(Plain), "name of the phase"),
    key("index", One(Plain), "its number"),
    key("layer", One(Plain), "what it exercises: file I/O, metadata, or a database"),
    key("started_ns", One(Nanos), "time between the start of the run and the start of the phase"),
    key("ramp_seconds", One(Seconds), "length of the ramp, which is not measured"),
    key("drain_max_ns", One(Nanos), "maximum response time of operations that completed after the end"),
    key("outstanding", Part(OUTSTANDING), "operations in flight at the end"),
    key("ending", Part(ENDING), "how it ended"),
    key("errors", Many, "errors by kind and class"),
    key("stuck", Many, "operations that never completed"),
    key("series", Many, "the phase over time"),
    key("task", Texts, "the complete task"),
];

const CALIBRATION: &[Meaning] = &[
    key("clock", One(Plain), "the clock in use"),
    key("clock_cost_ns", One(Plain), "cost of reading the clock, in nanoseconds"),
    key("clock_resolution_ns", One(Nanos), "resolution of the clock"),
    key("loop_cost_ns", One(Plain), "cost of an operation in iolite itself, in nanoseconds"),
];

const REASON: &[Meaning] = &[
    main("what", One(Plain), "the criterion"),
    main("fitness", One(Plain), "the result"),
    main("measured", One(Plain), "the measured value, as text"),
    main("asked", One(Plain), "the requirement, as text"),
    key("value", One(Plain), "the measured value as a number"),
    key("bound", One(Plain), "the bound as a number"),
    key("unit", One(Plain), "the unit of both"),
    key("statistic", One(Plain), "the statistic that both are of"),
    key("phase", One(Plain), "the phase that was judged, if it was a single one"),
    main("reservations", Many, "what the figure alone does not show"),
];

const VERDICT: &[Meaning] = &[
    main("fitness", One(Plain), "the verdict: fit, marginal or unfit; the worst of its reasons"),
    main("profile", One(Plain), "the profile"),
    main("reasons", Each(REASON), "one per criterion"),
];

const RUN: &[Meaning] = &[
    main("id", One(Plain), "the run, as in the results database"),
    main("version", One(Plain), "version of iolite"),
    key("command", Many, "the command line"),
    key("started_unix_ns", One(Plain), "start of the run, in nanoseconds since 1970"),
    key("model_version", One(Plain), "version of the stored data"),
    key("process", One(Plain), "process id of iolite"),
    key("host", Texts, "the host"),
    key("storage", Texts, "the file system and the underlying devices"),
];

const ANSWER: &[Meaning] = &[
    main("depth", One(Count), "largest number of outstanding operations that meets the bound"),
    main("rate_iops", One(Iops), "highest rate, in operations per second, that meets the bound"),
    key("limited", One(Plain), "whether the maximum was reached"),
    main("low", One(Plain), "largest load that meets the bound with 95 % confidence, within this run"),
    main("high", One(Plain), "smallest load that exceeds the bound with 95 % confidence"),
];

const FINDING: &[Meaning] = &[
    main("text", One(Plain), "the finding, as text"),
    key("kind", One(Plain), "the finding as a keyword, for programs"),
    key("data", Texts, "figures of the finding"),
];

const PRECONDITIONED: &[Meaning] = &[
    main("steady", One(Plain), "whether the rate reached steady state"),
    main("rounds", One(Count), "number of rounds"),
    key("iops", One(Iops), "mean rate of the last five"),
    key("deviation_percent", One(Percent), "maximum deviation of one of them from this mean"),
];

const MEANWHILE: &[Meaning] = &[
    key("cpu", Texts, "CPU time of the host, as shares of all CPUs"),
    key("pressure", Many, "shares of the time in which a task waited for a resource"),
    key("memory", Texts, "minimum of available and maximum of dirty memory"),
    key(
        "devices",
        Many,
        "operations and bytes per second of each device, and the share of the time it was busy",
    ),
    key("databases", Many, "operations per second counted by each database"),
    key("waits", Many, "average number of sessions by what they waited for"),
    key("sampling", Texts, "overhead of sampling: share of one CPU, samples skipped"),
];

const NOTE: &[Meaning] = &[
    main("text", One(Plain), "what the setting is, why it matters, and what to do"),
    key("kind", One(Plain), "the note as a keyword, for programs"),
    key("source", One(Plain), "the document that recommends it"),
    key("data", Texts, "figures of the note"),
];

const CONFIGURATION: &[Meaning] = &[
    main("notes", Each(NOTE), "settings that are worth changing for a database"),
    key("settings", Texts, "settings of the host; null where unknown"),
];

pub(super) const TOP: &[Meaning] = &[
    main("format", One(Plain), "kind of document"),
    main("verdict", Part(VERDICT), "the verdict"),
    main("answer", Part(ANSWER), "result of the search"),
    main("ending", Part(ENDING), "how the run ended"),
    main("findings", Each(FINDING), "findings of the study"),
    key("name", One(Plain), "name of the job"),
    key("study", One(Plain), "which study"),
    key("target", Texts, "target of the run"),
    key("run", Part(RUN), "where and when"),
    key("calibration", Part(CALIBRATION), "overhead of iolite"),
    key("configuration", Part(CONFIGURATION), "how the host is configured for databases"),
    key("failure", One(Plain), "why the search could not continue"),
    main("preconditioned", Part(PRECONDITIONED), "the random writes before a thorough check's measurement"),
    key("knees", Many, "queue depths beyond which a larger queue depth gains little"),
    key("groups", Many, "phases that are reported as one"),
    key("stalls", Many, "what the slowest operations of each phase waited for"),
    key("tries", Many, "all steps of the search"),
    key("windows", Many, "all windows of the study"),
    key("setting", Texts, "what was changed and restored"),
    key("task", Texts, "the task whose load was varied"),
    key("meanwhile", Part(MEANWHILE), "the host during the run, sampled once per second"),
];

/// Keys that are walked through apart.
const APART: [&str; 2] = ["phases", "warnings"];

/// Whether a key at the top means in every document what it means here.
pub(super) fn is_common(key: &str) -> bool {
    matches!(
        key,
        "format"
            | "meanwhile"
            | "run"
            | "verdict"
            | "ending"
            | "calibration"
            | "configuration"
            | "stalls"
            | "findings"
    )
}

/// Walks through a document.
pub(super) fn explain(document: &Value, all: bool, styler: Styler) -> String {
    let walk = Walk { all, styler };
    let mut top = document.as_object().cloned().unwrap_or_default();
    top.retain(|key, _| !APART.contains(&key.as_str()));
    let list = |key: &str| document.get(key).and_then(Value::as_array).into_iter().flatten();
    let warned = list("warnings").filter_map(|warning| warning.get("text")?.as_str());
    let title = styler.paint(Emphasis::Strong, "a result of iolite");
    let head = title + "\n" + &walk.object(&top, TOP, 0) + &super::caveats(warned, styler);
    let phases = list("phases").enumerate().map(|(number, phase)| {
        let name = phase.get("name").and_then(Value::as_str).unwrap_or("?");
        let title = format!("phase {}: {}", number + 1, styler.clean(name));
        styler.paint(Emphasis::Strong, &title)
            + "\n"
            + &super::caveats(caveats(phase), styler)
            + &phase.as_object().map_or_else(String::new, |phase| walk.object(phase, PHASE, 0))
    });
    filled(std::iter::once(head).chain(phases).chain([super::legend(all, styler)]))
}
