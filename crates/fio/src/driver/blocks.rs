//! Counts for each block the trims that it takes, and how they end (`block_error_percentiles`).

use std::collections::HashMap;

use iolite_model::{JobTask, LoggedOperation, OpKind};

use crate::language::thread::Thread;
use crate::output::blocks::BlockResult;

/// The blocks of a thread that was trimmed or written.
#[derive(Debug)]
pub(super) struct Blocks {
    /// Size of a block: that of a trim.
    unit: u64,
    /// Blocks in all.
    total: u64,
    /// By file and number: trims, and the last state.
    seen: HashMap<(u32, u64), (u32, State)>,
}

/// What was done last with a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Trimmed = 1,
    Written = 2,
    TrimFailed = 3,
    WriteFailed = 4,
}

impl Blocks {
    /// Those of a thread that is to report them.
    pub(super) fn of(thread: &Thread) -> Option<Blocks> {
        let unit = thread.block_errors.filter(|unit| unit.0 > 0)?.0;
        let JobTask::Io(task) = &thread.task else { return None };
        Some(Blocks { unit, total: task.target.size().0 / unit, seen: HashMap::new() })
    }

    /// Counts operations that have come back.
    pub(super) fn add(&mut self, operations: &[LoggedOperation]) {
        for operation in operations {
            let state = match (operation.kind, operation.error) {
                (OpKind::Trim, None) => State::Trimmed,
                (OpKind::Trim, Some(_)) => State::TrimFailed,
                (OpKind::Write, None) => State::Written,
                (OpKind::Write, Some(_)) => State::WriteFailed,
                _ => continue,
            };
            let end = operation.offset.saturating_add(u64::from(operation.length));
            for block in operation.offset / self.unit..end.div_ceil(self.unit) {
                let (trims, last) = self.seen.entry((operation.file, block)).or_insert((0, state));
                *trims += u32::from(operation.kind == OpKind::Trim);
                *last = state;
            }
        }
    }

    /// What came of them.
    pub(super) fn result(&self) -> BlockResult {
        let mut result = BlockResult::default();
        for (trims, state) in self.seen.values() {
            if *trims > 0 {
                *result.lifetimes.entry(*trims).or_default() += 1;
            }
            result.states[*state as usize] += 1;
        }
        result.states[0] = self.total.saturating_sub(self.seen.len() as u64);
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iolite_model::{Bytes, FileTask, Target};

    #[test]
    fn blocks_have_lifetimes_and_states() {
        let target = Target::Null { size: Bytes(10 * 4096) };
        let task = JobTask::Io(Box::new(FileTask { target, ..FileTask::default() }));
        let thread = Thread { task, block_errors: Some(Bytes(4096)), ..Thread::default() };
        let mut blocks = Blocks::of(&thread).unwrap();
        let done = |kind, block: u64, length: u32, error| LoggedOperation {
            kind,
            offset: block * 4096,
            file: 0,
            length: length * 4096,
            error,
            priority: 0,
            intended: 0,
            issued: 0,
            submitted: 0,
            completed: 0,
            counted: true,
        };
        blocks.add(&[
            done(OpKind::Trim, 0, 1, None),
            done(OpKind::Write, 0, 1, None),
            done(OpKind::Trim, 0, 1, None),
            done(OpKind::Trim, 1, 1, None),
            done(OpKind::Write, 1, 2, None),
            done(OpKind::Trim, 3, 1, Some(5)),
            done(OpKind::Write, 4, 1, Some(5)),
            done(OpKind::Read, 5, 1, None),
            done(OpKind::Sync, 0, 0, None),
        ]);
        let result = blocks.result();
        assert_eq!(result.lifetimes, [(2, 1), (1, 2)].into());
        assert_eq!(result.states, [5, 1, 2, 1, 1]);
        assert!(Blocks::of(&Thread::default()).is_none());
    }
}
