//! Access specifications as Iometer runs them: point after point, each specification's lines by their shares.

use iolite_model::{
    Access, AccessLine, Arrival, BackendKind, Bytes, FileTarget, FileTask, Flow, IometerPoint, IometerTerms,
    Jumps, Mix, Nanos, SizeLaw, Sizes, Stop, Target, Task, Warning, WeightedSize,
};
use iolite_results::Run;

use crate::procedure::{Conclusions, Nothing, Procedure, Step};

/// Bytes of the operations that fill it.
const BULK: Bytes = Bytes(1 << 20);

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
    /// What sizes and offsets are multiples of: the unit of direct I/O, otherwise a byte.
    pub unit: Bytes,
}

/// Why the storage can't run a specification.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "access specification `{spec}` has {what} of {bytes} bytes, but direct I/O on this storage uses multiples of {unit} bytes: use \
     specifications with larger sizes, or a device with smaller logical blocks"
)]
pub struct IometerError {
    /// Name of the specification.
    pub spec: String,
    /// What is no multiple: `operations` or `offsets`.
    pub what: &'static str,
    /// How large it is.
    pub bytes: u64,
    /// The unit.
    pub unit: u64,
}

impl Iometer {
    /// A test of these terms.
    pub fn new(terms: &IometerTerms, access: IometerAccess) -> Iometer {
        let mut steps: Vec<Vec<Task>> =
            (1..=terms.files()).map(|target| vec![lay_out(terms, target, access)]).collect();
        let points = terms.points.iter().enumerate();
        // An idle worker has nothing to do.
        steps.extend(
            points
                .map(|(index, point)| tasks(terms, point, index + 1, access))
                .filter(|tasks| !tasks.is_empty()),
        );
        Iometer { ahead: steps.into_iter() }
    }

    /// Checks sizes and alignments against the unit of direct I/O.
    ///
    /// # Errors
    /// The first that is no multiple.
    pub fn check(terms: &IometerTerms, unit: Bytes) -> Result<(), IometerError> {
        let unit = unit.0.max(1);
        for point in &terms.points {
            for line in point.spec.lines.iter().filter(|line| line.share > 0) {
                for (what, bytes) in [("operations", line.size.0), ("offsets", line.align.0)] {
                    if !bytes.is_multiple_of(unit) {
                        return Err(IometerError { spec: point.spec.name.clone(), what, bytes, unit });
                    }
                }
            }
        }
        Ok(())
    }

    /// What a test leaves out if a worker has a test connection rate: the test files stay open.
    pub fn left_out(worker: &str, transactions: u32) -> Warning {
        let why = format!(
            "the test files stay open; Iometer closes and opens a target after every {transactions} transactions, which takes time and \
             may flush caches"
        );
        Warning::LeftOut { what: format!("the test connection rate of worker `{worker}`"), why }
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

/// The test file of a target, from 1.
fn file(terms: &IometerTerms, target: u32, create: bool) -> Target {
    let name = IometerTerms::file(target);
    Target::File(FileTarget { name, size: terms.size, create, preallocate: false, per_worker: false })
}

fn lay_out(terms: &IometerTerms, target: u32, access: IometerAccess) -> Task {
    let which = if target > 1 { format!(" of target {target}") } else { String::new() };
    Task::File(FileTask {
        name: format!("fill the test file{which}"),
        target: file(terms, target, true),
        backend: BackendKind::Sync,
        mix: Mix::Write,
        access: Access::Sequential,
        block: BULK,
        direct: access.direct,
        stop: Stop { loops: Some(1), ..Stop::default() },
        ..FileTask::default()
    })
}

/// The tasks of a point, which start together: those of each target.
fn tasks(terms: &IometerTerms, point: &IometerPoint, number: usize, access: IometerAccess) -> Vec<Task> {
    let of = |target| of_target(terms, point, number, target, access);
    (1..=point.targets.max(1)).flat_map(of).collect()
}

/// The tasks of a point at a target: one where its lines differ in size only, otherwise one for each line, which keep the ratio of
/// their shares.
fn of_target(
    terms: &IometerTerms,
    point: &IometerPoint,
    number: usize,
    target: u32,
    access: IometerAccess,
) -> Vec<Task> {
    let lines: Vec<AccessLine> = point.spec.lines.iter().copied().filter(|line| line.share > 0).collect();
    let Some(first) = lines.first() else { return Vec::new() };
    let alike = |line: &AccessLine| {
        (line.reads, line.random, line.delay, line.burst, line.align)
            == (first.reads, first.random, first.delay, first.burst, first.align)
    };
    let base = |line: &AccessLine, index: usize| {
        let name = point.task_name(number, index + 1, target);
        // With one seed for all, lines and targets would access the same places.
        let seed = u64::from(target).saturating_mul(lines.len() as u64).saturating_add(index as u64);
        FileTask { target: file(terms, target, false), seed, ..task(terms, point, *line, name, access) }
    };
    if lines.iter().all(alike) {
        let sizes = (lines.len() > 1).then(|| split(&lines, access.unit));
        let mut task = base(first, 0);
        task.block = lines.iter().map(|line| line.size).max().unwrap_or(first.size);
        task.sizes = sizes.or(task.sizes);
        return vec![Task::File(task)];
    }
    let with_share = |(index, line): (usize, &AccessLine)| {
        // The ratio is kept at each target.
        let flow = Some(Flow { group: target, weight: u32::from(line.share), pause: Nanos(0) });
        Task::File(FileTask { flow, group: Some(point.spec.name.clone()), ..base(line, index) })
    };
    lines.iter().enumerate().map(with_share).collect()
}

/// The sizes of lines by their shares.
fn split(lines: &[AccessLine], unit: Bytes) -> Sizes {
    let weighted = |line: &AccessLine| WeightedSize { size: line.size, percent: f64::from(line.share) };
    let law = SizeLaw::Split(lines.iter().map(weighted).collect());
    // Without an alignment, as of a single line: offsets are multiples of each operation's size as far as the sizes have one in common.
    let common = || lines.iter().fold(Bytes(0), |common, line| Bytes(common_divisor(common.0, line.size.0)));
    let asked = lines.first().map(|line| line.align).filter(|align| align.0 > 0);
    let alignment = asked.unwrap_or_else(common).max(unit).max(Bytes(1));
    Sizes { reads: law.clone(), writes: law.clone(), trims: law, alignment }
}

/// The greatest common divisor (Euclid's algorithm); that of 0 and a number is the number.
const fn common_divisor(one: u64, other: u64) -> u64 {
    if other == 0 { one } else { common_divisor(other, one % other) }
}

/// Where the operations of a line go.
fn order(random: u8) -> Access {
    match random {
        0 => Access::Sequential,
        100.. => Access::Random,
        percent => Access::Jumps(Box::new(Jumps { percent, ..Jumps::default() })),
    }
}

fn task(
    terms: &IometerTerms,
    point: &IometerPoint,
    line: AccessLine,
    name: String,
    access: IometerAccess,
) -> FileTask {
    let own = Sizes::alike(SizeLaw::Fixed(line.size), line.align);
    let workers = point.workers.max(1);
    let depth = point.depth.max(1);
    FileTask {
        name,
        backend: access.backend,
        direct: access.direct,
        mix: match line.reads {
            100.. => Mix::Read,
            0 => Mix::Write,
            percent => Mix::ReadPercent(percent),
        },
        access: order(line.random),
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
        ramp: terms.ramp.into(),
        interval: Nanos((terms.run_time.0 / 10).clamp(10_000_000, Nanos::SECOND.0)),
        ..FileTask::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iolite_model::AccessSpec;

    const ACCESS: IometerAccess =
        IometerAccess { backend: BackendKind::Threads, direct: true, unit: Bytes(512) };

    fn tasks_of(lines: Vec<AccessLine>) -> Vec<FileTask> {
        tasks_at(1, lines)
    }

    fn tasks_at(targets: u32, lines: Vec<AccessLine>) -> Vec<FileTask> {
        let spec = AccessSpec { name: "spec".into(), lines };
        let point = IometerPoint { spec, workers: 2, targets, depth: 4 };
        let terms = IometerTerms {
            test: String::new(),
            patterns: false,
            points: vec![point.clone()],
            size: Bytes::GIB,
            run_time: Nanos::SECOND,
            ramp: Nanos(3 * Nanos::SECOND.0),
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
        assert_eq!((task.ramp, task.stop.runtime), (Nanos(3 * Nanos::SECOND.0).into(), Some(Nanos::SECOND)));
    }

    #[test]
    fn offsets_without_an_alignment_are_multiples_of_what_the_sizes_have_in_common() {
        let line = |size| AccessLine { share: 50, ..AccessLine::of(size, 100, 100) };
        let alignment = |lines| tasks_of(lines)[0].sizes.as_ref().unwrap().alignment;
        assert_eq!(alignment(vec![line(4096), line(8192)]), Bytes(4096));
        assert_eq!(alignment(vec![line(12288), line(8192), line(65536)]), Bytes(4096));
        assert_eq!(alignment(vec![line(512), line(4096)]), Bytes(512));
        let aligned = |size| AccessLine { align: Bytes(16384), ..line(size) };
        assert_eq!(alignment(vec![aligned(4096), aligned(8192)]), Bytes(16384));
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
    fn each_target_is_a_file_with_all_lines_and_the_whole_queue() {
        let line = |reads, share| AccessLine { share, ..AccessLine::of(8192, reads, 100) };
        let tasks = tasks_at(3, vec![line(100, 75), line(0, 25)]);
        let name = |task: &FileTask| match &task.target {
            Target::File(file) => file.name.display().to_string(),
            other => panic!("{other:?}"),
        };
        let (one, two, three) = ("iobw.tst", "iobw.tst.2", "iobw.tst.3");
        assert_eq!(tasks.iter().map(name).collect::<Vec<_>>(), [one, one, two, two, three, three]);
        assert!(tasks.iter().all(|task| (task.workers, task.concurrency) == (2, 8)), "{tasks:?}");
        // The ratio of the lines is kept at each target, and no two access the same places.
        let groups: Vec<u32> = tasks.iter().map(|task| task.flow.unwrap().group).collect();
        assert_eq!(groups, [1, 1, 2, 2, 3, 3]);
        let unique = |of: &dyn Fn(&FileTask) -> String| {
            tasks.iter().map(of).collect::<std::collections::BTreeSet<_>>().len()
        };
        assert_eq!((unique(&|task| task.seed.to_string()), unique(&|task| task.name.clone())), (6, 6));
        // The files are filled before, one after the other.
        let point = |targets| IometerPoint {
            spec: AccessSpec { name: "spec".into(), lines: vec![line(0, 100)] },
            workers: 1,
            targets,
            depth: 1,
        };
        let terms = IometerTerms {
            test: String::new(),
            patterns: false,
            points: vec![point(1), point(2)],
            size: Bytes::GIB,
            run_time: Nanos::SECOND,
            ramp: Nanos(0),
        };
        let steps: Vec<usize> = Iometer::new(&terms, ACCESS).steps().map(<[Task]>::len).collect();
        assert_eq!((steps, terms.space()), (vec![1, 1, 1, 2], Bytes(2 << 30)));
    }

    #[test]
    fn delays_bursts_and_partly_random_orders_are_kept_and_idle_workers_do_nothing() {
        let line = AccessLine { delay: 5, burst: 3, ..AccessLine::of(4096, 100, 25) };
        let [task] = <[FileTask; 1]>::try_from(tasks_of(vec![line])).unwrap();
        assert!(matches!(task.arrival, Arrival::ThinkTime { pause: Nanos(5_000_000), operations: 3, .. }));
        assert_eq!(task.access, order(25));
        assert_eq!(tasks_of(Vec::new()), []);
    }

    /// Shares of the operations that do not follow the one before, as the workload draws them.
    fn jumping(task: &FileTask, size: impl Fn(u32) -> u64) -> f64 {
        let mut stream = iolite_workload::OpStream::new(task, 0).unwrap();
        let drawn: Vec<(u64, u32)> = (0..20_001)
            .map(|_| {
                let op = stream.next_op();
                (op.offset, op.length)
            })
            .collect();
        let jumps = drawn.windows(2).filter(|pair| pair[1].0 != pair[0].0 + size(pair[0].1));
        jumps.count() as f64 / (drawn.len() - 1) as f64
    }

    /// 20,000 operations: five standard deviations of a share are below 0.018. Reads and writes follow each other; so do
    /// operations of different sizes and alignments, and those of a line among others.
    #[test]
    fn the_share_of_random_operations_is_the_one_that_was_asked_for() {
        for random in [10, 25, 60, 80, 99] {
            let line = |size, share| AccessLine { share, ..AccessLine::of(size, 60, random) };
            let aligned = AccessLine { align: Bytes(4096), ..line(8192, 50) };
            let alone = tasks_of(vec![line(4096, 100)]);
            let sizes = tasks_of(vec![line(512, 50), line(4096, 50)]);
            let among = tasks_of(vec![line(4096, 50), AccessLine { reads: 10, ..aligned }]);
            assert_eq!((alone.len(), sizes.len(), among.len()), (1, 1, 2));
            for task in [alone, sizes, among].concat() {
                let found = jumping(&task, u64::from);
                assert!((found - f64::from(random) / 100.0).abs() < 0.018, "{random} %: {found} of {task:?}");
            }
        }
    }

    #[test]
    fn sizes_and_alignments_that_direct_io_can_not_do_are_refused_by_name() {
        let terms = |line| IometerTerms {
            test: String::new(),
            patterns: false,
            points: vec![IometerPoint {
                spec: AccessSpec { name: "small".into(), lines: vec![line] },
                workers: 1,
                targets: 1,
                depth: 1,
            }],
            size: Bytes::GIB,
            run_time: Nanos::SECOND,
            ramp: Nanos(0),
        };
        let small = terms(AccessLine::of(2048, 100, 0));
        assert_eq!(Iometer::check(&small, Bytes(512)), Ok(()));
        assert_eq!(Iometer::check(&small, Bytes(1)), Ok(()));
        let refused = Iometer::check(&small, Bytes(4096)).unwrap_err().to_string();
        assert!(
            refused.contains("`small` has operations of 2048 bytes") && refused.contains("of 4096"),
            "{refused}"
        );
        let aligned = terms(AccessLine { align: Bytes(512), ..AccessLine::of(8192, 100, 100) });
        let refused = Iometer::check(&aligned, Bytes(4096)).unwrap_err().to_string();
        assert!(refused.contains("offsets of 512 bytes"), "{refused}");
    }
}
