//! What a configuration file says.

use iolite_model::{AccessSpec, Bytes, IometerPoint, Nanos};

use super::error::IcfError;

/// Measurements of a test at most: each takes seconds.
const MAX_POINTS: usize = 10_000;

/// A configuration: a test and who does it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Configuration {
    /// The test.
    pub setup: Setup,
    /// The access specifications.
    pub specs: Vec<AccessSpec>,
    /// The managers, each with its workers.
    pub managers: Vec<Manager>,
}

impl Configuration {
    /// Specifications done by so many workers of one manager, with so many outstanding operations each.
    pub fn alone(specs: Vec<AccessSpec>, workers: u32, depth: u32) -> Configuration {
        let names: Vec<String> = specs.iter().map(|spec| spec.name.clone()).collect();
        let worker = Worker { depth, specs: names, ..Worker::default() };
        let workers = vec![worker; workers as usize];
        Configuration {
            setup: Setup::default(),
            specs,
            managers: vec![Manager { name: String::new(), workers }],
        }
    }

    /// The points of the test: each specification of the first worker that has any, with the loads that the test type asks for.
    ///
    /// # Errors
    /// The test asks for a place on the disk, which a test file can't give, or for workers that do not all do the same.
    pub fn points(&self) -> Result<Vec<IometerPoint>, IcfError> {
        let workers = self.busy();
        let Some(first) = workers.first() else { return Ok(Vec::new()) };
        let count = u32::try_from(workers.len()).unwrap_or(u32::MAX);
        if let Some(worker) = workers.iter().find(|worker| worker.start > 0) {
            return Err(IcfError::Start { worker: worker.name.clone(), sector: worker.start });
        }
        workers.iter().try_for_each(|worker| self.does_the_same(first, worker))?;
        let Setup { kind, workers: by_worker, targets: by_target, depths: by_depth, .. } = &self.setup;
        let cycled = |is_cycled, cycle: &Cycle, last| {
            if is_cycled { cycle.values(last) } else { vec![last] }
        };
        let counts = cycled(*kind == TestKind::Workers, by_worker, count);
        let targets = cycled(kind.changes_targets(), by_target, first.target_count());
        let depths = cycled(kind.changes_depths(), by_depth, first.depth);
        let loads = counts.len().saturating_mul(targets.len()).saturating_mul(depths.len());
        if loads.saturating_mul(first.specs.len()) > MAX_POINTS {
            return Err(IcfError::Points);
        }
        let specs = first.specs.iter().filter_map(|name| self.specs.iter().find(|spec| spec.name == *name));
        let mut points = Vec::new();
        for spec in specs {
            for (&workers, &targets) in
                counts.iter().flat_map(|count| targets.iter().map(move |of| (count, of)))
            {
                let point = |depth: &u32| IometerPoint {
                    spec: spec.clone(),
                    workers,
                    targets,
                    depth: (*depth).max(1),
                };
                points.extend(depths.iter().map(point));
            }
        }
        Ok(points)
    }

    /// Bytes of a target that the test uses: those of the first worker that has a specification; `None` for all.
    pub fn size(&self) -> Option<Bytes> {
        self.busy().first().and_then(|worker| worker.size())
    }

    /// The first worker that closes and opens its targets, and after how many transactions it does.
    pub fn connection_rate(&self) -> Option<(&str, u32)> {
        self.busy().into_iter().find_map(|worker| Some((worker.name.as_str(), worker.connection_rate?)))
    }

    /// Whether a worker differs from the first only in its name and the names of its targets.
    fn does_the_same(&self, first: &Worker, worker: &Worker) -> Result<(), IcfError> {
        let specs = |worker: &Worker| format!("access specifications `{}`", worker.specs.join("`, `"));
        let depth = |worker: &Worker| format!("{} outstanding I/Os", worker.depth);
        let size = |worker: &Worker| match worker.sectors {
            0 => "a maximum disk size of all sectors".to_owned(),
            sectors => format!("a maximum disk size of {sectors} sectors"),
        };
        let targets = |worker: &Worker| format!("{} targets", worker.target_count());
        let has: &dyn Fn(&Worker) -> String = if worker.specs != first.specs {
            &specs
        } else if worker.target_count() != first.target_count() {
            &targets
        } else if worker.depth != first.depth && !self.setup.kind.changes_depths() {
            &depth
        } else if worker.sectors != first.sectors {
            &size
        } else {
            return Ok(());
        };
        let name = |worker: &Worker| worker.name.clone();
        Err(IcfError::Differs {
            worker: name(worker),
            has: has(worker),
            first: name(first),
            other: has(first),
        })
    }

    /// The workers that have a specification.
    fn busy(&self) -> Vec<&Worker> {
        let all = self.managers.iter().flat_map(|manager| &manager.workers);
        all.filter(|worker| !worker.specs.is_empty()).collect()
    }
}

/// How a test runs.
#[derive(Debug, Clone, PartialEq)]
pub struct Setup {
    /// Its name.
    pub description: String,
    /// Measured time of each point; 0 for no end.
    pub run_time: Nanos,
    /// Time before that is left out.
    pub ramp: Nanos,
    /// How the number of workers changes.
    pub workers: Cycle,
    /// How the number of targets changes.
    pub targets: Cycle,
    /// How the number of outstanding operations changes.
    pub depths: Cycle,
    /// What changes from one point to the next.
    pub kind: TestKind,
}

impl Default for Setup {
    /// Iometer's: a run without an end, nothing cycled.
    fn default() -> Setup {
        Setup {
            description: String::new(),
            run_time: Nanos(0),
            ramp: Nanos(0),
            workers: Cycle::ONE,
            targets: Cycle::ONE,
            depths: Cycle { start: 1, end: Some(32), step: 2, exponential: true },
            kind: TestKind::Normal,
        }
    }
}

/// Values from `start` on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cycle {
    /// The first value.
    pub start: u32,
    /// The last one at most; `None` for as many as there are (of workers and targets).
    pub end: Option<u32>,
    /// What is added to, or multiplied with, each value for the next.
    pub step: u32,
    /// Multiplied rather than added.
    pub exponential: bool,
}

impl Cycle {
    /// One after the other.
    pub const ONE: Cycle = Cycle { start: 1, end: None, step: 1, exponential: false };

    /// The values, up to `last` where the cycle has no end of its own; a step that leads nowhere gives the first value only.
    pub fn values(self, last: u32) -> Vec<u32> {
        let end = self.end.unwrap_or(last);
        let mut values = Vec::new();
        let mut value = self.start.max(1);
        while value <= end && values.len() < 1024 {
            values.push(value);
            let next = if self.exponential {
                value.saturating_mul(self.step)
            } else {
                value.saturating_add(self.step)
            };
            if next <= value {
                break;
            }
            value = next;
        }
        if values.is_empty() { vec![self.start.max(1)] } else { values }
    }
}

/// What changes from one point of a test to the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TestKind {
    /// Nothing.
    #[default]
    Normal,
    /// Targets.
    Targets,
    /// Workers.
    Workers,
    /// Outstanding operations.
    Depths,
    /// Outstanding operations, for each number of targets.
    DepthsAndTargets,
}

impl TestKind {
    /// The word in a file.
    pub(super) const WORDS: [(&'static str, TestKind); 5] = [
        ("NORMAL", TestKind::Normal),
        ("CYCLE_TARGETS", TestKind::Targets),
        ("CYCLE_WORKERS", TestKind::Workers),
        ("CYCLE_OUTSTANDING_IOS", TestKind::Depths),
        ("CYCLE_OUTSTANDING_IOS_AND_TARGETS", TestKind::DepthsAndTargets),
    ];

    fn changes_targets(self) -> bool {
        matches!(self, TestKind::Targets | TestKind::DepthsAndTargets)
    }

    fn changes_depths(self) -> bool {
        matches!(self, TestKind::Depths | TestKind::DepthsAndTargets)
    }
}

/// A program that runs workers on a host.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Manager {
    /// Its name.
    pub name: String,
    /// Its workers.
    pub workers: Vec<Worker>,
}

/// A worker.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Worker {
    /// Its name.
    pub name: String,
    /// Outstanding operations of each of its targets.
    pub depth: u32,
    /// Transactions after which it closes and opens a target (test connection rate); `None` where it is disabled.
    pub connection_rate: Option<u32>,
    /// Bytes of a target that are used, in sectors of 512 bytes; 0 for all.
    pub sectors: u64,
    /// First sector.
    pub start: u64,
    /// Names of the access specifications that it does one after the other.
    pub specs: Vec<String>,
    /// Its targets: names of disks or directories.
    pub targets: Vec<String>,
}

impl Worker {
    /// Number of its targets; of a worker without any, as of one that this program describes, one.
    fn target_count(&self) -> u32 {
        u32::try_from(self.targets.len()).unwrap_or(u32::MAX).max(1)
    }

    /// Bytes of a target that are used; `None` for all.
    pub fn size(&self) -> Option<Bytes> {
        (self.sectors > 0).then(|| Bytes(self.sectors.saturating_mul(512)))
    }
}
