use super::*;
use proptest::prelude::*;

/// Points with a relative standard error.
fn series(error: f64, points: &[(u32, f64)]) -> Vec<LoadPoint> {
    let point = |&(concurrency, throughput): &(u32, f64)| LoadPoint {
        concurrency,
        throughput,
        throughput_se: throughput * error,
        response: f64::from(concurrency) / throughput,
    };
    points.iter().map(point).collect()
}

fn near(value: f64, expected: f64, relative: f64) -> bool {
    (value / expected - 1.0).abs() <= relative
}

const PUBLISHED: [(u32, f64); 4] = [(1, 1597.0), (4, 6011.0), (8, 6136.0), (16, 6144.0)];
const VIRTIO: [(u32, f64); 7] = [
    (1, 17_960.0),
    (2, 27_503.0),
    (4, 40_325.0),
    (8, 53_438.0),
    (16, 65_513.0),
    (32, 61_548.0),
    (64, 73_762.0),
];

#[test]
fn the_published_cloud_volume_has_its_knee_at_four() {
    // Response times as published with the throughputs; see the PerfTools articles.
    let mut points = series(0.005, &PUBLISHED);
    for (point, milliseconds) in points.iter_mut().zip([0.63, 0.67, 1.3, 2.6]) {
        point.response = milliseconds / 1e3;
        assert!(near(point.in_flight(), f64::from(point.concurrency), 0.05));
    }
    let knee = Knee::fit(&points, 1).unwrap();
    assert!((4..=8).contains(&knee.concurrency) && knee.low >= 3 && knee.high <= 8, "{knee:?}");
    assert!(near(knee.plateau.value, 6140.0, 0.01) && knee.saturated, "{knee:?}");
    assert!(matches!(knee.model, ScalingModel::Asymptotes { .. }));
    assert_eq!(refine(&points, &[]), Some(2));
}

#[test]
fn an_exact_law_recovers_its_parameters_and_peak() {
    let law = ScalingModel::Usl { lambda: 1000.0, sigma: 0.05, kappa: 0.001 };
    let exact = [1, 2, 4, 8, 16, 32, 64].map(|c| (c, law.throughput(f64::from(c))));
    let knee = Knee::fit(&series(0.0, &exact), 1).unwrap();
    let ScalingModel::Usl { lambda, sigma, kappa } = knee.model else { panic!("{knee:?}") };
    assert!(near(lambda, 1000.0, 1e-6) && near(sigma, 0.05, 1e-6) && near(kappa, 0.001, 1e-6), "{knee:?}");
    assert!(near(knee.plateau.value, law.plateau(64), 0.01) && knee.saturated, "{knee:?}");
    assert_eq!(knee.concurrency, law.knee(64));
    assert!(knee.relative_residual < 1e-9);
}

#[test]
fn a_throttle_that_one_operation_reaches_has_its_knee_at_one() {
    for (wobble, tested) in [(0.0, vec![1, 2, 4, 8]), (0.01, vec![1, 2, 4, 8, 16, 32]), (0.0, vec![1, 2])] {
        let flat: Vec<_> =
            tested.iter().map(|&c| (c, 2000.0 * (1.0 + wobble * f64::from(c).sin()))).collect();
        let knee = Knee::fit(&series(0.002, &flat), 1).unwrap();
        assert_eq!((knee.concurrency, knee.low), (1, 1), "{knee:?}");
        assert!(near(knee.plateau.value, 2000.0, 0.01) && knee.saturated, "{knee:?}");
    }
}

#[test]
fn a_fast_disk_below_a_throttle_reports_the_throttle() {
    for limit in [2000.0f64, 25_000.0, 40_000.0, 60_000.0] {
        let capped = VIRTIO.map(|(c, x)| (c, x.min(limit)));
        let knee = Knee::fit(&series(0.005, &capped), 1).unwrap();
        assert!(near(knee.plateau.value, limit, 0.02) && knee.saturated, "{knee:?}");
    }
}

#[test]
fn a_fast_virtual_disk_has_a_soft_knee() {
    let points = series(0.01, &VIRTIO);
    let knee = Knee::fit(&points, 1).unwrap();
    assert!((2..=8).contains(&knee.concurrency), "{knee:?}");
    // The last doubling bought 12.6 % over the best before it: not yet a plateau. One doubling less fell.
    assert!(!knee.saturated && still_growing(&points), "{knee:?}");
    assert!(!still_growing(&points[..6]));
}

#[test]
fn growth_without_end_has_no_plateau_and_its_knee_at_the_end() {
    let points = series(0.01, &[1, 2, 4, 8, 16].map(|c| (c, 1000.0 * f64::from(c))));
    let knee = Knee::fit(&points, 1).unwrap();
    assert_eq!((knee.concurrency, knee.saturated), (16, false), "{knee:?}");
    assert!(near(knee.plateau.value, 16_000.0, 0.01), "{knee:?}");
    assert!(still_growing(&points));
}

#[test]
fn growth_is_reported_per_doubling() {
    let growth = |points: &[(u32, f64)]| Knee::growth(&series(0.01, points)).unwrap();
    assert!(near(growth(&PUBLISHED), 6144.0 / 6136.0 - 1.0, 1e-9));
    assert!(near(growth(&[(1, 10.0), (4, 40.0), (16, 160.0)]), 1.0, 1e-9));
    assert!(near(growth(&[(30, 3000.0), (32, 3200.0)]), 1.0, 1e-9));
    assert!(growth(&[(1, 10.0), (2, 9.0), (4, 8.0)]) < -0.1);
}

#[test]
fn noise_moves_the_knee_little_and_the_interval_knows() {
    let truth = ScalingModel::Asymptotes { lambda: 1000.0, plateau: 12_000.0 };
    for (reported, tested) in [(0.03, vec![1, 2, 4, 8, 16, 32, 64]), (0.0, vec![1, 2, 4, 8, 12, 16, 24, 32])]
    {
        let (mut found, mut covered) = (0, 0);
        for seed in 0..100 {
            let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
            let noisy: Vec<_> = tested
                .iter()
                .map(|&c| {
                    (c, truth.throughput(f64::from(c)) * (1.0 + 0.03 * rng.sample::<f64, _>(StandardNormal)))
                })
                .collect();
            let knee = Knee::fit(&series(reported, &noisy), seed).unwrap();
            found += u32::from((10..=15).contains(&knee.concurrency));
            covered += u32::from((knee.low..=knee.high).contains(&12));
        }
        assert!(
            found >= 95 && covered >= 90,
            "error reported {reported}: found {found}, covered {covered} of 100"
        );
    }
}

#[test]
fn a_search_closes_in_on_the_knee_and_ends() {
    let truth = ScalingModel::Asymptotes { lambda: 1000.0, plateau: 21_500.0 };
    let mut tested = vec![1, 2, 4, 8, 16, 32, 64];
    let measure = |tested: &[u32]| -> Vec<_> {
        series(0.01, &tested.iter().map(|&c| (c, truth.throughput(f64::from(c)))).collect::<Vec<_>>())
    };
    while let Some(next) = refine(&measure(&tested), &tested) {
        assert!(!tested.contains(&next) && tested.len() < 20, "{next} {tested:?}");
        tested.push(next);
    }
    let knee = Knee::fit(&measure(&tested), 1).unwrap();
    assert!((21..=22).contains(&knee.concurrency), "{tested:?} {knee:?}");
}

#[test]
fn a_second_measurement_that_differs_widens_the_knee() {
    let points = series(0.005, &PUBLISHED);
    let knee = Knee::fit(&points, 1).unwrap();
    let again = |value: f64| Estimate { value, ..knee.plateau };
    let same = knee.remeasured(&points, &again(knee.throughput), 1);
    assert_eq!((same.low, same.high), (knee.low, knee.high));
    let other = knee.remeasured(&points, &again(knee.throughput * 0.6), 1);
    assert!(other.low < knee.low || other.high > knee.high, "{knee:?} {other:?}");
    assert!(other.plateau.low < 0.65 * knee.plateau.value, "{other:?}");
    assert_eq!(knee.remeasured(&points, &again(f64::NAN), 1), knee);
}

#[test]
fn order_and_repetition_do_not_matter() {
    let once = series(0.02, &VIRTIO);
    let mut twice: Vec<_> = once.iter().rev().chain(&once).copied().collect();
    twice.push(LoadPoint { concurrency: 128, throughput: f64::NAN, throughput_se: 0.0, response: 0.0 });
    twice.push(LoadPoint { concurrency: 0, throughput: 5.0, throughput_se: 0.0, response: 0.0 });
    let (once, twice) = (Knee::fit(&once, 7).unwrap(), Knee::fit(&twice, 7).unwrap());
    assert_eq!(once.concurrency, twice.concurrency);
    assert!(near(twice.plateau.value, once.plateau.value, 1e-9));
}

#[test]
fn one_point_is_no_knee() {
    for points in [&[][..], &[(4, 100.0)], &[(4, 100.0), (4, 110.0)], &[(4, 100.0), (8, 0.0)]] {
        assert_eq!(Knee::fit(&series(0.01, points), 1), None);
        assert_eq!(refine(&series(0.01, points), &[]), None);
        assert!(still_growing(&series(0.01, points)));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn no_points_make_the_fit_panic_or_contradict_itself(
        wild in prop::collection::vec((any::<u32>(), any::<f64>(), any::<f64>()), 0..6),
        tame in prop::collection::vec((1u32..100, 0.0f64..1e5, 0.0f64..1e4), 0..10),
    ) {
        for points in [wild, tame] {
            let points: Vec<_> = points
                .into_iter()
                .map(|(concurrency, throughput, throughput_se)| LoadPoint { concurrency, throughput, throughput_se, response: 0.0 })
                .collect();
            let _ = (Knee::growth(&points), refine(&points, &[3, 5]));
            if let Some(knee) = Knee::fit(&points, 1) {
                let max = points.iter().map(|point| point.concurrency).max().unwrap();
                prop_assert!(1 <= knee.low && knee.low <= knee.concurrency, "{knee:?}");
                prop_assert!(knee.concurrency <= knee.high && knee.high <= max, "{knee:?}");
                prop_assert!(knee.plateau.value > 0.0, "{knee:?}");
            }
        }
    }
}
