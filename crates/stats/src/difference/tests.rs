use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::*;

fn known(value: f64) -> Estimate {
    Estimate::mean(value, 0.0, 30.0, Direction::HigherIsBetter)
}

fn runs(values: &[f64]) -> Vec<Estimate> {
    values.iter().map(|value| known(*value)).collect()
}

#[test]
fn sets_of_runs_are_compared_by_welchs_test() {
    let difference =
        Difference::of(&runs(&[100.0, 103.0, 98.0]), &runs(&[110.0, 112.0, 108.0, 111.0])).unwrap();
    assert!((difference.ratio - 1.0993).abs() < 2e-3, "{difference:?}");
    assert!(difference.low > 1.0 && difference.p < 0.05, "{difference:?}");
    assert!(difference.is_better() && difference.covers == Covers::BetweenRuns);
    let none = Difference::of(&runs(&[100.0, 120.0]), &runs(&[101.0, 119.0])).unwrap();
    assert!(none.low < 1.0 && none.high > 1.0 && none.p > 0.5, "{none:?}");
    assert!(none.detectable > 0.1 && none.repeats_for(0.05) > 5, "{none:?}");
}

#[test]
fn welchs_interval_is_that_of_a_computation_by_hand() {
    // python3: logs of 100, 110 and 120, 132; means differ by ln 1.2; each variance is (ln 1.1)^2/2, df = 2, t = 4.30265
    let difference = Difference::of(&runs(&[100.0, 110.0]), &runs(&[120.0, 132.0])).unwrap();
    let error = (0.5 * 1.1f64.ln().powi(2)).sqrt();
    assert!((difference.ratio - 1.2).abs() < 1e-12);
    assert!((difference.low.ln() - (1.2f64.ln() - 4.302_65 * error)).abs() < 1e-4, "{difference:?}");
    assert!((difference.high.ln() - (1.2f64.ln() + 4.302_65 * error)).abs() < 1e-4, "{difference:?}");
}

#[test]
fn pairs_are_compared_by_their_ratios() {
    // The level doubles from pair to pair; within each pair, the second is 10 % larger, more or less.
    let (before, after) = (runs(&[100.0, 200.0, 400.0]), runs(&[111.0, 218.0, 440.0]));
    let paired = Difference::of_pairs(&before, &after).unwrap();
    assert!((paired.ratio - 1.1).abs() < 1e-3 && paired.low > 1.0 && paired.p < 0.01, "{paired:?}");
    assert!((paired.after / paired.before - paired.ratio).abs() < 1e-9, "{paired:?}");
    assert!(paired.covers == Covers::BetweenRuns && paired.runs == (3, 3));
    // python3: mean and variance of ln 1.11, ln 1.09 and ln 1.10, df = 2, t = 4.30265
    let logs = [1.11f64.ln(), 1.09f64.ln(), 1.1f64.ln()];
    let mean = logs.iter().sum::<f64>() / 3.0;
    let squares: f64 = logs.iter().map(|log| (log - mean).powi(2)).sum();
    let error = (squares / 2.0 / 3.0 + 2.0 * ROUNDING * ROUNDING).sqrt();
    assert!((paired.low.ln() - (mean - 4.302_65 * error)).abs() < 1e-4, "{paired:?}");
    let apart = Difference::of(&before, &after).unwrap();
    assert!(apart.p > 0.5 && apart.repeats_for(0.05) > paired.repeats_for(0.05), "{apart:?}");
    assert_eq!(Difference::of_pairs(&before, &after[..2]), None);
    assert_eq!(Difference::of_pairs(&before[..1], &after[..1]), None);
    assert_eq!(Difference::of_pairs(&runs(&[1.0, 0.0]), &runs(&[1.0, 1.0])), None);
}

#[test]
fn single_runs_keep_the_skew_of_their_intervals() {
    let p99 = |value: f64, low, high| Estimate { value, low, high, ..known(value) };
    let (before, after) = (p99(100.0, 95.0, 200.0), p99(150.0, 140.0, 400.0));
    let difference = Difference::of(&[before], &[after]).unwrap();
    assert_eq!(difference.covers, Covers::WithinRuns);
    // What may be twice as long before is not shown to be longer after.
    assert!(difference.low < 1.0 && difference.high > 2.6, "{difference:?}");
    let back = Difference::of(&[after], &[before]).unwrap();
    assert!((back.low * difference.high - 1.0).abs() < 1e-9 && (back.p - difference.p).abs() < 1e-9);
    assert_eq!(difference.repeats_for(1e-9), MAX_REPEATS);
}

#[test]
fn what_has_no_ratio_has_no_difference() {
    for value in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert_eq!(Difference::of(&[known(1.0)], &[known(value)]), None, "{value}");
    }
    assert_eq!(Difference::of(&[], &[known(1.0)]), None);
    let alone = Estimate::mean(5.0, 0.0, 0.0, Direction::LowerIsBetter);
    let nothing = Difference::of(&[alone], &[known(1.0)]).unwrap();
    assert!(nothing.p > 0.99 && nothing.detectable.is_infinite(), "{nothing:?}");
}

#[test]
fn one_bucket_of_a_histogram_is_no_difference() {
    let same = runs(&[1000.0; 5]);
    let next = runs(&[1000.5; 5]);
    assert!(Difference::of(&same, &next).unwrap().p > 0.05);
    assert!(Difference::of(&same, &runs(&[1010.0; 5])).unwrap().p < 1e-6);
}

#[test]
fn of_many_figures_few_false_ones_are_shown() {
    // Benjamini & Hochberg 1995, section 3.2: of 15 p-values the first four are rejected.
    let published = [
        0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.3240, 0.4262, 0.5719,
        0.6528, 0.7590, 1.0000,
    ];
    assert_eq!(shown(&published).iter().filter(|is_shown| **is_shown).count(), 4);
    assert_eq!(shown(&[]), Vec::<bool>::new());
    assert_eq!(shown(&[f64::NAN, 0.001]), [false, true]);
}

/// Simulations of each case. The figures in docs/statistics.md: IOLITE_SIMULATIONS=1000 and --release.
fn simulations() -> u64 {
    std::env::var("IOLITE_SIMULATIONS").ok().and_then(|runs| runs.parse().ok()).unwrap_or(200)
}

/// Three standard errors of a share of 5 or 95 % in this number of simulations, in percent.
fn tolerance(count: u64) -> f64 {
    300.0 * (0.05 * 0.95 / count as f64).sqrt()
}

/// A sum of twelve uniforms: standard normal enough.
fn normal(rng: &mut Xoshiro256PlusPlus) -> f64 {
    (0..12).map(|_| rng.random::<f64>()).sum::<f64>() - 6.0
}

/// A device whose intervals are an AR(1) process of this correlation, whose runs differ by `between` (standard deviation of the
/// level's logarithm), and whose level moves on by `drift` from one run to the next, which nothing brings back.
struct Device {
    rng: Xoshiro256PlusPlus,
    correlation: f64,
    between: f64,
    drift: f64,
    level: f64,
}

impl Device {
    fn new(seed: u64, correlation: f64, between: f64, drift: f64) -> Device {
        Device { rng: Xoshiro256PlusPlus::seed_from_u64(seed), correlation, between, drift, level: 0.0 }
    }

    /// Rate and mean response time of a run of 30 intervals by one worker, `faster` times as fast.
    fn run(&mut self, faster: f64) -> [Estimate; 2] {
        self.level += self.drift * normal(&mut self.rng);
        let level = 1000.0 * faster * (self.level + self.between * normal(&mut self.rng)).exp();
        let mut state = normal(&mut self.rng);
        let step = (1.0 - self.correlation * self.correlation).sqrt();
        let counts: Vec<f64> = (0..30)
            .map(|_| {
                state = self.correlation * state + step * normal(&mut self.rng);
                (level * (1.0 + 0.05 * state)).max(1.0)
            })
            .collect();
        let rate: Vec<_> = counts.iter().map(|count| (1.0, *count)).collect();
        let mean: Vec<_> = counts.iter().map(|count| (*count, 1.0)).collect();
        let mean = Estimate::ratio(&mean, Direction::LowerIsBetter).unwrap();
        [Estimate::rate(&rate, Direction::HigherIsBetter), mean]
    }

    fn runs(&mut self, count: u32, faster: f64) -> Vec<[Estimate; 2]> {
        (0..count).map(|_| self.run(faster)).collect()
    }
}

fn differences(before: &[[Estimate; 2]], after: &[[Estimate; 2]]) -> [Difference; 2] {
    [0, 1].map(|figure| {
        let of = |side: &[[Estimate; 2]]| side.iter().map(|run| run[figure]).collect::<Vec<_>>();
        Difference::of(&of(before), &of(after)).unwrap()
    })
}

fn any_shown(differences: &[Difference]) -> bool {
    shown(&differences.iter().map(|each| each.p).collect::<Vec<_>>()).contains(&true)
}

#[test]
fn equal_sets_of_runs_seldom_differ_and_the_repeats_asked_for_suffice() {
    println!(
        "correlation, between runs: false differences of 5 and 5; single runs; found with the repeats; their mean number"
    );
    for correlation in [0.0, 0.5, 0.9] {
        for between in [0.0, 0.02, 0.05] {
            let count = simulations();
            let (mut wrong, mut single, mut found, mut asked) = (0, 0, 0, 0);
            for seed in 0..count {
                let mut device = Device::new(seed, correlation, between, 0.0);
                let (before, same) = (device.runs(5, 1.0), device.runs(5, 1.0));
                wrong += u64::from(any_shown(&differences(&before, &same)));
                single += u64::from(any_shown(&differences(&before[..1], &same[..1])));
                let mut before = before;
                let mut faster = device.runs(5, 1.05);
                let more = differences(&before, &faster).map(|each| each.repeats_for(0.05));
                let repeats = more[0].max(more[1]);
                before.extend(device.runs(repeats - 5, 1.0));
                faster.extend(device.runs(repeats - 5, 1.05));
                found += u64::from(any_shown(&differences(&before, &faster)));
                asked += u64::from(repeats);
            }
            let share = |of: u64| 100.0 * of as f64 / count as f64;
            let mean = asked as f64 / count as f64;
            println!(
                "{correlation} {between}: {:.1} {:.1} {:.1} {mean:.1}",
                share(wrong),
                share(single),
                share(found)
            );
            assert!(
                share(wrong) <= 5.0 + tolerance(count),
                "{correlation} {between}: {:.1} % false",
                share(wrong)
            );
            assert!(
                share(found) >= 90.0 - 1.4 * tolerance(count),
                "{correlation} {between}: {:.1} % found",
                share(found)
            );
            assert!(
                between > 0.0 || share(single) <= 5.0 + tolerance(count),
                "{correlation}: {:.1} % false",
                share(single)
            );
        }
    }
}

/// The pairs that `iolite ab` runs at most unless more are asked for.
const PAIRS: usize = 20;

/// Pairs in random order until the answer, at most so many; the test, and how many pairs there were.
fn pairs(device: &mut Device, faster: f64, at_most: usize) -> (Sequential, usize) {
    let mut test = Sequential::default();
    for pair in 1..=at_most {
        let first = device.rng.random::<bool>();
        let (one, other) = if first { (1.0, faster) } else { (faster, 1.0) };
        let (one, other) = (device.run(one)[0].value, device.run(other)[0].value);
        let (before, after) = if first { (one, other) } else { (other, one) };
        test.add(before, after);
        let interval = test.interval(0.05);
        if interval.is_shown() || interval.excludes(0.05) {
            return (test, pair);
        }
    }
    (test, at_most)
}

#[test]
fn pairs_in_random_order_seldom_differ_and_the_pairs_asked_for_suffice() {
    for (correlation, between, drift) in
        [(0.0, 0.0, 0.0), (0.5, 0.02, 0.0), (0.5, 0.02, 0.02), (0.9, 0.02, 0.05), (0.5, 0.05, 0.0)]
    {
        let count = simulations();
        let (mut wrong, mut first, mut found, mut run) = (0, 0, 0, 0);
        let is_shown = |test: &Sequential| test.interval(0.05).is_shown();
        for seed in 0..count {
            let mut device = Device::new(seed, correlation, between, drift);
            // Looked at as long as the longest of the comparisons goes on.
            wrong += u64::from(is_shown(&pairs(&mut device, 1.0, 100).0));
            let (test, pairs_run) = pairs(&mut device, 1.05, PAIRS);
            run += pairs_run;
            first += u64::from(is_shown(&test));
            let is_open = !is_shown(&test) && !test.interval(0.05).excludes(0.05);
            // What is asked for is another comparison, from the beginning.
            let again = test.pairs_for(0.05, 0.05).filter(|_| is_open).map(|asked| {
                let (test, pairs_run) = pairs(&mut device, 1.05, asked as usize);
                run += pairs_run;
                is_shown(&test)
            });
            found += u64::from(again.unwrap_or(is_shown(&test)));
        }
        let share = |of: u64| 100.0 * of as f64 / count as f64;
        let mean = run as f64 / count as f64;
        println!(
            "simulated: {correlation} | {between} | {drift} | {:.1} | {:.1} | {:.1} | {mean:.1}",
            share(wrong),
            share(first),
            share(found)
        );
        let case = format!("{correlation} {between} {drift}");
        assert!(share(wrong) <= 5.0 + tolerance(count), "{case}: {:.1} % false", share(wrong));
        assert!(share(found) >= 90.0 - 1.4 * tolerance(count), "{case}: {:.1} % found", share(found));
    }
}

#[test]
fn the_pairs_asked_for_grow_with_the_variation() {
    let asked = |spread: f64| {
        let mut test = Sequential::default();
        (0..20)
            .for_each(|pair| test.add(1.0, if pair % 2 == 0 { 1.0 + spread } else { 1.0 / (1.0 + spread) }));
        test.pairs_for(0.05, 0.05)
    };
    assert_eq!(asked(0.001), Some(20));
    assert!(
        asked(0.05) < asked(0.1) && asked(0.1) < asked(0.3),
        "{:?} {:?} {:?}",
        asked(0.05),
        asked(0.1),
        asked(0.3)
    );
    assert_eq!((asked(1e6), Sequential::default().pairs_for(0.05, 0.05)), (None, None));
}

#[test]
fn an_interval_that_holds_at_any_time_is_none_after_one_pair() {
    let mut test = Sequential::default();
    test.add(1.0, 2.0);
    test.add(0.0, 2.0);
    test.add(f64::NAN, 2.0);
    let interval = test.interval(0.05);
    assert_eq!((interval.pairs, interval.high), (1, f64::INFINITY));
    assert!(!interval.is_shown() && !interval.excludes(0.05));
    (0..20).for_each(|_| test.add(1.0, 2.0));
    let interval = test.interval(0.05);
    assert!(interval.is_shown() && (interval.ratio - 2.0).abs() < 1e-9, "{interval:?}");
    let mut same = Sequential::default();
    (0..20).for_each(|number| same.add(1.0, 1.0 + 0.001 * f64::from(number % 3 - 1)));
    assert!(same.interval(0.05).excludes(0.05) && !same.interval(0.05).is_shown());
}
