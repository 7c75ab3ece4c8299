//! The procedure on simulated devices of three characters.

use iolite_model::{
    Access, BackendKind, Bytes, Cache, Ending, FileTask, Mix, OpKind, Outstanding, PhaseEnd, PhaseInfo,
    PtsDevice, PtsPoint, RunInfo, Target,
};
use iolite_stats::{Collector, Completion, PhaseResult, Timetable, recorder};

use super::*;

mod no_operation;
mod plan;

const ACCESS: PtsAccess =
    PtsAccess { backend: BackendKind::Threads, direct: true, purged: Bytes((96 << 20) + 512) };

/// A round's cell takes a second.
const CELL: u64 = 1_000_000_000;

fn terms(tests: &[PtsTest]) -> PtsTerms {
    PtsTerms {
        target: "/dev/simulated".into(),
        class: None,
        span: Bytes(64 << 20),
        capacity: Bytes(64 << 20),
        tests: tests.to_vec(),
        scale: 1.0,
        cell: Nanos(CELL),
        max_rounds: 25,
        window: 5,
        blocks: vec![Bytes(1 << 20), Bytes(65_536), Bytes(8192), Bytes(4096)],
        threads: 1,
        depth: 1,
        demand: vec![4, 2, 1],
        zones: 3,
        purge: Some(PtsPurge::Discard),
        write_cache: None,
        saturation: Nanos(1000 * CELL),
        logical_block: Bytes(4096),
        physical_block: Bytes(4096),
        device: PtsDevice::default(),
    }
}

fn nothing_yet() -> Run {
    Run::new(RunInfo::default())
}

/// A phase that came to its end with so many operations in its second, each of which took so many nanoseconds.
fn phase(index: u32, task: Task, operations: u64, response: u64) -> PhaseResult {
    let times: Vec<u64> = (0..operations).map(|number| CELL * number / operations).collect();
    completed_at(index, task, &times, response)
}

/// A phase with operations at these times, in nanoseconds since its start.
fn completed_at(index: u32, task: Task, times: &[u64], response: u64) -> PhaseResult {
    let file = file(&task);
    let kind = if file.mix == Mix::Read { OpKind::Read } else { OpKind::Write };
    let timetable = Timetable { ramp_end: 0, interval: CELL / 10, end: CELL };
    let (mut recorder, feed) = recorder(timetable, &[kind]);
    let mut collector = Collector::new(index, vec![feed]);
    for &completed in times {
        let intended = completed.saturating_sub(response);
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

fn file(task: &Task) -> &FileTask {
    let Task::File(file) = task else { panic!("the specification has block I/O only") };
    file
}

/// The round of a task, or its zone; 0 of what is in none.
fn round(task: &Task) -> u32 {
    let rest = ["round ", "zone "].iter().find_map(|part| Some(task.name().split_once(part)?.1));
    rest.and_then(|rest| rest.split_once(':')).map_or(0, |(number, _)| number.parse().unwrap())
}

/// Runs the tests on a device whose rate in each round is this, and returns the run and what was concluded.
fn simulated(terms: &PtsTerms, run: Run, rate: impl Fn(u32) -> u64) -> (Run, Conclusions) {
    on_device(terms, run, |task| (rate(round(task)).max(1), 1000))
}

/// Runs the tests on a device that does a task at this rate, each operation in so many nanoseconds.
fn on_device(terms: &PtsTerms, mut run: Run, device: impl Fn(&Task) -> (u64, u64)) -> (Run, Conclusions) {
    let mut pts = Pts::new(terms.clone(), ACCESS);
    loop {
        match pts.next(&run, Nanos(0)) {
            Step::Run(tasks) => {
                let [task] = <[Task; 1]>::try_from(tasks).unwrap();
                let index = u32::try_from(run.phases.len()).unwrap();
                let (rate, response) = device(&task);
                run.phases.push(phase(index, task, rate, response));
            }
            Step::Done(conclusions) => return (run, conclusions),
            other => panic!("{other:?}"),
        }
    }
}

fn names(run: &Run) -> Vec<&str> {
    run.phases.iter().map(|phase| phase.info.task.name()).collect()
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
    let names = names(&run);
    assert_eq!(names[..3], ["iops: purge", "iops: precondition", "iops, round 1: 100 % reads of 1 MiB"]);
    assert_eq!(names.len(), 2 + 9 * 7 * 4);
}

#[test]
fn a_drive_that_never_settles_ends_with_the_last_round_and_a_warning() {
    let terms = terms(&[PtsTest::Iops]);
    let (run, conclusions) =
        simulated(&terms, nothing_yet(), |round| (1000.0 * 0.93f64.powi(round as i32)) as u64);
    let found = rounds(&terms, &run);
    assert_eq!((found.values.len(), found.window.unwrap().steady), (25, false));
    assert!(
        conclusions.warnings[0]
            .to_string()
            .contains("further rounds of iops: 25 rounds did not reach steady state"),
        "{conclusions:?}"
    );
}

#[test]
fn a_test_that_was_cut_short_before_the_window_is_full_is_not_steady() {
    let terms = terms(&[PtsTest::Iops]);
    let (whole, _) = simulated(&terms, nothing_yet(), |_| 100);
    let mut run = nothing_yet();
    // Purge, preconditioning, four rounds and all cells of the fifth but one.
    run.phases = whole.phases[..2 + 5 * 7 * 4 - 1].to_vec();
    let progress = PtsProgress::of(&run, &terms);
    let section = terms.sections()[0];
    let found = progress.rounds(section);
    assert_eq!((found.values, found.window), (vec![Some(100.0); 4], None));
    assert!(!progress.is_steady(section) && progress.unsteady() == [section]);
    assert!(PtsProgress::of(&whole, &terms).is_steady(section), "with the last cell it is");
}

#[test]
fn the_preconditioning_writes_twice_the_device_in_order_by_128_kib() {
    let (run, _) = simulated(&terms(&[PtsTest::Iops]), nothing_yet(), |_| 100);
    let task = file(&run.phases[1].info.task);
    assert_eq!((&task.mix, &task.access, task.block), (&Mix::Write, &Access::Sequential, Bytes(128 << 10)));
    assert_eq!(task.stop.bytes, Some(Bytes(2 * (64 << 20))));
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
        assert_eq!(names(&resumed), names(&whole), "{cut}");
    }
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
    let names = names(&run);
    // Four block sizes, each with a purge and five rounds of reads and writes; no preconditioning.
    assert_eq!(names.len(), 4 * (1 + 5 * 2));
    assert_eq!(names[11], "throughput of 64 KiB: purge");
    assert_eq!(names[23], "throughput of 8 KiB, round 1: 100 % reads of 8 KiB");
}

#[test]
fn recovery_is_compared_with_what_was_steady_before() {
    let test = PtsTest::HostIdleRecovery;
    // 3.6 s of bursts of 100 ms, and as long without waits in cells of 1.2 s.
    const BURST: u64 = CELL / 10;
    let terms = PtsTerms { scale: 0.002, cell: Nanos(6 * CELL / 5), ..terms(&[test]) };
    // 100 a second without pauses; faster by one for each length of a burst that it waits, and afterwards at the old rate again.
    let device = |task: &Task| (100 + file(task).start.delay.0 / BURST, 1000);
    let (run, _) = on_device(&terms, nothing_yet(), device);
    let progress = PtsProgress::of(&run, &terms);
    let section = terms.sections()[0];
    let baseline = progress.rounds(section).window.unwrap();
    assert_eq!((baseline.mean(), baseline.last), (Some(100.0), 5));
    for (seconds, lengths) in [(5, 1), (10, 2), (15, 3), (25, 5), (50, 10)] {
        let bursts = progress.stage(section, PtsStage::Bursts(seconds)).unwrap();
        assert_eq!((bursts.steps, bursts.mean), (36, Some(f64::from(100 + lengths))));
        let continuous = progress.stage(section, PtsStage::Continuous(seconds)).unwrap();
        assert_eq!((continuous.steps, continuous.mean), (3, Some(100.0)));
    }
    // A purge, the rounds, the bursts, what follows them.
    assert_eq!(run.phases.len(), 1 + 5 + 5 * (36 + 3));
    // A round is half an hour, here 3.6 s.
    assert_eq!(file(&run.phases[1].info.task).stop.runtime, Some(Nanos(36 * BURST)));
    let burst = file(&run.phases[6].info.task);
    assert_eq!(
        (burst.block, burst.stop.runtime, burst.start.delay),
        (Bytes(4096), Some(Nanos(BURST)), Nanos(BURST))
    );
    assert_eq!(names(&run)[6], "host-idle-recovery, bursts after waits of 5 s, 1");
}

#[test]
fn of_half_hours_of_writes_a_minute_counts_the_last_of_host_idle_recovery_the_first_of_preconditioning() {
    // A minute of half a second in phases of a second, with 30 writes in the first and 70 in the second.
    let times: Vec<u64> = (0..30)
        .map(|number| CELL / 2 * number / 30)
        .chain((0..70).map(|number| CELL / 2 + CELL / 2 * number / 70))
        .collect();
    let uneven = |test: PtsTest| {
        let terms = PtsTerms { scale: 0.002, cell: Nanos(CELL / 2), ..terms(&[test]) };
        let (mut run, _) = simulated(&terms, nothing_yet(), |_| 100);
        for (index, phase) in (0..).zip(&mut run.phases) {
            *phase = completed_at(index, phase.info.task.clone(), &times, 1000);
        }
        let section = terms.sections()[0];
        let progress = PtsProgress::of(&run, &terms);
        (progress.rounds(section).values, progress.pre_writes(section).values)
    };
    assert_eq!(uneven(PtsTest::HostIdleRecovery), (vec![Some(140.0); 5], vec![]));
    assert_eq!(uneven(PtsTest::Composite), (vec![Some(100.0); 5], vec![Some(60.0); 5]));
}

#[test]
fn a_test_that_reads_is_preconditioned_by_writes_until_they_are_steady() {
    let terms = terms(&[PtsTest::Composite]);
    let written = |task: &Task| {
        let number = task.name().rsplit_once("same writes, ")?.1;
        number.parse::<i32>().ok()
    };
    // Writes that slow down as the fresh drive of the criteria does; afterwards it is steady.
    let falling = [1000, 800, 600, 450, 400, 390, 385, 380, 378, 377];
    let (run, conclusions) = on_device(&terms, nothing_yet(), |task| {
        (written(task).map_or(100, |number| falling[number as usize - 1]), 1000)
    });
    assert_eq!(PtsProgress::of(&run, &terms).pre_writes(terms.sections()[0]).window.unwrap().last, 9);
    assert_eq!((run.phases.len(), conclusions.warnings.len()), (2 + 9 + 5, 0));
    assert_eq!(names(&run)[1], "composite: precondition");
    let first = file(&run.phases[2].info.task);
    assert_eq!((&first.mix, first.stop.runtime), (&Mix::Write, Some(Nanos(1800 * CELL))));
    assert!(matches!(first.access, Access::HotSpots(_)) && first.sizes.is_some(), "{first:?}");
    // Writes that never settle are named, although the rounds are steady.
    let (run, conclusions) = on_device(&terms, nothing_yet(), |task| {
        (written(task).map_or(100, |number| (1000.0 * 0.93f64.powi(number)) as u64), 1000)
    });
    assert_eq!(run.phases.len(), 2 + 25 + 5);
    assert!(!PtsProgress::of(&run, &terms).is_steady(terms.sections()[0]));
    let warning = conclusions.warnings[0].to_string();
    assert!(warning.contains("further preconditioning of composite: 25 rounds did not reach"), "{warning}");
}

#[test]
fn a_stimulus_is_written_before_and_after_another_one() {
    // An hour for each step, so that there are 8, 6 and 8 of them.
    let size = Bytes(1 << 30);
    let test = PtsTest::CrossStimulusRecovery;
    let terms = PtsTerms { cell: Nanos(3600 * CELL), span: size, capacity: size, ..terms(&[test]) };
    // 300 MiB a second before, 20,000 small ones, and 100 MiB a second afterwards.
    let device = |task: &Task| match task.name() {
        name if name.contains("before") => (300, 1000),
        name if name.contains("after") => (100, 1000),
        _ => (20_000, 1000),
    };
    let (run, conclusions) = on_device(&terms, nothing_yet(), device);
    assert!(conclusions.warnings.is_empty(), "it has no steady state: {conclusions:?}");
    let progress = PtsProgress::of(&run, &terms);
    let of = |stage| progress.stage(terms.sections()[0], stage).unwrap();
    let large = |count: u32| Some(f64::from(count << 20));
    let (before, between, after) =
        (of(PtsStage::SequentialBefore), of(PtsStage::RandomBetween), of(PtsStage::SequentialAfter));
    assert_eq!((before.steps, before.mean, before.ends), (8, large(300), (large(300), large(300))));
    assert_eq!((between.steps, between.mean), (6, Some(20_000.0 * 8192.0)));
    assert_eq!((after.steps, after.mean), (8, large(100)));
    // Purge only, no preconditioning; sequential writes go on through the device, and start again where the next 300 MiB do
    // not fit into its 1024.
    let offset = |index: usize| match &file(&run.phases[index].info.task).target {
        Target::Existing(existing) => existing.offset.0 >> 20,
        other => panic!("{other:?}"),
    };
    assert_eq!((1..=5).map(offset).collect::<Vec<_>>(), [0, 300, 600, 0, 300]);
    assert_eq!(
        (run.phases.len(), file(&run.phases[9].info.task).access.clone()),
        (1 + 8 + 6 + 8, Access::Random)
    );
}

#[test]
fn demand_is_varied_until_steady_and_its_points_have_histograms() {
    let test = PtsTest::DemandIntensity;
    let terms = terms(&[test]);
    // Each operation takes a millisecond, up to four at a time; beyond, they wait: 16 in flight take 4 ms.
    let device = |task: &Task| {
        let flight = u64::from(file(task).concurrency);
        (1000 * flight.min(4), 1_000_000 * flight.max(4) / 4)
    };
    let (run, _) = on_device(&terms, nothing_yet(), device);
    let progress = PtsProgress::of(&run, &terms);
    let section = terms.sections()[0];
    assert_eq!(progress.rounds(section).values, [Some(4000.0); 5]);
    let figures = progress.by_demand(section);
    let largest = figures[0].demand;
    assert_eq!((figures.len(), largest.threads, largest.depth, figures[0].figures.mean), (9, 4, 4, 4000.0));
    assert!((figures[0].figures.response / 4e6 - 1.0).abs() < 0.01, "{:?}", figures[0]);
    let point = |point| progress.operating_point(section, point).map(|demand| demand.outstanding());
    // 4000 a second need four in flight; the middle of 1000 and 4000 is 2500: 2 in flight do 2000.
    assert_eq!(
        (point(PtsPoint::Min), point(PtsPoint::Mid), point(PtsPoint::Max)),
        (Some(1), Some(2), Some(4))
    );
    let names = names(&run);
    // A purge, sequential writes, half hours of writes, rounds that begin with writes, and writes before each histogram.
    assert_eq!(names.len(), 2 + 5 + 5 * (1 + 9) + 3 * 2);
    assert_eq!(names[1], "demand-intensity: precondition");
    assert_eq!(
        names[6..9],
        [
            "demand-intensity: precondition by the same writes, 5",
            "demand-intensity, round 1: writes before it",
            "demand-intensity, round 1: 4 threads, queue depth 4"
        ]
    );
    let ends = ["max", "mid", "min"].map(|point| {
        [
            format!("demand-intensity: writes before {point} IOPS"),
            format!("demand-intensity: response times at {point} IOPS"),
        ]
    });
    assert_eq!(names[57..], ends.concat());
    let load = |index: usize| {
        let task = file(&run.phases[index].info.task);
        (task.concurrency, task.mix, task.block.0, task.stop.runtime.unwrap().0 / CELL)
    };
    // Preconditioned with the largest demand, before an operating point with its own.
    assert_eq!((load(2), load(7)), ((16, Mix::Write, 8192, 1800), (16, Mix::Write, 8192, 300)));
    assert_eq!(load(59), (2, Mix::Write, 8192, 3600));
    let histogram = file(&run.phases[60].info.task);
    assert_eq!(
        (histogram.concurrency, histogram.mix, histogram.stop.runtime),
        (2, Mix::ReadPercent(65), Some(Nanos(600 * CELL)))
    );
}

#[test]
fn every_phase_has_offsets_of_its_own() {
    let terms = PtsTerms { scale: 0.0001, ..terms(PtsTest::ALL) };
    let (run, _) = simulated(&terms, nothing_yet(), |_| 100);
    let seeds = |phases: &[PhaseResult]| -> std::collections::BTreeSet<u64> {
        phases.iter().map(|phase| file(&phase.info.task).seed).collect()
    };
    // Among them the mixes and block sizes of a round, the bursts after each wait, and the demands of a round.
    assert_eq!(seeds(&run.phases).len(), run.phases.len());
    // What was killed left no result, and is repeated elsewhere.
    let (next, cut) = (100, 99);
    let killed = file(&run.phases[next - 1].info.task);
    let mut resumed = nothing_yet();
    resumed.phases = run.phases[..cut].to_vec();
    let from = iolite_model::RunId("earlier".into());
    let continued = iolite_model::PtsResumed { run: from, phases: cut as u64, idle: Nanos(CELL) };
    resumed.conclusions.push(Concluded::of(&continued));
    let (resumed, _) = simulated(&terms, resumed, |_| 100);
    let repeated = file(&resumed.phases[cut].info.task);
    assert_eq!(repeated.name, killed.name);
    assert_ne!(repeated.seed, killed.seed);
    assert_eq!(seeds(&resumed.phases).len(), resumed.phases.len());
}

#[test]
fn the_composite_workload_has_many_sizes_and_hot_parts() {
    let terms = terms(&[PtsTest::Composite]);
    let (run, _) = simulated(&terms, nothing_yet(), |_| 100);
    assert_eq!(run.phases.len(), 2 + 5 + 5);
    let task = file(&run.phases[7].info.task);
    let Access::HotSpots(spots) = &task.access else { panic!("{task:?}") };
    // 5 % and 15 % of 64 MiB, in whole blocks of 4 KiB.
    let (five, fifteen) =
        (Bytes((64 << 20) / 100 * 5).round_down(4096), Bytes((64 << 20) / 100 * 15).round_down(4096));
    assert_eq!((spots[0].length, spots[0].io_percent), (five, 50.0));
    assert_eq!((spots[1].offset, spots[1].length, spots[1].io_percent), (five, fifteen, 30.0));
    assert_eq!((task.mix, task.sizes.as_ref().unwrap().alignment), (Mix::ReadPercent(40), Bytes(4096)));
}

#[test]
fn on_blocks_of_16_kib_no_operation_is_smaller_and_every_test_is_measured() {
    let blocks = [1 << 20, 128 << 10, 64 << 10, 32 << 10, 16 << 10].map(Bytes).to_vec();
    let logical_block = Bytes(16 << 10);
    let terms = PtsTerms { scale: 0.0001, blocks, logical_block, ..terms(PtsTest::ALL) };
    let (run, conclusions) = simulated(&terms, nothing_yet(), |_| 100);
    assert!(conclusions.warnings.is_empty(), "{conclusions:?}");
    for phase in &run.phases {
        let task = file(&phase.info.task);
        assert!(task.block.0.is_multiple_of(logical_block.0), "{task:?}");
        let Some(sizes) = &task.sizes else { continue };
        let iolite_model::SizeLaw::Split(parts) = &sizes.writes else { panic!("{sizes:?}") };
        assert!(parts.iter().all(|part| part.size.0.is_multiple_of(logical_block.0)), "{sizes:?}");
        let Access::HotSpots(spots) = &task.access else { panic!("{task:?}") };
        assert!(spots.iter().all(|spot| spot.offset.0.is_multiple_of(logical_block.0)), "{spots:?}");
    }
    let progress = PtsProgress::of(&run, &terms);
    assert!(progress.conforms());
    for section in terms.sections() {
        let is_measured =
            !progress.rounds(section).values.is_empty() || section.test == PtsTest::CrossStimulusRecovery;
        assert!(is_measured, "{section:?}");
    }
    let names = names(&run);
    for name in [
        "latency, round 1: 100 % reads of 16 KiB",
        "throughput of 16 KiB, round 1: 0 % reads of 16 KiB",
        "write-saturation, round 1: 0 % reads of 16 KiB",
        "host-idle-recovery, round 1: 0 % reads of 16 KiB",
    ] {
        assert!(names.contains(&name), "{name}: {names:?}");
    }
}

#[test]
fn zones_are_measured_once_each_without_purge_and_steady_state() {
    let terms = terms(&[PtsTest::ZoneIops, PtsTest::ZoneThroughput]);
    let (run, conclusions) = simulated(&terms, nothing_yet(), |zone| u64::from(4 - zone) * 50);
    assert!(conclusions.warnings.is_empty(), "{conclusions:?}");
    let progress = PtsProgress::of(&run, &terms);
    let sections = terms.sections();
    assert_eq!(progress.rounds(sections[0]).values, [150.0, 100.0, 50.0].map(Some));
    let large = f64::from(1 << 20);
    assert_eq!(progress.rounds(sections[1]).values, [150.0 * large, 100.0 * large, 50.0 * large].map(Some));
    // Two of the three block sizes of the target, and three mixes; two sizes and two mixes.
    assert_eq!(run.phases.len(), 3 * (3 * 2) + 3 * (2 * 2));
    let Target::Existing(last) = &file(&run.phases.last().unwrap().info.task).target else { panic!() };
    assert_eq!((last.offset, last.size), (Bytes(42 << 20), Bytes(21 << 20)));
}

#[test]
fn throughput_is_that_of_one_thread_with_the_whole_queue() {
    let terms = |tests| PtsTerms { threads: 2, depth: 16, ..terms(tests) };
    let (run, _) = simulated(&terms(&[PtsTest::Throughput]), nothing_yet(), |_| 100);
    let cell = file(&run.phases[1].info.task);
    assert_eq!((cell.workers, cell.concurrency, &cell.access), (1, 32, &Access::Sequential));
    let terms = terms(&[PtsTest::ZoneIops, PtsTest::ZoneThroughput]);
    let (run, _) = simulated(&terms, nothing_yet(), |_| 100);
    let load = |phase: &PhaseResult| (file(&phase.info.task).workers, file(&phase.info.task).concurrency);
    let (first, last) = (run.phases.first().unwrap(), run.phases.last().unwrap());
    assert_eq!((load(first), load(last)), ((2, 32), (1, 32)));
    assert_eq!(file(&last.info.task).access, Access::Sequential);
}

#[test]
fn a_purge_by_a_command_of_the_device_is_asked_for_once() {
    let terms = PtsTerms { purge: Some(PtsPurge::Format), ..terms(&[PtsTest::Composite]) };
    let mut pts = Pts::new(terms.clone(), ACCESS);
    let mut run = nothing_yet();
    let section = terms.sections()[0];
    assert_eq!(pts.next(&run, Nanos(0)), Step::Prepare(PtsPreparation { section, purge: PtsPurge::Format }));
    let (name, took) = (section.name(), Nanos(1));
    let purged = iolite_model::PtsPurged { section: name, purge: PtsPurge::Format, took };
    run.conclusions.push(Concluded::of(&purged));
    let Step::Run(tasks) = pts.next(&run, Nanos(0)) else { panic!("it is purged") };
    assert_eq!(tasks[0].name(), "composite: precondition");
}

#[test]
fn every_test_can_be_cut_short_and_goes_on_where_it_was() {
    let terms = PtsTerms { scale: 0.0001, ..terms(PtsTest::ALL) };
    let (whole, _) = simulated(&terms, nothing_yet(), |_| 100);
    for cut in (0..whole.phases.len()).step_by(97) {
        let mut run = nothing_yet();
        run.phases = whole.phases[..cut].to_vec();
        let (resumed, _) = simulated(&terms, run, |_| 100);
        assert_eq!(names(&resumed), names(&whole), "{cut}");
    }
}

#[test]
fn writes_before_a_measurement_are_repeated_after_a_pause() {
    let terms = terms(&[PtsTest::DemandIntensity]);
    let (whole, _) = simulated(&terms, nothing_yet(), |_| 100);
    let after = |name: &str| names(&whole).iter().position(|found| *found == name).unwrap() + 1;
    let round = "demand-intensity, round 2: writes before it";
    let hour = "demand-intensity: writes before max IOPS";
    // Right after the writes, in the middle of what they are before, and after all of it.
    let cell = "demand-intensity, round 2: 4 threads, queue depth 1";
    let histogram = "demand-intensity: response times at max IOPS";
    let cases = [(round, Some(round)), (cell, Some(round)), (hour, Some(hour)), (histogram, None)];
    for (last, repeated) in cases {
        let cut = after(last);
        let mut run = nothing_yet();
        run.phases = whole.phases[..cut].to_vec();
        let from = iolite_model::RunId("earlier".into());
        let phases = cut as u64;
        let resumed = iolite_model::PtsResumed { run: from, phases, idle: Nanos(3600 * CELL) };
        run.conclusions.push(Concluded::of(&resumed));
        let (resumed, _) = simulated(&terms, run, |_| 100);
        let mut expected = names(&whole);
        repeated.into_iter().for_each(|name| expected.insert(cut, name));
        // Once only.
        assert_eq!(names(&resumed), expected, "{last}");
    }
}

#[test]
fn a_purge_discards_the_device_beyond_the_active_range() {
    let (run, _) = simulated(&terms(&[PtsTest::Composite]), nothing_yet(), |_| 100);
    let purge = file(&run.phases[0].info.task);
    let Target::Existing(target) = &purge.target else { panic!("{purge:?}") };
    // 96 MiB of the device and not the 64 of the active range, in whole MiB.
    assert_eq!((target.offset, target.size, purge.block), (Bytes(0), Bytes(96 << 20), Bytes(16 << 20)));
    let Target::Existing(target) = &file(&run.phases[1].info.task).target else { panic!() };
    assert_eq!(target.size, Bytes(64 << 20));
}

#[test]
fn times_between_runs_are_no_waits_and_make_recovery_another_test() {
    let terms = PtsTerms { scale: 0.002, cell: Nanos(6 * CELL / 5), ..terms(&[PtsTest::HostIdleRecovery]) };
    let (mut run, _) = simulated(&terms, nothing_yet(), |_| 100);
    const WAIT: u64 = 7;
    let mut at = 0;
    for index in 0..run.phases.len() as u32 {
        // An hour before each run that continues the one before; both begin among the 36 bursts after the first wait.
        at += if [20, 35].contains(&index) { 3600 * CELL } else { 0 };
        run.released.insert(index, Nanos(at));
        at += CELL + WAIT;
    }
    run.info.started_unix = run.released[&35];
    let resumed = |run: &mut Run, phases| {
        let from = iolite_model::RunId("earlier".into());
        let resumed = iolite_model::PtsResumed { run: from, phases, idle: Nanos(3600 * CELL) };
        run.conclusions.push(Concluded::of(&resumed));
    };
    let conclusions = |run: &Run| match Pts::new(terms.clone(), ACCESS).next(run, Nanos(0)) {
        Step::Done(conclusions) => conclusions,
        other => panic!("{other:?}"),
    };
    // After the purge nothing is lost.
    resumed(&mut run, 1);
    assert!(conclusions(&run).warnings.is_empty());
    resumed(&mut run, 20);
    resumed(&mut run, 35);
    let progress = PtsProgress::of(&run, &terms);
    let section = terms.sections()[0];
    assert_eq!(progress.stage(section, PtsStage::Bursts(5)).unwrap().idle, Some(Nanos(WAIT)));
    assert_eq!(progress.paused(), [section]);
    let warnings = conclusions(&run).warnings;
    let [warning] = &warnings[..] else { panic!("{warnings:?}") };
    assert!(warning.to_string().contains("host-idle-recovery without a pause"), "{warning}");
}
