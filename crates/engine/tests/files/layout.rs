//! Files are laid out as asked, or refused with the reason.

use super::*;

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
        (FileTask { backend: busy(101, 1_000_000), target: null.clone(), ..plain.clone() }, "0 to 100"),
        (FileTask { backend: busy(50, 10), target: null, ..plain.clone() }, "1 microsecond"),
        (FileTask { block: Bytes(16384), ..plain.clone() }, "too small"),
    ];
    for (task, part) in cases {
        let error = place.refused(&task);
        assert!(error.contains(part), "{part}: {error}");
    }
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
