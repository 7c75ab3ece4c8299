//! The verdict on simulated devices of known character, over seeds. The table in docs/statistics.md:
//! `IOLITE_SIMULATIONS=300 cargo test --release -p iolite-suites devices -- --nocapture`

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use rand::{RngExt, SeedableRng};
use rand_distr::{Exp1, StandardNormal};
use rand_xoshiro::Xoshiro256PlusPlus;

use iolite_model::{Cache, Fitness, OpKind, PhaseEnd, PhaseInfo, Target, Verdict};
use iolite_stats::{Collector, Completion, Timetable, recorder};

use super::*;
use crate::phase_warnings::phase_warnings;

/// A device in numbers. Times in nanoseconds.
#[derive(Clone, Copy)]
struct Device {
    name: &'static str,
    expected: &'static [Fitness],
    /// Mean time of a read or a write of 8 KiB, with a log-normal spread of so much.
    service: f64,
    spread: f64,
    /// Operations served side by side.
    channels: usize,
    /// Operations per second at most.
    max: f64,
    /// Writes per second at most, those of commits among them.
    writes: f64,
    /// Bytes per second at most, of reads and of writes.
    bandwidth: (f64, f64),
    /// Time of a sync.
    sync: f64,
    /// Every so long nothing is served for so long.
    stalls: Option<(f64, f64)>,
    /// After so many operations only so many per second are served.
    credits: Option<(u64, f64)>,
    /// One in so many operations fails.
    error_every: u64,
    /// How much a neighbour slows the device down, at most, for seconds at a time; its reads are seen by the counters.
    neighbour: f64,
    /// Whether the neighbour's I/O is distinguished from this program's.
    accounted: bool,
    /// Bytes that a neighbour writes during each phase.
    written_beside: u64,
    /// How much slower the database layer is.
    database: f64,
    /// Reads come out of a cache that the counters see.
    cached: bool,
}

const GOOD: Device = Device {
    name: "good flash",
    expected: &[Fitness::Fit],
    service: 700e3,
    spread: 0.25,
    channels: 4,
    max: 5_000.0,
    writes: f64::INFINITY,
    bandwidth: (f64::INFINITY, f64::INFINITY),
    sync: 800e3,
    stalls: None,
    credits: None,
    error_every: 0,
    neighbour: 0.0,
    accounted: false,
    written_beside: 0,
    database: 1.0,
    cached: false,
};

const DEVICES: [Device; 10] = [
    GOOD,
    Device { name: "flash with stalls", expected: &[Fitness::Unfit], stalls: Some((0.7e9, 0.15e9)), ..GOOD },
    Device { name: "throttled", expected: &[Fitness::Unfit], max: 1_000.0, ..GOOD },
    Device {
        name: "burst credits",
        expected: &[Fitness::Unfit, Fitness::Marginal],
        credits: Some((25_000, 300.0)),
        ..GOOD
    },
    Device {
        name: "hard disk",
        expected: &[Fitness::Unfit],
        service: 8e6,
        spread: 0.4,
        channels: 1,
        sync: 12e6,
        ..GOOD
    },
    Device { name: "slow commits", expected: &[Fitness::Unfit], sync: 30e6, ..GOOD },
    Device { name: "cached", expected: &[Fitness::Marginal], cached: true, ..GOOD },
    Device { name: "failing", expected: &[Fitness::Unfit], error_every: 2_000, ..GOOD },
    Device { name: "noisy neighbour", expected: &[Fitness::Marginal], neighbour: 3.0, ..GOOD },
    Device { name: "slow database layer", expected: &[Fitness::Unfit], database: 12.0, ..GOOD },
];

/// A device in use, with what has come before.
struct Simulation {
    device: Device,
    dice: Xoshiro256PlusPlus,
    /// Time since the start of the check.
    now: f64,
    served: u64,
    /// When the next operation may begin, by the throttle.
    gate: f64,
    slow: (f64, f64),
}

impl Simulation {
    fn new(device: Device, seed: u64) -> Simulation {
        let dice = Xoshiro256PlusPlus::seed_from_u64(seed);
        Simulation { device, dice, now: 0.0, served: 0, gate: 0.0, slow: (0.0, 1.0) }
    }

    /// When an operation of so many bytes that may begin at `ready` is done, and when its channel is free.
    fn serve(&mut self, ready: f64, mean: f64, (writes, bytes): (bool, u64)) -> f64 {
        self.served += 1;
        let device = self.device;
        let max = match device.credits {
            Some((credits, after)) if self.served > credits => after,
            _ => device.max,
        };
        let (limit, bandwidth) =
            if writes { (device.writes, device.bandwidth.1) } else { (f64::INFINITY, device.bandwidth.0) };
        let max = max.min(limit).min(bandwidth / bytes as f64);
        let mut start = ready.max(self.gate);
        if let Some((every, length)) = device.stalls
            && start % (every + length) > every
        {
            start += every + length - start % (every + length);
        }
        self.gate = start + 1e9 / max;
        if device.neighbour > 0.0 && start > self.slow.0 {
            self.slow = (start + 1e9, 1.0 + device.neighbour * self.dice.random::<f64>());
        }
        start + mean * self.slow.1 * (device.spread * self.dice.sample::<f64, _>(StandardNormal)).exp()
    }

    /// What came of a task.
    fn phase(&mut self, index: u32, task: &Task) -> PhaseResult {
        let device = self.device;
        let runtime = task.stop().runtime.unwrap().0 as f64;
        let bytes_each = match task {
            Task::File(file) => file.block.0,
            _ => 8192,
        };
        let limit = task.stop().bytes.map_or(u64::MAX, |bytes| bytes.0 / bytes_each.max(1));
        let timetable = Timetable { ramp_end: 0, interval: 100_000_000, end: runtime as u64 };
        let (mut recorder, feed) = recorder(timetable, &OpKind::STANDARD);
        let mut collector = Collector::new(index, vec![feed]);
        let in_database = matches!(task, Task::Database(_));
        let factor = if in_database { device.database } else { 1.0 };
        let (kinds, mean) = kinds(&device, task);
        let writes = !kinds.contains(&OpKind::Read);
        let open = matches!(task, Task::File(file) if file.asked_rate().is_some());
        let slots = task.concurrency().clamp(1, 256) as usize;
        let rate =
            if let Task::File(file) = task { file.asked_rate().map_or(0.0, |rate| rate.0) } else { 0.0 };
        // Large blocks move faster than one channel would.
        let channels = if bytes_each > 65_536 { 1 } else { device.channels };
        let fast = (1e9..f64::INFINITY).contains(&device.bandwidth.1);
        let large = if fast { bytes_each as f64 / device.bandwidth.1 * 1e9 } else { 2.5e6 };
        let mean = factor * if bytes_each > 65_536 { large } else { mean };
        let begin = self.now;
        let mut arrivals: BinaryHeap<Reverse<u64>> =
            (0..if open { 1 } else { slots }).map(|_| Reverse(0)).collect();
        let mut free: BinaryHeap<Reverse<u64>> = (0..channels).map(|_| Reverse(0)).collect();
        let mut done = 0u64;
        let mut at_end = 0;
        while let Some(Reverse(intended)) = arrivals.pop() {
            if intended as f64 >= runtime || done >= limit {
                break;
            }
            if open {
                arrivals.push(Reverse(intended + (self.dice.sample::<f64, _>(Exp1) * 1e9 / rate) as u64 + 1));
            }
            let Reverse(channel) = free.pop().unwrap();
            let ready = begin + intended.max(channel) as f64;
            let completed = (self.serve(ready, mean, (writes, bytes_each)) - begin) as u64;
            free.push(Reverse(completed));
            if !open {
                arrivals.push(Reverse(completed));
            }
            if completed as f64 >= runtime {
                at_end += 1;
                continue;
            }
            done += 1;
            for &kind in kinds {
                if device.error_every > 0 && self.served.is_multiple_of(device.error_every) {
                    recorder.record_error(kind, completed);
                } else {
                    let bytes = bytes_each;
                    recorder.record(Completion { kind, intended, issued: intended, completed, bytes });
                }
            }
            if done.is_multiple_of(64) {
                collector.collect(intended);
            }
        }
        recorder.finish().iter().for_each(|left| collector.absorb(0, left));
        let measured = if done >= limit { self.now_in(&free, runtime) } else { runtime };
        let (_, _, totals) = collector.finish(0, measured as u64);
        self.now += measured + 0.1e9;
        self.result(index, task, totals, measured as u64, at_end)
    }

    /// When the last channel was free: the end of a phase that its bytes end.
    fn now_in(&self, free: &BinaryHeap<Reverse<u64>>, runtime: f64) -> f64 {
        free.iter().map(|channel| channel.0 as f64).fold(0.0, f64::max).min(runtime)
    }

    fn result(
        &self,
        index: u32,
        task: &Task,
        totals: iolite_stats::PhaseTotals,
        measured: u64,
        at_end: u64,
    ) -> PhaseResult {
        let mut result = super::tests::empty(task.clone());
        let read = Bytes(totals.bytes(OpKind::Read));
        let written = match task {
            Task::File(file) if file.mix.writes() => match &file.target {
                Target::File(target) if target.create => Bytes(totals.bytes(OpKind::Write)),
                _ => Bytes(0),
            },
            _ => Bytes(0),
        };
        let seen = if self.device.cached { 0.0 } else { 1.0 + self.device.neighbour / 2.0 };
        let cache = Cache {
            requested_read: read,
            requested_written: written,
            device_read: Some(Bytes((read.0 as f64 * seen) as u64)),
            device_written: Some(Bytes(written.0 + self.device.written_beside)),
            own_read: self.device.accounted.then_some(read),
            own_written: self.device.accounted.then_some(written),
            ..Cache::default()
        };
        let outstanding = iolite_model::Outstanding { at_end, ..iolite_model::Outstanding::default() };
        result.info = PhaseInfo { index, ..result.info };
        result.end = PhaseEnd { phase: index, measured: Nanos(measured), cache, outstanding, ..result.end };
        result.totals = totals;
        result
    }
}

fn kinds(device: &Device, task: &Task) -> (&'static [OpKind], f64) {
    match task {
        Task::File(file) if file.durability.sync.is_some() => {
            (&[OpKind::Write, OpKind::Sync, OpKind::Commit], device.sync)
        }
        Task::File(file) if file.durability.open.is_some() => (&[OpKind::Write], device.sync),
        Task::File(file) if file.mix.writes() => (&[OpKind::Write], device.service),
        Task::Database(task) if !matches!(task.operation, iolite_model::DbOperation::RanRead) => {
            (&[OpKind::Write, OpKind::Commit], device.sync)
        }
        _ => (&[OpKind::Read], device.service),
    }
}

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
