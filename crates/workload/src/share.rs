//! What one worker may do at most.

use iolite_model::{Access, Arrival, FileTask, Mix, Regions};

use crate::region::{Region, own_files};
use crate::{files, size};

/// What one worker may do at most: its share of the phase's limits.
///
/// Bytes are those of all operations, except that of a trim and the write that follows it
/// ([`Mix::TrimThenWrite`]) only one counts, as with fio: once the target's size trims and writes every block once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Share {
    /// Operations; `u64::MAX` for no limit.
    pub operations: u64,
    /// Bytes; `u64::MAX` for no limit, and with a fixed size, where whole operations say the same. While any is left
    /// another operation may be issued, so that the last one may go beyond by less than its size.
    pub bytes: u64,
    /// Bytes that may be written; `u64::MAX` for no limit. A write that would go beyond is not issued.
    pub written: u64,
}

impl Share {
    /// The share of worker `worker` in the task's limits.
    ///
    /// Limits over all workers are divided evenly, the first workers taking the remainder. Loops are times what the
    /// worker covers: its slice; its part of the blocks, where all share the span; or the whole of a file of its own,
    /// of a span that each worker has by itself ([`Regions::Shared`]), or of what an increment leaves it. With
    /// [`Access::Append`] a file ends at the target's size.
    pub fn of(task: &FileTask, worker: u32) -> Share {
        let count = Count::of(task);
        let workers = u64::from(task.workers.max(1));
        // Whole bursts, as the workers take turns at them; the last one may be short.
        let burst = match task.arrival {
            Arrival::Bursts { operations, .. } => u64::from(operations.max(1)),
            _ => 1,
        };
        let divide = |total: u64| {
            let (bursts, rest) = (total / burst, total % burst);
            let mine = bursts / workers + u64::from(u64::from(worker) < bursts % workers);
            mine * burst + if u64::from(worker) == bursts % workers { rest } else { 0 }
        };
        let stop = &task.stop;
        let of_a_loop = || {
            let parts = files::each(task, |task| count.of_a_loop(task, worker, divide));
            parts.into_iter().fold(0, u64::saturating_add)
        };
        let loops = stop.loops.map(|loops| of_a_loop().saturating_mul(u64::from(loops)));
        let appended = (task.access == Access::Append).then(|| {
            let whole = count.units(task.target.size().0);
            if own_files(task) { whole } else { divide(whole) }
        });
        let by_bytes = [
            stop.bytes.map(|bytes| divide(count.units(bytes.0))),
            stop.worker_bytes.map(|bytes| count.units(bytes.0)),
            loops,
            appended,
        ];
        let by_operations = [stop.operations.map(divide), stop.worker_operations];
        let min = |limits: &[Option<u64>]| limits.iter().flatten().copied().min();
        let paired = if matches!(task.mix, Mix::TrimThenWrite | Mix::ReadThenWrite(100)) { 2 } else { 1 };
        let max = min(&by_bytes).map_or(u64::MAX, |units| units.saturating_mul(paired));
        let operations = min(&by_operations).unwrap_or(u64::MAX);
        let written = stop.written.map_or(u64::MAX, |bytes| bytes.0 / workers);
        match count {
            Count::Blocks(_) => Share { operations: operations.min(max), bytes: u64::MAX, written },
            Count::Bytes => Share { operations, bytes: max, written },
        }
    }
}

/// Bytes of worker `worker`'s operations in one round of what it covers.
pub fn round(task: &FileTask, worker: u32) -> u64 {
    if matches!(task.access, Access::Trace(_)) {
        // A trace is not done twice.
        return u64::MAX;
    }
    let count = Count::of(task);
    let workers = u64::from(task.workers.max(1));
    let divide = |total: u64| total / workers + u64::from(u64::from(worker) < total % workers);
    let bytes = |task: &FileTask| match (count, &task.access) {
        (Count::Blocks(block), Access::SequentialSkip { hole }) => {
            let length = Region::of(task, worker).map_or(0, |region| region.length);
            let steps = length.saturating_add(hole.0) / block.saturating_add(hole.0);
            steps.saturating_mul(block)
        }
        (Count::Blocks(block), _) => count.of_a_loop(task, worker, divide).saturating_mul(block),
        (Count::Bytes, _) => count.of_a_loop(task, worker, divide),
    };
    files::each(task, bytes).into_iter().fold(0, u64::saturating_add)
}

/// What bytes are counted in.
#[derive(Debug, Clone, Copy)]
enum Count {
    /// Whole blocks of this size.
    Blocks(u64),
    /// Bytes, where sizes differ.
    Bytes,
}

impl Count {
    fn of(task: &FileTask) -> Count {
        if task.sizes.is_some() { Count::Bytes } else { Count::Blocks(task.block.0.max(1)) }
    }

    fn units(self, bytes: u64) -> u64 {
        match self {
            Count::Blocks(block) => bytes / block,
            Count::Bytes => bytes,
        }
    }

    /// What operations can cover of so much.
    fn coverable(self, task: &FileTask, bytes: u64) -> u64 {
        let grain = task.sizes.as_ref().map_or(1, |sizes| size::divisor(sizes, task.mix).max(1));
        let units = self.units(bytes / grain * grain);
        if let Access::Precondition(what) = task.access { what.writes(units) } else { units }
    }

    /// What a worker covers of the target.
    fn of_a_loop(self, task: &FileTask, worker: u32, divide: impl Fn(u64) -> u64) -> u64 {
        match Region::of(task, worker) {
            // Slices, and spans that a worker has by itself. Not those that all append to.
            Some(region) if region.turns == 1 && (task.access != Access::Append || own_files(task)) => {
                self.coverable(task, region.length)
            }
            None if matches!(task.regions, Regions::Increment(_)) => 0,
            _ => divide(self.coverable(task, task.target.size().0)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream::tests::task;
    use iolite_model::{Bytes, FileTarget, SizeLaw, Sizes, Stop, Target};

    const NONE: u64 = u64::MAX;

    #[test]
    fn bursts_are_not_divided() {
        let bursts = Arrival::Bursts { rate: iolite_model::Iops(1000.0), operations: 100 };
        for (operations, expected) in [(100, [100, 0, 0]), (350, [150, 100, 100]), (1000, [400, 300, 300])] {
            let stop = Stop { operations: Some(operations), ..Stop::default() };
            let task = FileTask { arrival: bursts, ..task(Mix::Read, stop) };
            let mine: Vec<_> = shares(&task).into_iter().map(|(operations, _)| operations).collect();
            assert_eq!(mine, expected);
        }
    }

    fn shares(task: &FileTask) -> Vec<(u64, u64)> {
        let share = |worker| Share::of(task, worker);
        (0..task.workers).map(share).map(|share| (share.operations, share.bytes)).collect()
    }

    fn own_file(size: u64, per_worker: bool) -> Target {
        let (name, size) = ("f".into(), Bytes(size));
        Target::File(FileTarget { name, size, create: true, preallocate: false, per_worker })
    }

    fn mixed() -> Option<Sizes> {
        Some(Sizes::alike(SizeLaw::Fixed(Bytes(8192)), Bytes(512)))
    }

    #[test]
    fn shares_add_up_to_the_limit() {
        let stop = Stop { bytes: Some(Bytes(4096 * 10)), operations: Some(100), ..Stop::default() };
        assert_eq!(shares(&task(Mix::Read, stop)), [(4, NONE), (3, NONE), (3, NONE)]);
        assert_eq!(shares(&task(Mix::Read, Stop::default())), [(NONE, NONE); 3]);
        let mixed = FileTask { sizes: mixed(), ..task(Mix::Read, stop) };
        assert_eq!(shares(&mixed), [(34, 13654), (33, 13653), (33, 13653)]);
    }

    #[test]
    fn limits_of_each_worker_are_not_divided() {
        let stop = Stop { worker_bytes: Some(Bytes(4096 * 10 + 1)), ..Stop::default() };
        assert_eq!(shares(&task(Mix::Read, stop)), [(10, NONE); 3]);
        let mixed = FileTask { sizes: mixed(), ..task(Mix::Read, stop) };
        assert_eq!(shares(&mixed), [(NONE, 40961); 3]);
        let stop = Stop { worker_operations: Some(7), operations: Some(10), ..Stop::default() };
        assert_eq!(shares(&task(Mix::Read, stop)), [(4, NONE), (3, NONE), (3, NONE)]);
    }

    #[test]
    fn loops_are_rounds_of_what_a_worker_covers() {
        let stop = Stop { loops: Some(2), ..Stop::default() };
        let target = Target::Null { size: Bytes(4096 * 10 + 5) };
        let base = FileTask { target, ..task(Mix::Read, stop) };
        for access in [Access::Random, Access::Sequential, Access::Covering] {
            assert_eq!(shares(&FileTask { access, ..base.clone() }), [(8, NONE), (6, NONE), (6, NONE)]);
        }
        let with = |regions| FileTask { regions, ..base.clone() };
        assert_eq!(shares(&with(Regions::Shared)), [(20, NONE); 3]);
        let increment = with(Regions::Increment(Bytes(4096 * 4)));
        assert_eq!(shares(&increment), [(20, NONE), (12, NONE), (4, NONE)]);
        assert_eq!(shares(&FileTask { target: own_file(8192, true), ..base.clone() }), [(4, NONE); 3]);
        let (access, sizes) = (Access::Covering, mixed());
        let covering = FileTask { access, sizes, ..base };
        // Slices of 5 blocks of 8 KiB, twice.
        assert_eq!(shares(&covering), [(NONE, 32768), (NONE, 32768), (NONE, 16384)]);
    }

    #[test]
    fn appending_ends_at_the_targets_size() {
        let base = FileTask { access: Access::Append, ..task(Mix::Write, Stop::default()) };
        let with = |target| FileTask { target, ..base.clone() };
        assert_eq!(shares(&with(own_file(4096 * 7 + 1, false))), [(3, NONE), (2, NONE), (2, NONE)]);
        assert_eq!(shares(&with(own_file(4096 * 7 + 1, true))), [(7, NONE); 3]);
        let mixed = FileTask { sizes: mixed(), ..with(own_file(9000, false)) };
        assert_eq!(shares(&mixed), [(NONE, 3000); 3]);
    }

    #[test]
    fn a_trim_counts_with_its_write() {
        let stop = Stop { bytes: Some(Bytes(4096 * 3)), ..Stop::default() };
        assert_eq!(shares(&task(Mix::TrimThenWrite, stop)), [(2, NONE); 3]);
        assert_eq!(shares(&task(Mix::Trim, stop)), [(1, NONE); 3]);
    }

    #[test]
    fn the_largest_limits_are_no_trouble() {
        let stop = Stop { loops: Some(u32::MAX), bytes: Some(Bytes(u64::MAX)), ..Stop::default() };
        let target = Target::Null { size: Bytes(u64::MAX) };
        let task = FileTask { target, sizes: mixed(), ..task(Mix::TrimThenWrite, stop) };
        assert!(shares(&task).iter().all(|(operations, bytes)| *operations == NONE && *bytes > 0));
    }
}
