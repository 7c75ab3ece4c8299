//! Which logs a thread writes, and where.

use std::path::PathBuf;

use iolite_model::Nanos;

use super::Logging;
use crate::language::thread::{Clock, Log, LogKind, Thread, ThreadIndex};

/// The logs of a thread.
pub(super) fn logs(logging: &Logging, place: ThreadIndex, thread: &Thread) -> Vec<Log> {
    // A log of what is not measured would be empty: fio leaves it out, apart from those of bandwidth and operations.
    let latencies = [
        (LogKind::Submission, !logging.fewer_stamps && !logging.reporting.disable_slat),
        (LogKind::Completion, !logging.fewer_stamps && !logging.reporting.disable_clat),
        (LogKind::Latency, !logging.fewer_stamps && !logging.reporting.disable_lat),
    ];
    let wanted = latencies.into_iter().filter(|(_, measured)| *measured).map(|(kind, _)| kind);
    let latencies = wanted.map(|kind| (kind, &logging.lat_log));
    let others = [
        (LogKind::Bandwidth, &logging.bw_log),
        (LogKind::Iops, &logging.iops_log),
        (LogKind::Histogram, &logging.hist_log),
    ];
    // As with fio, the alternate epoch wins.
    let alternate = logging.alternate_epoch.then_some(logging.epoch_clock);
    let epoch = alternate.or(logging.unix_epoch.then(Clock::default));
    let asked = others.into_iter().chain(latencies);
    asked
        .filter_map(|(kind, prefix)| prefix.as_deref().map(|prefix| (kind, prefix)))
        .map(|(kind, prefix)| Log {
            kind,
            path: path(logging, kind, if prefix.is_empty() { &thread.name } else { prefix }, place.number),
            window: if kind == LogKind::Histogram { logging.hist_window } else { logging.window },
            value: logging.value,
            offset: logging.offset,
            priority: logging.priority,
            issue_time: logging.issue_time,
            epoch,
            coarseness: logging.coarseness,
            append: !logging.per_job,
            compressed: logging.compressed,
        })
        .collect()
}

/// `PREFIX_KIND.NUMBER.log`, numbers from 1.
fn path(logging: &Logging, kind: LogKind, prefix: &str, number: u32) -> PathBuf {
    let kind = match kind {
        LogKind::Bandwidth => "bw",
        LogKind::Iops => "iops",
        LogKind::Latency => "lat",
        LogKind::Submission => "slat",
        LogKind::Completion => "clat",
        LogKind::Histogram => "clat_hist",
        // Its file is named by the user.
        LogKind::Trace => "iolog",
    };
    let number = if logging.per_job { format!(".{}", u64::from(number) + 1) } else { String::new() };
    let packed = if logging.compressed { ".gz" } else { "" };
    PathBuf::from(format!("{prefix}_{kind}{number}.log{packed}"))
}

/// Length of the intervals that bandwidths and operations a second are reported of.
pub(super) fn interval(logging: &Logging, thread: &Thread) -> Nanos {
    let logged = (logging.bw_log.is_some() || logging.iops_log.is_some()).then_some(logging.window).flatten();
    let steady = thread.steady.map(|steady| steady.interval);
    let averages = logging.bw_average.min(logging.iops_average);
    let shortest = [logged, steady].into_iter().flatten().fold(averages, Nanos::min);
    shortest.max(MIN_INTERVAL)
}

/// The engine's shortest interval.
const MIN_INTERVAL: Nanos = Nanos(10 * Nanos::MILLISECOND.0);
