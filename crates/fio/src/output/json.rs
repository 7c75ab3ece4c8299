//! fio's JSON and JSON+, with what iolite has besides under keys `iolite`.

use iolite_model::{DiskCounts, DiskUse, LatencyTarget, Nanos, Quantile};
use iolite_stats::Histogram;

use super::bins::bins;
use super::clock;
use super::durations::Durations;
use super::group::{BOUNDS, Direction, Entry, Flow, OfPriority, depth, entries, milliseconds, shares};
use super::result::{Results, SteadyResult, disks_wanted};
use super::steady;
use super::value::{Json, Members};
use iolite_report::parts as shared;

/// Keys that fio 3.42 has and 3.33 has not, and iolite's own: what a comparison with an older fio has to allow for.
#[cfg(test)]
pub(super) const NEWER_KEYS: [&str; 6] = [
    "job_start",
    "latency_target_ns",
    "read_sectors",
    "write_sectors",
    "aggr_read_sectors",
    "aggr_write_sectors",
];

/// The key of all that is not fio's.
pub(super) const OWN_KEY: &str = "iolite";

/// Percentiles of response times under [`OWN_KEY`].
const RESPONSES: [f64; 9] = [1.0, 5.0, 50.0, 90.0, 95.0, 99.0, 99.9, 99.99, 99.999];

/// The whole document; with all bins of the histograms for JSON+. Ends with a line feed.
pub(super) fn json(results: &Results, plus: bool) -> String {
    let seconds = results.ended_unix.0 / 1_000_000_000;
    let mut members = Members::default()
        .with_text("fio version", &results.version)
        .with_int("timestamp", seconds)
        .with_int("timestamp_ms", results.ended_unix.0 / 1_000_000)
        .with_text("time", clock::local(results.ended_unix));
    let global = options(&results.global_settings);
    if !results.global_settings.is_empty() {
        members = members.with("global options", global);
    }
    let jobs = entries(results).iter().map(|entry| job(results, entry, plus)).collect();
    members = members.with("jobs", Json::List(jobs));
    if !results.disks.is_empty() && disks_wanted(results) {
        members = members.with("disk_util", Json::List(results.disks.iter().map(disk).collect()));
    }
    if let Some(idle) = &results.idle {
        members = members.with("cpu_idleness", idle.json());
    }
    members.with(OWN_KEY, own(results)).object().to_string() + "\n"
}

/// Settings; those that stand alone have an empty value.
fn options(settings: &[(String, String)]) -> Json {
    Json::Object(settings.iter().map(|(name, value)| (name.clone(), Json::text(value))).collect())
}

fn job(results: &Results, entry: &Entry<'_>, plus: bool) -> Json {
    let first = entry.first();
    let thread = &first.thread;
    // From the first job's start, as fio counts: what was laid out before is not a job's time.
    let begun = results.jobs.iter().map(|job| job.started_unix).min().unwrap_or(results.ended_unix);
    let elapsed = results.ended_unix.saturating_sub(begun);
    let mut members = Members::default()
        .with_text("jobname", &thread.name)
        .with_int("groupid", thread.group)
        .with_int("job_start", first.thread.reporting.job_start.at(first.started_unix) / 1_000_000)
        .with_int("error", entry.error())
        .with_int("eta", 0)
        .with_int("elapsed", elapsed.0.div_ceil(1_000_000_000));
    // A job that says nothing of its own has none of them.
    let settings = &entry.last().thread.settings;
    if !settings.is_empty() {
        members = members.with("job options", options(settings));
    }
    let directions = entry.directions();
    for &direction in directions.iter().filter(|&&direction| direction != Direction::Mixed) {
        members = members.with(direction.name(), flow(entry, direction, plus));
    }
    if directions.len() > 1 {
        members = members.with("sync", syncs(entry, plus));
    }
    if directions.contains(&Direction::Mixed) {
        members = members.with("mixed", flow(entry, Direction::Mixed, plus));
    }
    let members = distributions(machine(members, entry), entry);
    ends(members, entry).with(OWN_KEY, own_job(entry)).object()
}

fn flow(entry: &Entry<'_>, direction: Direction, plus: bool) -> Json {
    let flow = entry.flow(direction);
    let reporting = entry.reporting();
    let list = |shown: bool| shown.then_some(reporting.percentiles.as_slice());
    let bandwidth = flow.bandwidth.scaled(1.0 / 1024.0);
    let Flow { counted, iops, .. } = flow;
    let members = Members::default()
        .with_int("io_bytes", counted.bytes)
        .with_int("io_kbytes", counted.bytes / 1024)
        .with_int("bw_bytes", counted.bytes_per_second().round() as u64)
        .with_int("bw", (counted.bytes_per_second() / 1024.0).round() as u64)
        .with_float("iops", counted.operations_per_second())
        .with_int("runtime", counted.milliseconds())
        .with_int("total_ios", counted.operations)
        .with_int("short_ios", counted.short)
        .with_int("drop_ios", 0)
        .with("slat_ns", times(&flow.submission, list(reporting.slat_percentiles), plus))
        .with("clat_ns", times(&flow.completion, list(reporting.clat_percentiles), plus))
        .with("lat_ns", times(&flow.total, list(reporting.lat_percentiles), plus));
    priorities(members, entry, direction, plus)
        .with_int("bw_min", bandwidth.min.round() as u64)
        .with_int("bw_max", bandwidth.max.round() as u64)
        .with_float("bw_agg", flow.share)
        .with_float("bw_mean", bandwidth.mean)
        .with_float("bw_dev", bandwidth.deviation)
        .with_int("bw_samples", bandwidth.count)
        .with_int("iops_min", iops.min.round() as u64)
        .with_int("iops_max", iops.max.round() as u64)
        .with_float("iops_mean", iops.mean)
        .with_float("iops_stddev", iops.deviation)
        .with_int("iops_samples", iops.count)
        .object()
}

/// Latencies by I/O priority, where there are several.
fn priorities(members: Members, entry: &Entry<'_>, direction: Direction, plus: bool) -> Members {
    let found = entry.priorities(direction);
    if found.is_empty() {
        return members;
    }
    let (reporting, name) = (entry.reporting(), entry.priority_latency());
    let percentiles = reporting.lat_percentiles || reporting.clat_percentiles;
    let list = percentiles.then_some(reporting.percentiles.as_slice());
    let one = |of: &OfPriority| {
        let (class, level) = of.parts();
        let members = Members::default().with_int("prioclass", class).with_int("prio", level);
        members.with(format!("{name}_ns"), times(&of.times, list, plus)).object()
    };
    members.with("prios", Json::List(found.iter().map(one).collect()))
}

fn syncs(entry: &Entry<'_>, plus: bool) -> Json {
    let (count, durations) = entry.syncs();
    let reporting = entry.reporting();
    let list = reporting.clat_percentiles.then_some(reporting.percentiles.as_slice());
    Members::default().with_int("total_ios", count).with("lat_ns", times(&durations, list, plus)).object()
}

/// What is reported of times: percentiles (in percent) and bins only of times that there are.
fn times(durations: &Durations, percentiles: Option<&[f64]>, plus: bool) -> Json {
    let count = durations.count();
    let mut members = Members::default()
        .with_int("min", durations.min().0)
        .with_int("max", durations.max().0)
        .with_float("mean", durations.mean())
        .with_float("stddev", if count > 0 { durations.standard_deviation() } else { 0.0 })
        .with_int("N", count);
    if let Some(list) = percentiles.filter(|_| count > 0) {
        members = members.with("percentile", percentile(durations, list));
        if plus {
            let bins = bins(durations).into_iter();
            let shown = bins.map(|(nanos, count)| (nanos.to_string(), Json::int(count))).collect();
            members = members.with("bins", Json::Object(shown));
        }
    }
    members.object()
}

fn percentile(histogram: &Histogram, list: &[f64]) -> Json {
    let value = |percent: f64| Json::int(histogram.quantile(Quantile(percent / 100.0)).0);
    Json::Object(list.iter().map(|&percent| (format!("{percent:.6}"), value(percent))).collect())
}

/// What was used of the machine.
fn machine(members: Members, entry: &Entry<'_>) -> Members {
    let (usage, (user, system)) = (entry.usage(), entry.cpu());
    members
        .with_int("job_runtime", milliseconds(entry.job_time()))
        .with_float("usr_cpu", user)
        .with_float("sys_cpu", system)
        .with_int("ctx", usage.context_switches)
        .with_int("majf", usage.major_faults)
        .with_int("minf", usage.minor_faults)
}

fn distributions(members: Members, entry: &Entry<'_>) -> Members {
    let depths = entry.depths();
    let levels = ["1", "2", "4", "8", "16", "32", ">=64"];
    let batches = ["0", "4", "8", "16", "32", "64", ">=64"];
    let (nanos, micros, millis) = entry.latencies().shares();
    let classes = || BOUNDS.iter().map(u64::to_string).chain([">=2000".to_owned()]);
    let row = |values: &[f64]| {
        Json::Object(classes().zip(values.iter().map(|&value| Json::Float(value))).collect())
    };
    members
        .with("iodepth_level", levelled(levels, depths.depths))
        .with("iodepth_submit", levelled(batches, depths.submits))
        .with("iodepth_complete", levelled(batches, depths.completes))
        .with("latency_ns", row(&nanos))
        .with("latency_us", row(&micros))
        .with("latency_ms", row(&millis))
}

fn levelled(names: [&str; 7], counts: [u64; 7]) -> Json {
    let shares = shares(counts, counts.iter().sum(), 0.1);
    let shown = names.into_iter().zip(shares).map(|(name, share)| (name.to_owned(), Json::Float(share)));
    Json::Object(shown.collect())
}

/// Errors, the latency target, the description, the steady state.
fn ends(mut members: Members, entry: &Entry<'_>) -> Members {
    let first = entry.first();
    if let Some((total, number)) = entry.continued() {
        members = members.with_int("total_err", total).with_int("first_error", number);
    }
    let (bound, window, percent) = target(first.thread.latency_target.as_ref());
    // As in fio, a job that has not begun has no depth; one that finds nothing to do has one.
    if entry.has_begun() || first.depth.is_some() {
        members = members
            .with_int("latency_depth", depth(first))
            .with_int("latency_target", bound.0)
            .with_int("latency_target_ns", bound.0)
            .with_float("latency_percentile", percent)
            .with_int("latency_window", window.0 / 1000);
    }
    if let Some(description) = &first.thread.description {
        members = members.with_text("desc", description);
    }
    if let Some(blocks) = entry.blocks() {
        members = members.with("block", blocks.json(&entry.reporting().percentiles));
    }
    if let (Some(asked), Some(found)) = (&first.thread.steady, &first.steady) {
        members = members.with("steadystate", steady_state(&steady::criterion(asked), asked, found));
    }
    members
}

/// Bound, window and percentile of a latency target; without one those that fio reports.
pub(super) fn target(target: Option<&LatencyTarget>) -> (Nanos, Nanos, f64) {
    target.map_or((Nanos(0), Nanos(0), 100.0), |target| {
        (target.bound, target.window, target.quantile.0 * 100.0)
    })
}

fn steady_state(criterion: &str, asked: &crate::language::thread::SteadyState, found: &SteadyResult) -> Json {
    let percent = if asked.percent { "%" } else { "" };
    let mean = steady::means(found);
    let mut data =
        Members::default().with_int("bw_mean", mean.bytes as u64).with_int("iops_mean", mean.iops as u64);
    if asked.measure == crate::language::thread::SteadyMeasure::Latency {
        data = data.with_float("lat_mean", mean.latency);
    }
    let column = |value: fn(&super::result::SteadyPoint) -> f64| {
        Json::List(found.window.iter().map(|point| Json::int(value(point) as u64)).collect())
    };
    data = data.with("iops", column(|point| point.iops)).with("bw", column(|point| point.bytes));
    if asked.measure == crate::language::thread::SteadyMeasure::Latency {
        data = data.with("lat", column(|point| point.latency));
    }
    Members::default()
        .with_text("ss", criterion)
        .with_int("duration", asked.duration.0 / 1_000_000_000)
        .with_int("attained", u8::from(found.attained))
        .with_text("criterion", format!("{:.6}{percent}", found.criterion))
        .with_float("max_deviation", found.max_deviation)
        .with_float("slope", found.slope)
        .with("data", data.object())
        .object()
}

fn disk(disk: &DiskUse) -> Json {
    let members = Members::default().with_text("name", &disk.name);
    let members = disk_counts(members, "", "merges", disk.counts);
    // The names as fio spells them, the one without its plural included.
    let beneath = disk.beneath.into_iter();
    beneath.fold(members, |members, counts| disk_counts(members, "aggr_", "merge", counts)).object()
}

fn disk_counts(members: Members, prefix: &str, write_merges: &str, counts: DiskCounts) -> Members {
    let DiskCounts { ios, merges, sectors, ticks, in_queue, util } = counts;
    let of_both = [("ios", "ios", ios), ("sectors", "sectors", sectors), ("merges", write_merges, merges)];
    let of_both = of_both.into_iter().chain([("ticks", "ticks", ticks)]);
    of_both
        .fold(members, |members, (read, write, counts)| {
            let members = members.with_int(&format!("{prefix}read_{read}"), counts[0]);
            members.with_int(&format!("{prefix}write_{write}"), counts[1])
        })
        .with_int(&format!("{prefix}in_queue"), in_queue)
        .with_float(&format!("{prefix}util"), util)
}

/// What fio has not: response times, the phases in full (intervals, errors by class, the cache), notes.
fn own_job(entry: &Entry<'_>) -> Json {
    let mut responses = Members::default();
    for direction in Direction::APART {
        let shown = entry.responses(direction);
        if shown.count() > 0 {
            responses = responses.with(direction.name(), times(&shown, Some(&RESPONSES), false));
        }
    }
    let notes = entry.jobs.iter().flat_map(|job| &job.thread.notes);
    let mut shown: Vec<&String> = Vec::new();
    notes.for_each(|note| {
        if !shown.contains(&note) {
            shown.push(note);
        }
    });
    let phases = entry.jobs.iter().map(|job| shared::phase(&job.phase).into()).collect();
    Members::default()
        .with("response_ns", responses.object())
        .with_text("cache", entry.first().phase.end.cache.stamp().to_string())
        .with("notes", Json::List(shown.into_iter().map(Json::text).collect()))
        .with("phases", Json::List(phases))
        .object()
}

fn own(results: &Results) -> Json {
    let warnings = results.warnings.iter().map(|warning| shared::warning(warning).into()).collect();
    Members::default()
        .with("run", shared::stored(&results.run).into())
        .with("calibration", shared::stored(&results.calibration).into())
        .with("warnings", Json::List(warnings))
        .with("ending", shared::ending(&results.ending).into())
        .object()
}
