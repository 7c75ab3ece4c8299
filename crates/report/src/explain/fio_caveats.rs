//! Caveats in a result of fio's.

use serde_json::{Map, Value};

use super::tree::{Unit, quantity};

/// Engines that have at most one operation in flight.
const SYNCHRONOUS: [&str; 11] =
    ["sync", "psync", "vsync", "pvsync", "pvsync2", "mmap", "splice", "null", "ftruncate", "falloc", "cpuio"];

/// fio's histograms end here: longer times are reported as this.
const CLIPPED_NS: f64 = 17.0e9;

/// Shorter is no measurement, in milliseconds.
const SHORT_MS: f64 = 1000.0;

/// Reads faster than any device answers, in nanoseconds.
const MEMORY_NS: f64 = 4000.0;

/// The largest request that devices get, mostly, in bytes.
const LARGEST_REQUEST: f64 = 1_310_720.0;

/// Less of what was asked for at the device is a cache's work.
const REACHED: f64 = 0.5;

/// Warnings about a job.
pub(super) fn caveats(document: &Value, job: &Map<String, Value>) -> Vec<String> {
    let job = Job { job, global: document.get("global options").and_then(Value::as_object) };
    let mut caveats = Vec::new();
    caveats.extend(job.errors());
    for direction in ["read", "write", "trim", "mixed"] {
        if let Some(of) = job.job.get(direction).and_then(Value::as_object)
            && number(of, "total_ios") > 0.0
        {
            caveats.extend(amount(direction, of));
            caveats.extend(steadiness(direction, of));
            caveats.extend(times(direction, of));
        }
    }
    caveats.extend(job.cached(document));
    caveats.extend(job.depth());
    caveats.extend(job.rate());
    caveats.extend(job.processor());
    caveats.extend(job.contents());
    caveats
}

/// Caveats about the run as a whole.
pub(super) fn run_caveats(document: &Value) -> Vec<String> {
    let jobs =
        || document.get("jobs").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_object);
    let asked = |job: &Map<String, Value>| {
        Job { job, global: document.get("global options").and_then(Value::as_object) }.paced()
    };
    let disks: Vec<_> = document.get("disk_util").and_then(Value::as_array).into_iter().flatten().collect();
    let busiest = disks.iter().filter_map(|disk| disk.get("util")?.as_f64()).reduce(f64::max);
    let busiest = busiest.filter(|util| *util < 90.0 && !jobs().any(asked) && jobs().count() > 0);
    busiest
        .map(|util| {
            format!(
                "the busiest device was busy for only {util:.0} % of the time: the storage was not the limit; use \
         more outstanding operations, or more jobs, for a higher rate (start and layout also count as idle)"
            )
        })
        .into_iter()
        .collect()
}

/// A job with what it inherits.
struct Job<'a> {
    job: &'a Map<String, Value>,
    global: Option<&'a Map<String, Value>>,
}

impl Job<'_> {
    /// A setting, of the job or of all.
    fn option(&self, name: &str) -> Option<&str> {
        let own = self.job.get("job options").and_then(Value::as_object);
        own.and_then(|own| own.get(name)).or_else(|| self.global?.get(name))?.as_str()
    }

    fn depth_asked(&self) -> u64 {
        self.option("iodepth").and_then(|depth| depth.parse().ok()).unwrap_or(1)
    }

    fn flag(&self, name: &str) -> bool {
        self.option(name).is_some_and(|value| value != "0")
    }

    fn engine(&self) -> &str {
        self.option("ioengine").unwrap_or("psync")
    }

    /// Whether it was held back on purpose.
    fn paced(&self) -> bool {
        ["rate", "rate_iops", "thinktime"]
            .iter()
            .any(|name| self.option(name).is_some_and(|value| value != "0"))
    }

    fn errors(&self) -> Vec<String> {
        let mut caveats = Vec::new();
        let error = number(self.job, "error");
        if error != 0.0 {
            caveats.push(format!(
                "error {error:.0}: the job ended with this error; the figures describe the time before it"
            ));
        }
        let total = number(self.job, "total_err");
        if total > 0.0 {
            caveats.push(format!(
                "{total:.0} operations failed and are not included in any rate; see the kernel log (dmesg)"
            ));
        }
        if self.job.get("steadystate").and_then(|steady| steady.get("attained")).and_then(Value::as_u64)
            == Some(0)
        {
            caveats.push(
                "steady state was not reached: performance was still changing when the figures were measured"
                    .into(),
            );
        }
        caveats
    }

    /// Whether memory has served what the storage was asked for.
    fn cached(&self, document: &Value) -> Option<String> {
        let reads =
            self.job.get("read").and_then(Value::as_object).filter(|reads| number(reads, "total_ios") > 0.0);
        let direct = self.flag("direct") || self.option("buffered").is_some_and(|buffered| buffered == "0");
        if direct || self.engine() == "null" || self.job.get("read").is_none() {
            return None;
        }
        let Some(reads) = reads else {
            return Some(
                "writes went through the page cache (no direct=1): they complete when the data is in memory, unless \
         end_fsync, fsync or sync is set"
                    .into(),
            );
        };
        if let Some(share) = reached(document).filter(|share| *share < REACHED) {
            return Some(format!(
                "cached: only {:.0} % of the bytes that all jobs read came from the device; the rest was served from \
         memory (no direct=1)",
                share * 100.0
            ));
        }
        let mean = times_of(reads).map(|times| number(times, "mean"));
        if mean.is_some_and(|mean| mean > 0.0 && mean < MEMORY_NS) {
            let mean = quantity(mean.unwrap_or_default(), Unit::Nanos);
            return Some(format!(
                "cached: a mean of {mean} is that of memory, not of a device (no direct=1)"
            ));
        }
        Some(
            "reads went through the page cache (no direct=1): part of them may come from memory, and sequential ones from \
             read-ahead"
                .into(),
        )
    }

    /// Whether the depth that was asked for was reached.
    fn depth(&self) -> Option<String> {
        let (asked, engine) = (self.depth_asked(), self.engine());
        if asked <= 1 {
            return None;
        }
        if SYNCHRONOUS.contains(&engine) {
            return Some(format!(
                "iodepth={asked} had no effect: the engine {engine} has only one operation in flight; use io_uring or \
         libaio, or numjobs"
            ));
        }
        let levels = self.job.get("iodepth_level").and_then(Value::as_object)?;
        let alone = number(levels, "1");
        (alone >= 90.0 && !self.paced()).then(|| {
            let why = if engine == "libaio" && !self.flag("direct") {
                "libaio without direct=1 blocks during submission"
            } else {
                "submission blocks, or operations complete immediately"
            };
            format!("iodepth={asked} was not reached: {alone:.0} % of the time one operation was outstanding; {why}")
        })
    }

    fn rate(&self) -> Option<String> {
        let set =
            ["rate", "rate_iops"].iter().any(|name| self.option(name).is_some_and(|value| value != "0"));
        set.then(|| {
            "with a rate, fio measures latency from the issue of an operation, not from its scheduled start: \
         waiting behind slow operations is not included (coordinated omission), so percentiles are too low if \
         the rate was not reached"
                .into()
        })
    }

    fn processor(&self) -> Option<String> {
        let (user, system) = (number(self.job, "usr_cpu"), number(self.job, "sys_cpu"));
        (user + system >= 90.0).then(|| {
            format!(
                "CPU bound: {:.0} % of a CPU ({user:.0} % program, {system:.0} % kernel): the job's thread was the limit, not the \
                 storage; use more jobs (numjobs)",
                user + system
            )
        })
    }

    fn contents(&self) -> Option<String> {
        let writes = self.job.get("write").and_then(Value::as_object)?;
        (number(writes, "total_ios") > 0.0 && self.flag("zero_buffers")).then(|| {
            "zeros were written (zero_buffers): storage that compresses, deduplicates or detects zeros stored \
         almost nothing".into()
        })
    }
}

/// Share of the bytes that all jobs read that the devices read, or more; `None` where it is not known.
fn reached(document: &Value) -> Option<f64> {
    let jobs = document.get("jobs").and_then(Value::as_array)?;
    let asked: f64 = jobs.iter().filter_map(|job| job.get("read")?.get("io_bytes")?.as_f64()).sum();
    let disks = document.get("disk_util").and_then(Value::as_array)?;
    let at = |disk: &Value, key: &str| disk.get(key).and_then(Value::as_f64);
    let read = |disk: &Value| {
        // Older versions report requests only: how large these were at most is known.
        let bytes = |prefix: &str| {
            let sectors = at(disk, &format!("{prefix}read_sectors")).map(|sectors| sectors * 512.0);
            sectors.or_else(|| Some(at(disk, &format!("{prefix}read_ios"))? * LARGEST_REQUEST))
        };
        Some(bytes("")?.max(bytes("aggr_").unwrap_or(0.0)))
    };
    let read: Option<Vec<f64>> = disks.iter().map(read).collect();
    let read = read.filter(|read| !read.is_empty() && asked > 0.0)?;
    Some(read.iter().sum::<f64>() / asked)
}

/// Whether there is enough of it.
fn amount(direction: &str, of: &Map<String, Value>) -> Vec<String> {
    let mut caveats = Vec::new();
    let (runtime, operations) = (number(of, "runtime"), number(of, "total_ios"));
    if runtime < SHORT_MS {
        caveats.push(format!(
            "{direction}: {runtime:.0} ms are too short to be meaningful: use a runtime of 30 s or more"
        ));
    }
    let min = [(99.99, 100_000.0), (99.9, 10_000.0), (99.0, 1_000.0)];
    if let Some((percent, needed)) = min.into_iter().rfind(|(_, needed)| operations < *needed) {
        let operations = quantity(operations, Unit::Count);
        caveats.push(format!(
            "{direction}: {operations} operations are too few for percentiles from p{percent} on, which need about {}",
            quantity(needed, Unit::Count)
        ));
    }
    for (key, what) in [
        ("short_ios", "transferred fewer bytes than requested"),
        ("drop_ios", "were dropped before they were issued"),
    ] {
        let count = number(of, key);
        if count > 0.0 {
            caveats.push(format!("{direction}: {count:.0} operations {what}"));
        }
    }
    caveats
}

/// Whether it was the same all the time.
fn steadiness(direction: &str, of: &Map<String, Value>) -> Vec<String> {
    let mut caveats = Vec::new();
    let (mean, min) = (number(of, "bw_mean"), number(of, "bw_min"));
    let (samples, deviation) = (number(of, "bw_samples"), number(of, "bw_dev"));
    let rate = |value: f64| quantity(value, Unit::KibibytesPerSecond);
    if samples >= 4.0 && min < mean * 0.5 {
        caveats.push(format!(
            "{direction}: the slowest half second had {}, compared with a mean of {}: a stall, or a change of \
         state (a full write cache, garbage collection)",
            rate(min),
            rate(mean)
        ));
    } else if samples >= 4.0 && deviation > mean * 0.3 {
        let share = deviation / mean * 100.0;
        caveats.push(format!(
            "{direction}: the bandwidth varied by {share:.0} %: unsteady, check it over time (write_bw_log)"
        ));
    }
    let exact = number(of, "bw");
    if samples >= 4.0 && exact > 0.0 && (mean / exact - 1.0).abs() > 0.1 {
        caveats.push(format!(
            "{direction}: bw_mean ({}) and bw ({}) differ, because they are sampled separately; bw is exact",
            rate(mean),
            rate(exact)
        ));
    }
    caveats
}

/// The object of completion latencies, or total ones where these are switched off.
fn times_of(of: &Map<String, Value>) -> Option<&Map<String, Value>> {
    ["clat_ns", "lat_ns"]
        .iter()
        .filter_map(|key| of.get(*key)?.as_object())
        .find(|times| number(times, "N") > 0.0)
}

fn times(direction: &str, of: &Map<String, Value>) -> Vec<String> {
    let mut caveats = Vec::new();
    let nanos = |value: f64| quantity(value, Unit::Nanos);
    if let Some(times) = times_of(of) {
        let (mean, max) = (number(times, "mean"), number(times, "max"));
        let percentiles = times.get("percentile").and_then(Value::as_object);
        let at = |percent: &str| percentiles.map_or(0.0, |percentiles| number(percentiles, percent));
        let (p99, clipped) = (at("99.000000"), at("99.990000").max(at("99.900000")));
        if p99 > mean * 5.0 {
            caveats.push(format!(
                "{direction}: p99 is {}, {:.0} times the mean of {}: the mean hides what one in a hundred waits for",
                nanos(p99),
                p99 / mean,
                nanos(mean)
            ));
        }
        if max > 1e9 {
            caveats.push(format!(
                "{direction}: one operation took {}: a stall; see the kernel log (dmesg)",
                nanos(max)
            ));
        }
        if clipped >= CLIPPED_NS || max >= CLIPPED_NS && percentiles.is_some() {
            caveats.push(format!(
                "{direction}: fio's percentiles end at 17.1 s; what took longer is reported as that (the maximum is exact)"
            ));
        }
    }
    let mean = |key: &str| of.get(key).and_then(Value::as_object).map_or(0.0, |times| number(times, "mean"));
    let (submission, completion, total) = (mean("slat_ns"), mean("clat_ns"), mean("lat_ns"));
    if submission > completion && completion > 0.0 {
        caveats.push(format!(
            "{direction}: handing operations over took longer ({}) than waiting for them ({}): the submission blocks, as it does \
             through the page cache or with a full device queue",
            nanos(submission),
            nanos(completion)
        ));
    }
    if completion > 0.0 && total > (submission + completion) * 1.1 {
        caveats.push(format!(
            "{direction}: total latency ({}) is more than submission and completion together ({}): the time between is the \
             program's own, too many jobs for the CPUs",
            nanos(total),
            nanos(submission + completion)
        ));
    }
    caveats
}

/// A number; 0 where there is none.
fn number(object: &Map<String, Value>, key: &str) -> f64 {
    object.get(key).and_then(Value::as_f64).unwrap_or(0.0)
}
