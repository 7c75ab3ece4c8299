//! Small file systems, full ones, and devices.

use std::time::{Duration, Instant};

use super::*;

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
    let ring = BackendKind::IoUring(RingOptions::default());
    for (backend, concurrency) in [(ring, 16), (BackendKind::Sync, 2)].into_iter().cycle().take(20) {
        let Some(small) = Small::new("size=4m") else { return };
        let mut place = Fixture::at(small.0.path(), None);
        write(&place.path("file"), 7, 1 << 20);
        let target =
            FilesTarget { overwrite: Overwrite::Anything, ..FilesTarget::of(vec![place.named("file", 0)]) };
        let task = FileTask { backend, workers: 2, concurrency, ..task(target, Mix::Write) };
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
    let deadline = Instant::now() + Duration::from_secs(60);
    for (mix, reserve) in [
        (Mix::Read, Reserve::Allocate),
        (Mix::Read, Reserve::None),
        (Mix::Write, Reserve::Allocate),
        (Mix::Write, Reserve::KeepSize),
    ] {
        let files = vec![place.named("old", 65536), place.named("new", 65536), place.named("large", 4 << 20)];
        let overwrite = Overwrite::Anything;
        let target = FilesTarget { reserve, overwrite, ..FilesTarget::of(files) };
        // A process that another test starts has removed files open, too, until it has a program of its own.
        let error = loop {
            let error = place.refused(&task(target.clone(), mix));
            if error.contains("large") || Instant::now() > deadline {
                break error;
            }
        };
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
    // What is to be read is laid out before, as far as it fits, and only that is worked on.
    for size in [0, 2 << 20] {
        let mut place = Fixture::at(small.0.path(), None);
        let target = FilesTarget {
            overwrite: Overwrite::Anything,
            remove: true,
            ..FilesTarget::of(vec![place.named("f", size)])
        };
        let end = if size == 0 {
            Stop { loops: Some(1), ..Stop::default() }
        } else {
            Stop { bytes: Some(Bytes(size)), ..Stop::default() }
        };
        let mixed = FileTask {
            block: Bytes(65536),
            stop: Stop { full: true, ..end },
            ..task(target, Mix::ReadPercent(50))
        };
        let outcome = place.run(&mixed).unwrap();
        assert_eq!((&outcome.ending, outcome.errors.as_slice()), (&Ending::Completed, [].as_slice()));
        let (reads, writes) = (done(&outcome, OpKind::Read), done(&outcome, OpKind::Write));
        assert_eq!(reads + writes, 16, "{size}: {reads} reads, {writes} writes");
        assert!(reads > 0 && writes > 0);
    }
    // What is only read keeps what it holds.
    let mut place = Fixture::at(small.0.path(), None);
    let named = place.named("kept", 0);
    // For an instant, threads of other tests hold what is removed here (`descriptors::own`).
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(30);
    while let Err(error) = std::fs::write(&named.path, [7; 65536]) {
        assert!(error.raw_os_error() == Some(28) && std::time::Instant::now() < deadline, "{error}");
        std::thread::yield_now();
    }
    let target = FilesTarget { overwrite: Overwrite::Anything, ..FilesTarget::of(vec![named.clone()]) };
    let stop = Stop { full: true, loops: Some(1), ..Stop::default() };
    let reading = FileTask { block: Bytes(65536), stop, ..task(target, Mix::Read) };
    assert_eq!(done(&place.run(&reading).unwrap(), OpKind::Read), 16);
    assert_eq!(std::fs::read(&named.path).unwrap()[..65536], [7; 65536]);
}
