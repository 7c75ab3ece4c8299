//! What a check has open while it runs, as the kernel shows it.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use rustix::fs::OFlags;
use serde_json::Value;

use crate::common::*;

/// Starts a program, and calls `look` with its directory in /proc as long as it runs.
fn watched(command: &mut Command, mut look: impl FnMut(&Path)) -> Output {
    let child: Child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let process = PathBuf::from(format!("/proc/{}", child.id()));
    std::thread::scope(|scope| {
        let waiter = scope.spawn(|| child.wait_with_output().unwrap());
        while !waiter.is_finished() {
            look(&process);
            std::thread::sleep(Duration::from_millis(5));
        }
        waiter.join().unwrap()
    })
}

/// The descriptors of a process that are open just now: each by its number, with the path that it stands for.
fn descriptors(process: &Path) -> Vec<(String, PathBuf)> {
    let found = fs::read_dir(process.join("fd")).into_iter().flatten().flatten();
    let named =
        found.map(|entry| (entry.file_name().to_string_lossy().into_owned(), fs::read_link(entry.path())));
    named.filter_map(|(number, path)| Some((number, path.ok()?))).collect()
}

/// What a program prints, and the flags (open(2)) of the files that it had open meanwhile, by their names.
pub(crate) fn output_and_flags(command: &mut Command) -> (Output, BTreeSet<(String, u32)>) {
    let mut opened = BTreeSet::new();
    let output = watched(command, |process| {
        for (number, path) in descriptors(process) {
            let Ok(info) = fs::read_to_string(process.join("fdinfo").join(number)) else { continue };
            let flags = info.lines().find_map(|line| line.strip_prefix("flags:"));
            let flags = flags.and_then(|flags| u32::from_str_radix(flags.trim(), 8).ok());
            let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
            opened.extend(name.zip(flags));
        }
    });
    (output, opened)
}

/// O_DSYNC of include/uapi/asm-generic/fcntl.h; rustix's constant of that name has O_SYNC's bits.
const DSYNC: u32 = 0o10000;

/// A log that is overwritten, whose blocks have been written before, and files that grow: each with the flags that its database uses.
pub(crate) fn commits_are_done_as_named(document: &Value, opened: &BTreeSet<(String, u32)>) {
    for (name, direct) in [
        ("commit, buffered append", false),
        ("commit, growing file", false),
        ("commit, direct overwrite", true),
        ("commit, buffered overwrite", false),
        ("commit, O_DSYNC overwrite", false),
    ] {
        for phase in phases(document, name) {
            let cache = &phase["cache"];
            assert_eq!((&cache["direct"], &cache["synchronised"]), (&direct.into(), &true.into()), "{name}");
            if name.ends_with("overwrite") {
                let unwritten = cache["unwritten"].as_f64();
                assert!(unwritten.is_none_or(|share| share < 0.02), "{name}: {cache}");
            }
        }
    }
    let way = |flags: &u32| flags & (OFlags::DIRECT.bits() | DSYNC);
    let with = |name: &str, flags: u32| {
        opened.iter().any(|(found, all)| found.starts_with(name) && way(all) == flags)
    };
    assert!(with("commit-append", 0) && with("commit-growing", 0), "{opened:?}");
    let mut grown = opened.iter().filter(|(name, _)| name.starts_with("commit-"));
    assert!(grown.all(|(_, flags)| way(flags) == 0), "{opened:?}");
    assert!(with("data", 0) && with("data", DSYNC), "overwritten: {opened:?}");
}

/// Of the data file, as the map of its extents (FIEMAP) shows it while the check runs.
#[test]
fn the_data_file_covers_most_of_its_file_system() {
    const SIZE: u64 = 4 << 30;
    let place = TestDirectory::new();
    let Some(device) = Loop::new(&place, SIZE) else { return };
    let made = Command::new("mkfs.ext4").args(["-q", &device.0]).status();
    if !made.is_ok_and(|status| status.success()) {
        return skip("no mkfs.ext4 here").unwrap_or_default();
    }
    let at = place.root.path().join("spread");
    let Some(_mount) = Mount::new(&[&device.0], &at) else { return };
    let mut covered = (0, 0);
    let output =
        watched(&mut place.check(&at, &["--budget-time", "10s", "--budget-space", "600M"]), |process| {
            for (number, path) in descriptors(process) {
                let of_data = path.starts_with(&at) && path.file_name().is_some_and(|name| name == "data");
                let Some(file) = of_data.then(|| File::open(process.join("fd").join(number)).ok()).flatten()
                else {
                    continue;
                };
                let placed =
                    file.metadata().and_then(|found| iolite_sys::extents::placed(&file, found.len()));
                covered =
                    placed.map_or(covered, |placed| covered.max((placed.end - placed.start, placed.pieces)));
            }
        });
    let (range, pieces) = covered;
    assert!(output.status.code().is_some(), "{}", stderr(&output));
    assert!(
        range > SIZE / 2 && pieces >= 8,
        "{pieces} pieces within {range} of {SIZE} bytes: {}",
        stderr(&output)
    );
}
