//! Estimates: no number without its uncertainty and its direction.

use iolite_model::Quantile;
use serde::{Deserialize, Serialize};
use statrs::distribution::{ContinuousCDF, StudentsT};

/// 97.5 % quantile of the standard normal distribution: half the width of a 95 % interval in standard errors.
pub(crate) const Z_95: f64 = 1.959_963_984_540_054;

/// Upper 97.5 % limit of a Poisson mean when nothing was counted: -ln 0.025 (Garwood 1936, Biometrika 28).
const POISSON_UPPER_OF_NONE: f64 = 3.688_879_454_113_936;

/// Longest series whose autocorrelation is computed term by term; longer ones are batched down to it.
pub(crate) const MAX_BATCHES: f64 = 2000.0;

/// Below this many expected observations in the shorter tail, ranks come from the exact binomial distribution.
const EXACT_TAIL: f64 = 100.0;

/// Which way is better, so that a comparison can say "better" and not only "larger".
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Direction {
    /// Throughput: operations or bytes per second.
    HigherIsBetter,
    /// Response time, errors.
    LowerIsBetter,
}

/// A value with its uncertainty, in the unit of what it was estimated from.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// The point estimate.
    #[serde(with = "iolite_model::real")]
    pub value: f64,
    /// Standard error of `value`; for a quantile, its interval's width over 2 x 1.96.
    #[serde(with = "iolite_model::real")]
    pub standard_error: f64,
    /// Lower end of the 95 % interval.
    #[serde(with = "iolite_model::real")]
    pub low: f64,
    /// Upper end of the 95 % interval.
    #[serde(with = "iolite_model::real")]
    pub high: f64,
    /// How many independent observations the data are worth, at most as many as there are.
    #[serde(with = "iolite_model::real")]
    pub effective_samples: f64,
    /// Which way is better.
    pub direction: Direction,
}

impl Estimate {
    /// Throughput from a series of intervals `(seconds, count)` in the order they were measured.
    ///
    /// `value` is exactly total count over total seconds, per second; error and interval are those of
    /// [`Estimate::ratio`]. With fewer than two intervals, or nothing counted at all, there is no series to learn the
    /// variation from: the count is then taken as Poisson, with error `sqrt(count) / seconds` and the count as the
    /// effective sample size. That is pessimistic for a closed loop on a steady device and optimistic on one that
    /// stalls. Where no time was measured nothing is known: 0, with an interval from 0 to infinity.
    pub fn rate(series: &[(f64, f64)], direction: Direction) -> Estimate {
        let (seconds, count) = totals(series);
        if count > 0.0
            && let Some(estimate) = Estimate::ratio(series, direction)
        {
            return Estimate { low: estimate.low.max(0.0), ..estimate };
        }
        if !(seconds > 0.0 && seconds.is_finite() && count.is_finite()) {
            return Estimate::unknown(0.0, direction);
        }
        let (value, standard_error) = (count / seconds, count.max(0.0).sqrt() / seconds);
        let high = if count > 0.0 { value + Z_95 * standard_error } else { POISSON_UPPER_OF_NONE / seconds };
        let low = (value - Z_95 * standard_error).max(0.0);
        Estimate { value, standard_error, low, high, effective_samples: count, direction }
    }

    /// The ratio of two totals from a series `(base, amount)` in the order it was measured: (seconds, operations)
    /// gives throughput, (operations, sum of response times) gives the mean response time.
    ///
    /// `value` is exactly the sum of amounts over the sum of bases. Its error is that of the ratio estimator (Cochran
    /// 1977, Sampling Techniques, 2.11): the variation of `amount - value * base` over the intervals, whose lengths
    /// may differ. Intervals follow each other, so they are correlated: n of them are worth
    /// `n_eff = n / (1 + 2 sum rho_k)`, the sum truncated by the initial monotone positive sequence (Geyer 1992,
    /// Statistical Science 7, 3.3). Negative correlation is not credited: n_eff is at most n, since a device that
    /// pays back what it took (write-back, throttles) may stop doing so. It is at least 2. Dividing by `n_eff - 1`
    /// undoes the bias of a correlated series' own variance; the interval is Student's t with `n_eff - 1` degrees
    /// of freedom.
    ///
    /// An interval with less than half the base of the longest is merged with its neighbour. Entries that are not
    /// finite or have a negative base are skipped. `None` when fewer than two intervals remain.
    pub fn ratio(series: &[(f64, f64)], direction: Direction) -> Option<Estimate> {
        let (base, amount) = totals(series);
        let value = amount / base;
        let batches = batches(series, base);
        if batches.len() < 2 || !value.is_finite() {
            return None;
        }
        let n = batches.len() as f64;
        let residuals: Vec<f64> = batches.iter().map(|(base, amount)| amount - value * base).collect();
        let variance = autocovariance(&residuals, 0);
        let effective = effective_samples(&residuals);
        let error = (variance / (effective - 1.0)).sqrt() / (base / n);
        // Rounding alone leaves a residual of this order in a constant series.
        let error = if error < 1e-14 * value.abs() { 0.0 } else { error };
        Some(Estimate::student(value, error, effective, direction))
    }

    /// A mean from its own standard deviation (with divisor n or n - 1) over `n` observations.
    ///
    /// The observations are taken as independent. Response times in the order they were measured are not: prefer
    /// [`Estimate::ratio`] over intervals wherever those are at hand, or pass the number they are worth as `n`. With
    /// fewer than two observations the deviation says nothing: it is then taken as large as the mean itself, as that
    /// of exponential response times. Without any, the interval ends at infinity.
    pub fn mean(mean: f64, standard_deviation: f64, n: f64, direction: Direction) -> Estimate {
        if n >= 2.0 && standard_deviation >= 0.0 {
            return Estimate::student(mean, standard_deviation / n.sqrt(), n, direction);
        }
        if n >= 1.0 {
            Estimate::student(mean, mean.abs(), n, direction)
        } else {
            Estimate::unknown(mean, direction)
        }
    }

    /// A quantile from order statistics: the interval lies between the observations of two ranks that a binomial
    /// count tells (Conover 1999, Practical Nonparametric Statistics, 3.2); nothing is assumed of the distribution.
    ///
    /// `value_at(q)` is the smallest observation that at least the share `q` of all do not exceed, as a histogram
    /// gives it (0 the smallest, 1 the largest). The ranks are exact where the shorter tail expects at most 100
    /// observations, else by the normal approximation. The observations are taken as independent; for correlated
    /// ones pass the number they are worth as `n`.
    ///
    /// Where `n` is too small for an upper rank to exist, `high` is the largest observation: the interval then is
    /// only a lower confidence bound, and the true quantile may well lie above it. Likewise `low` is the smallest
    /// where there is no lower rank. [`Estimate::resolves`] tells. Without observations the interval ends at infinity.
    pub fn quantile(q: Quantile, n: u64, value_at: impl Fn(f64) -> f64, direction: Direction) -> Estimate {
        let q = share(q);
        let value = value_at(q);
        if n == 0 {
            return Estimate::unknown(value, direction);
        }
        let (lower, upper) = ranks(q, n);
        // Half a rank below the rank's own share, so that rounding never selects the next observation.
        let at_rank = |rank: u64| value_at((rank as f64 - 0.5) / n as f64);
        let low = if lower == 0 { value_at(0.0) } else { at_rank(lower) }.min(value);
        let high = if upper > n { value_at(1.0) } else { at_rank(upper) }.max(value);
        let standard_error = (high - low) / (2.0 * Z_95);
        Estimate { value, standard_error, low, high, effective_samples: n as f64, direction }
    }

    /// Whether `n` independent observations are enough for both ends of a 95 % interval of this quantile: 6 for the
    /// median, 368 for p99, 3688 for p99.9.
    pub fn resolves(q: Quantile, n: u64) -> bool {
        let (lower, upper) = ranks(share(q), n);
        lower >= 1 && upper <= n
    }

    /// Half the interval's width as a share of the value: 0.02 is "± 2 %".
    pub fn relative_half_width(&self) -> f64 {
        (self.high - self.low) / 2.0 / self.value.abs()
    }

    /// A value of which nothing else is known.
    fn unknown(value: f64, direction: Direction) -> Estimate {
        let error = f64::INFINITY;
        let low = value.min(0.0);
        Estimate { value, standard_error: error, low, high: error, effective_samples: 0.0, direction }
    }

    /// An estimate with Student's interval for `effective - 1` degrees of freedom.
    fn student(value: f64, standard_error: f64, effective: f64, direction: Direction) -> Estimate {
        let half = student_t(effective - 1.0) * standard_error;
        let (low, high) = (value - half, value + half);
        Estimate { value, standard_error, low, high, effective_samples: effective, direction }
    }
}

/// Whether an entry of a series can be used.
fn is_usable(&(base, amount): &(f64, f64)) -> bool {
    base.is_finite() && base >= 0.0 && amount.is_finite()
}

/// Sums of bases and of amounts.
fn totals(series: &[(f64, f64)]) -> (f64, f64) {
    series
        .iter()
        .filter(|entry| is_usable(entry))
        .fold((0.0, 0.0), |sum, entry| (sum.0 + entry.0, sum.1 + entry.1))
}

/// Neighbouring intervals merged until each has at least half the base of the longest; a rest joins the last one.
fn batches(series: &[(f64, f64)], total_base: f64) -> Vec<(f64, f64)> {
    let usable = || series.iter().filter(|entry| is_usable(entry));
    let longest = usable().fold(0.0, |longest: f64, entry| longest.max(entry.0));
    let enough = (longest / 2.0).max(total_base / MAX_BATCHES);
    let mut merged = Vec::new();
    let mut open = (0.0, 0.0);
    for (base, amount) in usable() {
        open = (open.0 + base, open.1 + amount);
        if open.0 > 0.0 && open.0 >= enough {
            merged.push(std::mem::take(&mut open));
        }
    }
    if let Some(last) = merged.last_mut() {
        *last = (last.0 + open.0, last.1 + open.1);
    }
    merged
}

/// Autocovariance at a lag of a series whose mean is zero, with divisor n as Geyer's estimator needs it.
fn autocovariance(series: &[f64], lag: usize) -> f64 {
    let pairs = series.iter().zip(series.get(lag..).unwrap_or_default());
    pairs.map(|(a, b)| a * b).sum::<f64>() / series.len() as f64
}

/// How many independent observations a series of mean zero is worth, from 2 to its length (Geyer 1992, 3.3).
fn effective_samples(series: &[f64]) -> f64 {
    let n = series.len() as f64;
    let variance = autocovariance(series, 0);
    if variance <= 0.0 {
        return n;
    }
    let mut sum = 0.0;
    let mut previous = f64::INFINITY;
    for lag in (0..series.len()).step_by(2) {
        let pair = autocovariance(series, lag) + autocovariance(series, lag + 1);
        if pair <= 0.0 {
            break;
        }
        previous = pair.min(previous);
        sum += previous;
    }
    let time = (2.0 * sum / variance - 1.0).max(1.0);
    (n / time).clamp(2.0, n)
}

/// 97.5 % quantile of Student's t distribution.
fn student_t(freedom: f64) -> f64 {
    // Beyond this the difference to the normal distribution is below 0.01 %.
    if freedom > 20_000.0 {
        return Z_95;
    }
    StudentsT::new(0.0, 1.0, freedom.max(1.0)).map_or(Z_95, |t| t.inverse_cdf(0.975))
}

/// A quantile as a number from 0 to 1; one that is no number becomes the largest, which claims least.
fn share(q: Quantile) -> f64 {
    if q.0.is_nan() { 1.0 } else { q.0.clamp(0.0, 1.0) }
}

/// Ranks, counted from 1, between which the quantile lies with at least 95 %; 0 and n + 1 say that there is none.
fn ranks(q: f64, n: u64) -> (u64, u64) {
    // Room for the rank n + 1.
    let n = n.min(u64::MAX - 1);
    // The upper tail mirrors the lower one; the shorter of the two keeps the sum short and exact.
    if q > 0.5 {
        let (lower, upper) = ranks_by_lower_tail(1.0 - q, n);
        return (n + 1 - upper, n + 1 - lower);
    }
    ranks_by_lower_tail(q, n)
}

/// [`ranks`] for q up to one half. With Y the binomial count of observations below the quantile, the lower rank is
/// the smallest y with P(Y <= y) > 2.5 %, and the upper one more than the smallest with P(Y <= y) >= 97.5 %.
fn ranks_by_lower_tail(q: f64, n: u64) -> (u64, u64) {
    let expected = q * n as f64;
    if expected > EXACT_TAIL {
        let spread = Z_95 * (expected * (1.0 - q)).sqrt();
        return ((expected - spread).ceil() as u64, (expected + spread).ceil() as u64);
    }
    let mut term = (n as f64 * (-q).ln_1p()).exp();
    let mut below = term;
    let mut lower = None;
    for y in 0..n {
        if below > 0.025 && lower.is_none() {
            lower = Some(y);
        }
        if below >= 0.975 {
            return (lower.unwrap_or(y), y + 1);
        }
        term *= (n - y) as f64 / (y + 1) as f64 * (q / (1.0 - q));
        below += term;
    }
    (lower.unwrap_or(n), n + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
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

    /// How often in 400 seeded simulations the interval covers the true rate of 1000, for an AR(1) series.
    fn coverage(correlation: f64, intervals: usize) -> f64 {
        let covered = (0..400u64).filter(|&seed| {
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
        covered.count() as f64 / 400.0
    }

    #[test]
    fn intervals_cover_the_truth_as_often_as_they_say() {
        for (correlation, intervals) in [(0.0, 30), (0.0, 120), (0.7, 60), (0.7, 300), (-0.5, 60)] {
            let share = coverage(correlation, intervals);
            // Below zero the interval is too wide on purpose.
            let most = if correlation < 0.0 { 1.0 } else { 0.99 };
            assert!((0.90..=most).contains(&share), "rho {correlation}, {intervals} intervals: {share}");
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
}
