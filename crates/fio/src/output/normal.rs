//! fio's human-readable text, aligned as its readers know it, and what iolite adds at its end.

use iolite_model::{DiskCounts, DiskUse, OpKind};

use super::clock;
use super::closing::one_line;
use super::group::{
    BOUNDS, Counted, Direction, Entry, Flow, depth, entries, error_text, milliseconds, shares,
};
use super::json::target;
use super::number::Figures;
use super::result::Results;
use super::samples::Samples;
use super::times;
use super::{closing, steady};
use crate::language::thread::Reporting;

/// The whole text: jobs and groups, what each reporting group did together, disks, and what iolite adds.
pub fn normal(results: &Results) -> String {
    let entries = entries(results);
    let mut out = String::from("\n");
    for entry in &entries {
        out += &job(results, entry, figures(entry));
    }
    out += &groups(&entries);
    if super::result::disks_wanted(results) {
        out += &disks(&results.disks);
    }
    if let Some(idle) = &results.idle {
        out += &idle.text();
    }
    out + &closing::closing(results, &entries)
}

fn figures(entry: &Entry<'_>) -> Figures {
    let reporting = entry.reporting();
    let Reporting { kb_base, unit_base, significant, .. } = *reporting;
    Figures { kb_base, unit_base, significant }
}

fn job(results: &Results, entry: &Entry<'_>, figures: Figures) -> String {
    let first = entry.first();
    // As in fio, nothing is said of jobs that only create files.
    if !entry.has_begun() && entry.error() == 0 {
        return String::new();
    }
    let mut out = format!(
        "{}: (groupid={}, jobs={}): err={}: pid={}: {}\n",
        one_line(&first.thread.name),
        first.thread.group,
        entry.jobs.len(),
        error(entry.error()),
        first.process,
        clock::local(results.ended_unix)
    );
    if let Some(description) = &first.thread.description {
        out += &format!("  Description  : [{}]\n", one_line(description));
    }
    for direction in entry.directions() {
        if entry.counted(direction).operations > 0 {
            out += &rendered(entry, direction, &entry.flow(direction), figures);
        }
    }
    out += &latencies(entry);
    out += &syncs(entry);
    out += &machine(entry);
    out += &issued(entry);
    out += &ends(entry, figures);
    out
}

fn error(number: i32) -> String {
    match number {
        0 => " 0".into(),
        number => format!("{number:2} (error={})", error_text(number)),
    }
}

/// What was done in a direction.
fn rendered(entry: &Entry<'_>, direction: Direction, flow: &Flow, figures: Figures) -> String {
    let (reporting, counted) = (entry.reporting(), flow.counted);
    let zones = if direction == Direction::Write && !entry.is_zoned() { "; 0 zone resets" } else { "" };
    let mut out = format!(
        "  {}: IOPS={}, BW={}({}/{}msec){zones}\n",
        direction.name(),
        figures.count(counted.operations_per_second()),
        figures.rate_in_both(counted.bytes_per_second()),
        figures.size(counted.bytes as f64),
        counted.milliseconds()
    );
    let all = [
        ("slat", &flow.submission, reporting.slat_percentiles),
        ("clat", &flow.completion, reporting.clat_percentiles),
        ("lat", &flow.total, reporting.lat_percentiles),
    ];
    all.iter().for_each(|(name, histogram, _)| out += &times::line(name, histogram));
    let (name, priorities) = (entry.priority_latency(), entry.priorities(direction));
    for of in &priorities {
        let (class, level) = of.parts();
        out += &times::line(&format!("    {name} prio {class}/{level}"), &of.times);
    }
    for (name, histogram, percentiles) in all {
        if percentiles && histogram.count() > 0 {
            out += &times::percentiles(name, histogram, &reporting.percentiles);
        }
    }
    if reporting.clat_percentiles || reporting.lat_percentiles {
        let all: u64 = priorities.iter().map(|of| of.times.count()).sum();
        for of in &priorities {
            let ((class, level), share) = (of.parts(), of.times.count() as f64 / all as f64 * 100.0);
            let name = format!("{name} prio {class}/{level} ({share:.2}% of IOs)");
            out += &times::percentiles(&name, &of.times, &reporting.percentiles);
        }
    }
    if flow.bandwidth.count > 0 {
        out += &bandwidth(flow, figures);
        let Samples { count, min, max, mean, deviation } = flow.iops;
        out += &format!(
            "   iops        : min={:5}, max={:5}, avg={mean:5.2}, stdev={deviation:5.2}, samples={count}\n",
            min.round() as u64,
            max.round() as u64
        );
    }
    out
}

fn bandwidth(flow: &Flow, figures: Figures) -> String {
    let (base, units) =
        if figures.kb_base == 1000 { (1000.0, ["kB/s", "MB/s"]) } else { (1024.0, ["KiB/s", "MiB/s"]) };
    let mut samples = flow.bandwidth.scaled(1.0 / base);
    let mut unit = units[0];
    // Seven digits are too many, provided that nothing gets lost: as fio was seen to do. Bits are not for this line.
    if samples.min > 2_000.0 && samples.max > 999_999.0 {
        (samples, unit) = (samples.scaled(1.0 / base), units[1]);
    }
    let Samples { count, min, max, mean, deviation } = samples;
    format!(
        "   bw ({unit:>7}): min={:5}, max={:5}, per={:3.2}%, avg={mean:5.2}, stdev={deviation:5.2}, samples={count}\n",
        min.round() as u64,
        max.round() as u64,
        flow.share
    )
}

/// The classes of latencies that occurred, five in a line.
fn latencies(entry: &Entry<'_>) -> String {
    let (nanos, micros, millis) = entry.latencies().shares();
    let mut out = String::new();
    for (unit, shares) in [("nsec", nanos.as_slice()), ("usec", &micros), ("msec", &millis)] {
        let names = BOUNDS.iter().map(u64::to_string).chain([">=2000".to_owned()]);
        let occurred: Vec<String> = names
            .zip(shares)
            .filter(|(_, share)| **share > 0.0)
            .map(|(name, share)| format!("{name}={share:.2}%"))
            .collect();
        for line in occurred.chunks(5) {
            out += &format!("  lat ({unit})   : {}\n", line.join(", "));
        }
    }
    out
}

fn syncs(entry: &Entry<'_>) -> String {
    let (count, histogram) = entry.syncs();
    if count == 0 {
        return String::new();
    }
    let reporting = entry.reporting();
    let mut out = String::from("  fsync/fdatasync/sync_file_range:\n");
    out += &times::line("sync", &histogram);
    if reporting.clat_percentiles {
        out += &times::percentiles("sync", &histogram, &reporting.percentiles);
    }
    out
}

fn machine(entry: &Entry<'_>) -> String {
    let (usage, (user, system), depths) = (entry.usage(), entry.cpu(), entry.depths());
    let row = |counts: [u64; 7]| shares(counts, counts.iter().sum(), 0.1).map(|share| format!("{share:.1}"));
    let levels = |names: [&str; 7], counts: [u64; 7]| {
        let rendered = names.iter().zip(row(counts)).map(|(name, share)| format!("{name}={share}%"));
        rendered.collect::<Vec<_>>().join(", ")
    };
    let batches = ["0", "4", "8", "16", "32", "64", ">=64"];
    format!(
        "  cpu          : usr={user:.2}%, sys={system:.2}%, ctx={}, majf={}, minf={}\n  IO depths    : {}\n     submit    \
         : {}\n     complete  : {}\n",
        usage.context_switches,
        usage.major_faults,
        usage.minor_faults,
        levels(["1", "2", "4", "8", "16", "32", ">=64"], depths.depths),
        levels(batches, depths.submits),
        levels(batches, depths.completes)
    )
}

fn issued(entry: &Entry<'_>) -> String {
    let flows = Direction::APART.map(|direction| {
        let counted = entry.counted(direction);
        (counted.operations, counted.short)
    });
    let syncs: u64 = entry.jobs.iter().map(|job| job.phase.totals.operations(OpKind::Sync)).sum();
    let [(reads, short_reads), (writes, short_writes), (trims, short_trims)] = flows;
    format!(
        "     issued rwts: total={reads},{writes},{trims},{syncs} short={short_reads},{short_writes},{short_trims},0 \
         dropped=0,0,0,0\n"
    )
}

/// Errors, latency target, steady state.
fn ends(entry: &Entry<'_>, figures: Figures) -> String {
    let first = entry.first();
    let mut out = String::new();
    if let Some((total, number)) = entry.continued().filter(|(total, _)| *total > 0) {
        out += &format!("     errors    : total={total}, first_error={number}/<{}>\n", error_text(number));
    }
    let (bound, window, percent) = target(first.thread.latency_target.as_ref());
    out += &format!(
        "     latency   : target={}, window={}, percentile={percent:.2}%, depth={}\n",
        bound.0,
        window.0 / 1000,
        depth(first)
    );
    if let Some(blocks) = entry.blocks() {
        out += &blocks.text(&entry.reporting().percentiles);
    }
    if let (Some(asked), Some(found)) = (&first.thread.steady, &first.steady) {
        let means = steady::means(found);
        let percent = if asked.percent { "%" } else { "" };
        let deviation = if asked.slope { "" } else { " mean dev" };
        out += &format!(
            "  steadystate  : attained={}, bw={}, iops={}, {}{deviation}={:.3}{percent}\n",
            if found.attained { "yes" } else { "no" },
            figures.rate_in_both(means.bytes),
            figures.count(means.iops),
            steady::word(asked).replace('_', " "),
            found.criterion
        );
    }
    out
}

/// What each reporting group did: all together, and from its slowest job to its fastest.
fn groups(entries: &[Entry<'_>]) -> String {
    let mut numbers: Vec<u32> = entries.iter().map(|entry| entry.first().thread.group).collect();
    numbers.dedup();
    let mut out = String::new();
    for number in numbers {
        let members: Vec<&Entry<'_>> =
            entries.iter().filter(|entry| entry.first().thread.group == number).collect();
        out += &format!("\nRun status group {number} (all jobs):\n");
        let Some(first) = members.first() else { continue };
        for direction in first.directions() {
            let counted: Vec<Counted> = members.iter().map(|entry| entry.counted(direction)).collect();
            out += &group_line(direction, &counted, figures(first));
        }
    }
    out
}

fn group_line(direction: Direction, flows: &[Counted], figures: Figures) -> String {
    let flows: Vec<&Counted> = flows.iter().filter(|flow| flow.operations > 0).collect();
    let rates = || flows.iter().map(|flow| flow.bytes_per_second());
    let Some(longest) = flows.iter().map(|flow| flow.runtime).max() else { return String::new() };
    let shortest = flows.iter().map(|flow| flow.runtime).min().unwrap_or(0);
    let bytes = flows.iter().map(|flow| flow.bytes).sum::<u64>() as f64;
    let (slowest, other_slowest) = figures.rate(rates().fold(f64::INFINITY, f64::min));
    let (fastest, other_fastest) = figures.rate(rates().fold(0.0, f64::max));
    format!(
        "  {:>5}: bw={}, {slowest}-{fastest} ({other_slowest}-{other_fastest}), io={} ({}), run={}-{}msec\n",
        direction.name().to_uppercase(),
        figures.rate_in_both(bytes * 1e9 / longest.max(1) as f64),
        figures.size(bytes),
        figures.size_in_other(bytes),
        milliseconds(shortest),
        milliseconds(longest)
    )
}

fn disks(disks: &[DiskUse]) -> String {
    if disks.is_empty() {
        return String::new();
    }
    let mut out = String::from("\nDisk stats (read/write):\n");
    for disk in disks {
        let indent = if disk.beneath.is_some() { "    " } else { "  " };
        out += &format!("{indent}{}: {}", disk.name, disk_counts("", disk.counts));
        if let Some(beneath) = disk.beneath {
            out += &format!(", {}", disk_counts("aggr", beneath));
        }
        out.push('\n');
    }
    out
}

fn disk_counts(prefix: &str, counts: DiskCounts) -> String {
    let DiskCounts { ios, sectors, merges, ticks, in_queue, util } = counts;
    // As fio spells it.
    let sectors_of = if prefix.is_empty() { "sectors" } else { "aggsectors" };
    format!(
        "{prefix}ios={}/{}, {sectors_of}={}/{}, {prefix}merge={}/{}, {prefix}ticks={}/{}, {prefix}in_queue={in_queue}, \
         {prefix}util={util:3.2}%",
        ios[0], ios[1], sectors[0], sectors[1], merges[0], merges[1], ticks[0], ticks[1]
    )
}
