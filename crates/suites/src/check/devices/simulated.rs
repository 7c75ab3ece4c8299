//! Simulated devices of known character: what a check would measure on them.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{LazyLock, Mutex, PoisonError};

use rand::{RngExt, SeedableRng};
use rand_distr::{Exp1, StandardNormal};
use rand_xoshiro::Xoshiro256PlusPlus;

use iolite_model::{Bytes, Cache, Fitness, Nanos, OpKind, PhaseEnd, PhaseInfo, Target, Task};
use iolite_stats::{Collector, Completion, PhaseResult, Timetable, recorder};

/// A device in numbers. Times in nanoseconds.
#[derive(Debug, Clone, Copy)]
pub(super) struct Device {
    pub(super) name: &'static str,
    pub(super) expected: &'static [Fitness],
    /// Mean time of a read or a write of 8 KiB, with a log-normal spread of so much.
    pub(super) service: f64,
    pub(super) spread: f64,
    /// Operations served side by side.
    pub(super) channels: usize,
    /// Operations per second at most.
    pub(super) max: f64,
    /// Writes per second at most, those of commits among them.
    pub(super) writes: f64,
    /// Bytes per second at most, of reads and of writes.
    pub(super) bandwidth: (f64, f64),
    /// Time of a sync.
    pub(super) sync: f64,
    /// Time of the write into the page cache before each sync.
    pub(super) buffered: f64,
    /// Every so long nothing is served for so long.
    pub(super) stalls: Option<(f64, f64)>,
    /// At random instants, so far apart on average, nothing is served for so long.
    pub(super) hiccups: Option<(f64, f64)>,
    /// After so many operations only so many per second are served.
    pub(super) credits: Option<(u64, f64)>,
    /// One in so many operations fails.
    pub(super) error_every: u64,
    /// How much a neighbour slows the device down, at most, for seconds at a time; its reads are seen by the counters.
    pub(super) neighbour: f64,
    /// Whether the neighbour's I/O is distinguished from this program's.
    pub(super) accounted: bool,
    /// Bytes that a neighbour writes during each phase.
    pub(super) written_beside: u64,
    /// How much slower the database layer is.
    pub(super) database: f64,
    /// Reads come out of a cache that the counters see.
    pub(super) cached: bool,
    /// Flushes of its cache for each sync.
    pub(super) flushes: f64,
}

pub(super) const GOOD: Device = Device {
    name: "good flash",
    expected: &[Fitness::Fit],
    service: 700e3,
    spread: 0.25,
    channels: 4,
    max: 5_000.0,
    writes: f64::INFINITY,
    bandwidth: (f64::INFINITY, f64::INFINITY),
    sync: 800e3,
    buffered: 0.0,
    stalls: None,
    hiccups: None,
    credits: None,
    error_every: 0,
    neighbour: 0.0,
    accounted: false,
    written_beside: 0,
    database: 1.0,
    cached: false,
    flushes: 1.0,
};

pub(super) const DEVICES: [Device; 10] = [
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

/// Phases that have been simulated, by what they follow from ([`Simulation::path`]). Many tests ask how a check judges the same
/// device on another host, which changes nothing of what the device does.
static SIMULATED: LazyLock<Mutex<Simulated>> = LazyLock::new(Mutex::default);

#[derive(Default)]
struct Simulated {
    phases: HashMap<u64, (PhaseResult, Simulation)>,
    /// Their keys, the oldest first.
    order: VecDeque<u64>,
}

impl Simulated {
    /// Phases kept, those of some twenty checks.
    const KEPT: usize = 1000;

    fn keep(&mut self, result: &PhaseResult, after: &Simulation) {
        if self.phases.insert(after.path, (result.clone(), after.clone())).is_none() {
            self.order.push_back(after.path);
        }
        if self.order.len() > Self::KEPT
            && let Some(oldest) = self.order.pop_front()
        {
            self.phases.remove(&oldest);
        }
    }
}

/// A device in use, with what has come before.
#[derive(Clone)]
pub(super) struct Simulation {
    device: Device,
    /// Hash of all that the state follows from: the device, the seed, and the tasks so far, each with its start.
    path: u64,
    dice: Xoshiro256PlusPlus,
    /// Time since the start of the check.
    pub(super) now: f64,
    served: u64,
    /// When the next operation may begin, by the throttle.
    gate: f64,
    slow: (f64, f64),
    /// When the next hiccup begins.
    hiccup: f64,
}

impl Simulation {
    pub(super) fn new(device: Device, seed: u64) -> Simulation {
        let dice = Xoshiro256PlusPlus::seed_from_u64(seed);
        Simulation { device, path: seed, dice, now: 0.0, served: 0, gate: 0.0, slow: (0.0, 1.0), hiccup: 0.0 }
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
        if let Some((apart, length)) = device.hiccups {
            start = self.after_hiccup(start, apart, length);
        }
        self.gate = start + 1e9 / max;
        if device.neighbour > 0.0 && start > self.slow.0 {
            self.slow = (start + 1e9, 1.0 + device.neighbour * self.dice.random::<f64>());
        }
        start + mean * self.slow.1 * (device.spread * self.dice.sample::<f64, _>(StandardNormal)).exp()
    }

    /// When an operation begins that is ready at `start`: it waits for the end of a hiccup, and the next one is drawn.
    fn after_hiccup(&mut self, start: f64, apart: f64, length: f64) -> f64 {
        while self.hiccup + length < start {
            self.hiccup += length + apart * self.dice.sample::<f64, _>(Exp1);
        }
        if start < self.hiccup { start } else { self.hiccup + length }
    }

    /// What came of a task.
    pub(super) fn phase(&mut self, index: u32, task: &Task) -> PhaseResult {
        let mut hasher = DefaultHasher::new();
        format!("{} {} {:?} {index} {task:?}", self.path, self.now.to_bits(), self.device).hash(&mut hasher);
        self.path = hasher.finish();
        let simulated = || SIMULATED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((result, after)) = simulated().phases.get(&self.path) {
            *self = after.clone();
            return result.clone();
        }
        let result = self.simulate(index, task);
        simulated().keep(&result, self);
        result
    }

    fn simulate(&mut self, index: u32, task: &Task) -> PhaseResult {
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
                    let before = if kind == OpKind::Sync { device.buffered as u64 } else { 0 };
                    let intended = (intended + before).min(completed);
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
        let mut result = super::super::tests::empty(task.clone());
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
            device_flushes: Some((totals.operations(OpKind::Sync) as f64 * self.device.flushes) as u64),
            own_read: self.device.accounted.then_some(read),
            own_written: self.device.accounted.then_some(written),
            synchronised: true,
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
            (&[OpKind::Write, OpKind::Sync, OpKind::Commit], device.buffered + device.sync)
        }
        Task::File(file) if file.durability.open.is_some() => (&[OpKind::Write], device.sync),
        Task::File(file) if file.mix.writes() => (&[OpKind::Write], device.service),
        Task::Database(task) if !matches!(task.operation, iolite_model::DbOperation::RanRead) => {
            (&[OpKind::Write, OpKind::Commit], device.sync)
        }
        _ => (&[OpKind::Read], device.service),
    }
}
