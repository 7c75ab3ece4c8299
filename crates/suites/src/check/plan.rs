//! The stages of a check, in order, and their shares of the time.

use iolite_model::{Measure, Nanos, OpKind};

use super::{CheckOptions, Judged};

/// What the knee is searched for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Search {
    /// Random reads of 8 KiB.
    Read8k,
    /// Random reads of 64 KiB.
    Read64k,
    /// The database's RanRead.
    RanRead,
}

/// A stage of the check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    /// Makes the data file: the sequential write.
    Layout,
    /// The sequential read.
    SequentialRead,
    /// Rising concurrency until the knee.
    Search(Search),
    /// Once more, longer, at the knee: what the verdict rests on.
    AtKnee(Search),
    /// At the rate the user asks for.
    AtTarget(Search),
    /// Random writes of 8 KiB.
    RandomWrite,
    /// Appends of 8 KiB, each with fdatasync, to a preallocated file.
    CommitPreallocated,
    /// The same to a growing file.
    CommitGrowing,
    /// Makes the database.
    CreateDatabase,
    /// RanWrite.
    RanWrite,
    /// RanIO.
    RanIo,
}

/// By which share of the time each stage is to be over: a search that is late ends, and what would end after the whole
/// time is left out.
const ORDER: [(Stage, f64); 14] = [
    (Stage::Layout, 0.10),
    (Stage::SequentialRead, 0.13),
    (Stage::Search(Search::Read8k), 0.32),
    (Stage::AtKnee(Search::Read8k), 0.36),
    (Stage::AtTarget(Search::Read8k), 0.40),
    (Stage::Search(Search::Read64k), 0.55),
    (Stage::AtKnee(Search::Read64k), 0.59),
    (Stage::AtTarget(Search::Read64k), 0.63),
    (Stage::RandomWrite, 0.67),
    (Stage::CommitPreallocated, 0.71),
    (Stage::CommitGrowing, 0.75),
    (Stage::CreateDatabase, 0.80),
    (Stage::Search(Search::RanRead), 0.90),
    (Stage::AtKnee(Search::RanRead), 0.93),
];

/// The stages after [`ORDER`]: a database is written to only after it has been read, so that reads find it in order.
const LAST: [(Stage, f64); 2] = [(Stage::RanWrite, 0.96), (Stage::RanIo, 1.0)];

/// What each criterion rests on: a rate asked for comes before the knee.
pub(super) const JUDGED: [Judged; 8] = [
    (Measure::RandomRead8k, Stage::AtTarget(Search::Read8k), OpKind::Read),
    (Measure::RandomRead8k, Stage::AtKnee(Search::Read8k), OpKind::Read),
    (Measure::RandomRead64k, Stage::AtTarget(Search::Read64k), OpKind::Read),
    (Measure::RandomRead64k, Stage::AtKnee(Search::Read64k), OpKind::Read),
    (Measure::RandomWrite8k, Stage::RandomWrite, OpKind::Write),
    (Measure::FdatasyncPreallocated, Stage::CommitPreallocated, OpKind::Sync),
    (Measure::FdatasyncGrowing, Stage::CommitGrowing, OpKind::Sync),
    (Measure::DbRanRead, Stage::AtKnee(Search::RanRead), OpKind::Read),
];

/// The stages for these options.
pub(super) fn stages(options: &CheckOptions) -> Vec<Stage> {
    let wanted = |stage: &Stage| !matches!(stage, Stage::AtTarget(_)) || options.target_iops.is_some();
    ORDER.iter().chain(&LAST).map(|(stage, _)| *stage).filter(wanted).collect()
}

impl Search {
    /// All of them.
    pub(super) const ALL: [Search; 3] = [Search::Read8k, Search::Read64k, Search::RanRead];

    /// Those of the file layer.
    pub(super) const FILE: [Search; 2] = [Search::Read8k, Search::Read64k];

    /// Name shown to people.
    pub(super) fn name(self) -> &'static str {
        match self {
            Search::Read8k => "random read 8 KiB",
            Search::Read64k => "random read 64 KiB",
            Search::RanRead => "RanRead",
        }
    }

    /// The highest concurrency worth trying: beyond it a database server would not go.
    pub(super) fn highest(self) -> u32 {
        match self {
            Search::Read8k => 256,
            Search::Read64k => 128,
            Search::RanRead => 64,
        }
    }
}

impl Stage {
    /// When the stage is to be over, since the check's start.
    pub(super) fn deadline(self, options: &CheckOptions) -> Nanos {
        let share =
            ORDER.iter().chain(&LAST).find(|(stage, _)| *stage == self).map_or(1.0, |(_, share)| *share);
        Nanos((options.time.0 as f64 * share) as u64)
    }

    /// Whether it runs inside the database.
    pub(super) fn needs_database(self) -> bool {
        matches!(
            self,
            Stage::Search(Search::RanRead) | Stage::AtKnee(Search::RanRead) | Stage::RanWrite | Stage::RanIo
        )
    }
}
