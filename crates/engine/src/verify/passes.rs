//! When data is read back and verified during a phase.

use iolite_model::{FileTask, Verify};
use iolite_workload::Share;

use crate::backend::Op;

/// Says when a worker is to stand still to verify what it has written.
#[derive(Debug, Default)]
pub(crate) struct Passes {
    /// Operations, and bytes, of a part of the work; 0 where it has one part only.
    part: (u64, u64),
    /// Operations and bytes of the present part so far.
    done: (u64, u64),
    /// Writes that may be left to verify; 0 for all of a part.
    backlog: usize,
    /// Of these, the number that is verified together.
    batch: usize,
    /// The writes that are left to verify, where they are limited, the oldest first: offset, length and number.
    writes: Vec<(u64, u32, u32)>,
    /// Whether a pass is to be made before anything else is issued.
    due: bool,
}

/// What a pass reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pass {
    /// All that was written in a part of the work.
    Part,
    /// The backlog.
    Backlog,
}

impl Passes {
    /// Those of a worker of a task.
    pub(crate) fn of(task: &FileTask, verify: &Verify, worker: u32) -> Passes {
        let share = Share::of(task, worker);
        let of = |amount: u64| match u64::from(verify.passes) {
            parts if parts > 1 && amount < u64::MAX => (amount / parts).max(1),
            _ => 0,
        };
        let (backlog, batch) = (verify.backlog as usize, verify.backlog_batch as usize);
        Passes {
            part: (of(share.operations), of(share.bytes)),
            backlog,
            batch: if batch == 0 { backlog } else { batch.min(backlog) },
            // Some may be issued before the first of them is back.
            writes: Vec::with_capacity(if backlog > 0 { backlog.min(1 << 16) } else { 0 }),
            ..Passes::default()
        }
    }

    /// An operation is issued; `number` is that of a write.
    pub(crate) fn issued(&mut self, op: &Op, number: Option<u32>) {
        self.done.0 += 1;
        self.done.1 += u64::from(op.length);
        if let Some(number) = number.filter(|_| self.backlog > 0) {
            self.writes.push((op.offset, op.length, number));
        }
        self.due = self.part_is_over() || (self.backlog > 0 && self.writes.len() >= self.backlog);
    }

    fn part_is_over(&self) -> bool {
        let over = |part: u64, done: u64| part > 0 && done >= part;
        over(self.part.0, self.done.0) || over(self.part.1, self.done.1)
    }

    /// Whether a pass is to be made before anything else is issued.
    #[inline(always)]
    pub(crate) fn is_due(&self) -> bool {
        self.due
    }

    /// The pass that is due, with the writes of the backlog that it reads.
    pub(crate) fn pass(&self) -> (Pass, &[(u64, u32, u32)]) {
        match self.part_is_over() {
            true => (Pass::Part, &self.writes),
            false => (Pass::Backlog, &self.writes[..self.batch.min(self.writes.len())]),
        }
    }

    /// The pass was made. Returns the number up to which writes were verified by it; `None` for all.
    pub(crate) fn end(&mut self) -> Option<u32> {
        self.due = false;
        if self.part_is_over() {
            self.done = (0, 0);
            self.writes.clear();
            return None;
        }
        let batch = self.batch.min(self.writes.len());
        self.writes.drain(..batch).next_back().map(|(_, _, number)| number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::IoOp;
    use iolite_model::{Bytes, Mix, Stop};

    fn passes(verify: &Verify) -> Passes {
        let stop = Stop { bytes: Some(Bytes(12 * 4096)), ..Stop::default() };
        Passes::of(&FileTask { mix: Mix::Write, stop, ..FileTask::default() }, verify, 0)
    }

    /// The numbers of the writes, from 1, before which a pass is due, and what it reads.
    fn due(verify: &Verify) -> Vec<(u32, Pass, usize)> {
        let mut passes = passes(verify);
        let mut due = Vec::new();
        for number in 1..=12 {
            if passes.is_due() {
                let (pass, writes) = passes.pass();
                due.push((number, pass, writes.len()));
                passes.end();
            }
            let op = Op { io: IoOp::Write, slot: 0, offset: u64::from(number) * 4096, length: 4096 };
            passes.issued(&op, Some(number));
        }
        due
    }

    #[test]
    fn passes_come_after_parts_and_backlogs() {
        let verify = |passes, backlog| Verify { passes, backlog, ..Verify::default() };
        let batches = |backlog_batch| Verify { backlog: 8, backlog_batch, ..Verify::default() };
        assert_eq!(due(&verify(0, 0)), []);
        assert_eq!(due(&verify(1, 0)), []);
        assert_eq!(due(&verify(3, 0)), [(5, Pass::Part, 0), (9, Pass::Part, 0)]);
        let backlog = [(6, Pass::Backlog, 5), (11, Pass::Backlog, 5)];
        assert_eq!(due(&verify(0, 5)), backlog);
        // The oldest are verified as soon as there are too many; more than there are never.
        assert_eq!(due(&batches(2)), [(9, Pass::Backlog, 2), (11, Pass::Backlog, 2)]);
        assert_eq!(due(&batches(9)), [(9, Pass::Backlog, 8)]);
        // What a part leaves of a backlog is verified with the part.
        assert_eq!(due(&verify(2, 5)), [(6, Pass::Backlog, 5), (7, Pass::Part, 1), (12, Pass::Backlog, 5)]);
    }
}
