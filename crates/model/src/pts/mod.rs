//! SNIA's Solid State Storage Performance Test Specification: what a run of it was asked for, and its phases, whose names say what
//! each is, so that a run that was cut short goes on where it was.

mod phase;
mod test;

use std::fmt;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::record::RunId;
use crate::units::{Bytes, Nanos};

pub use phase::{PtsCell, PtsDemand, PtsPhase, PtsPoint, PtsPreWrite, PtsSection, PtsStage, PtsStep};
pub use test::{PtsClass, PtsPurge, PtsTest, composite_sizes};

/// Shortest time of a cell or step: ten intervals.
const SHORTEST: Nanos = Nanos(100_000_000);

/// Times of host idle recovery: of a burst of writes, of all bursts with the same wait, and of the continuous writes after them.
const BURST: Nanos = Nanos(5 * Nanos::SECOND.0);
const BURSTS: Nanos = Nanos(1800 * Nanos::SECOND.0);
const CONTINUOUS: Nanos = Nanos(1800 * Nanos::SECOND.0);

/// Waits before the bursts of host idle recovery, in seconds.
const WAITS: [u32; 5] = [5, 10, 15, 25, 50];

/// Times of the sequential and of the random writes of cross-stimulus recovery.
const SEQUENTIAL: Nanos = Nanos(8 * 3600 * Nanos::SECOND.0);
const RANDOM: Nanos = Nanos(6 * 3600 * Nanos::SECOND.0);

/// Time of a response time histogram.
const HISTOGRAM: Nanos = Nanos(600 * Nanos::SECOND.0);

/// Times of writes of a test's access pattern: of a round of the preconditioning by them, before a round of measurements, and before a
/// response time histogram.
const PRECONDITIONING: Nanos = Nanos(1800 * Nanos::SECOND.0);
const BEFORE_ROUND: Nanos = Nanos(300 * Nanos::SECOND.0);
const BEFORE_HISTOGRAM: Nanos = Nanos(3600 * Nanos::SECOND.0);

/// Fewest bursts with the same wait.
const FEWEST_BURSTS: u64 = 2;

/// Times that the preconditioning, and the write saturation test, write the capacity.
const PRECONDITIONED: u64 = 2;
const SATURATED: u64 = 4;

/// What a run of the specification's tests was asked for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PtsTerms {
    /// The device or file.
    pub target: PathBuf,
    /// What it is tested for; `None` where nothing of it is changed.
    pub class: Option<PtsClass>,
    /// Bytes of it that are used, from its start: the active range.
    pub span: Bytes,
    /// Bytes of which preconditioning and write saturation write multiples: the device's of a class, otherwise the active range.
    pub capacity: Bytes,
    /// The tests, in the order in which they run.
    pub tests: Vec<PtsTest>,
    /// Share of the specification's times and sizes; below 1 it is a rehearsal, whose figures are none of the specification.
    pub scale: f64,
    /// Length of a round's cell.
    pub cell: Nanos,
    /// Rounds at most.
    pub max_rounds: u32,
    /// Rounds of the measurement window.
    pub window: u32,
    /// Block sizes that the target takes, the largest first.
    pub blocks: Vec<Bytes>,
    /// Threads of the tests that have more than one.
    pub threads: u32,
    /// Queue depth of each thread.
    pub depth: u32,
    /// Numbers of threads, and queue depths of each, of the tests that vary them, the largest first.
    pub demand: Vec<u32>,
    /// Zones of a hard disk.
    pub zones: u32,
    /// How the target is purged; `None` where it is not.
    pub purge: Option<PtsPurge>,
    /// Whether the device's write cache is switched on or off; `None` where it stays as it is.
    pub write_cache: Option<bool>,
    /// Length of the write saturation test at most.
    pub saturation: Nanos,
    /// Smallest block of the target: smaller ones of the specification are replaced by it.
    pub logical_block: Bytes,
    /// What the device reads and writes at once: it reads the rest of a block before it writes a part of it. The logical block where it is
    /// not known.
    pub physical_block: Bytes,
    /// What the target is, by which it is recognised when a run is resumed.
    pub device: PtsDevice,
}

/// What a target is, whatever its path.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct PtsDevice {
    /// Serial number, as its driver reports it, and which partition or namespace it is; `None` of files, and where the driver does not.
    pub serial: Option<String>,
    /// Size of all of it.
    pub size: Bytes,
}

impl fmt::Display for PtsDevice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.serial {
            Some(serial) => write!(f, "serial number {serial}, {}", self.size),
            None => write!(f, "{}", self.size),
        }
    }
}

/// The run that this run continues.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PtsResumed {
    /// The earlier run.
    pub run: RunId,
    /// Number of its phases that are part of this run.
    pub phases: u64,
    /// Time between its last completed phase and the start of this run, in which nothing was measured.
    pub idle: Nanos,
}

/// A purge that was done by a command of the device and not by a phase.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PtsPurged {
    /// Name of the section before which it was done.
    pub section: String,
    /// The command.
    pub purge: PtsPurge,
    /// Time that it took.
    pub took: Nanos,
}

/// The device's write cache, as it was before the run and during it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PtsWriteCache {
    /// Kernel name of the device.
    pub device: String,
    /// What was switched: the setting of the drive.
    pub by: String,
    /// Whether it was on before.
    pub before: bool,
    /// Whether it was on during the run.
    pub during: bool,
}

impl PtsTerms {
    /// The sections, in order.
    pub fn sections(&self) -> Vec<PtsSection> {
        let of = |&test: &PtsTest| -> Vec<PtsSection> {
            match test {
                PtsTest::Throughput => {
                    self.blocks_of(test).map(|block| PtsSection { test, block: Some(block) }).collect()
                }
                _ => vec![PtsSection { test, block: None }],
            }
        };
        self.tests.iter().flat_map(of).collect()
    }

    /// The block sizes of a test, the largest first, each once: those of the specification that the target takes, and its logical block
    /// instead of smaller ones.
    pub fn blocks_of(&self, test: PtsTest) -> impl Iterator<Item = Bytes> + use<> {
        let sizes = test.blocks().iter().map(|block| self.block(*block));
        let mut blocks: Vec<Bytes> = sizes.filter(|block| self.blocks.contains(block)).collect();
        blocks.dedup();
        blocks.into_iter()
    }

    /// What a block size of the specification is on the target: the size itself, or the logical block if that is larger.
    pub fn block(&self, size: Bytes) -> Bytes {
        size.max(self.logical_block)
    }

    /// The tests with operations that are smaller than the logical block.
    pub fn replaced(&self) -> Vec<PtsTest> {
        let smaller = |test: &&PtsTest| test.smallest() < self.logical_block;
        self.tests.iter().filter(smaller).copied().collect()
    }

    /// The cells of a round of a section, in order: mix by mix, each with all block sizes; or from the largest demand to the
    /// smallest.
    pub fn cells(&self, section: PtsSection, round: u32) -> Vec<PtsCell> {
        if section.test == PtsTest::CrossStimulusRecovery {
            return Vec::new();
        }
        let blocks: Vec<Bytes> = match section.block {
            Some(block) => vec![block],
            None => self.blocks_of(section.test).collect(),
        };
        let demands = if section.test.is_by_demand() {
            self.demands().into_iter().map(Some).collect()
        } else {
            vec![None]
        };
        let mut cells = Vec::new();
        for &read_percent in section.test.mixes() {
            for &block in &blocks {
                let cell = |&demand| PtsCell { round, read_percent, block, demand };
                cells.extend(demands.iter().map(cell));
            }
        }
        cells
    }

    /// The numbers of threads with each queue depth, the largest first.
    pub fn demands(&self) -> Vec<PtsDemand> {
        let of = |&threads: &u32| self.demand.iter().map(move |&depth| PtsDemand { threads, depth });
        self.demand.iter().flat_map(of).collect()
    }

    /// The cell of a round whose figure has to become steady: writes of 4 KiB, or of the smallest block where the target takes
    /// none so small; of the throughput tests those of their (largest) block size; of the others the largest demand. By size,
    /// never by its place: where blocks of 512 bytes are left out, it stays the same.
    pub fn tracked(&self, section: PtsSection, round: u32) -> Option<PtsCell> {
        let cells = self.cells(section, round);
        if section.test.is_by_demand() || section.test.is_composite() {
            return cells.first().copied();
        }
        let four = Bytes(4096);
        let mut written = cells.iter().filter(|cell| cell.read_percent == 0);
        if section.test.is_throughput() {
            return written.next().copied();
        }
        let smallest = written.clone().next_back();
        written.find(|cell| cell.block == four).or(smallest).copied()
    }

    /// The stages after the rounds of a section, and the number of steps of each, in order.
    pub fn stages(&self, section: PtsSection) -> Vec<(PtsStage, u32)> {
        match section.test {
            PtsTest::HostIdleRecovery => {
                let bursts = count(self.scaled_time(BURSTS), self.length(PtsStage::Bursts(0)), FEWEST_BURSTS);
                let minutes = count(self.scaled_time(CONTINUOUS), self.cell, 1);
                let of =
                    |seconds| [(PtsStage::Bursts(seconds), bursts), (PtsStage::Continuous(seconds), minutes)];
                WAITS.into_iter().flat_map(of).collect()
            }
            PtsTest::CrossStimulusRecovery => {
                let [sequential, random] =
                    [SEQUENTIAL, RANDOM].map(|time| count(self.scaled_time(time), self.cell, 1));
                vec![
                    (PtsStage::SequentialBefore, sequential),
                    (PtsStage::RandomBetween, random),
                    (PtsStage::SequentialAfter, sequential),
                ]
            }
            test if test.is_by_demand() => {
                PtsPoint::ALL.map(|point| (PtsStage::Histogram(point), 1)).to_vec()
            }
            _ => Vec::new(),
        }
    }

    /// Time of the operations of a step.
    pub fn length(&self, stage: PtsStage) -> Nanos {
        match stage {
            PtsStage::Bursts(_) => self.scaled_time(BURST),
            PtsStage::Histogram(_) => self.scaled_time(HISTOGRAM),
            PtsStage::Continuous(_)
            | PtsStage::SequentialBefore
            | PtsStage::RandomBetween
            | PtsStage::SequentialAfter => self.cell,
        }
    }

    /// Time of a cell. A round of host idle recovery is a round of preconditioning, of which the last minute counts.
    pub fn cell_length(&self, test: PtsTest) -> Nanos {
        match test {
            PtsTest::HostIdleRecovery => self.scaled_time(PRECONDITIONING).max(self.cell),
            _ => self.cell,
        }
    }

    /// Time of writes of a test's access pattern before it is measured.
    pub fn pre_write_length(&self, pre_write: PtsPreWrite) -> Nanos {
        match pre_write {
            PtsPreWrite::Precondition(_) => self.scaled_time(PRECONDITIONING).max(self.cell),
            PtsPreWrite::Round(_) => self.scaled_time(BEFORE_ROUND),
            PtsPreWrite::Point(_) => self.scaled_time(BEFORE_HISTOGRAM),
        }
    }

    /// Time of all writes of a section's access pattern before it is measured, at most.
    pub fn pre_writing(&self, section: PtsSection) -> Nanos {
        let rounds = if section.test.is_written_before() { self.max_rounds } else { 0 };
        let by_demand = if section.test.is_by_demand() { self.max_rounds } else { 0 };
        let points = if section.test.is_by_demand() { PtsPoint::ALL.len() as u32 } else { 0 };
        let of = |count: u32, pre_write| self.pre_write_length(pre_write).0.saturating_mul(u64::from(count));
        let each = [
            of(rounds, PtsPreWrite::Precondition(1)),
            of(by_demand, PtsPreWrite::Round(1)),
            of(points, PtsPreWrite::Point(PtsPoint::Max)),
        ];
        Nanos(each.into_iter().fold(0, u64::saturating_add))
    }

    /// Time without operations before a step; in a rehearsal in the same ratio to the length of a burst.
    pub fn wait(&self, stage: PtsStage) -> Nanos {
        match stage {
            PtsStage::Bursts(seconds) => Nanos(
                self.scaled_time(BURST).0.saturating_mul(u64::from(seconds)) / (BURST.0 / Nanos::SECOND.0),
            ),
            _ => Nanos(0),
        }
    }

    /// Whether it is a rehearsal.
    pub fn is_rehearsal(&self) -> bool {
        self.scale < 1.0
    }

    /// Bytes that one preconditioning writes: twice the capacity, or the share of it that a rehearsal has.
    pub fn precondition(&self) -> Bytes {
        self.scaled(PRECONDITIONED)
    }

    /// Bytes after which the write saturation test ends: four times the capacity, or the share of it that a rehearsal has.
    pub fn saturated(&self) -> Bytes {
        self.scaled(SATURATED)
    }

    /// So many times the capacity; in a rehearsal its share, in whole mebibytes and at least one.
    fn scaled(&self, times: u64) -> Bytes {
        let whole = self.capacity.0.saturating_mul(times);
        if !self.is_rehearsal() {
            return Bytes(whole);
        }
        Bytes((whole as f64 * self.scale) as u64).round_down(Bytes::MIB.0).max(Bytes::MIB)
    }

    /// A time of the specification; in a rehearsal its share, but not too short to be measured.
    pub fn scaled_time(&self, whole: Nanos) -> Nanos {
        Nanos((whole.0 as f64 * self.scale) as u64).max(SHORTEST)
    }

    /// Length of a zone, in whole blocks of the largest size.
    pub fn zone_length(&self) -> Bytes {
        Bytes(self.span.0 / u64::from(self.zones.max(1))).round_down(Bytes::MIB.0)
    }

    /// Number of rounds of a section at most; zones have one each.
    pub fn rounds(&self, section: PtsSection) -> u32 {
        if section.test.is_by_zone() { self.zones } else { self.max_rounds }
    }

    /// Time of all rounds and stages of a section at most.
    pub fn longest(&self, section: PtsSection) -> Nanos {
        let rounds = match section.test {
            PtsTest::WriteSaturation => self.saturation.0,
            test => (self.cells(section, 1).len() as u64)
                .saturating_mul(self.cell_length(test).0)
                .saturating_mul(u64::from(self.rounds(section))),
        };
        let rounds = rounds.saturating_add(self.pre_writing(section).0);
        let stage = |&(stage, steps): &(PtsStage, u32)| {
            self.length(stage).0.saturating_add(self.wait(stage).0).saturating_mul(u64::from(steps))
        };
        Nanos(self.stages(section).iter().map(stage).fold(rounds, u64::saturating_add))
    }
}

/// How many times a length is contained in a time, and at least `min`.
fn count(time: Nanos, length: Nanos, min: u64) -> u32 {
    u32::try_from((time.0 / length.0.max(1)).max(min)).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests;
