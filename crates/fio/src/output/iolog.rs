//! Traces of operations that can be repeated, in version 3 of fio's format.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::path::Path;

use crate::language::thread::Thread;
use iolite_model::{Access, JobTask, LoggedOperation, OpKind, SyncMethod, Target, TracedKind};

/// Operations that wait for others that were begun before them and are not back. One that is overtaken by more stands in the
/// trace where it came back, with the time of its start.
const MAX_WAITING: usize = 1 << 16;

/// The trace of a thread.
///
/// Operations are reported as they come back, and written in the order of their start.
#[derive(Debug)]
pub(super) struct Iolog {
    /// Names of the files.
    names: Vec<String>,
    /// fio's word for the syncs of the thread.
    sync: &'static str,
    /// By the instant of their start and by when they were reported.
    waiting: BinaryHeap<Reverse<(u64, u64, Traced)>>,
    sequence: u64,
    opened: bool,
    closed: bool,
}

/// What is written of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Traced {
    file: u32,
    action: &'static str,
    offset: u64,
    length: u32,
}

impl Iolog {
    /// For a thread that has not begun.
    pub(super) fn of(thread: &Thread) -> Iolog {
        let (mut names, mut sync) = (Vec::new(), "sync");
        if let JobTask::Io(task) = &thread.task {
            names = match &task.target {
                Target::Files(target) => target.files.iter().map(|file| absolute(&file.path)).collect(),
                Target::Existing(existing) => vec![absolute(&existing.path)],
                Target::File(file) => vec![absolute(&file.name)],
                Target::Null { .. } => vec![thread.name.clone()],
            };
            let rule = task.durability.sync.map(|rule| rule.method).or(task.durability.end_sync);
            if rule == Some(SyncMethod::Fdatasync) || repeats(&task.access, TracedKind::Fdatasync) {
                sync = "datasync";
            }
            // Of two kinds the one that does more.
            let mut further = task.durability.sync.iter().chain(&task.durability.also).skip(1);
            if task.durability.end_sync == Some(SyncMethod::Fsync)
                || further.next().is_some()
                || repeats(&task.access, TracedKind::Fsync)
            {
                sync = "sync";
            }
        }
        let (waiting, sequence, opened, closed) = (BinaryHeap::new(), 0, false, false);
        Iolog { names, sync, waiting, sequence, opened, closed }
    }

    /// Adds operations of a thread that has started at `started`; `began` is when the first thread of the file did. Both in
    /// nanoseconds since 1970.
    pub(super) fn add(
        &mut self,
        operations: &[LoggedOperation],
        started: u64,
        began: &mut Option<u64>,
        write: &mut dyn FnMut(&str),
    ) {
        self.open(started, began, write);
        for operation in operations {
            let LoggedOperation { kind, file, offset, length, issued, .. } = *operation;
            let (action, offset, length) = match kind {
                OpKind::Read => ("read", offset, length),
                OpKind::Write => ("write", offset, length),
                OpKind::Trim => ("trim", offset, length),
                // It is of the whole file.
                OpKind::Sync => (self.sync, 0, 0),
                _ => continue,
            };
            self.sequence += 1;
            self.waiting.push(Reverse((issued, self.sequence, Traced { file, action, offset, length })));
            if self.waiting.len() > MAX_WAITING {
                self.first(since(started, *began), write);
            }
        }
    }

    /// Writes what is left.
    pub(super) fn close(&mut self, started: u64, began: &mut Option<u64>, write: &mut dyn FnMut(&str)) {
        if std::mem::replace(&mut self.closed, true) || !self.opened {
            return;
        }
        let start = since(started, *began);
        let mut last = start;
        while let Some(at) = self.first(start, write) {
            last = at;
        }
        self.names.iter().for_each(|name| write(&format!("{} {name} close\n", last / 1000)));
    }

    fn open(&mut self, started: u64, began: &mut Option<u64>, write: &mut dyn FnMut(&str)) {
        if std::mem::replace(&mut self.opened, true) {
            return;
        }
        if began.is_none() {
            *began = Some(started);
            write("fio version 3 iolog\n");
        }
        let at = since(started, *began) / 1000;
        for action in ["add", "open"] {
            self.names.iter().for_each(|name| write(&format!("{at} {name} {action}\n")));
        }
    }

    /// Writes the operation that was begun first; returns when that was, in nanoseconds of the trace.
    fn first(&mut self, start: u64, write: &mut dyn FnMut(&str)) -> Option<u64> {
        let Reverse((issued, _, traced)) = self.waiting.pop()?;
        let (at, name) = (start.saturating_add(issued), self.names.get(traced.file as usize)?);
        write(&format!("{} {name} {} {} {}\n", at / 1000, traced.action, traced.offset, traced.length));
        Some(at)
    }
}

/// Whether a trace that is repeated has operations of this kind.
fn repeats(access: &Access, kind: TracedKind) -> bool {
    matches!(access, Access::Trace(trace) if trace.operations().iter().any(|operation| operation.kind == kind))
}

fn since(started: u64, began: Option<u64>) -> u64 {
    started.saturating_sub(began.unwrap_or(started))
}

/// The name by which it is found from anywhere.
fn absolute(path: &Path) -> String {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned()).to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn operation(kind: OpKind, file: u32, offset: u64, length: u32, issued: u64) -> LoggedOperation {
        let (intended, submitted, completed) = (0, issued, issued + 5);
        LoggedOperation {
            kind,
            offset,
            file,
            length,
            error: None,
            priority: 0,
            intended,
            issued,
            submitted,
            completed,
            counted: true,
        }
    }

    fn empty() -> Iolog {
        Iolog {
            names: vec!["/a".into(), "/b".into()],
            sync: "datasync",
            waiting: BinaryHeap::new(),
            sequence: 0,
            opened: false,
            closed: false,
        }
    }

    #[test]
    fn operations_stand_in_the_order_of_their_start() {
        let (mut iolog, mut began, mut text) = (empty(), None, String::new());
        let write = &mut |line: &str| text += line;
        let first = [operation(OpKind::Write, 1, 512, 4096, 7000), operation(OpKind::Read, 0, 0, 8, 3000)];
        iolog.add(&first, 1_000_000, &mut began, write);
        iolog.add(&[operation(OpKind::Sync, 1, 512, 0, 9999)], 1_000_000, &mut began, write);
        iolog.close(1_000_000, &mut began, write);
        iolog.close(1_000_000, &mut began, write);
        // Another thread of the same file, later.
        let mut second = empty();
        second.add(&[operation(OpKind::Trim, 0, 1, 2, 500)], 3_000_000, &mut began, write);
        second.close(3_000_000, &mut began, write);
        let expected = "fio version 3 iolog\n0 /a add\n0 /b add\n0 /a open\n0 /b open\n3 /a read 0 8\n\
                        7 /b write 512 4096\n9 /b datasync 0 0\n9 /a close\n9 /b close\n\
                        2000 /a add\n2000 /b add\n2000 /a open\n2000 /b open\n2000 /a trim 1 2\n\
                        2000 /a close\n2000 /b close\n";
        assert_eq!(text, expected);
    }

    #[test]
    fn not_all_wait_for_one() {
        let (mut iolog, mut began, mut lines) = (empty(), None, 0usize);
        let many: Vec<_> =
            (0..MAX_WAITING as u64 + 10).map(|at| operation(OpKind::Read, 0, at, 1, at)).collect();
        iolog.add(&many, 0, &mut began, &mut |_| lines += 1);
        assert_eq!((lines, iolog.waiting.len()), (1 + 4 + 10, MAX_WAITING));
    }
}
