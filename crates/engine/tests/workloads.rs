//! What tasks can ask for, seen from outside: what ends up in files, how much was done, by whom, when.

// Helpers of tests may give up as tests do.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stderr)]

mod common;

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use iolite_engine::{
    Backend, Completions, Control, EngineError, Op, Outcome, Scratch, Submission, run_file_task,
    run_file_task_on, run_set,
};
use iolite_model::{
    Access, BackendKind, Bytes, Contents, Ending, ErrorClass, Event, ExistingTarget, FileTarget, FileTask,
    Fill, JobTask, MetadataTask, Mix, Nanos, OpKind, Overwrite, Placement, Quantile, Regions, RingOptions,
    RunId, Sink, SizeLaw, Sizes, Stage, Start, Stop, SyncMethod, SyncRule, Target, WeightedSize,
    WriteDurability,
};
use iolite_sys::clock::Clock;

use common::undisturbed;

const BLOCK: u64 = 4096;
const BLOCKS: u64 = 64;

#[derive(Default)]
struct Events(Vec<Event>);

impl Sink for Events {
    fn event(&mut self, event: &Event) {
        self.0.push(event.clone());
    }
}

struct Fixture {
    dir: tempfile::TempDir,
    scratch: Scratch,
    control: Control,
    events: Events,
}

impl Fixture {
    fn new() -> Fixture {
        let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let scratch = Scratch::create(dir.path(), &RunId("test".into())).unwrap();
        Fixture { dir, scratch, control: Control::default(), events: Events::default() }
    }

    fn run(&mut self, task: &FileTask) -> Result<Outcome, EngineError> {
        let Fixture { scratch, control, events, .. } = self;
        run_file_task(task, 0, scratch, Clock::best(), control, events)
    }

    fn set(&mut self, tasks: &[JobTask]) -> Result<Vec<Outcome>, EngineError> {
        let Fixture { scratch, control, events, .. } = self;
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
        let mut place = Fixture::new();
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
    let mut place = Fixture::new();
    let path = place.existing(7);
    let mut task = on(&path, BackendKind::Sync, Mix::TrimPercent(25));
    task.stop = Stop { operations: Some(4000), ..Stop::default() };
    place.run(&task).unwrap();
    let (trims, writes) = (done(&place.events, OpKind::Trim).0, done(&place.events, OpKind::Write).0);
    assert_eq!(trims + writes, 4000);
    assert!((880..1120).contains(&trims), "{trims} of about 1,000, 4 standard deviations");
    // A trim before each write of the same block: at the end all is written.
    let mut place = Fixture::new();
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
                let mut place = Fixture::new();
                let path = place.existing(0);
                let mut task = on(&path, backend, Mix::Write);
                (task.workers, task.concurrency) = (1, if backend.is_synchronous() { 1 } else { 4 });
                task.durability.sync = Some(SyncRule { every, method });
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
        let mut place = Fixture::new();
        let path = place.existing(0);
        let mut task = on(&path, BackendKind::IoUring(options), Mix::Write);
        task.durability.sync = Some(SyncRule { every: 1, method });
        let outcome = place.run(&task).unwrap();
        assert_eq!(outcome.errors, []);
        for kind in [OpKind::Write, OpKind::Sync, OpKind::Commit] {
            assert_eq!(done(&place.events, kind).0, BLOCKS, "{kind:?}");
        }
        let (write, commit) =
            (outcome.totals.response(OpKind::Write), outcome.totals.response(OpKind::Commit));
        assert!(commit.unwrap().quantile(Quantile(0.5)) >= write.unwrap().quantile(Quantile(0.5)));
    }
    let mut place = Fixture::new();
    let path = place.existing(0);
    let unsynced = on(&path, BackendKind::IoUring(options), Mix::Write);
    assert!(place.run(&unsynced).unwrap_err().to_string().contains("linked sync"));
}

/// A write that fails cancels its sync, which is neither done nor an error of its own.
#[test]
fn the_linked_sync_of_a_write_that_failed_is_cancelled() {
    if let Err(error) = iolite_sys::ring::available() {
        return eprintln!("skipped: io_uring is not available here: {error}");
    }
    let dir = tempfile::tempdir().unwrap();
    let mut mount = std::process::Command::new("mount");
    match mount.args(["-t", "tmpfs", "-o", "size=128k", "tmpfs"]).arg(dir.path()).output() {
        Ok(output) if output.status.success() => {}
        other => return eprintln!("skipped: a small tmpfs cannot be mounted, which takes root: {other:?}"),
    }
    let options = RingOptions { linked_sync: true, ..RingOptions::PLAIN };
    let task = FileTask {
        target: own(true, false, false),
        access: Access::Sequential,
        workers: 1,
        durability: WriteDurability::synced(SyncRule::fdatasync(1)),
        ..on(Path::new("/"), BackendKind::IoUring(options), Mix::Write)
    };
    let mut events = Events::default();
    let run = Scratch::create(dir.path(), &RunId("test".into())).and_then(|mut scratch| {
        run_file_task(&task, 0, &mut scratch, Clock::best(), &Control::default(), &mut events)
    });
    // The kernel lets go of a closed ring's file when it comes to it.
    let unmounted = std::process::Command::new("umount").arg("--lazy").arg(dir.path()).status();
    let outcome = run.unwrap();
    assert!(unmounted.unwrap().success());
    let (writes, syncs, commits) =
        (done(&events, OpKind::Write).0, done(&events, OpKind::Sync).0, done(&events, OpKind::Commit).0);
    assert!(writes > 0 && writes < BLOCKS, "{writes} of {BLOCKS} fit");
    assert_eq!((syncs, commits), (writes, writes));
    let [tally] = outcome.errors.as_slice() else { panic!("{:?}", outcome.errors) };
    assert_eq!((tally.kind, tally.class, tally.count), (OpKind::Write, ErrorClass::Space, BLOCKS - writes));
}

#[test]
fn polling_for_completions_works_or_is_refused_with_a_remedy() {
    let mut place = Fixture::new();
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
                error.contains("polling queues") && error.contains("remove completion_polling"),
                "{error}"
            );
        }
    }
}

#[test]
fn appends_go_to_the_end_whoever_makes_them() {
    for backend in backends().into_iter().filter(|backend| *backend != BackendKind::Mmap) {
        let mut place = Fixture::new();
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
    let mut place = Fixture::new();
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
    let mut place = Fixture::new();
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
fn what_the_user_has_not_allowed_to_be_overwritten_is_not_written() {
    let mut place = Fixture::new();
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
        let mut place = Fixture::new();
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
    let mut place = Fixture::new();
    let path = place.existing(0);
    let law = SizeLaw::Range { min: Bytes(512), max: Bytes(8192), multiple: Bytes(512) };
    let mut task = on(&path, BackendKind::Sync, Mix::Write);
    task.sizes = Some(Sizes::alike(law, Bytes(512)));
    task.contents.fill = Fill::Pattern(vec![9]);
    place.run(&task).unwrap();
    assert_eq!(done(&place.events, OpKind::Write).1, BLOCKS * BLOCK);
    assert_eq!(std::fs::read(&path).unwrap(), vec![9; (BLOCKS * BLOCK) as usize]);
}

#[test]
fn contents_are_as_asked() {
    let mut place = Fixture::new();
    let path = place.existing(0);
    let mut task = on(&path, BackendKind::Sync, Mix::Write);
    task.contents = Contents { fill: Fill::Random, refill: false, scramble: false, ..Contents::default() };
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
            let mut place = Fixture::new();
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

#[test]
fn what_is_written_back_is_what_was_read_but_for_a_change() {
    let mut place = Fixture::new();
    let path = place.existing(0);
    let mut task = on(&path, BackendKind::Sync, Mix::Write);
    (task.workers, task.concurrency) = (1, 1);
    place.run(&task).unwrap();
    let before = std::fs::read(&path).unwrap();
    task.mix = Mix::ReadThenWrite(100);
    (task.contents.refill, task.contents.scramble) = (false, true);
    place.run(&task).unwrap();
    let after = std::fs::read(&path).unwrap();
    for (before, after) in before.chunks(512).zip(after.chunks(512)) {
        assert!(before[..8] != after[..8] && before[8..] == after[8..]);
    }
}

#[test]
fn limits_may_be_each_workers_own() {
    for (stop, expected) in [
        (Stop { worker_operations: Some(10), ..Stop::default() }, 20),
        (Stop { worker_bytes: Some(Bytes(7 * BLOCK)), ..Stop::default() }, 14),
        (Stop { loops: Some(3), ..Stop::default() }, 3 * BLOCKS),
        (Stop { bytes: Some(Bytes(11 * BLOCK)), ..Stop::default() }, 11),
    ] {
        let mut place = Fixture::new();
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
    undisturbed(|| {
        let mut place = Fixture::new();
        let path = place.existing(0);
        let at_once = FileTask { stop: seconds(0.4), ..on(&path, BackendKind::Sync, Mix::Read) };
        let delayed =
            FileTask { start: Start { delay: Nanos(200_000_000), ..Start::default() }, ..at_once.clone() };
        let metadata = MetadataTask { files: 100, name: "files".into(), ..MetadataTask::default() };
        let start = std::time::Instant::now();
        let outcomes = place
            .set(&[
                JobTask::Io(Box::new(at_once)),
                JobTask::Io(Box::new(delayed)),
                JobTask::Metadata(metadata),
            ])
            .unwrap();
        let took = start.elapsed();
        assert!(took >= Duration::from_millis(600), "a delay of 0.2 s and 0.4 s of reads: {took:?}");
        assert!(outcomes.iter().all(|outcome| outcome.ending == Ending::Completed));
        assert!(outcomes[0].totals.operations(OpKind::Read) > 0);
        assert!(outcomes[1].totals.operations(OpKind::Read) > 0);
        assert_eq!(outcomes[2].totals.operations(OpKind::Create), 100);
        assert!((0..3).all(|phase| starts(&place.events).iter().any(|(of, _)| *of == phase)));
    });
}

#[test]
fn a_set_of_which_one_can_not_be_made_ready_measures_nothing() {
    let mut place = Fixture::new();
    let path = place.existing(0);
    let good = FileTask { stop: seconds(30.0), ..on(&path, BackendKind::Sync, Mix::Read) };
    // There is not a CPU of this number anywhere.
    let placement = Placement { cpus: vec![65_000], ..Placement::default() };
    let bad = FileTask { placement, ..good.clone() };
    let error = place.set(&[JobTask::Io(Box::new(good)), JobTask::Io(Box::new(bad))]).unwrap_err();
    assert!(error.to_string().contains("placement"), "{error}");
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

#[test]
fn tasks_without_sense_are_refused_with_a_remedy() {
    let mut place = Fixture::new();
    let path = place.existing(0);
    let good = on(&path, BackendKind::Sync, Mix::Write);
    let ring = |options| BackendKind::IoUring(options);
    let sync = |every| Some(SyncRule { every, method: SyncMethod::Fdatasync });
    for (task, says) in [
        (
            FileTask {
                durability: WriteDurability { sync: sync(0), ..WriteDurability::default() },
                ..good.clone()
            },
            "every 0 writes",
        ),
        (
            FileTask {
                mix: Mix::Read,
                durability: WriteDurability { sync: sync(1), ..WriteDurability::default() },
                ..good.clone()
            },
            "does not write",
        ),
        (FileTask { stop: Stop::default(), ..good.clone() }, "no stop condition"),
        (FileTask { interval: Nanos(9_999_999), ..good.clone() }, "10 ms"),
        (
            FileTask {
                backend: ring(RingOptions { completion_polling: true, ..RingOptions::PLAIN }),
                ..good.clone()
            },
            "requires direct I/O",
        ),
        (
            FileTask {
                backend: ring(RingOptions { linked_sync: true, ..RingOptions::PLAIN }),
                durability: WriteDurability { sync: sync(2), ..WriteDurability::default() },
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
