use iolite_model::{
    BonnieTerms, Cache, Concluded, DdTerms, FileTask, Fitness, GeneratorUse, IozoneTerms, Mix, OpKind,
    RunInfo, Target, Verdict, Warning,
};
use iolite_stats::{Collector, Completion, PhaseResult, Timetable, recorder};

use super::*;

fn terms() -> ClassicTerms {
    ClassicTerms {
        dd: Some(DdTerms { size: Bytes(32 << 20), flush: Bytes(16 << 20), block: Bytes(8192) }),
        bonnie: Some(BonnieTerms {
            size: Bytes(24 << 20),
            characters: Bytes(1000),
            chunk: Bytes(8192),
            concurrency: 2,
            seeks: 8192,
            seekers: 5,
            files: 2048,
        }),
        iozone: Some(IozoneTerms { size: Bytes(4 << 20), record: Bytes(8192), processes: 6 }),
        keep_cache: false,
    }
}

fn nothing_yet() -> Run {
    Run::new(RunInfo::default())
}

/// All steps of these terms.
fn steps(terms: ClassicTerms) -> Vec<Step<ClassicPreparation>> {
    let (mut classic, run) = (Classic::new(terms), nothing_yet());
    let mut steps = Vec::new();
    loop {
        match classic.next(&run, Nanos(0)) {
            Step::Done(_) => return steps,
            step => steps.push(step),
        }
    }
}

fn files(steps: &[Step<ClassicPreparation>]) -> Vec<&FileTask> {
    let tasks = steps.iter().filter_map(|step| match step {
        Step::Run(tasks) => Some(tasks),
        _ => None,
    });
    tasks.flatten().filter_map(file).collect()
}

fn file(task: &Task) -> Option<&FileTask> {
    match task {
        Task::File(task) => Some(task),
        _ => None,
    }
}

#[test]
fn every_test_runs_its_steps_in_the_originals_order() {
    let steps = steps(terms());
    let names: Vec<String> = steps
        .iter()
        .flat_map(|step| match step {
            Step::Run(tasks) => tasks.iter().map(|task| task.name().to_owned()).collect(),
            _ => Vec::new(),
        })
        .collect();
    assert_eq!(names.len(), 3 + 12 + 10 * 6);
    assert_eq!(names[..3], ["dd: write", "dd: write a second file", "dd: read back"]);
    assert_eq!(names[3], "bonnie: per-character output");
    assert_eq!(names[15], "iozone: initial writers, process 1");
}

#[test]
fn files_are_removed_as_soon_as_no_phase_needs_them_and_so_is_their_space() {
    let steps = steps(terms());
    let removed = |name: &str| {
        steps.iter().position(|step| match step {
            Step::Prepare(ClassicPreparation::Remove(files)) => {
                files.iter().any(|file| file.as_os_str() == name)
            }
            _ => false,
        })
    };
    let used = |name: &str| {
        steps.iter().rposition(|step| match step {
            Step::Run(tasks) => tasks.iter().any(|task| match task {
                Task::File(FileTask { target: Target::File(file), .. }) => file.name.as_os_str() == name,
                _ => false,
            }),
            _ => false,
        })
    };
    for name in ["ddfile", "ddfile2", "bonnie.0", "f1", "f6"] {
        assert!(used(name).is_some_and(|last| removed(name).is_some_and(|at| at > last)), "{name}");
    }
    assert!(removed("bonnie.1").is_some() && removed("bonnie-characters.1").is_some());
    // dd's two files are the most that there is at one time.
    assert_eq!(Classic::space(&terms()), Bytes(48 << 20));
}

#[test]
fn what_reads_finds_a_cold_cache_unless_the_user_keeps_it() {
    let cold = steps(terms());
    let dropped: Vec<_> =
        files(&cold).into_iter().filter(|task| task.cache.invalidate).map(|task| &*task.name).collect();
    assert!(dropped.contains(&"dd: read back") && dropped.contains(&"bonnie: random seeks"), "{dropped:?}");
    assert!(!dropped.iter().any(|name| name.contains("re-readers")), "{dropped:?}");
    let kept = steps(ClassicTerms { keep_cache: true, ..terms() });
    assert!(files(&kept).iter().all(|task| !task.cache.invalidate));
}

#[test]
fn phases_do_what_the_manuals_say() {
    let steps = steps(terms());
    let files = files(&steps);
    let named = |name: &str| *files.iter().find(|task| task.name == name).unwrap();
    let rewrite = named("bonnie: rewrite");
    assert_eq!((rewrite.mix, rewrite.contents.refill), (Mix::ReadThenWrite(100), false));
    assert!(named("bonnie: block output").contents.refill, "what is written back was random");
    assert_eq!(named("bonnie: per-character output").block, Bytes(1));
    assert_eq!(named("bonnie: random seeks").stop.operations, Some(8192 + 819));
    assert_eq!(named("bonnie: random seeks").workers, 5);
    assert_eq!(named("iozone: record rewriters, process 2").target.size(), Bytes(8192));
    assert_eq!(named("iozone: mixed workload, process 1").mix, Mix::Read);
    assert_eq!(named("iozone: mixed workload, process 2").mix, Mix::Write);
}

const SECOND: u64 = 1_000_000_000;

/// What a fast device would have done with the task in a second after a ramp of as long, read by the device.
fn measured(task: &Task, index: u32) -> PhaseResult {
    let kind =
        if matches!(task, Task::File(task) if task.mix == Mix::Read) { OpKind::Read } else { OpKind::Write };
    let timetable = Timetable { ramp_end: SECOND, interval: SECOND / 10, end: 2 * SECOND };
    let (mut recorder, feed) = recorder(timetable, &OpKind::STANDARD);
    let mut collector = Collector::new(index, vec![feed]);
    for number in 0..20_000 {
        let completed = SECOND + number * (SECOND / 20_000) + 1;
        let issued = completed - 100_000;
        recorder.record(Completion { kind, intended: issued, issued, completed, bytes: 8192 });
        collector.collect(completed);
    }
    recorder.finish().iter().for_each(|left| collector.absorb(0, left));
    let mut result = crate::check::tests::empty(task.clone());
    result.totals = collector.finish(SECOND, SECOND).2;
    result.info.index = index;
    result.end.measured = Nanos(SECOND);
    let bytes = Bytes(20_000 * 8192);
    let read = if kind == OpKind::Read { bytes } else { Bytes(0) };
    result.end.cache = Cache { requested_read: read, device_read: Some(read), ..Cache::default() };
    result
}

/// The verdict of dd on a fast device, with what `change` makes of its phases and of the run.
fn verdict_of(change: impl FnOnce(&mut Run)) -> Verdict {
    let terms = ClassicTerms { bonnie: None, iozone: None, ..terms() };
    let (mut classic, mut run) = (Classic::new(terms), nothing_yet());
    let mut change = Some(change);
    loop {
        match classic.next(&run, Nanos(0)) {
            Step::Run(tasks) => {
                let first = run.next_phase();
                run.phases.extend((first..).zip(&tasks).map(|(index, task)| measured(task, index)));
            }
            Step::Prepare(_) => change.take().into_iter().for_each(|change| change(&mut run)),
            Step::Done(conclusions) => return conclusions.verdict.unwrap(),
            Step::Failed(why) => panic!("{why}"),
        }
    }
}

fn read_back(run: &mut Run) -> &mut PhaseResult {
    run.phases.iter_mut().find(|phase| phase.info.task.name() == "dd: read back").unwrap()
}

#[test]
fn a_fast_device_is_fit_unless_operations_fail_or_hang() {
    let fast = verdict_of(|_| ());
    assert_eq!((fast.fitness, fast.reasons.len()), (Fitness::Fit, 2), "{fast:#?}");
    let hung = verdict_of(|run| read_back(run).end.outstanding.lost = 1);
    assert_eq!((hung.fitness, hung.reasons[0].what.as_str()), (Fitness::Unfit, "hangs"), "{hung:#?}");
    let short = verdict_of(|run| read_back(run).end.measured = Nanos(SECOND / 10));
    assert_eq!(short.fitness, Fitness::Marginal, "{short:#?}");
    assert!(short.reasons[1].reservations[0].contains("measured for only"), "{short:#?}");
    // A task goes on after an error; one of the ramp is no part of what was measured.
    let failing = verdict_of(|run| {
        let timetable = Timetable { ramp_end: SECOND, interval: SECOND / 10, end: 2 * SECOND };
        let (mut recorder, feed) = recorder(timetable, &OpKind::STANDARD);
        let mut collector = Collector::new(0, vec![feed]);
        recorder.record_error(OpKind::Write, 5);
        recorder.finish().iter().for_each(|left| collector.absorb(0, left));
        let failed = collector.finish(SECOND, SECOND).2;
        run.phases[0].totals = run.phases[0].totals.merge(&failed);
    });
    assert_eq!(
        (failing.fitness, failing.reasons[0].what.as_str()),
        (Fitness::Unfit, "errors"),
        "{failing:#?}"
    );
}

#[test]
fn what_the_device_is_not_known_to_have_read_is_marginal_at_most() {
    let stamped = |change: &dyn Fn(&mut Cache)| {
        let verdict = verdict_of(|run| change(&mut read_back(run).end.cache));
        assert_eq!(verdict.fitness, Fitness::Marginal, "{verdict:#?}");
        verdict.reasons.iter().flat_map(|reason| reason.reservations.clone()).collect::<Vec<_>>()
    };
    assert_eq!(
        stamped(&|cache| cache.device_read = None),
        ["the reads may have come from memory: no device counter confirms them"]
    );
    for share in [0.0, 0.7] {
        let read = |cache: &mut Cache| {
            cache.device_read = Some(Bytes((cache.requested_read.0 as f64 * share) as u64));
        };
        assert_eq!(stamped(&read).len(), 1);
    }
    assert_eq!(stamped(&|cache| cache.unwritten = Some(0.5)).len(), 1);
    assert_eq!(stamped(&|cache| cache.device_read = Some(Bytes(cache.requested_read.0 * 4))).len(), 1);
}

/// Direct I/O that the file system may serve from memory confirms nothing.
#[test]
fn direct_reads_without_a_counter_count_where_direct_io_is_confirmed() {
    let fitness = |direct_confirmed| {
        let verdict = verdict_of(|run| {
            let result = read_back(run);
            let Task::File(task) = &mut result.info.task else { panic!() };
            task.direct = true;
            result.end.cache = Cache { device_read: None, direct_confirmed, ..result.end.cache };
        });
        verdict.fitness
    };
    assert_eq!((fitness(true), fitness(false)), (Fitness::Fit, Fitness::Marginal));
}

/// Written at 8 MiB a second, of which 125 are required.
#[test]
fn a_slow_device_is_unfit_unless_other_programs_can_have_made_it_slow() {
    let slow = |change: &dyn Fn(&mut Run)| {
        let verdict = verdict_of(|run| {
            run.phases[0].totals.measured = 20 * SECOND;
            change(run);
        });
        let reason =
            verdict.reasons.iter().find(|reason| reason.what == "dd, write with sync").unwrap().clone();
        (reason.fitness, reason.reservations.join("; "))
    };
    let waited = |share: f64| {
        let observed = Nanos(20 * SECOND);
        let longest_run_delay = Nanos((observed.0 as f64 * share) as u64);
        let used =
            GeneratorUse { observed, longest_run_delay, threads: 1, cpus: 2, ..GeneratorUse::default() };
        slow(&|run| run.conclusions.push(Concluded::of_phase(0, &used)))
    };
    assert_eq!(slow(&|_| ()), (Fitness::Unfit, String::new()));
    // Half of the time: three handovers of an operation may take all of it. A twentieth: it would still be less than 10 MiB/s.
    let (fitness, why) = waited(0.5);
    assert!(
        fitness == Fitness::Marginal && why.contains("CPUs were busy with other work"),
        "{fitness:?} {why}"
    );
    assert_eq!(waited(0.05).0, Fitness::Unfit);
    // Others read from the device while this program wrote to it; in another phase they explain nothing.
    let foreign = |phase: usize| {
        slow(&|run| {
            let cache = &mut run.phases[phase].end.cache;
            (cache.own_read, cache.device_read) =
                (Some(cache.requested_read), Some(Bytes(cache.requested_read.0 * 4 + (1 << 30))));
        })
    };
    let (fitness, why) = foreign(0);
    assert!(fitness == Fitness::Marginal && why.contains("repeat on an idle device"), "{fitness:?} {why}");
    assert_eq!(foreign(2).0, Fitness::Unfit);
}

#[test]
fn a_generator_at_its_limit_and_other_load_are_marginal_with_the_reason() {
    let used = |index: u32, cpu| {
        let second = Nanos::SECOND;
        let used = GeneratorUse {
            observed: second,
            threads: 1,
            cpus: 2,
            busiest_cpu: cpu,
            ..GeneratorUse::default()
        };
        Concluded::of_phase(index, &used)
    };
    let busy = Nanos(990_000_000);
    let bound = verdict_of(|run| run.conclusions.push(used(2, busy)));
    let reason = bound.reasons.last().unwrap();
    assert_eq!((bound.fitness, reason.what.as_str()), (Fitness::Marginal, "load generator"), "{bound:#?}");
    assert!(reason.measured.contains("dd: read back"), "{reason:?}");
    // The second file is not judged.
    assert_eq!(verdict_of(|run| run.conclusions.push(used(1, busy))).fitness, Fitness::Fit);
    let beside = verdict_of(|run| {
        let foreign = Warning::ForeignLoad {
            phase: "dd".into(),
            requested: Bytes(1),
            kind: OpKind::Read,
            device: Bytes(9),
        };
        run.warnings.push(foreign);
    });
    assert_eq!(
        (beside.fitness, beside.reasons.last().unwrap().what.as_str()),
        (Fitness::Marginal, "other load")
    );
}
