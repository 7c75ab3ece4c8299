//! What a worker does next, by the roll of its own dice.

use std::ops::Range;

use iolite_model::{DbOperation, DbTask, Nanos};
use iolite_workload::{Purpose, below, generator};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::contract::Cycle;

/// The operations of one worker: the same for the same seed, whoever times them.
pub(super) struct Dice {
    operation: DbOperation,
    blocks: u64,
    subscripts: u64,
    /// Its part of the blocks, and the next of it to scan.
    part: Range<u64>,
    next: u64,
    /// Operations it may still do.
    left: u64,
    numbers: Xoshiro256PlusPlus,
    cycles: Xoshiro256PlusPlus,
}

impl Dice {
    /// The dice of a worker of this task.
    pub(super) fn new(task: &DbTask, worker: u32, blocks: u64, subscripts: u64) -> Dice {
        let workers = u64::from(task.workers.max(1));
        let bound = |worker: u64| (u128::from(blocks) * u128::from(worker) / u128::from(workers)) as u64;
        let part = bound(worker.into())..bound(u64::from(worker) + 1);
        let share = |total: u64| total / workers + u64::from(u64::from(worker) < total % workers);
        Dice {
            operation: task.operation,
            blocks,
            // A session without a global has been refused by now.
            subscripts: subscripts.max(1),
            next: part.start,
            part,
            left: task.stop.operations.map_or(u64::MAX, share),
            numbers: generator(task.seed, worker, Purpose::Offsets),
            cycles: generator(task.seed, worker, Purpose::Mix),
        }
    }

    /// Operations in a cycle; RanRead has none, and makes one of as many as are wanted.
    pub(super) fn length(&self) -> Option<u32> {
        self.operation.cycle().map(|(length, _)| length)
    }

    /// Pause after each cycle.
    pub(super) fn hang(&self) -> Nanos {
        self.operation.cycle().map_or(Nanos(0), |(_, hang)| hang)
    }

    /// Whether all that was asked for is done.
    pub(super) fn is_done(&self) -> bool {
        self.left == 0
    }

    /// Notes that so many operations (reads and sets) are done.
    pub(super) fn done(&mut self, operations: u64) {
        self.left = self.left.saturating_sub(operations);
    }

    /// The next cycle: of as many operations as a cycle has, for RanRead of `wanted`, and of no more than `max`.
    pub(super) fn cycle(&mut self, wanted: u32, max: u64) -> Cycle {
        let length = u64::from(self.length().unwrap_or(wanted)).min(max);
        let reads = match self.operation.read_percent() {
            0 => false,
            100.. => true,
            percent => below(&mut self.cycles, 100) < u64::from(percent),
        };
        if reads {
            Cycle::Reads((0..length).map(|_| self.block()).collect())
        } else {
            Cycle::Sets((0..length).map(|_| 1 + below(&mut self.numbers, self.subscripts)).collect())
        }
    }

    /// The next block to read.
    fn block(&mut self) -> u64 {
        if self.operation != DbOperation::Scan || self.part.is_empty() {
            return below(&mut self.numbers, self.blocks);
        }
        let block = self.next;
        self.next = if block + 1 < self.part.end { block + 1 } else { self.part.start };
        block
    }

    /// Operations it may still do.
    pub(super) fn left(&self) -> u64 {
        self.left
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iolite_model::{Stop, TimedBy};

    fn blocks(worker: u32, workers: u32, blocks: u64, wanted: u32) -> Vec<u64> {
        let task = DbTask {
            name: "scan".into(),
            operation: DbOperation::Scan,
            workers,
            stop: Stop::default(),
            ramp: Nanos(0),
            interval: Nanos::SECOND,
            seed: 1,
            timed_by: TimedBy::Client,
        };
        match Dice::new(&task, worker, blocks, 1).cycle(wanted, u64::MAX) {
            Cycle::Reads(blocks) => blocks,
            Cycle::Sets(_) => panic!("a scan does not write"),
        }
    }

    #[test]
    fn a_scan_reads_every_block_once_and_begins_anew() {
        assert_eq!(blocks(0, 1, 4, 6), [0, 1, 2, 3, 0, 1]);
        let mut of_all: Vec<u64> =
            (0..3).flat_map(|worker| blocks(worker, 3, 10, [3, 3, 4][worker as usize])).collect();
        of_all.sort_unstable();
        assert_eq!(of_all, (0..10).collect::<Vec<_>>());
        // More sessions than blocks: those without a part read something all the same.
        assert!(blocks(0, 4, 2, 3).iter().all(|&block| block < 2));
    }
}
