//! What is kept of each operation beyond counts and histograms, where a task asks for it.

use crate::histogram::Histogram;

/// Submission and completion apart, queue depths, and sizes of batches, over the measured part of a phase.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Detail {
    /// Submission times of reads, writes and trims that an asynchronous back end has queued: from the instant at which an
    /// operation is handed over to that at which its submission returns.
    pub submission: [Histogram; 3],
    /// Completion times of the same operations: from the return of the submission on.
    pub completion: [Histogram; 3],
    /// Operations by how many were in flight when they were submitted, themselves included: up to 1, 2 to 3, 4 to 7, 8 to 15,
    /// 16 to 31, 32 to 63, 64 and more.
    pub depths: [u64; 7],
    /// Submissions by how many operations they handed to the kernel: none, up to 4, 8, 16, 32, 64, and more.
    pub submits: [u64; 7],
    /// Reaps by how many operations they brought back, in the same classes.
    pub completes: [u64; 7],
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
        let counts = [
            (&mut self.depths, &other.depths),
            (&mut self.submits, &other.submits),
            (&mut self.completes, &other.completes),
        ];
        for (mine, other) in counts {
            mine.iter_mut().zip(other).for_each(|(mine, other)| *mine += other);
        }
    }
}
