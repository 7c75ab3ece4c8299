//! The log files.

use std::io::Read;
use std::path::Path;

use crate::language::thread::Thread;
use crate::language::thread::{Clock, Log, LogKind, LogValue};
use iolite_model::{
    Bytes, Event, Interval, LoggedOperation, Nanos, OpKind, OpTotals, OperationLog, PhaseRelease, Sink, Stage,
};

use super::super::logs::{AggregateLog, LogWriter};
use super::super::synthetic::{log, thread};
use iolite_synthetic as synthetic;

const MS: u64 = 1_000_000;

/// An operation that came back at so many milliseconds after as many microseconds.
fn operation(kind: OpKind, at: u64, micros: u64) -> LoggedOperation {
    let completed = at * MS;
    let issued = completed.saturating_sub(micros * 1000);
    LoggedOperation {
        kind,
        offset: at * 4096,
        file: 0,
        length: 4096,
        error: None,
        priority: 0,
        intended: issued,
        issued,
        submitted: issued + 2000,
        completed,
        counted: true,
    }
}

fn operations_event(phase: u32, operations: Vec<LoggedOperation>) -> Event {
    Event::Operations(OperationLog { phase, worker: 0, operations })
}

fn one(logs: Vec<Log>) -> Thread {
    let mut thread = thread("job", 0, synthetic::read("job", 4096, 1));
    thread.logs = logs;
    thread.reporting.synchronous = false;
    thread
}

fn started(index: u32) -> Event {
    Event::PhaseReleased(PhaseRelease { phase: index, at_unix: Nanos(1_767_323_045_250 * MS) })
}

/// What is in the file after all these events.
fn written(log: Log, synchronous: bool, events: &[Event]) -> String {
    let path = log.path.clone();
    let mut thread = one(vec![log]);
    thread.reporting.synchronous = synchronous;
    let mut writer = LogWriter::new([(0, &thread)]);
    events.iter().for_each(|event| writer.event(event));
    writer.finish().unwrap();
    std::fs::read_to_string(path).unwrap()
}

fn plain(kind: LogKind, directory: &Path) -> Log {
    log(kind, directory.join("x.log"))
}

#[test]
fn operations_are_reported_one_by_one() {
    let directory = tempfile::tempdir().unwrap();
    let events = [
        started(0),
        operations_event(
            0,
            vec![
                operation(OpKind::Read, 1, 100),
                operation(OpKind::Write, 12, 50),
                operation(OpKind::Trim, 12, 20),
            ],
        ),
    ];
    let of = |kind, synchronous| written(plain(kind, directory.path()), synchronous, &events);
    assert_eq!(
        of(LogKind::Latency, false),
        "1, 100000, 0, 4096, 0, 0\n12, 50000, 1, 4096, 0, 0\n12, 20000, 2, 4096, 0, 0\n"
    );
    assert_eq!(
        of(LogKind::Submission, false),
        "1, 2000, 0, 4096, 0, 0\n12, 2000, 1, 4096, 0, 0\n12, 2000, 2, 4096, 0, 0\n"
    );
    assert_eq!(
        of(LogKind::Completion, false),
        "1, 98000, 0, 4096, 0, 0\n12, 48000, 1, 4096, 0, 0\n12, 18000, 2, 4096, 0, 0\n"
    );
    // Of a synchronous engine all of it is completion.
    assert_eq!(of(LogKind::Submission, true), "");
    assert_eq!(of(LogKind::Completion, true), of(LogKind::Latency, true));
    assert_eq!(of(LogKind::Iops, false), "1, 1, 0, 4096, 0, 0\n12, 1, 1, 4096, 0, 0\n12, 1, 2, 4096, 0, 0\n");
    assert_eq!(of(LogKind::Bandwidth, true).lines().next(), Some("1, 40000, 0, 4096, 0, 0"));
}

#[test]
fn columns_come_as_they_are_asked_for() {
    let directory = tempfile::tempdir().unwrap();
    let mut log = plain(LogKind::Latency, directory.path());
    (log.offset, log.priority, log.issue_time) = (true, true, true);
    let events = [started(0), operations_event(0, vec![operation(OpKind::Write, 12, 50)])];
    assert_eq!(written(log, false, &events), "12, 50000, 1, 4096, 49152, 0x0000, 11950000\n");
}

#[test]
fn what_is_not_in_the_totals_is_not_logged() {
    let directory = tempfile::tempdir().unwrap();
    let log = plain(LogKind::Latency, directory.path());
    let mut thread = one(vec![log.clone()]);
    if let iolite_model::JobTask::Io(task) = &mut thread.task {
        task.ramp = Nanos(1000 * MS).into();
    }
    let mut writer = LogWriter::new([(0, &thread)]);
    let failed = LoggedOperation { error: Some(5), ..operation(OpKind::Read, 1100, 10) };
    let sync = operation(OpKind::Sync, 1200, 10);
    writer.event(&operations_event(
        0,
        vec![
            LoggedOperation { counted: false, ..operation(OpKind::Read, 900, 10) },
            failed,
            sync,
            operation(OpKind::Read, 1300, 10),
            // Still in flight at the end.
            LoggedOperation { counted: false, ..operation(OpKind::Read, 1400, 200_000) },
        ],
    ));
    writer.finish().unwrap();
    assert_eq!(std::fs::read_to_string(log.path).unwrap(), "300, 10000, 0, 4096, 0, 0\n");
}

#[test]
fn times_count_from_the_operation_that_completes_the_amount_of_a_ramp() {
    let directory = tempfile::tempdir().unwrap();
    let log = plain(LogKind::Latency, directory.path());
    let mut thread = one(vec![log.clone()]);
    if let iolite_model::JobTask::Io(task) = &mut thread.task {
        task.ramp = iolite_model::Ramp::Amount(iolite_model::Bytes(8192));
    }
    let mut writer = LogWriter::new([(0, &thread)]);
    let ramp = |at| LoggedOperation { counted: false, ..operation(OpKind::Read, at, 10) };
    writer.event(&operations_event(0, vec![ramp(400)]));
    writer.event(&operations_event(0, vec![ramp(900), operation(OpKind::Read, 1300, 10)]));
    writer.event(&operations_event(0, vec![operation(OpKind::Read, 1400, 10)]));
    writer.finish().unwrap();
    // A nanosecond before the whole millisecond.
    assert_eq!(
        std::fs::read_to_string(log.path).unwrap(),
        "399, 10000, 0, 4096, 0, 0\n499, 10000, 0, 4096, 0, 0\n"
    );
}

/// Reads at 10, 20 and 30 ms, a write at 40, nothing until 260 ms, and a last one at 310.
fn course() -> Vec<Event> {
    let first = vec![
        operation(OpKind::Read, 10, 100),
        operation(OpKind::Read, 20, 200),
        operation(OpKind::Read, 30, 600),
        operation(OpKind::Write, 40, 50),
    ];
    let then = vec![operation(OpKind::Read, 260, 100), operation(OpKind::Read, 310, 100)];
    let end = |measured| Event::PhaseEnded(synthetic::end(0, measured, 0));
    vec![started(0), operations_event(0, first), operations_event(0, then), end(320 * MS)]
}

#[test]
fn windows_report_the_mean_or_the_largest() {
    let directory = tempfile::tempdir().unwrap();
    let mut log = plain(LogKind::Latency, directory.path());
    log.window = Some(Nanos(100 * MS));
    let expected =
        "100, 300000, 0, 0, 0, 0\n100, 50000, 1, 0, 0, 0\n300, 100000, 0, 0, 0, 0\n400, 100000, 0, 0, 0, 0\n";
    assert_eq!(written(log.clone(), true, &course()), expected);
    log.value = LogValue::Largest;
    assert!(written(log.clone(), true, &course()).starts_with("100, 600000, 0, 0, 0, 0\n"));
    log.value = LogValue::Both;
    assert!(written(log.clone(), true, &course()).starts_with("100, 300000, 600000, 0, 0, 0, 0\n"));
}

#[test]
fn rates_are_those_of_whole_windows() {
    let directory = tempfile::tempdir().unwrap();
    let mut log = plain(LogKind::Iops, directory.path());
    log.window = Some(Nanos(100 * MS));
    // The window that the end cuts off is left out.
    assert_eq!(
        written(log.clone(), true, &course()),
        "100, 30, 0, 0, 0, 0\n100, 10, 1, 0, 0, 0\n300, 10, 0, 0, 0, 0\n"
    );
    log.kind = LogKind::Bandwidth;
    assert!(written(log.clone(), true, &course()).starts_with("100, 120, 0, 0, 0, 0\n100, 40, 1, 0, 0, 0\n"));
    // Unless it is the only one: then it is as long as what was measured.
    log.window = Some(Nanos(1000 * MS));
    assert_eq!(written(log, true, &course()), "1000, 63, 0, 0, 0, 0\n1000, 13, 1, 0, 0, 0\n");
}

#[test]
fn windows_are_written_as_they_are_complete() {
    let directory = tempfile::tempdir().unwrap();
    let mut log = plain(LogKind::Latency, directory.path());
    log.window = Some(Nanos(10 * MS));
    let thread = one(vec![log.clone()]);
    let mut writer = LogWriter::new([(0, &thread)]);
    for at in 0..200_000 {
        writer.event(&operations_event(0, vec![operation(OpKind::Read, at, 10)]));
    }
    // Far more than the buffer holds is in the file before the end.
    assert!(std::fs::metadata(&log.path).unwrap().len() > 100_000);
    writer.finish().unwrap();
    assert_eq!(std::fs::read_to_string(&log.path).unwrap().lines().count(), 20_000);
}

#[test]
fn histograms_have_the_columns_of_fio() {
    let directory = tempfile::tempdir().unwrap();
    let mut log = plain(LogKind::Histogram, directory.path());
    assert_eq!(written(log.clone(), true, &course()), "");
    log.window = Some(Nanos(100 * MS));
    for (coarseness, columns) in [(0, 1856), (1, 928), (3, 232), (6, 29)] {
        log.coarseness = coarseness;
        let text = written(log.clone(), true, &course());
        let lines: Vec<Vec<u64>> =
            text.lines().map(|line| line.split(", ").map(|field| field.parse().unwrap()).collect()).collect();
        assert_eq!(lines.len(), 4);
        assert_eq!((lines[0].len(), &lines[0][..3]), (3 + columns, [100, 0, 4096].as_slice()));
        assert_eq!(lines[0][3..].iter().sum::<u64>(), 3);
        // 50 us: bucket 64 * (15 - 6 + 1) + (50000 >> 9) - 64.
        let bucket = (640 + (50_000 >> 9) - 64) >> coarseness;
        assert_eq!(lines[1][3 + bucket], 1);
    }
}

#[test]
fn times_may_count_from_1970() {
    let directory = tempfile::tempdir().unwrap();
    let mut log = plain(LogKind::Latency, directory.path());
    log.epoch = Some(Clock::default());
    let events = [started(0), operations_event(0, vec![operation(OpKind::Read, 12, 10)])];
    assert_eq!(written(log.clone(), true, &events), "1767323045262, 10000, 0, 4096, 0, 0\n");
    log.window = Some(Nanos(100 * MS));
    assert_eq!(written(log, true, &events), "1767323045350, 10000, 0, 0, 0, 0\n");
}

#[test]
fn threads_may_share_a_file() {
    let directory = tempfile::tempdir().unwrap();
    let shared = plain(LogKind::Latency, directory.path());
    let threads = [one(vec![shared.clone()]), one(vec![shared.clone()])];
    let mut writer = LogWriter::new([(0, &threads[0]), (1, &threads[1])]);
    writer.event(&operations_event(1, vec![operation(OpKind::Read, 1, 10)]));
    writer.event(&operations_event(0, vec![operation(OpKind::Read, 2, 20)]));
    writer.finish().unwrap();
    assert_eq!(
        std::fs::read_to_string(shared.path).unwrap(),
        "1, 10000, 0, 4096, 0, 0\n2, 20000, 0, 4096, 0, 0\n"
    );
}

#[test]
fn a_thread_may_run_as_other_phases_and_several_times() {
    let directory = tempfile::tempdir().unwrap();
    let mut log = plain(LogKind::Iops, directory.path());
    log.window = Some(Nanos(100 * MS));
    let mut other = one(vec![Log { path: directory.path().join("other.log"), ..log.clone() }]);
    other.number = 1;
    let threads = [one(vec![log.clone()]), other];
    let mut writer = LogWriter::new(threads.iter().map(|thread| (thread.number, thread)));
    writer.is_phase(0, 1);
    writer.is_phase(1, 0);
    for _ in 0..2 {
        writer.event(&operations_event(1, (1..=20).map(|at| operation(OpKind::Read, at * 10, 10)).collect()));
        writer.event(&Event::PhaseEnded(synthetic::end(1, 200 * MS, 0)));
    }
    writer.event(&operations_event(0, vec![operation(OpKind::Write, 50, 10)]));
    writer.finish().unwrap();
    let expected = "100, 90, 0, 0, 0, 0\n200, 100, 0, 0, 0, 0\n";
    assert_eq!(std::fs::read_to_string(log.path).unwrap(), expected.repeat(2));
    assert_eq!(std::fs::read_to_string(directory.path().join("other.log")).unwrap(), "100, 10, 1, 0, 0, 0\n");
}

#[test]
fn a_log_may_be_compressed() {
    let directory = tempfile::tempdir().unwrap();
    let mut log = plain(LogKind::Latency, directory.path());
    (log.compressed, log.path) = (true, directory.path().join("x.log.fz"));
    let thread = one(vec![log.clone()]);
    let mut writer = LogWriter::new([(0, &thread)]);
    writer.event(&operations_event(0, vec![operation(OpKind::Read, 1, 10)]));
    writer.finish().unwrap();
    let mut text = String::new();
    flate2::read::GzDecoder::new(std::fs::File::open(log.path).unwrap()).read_to_string(&mut text).unwrap();
    assert_eq!(text, "1, 10000, 0, 4096, 0, 0\n");
}

#[test]
fn a_log_that_cannot_be_written_is_reported_at_the_end() {
    let directory = tempfile::tempdir().unwrap();
    let (bad, good) = (directory.path().join("missing/x.log"), directory.path().join("y.log"));
    let logs = vec![
        log(LogKind::Latency, bad.clone()),
        log(LogKind::Iops, good.clone()),
        log(LogKind::Iops, "/dev/full".into()),
    ];
    let thread = one(logs);
    let mut writer = LogWriter::new([(0, &thread)]);
    writer.event(&operations_event(0, vec![operation(OpKind::Read, 1, 10)]));
    let errors = writer.finish().unwrap_err();
    let paths: Vec<&Path> = errors.iter().map(|error| error.path.as_path()).collect();
    assert_eq!(paths, [bad.as_path(), Path::new("/dev/full")]);
    assert!(errors[0].to_string().contains("missing/x.log`: No such file"), "{}", errors[0]);
    assert_eq!(std::fs::read_to_string(good).unwrap(), "1, 1, 0, 4096, 0, 0\n");
}

#[test]
fn all_jobs_together_have_a_bandwidth() {
    let directory = tempfile::tempdir().unwrap();
    let mut log = AggregateLog::new(directory.path());
    let interval = |phase, start: u64, stage, bytes| {
        let op = |kind, bytes| OpTotals {
            kind,
            operations: 1,
            bytes,
            errors: 0,
            response_sum: Nanos(0),
            delay_sum: Nanos(0),
            response_max: Nanos(0),
            response: Default::default(),
            service: Default::default(),
        };
        let ops = vec![op(OpKind::Read, bytes), op(OpKind::Write, 2 * bytes)];
        Event::Interval(Interval { phase, start: Nanos(start * MS), length: Nanos(500 * MS), stage, ops })
    };
    // The second begins 200 ms after the first, but is reported before it.
    for (phase, at) in [(1, 200), (0, 0)] {
        let at_unix = Nanos((1_767_323_045_250 + at) * MS);
        log.event(&Event::PhaseReleased(PhaseRelease { phase, at_unix }));
    }
    log.event(&interval(0, 0, Stage::Ramp, Bytes::MIB.0));
    for phase in [0, 1] {
        log.event(&interval(phase, 500, Stage::Measured, Bytes::MIB.0));
    }
    log.finish().unwrap();
    let text = |name: &str| std::fs::read_to_string(directory.path().join(name)).unwrap();
    // Of the second's 500 ms 200 belong to the next window.
    assert_eq!(text("agg-read_bw.log"), "1000, 3277, 0, 0, 0\n1500, 819, 0, 0, 0\n");
    assert_eq!(text("agg-write_bw.log"), "1000, 6554, 1, 0, 0\n1500, 1638, 1, 0, 0\n");
    assert_eq!(text("agg-trim_bw.log"), "");
    assert_eq!(AggregateLog::new(Path::new("/no/such/place")).finish().unwrap_err().len(), 3);
}
