//! Runs made up for tests, with an event of every kind and values that are easy to compute with.

use std::path::Path;

use iolite_model::*;

use crate::writer::Writer;

/// Stores events as they are.
pub(crate) fn write(path: &Path, events: &[Event]) {
    let mut writer = Writer::start(path, |reason| panic!("{reason}"));
    events.iter().for_each(|event| writer.event(event));
    writer.finish().unwrap();
}

/// Where the first interval is in the list.
pub(crate) fn position_of_first_interval(events: &[Event]) -> usize {
    events.iter().position(|event| matches!(event, Event::Interval(_))).unwrap()
}

/// 2026-11-20 16:03:01 UTC and a bit.
const STARTED: Nanos = Nanos(1_795_190_581_250_000_000);

fn start(id: &str, process: u32) -> Event {
    let leaf = Device { name: "vda".into(), kind: "virtio".into(), size: Bytes::GIB, ..Device::default() };
    let partition = Device {
        name: "vda1".into(),
        kind: "partition".into(),
        rests_on: vec!["vda".into()],
        number: (254, 1),
        model: Some("Maker's \"best\"".into()),
        logical_block: Some(Bytes(512)),
        physical_block: Some(Bytes(4096)),
        scheduler: Some("none".into()),
        write_cache: Some("write back".into()),
        rotational: Some(false),
        read_ahead: Some(Bytes(131_072)),
        ..leaf.clone()
    };
    let filesystem = Filesystem {
        kind: "ext4".into(),
        source: "/dev/vda1".into(),
        mount_point: "/var".into(),
        options: vec!["rw".into(), "relatime".into()],
        size: Bytes(u64::from(u32::MAX) * 4096),
        free: Bytes::GIB,
        block_size: Bytes(4096),
    };
    let storage = Storage { directory: "/var/lib/db".into(), filesystem, devices: vec![partition, leaf] };
    let host = Host {
        name: "host".into(),
        kernel: "6.12".into(),
        architecture: "x86_64".into(),
        cpu: "a CPU".into(),
        cpus: 2,
        memory: Bytes(8 << 30),
        virtualisation: "kvm".into(),
    };
    let command = ["iolite", "ran-read", "--directory", "/var/lib/db"].map(str::to_owned).to_vec();
    Event::RunStarted(Box::new(RunInfo {
        id: RunId(id.into()),
        version: "0.1.0".into(),
        model_version: MODEL_VERSION,
        command,
        started_unix: STARTED,
        process,
        host,
        storage,
    }))
}

/// `operations` of 8 KiB, 1 ms each on average, the worst one 5 ms.
pub(crate) fn op(kind: OpKind, operations: u64) -> OpTotals {
    OpTotals {
        kind,
        operations,
        bytes: operations * 8192,
        errors: 1,
        response_sum: Nanos(operations * 1_000_000),
        delay_sum: Nanos(0),
        response_max: Nanos(5_000_000),
        response: HistogramBytes(vec![0x1c, 0x84, 0x93, 0x13, operations as u8]),
        service: HistogramBytes(vec![0x1c, 0x84, 0x93, 0x13]),
    }
}

/// Percentiles to go with [`op`].
fn percentiles(kind: OpKind) -> Percentiles {
    let at = |micros| Nanos(micros * 1000);
    Percentiles { kind, p50: at(900), p95: at(1500), p99: at(2500), p999: at(4000 + kind.index() as u64) }
}

/// A database that reports everything, for the phase of that number.
pub(crate) fn facts(phase: u32) -> DatabaseFacts {
    DatabaseFacts {
        phase,
        url: "postgres://me@host/ran".into(),
        namespace: "ran".into(),
        engine: "PostgreSQL".into(),
        version: "15.14".into(),
        block: Bytes(8192),
        size: Bytes(3 << 30),
        blocks: 1 << 18,
        globals: vec![1_000_000, 1_000_000],
        read_path: "pg_prewarm(..., 'read')".into(),
        write_path: "prepared UPDATE by key".into(),
        durability: Durability::Relaxed,
        durable_by: "synchronous_commit = off".into(),
        direct: false,
        timed_by: TimedBy::Database,
        settings: [("shared_buffers", "128MB"), ("fsync", "on"), ("a \"quoted\" name", "")]
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .to_vec(),
    }
}

/// What [`database_run`]'s second and third phases took; the third knows no more than it must.
pub(crate) fn usage(phase: u32) -> DatabaseUse {
    let counters = |count| DeviceCounters {
        reads: count,
        read: Bytes(count * 8192),
        writes: count * 2,
        written: Bytes(count * 16384),
        flushes: count / 2,
    };
    let min = DatabaseUse {
        phase,
        data_device: None,
        log_device: None,
        database: Physical::default(),
        writer_active: None,
        observed: Nanos(5_000_000_000),
        tool_cpu: Nanos(250_000_000),
        host_cpu: None,
    };
    if phase != 1 {
        return min;
    }
    let database = Physical {
        data_reads: Some(7),
        data_read_bytes: Some(57_344),
        data_writes: Some(400),
        data_write_bytes: Some(3_276_800),
        data_syncs: Some(3),
        log_writes: Some(1602),
        log_write_bytes: Some(1602 * 64),
        log_syncs: Some(1500),
    };
    DatabaseUse {
        data_device: Some(counters(100)),
        log_device: Some(counters(300)),
        database,
        writer_active: Some(Nanos(1_000_000_000)),
        host_cpu: Some(Nanos(2_500_000_000)),
        ..min
    }
}

fn interval(phase: u32, stage: Stage, number: u64, ops: Vec<OpTotals>) -> Event {
    Event::Interval(Interval {
        phase,
        start: Nanos(number * 1_000_000_000),
        length: Nanos::SECOND,
        stage,
        ops,
    })
}

fn end(phase: u32, seconds: u64, ending: Ending) -> Event {
    Event::PhaseEnded(PhaseEnd {
        phase,
        ending,
        measured: Nanos(seconds * 1_000_000_000),
        outstanding: Outstanding { at_end: 3, lost: 1, oldest: Nanos(7), backlog: 2 },
        cache: Cache {
            requested_read: Bytes(1000),
            device_read: Some(Bytes(630)),
            device_flushes: Some(9),
            own_read: Some(Bytes(640)),
            own_written: Some(Bytes(7)),
            resident_before: Some(0.25),
            unwritten: Some(0.01),
            compressed: Some(0.005),
            zeros: Some(0.125),
            direct_confirmed: true,
            synchronised: true,
            ..Cache::default()
        },
        errors: Vec::new(),
        stuck: Vec::new(),
        rate: None,
        verified: None,
    })
}

/// An end with everything that can go wrong.
fn troubled(phase: u32) -> Event {
    let Event::PhaseEnded(end) = end(phase, 1, Ending::Interrupted) else { unreachable!() };
    let stuck = |worker, kind, age| Stuck { worker, kind, offset: 1 << 40, age: Nanos(age) };
    let error = |kind, class, first_offsets| ErrorTally {
        kind,
        class,
        count: 12,
        first_offsets,
        first: "read at 8192: Input/output error".into(),
        number: Some(5),
    };
    Event::PhaseEnded(PhaseEnd {
        errors: vec![
            error(OpKind::Write, ErrorClass::Space, Vec::new()),
            error(OpKind::Read, ErrorClass::Device, vec![8192, 0, 1 << 50]),
            error(OpKind::Rmdir, ErrorClass::Other, vec![4096]),
        ],
        stuck: vec![
            stuck(7, OpKind::Trim, 4_000_000_000),
            stuck(0, OpKind::Read, 3_500_000_000),
            stuck(1, OpKind::Trim, 3_000_000_000),
        ],
        rate: Some(RateKept { asked: Iops(1000.1), achieved: Iops(0.1 + 0.2), backlog: 2, kept: false }),
        verified: Some(Verified {
            units: 1000,
            wrong: 2,
            unknown: 3,
            unreadable: 1,
            incomplete: true,
            damage: [(Damage::Misplaced, 1), (Damage::Stale, 1)].into(),
            first: vec![
                Finding {
                    offset: 4096,
                    damage: Some(Damage::Misplaced),
                    what: "from another place: 8192".into(),
                },
                Finding { offset: 0, damage: None, what: "an older write".into() },
            ],
        }),
        ..end
    })
}

fn calibrated() -> Event {
    Event::Calibrated(Calibration {
        clock: "tsc".into(),
        clock_cost_ns: 21.3,
        clock_resolution: Nanos(1),
        loop_cost_ns: 0.1 + 0.2,
    })
}

fn verdict() -> Event {
    let reason = |fitness, what: &str| {
        Reason::new(fitness, what, "2.10 ms ± 0.05 ms", "at most 2.00 ms")
            .with_figure(
                Statistic::Quantile(Quantile(0.99)),
                2_100_000.0,
                2_000_000.0,
                ReasonUnit::Nanoseconds,
            )
            .of_phase(0)
    };
    let mut reasons = vec![reason(Fitness::Unfit, "random read 8 KiB"), reason(Fitness::Fit, "fdatasync")];
    reasons[0].reserve(Fitness::Marginal, "900 operations are too few");
    Event::Verdict(Verdict::of("oltp-flash", reasons))
}

/// One phase of each database operation with `seconds` measured intervals, each preceded by a ramp and followed by a
/// drain; two workers. The last phase has a stall in its first measured second. The second and third know their database
/// and what they took; the others are as older versions stored them.
pub(crate) fn database_run(id: &str, process: u32, seconds: u64) -> Vec<Event> {
    let (transaction_length, hang) = (50, Nanos(2_000_000));
    let operations = [
        (DbOperation::RanRead, vec![OpKind::Read]),
        (DbOperation::RanWrite { transaction_length, hang }, vec![OpKind::Write, OpKind::Commit]),
        (
            DbOperation::RanIo { transaction_length, hang, read_percent: 70 },
            vec![OpKind::Read, OpKind::Write],
        ),
        (DbOperation::RanRead, vec![OpKind::Read]),
    ];
    let mut events = vec![start(id, process), calibrated()];
    for (index, (operation, kinds)) in (0u32..).zip(operations) {
        let ops = |operations| kinds.iter().map(|&kind| op(kind, operations)).collect::<Vec<_>>();
        let task = DbTask {
            name: format!("phase {index}"),
            operation,
            workers: 2,
            stop: Stop { runtime: Some(Nanos(seconds * 1_000_000_000)), ..Stop::default() },
            ramp: Nanos::SECOND,
            interval: Nanos::SECOND,
            seed: u64::MAX,
            timed_by: iolite_model::TimedBy::Client,
        };
        // One hour after the other.
        let started = Nanos(u64::from(index) * 3_600_000_000_000);
        events.push(Event::PhaseStarted(PhaseInfo { index, task: Task::Database(task), started }));
        let known = matches!(index, 1 | 2);
        events.extend(known.then(|| Event::Database(Box::new(facts(index)))));
        events.push(interval(index, Stage::Ramp, 0, ops(1000)));
        events.extend((1..=seconds).map(|second| {
            let stalled = index == 3 && second == 1;
            interval(index, Stage::Measured, second, if stalled { Vec::new() } else { ops(100 * second) })
        }));
        events.push(interval(index, Stage::Drain, seconds + 1, ops(2)));
        let total = 100 * seconds * (seconds + 1) / 2 - if index == 3 { 100 } else { 0 };
        events.extend((0..2).map(|worker| {
            Event::Worker(WorkerTotals {
                phase: index,
                worker,
                length: Nanos(seconds * 1_000_000_000),
                ops: ops(total / 2),
                percentiles: kinds.iter().filter(|_| known).map(|&kind| percentiles(kind)).collect(),
            })
        }));
        events.extend(known.then(|| Event::DatabaseUse(Box::new(usage(index)))));
        events.push(end(index, seconds, Ending::Completed));
    }
    events.extend([verdict(), Event::RunEnded(Ending::Completed)]);
    events
}

/// A run with these phases of another.
pub(crate) fn phases_of(events: &[Event], id: &str, phases: &[u32]) -> Vec<Event> {
    let of_phase = |event: &Event| match event {
        Event::PhaseStarted(info) => Some(info.index),
        Event::Database(facts) => Some(facts.phase),
        Event::DatabaseUse(usage) => Some(usage.phase),
        Event::Interval(interval) => Some(interval.phase),
        Event::Worker(worker) => Some(worker.phase),
        Event::PhaseEnded(end) => Some(end.phase),
        _ => None,
    };
    let kept = events.iter().filter(|event| of_phase(event).is_none_or(|phase| phases.contains(&phase)));
    let mut kept: Vec<Event> = kept.cloned().collect();
    if let Event::RunStarted(info) = &mut kept[0] {
        info.id = RunId(id.into());
    }
    kept
}

fn file_task(target: Target) -> Task {
    Task::File(FileTask {
        name: "random read 8 KiB".into(),
        target,
        backend: BackendKind::IoUring(RingOptions { linked_sync: true, ..RingOptions::default() }),
        mix: Mix::ReadPercent(70),
        block: Bytes(8192),
        direct: true,
        concurrency: 8,
        arrival: Arrival::Poisson(Iops(1_234.567_890_123_4)),
        stop: Stop { bytes: Some(Bytes::GIB), ..Stop::default() },
        seed: 42,
        durability: WriteDurability::synced(SyncRule { every: 1, method: SyncMethod::FileRange }),
        ..FileTask::default()
    })
}

fn concluded(phase: Option<u32>, value: serde_json::Value) -> Event {
    Event::Concluded(Box::new(Concluded { kind: "synthetic".into(), phase, value }))
}

/// A run on a file with every kind of operation, warnings in between, and two verdicts.
pub(crate) fn file_run(id: &str) -> Vec<Event> {
    let target = FileTarget {
        name: "span".into(),
        size: Bytes::GIB,
        create: true,
        preallocate: false,
        per_worker: true,
    };
    let names = Task::Metadata(MetadataTask { name: "create".into(), ..MetadataTask::default() });
    let fine = |phase| {
        let Event::PhaseEnded(end) = end(phase, 1, Ending::Completed) else { unreachable!() };
        let rate = RateKept { asked: Iops(50.0), achieved: Iops(50.5), backlog: 2, kept: true };
        Event::PhaseEnded(PhaseEnd { rate: Some(rate), verified: Some(Verified::default()), ..end })
    };
    let ops = OpKind::STANDARD.map(|kind| op(kind, 10)).to_vec();
    let phase = |index, target, started| {
        Event::PhaseStarted(PhaseInfo { index, task: file_task(target), started: Nanos(started) })
    };
    vec![
        start(id, 1),
        Event::Warning(Warning::NoDirectIo { filesystem: "tmpfs".into() }),
        phase(0, Target::Null { size: Bytes::GIB }, 5),
        interval(0, Stage::Measured, 0, ops.clone()),
        end(0, 1, Ending::Completed),
        calibrated(),
        phase(1, Target::File(target), 2_000_000_000),
        Event::Warning(Warning::Volatile { device: "zram0".into() }),
        Event::PhaseReleased(PhaseRelease { phase: 1, at_unix: Nanos(STARTED.0 + 2_000_000_000) }),
        interval(1, Stage::Measured, 0, ops),
        concluded(Some(1), serde_json::json!({ "user": 0.1 + 0.2 })),
        Event::Reading(Reading {
            probe: "cpu".into(),
            subject: String::new(),
            at: Nanos(2_500_000_000),
            values: vec![ReadingValue::counter("user", 0.1 + 0.2), ReadingValue::gauge("run_queue", 3.0)],
        }),
        Event::Warning(Warning::ShortPhases { phases: vec!["random read 8 KiB (12.3 µs)".into()] }),
        troubled(1),
        Event::PhaseStarted(PhaseInfo { index: 2, task: names, started: Nanos(3_000_000_000) }),
        fine(2),
        verdict(),
        verdict(),
        concluded(None, serde_json::json!(["of the run", null])),
        Event::RunEnded(Ending::Interrupted),
    ]
}

/// A run whose only phase fails before anything is measured.
pub(crate) fn failed_run(id: &str) -> Vec<Event> {
    let failed = || Ending::Failed("the device is gone".into());
    vec![
        start(id, 1),
        Event::PhaseStarted(PhaseInfo {
            index: 0,
            task: file_task(Target::Null { size: Bytes(0) }),
            started: Nanos(0),
        }),
        Event::PhaseEnded(PhaseEnd {
            phase: 0,
            ending: failed(),
            measured: Nanos(0),
            outstanding: Outstanding::default(),
            cache: Cache::default(),
            errors: Vec::new(),
            stuck: Vec::new(),
            rate: None,
            verified: None,
        }),
        Event::Verdict(Verdict::of("oltp-flash", Vec::new())),
        Event::RunEnded(failed()),
    ]
}
