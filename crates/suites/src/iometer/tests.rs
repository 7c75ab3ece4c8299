use iolite_model::{
    Access, AccessLine, AccessSpec, Arrival, FileTask, IometerLoad, IometerPoint, IometerWorker, Mix,
    Mixture, Regions, SizeLaw, Target,
};

use super::*;

const ACCESS: IometerAccess = IometerAccess { backend: BackendKind::Threads, direct: true, unit: Bytes(512) };

fn spec(lines: Vec<AccessLine>) -> AccessSpec {
    AccessSpec { name: "spec".into(), lines }
}

/// Workers that use the first `targets` files from their beginning.
fn workers(count: u32, targets: u32) -> Vec<IometerWorker> {
    let worker = |number| IometerWorker {
        manager: 1,
        manager_name: String::new(),
        name: format!("Worker {number}"),
        files: (1..=targets).collect(),
        start: Bytes(0),
        size: Bytes::GIB,
    };
    (1..=count).map(worker).collect()
}

fn terms(workers: Vec<IometerWorker>, points: Vec<IometerPoint>) -> IometerTerms {
    IometerTerms {
        test: String::new(),
        patterns: false,
        points,
        size: Bytes::GIB,
        run_time: Nanos::SECOND,
        ramp: Nanos(3 * Nanos::SECOND.0),
        workers,
    }
}

fn point(workers: u32, targets: u32, depth: u32, lines: Vec<AccessLine>) -> IometerPoint {
    IometerPoint { spec: spec(lines), workers, targets, depth, loads: Vec::new() }
}

/// The tasks of the only point.
fn tasks_of_terms(terms: &IometerTerms) -> Vec<FileTask> {
    let file = |task| match task {
        Task::File(task) => task,
        other => panic!("{other:?}"),
    };
    tasks::of_point(terms, &terms.files(), (&terms.points[0], 1), ACCESS).into_iter().map(file).collect()
}

/// The tasks of a worker with a depth of 4.
fn tasks_of(lines: Vec<AccessLine>) -> Vec<FileTask> {
    tasks_of_terms(&terms(workers(1, 1), vec![point(1, 1, 4, lines)]))
}

fn file_of(task: &FileTask) -> String {
    match &task.target {
        Target::File(file) => file.name.display().to_string(),
        other => panic!("{other:?}"),
    }
}

fn mixture_of(task: &FileTask) -> &Mixture {
    match &task.access {
        Access::Mixture(mixture) => mixture,
        other => panic!("{other:?}"),
    }
}

#[test]
fn lines_that_differ_in_size_only_have_a_law_of_sizes() {
    let line = |size, share| AccessLine { share, ..AccessLine::of(size, 80, 100) };
    let [task] = <[FileTask; 1]>::try_from(tasks_of(vec![line(512, 10), line(4096, 90)])).unwrap();
    assert_eq!((task.mix, &task.access), (Mix::ReadPercent(80), &Access::Random));
    assert_eq!((task.workers, task.concurrency, task.block), (1, 4, Bytes(4096)));
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

/// In Iometer a worker has so many outstanding I/Os whatever the number of its lines.
#[test]
fn lines_of_all_kinds_are_one_queue_with_the_depth_of_the_worker() {
    let reads = AccessLine { share: 75, ..AccessLine::of(8192, 100, 100) };
    let log = AccessLine { share: 25, align: Bytes(512), ..AccessLine::of(4096, 0, 0) };
    let tasks = tasks_of(vec![reads, log]);
    let [task] = <[FileTask; 1]>::try_from(tasks).unwrap();
    assert_eq!((task.mix, task.concurrency, task.block), (Mix::ReadPercent(75), 4, Bytes(8192)));
    let lines = &mixture_of(&task).lines;
    let facts: Vec<_> =
        lines.iter().map(|it| (it.share, it.size.0, it.alignment.0, it.reads, it.random)).collect();
    assert_eq!(facts, [(75, 8192, 4096, 100, 100), (25, 4096, 512, 0, 0)]);
    // All standard specifications at once have 28.
    let many: Vec<AccessLine> =
        (0..100).map(|index| AccessLine { share: 1, ..AccessLine::of(4096, index, 100 - index) }).collect();
    let [task] = <[FileTask; 1]>::try_from(tasks_of(many)).unwrap();
    assert_eq!((task.concurrency, mixture_of(&task).lines.len()), (4, 100));
    assert!(iolite_workload::validate(&task).is_ok());
}

#[test]
fn reads_and_writes_of_a_sequential_mix_share_one_place() {
    let [task] = <[FileTask; 1]>::try_from(tasks_of(vec![AccessLine::of(4096, 50, 0)])).unwrap();
    assert_eq!((task.mix, mixture_of(&task).lines.len()), (Mix::ReadPercent(50), 1));
    let mut stream = iolite_workload::OpStream::new(&task, 0).unwrap();
    assert_eq!([0; 3].map(|_| stream.next_op().offset), [0, 4096, 8192]);
}

#[test]
fn lines_with_different_delays_keep_the_ratio_of_their_shares() {
    let reads = AccessLine { share: 75, delay: 1, ..AccessLine::of(8192, 100, 100) };
    let log = AccessLine { share: 25, ..AccessLine::of(4096, 0, 0) };
    let apart = terms(workers(1, 1), vec![point(1, 1, 4, vec![reads, log])]);
    let tasks = tasks_of_terms(&apart);
    let weights: Vec<u32> = tasks.iter().map(|task| task.flow.unwrap().weight).collect();
    assert_eq!(weights, [75, 25]);
    assert_eq!((tasks[1].mix, &tasks[1].access), (Mix::Write, &Access::Sequential));
    let warning = format!("{:?}", Iometer::apart(&apart).unwrap());
    assert!(warning.contains("the access specification `spec`"), "{warning}");
    // A burst without a delay has no end.
    let together =
        terms(workers(1, 1), vec![point(1, 1, 4, vec![log, AccessLine { burst: 9, share: 75, ..log }])]);
    assert_eq!(Iometer::apart(&together), None);
}

#[test]
fn each_target_of_each_worker_is_a_task_with_the_whole_queue() {
    let line = |reads, share| AccessLine { share, ..AccessLine::of(8192, reads, 100) };
    let tasks = tasks_of_terms(&terms(workers(2, 3), vec![point(2, 3, 4, vec![line(100, 75), line(0, 25)])]));
    let (one, two, three) = ("iobw.tst", "iobw.tst.2", "iobw.tst.3");
    assert_eq!(tasks.iter().map(file_of).collect::<Vec<_>>(), [one, two, three, one, two, three]);
    assert!(tasks.iter().all(|task| (task.workers, task.concurrency) == (1, 4)), "{tasks:?}");
    // No two access the same places.
    let unique = |of: &dyn Fn(&FileTask) -> String| {
        tasks.iter().map(of).collect::<std::collections::BTreeSet<_>>().len()
    };
    assert_eq!((unique(&|task| task.seed.to_string()), unique(&|task| task.name.clone())), (6, 6));
    // The files are filled before, one after the other.
    let lines = || vec![line(0, 100)];
    let terms = terms(workers(1, 2), vec![point(1, 1, 1, lines()), point(1, 2, 1, lines())]);
    let steps: Vec<usize> = Iometer::new(&terms, ACCESS).steps().map(<[Task]>::len).collect();
    assert_eq!((steps, terms.space()), (vec![1, 1, 1, 2], Bytes(2 << 30)));
}

#[test]
fn workers_that_differ_run_at_the_same_time_each_with_its_own_load() {
    let load = |worker, lines, targets, depth| IometerLoad { worker, spec: spec(lines), targets, depth };
    let loads = vec![
        load(1, vec![AccessLine::of(8192, 100, 100)], 1, 16),
        load(2, vec![AccessLine::of(65_536, 0, 0)], 2, 1),
    ];
    let mut workers = workers(2, 2);
    (workers[0].start, workers[0].size) = (Bytes::MIB, Bytes(4 << 20));
    workers[1].files = vec![1, 7];
    let terms = terms(workers, vec![IometerPoint { loads, ..point(2, 2, 16, Vec::new()) }]);
    let tasks = tasks_of_terms(&terms);
    let facts: Vec<_> =
        tasks.iter().map(|task| (&*task.name, file_of(task), task.mix, task.concurrency)).collect();
    assert_eq!(
        facts,
        [
            ("iometer 1: spec, worker 1, line 1", "iobw.tst".to_owned(), Mix::Read, 16),
            ("iometer 1: spec, worker 2, line 1", "iobw.tst".to_owned(), Mix::Write, 1),
            ("iometer 1: spec, worker 2, line 1, target 2", "iobw.tst.7".to_owned(), Mix::Write, 1),
        ]
    );
    // The first uses 4 MiB from its starting sector on, the second the whole file.
    assert_eq!(tasks[0].regions, Regions::Part { start: Bytes::MIB, length: Bytes(4 << 20) });
    assert_eq!((tasks[1].regions, tasks[1].target.size()), (Regions::Natural, Bytes::GIB));
    assert_eq!(terms.files().into_iter().collect::<Vec<_>>(), [(1, Bytes::GIB), (7, Bytes::GIB)]);
    assert_eq!(Iometer::check(&terms, Bytes(512)), Ok(()));
}

#[test]
fn workers_that_go_through_a_file_share_it_and_each_byte_is_one_workers() {
    let parts = |count, lines: Vec<AccessLine>| {
        let tasks = tasks_of_terms(&terms(workers(count, 1), vec![point(count, 1, 1, lines)]));
        let part = |task: &FileTask| match task.regions {
            Regions::Part { start, length } => (start.0, start.0 + length.0),
            _ => (0, task.target.size().0),
        };
        tasks.iter().map(part).collect::<Vec<_>>()
    };
    let sequential = parts(3, vec![AccessLine::of(65_536, 100, 0)]);
    assert_eq!((sequential[0].0, sequential[2].1), (0, 1 << 30));
    assert!(sequential.windows(2).all(|pair| pair[0].1 == pair[1].0), "{sequential:?}");
    assert!(sequential.iter().all(|(start, end)| start % 65_536 == 0 && end - start > (1 << 30) / 4));
    // At random each uses all of it.
    assert_eq!(parts(3, vec![AccessLine::of(65_536, 100, 100)]), [(0, 1 << 30); 3]);
    // A mixture goes on from places of its own.
    let mixed = vec![AccessLine::of(65_536, 50, 0)];
    let tasks = tasks_of_terms(&terms(workers(2, 1), vec![point(2, 1, 1, mixed)]));
    let first: Vec<u64> = tasks.iter().map(|task| mixture_of(task).first.0).collect();
    assert_eq!(first, [0, 1 << 29]);
    // Files of their own are not shared.
    let mut own = workers(2, 1);
    own[1].files = vec![2];
    let tasks = tasks_of_terms(&terms(own, vec![point(2, 1, 1, vec![AccessLine::of(65_536, 100, 0)])]));
    assert!(tasks.iter().all(|task| task.regions == Regions::Natural), "{tasks:?}");
}

#[test]
fn delays_bursts_and_partly_random_orders_are_kept_and_idle_workers_do_nothing() {
    let line = AccessLine { delay: 5, burst: 3, ..AccessLine::of(4096, 100, 25) };
    let [task] = <[FileTask; 1]>::try_from(tasks_of(vec![line])).unwrap();
    let five = Nanos(5_000_000);
    assert!(matches!(task.arrival, Arrival::ThinkTime { pause, operations: 3, .. } if pause == five));
    assert_eq!(task.access, tasks::order(25));
    assert_eq!(tasks_of(Vec::new()), []);
}

/// Shares of the operations that do not follow the one before, as the workload draws them.
fn jumping(task: &FileTask) -> f64 {
    let mut stream = iolite_workload::OpStream::new(task, 0).unwrap();
    let drawn: Vec<(u64, u32)> = (0..20_001)
        .map(|_| {
            let op = stream.next_op();
            (op.offset, op.length)
        })
        .collect();
    let jumps = drawn.windows(2).filter(|pair| pair[1].0 != pair[0].0 + u64::from(pair[0].1));
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
        let reads = tasks_of(vec![AccessLine::of(4096, 100, random)]);
        let sizes = tasks_of(vec![line(512, 50), line(4096, 50)]);
        let among = tasks_of(vec![line(4096, 50), AccessLine { reads: 10, ..aligned }]);
        for task in [alone, reads, sizes, among].concat() {
            let found = jumping(&task);
            assert!((found - f64::from(random) / 100.0).abs() < 0.018, "{random} %: {found} of {task:?}");
        }
    }
}

#[test]
fn sizes_and_alignments_that_direct_io_can_not_do_are_refused_by_name() {
    let terms = |line| {
        let point = IometerPoint {
            spec: AccessSpec { name: "small".into(), lines: vec![line] },
            ..point(1, 1, 1, vec![])
        };
        terms(workers(1, 1), vec![point])
    };
    let small = terms(AccessLine::of(2048, 100, 0));
    assert_eq!(Iometer::check(&small, Bytes(512)), Ok(()));
    assert_eq!(Iometer::check(&small, Bytes(1)), Ok(()));
    let refused = |terms: &IometerTerms| Iometer::check(terms, Bytes(4096)).unwrap_err().to_string();
    let error = refused(&small);
    assert!(error.contains("`small` has operations of 2048 bytes") && error.contains("of 4096"), "{error}");
    let aligned = terms(AccessLine { align: Bytes(512), ..AccessLine::of(8192, 100, 100) });
    assert!(refused(&aligned).contains("offsets of 512 bytes"), "{}", refused(&aligned));
    let mut shifted = terms(AccessLine::of(8192, 100, 100));
    shifted.workers[0].start = Bytes(512);
    assert!(refused(&shifted).contains("`Worker 1` starts at byte 512"), "{}", refused(&shifted));
}

#[test]
fn what_a_host_can_not_run_is_refused_before_a_file_is_filled() {
    let refused = |terms: IometerTerms| Iometer::check(&terms, Bytes(512)).unwrap_err().to_string();
    let line = AccessLine::of(4096, 100, 0);
    let many = refused(terms(workers(70, 64), vec![point(70, 64, 1, vec![line])]));
    assert!(many.contains("point 1 needs 4480 threads"), "{many}");
    let deep = refused(terms(workers(2, 1), vec![point(2, 1, 40_000, vec![line])]));
    assert!(deep.contains("80000 outstanding I/Os"), "{deep}");
    let large = vec![AccessLine::of(512 << 20, 100, 0)];
    let small = refused(terms(workers(3, 1), vec![point(3, 1, 1, large.clone())]));
    assert!(small.contains("operations of 512 MiB, but worker `Worker 1` uses"), "{small}");
    assert_eq!(Iometer::check(&terms(workers(2, 1), vec![point(2, 1, 1, large)]), Bytes(512)), Ok(()));
}
