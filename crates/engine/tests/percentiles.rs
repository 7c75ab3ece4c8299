//! Percentiles against an independent log: every operation stamped once more, by another clock, outside the loop.

// Helpers of tests may give up as tests do.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stderr, clippy::print_stdout)]

mod sim;

use std::io;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use iolite_engine::{Backend, Completions, Control, Op, Submission, run_file_task_on};
use iolite_model::{Bytes, Event, FileTask, Nanos, OpKind, Quantile, Sink, Stage, Stop, Target};
use iolite_stats::Histogram;
use iolite_sys::clock::Clock;
use sim::{Sim, SimFaults, SimImage, SimLatency, SimParameters};

/// Every histogram counts a value in a bucket not wider than 1/1024 of it (three digits).
const STATED_ERROR: f64 = 1.0 / 1024.0;

/// How long each operation takes by the standard library's clock, in nanoseconds. The loop's own stamps lie between the two,
/// however often the machine turns to something else in between.
#[derive(Debug, Clone, Default)]
struct Log {
    /// From the call that submits it to the end of the one that reaps it.
    inner: Vec<u64>,
    /// From the end of the last reaping before it is submitted to the next call after it is reaped.
    outer: Vec<u64>,
}

/// Logs what passes through it.
struct Logged<B> {
    backend: B,
    /// When the last reaping was over.
    reaped: Instant,
    /// Of each slot in flight: when the reaping before it was over, and when it was submitted.
    in_flight: Vec<Option<[Instant; 2]>>,
    /// Beginnings of what was reaped last, from the outside.
    returned: Vec<Instant>,
    log: Arc<Mutex<Log>>,
}

impl<B> Logged<B> {
    /// The loop has its stamps of what was reaped.
    fn over(&mut self) {
        let now = Instant::now();
        let outer = self.returned.drain(..).map(|from| (now - from).as_nanos() as u64);
        self.log.lock().unwrap().outer.extend(outer);
    }
}

impl<B: Backend> Backend for Logged<B> {
    fn submit(&mut self, op: &Op) -> Submission {
        self.over();
        self.in_flight[op.slot as usize] = Some([self.reaped, Instant::now()]);
        self.backend.submit(op)
    }

    fn reap(&mut self, at_least: usize, timeout: Duration, out: &mut Completions) -> io::Result<()> {
        self.over();
        self.backend.reap(at_least, timeout, out)?;
        self.reaped = Instant::now();
        let mut log = self.log.lock().unwrap();
        for back in out.iter() {
            let [before, submitted] = self.in_flight[back.slot as usize].take().unwrap();
            self.returned.push(before);
            log.inner.push((self.reaped - submitted).as_nanos() as u64);
        }
        drop(log);
        Ok(())
    }

    fn buffer(&mut self, slot: u32) -> &mut [u8] {
        self.backend.buffer(slot)
    }
}

impl<B> Drop for Logged<B> {
    fn drop(&mut self) {
        self.over();
    }
}

#[derive(Default)]
struct Intervals(Vec<(Stage, Histogram)>);

impl Sink for Intervals {
    fn event(&mut self, event: &Event) {
        let Event::Interval(interval) = event else { return };
        for op in &interval.ops {
            assert_eq!(op.kind, OpKind::Read);
            self.0.push((interval.stage, Histogram::decode(&op.response).unwrap()));
        }
    }
}

/// The nearest-rank quantile of sorted values.
fn exact(sorted: &[u64], quantile: f64) -> f64 {
    let rank = (quantile * sorted.len() as f64).ceil().max(1.0) as usize;
    sorted[rank - 1] as f64
}

#[test]
fn percentiles_are_those_of_a_log_of_every_operation() {
    let log = Arc::new(Mutex::new(Log::default()));
    let task = FileTask {
        name: "logged".into(),
        target: Target::Null { size: Bytes::MIB },
        concurrency: 16,
        stop: Stop { operations: Some(60_000), ..Stop::default() },
        interval: Nanos(20_000_000),
        ..FileTask::default()
    };
    // From some 100 µs to some 10 ms: beyond what two readings of a clock differ by.
    let latency = SimLatency::LogNormal { median: Duration::from_micros(400), sigma: 0.8 };
    let noted = log.clone();
    let make = move |_, depth: u32| {
        let (faults, block) = (SimFaults::default(), 4096);
        let parameters =
            SimParameters { seed: 3, depth, block, latency, channels: None, faults, stall: None };
        Ok(Logged {
            backend: Sim::new(parameters, SimImage::new(1 << 20)),
            reaped: Instant::now(),
            in_flight: vec![None; depth as usize],
            returned: Vec::new(),
            log: noted.clone(),
        })
    };
    let mut intervals = Intervals::default();
    let clock = Clock::best();
    let outcome = run_file_task_on(&task, 0, clock, &Control::default(), &mut intervals, make).unwrap();
    let mut log = log.lock().unwrap().clone();
    log.inner.sort_unstable();
    log.outer.sort_unstable();
    assert_eq!((log.inner.len(), log.outer.len()), (60_000, 60_000));

    // The log has the drain's too, so that does what it is compared with.
    let mut all = Histogram::new();
    intervals.0.iter().for_each(|(_, histogram)| all.merge(histogram));
    assert_eq!(all.count(), 60_000);
    for quantile in [0.01, 0.1, 0.5, 0.9, 0.99, 0.999, 0.9999] {
        let reported = all.quantile(Quantile(quantile)).0 as f64;
        let [inner, outer] = [&log.inner, &log.outer].map(|sorted| exact(sorted, quantile));
        println!("{quantile}: {inner} to {outer}, reported {reported}");
        let between = inner * (1.0 - STATED_ERROR)..=outer * (1.0 + STATED_ERROR);
        assert!(between.contains(&reported), "{quantile}: reported {reported}, logged {inner} to {outer}");
    }
    let mut measured = Histogram::new();
    let in_time = intervals.0.iter().filter(|(stage, _)| *stage == Stage::Measured);
    in_time.for_each(|(_, histogram)| measured.merge(histogram));
    assert_eq!(
        Some(&measured),
        outcome.totals.response(OpKind::Read),
        "the totals are the sum of the intervals"
    );
}

/// The histogram alone against exact quantiles: within its stated error, wherever the values lie.
#[test]
fn a_histogram_keeps_its_stated_error() {
    let mut state = 1u64;
    let mut values: Vec<u64> = (0..200_000)
        .map(|_| {
            // Powers of two from 1 ns to an hour, a random number within each.
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let magnitude = 1u64 << ((state >> 58) % 42);
            magnitude + (state >> 20) % magnitude.max(1)
        })
        .map(|value| value.min(3_600_000_000_000))
        .collect();
    let mut histogram = Histogram::new();
    values.iter().for_each(|value| histogram.record(*value));
    values.sort_unstable();
    for step in 1..1000 {
        let quantile = f64::from(step) / 1000.0;
        let (exact, reported) = (exact(&values, quantile), histogram.quantile(Quantile(quantile)).0 as f64);
        assert!((reported - exact).abs() <= STATED_ERROR * exact + 1.0, "{quantile}: {reported} {exact}");
    }
}
