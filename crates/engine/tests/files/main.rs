//! Files of the user's as targets: made, laid out, spread over, verified, removed.

// Helpers of tests may give up as tests do.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stderr)]

mod layout;
mod small;
mod special;
mod verified;

use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use iolite_engine::{Control, EngineError, Outcome, SavedState, Scratch, run_file_task, run_set};
use iolite_model::{
    Access, BackendKind, BusyOptions, BusyWork, Bytes, Checksum, Ending, ErrorClass, Event, ExistingTarget,
    FileOrder, FileTask, FilesTarget, IoFlags, JobTask, LayOut, Mix, NamedFile, Nanos, NullSink, OpKind,
    OpenSync, Overwrite, PageCache, Regions, Reserve, RingOptions, RunId, Sink, SizeLaw, Sizes, Start, Stop,
    SyncMethod, SyncRule, Target, Verified, Verify, WriteDurability,
};
use iolite_sys::clock::Clock;
use iolite_sys::page_cache;

const BLOCK: u64 = 4096;

struct Fixture {
    dir: PathBuf,
    scratch: Scratch,
    control: Control,
    _dirs: [Option<tempfile::TempDir>; 2],
}

impl Fixture {
    fn new() -> Fixture {
        let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let path = dir.path().to_owned();
        Fixture::at(&path, Some(dir))
    }

    /// With the scratch directory elsewhere.
    fn at(path: &Path, dir: Option<tempfile::TempDir>) -> Fixture {
        let elsewhere = tempfile::tempdir().unwrap();
        let scratch = Scratch::create(elsewhere.path(), &RunId("test".into())).unwrap();
        Fixture { dir: path.to_owned(), scratch, control: Control::default(), _dirs: [dir, Some(elsewhere)] }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.join(name)
    }

    fn named(&self, name: &str, size: u64) -> NamedFile {
        NamedFile { path: self.path(name), offset: Bytes(0), size: Bytes(size) }
    }

    fn run(&mut self, task: &FileTask) -> Result<Outcome, EngineError> {
        run_file_task(task, 0, &mut self.scratch, Clock::best(), &self.control, &mut NullSink)
    }

    fn refused(&mut self, task: &FileTask) -> String {
        self.run(task).unwrap_err().to_string()
    }

    fn left(&self) -> usize {
        std::fs::read_dir(&self.dir).unwrap().count()
    }
}

/// All of the files once, by one worker.
fn task(target: FilesTarget, mix: Mix) -> FileTask {
    FileTask {
        name: "test".into(),
        target: Target::Files(target),
        backend: BackendKind::Sync,
        mix,
        access: Access::Sequential,
        stop: Stop { loops: Some(1), ..Stop::default() },
        interval: Nanos(50_000_000),
        ..FileTask::default()
    }
}

fn done(outcome: &Outcome, kind: OpKind) -> u64 {
    assert_eq!((&outcome.ending, outcome.errors.as_slice()), (&Ending::Completed, &[][..]));
    outcome.totals.operations(kind)
}

fn backends() -> Vec<BackendKind> {
    let mut kinds = vec![
        BackendKind::Sync,
        BackendKind::Vectored(IoFlags { dsync: true, ..IoFlags::default() }),
        BackendKind::Mmap,
        BackendKind::Splice,
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

/// A file of nothing but these bytes.
fn write(path: &Path, byte: u8, length: u64) {
    std::fs::write(path, vec![byte; length as usize]).unwrap();
}

fn zeros(bytes: &[u8]) -> usize {
    bytes.iter().filter(|byte| **byte == 0).count()
}

fn verify(reads: bool, anyone: bool, after: bool) -> Verify {
    Verify {
        check: Checksum::Crc32c,
        unit: Bytes(0),
        reads,
        anyone,
        after,
        block: Bytes(0),
        ..Verify::default()
    }
}

fn found(outcome: &Outcome) -> &Verified {
    outcome.verified.as_ref().unwrap()
}

#[test]
fn every_back_end_reaches_every_file_and_nothing_else() {
    for kind in backends() {
        let mut place = Fixture::new();
        let length = |index: u64| BLOCK * (10 + 3 * index) + 100;
        let mut files = Vec::new();
        for index in 0..5 {
            let name = format!("f{index}");
            write(&place.path(&name), 7, length(index) + 8192);
            files.push(NamedFile { offset: Bytes(4096), ..place.named(&name, length(index)) });
        }
        let target = FilesTarget { overwrite: Overwrite::Anything, ..FilesTarget::of(files) };
        let depth = if kind.is_synchronous() { 2 } else { 8 };
        let covering = FileTask {
            backend: kind,
            access: Access::Covering,
            workers: 2,
            concurrency: depth,
            durability: WriteDurability::synced(SyncRule::fdatasync(7)),
            ..task(target.clone(), Mix::Write)
        };
        let blocks: u64 = (0..5).map(|index| 10 + 3 * index).sum();
        let outcome = place.run(&covering).unwrap();
        let finished = done(&outcome, OpKind::Write) + outcome.outstanding.at_end;
        assert_eq!(finished, blocks, "{kind:?}");
        assert!(outcome.totals.operations(OpKind::Sync) > 5, "{kind:?}");
        for index in 0..5 {
            let content = std::fs::read(place.path(&format!("f{index}"))).unwrap();
            assert_eq!(content.len() as u64, length(index) + 8192, "{kind:?}");
            let end = (4096 + BLOCK * (10 + 3 * index)) as usize;
            assert!(content[..4096].iter().chain(&content[end..]).all(|byte| *byte == 7), "{kind:?} {index}");
            let written = content[4096..end].chunks(BLOCK as usize);
            assert!(
                written.clone().all(|block| zeros(block) < 64 && block != [7; BLOCK as usize]),
                "{kind:?}"
            );
        }
        if kind == BackendKind::Vectored(IoFlags { dsync: true, ..IoFlags::default() }) {
            continue;
        }
        let reading = FileTask {
            mix: Mix::Read,
            durability: WriteDurability { sync: None, ..covering.durability },
            ..covering
        };
        let outcome = place.run(&reading).unwrap();
        assert_eq!(done(&outcome, OpKind::Read) + outcome.outstanding.at_end, blocks, "{kind:?}");
    }
}

#[test]
fn linked_and_ranged_syncs_go_to_their_files() {
    if let Err(error) = iolite_sys::ring::available() {
        eprintln!("skipped: io_uring is not available here: {error}");
        return;
    }
    let linked = RingOptions { linked_sync: true, ..RingOptions::PLAIN };
    for (options, method, every) in [
        (linked, SyncMethod::Fsync, 1),
        (RingOptions::PLAIN, SyncMethod::FileRange, 1),
        (RingOptions::PLAIN, SyncMethod::FileRange, 5),
    ] {
        let mut place = Fixture::new();
        let files = (0..4).map(|index| place.named(&format!("f{index}"), 8192 * 5)).collect();
        let task = FileTask {
            backend: BackendKind::IoUring(options),
            concurrency: 4,
            durability: WriteDurability::synced(SyncRule { every, method }),
            ..task(FilesTarget::of(files), Mix::Write)
        };
        let outcome = place.run(&task).unwrap();
        let written = done(&outcome, OpKind::Write);
        assert!(written >= 36, "{method:?}: {written}");
        assert!(outcome.totals.operations(OpKind::Sync) >= 36 / u64::from(every), "{method:?}");
    }
}

#[test]
fn a_file_after_the_other_and_all_of_each() {
    let mut place = Fixture::new();
    let files = vec![place.named("a", 8192), place.named("b", 16384)];
    let target =
        FilesTarget { order: FileOrder::Sequential, reserve: Reserve::None, ..FilesTarget::of(files) };
    let stop = Stop { operations: Some(4), ..Stop::default() };
    let outcome = place.run(&FileTask { stop, ..task(target, Mix::Write) }).unwrap();
    assert_eq!(done(&outcome, OpKind::Write), 4);
    let length = |name| std::fs::metadata(place.path(name)).unwrap().len();
    assert_eq!((length("a"), length("b")), (8192, 8192));
}

#[test]
fn a_loop_is_as_long_as_what_is_there() {
    let mut place = Fixture::new();
    write(&place.path("a"), 7, 10_000);
    write(&place.path("b"), 7, 4096);
    let target = FilesTarget::of(vec![place.named("a", 0), place.named("b", 0)]);
    assert_eq!(done(&place.run(&task(target, Mix::Read)).unwrap(), OpKind::Read), 3);
    write(&place.path("b"), 7, 100);
    let target = FilesTarget::of(vec![place.named("a", 0), place.named("b", 0)]);
    assert!(place.refused(&task(target, Mix::Read)).contains("too small"));
}

#[test]
fn tasks_of_a_set_share_their_files() {
    let mut place = Fixture::new();
    let target = FilesTarget::of(vec![place.named("shared", 1 << 20)]);
    let tasks: Vec<_> = (0..3)
        .map(|number| {
            let mix = [Mix::Write, Mix::Read, Mix::ReadPercent(50)][number];
            JobTask::Io(Box::new(FileTask {
                start: Start { together: number > 0, ..Start::default() },
                ..task(target.clone(), mix)
            }))
        })
        .collect();
    let set = |place: &mut Fixture, tasks: &[JobTask]| {
        run_set(tasks, 0, &mut place.scratch, Clock::best(), &place.control, &mut NullSink)
            .map(iolite_engine::Measured::verify)
    };
    let outcomes = set(&mut place, &tasks).unwrap();
    let sum: u64 =
        outcomes.iter().map(|outcome| done(outcome, OpKind::Read) + done(outcome, OpKind::Write)).sum();
    assert_eq!(sum, 3 * 256);
    // Verified, only what does not overlap.
    let with = |offset, size| {
        let file = NamedFile { offset: Bytes(offset), ..place.named("shared", size) };
        let verify = Some(verify(false, false, true));
        JobTask::Io(Box::new(FileTask { verify, ..task(FilesTarget::of(vec![file]), Mix::Write) }))
    };
    let (first, second, all) = (with(0, 1 << 19), with(1 << 19, 1 << 19), with(0, 0));
    assert!(set(&mut place, &[first.clone(), second]).is_ok());
    let error = set(&mut place, &[first, all]).err().unwrap().to_string();
    assert!(error.contains("report as damage"), "{error}");
}

#[test]
fn durable_writes_work_with_every_back_end() {
    for kind in backends() {
        let mut place = Fixture::new();
        let durable = Some(if kind == BackendKind::Sync { OpenSync::All } else { OpenSync::Data });
        let target = FilesTarget::of(vec![place.named("a", 16384), place.named("b", 16384)]);
        let task = FileTask {
            backend: kind,
            durability: WriteDurability { open: durable, ..WriteDurability::default() },
            ..task(target, Mix::Write)
        };
        assert_eq!(done(&place.run(&task).unwrap(), OpKind::Write), 8, "{kind:?}");
    }
}

#[test]
fn the_cache_is_dropped_before_the_phase() {
    let mut place = Fixture::new();
    let path = place.path("data");
    // A page at a time: a larger write may get a folio of many pages, which is only evicted as a whole.
    let file = std::fs::File::create_new(&path).unwrap();
    (0..2048).for_each(|page| file.write_all_at(&[7; 4096], page * 4096).unwrap());
    file.sync_all().unwrap();
    let read = std::fs::File::open(&path).unwrap();
    if page_cache::resident_bytes(&read, 0, 8 << 20).unwrap() < 8 << 20 {
        eprintln!("skipped: what was written is not in the page cache here");
        return;
    }
    for existing in [false, true] {
        let overwrite = Overwrite::Never;
        let target = if existing {
            Target::Existing(ExistingTarget {
                path: path.clone(),
                offset: Bytes(0),
                size: Bytes(0),
                overwrite,
            })
        } else {
            Target::Files(FilesTarget::of(vec![place.named("data", 0)]))
        };
        let stop = Stop { operations: Some(1), ..Stop::default() };
        let base =
            FileTask { target, stop, access: Access::Random, ..task(FilesTarget::of(vec![]), Mix::Read) };
        place.run(&base).unwrap();
        let resident = || page_cache::resident_bytes(&read, 0, 8 << 20).unwrap();
        if !existing {
            assert_eq!(resident(), 8 << 20);
        }
        place.run(&FileTask { cache: PageCache::INVALIDATED, ..base }).unwrap();
        assert!(resident() < 2 << 20, "{} bytes", resident());
        std::fs::read(&path).unwrap();
    }
}
