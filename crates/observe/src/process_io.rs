//! Block I/O of a process and of all that descend from it (/proc/PID/io, proc_pid_io(5)).

use std::fs;
use std::path::Path;

use iolite_model::Bytes;

use crate::probe::number_of;

/// Processes that one tree may have before the rest is left out: an endless loop is worse than a gap.
const MAX_PROCESSES: usize = 4096;

/// What a tree of processes sent to and asked of block devices since it began.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ProcessIo {
    /// Bytes that were read from block devices for it, read-ahead included; what a cache served is not.
    pub read: Bytes,
    /// Bytes that it wrote directly, or made dirty in the page cache.
    pub written: Bytes,
}

impl ProcessIo {
    /// Of this process and its descendants. Children that have ended are in their parent's counts from the moment that it has waited
    /// for them, so that differences hold while children come and go.
    ///
    /// `None` where the kernel does not account I/O of tasks, or the counts of one of them may not be read.
    pub fn of_this_program() -> Option<ProcessIo> {
        ProcessIo::of_tree(std::process::id())
    }

    /// Of a process and its descendants, as above. `None` of another process also where the kernel does not list children
    /// (CONFIG_PROC_CHILDREN): a server does its I/O in them.
    pub fn of_tree(root: u32) -> Option<ProcessIo> {
        ProcessIo::of_tree_in(Path::new("/proc"), root)
    }

    fn of_tree_in(proc: &Path, root: u32) -> Option<ProcessIo> {
        if root != std::process::id() && !lists_children(proc, root) {
            return None;
        }
        let mut sum = ProcessIo::default();
        let mut left = vec![root];
        let mut seen = 0;
        while let Some(process) = left.pop() {
            seen += 1;
            if seen > MAX_PROCESSES {
                return None;
            }
            // Its children first: one that ends between the two has then been counted, or is in its parent's counts.
            let descendants = children(proc, process);
            match ProcessIo::of(proc, process) {
                Some(own) => sum = sum.plus(own),
                None if process == root || proc.join(process.to_string()).exists() => return None,
                None => {}
            }
            left.extend(descendants);
        }
        Some(sum)
    }

    fn of(proc: &Path, process: u32) -> Option<ProcessIo> {
        let text = fs::read_to_string(proc.join(format!("{process}/io"))).ok()?;
        let bytes = |name| number_of(&text, name).map(|bytes| Bytes(bytes as u64));
        Some(ProcessIo { read: bytes("read_bytes")?, written: bytes("write_bytes")? })
    }

    fn plus(self, other: ProcessIo) -> ProcessIo {
        ProcessIo {
            read: Bytes(self.read.0 + other.read.0),
            written: Bytes(self.written.0 + other.written.0),
        }
    }

    /// What was added since `earlier`.
    pub fn since(self, earlier: ProcessIo) -> ProcessIo {
        ProcessIo {
            read: Bytes(self.read.0.saturating_sub(earlier.read.0)),
            written: Bytes(self.written.0.saturating_sub(earlier.written.0)),
        }
    }
}

/// Whether the kernel lists the children of a process, by its main thread.
fn lists_children(proc: &Path, process: u32) -> bool {
    proc.join(format!("{process}/task/{process}/children")).exists()
}

/// The children of all threads of a process; none where the kernel has no such list.
fn children(proc: &Path, process: u32) -> Vec<u32> {
    let Ok(threads) = fs::read_dir(proc.join(format!("{process}/task"))) else { return Vec::new() };
    let of_thread = |thread: fs::DirEntry| fs::read_to_string(thread.path().join("children")).ok();
    let lists: Vec<String> = threads.flatten().filter_map(of_thread).collect();
    lists.iter().flat_map(|list| list.split_whitespace()).filter_map(|child| child.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn what_children_write_is_counted_while_they_run_and_afterwards() {
        let directory = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let Some(before) = ProcessIo::of_this_program() else {
            return eprintln!("skipped: this kernel does not account I/O of tasks");
        };
        // It writes, says so, and waits until its input is closed.
        let script = "head -c 1048576 /dev/zero > \"$0\"/written && echo done && read line";
        let mut child = Command::new("sh")
            .args(["-c", script])
            .arg(directory.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut said = [0; 5];
        std::io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut said).unwrap();
        let written = || ProcessIo::of_this_program().unwrap().since(before).written.0;
        let meanwhile = written();
        if meanwhile == 0 {
            eprintln!("skipped in part: memory, or no list of children");
        }
        let _ = child.stdin.take().unwrap().write_all(b"end\n");
        child.wait().unwrap();
        assert!(written() >= meanwhile, "{} after {meanwhile}", written());
    }

    #[test]
    fn a_server_is_counted_only_where_its_children_are_listed() {
        let proc = tempfile::tempdir().unwrap();
        for (process, bytes) in [(7, 1), (8, 1000)] {
            let directory = proc.path().join(format!("{process}/task/{process}"));
            fs::create_dir_all(&directory).unwrap();
            let counts = format!("read_bytes: {bytes}\nwrite_bytes: 0\n");
            fs::write(proc.path().join(format!("{process}/io")), counts).unwrap();
        }
        let of_server = || ProcessIo::of_tree_in(proc.path(), 7).map(|io| io.read);
        assert_eq!(of_server(), None);
        for (process, children) in [(7, "8 "), (8, "")] {
            fs::write(proc.path().join(format!("{process}/task/{process}/children")), children).unwrap();
        }
        assert_eq!(of_server(), Some(Bytes(1001)));
    }

    #[test]
    fn a_process_that_is_not_there_has_none() {
        assert_eq!(ProcessIo::of_tree(u32::MAX), None);
    }
}
