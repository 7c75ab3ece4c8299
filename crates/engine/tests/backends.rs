//! Every back end against plain pread and pwrite, alone and in the measured loop; the loop against a simulated device.

// Helpers of tests may give up as tests do.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stderr)]

mod common;
mod sim;

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use iolite_engine::{
    Backend, Completions, Control, EngineError, IoOp, Libaio, Mmap, Op, Outcome, Scratch, Splice, Submission,
    Sync, Threads, Uring, Vectored, run_file_task, run_file_task_on,
};
use iolite_model::{
    Access, Arrival, BackendKind, Bytes, Ending, Event, FileTarget, FileTask, IoFlags, Iops, Mix, Nanos,
    OpKind, Quantile, RingOptions, RunId, Sink, Stop, SyncMethod, SyncRule, Target,
};
use iolite_sys::clock::Clock;

use common::{raised_after, undisturbed};
use iolite_sys::file;
use iolite_sys::mapping::Use;
use sim::{Sim, SimFaults, SimImage, SimLatency, SimParameters, SimStall};

const BLOCK: usize = 4096;
const BLOCKS: u64 = 64;
const EINVAL: i32 = 22;
const WAIT: Duration = Duration::from_secs(10);

/// The back ends that can be had here.
fn kinds() -> Vec<BackendKind> {
    let mut kinds = vec![
        BackendKind::Sync,
        BackendKind::Vectored(IoFlags::default()),
        BackendKind::Vectored(IoFlags { dsync: true, ..IoFlags::default() }),
        BackendKind::Mmap,
        BackendKind::Splice,
        BackendKind::Threads,
    ];
    match iolite_sys::ring::available() {
        Ok(()) => {
            let polled = RingOptions { submit_polling: true, ..RingOptions::default() };
            let async_some = RingOptions { force_async: 3, ..RingOptions::default() };
            kinds.extend([RingOptions::default(), polled, async_some].map(BackendKind::IoUring));
        }
        Err(error) => eprintln!("skipped: io_uring is not available here: {error}"),
    }
    match iolite_sys::aio::available() {
        Ok(()) => kinds.push(BackendKind::Libaio),
        Err(error) => eprintln!("skipped: libaio is not available here: {error}"),
    }
    kinds
}

fn depth_of(kind: BackendKind) -> u32 {
    if kind.is_synchronous() { 1 } else { 8 }
}

fn make(kind: BackendKind, file: &Arc<File>, write: bool) -> Box<dyn Backend> {
    let (file, depth) = (file.clone(), depth_of(kind));
    match kind {
        BackendKind::Null => panic!("null has no file"),
        BackendKind::Sync => Box::new(Sync::new(file, BLOCK).unwrap()),
        BackendKind::IoUring(options) => {
            Box::new(Uring::new(file, depth, BLOCK, options, SyncMethod::Fdatasync).unwrap())
        }
        BackendKind::Vectored(flags) => Box::new(Vectored::new(file, BLOCK, flags, write).unwrap()),
        BackendKind::Libaio => Box::new(Libaio::new(file, depth, BLOCK).unwrap()),
        BackendKind::Mmap => {
            Box::new(Mmap::new(file, BLOCK, Use { write, random: true, huge: false }).unwrap())
        }
        BackendKind::Threads => Box::new(Threads::new(file, depth, BLOCK).unwrap()),
        BackendKind::Splice => Box::new(Splice::new(file, BLOCK).unwrap()),
        other => panic!("{other:?} moves no data"),
    }
}

/// Does the operations with as many in flight as there are slots. `fill` and `check` see the buffer before and after.
/// Returns each operation's result, in the order of `ops`.
fn drive(
    back_end: &mut dyn Backend,
    depth: u32,
    ops: &[(IoOp, u64)],
    mut fill: impl FnMut(usize, &mut [u8]),
    mut check: impl FnMut(usize, &[u8]),
) -> Vec<Result<u32, i32>> {
    let mut results = vec![None; ops.len()];
    let mut free: Vec<u32> = (0..depth).collect();
    let mut in_flight = vec![None; depth as usize];
    let mut returned = Completions::new();
    let mut next = 0;
    while results.iter().any(Option::is_none) {
        while next < ops.len()
            && let Some(slot) = free.pop()
        {
            let (io, offset) = ops[next];
            fill(next, &mut back_end.buffer(slot)[..BLOCK]);
            let length = if io == IoOp::Sync(SyncMethod::Fdatasync) { 0 } else { BLOCK as u32 };
            match back_end.submit(&Op { io, slot, offset, length }) {
                Submission::Done(result) => {
                    check(next, &back_end.buffer(slot)[..BLOCK]);
                    results[next] = Some(result);
                    free.push(slot);
                }
                Submission::Queued => {
                    in_flight[slot as usize] = Some(next);
                    assert!(back_end.buffer(slot).is_empty(), "a buffer in flight is not to be had");
                }
                Submission::Full => panic!("there is a slot but no room"),
            }
            next += 1;
        }
        let waiting = in_flight.iter().flatten().count();
        if waiting > 0 {
            let start = Instant::now();
            // A wait may end early with nothing (a signal, a moment's lack of memory in the kernel): then again.
            while returned.is_empty() && start.elapsed() < WAIT {
                back_end.reap(1, WAIT, &mut returned).unwrap();
            }
            assert!(!returned.is_empty(), "of {waiting} none came back in {:?}", start.elapsed());
        }
        for back in returned.drain(..) {
            let index: usize = in_flight[back.slot as usize].take().expect("it was not in flight");
            check(index, &back_end.buffer(back.slot)[..BLOCK]);
            assert!(results[index].replace(back.result).is_none());
            free.push(back.slot);
        }
    }
    results.into_iter().map(Option::unwrap).collect()
}

/// Every block once, in an order that looks random.
fn shuffled(io: IoOp) -> Vec<(IoOp, u64)> {
    (0..BLOCKS).map(|index| (io, (index * 37 + 11) % BLOCKS * BLOCK as u64)).collect()
}

/// Contents that identify the block and the round.
fn content(offset: u64, round: u8) -> [u8; BLOCK] {
    std::array::from_fn(|index| (offset / BLOCK as u64) as u8 ^ (index as u8).wrapping_mul(31) ^ round)
}

fn sized(path: &Path, direct: bool) -> Arc<File> {
    let file = file::create_new(path, direct).unwrap();
    file.set_len(BLOCKS * BLOCK as u64).unwrap();
    Arc::new(file)
}

fn round_trip(kind: BackendKind, path: &Path, file: &Arc<File>) {
    // Shown only where the test fails: whose operations did not come back.
    eprintln!("round trip with {kind:?}");
    let plain = File::options().read(true).write(true).open(path).unwrap();
    let mut back_end = make(kind, file, true);
    let writes = shuffled(IoOp::Write);
    let fill = |index: usize, buffer: &mut [u8]| buffer.copy_from_slice(&content(writes[index].1, 1));
    let results = drive(&mut *back_end, depth_of(kind), &writes, fill, |_, _| {});
    assert!(results.iter().all(|result| *result == Ok(BLOCK as u32)), "{kind:?}: {results:?}");
    let synced = drive(
        &mut *back_end,
        depth_of(kind),
        &[(IoOp::Sync(SyncMethod::Fdatasync), 0)],
        |_, _| {},
        |_, _| {},
    );
    assert_eq!(synced, [Ok(0)], "{kind:?}");
    let mut buffer = [0; BLOCK];
    for &(_, offset) in &writes {
        plain.read_exact_at(&mut buffer, offset).unwrap();
        assert!(buffer == content(offset, 1), "{kind:?} at {offset}");
        plain.write_all_at(&content(offset, 2), offset).unwrap();
    }
    plain.sync_all().unwrap();
    let reads = shuffled(IoOp::Read);
    let check =
        |index: usize, buffer: &[u8]| assert!(buffer == content(reads[index].1, 2), "{kind:?} read {index}");
    let results = drive(&mut *back_end, depth_of(kind), &reads, |_, buffer| buffer.fill(0), check);
    assert!(results.iter().all(|result| *result == Ok(BLOCK as u32)), "{kind:?}: {results:?}");
    assert_eq!(plain.metadata().unwrap().len(), BLOCKS * BLOCK as u64, "{kind:?}");
}

#[test]
fn what_a_back_end_writes_pread_reads_and_the_other_way_round() {
    for kind in kinds() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("data");
        round_trip(kind, &path, &sized(&path, false));
    }
}

#[test]
fn the_same_past_the_page_cache() {
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    if !file::direct_io_works(dir.path()).unwrap() {
        eprintln!("skipped: no direct I/O in {}", dir.path().display());
        return;
    }
    for (index, kind) in kinds().into_iter().filter(|kind| *kind != BackendKind::Mmap).enumerate() {
        let path = dir.path().join(format!("data{index}"));
        round_trip(kind, &path, &sized(&path, true));
    }
}

#[test]
fn short_transfers_and_errors_are_reported_as_they_are() {
    for kind in kinds() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("data");
        std::fs::write(&path, vec![1; BLOCK + 100]).unwrap();
        let read_only = Arc::new(File::open(&path).unwrap());
        let mut back_end = make(kind, &read_only, false);
        let ops = [
            (IoOp::Read, 0),
            (IoOp::Read, BLOCK as u64),
            (IoOp::Read, 1 << 40),
            (IoOp::Read, u64::MAX - 4095),
            (IoOp::Write, 0),
        ];
        let results = drive(&mut *back_end, depth_of(kind), &ops, |_, _| {}, |_, _| {});
        // A mapping has an end and permissions of its own.
        let (beyond, forbidden) = if kind == BackendKind::Mmap { (Ok(0), 13) } else { (Err(EINVAL), 9) };
        assert_eq!(results, [Ok(4096), Ok(100), Ok(0), beyond, Err(forbidden)], "{kind:?}");
        assert_eq!(std::fs::read(&path).unwrap(), vec![1; BLOCK + 100]);
        let too_long = Op { io: IoOp::Read, slot: 0, offset: 0, length: 8192 };
        let result = match back_end.submit(&too_long) {
            Submission::Done(result) => result,
            _ => {
                let mut returned = Completions::new();
                back_end.reap(1, WAIT, &mut returned).unwrap();
                returned[0].result
            }
        };
        assert_eq!(result, Err(EINVAL), "{kind:?}");
    }
}

#[test]
fn waiting_ends_when_its_time_is_over() {
    for kind in kinds() {
        let mut back_end = make(kind, &Arc::new(tempfile::tempfile().unwrap()), false);
        let mut out = Completions::new();
        back_end.reap(1, Duration::from_millis(20), &mut out).unwrap();
        assert!(out.is_empty(), "{kind:?}");
    }
}

/// That memory is not freed under the kernel can't be asserted; that nothing crashes, hangs or runs out can.
#[test]
fn dropped_with_operations_in_flight() {
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let direct = file::direct_io_works(dir.path()).unwrap();
    let file = sized(&dir.path().join("data"), direct);
    for kind in kinds().into_iter().filter(|kind| !kind.is_synchronous()) {
        for round in 0..100 {
            let mut back_end = make(kind, &file, true);
            for slot in 0..depth_of(kind) {
                let io =
                    [IoOp::Read, IoOp::Write, IoOp::Sync(SyncMethod::Fdatasync)][(slot as usize + round) % 3];
                let length = if io == IoOp::Sync(SyncMethod::Fdatasync) { 0 } else { BLOCK as u32 };
                let op = Op { io, slot, offset: u64::from(slot) * BLOCK as u64, length };
                assert_eq!(back_end.submit(&op), Submission::Queued);
            }
            if round % 2 == 0 {
                back_end.reap(round % 4, Duration::ZERO, &mut Completions::new()).unwrap();
            }
            drop(back_end);
            // Memory that the kernel still wrote to would likely be this.
            let witness = vec![0xabu8; depth_of(kind) as usize * BLOCK];
            std::thread::yield_now();
            assert!(witness.iter().all(|&byte| byte == 0xab), "{kind:?}, round {round}");
        }
    }
}

#[derive(Default)]
struct Events(Vec<Event>);

impl Sink for Events {
    fn event(&mut self, event: &Event) {
        self.0.push(event.clone());
    }
}

fn task(backend: BackendKind, mix: Mix, target: Target, stop: Stop) -> FileTask {
    FileTask {
        name: "test".into(),
        target,
        backend,
        mix,
        access: Access::Random,
        block: Bytes(BLOCK as u64),
        direct: false,
        workers: if backend.is_synchronous() { 3 } else { 2 },
        concurrency: if backend.is_synchronous() { 3 } else { 9 },
        arrival: Arrival::Closed,

        stop,
        ramp: Nanos(0).into(),
        interval: Nanos(50_000_000),
        seed: 1,
        ..FileTask::default()
    }
}

fn target(create: bool) -> Target {
    Target::File(FileTarget {
        name: PathBuf::from("data"),
        size: Bytes::MIB,
        create,
        preallocate: true,
        per_worker: false,
    })
}

fn operations(count: u64) -> Stop {
    Stop { operations: Some(count), ..Stop::default() }
}

fn runtime(millis: u64) -> Stop {
    Stop { runtime: Some(Nanos(millis * 1_000_000)), ..Stop::default() }
}

struct Fixture {
    _dir: tempfile::TempDir,
    scratch: Scratch,
    control: Control,
}

impl Fixture {
    fn new() -> Fixture {
        let dir = tempfile::tempdir().unwrap();
        let scratch = Scratch::create(dir.path(), &RunId("test".into())).unwrap();
        Fixture { _dir: dir, scratch, control: Control::default() }
    }

    fn run(&mut self, task: &FileTask) -> Result<Outcome, EngineError> {
        let events = &mut Events::default();
        run_file_task(task, 0, &mut self.scratch, Clock::best(), &self.control, events)
    }

    fn lay_out(&mut self) {
        let mut layout = task(BackendKind::Sync, Mix::Write, target(true), operations(256));
        (layout.access, layout.workers, layout.concurrency) = (Access::Sequential, 1, 1);
        assert_eq!(self.run(&layout).unwrap().totals.operations(OpKind::Write), 256);
    }
}

#[test]
fn the_loop_does_exactly_what_was_asked_with_every_back_end() {
    for kind in kinds() {
        let mut bench = Fixture::new();
        bench.lay_out();
        for mix in [Mix::Write, Mix::ReadPercent(50), Mix::Read] {
            if matches!(kind, BackendKind::Vectored(IoFlags { dsync: true, .. })) && !mix.writes() {
                continue;
            }
            let totals = bench.run(&task(kind, mix, target(false), operations(1001))).unwrap().totals;
            let done = totals.operations(OpKind::Read) + totals.operations(OpKind::Write);
            // What the last operations in flight did counts as drained.
            assert!((1001 - 9..=1001).contains(&done), "{kind:?} {mix:?}: {done}");
            assert_eq!(totals.errors(OpKind::Read) + totals.errors(OpKind::Write), 0);
        }
    }
}

#[test]
fn commits_work_with_every_back_end() {
    for kind in kinds() {
        let mut task = task(kind, Mix::Write, target(true), operations(60));
        task.durability.sync = Some(SyncRule::fdatasync(1));
        let totals = Fixture::new().run(&task).unwrap().totals;
        let count = |op| totals.operations(op);
        assert!(count(OpKind::Commit) >= 60 - 9, "{kind:?}: {}", count(OpKind::Commit));
        assert_eq!(count(OpKind::Sync), count(OpKind::Commit), "{kind:?}");
        assert_eq!(totals.errors(OpKind::Sync), 0, "{kind:?}");
    }
}

#[test]
fn an_interruption_ends_every_back_end_at_once() {
    undisturbed(|| {
        for kind in kinds() {
            let mut bench = Fixture::new();
            bench.lay_out();
            let (flag, interrupter) = raised_after(Duration::from_millis(300));
            bench.control = Control::new(flag);
            let outcome =
                bench.run(&task(kind, Mix::ReadPercent(50), target(false), runtime(3_600_000))).unwrap();
            interrupter.join().unwrap();
            // It has an hour, so that only the interruption can have ended it.
            assert_eq!(outcome.ending, Ending::Interrupted);
            let done = outcome.totals.operations(OpKind::Read) + outcome.totals.operations(OpKind::Write);
            assert!(done > 0, "{kind:?}");
        }
    });
}

#[test]
fn what_a_back_end_cannot_do_is_refused_with_a_reason() {
    let vectored = |set: fn(&mut IoFlags)| {
        let mut flags = IoFlags::default();
        set(&mut flags);
        BackendKind::Vectored(flags)
    };
    let cases = [
        (BackendKind::Mmap, true, Mix::Read, "direct I/O"),
        (vectored(|flags| flags.hipri = true), false, Mix::Read, "require direct I/O"),
        (vectored(|flags| flags.atomic = true), false, Mix::Write, "require direct I/O"),
        (vectored(|flags| flags.dontcache = true), true, Mix::Read, "remove one of them"),
        (vectored(|flags| flags.dsync = true), false, Mix::Read, "it does not write"),
    ];
    for (kind, direct, mix, expected) in cases {
        let mut task = task(kind, mix, target(true), operations(1));
        task.direct = direct;
        let error = Fixture::new().run(&task).unwrap_err().to_string();
        assert!(error.contains(expected), "{kind:?}: {error}");
    }
    for kind in kinds().into_iter().filter(|kind| kind.is_synchronous()) {
        let mut task = task(kind, Mix::Write, target(true), operations(1));
        task.concurrency = 4;
        assert!(Fixture::new().run(&task).unwrap_err().to_string().contains("as many workers"));
    }
    let mut extending = task(BackendKind::Mmap, Mix::Write, target(true), operations(1));
    let Target::File(file) = &mut extending.target else { panic!() };
    file.preallocate = false;
    let error = Fixture::new().run(&extending).unwrap_err().to_string();
    assert!(error.contains("cannot extend"), "{error}");
}

#[test]
fn a_flag_works_or_is_named_before_anything_is_measured() {
    for (name, flags) in [
        ("nowait", IoFlags { nowait: true, ..IoFlags::default() }),
        ("dontcache", IoFlags { dontcache: true, ..IoFlags::default() }),
    ] {
        let mut bench = Fixture::new();
        bench.lay_out();
        let kind = BackendKind::Vectored(flags);
        for mix in [Mix::Read, Mix::Write] {
            match bench.run(&task(kind, mix, target(false), operations(300))) {
                Ok(outcome) => {
                    let totals = outcome.totals;
                    let done = |kind| totals.operations(kind) + totals.errors(kind);
                    assert_eq!(done(OpKind::Read) + done(OpKind::Write), 300, "{name} {mix:?}");
                }
                Err(error) => {
                    let error = error.to_string();
                    assert!(error.contains(&format!("the flag {name} are refused")), "{error}");
                    eprintln!("not here: {error}");
                }
            }
        }
    }
}

const SIM: SimParameters = SimParameters {
    seed: 1,
    depth: 4,
    block: BLOCK,
    latency: SimLatency::Constant(Duration::from_millis(2)),
    channels: None,
    faults: SimFaults { error: 0.0, error_number: 5, short: 0.0, lost: 0.0, torn: 0.0, damage: None },
    stall: None,
};

fn sim_task(stop: Stop) -> FileTask {
    let target = Target::Null { size: Bytes::MIB };
    FileTask { workers: 1, concurrency: 4, ..task(BackendKind::Null, Mix::Read, target, stop) }
}

/// Runs the task on a simulated device, which each worker has the same of.
fn simulate(task: &FileTask, parameters: SimParameters) -> Outcome {
    let image = SimImage::new(1 << 20);
    let make =
        move |_worker, depth| Ok(Sim::new(SimParameters { depth, ..parameters.clone() }, image.clone()));
    run_file_task_on(task, 0, Clock::best(), &Control::default(), &mut Events::default(), make).unwrap()
}

/// Mean response in seconds, rate per second. The mean from quantiles, whose error the histogram bounds.
fn mean_and_rate(outcome: &Outcome) -> (f64, f64) {
    let totals = &outcome.totals;
    let response = totals.response(OpKind::Read).unwrap();
    let steps = 1000;
    let value = |step| response.quantile(Quantile((f64::from(step) + 0.5) / f64::from(steps))).0 as f64 / 1e9;
    let mean = (0..steps).map(value).sum::<f64>() / f64::from(steps);
    (mean, totals.operations(OpKind::Read) as f64 * 1e9 / totals.measured as f64)
}

#[test]
fn a_constant_service_time_gives_its_rate() {
    undisturbed(|| {
        // 40 in flight at 20 ms each are 2000/s, in 50 rounds; the loop and a busy machine may only make it less.
        let latency = SimLatency::Constant(Duration::from_millis(20));
        let task = FileTask { concurrency: 40, ..sim_task(runtime(1000)) };
        let (mean, rate) = mean_and_rate(&simulate(&task, SimParameters { latency, ..SIM }));
        assert!((1500.0..=2000.0).contains(&rate), "{rate}");
        assert!((0.0199..0.027).contains(&mean), "{mean}");
        // Served twenty at a time it is half of that, and everyone waits twice as long.
        let shared = SimParameters { latency, channels: Some(20), ..SIM };
        let (mean, rate) = mean_and_rate(&simulate(&task, shared));
        assert!((750.0..=1000.0).contains(&rate), "{rate}");
        // All but the first twenty wait for a turn before their own.
        assert!((0.039..0.054).contains(&mean), "{mean}");
    });
}

#[test]
fn littles_law_holds() {
    undisturbed(|| {
        let ms = Duration::from_millis(2);
        for latency in
            [SimLatency::Exponential { mean: ms }, SimLatency::LogNormal { median: ms, sigma: 0.8 }]
        {
            for depth in [1, 16] {
                let mut task = sim_task(runtime(1000));
                task.concurrency = depth;
                let (mean, rate) = mean_and_rate(&simulate(&task, SimParameters { latency, ..SIM }));
                let law = mean * rate / f64::from(depth);
                assert!((0.95..1.05).contains(&law), "{latency:?}, depth {depth}: {mean} s x {rate}/s");
            }
        }
    });
}

#[test]
fn a_stall_shows_as_an_open_loop_feels_it() {
    undisturbed(|| {
        let mut task = sim_task(runtime(1500));
        (task.concurrency, task.arrival) = (32, Arrival::Poisson(Iops(1000.0)));
        let at = Duration::from_millis(500);
        let stall = SimStall { at, length: Duration::from_millis(300) };
        let outcome = simulate(&task, SimParameters { stall: Some(stall), ..SIM });
        let response = outcome.totals.response(OpKind::Read).unwrap();
        let at = |quantile| response.quantile(Quantile(quantile)).0 as f64 / 1e6;
        // 300 of 1500 operations were meant to start during the stall and waited for what was left of it.
        assert!(at(0.5) < 50.0, "median {} ms", at(0.5));
        assert!((230.0..500.0).contains(&at(0.99)), "p99 {} ms", at(0.99));
        assert!(at(0.9) > 80.0, "p90 {} ms: the operations not issued were left out", at(0.9));
    });
}

#[test]
fn simulated_faults_are_counted_and_lost_writes_are_not() {
    let mut task = sim_task(operations(1000));
    task.mix = Mix::Write;
    let latency = SimLatency::Constant(Duration::from_micros(10));
    let faults = SimFaults { error: 0.1, error_number: 28, short: 0.1, lost: 0.5, torn: 0.0, damage: None };
    let outcome = simulate(&task, SimParameters { latency, faults, ..SIM });
    let (good, bad) = (outcome.totals.operations(OpKind::Write), outcome.totals.errors(OpKind::Write));
    // 19 % fail or are short; the standard deviation is 1.2 %.
    assert!((990..=1000).contains(&(good + bad)) && (130..250).contains(&bad), "{good} good, {bad} bad");
    let first = outcome.first_error().unwrap();
    assert!(first.contains("No space left") || first.contains("of 4096 bytes"), "{first}");
}

/// What is not in memory fails instead of waiting for the device, and what was read past the cache is not left in it.
#[test]
fn a_ring_does_not_wait_or_does_not_fill_the_cache_when_asked() {
    if let Err(error) = iolite_sys::ring::available() {
        return eprintln!("skipped: io_uring is not available here: {error}");
    }
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let path = directory.path().join("data");
    std::fs::write(&path, vec![7; BLOCKS as usize * BLOCK]).unwrap();
    let file = Arc::new(File::open(&path).unwrap());
    file.sync_all().unwrap();
    let size = BLOCKS * BLOCK as u64;
    // Of the block that is read; the kernel reads more ahead.
    let resident = || iolite_sys::page_cache::resident_bytes(&file, 0, BLOCK as u64).unwrap();
    let read = |options| {
        iolite_sys::page_cache::evict(&file, 0, size).unwrap();
        assert_eq!(resident(), 0);
        let mut ring = Uring::new(file.clone(), 1, BLOCK, options, SyncMethod::Fdatasync).unwrap();
        drive(&mut ring, 1, &[(IoOp::Read, 0)], |_, _| {}, |_, _| {})[0]
    };
    let answer = read(RingOptions { nowait: true, ..RingOptions::default() });
    assert_eq!(answer, Err(iolite_model::errno::EAGAIN));
    let kept = read(RingOptions::default());
    assert_eq!((kept, resident() > 0), (Ok(BLOCK as u32), true));
    match read(RingOptions { dontcache: true, ..RingOptions::default() }) {
        Ok(length) => assert_eq!((length, resident()), (BLOCK as u32, 0)),
        Err(error) => eprintln!("skipped: this kernel or file system has no RWF_DONTCACHE (error {error})"),
    }
}
