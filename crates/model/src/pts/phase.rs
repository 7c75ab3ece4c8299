//! The phases of the specification's tests, and their names, by which they are found again.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::test::PtsTest;
use crate::units::Bytes;

/// What is brought into steady state by itself: a test, or a block size of the throughput test.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct PtsSection {
    /// The test.
    pub test: PtsTest,
    /// The block size, of the throughput test.
    pub block: Option<Bytes>,
}

/// A phase of a section.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PtsPhase {
    /// The device is purged.
    Purge,
    /// Workload-independent preconditioning: sequential writes.
    Precondition,
    /// Writes of the test's own access pattern, which bring the device into the state that it is measured in.
    PreWrite(PtsPreWrite),
    /// A cell of a round.
    Cell(PtsCell),
    /// A step of a stage, which follows the rounds.
    Step(PtsStep),
}

/// When the access pattern of a test is written before it is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PtsPreWrite {
    /// Workload-dependent preconditioning before the rounds, by number, from 1, until its rate is steady.
    Precondition(u32),
    /// Before a round, from 1.
    Round(u32),
    /// Before the response times at an operating point.
    Point(PtsPoint),
}

/// A cell of a round.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct PtsCell {
    /// The round, from 1; of tests by zone the zone, from the outermost.
    pub round: u32,
    /// Share of reads in percent.
    pub read_percent: u8,
    /// Bytes of each operation; of the composite workload the largest.
    pub block: Bytes,
    /// Number of threads and queue depth, of tests that vary them.
    pub demand: Option<PtsDemand>,
}

/// Number of threads and queue depth.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct PtsDemand {
    /// Threads.
    pub threads: u32,
    /// Outstanding operations of each.
    pub depth: u32,
}

/// A part of a test that follows its rounds and consists of equal steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PtsStage {
    /// Host idle recovery: bursts of writes, each after a wait of this many seconds. A rehearsal shortens both.
    Bursts(u32),
    /// Host idle recovery: writes without waits, after those with waits of this many seconds.
    Continuous(u32),
    /// Cross-stimulus recovery: large sequential writes at the start.
    SequentialBefore,
    /// Cross-stimulus recovery: small random writes.
    RandomBetween,
    /// Cross-stimulus recovery: large sequential writes at the end.
    SequentialAfter,
    /// Response times at an operating point.
    Histogram(PtsPoint),
}

/// An operating point of a test that varies the demand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PtsPoint {
    /// The smallest demand.
    Min,
    /// The demand whose rate is nearest to the middle of the other two.
    Mid,
    /// The demand with the highest rate of those whose mean response time is within the limit.
    Max,
}

/// A step of a stage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct PtsStep {
    /// The stage.
    pub stage: PtsStage,
    /// Its number within the stage, from 1.
    pub number: u32,
}

impl fmt::Display for PtsDemand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let threads = if self.threads == 1 { "thread" } else { "threads" };
        write!(f, "{} {threads}, queue depth {}", self.threads, self.depth)
    }
}

impl PtsDemand {
    /// Operations in flight.
    pub fn outstanding(self) -> u32 {
        self.threads.saturating_mul(self.depth)
    }
}

impl PtsPoint {
    /// All of them, in the order in which they are measured.
    pub const ALL: [PtsPoint; 3] = [PtsPoint::Max, PtsPoint::Mid, PtsPoint::Min];

    /// Its name in output.
    pub const fn name(self) -> &'static str {
        match self {
            PtsPoint::Min => "min IOPS",
            PtsPoint::Mid => "mid IOPS",
            PtsPoint::Max => "max IOPS",
        }
    }
}

impl PtsStage {
    /// Its name in output.
    pub fn name(self) -> String {
        match self {
            PtsStage::Bursts(seconds) => format!("bursts after waits of {seconds} s"),
            PtsStage::Continuous(seconds) => format!("continuous after waits of {seconds} s"),
            PtsStage::SequentialBefore => "sequential writes before".to_owned(),
            PtsStage::RandomBetween => "random writes".to_owned(),
            PtsStage::SequentialAfter => "sequential writes after".to_owned(),
            PtsStage::Histogram(point) => format!("response times at {}", point.name()),
        }
    }
}

impl PtsSection {
    /// What it is called.
    pub fn name(self) -> String {
        match self.block {
            Some(block) => format!("{} of {block}", self.test.name()),
            None => self.test.name().to_owned(),
        }
    }

    /// Name of the task of a phase, by which it is found again.
    pub fn phase(self, phase: PtsPhase) -> String {
        let name = self.name();
        match phase {
            PtsPhase::Purge => format!("{name}: purge"),
            PtsPhase::Precondition => format!("{name}: precondition"),
            PtsPhase::PreWrite(PtsPreWrite::Precondition(number)) => {
                format!("{name}: precondition by the same writes, {number}")
            }
            PtsPhase::PreWrite(PtsPreWrite::Round(round)) => {
                format!("{name}, round {round}: writes before it")
            }
            PtsPhase::PreWrite(PtsPreWrite::Point(point)) => {
                format!("{name}: writes before {}", point.name())
            }
            PtsPhase::Cell(cell) => self.cell(&name, cell),
            PtsPhase::Step(PtsStep { stage: stage @ PtsStage::Histogram(_), .. }) => {
                format!("{name}: {}", stage.name())
            }
            PtsPhase::Step(PtsStep { stage, number }) => format!("{name}, {}, {number}", stage.name()),
        }
    }

    fn cell(self, name: &str, cell: PtsCell) -> String {
        let PtsCell { round, read_percent, block, demand } = cell;
        let part = if self.test.is_by_zone() { "zone" } else { "round" };
        match demand {
            Some(demand) => format!("{name}, {part} {round}: {demand}"),
            None if self.test.is_composite() => format!("{name}, {part} {round}: {read_percent} % reads"),
            None => format!("{name}, {part} {round}: {read_percent} % reads of {block}"),
        }
    }
}
