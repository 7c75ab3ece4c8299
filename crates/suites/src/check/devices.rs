//! The verdict on simulated devices of known character, over seeds. The table in docs/statistics.md:
//! `IOLITE_SIMULATIONS=300 cargo test --release -p iolite-suites devices -- --nocapture`

mod simulated;
mod stalls;

use iolite_model::{Fitness, GeneratorUse, Verdict};

use super::*;
use crate::phase_warnings::phase_warnings;
use simulated::{DEVICES, Device, GOOD, Simulation};

/// The verdict of a whole check, and its warnings.
fn check(device: Device, seed: u64, options: CheckOptions) -> (Verdict, Vec<Warning>) {
    check_on(&idle, device, seed, options)
}

/// A host on which the load generator uses this in a phase.
type Host<'a> = &'a dyn Fn(&Task) -> GeneratorUse;

/// The same on such a host.
fn check_on(host: Host<'_>, device: Device, seed: u64, options: CheckOptions) -> (Verdict, Vec<Warning>) {
    let whole = whole_check(host, device, seed, options);
    (whole.verdict, whole.warnings)
}

/// A whole check.
struct Whole {
    verdict: Verdict,
    warnings: Vec<Warning>,
    history: Vec<PhaseResult>,
    /// When it ended.
    end: Nanos,
}

impl Whole {
    /// Phases of this name.
    fn count(&self, name: &str) -> usize {
        self.history.iter().filter(|phase| phase.info.task.name() == name).count()
    }
}

fn whole_check(host: Host<'_>, device: Device, seed: u64, options: CheckOptions) -> Whole {
    let mut check = Check::new(CheckOptions { seed, ..options }).unwrap();
    let mut simulation = Simulation::new(device, seed + 1);
    let (mut history, mut warnings): (_, Vec<Warning>) = (Vec::new(), Vec::new());
    let mut used = HostUse::default();
    loop {
        let elapsed = Nanos(simulation.now as u64);
        match check.step(&history, elapsed) {
            Step::Run(tasks) => {
                let result = simulation.phase(history.len() as u32, &tasks[0]);
                // As a session records them: once for a cause.
                for warning in phase_warnings(&result, None) {
                    if !warnings.iter().any(|known| known.repeats(&warning)) {
                        warnings.push(warning);
                    }
                }
                used.phases.insert(result.info.index, host(&tasks[0]));
                check.take_note(&warnings, used.clone());
                history.push(result);
            }
            Step::Prepare(_) => simulation.now += 1e9,
            Step::Done(conclusions) => {
                warnings.extend(conclusions.warnings);
                return Whole { verdict: conclusions.verdict.unwrap(), warnings, history, end: elapsed };
            }
            Step::Failed(why) => panic!("{why}"),
        }
    }
}

fn options() -> CheckOptions {
    CheckOptions {
        profile: crate::profiles::built_in("oltp-flash").unwrap(),
        target_iops: None,
        target_response: None,
        time: Nanos(90_000_000_000),
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

/// The shortest that has all windows.
fn hurried() -> CheckOptions {
    CheckOptions { time: Nanos(30_000_000_000), ..options() }
}

/// Checks of each device; more for docs/statistics.md.
fn simulations() -> u64 {
    std::env::var("IOLITE_SIMULATIONS").ok().and_then(|runs| runs.parse().ok()).unwrap_or(1)
}

#[test]
fn each_device_gets_the_verdict_of_its_character() {
    for device in DEVICES {
        let runs = simulations();
        let mut counts = [0u64; 3];
        let mut unlike = Vec::new();
        for seed in 0..runs {
            let (verdict, _) = check(device, seed, options());
            counts[verdict.fitness as usize] += 1;
            if !device.expected.contains(&verdict.fitness) {
                unlike.push(verdict);
            }
        }
        println!(
            "| {} | {:.1} | {:.1} | {:.1} |",
            device.name,
            counts[0] as f64 * 100.0 / runs as f64,
            counts[1] as f64 * 100.0 / runs as f64,
            counts[2] as f64 * 100.0 / runs as f64
        );
        assert!(unlike.len() as f64 <= 0.01 * runs as f64, "{}: {:#?}", device.name, unlike.first());
    }
}

/// Whatever is poor, each profile whose database suffers from it says so.
#[test]
fn a_device_that_is_poor_in_one_respect_is_never_fit() {
    const MIB: f64 = 1048576.0;
    let reads = |max| Device { name: "reads", max, ..GOOD };
    let writes = |writes| Device { name: "writes", writes, ..GOOD };
    let read = |rate: f64| Device { name: "read bandwidth", bandwidth: (rate * MIB, f64::INFINITY), ..GOOD };
    let write =
        |rate: f64| Device { name: "write bandwidth", bandwidth: (f64::INFINITY, rate * MIB), ..GOOD };
    let sync = |sync| Device { name: "sync", sync, ..GOOD };
    let slow = |service| Device { name: "latency", service, ..GOOD };
    let stalls = |every, length| Device { name: "stalls", stalls: Some((every, length)), ..GOOD };
    let flash = vec![
        reads(1_000.0),
        reads(2_300.0),
        writes(30.0),
        writes(300.0),
        writes(1_000.0),
        writes(1_900.0),
        read(16.0),
        read(40.0),
        read(80.0),
        write(5.0),
        write(40.0),
        write(80.0),
        sync(12e6),
        sync(30e6),
        slow(3e6),
        stalls(2e9, 0.1e9),
    ];
    let etcd =
        vec![writes(30.0), write(3.0), write(7.0), read(3.0), read(7.0), sync(15e6), stalls(2e9, 0.1e9)];
    let hdd = vec![reads(40.0), writes(10.0), writes(40.0), read(30.0), write(30.0), sync(60e6), slow(30e6)];
    for (profile, poor) in [("oltp-flash", flash), ("etcd", etcd), ("hdd", hdd)] {
        let options = CheckOptions { profile: crate::profiles::built_in(profile).unwrap(), ..options() };
        let (healthy, _) = check(GOOD, 4, options.clone());
        assert_eq!(healthy.fitness, Fitness::Fit, "{profile}: {healthy:#?}");
        for device in poor {
            let (verdict, _) = check(device, 4, options.clone());
            assert_ne!(verdict.fitness, Fitness::Fit, "{profile}, {}: {verdict:#?}", device.name);
        }
    }
}

/// Near a bound it is chance whether a check is fit or marginal, or marginal or unfit; never whether it is fit or unfit.
#[test]
fn near_a_bound_no_device_is_fit_in_one_check_and_unfit_in_another() {
    for near in [4.0e6, 4.8e6, 5.5e6] {
        let device = Device { sync: near, ..GOOD };
        let mut counts = [0u64; 3];
        for seed in 0..5 * simulations() {
            counts[check(device, seed, hurried()).0.fitness as usize] += 1;
        }
        println!(
            "commits of {:.1} ms: fit {}, marginal {}, unfit {}",
            near / 1e6,
            counts[0],
            counts[1],
            counts[2]
        );
        assert!(counts[0] == 0 || counts[2] == 0, "{near}: {counts:?}");
    }
}

/// 400 checks without one that is unfit bound the rate of false alarms by 0.75 % with 95 % confidence.
#[test]
fn a_healthy_device_is_never_unfit() {
    let runs = if simulations() == 1 { 2 } else { 20 * simulations() };
    let mut counts = [0u64; 3];
    (0..runs).for_each(|seed| counts[check(GOOD, 1000 + seed, options()).0.fitness as usize] += 1);
    println!("of {runs} checks of good flash {} are unfit, {} marginal", counts[2], counts[1]);
    assert_eq!(counts[2], 0);
}

#[test]
fn what_the_devices_do_is_warned_of() {
    let warned = |name: &str| {
        let device = *DEVICES.iter().find(|device| device.name == name).unwrap();
        check(device, 5, options()).1
    };
    // Wherever in a phase they run out; between two phases no phase shows it.
    let runs_out = |credits| check(Device { credits: Some((credits, 300.0)), ..GOOD }, 5, options()).1;
    let shifts = [20_000, 22_000, 24_000]
        .map(|credits| runs_out(credits).iter().any(|w| matches!(w, Warning::LevelShift { .. })));
    assert!(shifts.contains(&true), "{shifts:?}");
    assert!(
        warned("flash with stalls")
            .iter()
            .any(|w| matches!(w, Warning::Stalls { .. } | Warning::Periodic { .. }))
    );
    let capped = warned("throttled");
    let capped: Vec<_> =
        capped.iter().filter(|w| matches!(w, Warning::Capped { .. })).map(ToString::to_string).collect();
    assert!(capped.len() == 1 && capped[0].contains("IOPS"), "{capped:?}");
    // As a gp3 volume is: both limits at once.
    let gp3 = Device { max: 3_000.0, bandwidth: (125.0 * 1_048_576.0, f64::INFINITY), ..GOOD };
    let warnings = check(gp3, 5, options()).1;
    let caps = warnings.iter().filter(|w| matches!(w, Warning::Capped { .. })).map(ToString::to_string);
    let caps: Vec<_> = caps.collect();
    assert!(caps.len() == 2 && caps[0].contains("IOPS") && caps[1].contains("MiB/s"), "{caps:?}");
    assert!(warned("noisy neighbour").iter().any(|w| matches!(w, Warning::ForeignLoad { .. })));
    assert!(
        !warned("good flash")
            .iter()
            .any(|w| matches!(w, Warning::LevelShift { .. } | Warning::Stalls { .. }))
    );
}

#[test]
fn a_rate_asked_for_is_held_by_a_healthy_device_whatever_the_seed() {
    for target in [100.0, 1000.0] {
        let runs = simulations() * 2;
        let options = CheckOptions { target_iops: Some(Iops(target)), ..options() };
        let missed = (0..runs).filter(|&seed| check(GOOD, seed, options.clone()).0.fitness == Fitness::Unfit);
        let missed = missed.count();
        println!("{target} IOPS asked for: {missed} of {runs} checks of good flash are unfit");
        assert!(missed as f64 <= 0.01 * runs as f64, "{missed} of {runs} at {target} IOPS");
    }
}

#[test]
fn credits_that_outlast_a_usual_check_are_found_by_a_thorough_one() {
    let device = Device { credits: Some((250_000, 300.0)), ..GOOD };
    let (usual, _) = check(device, 3, options());
    assert_eq!(usual.fitness, Fitness::Fit, "{usual:?}");
    let thorough = CheckOptions { thorough: true, time: Nanos(300_000_000_000), ..options() };
    let (verdict, warnings) = check(device, 3, thorough.clone());
    assert_eq!(verdict.fitness, Fitness::Unfit, "{verdict:?}");
    assert!(warnings.iter().any(|w| matches!(w, Warning::LevelShift { .. })), "{warnings:?}");
    // What never changes is fit, steady, and its data file as large as the space allows.
    let (verdict, warnings) = check(GOOD, 3, thorough);
    assert_eq!(verdict.fitness, Fitness::Fit, "{verdict:?}");
    assert!(!warnings.iter().any(|w| matches!(w, Warning::NotSteady { .. })), "{warnings:?}");
    let sustained =
        |w: &Warning| matches!(w, Warning::NotExcluded { time, .. } if *time == Nanos(75_000_000_000));
    assert!(warnings.iter().any(sustained), "{warnings:?}");
}

/// Nothing of a phase's time, as long as it takes.
fn idle(task: &Task) -> GeneratorUse {
    GeneratorUse {
        observed: task.stop().runtime.unwrap(),
        threads: 1,
        cpus: 2,
        others: Some(Nanos(0)),
        steal: Some(Nanos(0)),
        ..GeneratorUse::default()
    }
}

/// A share of a phase's time.
fn share(task: &Task, share: f64) -> Nanos {
    Nanos((idle(task).observed.0 as f64 * share) as u64)
}

/// A thread that waits this share of the time for a CPU that others use.
fn waits(task: &Task, waited: f64) -> GeneratorUse {
    GeneratorUse { longest_run_delay: share(task, waited), others: Some(share(task, 1.5)), ..idle(task) }
}

/// A thread that runs for this share of the time.
fn runs(task: &Task, cpu: f64) -> GeneratorUse {
    GeneratorUse { busiest_cpu: share(task, cpu), cpu: share(task, cpu), ..idle(task) }
}

/// A host whose CPUs are busy otherwise makes any storage look slow: it is neither fit nor unfit. Errors stay what they are.
#[test]
fn on_a_busy_host_slow_storage_is_marginal_with_the_reason() {
    let hosts: [Host<'_>; 2] =
        [&|task| waits(task, 0.4), &|task| GeneratorUse { steal: Some(share(task, 0.8)), ..idle(task) }];
    for busy in hosts {
        for device in DEVICES.iter().filter(|device| device.error_every == 0) {
            let (verdict, _) = check_on(busy, *device, 1, options());
            assert_eq!(verdict.fitness, Fitness::Marginal, "{}: {verdict:#?}", device.name);
            let said = verdict.reasons.iter().any(|reason| says(reason, "repeat on an idle host"));
            let idle = check(*device, 1, options()).0.fitness;
            assert_eq!(said, idle == Fitness::Unfit, "{}: {verdict:#?}", device.name);
        }
        let failing = DEVICES.iter().find(|device| device.error_every > 0).unwrap();
        assert_eq!(check_on(busy, *failing, 1, options()).0.fitness, Fitness::Unfit);
    }
}

/// etcd's metric of its log is the time of fdatasync alone, not of the write before it.
#[test]
fn etcd_is_judged_by_its_syncs() {
    let appends = |device| {
        let profile = crate::profiles::built_in("etcd").unwrap();
        let options = CheckOptions { profile, time: Nanos(300_000_000_000), ..options() };
        let verdict = check(device, 3, options).0;
        verdict.reasons.into_iter().find(|reason| reason.what.starts_with("fdatasync after")).unwrap()
    };
    let fast = Device { spread: 0.1, max: 600.0, sync: 2e6, ..GOOD };
    let slow_writes = appends(Device { buffered: 9e6, ..fast });
    assert_eq!(slow_writes.fitness, Fitness::Fit, "{slow_writes:?}");
    let slow_syncs = appends(Device { sync: 11e6, ..fast });
    assert_eq!(slow_syncs.fitness, Fitness::Unfit, "{slow_syncs:?}");
}

/// Whether or not its bytes are distinguished from this program's, and whatever criterion it harms.
#[test]
fn beside_a_neighbour_the_verdict_is_marginal_with_the_reason() {
    let noisy = Device { neighbour: 30.0, ..GOOD };
    let slow = Device { sync: 30e6, written_beside: 1 << 30, accounted: true, ..GOOD };
    let good = Device { written_beside: 1 << 30, accounted: true, ..GOOD };
    // Its sequential throughput misses the floor too.
    let sluggish = Device { max: 60.0, ..good };
    for (device, unmet) in [
        (noisy, true),
        (Device { accounted: true, ..noisy }, true),
        (slow, true),
        (sluggish, true),
        (good, false),
    ] {
        let (verdict, warnings) = check(device, 3, options());
        assert_eq!(verdict.fitness, Fitness::Marginal, "{verdict:#?}");
        let said = verdict.reasons.iter().filter(|reason| says(reason, "repeat on an idle device")).count();
        assert_eq!(said > 0, unmet, "{verdict:#?}");
        assert_eq!(
            warnings.iter().filter(|w| matches!(w, Warning::ForeignLoad { .. })).count(),
            1,
            "{warnings:?}"
        );
    }
    let idle = check(Device { written_beside: 0, ..sluggish }, 3, options()).0;
    let floor = |reason: &iolite_model::Reason| reason.what == "sequential write 1 MiB, throughput";
    assert!(idle.reasons.iter().any(|reason| floor(reason) && reason.fitness == Fitness::Unfit), "{idle:#?}");
    let idle = check(Device { accounted: true, ..GOOD }, 3, options()).0;
    assert_eq!(idle.fitness, Fitness::Fit, "{idle:#?}");
}

/// A rate that is asked for may be missed for what others do, too.
#[test]
fn a_rate_missed_on_a_busy_host_or_device_or_by_the_load_generator_is_marginal() {
    let slow = Device { max: 600.0, ..GOOD };
    let options = CheckOptions { target_iops: Some(Iops(1000.0)), ..options() };
    let rates = |host: Host<'_>, device| {
        let verdict = whole_check(host, device, 3, options.clone()).verdict;
        let rates = verdict.reasons.into_iter().filter(|reason| reason.what.ends_with(", rate"));
        rates.map(|reason| (reason.fitness, reason.reservations.join("; "))).collect::<Vec<_>>()
    };
    let missed = rates(&idle, slow);
    assert!(missed.iter().all(|(fitness, _)| *fitness == Fitness::Unfit) && missed.len() == 2, "{missed:?}");
    let neighbour = Device { written_beside: 1 << 30, accounted: true, ..slow };
    for (host, device, why) in [
        (&(|task: &Task| waits(task, 0.4)) as Host<'_>, slow, "repeat on an idle host"),
        (&idle, neighbour, "repeat on an idle device"),
        (&|task: &Task| runs(task, 0.99), slow, "the storage may do more"),
    ] {
        let found = rates(host, device);
        let spared =
            |(fitness, said): &(Fitness, String)| *fitness == Fitness::Marginal && said.contains(why);
        assert!(found.len() == 2 && found.iter().all(spared), "{why}: {found:?}");
    }
}

/// Waits for a CPU explain a part of a mean or a rate: what is far beyond its bound is unfit all the same, and no healthy device is.
#[test]
fn what_a_busy_host_explains_only_a_part_of_is_unfit() {
    let busy: Host<'_> = &|task| waits(task, 0.06);
    let slow_commits = Device { sync: 60e6, ..GOOD };
    let verdict = whole_check(busy, slow_commits, 3, options()).verdict;
    assert_eq!(verdict.fitness, Fitness::Unfit, "{verdict:#?}");
    let rate_of = |host: Host<'_>, max: f64, target: f64| {
        let options = CheckOptions { target_iops: Some(Iops(target)), ..options() };
        let verdict = whole_check(host, Device { max, ..GOOD }, 3, options).verdict;
        verdict.reasons.into_iter().find(|reason| reason.what.ends_with(", rate")).unwrap().fitness
    };
    assert_eq!(rate_of(busy, 2_000.0, 5_000.0), Fitness::Unfit);
    // Without the waits, 2,000 could be as many as 2,440.
    assert_eq!(
        [rate_of(busy, 2_000.0, 2_300.0), rate_of(&idle, 2_000.0, 2_300.0)],
        [Fitness::Marginal, Fitness::Unfit]
    );
    // The profile's floor of 3,000 is missed by less than 2,000.
    let floor_of = |host: Host<'_>, max: f64| {
        let verdict = whole_check(host, Device { max, ..GOOD }, 3, options()).verdict;
        let floor = |reason: &iolite_model::Reason| reason.what == "random write 8 KiB, throughput";
        verdict.reasons.into_iter().find(floor).unwrap().fitness
    };
    assert_eq!([floor_of(busy, 600.0), floor_of(&idle, 600.0)], [Fitness::Unfit; 2]);
    assert_eq!([floor_of(busy, 1_900.0), floor_of(&idle, 1_900.0)], [Fitness::Marginal, Fitness::Unfit]);
    for seed in 0..simulations() {
        let verdict = whole_check(busy, GOOD, seed, options()).verdict;
        assert_ne!(verdict.fitness, Fitness::Unfit, "{verdict:#?}");
    }
}

/// On a host without CPUs left, a rate that no depth changes is the host's.
#[test]
fn a_plateau_of_the_load_generator_is_no_throttle() {
    let device = Device { max: 1_000.0, ..GOOD };
    let caps = |host: Host<'_>| {
        let warnings = whole_check(host, device, 3, options()).warnings;
        let caps = warnings.iter().filter(|warning| matches!(warning, Warning::Capped { .. }));
        caps.map(ToString::to_string).collect::<Vec<_>>()
    };
    let throttled = caps(&idle);
    assert!(throttled.len() == 1 && throttled[0].contains("at every queue depth"), "{throttled:?}");
    assert_eq!(caps(&|task| runs(task, 0.99)), [""; 0]);
}

/// What makes the verdict marginal that is not the storage, with this use of the CPU in the phases of this name.
fn limited(named: &str, using: impl Fn(&Task) -> GeneratorUse) -> Option<String> {
    let host = |task: &Task| if task.name() == named { using(task) } else { idle(task) };
    let (verdict, _) = check_on(&host, GOOD, 1, options());
    let found = verdict.reasons.iter().find(|reason| reason.what == "load generator");
    assert_eq!(
        verdict.fitness,
        if found.is_some() { Fitness::Marginal } else { Fitness::Fit },
        "{verdict:#?}"
    );
    found.map(|reason| reason.measured.clone())
}

#[test]
fn a_layout_bound_by_cpu_does_not_cap_the_verdict() {
    assert_eq!(limited("sequential write 1 MiB", |task| runs(task, 0.99)), None);
    assert!(limited("sequential write 1 MiB", |task| waits(task, 0.4)).is_some());
    assert!(limited("RanIO 50 %", |task| runs(task, 0.99)).is_some());
}

/// Each is over in less than a second, in which the counters of CPU time are too coarse.
#[test]
fn a_generator_bound_by_cpu_in_the_windows_of_a_criterion_caps_the_verdict() {
    for name in ["random read 8 KiB, at the knee", "commit, buffered append", "random write 8 KiB"] {
        let said = limited(name, |task| runs(task, 0.99));
        assert!(
            said.as_ref().is_some_and(|said| said.contains(name) && said.contains("99 % of a CPU")),
            "{said:?}"
        );
        assert_eq!(limited(name, |task| runs(task, 0.9)), None);
    }
}

/// Fast flash takes all of a CPU at depths beyond those that are judged.
#[test]
fn steps_of_a_search_beyond_the_knee_do_not_cap_the_verdict_whatever_the_cpu() {
    let name = "random read 8 KiB";
    let from = |depth| {
        move |task: &Task| {
            let busy = task.concurrency() >= depth;
            // As long as a step of a check that has more time.
            let long = GeneratorUse { observed: Nanos::SECOND, ..idle(task) };
            GeneratorUse { busiest_cpu: Nanos(if busy { 990_000_000 } else { 0 }), ..long }
        }
    };
    assert_eq!(limited(name, from(8)), None);
    assert!(limited(name, from(1)).is_some());
    // What was done at that depth is the least that the storage does.
    let slow = Device { max: 1_500.0, service: 1_000e3, channels: 8, ..GOOD };
    let judged = |host: Host<'_>| {
        let (verdict, _) = check_on(host, slow, 1, options());
        let capacity = verdict.reasons.into_iter().find(|reason| reason.what.contains("capacity"));
        capacity.unwrap()
    };
    let (alone, bound) =
        (judged(&idle), judged(&|task| if task.name() == name { from(1)(task) } else { idle(task) }));
    assert_eq!((alone.fitness, bound.fitness), (Fitness::Unfit, Fitness::Marginal), "{alone:?} {bound:?}");
    assert!(says(&bound, "the storage may do more"), "{bound:?}");
}

/// Whether a reservation of a reason contains this text.
fn says(reason: &iolite_model::Reason, text: &str) -> bool {
    reason.reservations.iter().any(|why| why.contains(text))
}

#[test]
fn sessions_that_wait_for_each_other_in_the_search_do_not_cap_the_verdict() {
    let uses: [&dyn Fn(&Task) -> GeneratorUse; 2] = [&|task| waits(task, 0.4), &|task| runs(task, 0.99)];
    for using in uses {
        assert_eq!(limited("RanRead", using), None);
        assert!(limited("RanRead, at the knee", using).is_some());
    }
}

/// The faster the device, the sooner the data file is written: that is no reason against it.
#[test]
fn a_device_that_writes_its_data_file_at_once_is_judged_by_it() {
    for (space, judged) in [(Bytes(4 << 30), true), (Bytes(1 << 30), true), (Bytes(128 << 20), false)] {
        let fast = Device { bandwidth: (f64::INFINITY, 2e9), service: 100e3, max: 400_000.0, ..GOOD };
        let (verdict, _) = check(fast, 1, CheckOptions { space, ..options() });
        let floor = |reason: &&iolite_model::Reason| reason.what == "sequential write 1 MiB, throughput";
        let reason = verdict.reasons.iter().find(floor).unwrap();
        assert_eq!(reason.measured.starts_with("not judged"), !judged, "{space}: {reason:?}");
    }
}

/// One window in which a thread waited for the kernel's own threads decides nothing; one that was short of CPUs does.
#[test]
fn a_short_wait_for_a_cpu_caps_nothing_and_spares_what_it_explains() {
    let slow = DEVICES.iter().find(|device| device.name == "slow commits").unwrap();
    let just_slow = Device { sync: 10e6, ..GOOD };
    let verdicts = |host: Host<'_>| {
        [GOOD, just_slow, *slow].map(|device| check_on(host, device, 1, options()).0.fitness)
    };
    let in_commits = |share| {
        move |task: &Task| {
            if task.name() == "commit, buffered overwrite" { waits(task, share) } else { idle(task) }
        }
    };
    let [fit, marginal, unfit] = [Fitness::Fit, Fitness::Marginal, Fitness::Unfit];
    assert_eq!(verdicts(&idle), [fit, unfit, unfit]);
    assert_eq!(verdicts(&in_commits(0.06)), [fit, marginal, unfit]);
    // The database's commits, which waited for nothing, are too slow by themselves.
    assert_eq!(verdicts(&in_commits(0.4)), [marginal, marginal, unfit]);
    assert_eq!(verdicts(&|task| waits(task, 0.4)), [marginal; 3]);
}

/// A file system without barriers acknowledges commits that are in the device's cache.
#[test]
fn commits_that_do_not_reach_the_medium_are_never_fit() {
    let check = |flushes, options: CheckOptions| check(Device { flushes, ..GOOD }, 4, options);
    let warned = |warnings: &[Warning]| {
        warnings
            .iter()
            .any(|warning| matches!(warning, Warning::FewSyncs { counter, .. } if counter == "device"))
    };
    let (verdict, warnings) = check(0.01, options());
    assert_eq!((verdict.fitness, warned(&warnings)), (Fitness::Marginal, true), "{verdict:#?}");
    assert!(verdict.reasons.iter().any(|reason| reason.what == "flushes"), "{verdict:#?}");
    // Two flushes for a commit of the journal; none where the device has no cache that could be lost.
    for (flushes, needed) in [(2.0, true), (0.0, false)] {
        let (verdict, warnings) = check(flushes, CheckOptions { flushes: needed, ..options() });
        assert_eq!((verdict.fitness, warned(&warnings)), (Fitness::Fit, false), "{verdict:#?}");
    }
}
