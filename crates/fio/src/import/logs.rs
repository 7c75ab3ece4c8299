//! fio's logs as a run.

use std::collections::BTreeMap;

use iolite_model::{Access, Bytes, FileTask, Nanos, OpKind};

use super::ImportError;
use iolite_results::Imported;

use super::events::{Counted, DIRECTIONS, Phase, mix, run};
use super::json::storage;
use super::log::{Entry, Log, Quantity, from_start};

/// Nanoseconds of a millisecond.
const MILLISECOND: u64 = 1_000_000;

/// Milliseconds that operations of a log of every one are collected in.
const WINDOW: u64 = 100;

/// What was counted, by the start of the interval and the direction; intervals by their start, with their length, in
/// milliseconds.
type Windows = BTreeMap<(u64, u64), BTreeMap<usize, Counted>>;

/// The run that logs describe: a phase for each thread of each job. `texts` are the files' contents, which the run's id follows
/// from; `modified` is when the last of them was written, in nanoseconds since 1970.
///
/// # Errors
/// No operation is counted in any of them.
pub fn logs(logs: &mut [Log], texts: &[&str], modified: u64) -> Result<Imported, ImportError> {
    let begun = from_start(logs);
    let logs = &*logs;
    let mut jobs: BTreeMap<(&str, Option<u32>), Vec<&Log>> = BTreeMap::new();
    for log in logs {
        jobs.entry((&log.prefix, log.thread)).or_default().push(log);
    }
    let (mut phases, mut uncounted, mut unknown) = (Vec::new(), Vec::new(), false);
    for ((prefix, thread), logs) in jobs {
        let of =
            |quantity| logs.iter().copied().find(|log| log.quantity == quantity && !log.entries.is_empty());
        let windows = windows(&of);
        let name = thread.map_or(prefix.to_owned(), |thread| format!("{prefix}.{thread}"));
        if windows.is_empty() {
            uncounted.push(name);
            continue;
        }
        unknown |= windows.values().flat_map(BTreeMap::values).any(|counted| counted.response.count() == 0);
        // A job that began later did not idle before that.
        let first = windows.keys().map(|(start, _)| *start).min().filter(|_| begun.is_some());
        phases.push(phase(name, windows, first.unwrap_or(0)));
    }
    let files: Vec<&str> = logs.iter().map(|log| log.file.as_str()).collect();
    let source = files.join(" ");
    if phases.is_empty() {
        return Err(ImportError::Empty { file: source });
    }
    let mut note = format!("imported from {} of fio's logs", files.len());
    if unknown {
        note += "; no percentiles where there is neither a histogram log nor a log of every operation";
    }
    if !uncounted.is_empty() {
        note += &format!("; without a count of operations and left out: {}", uncounted.join(", "));
    }
    let length = phases
        .iter()
        .flat_map(|phase| &phase.intervals)
        .map(|(start, length, _)| start.saturating_add(*length))
        .max();
    let started = match begun {
        Some(begun) => begun.saturating_mul(MILLISECOND),
        None => modified.saturating_sub(length.unwrap_or(0)),
    };
    Ok(Imported { events: run(&source, texts, "fio", started, "", phases), note })
}

/// What a job's logs count, from the most exact one: every operation's latency, histograms, averages.
fn windows<'a>(of: &dyn Fn(Quantity) -> Option<&'a Log>) -> Windows {
    let latency = of(Quantity::Latency).or(of(Quantity::Completion));
    if let Some(log) = latency.filter(|log| !log.is_averaged()) {
        return every_operation(log);
    }
    if let Some(log) = of(Quantity::Histogram) {
        return histograms(log);
    }
    of(Quantity::Iops).map(|log| averages(log, latency, of(Quantity::Bandwidth))).unwrap_or_default()
}

fn every_operation(log: &Log) -> Windows {
    let mut windows = Windows::new();
    for entry in &log.entries {
        let start = entry.milliseconds / WINDOW * WINDOW;
        let counted = windows.entry((start, WINDOW)).or_default().entry(entry.direction).or_default();
        counted.operations += 1;
        counted.bytes = counted.bytes.saturating_add(entry.block);
        counted.sum += entry.value;
        counted.longest = counted.longest.max(entry.value as u64);
        counted.response.record(entry.value as u64);
    }
    windows
}

/// Starts and lengths of the windows that end at the entries' times.
fn spans(log: &Log) -> BTreeMap<u64, (u64, u64)> {
    let mut ends: Vec<u64> = log.entries.iter().map(|entry| entry.milliseconds.max(1)).collect();
    ends.sort_unstable();
    ends.dedup();
    // Directions of one window may be logged a few milliseconds apart: these are one.
    let typical = ends.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap_or(0);
    let mut spans = BTreeMap::new();
    // The first window begins with the job; where that began later than the clock, it is as long as the others.
    let first = ends.first().copied().unwrap_or(0);
    let idle = if typical > 0 && first / 4 > typical { first - typical } else { 0 };
    let (mut start, mut last) = (idle, idle);
    for end in ends {
        if last > idle && (end - last).saturating_mul(4) < typical {
            spans.insert(end, (start, last - start));
            continue;
        }
        (start, last) = (last, end);
        spans.insert(end, (start, end - start));
    }
    spans
}

fn histograms(log: &Log) -> Windows {
    let (spans, mut windows) = (spans(log), Windows::new());
    for entry in &log.entries {
        let Some(span) = spans.get(&entry.milliseconds.max(1)) else { continue };
        let counted = windows.entry(*span).or_default().entry(entry.direction).or_default();
        for &(nanos, count) in &entry.buckets {
            counted.operations = counted.operations.saturating_add(count);
            counted.bytes = counted.bytes.saturating_add(count.saturating_mul(entry.block));
            counted.sum += nanos as f64 * count as f64;
            counted.longest = counted.longest.max(nanos);
            counted.response.record_many(nanos, count);
        }
    }
    windows
}

/// Averages of the rate, with those of the latency and the bandwidth of the same time.
fn averages(iops: &Log, latency: Option<&Log>, bandwidth: Option<&Log>) -> Windows {
    let (spans, mut windows) = (spans(iops), Windows::new());
    let near = |log: Option<&Log>, at: u64, direction: usize| -> Option<Entry> {
        let entries = log?.entries.iter().filter(|entry| entry.direction == direction);
        entries.min_by_key(|entry| entry.milliseconds.abs_diff(at)).cloned()
    };
    for entry in &iops.entries {
        let Some(&(start, length)) = spans.get(&entry.milliseconds.max(1)) else { continue };
        let seconds = length as f64 / 1e3;
        // A log of every operation has a one for each.
        let count = if entry.block > 0 { 1.0 } else { entry.value * seconds };
        let counted = windows.entry((start, length)).or_default().entry(entry.direction).or_default();
        counted.operations = counted.operations.saturating_add(count.round() as u64);
        let mean = near(latency, entry.milliseconds, entry.direction);
        counted.sum += mean.as_ref().map_or(0.0, |mean| mean.value) * count.round();
        let longest = mean.and_then(|mean| mean.largest).unwrap_or(0.0);
        counted.longest = counted.longest.max(longest as u64);
        let kib = near(bandwidth, entry.milliseconds, entry.direction);
        let bytes = kib.map_or(count * entry.block as f64, |kib| kib.value * 1024.0 * seconds);
        counted.bytes = counted.bytes.saturating_add(bytes as u64);
    }
    windows
}

/// The phase of a job whose first window begins `first` milliseconds after the run.
fn phase(name: String, windows: Windows, first: u64) -> Phase {
    let total = |direction: usize| -> (u64, u64) {
        let of = windows.values().filter_map(|counted| counted.get(&direction));
        of.fold((0, 0), |(operations, bytes), counted| {
            (operations.saturating_add(counted.operations), bytes.saturating_add(counted.bytes))
        })
    };
    let [reads, writes, trims] = [0, 1, 2].map(total);
    let (operations, bytes) = [reads, writes, trims].into_iter().max().unwrap_or_default();
    let longest = windows.keys().map(|(_, length)| *length).max().unwrap_or(1);
    let (target, backend) = storage(None, &name);
    let task = FileTask {
        name,
        target,
        backend,
        mix: mix(reads.0, writes.0, trims.0),
        access: Access::Random,
        block: Bytes(bytes / operations.max(1)),
        interval: Nanos(longest.max(1).saturating_mul(MILLISECOND)),
        ..FileTask::default()
    };
    let interval = |((start, length), counted): ((u64, u64), BTreeMap<usize, Counted>)| {
        let counted = counted.into_iter().map(|(direction, counted)| (kind(direction), counted)).collect();
        ((start - first).saturating_mul(MILLISECOND), length.saturating_mul(MILLISECOND), counted)
    };
    let started = first.saturating_mul(MILLISECOND);
    Phase { task, started, intervals: windows.into_iter().map(interval).collect(), failed: None }
}

fn kind(direction: usize) -> OpKind {
    DIRECTIONS.get(direction).copied().unwrap_or(OpKind::Read)
}

#[cfg(test)]
mod tests {
    use super::*;
    use iolite_results::Run;
    use std::path::Path;

    fn import(files: &[(&str, &str)]) -> Result<Imported, ImportError> {
        let mut read: Vec<Log> =
            files.iter().map(|(name, text)| Log::read(Path::new(name), text).unwrap()).collect();
        let texts: Vec<&str> = files.iter().map(|(_, text)| *text).collect();
        logs(&mut read, &texts, 1_795_414_227_000_000_000)
    }

    #[test]
    fn values_beyond_all_measure_are_refused_with_their_line() {
        for (name, line) in [
            ("a_iops.1.log", "500, 1e300, 0, 0"),
            ("a_lat.1.log", "500, 10, 0, 18446744073709551615"),
            ("a_lat.1.log", "18446744073709551615, 10, 0, 4096"),
            ("a_clat_hist.1.log", "500, 0, 4096, 18446744073709551615"),
        ] {
            let error = Log::read(Path::new(name), &format!("{line}\n")).unwrap_err().to_string();
            assert!(error.contains("line 1"), "{line}: {error}");
        }
        // The largest values add up without overflow.
        let line = "18446744073709, 9007199254740992, 0, 9007199254740992\n";
        for name in ["a_iops.1.log", "a_lat.1.log", "a_bw.1.log"] {
            let _ = import(&[(name, &line.repeat(4096))]);
        }
    }

    #[test]
    fn every_operation_makes_a_histogram() {
        let text: String = (0..100).map(|at| format!("{}, {}, 0, 4096, 0\n", at * 10, 1000 + at)).collect();
        let run = Run::of(&import(&[("a_lat.1.log", &text)]).unwrap().events).unwrap();
        let summary = run.phases[0].summary(OpKind::Read).unwrap();
        assert_eq!(
            (summary.operations, run.phases[0].totals.response(OpKind::Read).unwrap().count()),
            (100, 100)
        );
        assert!((summary.rate.value - 100.0).abs() < 1.0 && (summary.mean.value - 1049.5).abs() < 1.0);
    }

    #[test]
    fn averages_make_rates_and_means_but_no_percentiles() {
        let iops = "180, 3011, 0, 0, 0\n180, 1000, 1, 0, 0\n280, 3000, 0, 0, 0\n281, 1000, 1, 0, 0\n";
        let imported = import(&[
            ("a_iops.1.log", iops),
            ("a_lat.1.log", "100, 800, 0, 0\n100, 2000, 1, 0\n200, 800, 0, 0\n"),
            ("a_bw.1.log", "180, 12000, 0, 0\n280, 12000, 0, 0\n"),
        ]);
        let imported = imported.unwrap();
        assert!(imported.note.contains("no percentiles"));
        let run = Run::of(&imported.events).unwrap();
        let (reads, writes) =
            (run.phases[0].summary(OpKind::Read).unwrap(), run.phases[0].summary(OpKind::Write).unwrap());
        assert!((reads.rate.value - 3007.0).abs() < 10.0, "{}", reads.rate.value);
        assert!((writes.mean.value - 2000.0).abs() < 1.0 && (writes.rate.value - 1000.0).abs() < 10.0);
        assert_eq!(run.phases[0].totals.response(OpKind::Read).unwrap().count(), 0);
        assert!(import(&[("a_bw.1.log", "180, 12000, 0, 0\n")]).is_err());
    }

    #[test]
    fn times_since_1970_are_when_the_run_and_its_jobs_began() {
        let first = "1795577415500, 1000, 0, 0\n1795577416000, 1000, 0, 0\n1795577416500, 1000, 0, 0\n";
        let second = "1795577425500, 3000, 0, 0\n1795577426000, 3000, 0, 0\n1795577426500, 3000, 0, 0\n";
        let largest = "1795577415500, 700, 90000, 0, 0, 0, 0\n";
        let files = [("a_iops.1.log", first), ("a_lat.1.log", largest), ("b_iops.2.log", second)];
        let imported = import(&files).unwrap();
        let run = Run::of(&imported.events).unwrap();
        assert_eq!(run.info.started_unix, Nanos(1_795_577_415_000 * MILLISECOND));
        assert_eq!(imported.finished(), Nanos(1_795_577_426_500 * MILLISECOND));
        let started: Vec<u64> = run.phases.iter().map(|phase| phase.info.started.0).collect();
        assert_eq!(started, [0, 10_000 * MILLISECOND]);
        for (phase, rate) in run.phases.iter().zip([1000.0, 3000.0]) {
            let summary = phase.summary(OpKind::Read).unwrap();
            assert!((summary.rate.value - rate).abs() < 1.0, "{}", summary.rate.value);
            assert_eq!(phase.end.measured, Nanos(1500 * MILLISECOND));
        }
        assert_eq!(run.phases[0].summary(OpKind::Read).unwrap().max, Some(Nanos(90_000)));
    }
}
