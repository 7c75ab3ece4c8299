//! `iolite study` on devices whose truth is known: a loop device over memory, used by nobody else.

// Helpers of tests may give up as tests do.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stderr)]

mod common;

use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use common::*;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

/// Size of the file that is studied.
const SIZE: u64 = 32 << 20;

/// A file on a file system on a device of this test's own.
struct Disk {
    place: TestDirectory,
    // Before the device, so that it is unmounted first.
    mount: Option<Mount>,
    device: Loop,
    /// The device's read-ahead as it was: a loop device keeps it for whoever gets it next.
    original: String,
    _memory: tempfile::TempDir,
}

impl Disk {
    /// `None`, with the reason printed, where there can be none.
    fn new() -> Option<Disk> {
        if !is_root() {
            return skip("a loop device and a file system need root");
        }
        let place = TestDirectory::alone();
        let Ok(memory) = tempfile::tempdir_in("/dev/shm") else { return skip("no /dev/shm") };
        let image = memory.path().join("image");
        fs::File::create(&image).unwrap().set_len(256 << 20).unwrap();
        let device = Loop::over(&image, false)?;
        match Command::new("mkfs.ext4").args(["-q", &device.0]).status() {
            Ok(status) if status.success() => {}
            other => return skip(&format!("mkfs.ext4: {other:?}")),
        }
        let mount = Mount::new(&[&device.0], &place.root.path().join("mounted"))?;
        let (mount, original) = (Some(mount), String::new());
        let mut disk = Disk { place, mount, device, original, _memory: memory };
        disk.original = fs::read_to_string(disk.read_ahead()).unwrap();
        let bytes: Vec<u8> = (0..SIZE).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
        fs::write(disk.file(), bytes).unwrap();
        fs::File::open(disk.file()).unwrap().sync_all().unwrap();
        Some(disk)
    }

    fn directory(&self) -> PathBuf {
        self.place.root.path().join("mounted")
    }

    fn file(&self) -> PathBuf {
        self.directory().join("file")
    }

    fn read_ahead(&self) -> PathBuf {
        let name = self.device.0.trim_start_matches("/dev/");
        Path::new("/sys/block").join(name).join("queue/read_ahead_kb")
    }

    fn command(&self, arguments: &[&str], target: &Path) -> Command {
        let mut command = Command::new(IOLITE);
        command.args(["study", arguments[0]]).arg(target).args(&arguments[1..]);
        command.arg("--results").arg(self.place.results()).args(["--json", "--quiet"]);
        command.env("NO_COLOR", "1").stdin(Stdio::null());
        command
    }

    fn study(&self, arguments: &[&str], target: &Path) -> Value {
        let output = self.command(arguments, target).output().unwrap();
        assert_eq!(
            output.status.code(),
            Some(0),
            "{}{}",
            stderr(&output),
            String::from_utf8_lossy(&output.stdout)
        );
        json(&output)
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = fs::write(self.read_ahead(), &self.original);
        self.mount = None;
    }
}

fn window<'a>(document: &'a Value, keys: &[(&str, Value)]) -> &'a Value {
    let windows = document["windows"].as_array().unwrap();
    let matches = |window: &&Value| keys.iter().all(|(key, value)| window[*key] == *value);
    windows.iter().find(matches).unwrap_or_else(|| panic!("no {keys:?}: {windows:#?}"))
}

fn refused(output: &Output, part: &str) {
    let text = stderr(output);
    assert_eq!(output.status.code(), Some(2), "{text}");
    assert!(text.contains(part) && output.stdout.is_empty(), "{text}");
}

#[test]
fn the_page_cache_is_seen_through() {
    let Some(disk) = Disk::new() else { return };
    let before = fs::read(disk.file()).unwrap();
    let document = disk.study(&["cache", "--window", "300ms", "--device", &disk.device.0], &disk.file());
    for order in ["random", "sequential"] {
        let of = |way: &str| window(&document, &[("way", way.into()), ("order", order.into())]);
        let read = |way: &str| {
            let window = of(way);
            (window["device"]["read_bytes"].as_u64().unwrap(), window["requested_bytes"].as_u64().unwrap())
        };
        let (device, asked) = read("cold");
        assert!(asked > 0 && asked <= SIZE && device >= asked, "{order}: {device} of {asked}");
        assert_eq!(of("cold")["resident_before"], 0.0);
        let (device, asked) = read("warm");
        // Somebody else may look at the new device meanwhile (udev).
        assert!(asked > 0 && device < 64 << 10, "{order}: {device} of {asked}");
        assert_eq!(of("warm")["resident_before"], 1.0);
        for way in ["direct", "raw"] {
            let (device, asked) = read(way);
            assert!(
                asked > 0 && device >= asked && device < asked + (1 << 20),
                "{order} {way}: {device} of {asked}"
            );
            let requests = (&of(way)["device"]["reads"], &of(way)["requested_operations"]);
            assert!(requests.0.as_u64() >= requests.1.as_u64(), "{order} {way}: {requests:?}");
        }
    }
    // Read-ahead joins what is read one after the other.
    let cold = window(&document, &[("way", "cold".into()), ("order", "sequential".into())]);
    assert!(cold["device"]["reads"].as_u64() < cold["requested_operations"].as_u64(), "{cold}");
    assert!(document["findings"].as_array().unwrap().iter().any(|finding| finding["kind"] == "read-ahead"));
    assert_eq!(fs::read(disk.file()).unwrap(), before, "it is only read");
    assert_eq!(disk.place.ask::<String>("SELECT ending FROM run"), "completed");
}

#[test]
fn read_ahead_is_set_and_restored() {
    let Some(disk) = Disk::new() else { return };
    fs::write(disk.read_ahead(), "192").unwrap();
    let document = disk.study(&["readahead", "--values", "0,256KiB", "--window", "300ms"], &disk.file());
    assert_eq!(fs::read_to_string(disk.read_ahead()).unwrap().trim(), "192");
    assert_eq!(document["setting"]["original_bytes"], 192 << 10);
    let requests = |kib: u64| {
        let keys = [("read_ahead_bytes", (kib << 10).into()), ("order", "sequential".into())];
        let window = window(&document, &keys);
        let (reads, bytes) =
            (window["device"]["reads"].as_u64().unwrap(), window["device"]["read_bytes"].as_u64().unwrap());
        bytes / reads
    };
    // Without read-ahead each page is a request of its own; with it requests become as large as it is.
    // The file system may look at a smaller block of its own meanwhile.
    assert!((3 << 10..=4096).contains(&requests(0)), "{}", requests(0));
    assert!(requests(256) > 128 << 10, "{}", requests(256));
}

#[test]
fn an_interrupted_study_restores_read_ahead() {
    let Some(disk) = Disk::new() else { return };
    fs::write(disk.read_ahead(), "192").unwrap();
    // So many settings that it is far from its end when the first is seen.
    let values: Vec<_> = (128..256).map(|pages| format!("{}KiB", pages * 4)).collect();
    let arguments = ["readahead", "--values", &values.join(","), "--window", "60s", "--make", "64MiB"];
    let mut command = disk.command(&arguments, &disk.directory());
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let deadline = Instant::now() + Duration::from_secs(60);
    while fs::read_to_string(disk.read_ahead()).unwrap().trim() == "192" {
        assert!(child.try_wait().unwrap().is_none() && Instant::now() < deadline, "it was never set");
        std::thread::sleep(Duration::from_millis(5));
    }
    let process = Pid::from_child(&child);
    // Twice: what would end another command at once must not leave this one's setting behind.
    kill_process(process, Signal::INT).unwrap();
    kill_process(process, Signal::INT).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{}", stderr(&output));
    assert_eq!(fs::read_to_string(disk.read_ahead()).unwrap().trim(), "192");
    assert_eq!(json(&output)["ending"]["kind"], "interrupted");
    assert!(stderr(&output).contains("echo 192 > /sys/block/loop"), "{}", stderr(&output));
    assert_eq!(entries(&disk.directory()), ["file", "lost+found"]);
}

#[test]
fn read_ahead_needs_root_and_a_device() {
    let Some(disk) = Disk::new() else { return };
    let mut command = disk.command(&["readahead"], &disk.file());
    fs::set_permissions(disk.place.root.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let output = command.uid(65_534).gid(65_534).output();
    match output {
        Ok(output) => {
            assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
            assert!(stderr(&output).contains("only root may change it"), "{}", stderr(&output));
        }
        // The program lies where only root may look.
        Err(error) => eprintln!("skipped in part: {error}"),
    }
    let output = disk.command(&["readahead", "--make", "1MiB"], Path::new("/dev/shm")).output().unwrap();
    assert!(stderr(&output).contains("is not on a block device"), "{}", stderr(&output));
}

#[test]
fn block_sizes_make_a_surface() {
    let Some(disk) = Disk::new() else { return };
    let small =
        ["blocksize", "--sizes", "4KiB,64KiB", "--window", "200ms", "--depth", "2", "--make", "32MiB"];
    let document = disk.study(&[&small[..], &["--write"]].concat(), &disk.directory());
    assert_eq!(document["windows"].as_array().unwrap().len(), 8);
    let writes = window(&document, &[("block_bytes", 65_536.into()), ("read_percent", 0.into())]);
    assert!(writes["device"]["written_bytes"].as_u64() >= writes["requested_bytes"].as_u64(), "{writes}");
    assert_eq!(entries(&disk.directory()), ["file", "lost+found"], "its own file is removed");

    // What exists is written to only where that is said.
    let before = fs::read(disk.file()).unwrap();
    let on_file = ["blocksize", "--sizes", "4KiB", "--window", "100ms", "--size", "1MiB"];
    let document = disk.study(&on_file, &disk.file());
    assert_eq!(document["windows"].as_array().unwrap().len(), 1);
    assert_eq!(fs::read(disk.file()).unwrap(), before);
    refused(
        &disk.command(&[&on_file[..], &["--write"]].concat(), &disk.file()).output().unwrap(),
        "--overwrite anything",
    );
    let blank = [&on_file[..], &["--write", "--overwrite", "blank"]].concat();
    let output = disk.command(&blank, &disk.file()).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(json(&output)["ending"]["error"].as_str().unwrap().contains("not blank"), "{}", stderr(&output));
    assert_eq!(fs::read(disk.file()).unwrap(), before);
    disk.study(&[&on_file[..], &["--write", "--overwrite", "anything"]].concat(), &disk.file());
    let after = fs::read(disk.file()).unwrap();
    assert!(after != before && after.len() == before.len() && after[1 << 20..] == before[1 << 20..]);
}

#[test]
fn what_can_not_be_studied_is_reported() {
    let place = TestDirectory::alone();
    let file = place.data().join("file");
    fs::write(&file, vec![1; 1 << 20]).unwrap();
    fs::write(place.data().join("empty"), "").unwrap();
    let study = |arguments: &[&str], target: &Path| {
        let mut command = Command::new(IOLITE);
        command
            .args(["study", arguments[0]])
            .arg(target)
            .args(&arguments[1..])
            .arg("--results")
            .arg(place.results());
        command.stdin(Stdio::null()).output().unwrap()
    };
    refused(&study(&["cache"], &place.data().join("missing")), "check the path");
    refused(&study(&["cache"], &place.data().join("empty")), "is empty");
    refused(&study(&["cache"], Path::new("/dev/null")), "not a regular file, block device");
    refused(&study(&["cache", "--size", "2MiB"], &file), "--size 2 MiB is larger than");
    refused(&study(&["cache", "--make", "2MiB"], &file), "already exists");
    refused(&study(&["cache", "--size", "2MiB"], &place.data()), "use --make");
    refused(&study(&["cache", "--make", "999TiB"], &place.data()), "free some space");
    refused(&study(&["cache", "--block", "2MiB"], &file), "do not fit");
    refused(&study(&["cache", "--device", "/dev/null"], &file), "not a regular file");
    refused(&study(&["cache", "--device", file.to_str().unwrap()], &file), "is not a block device");
    refused(&study(&["blocksize", "--sizes", "0"], &file), "from 1 byte to 1 GiB");
    refused(&study(&["blocksize", "--overwrite", "anything"], &file), "--write");
    refused(
        &study(&["blocksize", "--write", "--overwrite", "anything"], &place.data()),
        "existing files and devices only",
    );
    refused(&study(&["cache", "--window", "1ms"], &file), "from 100ms to 1h");
    assert!(!place.results().exists(), "nothing was begun");
}
