//! SNIA's Solid State Storage Performance Test Specification: what a run of it was asked for, and its phases, whose names say what
//! each is, so that a run that was cut short goes on where it was.

use std::fmt;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::concluded::Conclusion;
use crate::record::RunId;
use crate::units::{Bytes, Nanos};

/// What a run of the specification's tests was asked for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PtsTerms {
    /// The device or file.
    pub target: PathBuf,
    /// Bytes of it that are used, from its start: the active range.
    pub span: Bytes,
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
    /// Whether the target can discard, which is how it is purged.
    pub purges: bool,
    /// Length of the write saturation test at most.
    pub saturation: Nanos,
    /// What the target is, by which it is recognised when a run is resumed.
    #[serde(default)]
    pub device: PtsDevice,
}

/// What a target is, whatever its path.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct PtsDevice {
    /// Serial number, as its driver reports it; `None` of files, and where the driver does not.
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

impl Conclusion for PtsResumed {
    const KIND: &'static str = "pts-resumed";
}

impl Conclusion for PtsTerms {
    const KIND: &'static str = "pts-terms";
}

/// A test of the specification.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PtsTest {
    /// Random IOPS by mix and block size.
    Iops,
    /// Response times at queue depth 1.
    Latency,
    /// Sequential throughput by block size.
    Throughput,
    /// Random writes until the device is written several times over.
    WriteSaturation,
}

impl PtsTest {
    /// All of them, in the order of the specification.
    pub const ALL: [PtsTest; 4] =
        [PtsTest::Iops, PtsTest::Latency, PtsTest::Throughput, PtsTest::WriteSaturation];

    /// Its name in arguments and output.
    pub const fn name(self) -> &'static str {
        match self {
            PtsTest::Iops => "iops",
            PtsTest::Latency => "latency",
            PtsTest::Throughput => "throughput",
            PtsTest::WriteSaturation => "write-saturation",
        }
    }

    /// The mixes of a round, in order: shares of reads in percent.
    pub const fn mixes(self) -> &'static [u8] {
        match self {
            PtsTest::Iops => &[100, 95, 65, 50, 35, 5, 0],
            PtsTest::Latency => &[100, 65, 0],
            PtsTest::Throughput => &[100, 0],
            PtsTest::WriteSaturation => &[0],
        }
    }

    /// The specification's block sizes, the largest first.
    pub const fn blocks(self) -> &'static [Bytes] {
        const K: u64 = 1024;
        match self {
            PtsTest::Iops => &[
                Bytes(1024 * K),
                Bytes(128 * K),
                Bytes(64 * K),
                Bytes(32 * K),
                Bytes(16 * K),
                Bytes(8 * K),
                Bytes(4 * K),
                Bytes(512),
            ],
            PtsTest::Latency => &[Bytes(8 * K), Bytes(4 * K), Bytes(512)],
            PtsTest::Throughput => &[Bytes(1024 * K), Bytes(64 * K), Bytes(8 * K), Bytes(4 * K), Bytes(512)],
            PtsTest::WriteSaturation => &[Bytes(4 * K)],
        }
    }
}

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
    /// All blocks are discarded.
    Purge,
    /// Workload-independent preconditioning: the span is written twice, sequentially.
    Precondition,
    /// A cell of a round.
    Cell(PtsCell),
}

/// A cell of a round.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct PtsCell {
    /// The round, from 1.
    pub round: u32,
    /// Share of reads in percent.
    pub read_percent: u8,
    /// Bytes of each operation.
    pub block: Bytes,
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

    /// The block sizes of a test that the target takes, the largest first.
    pub fn blocks_of(&self, test: PtsTest) -> impl Iterator<Item = Bytes> + '_ {
        test.blocks().iter().copied().filter(|block| self.blocks.contains(block))
    }

    /// The cells of a round of a section, in order: mix by mix, each with all block sizes.
    pub fn cells(&self, section: PtsSection, round: u32) -> Vec<PtsCell> {
        let blocks: Vec<Bytes> = match section.block {
            Some(block) => vec![block],
            None => self.blocks_of(section.test).collect(),
        };
        let cell = |&read_percent: &u8| {
            blocks.iter().map(move |&block| PtsCell { round, read_percent, block }).collect::<Vec<_>>()
        };
        section.test.mixes().iter().flat_map(cell).collect()
    }

    /// The cell of a round whose figure has to become steady: writes of 4 KiB, or of the smallest block where the target takes
    /// none so small; of the throughput test those of its block size. By size, never by its place: where blocks of 512 bytes are
    /// left out, it stays the same.
    pub fn tracked(&self, section: PtsSection, round: u32) -> Option<PtsCell> {
        let four = Bytes(4096);
        let smallest = self.blocks_of(section.test).last();
        let common = self.blocks_of(section.test).find(|block| *block == four);
        let block = section.block.or(common).or(smallest)?;
        Some(PtsCell { round, read_percent: 0, block })
    }

    /// Whether it is a rehearsal.
    pub fn is_rehearsal(&self) -> bool {
        self.scale < 1.0
    }

    /// Bytes that one preconditioning writes: twice the span, or the share of it that a rehearsal has.
    pub fn precondition(&self) -> Bytes {
        self.scaled(2)
    }

    /// Bytes that are written besides the rounds, whose bytes depend on the device's speed.
    pub fn preconditioning(&self) -> Bytes {
        let preconditioned =
            self.tests.iter().filter(|test| matches!(test, PtsTest::Iops | PtsTest::Latency)).count() as u64;
        Bytes(self.precondition().0.saturating_mul(preconditioned))
    }

    /// Bytes after which the write saturation test ends: four times the span, or the share of it that a rehearsal has.
    pub fn saturated(&self) -> Bytes {
        self.scaled(4)
    }

    /// So many times the span; in a rehearsal its share, in whole mebibytes and at least one.
    fn scaled(&self, times: u64) -> Bytes {
        let whole = self.span.0.saturating_mul(times);
        if !self.is_rehearsal() {
            return Bytes(whole);
        }
        Bytes((whole as f64 * self.scale) as u64).round_down(Bytes::MIB.0).max(Bytes::MIB)
    }

    /// Time of all rounds at most.
    pub fn longest(&self) -> Nanos {
        let of = |&section: &PtsSection| match section.test {
            PtsTest::WriteSaturation => self.saturation.0,
            _ => (self.cells(section, 1).len() as u64)
                .saturating_mul(self.cell.0)
                .saturating_mul(u64::from(self.max_rounds)),
        };
        Nanos(self.sections().iter().map(of).fold(0, u64::saturating_add))
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
            PtsPhase::Cell(PtsCell { round, read_percent, block }) => {
                format!("{name}, round {round}: {read_percent} % reads of {block}")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    pub(super) fn terms(blocks: &[u64]) -> PtsTerms {
        PtsTerms {
            target: "/dev/null".into(),
            span: Bytes::GIB,
            tests: PtsTest::ALL.to_vec(),
            scale: 1.0,
            cell: Nanos(60_000_000_000),
            max_rounds: 25,
            window: 5,
            blocks: blocks.iter().map(|&block| Bytes(block)).collect(),
            threads: 2,
            depth: 16,
            purges: true,
            saturation: Nanos(86_400_000_000_000),
            device: PtsDevice::default(),
        }
    }

    #[test]
    fn a_rehearsal_writes_its_share_of_the_sizes_too() {
        let scaled = |scale| PtsTerms { scale, ..terms(&ALL) };
        assert_eq!((scaled(1.0).precondition(), scaled(1.0).saturated()), (Bytes(2 << 30), Bytes(4 << 30)));
        assert_eq!((scaled(0.5).precondition(), scaled(0.25).saturated()), (Bytes::GIB, Bytes::GIB));
        assert_eq!(scaled(0.5).preconditioning(), Bytes(2 << 30));
        assert_eq!(scaled(1e-9).precondition(), Bytes::MIB);
    }

    const ALL: [u64; 8] = [1 << 20, 131_072, 65_536, 32_768, 16_384, 8192, 4096, 512];

    #[test]
    fn the_grid_is_that_of_the_specification() {
        let terms = terms(&ALL);
        let sections = terms.sections();
        assert_eq!(sections.len(), 1 + 1 + 5 + 1);
        assert_eq!(terms.cells(sections[0], 1).len(), 7 * 8);
        assert_eq!(terms.cells(sections[1], 1).len(), 3 * 3);
        assert_eq!(terms.cells(sections[2], 1).len(), 2);
        // 25 rounds of 56, 9 and 5 times 2 minutes, and a day.
        assert_eq!(terms.longest().0 / 60_000_000_000, 25 * (56 + 9 + 10) + 24 * 60);
        assert_eq!((terms.preconditioning(), terms.saturated()), (Bytes(4 << 30), Bytes(4 << 30)));
    }

    #[test]
    fn without_blocks_of_512_bytes_the_same_cell_is_tracked() {
        for blocks in [&ALL[..], &ALL[..7]] {
            let terms = terms(blocks);
            let tracked = terms.tracked(terms.sections()[0], 3).unwrap();
            assert_eq!(tracked, PtsCell { round: 3, read_percent: 0, block: Bytes(4096) });
        }
        let large = terms(&ALL[..5]);
        assert_eq!(large.tracked(large.sections()[0], 1).unwrap().block, Bytes(16_384));
    }

    #[test]
    fn every_phase_has_a_name_of_its_own() {
        let terms = terms(&ALL);
        let mut names = Vec::new();
        for section in terms.sections() {
            names.push(section.phase(PtsPhase::Purge));
            names.push(section.phase(PtsPhase::Precondition));
            for round in 1..=25 {
                let cells = terms.cells(section, round).into_iter();
                names.extend(cells.map(|cell| section.phase(PtsPhase::Cell(cell))));
            }
        }
        assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len());
    }
}
