//! How often a comparison of sets of runs is wrong, and how often it finds what is there: simulated devices, whole runs, all figures.

use iolite_model::{
    Bytes, Cache, Ending, Event, FileTarget, FileTask, Host, Interval, Nanos, OpKind, OpTotals, Outstanding,
    PhaseEnd, PhaseInfo, RunId, RunInfo, Stage, Storage, Target, Task,
};
use iolite_stats::Histogram;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::figures::Figure;
use super::{Comparison, DEFAULT_DETECT, Finding};
use crate::run::Run;

const SECOND: u64 = 1_000_000_000;

/// Intervals of a run.
const INTERVALS: u64 = 30;

/// Operations of an interval of a device at its usual level.
const OPERATIONS: f64 = 100.0;

/// Runs of each side that are measured first.
const FIRST: u32 = 5;

/// Simulations of each case. The figures in docs/statistics.md: 1,000, by `.ci/totals simulations`.
fn simulations() -> u64 {
    std::env::var("IOLITE_SIMULATIONS").ok().and_then(|runs| runs.parse().ok()).unwrap_or(20)
}

/// Three standard errors of a share in this number of simulations, in percent.
fn tolerance(share: f64, count: u64) -> f64 {
    300.0 * (share * (1.0 - share) / count as f64).sqrt()
}

/// A device whose rate varies within a run (AR(1), standard deviation 5 %), between runs, and moves on from run to run.
#[derive(Debug, Clone, Copy)]
struct Kind {
    /// Correlation of an interval with the one before it.
    correlation: f64,
    /// Standard deviation of the logarithm of a run's level.
    between: f64,
    /// Standard deviation of the step of the level from each run to the next, which nothing brings back.
    drift: f64,
    /// What the logarithm of the level rises by from each run to the next.
    trend: f64,
}

struct Device {
    kind: Kind,
    rng: Xoshiro256PlusPlus,
    level: f64,
    runs: u64,
}

impl Device {
    fn new(kind: Kind, seed: u64) -> Device {
        Device { kind, rng: Xoshiro256PlusPlus::seed_from_u64(seed), level: 0.0, runs: 0 }
    }

    /// A sum of twelve uniforms: standard normal enough.
    fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.rng.random::<f64>()).sum::<f64>() - 6.0
    }

    /// The next run, `faster` times as fast.
    fn run(&mut self, faster: f64) -> Run {
        let Kind { correlation, between, drift, trend } = self.kind;
        self.level += trend + drift * self.normal();
        let level = faster * (self.level + between * self.normal()).exp();
        let mut state = self.normal();
        let step = (1.0 - correlation * correlation).sqrt();
        self.runs += 1;
        let file = FileTarget {
            name: "data".into(),
            size: Bytes(1 << 20),
            create: true,
            preallocate: false,
            per_worker: false,
        };
        let task = Task::File(FileTask {
            name: "reads".into(),
            target: Target::File(file),
            interval: Nanos(SECOND),
            ..FileTask::default()
        });
        let mut events = vec![
            Event::RunStarted(Box::new(info(self.runs))),
            Event::PhaseStarted(PhaseInfo { index: 0, task, started: Nanos(0) }),
        ];
        for second in 0..INTERVALS {
            state = correlation * state + step * self.normal();
            let speed = level * (1.0 + 0.05 * state).max(0.1);
            events.push(Event::Interval(self.interval(second, speed)));
        }
        events.push(Event::PhaseEnded(ended()));
        Run::of(&events).unwrap()
    }

    /// A second of a closed loop: operations and response times by the device's speed.
    fn interval(&mut self, second: u64, speed: f64) -> Interval {
        let operations = (OPERATIONS * speed).round().max(1.0) as u64;
        let (mut response, mut sum) = (Histogram::new(), 0);
        for _ in 0..operations {
            let exponential: f64 = -(1.0 - self.rng.random::<f64>()).ln();
            let nanos = ((0.5 + 0.5 * exponential) * SECOND as f64 / OPERATIONS / speed) as u64;
            response.record(nanos);
            sum += nanos;
        }
        let op = OpTotals {
            kind: OpKind::Read,
            operations,
            bytes: 4096 * operations,
            errors: 0,
            response_sum: Nanos(sum),
            delay_sum: Nanos(0),
            response_max: response.max(),
            response: response.encode(),
            service: response.encode(),
        };
        let (start, length) = (Nanos(second * SECOND), Nanos(SECOND));
        Interval { phase: 0, start, length, stage: Stage::Measured, ops: vec![op] }
    }

    /// Further pairs in random order: the run before and the one after of each.
    fn pairs(&mut self, count: u32, faster: f64) -> (Vec<Run>, Vec<Run>) {
        let pair = |_| match self.rng.random::<bool>() {
            true => (self.run(1.0), self.run(faster)),
            false => {
                let after = self.run(faster);
                (self.run(1.0), after)
            }
        };
        (0..count).map(pair).unzip()
    }
}

fn info(number: u64) -> RunInfo {
    RunInfo {
        id: RunId(format!("{number}")),
        version: "1".into(),
        model_version: iolite_model::MODEL_VERSION,
        command: Vec::new(),
        started_unix: Nanos(60 * SECOND * number),
        process: 1,
        host: Host::default(),
        storage: Storage::default(),
    }
}

fn ended() -> PhaseEnd {
    PhaseEnd {
        phase: 0,
        ending: Ending::Completed,
        measured: Nanos(INTERVALS * SECOND),
        outstanding: Outstanding::default(),
        cache: Cache {
            requested_read: Bytes(1 << 20),
            device_read: Some(Bytes(1 << 20)),
            ..Cache::default()
        },
        errors: Vec::new(),
        stuck: Vec::new(),
        rate: None,
        verified: None,
    }
}

fn compared(before: &[Run], after: &[Run]) -> Comparison {
    let (before, after): (Vec<_>, Vec<_>) = (before.iter().collect(), after.iter().collect());
    Comparison::of(&before, &after, DEFAULT_DETECT).unwrap()
}

fn differs(comparison: &Comparison) -> bool {
    comparison.all().any(|(_, figure)| figure.finding != Finding::NoDifferenceShown)
}

/// Whether the rate is found to be better: the difference is in it.
fn finds(comparison: &Comparison) -> bool {
    let rate = comparison.all().find(|(_, figure)| figure.figure == Figure::Rate);
    rate.is_some_and(|(_, figure)| figure.finding == Finding::Better)
}

/// Outcomes of one case.
#[derive(Debug, Default)]
struct Counted {
    /// Equal pairs that differ.
    wrong: u64,
    /// Equal sets, one after the other, that differ.
    in_sequence: u64,
    /// True differences of 5 % found with the runs asked for.
    found: u64,
    /// Runs of each side that this took.
    runs: u64,
}

fn simulate(kind: Kind, count: u64) -> Counted {
    let mut counted = Counted::default();
    for seed in 0..count {
        let mut device = Device::new(kind, seed);
        let (before, after) = device.pairs(FIRST, 1.0);
        counted.wrong += u64::from(differs(&compared(&before, &after)));
        let set = |device: &mut Device| (0..FIRST).map(|_| device.run(1.0)).collect::<Vec<_>>();
        let (before, after) = (set(&mut device), set(&mut device));
        counted.in_sequence += u64::from(differs(&compared(&before, &after)));
        let (mut before, mut after) = device.pairs(FIRST, 1.0 + DEFAULT_DETECT);
        let mut comparison = compared(&before, &after);
        if let Some(asked) = comparison.repeats {
            let (more_before, more_after) = device.pairs(asked - FIRST, 1.0 + DEFAULT_DETECT);
            before.extend(more_before);
            after.extend(more_after);
            comparison = compared(&before, &after);
        }
        counted.found += u64::from(finds(&comparison));
        counted.runs += before.len() as u64;
    }
    counted
}

#[test]
fn equal_sets_seldom_differ_and_the_repeats_asked_for_find_a_difference() {
    let count = simulations();
    for (correlation, between, drift) in [
        (0.0, 0.0, 0.0),
        (0.5, 0.02, 0.0),
        (0.5, 0.02, 0.02),
        (0.9, 0.02, 0.02),
        (0.5, 0.02, 0.05),
        (0.5, 0.05, 0.0),
    ] {
        let counted = simulate(Kind { correlation, between, drift, trend: 0.0 }, count);
        let share = |of: u64| 100.0 * of as f64 / count as f64;
        let [wrong, in_sequence, found] = [counted.wrong, counted.in_sequence, counted.found].map(share);
        let runs = counted.runs as f64 / count as f64;
        println!(
            "simulated: {correlation} | {between} | {drift} | {wrong:.1} | {in_sequence:.1} | {found:.1} | {runs:.1}"
        );
        let case = format!("{correlation} {between} {drift}");
        assert!(wrong <= 5.0 + tolerance(0.05, count), "{case}: {wrong:.1} % false");
        assert!(found >= 90.0 - tolerance(0.1, count), "{case}: {found:.1} % found");
    }
}

/// Equal sets in turns, of a device whose level rises steadily: the one before always first, and in random order.
#[test]
fn a_steady_trend_is_seldom_a_difference_in_a_fixed_or_a_random_order() {
    let count = simulations();
    for (trend, pairs) in [(0.02, FIRST), (0.05, FIRST), (0.02, 12), (0.05, 12)] {
        let kind = Kind { correlation: 0.5, between: 0.02, drift: 0.0, trend };
        let (mut fixed, mut random) = (0, 0);
        for seed in 0..count {
            let mut device = Device::new(kind, seed);
            let in_turn = (0..pairs).map(|_| (device.run(1.0), device.run(1.0)));
            let (before, after): (Vec<_>, Vec<_>) = in_turn.unzip();
            fixed += u64::from(differs(&compared(&before, &after)));
            let (before, after) = device.pairs(pairs, 1.0);
            random += u64::from(differs(&compared(&before, &after)));
        }
        let [fixed, random] = [fixed, random].map(|of| 100.0 * of as f64 / count as f64);
        println!("simulated trend: {trend} | {pairs} | {fixed:.1} | {random:.1}");
        for wrong in [fixed, random] {
            assert!(wrong <= 5.0 + tolerance(0.05, count), "{trend} {pairs}: {wrong:.1} % false");
        }
    }
}
