use iolite_model::{
    BackendKind, Bytes, Ending, Event, FileTarget, FileTask, FilesTarget, Interval, Mix, NamedFile, OpKind,
    OpTotals, Outstanding, PhaseEnd, PhaseInfo, Task, TprocCTask,
};
use iolite_model::{Cache, RunInfo, Sink, Stage};
use iolite_results::ab::figures;
use iolite_results::comparison::{Figure, Finding};
use iolite_stats::Histogram;

use super::*;

const SECOND: u64 = 1_000_000_000;

fn job(name: &str) -> Job {
    let target = FileTarget {
        name: "data".into(),
        size: Bytes(1 << 20),
        create: true,
        preallocate: false,
        per_worker: false,
    };
    let task = FileTask {
        name: name.into(),
        target: Target::File(target),
        backend: BackendKind::Sync,
        interval: Nanos(SECOND),
        ..FileTask::default()
    };
    Job { name: name.into(), tasks: vec![JobTask::Io(Box::new(task))] }
}

fn run() -> Run {
    Run::new(RunInfo::default())
}

/// A phase of ten seconds with this number of operations in each.
fn measure(run: &mut Run, task: Task, rate: u64) {
    let index = run.next_phase();
    run.event(&Event::PhaseStarted(PhaseInfo { index, task, started: Nanos(0) }));
    for second in 0..10 {
        let mut histogram = Histogram::new();
        (0..rate).for_each(|number| histogram.record(1000 + number));
        let op = OpTotals {
            kind: OpKind::Read,
            operations: rate,
            bytes: 4096 * rate,
            errors: 0,
            response_sum: Nanos(rate * 1000),
            delay_sum: Nanos(0),
            response_max: Nanos(2000),
            response: histogram.encode(),
            service: histogram.encode(),
        };
        let (start, length) = (Nanos(second * SECOND), Nanos(SECOND));
        run.event(&Event::Interval(Interval {
            phase: index,
            start,
            length,
            stage: Stage::Measured,
            ops: vec![op],
        }));
    }
    run.event(&Event::PhaseEnded(PhaseEnd {
        phase: index,
        ending: Ending::Completed,
        measured: Nanos(10 * SECOND),
        outstanding: Outstanding::default(),
        cache: Cache::default(),
        errors: Vec::new(),
        stuck: Vec::new(),
        rate: None,
        verified: None,
    }));
}

/// Both jobs on a device whose rate is that of the side, a little noisy; what is concluded, and the run.
fn compared(rates: (u64, u64), noise: u64, repeat: u32) -> (AbConcluded, Run) {
    let jobs = ("a".to_owned(), "b".to_owned());
    let terms = AbTerms { jobs, repeat, figure: Figure::Rate, detect: 0.05, seed: 7 };
    let (mut procedure, mut run) = (Ab::new(&job("a"), &job("b"), terms, |_| false), run());
    for _ in 0..10_000 {
        match procedure.next(&run, Nanos(0)) {
            Step::Run(tasks) => {
                for task in tasks {
                    let is_a = task.name() == "a";
                    let rate = if is_a { rates.0 } else { rates.1 };
                    let wobble =
                        SplitMix64::seed_from_u64(run.phases.len() as u64 + 100).next_u64() % (2 * noise + 1);
                    measure(&mut run, task, rate + wobble - noise);
                }
            }
            Step::Prepare(CreatedFiles(tasks)) => assert_eq!(tasks.len(), 1),
            Step::Done(conclusions) => return (conclusions.concluded[0].read().unwrap(), run),
            other => panic!("{other:?}"),
        }
    }
    panic!("it does not end");
}

#[test]
fn a_clear_difference_ends_it_early() {
    let (concluded, run) = compared((500, 600), 10, 40);
    assert_eq!(concluded.end, AbEnd::Different);
    assert!(concluded.blocks.len() < 12, "{}", concluded.blocks.len());
    assert_eq!(run.phases.len(), 2 * concluded.blocks.len());
    for block in &concluded.blocks {
        let names = |numbers: &[u32]| -> Vec<&str> {
            numbers.iter().map(|&number| run.phases[number as usize].info.task.name()).collect()
        };
        assert_eq!((names(&block.a), names(&block.b)), (vec!["a"], vec!["b"]));
    }
    let all = figures(&run, &concluded.blocks, Figure::Rate);
    let rate = all.iter().find(|figure| figure.decides).unwrap();
    assert_eq!((rate.finding, rate.part.as_str()), (Finding::Better, "a -> b"));
    assert!((rate.interval.ratio - 1.2).abs() < 0.03, "{rate:?}");
}

#[test]
fn equal_jobs_end_when_a_difference_that_matters_is_excluded() {
    let (concluded, _) = compared((500, 500), 5, 100);
    assert_eq!(concluded.end, AbEnd::Alike);
    assert!(concluded.blocks.len() < 20);
    let sides = |side| concluded.blocks.iter().any(|block| block.first == side);
    assert!(sides(Side::A) && sides(Side::B), "the order is drawn");
}

#[test]
fn where_nothing_is_clear_all_pairs_are_run() {
    let (concluded, run) = compared((500, 500), 200, 6);
    assert_eq!((concluded.end, concluded.blocks.len(), run.phases.len()), (AbEnd::Repeats, 6, 12));
}

/// The steps of a comparison of a task with itself, in two pairs.
fn steps(task: JobTask, is_there: impl Fn(&Path) -> bool) -> Vec<(&'static str, JobTask)> {
    let job = Job { name: String::new(), tasks: vec![task] };
    let jobs = ("a".to_owned(), "b".to_owned());
    let terms = AbTerms { jobs, repeat: 2, figure: Figure::Rate, detect: 0.05, seed: 7 };
    let (mut procedure, mut run, mut steps) = (Ab::new(&job, &job, terms, is_there), run(), Vec::new());
    loop {
        match procedure.next(&run, Nanos(0)) {
            Step::Prepare(CreatedFiles(tasks)) => {
                steps.extend(tasks.into_iter().map(|task| ("remove", task)));
            }
            Step::Run(tasks) => {
                for task in tasks {
                    let job_task = match task.clone() {
                        Task::File(task) => JobTask::Io(Box::new(task)),
                        Task::Metadata(task) => JobTask::Metadata(task),
                        other => panic!("{other:?}"),
                    };
                    steps.push(("run", job_task));
                    measure(&mut run, task, 100);
                }
            }
            Step::Done(_) => return steps,
            Step::Failed(reason) => panic!("{reason}"),
        }
    }
}

/// Names of the files and trees of a task.
fn names(task: &JobTask) -> Vec<String> {
    let paths = match task {
        JobTask::Metadata(task) => vec![&task.tree],
        JobTask::Io(task) => match &task.target {
            Target::File(file) => vec![&file.name],
            Target::Files(files) => files.files.iter().map(|named| &named.path).collect(),
            Target::Existing(existing) => vec![&existing.path],
            Target::Null { .. } => Vec::new(),
        },
    };
    paths.into_iter().map(|path| path.display().to_string()).collect()
}

#[test]
fn each_turn_creates_files_of_its_side_s_own_anew() {
    let named = |path: &str| NamedFile { path: path.into(), offset: Bytes(0), size: Bytes(4096) };
    let fio = FileTask {
        target: Target::Files(FilesTarget::of(vec![named("/data/new"), named("/dev/there")])),
        mix: Mix::Write,
        ..FileTask::default()
    };
    let create = JobTask::Metadata(MetadataTask::default());
    let cases: [(JobTask, [&[&str]; 2]); 3] = [
        (job("a").tasks.remove(0), [&["a-data"], &["b-data"]]),
        (create, [&["a-tree"], &["b-tree"]]),
        (JobTask::Io(Box::new(fio)), [&["/data/a-new", "/dev/there"], &["/data/b-new", "/dev/there"]]),
    ];
    for (task, expected) in cases {
        let steps = steps(task, |path| path.starts_with("/dev"));
        assert_eq!(steps.len(), 8);
        for turn in steps.chunks(2) {
            let [("remove", removed), ("run", run)] = turn else { panic!("{turn:?}") };
            assert_eq!(removed, run, "the task is the same in each turn");
            assert!(expected.contains(&&*names(run).iter().map(String::as_str).collect::<Vec<_>>()));
        }
    }
}

#[test]
fn files_that_are_only_read_are_laid_out_once() {
    let named = NamedFile { path: "/data/new".into(), offset: Bytes(0), size: Bytes(4096) };
    let read = FileTask { target: Target::Files(FilesTarget::of(vec![named])), ..FileTask::default() };
    let steps = steps(JobTask::Io(Box::new(read)), |_| false);
    assert!(steps.len() == 4 && steps.iter().all(|(step, _)| *step == "run"), "{steps:?}");
}

/// Both sides of a pair have the same random numbers, each pair others; nothing is created between turns.
#[test]
fn loads_inside_a_database_take_turns() {
    let side = |spread_warehouse| {
        Task::TprocC(TprocCTask {
            name: "TPROC-C".into(),
            users: 8,
            seed: 40,
            spread_warehouse,
            ..TprocCTask::default()
        })
    };
    let jobs = ("shared".to_owned(), "spread".to_owned());
    let terms = AbTerms { jobs, repeat: 3, figure: Figure::Rate, detect: 0.0001, seed: 7 };
    let (mut procedure, mut run) = (Ab::in_database(side(false), side(true), terms), run());
    let concluded = loop {
        match procedure.next(&run, Nanos(0)) {
            Step::Run(tasks) => tasks.into_iter().for_each(|task| {
                let noise = run.phases.len() as u64 % 3 * 40;
                measure(&mut run, task, 500 + noise);
            }),
            Step::Done(conclusions) => break conclusions.concluded[0].read::<AbConcluded>().unwrap(),
            other => panic!("{other:?}"),
        }
    };
    let of = |number: u32| match &run.phases[number as usize].info.task {
        Task::TprocC(task) => (task.spread_warehouse, task.seed),
        other => panic!("{other:?}"),
    };
    let sides: Vec<_> = concluded.blocks.iter().map(|block| (of(block.a[0]), of(block.b[0]))).collect();
    let expected = [40, 41, 42].map(|seed| ((false, seed), (true, seed)));
    assert_eq!(sides, expected);
}
