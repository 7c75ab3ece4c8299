//! Iometer's access specifications, and what a run of them was asked for.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::record::RunId;
use crate::units::{Bytes, Nanos};

/// An access specification: what a worker does.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AccessSpec {
    /// Its name.
    pub name: String,
    /// Its lines, of which each has a share of the operations; none for an idle worker.
    pub lines: Vec<AccessLine>,
}

/// A line of an [`AccessSpec`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct AccessLine {
    /// Bytes of each operation.
    pub size: Bytes,
    /// Share of the operations that are of this line, in percent.
    pub share: u8,
    /// Share of reads among them in percent.
    pub reads: u8,
    /// Share of those that go to a random place in percent; the others follow the one before.
    pub random: u8,
    /// Pause between two bursts, in milliseconds.
    pub delay: u32,
    /// Operations in a burst; at least 1.
    pub burst: u32,
    /// Offsets are multiples of this; 0 for the size of a sector.
    pub align: Bytes,
    /// Bytes of a reply; network workers only, 0 for none.
    pub reply: Bytes,
}

impl AccessLine {
    /// All operations of this size and mix, at full speed.
    pub const fn of(size: u64, reads: u8, random: u8) -> AccessLine {
        AccessLine {
            size: Bytes(size),
            share: 100,
            reads,
            random,
            delay: 0,
            burst: 1,
            align: Bytes(0),
            reply: Bytes(0),
        }
    }
}

/// What a run of access specifications was asked for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct IometerTerms {
    /// Name of the test.
    pub test: String,
    /// Whether the specifications are the patterns whose best and worst are compared.
    pub patterns: bool,
    /// The specifications and loads, in order.
    pub points: Vec<IometerPoint>,
    /// Bytes of each test file.
    pub size: Bytes,
    /// Measured time of each point.
    pub run_time: Nanos,
    /// Time before, which is left out.
    pub ramp: Nanos,
}

/// One measurement of a run of access specifications.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct IometerPoint {
    /// What is done.
    pub spec: AccessSpec,
    /// Workers.
    pub workers: u32,
    /// Targets of each worker, each with a test file of its own; all workers use the same files.
    pub targets: u32,
    /// Outstanding operations of each worker at each target.
    pub depth: u32,
}

/// The figures of a run on another target, which a run of the same test is compared with.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct IometerComparison {
    /// The other run.
    pub run: RunId,
    /// Its directory.
    pub directory: PathBuf,
    /// Its points.
    pub points: Vec<IometerComparisonPoint>,
}

/// A point of [`IometerComparison`].
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct IometerComparisonPoint {
    /// Number of the point, from 1.
    pub number: u64,
    /// Operations per second.
    pub operations_per_second: f64,
    /// Bytes per second.
    pub bytes_per_second: f64,
}

impl IometerTerms {
    /// Number of test files: the largest number of targets of a point.
    pub fn files(&self) -> u32 {
        self.points.iter().map(|point| point.targets).max().unwrap_or(1).max(1)
    }

    /// Bytes of all test files.
    pub fn space(&self) -> Bytes {
        Bytes(self.size.0.saturating_mul(u64::from(self.files())))
    }

    /// Name of the test file of a target, from 1.
    pub fn file(target: u32) -> PathBuf {
        match target {
            0 | 1 => "iobw.tst".into(),
            target => format!("iobw.tst.{target}").into(),
        }
    }
}

impl IometerPoint {
    /// Name of the task of the point of this number, of one of its lines and of one of its targets, all from 1, by which a report
    /// finds it.
    pub fn task_name(&self, number: usize, line: usize, target: u32) -> String {
        let name = format!("iometer {number}: {}, line {line}", self.spec.name);
        if target > 1 { format!("{name}, target {target}") } else { name }
    }
}
