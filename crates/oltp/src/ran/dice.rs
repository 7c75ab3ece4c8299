//! What a worker does next, by the roll of its own dice.

use iolite_model::{DbOperation, DbTask, Nanos};
use iolite_workload::{Purpose, below, generator};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::contract::Cycle;

/// The operations of one worker: the same for the same seed, whoever times them.
pub(super) struct Dice {
    operation: DbOperation,
    blocks: u64,
    subscripts: u64,
    /// Operations it may still do.
    left: u64,
    numbers: Xoshiro256PlusPlus,
    cycles: Xoshiro256PlusPlus,
}

impl Dice {
    /// The dice of a worker of this task.
    pub(super) fn new(task: &DbTask, worker: u32, blocks: u64, subscripts: u64) -> Dice {
        let workers = u64::from(task.workers.max(1));
        let share = |total: u64| total / workers + u64::from(u64::from(worker) < total % workers);
        Dice {
            operation: task.operation,
            blocks,
            // A session without a global has been refused by now.
            subscripts: subscripts.max(1),
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
            Cycle::Reads((0..length).map(|_| below(&mut self.numbers, self.blocks)).collect())
        } else {
            Cycle::Sets((0..length).map(|_| 1 + below(&mut self.numbers, self.subscripts)).collect())
        }
    }

    /// Operations it may still do.
    pub(super) fn left(&self) -> u64 {
        self.left
    }
}
