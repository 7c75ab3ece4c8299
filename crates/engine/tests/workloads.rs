//! What tasks can ask for, seen from outside: what ends up in files, how much was done, by whom, when.

// Helpers of tests may give up as tests do.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stderr)]

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use iolite_engine::{
    Backend, Completions, Control, EngineError, IoOp, Op, Outcome, Scratch, Sim, SimFaults, SimImage,
    SimLatency, SimParameters, SimStall, Submission, run_file_task, run_file_task_on, run_set,
};
use iolite_model::{
    Access, Arrival, BackendKind, Bandwidth, Bytes, Contents, Ending, ErrorClass, Event, ExistingTarget,
    FileTarget, FileTask, Fill, Iops, JobTask, MetadataTask, Mix, Nanos, OnError, OpKind, Overwrite,
    Placement, Quantile, Regions, RingOptions, RunId, Sink, SizeLaw, Sizes, Stage, Stop, SyncMethod,
    SyncRule, Target, WeightedSize,
};
use iolite_sys::clock::Clock;

const BLOCK: u64 = 4096;
const BLOCKS: u64 = 64;

#[derive(Default)]
struct Events(Vec<Event>);

impl Sink for Events {
    fn event(&mut self, event: &Event) {
        self.0.push(event.clone());
    }
}

struct Place {
    dir: tempfile::TempDir,
    scratch: Scratch,
    control: Control,
    events: Events,
}

impl Place {
    fn new() -> Place {
        let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let scratch = Scratch::create(dir.path(), &RunId("test".into())).unwrap();
        Place { dir, scratch, control: Control::default(), events: Events::default() }
    }

    fn run(&mut self, task: &FileTask) -> Result<Outcome, EngineError> {
        let Place { scratch, control, events, .. } = self;
        run_file_task(task, 0, scratch, Clock::best(), control, events)
    }

    fn set(&mut self, tasks: &[JobTask]) -> Result<Vec<Outcome>, EngineError> {
        let Place { scratch, control, events, .. } = self;
        run_set(tasks, 0, scratch, Clock::best(), control, events).map(iolite_engine::Measured::verify)
    }

    /// A file of nothing but these bytes, named by the user.
    fn existing(&self, byte: u8) -> PathBuf {
        let path = self.dir.path().join("existing");
        std::fs::write(&path, vec![byte; (BLOCKS * BLOCK) as usize]).unwrap();
        path
    }

    fn scratch_file(&self, name: &str) -> PathBuf {
        self.scratch.path().join(name)
    }
}

fn backends() -> Vec<BackendKind> {
    let mut kinds = vec![
        BackendKind::Sync,
        BackendKind::Vectored(iolite_model::IoFlags::default()),
        BackendKind::Mmap,
        BackendKind::Threads,
    ];
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

fn on(path: &Path, backend: BackendKind, mix: Mix) -> FileTask {
    let (path, offset, size) = (path.to_owned(), Bytes(0), Bytes(0));
    let depth = if backend.is_synchronous() { 2 } else { 8 };
    FileTask {
        name: "test".into(),
        target: Target::Existing(ExistingTarget { path, offset, size, overwrite: Overwrite::Anything }),
        backend,
        mix,
        access: Access::Covering,
        workers: 2,
        concurrency: depth,
        stop: Stop { loops: Some(1), ..Stop::default() },
        interval: Nanos(50_000_000),
        ..FileTask::default()
    }
}

fn own(create: bool, preallocate: bool, per_worker: bool) -> Target {
    let (name, size) = (PathBuf::from("data"), Bytes(BLOCKS * BLOCK));
    Target::File(FileTarget { name, size, create, preallocate, per_worker })
}

fn seconds(seconds: f64) -> Stop {
    Stop { runtime: Some(Nanos::from_secs_f64(seconds)), ..Stop::default() }
}

/// What was done, whether it came back in time or in the drain.
fn done(events: &Events, kind: OpKind) -> (u64, u64) {
    let ops = events.0.iter().filter_map(|event| match event {
        Event::Interval(interval) => Some(&interval.ops),
        _ => None,
    });
    ops.flatten()
        .filter(|op| op.kind == kind)
        .fold((0, 0), |sum, op| (sum.0 + op.operations, sum.1 + op.bytes))
}

#[test]
fn trims_give_blocks_back_on_every_back_end() {
    for backend in backends() {
        let mut place = Place::new();
        let path = place.existing(7);
        let outcome = place.run(&on(&path, backend, Mix::Trim)).unwrap();
        assert_eq!(outcome.errors, [], "{backend:?}");
        assert_eq!(done(&place.events, OpKind::Trim), (BLOCKS, BLOCKS * BLOCK), "{backend:?}");
        let metadata = std::fs::metadata(&path).unwrap();
        assert_eq!((metadata.len(), metadata.blocks()), (BLOCKS * BLOCK, 0), "{backend:?}");
        assert!(std::fs::read(&path).unwrap().iter().all(|byte| *byte == 0));
    }
}

#[test]
fn trims_are_mixed_with_writes() {
    let mut place = Place::new();
    let path = place.existing(7);
    let mut task = on(&path, BackendKind::Sync, Mix::TrimPercent(25));
    task.stop = Stop { operations: Some(4000), ..Stop::default() };
    place.run(&task).unwrap();
    let (trims, writes) = (done(&place.events, OpKind::Trim).0, done(&place.events, OpKind::Write).0);
    assert_eq!(trims + writes, 4000);
    assert!((880..1120).contains(&trims), "{trims} of about 1,000, 4 standard deviations");
    // A trim before each write of the same block: at the end all is written.
    let mut place = Place::new();
    let path = place.existing(0);
    place.run(&on(&path, BackendKind::Sync, Mix::TrimThenWrite)).unwrap();
    assert_eq!(done(&place.events, OpKind::Trim), done(&place.events, OpKind::Write));
    assert_eq!(done(&place.events, OpKind::Trim).0, BLOCKS);
    let content = std::fs::read(&path).unwrap();
    assert!(content.chunks(BLOCK as usize).all(|block| block.iter().any(|byte| *byte != 0)));
}

#[test]
fn a_sync_follows_every_so_many_writes_by_any_method() {
    for backend in backends() {
        for method in [SyncMethod::Fdatasync, SyncMethod::Fsync, SyncMethod::FileRange] {
            for every in [1, 4] {
                let mut place = Place::new();
                let path = place.existing(0);
                let mut task = on(&path, backend, Mix::Write);
                (task.workers, task.concurrency) = (1, if backend.is_synchronous() { 1 } else { 4 });
                task.sync = Some(SyncRule { every, method });
                let outcome = place.run(&task).unwrap();
                assert_eq!(outcome.errors, [], "{backend:?} {method:?}");
                let count = |kind| done(&place.events, kind).0;
                assert_eq!(count(OpKind::Write), BLOCKS);
                // What was in flight at the end is drained without syncs of its own.
                let expected = BLOCKS / u64::from(every);
                assert!(
                    (expected - 4..=expected).contains(&count(OpKind::Sync)),
                    "{backend:?} {method:?} {every}"
                );
                assert_eq!(count(OpKind::Commit), if every == 1 { count(OpKind::Sync) } else { 0 });
            }
        }
    }
}

#[test]
fn linked_syncs_are_submitted_with_their_writes() {
    if let Err(error) = iolite_sys::ring::available() {
        return eprintln!("skipped: io_uring is not available here: {error}");
    }
    let options = RingOptions { linked_sync: true, ..RingOptions::PLAIN };
    for method in [SyncMethod::Fdatasync, SyncMethod::Fsync] {
        let mut place = Place::new();
        let path = place.existing(0);
        let mut task = on(&path, BackendKind::IoUring(options), Mix::Write);
        task.sync = Some(SyncRule { every: 1, method });
        let outcome = place.run(&task).unwrap();
        assert_eq!(outcome.errors, []);
        for kind in [OpKind::Write, OpKind::Sync, OpKind::Commit] {
            assert_eq!(done(&place.events, kind).0, BLOCKS, "{kind:?}");
        }
        let (write, commit) =
            (outcome.totals.response(OpKind::Write), outcome.totals.response(OpKind::Commit));
        assert!(commit.unwrap().quantile(Quantile(0.5)) >= write.unwrap().quantile(Quantile(0.5)));
    }
    // A write that fails cancels its sync, which is neither done nor an error of its own.
    let mut place = Place::new();
    let path = place.existing(0);
    let limit = on(&path, BackendKind::IoUring(options), Mix::Write);
    let read_only = FileTask { mix: Mix::Read, ..limit.clone() };
    assert!(place.run(&read_only).unwrap_err().to_string().contains("linked sync"));
}

#[test]
fn polling_for_completions_works_or_is_refused_with_a_remedy() {
    let mut place = Place::new();
    if let Err(error) = iolite_sys::ring::available() {
        return eprintln!("skipped: io_uring is not available here: {error}");
    }
    if !iolite_sys::file::direct_io_works(place.dir.path()).unwrap() {
        return eprintln!("skipped: no direct I/O in {}", place.dir.path().display());
    }
    let path = place.existing(7);
    let options = RingOptions { completion_polling: true, ..RingOptions::PLAIN };
    let task = FileTask { direct: true, ..on(&path, BackendKind::IoUring(options), Mix::Read) };
    match place.run(&task) {
        Ok(_) => assert_eq!(done(&place.events, OpKind::Read).0, BLOCKS),
        Err(error) => {
            let error = error.to_string();
            assert!(
                error.contains("polling queues") && error.contains("leave completion_polling out"),
                "{error}"
            );
        }
    }
}

#[test]
fn appends_go_to_the_end_whoever_makes_them() {
    for backend in backends().into_iter().filter(|backend| *backend != BackendKind::Mmap) {
        let mut place = Place::new();
        let task = FileTask {
            target: own(true, false, false),
            access: Access::Append,
            stop: Stop::default(),
            contents: Contents { fill: Fill::Pattern(b"append".to_vec()), ..Contents::default() },
            ..on(Path::new("/"), backend, Mix::Write)
        };
        place.run(&task).unwrap();
        let content = std::fs::read(place.scratch_file("data")).unwrap();
        assert_eq!(content.len() as u64, BLOCKS * BLOCK, "{backend:?}");
        assert!(content.chunks(BLOCK as usize).all(|block| block.starts_with(b"append")), "{backend:?}");
    }
}

#[test]
fn workers_may_have_files_of_their_own() {
    let mut place = Place::new();
    let task = FileTask {
        target: own(true, true, true),
        access: Access::Sequential,
        stop: Stop { loops: Some(2), ..Stop::default() },
        ..on(Path::new("/"), BackendKind::Sync, Mix::Write)
    };
    place.run(&task).unwrap();
    assert_eq!(done(&place.events, OpKind::Write).0, 2 * 2 * BLOCKS, "two files, twice");
    for worker in 0..2 {
        let content = std::fs::read(place.scratch_file(&format!("data.{worker}"))).unwrap();
        assert!(content.chunks(BLOCK as usize).all(|block| block.iter().any(|byte| *byte != 0)));
    }
    assert!(!place.scratch_file("data").exists());
}

#[test]
fn a_span_within_what_exists_is_all_that_is_touched() {
    let mut place = Place::new();
    let path = place.existing(7);
    let mut task = on(&path, BackendKind::Sync, Mix::Write);
    let (offset, size) = (Bytes(8 * BLOCK), Bytes(16 * BLOCK));
    task.target =
        Target::Existing(ExistingTarget { path: path.clone(), offset, size, overwrite: Overwrite::Anything });
    task.contents.fill = Fill::Zeros;
    place.run(&task).unwrap();
    let content = std::fs::read(&path).unwrap();
    let zeros: Vec<_> = content.chunks(BLOCK as usize).map(|block| block == [0; BLOCK as usize]).collect();
    let expected: Vec<_> = (0..BLOCKS).map(|block| (8..24).contains(&block)).collect();
    assert_eq!(zeros, expected);
    let beyond = Target::Existing(ExistingTarget {
        path: path.clone(),
        offset,
        size: Bytes(BLOCKS * BLOCK),
        overwrite: Overwrite::Anything,
    });
    let error = place.run(&FileTask { target: beyond, ..task }).unwrap_err().to_string();
    assert!(error.contains("256 KiB") && error.contains("smaller"), "{error}");
}

#[test]
fn what_the_user_has_not_given_away_is_not_written() {
    let mut place = Place::new();
    let path = place.existing(7);
    for (overwrite, says) in [(Overwrite::Never, "overwrite"), (Overwrite::Blank, "not blank")] {
        for mix in [Mix::Write, Mix::Trim, Mix::ReadPercent(99)] {
            let mut task = on(&path, BackendKind::Sync, mix);
            let Target::Existing(existing) = &mut task.target else { unreachable!() };
            existing.overwrite = overwrite;
            let error = place.run(&task).unwrap_err().to_string();
            assert!(error.contains(says), "{error}");
        }
        let mut task = on(&path, BackendKind::Sync, Mix::Read);
        let Target::Existing(existing) = &mut task.target else { unreachable!() };
        existing.overwrite = overwrite;
        place.run(&task).unwrap();
    }
    assert_eq!(std::fs::read(&path).unwrap(), vec![7; (BLOCKS * BLOCK) as usize]);
}

#[test]
fn mixed_sizes_have_their_shares_and_stay_within() {
    for backend in backends() {
        let mut place = Place::new();
        let path = place.existing(0);
        let weighted = |size, percent| WeightedSize { size: Bytes(size), percent };
        let law = SizeLaw::Split(vec![weighted(512, 50.0), weighted(16384, 50.0)]);
        let mut task = on(&path, backend, Mix::ReadPercent(50));
        task.access = Access::Random;
        task.sizes = Some(Sizes::alike(law, Bytes(512)));
        task.stop = Stop { operations: Some(2000), ..Stop::default() };
        assert_eq!(place.run(&task).unwrap().errors, [], "{backend:?}");
        let ((reads, read), (writes, written)) =
            (done(&place.events, OpKind::Read), done(&place.events, OpKind::Write));
        assert_eq!(reads + writes, 2000, "{backend:?}");
        let mean = (read + written) as f64 / 2000.0;
        // The mean of both sizes is 8,448, its standard deviation here 177.
        assert!((mean - 8448.0).abs() < 4.0 * 177.0, "{backend:?}: {mean}");
    }
}

#[test]
fn every_byte_once_with_mixed_sizes() {
    let mut place = Place::new();
    let path = place.existing(0);
    let law = SizeLaw::Range { least: Bytes(512), most: Bytes(8192), multiple: Bytes(512) };
    let mut task = on(&path, BackendKind::Sync, Mix::Write);
    task.sizes = Some(Sizes::alike(law, Bytes(512)));
    task.contents.fill = Fill::Pattern(vec![9]);
    place.run(&task).unwrap();
    assert_eq!(done(&place.events, OpKind::Write).1, BLOCKS * BLOCK);
    assert_eq!(std::fs::read(&path).unwrap(), vec![9; (BLOCKS * BLOCK) as usize]);
}

#[test]
fn contents_are_as_asked() {
    let mut place = Place::new();
    let path = place.existing(0);
    let mut task = on(&path, BackendKind::Sync, Mix::Write);
    task.contents = Contents { fill: Fill::Random, duplicate_percent: 0, refill: false };
    (task.workers, task.concurrency) = (1, 1);
    place.run(&task).unwrap();
    let content = std::fs::read(&path).unwrap();
    let first = &content[..BLOCK as usize];
    assert!(content.chunks(BLOCK as usize).all(|block| block == first), "filled once");
    task.contents.refill = true;
    place.run(&task).unwrap();
    let content = std::fs::read(&path).unwrap();
    let different: std::collections::BTreeSet<_> = content.chunks(BLOCK as usize).collect();
    assert_eq!(different.len() as u64, BLOCKS, "each of its own");
}

/// What was read into a buffer is not what is written from it next.
#[test]
fn a_mix_writes_made_up_data_not_what_it_has_read() {
    for backend in backends() {
        for refill in [true, false] {
            let mut place = Place::new();
            let path = place.existing(0);
            let mut task = on(&path, backend, Mix::ReadPercent(50));
            task.contents.refill = refill;
            place.run(&task).unwrap();
            let writes = done(&place.events, OpKind::Write).0;
            let content = std::fs::read(&path).unwrap();
            let blocks = content.chunks(BLOCK as usize).filter(|block| block.iter().any(|byte| *byte != 0));
            assert_eq!(blocks.count() as u64, writes, "{backend:?}, refill {refill}");
        }
    }
}

/// Data made up, and data compared, must not be told as the device's time: the other operations are on their way.
#[test]
fn what_the_program_does_with_data_is_not_service_time() {
    let verify = iolite_model::Verify {
        check: iolite_model::Checksum::Sha256,
        unit: Bytes(0),
        reads: true,
        after: false,
        state: None,
    };
    let mut task = sim_task(64 << 20, Arrival::Closed, Stop { operations: Some(200), ..Stop::default() });
    (task.block, task.concurrency, task.mix) = (Bytes::MIB, 16, Mix::ReadPercent(50));
    let at_once = SimLatency::Constant(Duration::ZERO);
    let median = |task: &FileTask| {
        let totals = simulate(task, at_once, SimFaults::default(), None).totals;
        totals.service(OpKind::Write).unwrap().quantile(Quantile(0.5)).0
    };
    let (plain, verified) = (median(&task), median(&FileTask { verify: Some(verify), ..task.clone() }));
    // A megabyte of SHA-256 is milliseconds in a debug build, sixteen of them tens of milliseconds; the device's own copying
    // of a megabyte is what both have.
    assert!(verified < 10 * plain + 3_000_000, "plain {plain} ns, verified {verified} ns");
}

#[test]
fn an_error_that_ends_the_phase_leaves_whole_intervals() {
    let mut place = Place::new();
    let mut task = on(&place.existing(0), BackendKind::Sync, Mix::Write);
    (task.block, task.interval, task.on_error) = (Bytes(64 << 10), Nanos(10_000_000), OnError::stop_always());
    for seed in 0..5 {
        let faults = SimFaults { error: 0.02, ..SimFaults::default() };
        let task = FileTask {
            seed,
            target: Target::Null { size: Bytes::MIB },
            backend: BackendKind::Null,
            ..task.clone()
        };
        let task = FileTask { stop: seconds(5.0), workers: 2, concurrency: 8, ..task };
        let outcome = simulate(&task, FAST, faults, None);
        assert!(matches!(outcome.ending, Ending::Failed(_)), "{:?}", outcome.ending);
        let told: f64 = outcome.totals.series.iter().map(|point| point.seconds).sum();
        assert!((told - outcome.totals.measured as f64 / 1e9).abs() < 1e-6, "{told}");
    }
    task.stop = Stop { worker_operations: Some(3), ..Stop::default() };
    place.run(&task).unwrap();
}

#[test]
fn a_rate_is_kept_when_all_that_was_asked_has_been_issued() {
    let stop = Stop { operations: Some(100), ..Stop::default() };
    let task = sim_task(1 << 20, Arrival::Constant(Iops(1000.0)), stop);
    let stall = SimStall { at: Duration::from_millis(90), length: Duration::from_secs(1) };
    let outcome = simulate(&FileTask { concurrency: 64, ..task }, FAST, SimFaults::default(), Some(stall));
    let rate = outcome.rate.unwrap();
    assert!(rate.kept && rate.backlog == 0, "{rate:?}");
}

#[test]
fn limits_may_be_each_workers_own() {
    for (stop, expected) in [
        (Stop { worker_operations: Some(10), ..Stop::default() }, 20),
        (Stop { worker_bytes: Some(Bytes(7 * BLOCK)), ..Stop::default() }, 14),
        (Stop { loops: Some(3), ..Stop::default() }, 3 * BLOCKS),
        (Stop { bytes: Some(Bytes(11 * BLOCK)), ..Stop::default() }, 11),
    ] {
        let mut place = Place::new();
        let path = place.existing(0);
        place.run(&FileTask { stop, ..on(&path, BackendKind::Sync, Mix::Read) }).unwrap();
        assert_eq!(done(&place.events, OpKind::Read).0, expected, "{stop:?}");
    }
}

fn starts(events: &Events) -> Vec<(u32, u64)> {
    let measured = events.0.iter().filter_map(|event| match event {
        Event::Interval(interval) if interval.stage == Stage::Measured => {
            Some((interval.phase, interval.start.0))
        }
        _ => None,
    });
    measured.collect()
}

#[test]
fn tasks_of_a_set_run_at_the_same_time_each_after_its_delay() {
    let mut place = Place::new();
    let path = place.existing(0);
    let at_once = FileTask { stop: seconds(0.4), ..on(&path, BackendKind::Sync, Mix::Read) };
    let delayed = FileTask { delay: Nanos(200_000_000), ..at_once.clone() };
    let metadata = MetadataTask { files: 100, name: "files".into(), ..MetadataTask::default() };
    let start = std::time::Instant::now();
    let outcomes = place
        .set(&[JobTask::Io(Box::new(at_once)), JobTask::Io(Box::new(delayed)), JobTask::Metadata(metadata)])
        .unwrap();
    let took = start.elapsed();
    assert!(took >= Duration::from_millis(600) && took < Duration::from_millis(1500), "{took:?}");
    assert!(outcomes.iter().all(|outcome| outcome.ending == Ending::Completed));
    assert!(outcomes[0].totals.operations(OpKind::Read) > 0);
    assert!(outcomes[1].totals.operations(OpKind::Read) > 0);
    assert_eq!(outcomes[2].totals.operations(OpKind::Create), 100);
    assert!((0..3).all(|phase| starts(&place.events).iter().any(|(of, _)| *of == phase)));
}

#[test]
fn a_set_of_which_one_can_not_be_made_ready_measures_nothing() {
    let mut place = Place::new();
    let path = place.existing(0);
    let good = FileTask { stop: seconds(30.0), ..on(&path, BackendKind::Sync, Mix::Read) };
    // There is not a CPU of this number anywhere.
    let placement = Placement { cpus: vec![65_000], ..Placement::default() };
    let bad = FileTask { placement, ..good.clone() };
    let start = std::time::Instant::now();
    let error = place.set(&[JobTask::Io(Box::new(good)), JobTask::Io(Box::new(bad))]).unwrap_err();
    assert!(error.to_string().contains("placed"), "{error}");
    assert!(start.elapsed() < Duration::from_secs(5));
    assert!(starts(&place.events).is_empty());
}

/// A back end that notes on which CPU it was called.
struct Where(std::sync::Arc<std::sync::Mutex<Vec<Vec<usize>>>>, Vec<u8>);

impl Backend for Where {
    fn submit(&mut self, op: &Op) -> Submission {
        self.0.lock().unwrap().push(iolite_sys::placement::cpus().unwrap());
        Submission::Done(Ok(op.length))
    }

    fn reap(&mut self, _: usize, _: Duration, _: &mut Completions) -> std::io::Result<()> {
        Ok(())
    }

    fn buffer(&mut self, _: u32) -> &mut [u8] {
        &mut self.1
    }
}

#[test]
fn workers_run_where_they_are_put() {
    let cpus = iolite_sys::placement::cpus().unwrap();
    let seen = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let task = FileTask {
        name: "placed".into(),
        workers: 2,
        concurrency: 2,
        placement: Placement { one_each: true, ..Placement::default() },
        stop: Stop { worker_operations: Some(1), ..Stop::default() },
        ..FileTask::default()
    };
    let noted = std::sync::Arc::clone(&seen);
    let make = move |_, _| Ok(Where(noted.clone(), vec![0; 4096]));
    run_file_task_on(&task, 0, Clock::best(), &Control::default(), &mut Events::default(), make).unwrap();
    let mut seen: Vec<Vec<usize>> = seen.lock().unwrap().clone();
    seen.sort();
    let expected: Vec<_> = (0..2).map(|worker| vec![cpus[worker % cpus.len()]]).collect();
    assert_eq!(seen, expected);
    assert_eq!(iolite_sys::placement::cpus().unwrap(), cpus, "the test's own thread stays where it was");
}

fn sim_task(span: u64, arrival: Arrival, stop: Stop) -> FileTask {
    let target = Target::Null { size: Bytes(span) };
    FileTask {
        name: "simulated".into(),
        target,
        concurrency: 32,
        arrival,
        stop,
        interval: Nanos(50_000_000),
        ..FileTask::default()
    }
}

fn simulate(task: &FileTask, latency: SimLatency, faults: SimFaults, stall: Option<SimStall>) -> Outcome {
    let image = SimImage::new(task.target.size().0 as usize);
    let block = task.largest().0 as usize;
    let make = move |worker: u32, depth: u32| {
        let seed = u64::from(worker) + 5;
        let parameters = SimParameters { seed, depth, block, latency, channels: None, faults, stall };
        Ok(Sim::new(parameters, image.clone()))
    };
    let clock = Clock::best();
    run_file_task_on(task, 0, clock, &Control::default(), &mut Events::default(), make).unwrap()
}

const FAST: SimLatency = SimLatency::Constant(Duration::from_micros(50));

/// 4 s at 1,000 a second, of which 1 s in a stall: the operations meant for that second wait for what is left of it.
/// 25 % of all have waited, evenly from 0 to 1 s; the 99 % quantile is 0.96 s. A closed loop would see 32 slow ones.
#[test]
fn a_constant_rate_feels_a_stall_as_an_open_loop_client_would() {
    let task = sim_task(1 << 20, Arrival::Constant(Iops(1000.0)), seconds(4.0));
    let stall = SimStall { at: Duration::from_millis(1500), length: Duration::from_secs(1) };
    let outcome = simulate(&task, FAST, SimFaults::default(), Some(stall));
    let quantile = |q| outcome.totals.response(OpKind::Read).unwrap().quantile(Quantile(q)).0 as f64 / 1e9;
    assert!((quantile(0.99) - 0.96).abs() < 0.04, "{}", quantile(0.99));
    assert!((quantile(0.9) - 0.6).abs() < 0.04, "{}", quantile(0.9));
    assert!(quantile(0.5) < 0.01);
    let service = outcome.totals.service(OpKind::Read).unwrap().quantile(Quantile(0.98)).0;
    assert!(service < 100_000_000, "what was issued after the stall was served at once: {service}");
    assert!(outcome.rate.unwrap().kept, "{:?}", outcome.rate);
}

#[test]
fn a_rate_that_can_not_be_kept_is_told() {
    // 32 at once, 10 ms each: 3,200 a second.
    let slow = SimLatency::Constant(Duration::from_millis(10));
    for (arrival, kept) in [
        (Arrival::Constant(Iops(2000.0)), true),
        (Arrival::Poisson(Iops(2000.0)), true),
        (Arrival::Constant(Iops(5000.0)), false),
        (Arrival::Poisson(Iops(5000.0)), false),
        (Arrival::ConstantBytes(Bandwidth(2000.0 * 4096.0)), true),
        (Arrival::PoissonBytes(Bandwidth(5000.0 * 4096.0)), false),
    ] {
        let outcome = simulate(&sim_task(1 << 20, arrival, seconds(1.0)), slow, SimFaults::default(), None);
        let rate = outcome.rate.unwrap();
        assert_eq!(rate.kept, kept, "{arrival:?}: {rate:?}");
        if kept {
            assert!((rate.achieved.0 / 2000.0 - 1.0).abs() < 0.1, "{arrival:?}: {rate:?}");
        } else {
            assert!((rate.achieved.0 / 3200.0 - 1.0).abs() < 0.1, "{arrival:?}: {rate:?}");
            assert!((rate.backlog as f64 / 1800.0 - 1.0).abs() < 0.2, "{arrival:?}: {rate:?}");
        }
    }
    let closed =
        simulate(&sim_task(1 << 20, Arrival::Closed, seconds(0.1)), slow, SimFaults::default(), None);
    assert_eq!(closed.rate, None);
}

#[test]
fn a_rate_in_bytes_holds_with_mixed_sizes() {
    let weighted = |size, percent| WeightedSize { size: Bytes(size), percent };
    let law = SizeLaw::Split(vec![weighted(4096, 75.0), weighted(65536, 25.0)]);
    for arrival in [Arrival::ConstantBytes(Bandwidth(50e6)), Arrival::PoissonBytes(Bandwidth(50e6))] {
        let mut task = sim_task(1 << 22, arrival, seconds(2.0));
        task.sizes = Some(Sizes::alike(law.clone(), Bytes(4096)));
        let outcome = simulate(&task, FAST, SimFaults::default(), None);
        let rate = outcome.totals.bytes(OpKind::Read) as f64 / 2.0;
        // About 5,100 operations: by chance alone the Poisson one deviates by some 2 %.
        let tolerance = if matches!(arrival, Arrival::ConstantBytes(_)) { 0.01 } else { 0.09 };
        assert!((rate / 50e6 - 1.0).abs() < tolerance, "{arrival:?}: {rate}");
    }
}

#[test]
fn think_time_may_be_spent_busy() {
    let cpu = || rustix_cpu_time();
    let think = |spin| Arrival::ThinkTime { pause: Nanos(20_000_000), operations: 1, spin: Nanos(spin) };
    let mut spent = [0.0; 2];
    for (index, spin) in [0, 20_000_000].into_iter().enumerate() {
        let mut task = sim_task(1 << 20, think(spin), seconds(0.5));
        task.concurrency = 1;
        let before = cpu();
        let outcome = simulate(&task, FAST, SimFaults::default(), None);
        spent[index] = cpu() - before;
        let operations = outcome.totals.operations(OpKind::Read);
        assert!((18..=26).contains(&operations), "{operations} of about 25");
    }
    // Other tests of this program run meanwhile: only that much more is certain.
    assert!(spent[1] > 0.3, "{spent:?}");
}

/// CPU time of this process, in seconds.
fn rustix_cpu_time() -> f64 {
    let text = std::fs::read_to_string("/proc/self/stat").unwrap();
    let fields: Vec<_> = text.rsplit(')').next().unwrap().split_whitespace().collect();
    let ticks: u64 = [11, 12].iter().map(|index| fields[*index].parse::<u64>().unwrap()).sum();
    ticks as f64 / 100.0
}

#[test]
fn errors_are_told_by_class_with_where_they_happened() {
    let faults = SimFaults { error: 0.1, short: 0.1, ..SimFaults::default() };
    let stop = Stop { operations: Some(2000), ..Stop::default() };
    let outcome = simulate(&sim_task(1 << 20, Arrival::Closed, stop), FAST, faults, None);
    let of = |class| outcome.errors.iter().find(|tally| tally.class == class).unwrap();
    for class in [ErrorClass::Device, ErrorClass::Short] {
        let tally = of(class);
        assert!((100..320).contains(&tally.count), "{tally:?}");
        assert_eq!((tally.kind, tally.first_offsets.len()), (OpKind::Read, 8));
        assert!(tally.first_offsets.iter().all(|offset| offset % 4096 == 0));
    }
    assert!(of(ErrorClass::Device).first.contains("Input/output error"));
    let counted: u64 = outcome.errors.iter().map(|tally| tally.count).sum();
    assert!(counted >= outcome.totals.errors(OpKind::Read));
}

#[test]
fn a_class_or_a_number_of_errors_ends_the_phase() {
    let faults = SimFaults { error: 0.01, error_number: 28, ..SimFaults::default() };
    for (on_error, ends) in [
        (OnError { stop: vec![ErrorClass::Space], most: None }, true),
        (OnError { stop: vec![ErrorClass::Device], most: None }, false),
        (OnError { stop: Vec::new(), most: Some(5) }, true),
        (OnError::default(), false),
    ] {
        let stop = Stop { operations: Some(20_000), ..Stop::default() };
        let task = FileTask { on_error: on_error.clone(), ..sim_task(1 << 20, Arrival::Closed, stop) };
        let outcome = simulate(&task, FAST, faults, None);
        match outcome.ending {
            Ending::Failed(reason) if ends => assert!(reason.contains("No space left"), "{reason}"),
            Ending::Completed if !ends => {}
            other => panic!("{on_error:?}: {other:?}"),
        }
    }
}

#[test]
fn what_does_not_come_back_is_listed_with_its_age() {
    let never = SimLatency::Constant(Duration::from_secs(3600));
    let mut task = sim_task(1 << 20, Arrival::Closed, seconds(0.2));
    task.concurrency = 5;
    let outcome = simulate(&task, never, SimFaults::default(), None);
    assert_eq!((outcome.outstanding.lost, outcome.stuck.len()), (5, 5));
    for stuck in &outcome.stuck {
        assert!(stuck.age >= Nanos(3_000_000_000) && stuck.age < Nanos(6_000_000_000), "{stuck:?}");
        assert_eq!((stuck.kind, stuck.offset % 4096), (OpKind::Read, 0));
    }
    assert!(outcome.stuck.is_sorted_by(|one, next| one.age >= next.age));
}

/// A back end whose system call does not return.
struct Hung(Vec<u8>);

impl Backend for Hung {
    fn submit(&mut self, op: &Op) -> Submission {
        assert_eq!(op.io, IoOp::Read);
        std::thread::sleep(Duration::from_secs(20));
        Submission::Done(Ok(op.length))
    }

    fn reap(&mut self, _: usize, _: Duration, _: &mut Completions) -> std::io::Result<()> {
        Ok(())
    }

    fn buffer(&mut self, _: u32) -> &mut [u8] {
        &mut self.0
    }

    fn blocks(&self) -> bool {
        true
    }
}

#[test]
fn a_worker_that_hangs_in_the_kernel_is_known_by_what_it_hangs_in() {
    let mut task = sim_task(1 << 20, Arrival::Closed, seconds(0.2));
    (task.workers, task.concurrency) = (2, 2);
    let make = |_, _| Ok(Hung(vec![0; 4096]));
    let start = std::time::Instant::now();
    let events = &mut Events::default();
    let outcome = run_file_task_on(&task, 0, Clock::best(), &Control::default(), events, make).unwrap();
    assert!(start.elapsed() < Duration::from_secs(10), "{:?}", start.elapsed());
    assert_eq!((outcome.outstanding.lost, outcome.stuck.len()), (2, 2), "{:?}", outcome.stuck);
    assert!(outcome.stuck.iter().all(|stuck| stuck.kind == OpKind::Read && stuck.age > Nanos(3_000_000_000)));
    let mut workers: Vec<_> = outcome.stuck.iter().map(|stuck| stuck.worker).collect();
    workers.sort_unstable();
    assert_eq!(workers, [0, 1]);
}

#[test]
fn tasks_without_sense_are_refused_with_a_remedy() {
    let mut place = Place::new();
    let path = place.existing(0);
    let good = on(&path, BackendKind::Sync, Mix::Write);
    let ring = |options| BackendKind::IoUring(options);
    let sync = |every| Some(SyncRule { every, method: SyncMethod::Fdatasync });
    for (task, says) in [
        (FileTask { sync: sync(0), ..good.clone() }, "every 0 writes"),
        (FileTask { sync: sync(1), mix: Mix::Read, ..good.clone() }, "writes nothing"),
        (FileTask { stop: Stop::default(), ..good.clone() }, "nothing would end it"),
        (FileTask { interval: Nanos(9_999_999), ..good.clone() }, "10 ms"),
        (
            FileTask {
                backend: ring(RingOptions { completion_polling: true, ..RingOptions::PLAIN }),
                ..good.clone()
            },
            "direct I/O only",
        ),
        (
            FileTask {
                backend: ring(RingOptions { linked_sync: true, ..RingOptions::PLAIN }),
                sync: sync(2),
                ..good.clone()
            },
            "after every write",
        ),
        (FileTask { access: Access::Append, ..good.clone() }, "append"),
        (FileTask { regions: Regions::Increment(Bytes(1 << 40)), ..good.clone() }, "too small"),
    ] {
        let error = place.run(&task).unwrap_err().to_string();
        assert!(error.to_lowercase().contains(&says.to_lowercase()), "{says}: {error}");
    }
    assert_eq!(std::fs::read(&path).unwrap(), vec![0; (BLOCKS * BLOCK) as usize]);
}
