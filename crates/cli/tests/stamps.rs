//! The cache stamp: what a phase says about device and cache, by file system, way of access, residency and neighbour.

// Helpers of tests may give up as tests do.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stderr)]

mod common;

use std::fs::{self, File, OpenOptions};
use std::io::{Read, Seek, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

use common::*;
use rustix::fs::OFlags;
use serde_json::Value;

/// Bytes of each file, and of each of its blocks.
const SIZE: usize = 8 << 20;
const BLOCK: usize = 256 << 10;

/// A cell of the table, apart from file system and neighbour: each is a job with a file of its own.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Cell {
    write: bool,
    direct: bool,
    resident: bool,
}

impl Cell {
    fn all() -> Vec<Cell> {
        let both = [false, true];
        let cell = |bits: usize| Cell {
            write: both[bits & 1],
            direct: both[bits >> 1 & 1],
            resident: both[bits >> 2],
        };
        (0..8).map(cell).collect()
    }

    fn name(self) -> String {
        let word = |condition, yes: &str, no: &str| if condition { yes.to_owned() } else { no.to_owned() };
        let way = word(self.direct, "direct", "buffered");
        format!("{}-{way}-{}", word(self.write, "write", "read"), word(self.resident, "resident", "evicted"))
    }

    /// The stamps that are true of it on storage with a device.
    fn expected(self, exact: bool) -> Vec<&'static str> {
        let reached = match self {
            // Dirty pages are written back later.
            Cell { write: true, direct: false, .. } => "cached",
            Cell { direct: true, .. } | Cell { resident: false, .. } => "device",
            Cell { .. } => "cached",
        };
        let mut stamps = vec![reached];
        if self.write && !self.direct {
            // The kernel may begin to write them back at any time.
            stamps.push("partly cached");
        }
        // Beneath a loop device the kernel does not say for whom it reads. A test host may have other neighbours too.
        if !exact && !self.write && reached == "device" {
            stamps.push("unknown (other I/O on the device)");
        }
        stamps
    }
}

/// Reads and writes another file on the same device, past the cache, until dropped.
struct Neighbour {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Neighbour {
    fn start(directory: &Path) -> Neighbour {
        let path = directory.join("neighbour");
        fs::write(&path, vec![7; 8 << 20]).unwrap();
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = stop.clone();
        let thread = thread::spawn(move || {
            let open = |flags: i32| OpenOptions::new().read(true).write(true).custom_flags(flags).open(&path);
            // Where O_DIRECT is refused, the cache is dropped by reopening; there is no device to disturb then.
            let mut file = open(OFlags::DIRECT.bits() as i32).or_else(|_| open(0)).unwrap();
            let mut memory = vec![0_u8; (1 << 20) + 4096];
            let start = memory.as_ptr().align_offset(4096);
            let block = &mut memory[start..start + (1 << 20)];
            while !stopped.load(Ordering::Relaxed) {
                file.rewind().unwrap();
                while file.read(block).unwrap() > 0 {}
                file.rewind().unwrap();
                let _ = file.write_all(block);
            }
        });
        Neighbour { stop, thread: Some(thread) }
    }
}

impl Drop for Neighbour {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        let _ = self.thread.take().unwrap().join();
    }
}

/// A file of noise, resident or not.
fn target(path: &Path, resident: bool) {
    let mut noise = 1_u64;
    let mut bytes = vec![0_u8; SIZE];
    for word in bytes.chunks_exact_mut(8) {
        noise = noise.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        word.copy_from_slice(&noise.to_le_bytes());
    }
    fs::write(path, &bytes).unwrap();
    let file = File::open(path).unwrap();
    file.sync_all().unwrap();
    if resident {
        assert_eq!(fs::read(path).unwrap().len(), SIZE);
    } else {
        iolite_sys::page_cache::evict(&file, 0, SIZE as u64).unwrap();
    }
}

/// The stamps of all cells in a directory, by the cells' names.
fn stamps(place: &TestDirectory, directory: &Path) -> Vec<(Cell, Value)> {
    let mut command = Command::new(IOLITE);
    command.args(["fio", "--output-format=json", "--invalidate=0", "--ioengine=psync"]);
    for cell in Cell::all() {
        let file = directory.join(cell.name());
        target(&file, cell.resident);
        let direct = i32::from(cell.direct);
        let way = if cell.write { "randwrite" } else { "randread" };
        command.arg(format!("--name={}", cell.name())).arg(format!("--filename={}", file.display()));
        // Slow enough for a neighbour to be noticed.
        command.args([format!("--rw={way}"), format!("--direct={direct}"), format!("--bs={BLOCK}")]);
        command.args([format!("--size={SIZE}"), "--rate_iops=320".into(), "--stonewall".into()]);
    }
    command.env("XDG_DATA_HOME", place.root.path()).env("NO_COLOR", "1").stdin(Stdio::null());
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}{}", stderr(&output), String::from_utf8_lossy(&output.stdout));
    let text = String::from_utf8(output.stdout).unwrap();
    let document: Value = serde_json::from_str(&text[text.find("{\n").unwrap()..]).unwrap();
    let jobs = document["jobs"].as_array().unwrap();
    let stamp = |cell: Cell| {
        let job = jobs.iter().find(|job| job["jobname"] == cell.name().as_str()).unwrap();
        job["iolite"]["phases"][0]["cache"].clone()
    };
    Cell::all().into_iter().map(|cell| (cell, stamp(cell))).collect()
}

/// All cells in a directory with a device beneath, alone and with a neighbour. `exact` where the kernel accounts what the leaf
/// device does to those who asked for it.
fn all_cells(place: &TestDirectory, directory: &Path, exact: bool) {
    fs::create_dir_all(directory).unwrap();
    let mut wrong = Vec::new();
    for beside in [false, true] {
        let neighbour = beside.then(|| Neighbour::start(directory));
        for (cell, cache) in stamps(place, directory) {
            let expected = cell.expected(exact);
            if !expected.contains(&cache["stamp"].as_str().unwrap()) {
                wrong.push(format!("{}, neighbour {beside}: expected {expected:?}: {cache}", cell.name()));
            }
        }
        drop(neighbour);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Whether the kernel counts what a test of stamps rests on.
fn accounts_io() -> bool {
    let there = fs::read_to_string("/proc/self/io").is_ok();
    let file = tempfile::tempfile_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let dirty = iolite_sys::page_cache::dirty_bytes(&file, 0, 1).is_ok();
    if !there || !dirty {
        skip::<()>("this kernel has no /proc/self/io or no cachestat (Linux 6.5)");
    }
    there && dirty
}

#[test]
fn stamps_on_the_disk_of_the_checkout() {
    let place = TestDirectory::alone();
    let storage = iolite_observe::storage(&place.data()).unwrap();
    let kind = storage.filesystem.kind.as_str();
    if !accounts_io() || !matches!(kind, "ext4" | "xfs") || storage.devices.iter().any(|d| d.kind == "loop") {
        return skip(&format!("{kind} is not a file system on a disk of its own")).unwrap_or_default();
    }
    all_cells(&place, &place.data(), true);
}

/// A file system of this kind on a loop device; `None`, with the reason printed, where it can't be made.
fn formatted(place: &TestDirectory, kind: &str, size: u64) -> Option<(Mount, Loop, PathBuf)> {
    let device = Loop::new(place, size)?;
    let made = Command::new(format!("mkfs.{kind}")).arg("-q").arg(&device.0).output();
    match made {
        Ok(output) if output.status.success() => {}
        Ok(output) => return skip(&format!("mkfs.{kind}: {}", stderr(&output).trim())),
        Err(error) => return skip(&format!("mkfs.{kind}: {error}")),
    }
    let at = place.root.path().join("mounted");
    let mount = Mount::new(&["-t", kind, &device.0], &at)?;
    Some((mount, device, at.join("data")))
}

/// Has it compressed by btrfs, which stores it in less than half of its blocks: the text of numbers.
#[test]
fn a_file_that_btrfs_compresses_is_stamped_so() {
    let place = TestDirectory::alone();
    if !is_root() || !accounts_io() {
        return skip("root is needed, for a loop device").unwrap_or_default();
    }
    let Some(device) = Loop::new(&place, 256 << 20) else { return };
    match Command::new("mkfs.btrfs").arg("-q").arg(&device.0).output() {
        Ok(output) if output.status.success() => {}
        other => return skip(&format!("mkfs.btrfs: {other:?}")).unwrap_or_default(),
    }
    let at = place.root.path().join("mounted");
    let Some(_mount) = Mount::new(&["-t", "btrfs", "-o", "compress-force=zstd", &device.0], &at) else {
        return;
    };
    let text: String = (0..SIZE / 8).map(|number| format!("{number:7} ")).collect();
    let path = at.join("text");
    fs::write(&path, text).unwrap();
    let file = File::open(&path).unwrap();
    file.sync_all().unwrap();
    iolite_sys::page_cache::evict(&file, 0, SIZE as u64).unwrap();
    let name = format!("--filename={}", path.display());
    let cache = cache_of(&place, &[&name, "--rw=randread"]);
    assert_eq!((&cache["stamp"], cache["compressed"].as_f64()), (&"compressed".into(), Some(1.0)), "{cache}");
}

fn on_loop(kind: &str, size: u64) {
    let place = TestDirectory::alone();
    if !is_root() || !accounts_io() {
        return skip("root is needed, for a loop device").unwrap_or_default();
    }
    let Some((_mount, _device, directory)) = formatted(&place, kind, size) else { return };
    all_cells(&place, &directory, false);
}

#[test]
fn stamps_on_ext4() {
    on_loop("ext4", 192 << 20);
}

#[test]
fn stamps_on_xfs() {
    on_loop("xfs", 320 << 20);
}

#[test]
fn stamps_on_btrfs() {
    on_loop("btrfs", 256 << 20);
}

#[test]
fn memory_is_never_stamped_device() {
    let place = TestDirectory::alone();
    let directory = place.root.path().join("memory");
    let Some(_mount) = Mount::new(&["-t", "tmpfs", "tmpfs"], &directory) else { return };
    let data = directory.join("data");
    fs::create_dir(&data).unwrap();
    for beside in [false, true] {
        let _neighbour = beside.then(|| Neighbour::start(&data));
        for (cell, cache) in stamps(&place, &data) {
            // The pages of tmpfs are the page cache.
            let expected = if cell.write { "unknown" } else { "cached" };
            assert_eq!(cache["stamp"], expected, "{}: {cache}", cell.name());
            assert_eq!(cache["direct_confirmed"], false, "{}", cell.name());
        }
    }
}

/// A job of fio's in a place's data directory: what its only phase says of the cache.
fn cache_of(place: &TestDirectory, arguments: &[&str]) -> Value {
    let mut command = Command::new(IOLITE);
    command.args(["fio", "--output-format=json", "--name=x", "--bs=256k", "--size=8m"]).args(arguments);
    command.current_dir(place.data()).env("XDG_DATA_HOME", place.root.path()).stdin(Stdio::null());
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}{}", stderr(&output), String::from_utf8_lossy(&output.stdout));
    let text = String::from_utf8(output.stdout).unwrap();
    let document: Value = serde_json::from_str(&text[text.find("{\n").unwrap()..]).unwrap();
    document["jobs"][0]["iolite"]["phases"][0]["cache"].clone()
}

#[test]
fn what_lays_out_a_file_is_no_part_of_the_phase() {
    let place = TestDirectory::alone();
    if !accounts_io() || iolite_observe::storage(&place.data()).unwrap().leaves().next().is_none() {
        return;
    }
    let cache = cache_of(&place, &["--rw=randwrite", "--overwrite=1"]);
    assert_eq!(cache["stamp"], "cached", "dirty pages at the end: {cache}");
}

/// A layout that completes a file moves less than half of what the phase does.
#[test]
fn what_completes_a_file_is_no_part_of_the_phase() {
    let place = TestDirectory::alone();
    if !accounts_io() || iolite_observe::storage(&place.data()).unwrap().leaves().next().is_none() {
        return;
    }
    fs::write(place.data().join("part"), vec![7; SIZE / 4 * 3]).unwrap();
    File::open(place.data().join("part")).unwrap().sync_all().unwrap();
    let cache = cache_of(&place, &["--filename=part", "--rw=randwrite", "--overwrite=1"]);
    assert_eq!(cache["stamp"], "cached", "dirty pages at the end: {cache}");
}

#[test]
fn a_file_of_zeros_is_stamped_so() {
    let place = TestDirectory::alone();
    let path = place.data().join("zeros");
    fs::write(&path, vec![0; SIZE]).unwrap();
    File::open(&path).unwrap().sync_all().unwrap();
    for direct in ["--direct=0", "--direct=1"] {
        let cache = cache_of(&place, &["--filename=zeros", "--rw=randread", direct]);
        assert_eq!((&cache["stamp"], cache["zeros"].as_f64()), (&"zeros".into(), Some(1.0)), "{cache}");
    }
    // Who only writes has no reads that could need no medium.
    let cache = cache_of(&place, &["--filename=zeros", "--rw=randwrite", "--direct=1"]);
    assert!(cache["zeros"].is_null() && cache["stamp"] != "zeros", "{cache}");
}

#[test]
fn a_trimmed_device_is_stamped_so() {
    let place = TestDirectory::alone();
    if !is_root() {
        return skip("root is needed, for a loop device").unwrap_or_default();
    }
    let Some(device) = Loop::new(&place, SIZE as u64) else { return };
    let name = format!("--filename={}", device.0);
    let read = || cache_of(&place, &[&name, "--rw=randread", "--direct=1"]);
    cache_of(&place, &[&name, "--rw=write", "--direct=1", "--allow-overwrite"]);
    let cache = read();
    assert_eq!(cache["zeros"].as_f64(), Some(0.0), "{cache}");
    assert_ne!(cache["stamp"], "zeros", "{cache}");
    match Command::new("blkdiscard").arg(&device.0).output() {
        Ok(output) if output.status.success() => {}
        other => return skip(&format!("blkdiscard: {other:?}")).unwrap_or_default(),
    }
    let cache = read();
    assert_eq!((&cache["stamp"], cache["zeros"].as_f64()), (&"zeros".into(), Some(1.0)), "{cache}");
}

#[test]
fn holes_and_unwritten_blocks_are_stamped_so() {
    let place = TestDirectory::alone();
    let path = place.data().join("hole");
    File::create(&path).unwrap().set_len(SIZE as u64).unwrap();
    if let Err(error) = iolite_sys::extents::stored(&File::open(&path).unwrap(), SIZE as u64) {
        return skip(&format!("no map of extents here: {error}")).unwrap_or_default();
    }
    let cache = cache_of(&place, &["--filename=hole", "--rw=randread"]);
    assert_eq!((&cache["stamp"], cache["unwritten"].as_f64()), (&"unwritten".into(), Some(1.0)), "{cache}");
    let mut half = OpenOptions::new().write(true).open(&path).unwrap();
    half.write_all(&vec![7; SIZE / 2]).unwrap();
    half.sync_all().unwrap();
    let cache = cache_of(&place, &["--filename=hole", "--rw=randread"]);
    assert_eq!((&cache["stamp"], cache["unwritten"].as_f64()), (&"unwritten".into(), Some(0.5)), "{cache}");
}
