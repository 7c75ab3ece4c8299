use super::*;
use proptest::prelude::*;
use rand::{RngExt, SeedableRng};
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

#[test]
fn stationary_noise_raises_few_alarms() {
    // The figures in docs/statistics.md: IOLITE_SIMULATIONS=1000 and --release.
    let runs = std::env::var("IOLITE_SIMULATIONS").ok().and_then(|runs| runs.parse().ok()).unwrap_or(25);
    for correlation in [0.0, 0.5, 0.9] {
        let mut alarms = 0;
        for (length, seed) in
            [15, 30, 60, 120].into_iter().flat_map(|length| (0..runs).map(move |s| (length, s)))
        {
            alarms +=
                usize::from(!changes(&noise(seed + 10_000 * length as u64, length, correlation)).is_empty());
        }
        println!("correlation {correlation}: {alarms} of {} series raise an alarm", 4 * runs);
        assert!(
            alarms as f64 <= 0.025 * 4.0 * runs as f64,
            "correlation {correlation}: {alarms} of {}",
            4 * runs
        );
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
