use super::*;
use proptest::prelude::*;
use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, Poisson};
use rand_xoshiro::Xoshiro256PlusPlus;

/// A sum of twelve uniforms: standard normal enough.
fn normal(rng: &mut Xoshiro256PlusPlus) -> f64 {
    (0..12).map(|_| rng.random::<f64>()).sum::<f64>() - 6.0
}

/// Intervals of a tenth of a second at about 10,000 operations per second, with 10 % of AR(1) noise.
fn noise(seed: u64, intervals: usize, correlation: f64) -> Vec<(f64, f64)> {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut state = normal(&mut rng);
    let each = (0..intervals).map(|_| {
        state = correlation * state + (1.0 - correlation * correlation).sqrt() * normal(&mut rng);
        (0.1, (1000.0 + 100.0 * state).max(0.0))
    });
    each.collect()
}

fn shifts(changes: &[Change]) -> Vec<(f64, f64, f64)> {
    let shift = |change: &Change| match *change {
        Change::LevelShift { at, before, after } => Some((at, before.value, after.value)),
        _ => None,
    };
    changes.iter().filter_map(shift).collect()
}

/// Series of each cell of a simulation. The figures in docs/statistics.md: IOLITE_SIMULATIONS=1000 and --release.
fn simulations(otherwise: u64) -> u64 {
    std::env::var("IOLITE_SIMULATIONS").ok().and_then(|runs| runs.parse().ok()).unwrap_or(otherwise)
}

/// How many of a number of series raise an alarm of any kind, a level shift, a stall, and a period.
fn alarms(series: impl Iterator<Item = Vec<(f64, f64)>>) -> [usize; 4] {
    let mut alarms = [0; 4];
    for series in series {
        let found = changes(&series);
        let any = |kind: fn(&Change) -> bool| usize::from(found.iter().any(kind));
        let each = [
            any(|_| true),
            any(|change| matches!(change, Change::LevelShift { .. })),
            any(|change| matches!(change, Change::Stall { .. })),
            any(|change| matches!(change, Change::Periodic { .. })),
        ];
        alarms.iter_mut().zip(each).for_each(|(sum, one)| *sum += one);
    }
    alarms
}

#[test]
fn stationary_noise_raises_few_alarms() {
    let runs = simulations(25);
    let lengths = [15, 30, 60, 120];
    for correlation in [0.0, 0.5, 0.9] {
        let each = lengths.into_iter().flat_map(|length| (0..runs).map(move |seed| (length, seed)));
        let series = each.map(|(length, seed)| noise(seed + 10_000 * length as u64, length, correlation));
        let [any, shifts, stalls, periods] = alarms(series);
        let all = lengths.len() as u64 * runs;
        println!(
            "correlation {correlation}: {any} of {all} series raise an alarm (level shift {shifts}, stall {stalls}, period {periods})"
        );
        assert!(any as f64 <= 0.025 * all as f64, "correlation {correlation}: {any} of {all}");
    }
}

/// Arrivals at random (Poisson), the noise that a device of few operations shows: 50 to an interval are just enough for a stall to
/// be reported.
#[test]
fn operations_at_random_instants_raise_few_alarms() {
    let runs = simulations(25);
    for mean in [5.0, 50.0, 500.0] {
        let series = (0..4 * runs).map(|seed| {
            let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
            let arrivals = Poisson::new(mean).unwrap();
            (0..120).map(|_| (0.1, arrivals.sample(&mut rng))).collect()
        });
        let [any, shifts, stalls, periods] = alarms(series);
        println!(
            "{mean} operations an interval: {any} of {} series raise an alarm (level shift {shifts}, stall {stalls}, period {periods})",
            4 * runs
        );
        assert!(
            any as f64 <= 0.025 * 4.0 * runs as f64,
            "{mean} operations an interval: {any} of {}",
            4 * runs
        );
        assert_eq!(stalls, 0, "{mean} operations an interval");
    }
}

#[test]
fn burst_credits_that_run_out_are_two_levels() {
    for at in [10, 30, 75] {
        let mut series = noise(3, 90, 0.3);
        series.iter_mut().skip(at).for_each(|entry| entry.1 /= 20.0);
        let found = shifts(&changes(&series));
        assert_eq!(found.len(), 1, "{found:?}");
        let (when, before, after) = found[0];
        assert!((when - at as f64 * 0.1).abs() <= 0.21, "{when}");
        assert!((before / 10_000.0 - 1.0).abs() < 0.1 && (after / 500.0 - 1.0).abs() < 0.1, "{found:?}");
    }
}

#[test]
fn a_throttle_that_comes_and_goes_is_two_shifts() {
    let mut series = noise(5, 60, 0.3);
    series[20..40].iter_mut().for_each(|entry| entry.1 /= 4.0);
    let found = changes(&series);
    assert_eq!(shifts(&found).len(), 2, "{found:?}");
    // Exact levels, as a throttle counts them.
    let exact: Vec<_> = (0..40).map(|i| (0.1, if i < 20 { 2000.0 } else { 100.0 })).collect();
    let found = shifts(&changes(&exact));
    assert_eq!(found.len(), 1);
    assert!((found[0].0 - 2.0).abs() < 1e-9 && (found[0].2 / 1000.0 - 1.0).abs() < 1e-9, "{found:?}");
}

#[test]
fn stalls_are_reported_with_their_length() {
    let mut series = noise(7, 60, 0.0);
    series[30].1 = 0.0;
    series[45].1 = 3.0;
    series[46].1 = 0.0;
    let found = changes(&series);
    let stalls: Vec<_> = found
        .iter()
        .filter_map(|change| match change {
            Change::Stall { at, seconds } => Some(((at * 10.0).round(), (seconds * 10.0).round())),
            _ => None,
        })
        .collect();
    assert_eq!(stalls, [(30.0, 1.0), (45.0, 2.0)]);
    assert!(shifts(&found).is_empty(), "{found:?}");
}

#[test]
fn few_operations_are_no_stall_and_few_intervals_no_change() {
    let sparse: Vec<_> = (0..60).map(|i| (0.1, f64::from(u8::from(i % 3 == 0)))).collect();
    assert!(!changes(&sparse).iter().any(|change| matches!(change, Change::Stall { .. })));
    assert!(changes(&[(0.1, 1000.0), (0.1, 10.0)]).iter().all(|c| !matches!(c, Change::LevelShift { .. })));
    assert!(changes(&[]).is_empty());
}

#[test]
fn checkpoints_are_periodic() {
    let mut series = noise(11, 120, 0.2);
    series.iter_mut().enumerate().for_each(|(i, entry)| {
        if i % 12 < 3 {
            entry.1 *= 0.5;
        }
    });
    let found = changes(&series);
    let period = found.iter().find_map(|change| match change {
        Change::Periodic { seconds, .. } => Some(*seconds),
        _ => None,
    });
    assert!(period.is_some_and(|seconds| (seconds - 1.2).abs() < 0.1), "{found:?}");
}

proptest! {
    #[test]
    fn no_series_makes_it_panic(series in prop::collection::vec((any::<f64>(), any::<f64>()), 0..40)) {
        let _ = changes(&series);
    }

    #[test]
    fn scale_makes_no_difference(seed in 0u64..50, scale in 1.0f64..1000.0) {
        let series = noise(seed, 40, 0.5);
        let scaled: Vec<_> = series.iter().map(|(s, c)| (*s, c * scale)).collect();
        prop_assert_eq!(shifts(&changes(&series)).len(), shifts(&changes(&scaled)).len());
    }
}

#[test]
fn the_interval_within_which_the_rate_changes_belongs_to_neither_level() {
    let mut series = vec![(0.5, 1000.0); 14];
    series.push((0.5, 700.0));
    series.extend([(0.5, 100.0); 14]);
    let found = shifts(&changes(&series));
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!((found[0].1, found[0].2), (2000.0, 200.0), "{found:?}");
}
