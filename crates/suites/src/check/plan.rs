//! The stages of a check, in order, and their shares of the time.

use iolite_model::{Bytes, Measure, Nanos, OpKind};

use super::{CheckOptions, Judged};
use crate::shuffle::shuffle;

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

/// How a log is written and made durable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pattern {
    /// Buffered appends of 2,300 bytes to a preallocated file, each with fdatasync: etcd.
    Append,
    /// Buffered appends of 8 KiB to a growing file, each with fdatasync.
    Growing,
    /// Direct overwrites of written blocks, each with fdatasync.
    OverwriteDirect,
    /// Buffered overwrites of written blocks, each with fdatasync: recycled WAL, InnoDB's log.
    OverwriteBuffered,
    /// Buffered overwrites of written blocks of a file opened with O_DSYNC.
    OverwriteDsync,
}

/// A stage of the check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    /// Makes the data file: the sequential write. It has one window: shorter ones, so that its blocks can be written again later,
    /// meet fewer of a device's stalls.
    Layout,
    /// Random writes in rounds until their rate is steady; of a thorough check only.
    Precondition,
    /// The sequential read.
    SequentialRead,
    /// Rising concurrency until the knee.
    Search(Search),
    /// Random reads at the knee for a quarter of the time, so that burst credits show their end; of a thorough check only.
    Sustained,
    /// Once more, longer, at the knee: what the verdict rests on.
    AtKnee(Search),
    /// At the rate the user asks for.
    AtTarget(Search),
    /// Random writes of 8 KiB.
    RandomWrite,
    /// Durable writes, one after the other.
    Commit(Pattern),
    /// Makes the database.
    CreateDatabase,
    /// RanWrite.
    RanWrite,
    /// RanIO.
    RanIo,
}

/// By which share of the time each stage is to be over: a search that is late ends, and what would end after the whole
/// time is left out.
const DEADLINES: [(Stage, f64); 5] = [
    (Stage::Layout, 0.10),
    (Stage::Search(Search::Read8k), 0.30),
    (Stage::Search(Search::Read64k), 0.43),
    (Stage::CreateDatabase, 0.80),
    (Stage::Search(Search::RanRead), 0.89),
];

/// The same of a thorough check, most of whose time goes to the fill, to the steady state and to the sustained load.
const THOROUGH: [(Stage, f64); 7] = [
    (Stage::Layout, 0.25),
    (Stage::Precondition, 0.45),
    (Stage::Search(Search::Read8k), 0.53),
    (Stage::Search(Search::Read64k), 0.58),
    (Stage::Sustained, 0.84),
    (Stage::CreateDatabase, 0.96),
    (Stage::Search(Search::RanRead), 0.97),
];

/// What the searches and the layout come before, in random order, each several times: an interval over windows that are
/// apart from each other includes drift.
const READS: [Stage; 4] = [
    Stage::AtKnee(Search::Read8k),
    Stage::AtTarget(Search::Read8k),
    Stage::AtKnee(Search::Read64k),
    Stage::AtTarget(Search::Read64k),
];

/// The same of writes, which come after the reads so that these find the device as it was.
const WRITES: [Stage; 6] = [
    Stage::RandomWrite,
    Stage::Commit(Pattern::Append),
    Stage::Commit(Pattern::Growing),
    Stage::Commit(Pattern::OverwriteDirect),
    Stage::Commit(Pattern::OverwriteBuffered),
    Stage::Commit(Pattern::OverwriteDsync),
];

/// The same inside the database, after the search for its knee.
const DATABASE: [Stage; 3] = [Stage::AtKnee(Search::RanRead), Stage::RanWrite, Stage::RanIo];

/// A check shorter than this has fewer windows, which would else be too short to say anything.
const HURRIED: Nanos = Nanos(30_000_000_000);

/// What each criterion rests on: a rate asked for comes before the knee.
pub(super) const JUDGED: [Judged; 14] = [
    (Measure::RandomRead8k, Stage::AtTarget(Search::Read8k), OpKind::Read),
    (Measure::RandomRead8k, Stage::AtKnee(Search::Read8k), OpKind::Read),
    (Measure::RandomRead64k, Stage::AtTarget(Search::Read64k), OpKind::Read),
    (Measure::RandomRead64k, Stage::AtKnee(Search::Read64k), OpKind::Read),
    (Measure::RandomWrite8k, Stage::RandomWrite, OpKind::Write),
    (Measure::SequentialRead, Stage::SequentialRead, OpKind::Read),
    (Measure::SequentialWrite, Stage::Layout, OpKind::Write),
    (Measure::FdatasyncAppend, Stage::Commit(Pattern::Append), OpKind::Sync),
    (Measure::CommitGrowing, Stage::Commit(Pattern::Growing), OpKind::Commit),
    (Measure::CommitOverwriteDirect, Stage::Commit(Pattern::OverwriteDirect), OpKind::Commit),
    (Measure::CommitOverwriteBuffered, Stage::Commit(Pattern::OverwriteBuffered), OpKind::Commit),
    (Measure::CommitOverwriteDsync, Stage::Commit(Pattern::OverwriteDsync), OpKind::Write),
    (Measure::DbRanRead, Stage::AtKnee(Search::RanRead), OpKind::Read),
    (Measure::DbCommit, Stage::RanWrite, OpKind::Commit),
];

/// The stages for these options; a stage that is measured in several windows occurs as often.
pub(super) fn stages(options: &CheckOptions) -> Vec<Stage> {
    let mut stages = vec![Stage::Layout];
    stages.extend(options.thorough.then_some(Stage::Precondition));
    // Its windows lie at the ends of what only reads: after the layout, after the searches, before the writes.
    let mut sequential = std::iter::repeat_n(Stage::SequentialRead, Stage::SequentialRead.windows(options));
    stages.extend(sequential.next());
    stages.extend(Search::FILE.map(Stage::Search));
    stages.extend(options.thorough.then_some(Stage::Sustained));
    stages.extend(sequential.next());
    let wanted = |stage: &&Stage| match stage {
        Stage::AtTarget(_) => options.target_iops.is_some(),
        Stage::Commit(Pattern::OverwriteDirect) => options.direct,
        _ => true,
    };
    for (group, salt) in [(READS.as_slice(), 1), (WRITES.as_slice(), 2)] {
        stages.extend(shuffled(group.iter().filter(wanted), options, salt));
        stages.extend(sequential.next());
    }
    stages.extend([Stage::CreateDatabase, Stage::Search(Search::RanRead)]);
    stages.extend(shuffled(DATABASE.iter(), options, 3));
    stages
}

/// Stages that are measured in windows in random order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Group {
    /// Reads of files at the knee or at the rate asked for.
    Reads,
    /// Writes and commits of files.
    Writes,
}

impl Group {
    /// Whether a stage belongs to it.
    pub(super) fn has(self, stage: Stage) -> bool {
        match self {
            Group::Reads => READS.contains(&stage),
            Group::Writes => WRITES.contains(&stage),
        }
    }
}

/// Windows that a stage may have beyond those planned, as a multiple of these.
const FURTHER: usize = 4;

/// Further windows of these stages, for the time that is left over: in rounds of random order, so that each has as many when it is
/// used up.
pub(super) fn further_windows(undecided: &[Stage], options: &CheckOptions) -> Vec<Stage> {
    let planned = |stage: &Stage| stage.windows(options);
    let rounds = undecided.iter().map(planned).max().unwrap_or(0) * FURTHER;
    let round = |number: usize| {
        let mut stages = undecided.to_vec();
        stages.retain(|stage| number < planned(stage) * FURTHER);
        shuffle(&mut stages, options.seed.wrapping_add(4 + number as u64));
        stages
    };
    (0..rounds).flat_map(round).collect()
}

/// All windows of some stages, in random order.
fn shuffled<'a>(group: impl Iterator<Item = &'a Stage>, options: &CheckOptions, salt: u64) -> Vec<Stage> {
    let mut windows: Vec<Stage> =
        group.flat_map(|&stage| std::iter::repeat_n(stage, stage.windows(options))).collect();
    shuffle(&mut windows, options.seed.wrapping_add(salt));
    windows
}

impl Search {
    pub(super) const ALL: [Search; 3] = [Search::Read8k, Search::Read64k, Search::RanRead];

    /// Those of the file layer.
    pub(super) const FILE: [Search; 2] = [Search::Read8k, Search::Read64k];

    /// What the profile's criteria call it.
    pub(super) fn measure(self) -> Measure {
        match self {
            Search::Read8k => Measure::RandomRead8k,
            Search::Read64k => Measure::RandomRead64k,
            Search::RanRead => Measure::DbRanRead,
        }
    }

    /// Size of its blocks.
    pub(super) fn block(self) -> Bytes {
        match self {
            Search::Read64k => Bytes(64 << 10),
            Search::Read8k | Search::RanRead => Bytes(8 << 10),
        }
    }

    /// Name shown in results.
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
        let deadlines = if options.thorough { THOROUGH.as_slice() } else { DEADLINES.as_slice() };
        let share = deadlines.iter().find(|(stage, _)| *stage == self).map_or(1.0, |(_, share)| *share);
        Nanos((options.time.0 as f64 * share) as u64)
    }

    /// Whether it goes on until it is content.
    pub(super) fn is_repeated(self) -> bool {
        matches!(self, Stage::Search(_) | Stage::Precondition)
    }

    /// In how many windows it is measured.
    pub(super) fn windows(self, options: &CheckOptions) -> usize {
        match self {
            Stage::AtKnee(Search::RanRead) | Stage::RanWrite | Stage::RanIo if options.time < HURRIED => 1,
            Stage::AtKnee(Search::RanRead) | Stage::RanWrite | Stage::RanIo => 3,
            Stage::AtKnee(_) | Stage::AtTarget(_) if options.time < HURRIED => 2,
            Stage::AtKnee(_) | Stage::AtTarget(_) => 4,
            Stage::SequentialRead | Stage::RandomWrite | Stage::Commit(_) if options.time < HURRIED => 1,
            Stage::SequentialRead | Stage::RandomWrite | Stage::Commit(_) => 3,
            _ => 1,
        }
    }

    /// Whether it runs inside the database.
    pub(super) fn needs_database(self) -> bool {
        matches!(
            self,
            Stage::Search(Search::RanRead) | Stage::AtKnee(Search::RanRead) | Stage::RanWrite | Stage::RanIo
        )
    }
}
