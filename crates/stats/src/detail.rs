//! What is kept of each operation beyond counts and histograms, where a task asks for it.

use iolite_model::OpKind;
use serde::{Deserialize, Serialize};

use crate::histogram::Histogram;
use crate::tally::Tally;

/// Submission and completion apart, queue depths, and sizes of batches, over the measured part of a phase.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Detail {
    /// Submission times of reads, writes and trims that an asynchronous back end has queued: from the instant at which an
    /// operation is handed over to that at which its submission returns.
    pub submission: [Histogram; 3],
    /// Completion times of the same operations: from the return of the submission on.
    pub completion: [Histogram; 3],
    /// Sums of the submission times and of the completion times in nanoseconds, exact.
    #[serde(default)]
    pub sums: [[u64; 2]; 3],
    /// Completion and service times by I/O priority, where operations have priorities of their own.
    pub priorities: Vec<PriorityTimes>,
    /// Operations by how many were in flight when they were submitted, themselves included: up to 1, 2 to 3, 4 to 7, 8 to 15,
    /// 16 to 31, 32 to 63, 64 and more.
    pub depths: [u64; 7],
    /// Submissions by how many operations they handed to the kernel: none, up to 4, 8, 16, 32, 64, and more.
    pub submits: [u64; 7],
    /// Reaps by how many operations they brought back, in the same classes.
    pub completes: [u64; 7],
}

/// Times of the operations of a kind that had a priority.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PriorityTimes {
    /// The kind's position in [`Detail::submission`].
    pub place: usize,
    /// The priority, packed as the kernel has it; 0 where none was asked for.
    pub priority: u16,
    /// Completion times: of what its submission has done itself the whole time.
    pub completion: Histogram,
    /// Service times.
    pub service: Histogram,
    /// Sums of the completion times and of the service times in nanoseconds, exact; 0 where they were not recorded.
    #[serde(default)]
    pub sums: [u64; 2],
}

/// Two times of the same operations.
type Pair = Box<Tally<2>>;

/// What one worker writes into while it measures, to become part of a [`Detail`]. Counting allocates nothing.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct DetailRecorder {
    /// By the kinds' order in [`Detail`]: submission and completion times, where the kind is announced.
    times: [Option<Pair>; 3],
    sums: [[u64; 2]; 3],
    priorities: Vec<KindTimes>,
    depths: [u64; 7],
    submits: [u64; 7],
    completes: [u64; 7],
}

/// What is kept of a kind, by its position, and of a priority.
#[derive(Debug, Clone, PartialEq)]
struct KindTimes {
    place: usize,
    priority: u16,
    /// Completion and service times.
    times: Pair,
    /// Their sums in nanoseconds.
    sums: [u64; 2],
}

/// Position of a kind in [`Detail::submission`].
const fn place(kind: OpKind) -> Option<usize> {
    match kind {
        OpKind::Read => Some(0),
        OpKind::Write => Some(1),
        OpKind::Trim => Some(2),
        _ => None,
    }
}

/// The class of so many operations in flight.
fn depth_class(in_flight: usize) -> usize {
    (in_flight.max(1).ilog2() as usize).min(6)
}

/// The class of a batch of so many operations.
fn batch_class(operations: usize) -> usize {
    if operations == 0 { 0 } else { ((operations.max(4) - 1).ilog2() as usize).min(6) }
}

/// Adds pairs of sums to others.
#[inline]
fn add<const N: usize>(mine: [&mut [u64; 2]; N], others: [&[u64; 2]; N]) {
    for (mine, others) in mine.into_iter().zip(others) {
        mine.iter_mut().zip(others).for_each(|(mine, other)| *mine = mine.saturating_add(*other));
    }
}

impl DetailRecorder {
    /// For a worker that does these kinds of operation; the times of others are not kept.
    pub fn new(kinds: &[OpKind]) -> DetailRecorder {
        let mut recorder = DetailRecorder::default();
        for place in kinds.iter().copied().filter_map(place) {
            recorder.times[place] = Some(Box::default());
        }
        recorder
    }

    /// Keeps the times of reads and writes with these priorities apart.
    pub fn keep_apart(&mut self, priorities: &[u16]) {
        for place in [0, 1].into_iter().filter(|place| self.times[*place].is_some()) {
            let new = |&priority: &u16| KindTimes { place, priority, times: Box::default(), sums: [0; 2] };
            self.priorities.extend(priorities.iter().map(new));
        }
    }

    /// Counts an operation with a priority that has succeeded: its times in nanoseconds.
    #[inline]
    pub fn prioritized(&mut self, kind: OpKind, priority: u16, completion: u64, service: u64) {
        let mut all = self.priorities.iter_mut();
        if let Some(kept) = all.find(|kept| (Some(kept.place), kept.priority) == (place(kind), priority)) {
            kept.times.count(0, completion);
            kept.times.count(1, service);
            add([&mut kept.sums], [&[completion, service]]);
        }
    }

    /// Counts an operation that is submitted, of so many in flight with it.
    #[inline]
    pub fn submitted(&mut self, in_flight: usize) {
        self.depths[depth_class(in_flight)] += 1;
    }

    /// Counts a submission that hands so many operations over.
    #[inline]
    pub fn handed_over(&mut self, operations: usize) {
        self.submits[batch_class(operations)] += 1;
    }

    /// Counts a reap that brings so many operations back.
    #[inline]
    pub fn brought_back(&mut self, operations: usize) {
        self.completes[batch_class(operations)] += 1;
    }

    /// Counts an operation that was queued and has succeeded: its times in nanoseconds.
    #[inline]
    pub fn queued(&mut self, kind: OpKind, submission: u64, completion: u64) {
        let Some(place) = place(kind) else { return };
        let Some(times) = self.times[place].as_mut() else { return };
        let [submissions, completions] = &mut self.sums[place];
        *submissions = submissions.saturating_add(submission);
        *completions = completions.saturating_add(completion);
        times.count(0, submission);
        times.count(1, completion);
    }

    /// Adds all that was counted.
    pub fn add_to(&self, detail: &mut Detail) {
        for (place, times) in self.times.iter().enumerate() {
            let Some(times) = times else { continue };
            times.add_to(0, &mut detail.submission[place]);
            times.add_to(1, &mut detail.completion[place]);
        }
        detail.add_sums(&self.sums);
        for KindTimes { place, priority, times, sums } in &self.priorities {
            let of = detail.of_priority(*place, *priority);
            times.add_to(0, &mut of.completion);
            times.add_to(1, &mut of.service);
            add([&mut of.sums], [sums]);
        }
        detail.add_counts([&self.depths, &self.submits, &self.completes]);
    }
}

impl Detail {
    /// Adds another worker's.
    pub fn merge(&mut self, other: &Detail) {
        for (mine, other) in self.submission.iter_mut().zip(&other.submission) {
            mine.merge(other);
        }
        for (mine, other) in self.completion.iter_mut().zip(&other.completion) {
            mine.merge(other);
        }
        self.add_sums(&other.sums);
        for other in &other.priorities {
            let mine = self.of_priority(other.place, other.priority);
            mine.completion.merge(&other.completion);
            mine.service.merge(&other.service);
            add([&mut mine.sums], [&other.sums]);
        }
        self.add_counts([&other.depths, &other.submits, &other.completes]);
    }

    fn of_priority(&mut self, place: usize, priority: u16) -> &mut PriorityTimes {
        let same = |times: &PriorityTimes| (times.place, times.priority) == (place, priority);
        let index = self.priorities.iter().position(same).unwrap_or_else(|| {
            let (completion, service) = (Histogram::new(), Histogram::new());
            self.priorities.push(PriorityTimes { place, priority, completion, service, sums: [0; 2] });
            self.priorities.len() - 1
        });
        &mut self.priorities[index]
    }

    fn add_sums(&mut self, others: &[[u64; 2]; 3]) {
        add(self.sums.each_mut(), others.each_ref());
    }

    fn add_counts(&mut self, others: [&[u64; 7]; 3]) {
        for (mine, other) in
            [&mut self.depths, &mut self.submits, &mut self.completes].into_iter().zip(others)
        {
            mine.iter_mut().zip(other).for_each(|(mine, other)| *mine += other);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iolite_model::Nanos;

    #[test]
    fn classes_are_those_that_are_printed() {
        let depths: Vec<_> = [0, 1, 2, 3, 4, 7, 8, 31, 32, 63, 64, 5000].map(depth_class).into();
        assert_eq!(depths, [0, 0, 1, 1, 2, 2, 3, 4, 5, 5, 6, 6]);
        let batches: Vec<_> = [0, 1, 4, 5, 8, 9, 16, 17, 32, 33, 64, 65, 5000].map(batch_class).into();
        assert_eq!(batches, [0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6]);
    }

    #[test]
    fn recorders_add_up_to_a_detail() {
        let mut recorder = DetailRecorder::new(&[OpKind::Read, OpKind::Trim, OpKind::Sync]);
        recorder.queued(OpKind::Read, 3, 70);
        recorder.queued(OpKind::Trim, 4, 80);
        recorder.queued(OpKind::Write, 5, 90);
        recorder.queued(OpKind::Sync, 6, 100);
        recorder.keep_apart(&[0, 0x2000]);
        recorder.prioritized(OpKind::Read, 0x2000, 5, 8);
        recorder.prioritized(OpKind::Read, 0x4000, 5, 8);
        recorder.prioritized(OpKind::Write, 0x2000, 5, 8);
        recorder.submitted(2);
        recorder.handed_over(5);
        recorder.brought_back(0);
        let mut detail = Detail::default();
        recorder.add_to(&mut detail);
        let mut twice = detail.clone();
        twice.merge(&detail);
        let counts = |histograms: &[Histogram; 3]| histograms.each_ref().map(Histogram::count);
        assert_eq!((counts(&detail.submission), counts(&twice.submission)), ([1, 0, 1], [2, 0, 2]));
        assert_eq!((counts(&detail.completion), detail.completion[2].min()), ([1, 0, 1], Nanos(80)));
        let prioritized = |detail: &Detail| {
            let reported =
                |times: &PriorityTimes| (times.place, times.priority, times.service.count(), times.sums);
            detail.priorities.iter().map(reported).collect::<Vec<_>>()
        };
        assert_eq!(prioritized(&detail), [(0, 0, 0, [0, 0]), (0, 0x2000, 1, [5, 8])]);
        assert_eq!(prioritized(&twice), [(0, 0, 0, [0, 0]), (0, 0x2000, 2, [10, 16])]);
        assert_eq!((detail.sums, twice.sums), ([[3, 70], [0, 0], [4, 80]], [[6, 140], [0, 0], [8, 160]]));
        assert_eq!((detail.depths[1], detail.submits[2], detail.completes[0]), (1, 1, 1));
        assert_eq!((twice.depths[1], twice.submits[2], twice.completes[0]), (2, 2, 2));
    }
}
