//! What a configuration file says.

use iolite_model::{AccessSpec, Bytes, IometerLoad, IometerPoint, IometerWorker, Nanos};

use super::error::IcfError;

/// Measurements of a test at most: each takes seconds.
const MAX_POINTS: usize = 10_000;

/// Lines of specifications over all measurements and workers at most: each is recorded.
const MAX_LINES: usize = 1_000_000;

/// Bytes of a sector.
const SECTOR: u64 = 512;

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

    /// The points of the test. In its n-th tests each worker does the n-th of its specifications, and nothing if it has fewer; they are
    /// repeated with the loads that the test type asks for.
    ///
    /// # Errors
    /// There would be too many.
    pub fn points(&self) -> Result<Vec<IometerPoint>, IcfError> {
        let busy = self.busy();
        let tests = busy.iter().map(|(_, worker)| worker.specs.len()).max().unwrap_or(0);
        let cycles = self.cycles(&busy);
        let lines = |spec: &AccessSpec| spec.lines.len().max(1);
        let largest = self.specs.iter().map(lines).max().unwrap_or(1);
        let points = cycles.loads().saturating_mul(tests);
        if points > MAX_POINTS || points.saturating_mul(busy.len()).saturating_mul(largest) > MAX_LINES {
            return Err(IcfError::Points);
        }
        let loads = self.loads(&busy, &cycles);
        let point = |test: usize, load: &Load| {
            let loads =
                busy.iter().zip(&load.targets).zip(1..).filter_map(|(((_, worker), targets), number)| {
                    let spec = self.specs.iter().find(|spec| Some(&spec.name) == worker.specs.get(test))?;
                    let depth = load.depth.unwrap_or(worker.depth).max(1);
                    Some(IometerLoad { worker: number, spec: spec.clone(), targets: *targets, depth })
                });
            of_loads(loads.filter(|load| load.targets > 0).collect())
        };
        let each = (0..tests).flat_map(|test| loads.iter().map(move |load| (test, load)));
        Ok(each.filter_map(|(test, load)| point(test, load)).collect())
    }

    /// What the test type changes.
    fn cycles(&self, busy: &[(u32, &Worker)]) -> Cycles {
        let Setup { kind, workers: by_worker, targets: by_target, depths: by_depth, .. } = &self.setup;
        let own = busy.iter().map(|(_, worker)| worker.target_count());
        let max = match kind.targets() {
            Some(Targets::Serial) => own.fold(0, u32::saturating_add),
            Some(Targets::Parallel) | None => own.max().unwrap_or(1),
        };
        let cycled = |is_cycled, cycle: &Cycle, last| {
            if is_cycled { cycle.values(last) } else { vec![last] }
        };
        let count = u32::try_from(busy.len()).unwrap_or(u32::MAX);
        let depths = by_depth.values(1).into_iter().map(Some).collect();
        Cycles {
            counts: cycled(kind.changes_workers(), by_worker, count),
            targets: cycled(kind.targets().is_some(), by_target, max),
            depths: if kind.changes_depths() { depths } else { vec![None] },
        }
    }

    /// The loads of the test type, in order.
    fn loads(&self, busy: &[(u32, &Worker)], cycles: &Cycles) -> Vec<Load> {
        let Cycles { counts, targets, depths } = cycles;
        let kind = self.setup.kind;
        let own: Vec<u32> = busy.iter().map(|(_, worker)| worker.target_count()).collect();
        let mut loads = Vec::new();
        for (&count, &targets) in counts.iter().flat_map(|count| targets.iter().map(move |of| (count, of))) {
            let mut left = targets;
            let given = own.iter().zip(0..).map(|(own, index)| match kind.targets() {
                _ if index >= count => 0,
                None => *own,
                Some(Targets::Parallel) => targets.min(*own),
                Some(Targets::Serial) => {
                    let given = left.min(*own);
                    left -= given;
                    given
                }
            });
            let given: Vec<u32> = given.collect();
            loads.extend(depths.iter().map(|depth| Load { targets: given.clone(), depth: *depth }));
        }
        loads
    }

    /// The workers that have a specification, each with a file for each of its targets, of `size` if that is given: otherwise of its
    /// maximum disk size, and if it has none of the largest of the others, or of `otherwise`. Workers without targets, as of a test
    /// that was not read from a file, share one.
    pub fn workers(&self, size: Option<Bytes>, otherwise: Bytes) -> Vec<IometerWorker> {
        let busy = self.busy();
        let largest = busy.iter().filter_map(|(_, worker)| worker.size()).max().unwrap_or(otherwise);
        let mut known: Vec<(u32, String, usize)> = Vec::new();
        let mut file = |key: (u32, String, usize)| {
            let index = known.iter().position(|known| *known == key).unwrap_or_else(|| {
                known.push(key);
                known.len() - 1
            });
            u32::try_from(index).unwrap_or(u32::MAX).saturating_add(1)
        };
        let worker = |(manager, worker): (u32, &Worker)| {
            // One that names a target twice has two.
            let nth = |index: usize| {
                worker.targets[..index].iter().filter(|name| **name == worker.targets[index]).count()
            };
            let files = match worker.targets.as_slice() {
                [] => vec![file((0, String::new(), 0))],
                targets => {
                    let keys =
                        targets.iter().enumerate().map(|(index, name)| (manager, name.clone(), nth(index)));
                    keys.map(&mut file).collect()
                }
            };
            let at = usize::try_from(manager).unwrap_or(0);
            IometerWorker {
                manager,
                manager_name: self
                    .managers
                    .get(at.saturating_sub(1))
                    .map_or_else(String::new, |it| it.name.clone()),
                name: worker.name.clone(),
                files,
                start: Bytes(worker.start.saturating_mul(SECTOR)),
                size: size.or(worker.size()).unwrap_or(largest),
            }
        };
        busy.into_iter().map(worker).collect()
    }

    /// The first worker that closes and opens its targets, and after how many transactions it does.
    pub fn connection_rate(&self) -> Option<(&str, u32)> {
        self.busy().into_iter().find_map(|(_, worker)| Some((worker.name.as_str(), worker.connection_rate?)))
    }

    /// The workers that have a specification, with the numbers of their managers, from 1.
    fn busy(&self) -> Vec<(u32, &Worker)> {
        let managers = (1..).zip(&self.managers);
        let all =
            managers.flat_map(|(number, manager)| manager.workers.iter().map(move |worker| (number, worker)));
        all.filter(|(_, worker)| !worker.specs.is_empty()).collect()
    }
}

/// What changes from one load to the next: each with each.
#[derive(Debug)]
struct Cycles {
    /// Workers.
    counts: Vec<u32>,
    /// Targets of each worker, or of all.
    targets: Vec<u32>,
    /// Outstanding operations, if they are not each worker's own.
    depths: Vec<Option<u32>>,
}

impl Cycles {
    /// Number of loads.
    fn loads(&self) -> usize {
        self.counts.len().saturating_mul(self.targets.len()).saturating_mul(self.depths.len())
    }
}

/// A load of a test.
#[derive(Debug)]
struct Load {
    /// Targets of each worker; 0 if it does nothing.
    targets: Vec<u32>,
    /// Outstanding operations of each worker at each target, if they are not its own.
    depth: Option<u32>,
}

/// A point of what its workers do; `None` of no workers.
fn of_loads(loads: Vec<IometerLoad>) -> Option<IometerPoint> {
    let all = u32::try_from(loads.len()).unwrap_or(u32::MAX);
    let mut busy: Vec<IometerLoad> =
        loads.iter().filter(|load| !load.spec.lines.is_empty()).cloned().collect();
    let idle = busy.is_empty();
    if idle {
        busy = loads;
    }
    let first = busy.first()?.clone();
    let workers = u32::try_from(busy.len()).unwrap_or(u32::MAX);
    let alike = |(load, number): (&IometerLoad, u32)| {
        (load.worker, &load.spec, load.targets, load.depth)
            == (number, &first.spec, first.targets, first.depth)
    };
    if idle || busy.iter().zip(1..).all(alike) {
        let workers = if idle { all } else { workers };
        return Some(IometerPoint {
            spec: first.spec,
            workers,
            targets: first.targets,
            depth: first.depth,
            loads: Vec::new(),
        });
    }
    Some(IometerPoint {
        spec: AccessSpec { name: IometerLoad::spec_names(&busy), lines: Vec::new() },
        workers,
        targets: busy.iter().map(|load| load.targets).max().unwrap_or(1),
        depth: busy.iter().map(|load| load.depth).max().unwrap_or(1),
        loads: busy,
    })
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
    /// Targets of all workers at the same time.
    TargetsParallel,
    /// Targets of one worker after the other.
    TargetsSerial,
    /// Targets, for each number of workers.
    WorkersAndTargets,
}

/// How targets are added.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Targets {
    /// To each worker.
    Parallel,
    /// To the first worker as long as it has more, then to the next.
    Serial,
}

impl TestKind {
    /// The word in a file.
    pub(super) const WORDS: [(&'static str, TestKind); 8] = [
        ("NORMAL", TestKind::Normal),
        ("CYCLE_TARGETS", TestKind::Targets),
        ("CYCLE_WORKERS", TestKind::Workers),
        ("CYCLE_OUTSTANDING_IOS", TestKind::Depths),
        ("CYCLE_OUTSTANDING_IOS_AND_TARGETS", TestKind::DepthsAndTargets),
        ("INCREMENT_TARGETS_PARALLEL", TestKind::TargetsParallel),
        ("INCREMENT_TARGETS_SERIAL", TestKind::TargetsSerial),
        ("CYCLE_WORKERS_AND_TARGETS", TestKind::WorkersAndTargets),
    ];

    /// How the number of targets changes, if it does.
    fn targets(self) -> Option<Targets> {
        match self {
            TestKind::Targets
            | TestKind::TargetsParallel
            | TestKind::DepthsAndTargets
            | TestKind::WorkersAndTargets => Some(Targets::Parallel),
            TestKind::TargetsSerial => Some(Targets::Serial),
            TestKind::Normal | TestKind::Workers | TestKind::Depths => None,
        }
    }

    fn changes_workers(self) -> bool {
        matches!(self, TestKind::Workers | TestKind::WorkersAndTargets)
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
        (self.sectors > 0).then(|| Bytes(self.sectors.saturating_mul(SECTOR)))
    }
}
