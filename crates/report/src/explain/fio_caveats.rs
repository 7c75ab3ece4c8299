//! Caveats in a result of fio's.

use serde_json::{Map, Value};

use super::caveat::{Caveat, Subject};
use super::tree::{Figure, Unit};

/// Engines that have at most one operation in flight.
const SYNCHRONOUS: [&str; 12] = [
    "sync",
    "psync",
    "vsync",
    "pvsync",
    "pvsync2",
    "mmap",
    "splice",
    "null",
    "ftruncate",
    "falloc",
    "e4defrag",
    "cpuio",
];

/// fio's histograms end here: longer times are reported as this.
const CLIPPED_NS: f64 = 17.0e9;

/// What a job has without direct I/O.
const BUFFERED: &str = "no direct=1";

/// The largest request that devices get, mostly, in bytes.
const LARGEST_REQUEST: f64 = 1_310_720.0;

/// Less of what was asked for at the device is a cache's work.
const REACHED: f64 = 0.5;

/// Warnings about a job.
pub(super) fn caveats(document: &Value, job: &Map<String, Value>) -> Vec<Subject> {
    let job = Job { job, global: document.get("global options").and_then(Value::as_object) };
    let mut caveats: Vec<Subject> = job.errors().map(Subject::from).collect();
    for direction in ["read", "write", "trim", "mixed"] {
        if let Some(of) = job.job.get(direction).and_then(Value::as_object)
            && number(of, "total_ios") > 0.0
        {
            let found = amount(of).into_iter().chain(steadiness(of)).chain(times(of));
            caveats.extend(found.map(|caveat| caveat.of(direction)));
        }
    }
    let of_job = [job.cached(document), job.depth(), job.rate(), job.processor(), job.contents()];
    caveats.extend(of_job.into_iter().flatten().map(Subject::from));
    caveats
}

/// Caveats about the run as a whole.
pub(super) fn run_caveats(document: &Value) -> Option<Caveat> {
    let global = document.get("global options").and_then(Value::as_object);
    let jobs =
        || document.get("jobs").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_object);
    let disks = document.get("disk_util").and_then(Value::as_array).into_iter().flatten();
    let busiest = disks.filter_map(|disk| disk.get("util")?.as_f64()).reduce(f64::max)?;
    let is_limit = busiest >= 90.0 || jobs().count() == 0 || jobs().any(|job| Job { job, global }.paced());
    (!is_limit).then_some(Caveat::IdleDevice(busiest))
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
        ["rate", "rate_iops", "thinktime"].iter().any(|name| self.flag(name))
    }

    fn errors(&self) -> impl Iterator<Item = Caveat> {
        let (error, total) = (number(self.job, "error"), number(self.job, "total_err"));
        let steady = self.job.get("steadystate").and_then(|steady| steady.get("attained")?.as_u64());
        [
            (error != 0.0).then_some(Caveat::JobError(error)),
            (total > 0.0).then_some(Caveat::JobFailures(total)),
            (steady == Some(0)).then_some(Caveat::NotSteady),
        ]
        .into_iter()
        .flatten()
    }

    /// Whether memory has served what the storage was asked for.
    fn cached(&self, document: &Value) -> Option<Caveat> {
        let reads = self.job.get("read")?.as_object().filter(|reads| number(reads, "total_ios") > 0.0);
        let direct = self.flag("direct") || self.option("buffered").is_some_and(|buffered| buffered == "0");
        if direct || self.engine() == "null" {
            return None;
        }
        let Some(reads) = reads else {
            let unless = "end_fsync, fsync or sync";
            return Some(Caveat::BufferedWrites { without: BUFFERED, unless });
        };
        if let Some(share) = reached(document).filter(|share| *share < REACHED) {
            return Some(Caveat::DeviceShare(share));
        }
        let mean = times_of(reads).map_or(0.0, |times| number(times, "mean"));
        Some(Caveat::of_buffered_reads(mean, BUFFERED))
    }

    /// Whether the depth that was asked for was reached.
    fn depth(&self) -> Option<Caveat> {
        let (asked, engine) = (self.depth_asked(), self.engine());
        if asked <= 1 {
            return None;
        }
        if SYNCHRONOUS.contains(&engine) {
            return Some(Caveat::DepthWithoutEffect { asked, engine: engine.to_owned() });
        }
        let alone = number(self.job.get("iodepth_level")?.as_object()?, "1");
        let why = if engine == "libaio" && !self.flag("direct") {
            "libaio without direct=1 blocks during submission"
        } else {
            "submission blocks, or operations complete immediately"
        };
        (alone >= 90.0 && !self.paced()).then_some(Caveat::DepthLevels { asked, alone, why })
    }

    fn rate(&self) -> Option<Caveat> {
        (self.flag("rate") || self.flag("rate_iops")).then_some(Caveat::CoordinatedOmission)
    }

    fn processor(&self) -> Option<Caveat> {
        let (user, system) = (number(self.job, "usr_cpu"), number(self.job, "sys_cpu"));
        (user + system >= 90.0).then_some(Caveat::CpuBound { user, system })
    }

    fn contents(&self) -> Option<Caveat> {
        let writes = self.job.get("write").and_then(Value::as_object)?;
        let is_written = number(writes, "total_ios") > 0.0 && self.flag("zero_buffers");
        is_written.then_some(Caveat::Zeros(" (zero_buffers)"))
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
fn amount(of: &Map<String, Value>) -> Vec<Caveat> {
    let (runtime, operations) = (number(of, "runtime"), number(of, "total_ios"));
    let mut caveats: Vec<_> = Caveat::of_length(runtime / 1e3).into_iter().collect();
    let min = [(99.99, 100_000.0), (99.9, 10_000.0), (99.0, 1_000.0)];
    if let Some((percent, needed)) = min.into_iter().rfind(|(_, needed)| operations < *needed) {
        let count = |count| Figure(count, Unit::Count);
        caveats.push(Caveat::TooFew { operations: count(operations), percent, needed: count(needed) });
    }
    let incomplete = [
        ("short_ios", "transferred fewer bytes than requested"),
        ("drop_ios", "were dropped before they were issued"),
    ];
    let incomplete = incomplete.map(|(key, what)| (number(of, key), what)).into_iter();
    caveats.extend(
        incomplete.filter(|(count, _)| *count > 0.0).map(|(count, what)| Caveat::Incomplete(count, what)),
    );
    caveats
}

/// Whether it was the same all the time.
fn steadiness(of: &Map<String, Value>) -> Vec<Caveat> {
    let (mean, min) = (number(of, "bw_mean"), number(of, "bw_min"));
    let (exact, deviation) = (number(of, "bw"), number(of, "bw_dev"));
    let rate = |value: f64| Figure(value, Unit::KibibytesPerSecond);
    let mut caveats = Vec::new();
    if number(of, "bw_samples") < 4.0 {
        return caveats;
    }
    if min < mean * 0.5 {
        caveats.push(Caveat::SlowInterval { interval: "half second", min: rate(min), mean: rate(mean) });
    } else if deviation > mean * 0.3 {
        let percent = deviation / mean * 100.0;
        caveats.push(Caveat::Unsteady { what: "bandwidth", percent, how: " (write_bw_log)" });
    }
    if exact > 0.0 && (mean / exact - 1.0).abs() > 0.1 {
        caveats.push(Caveat::SampledApart { mean: rate(mean), exact: rate(exact) });
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

fn times(of: &Map<String, Value>) -> Vec<Caveat> {
    let mut caveats = Vec::new();
    if let Some(times) = times_of(of) {
        let (mean, max) = (number(times, "mean"), number(times, "max"));
        let percentiles = times.get("percentile").and_then(Value::as_object);
        let at = |percent: &str| percentiles.map_or(0.0, |percentiles| number(percentiles, percent));
        caveats.extend(Caveat::of_times(mean, at("99.000000"), max));
        let clipped = at("99.990000").max(at("99.900000"));
        if clipped >= CLIPPED_NS || max >= CLIPPED_NS && percentiles.is_some() {
            caveats.push(Caveat::Clipped);
        }
    }
    let nanos = |value: f64| Figure(value, Unit::Nanos);
    let mean = |key: &str| of.get(key).and_then(Value::as_object).map_or(0.0, |times| number(times, "mean"));
    let (submission, completion, total) = (mean("slat_ns"), mean("clat_ns"), mean("lat_ns"));
    if submission > completion && completion > 0.0 {
        let (submission, completion) = (nanos(submission), nanos(completion));
        caveats.push(Caveat::SubmissionBlocks { submission, completion });
    }
    let parts = submission + completion;
    if completion > 0.0 && total > parts * 1.1 {
        caveats.push(Caveat::OwnTime { total: nanos(total), parts: nanos(parts) });
    }
    caveats
}

/// A number; 0 where there is none.
fn number(object: &Map<String, Value>, key: &str) -> f64 {
    object.get(key).and_then(Value::as_f64).unwrap_or(0.0)
}
