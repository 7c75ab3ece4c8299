//! The process of a server on this host, which the kernel accounts the server's I/O to.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// The process of this number, if it works in `directory`, as servers do in their data directory. A server in a container has
/// numbers of its own, which are other processes' here. `None` also where this user may not look at the process.
pub(crate) fn working_in(process: u32, directory: &Path) -> Option<u32> {
    let identity = |path: &Path| fs::metadata(path).ok().map(|found| (found.dev(), found.ino()));
    let there = identity(Path::new(&format!("/proc/{process}/cwd")))?;
    (there == identity(directory)?).then_some(process)
}

/// The parent of a process (proc_pid_stat(5), field 4).
pub(crate) fn parent_of(process: u32) -> Option<u32> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The name, in parentheses, may contain anything.
    stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_known_by_its_directory_and_its_parent() {
        let directory = tempfile::tempdir().unwrap();
        let mut child = std::process::Command::new("cat")
            .current_dir(directory.path())
            .stdin(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let process = child.id();
        assert_eq!(parent_of(process), Some(std::process::id()));
        assert_eq!(working_in(process, directory.path()), Some(process));
        assert_eq!(working_in(process, Path::new("/")), None);
        drop(child.stdin.take());
        child.wait().unwrap();
        assert_eq!((working_in(process, directory.path()), parent_of(u32::MAX)), (None, None));
    }
}
