//! What the keys of iolite's own documents mean.

use serde_json::Value;

use super::iolite_caveats::caveats;
use super::tree::Inside::{Each, Many, One, Part, Texts};
use super::tree::Unit::{Bytes, BytesPerSecond, Count, Iops, Nanos, Percent, Plain, Seconds, Share};
use super::tree::{Meaning, Walk, key, main};
use crate::styler::{Emphasis, Styler};
use crate::text::filled;

/// The documents that are known, without their versions.
const FORMATS: [&str; 4] = ["iolite-run/", "iolite-check/", "iolite-latency-target/", "iolite-study/"];

/// Whether it is a format of a result.
pub(super) fn knows(format: &str) -> bool {
    FORMATS.iter().any(|known| format.starts_with(known))
}

const ESTIMATE: &[Meaning] = &[
    main("value", One(Iops), "operations a second"),
    main("low", One(Iops), "the true rate is above this"),
    main("high", One(Iops), "and below this, with 95 % certainty, within this run"),
    key("standard_error", One(Iops), "uncertainty of the rate"),
    key("effective_samples", One(Plain), "number of independent observations"),
];

const MEAN: &[Meaning] = &[
    main("value", One(Nanos), "the average; hides the few that took very long"),
    key("low", One(Nanos), "the true mean is above this"),
    key("high", One(Nanos), "and below this, with 95 % certainty, within this run"),
    key("standard_error", One(Nanos), "uncertainty of the mean"),
    key("effective_samples", One(Plain), "number of independent observations"),
];

const QUANTILE: &[Meaning] = &[
    main("value", One(Nanos), "this share of the operations took less"),
    key("low", One(Nanos), "the true one is above this"),
    key("high", One(Nanos), "and below this, with 95 % certainty, within this run"),
    key("resolved", One(Plain), "whether there were enough operations for it"),
];

const RESPONSE: &[Meaning] = &[
    main("mean", Part(MEAN), "the average"),
    main("p50", Part(QUANTILE), "half of the operations took less"),
    key("p90", Part(QUANTILE), "one in ten took longer"),
    main("p99", Part(QUANTILE), "one in a hundred took longer"),
    main("p99_9", Part(QUANTILE), "one in a thousand took longer"),
    key("p99_99", Part(QUANTILE), "one in ten thousand took longer"),
    main("max", One(Nanos), "the longest, exact"),
];

const SERVICE: &[Meaning] = &[
    key("p50", One(Nanos), "half took less since they were issued"),
    key("p90", One(Nanos), "one in ten took longer"),
    key("p99", One(Nanos), "one in a hundred took longer"),
    key("p99_9", One(Nanos), "one in a thousand took longer"),
    key("p99_99", One(Nanos), "one in ten thousand took longer"),
];

const OPERATIONS: &[Meaning] = &[
    main("kind", One(Plain), "what was done"),
    main("operations", One(Count), "number of successful operations"),
    main("errors", One(Count), "number of failed operations, not included in rates"),
    main("iops", Part(ESTIMATE), "the rate, with its uncertainty"),
    main("bytes_per_second", One(BytesPerSecond), "the rate in bytes"),
    main("response_ns", Part(RESPONSE), "since each operation was meant to start: what a client waits for"),
    key("service_ns", Part(SERVICE), "since each operation was issued: the device's part"),
    key("bytes", One(Bytes), "bytes moved"),
    key("quantiles", Many, "more quantiles of the same times"),
];

const CACHE: &[Meaning] = &[
    main("stamp", One(Plain), "whether the device was measured (`device`) or memory (`cached`)"),
    main("requested_read_bytes", One(Bytes), "bytes requested to be read"),
    main("device_read_bytes", One(Bytes), "what the devices beneath have read meanwhile"),
    key("cached_share", One(Share), "share that a cache served, with `partly cached`"),
    key("requested_written_bytes", One(Bytes), "bytes requested to be written"),
    key("device_written_bytes", One(Bytes), "what the devices beneath have written meanwhile"),
    key("own_read_bytes", One(Bytes), "of these, bytes read from devices for iolite, if known"),
    key("own_written_bytes", One(Bytes), "bytes sent to devices by iolite, if known"),
    key("unwritten", One(Share), "share of the file without data: holes, or allocated and never written"),
    key("compressed", One(Share), "share of the file that is stored compressed"),
    key("direct_confirmed", One(Plain), "whether direct I/O is known to bypass memory on this file system"),
    key("resident_before", One(Share), "share of the file that was in the page cache before"),
    key("resident_after", One(Share), "share of the file that was in the page cache after"),
];

const OUTSTANDING: &[Meaning] = &[
    key("at_end", One(Count), "operations in flight when the time was up"),
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
    main("units", One(Count), "pieces of data that were compared"),
    main("wrong", One(Count), "of these, those that are not what was written: data is damaged"),
    key("unknown", One(Count), "pieces that could not be compared"),
    key("unreadable", One(Count), "pieces that could not be read"),
    key("incomplete", One(Plain), "whether it was interrupted"),
    key("first", Many, "the first findings"),
];

const ENDING: &[Meaning] = &[
    main("kind", One(Plain), "completed, interrupted or failed"),
    main("error", One(Plain), "why it failed"),
];

const CHANGE: &[Meaning] = &[
    main("kind", One(Plain), "level-shift, stall or periodic"),
    main("at_seconds", One(Seconds), "when, since the start of the measured part"),
    main("before_iops", Part(ESTIMATE), "the rate before"),
    main("after_iops", Part(ESTIMATE), "the rate after"),
    main("seconds", One(Seconds), "how long a stall lasted"),
    main("period_seconds", One(Seconds), "length of a period"),
    key("amplitude", One(Share), "how far the rate rises and falls, as a share of its mean"),
];

const CHANGES: &[Meaning] = &[
    main("operation", One(Plain), "the kind of operation whose rate changed"),
    main("found", Each(CHANGE), "each change"),
];

const PHASE: &[Meaning] = &[
    main("concurrency", One(Count), "operations outstanding at once"),
    main("measured_seconds", One(Seconds), "how long it was measured, without its ramp"),
    main("cache", Part(CACHE), "how much of what was requested reached the device"),
    main("operations", Each(OPERATIONS), "what each kind of operation did"),
    main("changes", Part(CHANGES), "what did not stay as it was"),
    main("rate", Part(RATE), "whether the requested rate was reached"),
    main("verified", Part(VERIFIED), "whether what was read is what was written"),
    key("name", One(Plain), "name of the phase"),
    key("index", One(Plain), "its number"),
    key("layer", One(Plain), "what it exercises: the file, names of files, or a database"),
    key("started_ns", One(Nanos), "when it began, since the run's start"),
    key("ramp_seconds", One(Seconds), "what was left out at its start"),
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
    key("clock_cost_ns", One(Plain), "what reading it costs, in nanoseconds"),
    key("clock_resolution_ns", One(Nanos), "its smallest step"),
    key("loop_cost_ns", One(Plain), "what an operation costs the program itself, in nanoseconds"),
];

const REASON: &[Meaning] = &[
    main("what", One(Plain), "what was judged"),
    main("fitness", One(Plain), "how it came out"),
    main("measured", One(Plain), "what was measured"),
    main("asked", One(Plain), "what was asked"),
    key("value", One(Plain), "the measured value as a number"),
    key("bound", One(Plain), "the bound as a number"),
    main("reservations", Many, "what the figure alone does not show"),
];

const VERDICT: &[Meaning] = &[
    main("fitness", One(Plain), "the verdict: fit, marginal or unfit; the worst of its reasons"),
    main("profile", One(Plain), "what was judged by"),
    main("reasons", Each(REASON), "one for each criterion"),
];

const RUN: &[Meaning] = &[
    main("id", One(Plain), "the run, as in the results database"),
    main("version", One(Plain), "version of iolite"),
    key("command", Many, "the command line"),
    key("started_unix_ns", One(Plain), "when it began, in nanoseconds since 1970"),
    key("model_version", One(Plain), "version of the stored data"),
    key("process", One(Plain), "process that measured"),
    key("host", Texts, "the machine"),
    key("storage", Texts, "the file system and the devices beneath"),
];

const ANSWER: &[Meaning] = &[
    main("depth", One(Count), "the most operations outstanding that keep the bound"),
    main("rate_iops", One(Iops), "the most operations a second that keep the bound"),
    key("limited", One(Plain), "whether the maximum was reached"),
    main("low", One(Plain), "the largest load that surely keeps the bound, within this run"),
    main("high", One(Plain), "the smallest load that surely does not"),
];

const FINDING: &[Meaning] = &[
    main("text", One(Plain), "what the comparison says"),
    key("kind", One(Plain), "the same for programs"),
    key("data", Texts, "its figures"),
];

const PRECONDITIONED: &[Meaning] = &[
    main("steady", One(Plain), "whether their rate no longer changed"),
    main("rounds", One(Count), "rounds until then"),
    key("iops", One(Iops), "mean rate of the last five"),
    key("deviation_percent", One(Percent), "maximum distance of one of them from this mean"),
];

pub(super) const TOP: &[Meaning] = &[
    main("format", One(Plain), "what kind of document it is"),
    main("verdict", Part(VERDICT), "the answer"),
    main("answer", Part(ANSWER), "what was searched for"),
    main("ending", Part(ENDING), "how the run ended"),
    main("findings", Each(FINDING), "what the study says"),
    key("name", One(Plain), "name of the job"),
    key("study", One(Plain), "which study"),
    key("target", Texts, "what it was about"),
    key("run", Part(RUN), "where and when"),
    key("calibration", Part(CALIBRATION), "what the program costs itself"),
    key("failure", One(Plain), "why the search could not continue"),
    main("preconditioned", Part(PRECONDITIONED), "the random writes before a thorough check's measurement"),
    key("knees", Many, "loads beyond which a larger queue depth gains little"),
    key("groups", Many, "phases that are reported as one"),
    key("tries", Many, "the search, try by try"),
    key("windows", Many, "the study, window by window"),
    key("setting", Texts, "what was changed and restored"),
    key("task", Texts, "what was searched on"),
];

/// Keys that are walked through apart.
const APART: [&str; 2] = ["phases", "warnings"];

/// Whether a key at the top means in every document what it means here.
pub(super) fn is_common(key: &str) -> bool {
    matches!(key, "format" | "run" | "verdict" | "ending" | "calibration" | "findings")
}

/// Walks through a document.
pub(super) fn explain(document: &Value, all: bool, styler: Styler) -> String {
    let walk = Walk { all, styler };
    let mut top = document.as_object().cloned().unwrap_or_default();
    top.retain(|key, _| !APART.contains(&key.as_str()));
    let list = |key: &str| document.get(key).and_then(Value::as_array).into_iter().flatten();
    let warned = list("warnings").filter_map(|warning| warning.get("text")?.as_str().map(str::to_owned));
    let title = styler.paint(Emphasis::Strong, "a result of iolite's");
    let head =
        title + "\n" + &walk.object(&top, TOP, 0) + &super::caveats(&warned.collect::<Vec<_>>(), styler);
    let phases = list("phases").enumerate().map(|(number, phase)| {
        let name = phase.get("name").and_then(Value::as_str).unwrap_or("?");
        let title = format!("phase {}: {}", number + 1, styler.clean(name));
        styler.paint(Emphasis::Strong, &title)
            + "\n"
            + &super::caveats(&caveats(phase), styler)
            + &phase.as_object().map_or_else(String::new, |phase| walk.object(phase, PHASE, 0))
    });
    filled(std::iter::once(head).chain(phases).chain([super::legend(all, styler)]))
}
