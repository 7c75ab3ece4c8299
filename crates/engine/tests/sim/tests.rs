//! The simulated device itself.

use std::time::{Duration, Instant};

use iolite_engine::{Backend, Completions, IoOp, Op, Submission};
use iolite_model::errno::EINVAL;
use rand::SeedableRng;
use rand_xoshiro::SplitMix64;

use crate::sim::{SECTOR, Sim, SimFaults, SimImage, SimLatency, SimParameters, SimStall};

const BLOCK: u32 = 4096;

fn parameters(latency: SimLatency) -> SimParameters {
    SimParameters {
        seed: 7,
        depth: 8,
        block: BLOCK as usize,
        latency,
        channels: None,
        faults: SimFaults::default(),
        stall: None,
    }
}

fn fast() -> SimParameters {
    parameters(SimLatency::Constant(Duration::ZERO))
}

fn op(io: IoOp, slot: u32, offset: u64) -> Op {
    Op { io, slot, offset, length: BLOCK }
}

/// Does the operations one after the other on slot 0.
fn results(sim: &mut Sim, io: IoOp, count: u32) -> Vec<Result<u32, i32>> {
    let mut out = Completions::new();
    for index in 0..count {
        sim.buffer(0).fill(1);
        assert_eq!(sim.submit(&op(io, 0, u64::from(index * BLOCK))), Submission::Queued);
        sim.reap(1, Duration::from_secs(5), &mut out).unwrap();
    }
    out.into_iter().map(|returned| returned.result).collect()
}

#[test]
fn latencies_have_their_distributions() {
    let mut random = SplitMix64::seed_from_u64(1);
    let mut draws = |latency: SimLatency| {
        let mut draws: Vec<_> = (0..20_000).map(|_| latency.draw(&mut random) as f64 / 1e6).collect();
        draws.sort_unstable_by(f64::total_cmp);
        let mean = draws.iter().sum::<f64>() / draws.len() as f64;
        (mean, draws[10_000], draws[19_800])
    };
    let ms = Duration::from_millis(1);
    assert_eq!(draws(SimLatency::Constant(ms)), (1.0, 1.0, 1.0));
    // Expected: mean 1, median ln 2, p99 ln 100; each within five standard errors.
    let (mean, median, p99) = draws(SimLatency::Exponential { mean: ms });
    assert!((mean - 1.0).abs() < 0.036 && (median - 0.693).abs() < 0.036, "{mean} {median}");
    assert!((p99 - 4.605).abs() < 0.36, "{p99}");
    // Expected: mean e^(1/8), median 1, p99 e^(2.326 / 2).
    let (mean, median, p99) = draws(SimLatency::LogNormal { median: ms, sigma: 0.5 });
    assert!((mean - 1.133).abs() < 0.022 && (median - 1.0).abs() < 0.023, "{mean} {median}");
    assert!((p99 - 3.2).abs() < 0.22, "{p99}");
}

#[test]
fn a_stall_delays_what_it_meets_and_nothing_else() {
    let stall = SimStall { at: Duration::from_nanos(100), length: Duration::from_nanos(50) };
    let cases = [(0, 90, 90), (0, 100, 100), (80, 110, 160), (120, 130, 160), (150, 170, 170)];
    for (start, end, expected) in cases {
        assert_eq!(stall.postpone(start, end), expected, "{start} to {end}");
    }
}

#[test]
fn faults_strike_as_often_as_asked_and_the_same_with_the_same_seed() {
    let with = |faults| {
        let mut sim = Sim::new(SimParameters { faults, ..fast() }, SimImage::new(1 << 20));
        results(&mut sim, IoOp::Read, 1000)
    };
    let failing = SimFaults { error: 0.2, error_number: 28, ..SimFaults::default() };
    let first = with(failing);
    let failed = first.iter().filter(|result| **result == Err(28)).count();
    assert!((140..260).contains(&failed), "{failed} of 1000 at 20 %");
    assert_eq!(first, with(failing));
    // Another fault beside it changes nothing about which operations fail.
    let both = with(SimFaults { short: 0.5, ..failing });
    assert!(first.iter().zip(&both).all(|(one, other)| one.is_err() == other.is_err()));
}

#[test]
fn short_lost_and_torn_writes_show_in_the_image_only_as_they_should() {
    let write = |faults| {
        let image = SimImage::new(100 * BLOCK as usize);
        let mut sim = Sim::new(SimParameters { faults, ..fast() }, image.clone());
        let reported = results(&mut sim, IoOp::Write, 100);
        let mut kept = vec![vec![0; BLOCK as usize]; 100];
        for (index, block) in kept.iter_mut().enumerate() {
            image.read(index as u64 * u64::from(BLOCK), block);
        }
        let whole = |block: &Vec<u8>| block.iter().take_while(|&&byte| byte == 1).count() as u32;
        let sums = kept.iter().map(|block| block.iter().map(|&byte| u32::from(byte)).sum::<u32>());
        assert!(sums.eq(kept.iter().map(whole)), "only the first part of a block is written");
        (reported, kept.iter().map(whole).collect::<Vec<_>>())
    };
    let (reported, kept) = write(SimFaults::default());
    assert!(reported.iter().all(|reported| *reported == Ok(BLOCK)) && kept.iter().all(|kept| *kept == BLOCK));
    let (reported, kept) = write(SimFaults { lost: 1.0, ..SimFaults::default() });
    assert!(reported.iter().all(|reported| *reported == Ok(BLOCK)) && kept.iter().all(|kept| *kept == 0));
    let (reported, kept) = write(SimFaults { torn: 1.0, ..SimFaults::default() });
    assert!(reported.iter().all(|reported| *reported == Ok(BLOCK)));
    assert!(kept.iter().all(|kept| *kept < BLOCK && kept % SECTOR == 0) && kept.iter().any(|kept| *kept > 0));
    let (reported, kept) = write(SimFaults { short: 1.0, ..SimFaults::default() });
    assert!(reported.iter().all(|reported| reported.is_ok_and(|moved| moved < BLOCK)));
    assert!(reported.iter().zip(&kept).all(|(reported, kept)| *reported == Ok(*kept)));
}

#[test]
fn the_end_of_the_image_makes_transfers_short() {
    let mut sim = Sim::new(fast(), SimImage::new(6000));
    for io in [IoOp::Read, IoOp::Write] {
        assert_eq!(results(&mut sim, io, 3), [Ok(4096), Ok(6000 - 4096), Ok(0)]);
    }
}

#[test]
fn time_passes_in_reap_and_not_in_submit() {
    let latency = SimLatency::Constant(Duration::from_millis(20));
    let mut sim = Sim::new(parameters(latency), SimImage::new(1 << 20));
    let start = Instant::now();
    for slot in 0..8 {
        assert_eq!(sim.submit(&op(IoOp::Read, slot, 0)), Submission::Queued);
    }
    assert_eq!(sim.submit(&op(IoOp::Read, 3, 0)), Submission::Done(Err(EINVAL)), "in flight");
    assert_eq!(sim.submit(&op(IoOp::Read, 8, 0)), Submission::Done(Err(EINVAL)), "no such slot");
    assert!(sim.buffer(3).is_empty(), "the buffer of a slot in flight is not to be had");
    let mut out = Completions::new();
    sim.reap(1, Duration::from_millis(1), &mut out).unwrap();
    assert!(out.is_empty() || start.elapsed() >= Duration::from_millis(20));
    sim.reap(8, Duration::from_secs(5), &mut out).unwrap();
    assert!(start.elapsed() >= Duration::from_millis(20));
    assert_eq!(out.iter().map(|returned| returned.slot).collect::<Vec<_>>(), (0..8).collect::<Vec<_>>());
}

#[test]
fn channels_serve_in_turn() {
    let latency = SimLatency::Constant(Duration::from_nanos(1000));
    let two = SimParameters { channels: Some(2), ..parameters(latency) };
    let mut sim = Sim::new(two, SimImage::new(0));
    let ends: Vec<_> = [0, 0, 0, 500, 5000].into_iter().map(|now| sim.schedule(now)).collect();
    assert_eq!(ends, [1000, 1000, 2000, 2000, 6000]);
}
