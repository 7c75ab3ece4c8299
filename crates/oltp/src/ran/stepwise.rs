//! A worker that does one operation after the other, each timed around its call.

use std::time::Duration;

use iolite_model::{Nanos, OpKind};
use iolite_stats::Completion;
use iolite_workers::WorkerLane;

use super::contract::{Cycle, Session};
use super::dice::Dice;
use iolite_db::Error;

/// One worker, from its release to its end.
pub(super) struct Worker<'a> {
    session: &'a mut dyn Session,
    lane: WorkerLane,
    dice: Dice,
    last_completed: u64,
}

impl Worker<'_> {
    /// A worker that has been released.
    pub(super) fn new(session: &mut dyn Session, lane: WorkerLane, dice: Dice) -> Worker<'_> {
        Worker { session, lane, dice, last_completed: 0 }
    }

    /// Works until the time is over or all is done. Returns why it could not go on, if so, and when its last operation
    /// completed.
    pub(super) fn run(mut self) -> (WorkerLane, Option<Error>, u64) {
        let failure = self.cycles().err();
        (self.lane, failure, self.last_completed)
    }

    fn cycles(&mut self) -> Result<(), Error> {
        while !self.dice.is_done() && !self.lane.is_over(self.lane.now()) {
            match self.dice.cycle(1, self.dice.left()) {
                Cycle::Reads(blocks) => self.reads(&blocks)?,
                Cycle::Sets(subscripts) => self.transaction(&subscripts)?,
            }
            self.hang(self.dice.hang());
        }
        Ok(())
    }

    /// Reads blocks by number, until the time is over.
    fn reads(&mut self, blocks: &[u64]) -> Result<(), Error> {
        for &block in blocks {
            if self.lane.is_over(self.last_completed) {
                break;
            }
            self.timed(OpKind::Read, |session| session.read_block(block).map(|bytes| bytes.0))?;
            self.dice.done(1);
        }
        Ok(())
    }

    /// Sets subscripts and commits. A transaction begun is ended, though the time may be over meanwhile.
    fn transaction(&mut self, subscripts: &[u64]) -> Result<(), Error> {
        self.session.begin()?;
        for &subscript in subscripts {
            self.timed(OpKind::Write, |session| session.write(subscript).map(|bytes| bytes.0))?;
            self.dice.done(1);
        }
        self.timed(OpKind::Commit, |session| session.commit().map(|()| 0))
    }

    /// Does one operation and records how long it took.
    fn timed(
        &mut self,
        kind: OpKind,
        operation: impl FnOnce(&mut dyn Session) -> Result<u64, Error>,
    ) -> Result<(), Error> {
        let issued = self.lane.now();
        let result = operation(self.session);
        let completed = self.lane.now();
        self.last_completed = completed;
        match result {
            Ok(bytes) => {
                self.lane.record_reported(Completion { kind, intended: issued, issued, completed, bytes });
                Ok(())
            }
            Err(error) => {
                self.lane.record_error(kind, completed);
                Err(error)
            }
        }
    }

    /// PerfTools' pause between batches.
    fn hang(&mut self, hang: Nanos) {
        let left = self.lane.end().saturating_sub(self.lane.now());
        std::thread::sleep(Duration::from_nanos(hang.0.min(left)));
    }
}
