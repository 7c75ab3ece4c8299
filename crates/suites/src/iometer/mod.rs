//! Access specifications as Iometer runs them: point after point, each specification's lines by their shares.

use iolite_model::{
    Access, AccessLine, Arrival, BackendKind, Bytes, FileTarget, FileTask, Flow, IometerPoint, IometerTerms,
    Mix, Nanos, SizeLaw, Sizes, Stop, Target, Task, WeightedSize,
};
use iolite_results::Run;

use crate::procedure::{Conclusions, Nothing, Procedure, Step};

/// Name of the test file.
const FILE: &str = "iobw.tst";

/// Bytes of the operations that fill it.
const BULK: Bytes = Bytes(1 << 20);

/// Bytes of a sector: what offsets are multiples of where a line has its own alignment.
const SECTOR: u64 = 512;

/// A test of access specifications as a procedure.
#[derive(Debug, Clone)]
pub struct Iometer {
    ahead: std::vec::IntoIter<Vec<Task>>,
}

/// How the test file is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IometerAccess {
    /// Back end.
    pub backend: BackendKind,
    /// Past the page cache, as Iometer does.
    pub direct: bool,
}

impl Iometer {
    /// A test of these terms.
    pub fn new(terms: &IometerTerms, access: IometerAccess) -> Iometer {
        let mut steps = vec![vec![lay_out(terms, access)]];
        let points = terms.points.iter().enumerate();
        // An idle worker has nothing to do.
        steps.extend(
            points
                .map(|(index, point)| tasks(terms, point, index + 1, access))
                .filter(|tasks| !tasks.is_empty()),
        );
        Iometer { ahead: steps.into_iter() }
    }

    /// The tasks that are left, those that start together in one slice.
    pub fn steps(&self) -> impl Iterator<Item = &[Task]> {
        self.ahead.as_slice().iter().map(Vec::as_slice)
    }
}

impl Procedure for Iometer {
    type Preparation = Nothing;

    fn next(&mut self, _run: &Run, _elapsed: Nanos) -> Step {
        self.ahead.next().map_or(Step::Done(Conclusions::default()), Step::Run)
    }
}

fn target(terms: &IometerTerms, create: bool) -> Target {
    let file =
        FileTarget { name: FILE.into(), size: terms.size, create, preallocate: false, per_worker: false };
    Target::File(file)
}

fn lay_out(terms: &IometerTerms, access: IometerAccess) -> Task {
    Task::File(FileTask {
        name: "fill the test file".into(),
        target: target(terms, true),
        backend: BackendKind::Sync,
        mix: Mix::Write,
        access: Access::Sequential,
        block: BULK,
        direct: access.direct,
        stop: Stop { loops: Some(1), ..Stop::default() },
        ..FileTask::default()
    })
}

/// The tasks of a point, which start together: one where its lines differ in size only, otherwise one for each line, which keep the
/// ratio of their shares.
fn tasks(terms: &IometerTerms, point: &IometerPoint, number: usize, access: IometerAccess) -> Vec<Task> {
    let lines: Vec<AccessLine> = point.spec.lines.iter().copied().filter(|line| line.share > 0).collect();
    let Some(first) = lines.first() else { return Vec::new() };
    let alike = |line: &AccessLine| {
        (line.reads, line.random, line.delay, line.burst, line.align)
            == (first.reads, first.random, first.delay, first.burst, first.align)
    };
    let base = |line: &AccessLine, index: usize| {
        task(terms, point, *line, point.task_name(number, index + 1), access)
    };
    if lines.iter().all(alike) {
        let sizes = (lines.len() > 1).then(|| split(&lines));
        let mut task = base(first, 0);
        task.block = lines.iter().map(|line| line.size).max().unwrap_or(first.size);
        task.sizes = sizes.or(task.sizes);
        return vec![Task::File(task)];
    }
    let group = u32::try_from(number).unwrap_or(u32::MAX);
    let with_share = |(index, line): (usize, &AccessLine)| {
        let flow = Some(Flow { group, weight: u32::from(line.share), pause: Nanos(0) });
        Task::File(FileTask { flow, group: Some(point.spec.name.clone()), ..base(line, index) })
    };
    lines.iter().enumerate().map(with_share).collect()
}

/// The sizes of lines by their shares.
fn split(lines: &[AccessLine]) -> Sizes {
    let weighted = |line: &AccessLine| WeightedSize { size: line.size, percent: f64::from(line.share) };
    let law = SizeLaw::Split(lines.iter().map(weighted).collect());
    let align = lines.first().map_or(SECTOR, alignment);
    Sizes { reads: law.clone(), writes: law.clone(), trims: law, alignment: Bytes(align) }
}

fn alignment(line: &AccessLine) -> u64 {
    if line.align.0 == 0 { SECTOR } else { line.align.0 }
}

fn task(
    terms: &IometerTerms,
    point: &IometerPoint,
    line: AccessLine,
    name: String,
    access: IometerAccess,
) -> FileTask {
    let fixed = SizeLaw::Fixed(line.size);
    let own = Sizes {
        reads: fixed.clone(),
        writes: fixed.clone(),
        trims: fixed,
        alignment: Bytes(alignment(&line)),
    };
    let workers = point.workers.max(1);
    let depth = point.depth.max(1);
    FileTask {
        name,
        target: target(terms, false),
        backend: access.backend,
        direct: access.direct,
        mix: match line.reads {
            100.. => Mix::Read,
            0 => Mix::Write,
            percent => Mix::ReadPercent(percent),
        },
        access: match line.random {
            0 => Access::Sequential,
            100.. => Access::Random,
            // So many in a row that one in each run is at a random place.
            percent => Access::Runs { blocks: (100.0 / f64::from(percent)).round().max(1.0) as u64 },
        },
        block: line.size,
        // Without an alignment of its own a line's offsets are multiples of its size.
        sizes: (line.align.0 > 0).then_some(own),
        arrival: match line.delay {
            0 => Arrival::Closed,
            millis => Arrival::ThinkTime {
                pause: Nanos(u64::from(millis) * Nanos::MILLISECOND.0),
                operations: line.burst.max(1),
                io_time: Nanos(0),
                spin: Nanos(0),
            },
        },
        workers,
        concurrency: workers.saturating_mul(depth),
        stop: Stop { runtime: Some(terms.run_time), ..Stop::default() },
        ramp: terms.ramp,
        interval: Nanos((terms.run_time.0 / 10).clamp(10_000_000, Nanos::SECOND.0)),
        ..FileTask::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iolite_model::AccessSpec;

    const ACCESS: IometerAccess = IometerAccess { backend: BackendKind::Threads, direct: true };

    fn tasks_of(lines: Vec<AccessLine>) -> Vec<FileTask> {
        let spec = AccessSpec { name: "spec".into(), lines };
        let point = IometerPoint { spec, workers: 2, depth: 4 };
        let terms = IometerTerms {
            test: String::new(),
            patterns: false,
            points: vec![point.clone()],
            size: Bytes::GIB,
            run_time: Nanos::SECOND,
            ramp: Nanos(0),
        };
        let file = |task| match task {
            Task::File(task) => task,
            other => panic!("{other:?}"),
        };
        tasks(&terms, &point, 1, ACCESS).into_iter().map(file).collect()
    }

    #[test]
    fn lines_that_differ_in_size_only_are_one_task() {
        let line = |size, share| AccessLine { share, ..AccessLine::of(size, 80, 100) };
        let [task] = <[FileTask; 1]>::try_from(tasks_of(vec![line(512, 10), line(4096, 90)])).unwrap();
        assert_eq!((task.mix, &task.access), (Mix::ReadPercent(80), &Access::Random));
        assert_eq!((task.workers, task.concurrency, task.block), (2, 8, Bytes(4096)));
        assert!(matches!(task.sizes.unwrap().reads, SizeLaw::Split(sizes) if sizes.len() == 2));
    }

    #[test]
    fn lines_that_differ_otherwise_keep_the_ratio_of_their_shares() {
        let reads = AccessLine { share: 75, ..AccessLine::of(8192, 100, 100) };
        let log = AccessLine { share: 25, ..AccessLine::of(4096, 0, 0) };
        let tasks = tasks_of(vec![reads, log]);
        let weights: Vec<u32> = tasks.iter().map(|task| task.flow.unwrap().weight).collect();
        assert_eq!(weights, [75, 25]);
        assert_eq!((tasks[1].mix, &tasks[1].access), (Mix::Write, &Access::Sequential));
    }

    #[test]
    fn delays_bursts_and_partly_random_orders_are_kept_and_idle_workers_do_nothing() {
        let line = AccessLine { delay: 5, burst: 3, ..AccessLine::of(4096, 100, 25) };
        let [task] = <[FileTask; 1]>::try_from(tasks_of(vec![line])).unwrap();
        assert!(matches!(task.arrival, Arrival::ThinkTime { pause: Nanos(5_000_000), operations: 3, .. }));
        assert_eq!(task.access, Access::Runs { blocks: 4 });
        assert_eq!(tasks_of(Vec::new()), []);
    }
}
