//! Devices that stall at times: how much of it counts against them.

use iolite_model::Fitness;

use super::simulated::{Device, GOOD};
use super::{check, hurried, idle, options, says, simulations, whole_check};
use crate::check::CheckOptions;

/// A device that holds everything up for 7 ms, at random instants 4 s apart on average, keeps p99.9 at a random instant: 0.05 % of the
/// instants wait longer than 5 ms. The few seconds of the planned windows may meet several of them, or one.
#[test]
fn the_time_left_over_goes_to_what_is_undecided() {
    let device = Device { hiccups: Some((4e9, 7e6)), service: 130e3, max: 40_000.0, ..GOOD };
    let (mut further, mut counts) = (0, [0u64; 3]);
    let names = ["random read 8 KiB, at the knee", "random read 64 KiB, at the knee"];
    for seed in 0..8 * simulations() {
        let whole = whole_check(&idle, device, seed, options());
        let windows = names.map(|name| whole.count(name));
        assert!(windows.iter().all(|windows| (4..=20).contains(windows)), "{windows:?}");
        further += u64::from(windows.iter().any(|windows| *windows > 4));
        counts[whole.verdict.fitness as usize] += 1;
        assert!(whole.end <= CheckOptions::DEFAULT_TIME, "{}", whole.end);
    }
    println!(
        "with hiccups: fit {}, marginal {}, unfit {}; {further} had further windows",
        counts[0], counts[1], counts[2]
    );
    assert!(further > 0 && counts[2] == 0 && counts[0] > counts[1], "{further} {counts:?}");
    assert_eq!(names.map(|name| whole_check(&idle, GOOD, 3, options()).count(name)), [4, 4]);
}

/// Of 0.1 % of the instants an operation may wait longer than 5 ms: a device that stalls so rarely is fit, one that stalls far more often
/// never is, and between them the same device is not fit today and unfit tomorrow.
#[test]
fn stalls_count_by_the_share_of_the_time() {
    let stalls_of = |length: f64, share: f64| {
        let beyond = length - 5e6;
        Device { hiccups: Some((beyond / share, length)), service: 130e3, max: 40_000.0, ..GOOD }
    };
    for length in [10e6, 30e6] {
        for (share, allowed) in [
            (0.0003, [true, true, false]),
            (0.0015, [true, true, false]),
            (0.005, [true, true, true]),
            (0.03, [false, true, true]),
        ] {
            let mut counts = [0u64; 3];
            for seed in 0..simulations().div_ceil(4) {
                let verdict = whole_check(&idle, stalls_of(length, share), seed, options()).verdict;
                counts[verdict.fitness as usize] += 1;
            }
            println!(
                "stalls of {:.0} ms, {:.2} % of the instants: fit {}, marginal {}, unfit {}",
                length / 1e6,
                share * 100.0,
                counts[0],
                counts[1],
                counts[2]
            );
            let wrong = counts.iter().zip(allowed).any(|(count, allowed)| *count > 0 && !allowed);
            assert!(!wrong, "{length} {share}: {counts:?}");
        }
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
