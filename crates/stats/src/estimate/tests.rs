use super::*;
use crate::histogram::Histogram;
use proptest::prelude::*;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

const UP: Direction = Direction::HigherIsBetter;

fn close(a: f64, b: f64, relative: f64) -> bool {
    (a - b).abs() <= relative * b.abs()
}

/// A sum of twelve uniforms: standard normal enough for coverage.
fn normal(rng: &mut Xoshiro256PlusPlus) -> f64 {
    (0..12).map(|_| rng.random::<f64>()).sum::<f64>() - 6.0
}

/// Simulations of each case. The figures in docs/statistics.md: IOLITE_SIMULATIONS=4000 and --release.
fn simulations() -> u64 {
    std::env::var("IOLITE_SIMULATIONS").ok().and_then(|runs| runs.parse().ok()).unwrap_or(1000)
}

#[test]
fn student_quantiles_match_the_printed_tables() {
    // Conover 1999, table A21; any text's table of t at 0.975.
    for (freedom, t) in
        [(1.0, 12.706), (2.0, 4.303), (5.0, 2.571), (10.0, 2.228), (30.0, 2.042), (120.0, 1.980)]
    {
        assert!((student_t(freedom) - t).abs() < 6e-4, "{freedom}: {}", student_t(freedom));
    }
    assert!((student_t(19_999.0) - Z_95).abs() < 3e-4);
}

#[test]
fn a_short_series_matches_values_computed_elsewhere() {
    // python3: x=[1000,1040,980,1010,1060,950,990,1020]; R=sum(x)/8; d=[v-R for v in x]
    // g=[sum(d[i]*d[i+k] for i in range(8-k))/8 for k in range(8)]; g[0]+g[1] > 0, 2*(g0+g1)/g0-1 < 1 -> n_eff 8
    // R=1006.25, (g[0]/7)**.5=12.2383326, t(7)=2.364624 (tables)
    let series = [1000.0, 1040.0, 980.0, 1010.0, 1060.0, 950.0, 990.0, 1020.0].map(|count| (1.0, count));
    let rate = Estimate::rate(&series, UP);
    assert_eq!((rate.value, rate.effective_samples), (1006.25, 8.0));
    assert!(close(rate.standard_error, 12.238_332_6, 1e-7), "{rate:?}");
    assert!(close(rate.high - rate.value, 2.364_624 * 12.238_332_6, 1e-5), "{rate:?}");
}

#[test]
fn correlation_costs_samples_and_alternation_earns_none() {
    let slow: Vec<_> = (0..64).map(|i| (1.0, if i / 8 % 2 == 0 { 900.0 } else { 1100.0 })).collect();
    let fast: Vec<_> = (0..64).map(|i| (1.0, if i % 2 == 0 { 900.0 } else { 1100.0 })).collect();
    let (slow, fast) = (Estimate::rate(&slow, UP), Estimate::rate(&fast, UP));
    assert!(slow.effective_samples < 25.0, "{slow:?}");
    assert_eq!(fast.effective_samples, 64.0);
    assert!(slow.standard_error > 1.5 * fast.standard_error);
}

#[test]
fn a_constant_series_has_no_error_whatever_the_lengths() {
    for series in [vec![(1.0, 2000.0); 20], vec![(1.0, 0.3), (0.7, 0.21), (0.1, 0.03), (1.1, 0.33)]] {
        let rate = Estimate::rate(&series, UP);
        assert_eq!(rate.standard_error, 0.0, "{rate:?}");
        assert_eq!((rate.low, rate.high), (rate.value, rate.value));
    }
}

#[test]
fn too_few_intervals_fall_back_to_poisson() {
    let one = Estimate::rate(&[(4.0, 400.0)], UP);
    assert_eq!((one.value, one.standard_error, one.effective_samples), (100.0, 5.0, 400.0));
    // The rest of a second is no interval of its own.
    assert_eq!(Estimate::rate(&[(4.0, 399.0), (0.0, 1.0)], UP).standard_error, 5.0);
    let none = Estimate::rate(&[(1.0, 0.0), (1.0, 0.0)], UP);
    assert_eq!((none.value, none.low), (0.0, 0.0));
    assert!(close(none.high, 1.8444, 1e-4));
    assert_eq!(Estimate::rate(&[], UP).high, f64::INFINITY);
    assert_eq!(Estimate::rate(&[(0.0, 5.0)], UP).effective_samples, 0.0);
}

#[test]
fn mean_response_is_the_ratio_of_totals() {
    let series = [(100.0, 0.2), (300.0, 0.3), (200.0, 0.3), (250.0, 0.4)];
    let mean = Estimate::ratio(&series, Direction::LowerIsBetter).unwrap();
    assert!(close(mean.value, 1.2 / 850.0, 1e-12));
    assert!(mean.low < mean.value && mean.value < mean.high);
}

#[test]
fn a_mean_has_students_interval() {
    let mean = Estimate::mean(10.0, 2.0, 16.0, Direction::LowerIsBetter);
    assert_eq!(mean.standard_error, 0.5);
    assert!(close(mean.high, 10.0 + 2.131_45 * 0.5, 1e-5), "{mean:?}");
    assert_eq!(Estimate::mean(10.0, 0.0, 1.0, UP).standard_error, 10.0);
    assert_eq!(Estimate::mean(0.0, f64::NAN, 0.0, UP).high, f64::INFINITY);
}

#[test]
fn ranks_match_the_exact_binomial() {
    // python3, q as a Fraction: from math import comb; F=lambda y:sum(comb(n,i)*q**i*(1-q)**(n-i) for i in range(y+1))
    // lower=min(y for y in range(n+1) if F(y)>.025); upper=min(y for y in range(n+1) if F(y)>=.975)+1
    for (q, n, expected) in EXACT_RANKS {
        assert_eq!(ranks(q, n), expected, "{q} of {n}");
    }
}

const EXACT_RANKS: [(f64, u64, (u64, u64)); 12] = [
    (0.5, 5, (0, 6)),
    (0.5, 6, (1, 6)),
    (0.5, 20, (6, 15)),
    (0.25, 100, (17, 35)),
    (0.9, 50, (41, 50)),
    (0.95, 100, (90, 100)),
    (0.99, 367, (359, 368)),
    (0.99, 368, (360, 368)),
    (0.99, 1000, (983, 997)),
    (0.999, 3688, (3680, 3688)),
    (0.999, 1000, (997, 1001)),
    (0.01, 500, (1, 11)),
];

#[test]
fn the_normal_ranks_continue_the_exact_ones() {
    let (exact, normal) = (ranks(0.99, 10_000), ranks(0.99, 10_100));
    let width = |(lower, upper): (u64, u64)| (upper - lower) as f64;
    assert!(close(width(normal), width(exact), 0.06), "{exact:?} {normal:?}");
}

#[test]
fn a_tail_without_an_upper_rank_is_a_lower_bound() {
    let value_at = |q: f64| (q * 1000.0).ceil().max(1.0);
    let p999 = Estimate::quantile(Quantile(0.999), 1000, value_at, Direction::LowerIsBetter);
    assert_eq!((p999.value, p999.high), (999.0, 1000.0));
    assert!(!Estimate::resolves(Quantile(0.999), 1000));
    assert!(!Estimate::resolves(Quantile(f64::NAN), 1000));
    assert_eq!(Estimate::quantile(Quantile(0.5), 0, |_| 0.0, UP).high, f64::INFINITY);
    let first = |q: f64| (1..100_000).find(|&n| Estimate::resolves(Quantile(q), n));
    assert_eq!([0.5, 0.99, 0.999].map(first), [Some(6), Some(368), Some(3688)]);
}

/// How often in seeded simulations the interval covers the true rate of 1000, for an AR(1) series.
fn coverage(correlation: f64, intervals: usize) -> f64 {
    let runs = simulations();
    let covered = (0..runs).filter(|&seed| {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        let mut state = normal(&mut rng);
        let series: Vec<_> = (0..intervals)
            .map(|_| {
                state = correlation * state + (1.0 - correlation * correlation).sqrt() * normal(&mut rng);
                (1.0, 1000.0 + 50.0 * state)
            })
            .collect();
        let rate = Estimate::rate(&series, UP);
        rate.low <= 1000.0 && 1000.0 <= rate.high
    });
    covered.count() as f64 / runs as f64
}

#[test]
fn intervals_cover_the_truth_as_often_as_they_say() {
    for correlation in [-0.5, 0.0, 0.3, 0.5, 0.7, 0.9] {
        let shares = [15, 20, 30, 60, 120].map(|intervals| coverage(correlation, intervals));
        println!("correlation {correlation}: {shares:.3?}");
        // Below zero the interval is too wide on purpose.
        let max = if correlation < 0.0 { 1.0 } else { 0.995 };
        assert!(
            shares.iter().all(|share| (0.92..=max).contains(share)),
            "correlation {correlation}: {shares:?}"
        );
    }
}

/// How often the interval of a quantile, from sections of response times that `draw` makes, covers the truth (in ms).
fn covered(q: f64, truth: f64, mut draw: impl FnMut(&mut Xoshiro256PlusPlus) -> Vec<Vec<f64>>) -> f64 {
    let runs = simulations() / 5;
    let covered = (0..runs).filter(|&seed| {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        let sections: Vec<Histogram> = draw(&mut rng).iter().map(|times| in_nanoseconds(times)).collect();
        let mut all = Histogram::new();
        sections.iter().for_each(|section| all.merge(section));
        let value_at = |q: f64| all.quantile(Quantile(q)).0 as f64;
        let sections: Vec<&Histogram> = sections.iter().collect();
        let found =
            Estimate::quantile_of_sections(Quantile(q), &sections, value_at, Direction::LowerIsBetter);
        let found = found.unwrap().scaled(1e-6);
        found.low <= truth && truth <= found.high
    });
    covered.count() as f64 / runs as f64
}

fn in_nanoseconds(times: &[f64]) -> Histogram {
    let mut histogram = Histogram::new();
    times.iter().for_each(|time| histogram.record((time * 1e6) as u64));
    histogram
}

fn exponential(rng: &mut Xoshiro256PlusPlus) -> f64 {
    -(1.0 - rng.random::<f64>()).ln()
}

/// Response times in sections, exponential around a mean that is an AR(1) process of the sections.
fn clustered_coverage(q: f64, sections: usize, operations: usize, correlation: f64, spread: f64) -> f64 {
    covered(q, mixture_quantile(q, spread), |rng| {
        let mut state = normal(rng);
        let section = |_| {
            state = correlation * state + (1.0 - correlation * correlation).sqrt() * normal(rng);
            (0..operations).map(|_| exponential(rng) * (spread * state).exp()).collect()
        };
        (0..sections).map(section).collect()
    })
}

/// Response times in sections of 1,000, some of which have a stall: a number of operations that take 50 times as long.
fn stalling_coverage(q: f64, sections: usize, stalls: f64, stalled: usize) -> f64 {
    let share = stalls * stalled as f64 / 1000.0;
    let above = |x: f64| (1.0 - share) * (-x).exp() + share * (-x / 50.0).exp();
    covered(q, inverse(above, 1.0 - q), |rng| {
        let section = |_| {
            let slow = if rng.random::<f64>() < stalls { stalled } else { 0 };
            (0..1000).map(|i| exponential(rng) * if i < slow { 50.0 } else { 1.0 }).collect()
        };
        (0..sections).map(section).collect()
    })
}

/// The quantile of the mixture: exponential times whose mean is log-normal, by bisection over a sum of the normal density.
fn mixture_quantile(q: f64, spread: f64) -> f64 {
    let above = |x: f64| {
        let states = (-600..=600).map(|i| f64::from(i) / 100.0);
        states.map(|z| (-x / (spread * z).exp()).exp() * (-z * z / 2.0).exp() * 0.01).sum::<f64>()
            / std::f64::consts::TAU.sqrt()
    };
    inverse(above, 1.0 - q)
}

/// Where a falling function has a value, by bisection.
fn inverse(falling: impl Fn(f64) -> f64, value: f64) -> f64 {
    let (mut low, mut high) = (0.0, 1e4);
    for _ in 0..100 {
        let middle = (low + high) / 2.0;
        if falling(middle) > value { low = middle } else { high = middle }
    }
    low
}

#[test]
fn quantiles_of_clustered_times_are_covered() {
    for (correlation, spread) in [(0.0, 0.0), (0.5, 0.3), (0.8, 0.3), (0.8, 0.1)] {
        let shares = [(24, 300, 0.5), (24, 300, 0.99), (24, 700, 0.99), (5, 1000, 0.99)].map(
            |(sections, operations, q)| clustered_coverage(q, sections, operations, correlation, spread),
        );
        println!("correlation {correlation}, spread {spread}: {shares:.3?}");
        assert!(shares.iter().all(|share| *share >= 0.90), "{correlation} {spread}: {shares:?}");
    }
}

#[test]
fn quantiles_beside_stalls_are_covered() {
    for (stalls, stalled) in [(0.1, 30), (0.25, 20), (0.5, 40)] {
        let shares = [24, 5].map(|sections| stalling_coverage(0.99, sections, stalls, stalled));
        println!("{stalled} of 1,000 operations stalled in {stalls} of the sections: {shares:.3?}");
        assert!(shares.iter().all(|share| *share >= 0.90), "{stalls} {stalled}: {shares:?}");
    }
}

#[test]
fn an_upper_end_that_no_rank_gives_comes_from_the_sections() {
    // 24 sections alike but for one with a stall: worth too few operations for an upper rank.
    let times = |slow: usize| -> Histogram {
        in_nanoseconds(
            &(1..=1000).map(|i| if i <= slow { 500.0 } else { 1.0 + i as f64 / 1e4 }).collect::<Vec<_>>(),
        )
    };
    let sections: Vec<Histogram> = (0..24).map(|i| times(if i == 7 { 200 } else { 0 })).collect();
    let mut all = Histogram::new();
    sections.iter().for_each(|section| all.merge(section));
    let estimate = |sections: &[Histogram]| {
        let value_at = |q: f64| all.quantile(Quantile(q)).0 as f64;
        let sections: Vec<&Histogram> = sections.iter().collect();
        Estimate::quantile_of_sections(Quantile(0.99), &sections, value_at, Direction::LowerIsBetter)
    };
    let found = estimate(&sections).unwrap().scaled(1e-6);
    assert!(found.low < 1.1 && 1.1 < found.high && found.high < 50.0, "{found:?}");
    // Fewer sections say less.
    let few: Vec<Histogram> = sections.iter().skip(4).take(6).cloned().collect();
    assert!(estimate(&few).unwrap().scaled(1e-6).high > 2.0 * found.high);
    assert_eq!(estimate(&sections[..3]), None);
}

#[test]
fn windows_apart_include_the_drift_between_them() {
    // Each window is steady; the windows are not alike.
    let windows = [1000.0, 1100.0, 900.0, 1050.0].map(|rate| (3.0, 3.0 * rate));
    let apart = Estimate::of_windows(&windows, UP).unwrap();
    // python3: x=[1000,1100,900,1050]; statistics.stdev(x)/2 = 42.695628; t(3) = 3.182446
    assert!(close(apart.standard_error, 42.695_628, 1e-6), "{apart:?}");
    assert!(close(apart.high - apart.value, 3.182_446 * 42.695_628, 1e-5), "{apart:?}");
    assert_eq!(Estimate::of_windows(&windows[..1], UP), None);
    assert_eq!(Estimate::of_windows(&[(0.0, 1.0), (1.0, f64::NAN)], UP), None);
}

/// Three windows on a device that is slow in all of them: Student's interval reaches below 0, which is not possible.
#[test]
fn the_lower_end_of_few_windows_is_above_zero_and_holds_in_the_worst_case() {
    let windows = [(4.0, 4.0 * 100.0), (2.0, 2.0 * 450.0), (5.0, 5.0 * 90.0)];
    let mean = Estimate::of_windows(&windows, Direction::LowerIsBetter).unwrap();
    // python3: 90 / 40 ** (1 / 3) = 26.3160
    assert!(close(mean.low, 26.316_0, 1e-3), "{mean:?}");
    assert_eq!((Estimate::least_of_windows(&[]), Estimate::least_of_windows(&[(1.0, 0.0)])), (0.0, 0.0));
    // The distribution for which Markov's inequality is an equation: c times the mean with a probability of 1 / c, else 0.
    for windows in [2, 3, 5] {
        let rare = 0.025_f64.powf(1.0 / f64::from(windows));
        let wrong = (0..4000u64).filter(|&seed| {
            let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
            let window = |_| (1.0, if rng.random::<f64>() < rare { 1.0000001 / rare } else { 0.0 });
            Estimate::least_of_windows(&(0..windows).map(window).collect::<Vec<_>>()) > 1.0
        });
        let share = wrong.count() as f64 / 4000.0;
        assert!((0.015..=0.035).contains(&share), "{share} of {windows} windows");
    }
}

#[test]
fn quantile_intervals_cover_the_truth() {
    let covered = (0..400u64).filter(|&seed| {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        let mut values: Vec<f64> = (0..2000).map(|_| -(1.0 - rng.random::<f64>()).ln()).collect();
        values.sort_by(f64::total_cmp);
        let value_at = |q: f64| values[((q * 2000.0).ceil().max(1.0) as usize - 1).min(1999)];
        let p99 = Estimate::quantile(Quantile(0.99), 2000, value_at, Direction::LowerIsBetter);
        p99.low <= -(0.01f64.ln()) && -(0.01f64.ln()) <= p99.high
    });
    let share = covered.count() as f64 / 400.0;
    assert!((0.93..=0.99).contains(&share), "{share}");
}

proptest! {
    #[test]
    fn no_series_makes_an_estimate_panic_or_lie(
        series in prop::collection::vec((any::<f64>(), any::<f64>()), 0..12),
        plain in prop::collection::vec((0.1f64..2.0, 0.0f64..1e6), 2..40),
    ) {
        let _ = Estimate::rate(&series, UP);
        let _ = Estimate::ratio(&series, UP);
        let rate = Estimate::rate(&plain, UP);
        let (seconds, count) = plain.iter().fold((0.0, 0.0), |sum, entry| (sum.0 + entry.0, sum.1 + entry.1));
        prop_assert_eq!(rate.value, count / seconds);
        prop_assert!(rate.low <= rate.value && rate.value <= rate.high);
    }

    #[test]
    fn ranks_are_ordered_around_the_quantile(q in 0.0f64..=1.0, n in 1u64..2_000_000_000) {
        let (lower, upper) = ranks(q, n);
        prop_assert!(lower < upper && upper <= n + 1, "{lower} {upper}");
        let expected = q * n as f64;
        prop_assert!(lower as f64 <= expected + 1.0 && expected - 1.0 <= upper as f64);
    }
}
