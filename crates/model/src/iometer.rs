//! Iometer's access specifications, and what a run of them was asked for.

use std::collections::BTreeMap;
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
    /// Bytes of each test file; of the largest if they differ.
    pub size: Bytes,
    /// Measured time of each point.
    pub run_time: Nanos,
    /// Time before, which is left out.
    pub ramp: Nanos,
    /// The workers.
    pub workers: Vec<IometerWorker>,
}

/// A worker of a run of access specifications.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct IometerWorker {
    /// Number of its manager, from 1.
    pub manager: u32,
    /// Name of its manager; empty if there is no configuration file.
    pub manager_name: String,
    /// Its name.
    pub name: String,
    /// Number of the test file, from 1, of each of its targets.
    pub files: Vec<u32>,
    /// First byte that it uses in each.
    pub start: Bytes,
    /// Bytes from there.
    pub size: Bytes,
}

/// One measurement of a run of access specifications.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct IometerPoint {
    /// What is done; of workers that differ their specifications' names, without lines.
    pub spec: AccessSpec,
    /// Workers.
    pub workers: u32,
    /// Targets of each worker; the largest number if they differ.
    pub targets: u32,
    /// Outstanding operations of each worker at each target; the largest number if they differ.
    pub depth: u32,
    /// What each worker does that has something to do, if they differ; none if the first `workers` all do the same.
    pub loads: Vec<IometerLoad>,
}

/// What a worker does in an [`IometerPoint`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct IometerLoad {
    /// Number of the worker, from 1.
    pub worker: u32,
    /// What it does.
    pub spec: AccessSpec,
    /// The first of its targets that it uses.
    pub targets: u32,
    /// Outstanding operations at each.
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
    /// What each worker does in a point.
    pub fn loads(&self, point: &IometerPoint) -> Vec<IometerLoad> {
        if !point.loads.is_empty() {
            return point.loads.clone();
        }
        let load = |worker| IometerLoad {
            worker,
            spec: point.spec.clone(),
            targets: point.targets.max(1),
            depth: point.depth.max(1),
        };
        (1..=point.workers).map(load).collect()
    }

    /// A worker by its number, from 1.
    pub fn worker(&self, number: u32) -> Option<&IometerWorker> {
        self.workers.get(usize::try_from(number.checked_sub(1)?).ok()?)
    }

    /// Number of the test file, from 1, of a worker's target, from 1.
    pub fn file_of(&self, worker: u32, target: u32) -> u32 {
        let index = usize::try_from(target.saturating_sub(1)).ok();
        self.worker(worker).and_then(|worker| worker.files.get(index?).copied()).unwrap_or(target)
    }

    /// The test files that the points use, by their numbers, and their sizes.
    pub fn files(&self) -> BTreeMap<u32, Bytes> {
        let mut files = BTreeMap::new();
        for load in self.points.iter().flat_map(|point| self.loads(point)) {
            let size = self.worker(load.worker).map_or(self.size, IometerWorker::end);
            for target in 1..=load.targets {
                let file = files.entry(self.file_of(load.worker, target)).or_insert(size);
                *file = size.max(*file);
            }
        }
        files
    }

    /// Bytes of all test files.
    pub fn space(&self) -> Bytes {
        Bytes(self.files().values().fold(0, |sum, size| sum.saturating_add(size.0)))
    }

    /// Name of the test file of a number, from 1.
    pub fn file(number: u32) -> PathBuf {
        match number {
            0 | 1 => "iobw.tst".into(),
            number => format!("iobw.tst.{number}").into(),
        }
    }

    /// Name of the task of the point of this number, of one of its workers, of its lines and of its targets, all from 1, by which a
    /// report finds it.
    pub fn task_name(&self, number: usize, load: &IometerLoad, line: usize, target: u32) -> String {
        let mut name = format!("iometer {number}: {}", load.spec.name);
        if self.workers.len() > 1 {
            name += &format!(", worker {}", load.worker);
        }
        name += &format!(", line {line}");
        if target > 1 { format!("{name}, target {target}") } else { name }
    }
}

impl IometerLoad {
    /// The names of the specifications of loads, each once.
    pub fn spec_names<'l>(loads: impl IntoIterator<Item = &'l IometerLoad>) -> String {
        let mut names: Vec<&str> = Vec::new();
        for load in loads {
            if !names.contains(&load.spec.name.as_str()) {
                names.push(&load.spec.name);
            }
        }
        names.join(" + ")
    }
}

impl IometerWorker {
    /// The end of what it uses of its files.
    pub fn end(&self) -> Bytes {
        Bytes(self.start.0.saturating_add(self.size.0))
    }
}

impl IometerPoint {
    /// Whether no worker has anything to do.
    pub fn is_idle(&self) -> bool {
        self.spec.lines.is_empty() && self.loads.iter().all(|load| load.spec.lines.is_empty())
    }
}
