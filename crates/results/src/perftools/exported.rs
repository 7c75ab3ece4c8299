//! What iolite's own export contains beyond the columns of PerfTools.

use iolite_model::{Bytes, Cache, CacheStamp, Ending, OpKind, TimedBy};
use iolite_stats::{KindBounds, RateBounds};

use super::{Cells, Counted, Row};

/// Columns of a line that iolite has written.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Exported {
    /// The run that was exported.
    pub(super) run: String,
    pub(super) ending: Ending,
    /// Operations of any kind that failed.
    pub(super) errors: u64,
    pub(super) commits: Counted,
    pub(super) timed_by: TimedBy,
    /// The 95 % intervals of the rates.
    pub(super) bounds: RateBounds,
    /// Counters that amount to the cache stamp of the line, where they follow from its columns.
    pub(super) cache: Cache,
    /// The cache stamp, where no counters follow from the columns.
    lost_stamp: Option<String>,
}

impl Exported {
    /// `None` where the line is not iolite's.
    pub(super) fn of(cells: Cells<'_>) -> Option<Exported> {
        let run = cells.text("Run")?.to_owned();
        let stamp = cells.text("Stamp").unwrap_or_default();
        let cache = cache(stamp, cells);
        let is_lost = !stamp.is_empty() && cache.stamp().to_string() != stamp;
        Some(Exported {
            run,
            ending: ending(cells),
            errors: cells.number("Errors").unwrap_or(0.0) as u64,
            commits: Counted {
                operations: cells.number("Commits").unwrap_or(0.0) as u64,
                mean_ms: cells.number("CommitMeanMs"),
                max_ms: cells.number("CommitMaxMs"),
            },
            timed_by: match cells.text("TimedBy") {
                Some("database") => TimedBy::Database,
                _ => TimedBy::Client,
            },
            bounds: bounds(cells),
            cache: if is_lost { Cache::default() } else { cache },
            lost_stamp: is_lost.then(|| stamp.to_owned()),
        })
    }
}

/// How the phase ended; one that was running when it was exported has totals up to then.
fn ending(cells: Cells<'_>) -> Ending {
    match cells.text("Ending") {
        Some("failed") => {
            Ending::Failed(cells.text("Failure").unwrap_or("the error was not exported").to_owned())
        }
        Some("interrupted" | "running") => Ending::Interrupted,
        _ => Ending::Completed,
    }
}

fn bounds(cells: Cells<'_>) -> RateBounds {
    let of = |(kind, name): (OpKind, &str)| {
        let end = |end: &str| cells.number(&format!("{name}{end}"));
        let (rate_low, rate_high) = (end("Low"), end("High"));
        let kind = kind.name().to_owned();
        let is_known = rate_low.is_some() || rate_high.is_some();
        is_known.then_some(KindBounds { kind, rate_low, rate_high, mean_low: None, mean_high: None })
    };
    let kinds = [(OpKind::Read, "ReadsPS"), (OpKind::Write, "WritesPS"), (OpKind::Commit, "CommitsPS")];
    RateBounds { kinds: kinds.into_iter().filter_map(of).collect() }
}

/// The counters of the reads: what was requested, and the share of it that, by the stamp, reached the device.
fn cache(stamp: &str, cells: Cells<'_>) -> Cache {
    let (Some(reads), Some(block)) = (cells.number("LogicalReads"), cells.number("BlockBytes")) else {
        return Cache::default();
    };
    let requested = reads * block;
    let device = cells.number("DeviceReadBytes");
    let (name, share) = stamp.split_once(" (").unwrap_or((stamp, ""));
    let share = share.trim_end_matches("%)").trim().parse::<f64>().ok().map(|percent| percent / 100.0);
    let of_device = |reached: f64| Cache {
        device_read: Some(Bytes(device.unwrap_or(reached).max(reached) as u64)),
        own_read: Some(Bytes(reached as u64)),
        ..Cache::default()
    };
    let counted = match (name, share) {
        ("device", _) => of_device(requested),
        ("cached", _) => of_device(0.0),
        ("partly cached", Some(share)) => of_device(requested * (1.0 - share)),
        ("unwritten", share) => Cache { unwritten: share, ..Cache::default() },
        ("compressed", share) => Cache { compressed: share, ..Cache::default() },
        ("zeros", share) => Cache { zeros: share, ..Cache::default() },
        ("unknown", _) => Cache {
            device_read: device
                .filter(|_| stamp != CacheStamp::Unknown.name())
                .map(|device| Bytes(device as u64)),
            unattributed: stamp == CacheStamp::ServerNotCounted.name(),
            ..Cache::default()
        },
        _ => Cache::default(),
    };
    Cache { requested_read: Bytes(requested as u64), ..counted }
}

/// Where the rows of a run come from, and what they do not contain.
pub(super) fn note(file: &str, rows: &[Row]) -> String {
    let exported: Vec<&Exported> = rows.iter().filter_map(|row| row.exported.as_ref()).collect();
    let run = exported.first().map_or("", |first| first.run.as_str());
    let mut note = format!(
        "imported from {file}: the totals of run {run}, without its time series, its histograms (and so its percentiles) and the facts \
         of its database; `iolite results export {run} -o FILE` copies all of it from its own results database"
    );
    if rows.iter().any(|row| row.operation.kinds().len() > 1) && exported.iter().any(|of| of.errors > 0) {
        note += "; errors of all kinds of operation are counted with the first";
    }
    let mut stamps: Vec<&str> = exported.iter().filter_map(|of| of.lost_stamp.as_deref()).collect();
    stamps.dedup();
    if !stamps.is_empty() {
        note += &format!("; its cache stamp was: {}", stamps.join(", "));
    }
    note
}
