//! Rates, errors and hangs on simulated devices, whose truth is known.

// Helpers of tests may give up as tests do.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stderr)]

mod common;
mod sim;
#[path = "sim/tests.rs"]
mod sim_tests;

use std::time::Duration;

use iolite_engine::{Backend, Completions, Control, IoOp, Op, Outcome, Submission, run_file_task_on};
use iolite_model::{
    Arrival, Bandwidth, Bytes, Ending, ErrorClass, FileTask, Iops, Mix, Nanos, NullSink, OnError, OpKind,
    Quantile, SizeLaw, Sizes, Stop, Target, WeightedSize,
};
use iolite_sys::clock::Clock;

use common::undisturbed;
use sim::{Sim, SimFaults, SimImage, SimLatency, SimParameters, SimStall};

fn seconds(seconds: f64) -> Stop {
    Stop { runtime: Some(Nanos::from_secs_f64(seconds)), ..Stop::default() }
}

fn sim_task(span: u64, arrival: Arrival, stop: Stop) -> FileTask {
    let target = Target::Null { size: Bytes(span) };
    FileTask {
        name: "simulated".into(),
        target,
        concurrency: 32,
        arrival,
        stop,
        interval: Nanos(50_000_000),
        ..FileTask::default()
    }
}

const FAST: SimLatency = SimLatency::Constant(Duration::from_micros(50));

fn simulate(task: &FileTask, latency: SimLatency, faults: SimFaults, stall: Option<SimStall>) -> Outcome {
    let image = SimImage::new(task.target.size().0 as usize);
    let block = task.largest().0 as usize;
    let make = move |worker: u32, depth: u32| {
        let seed = u64::from(worker) + 5;
        let parameters = SimParameters { seed, depth, block, latency, channels: None, faults, stall };
        Ok(Sim::new(parameters, image.clone()))
    };
    let clock = Clock::best();
    run_file_task_on(task, 0, clock, &Control::default(), &mut NullSink, make).unwrap()
}

/// 4 s at 1,000 a second, of which 1 s in a stall: the operations meant for that second wait for what is left of it.
/// 25 % of all have waited, evenly from 0 to 1 s; the 99 % quantile is 0.96 s. A closed loop would see 32 slow ones.
#[test]
fn a_constant_rate_feels_a_stall_as_an_open_loop_client_would() {
    undisturbed(|| {
        let task = sim_task(1 << 20, Arrival::Constant(Iops(1000.0)), seconds(4.0));
        let stall = SimStall { at: Duration::from_millis(1500), length: Duration::from_secs(1) };
        let outcome = simulate(&task, FAST, SimFaults::default(), Some(stall));
        let quantile =
            |q| outcome.totals.response(OpKind::Read).unwrap().quantile(Quantile(q)).0 as f64 / 1e9;
        assert!((quantile(0.99) - 0.96).abs() < 0.04, "{}", quantile(0.99));
        assert!((quantile(0.9) - 0.6).abs() < 0.04, "{}", quantile(0.9));
        assert!(quantile(0.5) < 0.01);
        let service = outcome.totals.service(OpKind::Read).unwrap().quantile(Quantile(0.98)).0;
        assert!(service < 100_000_000, "what was issued after the stall was served at once: {service}");
        assert!(outcome.rate.unwrap().kept, "{:?}", outcome.rate);
    });
}

#[test]
fn a_rate_that_can_not_be_kept_is_reported() {
    undisturbed(|| {
        // 32 at once, 10 ms each: 3,200 a second.
        let slow = SimLatency::Constant(Duration::from_millis(10));
        for (arrival, kept) in [
            (Arrival::Constant(Iops(2000.0)), true),
            (Arrival::Poisson(Iops(2000.0)), true),
            (Arrival::Constant(Iops(5000.0)), false),
            (Arrival::Poisson(Iops(5000.0)), false),
            (Arrival::ConstantBytes(Bandwidth(2000.0 * 4096.0)), true),
            (Arrival::PoissonBytes(Bandwidth(5000.0 * 4096.0)), false),
        ] {
            let outcome =
                simulate(&sim_task(1 << 20, arrival, seconds(1.0)), slow, SimFaults::default(), None);
            let rate = outcome.rate.unwrap();
            assert_eq!(rate.kept, kept, "{arrival:?}: {rate:?}");
            if kept {
                assert!((rate.achieved.0 / 2000.0 - 1.0).abs() < 0.1, "{arrival:?}: {rate:?}");
            } else {
                assert!((rate.achieved.0 / 3200.0 - 1.0).abs() < 0.1, "{arrival:?}: {rate:?}");
                assert!((rate.backlog as f64 / 1800.0 - 1.0).abs() < 0.2, "{arrival:?}: {rate:?}");
            }
        }
        let closed =
            simulate(&sim_task(1 << 20, Arrival::Closed, seconds(0.1)), slow, SimFaults::default(), None);
        assert_eq!(closed.rate, None);
    });
}

#[test]
fn a_rate_is_kept_when_all_that_was_asked_has_been_issued() {
    let stop = Stop { operations: Some(100), ..Stop::default() };
    let task = sim_task(1 << 20, Arrival::Constant(Iops(1000.0)), stop);
    let stall = SimStall { at: Duration::from_millis(90), length: Duration::from_secs(1) };
    let outcome = simulate(&FileTask { concurrency: 64, ..task }, FAST, SimFaults::default(), Some(stall));
    let rate = outcome.rate.unwrap();
    assert!(rate.kept && rate.backlog == 0, "{rate:?}");
}

#[test]
fn a_rate_in_bytes_holds_with_mixed_sizes() {
    undisturbed(|| {
        let weighted = |size, percent| WeightedSize { size: Bytes(size), percent };
        let law = SizeLaw::Split(vec![weighted(4096, 75.0), weighted(65536, 25.0)]);
        for arrival in [Arrival::ConstantBytes(Bandwidth(50e6)), Arrival::PoissonBytes(Bandwidth(50e6))] {
            let mut task = sim_task(1 << 22, arrival, seconds(2.0));
            task.sizes = Some(Sizes::alike(law.clone(), Bytes(4096)));
            let outcome = simulate(&task, FAST, SimFaults::default(), None);
            let rate = outcome.totals.bytes(OpKind::Read) as f64 / 2.0;
            // About 5,100 operations: by chance alone the Poisson one deviates by some 2 %.
            let tolerance = if matches!(arrival, Arrival::ConstantBytes(_)) { 0.01 } else { 0.09 };
            assert!((rate / 50e6 - 1.0).abs() < tolerance, "{arrival:?}: {rate}");
        }
    });
}

#[test]
fn think_time_may_be_spent_busy() {
    undisturbed(|| {
        let cpu = || cpu_time();
        let think = |spin| Arrival::ThinkTime {
            pause: Nanos(20_000_000),
            operations: 1,
            io_time: Nanos(0),
            spin: Nanos(spin),
        };
        let mut spent = [0.0; 2];
        for (index, spin) in [0, 20_000_000].into_iter().enumerate() {
            let mut task = sim_task(1 << 20, think(spin), seconds(0.5));
            task.concurrency = 1;
            let before = cpu();
            let outcome = simulate(&task, FAST, SimFaults::default(), None);
            spent[index] = cpu() - before;
            let operations = outcome.totals.operations(OpKind::Read);
            assert!((18..=26).contains(&operations), "{operations} of about 25");
        }
        // Other tests of this program run meanwhile: only that much more is certain.
        assert!(spent[1] > 0.3, "{spent:?}");
    });
}

/// CPU time of this process, in seconds.
fn cpu_time() -> f64 {
    let text = std::fs::read_to_string("/proc/self/stat").unwrap();
    let fields: Vec<_> = text.rsplit(')').next().unwrap().split_whitespace().collect();
    let ticks: u64 = [11, 12].iter().map(|index| fields[*index].parse::<u64>().unwrap()).sum();
    ticks as f64 / 100.0
}

/// Data made up, and data compared, must not be recorded as the device's time: the other operations are on their way.
#[test]
fn what_the_program_does_with_data_is_not_service_time() {
    undisturbed(|| {
        let verify = iolite_model::Verify {
            check: iolite_model::Checksum::Sha256,
            unit: Bytes(0),
            reads: true,
            anyone: false,
            after: false,
            block: Bytes(0),
            ..iolite_model::Verify::default()
        };
        let mut task = sim_task(64 << 20, Arrival::Closed, Stop { operations: Some(200), ..Stop::default() });
        (task.block, task.concurrency, task.mix) = (Bytes::MIB, 16, Mix::ReadPercent(50));
        let at_once = SimLatency::Constant(Duration::ZERO);
        let median = |task: &FileTask| {
            let totals = simulate(task, at_once, SimFaults::default(), None).totals;
            totals.service(OpKind::Write).unwrap().quantile(Quantile(0.5)).0
        };
        let (plain, verified) = (median(&task), median(&FileTask { verify: Some(verify), ..task.clone() }));
        // A megabyte of SHA-256 is milliseconds in a debug build, sixteen of them tens of milliseconds; the device's own copying
        // of a megabyte is what both have.
        assert!(verified < 10 * plain + 3_000_000, "plain {plain} ns, verified {verified} ns");
    });
}

#[test]
fn an_error_that_ends_the_phase_leaves_whole_intervals() {
    for seed in 0..5 {
        let faults = SimFaults { error: 0.02, ..SimFaults::default() };
        let task = FileTask {
            seed,
            mix: Mix::Write,
            block: Bytes(64 << 10),
            interval: Nanos(10_000_000),
            errors: OnError::stop_always(),
            workers: 2,
            concurrency: 8,
            ..sim_task(1 << 20, Arrival::Closed, seconds(5.0))
        };
        let outcome = simulate(&task, FAST, faults, None);
        assert!(matches!(outcome.ending, Ending::Failed(_)), "{:?}", outcome.ending);
        let reported: f64 = outcome.totals.series.iter().map(|point| point.seconds).sum();
        assert!((reported - outcome.totals.measured as f64 / 1e9).abs() < 1e-6, "{reported}");
    }
}

#[test]
fn errors_are_reported_by_class_with_where_they_happened() {
    let faults = SimFaults { error: 0.1, short: 0.1, ..SimFaults::default() };
    let stop = Stop { operations: Some(2000), ..Stop::default() };
    let outcome = simulate(&sim_task(1 << 20, Arrival::Closed, stop), FAST, faults, None);
    let of = |class| outcome.errors.iter().find(|tally| tally.class == class).unwrap();
    for class in [ErrorClass::Device, ErrorClass::Short] {
        let tally = of(class);
        assert!((100..320).contains(&tally.count), "{tally:?}");
        assert_eq!((tally.kind, tally.first_offsets.len()), (OpKind::Read, 8));
        assert!(tally.first_offsets.iter().all(|offset| offset % 4096 == 0));
    }
    assert!(of(ErrorClass::Device).first.contains("Input/output error"));
    let counted: u64 = outcome.errors.iter().map(|tally| tally.count).sum();
    assert!(counted >= outcome.totals.errors(OpKind::Read));
}

#[test]
fn a_class_or_a_number_of_errors_ends_the_phase() {
    let faults = SimFaults { error: 0.01, error_number: 28, ..SimFaults::default() };
    for (on_error, ends) in [
        (OnError { stop: vec![ErrorClass::Space], ..OnError::default() }, true),
        (OnError { stop: vec![ErrorClass::Device], ..OnError::default() }, false),
        (OnError { stop: Vec::new(), max: Some(5), ..OnError::default() }, true),
        (OnError::default(), false),
    ] {
        let stop = Stop { operations: Some(20_000), ..Stop::default() };
        let task = FileTask { errors: on_error.clone(), ..sim_task(1 << 20, Arrival::Closed, stop) };
        let outcome = simulate(&task, FAST, faults, None);
        match outcome.ending {
            Ending::Failed(reason) if ends => assert!(reason.contains("No space left"), "{reason}"),
            Ending::Completed if !ends => {}
            other => panic!("{on_error:?}: {other:?}"),
        }
    }
}

#[test]
fn what_does_not_come_back_is_listed_with_its_age() {
    undisturbed(|| {
        let never = SimLatency::Constant(Duration::from_secs(3600));
        let mut task = sim_task(1 << 20, Arrival::Closed, seconds(0.2));
        task.concurrency = 5;
        let outcome = simulate(&task, never, SimFaults::default(), None);
        assert_eq!((outcome.outstanding.lost, outcome.stuck.len()), (5, 5));
        for stuck in &outcome.stuck {
            assert!(stuck.age >= Nanos(3_000_000_000), "{stuck:?}");
            assert_eq!((stuck.kind, stuck.offset % 4096), (OpKind::Read, 0));
        }
        assert!(outcome.stuck.is_sorted_by(|one, next| one.age >= next.age));
    });
}

/// A back end whose system call does not return.
struct Hung(Vec<u8>);

#[test]
fn a_worker_that_hangs_in_the_kernel_is_known_by_what_it_hangs_in() {
    undisturbed(|| {
        let mut task = sim_task(1 << 20, Arrival::Closed, seconds(0.2));
        (task.workers, task.concurrency) = (2, 2);
        let make = |_, _| Ok(Hung(vec![0; 4096]));
        let events = &mut NullSink;
        let outcome = run_file_task_on(&task, 0, Clock::best(), &Control::default(), events, make).unwrap();
        assert_eq!((outcome.outstanding.lost, outcome.stuck.len()), (2, 2), "{:?}", outcome.stuck);
        assert!(
            outcome.stuck.iter().all(|stuck| stuck.kind == OpKind::Read && stuck.age > Nanos(3_000_000_000))
        );
        let mut workers: Vec<_> = outcome.stuck.iter().map(|stuck| stuck.worker).collect();
        workers.sort_unstable();
        assert_eq!(workers, [0, 1]);
    });
}

impl Backend for Hung {
    fn submit(&mut self, op: &Op) -> Submission {
        assert_eq!(op.io, IoOp::Read);
        std::thread::sleep(Duration::from_secs(20));
        Submission::Done(Ok(op.length))
    }

    fn reap(&mut self, _: usize, _: Duration, _: &mut Completions) -> std::io::Result<()> {
        Ok(())
    }

    fn buffer(&mut self, _: u32) -> &mut [u8] {
        &mut self.0
    }

    fn blocks(&self) -> bool {
        true
    }
}

/// A device that stands still from 0.5 s to 1.5 s, under a closed loop that is to end after 1 s.
#[test]
fn what_is_in_flight_when_time_is_up_counts_where_asked_for() {
    let stall = SimStall { at: Duration::from_millis(500), length: Duration::from_secs(1) };
    let run = |in_flight| {
        let stop = Stop { in_flight, ..seconds(1.0) };
        simulate(&sim_task(1 << 20, Arrival::Closed, stop), FAST, SimFaults::default(), Some(stall))
    };
    let (kept, left_out) = (run(true), run(false));
    let half = Nanos::SECOND.0 / 2;
    assert_eq!((kept.outstanding.at_end, kept.outstanding.lost), (32, 0));
    assert!(
        kept.totals.response(OpKind::Read).unwrap().max().0 > half && kept.totals.measured > 3 * half,
        "{kept:?}"
    );
    assert!(kept.totals.drain_max == 0, "nothing is left for the drain");
    // Little's law over the whole phase: it begins and ends with nothing in flight.
    let time: u64 = kept.totals.series.iter().map(|point| point.response_sum[OpKind::Read]).sum();
    let in_flight = time as f64 / kept.totals.measured as f64;
    assert!((20.0..=32.0).contains(&in_flight), "{in_flight}");
    assert_eq!((left_out.outstanding.at_end, left_out.totals.measured), (32, Nanos::SECOND.0));
    assert!(left_out.totals.drain_max > half, "they are distinguished: {}", left_out.totals.drain_max);
}
