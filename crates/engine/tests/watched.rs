//! What is kept of each operation where a task asks for it, and phases that begin and end by each other.

// Helpers of tests may give up as tests do.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stderr)]

mod sim;

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use iolite_engine::{
    Backend, Control, IoOp, Libaio, Op, Outcome, Scratch, Submission, Uring, run_file_task, run_file_task_on,
    run_set,
};
use iolite_model::{
    Access, BackendKind, Bytes, Ending, Event, FileTarget, FileTask, FilesTarget, IoClass, IoPriority,
    JobTask, LoggedOperation, Mix, NamedFile, Nanos, OnError, OpKind, OpTotals, Placement, Prioritized,
    PriorityShare, RingOptions, RunId, Sink, Stage, Start, Stop, SyncMethod, SyncRule, Target, Watch,
};
use iolite_stats::Histogram;
use iolite_sys::clock::Clock;
use sim::{Sim, SimFaults, SimImage, SimLatency, SimParameters, SimStall};

const MS: u64 = 1_000_000;

/// Longer than any test waits: a phase that is not ended fails by its own length.
const HOUR: u64 = 3_600_000 * MS;

/// Keeps all events, and does something at each.
struct Events<F>(Vec<Event>, F);

impl<F: FnMut(&Event) + Send> Sink for Events<F> {
    fn event(&mut self, event: &Event) {
        (self.1)(event);
        self.0.push(event.clone());
    }
}

fn events() -> Events<impl FnMut(&Event) + Send> {
    Events(Vec::new(), |_: &Event| {})
}

impl<F> Events<F> {
    /// What was reported of each operation, by worker.
    fn operations(&self, phase: u32, worker: u32) -> Vec<LoggedOperation> {
        let logs = self.0.iter().filter_map(|event| match event {
            Event::Operations(log) if (log.phase, log.worker) == (phase, worker) => Some(&log.operations),
            _ => None,
        });
        logs.flatten().copied().collect()
    }

    /// The sums of intervals of a stage.
    fn sums(&self, stage: Stage, kind: OpKind) -> (u64, u64, u64, u64) {
        let intervals = self.0.iter().filter_map(|event| match event {
            Event::Interval(interval) if interval.stage == stage => Some(&interval.ops),
            _ => None,
        });
        let ops: Vec<&OpTotals> = intervals.flatten().filter(|op| op.kind == kind).collect();
        let sum = |of: &dyn Fn(&OpTotals) -> u64| ops.iter().map(|op| of(op)).sum();
        (sum(&|op| op.operations), sum(&|op| op.errors), sum(&|op| op.bytes), sum(&|op| op.response_sum.0))
    }
}

fn runtime(nanos: u64) -> Stop {
    Stop { runtime: Some(Nanos(nanos)), ..Stop::default() }
}

fn operations(count: u64) -> Stop {
    Stop { operations: Some(count), ..Stop::default() }
}

fn task(name: &str, stop: Stop) -> FileTask {
    let target = Target::Null { size: Bytes::MIB };
    FileTask { name: name.into(), target, stop, interval: Nanos(20 * MS), ..FileTask::default() }
}

const ALL: Watch = Watch { detail: true, operations: true };

fn simulate(task: &FileTask, parameters: SimParameters, sink: &mut dyn Sink, control: &Control) -> Outcome {
    let image = SimImage::new(task.target.size().0 as usize);
    let block = task.largest().0 as usize;
    let make = move |worker: u32, depth: u32| {
        let parameters = SimParameters { seed: u64::from(worker) + 5, depth, block, ..parameters.clone() };
        Ok(Sim::new(parameters, image.clone()))
    };
    run_file_task_on(task, 0, Clock::best(), control, sink, make).unwrap()
}

fn device() -> SimParameters {
    SimParameters {
        seed: 0,
        depth: 1,
        block: 4096,
        latency: SimLatency::Exponential { mean: Duration::from_micros(200) },
        channels: None,
        faults: SimFaults::default(),
        stall: None,
    }
}

#[test]
fn what_is_reported_of_each_operation_adds_up_to_the_totals() {
    let mut task = task("all", runtime(300 * MS));
    (task.mix, task.ramp, task.watch) = (Mix::ReadPercent(50), Nanos(100 * MS).into(), ALL);
    (task.workers, task.concurrency) = (2, 9);
    task.durability.sync = Some(SyncRule::fdatasync(3));
    let mut events = events();
    let faults = SimFaults { error: 0.02, short: 0.02, ..SimFaults::default() };
    let outcome = simulate(&task, SimParameters { faults, ..device() }, &mut events, &Control::default());
    assert_eq!((&outcome.ending, outcome.outstanding.lost), (&Ending::Completed, 0));
    let by_worker = [events.operations(0, 0), events.operations(0, 1)];
    assert!(by_worker.iter().all(|ops| ops.is_sorted_by_key(|op| op.completed) && !ops.is_empty()));
    let all = by_worker.concat();
    assert!(
        all.iter()
            .all(|op| op.intended <= op.issued && op.issued <= op.submitted && op.submitted <= op.completed)
    );
    let within = |at: u64| (100 * MS..400 * MS).contains(&at);
    let detail = outcome.detail.unwrap();
    for kind in [OpKind::Read, OpKind::Write, OpKind::Sync] {
        let of: Vec<_> = all.iter().filter(|op| op.kind == kind && within(op.completed)).collect();
        let good = || of.iter().filter(|op| op.error.is_none());
        let sum = |times: &dyn Fn(&LoggedOperation) -> u64| good().map(|op| times(op)).sum::<u64>();
        let logged = (
            good().count() as u64,
            (of.len() - good().count()) as u64,
            sum(&|op| op.length.into()),
            sum(&|op| op.completed - op.intended),
        );
        assert!(logged.0 > 10, "{kind:?}: {logged:?}");
        assert_eq!(logged, events.sums(Stage::Measured, kind), "{kind:?}");
        let totals =
            (outcome.totals.operations(kind), outcome.totals.errors(kind), outcome.totals.bytes(kind));
        assert_eq!((logged.0, logged.1, logged.2), totals);
        let histogram = |times: &dyn Fn(&LoggedOperation) -> u64| {
            let mut histogram = Histogram::new();
            good().for_each(|op| histogram.record(times(op)));
            histogram
        };
        assert_eq!(&histogram(&|op| op.completed - op.issued), outcome.totals.service(kind).unwrap());
        if kind != OpKind::Sync {
            assert_eq!(histogram(&|op| op.submitted - op.issued), detail.submission[kind.index()]);
            assert_eq!(histogram(&|op| op.completed - op.submitted), detail.completion[kind.index()]);
        }
    }
    assert_eq!(detail.submission[2].count(), 0);
    let submitted = all.iter().filter(|op| within(op.submitted)).count() as u64;
    assert_eq!(detail.depths.iter().sum::<u64>(), submitted);
    assert!(detail.depths[3..] == [0; 4] && detail.depths[2] > detail.depths[0], "{:?}", detail.depths);
    assert!(all.iter().any(|op| op.error == Some(5)) && all.iter().any(|op| op.error == Some(0)));
    assert!(events.sums(Stage::Ramp, OpKind::Read).0 > 0);
    assert!(outcome.usage.user.0 + outcome.usage.system.0 > 0, "{:?}", outcome.usage);
}

#[test]
fn a_synchronous_back_end_has_one_at_a_time() {
    let mut task = task("null", operations(5000));
    (task.watch, task.workers, task.concurrency) = (ALL, 2, 2);
    let mut events = events();
    let dir = tempfile::tempdir().unwrap();
    let mut scratch = Scratch::create(dir.path(), &RunId("test".into())).unwrap();
    let clock = Clock::best();
    let outcome = run_file_task(&task, 0, &mut scratch, clock, &Control::default(), &mut events).unwrap();
    let detail = outcome.detail.unwrap();
    assert_eq!(outcome.totals.operations(OpKind::Read), 5000);
    assert_eq!(detail.depths, [5000, 0, 0, 0, 0, 0, 0]);
    assert_eq!((detail.submits, detail.completes), ([0, 5000, 0, 0, 0, 0, 0], [0, 5000, 0, 0, 0, 0, 0]));
    assert_eq!(detail.submission.iter().chain(&detail.completion).map(Histogram::count).sum::<u64>(), 0);
    let logged = [events.operations(0, 0), events.operations(0, 1)].concat();
    assert_eq!(logged.len(), 5000);
    assert!(logged.iter().all(|op| op.submitted == op.completed && op.error.is_none()));
}

#[test]
fn what_is_not_asked_for_is_not_kept() {
    let mut events = events();
    let outcome = simulate(&task("plain", operations(100)), device(), &mut events, &Control::default());
    assert_eq!((outcome.detail, events.operations(0, 0).len()), (None, 0));
}

/// Operations that complete slowly are reported all the same, before the chunk is full.
#[test]
fn operations_are_reported_while_the_phase_lasts() {
    let control = Control::default();
    let mut task = task("slow", runtime(HOUR));
    task.watch = Watch { operations: true, ..Watch::default() };
    let ender = control.clone();
    let mut events = Events(Vec::new(), move |event: &Event| {
        if matches!(event, Event::Operations(log) if log.operations.len() < 1000) {
            ender.end_phase(0);
        }
    });
    let slow = SimParameters { latency: SimLatency::Constant(Duration::from_millis(5)), ..device() };
    let outcome = simulate(&task, slow, &mut events, &control);
    assert!(outcome.totals.measured < HOUR, "it was ended");
    assert_eq!(outcome.ending, Ending::Completed);
    let logged = events.operations(0, 0).len() as u64;
    let drained = events.sums(Stage::Drain, OpKind::Read).0;
    assert_eq!(logged, outcome.totals.operations(OpKind::Read) + drained);
}

/// Runs for an hour, unless `ask` ends it when the first measured interval is reported.
fn ended(task: &FileTask, ask: impl Fn(&Control) + Send) -> (Outcome, u64) {
    let control = Control::default();
    let asker = control.clone();
    let mut events = Events(Vec::new(), move |event: &Event| {
        if matches!(event, Event::Interval(interval) if interval.stage == Stage::Measured) {
            ask(&asker);
        }
    });
    let task = FileTask { stop: runtime(HOUR), ..task.clone() };
    let outcome = simulate(&task, device(), &mut events, &control);
    assert!(outcome.totals.measured < HOUR, "it was ended");
    let sums = events.sums(Stage::Measured, OpKind::Read).0;
    (outcome, sums)
}

#[test]
fn a_phase_that_is_ended_keeps_what_it_has_measured() {
    let task = FileTask { workers: 3, concurrency: 3, ..task("ended", Stop::default()) };
    let (outcome, sums) = ended(&task, |control| control.end_phase(0));
    assert_eq!(outcome.ending, Ending::Completed);
    let operations = outcome.totals.operations(OpKind::Read);
    assert!(operations > 0 && operations == sums, "{operations} {sums}");
    assert!(outcome.totals.measured > 0);
    let (outcome, _) = ended(&task, |control| control.fail_phase(0, "below the least rate"));
    assert_eq!(outcome.ending, Ending::Failed("below the least rate".into()));
    assert!(outcome.totals.operations(OpKind::Read) > 0);
}

#[test]
fn a_phase_that_is_ended_before_it_measures_is_off_alone() {
    let control = Control::default();
    let late =
        FileTask { start: Start { delay: Nanos(HOUR), ..Start::default() }, ..task("late", runtime(MS)) };
    let prompt = FileTask { watch: ALL, ..task("prompt", runtime(200 * MS)) };
    let never = FileTask { watch: ALL, ..task("never", runtime(HOUR)) };
    control.end_phase(2);
    let ender = control.clone();
    let mut events = Events(Vec::new(), move |event: &Event| {
        if matches!(event, Event::Worker(worker) if worker.phase == 1) {
            ender.end_phase(0);
        }
    });
    let outcomes = run(&[late, prompt, never], &control, &mut events);
    let endings: Vec<_> = outcomes.iter().map(|outcome| outcome.ending.clone()).collect();
    assert_eq!(endings, [Ending::Interrupted, Ending::Completed, Ending::Interrupted]);
    assert!(outcomes[1].totals.operations(OpKind::Read) > 0);
    assert_eq!(events.operations(2, 0), []);
}

fn run(tasks: &[FileTask], control: &Control, events: &mut dyn Sink) -> Vec<Outcome> {
    let dir = tempfile::tempdir().unwrap();
    let mut scratch = Scratch::create(dir.path(), &RunId("test".into())).unwrap();
    let tasks: Vec<_> = tasks.iter().map(|task| JobTask::Io(Box::new(task.clone()))).collect();
    run_set(&tasks, 0, &mut scratch, Clock::best(), control, events).unwrap().verify()
}

#[test]
fn a_task_starts_when_the_one_it_waits_for_has_ended() {
    let first = FileTask { watch: ALL, ..task("first", runtime(200 * MS)) };
    let alone = task("alone", runtime(10 * MS));
    let second = FileTask {
        watch: ALL,
        start: Start { after: Some("first".into()), ..Start::default() },
        ..task("second", operations(100))
    };
    let third = FileTask {
        watch: ALL,
        start: Start { after: Some("second".into()), ..Start::default() },
        ..task("third", operations(100))
    };
    let earlier = FileTask {
        start: Start { after: Some("an earlier set's".into()), ..Start::default() },
        ..alone.clone()
    };
    let mut events = events();
    let tasks = [first.clone(), first, alone, second, third, earlier];
    let outcomes = run(&tasks, &Control::default(), &mut events);
    assert!(outcomes.iter().all(|outcome| outcome.ending == Ending::Completed));
    assert_eq!(outcomes[4].totals.operations(OpKind::Read), 100);
    let ended = |phase: u32| {
        let at = |event: &Event| matches!(event, Event::Worker(worker) if worker.phase == phase);
        events.0.iter().position(at).unwrap()
    };
    let began = |phase: u32| {
        let at = |event: &Event| matches!(event, Event::Operations(log) if log.phase == phase);
        events.0.iter().position(at).unwrap()
    };
    assert!(began(3) > ended(0).max(ended(1)) && began(4) > ended(3));
}

#[test]
fn whoever_waits_for_what_fails_is_called_off() {
    let stop = runtime(HOUR);
    let first = FileTask {
        errors: OnError { max_service: Some(Nanos(0)), ..OnError::default() },
        ..task("first", stop)
    };
    let second =
        FileTask { start: Start { after: Some("first".into()), ..Start::default() }, ..task("second", stop) };
    let third =
        FileTask { start: Start { after: Some("second".into()), ..Start::default() }, ..task("third", stop) };
    let outcomes = run(&[first, second, third], &Control::default(), &mut events());
    let [Ending::Failed(reason), Ending::Interrupted, Ending::Interrupted] =
        [0, 1, 2].map(|index: usize| outcomes[index].ending.clone())
    else {
        panic!("{outcomes:?}");
    };
    assert!(reason.contains("longer than the maximum of 0 ns"), "{reason}");
}

#[test]
fn an_operation_that_takes_too_long_ends_the_phase() {
    let mut task = task("stalled", runtime(HOUR));
    (task.errors.max_service, task.concurrency) = (Some(Nanos(300 * MS)), 4);
    let stall = Some(SimStall { at: Duration::from_millis(50), length: Duration::from_millis(600) });
    let outcome = simulate(&task, SimParameters { stall, ..device() }, &mut events(), &Control::default());
    let Ending::Failed(reason) = outcome.ending else { panic!("{:?}", outcome.ending) };
    assert!(reason.contains("a read at byte ") && reason.contains("300 ms"), "{reason}");
    assert!(outcome.totals.operations(OpKind::Read) > 0);
}

#[test]
fn what_was_written_is_made_durable_once_at_the_end() {
    let mut backends = vec![BackendKind::Sync, BackendKind::Threads];
    match iolite_sys::ring::available() {
        Ok(()) => backends.push(BackendKind::IoUring(RingOptions::default())),
        Err(error) => eprintln!("skipped: io_uring is not available here: {error}"),
    }
    let dir = tempfile::tempdir().unwrap();
    let mut scratch = Scratch::create(dir.path(), &RunId("test".into())).unwrap();
    for (index, backend) in backends.into_iter().enumerate() {
        let target = |create| {
            Target::File(FileTarget {
                name: format!("data{index}").into(),
                size: Bytes::MIB,
                create,
                preallocate: true,
                per_worker: false,
            })
        };
        let mut measure = |mix, stop, create| {
            let mut task = FileTask { target: target(create), backend, mix, ..task("synced", stop) };
            (task.durability.end_sync, task.access) = (Some(SyncMethod::Fsync), Access::Sequential);
            (task.concurrency, task.watch) = (if backend.is_synchronous() { 1 } else { 4 }, ALL);
            let mut events = events();
            let outcome =
                run_file_task(&task, 0, &mut scratch, Clock::best(), &Control::default(), &mut events)
                    .unwrap();
            assert_eq!((&outcome.ending, outcome.outstanding.lost), (&Ending::Completed, 0), "{backend:?}");
            let (measured, drained) =
                (events.sums(Stage::Measured, OpKind::Sync).0, events.sums(Stage::Drain, OpKind::Sync).0);
            assert_eq!(outcome.totals.operations(OpKind::Sync), measured);
            let last = events.operations(0, 0).pop().map(|op| op.kind);
            (measured, drained, last)
        };
        assert_eq!(measure(Mix::Write, operations(256), true), (1, 0, Some(OpKind::Sync)), "{backend:?}");
        // On a loaded host the time may be over before the first write.
        let mut timed = (0, 0, None);
        while timed.2.is_none() {
            timed = measure(Mix::Write, runtime(200 * MS), false);
        }
        assert_eq!(timed, (0, 1, Some(OpKind::Sync)), "{backend:?}");
        assert_eq!(measure(Mix::Read, operations(256), false), (0, 0, Some(OpKind::Read)), "{backend:?}");
    }
}

/// A consumer that is slow: the worker waits, and nothing is lost.
#[test]
fn a_slow_listener_loses_nothing() {
    let task = FileTask { watch: ALL, ..task("many", operations(40 * 1024 + 7)) };
    let chunks = Arc::new(Mutex::new(Vec::new()));
    let heard = chunks.clone();
    let mut events = Events(Vec::new(), move |event: &Event| {
        if let Event::Operations(log) = event {
            std::thread::yield_now();
            heard.lock().unwrap().push(log.operations.len());
        }
    });
    let outcome = run(&[task], &Control::default(), &mut events).remove(0);
    assert_eq!(outcome.totals.operations(OpKind::Read), 40 * 1024 + 7);
    let chunks = chunks.lock().unwrap();
    assert_eq!(chunks.iter().sum::<usize>(), 40 * 1024 + 7);
    assert!(chunks.iter().all(|chunk| (1..=1024).contains(chunk)) && chunks.len() > 40, "{chunks:?}");
}

#[test]
fn a_thousand_tasks_start_together() {
    let mut task = task("one of many", operations(10));
    (task.watch, task.mix) = (ALL, Mix::ReadPercent(50));
    let started = Instant::now();
    let outcomes = run(&vec![task; 1000], &Control::default(), &mut events());
    eprintln!("1,000 tasks from start to end: {:?}", started.elapsed());
    let done = |outcome: &Outcome| {
        outcome.totals.operations(OpKind::Read) + outcome.totals.operations(OpKind::Write)
    };
    assert!(outcomes.iter().all(|outcome| outcome.ending == Ending::Completed && done(outcome) == 10));
}

/// A thread cannot use more of a CPU than the time that has passed: of 600 ms only the last 100 are reported.
#[test]
fn what_the_ramp_has_used_of_the_machine_is_not_reported() {
    let task = FileTask { ramp: Nanos(500 * MS).into(), ..task("ramped", runtime(100 * MS)) };
    let usage = run(&[task], &Control::default(), &mut events()).remove(0).usage;
    let used = usage.user.0 + usage.system.0;
    assert!(used > 0 && used < 250 * MS, "{used}");
}

/// The back ends that give operations priorities of their own, as far as they are there.
fn prioritizing() -> Vec<BackendKind> {
    let mut kinds = Vec::new();
    match iolite_sys::ring::available() {
        Ok(()) => kinds.push(BackendKind::IoUring(RingOptions::PLAIN)),
        Err(error) => eprintln!("skipped: io_uring is not available here: {error}"),
    }
    match iolite_sys::aio::available() {
        Ok(()) => kinds.push(BackendKind::Libaio),
        Err(error) => eprintln!("skipped: libaio is not available here: {error}"),
    }
    kinds
}

#[test]
fn a_share_of_the_operations_has_its_priority() {
    let best_effort = |level| IoPriority { class: IoClass::BestEffort, level, hint: 0 };
    for backend in prioritizing() {
        let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let file = NamedFile { path: dir.path().join("f"), offset: Bytes(0), size: Bytes::MIB };
        let share =
            PriorityShare { of: Prioritized::Reads, size: None, percent: 50.0, priority: best_effort(1) };
        let task = FileTask {
            target: Target::Files(FilesTarget::of(vec![file])),
            backend,
            concurrency: 4,
            watch: ALL,
            priorities: vec![share],
            placement: Placement { io_priority: Some(best_effort(6)), ..Placement::default() },
            ..task("prioritized", operations(256))
        };
        let elsewhere = tempfile::tempdir().unwrap();
        let mut scratch = Scratch::create(elsewhere.path(), &RunId("test".into())).unwrap();
        let mut events = events();
        let control = Control::default();
        let outcome = run_file_task(&task, 0, &mut scratch, Clock::best(), &control, &mut events).unwrap();
        assert_eq!((&outcome.ending, outcome.totals.operations(OpKind::Read)), (&Ending::Completed, 256));
        let reported = events.operations(0, 0);
        let count = |priority: u16| reported.iter().filter(|op| op.priority == priority).count() as u64;
        let (high, low) = (count(0x4001), count(0x4006));
        // Four standard deviations of 8 around the half.
        assert!(high + low == 256 && high.abs_diff(128) < 32, "{backend:?}: {high} and {low}");
        let detail = outcome.detail.unwrap();
        let kept: Vec<_> =
            detail.priorities.iter().map(|times| (times.priority, times.service.count())).collect();
        assert_eq!(kept, [(0x4001, high), (0x4006, low)], "{backend:?}");
    }
}

/// The kernel is given the priority: one that there is not comes back as an error.
#[test]
fn a_priority_reaches_the_kernel() {
    for backend in prioritizing() {
        let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        std::fs::write(dir.path().join("f"), vec![7; 8192]).unwrap();
        let file = Arc::new(std::fs::File::open(dir.path().join("f")).unwrap());
        let op = Op { io: IoOp::Read, slot: 0, offset: 0, length: 4096 };
        let results = |back_end: &mut dyn Backend| {
            let mut one = |priority: u16| {
                back_end.prioritize(priority);
                let mut returned = Vec::new();
                assert_eq!(back_end.submit(&op), Submission::Queued);
                back_end.reap(1, Duration::from_secs(10), &mut returned).unwrap();
                returned[0].result
            };
            [one(0), one(2 << 13 | 3), one(5 << 13), one(0)]
        };
        let found = match backend {
            BackendKind::Libaio => results(&mut Libaio::new(file, 1, 4096).unwrap()),
            _ => results(&mut Uring::new(file, 1, 4096, RingOptions::PLAIN, SyncMethod::Fsync).unwrap()),
        };
        assert_eq!(found, [Ok(4096), Ok(4096), Err(22), Ok(4096)], "{backend:?}");
    }
}

#[test]
fn only_rings_and_aio_have_priorities_of_operations() {
    let priority = IoPriority { class: IoClass::Idle, level: 0, hint: 0 };
    let share = PriorityShare { of: Prioritized::Reads, size: None, percent: 50.0, priority };
    let task = FileTask { priorities: vec![share], ..task("null", operations(1)) };
    let elsewhere = tempfile::tempdir().unwrap();
    let mut scratch = Scratch::create(elsewhere.path(), &RunId("test".into())).unwrap();
    let error = run_file_task(&task, 0, &mut scratch, Clock::best(), &Control::default(), &mut events());
    assert!(error.unwrap_err().to_string().contains("io-uring or libaio"));
}
