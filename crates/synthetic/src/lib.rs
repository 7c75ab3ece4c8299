//! Results for tests, recorded through the real recorder: a fast virtual disk. Only tests depend on this crate.

use std::path::PathBuf;

use iolite_model::{
    Access, BackendKind, Bytes, Cache, DbOperation, DbTask, Device, Ending, FileTarget, FileTask, Filesystem,
    Host, Mix, Nanos, OpKind, Outstanding, PhaseEnd, PhaseInfo, RingOptions, RunId, RunInfo, Stop, Storage,
    SyncRule, Target, Task,
};
use iolite_stats::{Collector, Completion, PhaseResult, Timetable, recorder};

/// Measured time of a phase: short, so that rare percentiles stay unresolved.
const MEASURED: u64 = 250_000_000;

/// What a kind of operation does in a phase: rate per second, mean response in nanoseconds, bytes, errors.
pub type Load = (OpKind, f64, f64, u64, u64);

/// Random reads of the file `data`.
pub fn read(name: &str, block: u64, concurrency: u32) -> Task {
    file(name, Mix::Read, Access::Random, block, concurrency)
}

/// Block I/O on the file `data`, for 250 ms.
pub fn file(name: &str, mix: Mix, access: Access, block: u64, concurrency: u32) -> Task {
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

/// Sequential writes of the file `log`, each followed by fdatasync.
pub fn commit(name: &str, preallocate: bool) -> Task {
    let mut task = file(name, Mix::Write, Access::Sequential, 8192, 1);
    if let Task::File(task) = &mut task {
        task.durability.sync = Some(SyncRule::fdatasync(1));
        task.target = own_file("log", Bytes::MIB, true, preallocate);
    }
    task
}

/// An operation inside a database.
pub fn database(name: &str, operation: DbOperation, workers: u32) -> Task {
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

/// The start of a phase, three seconds after the one before.
pub fn info(index: u32, task: Task) -> PhaseInfo {
    PhaseInfo { index, task, started: Nanos(u64::from(index) * 3_000_000_000) }
}

/// The end of a completed phase that has read so many bytes, all from the device.
pub fn end(phase: u32, measured: u64, read: u64) -> PhaseEnd {
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
pub fn phase(index: u32, task: Task, loads: &[Load]) -> PhaseResult {
    recorded(index, task, loads, 1.0)
}

/// An open loop whose operations take so many times as long since they were meant to start as since they were issued.
pub fn late(index: u32, task: Task, rate: f64, mean: f64, factor: f64) -> PhaseResult {
    recorded(index, task, &[(OpKind::Read, rate, mean * factor, 8192, 0)], factor)
}

fn recorded(index: u32, task: Task, loads: &[Load], factor: f64) -> PhaseResult {
    let ramp = task.ramp().known_time().0;
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

/// The run on a partition of a virtual disk.
pub fn run() -> RunInfo {
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
