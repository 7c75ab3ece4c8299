//! Files of the user's as targets: made, laid out, spread over, verified, removed.

// Helpers of tests may give up as tests do.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stderr)]

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

#[test]
fn what_reads_need_is_laid_out_once_and_stays() {
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let mut place = Fixture::at(dir.path(), None);
    let reading = task(FilesTarget::of(vec![place.named("data", 3 << 20)]), Mix::Read);
    assert_eq!(done(&place.run(&reading).unwrap(), OpKind::Read), 768);
    let content = std::fs::read(place.path("data")).unwrap();
    assert_eq!(content.len(), 3 << 20);
    // One random byte in 256 is 0.
    assert!(content.chunks(BLOCK as usize).all(|block| zeros(block) < 64), "every block has its data");
    drop(place);
    let mut again = Fixture::at(dir.path(), None);
    assert!(again.path("data").exists(), "it is the user's");
    let modified = std::fs::metadata(again.path("data")).unwrap().mtime_nsec();
    assert_eq!(done(&again.run(&reading).unwrap(), OpKind::Read), 768, "nothing was to be allowed for that");
    assert_eq!(std::fs::metadata(again.path("data")).unwrap().mtime_nsec(), modified);
    assert_eq!(std::fs::read(again.path("data")).unwrap(), content);
}

#[test]
fn files_that_are_only_written_get_their_space_as_asked() {
    for (reserve, size, blocks) in [
        (Reserve::Allocate, 8 << 20, true),
        (Reserve::KeepSize, 0, true),
        (Reserve::Truncate, 8 << 20, false),
        (Reserve::None, 0, false),
    ] {
        let mut place = Fixture::new();
        let target = FilesTarget { reserve, ..FilesTarget::of(vec![place.named("data", 8 << 20)]) };
        let stop = Stop { operations: Some(1), ..Stop::default() };
        let one = FileTask { stop, ..task(target, Mix::Write) };
        assert_eq!(done(&place.run(&one).unwrap(), OpKind::Write), 1);
        let found = std::fs::metadata(place.path("data")).unwrap();
        assert_eq!((found.len(), found.blocks() * 512 >= 8 << 20), (size.max(BLOCK), blocks), "{reserve:?}");
    }
}

#[test]
fn what_was_there_is_written_to_only_where_that_is_allowed() {
    let mut place = Fixture::new();
    let path = place.path("precious");
    for (length, byte, overwrite, allowed) in [
        (16384u64, 7u8, Overwrite::Never, false),
        (16384, 7, Overwrite::Blank, false),
        (16384, 0, Overwrite::Blank, true),
        (16384, 7, Overwrite::Anything, true),
        // Too short: to be made longer is to be written to.
        (100, 7, Overwrite::Never, false),
        (100, 7, Overwrite::Blank, false),
        (100, 7, Overwrite::Anything, true),
    ] {
        for mix in [Mix::Write, Mix::ReadPercent(50)] {
            let mut place = Fixture::at(&place.dir, None);
            write(&path, byte, length);
            let target = FilesTarget { overwrite, ..FilesTarget::of(vec![place.named("precious", 8192)]) };
            let ran = place.run(&task(target, mix));
            assert_eq!(ran.is_ok(), allowed, "{length} {byte} {overwrite:?}: {:?}", ran.err());
            if !allowed {
                assert_eq!(std::fs::read(&path).unwrap(), vec![byte; length as usize]);
            } else {
                assert_eq!(std::fs::metadata(&path).unwrap().len(), length.max(8192), "what is longer stays");
            }
        }
    }
    write(&path, 7, 100);
    let short = task(FilesTarget::of(vec![place.named("precious", 8192)]), Mix::Read);
    assert!(place.refused(&short).contains("has 100"), "{}", place.refused(&short));
    assert_eq!(std::fs::metadata(&path).unwrap().len(), 100);
}

#[test]
fn a_short_file_is_completed_and_keeps_what_it_has() {
    let mut place = Fixture::new();
    write(&place.path("data"), 7, 10_000);
    let mut file = place.named("data", 100_000);
    file.offset = Bytes(50_000);
    let overwrite = Overwrite::Anything;
    let reading = task(FilesTarget { overwrite, ..FilesTarget::of(vec![file]) }, Mix::Read);
    assert_eq!(done(&place.run(&reading).unwrap(), OpKind::Read), 24);
    let content = std::fs::read(place.path("data")).unwrap();
    assert_eq!(content.len(), 150_000);
    assert_eq!(content[..10_000], [7; 10_000]);
    assert!(zeros(&content[10_000..]) < 10_000, "nor is there a hole before the span");
}

#[test]
fn always_lays_out_the_span_whatever_it_holds() {
    let mut place = Fixture::new();
    write(&place.path("data"), 7, 16384);
    let mut file = place.named("data", 8192);
    file.offset = Bytes(4096);
    let target = FilesTarget {
        lay_out: LayOut::Always,
        overwrite: Overwrite::Anything,
        ..FilesTarget::of(vec![file])
    };
    let trim = FileTask { stop: Stop { operations: Some(1), ..Stop::default() }, ..task(target, Mix::Read) };
    place.run(&trim).unwrap();
    let content = std::fs::read(place.path("data")).unwrap();
    let sevens = |range: std::ops::Range<usize>| content[range].iter().filter(|byte| **byte == 7).count();
    assert_eq!((sevens(0..4096), sevens(12288..16384)), (4096, 4096));
    assert!(sevens(4096..8192) < 100 && sevens(8192..12288) < 100);
}

#[test]
fn what_can_not_be_made_is_refused_with_its_reason() {
    let mut place = Fixture::new();
    write(&place.path("file"), 7, 8192);
    let target = |name: &str, size| FilesTarget::of(vec![place.named(name, size)]);
    let never = FilesTarget { lay_out: LayOut::Never, ..target("none", 8192) };
    let nothing = FilesTarget::of(Vec::new());
    let huge = target("huge", u64::MAX);
    let cases = [
        (target("file/within", 8192), "Not a directory"),
        (target("new/directory/huge", u64::MAX / 2), "lay out"),
        (target("none", 0), "no size is given"),
        (never, "does not create it"),
        (nothing, "has no file"),
        (huge, "largest possible offset"),
    ];
    for (target, part) in cases {
        let error = place.refused(&task(target, Mix::Write));
        assert!(error.contains(part), "{error}");
    }
    std::os::unix::fs::symlink(place.path("nowhere"), place.path("link")).unwrap();
    let link = task(FilesTarget::of(vec![place.named("link", 8192)]), Mix::Write);
    assert!(place.refused(&link).contains("exists"), "{}", place.refused(&link));
    let directory = FilesTarget::of(vec![NamedFile { path: place.dir.clone(), ..place.named("", 8192) }]);
    assert!(place.refused(&task(directory, Mix::Read)).contains("this is a directory"));
    assert_eq!(place.left(), 2, "but the file and the link nothing is there");
}

#[test]
fn directories_of_files_that_are_made_are_made_too() {
    let mut place = Fixture::new();
    let files = ["a/b/one", "a/two", "a/b/c/three"].map(|name| place.named(name, 8192));
    let target = FilesTarget::of(files.to_vec());
    assert_eq!(done(&place.run(&task(target, Mix::Write)).unwrap(), OpKind::Write), 6);
    assert_eq!(std::fs::read(place.path("a/b/c/three")).unwrap().len(), 8192);
}

#[test]
fn devices_without_an_end_are_read_and_written() {
    for kind in backends() {
        let mut place = Fixture::new();
        for (path, mix) in
            [("/dev/null", Mix::Write), ("/dev/zero", Mix::Read), ("/dev/zero", Mix::ReadPercent(50))]
        {
            // What the kernel does not splice to, it reports.
            if kind == BackendKind::Mmap || kind == BackendKind::Splice && mix != Mix::Read {
                continue;
            }
            let kind = match kind {
                BackendKind::Vectored(_) => BackendKind::Vectored(IoFlags::default()),
                other => other,
            };
            let file = NamedFile { path: path.into(), offset: Bytes(0), size: Bytes(65536) };
            let target = FilesTarget { overwrite: Overwrite::Anything, ..FilesTarget::of(vec![file]) };
            let task = FileTask { backend: kind, cache: PageCache::INVALIDATED, ..task(target, mix) };
            let outcome = place.run(&task).unwrap_or_else(|error| panic!("{kind:?} {path}: {error}"));
            let operations = done(&outcome, OpKind::Read) + done(&outcome, OpKind::Write);
            assert_eq!(operations, 16, "{kind:?} {path}");
        }
    }
    let mut place = Fixture::new();
    let file = NamedFile { path: "/dev/full".into(), offset: Bytes(0), size: Bytes(65536) };
    let target = FilesTarget { overwrite: Overwrite::Anything, ..FilesTarget::of(vec![file]) };
    let outcome = place.run(&task(target, Mix::Write)).unwrap();
    let tally = &outcome.errors[0];
    assert_eq!((tally.class, tally.number, tally.count), (ErrorClass::Space, Some(28), 16));
}

#[test]
fn tasks_that_make_no_sense_are_refused_with_their_remedy() {
    let mut place = Fixture::new();
    let target = || FilesTarget::of(vec![place.named("data", 8192)]);
    let grow = || FilesTarget { lay_out: LayOut::Grow, ..target() };
    let plain = task(target(), Mix::Write);
    let null = Target::Null { size: Bytes::MIB };
    let busy = |percent, chunk| {
        let work = BusyWork::Spin;
        BackendKind::Busy(BusyOptions { percent, chunk: Nanos(chunk), work })
    };
    let verify = verify(false, false, true);
    let state = Verify { state: Some(place.path("state")), ..verify.clone() };
    let twice = FilesTarget::of(vec![place.named("data", 8192), place.named("data", 8192)]);
    let two = FilesTarget::of(vec![place.named("a", 8192), place.named("b", 8192)]);
    let append = Access::Append;
    let cases = [
        (task(grow(), Mix::ReadPercent(10)), "use writes only"),
        (task(FilesTarget { files: vec![place.named("data", 0)], ..grow() }, Mix::Write), "needs a size"),
        (FileTask { backend: BackendKind::Mmap, ..task(grow(), Mix::Write) }, "cannot extend"),
        (FileTask { access: append.clone(), ..plain.clone() }, "grow"),
        (
            FileTask {
                access: append.clone(),
                ..task(FilesTarget { files: two.files, ..grow() }, Mix::Write)
            },
            "name one file",
        ),
        (
            FileTask { backend: BackendKind::Splice, access: append, ..task(grow(), Mix::Write) },
            "does not support appends",
        ),
        (
            FileTask { backend: BackendKind::Truncate, mix: Mix::ReadPercent(50), ..plain.clone() },
            "supports writes only",
        ),
        (
            FileTask { backend: BackendKind::Fallocate, verify: Some(verify.clone()), ..plain.clone() },
            "remove `verify`",
        ),
        (FileTask { verify: Some(verify), ..task(twice, Mix::Write) }, "contains a file twice"),
        (
            FileTask { verify: Some(state), ..task(FilesTarget { remove: true, ..target() }, Mix::Write) },
            "removed after the run",
        ),
        (FileTask { backend: busy(50, 1_000_000), ..plain.clone() }, "null target"),
        (FileTask { backend: BackendKind::Splice, target: null.clone(), ..plain.clone() }, "null target"),
        (FileTask { backend: busy(0, 1_000_000), target: null.clone(), ..plain.clone() }, "1 to 100"),
        (FileTask { backend: busy(50, 10), target: null, ..plain.clone() }, "1 microsecond"),
        (FileTask { block: Bytes(16384), ..plain.clone() }, "too small"),
    ];
    for (task, part) in cases {
        let error = place.refused(&task);
        assert!(error.contains(part), "{part}: {error}");
    }
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
fn files_grow_by_what_is_written_to_them() {
    let mut place = Fixture::new();
    let grow = FilesTarget { lay_out: LayOut::Grow, ..FilesTarget::of(vec![place.named("log", 16384)]) };
    let append = FileTask { access: Access::Append, ..task(grow, Mix::Write) };
    let twice = FileTask { stop: Stop::default(), ..append.clone() };
    assert_eq!(done(&place.run(&append).unwrap(), OpKind::Write), 4);
    assert_eq!(done(&place.run(&twice).unwrap(), OpKind::Write), 4);
    assert_eq!(std::fs::metadata(place.path("log")).unwrap().len(), 32768, "after what was there");
    let mut other = Fixture::at(&place.dir, None);
    assert!(other.refused(&append).contains("overwrite"), "another run did not make it");
}

#[test]
fn files_are_removed_when_the_phase_is_over_and_verified() {
    let mut place = Fixture::new();
    let files = vec![place.named("a", 8192), place.named("b", 8192)];
    let target = FilesTarget { remove: true, ..FilesTarget::of(files) };
    let verified = FileTask { verify: Some(verify(false, false, true)), ..task(target.clone(), Mix::Write) };
    let outcome = place.run(&verified).unwrap();
    assert_eq!(outcome.verified.as_ref().map(|found| (found.units, found.wrong)), Some((4, 0)));
    assert_eq!(place.left(), 0);
    // Again: nothing of the first is left that would be taken for its own.
    assert_eq!(done(&place.run(&task(target.clone(), Mix::Read)).unwrap(), OpKind::Read), 4);
    assert_eq!(place.left(), 0);
    let failing = FileTask { block: Bytes(16384), ..task(target.clone(), Mix::Write) };
    assert!(place.run(&failing).is_err());
    assert_eq!(place.left(), 0);
    write(&place.path("a"), 7, 8192);
    let error = place.refused(&task(target, Mix::Read));
    assert!(error.contains("overwrite"), "what was there is not removed unless allowed: {error}");
    assert_eq!(place.left(), 1);
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
fn several_files_are_verified_each_by_its_own_offsets() {
    let mut place = Fixture::new();
    let (state, mut place_of) = (place.path("state"), Vec::new());
    for (name, size) in [("a", 20_000), ("b", 40_961), ("c", 8192)] {
        place_of.push(place.named(name, size));
    }
    let target = FilesTarget::of(place_of.clone());
    let keep = Verify { state: Some(state.clone()), ..verify(true, false, true) };
    let sizes = Some(Sizes::alike(
        SizeLaw::Range { min: Bytes(1024), max: Bytes(4096), multiple: Bytes(1024) },
        Bytes(1024),
    ));
    let writing = FileTask {
        verify: Some(Verify { unit: Bytes(1024), ..keep }),
        sizes,
        access: Access::Random,
        workers: 2,
        concurrency: 2,
        regions: Regions::Slices,
        stop: Stop { operations: Some(2000), ..Stop::default() },
        ..task(target, Mix::ReadPercent(40))
    };
    let outcome = place.run(&writing).unwrap();
    let verified = found(&outcome);
    assert_eq!((verified.wrong, verified.unreadable, verified.incomplete), (0, 0, false), "{verified:?}");
    assert!(verified.units > 500, "{verified:?}");
    let later = SavedState::load(&state).unwrap().verify(Clock::best(), &Control::default()).unwrap();
    assert_eq!((later.wrong, later.unreadable), (0, 0), "{later:?}");
    assert!(later.units >= 60, "{later:?}");
    // So it is with what was only stamped, for others to compare.
    let stamping = FileTask {
        verify: Some(verify(false, true, false)),
        ..task(FilesTarget::of(vec![place.named("e", 8192)]), Mix::Write)
    };
    assert_eq!(found(&place.run(&stamping).unwrap()), &Verified::default());
    let checking = FileTask { verify: Some(verify(true, true, false)), mix: Mix::Read, ..stamping };
    let outcome = Fixture::at(&place.dir, None).run(&checking).unwrap();
    assert_eq!((found(&outcome).units, found(&outcome).wrong), (2, 0));
    // Others read file by file, however they are put together, and know it for iolite's.
    let alone = FilesTarget::of(vec![place_of[2].clone(), place_of[1].clone()]);
    let mut reading = FileTask {
        verify: Some(Verify { unit: Bytes(1024), ..verify(true, true, false) }),
        block: Bytes(1024),
        ..task(alone, Mix::Read)
    };
    let outcome = Fixture::at(&place.dir, None).run(&reading).unwrap();
    assert_eq!((found(&outcome).units, found(&outcome).wrong), (48, 0), "{:?}", found(&outcome));
    let damaged = std::fs::File::options().write(true).open(place.path("b")).unwrap();
    damaged.write_all_at(b"damage", 2048 + 500).unwrap();
    let outcome = Fixture::at(&place.dir, None).run(&reading).unwrap();
    assert_eq!(found(&outcome).wrong, 1);
    let what = &found(&outcome).first[0].what;
    assert!(what.contains("b at byte 2048"), "{what}");
    let later = SavedState::load(&state).unwrap().verify(Clock::best(), &Control::default()).unwrap();
    assert_eq!(later.wrong, 1);
    // What nobody has written is wrong.
    write(&place.path("d"), 0, 4096);
    reading.target = Target::Files(FilesTarget::of(vec![place.named("d", 0)]));
    let outcome = Fixture::at(&place.dir, None).run(&reading).unwrap();
    assert_eq!((found(&outcome).units, found(&outcome).wrong), (4, 4));
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
fn an_interruption_while_files_are_made_leaves_nothing() {
    let mut place = Fixture::new();
    place.control = Control::new(Arc::new(AtomicBool::new(true)));
    let files = vec![place.named("a", 1 << 40), place.named("b", 1 << 20)];
    let target = FilesTarget { reserve: Reserve::None, ..FilesTarget::of(files) };
    let error = place.refused(&task(target, Mix::Read));
    assert!(error.contains("interrupted"), "{error}");
    assert_eq!(place.left(), 0);
}

/// A tmpfs of this size; gone when dropped.
struct Small(tempfile::TempDir);

impl Small {
    fn new(options: &str) -> Option<Small> {
        let dir = tempfile::tempdir().unwrap();
        let mut mount = Command::new("mount");
        match mount.args(["-t", "tmpfs", "-o", options, "iolite-test"]).arg(dir.path()).output() {
            Ok(output) if output.status.success() => return Some(Small(dir)),
            Ok(output) => eprintln!("skipped: mount: {}", String::from_utf8_lossy(&output.stderr).trim()),
            Err(error) => eprintln!("skipped: mount: {error}"),
        }
        None
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(self.0.path()).status();
    }
}

#[test]
fn a_file_system_can_be_unmounted_at_once_after_a_run() {
    let mut unmounted = 0;
    for _ in 0..20 {
        let Some(small) = Small::new("size=4m") else { return };
        let mut place = Fixture::at(small.0.path(), None);
        write(&place.path("file"), 7, 1 << 20);
        let target =
            FilesTarget { overwrite: Overwrite::Anything, ..FilesTarget::of(vec![place.named("file", 0)]) };
        let backend = BackendKind::IoUring(RingOptions::default());
        let task = FileTask { backend, workers: 2, concurrency: 16, ..task(target, Mix::Write) };
        let outcome = match place.run(&task) {
            Err(EngineError::Backend { source, .. }) => {
                return eprintln!("skipped: no io_uring here: {source}");
            }
            outcome => outcome.unwrap(),
        };
        assert!(done(&outcome, OpKind::Write) > 0);
        // Whoever has created files keeps them open to the end of the run.
        drop(place);
        unmounted += u32::from(Command::new("umount").arg(small.0.path()).status().unwrap().success());
    }
    // A process that another test starts has the files open, too, until it has a program of its own.
    assert!(unmounted >= 15, "{unmounted} of 20");
}

#[test]
fn a_full_file_system_is_reported_and_what_was_made_is_gone() {
    let Some(small) = Small::new("size=1m") else { return };
    let mut place = Fixture::at(small.0.path(), None);
    write(&place.path("old"), 7, 1000);
    for (mix, reserve) in [
        (Mix::Read, Reserve::Allocate),
        (Mix::Read, Reserve::None),
        (Mix::Write, Reserve::Allocate),
        (Mix::Write, Reserve::KeepSize),
    ] {
        let files = vec![place.named("old", 65536), place.named("new", 65536), place.named("large", 4 << 20)];
        let overwrite = Overwrite::Anything;
        let target = FilesTarget { reserve, overwrite, ..FilesTarget::of(files) };
        let error = place.refused(&task(target, mix));
        assert!(error.contains("large") && error.contains("free some space"), "{mix:?} {reserve:?}: {error}");
        assert_eq!(std::fs::read(place.path("old")).unwrap(), [7; 1000], "{mix:?} {reserve:?}");
        assert_eq!(place.left(), 1, "{mix:?} {reserve:?}");
    }
    // The space is free again although the run goes on.
    let fits = task(FilesTarget::of(vec![place.named("fits", 900 << 10)]), Mix::Read);
    assert_eq!(done(&place.run(&fits).unwrap(), OpKind::Read), 225);
}

#[test]
fn a_device_is_a_file_that_is_never_made() {
    let dir = tempfile::tempdir().unwrap();
    let image = dir.path().join("image");
    write(&image, 0, 1 << 20);
    let made = Command::new("losetup").args(["--find", "--show"]).arg(&image).output();
    let device = match made {
        Ok(output) if output.status.success() => String::from_utf8(output.stdout).unwrap().trim().to_owned(),
        Ok(output) => {
            eprintln!("skipped: losetup: {}", String::from_utf8_lossy(&output.stderr).trim());
            return;
        }
        Err(error) => {
            eprintln!("skipped: losetup: {error}");
            return;
        }
    };
    let mut place = Fixture::new();
    let named = |path: &str, size| NamedFile { path: path.into(), offset: Bytes(0), size: Bytes(size) };
    let target = |path: &str, size, overwrite| FilesTarget {
        overwrite,
        lay_out: LayOut::Always,
        remove: true,
        ..FilesTarget::of(vec![named(path, size), place.named("file", 8192)])
    };
    let image_name = image.to_str().unwrap().to_owned();
    let (never, anything) = (Overwrite::Never, Overwrite::Anything);
    let write = |target| task(target, Mix::Write);
    let tasks = [
        write(target(&device, 0, never)),
        write(target(&device, 2 << 20, anything)),
        write(target(&image_name, 0, anything)),
    ];
    let whole = FileTask { cache: PageCache::INVALIDATED, ..write(target(&device, 0, Overwrite::Blank)) };
    let parts = ["overwrite", "requested region", "rests on it"];
    let results: Vec<_> =
        tasks.iter().map(|task| place.run(task).map_err(|error| error.to_string())).collect();
    let left_before = place.left();
    let outcome = place.run(&whole);
    let _ = Command::new("losetup").args(["--detach", &device]).status();
    for (result, part) in results.into_iter().zip(parts) {
        let error = result.unwrap_err();
        assert!(error.contains(part), "{error}");
    }
    assert_eq!(left_before, 0, "what was made with it is gone");
    assert_eq!(done(&outcome.unwrap(), OpKind::Write), 256 + 2);
    assert!(Path::new(&device).exists() && place.left() == 0, "only files are removed");
}

#[test]
fn fallocate_reserves_and_punches() {
    let mut place = Fixture::new();
    let grow = FilesTarget { lay_out: LayOut::Grow, ..FilesTarget::of(vec![place.named("data", 1 << 20)]) };
    let with = |mix| FileTask { backend: BackendKind::Fallocate, ..task(grow.clone(), mix) };
    let found = |place: &Fixture| {
        let metadata = std::fs::metadata(place.path("data")).unwrap();
        (metadata.len(), metadata.blocks() * 512 >= 1 << 20)
    };
    assert_eq!(done(&place.run(&with(Mix::Read)).unwrap(), OpKind::Read), 256);
    assert_eq!(found(&place), (0, true));
    assert_eq!(done(&place.run(&with(Mix::Write)).unwrap(), OpKind::Write), 256);
    assert_eq!(found(&place), (1 << 20, true));
    assert_eq!(done(&place.run(&with(Mix::Trim)).unwrap(), OpKind::Trim), 256);
    assert_eq!(found(&place), (1 << 20, false));
    let mut other = Fixture::at(&place.dir, None);
    let error = other.refused(&with(Mix::Read));
    assert!(error.contains("overwrite"), "to reserve is to change: {error}");
}

#[test]
fn truncate_cuts_off_at_each_offset() {
    let mut place = Fixture::new();
    let files = vec![place.named("a", 16384), place.named("b", 16384)];
    let target = FilesTarget { order: FileOrder::Sequential, ..FilesTarget::of(files) };
    let stop = Stop { operations: Some(7), ..Stop::default() };
    let task = FileTask { backend: BackendKind::Truncate, stop, ..task(target, Mix::Write) };
    assert_eq!(done(&place.run(&task).unwrap(), OpKind::Write), 7);
    let length = |name| std::fs::metadata(place.path(name)).unwrap().len();
    assert_eq!((length("a"), length("b")), (12288, 8192));
}

#[test]
fn busy_takes_its_share_of_a_processor() {
    let options = BusyOptions { percent: 25, chunk: Nanos(2_000_000), work: BusyWork::Sort };
    let stop = Stop { operations: Some(10), ..Stop::default() };
    let task = FileTask {
        target: Target::Null { size: Bytes::MIB },
        backend: BackendKind::Busy(options),
        stop,
        ..task(FilesTarget::of(Vec::new()), Mix::Read)
    };
    let outcome = Fixture::new().run(&task).unwrap();
    assert_eq!(done(&outcome, OpKind::Read), 10);
    // Ten chunks and nine pauses of three; a busy machine may only make it longer.
    assert!(outcome.totals.measured >= 20_000_000 + 9 * 6_000_000, "{}", outcome.totals.measured);
}

#[test]
fn a_long_pause_of_busy_is_interrupted() {
    let flag = Arc::new(AtomicBool::new(false));
    let mut place = Fixture::new();
    place.control = Control::new(flag.clone());
    let options = BusyOptions { percent: 1, chunk: Nanos(1_000_000_000), work: BusyWork::Spin };
    let task = FileTask {
        target: Target::Null { size: Bytes::MIB },
        backend: BackendKind::Busy(options),
        ..task(FilesTarget::of(Vec::new()), Mix::Read)
    };
    struct AfterTheFirst(Arc<AtomicBool>);
    impl Sink for AfterTheFirst {
        fn event(&mut self, event: &Event) {
            let happened = matches!(event, Event::Interval(interval) if !interval.ops.is_empty());
            self.0.fetch_or(happened, std::sync::atomic::Ordering::Relaxed);
        }
    }
    let sink = &mut AfterTheFirst(flag);
    let outcome = run_file_task(&task, 0, &mut place.scratch, Clock::best(), &place.control, sink).unwrap();
    assert_eq!(outcome.ending, Ending::Interrupted);
    assert_eq!(outcome.outstanding.lost, 0, "within the 99 seconds of the pause");
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

#[test]
fn a_full_file_system_ends_what_is_to_fill_it() {
    let Some(small) = Small::new("size=1m") else { return };
    for (kind, block) in
        [(BackendKind::Sync, 65536), (BackendKind::Threads, 65536), (BackendKind::Sync, 100_000)]
    {
        let mut place = Fixture::at(small.0.path(), None);
        let target =
            FilesTarget { lay_out: LayOut::Grow, remove: true, ..FilesTarget::of(vec![place.named("f", 0)]) };
        let stop = Stop { full: true, loops: Some(1), ..Stop::default() };
        let filling = FileTask { backend: kind, block: Bytes(block), stop, ..task(target, Mix::Write) };
        assert_eq!(done(&place.run(&filling).unwrap(), OpKind::Write), (1 << 20) / block, "{kind:?} {block}");
        // Without leave to, it is an error.
        let stop = Stop { bytes: Some(Bytes(2 << 20)), ..Stop::default() };
        let named = FilesTarget {
            lay_out: LayOut::Grow,
            remove: true,
            ..FilesTarget::of(vec![place.named("f", 2 << 20)])
        };
        let failing = FileTask { target: Target::Files(named), stop, ..filling };
        let outcome = place.run(&failing).unwrap();
        assert!(outcome.errors.iter().any(|tally| tally.class == ErrorClass::Space), "{:?}", outcome.errors);
    }
    let reading = FileTask {
        stop: Stop { full: true, ..Stop::default() },
        ..task(FilesTarget::of(Vec::new()), Mix::Read)
    };
    assert!(Fixture::new().refused(&reading).contains("only writes"));
}
