//! Estimates: no number without its uncertainty and its direction.

mod correlation;
mod ranks;
mod sectioning;

use iolite_model::Quantile;
use serde::{Deserialize, Serialize};
use statrs::distribution::{ContinuousCDF, StudentsT};

pub(crate) use correlation::Worth;
use ranks::ranks;

/// 97.5 % quantile of the standard normal distribution: half the width of a 95 % interval in standard errors.
pub const Z_95: f64 = 1.959_963_984_540_054;

/// Upper 97.5 % limit of a Poisson mean when nothing was counted: -ln 0.025 (Garwood 1936, Biometrika 28).
const POISSON_UPPER_OF_NONE: f64 = 3.688_879_454_113_936;

/// Sections below which the spread from one to the next says nothing.
const MIN_SECTIONS: usize = 4;

/// Longest series whose autocorrelation is computed term by term; longer ones are batched down to it.
pub(crate) const MAX_BATCHES: f64 = 2000.0;

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
    /// Number of independent observations the data are worth, at most as many as there are.
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
    /// may differ. Intervals follow each other, so they are correlated: n of them are worth `n_eff` independent ones, as
    /// the smaller of two estimates says (the initial positive sequence, Geyer 1992; an AR(1) process with its correlation
    /// corrected for bias, Kendall 1954). Negative correlation is not credited: n_eff is at most n, since a device that
    /// pays back what it took (write-back, throttles) may stop doing so. Dividing by `n_eff - 1` undoes the bias of a
    /// correlated series' own variance; the interval is Student's t. It covers the truth in at least 92 % for 15 to 60
    /// intervals with a correlation of up to 0.9, by simulation (docs/statistics.md). What it covers is the variation
    /// within the series: another run may differ by more.
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
        let residuals = residuals(&batches, value);
        let variance = residuals.iter().map(|residual| residual * residual).sum::<f64>() / n;
        let worth = Worth::of(&residuals);
        let error = (variance / (worth.samples - 1.0)).sqrt() / (base / n);
        // Rounding alone leaves a residual of this order in a constant series.
        let error = if error < 1e-14 * value.abs() { 0.0 } else { error };
        Some(Estimate::student(value, error, worth, direction))
    }

    /// A mean from its own standard deviation (with divisor n or n - 1) over `n` observations.
    ///
    /// The observations are taken as independent. Response times in the order they were measured are not: prefer
    /// [`Estimate::ratio`] over intervals wherever those are at hand, or pass the number they are worth as `n`. With
    /// fewer than two observations the deviation says nothing: it is then taken as large as the mean itself, as that
    /// of exponential response times. Without any, the interval ends at infinity.
    pub fn mean(mean: f64, standard_deviation: f64, n: f64, direction: Direction) -> Estimate {
        if n >= 2.0 && standard_deviation >= 0.0 {
            return Estimate::student(mean, standard_deviation / n.sqrt(), independent(n), direction);
        }
        if n >= 1.0 {
            Estimate::student(mean, mean.abs(), independent(n), direction)
        } else {
            Estimate::unknown(mean, direction)
        }
    }

    /// A quantile from order statistics: the interval lies between the observations of two ranks that a binomial
    /// count gives (Conover 1999, Practical Nonparametric Statistics, 3.2); nothing is assumed of the distribution.
    ///
    /// `value_at(q)` is the smallest observation that at least the share `q` of all do not exceed, as a histogram
    /// gives it (0 the smallest, 1 the largest). The ranks are exact where the shorter tail expects at most 100
    /// observations, else by the normal approximation. The observations are taken as independent; for correlated
    /// ones pass the number they are worth as `n`.
    ///
    /// Where `n` is too small for an upper rank to exist, `high` is the largest observation: the interval then is
    /// only a lower confidence bound, and the true quantile may well lie above it. Likewise `low` is the smallest
    /// where there is no lower rank. See [`Estimate::resolves`]. Without observations the interval ends at infinity.
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

    /// The same in another unit: value, error and interval times a factor.
    pub fn scaled(self, factor: f64) -> Estimate {
        Estimate {
            value: self.value * factor,
            standard_error: self.standard_error * factor,
            low: self.low * factor,
            high: self.high * factor,
            ..self
        }
    }

    /// Half the interval's width as a share of the value: 0.02 is "± 2 %".
    pub fn relative_half_width(&self) -> f64 {
        (self.high - self.low) / 2.0 / self.value.abs()
    }

    /// A value of which nothing else is known.
    pub fn unknown(value: f64, direction: Direction) -> Estimate {
        let error = f64::INFINITY;
        let low = value.min(0.0);
        Estimate { value, standard_error: error, low, high: error, effective_samples: 0.0, direction }
    }

    /// An estimate with Student's interval.
    fn student(value: f64, standard_error: f64, worth: Worth, direction: Direction) -> Estimate {
        let half = student_t(worth.freedom) * standard_error;
        let (low, high) = (value - half, value + half);
        Estimate { value, standard_error, low, high, effective_samples: worth.samples, direction }
    }

    /// The ratio of two totals from windows `(base, amount)` that were measured apart from each other, in random order:
    /// each is one observation, whatever the correlation within it, and the interval includes drift between them
    /// (Ibragimov & Müller 2010, Journal of Business & Economic Statistics 28: Student's t with one degree of freedom
    /// less than there are groups holds for groups of any inner dependence, and is conservative where their variances
    /// differ).
    ///
    /// `None` with fewer than two windows in which anything was measured.
    pub fn of_windows(windows: &[(f64, f64)], direction: Direction) -> Option<Estimate> {
        let (base, amount) = totals(windows);
        let value = amount / base;
        let used: Vec<_> = windows.iter().filter(|window| is_usable(window) && window.0 > 0.0).collect();
        if used.len() < 2 || !value.is_finite() {
            return None;
        }
        let n = used.len() as f64;
        let squares: f64 = used.iter().map(|(base, amount)| (amount - value * base).powi(2)).sum();
        let error = (squares / (n - 1.0) / n).sqrt() / (base / n);
        let error = if error < 1e-14 * value.abs() { 0.0 } else { error };
        let student = Estimate::student(value, error, independent(n), direction);
        let low = if student.low > 0.0 { student.low } else { Estimate::least_of_windows(windows) };
        Some(Estimate { low, ..student })
    }

    /// The least that the ratio of `windows`, measured apart as for [`Estimate::of_windows`], is with 97.5 % confidence where it
    /// cannot be negative. With few windows Student's interval may reach below 0 although each of them is far above it.
    ///
    /// By Markov's inequality a window is above `c` times the true ratio with a probability of at most `1 / c`, where the ratio of a window is on average the true one, and all `n` are with
    /// at most `c^-n`: the smallest of them over `40^(1/n)` is a bound, whatever the distribution. 0 where there is no window.
    pub fn least_of_windows(windows: &[(f64, f64)]) -> f64 {
        const WRONG: f64 = 0.025;
        let ratios = windows.iter().filter(|window| is_usable(window) && window.0 > 0.0);
        let ratios: Vec<f64> = ratios.map(|(base, amount)| amount / base).collect();
        let smallest = ratios.iter().copied().fold(f64::INFINITY, f64::min);
        if smallest.is_finite() { smallest.max(0.0) * WRONG.powf(1.0 / ratios.len() as f64) } else { 0.0 }
    }
}

/// What independent observations are worth: all of them.
fn independent(n: f64) -> Worth {
    Worth { samples: n, freedom: (n - 1.0).max(1.0) }
}

/// Number of independent operations those of some sections `(operations, slow ones)` are worth for a quantile, at least 1;
/// see [`Estimate::quantile_of_sections`].
pub(crate) fn worth_for_quantile(sections: &[(f64, f64)]) -> Option<u64> {
    let (operations, slow) = totals(sections);
    let share = slow / operations;
    let occurred = sections.iter().filter(|section| section.0 > 0.0).count();
    if occurred < MIN_SECTIONS || !share.is_finite() {
        return None;
    }
    // All alike: whatever comes together is not seen.
    if !(share > 0.0 && share < 1.0) {
        return Some(operations as u64);
    }
    let n = operations;
    // Chance within a section hides the correlation of neighbours, so pairs of them are looked at too.
    let pairs: Vec<_> = sections.chunks(2).map(totals).collect();
    let worth = [sections, &pairs].into_iter().filter_map(|sections| {
        let of_share = Estimate::ratio(sections, Direction::LowerIsBetter)?;
        let effect = (of_share.standard_error.powi(2) / (share * (1.0 - share) / n)).max(1.0);
        let freedom = Worth::of(&residuals(sections, share)).freedom;
        Some(n / effect * (student_t(n - 1.0) / student_t(freedom)).powi(2))
    });
    worth.min_by(f64::total_cmp).map(|worth| (worth as u64).clamp(1, n as u64))
}

/// How far the amount of each entry is from what the ratio of the totals says.
fn residuals(series: &[(f64, f64)], value: f64) -> Vec<f64> {
    series.iter().map(|(base, amount)| amount - value * base).collect()
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

/// 97.5 % quantile of Student's t distribution.
fn student_t(freedom: f64) -> f64 {
    // Beyond this the difference to the normal distribution is below 0.01 %.
    if freedom > 20_000.0 {
        return Z_95;
    }
    StudentsT::new(0.0, 1.0, freedom.max(1.0)).map_or(Z_95, |t| t.inverse_cdf(0.975))
}

/// A quantile as a number from 0 to 1; one that is not a number becomes the largest, which claims least.
fn share(q: Quantile) -> f64 {
    if q.0.is_nan() { 1.0 } else { q.0.clamp(0.0, 1.0) }
}

#[cfg(test)]
mod tests;
