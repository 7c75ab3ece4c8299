//! What the tests of the program share: places, devices, mounts and throttles, each undone when dropped.

#![allow(dead_code, unused_imports)]

#[path = "../../../engine/tests/common/mod.rs"]
mod times;

#[path = "../../../db/tests/common/created.rs"]
mod created;
pub(crate) mod fio;
pub(crate) mod private;
pub(crate) mod subject;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::{Duration, Instant};

use serde_json::Value;

pub(crate) use times::undisturbed;

/// The program under test.
pub(crate) const IOLITE: &str = env!("CARGO_BIN_EXE_iolite");

/// The device beneath the tests: shared, or held by one test that measures it, or looks at its counters.
static DEVICE: RwLock<()> = RwLock::new(());

/// A test's hold on the device.
enum Hold {
    Shared { _guard: RwLockReadGuard<'static, ()> },
    Alone { _guard: RwLockWriteGuard<'static, ()> },
}

/// A directory on the disk of the checkout (a temporary directory may be in memory), with results of its own.
pub(crate) struct TestDirectory {
    pub(crate) root: tempfile::TempDir,
    _device: Hold,
}

impl TestDirectory {
    /// For a test that other tests of its program may run beside.
    pub(crate) fn new() -> TestDirectory {
        TestDirectory::holding(Hold::Shared { _guard: DEVICE.read().unwrap_or_else(PoisonError::into_inner) })
    }

    /// For a test of times, rates or a device's counters: no other test of its program with a directory runs meanwhile.
    pub(crate) fn alone() -> TestDirectory {
        TestDirectory::holding(Hold::Alone { _guard: DEVICE.write().unwrap_or_else(PoisonError::into_inner) })
    }

    fn holding(device: Hold) -> TestDirectory {
        let root = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        fs::create_dir(root.path().join("data")).unwrap();
        TestDirectory { root, _device: device }
    }

    /// The directory to check.
    pub(crate) fn data(&self) -> PathBuf {
        self.root.path().join("data")
    }

    pub(crate) fn results(&self) -> PathBuf {
        self.root.path().join("results.db")
    }

    /// `iolite check` of a directory with results in this place.
    pub(crate) fn check(&self, directory: &Path, arguments: &[&str]) -> Command {
        let mut command = Command::new(IOLITE);
        command.arg("check").arg(directory).arg("--results").arg(self.results()).args(arguments);
        command.env("NO_COLOR", "1").stdin(Stdio::null());
        command
    }

    /// Asks the results database something that has one answer.
    pub(crate) fn ask<T: rusqlite::types::FromSql>(&self, sql: &str) -> T {
        let database = rusqlite::Connection::open(self.results()).unwrap();
        database.busy_timeout(Duration::from_secs(5)).unwrap();
        database.query_row(sql, [], |row| row.get(0)).unwrap_or_else(|error| panic!("{sql}: {error}"))
    }

    /// Waits until the results hold at least so many intervals; the child must not end before.
    pub(crate) fn wait_for_intervals(&self, child: &mut Child, at_least: i64) {
        let deadline = Instant::now() + Duration::from_secs(60);
        while !self.results().exists() || self.count_intervals() < at_least {
            assert!(child.try_wait().unwrap().is_none(), "the check ended before it could be interrupted");
            assert!(Instant::now() < deadline, "no intervals were stored");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Waits until the latest run has begun a phase with such a name (LIKE); the child must not end before.
    pub(crate) fn wait_for_phase(&self, child: &mut Child, name: &str) {
        let deadline = Instant::now() + Duration::from_secs(300);
        let name = name.replace('\'', "''");
        let sql = format!(
            "SELECT count(*) FROM phase WHERE name LIKE '{name}' AND run = (SELECT run FROM phase ORDER BY rowid DESC LIMIT 1)"
        );
        while !self.results().exists() || self.count(&sql) == 0 {
            assert!(child.try_wait().unwrap().is_none(), "the run ended before {name} began");
            assert!(Instant::now() < deadline, "{name} has not begun");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn count_intervals(&self) -> i64 {
        self.count("SELECT count(*) FROM interval")
    }

    fn count(&self, sql: &str) -> i64 {
        let count = || {
            let database = rusqlite::Connection::open(self.results())?;
            database.busy_timeout(Duration::from_secs(5))?;
            database.query_row(sql, [], |row| row.get(0))
        };
        // Until the program has created its tables there is nothing to count.
        count().unwrap_or_default()
    }
}

/// Names in a directory, hidden ones too.
pub(crate) fn entries(directory: &Path) -> Vec<String> {
    let name =
        |entry: std::io::Result<fs::DirEntry>| entry.unwrap().file_name().to_string_lossy().into_owned();
    let mut names: Vec<_> = fs::read_dir(directory).unwrap().map(name).collect();
    names.sort();
    names
}

pub(crate) fn is_root() -> bool {
    iolite_sys::file::effective_user() == 0
}

pub(crate) fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// The JSON document that a check printed.
pub(crate) fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {}", stderr(output)))
}

/// The phases of a document with this name.
pub(crate) fn phases<'a>(document: &'a Value, name: &str) -> Vec<&'a Value> {
    let phases = document["phases"].as_array().unwrap();
    phases.iter().filter(|phase| phase["name"] == name).collect()
}

/// A file system mounted for a test.
pub(crate) struct Mount(PathBuf);

impl Mount {
    /// Mounts at `at`; `None`, with the reason printed, where that is not possible.
    pub(crate) fn new(arguments: &[&str], at: &Path) -> Option<Mount> {
        let mut command = Command::new("mount");
        command.args(arguments);
        Mount::by(command, at)
    }

    /// The same by a command, to which the place is added.
    pub(crate) fn by(mut command: Command, at: &Path) -> Option<Mount> {
        fs::create_dir_all(at).unwrap();
        match command.arg(at).output() {
            Ok(output) if output.status.success() => {
                // Where it is mounted read-only it stays as it is.
                let _ = fs::set_permissions(at, fs::Permissions::from_mode(0o777));
                Some(Mount(at.to_owned()))
            }
            Ok(output) => skip(&format!("{command:?}: {}", stderr(&output).trim())),
            Err(error) => skip(&format!("mount: {error}")),
        }
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        // Detached at least: what still uses it for a moment does not keep it in the tree.
        let unmounted = Command::new("umount").arg(&self.0).stderr(Stdio::null()).status();
        if !unmounted.is_ok_and(|status| status.success()) {
            let _ = Command::new("umount").arg("--lazy").arg(&self.0).status();
        }
    }
}

/// Whether a process that was killed is still in the system's tables: its parent, process 1 for orphans, has not asked for its
/// end yet. In containers it may be one that never does.
pub(crate) fn is_zombie(process: &str) -> bool {
    fs::read_to_string(format!("/proc/{process}/stat")).is_ok_and(|stat| stat.contains(") Z "))
}

/// Prints that a test, or a part of it, can't run here.
pub(crate) fn skip<T>(why: &str) -> Option<T> {
    eprintln!("skipped: {why}");
    None
}

/// What a [`Throttle`] lets through.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Limit {
    /// Reads a second.
    Iops(u32),
    /// Bytes read a second.
    BytesPerSecond(u64),
    /// Writes a second.
    WriteIops(u32),
}

/// A cgroup (version 1) whose reads from a device, or writes to it, are limited.
pub(crate) struct Throttle(PathBuf);

impl Throttle {
    /// A group that lets `iops` reads a second through; `None`, with the reason printed, where there is no such thing.
    pub(crate) fn reads(directory: &Path, iops: u32) -> Option<Throttle> {
        Throttle::new(directory, Limit::Iops(iops))
    }

    /// A group with this limit; `None`, with the reason printed, where there is no such thing.
    pub(crate) fn new(directory: &Path, limit: Limit) -> Option<Throttle> {
        let storage = iolite_observe::storage(directory).unwrap();
        let Some(leaf) = storage.leaves().next() else { return skip("no block device beneath the tests") };
        let parent = Path::new("/sys/fs/cgroup/blkio");
        let (file, limit) = match limit {
            Limit::Iops(iops) => ("blkio.throttle.read_iops_device", u64::from(iops)),
            Limit::BytesPerSecond(bytes) => ("blkio.throttle.read_bps_device", bytes),
            Limit::WriteIops(iops) => ("blkio.throttle.write_iops_device", u64::from(iops)),
        };
        if !parent.join(file).exists() {
            return skip("no cgroup v1 blkio controller to throttle with");
        }
        static GROUPS: AtomicU32 = AtomicU32::new(0);
        let number = GROUPS.fetch_add(1, Ordering::Relaxed);
        let group = parent.join(format!("iolite-test-{}-{number}", std::process::id()));
        if let Err(error) = fs::create_dir(&group) {
            return skip(&format!("a blkio cgroup cannot be made ({error}); root is needed"));
        }
        let throttle = Throttle(group);
        let limit = format!("{}:{} {limit}", leaf.number.0, leaf.number.1);
        match fs::write(throttle.0.join(file), limit) {
            Ok(()) => Some(throttle),
            Err(error) => skip(&format!("{} cannot be throttled: {error}", leaf.name)),
        }
    }

    /// Moves a process, with all of its threads, into the group, or out of it.
    pub(crate) fn holds(&self, process: u32, is_in: bool) {
        let group = if is_in { self.0.as_path() } else { Path::new("/sys/fs/cgroup/blkio") };
        fs::write(group.join("cgroup.procs"), process.to_string()).unwrap();
    }

    /// Runs a command inside the group.
    pub(crate) fn run(&self, command: &Command) -> Output {
        let mut shell = Command::new("sh");
        shell.arg("-c").arg("echo $$ > \"$0\"/cgroup.procs && exec \"$@\"").arg(&self.0);
        shell.arg(command.get_program()).args(command.get_args()).env("NO_COLOR", "1").stdin(Stdio::null());
        shell.output().unwrap()
    }
}

impl Drop for Throttle {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.0);
    }
}

/// A loop device over a file of zeros.
pub(crate) struct Loop(pub(crate) String);

impl Loop {
    /// `None`, with the reason printed, where there is none to be had.
    pub(crate) fn new(place: &TestDirectory, size: u64) -> Option<Loop> {
        let file = place.root.path().join("loop");
        fs::File::create(&file).unwrap().set_len(size).unwrap();
        Loop::over(&file, true)
    }

    /// Over a file that exists, past its page cache or through it.
    pub(crate) fn over(file: &Path, direct: bool) -> Option<Loop> {
        let direct = if direct { "--direct-io=on" } else { "--direct-io=off" };
        match Command::new("losetup").args(["--find", "--show", direct]).arg(file).output() {
            Ok(output) if output.status.success() => {
                Some(Loop(String::from_utf8(output.stdout).unwrap().trim().to_owned()))
            }
            Ok(output) => skip(&format!("losetup: {}", stderr(&output).trim())),
            Err(error) => skip(&format!("losetup: {error}")),
        }
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        let _ = Command::new("losetup").args(["--detach", &self.0]).status();
    }
}
