//! The procedure on simulated devices of three characters.

use iolite_model::{BackendKind, Bytes, Cache, Ending, OpKind, Outstanding, PhaseEnd, PhaseInfo, RunInfo};
use iolite_stats::{Collector, Completion, PhaseResult, Timetable, recorder};

use super::*;

const ACCESS: PtsAccess = PtsAccess { backend: BackendKind::Threads, direct: true };

/// A round's cell takes a second.
const CELL: u64 = 1_000_000_000;

fn terms(tests: &[PtsTest]) -> PtsTerms {
    PtsTerms {
        target: "/dev/simulated".into(),
        span: Bytes(64 << 20),
        tests: tests.to_vec(),
        scale: 1.0,
        cell: Nanos(CELL),
        max_rounds: 25,
        window: 5,
        blocks: vec![Bytes(65_536), Bytes(4096)],
        threads: 1,
        depth: 1,
        purges: true,
        saturation: Nanos(1000 * CELL),
        device: iolite_model::PtsDevice::default(),
    }
}

fn nothing_yet() -> Run {
    Run::new(RunInfo::default())
}

/// A phase that came to its end with so many operations in its second.
fn phase(index: u32, task: Task, operations: u64) -> PhaseResult {
    let Task::File(file) = &task else { panic!("the specification has block I/O only") };
    let kind = if file.mix == iolite_model::Mix::Read { OpKind::Read } else { OpKind::Write };
    let timetable = Timetable { ramp_end: 0, interval: CELL / 10, end: CELL };
    let (mut recorder, feed) = recorder(timetable, &[kind]);
    let mut collector = Collector::new(index, vec![feed]);
    for number in 0..operations {
        let completed = CELL * number / operations;
        let intended = completed.saturating_sub(1000);
        recorder.record(Completion { kind, intended, issued: intended, completed, bytes: file.block.0 });
        collector.collect(completed);
    }
    recorder.finish().iter().for_each(|left| collector.absorb(0, left));
    let (_, _, totals) = collector.finish(0, CELL);
    let end = PhaseEnd {
        phase: index,
        ending: Ending::Completed,
        measured: Nanos(CELL),
        outstanding: Outstanding::default(),
        cache: Cache::default(),
        errors: Vec::new(),
        stuck: Vec::new(),
        rate: None,
        verified: None,
    };
    PhaseResult { info: PhaseInfo { index, task, started: Nanos(0) }, end, totals }
}

/// Runs the tests on a device whose rate in each round is this, and returns the run and what was concluded.
fn simulated(terms: &PtsTerms, mut run: Run, rate: impl Fn(u32) -> u64) -> (Run, Conclusions) {
    let mut pts = Pts::new(terms.clone(), ACCESS);
    loop {
        match pts.next(&run, Nanos(0)) {
            Step::Run(tasks) => {
                let [task] = <[Task; 1]>::try_from(tasks).unwrap();
                let round = task
                    .name()
                    .split_once("round ")
                    .map_or(0, |(_, rest)| rest.split_once(':').unwrap().0.parse().unwrap());
                let index = u32::try_from(run.phases.len()).unwrap();
                run.phases.push(phase(index, task, rate(round).max(1)));
            }
            Step::Done(conclusions) => return (run, conclusions),
            other => panic!("{other:?}"),
        }
    }
}

fn rounds(terms: &PtsTerms, run: &Run) -> iolite_results::PtsRounds {
    PtsProgress::of(run, terms).rounds(terms.sections()[0])
}

#[test]
fn a_fresh_drive_is_measured_until_it_has_slowed_down() {
    let terms = terms(&[PtsTest::Iops]);
    let falling = [0, 1000, 800, 600, 450, 400, 390, 385, 380, 378, 377];
    let (run, conclusions) =
        simulated(&terms, nothing_yet(), |round| falling[(round as usize).min(falling.len() - 1)]);
    // The round calculated by hand in iolite_results::pts.
    let found = rounds(&terms, &run);
    assert_eq!((found.values.len(), found.window.unwrap().last), (9, 9));
    assert!(found.window.unwrap().steady && conclusions.warnings.is_empty());
    let names: Vec<&str> = run.phases.iter().map(|phase| phase.info.task.name()).collect();
    assert_eq!(names[..3], ["iops: purge", "iops: precondition", "iops, round 1: 100 % reads of 64 KiB"]);
    assert_eq!(names.len(), 2 + 9 * 7 * 2);
}

#[test]
fn a_drive_that_never_settles_ends_with_the_last_round_and_a_warning() {
    let terms = terms(&[PtsTest::Iops]);
    let (run, conclusions) =
        simulated(&terms, nothing_yet(), |round| (1000.0 * 0.93f64.powi(round as i32)) as u64);
    let found = rounds(&terms, &run);
    assert_eq!((found.values.len(), found.window.unwrap().steady), (25, false));
    assert!(conclusions.warnings[0].to_string().contains("steady state of iops"), "{conclusions:?}");
}

#[test]
fn saw_teeth_are_measured_until_they_are_small() {
    let terms = terms(&[PtsTest::Iops]);
    let teeth = [0, 520, 400, 520, 400, 520, 430, 480, 430, 480, 480];
    let (run, _) = simulated(&terms, nothing_yet(), |round| teeth[(round as usize).min(10)]);
    assert_eq!(rounds(&terms, &run).window.unwrap().last, 9);
}

#[test]
fn a_run_that_was_cut_short_goes_on_at_the_cell_where_it_was() {
    let terms = terms(&[PtsTest::Iops, PtsTest::WriteSaturation]);
    let (whole, _) = simulated(&terms, nothing_yet(), |_| 100);
    for cut in [0, 1, 2, 40, whole.phases.len() - 1] {
        let mut run = nothing_yet();
        run.phases = whole.phases[..cut].to_vec();
        let (resumed, _) = simulated(&terms, run, |_| 100);
        let names =
            |run: &Run| run.phases.iter().map(|phase| phase.info.task.name().to_owned()).collect::<Vec<_>>();
        assert_eq!(names(&resumed), names(&whole), "{cut}");
    }
}

#[test]
fn the_plan_takes_the_time_of_purging_and_preconditioning_too() {
    let terms = PtsTerms { span: Bytes(100 << 30), ..terms(&[PtsTest::Iops, PtsTest::WriteSaturation]) };
    let plan = Pts::writes(&terms);
    // 200 GiB before the IOPS test and 400 GiB of saturation; both tests begin with a purge.
    assert_eq!(plan.bytes, Bytes(600 << 30));
    let preconditioned = 200.0 * 1024.0 / 500.0;
    let purged = 2.0 * 100.0 / 2.0;
    let rounds = terms.longest().as_secs_f64();
    assert!((plan.duration.as_secs_f64() - rounds - preconditioned - purged).abs() < 1e-6, "{plan:?}");
}

#[test]
fn writes_go_on_until_the_span_is_written_four_times_and_no_longer() {
    let terms = terms(&[PtsTest::WriteSaturation]);
    // 4 times 64 MiB in blocks of 4 KiB are 65,536 writes: 4 rounds of 20,000.
    let (run, _) = simulated(&terms, nothing_yet(), |_| 20_000);
    assert_eq!(rounds(&terms, &run).values.len(), 4);
    let short = PtsTerms { saturation: Nanos(2 * CELL), ..terms };
    let (run, _) = simulated(&short, nothing_yet(), |_| 10);
    assert_eq!(rounds(&short, &run).values.len(), 2);
}

#[test]
fn each_block_size_of_the_throughput_test_is_purged_and_has_rounds_of_its_own() {
    let terms = terms(&[PtsTest::Throughput]);
    let (run, _) = simulated(&terms, nothing_yet(), |_| 100);
    let names: Vec<&str> = run.phases.iter().map(|phase| phase.info.task.name()).collect();
    // Two block sizes, each with a purge and five rounds of reads and writes; no preconditioning.
    assert_eq!(names.len(), 2 * (1 + 5 * 2));
    assert_eq!(names[0], "throughput of 64 KiB: purge");
    assert_eq!(names[12], "throughput of 4 KiB, round 1: 100 % reads of 4 KiB");
}
