//! The search on simulated devices.

use iolite_model::{
    BackendKind, Bytes, Cache, ErrorClass, ErrorTally, FileTarget, KindRates, Mix, OpKind, Outstanding, Pace,
    PhaseEnd, PhaseInfo, RateKept, RingOptions, SyncRule, Task, WriteDurability,
};
use iolite_stats::{Collector, Completion, Timetable, recorder};
use proptest::prelude::*;

use super::operations::needed;
use super::*;

/// Response times are exponential; their mean follows from the load.
#[derive(Debug, Clone, Copy)]
struct Device {
    service: f64,
    servers: f64,
    /// Operations that fail in each window.
    errors: u64,
    /// Operations that never come back, in each window.
    lost: u64,
}

const FLASH: Device = Device { service: 100e-6, servers: 4.0, errors: 0, lost: 0 };

impl Device {
    /// Rate and mean response time in a closed loop.
    fn closed(&self, depth: f64) -> (f64, f64) {
        let mean = self.service * (depth / self.servers).max(1.0);
        (depth / mean, mean)
    }

    /// The same in an open one; `None` where the rate is beyond it.
    fn open(&self, rate: f64) -> Option<(f64, f64)> {
        let used = rate * self.service / self.servers;
        (used < 1.0).then(|| (rate, self.service / (1.0 - used)))
    }

    /// The window that this device would have given. Times are multiplied by `noise`.
    fn run(&self, index: u32, task: &FileTask, noise: f64) -> PhaseResult {
        let window = task.stop.runtime.unwrap();
        let asked = task.asked_rate();
        let max = self.servers / self.service;
        let (rate, mean) = match asked {
            // Little's law: what is slower by the noise comes as much more rarely.
            None => {
                let (rate, mean) = self.closed(f64::from(task.concurrency));
                (rate / noise, mean)
            }
            Some(asked) => self.open(asked.0).unwrap_or((max, window.as_secs_f64() / 2.0)),
        };
        let count = (rate * window.as_secs_f64()) as u64;
        let backlog = asked.map_or(0, |asked| ((asked.0 - rate) * window.as_secs_f64()) as u64);
        let timetable = Timetable { ramp_end: 0, interval: window.0 / 10, end: window.0 };
        let (mut recorder, feed) = recorder(timetable, &[OpKind::Read]);
        let mut collector = Collector::new(index, vec![feed]);
        for i in 0..count {
            let share = ((i as f64 + 0.5) * 0.618_033_988_749_895).fract();
            let response = (-mean * noise * (1.0 - share).ln() * 1e9) as u64;
            // An operation may have been asked for before the window: only its length counts.
            let completed = window.0 * i / count;
            let (intended, completed) = (completed.saturating_sub(response), completed.max(response));
            let completed = completed.min(window.0 - 1);
            let (kind, bytes) = (OpKind::Read, 8192);
            recorder.record(Completion { kind, intended, issued: intended, completed, bytes });
            collector.collect(completed);
        }
        (0..self.errors).for_each(|_| recorder.record_error(OpKind::Read, 0));
        recorder.finish().iter().for_each(|left| collector.absorb(0, left));
        let (_, _, totals) = collector.finish(0, window.0);
        let achieved = Iops(rate);
        let error = ErrorTally {
            kind: OpKind::Read,
            class: ErrorClass::Device,
            count: self.errors,
            first_offsets: vec![0],
            first: "Input/output error".into(),
            number: Some(5),
        };
        PhaseResult {
            info: PhaseInfo { index, task: Task::File(task.clone()), started: Nanos(0) },
            end: PhaseEnd {
                phase: index,
                ending: Ending::Completed,
                measured: window,
                outstanding: Outstanding { lost: self.lost, backlog, ..Outstanding::default() },
                cache: Cache::default(),
                errors: (self.errors > 0).then_some(error).into_iter().collect(),
                stuck: Vec::new(),
                rate: asked.map(|asked| RateKept { asked, achieved, backlog, kept: backlog == 0 }),
                verified: None,
            },
            totals,
        }
    }
}

fn base() -> FileTask {
    FileTask {
        name: "random read 8 KiB".into(),
        backend: BackendKind::IoUring(RingOptions::default()),
        block: Bytes(8192),
        concurrency: 64,
        seed: 5,
        ..FileTask::default()
    }
}

fn target(bound_us: u64, parameter: LoadParameter) -> LatencyTarget {
    LatencyTarget {
        bound: Nanos(bound_us * 1000),
        quantile: Quantile(0.99),
        window: Nanos::SECOND,
        ramp: Nanos(0),
        parameter,
    }
}

const RATE: LoadParameter = LoadParameter::Rate { max: None, precision: LoadParameter::PRECISION };

/// Searches to the end; the noise of a window comes from its number.
fn search_noisily(
    device: Device,
    base: FileTask,
    target: LatencyTarget,
    noise: impl Fn(usize) -> f64,
) -> (Vec<FileTask>, LatencyFound) {
    let search = LatencySearch::new(base, target).unwrap();
    let (mut history, mut tasks) = (Vec::new(), Vec::new());
    loop {
        match search.next(&history) {
            LatencyStep::Run(task) => {
                assert!(tasks.len() < 100, "no end: {tasks:#?}");
                let longest = Nanos(target.window.0 * 10);
                assert!((target.window..=longest).contains(&task.stop.runtime.unwrap()));
                history.push(device.run(history.len() as u32, &task, noise(history.len())));
                tasks.push(*task);
            }
            LatencyStep::Done(found) => {
                assert_eq!(found.tries.len(), tasks.len());
                return (tasks, *found);
            }
        }
    }
}

fn search(device: Device, base: FileTask, target: LatencyTarget) -> (Vec<FileTask>, LatencyFound) {
    search_noisily(device, base, target, |_| 1.0)
}

fn found(found: &LatencyFound) -> (Load, bool) {
    match found.conclusion {
        LatencyConclusion::Found { load, limited, .. } => (load, limited),
        _ => panic!("{found:#?}"),
    }
}

#[test]
fn the_largest_depth_is_found_exactly_and_confirmed() {
    // Mean 100 µs x depth / 4 beyond four; p99 is 4.605 means: 1 ms allows a depth of 8.68.
    let (tasks, outcome) = search(FLASH, base(), target(1000, LoadParameter::Depth { max: 256 }));
    assert_eq!(found(&outcome), (Load::Depth(8), false));
    let depths: Vec<_> = tasks.iter().map(|task| task.concurrency).collect();
    assert_eq!(depths, [1, 2, 4, 8, 16, 16, 12, 12, 10, 10, 9, 9, 8]);
    assert!(tasks.iter().all(|task| task.workers == 1 && task.arrival == Arrival::Closed));
    assert_eq!(tasks.iter().map(|task| task.seed).collect::<Vec<_>>(), (5..18).collect::<Vec<_>>());
    let last = outcome.tries.last().unwrap();
    assert_eq!((last.purpose, last.outcome), (TryPurpose::Confirmation, TryOutcome::Kept));
    let quantile = last.quantile.unwrap().0 as f64;
    assert!((quantile / 921_034.0 - 1.0).abs() < 0.01, "{quantile}");
    assert!((last.rate.0 / 40_000.0 - 1.0).abs() < 0.01 && last.operations >= 39_000, "{last:?}");
}

#[test]
fn a_synchronous_back_end_gets_a_worker_for_each_operation() {
    let task = FileTask { backend: BackendKind::Sync, workers: 64, ..base() };
    let (tasks, outcome) = search(FLASH, task, target(1000, LoadParameter::Depth { max: 4 }));
    assert_eq!(found(&outcome), (Load::Depth(4), true));
    assert_eq!(tasks.iter().map(|task| task.workers).collect::<Vec<_>>(), [1, 2, 4, 4]);
    let many = FileTask { workers: 3, ..base() };
    let (tasks, _) = search(FLASH, many, target(1000, LoadParameter::Depth { max: 4 }));
    assert_eq!(tasks.iter().map(|task| task.workers).collect::<Vec<_>>(), [1, 2, 3, 3]);
}

#[test]
fn the_largest_rate_is_found_within_its_precision() {
    // 100 µs / (1 - used) x 4.605 up to 1 ms: 53.9 % used.
    let max = 0.539_483 * 40_000.0;
    for (arrival, constant) in [(Arrival::Closed, false), (Arrival::Constant(Iops(300.0)), true)] {
        let (tasks, outcome) = search(FLASH, FileTask { arrival, ..base() }, target(1000, RATE));
        let (Load::Rate(rate), false) = found(&outcome) else { panic!("{outcome:#?}") };
        assert!(rate.0 <= max * 1.01 && rate.0 * 1.05 >= max * 0.99, "{rate} of {max}");
        let sounded = outcome.tries[0].purpose == TryPurpose::Sounding;
        assert_eq!(sounded, !constant);
        assert_eq!((tasks[0].arrival == Arrival::Closed, tasks[0].concurrency == 1), (sounded, sounded));
        let (Arrival::Poisson(_) | Arrival::Constant(_)) = tasks[1].arrival else { panic!("{tasks:#?}") };
        assert_eq!(matches!(tasks[1].arrival, Arrival::Constant(_)), constant);
        assert!(tasks[1..].iter().all(|task| task.concurrency == 64));
    }
}

#[test]
fn a_start_that_is_too_fast_comes_down() {
    let task = FileTask { arrival: Arrival::Poisson(Iops(60_000.0)), ..base() };
    let (tasks, outcome) = search(FLASH, task, target(1000, RATE));
    let rates: Vec<_> = tasks[..5].iter().step_by(2).map(|task| task.asked_rate().unwrap().0).collect();
    assert_eq!(rates, [60_000.0, 30_000.0, 15_000.0]);
    assert_eq!(outcome.tries[0].outcome, TryOutcome::Behind);
    assert!(outcome.tries[0].backlog > 0);
    found(&outcome);
}

#[test]
fn the_most_allowed_is_said_to_be_the_limit() {
    let max = Some(Iops(10_000.0));
    let rate = LoadParameter::Rate { max, precision: 0.05 };
    let (_, outcome) = search(FLASH, base(), target(1000, rate));
    assert_eq!(found(&outcome), (Load::Rate(Iops(10_000.0)), true));
    let (_, outcome) = search(FLASH, base(), target(900_000, LoadParameter::Depth { max: 23 }));
    assert_eq!(found(&outcome), (Load::Depth(23), true));
}

#[test]
fn a_bound_that_nothing_keeps_has_no_answer() {
    let (tasks, outcome) = search(FLASH, base(), target(400, LoadParameter::Depth { max: 64 }));
    assert_eq!(outcome.conclusion, LatencyConclusion::NoneKept { lowest: Load::Depth(1) });
    assert_eq!(tasks.len(), 2);
    let (_, outcome) = search(FLASH, base(), target(400, RATE));
    let LatencyConclusion::NoneKept { lowest: Load::Rate(lowest) } = outcome.conclusion else {
        panic!("{outcome:#?}")
    };
    assert!((1000.0..1200.0).contains(&lowest.0), "{lowest}");
}

#[test]
fn errors_and_lost_operations_end_the_search() {
    let broken = Device { errors: 3, ..FLASH };
    for parameter in [RATE, LoadParameter::Depth { max: 64 }] {
        let (tasks, outcome) = search(broken, base(), target(1000, parameter));
        assert_eq!((tasks.len(), outcome.tries.len()), (1, 1));
        let LatencyConclusion::Failed(failure) = outcome.conclusion else { panic!("{outcome:#?}") };
        let text = failure.to_string();
        assert!(text.starts_with("with 1 outstanding, 3 operations failed, the first with: Input"), "{text}");
    }
    let (_, outcome) =
        search(Device { lost: 2, ..FLASH }, base(), target(1000, LoadParameter::Depth { max: 2 }));
    assert!(matches!(outcome.conclusion, LatencyConclusion::Failed(LatencyFailure::Lost { lost: 2, .. })));
}

#[test]
fn windows_of_too_few_operations_grow_and_are_refused_with_a_remedy_where_that_is_too_long() {
    assert_eq!([0.5, 0.9, 0.99, 0.999].map(|q| needed(Quantile(q))), [20, 100, 1000, 10_000]);
    // 400 operations a second, 1000 needed: 2.9 s. p99 is 11.5 ms x depth.
    let slow = Device { service: 2500e-6, servers: 1.0, ..FLASH };
    let (tasks, outcome) = search(slow, base(), target(100_000, LoadParameter::Depth { max: 64 }));
    assert_eq!(found(&outcome), (Load::Depth(8), false));
    let first: Vec<_> =
        outcome.tries[..3].iter().map(|each| (each.load, each.window, each.outcome)).collect();
    let longer = Nanos(2_900_000_000);
    let (short, once_more, next) = (
        (Load::Depth(1), Nanos::SECOND, TryOutcome::TooFew),
        (Load::Depth(1), longer, TryOutcome::Kept),
        (Load::Depth(2), longer, TryOutcome::Kept),
    );
    assert_eq!(first, [short, once_more, next]);
    assert!(tasks[1..].iter().all(|task| task.stop.runtime == Some(longer)));
    // A tenth of that would take more than ten times as long.
    let short =
        LatencyTarget { window: Nanos(200_000_000), ..target(100_000, LoadParameter::Depth { max: 64 }) };
    let (_, outcome) = search(slow, base(), short);
    let LatencyConclusion::Failed(failure) = outcome.conclusion else { panic!("{outcome:#?}") };
    assert_eq!(
        failure.to_string(),
        "with 1 outstanding, p99 would rest on only 80 operations, but at least 1000 are needed: use windows of \
         2.90 s or longer"
    );
    // With the remedy it is enough.
    let longer = LatencyTarget { window: longer, ..target(100_000, LoadParameter::Depth { max: 64 }) };
    let (_, outcome) = search(slow, base(), longer);
    assert_eq!(found(&outcome), (Load::Depth(8), false));
    assert!(outcome.tries.iter().all(|each| each.outcome != TryOutcome::TooFew));
    // What is broken already stays broken however many more there are.
    let (_, outcome) = search(slow, base(), target(5_000, LoadParameter::Depth { max: 64 }));
    assert_eq!(outcome.conclusion, LatencyConclusion::NoneKept { lowest: Load::Depth(1) });
    let max = Some(Iops(500.0));
    let refused =
        LatencySearch::new(base(), target(1000, LoadParameter::Rate { max, precision: 0.05 })).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "in a window of 1.00 s, a rate of at most 500 IOPS gives fewer operations than the 1000 needed for p99: use \
         windows of 2.30 s or longer, or a higher rate"
    );
}

#[test]
fn an_answer_that_is_not_kept_again_goes_down() {
    // The thirteenth window and those after it are slower by a fifth.
    let noise = |window| if window >= 12 { 1.2 } else { 1.0 };
    let depth = LoadParameter::Depth { max: 256 };
    let (tasks, outcome) = search_noisily(FLASH, base(), target(1000, depth), noise);
    assert_eq!(found(&outcome), (Load::Depth(7), false));
    let depths: Vec<_> = tasks[12..].iter().map(|task| task.concurrency).collect();
    assert_eq!(depths, [8, 8, 7, 7]);
    // Slower with every window, once the search has closed in.
    let worse = |window: usize| 1.4f64.powi(window.saturating_sub(11) as i32);
    let (_, outcome) = search_noisily(FLASH, base(), target(1000, depth), worse);
    assert_eq!(outcome.conclusion, LatencyConclusion::NoneKept { lowest: Load::Depth(1) });
}

#[test]
fn a_disturbance_on_the_way_up_does_not_decide() {
    // The third window, with a depth of 4, is disturbed.
    let noise = |window| if window == 2 { 50.0 } else { 1.0 };
    let depth = LoadParameter::Depth { max: 256 };
    let (tasks, outcome) = search_noisily(FLASH, base(), target(1000, depth), noise);
    assert_eq!(found(&outcome), (Load::Depth(8), false));
    let depths: Vec<_> = tasks[..5].iter().map(|task| task.concurrency).collect();
    assert_eq!(depths, [1, 2, 4, 4, 8]);
}

#[test]
fn commits_count_where_each_write_is_one() {
    let task =
        FileTask { mix: Mix::Write, durability: WriteDurability::synced(SyncRule::fdatasync(1)), ..base() };
    let search = LatencySearch::new(task, target(1000, LoadParameter::Depth { max: 2 })).unwrap();
    let LatencyStep::Run(task) = search.next(&[]) else { panic!() };
    let window = task.stop.runtime.unwrap().0;
    let (mut recorder, feed) =
        recorder(Timetable { ramp_end: 0, interval: window, end: window }, &OpKind::STANDARD);
    for i in 0..1200 {
        for (kind, response) in [(OpKind::Write, 1_000), (OpKind::Sync, 800_000), (OpKind::Commit, 801_000)] {
            let completed = 1_000_000 + i;
            let intended = completed - response;
            recorder.record(Completion { kind, intended, issued: intended, completed, bytes: 1 });
        }
    }
    let mut collector = Collector::new(0, vec![feed]);
    recorder.finish().iter().for_each(|left| collector.absorb(0, left));
    let (_, _, totals) = collector.finish(0, window);
    let result = PhaseResult { totals, ..FLASH.run(0, &task, 1.0) };
    let LatencyStep::Run(_) = search.next(std::slice::from_ref(&result)) else { panic!() };
    let window = Window::of(&result, &search.target);
    let reported = window.reported(&State::start(&search.scale), Load::Depth(1), TryOutcome::Kept);
    assert_eq!((reported.operations, reported.quantile), (1200, Some(Nanos(801_000))));
}

#[test]
fn what_makes_no_sense_is_refused() {
    let refused = |base, target| LatencySearch::new(base, target).unwrap_err().to_string();
    let depth = target(1000, LoadParameter::Depth { max: 8 });
    let text = refused(base(), LatencyTarget { quantile: Quantile(99.0), ..depth });
    assert!(text.contains("0.99 is the 99th"), "{text}");
    let text = refused(base(), LatencyTarget { bound: Nanos::SECOND, ..depth });
    assert!(text.contains("shorter than the window"), "{text}");
    assert!(refused(base(), target(1, LoadParameter::Depth { max: 0 })).contains("at least 1"));
    let imprecise = LoadParameter::Rate { max: None, precision: f64::NAN };
    assert!(refused(base(), target(1, imprecise)).contains("precision"));
    let open = FileTask { arrival: Arrival::Poisson(Iops(5.0)), ..base() };
    assert!(refused(open, depth).contains("remove the rate"));
    let think = Arrival::ThinkTime { pause: Nanos(1), operations: 1, io_time: Nanos(0), spin: Nanos(0) };
    assert!(refused(FileTask { arrival: think, ..base() }, target(1000, RATE)).contains("think time"));
    let fresh = FileTarget {
        name: "data".into(),
        size: Bytes::GIB,
        create: true,
        preallocate: false,
        per_worker: false,
    };
    assert!(refused(FileTask { target: Target::File(fresh), ..base() }, depth).contains("lay it out"));
    let zero = FileTask { arrival: Arrival::Constant(Iops(0.0)), ..base() };
    assert!(refused(zero, target(1000, RATE)).contains("must be above 0"));
}

#[test]
fn rates_of_kinds_keep_their_ratio() {
    let paced = |rate| Some(Pace::Operations(Iops(rate)));
    let rates = KindRates { reads: paced(100.0), writes: paced(900.0), ..KindRates::default() };
    let mixed = FileTask { mix: Mix::ReadPercent(50), ..base() };
    let task = FileTask { arrival: Arrival::ByKind(rates), ..mixed.clone() };
    let (tasks, _) = search(FLASH, task, target(1000, RATE));
    let mut searched = 0;
    for task in tasks.iter().filter(|task| task.arrival != Arrival::Closed) {
        let Arrival::ByKind(KindRates {
            reads: Some(Pace::Operations(reads)),
            writes: Some(Pace::Operations(writes)),
            ..
        }) = task.arrival
        else {
            panic!("{:?}", task.arrival)
        };
        assert!((writes.0 / reads.0 - 9.0).abs() < 1e-6, "{:?}", task.arrival);
        searched += 1;
    }
    assert!(searched > 2, "{tasks:?}");
    let partly = Arrival::ByKind(KindRates { reads: paced(100.0), ..KindRates::default() });
    let refused = LatencySearch::new(FileTask { arrival: partly, ..mixed }, target(1000, RATE)).unwrap_err();
    assert!(refused.to_string().contains("another has none"), "{refused}");
}

/// Medians need few operations, and so short windows.
fn brief(bound_us: u64, parameter: LoadParameter) -> LatencyTarget {
    let window = Nanos(300_000_000);
    LatencyTarget { quantile: Quantile(0.5), window, ..target(bound_us, parameter) }
}

/// A window of one operation at a time: so many of 100 us, then one that takes until its end.
fn stalled(stall: Nanos) -> PhaseResult {
    let window = Nanos::SECOND;
    let task = FileTask { concurrency: 1, stop: Stop { runtime: Some(window), ..Stop::default() }, ..base() };
    let timetable = Timetable { ramp_end: 0, interval: window.0 / 10, end: window.0 };
    let (mut recorder, feed) = recorder(timetable, &[OpKind::Read]);
    let mut collector = Collector::new(0, vec![feed]);
    let mut at = 0;
    while at + 100_000 <= window.0 - stall.0 {
        let (kind, bytes) = (OpKind::Read, 8192);
        recorder.record(Completion { kind, intended: at, issued: at, completed: at + 99_999, bytes });
        at += 100_000;
        collector.collect(at);
    }
    recorder.finish().iter().for_each(|left| collector.absorb(0, left));
    let (_, _, totals) = collector.finish(0, window.0);
    let mut result = PhaseResult { totals, ..FLASH.run(0, &task, 1.0) };
    result.end.outstanding = Outstanding { at_end: 1, oldest: stall, ..Outstanding::default() };
    result.end.rate = None;
    result
}

#[test]
fn stalled_and_unissued_operations_count_by_the_time_they_take() {
    let target = target(1000, LoadParameter::Depth { max: 8 });
    let judged = |result: &PhaseResult, target: &LatencyTarget| {
        Window::of(result, target).judge(Load::Depth(1), TryPurpose::Search).unwrap()
    };
    // One operation of 9,000, but every tenth arrival would have waited.
    assert_eq!(judged(&stalled(Nanos(100_000_000)), &target), TryOutcome::Broken);
    assert_eq!(judged(&stalled(Nanos(0)), &target), TryOutcome::Kept);
    // Due and not issued: though the rate counts as kept, 3 % were not served in time.
    let open = FileTask { arrival: Arrival::Poisson(Iops(10_000.0)), ..base() };
    let stop = Stop { runtime: Some(Nanos::SECOND), ..Stop::default() };
    let mut result = FLASH.run(0, &FileTask { stop, ..open }, 1.0);
    assert_eq!(judged(&result, &target), TryOutcome::Kept);
    result.end.outstanding.backlog = 300;
    assert_eq!(judged(&result, &target), TryOutcome::Broken);
}

#[test]
fn thirty_runs_on_a_device_of_known_answer_agree() {
    // True answer 8 (8.68 by the law). Windows differ by 5 %, and one in 40 is disturbed.
    let mut state = 1u64;
    let mut uniform = move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1u64 << 53) as f64
    };
    let (mut exact, mut within) = (0, 0);
    for run in 0..30 {
        let noise: Vec<f64> = (0..200)
            .map(|_| {
                let normal = (0..12).map(|_| uniform()).sum::<f64>() - 6.0;
                if uniform() < 0.025 { 50.0 } else { (0.05 * normal).exp() }
            })
            .collect();
        let depth = LoadParameter::Depth { max: 256 };
        let slow = Device { service: 1e-3, ..FLASH };
        let (_, outcome) = search_noisily(slow, base(), target(10_000, depth), |window| noise[window]);
        let LatencyConclusion::Found { load: Load::Depth(depth), low, high, .. } = outcome.conclusion else {
            panic!("run {run}: {outcome:#?}")
        };
        assert!((6..=10).contains(&depth), "run {run}: {outcome:#?}");
        exact += usize::from((8..=9).contains(&depth));
        let value = |load: Option<Load>, none: u32| match load {
            Some(Load::Depth(depth)) => depth,
            _ => none,
        };
        within += usize::from(value(low, 0) <= 8 && value(high, 256) > 8);
    }
    println!("of 30 runs {exact} answer 8 or 9, and {within} intervals hold the true answer");
    assert!(exact >= 24 && within >= 28, "{exact} answers, {within} intervals");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn any_monotone_device_gives_the_true_answer(
        service_us in 200.0f64..2000.0, servers in 1u32..40, bound_us in 500u64..50_000, max in 1u32..400,
    ) {
        let device = Device { service: service_us * 1e-6, servers: f64::from(servers), errors: 0, lost: 0 };
        let target = brief(bound_us, LoadParameter::Depth { max });
        let (tasks, outcome) = search(device, base(), target);
        let keeps = |depth: u32, factor: f64| {
            device.closed(f64::from(depth)).1 * 2f64.ln() * factor <= bound_us as f64 * 1e-6
        };
        // The histogram and the simulation's steps determine the median within some percent.
        match outcome.conclusion {
            LatencyConclusion::Found { load: Load::Depth(depth), limited, .. } => {
                prop_assert!(keeps(depth, 0.95));
                prop_assert_eq!(limited, depth == max);
                prop_assert!(depth == max || !keeps(depth + 1, 1.05));
            }
            LatencyConclusion::NoneKept { .. } => prop_assert!(!keeps(1, 1.05)),
            LatencyConclusion::Failed(ref failure) => prop_assert!(false, "{}", failure),
            LatencyConclusion::Found { .. } => prop_assert!(false),
        }
        prop_assert!(tasks.len() <= 36, "{}", tasks.len());
    }

    #[test]
    fn any_noisy_device_comes_to_an_end(
        noise in prop::collection::vec(0.01f64..100.0, 1..40), bound_us in 500u64..50_000,
        servers in 1u32..8, depth in any::<bool>(), precision in 0.001f64..1.0,
    ) {
        let device = Device { service: 1e-3, servers: f64::from(servers), errors: 0, lost: 0 };
        let parameter = if depth {
            LoadParameter::Depth { max: 1 << 16 }
        } else {
            LoadParameter::Rate { max: Some(Iops(20_000.0)), precision }
        };
        let target = brief(bound_us, parameter);
        let noise = |window: usize| noise[window % noise.len()];
        let (_, outcome) = search_noisily(device, base(), target, noise);
        if let LatencyConclusion::Found { load, .. } = outcome.conclusion {
            let kept = outcome.tries.iter().filter(|each| each.load == load && each.outcome == TryOutcome::Kept);
            prop_assert!(kept.count() >= 2);
        }
    }
}
