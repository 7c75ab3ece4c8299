//! What the keys of fio's JSON mean.

use serde_json::{Map, Value};

use super::fio_caveats::{caveats, run_caveats};
use super::tree::Inside::{Many, One, Part, Percentiles, Shares, Texts};
use super::tree::Unit::{
    Bytes, BytesPerSecond, Count, Iops, Kibibytes, KibibytesPerSecond, Micros, Millis, Nanos, Percent, Plain,
    Seconds,
};
use super::tree::{Meaning, Walk, key, main};
use crate::styler::{Emphasis, Styler, filled};

const TOP: &[Meaning] = &[
    main("fio version", One(Plain), "version of fio"),
    main("time", One(Plain), "time at which fio ended, by the clock of that host"),
    key("timestamp", One(Plain), "the same in seconds since 1970"),
    key("timestamp_ms", One(Plain), "the same in milliseconds"),
    main("global options", Texts, "default settings of all jobs"),
];

const TIMES: &[Meaning] = &[
    main("mean", One(Nanos), "the mean; not representative if a few operations took very long"),
    key(
        "stddev",
        One(Nanos),
        "standard deviation; if it is larger than the mean, a few operations took very long",
    ),
    key("min", One(Nanos), "the shortest"),
    main("max", One(Nanos), "the exact maximum: the longest stall"),
    key("N", One(Count), "operations counted"),
    main("percentile", Percentiles, "half of the operations took less"),
    key("bins", Many, "the histogram: operations by nanoseconds"),
];

const DIRECTION: &[Meaning] = &[
    main("iops", One(Iops), "operations per second over the whole runtime: the rate to compare"),
    main("bw_bytes", One(BytesPerSecond), "bytes per second over the whole runtime"),
    main(
        "clat_ns",
        Part(TIMES),
        "completion latency: from the return of the submission to the completion; the device's part",
    ),
    main(
        "lat_ns",
        Part(TIMES),
        "total latency: submission and completion together, what the caller waits for",
    ),
    key(
        "slat_ns",
        Part(TIMES),
        "submission latency: time to submit the operation to the kernel; asynchronous engines only",
    ),
    main("total_ios", One(Count), "operations completed"),
    main("runtime", One(Millis), "measured time of this direction"),
    key("io_bytes", One(Bytes), "bytes transferred"),
    key("io_kbytes", One(Kibibytes), "the same in KiB"),
    key("bw", One(KibibytesPerSecond), "bw_bytes in KiB per second"),
    key("short_ios", One(Count), "operations that transferred fewer bytes than requested"),
    key("drop_ios", One(Count), "operations dropped before they were issued"),
    key(
        "bw_min",
        One(KibibytesPerSecond),
        "bandwidth of the slowest half second; far below the mean, it indicates a stall",
    ),
    key("bw_max", One(KibibytesPerSecond), "bandwidth of the fastest half second"),
    key("bw_agg", One(Percent), "this job's share of its group's bandwidth"),
    key("bw_mean", One(KibibytesPerSecond), "mean of the samples; bw_bytes is exact"),
    key("bw_dev", One(KibibytesPerSecond), "standard deviation of the samples: how steady the bandwidth was"),
    key("bw_samples", One(Count), "number of samples; fewer than ten are not sufficient to judge steadiness"),
    key("iops_min", One(Iops), "as bw_min, in operations"),
    key("iops_max", One(Iops), "as bw_max, in operations"),
    key("iops_mean", One(Iops), "as bw_mean, in operations"),
    key("iops_stddev", One(Iops), "as bw_dev, in operations"),
    key("iops_samples", One(Count), "as bw_samples"),
];

const SYNC: &[Meaning] = &[
    main("total_ios", One(Count), "syncs completed"),
    main("lat_ns", Part(TIMES), "duration of each sync: what a commit waits for"),
];

const STEADY: &[Meaning] = &[
    main("attained", One(Plain), "1: steady state was reached; 0: it was not reached before the end"),
    main("ss", One(Plain), "criterion for steady state"),
    key("duration", One(Seconds), "length of the window"),
    key("criterion", One(Plain), "steadiness in the last window"),
    key("max_deviation", One(Plain), "maximum deviation from the mean of the window"),
    key("slope", One(Plain), "slope over the window"),
    key("data", Many, "values of the last window"),
];

const JOB: &[Meaning] = &[
    main("jobname", One(Plain), "name of the job, or of all jobs of its group if results are grouped"),
    main("error", One(Plain), "0, or the error (errno) that ended the job; nothing else is meaningful then"),
    main("job options", Texts, "settings of the job"),
    main("read", Part(DIRECTION), "results of reads"),
    main("write", Part(DIRECTION), "results of writes"),
    main("trim", Part(DIRECTION), "results of trims"),
    main("mixed", Part(DIRECTION), "results of all directions combined"),
    main("sync", Part(SYNC), "results of syncs"),
    main("usr_cpu", One(Percent), "CPU usage of the job's thread in user mode"),
    main(
        "sys_cpu",
        One(Percent),
        "CPU usage of the job's thread in the kernel; if both add up to nearly 100 %, the CPU is the limit, \
         not the storage",
    ),
    main(
        "iodepth_level",
        Shares,
        "share of the operations by the number outstanding, in classes up to each number",
    ),
    main("steadystate", Part(STEADY), "whether steady state was reached"),
    key("groupid", One(Plain), "reporting group, from 0; a new one begins at a stonewall"),
    key("job_start", One(Plain), "start in milliseconds since 1970"),
    key("eta", One(Seconds), "remaining time when printed; not meaningful at the end"),
    key("elapsed", One(Seconds), "time since the start, including layout"),
    key("desc", One(Plain), "description of the job"),
    key("job_runtime", One(Millis), "run time of the job, or of all clones if results are grouped"),
    key("ctx", One(Count), "context switches: about one per operation if the thread sleeps"),
    key("majf", One(Count), "page faults that needed I/O"),
    key("minf", One(Count), "page faults that needed none"),
    key("total_err", One(Count), "errors after which the job continued"),
    key("first_error", One(Plain), "the first of these errors (errno)"),
    key("iodepth_submit", Shares, "operations submitted at once"),
    key(
        "iodepth_complete",
        Shares,
        "operations reaped at once; if they are many, their completions are noticed late",
    ),
    key("latency_ns", Shares, "share of the operations with a total latency up to this many nanoseconds"),
    key("latency_us", Shares, "the same in microseconds"),
    key("latency_ms", Shares, "the same in milliseconds"),
    key("latency_depth", One(Count), "queue depth at the end of a latency target search"),
    key("latency_target", One(Micros), "latency target; 0 if none"),
    key("latency_target_ns", One(Nanos), "the same in nanoseconds"),
    key("latency_percentile", One(Percent), "percentage of the operations that had to meet it"),
    key("latency_window", One(Micros), "length of each measurement"),
];

const DISK: &[Meaning] = &[
    main("name", One(Plain), "the device, as the kernel calls it"),
    main("read_ios", One(Count), "reads completed by the device: compare with those requested"),
    main("write_ios", One(Count), "writes that the device completed"),
    main(
        "util",
        One(Percent),
        "share of the time with operations in flight; on devices that work in parallel, 100 % is not the limit",
    ),
    key("read_sectors", One(Count), "read, in units of 512 bytes"),
    key("write_sectors", One(Count), "written, in units of 512 bytes"),
    key("read_merges", One(Count), "reads merged with others before they reached the device"),
    key("write_merges", One(Count), "writes merged with others"),
    key("read_ticks", One(Millis), "total time of all reads, including overlapping ones"),
    key("write_ticks", One(Millis), "total time of all writes, including overlapping ones"),
    key(
        "in_queue",
        One(Millis),
        "total time of all requests; divided by the elapsed time, the mean number in flight",
    ),
    key("aggr_read_ios", One(Count), "reads of all underlying devices"),
    key("aggr_write_ios", One(Count), "writes of all underlying devices"),
    key("aggr_read_sectors", One(Count), "read by the underlying devices, in units of 512 bytes"),
    key("aggr_write_sectors", One(Count), "written by the underlying devices, in units of 512 bytes"),
    key("aggr_read_merges", One(Count), "merged reads of the underlying devices"),
    key("aggr_write_merge", One(Count), "merged writes of the underlying devices"),
    key("aggr_read_ticks", One(Millis), "total time of reads of the underlying devices"),
    key("aggr_write_ticks", One(Millis), "total time of writes of the underlying devices"),
    key("aggr_in_queue", One(Millis), "total time of all requests of the underlying devices"),
    key("aggr_util", One(Percent), "utilization of the busiest underlying device"),
];

/// Keys that are walked through apart.
const APART: [&str; 3] = ["jobs", "disk_util", "iolite"];

/// Walks through a result of fio's.
pub(super) fn explain(document: &Value, all: bool, styler: Styler) -> String {
    let walk = Walk { all, styler };
    let objects = |key: &str| {
        let list = document.get(key).and_then(Value::as_array);
        list.into_iter().flatten().filter_map(Value::as_object).collect::<Vec<_>>()
    };
    let (jobs, disks) = (objects("jobs"), objects("disk_util"));
    let mut top = document.as_object().cloned().unwrap_or_default();
    top.retain(|key, _| !APART.contains(&key.as_str()));
    let of_jobs = |count: usize| if count == 1 { "1 job".to_owned() } else { format!("{count} jobs") };
    let title = styler.paint(Emphasis::Strong, &format!("a result of fio, {}", of_jobs(jobs.len())));
    let mut sections =
        vec![title + "\n" + &super::caveats(run_caveats(document), styler) + &walk.object(&top, TOP, 0)];
    sections.extend(jobs.iter().enumerate().map(|(number, job)| explain_job(document, number, job, walk)));
    sections.extend(disks.iter().map(|disk| {
        let name = disk.get("name").and_then(Value::as_str).unwrap_or("?");
        styler.paint(Emphasis::Strong, &format!("disk {}", styler.clean(name)))
            + "\n"
            + &walk.object(disk, DISK, 0)
    }));
    sections.push(super::legend(all, styler));
    filled(sections)
}

fn explain_job(document: &Value, number: usize, job: &Map<String, Value>, walk: Walk) -> String {
    let name = job.get("jobname").and_then(Value::as_str).unwrap_or("?");
    let title = format!("job {}: {}", number + 1, walk.styler.clean(name));
    let mut shown = job.clone();
    if !walk.all {
        // What did nothing has nothing to be explained.
        shown.retain(|_, value| value.get("total_ios").is_none_or(|total| total.as_u64() != Some(0)));
    }
    walk.styler.paint(Emphasis::Strong, &title)
        + "\n"
        + &super::caveats(caveats(document, job), walk.styler)
        + &walk.object(&shown, JOB, 0)
}
