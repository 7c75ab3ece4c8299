use crate::language::OptionError;
use std::collections::HashSet;
use std::path::{Path, PathBuf};

use iolite_model::{
    Access, Advice, BackendKind, BusyOptions, BusyWork, Bytes, Contents, FileOrder, FileTask, Fill, IoFlags,
    JobTask, Jumps, LayOut, Lifetime, MetadataOperation, Mix, NamedFile, Nanos, OpKind, OpenSync, Overwrite,
    PageCache, Reserve, RingOptions, SizeLaw, Sizes, Stop, SyncMethod, SyncRule, Target, WeightedSize, Zone,
    ZoneCycle, ZoneSize,
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

/// A folder with a file of so many bytes, and its path.
fn existing(length: u64) -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f");
    std::fs::File::create(&path).unwrap().set_len(length).unwrap();
    let path = path.display().to_string();
    (folder, path)
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
        contents: Contents {
            fill: Fill::Random,
            duplicate_percent: 0,
            refill: false,
            scramble: true,
            lifetime: None,
        },
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
    assert_eq!((task.start.delay, task.ramp), (Nanos(5_000_000_000), Nanos(2_000_000_000)));
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
fn files_are_named_as_by_fio() {
    let clone = ThreadIndex { number: 7, clone: 1, ..FIRST };
    for (settings, place, expected) in [
        (&[("nrfiles", "2")][..], FIRST, &["j.0.0", "j.0.1"][..]),
        (&[("nrfiles", "2")], clone, &["j.1.0", "j.1.1"]),
        (&[("directory", "d1:d2")], FIRST, &["d1/j.0.0"]),
        (&[("directory", "d1:d2")], clone, &["d2/j.1.0"]),
        (&[("directory", "d1:d2"), ("filename", "x:y")], clone, &["d1/x", "d1/y"]),
        (&[("directory", "d1"), ("filename", "/x")], FIRST, &["d1/x"]),
        (&[("filename", "/x"), ("nrfiles", "3")], clone, &["/x"]),
        (&[("filename", "a\\:b:c\\d")], FIRST, &["a:b", "c\\d"]),
        (
            &[("filename_format", "t/$jobname-$jobnum.$filenum$clientuid"), ("nrfiles", "2")],
            clone,
            &["t/j-1.0", "t/j-1.1"],
        ),
    ] {
        let settings: Vec<_> = [("size", "1m")].iter().chain(settings).copied().collect();
        assert_eq!(paths(&task_at(&settings, place)), expected, "{settings:?}");
    }
    let named = lower(&spec(&[("name", "/dev/null"), ("size", "1m")]).unwrap(), FIRST, &[]).unwrap();
    assert_eq!(paths(&task_of(named)), ["/dev/null"], "a device with the job's name");
}

/// The amounts are those that fio 3.33 did with the same settings.
#[test]
fn extents_and_amounts_are_fios() {
    for (settings, expected, amount) in [
        (&[("size", "10000")][..], &[(0, 10_000)][..], 8192),
        (&[("size", "10000"), ("nrfiles", "3"), ("bs", "1k")], &[(0, 3333), (0, 3333), (0, 3333)], 9 << 10),
        (&[("filesize", "64k"), ("nrfiles", "2")], &[(0, 65536), (0, 65536)], 128 << 10),
        (&[("filesize", "64k"), ("nrfiles", "2"), ("size", "32k")], &[(0, 65536), (0, 65536)], 32 << 10),
        (&[("filesize", "64k"), ("nrfiles", "2"), ("size", "1m")], &[(0, 65536), (0, 65536)], 128 << 10),
        (
            &[("filesize", "64k"), ("nrfiles", "2"), ("size", "10k"), ("loops", "2")],
            &[(0, 65536); 2],
            20 << 10,
        ),
        (&[("size", "64k"), ("io_size", "50%")], &[(0, 65536)], 32 << 10),
        (&[("size", "64k"), ("io_size", "1m")], &[(0, 65536)], 1 << 20),
        (&[("size", "64k"), ("io_size", "10k")], &[(0, 65536)], 12 << 10),
        (&[("size", "64k"), ("io_size", "10k"), ("loops", "2")], &[(0, 65536)], 20 << 10),
        (&[("size", "64k"), ("io_size", "50%"), ("loops", "2")], &[(0, 65536)], 64 << 10),
        (&[("size", "64k"), ("loops", "2")], &[(0, 65536)], 128 << 10),
        (&[("size", "64k"), ("rw", "read:8k")], &[(0, 65536)], 24 << 10),
        (&[("size", "64k"), ("rw", "read:8k"), ("loops", "2")], &[(0, 65536)], 48 << 10),
        // fio 3.33 does 732 operations with two and with three loops, 512 with one.
        (&[("size", "1000000"), ("io_size", "2m")], &[(0, 1_000_000)], 2 << 20),
        (&[("size", "1000000"), ("io_size", "2m"), ("loops", "2")], &[(0, 1_000_000)], 732 * 4096),
        (&[("size", "1000000"), ("io_size", "2m"), ("loops", "3")], &[(0, 1_000_000)], 732 * 4096),
        (&[("size", "300k"), ("io_size", "500k"), ("loops", "2")], &[(0, 300 << 10)], 600 << 10),
        (
            &[("size", "1m"), ("io_size", "1500k"), ("loops", "2"), ("rw", "randread"), ("norandommap", "1")],
            &[(0, 1 << 20)],
            3000 << 10,
        ),
        (&[("size", "64k"), ("rw", "read:8k"), ("io_size", "64k")], &[(0, 65536)], 64 << 10),
        (&[("size", "64k"), ("rw", "read:4k")], &[(0, 65536)], 64 << 10),
        (&[("size", "63k"), ("rw", "read:4k")], &[(0, 63 << 10)], 64 << 10),
        (&[("size", "64k"), ("rw", "read:3k")], &[(0, 65536)], 36 << 10),
        (&[("size", "64k"), ("rw", "write:100k")], &[(0, 65536)], 64 << 10),
        (&[("size", "64k"), ("rw", "read:4k"), ("offset", "32k")], &[(32 << 10, 65536)], 32 << 10),
        (&[("size", "64k"), ("rw", "read:8k"), ("nrfiles", "2")], &[(0, 32768), (0, 32768)], 64 << 10),
        (&[("size", "64k"), ("rw", "read:4k"), ("nrfiles", "3")], &[(0, 21845); 3], 64 << 10),
        (&[("size", "64k"), ("rw", "read:-8k")], &[(0, 65536)], 64 << 10),
        (&[("size", "63k"), ("rw", "read:-8k")], &[(0, 63 << 10)], 64 << 10),
        (
            &[("size", "63k"), ("zonemode", "strided"), ("zonesize", "8k"), ("zoneskip", "8k")],
            &[(0, 63 << 10)],
            64 << 10,
        ),
        (&[("size", "65k"), ("rw", "read"), ("bsrange", "4k-16k")], &[(0, 65 << 10)], 64 << 10),
        (&[("size", "65k"), ("rw", "randread"), ("bsrange", "4k-16k")], &[(0, 65 << 10)], 64 << 10),
        (&[("size", "66k"), ("nrfiles", "3"), ("bsrange", "4k-16k")], &[(0, 22 << 10); 3], 60 << 10),
        (&[("size", "64k"), ("offset", "60k")], &[(60 << 10, 65536)], 64 << 10),
        (&[("size", "66k"), ("rw", "randread")], &[(0, 66 << 10)], 64 << 10),
        (&[("size", "32k"), ("rw", "trimwrite")], &[(0, 32 << 10)], 32 << 10),
    ] {
        let task = task_of(thread(settings).unwrap());
        assert_eq!(extents(&task), expected, "{settings:?}");
        assert_eq!(task.stop, bytes(amount), "{settings:?}");
    }
}

#[test]
fn extents_of_what_is_there_follow_from_its_size() {
    let (_folder, path) = existing(200 << 10);
    let k = 1 << 10;
    for (settings, expected) in [
        (&[][..], (0, 200 * k)),
        (&[("offset", "180k")], (180 * k, 20 * k)),
        (&[("size", "50%"), ("offset", "10%")], (20 * k, 100 * k)),
        (&[("size", "50%"), ("offset", "75%")], (152 * k, 48 * k)),
        (&[("offset", "75%"), ("offset_align", "1k")], (150 * k, 50 * k)),
        (&[("size", "20k"), ("offset", "190k")], (190 * k, 20 * k)),
        (&[("size", "400k")], (0, 400 * k)),
        (&[("size", "0")], (0, 200 * k)),
        (&[("size", "8k"), ("file_append", "1")], (200 * k, 8 * k)),
    ] {
        let settings: Vec<_> = [("filename", path.as_str())].iter().chain(settings).copied().collect();
        assert_eq!(extents(&task_of(thread(&settings).unwrap())), [expected], "{settings:?}");
    }
    for (increment, start) in [("30%", 120 * k), ("64k", 128 * k)] {
        let settings = [("filename", path.as_str()), ("offset_increment", increment)];
        let place = ThreadIndex { number: 2, clone: 2, ..FIRST };
        assert_eq!(extents(&task_at(&settings, place)), [(start, 200 * k - start)]);
    }
    let beyond = thread(&[("filename", &path), ("offset", "1m")]).unwrap_err().to_string();
    assert!(beyond.starts_with("offset: ") && beyond.contains("204800"), "{beyond}");
}

#[test]
fn what_only_the_file_determines_is_left_open() {
    let folder = tempfile::tempdir().unwrap();
    let missing = folder.path().join("missing").display().to_string();
    let task = |settings: &[(&str, &str)]| {
        let settings: Vec<_> = [("filename", missing.as_str())].iter().chain(settings).copied().collect();
        thread(&settings).map(task_of)
    };
    let open = task(&[("loops", "3"), ("offset", "8k")]).unwrap();
    assert_eq!(extents(&open), [(8192, 0)]);
    assert_eq!(open.stop, Stop { loops: Some(3), ..Stop::default() });
    let nothing = task(&[("size", "1m"), ("offset", "25%"), ("offset_increment", "5%")]).unwrap();
    assert_eq!(extents(&nothing), [(0, 1 << 20)]);
    assert_eq!(task(&[("io_size", "1m")]).unwrap().stop, bytes(1 << 20));
    for (settings, part) in [
        (&[("size", "50%")][..], "size: "),
        (&[("io_size", "50%")], "io_size: "),
        (&[("ioengine", "null")], "size: "),
        (&[("ioengine", "mmap"), ("size", "50%")], "size: "),
    ] {
        let error = task(settings).unwrap_err().to_string();
        assert!(error.starts_with(part), "{settings:?}: {error}");
    }
}

#[test]
fn what_fills_a_file_system_grows_whatever_is_there() {
    let (_folder, path) = existing(64 << 10);
    for settings in [&[("filename", path.as_str())][..], &[]] {
        let fill = [("rw", "write"), ("fill_device", "1")];
        let settings: Vec<_> = fill.iter().chain(settings).copied().collect();
        let task = task_of(thread(&settings).unwrap());
        assert_eq!(extents(&task), [(0, 0)]);
        assert_eq!(task.stop, Stop { full: true, loops: Some(1), ..Stop::default() });
        let Target::Files(target) = &task.target else { panic!("{task:?}") };
        assert_eq!(target.lay_out, LayOut::Grow);
    }
}

#[test]
fn sizes_of_files_by_chance_are_within_their_range() {
    let task = task_at(&[("filesize", "4k-16k"), ("nrfiles", "50")], FIRST);
    let sizes: HashSet<u64> = extents(&task).into_iter().map(|(_, size)| size).collect();
    assert_eq!(sizes, HashSet::from([4096, 8192, 12288]), "multiples of the block");
    assert_eq!(task, task_at(&[("filesize", "4k-16k"), ("nrfiles", "50")], FIRST));
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
            Stop { runtime, in_flight, operations: Some(3), ..Stop::default() },
        ),
        (&[("loops", "0")], bytes(1 << 20)),
        (&[("rw", "write"), ("fill_device", "1")], Stop { full: true, ..bytes(1 << 20) }),
        (&[("bssplit", "4k/50:6k/50")], bytes(1 << 20)),
    ] {
        assert_eq!(task(settings).unwrap().stop, stop, "{settings:?}");
    }
    let notes = thread(&[("size", "1m"), ("time_based", "1")]).unwrap().notes;
    assert!(notes.iter().any(|note| note.starts_with("time_based ")), "{notes:?}");
}

#[test]
fn directions_and_orders() {
    let zones = ZoneCycle { range: Bytes(16384), amount: Bytes(8192), skip: Bytes(4096), random: false };
    let zone = |io_percent, size| Zone { io_percent, size: ZoneSize::Percent(size) };
    let jumps = |percent| Access::Jumps(Box::new(Jumps { percent, ..Jumps::default() }));
    let runs = |blocks| Access::Runs { blocks };
    for (settings, mix, access) in [
        (&[("rw", "read")][..], Mix::Read, Access::Sequential),
        (&[("rw", "write:8k")], Mix::Write, Access::SequentialSkip { hole: Bytes(8192) }),
        (&[("rw", "write:0")], Mix::Write, Access::Sequential),
        (&[("rw", "read:-8k")], Mix::Read, Access::SequentialBack { step: Bytes(8192) }),
        (&[("rw", "rw:-4k")], Mix::ReadPercent(50), Access::SequentialBack { step: Bytes(4096) }),
        (
            &[("rw", "read:-32k"), ("bsrange", "4k-32k")],
            Mix::Read,
            Access::SequentialBack { step: Bytes(32768) },
        ),
        (&[("rw", "trim")], Mix::Trim, Access::Sequential),
        (&[("rw", "trimwrite")], Mix::TrimThenWrite, Access::Sequential),
        (&[("rw", "randtrimwrite")], Mix::TrimThenWrite, Access::Covering),
        (&[("readwrite", "readwrite")], Mix::ReadPercent(50), Access::Sequential),
        (&[("rw", "rw"), ("rwmixread", "70")], Mix::ReadPercent(70), Access::Sequential),
        (
            &[("rw", "randrw"), ("rwmixread", "70"), ("rwmixwrite", "40")],
            Mix::ReadPercent(60),
            Access::Covering,
        ),
        (&[("rw", "randread")], Mix::Read, Access::Covering),
        (&[("rw", "randread"), ("norandommap", "1")], Mix::Read, Access::Random),
        (&[("rw", "randread"), ("blockalign", "2k")], Mix::Read, Access::Random),
        (&[("rw", "randread"), ("percentage_random", "0")], Mix::Read, Access::Sequential),
        (&[("rw", "randread"), ("percentage_random", "25")], Mix::Read, jumps(25)),
        (&[("rw", "randread"), ("percentage_random", "30,7")], Mix::Read, jumps(30)),
        (&[("rw", "randread"), ("percentage_random", "25"), ("bsrange", "4k-8k")], Mix::Read, runs(4)),
        (
            &[("rw", "randread:4"), ("random_sequence_stride", "16k"), ("random_distribution", "zipf:1.2")],
            Mix::Read,
            Access::Jumps(Box::new(Jumps {
                to: Access::Zipf { theta: 1.2 },
                run: 4,
                percent: 0,
                step: Bytes(16384),
            })),
        ),
        (&[("rw", "randwrite:8")], Mix::Write, runs(8)),
        (&[("rw", "randwrite:1"), ("rw_sequencer", "identical")], Mix::Write, Access::Covering),
        (&[("rw", "randread"), ("random_distribution", "random")], Mix::Read, Access::Covering),
        (&[("rw", "randread"), ("random_distribution", "zipf")], Mix::Read, Access::Zipf { theta: 1.1 }),
        (&[("rw", "randread"), ("random_distribution", "zipf:1.2")], Mix::Read, Access::Zipf { theta: 1.2 }),
        (&[("rw", "randread"), ("random_distribution", "pareto")], Mix::Read, Access::Pareto { h: 0.2 }),
        (
            &[("rw", "randread"), ("random_distribution", "normal:10")],
            Mix::Read,
            Access::Normal { deviation_percent: 10.0 },
        ),
        (
            &[("rw", "randwrite"), ("random_distribution", "zoned:60/10:40/30,10/50:90/50")],
            Mix::Write,
            Access::Zoned(vec![zone(10.0, 50.0), zone(90.0, 50.0)]),
        ),
        (
            &[("rw", "randwrite"), ("random_distribution", "zoned_abs:100/64k")],
            Mix::Write,
            Access::Zoned(vec![Zone { io_percent: 100.0, size: ZoneSize::Bytes(Bytes(65536)) }]),
        ),
        (&[("rw", "read"), ("random_distribution", "zipf:1.2")], Mix::Read, Access::Sequential),
        (
            &[("zonemode", "strided"), ("zonesize", "8k"), ("zonerange", "16k"), ("zoneskip", "4k")],
            Mix::Read,
            Access::ZoneCycle(zones),
        ),
        (
            &[("rw", "randread"), ("zonemode", "strided"), ("zonesize", "16k")],
            Mix::Read,
            Access::ZoneCycle(ZoneCycle {
                range: Bytes(16384),
                amount: Bytes(16384),
                skip: Bytes(0),
                random: true,
            }),
        ),
    ] {
        let task = task(settings).unwrap_or_else(|error| panic!("{settings:?}: {error}"));
        assert_eq!((task.mix, task.access), (mix, access), "{settings:?}");
    }
}

#[test]
fn sizes_and_alignments() {
    let fixed = |size| SizeLaw::Fixed(Bytes(size));
    let range =
        |min, max, multiple| SizeLaw::Range { min: Bytes(min), max: Bytes(max), multiple: Bytes(multiple) };
    let split = |sizes: &[(u64, f64)]| {
        let weighted = |&(size, percent)| WeightedSize { size: Bytes(size), percent };
        SizeLaw::Split(sizes.iter().map(weighted).collect())
    };
    let all = |law, alignment| Some(Sizes::alike(law, Bytes(alignment)));
    let (k4, k8) = (4096, 8192);
    for (settings, block, sizes) in [
        (&[("bs", "8k")][..], k8, None),
        (&[("bs", "4k,8k")], k4, None),
        (&[("bs", "4k,8k"), ("rw", "write")], k8, None),
        (&[("bs", ",8k"), ("rw", "write")], k8, None),
        (&[("bs", "8k,64k,4k"), ("rw", "trim")], k4, None),
        (
            &[("bs", "4k,8k"), ("rw", "rw")],
            k4,
            Some(Sizes { reads: fixed(k4), writes: fixed(k8), trims: fixed(k8), alignment: Bytes(k4) }),
        ),
        (&[("bsrange", "4k-16k")], k4, all(range(k4, 16384, k4), k4)),
        (&[("bsrange", "16k:4k")], k4, all(range(k4, 16384, k4), k4)),
        (&[("bsrange", "4k-10k")], k4, all(range(k4, k8, k4), k4)),
        (&[("bsrange", "3k-4k")], 3072, None),
        (&[("bsrange", "4k-5k"), ("bs_unaligned", "1")], k4, all(range(k4, 5120, 1), 1)),
        (&[("bssplit", "4k/40:8k/60")], k4, all(split(&[(k4, 40.0), (k8, 60.0)]), k4)),
        // As fio 3.33 was seen to read shares whose sum is not 100.
        (&[("bssplit", "4k/50:8k/30")], k4, all(split(&[(k8, 30.0), (k4, 70.0)]), k4)),
        (&[("bssplit", "4k/50:8k/80")], k4, all(split(&[(k4, 50.0), (k8, 50.0)]), k4)),
        (&[("bssplit", "4k/80:8k/80")], k4, all(split(&[(k4, 80.0), (k8, 20.0)]), k4)),
        (&[("bssplit", "4k/50:6k/:2k")], 2048, all(split(&[(k4, 50.0), (6144, 25.0), (2048, 25.0)]), 2048)),
        (
            &[("bssplit", "4k/50:6k/50"), ("rw", "randread")],
            k4,
            all(split(&[(k4, 50.0), (6144, 50.0)]), 2048),
        ),
        (
            &[("bssplit", "4k/50:6k/50"), ("rw", "randread"), ("norandommap", "1")],
            k4,
            all(split(&[(k4, 50.0), (6144, 50.0)]), k4),
        ),
        (&[("bssplit", "64k/100"), ("bs", "4k")], 65536, None),
        (&[("bssplit", "4k/100,8k"), ("rw", "write")], k8, None),
        (&[("bs", "4k"), ("blockalign", "2k"), ("rw", "randread")], k4, all(fixed(k4), 2048)),
        (&[("bs", "4k"), ("blockalign", "2k")], k4, None),
        (&[("bs", "4k,8k"), ("bs_is_seq_rand", "1"), ("rw", "randread")], k8, None),
        (&[("bs", "4k,8k"), ("bs_is_seq_rand", "1"), ("rw", "write")], k4, None),
    ] {
        let task = task(settings).unwrap_or_else(|error| panic!("{settings:?}: {error}"));
        assert_eq!((task.block, task.sizes), (Bytes(block), sizes), "{settings:?}");
    }
}

#[test]
fn engines_are_back_ends() {
    let ring = |change: fn(&mut RingOptions)| {
        let mut options = RingOptions::default();
        change(&mut options);
        BackendKind::IoUring(options)
    };
    let flags = |change: fn(&mut IoFlags)| {
        let mut flags = IoFlags::default();
        change(&mut flags);
        BackendKind::Vectored(flags)
    };
    for (settings, backend) in [
        (&[("ioengine", "sync")][..], BackendKind::Seek),
        (&[("ioengine", "psync")], BackendKind::Sync),
        (&[("ioengine", "vsync")], flags(|_| {})),
        (&[("ioengine", "pvsync")], flags(|_| {})),
        (&[("ioengine", "pvsync2"), ("nowait", "1")], flags(|flags| flags.nowait = true)),
        (&[("ioengine", "pvsync2"), ("hipri", "1"), ("direct", "1")], flags(|flags| flags.hipri = true)),
        (&[("ioengine", "pvsync2"), ("uncached", "1")], flags(|flags| flags.dontcache = true)),
        (&[("ioengine", "pvsync2"), ("atomic", "1"), ("rw", "write")], flags(|flags| flags.atomic = true)),
        (&[("ioengine", "io_uring")], ring(|_| {})),
        (&[("ioengine", "io_uring"), ("hipri", "1")], ring(|options| options.completion_polling = true)),
        (&[("ioengine", "io_uring"), ("sqthread_poll", "1")], ring(|options| options.submit_polling = true)),
        (&[("ioengine", "io_uring"), ("force_async", "4")], ring(|options| options.force_async = 4)),
        (&[("ioengine", "io_uring"), ("nowait", "1")], ring(|options| options.nowait = true)),
        (&[("ioengine", "io_uring"), ("uncached", "1")], ring(|options| options.dontcache = true)),
        (&[("ioengine", "io_uring"), ("sqthread_poll_cpu", "1")], ring(|_| {})),
        (
            &[("ioengine", "io_uring"), ("sqthread_poll", "1"), ("sqthread_poll_cpu", "1")],
            ring(|options| (options.submit_polling, options.submit_polling_cpu) = (true, Some(1))),
        ),
        (&[("ioengine", "libaio")], BackendKind::Libaio),
        (&[("ioengine", "posixaio")], BackendKind::Threads),
        (&[("ioengine", "mmap")], BackendKind::Mmap),
        (&[("ioengine", "splice")], BackendKind::Splice),
        (&[("ioengine", "null")], BackendKind::Null),
        (&[("ioengine", "falloc")], BackendKind::Fallocate),
        (&[("ioengine", "ftruncate"), ("rw", "write")], BackendKind::Truncate),
        (
            &[("ioengine", "cpuio"), ("cpuload", "50"), ("cpuchunks", "1000"), ("runtime", "1")],
            BackendKind::Busy(BusyOptions { percent: 50, chunk: Nanos::MILLISECOND, work: BusyWork::Spin }),
        ),
        (
            &[("ioengine", "cpuio"), ("cpuload", "5"), ("cpumode", "qsort"), ("runtime", "1")],
            BackendKind::Busy(BusyOptions { percent: 5, chunk: Nanos(50_000_000), work: BusyWork::Sort }),
        ),
    ] {
        let task = task(settings).unwrap_or_else(|error| panic!("{settings:?}: {error}"));
        assert_eq!(task.backend, backend, "{settings:?}");
        let nothing = matches!(backend, BackendKind::Null | BackendKind::Busy(_));
        assert_eq!(matches!(task.target, Target::Null { .. }), nothing, "{settings:?}");
    }
    let null = task(&[("ioengine", "null"), ("direct", "1"), ("nrfiles", "4")]).unwrap();
    assert_eq!(null.target, Target::Null { size: Bytes::MIB });
    assert!(!null.direct && !null.cache.invalidate);
}

#[test]
fn every_engine_is_built_or_refused_with_a_remedy() {
    use crate::language::options::engine::{ENGINES, Kind};
    for engine in ENGINES {
        let result = spec(&[("ioengine", engine.name)]);
        match engine.kind {
            Kind::Missing(remedy) => {
                assert!(result.unwrap_err().to_string().ends_with(remedy), "{}", engine.name)
            }
            Kind::Io | Kind::Names(_) => assert!(result.is_ok(), "{}", engine.name),
        }
    }
    let unknown = spec(&[("ioengine", "iouring")]).unwrap_err().to_string();
    assert!(unknown.contains("no engine `iouring`") && unknown.contains("io_uring"), "{unknown}");
}

#[test]
fn names_are_metadata_tasks() {
    let place = ThreadIndex { number: 5, clone: 1, together: true, ..FIRST };
    for (engine, operation, made) in [
        ("filecreate", MetadataOperation::Create, None),
        ("filestat", MetadataOperation::Stat, Some(MetadataOperation::Create)),
        ("filedelete", MetadataOperation::Unlink, Some(MetadataOperation::Create)),
        ("dircreate", MetadataOperation::Mkdir, None),
        ("dirdelete", MetadataOperation::Rmdir, Some(MetadataOperation::Mkdir)),
        ("dirstat", MetadataOperation::StatDirectory, Some(MetadataOperation::Mkdir)),
    ] {
        let settings = [("ioengine", engine), ("nrfiles", "7"), ("filesize", "4k"), ("directory", "a:b")];
        let thread = thread_at(&settings, place).unwrap();
        let JobTask::Metadata(task) = &thread.task else { panic!("{thread:?}") };
        assert_eq!((task.operation, task.files, task.workers), (operation, 7, 1));
        assert_eq!((task.tree.as_path(), task.together), (Path::new("j.5"), true));
        let rounds = operation.kind() == OpKind::Stat;
        let rounds = rounds.then_some(1);
        assert_eq!(task.stop, Stop { loops: rounds, ..Stop::default() }, "{engine}");
        assert_eq!(thread.directory, Some(PathBuf::from("b")));
        let made_first = preparation(&thread);
        assert_eq!(made_first.as_ref().map(|task| task.operation), made, "{engine}");
        if let Some(first) = made_first.filter(|first| first.operation == MetadataOperation::Create) {
            assert_eq!((first.size, &first.tree, first.together), (Bytes(4096), &task.tree, false));
        }
        assert!(thread.notes.iter().any(|note| note.contains("scratch")), "{:?}", thread.notes);
    }
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
        refill,
        lifetime: None,
    };
    let half = |pattern: &[u8]| Fill::Compressible { percent: 50, pattern: pattern.to_vec() };
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
            contents(Fill::Compressible { percent: 100, pattern: Vec::new() }, 0, false),
        ),
        (&[("dedupe_percentage", "30")], contents(Fill::Random, 30, true)),
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
fn files_are_laid_out_reserved_and_removed() {
    let (_folder, path) = existing(1 << 20);
    let there = [("filename", path.as_str())];
    let write = [("rw", "write")];
    for (settings, lay_out, reserve, remove) in [
        (vec![("allow_file_create", "0")], LayOut::Never, Reserve::Allocate, false),
        (vec![("overwrite", "1")], LayOut::Needed, Reserve::Allocate, false),
        ([&write[..], &[("overwrite", "1")]].concat(), LayOut::Always, Reserve::Allocate, false),
        ([&write[..], &there, &[("overwrite", "1")]].concat(), LayOut::Needed, Reserve::Allocate, false),
        (vec![("fallocate", "none")], LayOut::Needed, Reserve::None, false),
        (vec![("fallocate", "keep")], LayOut::Needed, Reserve::KeepSize, false),
        (vec![("fallocate", "1")], LayOut::Needed, Reserve::Allocate, false),
        (vec![("fallocate", "truncate"), ("unlink", "1")], LayOut::Needed, Reserve::Truncate, true),
        (vec![("unlink_each_loop", "1")], LayOut::Needed, Reserve::Allocate, true),
        ([&write[..], &[("create_on_open", "1")]].concat(), LayOut::Needed, Reserve::None, false),
        (vec![("create_on_open", "1")], LayOut::Needed, Reserve::Allocate, false),
        (vec![("ioengine", "falloc")], LayOut::Needed, Reserve::Truncate, false),
        ([&write[..], &[("ioengine", "falloc")]].concat(), LayOut::Needed, Reserve::None, false),
        (vec![("ioengine", "mmap"), ("fallocate", "none")], LayOut::Needed, Reserve::Truncate, false),
    ] {
        let task = task(&settings).unwrap();
        let Target::Files(target) = &task.target else { panic!("{task:?}") };
        assert_eq!(
            (target.lay_out, target.reserve, target.remove),
            (lay_out, reserve, remove),
            "{settings:?}"
        );
    }
}

#[test]
fn which_file_comes_next() {
    for (text, order) in [
        ("roundrobin", FileOrder::RoundRobin(1)),
        ("roundrobin:8", FileOrder::RoundRobin(8)),
        ("random:3", FileOrder::Random(3)),
        ("sequential", FileOrder::Sequential),
        ("zipf:1.2", FileOrder::Zipf(1.2)),
        ("pareto", FileOrder::Pareto(0.2)),
        ("gauss:10", FileOrder::Normal(10.0)),
    ] {
        let task = task(&[("nrfiles", "2"), ("file_service_type", text)]).unwrap();
        let Target::Files(target) = &task.target else { panic!("{task:?}") };
        assert_eq!(target.order, order, "{text}");
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
fn what_does_not_go_together_is_refused() {
    for (settings, part) in [
        (&[("size", "1000")][..], "has 1000 bytes"),
        (&[("size", "0"), ("filesize", "2k"), ("nrfiles", "2")], "2048 bytes"),
        (&[("fill_fs", "1")], "use rw=write"),
        (&[("fill_fs", "1"), ("rw", "rw")], "use rw=write"),
        (&[("fill_fs", "1"), ("rw", "randwrite"), ("size", "0")], "specify size"),
        (&[("direct", "1"), ("bs", "1000")], "multiples of 512"),
        (&[("direct", "1"), ("rw", "randread"), ("blockalign", "100")], "multiples of 512"),
        (&[("rw", "read:-2k")], "at least that"),
        (&[("rw", "rw:-6k"), ("bs", "4k,8k")], "at least that"),
        (&[("rw", "read:-6k"), ("bsrange", "4k-8k")], "at least that"),
        (&[("rw", "randread:-8")], "operations in a row"),
        (&[("rw", "randread:4"), ("rw_sequencer", "identical")], "identical is not supported"),
        (&[("rw", "randread"), ("percentage_random", "30"), ("bsrange", "4k-8k")], "divides 100"),
        (&[("rw", "randread:4"), ("percentage_random", "50")], "remove one of them"),
        (&[("rw", "randrw"), ("percentage_random", "50,20")], "two jobs"),
        (&[("rw", "randrw"), ("random_distribution", "zoned:100/10,100/20")], "two jobs"),
        (&[("rw", "randread:4"), ("random_distribution", "zipf"), ("bsrange", "4k-8k")], "one block size"),
        (&[("zonesize", "8k")], "zonemode=strided"),
        (&[("zonemode", "strided")], "zonesize"),
        (&[("rw", "write"), ("fsync", "1"), ("fdatasync", "1")], "one of them"),
        (&[("ioengine", "cpuio"), ("cpuload", "10")], "a runtime"),
        (&[("ioengine", "cpuio"), ("runtime", "1")], "cpuload"),
        (&[("ioengine", "ftruncate"), ("rw", "read")], "writes only"),
        (&[("ioengine", "libaio"), ("nowait", "1")], "pvsync2 and io_uring only"),
        (&[("nrfiles", "4000000000")], "1 to 1000000"),
        (&[("offset_increment", "10000p")], ""),
        (&[("ioengine", "filestat"), ("wait_for", "x")], "stonewall"),
    ] {
        let place = ThreadIndex { number: 4_000, clone: 4_000, ..FIRST };
        let all: Vec<_> = [("size", "1m")].iter().chain(settings).copied().collect();
        match thread_at(&all, place) {
            Err(error) => assert!(error.to_string().contains(part), "{settings:?}: {error}"),
            Ok(thread) => assert_eq!(settings[0].0, "offset_increment", "{thread:?}"),
        }
    }
}

#[test]
fn values_that_mean_nothing_are_refused() {
    for (name, value, part) in [
        ("random_distribution", "zipf:1", "not 1"),
        ("random_distribution", "zipf:1.2:0.5", "centre"),
        ("random_distribution", "zipf:nan", "skew"),
        ("random_distribution", "pareto:1", "below 1"),
        ("random_distribution", "normal", "deviation"),
        ("random_distribution", "normal:101", "at most 100"),
        ("random_distribution", "zoned:60/10:30/20", "90 %"),
        ("random_distribution", "zoned:60/80:40/30", "110 %"),
        ("random_distribution", "zoned:100", "not a zone"),
        ("random_distribution", "zoned_abs:100/0", "no bytes"),
        ("random_distribution", "zoned:100/1,100/1,100/1,100/1", "more than three"),
        ("random_distribution", "even", "none of"),
        ("bssplit", "4k,4k,4k,4k", "more than three"),
        ("bsrange", "4k", "not a range"),
        ("bs", "0", "not a size"),
        ("bs", "2g", "1 GiB"),
        ("filename", "-", "standard input"),
        ("filename", ":", "it is empty"),
        ("rw", "readwrites", "none of"),
        ("rw", "read:x", "x"),
        ("zonemode", "zbd", "strided"),
        ("mem", "mmaphuge:/huge/f", "huge pages"),
        ("mem", "mmap:/f", "in a file"),
        ("mem_align", "3", "power of two"),
        ("sync_file_range", "write", "no number"),
        ("sync_file_range", "wait:8", "none of"),
        ("file_service_type", "zipf:x", "not a number"),
        ("file_service_type", "last", "none of"),
        ("fallocate", "2", "none of"),
        ("numjobs", "0", "range"),
        ("startdelay", "1-x", "x"),
        ("stat_type", "statx", "stat"),
        ("hipri_percentage", "50", "hipri"),
    ] {
        let error = spec(&[(name, value)]).unwrap_err().to_string();
        assert!(error.contains(part), "{name}={value}: {error}");
    }
    let many = vec!["1/1"; 257].join(":");
    assert!(
        spec(&[("random_distribution", &format!("zoned:{many}"))]).unwrap_err().to_string().contains("256")
    );
    let many = vec!["4k/1"; 65].join(":");
    assert!(spec(&[("bssplit", &many)]).unwrap_err().to_string().contains("64"));
}

#[test]
fn differences_that_no_option_says_are_noted() {
    for (settings, part) in
        [(&[("iodepth", "8")][..], "iodepth: "), (&[("ioengine", "mmap"), ("direct", "1")], "direct ")]
    {
        let settings: Vec<_> = [("size", "1m")].iter().chain(settings).copied().collect();
        let notes = thread(&settings).unwrap().notes;
        assert!(notes.iter().any(|note| note.starts_with(part)), "{settings:?}: {notes:?}");
    }
    for settings in
        [&[][..], &[("rw", "rw")], &[("fadvise_hint", "none")], &[("ioengine", "io_uring"), ("iodepth", "8")]]
    {
        let settings: Vec<_> = [("size", "1m")].iter().chain(settings).copied().collect();
        assert_eq!(thread(&settings).unwrap().notes, [""; 0], "{settings:?}");
    }
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

#[test]
fn all_files_below_a_directory_are_taken() {
    let place = tempfile::tempdir().unwrap();
    let below = place.path().join("below");
    std::fs::create_dir_all(below.join("deeper")).unwrap();
    for (name, size) in [("b", 8192), ("a", 4096), ("deeper/c", 16384)] {
        std::fs::write(below.join(name), vec![1; size]).unwrap();
    }
    std::os::unix::fs::symlink("a", below.join("link")).unwrap();
    let text = below.to_str().unwrap();
    let task = task_of(thread(&[("opendir", text)]).unwrap());
    assert_eq!(extents(&task), [(0, 4096), (0, 8192), (0, 16384)]);
    assert_eq!(task.stop.bytes, Some(Bytes(28672)));
    let empty = place.path().join("empty");
    std::fs::create_dir(&empty).unwrap();
    let error =
        |path: &std::path::Path| thread(&[("opendir", path.to_str().unwrap())]).unwrap_err().to_string();
    assert!(error(&empty).contains("no file lies below"), "{}", error(&empty));
    assert!(error(&place.path().join("missing")).contains("check the path"));
}
