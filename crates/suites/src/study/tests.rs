//! Studies on devices in numbers.

use iolite_model::{
    BackendKind, Bytes, Cache, CachePoint, CacheWay, DeviceCounters, Ending, FileTask, Mix, Nanos, OpKind,
    Order, Outstanding, Overwrite, PhaseEnd, PhaseInfo, ReadAheadPoint, StudyFinding, StudyWindow, Target,
    Task,
};
use iolite_stats::{Collector, Completion, PhaseResult, Timetable, recorder};

use super::*;

fn file(direct: bool) -> Subject {
    let existing = Some("/data/file".into());
    Subject { existing, span: Bytes(64 << 20), overwrite: Overwrite::Never, direct }
}

/// What a device made of a step: operations a second, and what it counted for each byte asked for and each operation.
struct DeviceResponse {
    rate: f64,
    bytes: f64,
    requests: f64,
    seconds: f64,
}

/// A window of a device that does `made` with a step.
fn window<C: Copy>(
    index: u32,
    step: &StudyStep<C>,
    circumstance: C,
    made: &DeviceResponse,
) -> (StudyWindow<C>, PhaseResult) {
    let measured = (made.seconds * 1e9) as u64;
    let timetable = Timetable { ramp_end: 0, interval: measured / 10, end: measured };
    let (mut recorder, feed) = recorder(timetable, &[OpKind::Read]);
    let mut collector = Collector::new(index, vec![feed]);
    let block = step.task.block.0;
    let count = (made.rate * made.seconds) as u64;
    for i in 0..count {
        let completed = measured * i / count;
        let intended = completed.saturating_sub(1000);
        recorder.record(Completion {
            kind: OpKind::Read,
            intended,
            issued: intended,
            completed,
            bytes: block,
        });
        collector.collect(completed);
    }
    recorder.finish().iter().for_each(|left| collector.absorb(0, left));
    let (_, _, totals) = collector.finish(0, measured);
    let asked = count * block;
    let device = DeviceCounters {
        reads: (count as f64 * made.requests) as u64,
        read: Bytes((asked as f64 * made.bytes) as u64),
        ..DeviceCounters::default()
    };
    let end = PhaseEnd {
        phase: index,
        ending: Ending::Completed,
        measured: Nanos(measured),
        outstanding: Outstanding::default(),
        cache: Cache { requested_read: Bytes(asked), ..Cache::default() },
        errors: Vec::new(),
        stuck: Vec::new(),
        rate: None,
        verified: None,
    };
    let info = PhaseInfo { index, task: Task::File(step.task.clone()), started: Nanos(0) };
    let result = PhaseResult { info, end, totals };
    let window = StudyWindow {
        circumstance,
        phase: index,
        device: Some(device),
        resident_before: None,
        resident_after: None,
    };
    (window, result)
}

/// The steps with a circumstance, run on a device.
fn run<C: Copy>(
    steps: &[StudyStep<C>],
    made: impl Fn(&C) -> DeviceResponse,
) -> (Vec<StudyWindow<C>>, Vec<PhaseResult>) {
    let measured = steps.iter().filter_map(|step| Some((step, step.circumstance?)));
    measured
        .enumerate()
        .map(|(index, (step, point))| window(index as u32, step, point, &made(&point)))
        .unzip()
}

fn cache() -> CacheStudy {
    let device = Some(Subject::device("/dev/sdx".into(), Bytes(64 << 20)));
    CacheStudy { subject: file(true), device, block: Bytes(8192), window: Nanos::SECOND }
}

#[test]
fn the_same_reads_go_every_way() {
    let steps = cache().steps(5);
    let mut ways: Vec<_> =
        steps.iter().filter_map(|step| Some((step.circumstance?.way, step.before))).collect();
    assert!(!ways.is_sorted_by_key(|(way, _)| *way), "the order is random");
    ways.sort_by_key(|(way, _)| *way);
    let each = [
        (CacheWay::Cold, Before::Drop),
        (CacheWay::Warm, Before::Keep),
        (CacheWay::Direct, Before::Drop),
        (CacheWay::Raw, Before::Drop),
    ];
    assert_eq!(ways, each.iter().flat_map(|way| [*way, *way]).collect::<Vec<_>>());
    let is_random =
        |step: &&StudyStep<CachePoint>| step.circumstance.is_some_and(|point| point.order == Order::Random);
    let mut random: Vec<_> = steps.iter().filter(is_random).collect();
    random.sort_by_key(|step| step.circumstance.map(|point| point.way));
    for step in &random {
        let alike =
            |task: &FileTask| (task.access.clone(), task.block, task.seed, task.concurrency, task.mix);
        assert_eq!(alike(&step.task), alike(&random[0].task), "{}", step.task.name);
        assert_eq!(step.task.mix, Mix::Read);
    }
    assert_eq!(random[0].task.stop.loops, Some(1), "what was read once is cached");
    assert_eq!(random.iter().map(|step| step.task.direct).collect::<Vec<_>>(), [false, false, true, true]);
    // Filled right before each warm window.
    let fills = |step: &StudyStep<CachePoint>| step.task.name == "fill the page cache";
    let is_warm =
        |step: &StudyStep<CachePoint>| step.circumstance.is_some_and(|point| point.way == CacheWay::Warm);
    assert_eq!(steps.windows(2).filter(|pair| fills(&pair[0]) && is_warm(&pair[1])).count(), 2);
    assert_eq!(steps.iter().filter(|step| fills(step)).count(), 2);
}

#[test]
fn a_file_of_its_own_is_laid_out_first() {
    let study = CacheStudy { subject: Subject { existing: None, ..file(true) }, device: None, ..cache() };
    let steps = study.steps(5);
    assert_eq!(
        (steps[0].task.name.as_str(), steps[0].task.mix, steps[0].circumstance),
        ("lay out", Mix::Write, None)
    );
    assert!(matches!(&steps[0].task.target, Target::File(file) if file.create));
    let rest = || steps[1..].iter().map(|step| &step.task);
    assert!(
        rest()
            .all(|task| matches!(&task.target, Target::File(file) if !file.create) && task.mix == Mix::Read)
    );
    let without = CacheStudy { subject: file(false), device: None, ..cache() };
    assert!(without.steps(5).iter().all(|step| !step.task.direct));
}

#[test]
fn what_exists_is_only_read() {
    let studies = [cache().steps(5).into_iter().map(|step| step.task).collect::<Vec<_>>()];
    let ahead = read_ahead().steps(5).into_iter().map(|step| step.task);
    for task in studies.into_iter().flatten().chain(ahead) {
        assert_eq!(task.mix, Mix::Read, "{}", task.name);
        assert!(matches!(&task.target, Target::Existing(existing) if existing.overwrite == Overwrite::Never));
    }
}

#[test]
fn the_page_cache_is_distinguished_from_the_device() {
    let study = cache();
    let (mut windows, history) = run(&study.steps(5), |point| {
        let (rate, bytes, requests) = match (point.way, point.order) {
            (CacheWay::Warm, _) => (4000.0, 0.0, 0.0),
            (CacheWay::Cold, Order::Sequential) => (1000.0, 1.0, 1.0 / 16.0),
            (CacheWay::Cold, Order::Random) => (90.0, 2.0, 1.0),
            (CacheWay::Direct, _) => (100.0, 1.0, 1.0),
            (CacheWay::Raw, _) => (125.0, 1.0, 1.0),
        };
        DeviceResponse { rate, bytes, requests, seconds: 1.0 }
    });
    let findings = study.findings(&windows, &history);
    let has = |part: &str| findings.iter().any(|finding| finding.to_string().contains(part));
    assert!(has("40.0 times as fast as direct reads (100 IOPS)"), "{findings:#?}");
    assert!(has("the file system takes 20 %"), "{findings:#?}");
    assert!(
        has("1000 sequential reads of 8 KiB through the cold page cache became 62 requests of 129 KiB"),
        "{findings:#?}"
    );
    assert!(has("random reads caused 2.0 times the requested bytes"), "{findings:#?}");
    assert!(!findings.iter().any(|finding| matches!(finding, StudyFinding::CachedBeneath { .. })));
    assert!(
        !findings
            .iter()
            .any(|finding| matches!(finding, StudyFinding::NotCold { .. } | StudyFinding::NotWarm { .. }))
    );

    let of = |way| windows.iter().position(|window| window.circumstance.way == way).unwrap();
    let (cold, warm, direct) = (of(CacheWay::Cold), of(CacheWay::Warm), of(CacheWay::Direct));
    windows[cold].resident_before = Some(0.3);
    windows[warm].resident_before = Some(0.5);
    windows[direct].device = Some(DeviceCounters::default());
    let findings = study.findings(&windows, &history);
    assert!(findings.contains(&StudyFinding::NotCold { resident: 0.3 }), "{findings:#?}");
    assert!(findings.contains(&StudyFinding::NotWarm { resident: 0.5 }));
    assert!(
        findings
            .iter()
            .any(|finding| matches!(finding, StudyFinding::CachedBeneath { device: Bytes(0), .. }))
    );
}

#[test]
fn a_cache_that_is_no_faster_is_reported_as_such_and_so_are_short_windows() {
    let study = CacheStudy { device: None, ..cache() };
    let made = |_: &CachePoint| DeviceResponse { rate: 1000.0, bytes: 1.0, requests: 1.0, seconds: 0.2 };
    let (windows, history) = run(&study.steps(5), made);
    let findings = study.findings(&windows, &history);
    let alike = |finding: &&StudyFinding| matches!(finding, StudyFinding::CacheIsAlike { .. });
    assert_eq!(findings.iter().filter(alike).count(), 2);
    assert!(findings.contains(&StudyFinding::Short { shortest: Nanos(200_000_000) }), "{findings:#?}");
    assert_eq!(study.findings(&[], &[]), []);
}

fn read_ahead() -> ReadAheadStudy {
    let settings = [0, 64, 128, 1024].map(|kib| Bytes(kib << 10)).to_vec();
    let present = Bytes(128 << 10);
    ReadAheadStudy { subject: file(true), settings, present, block: Bytes(8192), window: Nanos::SECOND }
}

#[test]
fn read_ahead_is_worth_what_it_brings() {
    let study = read_ahead();
    assert_eq!(study.steps(5).len(), 8);
    let order = |seed| study.steps(seed).iter().map(|step| step.circumstance).collect::<Vec<_>>();
    let settings: Vec<_> = order(5).into_iter().flatten().map(|point| point.read_ahead).collect();
    assert!(!settings.is_sorted() && !settings.iter().rev().is_sorted(), "the order is random: {settings:?}");
    assert!(order(5) == order(5) && order(5) != order(6), "it follows from the seed");
    let (windows, history) = run(&study.steps(5), |point: &ReadAheadPoint| {
        let kib = point.read_ahead.0 >> 10;
        let (rate, bytes) = match point.order {
            Order::Sequential => ((kib as f64 + 64.0).min(500.0), 1.0),
            Order::Random => (if kib > 500 { 50.0 } else { 100.0 }, if kib > 500 { 4.0 } else { 1.0 }),
        };
        DeviceResponse { rate, bytes, requests: 1.0, seconds: 1.0 }
    });
    let findings = study.findings(&windows, &history);
    let [best, hurts, amplified] = findings.as_slice() else { panic!("{findings:#?}") };
    assert!(
        matches!(best, StudyFinding::BestReadAhead { best: Bytes(1_048_576), present: Bytes(131_072), .. }),
        "{best:?}"
    );
    assert!(best.to_string().contains("a larger one would serve scans"), "{best}");
    assert!(
        matches!(hurts, StudyFinding::ReadAheadHurts { read_ahead: Bytes(1_048_576), min: Bytes(0), .. }),
        "{hurts:?}"
    );
    assert!(
        matches!(amplified, StudyFinding::Amplified { read_ahead: Some(Bytes(1_048_576)), .. }),
        "{amplified:?}"
    );
}

#[test]
fn the_setting_that_scans_want_is_named_and_the_present_one_is_tried() {
    // 256 KiB is best, and much more is worse. The present setting is in no list.
    let settings = [64, 256, 4096].map(|kib| Bytes(kib << 10)).to_vec();
    let study = |present: u64| ReadAheadStudy {
        settings: settings.clone(),
        present: Bytes(present << 10),
        ..read_ahead()
    };
    let found = |study: &ReadAheadStudy| {
        let (windows, history) = run(&study.steps(7), |point: &ReadAheadPoint| {
            let rate = match point.read_ahead.0 >> 10 {
                64 => 900.0,
                128 => 1400.0,
                256 | 512 => 1835.0,
                _ => 1150.0,
            };
            DeviceResponse { rate, bytes: 1.0, requests: 1.0, seconds: 1.0 }
        });
        let text = study.findings(&windows, &history).iter().map(ToString::to_string).collect::<Vec<_>>();
        text.join("\n")
    };
    assert_eq!(study(128).steps(7).len(), 8, "the present setting too");
    let text = found(&study(128));
    assert!(
        text.contains("with a read-ahead of 256 KiB") && text.contains("a larger one would serve"),
        "{text}"
    );
    assert!(text.contains("a larger read-ahead is slower: sequential reads reach"), "{text}");
    assert!(found(&study(4096)).contains("a smaller one would serve scans"), "{}", found(&study(4096)));
    assert!(found(&study(512)).contains(": leave it as it is"), "{}", found(&study(512)));
}

#[test]
fn a_rate_that_varies_by_chance_is_not_read_aheads_fault() {
    let study = read_ahead();
    let (windows, history) = run(&study.steps(5), |point: &ReadAheadPoint| {
        let rate = if point.read_ahead.0 == 0 && point.order == Order::Random { 200.0 } else { 100.0 };
        DeviceResponse { rate, bytes: 1.0, requests: 1.0, seconds: 1.0 }
    });
    let findings = study.findings(&windows, &history);
    assert!(matches!(findings[0], StudyFinding::ReadAheadIdle { .. }), "{findings:#?}");
    assert_eq!(findings[1..], [StudyFinding::ReadAheadHarmless]);
}

#[test]
fn a_surface_has_every_size_with_every_mix() {
    let study = BlockSizeStudy {
        subject: file(true),
        blocks: vec![Bytes(512), Bytes(4096), Bytes(65_536)],
        read_percents: vec![100, 70, 0],
        order: Order::Random,
        backend: BackendKind::Sync,
        depth: 4,
        window: Nanos::SECOND,
    };
    let steps = study.steps(5);
    let of = |mix| steps.iter().filter(|step| step.task.mix == mix).count();
    assert_eq!([of(Mix::Read), of(Mix::ReadPercent(70)), of(Mix::Write)], [3, 3, 3]);
    let blocks = |seed| study.steps(seed).iter().map(|step| step.task.block).collect::<Vec<_>>();
    assert_ne!(blocks(1), blocks(2), "the order is random");
    assert!(
        steps.iter().all(|step| (step.task.workers, step.task.concurrency) == (4, 4) && step.task.direct)
    );
    // 100 operations a second up to 4 KiB, and 800 KiB a second at most; writes of less than 4 KiB are slow.
    let (windows, history) = run(&steps, |point| {
        let slow = if point.block.0 < 4096 && point.read_percent == 0 { 0.5 } else { 1.0 };
        let rate = (100.0f64).min(800.0 * 1024.0 / point.block.0 as f64) * slow;
        DeviceResponse { rate, bytes: 1.0, requests: 1.0, seconds: 1.0 }
    });
    let findings = study.findings(&windows, &history);
    let reported: Vec<_> = findings.iter().map(ToString::to_string).collect();
    assert_eq!(reported[0], "reads: at most 100 IOPS; blocks up to 4 KiB cost hardly more than smaller ones");
    assert!(
        reported[1].starts_with("reads: at most 768 KiB/s; within 10 % of that from blocks of 64 KiB on"),
        "{reported:#?}"
    );
    assert!(
        reported.iter().any(|text| text.starts_with("writes: blocks of 512 B are slower")),
        "{reported:#?}"
    );
}

fn no_phase_yet() -> iolite_results::Run {
    iolite_results::Run::new(iolite_model::RunInfo::default())
}

#[test]
fn every_step_is_prepared_run_and_recorded_and_a_study_that_is_cut_short_has_its_findings() {
    use crate::procedure::{CutShort, Procedure, Step};
    let steps = cache().steps(5);
    let mut procedure = StudyProcedure::new(cache(), 5);
    let mut run = no_phase_yet();
    let mut seen = Vec::new();
    let concluded = loop {
        match procedure.next(&run, Nanos(0)) {
            Step::Prepare(StudyPreparation::Begin(step)) => seen.push(format!("begin {}", step.task.name)),
            Step::Prepare(StudyPreparation::End) => seen.push("end".into()),
            Step::Run(tasks) => seen.push(format!("run {}", tasks[0].name())),
            Step::Done(conclusions) => break conclusions,
            Step::Failed(reason) => panic!("{reason}"),
        }
    };
    let expected: Vec<String> = steps
        .iter()
        .flat_map(|step| {
            [format!("begin {}", step.task.name), format!("run {}", step.task.name), "end".into()]
        })
        .collect();
    assert_eq!(seen, expected);
    assert_eq!(concluded.concluded, [], "nothing was measured");
    // What the windows until then show is concluded however it ends.
    let window = StudyWindow {
        circumstance: CachePoint { way: CacheWay::Cold, order: Order::Random },
        phase: 0,
        device: None,
        resident_before: Some(0.5),
        resident_after: None,
    };
    run.conclusions.push(iolite_model::Concluded::of_phase(0, &window));
    for why in [CutShort::Interrupted, CutShort::Failed("the disk is full".into())] {
        let found = procedure.cut_short(&run, why).concluded;
        let findings: Vec<StudyFinding> = found.iter().filter_map(iolite_model::Concluded::read).collect();
        assert_eq!(findings, [StudyFinding::NotCold { resident: 0.5 }]);
    }
}
