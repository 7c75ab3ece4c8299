//! Whose turn it is, and how many turns there are.

use iolite_model::{Access, MetadataTask};
use iolite_workload::Offsets;

/// The numbers of one worker's files, each once per round.
#[derive(Debug, Clone)]
pub(super) enum Turns {
    /// One after the other.
    InOrder {
        /// The next.
        next: u64,
        /// Number of them.
        files: u64,
    },
    /// In an order without pattern.
    Random(Offsets),
}

impl Turns {
    pub(super) fn new(task: &MetadataTask, worker: u32) -> Turns {
        // Blocks of one byte, all of them this worker's: offsets are the numbers of files. Each worker has an order of its own.
        let seed = task.seed.wrapping_add(worker.into());
        let random = || Offsets::new(&Access::Covering, task.files, 1, 0, 1, seed);
        let order = if task.random { random() } else { None };
        order.map_or(Turns::InOrder { next: 0, files: task.files }, Turns::Random)
    }

    /// The number of the next file.
    #[inline]
    pub(super) fn next_file(&mut self) -> u64 {
        match self {
            Turns::InOrder { next, files } => {
                let number = *next;
                *next = if number + 1 < *files { number + 1 } else { 0 };
                number
            }
            Turns::Random(offsets) => offsets.next_offset(),
        }
    }
}

/// Operations that this worker may do at most; `u64::MAX` for no limit.
pub(super) fn limit(task: &MetadataTask, worker: u32) -> u64 {
    let (worker, workers) = (u64::from(worker), u64::from(task.workers.max(1)));
    let share = |total: u64| total / workers + u64::from(worker < total % workers);
    let rounds = if task.operation.changes() { Some(1) } else { task.stop.loops };
    let of_rounds = rounds.map_or(u64::MAX, |rounds| task.files.saturating_mul(rounds.into()));
    let of_all = task.stop.operations.map_or(u64::MAX, share);
    of_rounds.min(of_all).min(task.stop.worker_operations.unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use iolite_model::{MetadataOperation, Stop};

    fn rounds(task: &MetadataTask, worker: u32) -> Vec<Vec<u64>> {
        let mut turns = Turns::new(task, worker);
        (0..3).map(|_| (0..task.files).map(|_| turns.next_file()).collect()).collect()
    }

    #[test]
    fn each_file_has_one_turn_a_round() {
        let mut task = MetadataTask { files: 1000, ..MetadataTask::default() };
        let in_order: Vec<u64> = (0..1000).collect();
        assert!(rounds(&task, 0).iter().all(|round| *round == in_order));
        task.random = true;
        let drawn = rounds(&task, 0);
        for round in &drawn {
            let mut sorted = round.clone();
            sorted.sort_unstable();
            assert_eq!(sorted, in_order);
            let neighbours = round.windows(2).filter(|pair| pair[0].abs_diff(pair[1]) == 1).count();
            assert!(neighbours < 20, "{neighbours} of 999 are neighbours, of which chance gives 2");
        }
        assert!(drawn[0] != drawn[1], "each round has its order");
        assert_ne!(drawn, rounds(&task, 1), "and each worker");
        assert_eq!(drawn, rounds(&task, 0), "which is the same again");
        task.files = 1;
        assert_eq!(rounds(&task, 0), [[0], [0], [0]]);
    }

    #[test]
    fn limits_are_shared_and_a_change_has_one_round() {
        let mut task = MetadataTask { files: 10, workers: 3, ..MetadataTask::default() };
        let limits = |task: &MetadataTask| (0..3).map(|worker| limit(task, worker)).collect::<Vec<_>>();
        assert_eq!(limits(&task), [10; 3]);
        task.stop = Stop { operations: Some(8), ..Stop::default() };
        assert_eq!(limits(&task), [3, 3, 2]);
        task.operation = MetadataOperation::Stat;
        task.stop = Stop { operations: Some(100), worker_operations: Some(33), ..Stop::default() };
        assert_eq!(limits(&task), [33; 3]);
        task.stop = Stop { loops: Some(2), ..Stop::default() };
        assert_eq!(limits(&task), [20; 3]);
        task.stop = Stop::default();
        assert_eq!(limits(&task), [u64::MAX; 3]);
    }
}
