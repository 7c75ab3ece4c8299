mod files;
mod operations;
mod refused;

use crate::language::OptionError;
use std::collections::HashSet;
use std::path::{Path, PathBuf};

use iolite_model::{
    Access, Advice, BackendKind, BusyOptions, BusyWork, Bytes, Contents, Duplicates, FileOrder, FileTask,
    Fill, IoFlags, JobTask, Jumps, LayOut, Lifetime, MetadataOperation, Mix, NamedFile, Nanos, OpKind,
    OpenSync, Overwrite, PageCache, Reserve, RingOptions, SizeLaw, Sizes, Stop, SyncMethod, SyncRule, Target,
    WeightedSize, Zone, ZoneCycle, ZoneSize,
};

use super::{lower, preparation};
use crate::language::options::option::samples::spec;
use crate::language::thread::{ExitAll, ExitWhat, Thread, ThreadIndex};

const FIRST: ThreadIndex = ThreadIndex { number: 0, job: 0, clone: 0, group: 0, together: false };

/// The thread of a job named `j` with these settings.
fn thread_at(settings: &[(&str, &str)], place: ThreadIndex) -> Result<Thread, OptionError> {
    let settings: Vec<_> = [("name", "j")].iter().chain(settings).copied().collect();
    lower(&spec(&settings)?, place, &[])
}

fn thread(settings: &[(&str, &str)]) -> Result<Thread, OptionError> {
    thread_at(settings, FIRST)
}

fn task_of(thread: Thread) -> FileTask {
    match thread.task {
        JobTask::Io(task) => *task,
        JobTask::Metadata(task) => panic!("{task:?}"),
    }
}

/// The task of a job of a MiB.
fn task(settings: &[(&str, &str)]) -> Result<FileTask, OptionError> {
    let settings: Vec<_> = [("size", "1m")].iter().chain(settings).copied().collect();
    thread(&settings).map(task_of)
}

fn task_at(settings: &[(&str, &str)], place: ThreadIndex) -> FileTask {
    task_of(thread_at(settings, place).unwrap())
}

fn files(task: &FileTask) -> Vec<NamedFile> {
    match &task.target {
        Target::Files(files) => files.files.clone(),
        other => panic!("{other:?}"),
    }
}

fn extents(task: &FileTask) -> Vec<(u64, u64)> {
    files(task).into_iter().map(|file| (file.offset.0, file.size.0)).collect()
}

fn paths(task: &FileTask) -> Vec<String> {
    files(task).into_iter().map(|file| file.path.display().to_string()).collect()
}

fn bytes(bytes: u64) -> Stop {
    Stop { bytes: Some(Bytes(bytes)), ..Stop::default() }
}

#[test]
fn a_job_without_settings_is_as_fios() {
    let task = task(&[]).unwrap();
    let expected = FileTask {
        name: "j".into(),
        target: task.target.clone(),
        backend: BackendKind::Sync,
        mix: Mix::Read,
        access: Access::Sequential,
        regions: iolite_model::Regions::Shared,
        block: Bytes(4096),
        contents: Contents { fill: Fill::Random, refill: false, scramble: true, ..Contents::default() },
        errors: task.errors.clone(),
        interval: Nanos(500_000_000),
        stop: bytes(1 << 20),
        seed: task.seed,
        cache: PageCache { invalidate: true, advice: Advice::Sequential },
        ..FileTask::default()
    };
    assert_eq!(task, expected);
    let Target::Files(target) = &task.target else { panic!("{task:?}") };
    assert_eq!((target.overwrite, target.lay_out), (Overwrite::Anything, LayOut::Needed));
    assert_eq!((target.reserve, target.remove), (Reserve::Allocate, false));
    assert_eq!(files(&task), [NamedFile { path: "j.0.0".into(), offset: Bytes(0), size: Bytes::MIB }]);
}

#[test]
fn a_thread_is_what_its_job_says() {
    let thread = thread(&[
        ("size", "1m"),
        ("description", "what it is"),
        ("exec_prerun", "true"),
        ("exec_postrun", "false"),
        ("exitall", "1"),
        ("exit_what", "all"),
        ("create_only", "1"),
        ("startdelay", "5"),
        ("ramp_time", "2"),
        ("wait_for", "i"),
    ])
    .unwrap();
    assert_eq!(thread.description.as_deref(), Some("what it is"));
    assert_eq!(thread.exec, [Some("true".to_owned()), Some("false".to_owned())]);
    assert_eq!(thread.exit_all, Some(ExitAll { on_error: false, what: ExitWhat::All }));
    assert!(thread.create_only);
    let task = task_of(thread);
    assert_eq!((task.start.delay, task.ramp), (Nanos(5_000_000_000), Nanos(2_000_000_000).into()));
    assert_eq!(task.start.after.as_deref(), Some("i"));
    let on_error = self::thread(&[("size", "1m"), ("exitall_on_error", "1")]).unwrap();
    assert_eq!(on_error.exit_all, Some(ExitAll { on_error: true, what: ExitWhat::Group }));
}

#[test]
fn delays_of_a_range_differ_between_clones() {
    let delay = |clone| {
        let place = ThreadIndex { number: clone, clone, ..FIRST };
        task_at(&[("size", "1m"), ("startdelay", "1-9")], place).start.delay
    };
    let delays: HashSet<_> = (0..20).map(delay).collect();
    assert!(delays.len() > 15);
    assert!(delays.iter().all(|delay| (1..=9).contains(&(delay.0 / 1_000_000_000))));
    assert_eq!(delay(3), delay(3));
}

#[test]
fn what_ends_a_job() {
    let second = Nanos::SECOND;
    let (runtime, in_flight) = (Some(Nanos(2 * second.0)), true);
    for (settings, stop) in [
        (&[("runtime", "2")][..], Stop { runtime, in_flight, ..bytes(1 << 20) }),
        (&[("timeout", "2s"), ("time_based", "1")], Stop { runtime, in_flight, ..Stop::default() }),
        (&[("time_based", "1")], bytes(1 << 20)),
        (&[("number_ios", "3")], Stop { operations: Some(3), ..bytes(1 << 20) }),
        (&[("number_ios", "3"), ("loops", "2")], Stop { operations: Some(6), ..bytes(2 << 20) }),
        (
            &[("number_ios", "3"), ("runtime", "2"), ("time_based", "1")],
            Stop { runtime, in_flight, ..Stop::default() },
        ),
        (&[("loops", "0")], bytes(1 << 20)),
        (&[("rw", "write"), ("fill_device", "1")], Stop { full: true, ..bytes(1 << 20) }),
        (&[("rw", "randrw"), ("fill_device", "1")], Stop { full: true, ..bytes(1 << 20) }),
        (&[("rw", "trimwrite"), ("fill_device", "1")], Stop { full: true, ..bytes(1 << 20) }),
        (&[("rw", "read"), ("fill_device", "1")], Stop { full: true, ..bytes(1 << 20) }),
        (&[("rw", "trim"), ("fill_device", "1")], bytes(1 << 20)),
        (&[("bssplit", "4k/50:6k/50")], bytes(1 << 20)),
    ] {
        assert_eq!(task(settings).unwrap().stop, stop, "{settings:?}");
    }
    let notes = thread(&[("size", "1m"), ("time_based", "1")]).unwrap().notes;
    assert!(notes.iter().any(|note| note.starts_with("time_based ")), "{notes:?}");
}

#[test]
fn calls_beside_the_io() {
    let task = |settings: &[(&str, &str)]| task(&[&[("rw", "write")], settings].concat()).unwrap();
    let plain = task(&[]);
    assert_eq!((plain.placement.locked_memory, plain.contents.lifetime), (None, None));
    assert_eq!(task(&[("lockmem", "4m")]).placement.locked_memory, Some(Bytes(4 << 20)));
    assert_eq!(task(&[("write_hint", "short")]).contents.lifetime, Some(Lifetime::Short));
    let end_sync = |settings| task(settings).durability.end_sync;
    assert_eq!(end_sync(&[("end_syncfs", "1")]), Some(SyncMethod::FileSystem));
    assert_eq!(end_sync(&[("end_syncfs", "0"), ("end_fsync", "1")]), Some(SyncMethod::Fsync));
}

#[test]
fn contents() {
    let contents = |fill, duplicate_percent: u8, refill: bool| Contents {
        scramble: fill == Fill::Random && duplicate_percent == 0 && !refill,
        fill,
        duplicate_percent,
        duplicates: Duplicates::default(),
        refill,
        lifetime: None,
    };
    let half =
        |pattern: &[u8]| Fill::Compressible { percent: 50, pattern: pattern.to_vec(), chunk: Bytes(512) };
    for (settings, expected) in [
        (&[("refill_buffers", "1")][..], contents(Fill::Random, 0, true)),
        (&[("zero_buffers", "1"), ("refill_buffers", "1")], contents(Fill::Zeros, 0, false)),
        (
            &[("buffer_pattern", "0xdeadbeef")],
            contents(Fill::Pattern(vec![0xde, 0xad, 0xbe, 0xef]), 0, false),
        ),
        (&[("buffer_compress_percentage", "50")], contents(half(&[]), 0, true)),
        (
            &[("buffer_compress_percentage", "50"), ("buffer_pattern", "\"ab\"")],
            contents(half(b"ab"), 0, true),
        ),
        (
            &[("buffer_compress_percentage", "100"), ("dedupe_percentage", "10")],
            contents(Fill::Compressible { percent: 100, pattern: Vec::new(), chunk: Bytes(512) }, 0, false),
        ),
        (
            &[("dedupe_percentage", "30")],
            Contents { duplicates: Duplicates::Previous, ..contents(Fill::Random, 30, true) },
        ),
        (
            &[
                ("dedupe_percentage", "30"),
                ("dedupe_mode", "working_set"),
                ("dedupe_working_set_percentage", "25"),
            ],
            Contents { duplicates: Duplicates::Set(64), ..contents(Fill::Random, 30, true) },
        ),
        (
            &[("dedupe_percentage", "30"), ("dedupe_mode", "working_set"), ("dedupe_global", "1")],
            Contents { duplicates: Duplicates::Common(12), ..contents(Fill::Random, 30, true) },
        ),
        (&[("zero_buffers", "1"), ("dedupe_percentage", "30")], contents(Fill::Zeros, 0, false)),
    ] {
        assert_eq!(task(settings).unwrap().contents, expected, "{settings:?}");
    }
}

#[test]
fn durability() {
    let rule = |every, method| Some(SyncRule { every, method });
    for (settings, sync) in [
        (&[("rw", "write"), ("fsync", "8")][..], rule(8, SyncMethod::Fsync)),
        (&[("rw", "write"), ("fdatasync", "1")], rule(1, SyncMethod::Fdatasync)),
        (&[("rw", "randrw"), ("fsync", "2")], rule(2, SyncMethod::Fsync)),
        (&[("rw", "write"), ("sync_file_range", "wait_before,write:8")], rule(8, SyncMethod::FileRange)),
        (&[("rw", "read"), ("fsync", "8")], None),
        (&[("rw", "trim"), ("fsync", "8")], None),
    ] {
        assert_eq!(task(settings).unwrap().durability.sync, sync, "{settings:?}");
    }
    let all = [("rw", "write"), ("fsync", "8"), ("fdatasync", "3"), ("sync_file_range", "write:2")];
    let durability = task(&all).unwrap().durability;
    assert_eq!(durability.sync, rule(8, SyncMethod::Fsync));
    let also = [rule(3, SyncMethod::Fdatasync), rule(2, SyncMethod::FileRange)];
    assert_eq!(durability.also, also.map(Option::unwrap));
    for (settings, end, durable) in [
        (&[("rw", "write"), ("end_fsync", "1")][..], Some(SyncMethod::Fsync), None),
        (&[("rw", "write"), ("fsync_on_close", "1")], Some(SyncMethod::Fsync), None),
        (&[("rw", "read"), ("end_fsync", "1")], None, None),
        (&[("sync", "1")], None, Some(OpenSync::All)),
        (&[("sync", "dsync")], None, Some(OpenSync::Data)),
        (&[("sync", "none")], None, None),
    ] {
        let task = task(settings).unwrap();
        assert_eq!((task.durability.end_sync, task.durability.open), (end, durable), "{settings:?}");
    }
}

#[test]
fn the_cache_is_bypassed_or_dropped() {
    for (settings, direct, invalidate) in [
        (&[("direct", "1")][..], true, true),
        (&[("buffered", "0")], true, true),
        (&[("direct", "1"), ("buffered", "1")], false, true),
        (&[("invalidate", "0")], false, false),
        (&[("ioengine", "pvsync2"), ("atomic", "1"), ("rw", "write")], true, true),
        (&[("ioengine", "mmap"), ("direct", "1")], false, true),
    ] {
        let task = task(settings).unwrap();
        assert_eq!((task.direct, task.cache.invalidate), (direct, invalidate), "{settings:?}");
    }
}

#[test]
fn seeds_repeat_unless_they_are_not_to() {
    let seed = |settings: &[(&str, &str)], number| {
        let settings: Vec<_> = [("size", "1m")].iter().chain(settings).copied().collect();
        task_at(&settings, ThreadIndex { number, ..FIRST }).seed
    };
    assert_eq!(seed(&[], 1), seed(&[], 1));
    assert_ne!(seed(&[], 1), seed(&[], 2));
    assert_ne!(seed(&[("randseed", "7")], 1), seed(&[], 1));
    assert_eq!(seed(&[("randseed", "7"), ("randrepeat", "0")], 1), seed(&[("randseed", "7")], 1));
    let fresh: HashSet<u64> = (0..5).map(|_| seed(&[("randrepeat", "0")], 1)).collect();
    assert!(fresh.len() > 1);
    assert!(i64::try_from(seed(&[("randrepeat", "0")], 3)).is_ok(), "TOML has no larger integers");
}

#[test]
fn what_is_reported_of_operations_is_watched() {
    let watch = |settings: &[(&str, &str)]| {
        let thread = thread(settings).unwrap();
        let JobTask::Io(task) = &thread.task else { panic!("{thread:?}") };
        (task.watch.detail, task.watch.operations, thread.reporting.synchronous)
    };
    assert_eq!(watch(&[("size", "1m")]), (false, false, true));
    assert_eq!(watch(&[("size", "1m"), ("ioengine", "libaio")]), (true, false, false));
    assert_eq!(watch(&[("size", "1m"), ("ioengine", "libaio"), ("gtod_reduce", "1")]), (false, false, false));
    assert_eq!(watch(&[("size", "1m"), ("write_lat_log", "x")]), (false, true, true));
}

#[test]
fn the_kernel_is_advised_of_the_order_of_offsets() {
    for (settings, advice) in [
        (&[][..], Advice::Sequential),
        (&[("rw", "randread")], Advice::Random),
        (&[("rw", "randread"), ("fadvise_hint", "0")], Advice::None),
        (&[("rw", "randread"), ("fadvise_hint", "sequential")], Advice::Sequential),
        (&[("ioengine", "null")], Advice::None),
    ] {
        let settings: Vec<_> = settings.iter().chain(&[("size", "1m")]).copied().collect();
        assert_eq!(task(&settings).unwrap().cache.advice, advice, "{settings:?}");
    }
}
