//! Operations on names as their callers see them, on real file systems.

// Helpers of tests may give up as tests do.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stderr)]

use std::alloc::System;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use iolite_engine::{Control, EngineError, Outcome, Scratch, remove_leftovers, run_metadata_task};
use iolite_model::{
    Bytes, Ending, ErrorClass, Event, MetadataOperation, MetadataTask, Nanos, NullSink, OpKind, RunId, Sink,
    Stop,
};
use iolite_sys::clock::Clock;
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

use MetadataOperation::{Create, Mkdir, Open, Rmdir, Stat, StatDirectory, Unlink};

fn task(operation: MetadataOperation) -> MetadataTask {
    MetadataTask {
        name: "test".into(),
        operation,
        files: 250,
        files_per_directory: 100,
        workers: 2,
        interval: Nanos(20_000_000),
        ..MetadataTask::default()
    }
}

fn operations(count: u64) -> Stop {
    Stop { operations: Some(count), ..Stop::default() }
}

fn runtime(millis: u64) -> Stop {
    Stop { runtime: Some(Nanos(millis * 1_000_000)), ..Stop::default() }
}

struct MetadataFixture {
    scratch: Option<Scratch>,
    // Goes last.
    place: TestDirectory,
}

/// A directory for a test, perhaps with a small file system mounted on it.
struct TestDirectory {
    dir: tempfile::TempDir,
    mounted: bool,
}

impl TestDirectory {
    fn new() -> TestDirectory {
        TestDirectory { dir: tempfile::tempdir().unwrap(), mounted: false }
    }

    /// In memory, where there is such a directory.
    fn fast() -> TestDirectory {
        let dir = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
        TestDirectory { dir, mounted: false }
    }

    /// A tmpfs; `None`, with the reason printed, where it may not be mounted.
    fn small(options: &str) -> Option<TestDirectory> {
        let mut place = TestDirectory::new();
        place.mounted = mount(place.dir.path(), options);
        place.mounted.then_some(place)
    }
}

/// Mounts a tmpfs; false, with the reason printed, where that may not be done.
fn mount(path: &Path, options: &str) -> bool {
    match Command::new("mount").args(["-t", "tmpfs", "-o", options, "iolite-test"]).arg(path).output() {
        Ok(output) if output.status.success() => return true,
        Ok(output) => eprintln!("skipped: mount: {}", String::from_utf8_lossy(&output.stderr).trim()),
        Err(error) => eprintln!("skipped: mount: {error}"),
    }
    false
}

fn unmount(path: &Path) {
    let _ = Command::new("umount").arg("-l").arg(path).status();
}

impl Drop for TestDirectory {
    fn drop(&mut self) {
        if self.mounted {
            unmount(self.dir.path());
        }
    }
}

impl MetadataFixture {
    fn new() -> MetadataFixture {
        MetadataFixture::at(TestDirectory::new())
    }

    fn at(place: TestDirectory) -> MetadataFixture {
        let scratch = Scratch::create(place.dir.path(), &RunId("test".into())).unwrap();
        MetadataFixture { scratch: Some(scratch), place }
    }

    fn try_run(&mut self, task: &MetadataTask) -> Result<Outcome, EngineError> {
        let scratch = self.scratch.as_mut().unwrap();
        run_metadata_task(task, 0, scratch, Clock::best(), &Control::default(), &mut NullSink)
    }

    fn run(&mut self, task: &MetadataTask) -> Outcome {
        self.try_run(task).unwrap()
    }

    /// Runs a task that is to succeed; returns its number of operations.
    fn count(&mut self, task: &MetadataTask) -> u64 {
        let outcome = self.run(task);
        assert_eq!((outcome.ending.clone(), outcome.first_error()), (Ending::Completed, None));
        assert_eq!(outcome.totals.errors(task.operation.kind()), 0);
        outcome.totals.operations(task.operation.kind())
    }

    fn refusal(&mut self, task: &MetadataTask) -> String {
        self.try_run(task).unwrap_err().to_string()
    }

    fn tree(&self, name: &str) -> PathBuf {
        self.scratch.as_ref().unwrap().path().join(name)
    }

    /// What is in the tree, by the first letter of its name.
    fn walk(&self) -> BTreeMap<char, u64> {
        walk(&self.tree("tree"))
    }

    /// Ends the run, and returns what is left of it.
    fn left(&mut self) -> usize {
        drop(self.scratch.take());
        fs::read_dir(self.place.dir.path()).unwrap().count()
    }
}

fn walk(path: &Path) -> BTreeMap<char, u64> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(path).unwrap() {
        let entry = entry.unwrap();
        *found.entry(entry.file_name().to_str().unwrap().chars().next().unwrap()).or_default() += 1;
        if entry.file_type().unwrap().is_dir() {
            walk(&entry.path())
                .into_iter()
                .for_each(|(kind, count)| *found.entry(kind).or_default() += count);
        }
    }
    found
}

#[test]
fn files_are_made_found_and_removed() {
    for (random, sync) in [(false, false), (true, false), (false, true), (true, true)] {
        let mut bench = MetadataFixture::new();
        let with = |operation| MetadataTask { random, sync, size: Bytes(5000), ..task(operation) };
        let outcome = bench.run(&with(Create));
        assert_eq!(outcome.totals.operations(OpKind::Create), 500);
        assert_eq!(outcome.totals.bytes(OpKind::Create), 500 * 5000);
        assert_eq!(bench.walk(), BTreeMap::from([('w', 2), ('d', 6), ('f', 500)]));
        let first = fs::metadata(bench.tree("tree/w00001/d000000002/f000000200")).unwrap();
        assert_eq!((first.len(), first.mode() & 0o777), (5000, 0o600));
        for operation in [Stat, Open] {
            assert_eq!(bench.count(&MetadataTask { stop: operations(1001), ..with(operation) }), 1001);
            let loops = Stop { loops: Some(3), ..Stop::default() };
            assert_eq!(bench.count(&MetadataTask { stop: loops, ..with(operation) }), 1500);
        }
        assert_eq!(bench.count(&with(Unlink)), 500);
        assert_eq!(bench.walk(), BTreeMap::from([('w', 2), ('d', 6)]));
        assert_eq!(bench.count(&with(Mkdir)), 500);
        assert_eq!(bench.walk(), BTreeMap::from([('w', 2), ('d', 6), ('s', 500)]));
        let once = Stop { loops: Some(1), ..Stop::default() };
        assert_eq!(bench.count(&MetadataTask { stop: once, ..with(StatDirectory) }), 500);
        assert_eq!(bench.count(&with(Rmdir)), 500);
        assert_eq!(bench.walk(), BTreeMap::from([('w', 2), ('d', 6)]));
        assert_eq!(bench.left(), 0);
    }
}

#[test]
fn counts_are_what_is_on_disk_however_it_ends() {
    let mut bench = MetadataFixture::new();
    assert_eq!(bench.count(&MetadataTask { stop: operations(101), ..task(Create) }), 101);
    assert_eq!(bench.walk()[&'f'], 101);
    let worker_operations = |count| Stop { worker_operations: Some(count), ..Stop::default() };
    assert_eq!(bench.count(&MetadataTask { stop: worker_operations(30), ..task(Unlink) }), 60);
    assert_eq!(bench.walk()[&'f'], 41);
    let timed = MetadataTask {
        files: 10_000_000,
        files_per_directory: 10_000_000,
        stop: runtime(200),
        ..task(Mkdir)
    };
    let made = bench.count(&timed);
    let there = bench.walk()[&'s'];
    // What was in flight at the end is there, but does not count.
    assert!((made..=made + 2).contains(&there) && made > 0, "{made} made, {there} there");
    assert_eq!(bench.left(), 0);
}

#[test]
fn looking_goes_on_until_the_time_is_over() {
    let mut bench = MetadataFixture::new();
    bench.count(&task(Create));
    for (operation, random) in [(Stat, false), (Open, true)] {
        let outcome = bench.run(&MetadataTask { stop: runtime(200), random, ..task(operation) });
        assert_eq!((outcome.totals.measured, outcome.ending), (200_000_000, Ending::Completed));
        assert!(outcome.totals.operations(operation.kind()) > 1000);
        assert_eq!(outcome.totals.response(operation.kind()), outcome.totals.service(operation.kind()));
    }
}

#[test]
fn contents_differ_from_file_to_file_and_block_to_block() {
    let mut bench = MetadataFixture::new();
    bench.count(&MetadataTask { files: 2, size: Bytes((1 << 20) + 10_000), ..task(Create) });
    let mut blocks = Vec::new();
    for name in
        ["w00000/d000000000/f000000000", "w00000/d000000000/f000000001", "w00001/d000000000/f000000000"]
    {
        let data = fs::read(bench.tree("tree").join(name)).unwrap();
        assert_eq!(data.len(), (1 << 20) + 10_000);
        blocks.extend(data[..1 << 20].chunks(4096).map(<[u8]>::to_vec));
    }
    let all = blocks.len();
    blocks.sort();
    blocks.dedup();
    assert_eq!(blocks.len(), all);
}

#[test]
fn trees_are_apart() {
    let mut bench = MetadataFixture::new();
    let other = |operation| MetadataTask { tree: "other".into(), workers: 1, ..task(operation) };
    bench.count(&task(Create));
    assert!(bench.refusal(&other(Unlink)).contains("do not exist in the tree `other`"));
    assert_eq!(bench.count(&other(Create)), 250);
    assert_eq!(bench.count(&other(Unlink)), 250);
    assert_eq!(bench.walk()[&'f'], 500);
    assert_eq!(bench.left(), 0);
}

#[test]
fn files_that_are_missing_are_said() {
    let mut bench = MetadataFixture::new();
    for operation in [Stat, Open, Unlink] {
        let error = bench.refusal(&MetadataTask { stop: operations(10), ..task(operation) });
        assert!(
            error.contains("`test` cannot be run: the files do not exist") && error.contains("(create)"),
            "{error}"
        );
    }
    assert!(bench.refusal(&task(Rmdir)).contains("(mkdir)"));
    bench.count(&task(Create));
    assert!(bench.refusal(&task(Rmdir)).contains("(mkdir)"));
    let error = bench.refusal(&task(Create));
    assert!(error.contains("already") && error.contains("unlink"), "{error}");
    let error = bench.refusal(&MetadataTask { workers: 3, stop: operations(10), ..task(Stat) });
    assert!(error.contains("as many workers"), "{error}");

    for number in [7, 123, 249] {
        let path = format!("tree/w00001/d00000000{}/f{number:09}", number / 100);
        fs::remove_file(bench.tree(&path)).unwrap();
    }
    let outcome = bench.run(&MetadataTask { stop: Stop { loops: Some(2), ..Stop::default() }, ..task(Stat) });
    assert_eq!(outcome.ending, Ending::Completed);
    let (found, missed) = (outcome.totals.operations(OpKind::Stat), outcome.totals.errors(OpKind::Stat));
    assert_eq!((found, missed), (994, 6));
    let [tally] = outcome.errors.as_slice() else { panic!("{:?}", outcome.errors) };
    assert_eq!((tally.kind, tally.class, tally.count), (OpKind::Stat, ErrorClass::Other, 6));
    assert_eq!(tally.first_offsets, [7, 123, 249, 7, 123, 249]);
    assert!(tally.first.starts_with("stat w00001/d000000000/f000000007: No such file"), "{}", tally.first);
    assert_eq!(bench.left(), 0);
}

#[test]
fn what_makes_no_sense_is_refused_with_its_remedy() {
    let mut bench = MetadataFixture::new();
    let some = |stop| MetadataTask { stop, ..task(Stat) };
    let stop = Stop::default();
    let cases = [
        (MetadataTask { workers: 0, ..task(Create) }, "at least one worker"),
        (MetadataTask { workers: 100_001, ..task(Create) }, "at most 100,000"),
        (MetadataTask { files: 0, ..task(Create) }, "at least one file"),
        (MetadataTask { files: 1_000_000_001, ..task(Create) }, "at most 1,000,000,000"),
        (MetadataTask { files_per_directory: 0, ..task(Create) }, "files_per_directory"),
        (MetadataTask { interval: Nanos(9_999_999), ..task(Create) }, "longer"),
        (MetadataTask { tree: "a/b".into(), ..task(Create) }, "without slashes"),
        (MetadataTask { tree: "owner".into(), ..task(Create) }, "owner"),
        (MetadataTask { tree: "..".into(), ..task(Create) }, "plain name"),
        (MetadataTask { tree: "a\nb".into(), ..task(Create) }, "plain file name"),
        (MetadataTask { stop: Stop { loops: Some(2), ..stop }, ..task(Unlink) }, "remove the loops"),
        (some(stop), "no stop condition"),
        (some(Stop { bytes: Some(Bytes(1)), ..stop }), "use operations or a runtime"),
        (
            some(Stop { worker_bytes: Some(Bytes(1)), operations: Some(1), ..stop }),
            "use operations or a runtime",
        ),
    ];
    for (task, remedy) in cases {
        let error = bench.refusal(&task);
        assert!(error.contains(remedy), "{error}");
    }
    assert_eq!(bench.left(), 0);
}

#[test]
fn a_full_file_system_is_reported_and_hangs_nobody() {
    for (size, options) in [(4096, "size=64k"), (0, "nr_inodes=40")] {
        let Some(place) = TestDirectory::small(options) else { return };
        let mut bench = MetadataFixture::at(place);
        let with = |operation| MetadataTask {
            size: Bytes(size),
            files: 2000,
            stop: runtime(10_000),
            files_per_directory: 2000,
            ..task(operation)
        };
        let outcome = bench.run(&with(Create));
        assert_eq!(outcome.ending, Ending::Completed);
        let (made, failed) =
            (outcome.totals.operations(OpKind::Create), outcome.totals.errors(OpKind::Create));
        assert!(made > 0 && made + failed == 4000, "{made} made, {failed} failed");
        let [tally] = outcome.errors.as_slice() else { panic!("{:?}", outcome.errors) };
        assert_eq!((tally.class, tally.count), (ErrorClass::Space, failed));
        assert!(tally.first.contains("No space left"), "{}", tally.first);
        assert_eq!(bench.walk()[&'f'], made, "what failed is not there");
        assert_eq!(bench.left(), 0);
    }
}

/// Interrupts the run when the first interval is over.
struct Interrupter(Arc<AtomicBool>);

impl Sink for Interrupter {
    fn event(&mut self, event: &Event) {
        self.0.fetch_or(matches!(event, Event::Interval(_)), Ordering::Relaxed);
    }
}

#[test]
fn an_interrupted_phase_leaves_nothing() {
    for (operation, files) in [(Create, 5_000_000), (Mkdir, 5_000_000), (Stat, 100)] {
        let mut bench = MetadataFixture::new();
        let endless = Stop { worker_operations: Some(u64::MAX), ..Stop::default() };
        let with = |operation| MetadataTask { files, files_per_directory: files, ..task(operation) };
        if operation == Stat {
            bench.count(&with(Create));
        }
        let flag = Arc::new(AtomicBool::new(false));
        let control = Control::new(flag.clone());
        let task = MetadataTask { stop: endless, random: true, ..with(operation) };
        let scratch = bench.scratch.as_mut().unwrap();
        let outcome =
            run_metadata_task(&task, 0, scratch, Clock::best(), &control, &mut Interrupter(flag)).unwrap();
        assert_eq!(outcome.ending, Ending::Interrupted);
        assert!(outcome.totals.operations(operation.kind()) > 0);
        assert!(bench.walk().len() > 2, "{operation:?}: {:?}", bench.walk());
        assert_eq!(bench.left(), 0, "{operation:?}");
    }
}

/// Runs this test alone in a process of its own.
fn alone(test: &str, variable: &str, value: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", test, "--nocapture"]).env(variable, value);
    command
}

/// Kills a process when the test ends, however it does.
struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_killed_runs_trees_are_removed_by_the_next() {
    const PLACE: &str = "IOLITE_TEST_PLACE";
    if let Some(place) = std::env::var_os(PLACE) {
        let mut scratch = Scratch::create(Path::new(&place), &RunId("killed".into())).unwrap();
        let forever = MetadataTask {
            files: 10_000_000,
            files_per_directory: 1_000_000,
            size: Bytes(100),
            ..task(Create)
        };
        let _ =
            run_metadata_task(&forever, 0, &mut scratch, Clock::best(), &Control::default(), &mut NullSink);
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let test = "a_killed_runs_trees_are_removed_by_the_next";
    let mut child = Killed(alone(test, PLACE, dir.path()).stdout(Stdio::null()).spawn().unwrap());
    let run = dir.path().join(".iolite-killed");
    let deadline = Instant::now() + Duration::from_secs(20);
    while !run.join("tree/w00001/d000000000/f000001000").exists() {
        assert!(Instant::now() < deadline, "nothing was made");
        std::thread::sleep(Duration::from_millis(10));
    }
    assert!(remove_leftovers(dir.path()).unwrap().is_empty(), "it lives");
    child.0.kill().unwrap();
    child.0.wait().unwrap();
    let foreign = run.join("tree/w00000/d000000000/letter");
    fs::write(&foreign, "dear").unwrap();
    let files = walk(&run)[&'f'];

    let [found] = <[_; 1]>::try_from(remove_leftovers(dir.path()).unwrap()).unwrap();
    assert_eq!((found.files as u64, found.kept), (files, true));
    assert!(found.bytes >= files * 100, "{} bytes of {files} files", found.bytes);
    assert_eq!(fs::read_to_string(&foreign).unwrap(), "dear");
    assert_eq!(walk(&run.join("tree")), BTreeMap::from([('w', 1), ('d', 1), ('l', 1)]));
    fs::remove_file(foreign).unwrap();
    assert!(!remove_leftovers(dir.path()).unwrap()[0].kept);
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
}

#[test]
fn another_file_system_in_a_tree_is_left_alone() {
    let mut bench = MetadataFixture::new();
    bench.count(&MetadataTask { files: 10, ..task(Create) });
    let strange = bench.tree("tree/w00002");
    fs::create_dir(&strange).unwrap();
    if !mount(&strange, "size=64k") {
        return;
    }
    let inner = strange.join("d000000000/f000000000");
    fs::create_dir(inner.parent().unwrap()).unwrap();
    fs::write(&inner, "mine").unwrap();
    let (left, kept) = (bench.left(), fs::read_to_string(&inner));
    unmount(&strange);
    assert_eq!((left, kept.unwrap().as_str()), (1, "mine"));
    let found = remove_leftovers(bench.place.dir.path()).unwrap();
    assert_eq!(found.iter().map(|l| (l.files, l.kept)).collect::<Vec<_>>(), [(0, false)]);
}

#[test]
fn many_files_are_no_trouble() {
    let mut bench = MetadataFixture::new();
    let with = |operation| MetadataTask { files: 50_000, files_per_directory: 10_000, ..task(operation) };
    assert_eq!(bench.count(&with(Create)), 100_000);
    assert_eq!(bench.count(&MetadataTask { stop: operations(50_000), ..with(Unlink) }), 50_000);
    assert_eq!(bench.walk(), BTreeMap::from([('w', 2), ('d', 10), ('f', 50_000)]));
    assert_eq!(bench.left(), 0);
}

/// Allocations of the whole process, and operations, of a task on files that are there.
fn measure(bench: &mut MetadataFixture, task: &MetadataTask) -> (usize, u64) {
    let region = Region::new(ALLOCATOR);
    let outcome = bench.run(task);
    (region.change().allocations, outcome.totals.operations(task.operation.kind()))
}

/// A hundred times the operations make no more allocations. Alone, because other tests allocate.
#[test]
fn the_measured_loop_allocates_nothing() {
    const ALONE: &str = "IOLITE_TEST_ALONE";
    if std::env::var_os(ALONE).is_none() {
        let status = alone("the_measured_loop_allocates_nothing", ALONE, Path::new("yes")).status();
        assert!(status.unwrap().success());
        return;
    }
    let mut bench = MetadataFixture::at(TestDirectory::fast());
    let base = MetadataTask {
        files_per_directory: 20_000,
        size: Bytes(100),
        random: true,
        // Allocations go with intervals too.
        interval: Nanos(60_000_000_000),
        ..task(Create)
    };
    for operation in [Create, Stat, Open, Unlink, Mkdir, StatDirectory, Rmdir] {
        let of = |files| MetadataTask { operation, files, stop: operations(2 * files), ..base.clone() };
        let (few_allocations, few) = measure(&mut bench, &MetadataTask { tree: "few".into(), ..of(200) });
        let (allocations, many) = measure(&mut bench, &of(20_000));
        assert_eq!((few, many), (400, 40_000));
        // What more there is comes from the collector's ticks.
        let more = allocations.saturating_sub(few_allocations);
        assert!(
            more < 1000,
            "{operation:?}: {few_allocations} allocations for {few}, {allocations} for {many}"
        );
    }
}
