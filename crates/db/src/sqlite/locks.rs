//! Other processes that hold a database's write lock, as the kernel lists them: opening the file to ask would drop our own
//! locks on it when it is closed.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use crate::instance::LockWait;

/// Byte of the shared memory file that a writer locks (SQLite, WAL-mode file format, 2.3: WAL locks, WAL_WRITE_LOCK).
const WRITE_LOCK: u64 = 120;

/// Processes other than this one that hold the write lock of databases in `directory`.
pub(super) fn held_by_others(directory: &Path) -> Vec<LockWait> {
    let (Ok(entries), Ok(locks)) = (fs::read_dir(directory), fs::read_to_string("/proc/locks")) else {
        return Vec::new();
    };
    let mut held = Vec::new();
    for path in entries.filter_map(|entry| Some(entry.ok()?.path())) {
        let Some(database) = path.to_str().and_then(|path| path.strip_suffix("-shm")) else { continue };
        let Ok(meta) = fs::metadata(&path) else { continue };
        for pid in holders(&locks, meta.ino()).filter(|pid| *pid != std::process::id()) {
            let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
            let holder = format!("process {pid}, {}", name.trim_end());
            held.push(LockWait { waiting: format!("writers of {database}"), holder });
        }
    }
    held
}

/// Processes that hold the write lock in the file with this inode: lines of `N: POSIX ADVISORY WRITE PID DEVICE:INODE FROM TO`.
/// The device is left out: file systems such as btrfs show another there than stat does.
fn holders(locks: &str, inode: u64) -> impl Iterator<Item = u32> {
    locks.lines().filter_map(move |line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [_, "POSIX", _, "WRITE", pid, file, from, to] = words[..] else { return None };
        let number: u64 = file.rsplit(':').next()?.parse().ok()?;
        let covers =
            from.parse::<u64>().ok()? <= WRITE_LOCK && (to == "EOF" || to.parse::<u64>().ok()? >= WRITE_LOCK);
        if number == inode && covers { pid.parse().ok() } else { None }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holders_of_the_write_lock_are_found() {
        let locks = "1: POSIX  ADVISORY  WRITE 11 fe:01:77 120 120\n2: POSIX  ADVISORY  READ 12 fe:01:77 124 124\n\
                     3: -> POSIX  ADVISORY  WRITE 13 fe:01:77 120 120\n4: POSIX  ADVISORY  WRITE 14 fe:01:78 120 120\n\
                     5: POSIX  ADVISORY  WRITE 15 fe:01:77 0 EOF\n6: FLOCK  ADVISORY  WRITE 16 fe:01:77 0 EOF\n";
        assert_eq!(holders(locks, 77).collect::<Vec<_>>(), [11, 15]);
        assert_eq!(holders("", 77).count(), 0);
    }
}
