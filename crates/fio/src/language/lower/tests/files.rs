//! Files and the extents of them that jobs work on.

use super::*;

/// A folder with a file of so many bytes, and its path.
fn existing(length: u64) -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f");
    std::fs::File::create(&path).unwrap().set_len(length).unwrap();
    let path = path.display().to_string();
    (folder, path)
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
    // What is read must be there.
    let mixed = task(&[("rw", "rw"), ("fill_device", "1"), ("size", "1m")]).unwrap();
    let Target::Files(target) = &mixed.target else { panic!("{mixed:?}") };
    assert_eq!(target.lay_out, LayOut::Needed);
}

/// The parts of the file that fio 3.33 wrote with the same settings.
#[test]
fn amounts_may_be_numbers_of_zones() {
    let (_folder, path) = existing(512 << 10);
    let common = [("filename", path.as_str()), ("rw", "write"), ("zonemode", "zbd"), ("zonesize", "64k")];
    let lowered = |settings: &[(&str, &str)], place| {
        let settings: Vec<_> = common.iter().chain(settings).copied().collect();
        task_at(&settings, place)
    };
    let second = ThreadIndex { number: 1, clone: 1, ..FIRST };
    for (settings, place, extent, bytes) in [
        (&[("size", "2z")][..], FIRST, (0, 128), 128),
        (&[("size", "2Z"), ("offset", "1z")], FIRST, (64, 128), 128),
        (&[("size", "3z"), ("offset", "1z"), ("io_size", "1z")], FIRST, (64, 192), 64),
        (&[("size", "1z"), ("offset_increment", "2z")], second, (128, 64), 64),
        // The last one counts.
        (&[("size", "4z"), ("size", "64k")], FIRST, (0, 64), 64),
        (&[("size", "64k"), ("size", "2z")], FIRST, (0, 128), 128),
    ] {
        let task = lowered(settings, place);
        assert_eq!(extents(&task), [(extent.0 << 10, extent.1 << 10)], "{settings:?}");
        assert_eq!(task.stop.bytes, Some(Bytes(bytes << 10)), "{settings:?}");
    }
    let skip = lowered(&[("size", "8z"), ("zoneskip", "1z")], FIRST);
    assert_eq!(skip.zoned.unwrap().skip, Bytes(64 << 10));
    for settings in [&[("size", "4z")][..], &[("zonemode", "zbd"), ("offset", "1z")]] {
        let error = task(settings).unwrap_err().to_string();
        assert!(error.contains("zonesize"), "{error}");
    }
    assert!(task(&[("size", "z")]).is_err());
}

#[test]
fn sizes_of_files_by_chance_are_within_their_range() {
    let task = task_at(&[("filesize", "4k-16k"), ("nrfiles", "50")], FIRST);
    let sizes: HashSet<u64> = extents(&task).into_iter().map(|(_, size)| size).collect();
    assert_eq!(sizes, HashSet::from([4096, 8192, 12288]), "multiples of the block");
    assert_eq!(task, task_at(&[("filesize", "4k-16k"), ("nrfiles", "50")], FIRST));
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
        // The names are those of the clone's files, as with other engines.
        assert_eq!((task.named[6].as_path(), task.together), (Path::new("b/j.1.6"), true));
        assert_eq!((task.keep_existing, task.remove), (operation == MetadataOperation::Create, false));
        assert_eq!((thread.reporting.blocks_per_name, thread.reporting.bytes_per_name), (1, Bytes(4096)));
        let rounds = operation.kind() == OpKind::Stat;
        let rounds = rounds.then_some(1);
        assert_eq!(task.stop, Stop { loops: rounds, ..Stop::default() }, "{engine}");
        assert_eq!(thread.directory, Some(PathBuf::from("b")));
        let made_first = preparation(&thread);
        assert_eq!(made_first.as_ref().map(|task| task.operation), made, "{engine}");
        if let Some(first) = made_first.filter(|first| first.operation == MetadataOperation::Create) {
            assert_eq!((first.size, &first.named, first.together), (Bytes(4096), &task.named, false));
            assert!(first.keep_existing && !first.remove);
        }
    }
    let settings = [
        ("ioengine", "filestat"),
        ("filename", "x:y"),
        ("filesize", "17k"),
        ("unlink", "1"),
        ("write_lat_log", "l"),
    ];
    let thread = thread_at(&settings, place).unwrap();
    let JobTask::Metadata(task) = &thread.task else { panic!("{thread:?}") };
    assert_eq!(task.named, [PathBuf::from("x"), PathBuf::from("y")]);
    assert!(task.remove && task.report_operations && !preparation(&thread).unwrap().report_operations);
    assert_eq!(
        (thread.reporting.blocks_per_name, thread.reporting.bytes_per_name),
        (4, Bytes(16384)),
        "whole blocks"
    );
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
        (vec![("unlink_each_loop", "1")], LayOut::Needed, Reserve::Allocate, false),
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
