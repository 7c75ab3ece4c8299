//! The procedure on simulated devices.

use std::path::Path;

use super::plan::Pattern;
use super::*;
use crate::procedure::Conclusions;
use iolite_model::{
    Access, Cache, Concluded, Ending, Fitness, Mix, OpenSync, Outstanding, PhaseEnd, PhaseInfo, SyncRule,
    Target, Verdict,
};
use iolite_stats::{Collector, Completion, Timetable, recorder};

/// A device in numbers: how long one read takes, and how many it does a second at most.
#[derive(Clone, Copy)]
struct Device {
    read_seconds: f64,
    max: f64,
    sync_seconds: f64,
    /// Twice a second nothing comes back for so long.
    stall_seconds: f64,
    /// One in so many operations fails; 0 for none.
    error_every: u64,
}

fn options() -> CheckOptions {
    CheckOptions {
        profile: crate::built_in("oltp-flash").unwrap(),
        target_iops: None,
        target_response: None,
        time: CheckOptions::DEFAULT_TIME,
        space: Bytes(4 << 30),
        thorough: false,
        free: Bytes(1 << 40),
        direct: true,
        io_uring: true,
        flushes: true,
        volatile: None,
        rotational: None,
        cpus: 2,
        seed: 1,
    }
}

/// What the device would have done with the task: real recording, computed instants.
fn simulate(device: Device, index: u32, task: &Task) -> PhaseResult {
    let runtime = task.stop().runtime.unwrap().0;
    let timetable = Timetable { ramp_end: 0, interval: 100_000_000, end: runtime };
    let (mut recorder, feed) = recorder(timetable, &OpKind::STANDARD);
    let concurrency = f64::from(task.concurrency());
    let open = matches!(task, Task::File(file) if file.asked_rate().is_some());
    let (kinds, seconds): (&[OpKind], f64) = match task {
        Task::File(file) if file.durability.sync.is_some() => {
            (&[OpKind::Write, OpKind::Sync, OpKind::Commit], device.sync_seconds)
        }
        Task::File(file) if file.mix.writes() => (&[OpKind::Write], device.read_seconds),
        Task::Database(task) if task.name == "RanWrite" => {
            (&[OpKind::Write, OpKind::Commit], device.sync_seconds)
        }
        _ => (&[OpKind::Read], device.read_seconds),
    };
    let rate = if open { 1000.0 } else { (concurrency / seconds).min(device.max) };
    let response = if open { seconds } else { concurrency / rate };
    let mut collector = Collector::new(index, vec![feed]);
    let (mut at, mut since_stall, mut stalled, mut count) = (0.0, 0.0, 0, 0);
    while at < runtime as f64 {
        count += 1;
        if device.stall_seconds > 0.0 && since_stall > 5e8 {
            at += device.stall_seconds * 1e9;
            (since_stall, stalled) = (0.0, task.concurrency());
        }
        let late = if stalled > 0 { device.stall_seconds } else { 0.0 };
        stalled = stalled.saturating_sub(1);
        since_stall += 1e9 / rate;
        for &kind in kinds {
            let completed = at as u64;
            let intended = completed.saturating_sub(((response + late) * 1e9) as u64);
            if device.error_every > 0 && count % device.error_every == 0 {
                recorder.record_error(kind, completed);
                continue;
            }
            recorder.record(Completion { kind, intended, issued: intended, completed, bytes: 8192 });
        }
        collector.collect(at as u64);
        at += 1e9 / rate;
    }
    recorder.finish().iter().for_each(|left| collector.absorb(0, left));
    let (_, _, totals) = collector.finish(0, runtime);
    let written = match task {
        Task::File(file) => match &file.target {
            Target::File(target) if file.mix.writes() => target.size,
            _ => Bytes(0),
        },
        Task::Metadata(_) | Task::Database(_) | Task::TprocC(_) => Bytes(0),
    };
    PhaseResult {
        info: PhaseInfo { index, task: task.clone(), started: Nanos(0) },
        end: PhaseEnd {
            phase: index,
            ending: Ending::Completed,
            measured: Nanos(runtime),
            outstanding: Outstanding::default(),
            cache: Cache { requested_written: written, direct_confirmed: true, ..Cache::default() },
            errors: Vec::new(),
            stuck: Vec::new(),
            rate: None,
            verified: None,
        },
        totals,
    }
}

/// The end of a check.
struct End {
    verdict: Verdict,
    knees: Vec<KneeFound>,
    warnings: Vec<Warning>,
}

impl From<Conclusions> for End {
    fn from(conclusions: Conclusions) -> End {
        let knees = conclusions.concluded.iter().filter_map(Concluded::read).collect();
        End { verdict: conclusions.verdict.unwrap(), knees, warnings: conclusions.warnings }
    }
}

/// A finished phase in which nothing was counted.
pub(crate) fn empty(task: Task) -> PhaseResult {
    let (_, _, totals) = Collector::new(0, Vec::new()).finish(0, 0);
    PhaseResult {
        info: PhaseInfo { index: 0, task, started: Nanos(0) },
        end: PhaseEnd {
            phase: 0,
            ending: Ending::Completed,
            measured: Nanos(0),
            outstanding: Outstanding::default(),
            cache: Cache::default(),
            errors: Vec::new(),
            stuck: Vec::new(),
            rate: None,
            verified: None,
        },
        totals,
    }
}

/// Runs the whole check; returns the tasks, the conclusion and the time it took.
fn run(device: Device, options: CheckOptions) -> (Vec<PhaseResult>, End, Nanos) {
    let (_, history, end, elapsed) = run_on(|_| device, options);
    (history, end, elapsed)
}

/// The same, with the check itself, on a device that need not stay as it is.
fn run_on(device: impl Fn(&Task) -> Device, options: CheckOptions) -> (Check, Vec<PhaseResult>, End, Nanos) {
    // Creating the database takes a thirtieth of the time, three seconds of ninety.
    let creation = options.time.0 / 30;
    let mut check = Check::new(options).unwrap();
    let mut history = Vec::new();
    let mut elapsed = Nanos(500_000_000);
    loop {
        match check.step(&history, elapsed) {
            Step::Run(mut tasks) => {
                let task = tasks.remove(0);
                elapsed.0 += task.ramp().known_time().0 + task.stop().runtime.unwrap().0 + 50_000_000;
                let index = history.len() as u32;
                history.push(simulate(device(&task), index, &task));
            }
            Step::Prepare(_) => elapsed.0 += creation,
            Step::Failed(reason) => panic!("{reason}"),
            Step::Done(conclusion) => return (check, history, End::from(conclusion), elapsed),
        }
    }
}

const FLASH: Device =
    Device { read_seconds: 100e-6, max: 40_000.0, sync_seconds: 200e-6, stall_seconds: 0.0, error_every: 0 };

#[test]
fn stalls_that_few_operations_see_are_not_overlooked() {
    // Half a second at full speed, then 200 ms of nothing: six operations in ten thousand are slow.
    let (_, conclusion, _) = run(Device { stall_seconds: 0.2, ..FLASH }, options());
    assert_eq!(conclusion.verdict.fitness, Fitness::Unfit, "{:#?}", conclusion.verdict);
    let mut reservations = conclusion.verdict.reasons.iter().flat_map(|reason| &reason.reservations);
    let stalls = reservations.any(|why| why.contains("at a random instant"));
    assert!(stalls, "{:#?}", conclusion.verdict);
}

#[test]
fn errors_are_never_fit() {
    let (_, conclusion, _) = run(Device { error_every: 1000, ..FLASH }, options());
    assert_eq!(conclusion.verdict.fitness, Fitness::Unfit);
    assert_eq!(conclusion.verdict.reasons[0].what, "errors");
}

#[test]
fn a_device_on_which_everything_fails_ends_the_searches() {
    let (history, conclusion, _) = run(Device { error_every: 1, ..FLASH }, options());
    assert_eq!(conclusion.verdict.fitness, Fitness::Unfit);
    let searches = history.iter().filter(|result| result.info.task.name() == "random read 8 KiB").count();
    assert_eq!(searches, 1);
}

#[test]
fn fast_storage_is_fit_within_the_time() {
    let (history, conclusion, elapsed) = run(FLASH, options());
    assert_eq!(conclusion.verdict.fitness, Fitness::Fit, "{:#?}", conclusion.verdict);
    assert!(elapsed <= CheckOptions::DEFAULT_TIME, "{elapsed}");
    let names: Vec<_> = history.iter().map(|result| result.info.task.name()).collect();
    for name in [
        "sequential write 1 MiB",
        "sequential read 1 MiB",
        "random read 8 KiB",
        "random read 64 KiB",
        "random read 8 KiB, at the knee",
        "random write 8 KiB",
        "commit, buffered append",
        "commit, growing file",
        "commit, direct overwrite",
        "commit, buffered overwrite",
        "commit, O_DSYNC overwrite",
        "RanRead",
        "RanWrite",
        "RanIO 50 %",
    ] {
        assert!(names.contains(&name), "{name} is missing in {names:?}");
    }
    let knee = &conclusion.knees[0].knee;
    assert!((3..=5).contains(&knee.concurrency) && knee.saturated, "{knee:?}");
    assert!((knee.plateau.value / 40_000.0 - 1.0).abs() < 0.01, "{knee:?}");
}

#[test]
fn slow_storage_is_unfit_with_the_reason() {
    let (_, conclusion, _) =
        run(Device { read_seconds: 8e-3, max: 150.0, sync_seconds: 20e-3, ..FLASH }, options());
    assert_eq!(conclusion.verdict.fitness, Fitness::Unfit, "{:#?}", conclusion.verdict);
    let reason = &conclusion.verdict.reasons[0];
    assert_eq!(reason.fitness, Fitness::Unfit);
    assert!(
        reason.what.starts_with("random read 8 KiB at the knee (") && reason.measured.contains("ms"),
        "{reason:?}"
    );
}

#[test]
fn a_rate_beyond_the_plateau_is_unfit_for_that_reason() {
    let options = CheckOptions { target_iops: Some(Iops(5000.0)), ..options() };
    let (history, conclusion, _) =
        run(Device { read_seconds: 100e-6, max: 2000.0, sync_seconds: 1e-4, ..FLASH }, options);
    assert_eq!(conclusion.verdict.fitness, Fitness::Unfit, "{:#?}", conclusion.verdict);
    let reason = &conclusion.verdict.reasons[0];
    assert_eq!(
        (reason.what.as_str(), reason.asked.as_str()),
        ("random read 8 KiB, rate", "at least 5,000 IOPS")
    );
    assert!(reason.measured.starts_with("2,000 IOPS at most"), "{}", reason.measured);
    assert!(!history.iter().any(|result| result.info.task.name().contains("5,000 IOPS")));
}

#[test]
fn a_rate_within_reach_is_measured_as_an_open_loop() {
    let options = CheckOptions { target_iops: Some(Iops(1000.0)), ..options() };
    let (history, conclusion, elapsed) = run(FLASH, options);
    assert_eq!(conclusion.verdict.fitness, Fitness::Fit, "{:#?}", conclusion.verdict);
    assert!(history.iter().any(|result| result.info.task.name() == "random read 8 KiB, at 1,000 IOPS"));
    assert!(
        conclusion
            .verdict
            .reasons
            .iter()
            .any(|reason| reason.what == "random read 8 KiB at 1,000 IOPS, mean")
    );
    assert!(elapsed <= CheckOptions::DEFAULT_TIME, "{elapsed}");
}

#[test]
fn what_is_written_stays_within_the_space() {
    for space in [CheckOptions::SMALLEST, Bytes(4 << 30)] {
        let options = CheckOptions { space, ..options() };
        let mut check = Check::new(options).unwrap();
        let (mut history, mut written) = (Vec::new(), 0);
        loop {
            match check.step(&history, Nanos(0)) {
                Step::Run(mut tasks) => {
                    let task = tasks.remove(0);
                    if let (Task::Database(_), Some(operations)) = (&task, task.stop().operations) {
                        written += operations * 8_216 / if task.name() == "RanIO 50 %" { 2 } else { 1 };
                    }
                    if let Task::File(file) = &task
                        && file.mix.writes()
                    {
                        written += file.stop.bytes.expect("every writing task has a limit").0;
                    }
                    history.push(simulate(FLASH, history.len() as u32, &task));
                }
                Step::Prepare(size) => written += size.size.0,
                Step::Failed(reason) => panic!("{reason}"),
                Step::Done(_) => break,
            }
        }
        assert!(written <= space.0, "{written} of {space}");
        assert!(written > space.0 / 2, "{written} of {space}");
    }
}

#[test]
fn a_short_time_is_kept_too_and_a_shorter_one_refused() {
    let options = CheckOptions { time: CheckOptions::SHORTEST, ..options() };
    let (_, conclusion, elapsed) = run(FLASH, options.clone());
    assert_eq!(conclusion.knees.len(), 3);
    assert!(elapsed <= CheckOptions::SHORTEST, "{elapsed}");
    let refused =
        Check::new(CheckOptions { time: Nanos::SECOND, ..options.clone() }).unwrap_err().to_string();
    assert!(refused.contains("--budget-time 10.0 s or more"), "{refused}");
    let refused = Check::new(CheckOptions { space: Bytes::MIB, ..options }).unwrap_err().to_string();
    assert!(refused.contains("--budget-space 64 MiB or more"), "{refused}");
}

#[test]
fn without_a_database_its_stages_are_left_out_and_said() {
    let mut check = Check::new(options()).unwrap();
    let mut history = Vec::new();
    let conclusion = loop {
        match check.step(&history, Nanos(0)) {
            Step::Run(mut tasks) => {
                let task = tasks.remove(0);
                assert!(matches!(task, Task::File(_)));
                history.push(simulate(FLASH, history.len() as u32, &task));
            }
            Step::Prepare(_) => check.without_database("no space".into()),
            Step::Failed(reason) => panic!("{reason}"),
            Step::Done(conclusion) => break End::from(conclusion),
        }
    };
    assert!(matches!(&conclusion.warnings[0], Warning::LeftOut { why, .. } if why == "no space"));
    assert_eq!(conclusion.verdict.fitness, Fitness::Marginal, "{:#?}", conclusion.verdict);
    let unjudged: Vec<_> = conclusion
        .verdict
        .reasons
        .iter()
        .filter(|reason| reason.measured == "not judged: not measured")
        .map(|reason| (reason.fitness, reason.what.clone()))
        .collect();
    let of = |measure: Measure| (Fitness::Marginal, format!("{measure}, mean"));
    assert_eq!(unjudged, [of(Measure::DbRanRead), of(Measure::DbCommit)]);
}

/// A disk's seeks are shorter, and its cache is more effective, the less of it is read.
#[test]
fn a_data_file_that_covers_little_of_a_disk_is_warned_of() {
    let warned = |rotational| {
        let (_, conclusion, _) = run(FLASH, CheckOptions { rotational, ..options() });
        let of = |warning: &Warning| match warning {
            Warning::ShortStroked { percent } => Some(*percent),
            _ => None,
        };
        conclusion.warnings.iter().find_map(of)
    };
    // The layout may take 30 % of 4 GiB.
    let percent = warned(Some(Bytes(120 << 30))).unwrap();
    assert!((0.99..=1.0).contains(&percent), "{percent}");
    assert_eq!((warned(Some(Bytes(8 << 30))), warned(None)), (None, None));
}

#[test]
fn a_target_response_takes_the_place_of_the_profiles() {
    let options = CheckOptions { target_response: Some(Nanos(50_000)), ..options() };
    let (_, conclusion, _) = run(FLASH, options);
    assert_eq!(conclusion.verdict.fitness, Fitness::Unfit, "{:#?}", conclusion.verdict);
    assert_eq!(conclusion.verdict.reasons[0].asked, "at most 50.0 µs");
}

/// What is measured once cannot show drift: what is judged has windows apart from each other, in an order of chance.
#[test]
fn each_criterion_rests_on_windows_that_are_apart() {
    let (history, _, elapsed) = run(FLASH, options());
    assert!(elapsed <= CheckOptions::DEFAULT_TIME, "{elapsed}");
    let names: Vec<_> = history.iter().map(|result| result.info.task.name()).collect();
    let judged = [
        "sequential read 1 MiB",
        "random read 8 KiB, at the knee",
        "random write 8 KiB",
        "commit, buffered append",
        "RanRead, at the knee",
        "RanWrite",
        "RanIO 50 %",
    ];
    for name in judged {
        let windows: Vec<_> = (0..names.len()).filter(|&at| names[at] == name).collect();
        assert!(windows.len() >= 3, "{name}: {windows:?}");
        let first = windows[0];
        assert!(windows.iter().enumerate().any(|(number, &at)| at != first + number), "{name}: {windows:?}");
    }
    // Together they take no longer than the one window did.
    for (name, seconds) in [("RanRead, at the knee", 1.2), ("RanWrite", 3.0), ("RanIO 50 %", 3.0)] {
        let windows = history.iter().filter(|result| result.info.task.name() == name);
        let all: u64 = windows.map(|result| result.info.task.stop().runtime.unwrap().0).sum();
        assert!((all as f64 / 1e9 - seconds).abs() < 1e-6, "{name}: {all}");
    }
}

/// What was measured again at the knee and differs from the search widens what is known of the knee.
#[test]
fn a_knee_is_as_uncertain_as_its_second_measurement_shows() {
    let knees = |max: f64| {
        let device = |task: &Task| {
            if task.name().ends_with("at the knee") { Device { max, ..FLASH } } else { FLASH }
        };
        let (check, history, end, _) = run_on(device, options());
        let found = end.knees.into_iter().find(|found| found.name == Search::Read8k.name()).unwrap();
        (check.knee(Search::Read8k, &history).unwrap().knee, found.knee)
    };
    let width = |knee: &Knee| knee.plateau.high - knee.plateau.low;
    let (fit, concluded) = knees(FLASH.max / 2.0);
    assert!(
        width(&concluded) > width(&fit) && concluded.plateau.low < 0.6 * fit.plateau.value,
        "{concluded:?}"
    );
    let (_, alike) = knees(FLASH.max);
    assert!(width(&alike) < width(&concluded) / 4.0, "{alike:?}");
}

/// What each pattern does, not only its name: etcd's buffered append to a file of its own, and an overwriting log, whose blocks have
/// been written before (to write into reserved ones changes the file's map too, which takes longer).
#[test]
fn commits_are_made_durable_as_the_databases_do_it() {
    let options = options();
    let layout = tasks::Layout { size: Bytes(1 << 30), bytes_per_second: None };
    let data = Path::new(Check::DATA_FILE);
    let mut found = Vec::new();
    for pattern in [
        Pattern::Append,
        Pattern::Growing,
        Pattern::OverwriteDirect,
        Pattern::OverwriteBuffered,
        Pattern::OverwriteDsync,
    ] {
        let Task::File(task) = tasks::commit(&options, layout, pattern, 0) else { panic!("{pattern:?}") };
        let Target::File(target) = &task.target else { panic!("{pattern:?}: {task:?}") };
        assert_eq!((task.mix, &task.access), (Mix::Write, &Access::Sequential), "{pattern:?}");
        let overwrites = !target.create && target.name == data && target.size == layout.size;
        assert!(overwrites || target.create && target.name != data, "{pattern:?}: {target:?}");
        let by_opening = task.durability.open == Some(OpenSync::Data);
        let by_fdatasync = task.durability.sync == Some(SyncRule::fdatasync(1));
        assert!(by_opening != by_fdatasync && task.durability.end_sync.is_none(), "{pattern:?}: {task:?}");
        found.push((pattern, task.block.0, overwrites, target.preallocate, task.direct, by_opening));
    }
    let of = |pattern, block, overwrites, preallocate, direct, opened| {
        (pattern, block, overwrites, preallocate, direct, opened)
    };
    assert_eq!(
        found,
        [
            of(Pattern::Append, 2300, false, true, false, false),
            of(Pattern::Growing, 8192, false, false, false, false),
            of(Pattern::OverwriteDirect, 8192, true, true, true, false),
            of(Pattern::OverwriteBuffered, 8192, true, true, false, false),
            of(Pattern::OverwriteDsync, 8192, true, true, false, true),
        ]
    );
    // All that they overwrite is written first.
    let (history, ..) = run(FLASH, options);
    let Task::File(first) = &history[0].info.task else { panic!() };
    assert_eq!((first.mix, first.access.clone()), (Mix::Write, Access::Sequential));
    let whole = matches!(&first.target, Target::File(target) if target.name == data && target.create);
    assert!(whole && first.durability.open.is_none(), "{first:?}");
}

/// Settings of the database that change while it is measured.
#[test]
fn a_database_that_did_not_stay_as_it_was_is_at_best_marginal() {
    let (mut check, history, end, _) = run_on(|_| FLASH, options());
    assert_eq!(end.verdict.fitness, Fitness::Fit);
    let changes = vec!["fsync was on, and is off".to_owned()];
    check.take_note(&[Warning::SettingsChanged { phase: "RanWrite".into(), changes }], HostUse::default());
    let verdict = check.conclude(&history).verdict.unwrap();
    assert_eq!(verdict.fitness, Fitness::Marginal, "{verdict:#?}");
    let reason = verdict.reasons.iter().find(|reason| reason.what == "settings").unwrap();
    assert!(reason.measured.contains("fsync was on, and is off"), "{reason:?}");
}
