//! Results for the tests, recorded through the real recorder: a fast virtual disk.

use std::path::PathBuf;

use iolite_model::{
    Access, BackendKind, Bytes, Cache, Calibration, DbOperation, DbTask, Device, Ending, FileTarget,
    FileTask, Filesystem, Fitness, Host, Mix, Nanos, OpKind, Outstanding, PhaseEnd, PhaseInfo, Quantile,
    Reason, RingOptions, RunId, RunInfo, Stop, Storage, SyncRule, Target, Task, Verdict, Warning,
};
use iolite_stats::{Collector, Completion, Knee, LoadPoint, PhaseResult, Timetable, recorder};
use serde_json::Value;

use crate::{KneeFound, Report};

/// Measured time of a phase: short, so that rare percentiles stay unresolved.
const MEASURED: u64 = 250_000_000;

/// What a kind of operation does in a phase: rate per second, mean response in nanoseconds, bytes, errors.
type Load = (OpKind, f64, f64, u64, u64);

pub(crate) fn read(name: &str, block: u64, concurrency: u32) -> Task {
    file(name, Mix::Read, Access::Random, block, concurrency)
}

pub(crate) fn file(name: &str, mix: Mix, access: Access, block: u64, concurrency: u32) -> Task {
    Task::File(FileTask {
        name: name.to_owned(),
        target: own_file("data", Bytes::GIB, false, false),
        backend: BackendKind::IoUring(RingOptions::default()),
        mix,
        access,
        block: Bytes(block),
        direct: true,
        concurrency,
        stop: Stop { runtime: Some(Nanos(MEASURED)), ..Stop::default() },
        interval: Nanos(MEASURED / 10),
        seed: 7,
        ..FileTask::default()
    })
}

fn own_file(name: &str, size: Bytes, create: bool, preallocate: bool) -> Target {
    Target::File(FileTarget { name: PathBuf::from(name), size, create, preallocate, per_worker: false })
}

pub(crate) fn commit(name: &str, preallocate: bool) -> Task {
    let mut task = file(name, Mix::Write, Access::Sequential, 8192, 1);
    if let Task::File(task) = &mut task {
        task.durability.sync = Some(SyncRule::fdatasync(1));
        task.target = own_file("log", Bytes::MIB, true, preallocate);
    }
    task
}

pub(crate) fn database(name: &str, operation: DbOperation, workers: u32) -> Task {
    Task::Database(DbTask {
        name: name.to_owned(),
        operation,
        workers,
        stop: Stop::default(),
        ramp: Nanos(0),
        interval: Nanos(MEASURED / 10),
        seed: 7,
        timed_by: iolite_model::TimedBy::Client,
    })
}

pub(crate) fn info(index: u32, task: Task) -> PhaseInfo {
    PhaseInfo { index, task, started: Nanos(u64::from(index) * 3_000_000_000) }
}

pub(crate) fn end(phase: u32, measured: u64, read: u64) -> PhaseEnd {
    let cache = Cache {
        requested_read: Bytes(read),
        device_read: (read > 0).then_some(Bytes(read)),
        ..Cache::default()
    };
    let outstanding = Outstanding::default();
    PhaseEnd {
        phase,
        ending: Ending::Completed,
        measured: Nanos(measured),
        outstanding,
        cache,
        errors: Vec::new(),
        stuck: Vec::new(),
        rate: None,
        verified: None,
    }
}

/// A phase as the engine would hand it over.
pub(crate) fn phase(index: u32, task: Task, loads: &[Load]) -> PhaseResult {
    recorded(index, task, loads, 1.0)
}

/// An open loop whose operations take so many times as long since they were meant to start as since they were issued.
pub(crate) fn late(index: u32, task: Task, rate: f64, mean: f64, factor: f64) -> PhaseResult {
    recorded(index, task, &[(OpKind::Read, rate, mean * factor, 8192, 0)], factor)
}

fn recorded(index: u32, task: Task, loads: &[Load], factor: f64) -> PhaseResult {
    let ramp = task.ramp().0;
    let timetable = Timetable { ramp_end: ramp, interval: MEASURED / 10, end: ramp + MEASURED };
    let (mut recorder, feed) = recorder(timetable, &[OpKind::Read]);
    let mut collector = Collector::new(index, vec![feed]);
    let mut completions = Vec::new();
    for &(kind, rate, mean, bytes, _) in loads {
        let count = (rate * MEASURED as f64 / 1e9) as u64;
        for i in 0..count {
            let golden = (i as f64 * 0.618_033_988_75).fract();
            let tail = if i % 1000 == 999 {
                12.0
            } else if i % 100 == 99 {
                4.0
            } else {
                1.0
            };
            // Evenly spread, a little slower in the middle.
            let at = (i as f64 + golden) / count as f64;
            let completed = (MEASURED as f64 * (at + 0.004 * (at * 9.0).sin() * (1.0 - at))) as u64;
            completions.push((completed.min(MEASURED - 1), kind, mean * (0.5 + 0.9 * golden) * tail, bytes));
        }
        // A ramp does half as many.
        for i in 0..if ramp > 0 { count / 2 } else { 0 } {
            let completed = ramp * i / count;
            let completion = Completion { kind, intended: completed, issued: completed, completed, bytes };
            recorder.record(completion);
        }
    }
    completions.sort_by_key(|completion| completion.0);
    for (at, kind, response, bytes) in completions {
        // An operation may have been asked for before the phase's start: time has no negative, so all is shifted.
        let (intended, completed) = (at.saturating_sub(response as u64), at.max(response as u64));
        let completed = completed.min(MEASURED - 1);
        let issued = completed - (completed.saturating_sub(intended) as f64 / factor) as u64;
        let [intended, issued, completed] = [intended, issued, completed].map(|instant| instant + ramp);
        recorder.record(Completion { kind, intended, issued, completed, bytes });
        collector.collect(ramp + at);
    }
    for &(kind, _, _, _, errors) in loads {
        (0..errors).for_each(|_| recorder.record_error(kind, ramp + MEASURED - 1));
    }
    recorder.finish().iter().for_each(|snapshot| collector.absorb(0, snapshot));
    let (_, _, totals) = collector.finish(ramp, MEASURED);
    let end = end(index, MEASURED, totals.bytes(OpKind::Read));
    PhaseResult { info: info(index, task), end, totals }
}

fn search(
    phases: &mut Vec<PhaseResult>,
    block: u64,
    curve: &[(u32, f64)],
    task: impl Fn(u32) -> Task,
) -> KneeFound {
    let first = phases.len() as u32;
    for (&(concurrency, rate), index) in curve.iter().zip(first..) {
        let mean = f64::from(concurrency) / rate * 1e9;
        phases.push(phase(index, task(concurrency), &[(OpKind::Read, rate, mean, block, 0)]));
    }
    let of_search = &phases[first as usize..];
    let points: Vec<_> = of_search
        .iter()
        .map(|phase| {
            let summary = phase.summary(OpKind::Read).unwrap();
            LoadPoint {
                concurrency: phase.info.task.concurrency(),
                throughput: summary.rate.value,
                throughput_se: summary.rate.standard_error,
                response: summary.mean.value / 1e9,
            }
        })
        .collect();
    KneeFound {
        name: of_search[0].info.task.name().to_owned(),
        phases: of_search.iter().map(|phase| phase.info.index).collect(),
        knee: Knee::fit(&points, 1).unwrap(),
    }
}

/// A whole check.
pub(crate) fn check() -> Report {
    let mut phases = Vec::new();
    let small = [
        (1, 17_960.0),
        (2, 27_503.0),
        (3, 35_100.0),
        (4, 40_325.0),
        (8, 53_438.0),
        (16, 65_513.0),
        (32, 64_548.0),
    ];
    let large = [(1, 9_400.0), (2, 15_800.0), (4, 22_000.0), (8, 22_300.0), (16, 22_100.0)];
    let jobs = [(1, 14_000.0), (2, 26_000.0), (4, 31_000.0), (8, 31_500.0)];
    let mut knees = vec![
        search(&mut phases, 8192, &small, |c| read("random read 8 KiB", 8192, c)),
        search(&mut phases, 65_536, &large, |c| read("random read 64 KiB", 65_536, c)),
    ];
    let mib = 1 << 20;
    let random_write = file("random write 8 KiB", Mix::Write, Access::Random, 8192, 8);
    phases.push(phase(12, random_write, &[(OpKind::Write, 21_000.0, 380_000.0, 8192, 0)]));
    let sequential_read = file("sequential read 1 MiB", Mix::Read, Access::Sequential, mib, 4);
    phases.push(phase(13, sequential_read, &[(OpKind::Read, 2_100.0, 1_900_000.0, mib, 0)]));
    let committed = |rate: f64, sync: f64| {
        let write = (OpKind::Write, rate, 20_000.0, 8192, 0);
        [write, (OpKind::Sync, rate, sync, 0, 0), (OpKind::Commit, rate, sync + 20_000.0, 8192, 0)]
    };
    let growing = commit("append 8 KiB + fdatasync, growing", false);
    phases.push(phase(14, commit("commit, preallocated", true), &committed(2_600.0, 360_000.0)));
    phases.push(phase(15, growing, &committed(1_100.0, 880_000.0)));
    knees.push(search(&mut phases, 8192, &jobs, |c| database("RanRead", DbOperation::RanRead, c)));
    let write = DbOperation::RanWrite { transaction_length: 10, hang: Nanos(0) };
    let sets = [(OpKind::Write, 24_000.0, 9_000.0, 64, 0), (OpKind::Commit, 2_400.0, 700_000.0, 0, 0)];
    phases.push(phase(20, database("RanWrite", write, 2), &sets));
    Report {
        run: run(),
        calibration: Some(Calibration {
            clock: "tsc".into(),
            clock_cost_ns: 18.24,
            clock_resolution: Nanos(1),
            loop_cost_ns: 61.7,
        }),
        phases,
        knees,
        preconditioned: None,
        warnings: warnings(),
        verdict: Some(verdict()),
        ending: Ending::Completed,
    }
}

fn warnings() -> Vec<Warning> {
    vec![
        Warning::ForeignLoad {
            phase: "random read 64 KiB".into(),
            requested: Bytes::GIB,
            device: Bytes(3 << 29),
        },
        Warning::NoPlateau { phase: "random read 8 KiB".into(), concurrency: 32 },
    ]
}

fn verdict() -> Verdict {
    let reason = |fitness, what: &str, measured: &str, value| {
        Reason::new(fitness, what, measured, "at most 2.00 ms").with_figure(value, 2e6)
    };
    let mut reasons = vec![
        reason(
            Fitness::Fit,
            "random read 8 KiB at the knee (8 outstanding), mean",
            "150 µs (148 µs to 152 µs)",
            1.5e5,
        ),
        reason(
            Fitness::Marginal,
            "random read 64 KiB at the knee (4 outstanding), p99.9",
            "2.1 ms (1.9 ms to 2.5 ms)",
            2.1e6,
        ),
        reason(Fitness::Unfit, "fdatasync, growing, p99", "3.60 ms (3.1 ms to 4.0 ms)", 3.6e6),
    ];
    reasons[1].reserve(Fitness::Marginal, "900 operations are too few");
    Verdict::of("oltp-flash", reasons)
}

/// The run on a partition of a virtual disk.
pub(crate) fn run() -> RunInfo {
    let disk = Device {
        name: "vda".into(),
        kind: "virtio".into(),
        number: (254, 0),
        size: Bytes(100 << 30),
        logical_block: Some(Bytes(512)),
        physical_block: Some(Bytes(4096)),
        scheduler: Some("none".into()),
        write_cache: Some("write back".into()),
        rotational: Some(true),
        read_ahead: Some(Bytes(128 << 10)),
        ..Device::default()
    };
    let partition = Device {
        name: "vda1".into(),
        kind: "partition".into(),
        rests_on: vec!["vda".into()],
        ..disk.clone()
    };
    let options = ["rw", "noatime", "data=ordered", "rw", "errors=remount-ro"].map(str::to_owned).to_vec();
    RunInfo {
        id: RunId("20260102T030405-00c0ffee".into()),
        version: "0.1.0".into(),
        model_version: iolite_model::MODEL_VERSION,
        command: vec!["iolite".into(), "check".into(), "/srv/data".into()],
        started_unix: Nanos(1_767_323_045_000_000_000),
        process: 4711,
        host: Host {
            name: "db1".into(),
            kernel: "6.12.0".into(),
            architecture: "x86_64".into(),
            cpu: "Example CPU 3000".into(),
            cpus: 4,
            memory: Bytes(16 << 30),
            virtualisation: "kvm".into(),
        },
        storage: Storage {
            directory: PathBuf::from("/srv/data"),
            filesystem: Filesystem {
                kind: "ext4".into(),
                source: "/dev/vda1".into(),
                mount_point: PathBuf::from("/srv"),
                options,
                size: Bytes(98 << 30),
                free: Bytes(40 << 30),
                block_size: Bytes(4096),
            },
            devices: vec![partition, disk],
        },
    }
}

/// A run that measured nothing.
pub(crate) fn empty() -> Report {
    Report {
        run: run(),
        calibration: None,
        phases: Vec::new(),
        knees: Vec::new(),
        preconditioned: None,
        warnings: Vec::new(),
        verdict: None,
        ending: Ending::Completed,
    }
}

/// Every key with the path to it, lists shown by their first entry.
pub(crate) fn keys(value: &Value, path: &str, out: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                assert!(
                    key.chars().all(|c| c.is_ascii_lowercase()
                        || c.is_ascii_digit()
                        || c == '_'
                        || (c == '-' && path.contains(".task"))),
                    "{key}"
                );
                keys(value, &format!("{path}.{key}"), out);
            }
        }
        Value::Array(values) if values.iter().any(Value::is_object) => {
            keys(values.first().unwrap(), &format!("{path}[]"), out);
        }
        _ => out.push(path.to_owned()),
    }
}

#[test]
fn the_synthetic_phases_are_what_they_claim() {
    let phase = phase(0, read("r", 8192, 8), &[(OpKind::Read, 20_000.0, 100_000.0, 8192, 2)]);
    let summary = phase.summary(OpKind::Read).unwrap();
    assert_eq!((summary.operations, summary.errors, phase.totals.series.len()), (5_000, 2, 10));
    assert!(phase.quantile(OpKind::Read, Quantile(0.5)).is_some());
}
