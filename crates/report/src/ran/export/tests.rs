use super::*;
use crate::ran::{ListedTotals, history, history_json};
use crate::styler::Style;
use iolite_model::{
    Bytes, DbOperation, Durability, HistogramBytes, OpTotals, RunId, Stop, TimedBy, WorkerTotals,
};
use iolite_stats::{Histogram, KindBounds, RateBounds};

const RAN_IO: DbOperation =
    DbOperation::RanIo { transaction_length: 50, hang: Nanos(2_000_000), read_percent: 70 };

fn op(kind: OpKind, operations: u64) -> OpTotals {
    let mut response = Histogram::new();
    (0..operations)
        .for_each(|number| response.record(if number % 100 == 99 { 5_000_000 } else { 1_000_000 }));
    let slow = operations / 100;
    OpTotals {
        kind,
        operations,
        bytes: operations * 8192,
        errors: 0,
        response_sum: Nanos((operations - slow) * 1_000_000 + slow * 5_000_000),
        delay_sum: Nanos(0),
        response_max: Nanos(if slow > 0 { 5_000_000 } else { 1_000_000 }),
        response: response.encode(),
        service: HistogramBytes(Vec::new()),
    }
}

fn worker(number: u32, kinds: &[OpKind], operations: u64) -> WorkerTotals {
    WorkerTotals {
        phase: 0,
        worker: number,
        length: Nanos(2_000_000_000),
        ops: kinds.iter().map(|&kind| op(kind, operations)).collect(),
        percentiles: Vec::new(),
    }
}

fn facts() -> DatabaseFacts {
    DatabaseFacts {
        phase: 0,
        url: "sqlite:/data/a \"quoted\", odd\tname".into(),
        namespace: "ran".into(),
        engine: "SQLite".into(),
        version: "3.51".into(),
        block: Bytes(8192),
        size: Bytes(1 << 30),
        blocks: 131_072,
        globals: vec![1000],
        read_path: "pread".into(),
        write_path: "UPDATE".into(),
        durability: Durability::Full,
        durable_by: "synchronous = FULL".into(),
        direct: true,
        timed_by: TimedBy::Client,
        settings: Vec::new(),
    }
}

fn usage() -> DatabaseUse {
    let device = |count| DeviceCounters {
        reads: count,
        read: Bytes(count * 8192),
        writes: count,
        written: Bytes(count * 8192),
        flushes: 1,
    };
    DatabaseUse {
        phase: 0,
        data_device: Some(device(100)),
        log_device: Some(device(50)),
        database: Physical { data_writes: Some(60), ..Physical::default() },
        writer_active: Some(Nanos(500_000_000)),
        observed: Nanos(2_000_000_000),
        tool_cpu: Nanos(100_000_000),
        host_cpu: Some(Nanos(1_000_000_000)),
    }
}

/// 140 to 160 of each kind per second.
fn bounds(kinds: &[OpKind]) -> RateBounds {
    let of = |kind: &OpKind| KindBounds {
        kind: kind.name().into(),
        rate_low: Some(140.0),
        rate_high: Some(160.0),
        mean_low: None,
        mean_high: None,
    };
    RateBounds { kinds: kinds.iter().map(of).collect() }
}

/// A run of two workers that did 100 and 200 operations of each of these kinds.
fn listed(operation: DbOperation, kinds: &[OpKind]) -> Listed {
    let workers = [worker(0, kinds, 100), worker(1, kinds, 200)];
    let task = iolite_model::DbTask {
        name: "RanIO".into(),
        operation,
        workers: 2,
        stop: Stop::default(),
        ramp: Nanos(0),
        interval: Nanos::SECOND,
        seed: 1,
        timed_by: TimedBy::Client,
    };
    Listed {
        run: RunId("20261120T160301-0a".into()),
        // 2026-11-20 23:59:59.9 UTC
        started_unix: Nanos(1_795_219_199_900_000_000),
        ending: Some(Ending::Completed),
        host: "host".into(),
        directory: "/data".into(),
        measured: Some(ListedPhase {
            number: 0,
            one_of_several: false,
            task,
            measured: Nanos(2_000_000_000),
            facts: Some(facts()),
            usage: Some(usage()),
            whole: kinds.iter().map(|&kind| (kind, 330)).collect(),
            stamp: Some("device".into()),
            bounds: bounds(kinds),
            shifted: false,
            totals: ListedTotals::of(&workers, &[]).unwrap(),
            workers: ListedPhase::of_workers(&workers),
        }),
    }
}

fn io() -> Listed {
    listed(RAN_IO, &[OpKind::Read, OpKind::Write, OpKind::Commit])
}

/// Names and values of the first line of an export, by another reader of the format.
fn first_line(text: &str, separator: u8) -> Vec<(String, String)> {
    let mut reader = csv::ReaderBuilder::new().delimiter(separator).from_reader(text.as_bytes());
    let names = reader.headers().unwrap().clone();
    let line = reader.records().next().unwrap().unwrap();
    names.iter().map(str::to_owned).zip(line.iter().map(str::to_owned)).collect()
}

fn value<'a>(line: &'a [(String, String)], name: &str) -> &'a str {
    &line.iter().find(|(column, _)| column == name).unwrap_or_else(|| panic!("no {name}")).1
}

#[test]
fn perftools_columns_come_first() {
    let text = export(&[io()], ExportFormat::Csv).unwrap();
    let names = "RunDate,RunTime,Database,Namespace,Reads,Writes,ReadsPS,WritesPS,StdDevR,StdDevW,Processes,ReadPct,\
                 StdDevRPS,StdDevWPS,CoVarR,CoVarW,CoVarRPS,CoVarWPS,";
    assert!(text.starts_with(names), "{text}");
}

#[test]
fn the_numbers_are_those_of_all_workers() {
    for (format, separator) in [(ExportFormat::Csv, b','), (ExportFormat::Tsv, b'\t')] {
        let line = first_line(&export(&[io()], format).unwrap(), separator);
        for (name, rendered) in [
            ("RunDate", "2026-11-20"),
            ("RunTime", "23:59:59"),
            ("Database", "sqlite:/data/a \"quoted\", odd\tname"),
            ("Reads", "300"),
            ("WritesPS", "150.000"),
            // Of 100 and 200: 50 * sqrt(2).
            ("StdDevR", "70.711"),
            ("StdDevWPS", "35.355"),
            ("CoVarR", "0.4714"),
            ("CoVarWPS", "0.4714"),
            ("Processes", "2"),
            ("ReadPct", "70"),
            ("ReadMeanMs", "1.040000"),
            ("ReadMaxMs", "5.000000"),
            ("WriteP999Ms", "5.000000"),
            ("HangMs", "2.000"),
            ("DeviceReads", "150"),
            ("ReadsPerDeviceRead", "2.2000"),
            ("WritesPerDataWrite", "5.5000"),
            ("DataReads", ""),
            ("ReadsPerDataRead", ""),
            ("WriterActivePct", "25.000"),
            ("ToolCpuPct", "10.000"),
            ("Ending", "completed"),
            ("Phase", "0"),
        ] {
            assert_eq!(value(&line, name), rendered, "{name}");
        }
    }
}

#[test]
fn what_a_tool_does_not_do_is_blank() {
    let blank = |run, expected: &[&str]| {
        let line = first_line(&export(&[run], ExportFormat::Csv).unwrap(), b',');
        let blank: Vec<_> = line[..18].iter().filter(|(_, value)| value.is_empty()).collect();
        assert_eq!(blank.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), expected);
        line
    };
    let read = listed(DbOperation::RanRead, &[OpKind::Read]);
    let line = blank(read, &["Writes", "WritesPS", "StdDevW", "StdDevWPS", "CoVarW", "CoVarWPS"]);
    for name in ["Commits", "WriteMeanMs", "CommitP99Ms", "TransactionLength", "LogicalWrites"] {
        assert_eq!(value(&line, name), "");
    }
    let operation = DbOperation::RanWrite { transaction_length: 50, hang: Nanos(0) };
    let write = listed(operation, &[OpKind::Write, OpKind::Commit]);
    let line = blank(write, &["Reads", "ReadsPS", "StdDevR", "StdDevRPS", "CoVarR", "CoVarRPS"]);
    assert_eq!(value(&line, "ReadMeanMs"), "");
}

#[test]
fn one_worker_has_no_deviation_and_a_phase_cut_short_has_no_workers() {
    for workers in [vec![[5, 5]], Vec::new()] {
        let mut run = io();
        run.measured.as_mut().unwrap().workers = workers;
        let line = first_line(&export(&[run], ExportFormat::Csv).unwrap(), b',');
        for name in ["StdDevR", "StdDevWPS", "CoVarR"] {
            assert_eq!(value(&line, name), "");
        }
        assert_eq!(value(&line, "Reads"), "300");
    }
}

#[test]
fn the_document_has_numbers_and_nulls() {
    let read = listed(DbOperation::RanRead, &[OpKind::Read]);
    let value: Value = serde_json::from_str(&export(&[read], ExportFormat::Json).unwrap()).unwrap();
    assert_eq!(value[0]["Reads"], 300);
    assert_eq!(value[0]["ReadsPS"], 150.0);
    assert_eq!(value[0]["Writes"], Value::Null);
    assert_eq!(value[0]["Database"], "sqlite:/data/a \"quoted\", odd\tname");
    assert_eq!(export(&[], ExportFormat::Json).unwrap(), "[]\n");
}

#[test]
fn every_column_is_in_the_reference_page() {
    let page = include_str!("../../../../../docs/results.md");
    let section = page.split("\n## Exports\n").nth(1).expect("a section on exports");
    let section = section.split("\n## ").next().unwrap();
    let documented: Vec<&str> = section
        .lines()
        .filter_map(|line| line.strip_prefix("| `"))
        .flat_map(|row| row.split(" |").next().unwrap().split(", "))
        .map(|name| name.trim_matches('`'))
        .collect();
    let line = first_line(&export(&[io()], ExportFormat::Csv).unwrap(), b',');
    let mut names: Vec<&str> = line.iter().map(|(name, _)| name.as_str()).collect();
    let mut documented_sorted = documented.clone();
    documented_sorted.sort_unstable();
    names.sort_unstable();
    assert_eq!(documented_sorted, names);
}

const PLAIN: Style = Style { color: false, unicode: false, width: 110 };

#[test]
fn a_history_shows_each_run_and_how_it_ended() {
    let mut read = listed(DbOperation::RanRead, &[OpKind::Read]);
    read.measured.as_mut().unwrap().one_of_several = true;
    let mut running = io();
    (running.ending, running.run) = (None, RunId("second".into()));
    let early = Listed { measured: None, ending: Some(Ending::Failed("no\nserver".into())), ..read.clone() };
    let text = history(&[read.clone(), running, early], PLAIN);
    insta::assert_snapshot!(text);
    let document = history_json("RanRead", &[read]);
    assert_eq!(document["format"], "iolite-history/1");
    let run = &document["runs"][0];
    assert_eq!(run["ending"]["kind"], "completed");
    assert_eq!(run["operations"][0]["kind"], "read");
    assert_eq!(run["operations"][0]["mean_ns"], 1_040_000.0);
    assert_eq!(run["operations"][0]["per_second"], 150.0);
    assert_eq!((&run["operations"][0]["per_second_low"], &run["stamp"]), (&140.0.into(), &"device".into()));
    assert_eq!(run["operations"].as_array().unwrap().len(), 1);
}

#[test]
fn each_rate_has_its_interval_and_its_stamp() {
    let line = first_line(&export(&[io()], ExportFormat::Csv).unwrap(), b',');
    for rate in ["ReadsPS", "WritesPS", "CommitsPS"] {
        let bounds = ["Low", "High"].map(|end| value(&line, &format!("{rate}{end}")));
        assert_eq!(bounds, ["140.000", "160.000"], "{rate}");
    }
    assert_eq!(value(&line, "Stamp"), "device");
    let read = listed(DbOperation::RanRead, &[OpKind::Read]);
    let line = first_line(&export(&[read], ExportFormat::Tsv).unwrap(), b'\t');
    assert_eq!((value(&line, "ReadsPSLow"), value(&line, "WritesPSLow")), ("140.000", ""));
}

#[test]
fn a_rate_with_several_levels_is_marked_in_the_history() {
    let mut read = listed(DbOperation::RanRead, &[OpKind::Read]);
    assert!(!history(std::slice::from_ref(&read), PLAIN).contains('*'));
    read.measured.as_mut().unwrap().shifted = true;
    let text = history(&[read], PLAIN);
    assert!(text.contains("150*") && text.contains("* the rate changed during the run"), "{text}");
}
