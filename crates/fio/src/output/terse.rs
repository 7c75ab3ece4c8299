//! fio's terse output: a line of fields with semicolons between them for each job or group.

use iolite_model::{DiskUse, Quantile};
use iolite_stats::Histogram;
use serde::{Deserialize, Serialize};

use super::durations::Durations;
use super::group::{Direction, Entry, Flow, entries, shares};
use super::result::Results;
use super::samples::Samples;

/// Fields that are kept for percentiles, whatever their number.
const PERCENTILES: usize = 20;

/// Versions of the format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TerseVersion {
    /// Without fio's version and the disks; the description on a line of its own.
    V2,
    /// Without trims.
    #[default]
    V3,
    /// With trims.
    V4,
    /// With the number of samples, and with IOPS over time.
    V5,
}

impl TerseVersion {
    /// The version of this number, 2 to 5.
    pub fn of(number: u64) -> Option<TerseVersion> {
        [TerseVersion::V2, TerseVersion::V3, TerseVersion::V4, TerseVersion::V5]
            .into_iter()
            .find(|version| version.number() == number)
    }

    fn number(self) -> u64 {
        match self {
            TerseVersion::V2 => 2,
            TerseVersion::V3 => 3,
            TerseVersion::V4 => 4,
            TerseVersion::V5 => 5,
        }
    }
}

/// The lines of all jobs and groups, each ended by a line feed.
pub fn terse(results: &Results, version: TerseVersion) -> String {
    entries(results).iter().map(|entry| line(results, entry, version)).collect()
}

fn line(results: &Results, entry: &Entry<'_>, version: TerseVersion) -> String {
    let thread = &entry.first().thread;
    let mut fields = vec![version.number().to_string()];
    if version > TerseVersion::V2 {
        fields.push(results.version.clone());
    }
    // A name with a semicolon or a line feed would shift all fields behind it.
    fields.extend([one_field(&thread.name), thread.group.to_string(), entry.error().to_string()]);
    let unified = entry.reporting().unified == 1;
    for direction in Direction::APART {
        if direction == Direction::Trim && version == TerseVersion::V3 {
            continue;
        }
        // All as one stands in the place of the reads.
        let shown = match direction {
            Direction::Read if unified => entry.flow(Direction::Mixed),
            _ if unified => Flow::default(),
            _ => entry.flow(direction),
        };
        fields.extend(flow(entry, &shown, version));
    }
    fields.extend(machine(entry));
    if version > TerseVersion::V2 && super::result::disks_wanted(results) {
        fields.extend(results.disks.iter().flat_map(disk));
    }
    if let Some((total, number)) = entry.continued() {
        fields.extend([total.to_string(), number.to_string()]);
    }
    let mut line = fields.join(";");
    if let Some(description) = &thread.description {
        line += if version == TerseVersion::V2 { "\n" } else { ";" };
        line += &description.replace(['\n', '\r'], " ");
    }
    line + "\n"
}

fn one_field(text: &str) -> String {
    text.replace([';', '\n', '\r'], "_")
}

fn flow(entry: &Entry<'_>, flow: &Flow, version: TerseVersion) -> Vec<String> {
    let counted = flow.counted;
    let rate = counted.bytes_per_second();
    let mut fields = vec![
        (counted.bytes / 1024).to_string(),
        ((rate / 1024.0).round() as u64).to_string(),
        (counted.operations_per_second().round() as u64).to_string(),
        counted.milliseconds().to_string(),
    ];
    fields.extend(times(&flow.submission));
    fields.extend(times(&flow.completion));
    // As with fio 3.33, those of the total latency take the place of the completion latency's.
    let total = entry.reporting().lat_percentiles;
    fields.extend(percentiles(entry, if total { &flow.total } else { &flow.completion }));
    fields.extend(times(&flow.total));
    let Samples { count, min, max, mean, deviation } = flow.bandwidth.scaled(1.0 / 1024.0);
    fields.extend([
        format!("{}", min.round() as u64),
        format!("{}", max.round() as u64),
        format!("{:.6}%", flow.share),
    ]);
    fields.extend([format!("{mean:.6}"), format!("{deviation:.6}")]);
    if version == TerseVersion::V5 {
        let iops = flow.iops;
        fields.push(count.to_string());
        fields.extend([format!("{}", iops.min.round() as u64), format!("{}", iops.max.round() as u64)]);
        fields.extend([format!("{:.6}", iops.mean), format!("{:.6}", iops.deviation)]);
        fields.push(iops.count.to_string());
    }
    fields
}

/// Shortest, longest, mean and deviation in microseconds.
fn times(durations: &Durations) -> [String; 4] {
    let deviation = if durations.count() > 0 { durations.standard_deviation() } else { 0.0 };
    let mean = durations.mean();
    [
        (durations.min().0 / 1000).to_string(),
        (durations.max().0 / 1000).to_string(),
        format!("{:.6}", mean / 1000.0),
        format!("{:.6}", deviation / 1000.0),
    ]
}

fn percentiles(entry: &Entry<'_>, histogram: &Histogram) -> Vec<String> {
    let reporting = entry.reporting();
    let wanted = reporting.clat_percentiles || reporting.lat_percentiles;
    let list = if wanted { reporting.percentiles.as_slice() } else { &[] };
    let columns = list.iter().take(PERCENTILES).map(|&percent| {
        let nanos = histogram.quantile(Quantile(percent / 100.0)).0;
        format!("{percent:.6}%={}", nanos / 1000)
    });
    let mut fields: Vec<String> = columns.collect();
    fields.resize(PERCENTILES, "0%=0".into());
    fields
}

/// What was used of the machine, depths, and classes of latencies.
fn machine(entry: &Entry<'_>) -> Vec<String> {
    let (usage, (user, system), depths) = (entry.usage(), entry.cpu(), entry.depths().depths);
    let mut fields = vec![format!("{user:.6}%"), format!("{system:.6}%")];
    fields.extend([usage.context_switches, usage.major_faults, usage.minor_faults].map(|n| n.to_string()));
    let shares = shares(depths, depths.iter().sum(), 0.1);
    fields.extend(shares.map(|share| format!("{share:.1}%")));
    let (micros, millis) = entry.latencies().with_nanos_in_micros();
    fields.extend(micros.iter().chain(&millis).map(|share| format!("{share:.2}%")));
    fields
}

fn disk(disk: &DiskUse) -> Vec<String> {
    let counts = disk.counts;
    let numbers = [counts.ios, counts.merges, counts.ticks];
    let mut fields = vec![disk.name.clone()];
    fields.extend(numbers.iter().flatten().map(u64::to_string));
    fields.extend([counts.in_queue.to_string(), format!("{:.2}%", counts.util)]);
    fields
}
