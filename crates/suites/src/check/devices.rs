//! The verdict on simulated devices of known character, over seeds. The table in docs/statistics.md:
//! `IOLITE_SIMULATIONS=300 cargo test --release -p iolite-suites devices -- --nocapture`

mod simulated;

use iolite_model::{Fitness, Verdict};

use super::*;
use crate::phase_warnings::phase_warnings;
use simulated::{DEVICES, Device, GOOD, Simulation};

/// The verdict of a whole check, and its warnings.
fn check(device: Device, seed: u64, options: CheckOptions) -> (Verdict, Vec<Warning>) {
    check_on(&[], device, seed, options)
}

/// The same on a host of which these warnings are true.
fn check_on(host: &[Warning], device: Device, seed: u64, options: CheckOptions) -> (Verdict, Vec<Warning>) {
    let mut check = Check::new(CheckOptions { seed, ..options }).unwrap();
    let mut simulation = Simulation::new(device, seed + 1);
    let (mut history, mut warnings) = (Vec::new(), host.to_vec());
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
                check.take_note(&warnings);
                history.push(result);
            }
            Step::Prepare(_) => simulation.now += 1e9,
            Step::Done(conclusions) => {
                warnings.extend(conclusions.warnings);
                return (conclusions.verdict.unwrap(), warnings);
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

/// A host whose CPUs are busy otherwise makes any storage look slow: it is neither fit nor unfit. Errors stay what they are.
#[test]
fn on_a_busy_host_slow_storage_is_marginal_with_the_reason() {
    for limit in [iolite_model::HostLimit::RunQueue(0.4), iolite_model::HostLimit::Steal(0.2)] {
        let busy = [Warning::GeneratorLimited { phase: "random read".into(), layout: false, limit }];
        for device in DEVICES.iter().filter(|device| device.error_every == 0) {
            let (verdict, _) = check_on(&busy, *device, 1, options());
            assert_eq!(verdict.fitness, Fitness::Marginal, "{}: {verdict:#?}", device.name);
            let said = verdict.reasons.iter().any(|reason| says(reason, "repeat on an idle host"));
            let idle = check(*device, 1, options()).0.fitness;
            assert_eq!(said, idle == Fitness::Unfit, "{}: {verdict:#?}", device.name);
        }
        let failing = DEVICES.iter().find(|device| device.error_every > 0).unwrap();
        assert_eq!(check_on(&busy, *failing, 1, options()).0.fitness, Fitness::Unfit);
    }
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

#[test]
fn a_layout_bound_by_cpu_does_not_cap_the_verdict() {
    let limited = |layout| {
        let limit = iolite_model::HostLimit::CpuBound(0.99);
        vec![Warning::GeneratorLimited { phase: "sequential write 1 MiB".into(), layout, limit }]
    };
    let judged = |warnings: Vec<Warning>| {
        let mut check = Check::new(options()).unwrap();
        check.take_note(&warnings);
        check.beside.len()
    };
    assert_eq!((judged(limited(true)), judged(limited(false))), (0, 1));
}

/// Whether a reservation of a reason contains this text.
fn says(reason: &iolite_model::Reason, text: &str) -> bool {
    reason.reservations.iter().any(|why| why.contains(text))
}

#[test]
fn sessions_that_wait_for_each_other_in_the_search_do_not_cap_the_verdict() {
    let noted = |phase: &str, limit| {
        let mut check = Check::new(options()).unwrap();
        check.take_note(&[Warning::GeneratorLimited { phase: phase.into(), layout: false, limit }]);
        check.beside.len()
    };
    use iolite_model::HostLimit::{CpuBound, RunQueue, Steal};
    for (limit, in_search) in [(RunQueue(0.4), 0), (CpuBound(0.99), 0), (Steal(0.1), 1)] {
        assert_eq!((noted("RanRead", limit), noted("RanRead, at the knee", limit)), (in_search, 1));
        assert_eq!(noted("random read 8 KiB", limit), 1);
    }
}

/// The windows of commits are over in less than a second, and a stall every two seconds may fall between them.
#[test]
fn stalls_between_the_windows_of_a_hurried_check_are_seen_in_its_other_phases() {
    let etcd = CheckOptions { profile: crate::profiles::built_in("etcd").unwrap(), ..hurried() };
    let stalling = Device { stalls: Some((2e9, 0.1e9)), ..GOOD };
    let mut elsewhere = 0;
    for seed in 0..12 {
        let (verdict, _) = check(stalling, seed, etcd.clone());
        assert_ne!(verdict.fitness, Fitness::Fit, "seed {seed}: {verdict:#?}");
        elsewhere += usize::from(verdict.reasons.iter().any(|reason| says(reason, "s of this check")));
        assert_eq!(check(GOOD, seed, etcd.clone()).0.fitness, Fitness::Fit, "seed {seed}");
    }
    assert!(elsewhere > 0, "the windows themselves have met a stall every time");
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
fn a_short_wait_for_a_cpu_caps_nothing_and_spares_what_is_slow() {
    let waited = |share| {
        let limit = iolite_model::HostLimit::RunQueue(share);
        [Warning::GeneratorLimited { phase: "commit, buffered append".into(), layout: false, limit }]
    };
    let slow = DEVICES.iter().find(|device| device.name == "slow commits").unwrap();
    let verdict = |device: Device, share| check_on(&waited(share), device, 1, options()).0.fitness;
    assert_eq!((verdict(GOOD, 0.06), verdict(*slow, 0.06)), (Fitness::Fit, Fitness::Marginal));
    assert_eq!((verdict(GOOD, 0.12), verdict(*slow, 0.12)), (Fitness::Marginal, Fitness::Marginal));
}
