//! The files of private servers as their first start creates them, made once for all test programs of a run: each time it takes
//! seconds of a CPU, and hundreds of syncs. What creates them has tests of its own, which do without.

use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Set by `.ci/run_tests`: a directory for such files, removed in the end. Without it each server creates its own.
const TEMPLATES: &str = "IOLITE_TEST_SERVERS";

/// Fills an empty directory with the files of a server of this kind that was started and stopped once. `create` does that in another
/// directory, and returns whether it could.
pub(crate) fn fill(directory: &Path, kind: &str, create: impl FnOnce(&Path) -> bool) {
    let Some(templates) = std::env::var_os(TEMPLATES).map(PathBuf::from) else { return };
    let (template, unfinished) = (templates.join(kind), templates.join(format!("{kind}-")));
    // One program creates them, and the others wait.
    let lock = File::create(templates.join(format!("{kind}.lock"))).unwrap();
    lock.lock().unwrap();
    if !template.exists() {
        let _ = fs::remove_dir_all(&unfinished);
        // What it lacks or finds wrong is reported by the server's own start.
        if !create(&unfinished) {
            return;
        }
        for log in ["log", "server.log"] {
            if let Ok(log) = File::options().write(true).open(unfinished.join(log)) {
                log.set_len(0).unwrap();
            }
        }
        fs::rename(&unfinished, &template).unwrap();
    }
    drop(lock);
    let copied = Command::new("cp").arg("-a").arg(template.join(".")).arg(directory).status();
    assert!(copied.unwrap().success(), "{} cannot be copied", template.display());
    allocate(directory);
}

/// Allocates what the copies of files in a directory lack: servers allocate their logs in full.
fn allocate(directory: &Path) {
    for entry in fs::read_dir(directory).unwrap() {
        let entry = entry.unwrap();
        let found = entry.metadata().unwrap();
        if found.is_dir() {
            allocate(&entry.path());
        } else if found.is_file() && found.blocks() * 512 < found.len() {
            let file = File::options().write(true).open(entry.path()).unwrap();
            // Not on every file system, where they are allocated when they are written.
            let _ = rustix::fs::fallocate(&file, rustix::fs::FallocateFlags::empty(), 0, found.len());
        }
    }
}
