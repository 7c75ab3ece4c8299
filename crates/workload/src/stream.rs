//! The operations of one worker, one after the other.

use iolite_model::{FileTask, Mix};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::offset::Offsets;
use crate::{Purpose, below, generator};

/// What a planned operation does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IoKind {
    /// Read.
    Read,
    /// Write.
    Write,
}

/// An operation to come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlannedOp {
    /// What it does.
    pub kind: IoKind,
    /// Where, in bytes.
    pub offset: u64,
    /// How much, in bytes.
    pub length: u32,
}

/// What one worker may do at most: its share of the phase's limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Share {
    /// Operations; `u64::MAX` for no limit.
    pub operations: u64,
}

/// The operations of one worker.
#[derive(Debug, Clone)]
pub struct OpStream {
    offsets: Offsets,
    mix: Mix,
    block: u32,
    generator: Xoshiro256PlusPlus,
}

impl OpStream {
    /// The operations of worker `worker` of the task; `None` where the target is too small for its blocks.
    pub fn new(task: &FileTask, worker: u32) -> Option<OpStream> {
        let block = u32::try_from(task.block.0).ok()?;
        let span = task.target.size().0;
        let offsets = Offsets::new(&task.access, span, task.block.0, worker, task.workers, task.seed)?;
        Some(OpStream {
            offsets,
            mix: task.mix,
            block,
            generator: generator(task.seed, worker, Purpose::Mix),
        })
    }

    /// The next operation.
    #[inline]
    pub fn next_op(&mut self) -> PlannedOp {
        let kind = match self.mix {
            Mix::Read => IoKind::Read,
            Mix::Write => IoKind::Write,
            Mix::ReadPercent(percent) if below(&mut self.generator, 100) < u64::from(percent) => IoKind::Read,
            Mix::ReadPercent(_) => IoKind::Write,
        };
        PlannedOp { kind, offset: self.offsets.next_offset(), length: self.block }
    }
}

impl Share {
    /// The share of worker `worker` in the task's limits on bytes and operations.
    pub fn of(task: &FileTask, worker: u32) -> Share {
        let (worker, workers) = (u64::from(worker), u64::from(task.workers.max(1)));
        let share = |total: u64| total / workers + u64::from(worker < total % workers);
        let by_bytes = task.stop.bytes.map_or(u64::MAX, |bytes| share(bytes.0 / task.block.0.max(1)));
        let by_operations = task.stop.operations.map_or(u64::MAX, share);
        Share { operations: by_bytes.min(by_operations) }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use iolite_model::{Access, Arrival, BackendKind, Bytes, Nanos, Stop, Target};

    pub(crate) fn task(mix: Mix, stop: Stop) -> FileTask {
        FileTask {
            name: "test".into(),
            target: Target::Null { size: Bytes::MIB },
            backend: BackendKind::Null,
            mix,
            access: Access::Random,
            block: Bytes(4096),
            direct: false,
            workers: 3,
            concurrency: 3,
            arrival: Arrival::Closed,
            sync_every: None,
            stop,
            ramp: Nanos(0),
            interval: Nanos::SECOND,
            seed: 9,
        }
    }

    #[test]
    fn the_mix_is_as_asked() {
        for (mix, low, high) in
            [(Mix::Read, 10_000, 10_000), (Mix::Write, 0, 0), (Mix::ReadPercent(70), 6_800, 7_200)]
        {
            let mut stream = OpStream::new(&task(mix, Stop::default()), 0).unwrap();
            let reads = (0..10_000).filter(|_| stream.next_op().kind == IoKind::Read).count();
            assert!((low..=high).contains(&reads), "{mix:?}: {reads}");
        }
    }

    #[test]
    fn sequential_workers_with_a_spans_worth_of_operations_do_each_block_once() {
        for blocks in 3..40 {
            let stop = Stop { bytes: Some(Bytes(4096 * blocks)), ..Stop::default() };
            let target = Target::Null { size: Bytes(4096 * blocks) };
            let task = FileTask { access: Access::Sequential, target, ..task(Mix::Write, stop) };
            let mut done = std::collections::BTreeSet::new();
            for worker in 0..3 {
                let mut stream = OpStream::new(&task, worker).unwrap();
                for _ in 0..Share::of(&task, worker).operations {
                    assert!(done.insert(stream.next_op().offset), "{blocks} blocks");
                }
            }
            assert_eq!(done.len() as u64, blocks);
        }
    }

    #[test]
    fn shares_add_up_to_the_limit() {
        let stop = Stop { bytes: Some(Bytes(4096 * 10)), operations: Some(100), runtime: None };
        let shares: Vec<_> =
            (0..3).map(|worker| Share::of(&task(Mix::Read, stop), worker).operations).collect();
        assert_eq!(shares, [4, 3, 3]);
        assert_eq!(Share::of(&task(Mix::Read, Stop::default()), 0).operations, u64::MAX);
    }
}
