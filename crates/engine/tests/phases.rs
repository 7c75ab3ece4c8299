//! Phases of block I/O as their callers see them, on real files.

// Helpers of tests may give up as tests do.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stderr)]

mod common;

use std::path::PathBuf;
use std::time::Duration;

use iolite_engine::{Control, EngineError, Outcome, Scratch, run_file_task};
use iolite_model::{
    Access, Arrival, BackendKind, Bytes, Ending, Event, FileTarget, FileTask, Iops, Mix, Nanos, OpKind, Ramp,
    RingOptions, RunId, Sink, Stage, Stop, SyncRule, Target,
};
use iolite_stats::Completion;
use iolite_sys::clock::Clock;
use iolite_workers::{Finished, WorkerEnd, WorkerGroup, WorkerStart};

use common::{raised_after, undisturbed};

#[derive(Default)]
struct Events(Vec<Event>);

impl Sink for Events {
    fn event(&mut self, event: &Event) {
        self.0.push(event.clone());
    }
}

fn file(create: bool) -> Target {
    Target::File(FileTarget {
        name: PathBuf::from("data"),
        size: Bytes::MIB,
        create,
        preallocate: true,
        per_worker: false,
    })
}

fn task(backend: BackendKind, mix: Mix, target: Target, stop: Stop) -> FileTask {
    FileTask {
        name: "test".into(),
        target,
        backend,
        mix,
        access: Access::Random,
        block: Bytes(4096),
        direct: false,
        workers: 1,
        concurrency: 1,
        arrival: Arrival::Closed,

        stop,
        ramp: Nanos(0).into(),
        interval: Nanos(20_000_000),
        seed: 1,
        ..FileTask::default()
    }
}

fn operations(count: u64) -> Stop {
    Stop { operations: Some(count), ..Stop::default() }
}

fn runtime(nanos: u64) -> Stop {
    Stop { runtime: Some(Nanos(nanos)), ..Stop::default() }
}

struct Fixture {
    _dir: tempfile::TempDir,
    scratch: Scratch,
    control: Control,
    events: Events,
}

impl Fixture {
    fn new() -> Fixture {
        let dir = tempfile::tempdir().unwrap();
        let scratch = Scratch::create(dir.path(), &RunId("test".into())).unwrap();
        Fixture { _dir: dir, scratch, control: Control::default(), events: Events::default() }
    }

    fn run(&mut self, task: &FileTask) -> Result<Outcome, EngineError> {
        run_file_task(task, 0, &mut self.scratch, Clock::best(), &self.control, &mut self.events)
    }

    fn lay_out(&mut self) {
        let mut layout = task(BackendKind::Sync, Mix::Write, file(true), operations(256));
        layout.access = Access::Sequential;
        assert_eq!(self.run(&layout).unwrap().totals.operations(OpKind::Write), 256);
    }
}

fn back_ends() -> Vec<BackendKind> {
    match iolite_sys::ring::available() {
        Ok(()) => vec![BackendKind::Sync, BackendKind::IoUring(RingOptions::default())],
        Err(error) => {
            eprintln!("skipped: io_uring is not available here: {error}");
            vec![BackendKind::Sync]
        }
    }
}

#[test]
fn every_back_end_does_exactly_what_was_asked() {
    for backend in back_ends() {
        let mut bench = Fixture::new();
        bench.lay_out();
        for mix in [Mix::Read, Mix::Write, Mix::ReadPercent(50)] {
            let mut task = task(backend, mix, file(false), operations(1001));
            (task.workers, task.concurrency) = if backend == BackendKind::Sync { (3, 3) } else { (2, 9) };
            let totals = bench.run(&task).unwrap().totals;
            let (reads, writes) = (totals.operations(OpKind::Read), totals.operations(OpKind::Write));
            // What the last operations in flight did counts as drained.
            assert!((1001 - 9..=1001).contains(&(reads + writes)), "{backend:?} {mix:?}: {reads} + {writes}");
            assert_eq!(totals.bytes(OpKind::Read) + totals.bytes(OpKind::Write), (reads + writes) * 4096);
        }
    }
}

#[test]
fn a_layout_writes_every_block_with_data_that_does_not_compress() {
    let mut bench = Fixture::new();
    bench.lay_out();
    let data = std::fs::read(bench.scratch.claimed(&PathBuf::from("data")).unwrap()).unwrap();
    assert_eq!(data.len(), 1 << 20);
    for block in data.chunks(4096) {
        let distinct = block.iter().collect::<std::collections::HashSet<_>>().len();
        assert!(distinct > 250, "{distinct} of 256 byte values in a block");
    }
}

#[test]
fn a_commit_is_a_write_with_its_sync() {
    for backend in back_ends() {
        let mut bench = Fixture::new();
        let mut task = task(backend, Mix::Write, file(true), operations(50));
        task.access = Access::Sequential;
        task.durability.sync = Some(SyncRule::fdatasync(1));
        let totals = bench.run(&task).unwrap().totals;
        let count = |kind| totals.operations(kind);
        assert!(count(OpKind::Commit) >= 49, "{backend:?}: {}", count(OpKind::Commit));
        assert_eq!(count(OpKind::Sync), count(OpKind::Commit));
        let median = |kind| totals.response(kind).unwrap().quantile(iolite_model::Quantile(0.5));
        assert!(median(OpKind::Commit) >= median(OpKind::Sync));
        assert!(median(OpKind::Commit) >= median(OpKind::Write));
    }
}

#[test]
fn the_time_is_kept_and_the_ramp_left_out() {
    let mut bench = Fixture::new();
    let mut task =
        task(BackendKind::Null, Mix::Read, Target::Null { size: Bytes::GIB }, runtime(200_000_000));
    task.ramp = Nanos(100_000_000).into();
    let outcome = bench.run(&task).unwrap();
    assert_eq!(outcome.totals.measured, 200_000_000);
    assert_eq!(outcome.ending, Ending::Completed);
    let stage = |wanted| {
        let of_stage = |event: &Event| match event {
            Event::Interval(interval) if interval.stage == wanted => {
                interval.ops.iter().map(|ops| ops.operations).sum::<u64>()
            }
            _ => 0,
        };
        bench.events.0.iter().map(of_stage).sum::<u64>()
    };
    assert_eq!(stage(Stage::Measured), outcome.totals.operations(OpKind::Read));
    assert!(stage(Stage::Ramp) > 0);
    let workers: Vec<_> = bench.events.0.iter().filter(|event| matches!(event, Event::Worker(_))).collect();
    assert_eq!(workers.len(), 1);
}

/// Sums of the operations and bytes of a stage.
fn of_stage(events: &[Event], wanted: Stage) -> (u64, u64) {
    let sums = events.iter().map(|event| match event {
        Event::Interval(interval) if interval.stage == wanted => {
            let ops = interval.ops.iter();
            ops.fold((0, 0), |(count, bytes), op| (count + op.operations, bytes + op.bytes))
        }
        _ => (0, 0),
    });
    sums.fold((0, 0), |sum, of| (sum.0 + of.0, sum.1 + of.1))
}

#[test]
fn a_ramp_of_an_amount_excludes_just_that_much() {
    let target = || Target::Null { size: Bytes::GIB };
    for (workers, amount, operations) in [(1, 40_960, 100), (1, 40_961, 100), (4, 409_600, 1000), (1, 1, 10)]
    {
        let mut bench = Fixture::new();
        let mut task = task(BackendKind::Null, Mix::ReadPercent(50), target(), self::operations(operations));
        (task.workers, task.concurrency, task.ramp) = (workers, workers, Ramp::Amount(Bytes(amount)));
        let outcome = bench.run(&task).unwrap();
        assert_eq!(outcome.ending, Ending::Completed);
        let (ramp, measured) =
            (of_stage(&bench.events.0, Stage::Ramp), of_stage(&bench.events.0, Stage::Measured));
        let totals = &outcome.totals;
        let counted = totals.operations(OpKind::Read) + totals.operations(OpKind::Write);
        let expected = amount.div_ceil(4096);
        // Of several workers, others may complete operations within the nanosecond in which one completes the amount.
        let beyond = ramp.0 - expected;
        assert!(beyond < u64::from(workers), "{ramp:?} of {amount}");
        assert_eq!((ramp.1, measured.0, ramp.0 + measured.0), (ramp.0 * 4096, counted, operations));
        let first = bench.events.0.iter().filter_map(|event| match event {
            Event::Interval(interval) if interval.stage == Stage::Measured => Some(interval.start.0),
            _ => None,
        });
        assert_eq!(first.min(), Some(totals.ramp_end), "the measured part begins where the ramp ended");
        let seconds: f64 = totals.series.iter().map(|point| point.seconds).sum();
        assert!(
            (seconds - totals.measured as f64 / 1e9).abs() < 1e-9,
            "{seconds} s of {} ns",
            totals.measured
        );
    }
}

#[test]
fn the_runtime_begins_after_the_amount() {
    let mut bench = Fixture::new();
    let null = Target::Null { size: Bytes::GIB };
    let mut task = task(BackendKind::Null, Mix::Read, null, runtime(100_000_000));
    (task.arrival, task.ramp) = (Arrival::Constant(Iops(1000.0)), Ramp::Amount(Bytes(100 * 4096)));
    let outcome = bench.run(&task).unwrap();
    // A hundred operations at a thousand a second are a tenth of a second.
    assert!(outcome.totals.ramp_end >= 98_000_000, "{}", outcome.totals.ramp_end);
    assert_eq!(outcome.totals.measured, 100_000_000);
    assert_eq!(of_stage(&bench.events.0, Stage::Ramp), (100, 409_600));
}

#[test]
fn a_task_that_ends_in_its_ramp_has_measured_nothing() {
    let mut bench = Fixture::new();
    let null = Target::Null { size: Bytes::GIB };
    let mut task = task(BackendKind::Null, Mix::Read, null, operations(10));
    task.ramp = Ramp::Amount(Bytes::GIB);
    let outcome = bench.run(&task).unwrap();
    assert_eq!((outcome.totals.measured, outcome.totals.operations(OpKind::Read)), (0, 0));
    assert_eq!(outcome.totals.whole(OpKind::Read), (10, 40_960));
    assert_eq!(of_stage(&bench.events.0, Stage::Ramp), (10, 40_960));
}

#[test]
fn an_open_loop_keeps_its_rate_on_time() {
    undisturbed(|| {
        let mut bench = Fixture::new();
        let mut task =
            task(BackendKind::Null, Mix::Read, Target::Null { size: Bytes::GIB }, runtime(1_000_000_000));
        task.arrival = Arrival::Poisson(Iops(2000.0));
        let outcome = bench.run(&task).unwrap();
        let count = outcome.totals.operations(OpKind::Read);
        // 2000 with a standard deviation of 45; the same seed always asks for the same instants.
        assert!((1800..2200).contains(&count), "{count}");
        assert!(outcome.outstanding.backlog <= 2, "{:?}", outcome.outstanding);
    });
}

#[test]
fn think_time_pauses_after_every_so_many_operations() {
    for backend in back_ends() {
        let mut bench = Fixture::new();
        bench.lay_out();
        let mut task = task(backend, Mix::Read, file(false), runtime(500_000_000));
        task.arrival =
            Arrival::ThinkTime { pause: Nanos(10_000_000), operations: 5, io_time: Nanos(0), spin: Nanos(0) };
        let count = bench.run(&task).unwrap().totals.operations(OpKind::Read);
        // 50 pauses at most; fewer where the machine is slow to wake up.
        assert!((100..=255).contains(&count), "{backend:?}: {count}");
    }
}

#[test]
fn a_constant_rate_is_kept_exactly() {
    undisturbed(|| {
        let mut bench = Fixture::new();
        let mut task =
            task(BackendKind::Null, Mix::Read, Target::Null { size: Bytes::GIB }, runtime(1_000_000_000));
        task.arrival = Arrival::Constant(Iops(2000.0));
        let outcome = bench.run(&task).unwrap();
        let count = outcome.totals.operations(OpKind::Read);
        assert!((1995..=2001).contains(&count), "{count}, {:?}", outcome.outstanding);
    });
}

#[test]
fn covering_reads_each_block_once() {
    for backend in back_ends() {
        let mut bench = Fixture::new();
        bench.lay_out();
        let mut task = task(backend, Mix::Write, file(false), operations(256));
        task.access = Access::Covering;
        (task.workers, task.concurrency) = (4, 4);
        let path = bench.scratch.claimed(&PathBuf::from("data")).unwrap();
        let before = std::fs::read(&path).unwrap();
        bench.run(&task).unwrap();
        let after = std::fs::read(&path).unwrap();
        let kept =
            before.chunks(4096).zip(after.chunks(4096)).filter(|(before, after)| before == after).count();
        assert_eq!(kept, 0, "{backend:?}: blocks that were not written");
    }
}

#[test]
fn an_interruption_ends_at_once_and_keeps_what_was_measured() {
    undisturbed(|| {
        for backend in back_ends() {
            let mut bench = Fixture::new();
            bench.lay_out();
            let (flag, interrupter) = raised_after(Duration::from_millis(150));
            bench.control = Control::new(flag);
            let outcome =
                bench.run(&task(backend, Mix::Read, file(false), runtime(3_600_000_000_000))).unwrap();
            interrupter.join().unwrap();
            // It has an hour, so that only the interruption can have ended it.
            assert_eq!(outcome.ending, Ending::Interrupted);
            assert!(outcome.totals.operations(OpKind::Read) > 0 && outcome.totals.measured > 0);
        }
    });
}

#[test]
fn errors_of_operations_are_counted_and_the_first_is_reported() {
    for backend in back_ends() {
        let mut bench = Fixture::new();
        bench.lay_out();
        let target = |name: &str, create| {
            let size = Bytes(2 << 20);
            Target::File(FileTarget {
                name: name.into(),
                size,
                create,
                preallocate: false,
                per_worker: false,
            })
        };
        // A span that goes beyond the file is refused; a file that is only just made has nothing to read yet.
        let beyond = bench.run(&task(backend, Mix::Read, target("data", false), operations(200)));
        assert!(beyond.unwrap_err().to_string().contains("2 MiB"));
        let outcome = bench.run(&task(backend, Mix::Read, target("new", true), operations(200))).unwrap();
        let (good, bad) = (outcome.totals.operations(OpKind::Read), outcome.totals.errors(OpKind::Read));
        assert!(good == 0 && bad > 150, "{good} good, {bad} bad");
        assert_eq!(outcome.first_error(), Some("a read moved 0 of 4096 bytes"));
    }
}

#[test]
fn what_makes_no_sense_is_refused_with_a_reason() {
    let null = Target::Null { size: Bytes::MIB };
    let good = task(BackendKind::Null, Mix::Read, null, operations(1));
    type Spoil = fn(&mut FileTask);
    let cases: [(&str, Spoil); 6] = [
        ("at least one worker", |task| task.workers = 0),
        ("block size", |task| task.block = Bytes(0)),
        ("as many workers", |task| (task.backend, task.concurrency) = (BackendKind::Sync, 2)),
        ("null target", |task| task.backend = BackendKind::Sync),
        ("no stop condition", |task| task.stop = Stop::default()),
        ("too small", |task| task.target = Target::Null { size: Bytes(100) }),
    ];
    for (expected, spoil) in cases {
        let mut task = good.clone();
        spoil(&mut task);
        let error = Fixture::new().run(&task).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
    let error =
        Fixture::new().run(&task(BackendKind::Sync, Mix::Read, file(false), operations(1))).unwrap_err();
    assert!(error.to_string().contains("it was not created by this run"), "{error}");
}

#[test]
fn workers_released_together_and_collected_by_the_hundred() {
    let mut bench = Fixture::new();
    let mut task = task(BackendKind::Null, Mix::Read, Target::Null { size: Bytes::GIB }, operations(100_000));
    (task.workers, task.concurrency) = (100, 100);
    assert_eq!(bench.run(&task).unwrap().totals.operations(OpKind::Read), 100_000);
}

/// A worker that has done its share early does not end the phase's time for the others.
#[test]
fn the_last_workers_end_is_the_phases() {
    let clock = Clock::best();
    let group = WorkerGroup {
        first: 0,
        delay: Nanos(0),
        phase: 0,
        workers: 2,
        kinds: vec![OpKind::Read],
        stop: runtime(400_000_000),
        ramp: Nanos(0).into(),
        interval: Nanos(50_000_000),
        clock,
        control: Control::default(),
        patience: iolite_workers::Patience::default(),
    };
    let outcome = group
        .run(None, &mut Events::default(), |worker| {
            move |start: WorkerStart| {
                let Some(mut lane) = start.ready() else { return Ok::<_, EngineError>(None) };
                while !lane.is_over(lane.now()) {
                    let now = lane.now();
                    lane.record(Completion {
                        kind: OpKind::Read,
                        intended: now,
                        issued: now,
                        completed: now,
                        bytes: 1,
                    });
                    if worker == 0 {
                        break;
                    }
                    std::thread::sleep(Duration::from_millis(1));
                }
                let now = lane.now();
                lane.close(now);
                Ok(Some((lane, WorkerEnd::default())))
            }
        })
        .unwrap();
    assert_eq!(outcome.totals.measured, 400_000_000);
    let series: u64 = outcome.totals.series.iter().map(|point| point.operations[OpKind::Read]).sum();
    assert_eq!(series, outcome.totals.operations(OpKind::Read));
    let length: f64 = outcome.totals.series.iter().map(|point| point.seconds).sum();
    assert!((length - 0.4).abs() < 1e-9, "{length}");
}

#[test]
fn a_worker_that_dies_or_hangs_is_an_error_not_an_end() {
    let group = |workers| WorkerGroup {
        first: 0,
        delay: Nanos(0),
        phase: 0,
        workers,
        kinds: vec![OpKind::Read],
        stop: runtime(50_000_000),
        ramp: Nanos(0).into(),
        interval: Nanos(50_000_000),
        clock: Clock::best(),
        control: Control::default(),
        patience: iolite_workers::Patience::default(),
    };
    let died = group(1).run(None, &mut Events::default(), |_| {
        |_: WorkerStart| -> Result<Finished, EngineError> { panic!("on purpose") }
    });
    assert!(died.unwrap_err().to_string().contains("became ready"));
    // One of two never comes back from its operation: the phase ends without it, and says so.
    let outcome = group(2)
        .run(None, &mut Events::default(), |worker| {
            move |start: WorkerStart| {
                let Some(mut lane) = start.ready() else { return Ok::<_, EngineError>(None) };
                if worker == 0 {
                    std::thread::sleep(Duration::from_secs(3600));
                }
                let now = lane.end();
                lane.close(now);
                Ok(Some((lane, WorkerEnd::default())))
            }
        })
        .unwrap();
    assert_eq!((outcome.outstanding.at_end, outcome.outstanding.lost), (1, 1));
    assert!(outcome.outstanding.oldest >= Nanos::SECOND, "{:?}", outcome.outstanding);
}
