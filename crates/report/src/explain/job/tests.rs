//! Jobs explained.

use iolite_model::{
    BusyOptions, BusyWork, Contents, ExistingTarget, FileTarget, IoFlags, Iops, Mix, NamedFile, PageCache,
    RingOptions, Start, SyncRule, WriteDurability,
};

use super::caveats::caveats;
use super::*;

use iolite_model::{Access, Arrival, BackendKind, Fill};

const PLAIN: Style = Style { color: false, unicode: true, width: 110 };
const RING: BackendKind = BackendKind::IoUring(RingOptions::PLAIN);

/// A task without warnings: direct reads of much, for long.
fn sound() -> FileTask {
    FileTask {
        name: "reads".into(),
        target: existing(Overwrite::Never),
        backend: RING,
        direct: true,
        concurrency: 8,
        stop: Stop { runtime: Some(Nanos(60_000_000_000)), ..Stop::default() },
        ..FileTask::default()
    }
}

fn existing(overwrite: Overwrite) -> Target {
    Target::Existing(ExistingTarget { path: "/dev/sdx".into(), offset: Bytes(0), size: Bytes(0), overwrite })
}

fn context() -> SystemContext {
    let found = ExistingFile { size: Bytes(64 << 30), device: true };
    SystemContext { memory: Bytes(16 << 30), found: BTreeMap::from([(PathBuf::from("/dev/sdx"), found)]) }
}

fn job(tasks: Vec<FileTask>) -> Job {
    Job { name: "j".into(), tasks: tasks.into_iter().map(|task| JobTask::Io(Box::new(task))).collect() }
}

/// Names of the variants.
fn kinds(tasks: Vec<FileTask>) -> Vec<String> {
    let name = |caveat: String| caveat.split(|c: char| !c.is_alphanumeric()).next().unwrap().to_owned();
    let found = caveats(&job(tasks), &context());
    found.into_iter().map(|found| name(format!("{:?}", found.caveat))).collect()
}

#[test]
fn a_sound_job_has_no_caveats() {
    assert_eq!(kinds(vec![sound()]), [""; 0]);
    let writes = FileTask {
        target: existing(Overwrite::Anything),
        mix: Mix::Write,
        ramp: Nanos::SECOND.into(),
        durability: WriteDurability::synced(SyncRule::fdatasync(1)),
        ..sound()
    };
    assert_eq!(kinds(vec![writes]), ["Overwrites"], "that is said of any");
}

#[test]
fn each_caveat_has_its_reason() {
    let small = |size| {
        Target::Existing(ExistingTarget {
            path: "/dev/sdx".into(),
            offset: Bytes(0),
            size: Bytes(size),
            overwrite: Overwrite::Never,
        })
    };
    let write = || FileTask {
        target: Target::File(FileTarget {
            name: "own".into(),
            size: Bytes(8 << 30),
            create: true,
            preallocate: true,
            per_worker: false,
        }),
        mix: Mix::Write,
        ramp: Nanos::SECOND.into(),
        durability: WriteDurability::synced(SyncRule::fdatasync(1)),
        ..sound()
    };
    let zeros = Contents { fill: Fill::Zeros, ..Contents::default() };
    let again = Contents { refill: false, ..Contents::default() };
    for (expected, task) in [
        (vec!["ReadsCached"], FileTask { direct: false, cache: PageCache::INVALIDATED, ..sound() }),
        (vec!["ReadsCached", "SameOffsets"], FileTask { direct: false, ..sound() }),
        (
            vec!["WritesCached"],
            FileTask { mix: Mix::Write, direct: false, durability: WriteDurability::default(), ..write() },
        ),
        (vec!["ReadsCached"], FileTask { backend: BackendKind::Mmap, concurrency: 1, ..sound() }),
        (vec!["SmallRegion"], FileTask { target: small(1 << 29), ..sound() }),
        (vec!["Contents"], FileTask { contents: zeros, ..write() }),
        (vec!["Contents"], FileTask { contents: again, ..write() }),
        (vec!["SynchronousEngine"], FileTask { backend: BackendKind::Sync, ..sound() }),
        (
            vec!["ReadsCached", "BufferedLibaio"],
            FileTask {
                backend: BackendKind::Libaio,
                direct: false,
                cache: PageCache::INVALIDATED,
                ..sound()
            },
        ),
        (vec!["ScheduledStart"], FileTask { arrival: Arrival::Constant(Iops(100.0)), ..sound() }),
        (
            vec!["ShortRuntime"],
            FileTask { stop: Stop { runtime: Some(Nanos::SECOND), ..Stop::default() }, ..sound() },
        ),
        (vec!["NotSynced"], FileTask { durability: WriteDurability::default(), ..write() }),
        (
            vec![],
            FileTask {
                backend: BackendKind::Vectored(IoFlags { dsync: true, ..IoFlags::default() }),
                concurrency: 1,
                durability: WriteDurability::default(),
                ..write()
            },
        ),
        (vec!["SmallBlock"], FileTask { block: Bytes(512), ..sound() }),
        (vec!["Fresh"], FileTask { ramp: Nanos(0).into(), ..write() }),
        (vec![], FileTask { ramp: Nanos(0).into(), access: Access::Sequential, ..write() }),
        (
            vec![],
            FileTask {
                target: Target::Null { size: Bytes::GIB },
                backend: BackendKind::Null,
                direct: false,
                ..sound()
            },
        ),
        (
            vec![],
            FileTask {
                backend: BackendKind::Busy(BusyOptions {
                    percent: 50,
                    chunk: Nanos(1),
                    work: BusyWork::Spin,
                }),
                direct: false,
                concurrency: 1,
                ..sound()
            },
        ),
    ] {
        assert_eq!(kinds(vec![task.clone()]), expected, "{task:?}");
    }
}

#[test]
fn what_is_smaller_than_memory_is_served_from_it() {
    let buffered = FileTask { direct: false, cache: PageCache::INVALIDATED, ..sound() };
    let rendered = |memory| {
        let context = SystemContext { memory: Bytes(memory), ..context() };
        caveats(&job(vec![buffered.clone()]), &context)[0].to_string()
    };
    assert!(
        rendered(128 << 30).contains("all 64 GiB fit into the memory of this host (128 GiB)"),
        "{}",
        rendered(128 << 30)
    );
    assert!(rendered(16 << 30).contains("serves a part of the reads"));
    assert!(rendered(0).contains("serves a part of the reads"));
    let once = FileTask {
        access: Access::Sequential,
        stop: Stop { loops: Some(1), ..Stop::default() },
        direct: false,
        cache: PageCache::INVALIDATED,
        ..sound()
    };
    let found = caveats(&job(vec![once]), &context());
    assert!(found[0].to_string().contains("read-ahead determines"), "nothing is read twice: {found:?}");
}

#[test]
fn tasks_that_meet_are_reported_once() {
    let writes = FileTask {
        target: existing(Overwrite::Anything),
        mix: Mix::Write,
        ramp: Nanos::SECOND.into(),
        durability: WriteDurability::synced(SyncRule::fdatasync(1)),
        ..sound()
    };
    let beside = FileTask { start: Start { together: true, ..Start::default() }, ..writes.clone() };
    assert_eq!(kinds(vec![writes.clone(), beside]), ["Overwrites", "TasksWrite"]);
    assert_eq!(kinds(vec![writes.clone(), writes]), ["Overwrites"], "one after the other they do not meet");
    let scan = FileTask { access: Access::Sequential, ..sound() };
    let beside = FileTask { start: Start { together: true, ..Start::default() }, ..scan.clone() };
    assert_eq!(kinds(vec![scan, beside]), ["TasksRead"]);
}

#[test]
fn what_was_filled_is_not_fresh() {
    let target = existing(Overwrite::Anything);
    let fill = FileTask {
        name: "fill".into(),
        target: target.clone(),
        mix: Mix::Write,
        access: Access::Sequential,
        stop: Stop { loops: Some(2), ..Stop::default() },
        ..sound()
    };
    let random = FileTask {
        target,
        mix: Mix::Write,
        durability: WriteDurability::synced(SyncRule::fdatasync(1)),
        ..sound()
    };
    assert_eq!(kinds(vec![random.clone()]), ["Overwrites", "Fresh"]);
    assert_eq!(kinds(vec![fill, random]), ["Overwrites"]);
}

#[test]
fn a_job_is_reported_in_plain_words() {
    let lay_out = FileTask {
        name: "lay out".into(),
        target: Target::File(FileTarget {
            name: "own".into(),
            size: Bytes(8 << 30),
            create: true,
            preallocate: false,
            per_worker: false,
        }),
        backend: BackendKind::Sync,
        concurrency: 1,
        mix: Mix::Write,
        access: Access::Sequential,
        stop: Stop { loops: Some(1), ..Stop::default() },
        ..sound()
    };
    let named = |path: &str, size| NamedFile { path: path.into(), offset: Bytes(0), size: Bytes(size) };
    let files = FilesTarget {
        overwrite: Overwrite::Anything,
        ..FilesTarget::of(vec![named("/data/new", 1 << 30), named("/dev/sdx", 1 << 30)])
    };
    let clone = FileTask {
        name: "clones".into(),
        target: Target::Files(files),
        mix: Mix::ReadPercent(70),
        arrival: Arrival::Poisson(Iops(1000.0)),
        ..sound()
    };
    let second = FileTask { seed: 9, start: Start { together: true, ..Start::default() }, ..clone.clone() };
    let job = job(vec![lay_out, sound(), clone, second]);
    let notes = ["`thinktime` waits for what is in flight".to_owned()];
    let explained =
        JobToExplain { job: &job, notes: &notes, context: &context(), native: Some("name = 'j'\n") };
    insta::assert_snapshot!(text(explained, PLAIN), @"
    the job j: 4 tasks in 3 steps one after the other

    1. lay out
       does       writes of 4 KiB, sequential, on own (8 GiB, created for the run, growing)
       by         sync, direct
       load       1 thread, 1 outstanding, each as soon as an earlier one completes
       time       once over the target size
       data       8 GiB in total
       creates    own in a hidden directory of the run, removed at the end

    2. reads
       does       reads of 4 KiB, at random, on /dev/sdx (all of it)
       by         io_uring, direct
       load       1 thread, 8 outstanding, each as soon as an earlier one completes
       time       for 60.0 s
       data       as much as possible in this time, within 64 GiB
       reads      /dev/sdx, without changing it

    3 to 4. clones, 2 clones
       does       70 % reads and 30 % writes of 4 KiB, at random, on 2 files
       by         io_uring, direct
       load       1 thread, 8 outstanding, 1,000 per second with random arrivals
       time       for 60.0 s
       data       about 234 MiB at the requested rate, within 2 GiB
       creates    /data/new (1 GiB in total, not removed)
       DESTROYS   existing files: /dev/sdx (a device of 64 GiB)

    caveats
      ! clones: overwrites /dev/sdx; its contents are lost
      ! clones: 1,000 operations per second are requested: response times are measured from the scheduled start,
        so they include waiting behind slow operations; fio measures from the issue and reports lower latencies if
        the rate is not reached (at most 8 outstanding)
      ! clones: writes complete when the data is in the cache of the device: a database also waits for a sync
        (fdatasync=1, sync=dsync)
      ! clones: random writes without preconditioning or ramp: fresh flash is faster; write the whole device twice
        first, or use a ramp (ramp_time)
      ! clones: 2 tasks write to the same file: they overwrite each other's blocks, and the file system serializes
        them
      ! `thinktime` waits for what is in flight

    equivalent job of iolite (TOML)
    name = 'j'
    ");
}

#[test]
fn clones_are_reported_once_unless_what_they_do_differs() {
    let on = |path: &str, together| {
        let file = NamedFile { path: path.into(), offset: Bytes(0), size: Bytes(1 << 30) };
        let files = FilesTarget { overwrite: Overwrite::Anything, ..FilesTarget::of(vec![file]) };
        FileTask {
            target: Target::Files(files),
            mix: Mix::Write,
            start: Start { together, ..Start::default() },
            ..sound()
        }
    };
    let rendered = |second: &str| {
        let job = job(vec![on("/data/a.0", false), on(second, true)]);
        let context = context();
        text(JobToExplain { job: &job, notes: &[], context: &context, native: None }, PLAIN)
    };
    let alike = rendered("/data/a.1");
    assert!(
        alike.contains("1 to 2. reads, 2 clones") && alike.contains("on its own files: /data/a.0, /data/a.1")
    );
    assert!(!alike.contains("DESTROYS"), "{alike}");
    // One that is there already is another matter.
    let differs = rendered("/dev/sdx");
    assert!(differs.contains("1. reads, together") && differs.contains("DESTROYS"), "{differs}");
}
