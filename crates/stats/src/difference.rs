//! The difference of a figure between two systems, with its uncertainty; the method of `iolite results compare`.
//!
//! Everything is done on logarithms: a figure twice as large and one half as large are equally far from no difference, and
//! the effect is a ratio (Kalibera & Jones 2013, Rigorous benchmarking in reasonable time). docs/statistics.md has the
//! calibration.

mod sequential;
#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};
use statrs::distribution::{ContinuousCDF, Normal, StudentsT};

use crate::estimate::{Direction, Estimate, Z_95};

pub use sequential::{Sequential, SequentialInterval};

/// Probability of a difference that is shown where there is none, for one figure.
const LEVEL: f64 = 0.05;

/// Probability with which the smallest detectable difference is shown.
const POWER: f64 = 0.8;

/// Probability with which the repeats that are suggested show the difference that is looked for.
const POWER_OF_REPEATS: f64 = 0.9;

/// Standard deviation of the rounding of a histogram's buckets, which are 0.1 % wide: that of a uniform distribution.
const ROUNDING: f64 = 0.001 / 3.464_101_615_137_754_6;

/// Repeats of each side that are suggested at least: with fewer, nothing is known of the variation between runs.
const MIN_REPEATS: u32 = 5;

/// Repeats of each side beyond which none are suggested: as many would be too few.
pub const MAX_REPEATS: u32 = 1000;

/// What the interval of a difference covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Covers {
    /// The variation within one run of each side: another run may differ by more than it says.
    WithinRuns,
    /// The variation from run to run.
    BetweenRuns,
}

/// How a figure of one side differs from the same figure of the other.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Difference {
    /// The figure before: of one run its own, of several their geometric mean.
    pub before: f64,
    /// The figure after.
    pub after: f64,
    /// After over before.
    pub ratio: f64,
    /// Lower end of the ratio's 95 % interval.
    #[serde(with = "iolite_model::real")]
    pub low: f64,
    /// Upper end of the ratio's 95 % interval.
    #[serde(with = "iolite_model::real")]
    pub high: f64,
    /// Probability of a difference as large as this one or larger where there is none.
    #[serde(with = "iolite_model::real")]
    pub p: f64,
    /// The smallest difference, as a share of `before`, that is shown with a probability of 80 %.
    #[serde(with = "iolite_model::real")]
    pub detectable: f64,
    /// What the interval covers.
    pub covers: Covers,
    /// Runs of each side.
    pub runs: (u32, u32),
    /// Which way is better.
    pub direction: Direction,
    /// Standard deviation of a run's logarithm and its degrees of freedom.
    #[serde(skip)]
    deviation: (f64, f64),
}

impl Difference {
    /// The difference between the runs before and the runs after: an estimate of the figure for each run.
    ///
    /// With several runs on both sides it is Welch's test (1947, Biometrika 34) on the logarithms of the runs' figures, the
    /// run being the unit (Kalibera & Jones 2013). With several on one side only, their variance stands for both. With one
    /// on each side, the runs' own intervals are combined (MOVER: Zou & Donner 2008, Statistics in Medicine 27), which keeps
    /// the skew of a quantile's interval.
    ///
    /// `None` where a side is empty or a figure is not positive and finite: then there is no ratio.
    pub fn of(before: &[Estimate], after: &[Estimate]) -> Option<Difference> {
        let usable = |estimates: &[Estimate]| {
            !estimates.is_empty() && estimates.iter().all(|each| each.value.is_finite() && each.value > 0.0)
        };
        if !usable(before) || !usable(after) {
            return None;
        }
        match (before, after) {
            ([one], [other]) => Some(within(one, other)),
            _ => Some(between(before, after)),
        }
    }

    /// The difference between runs in pairs: each run before with the run after at the same place, measured next to each other in
    /// time.
    ///
    /// It is Student's t-test on the logarithms of the pairs' ratios: a level that moves on from pair to pair is in both runs of a
    /// pair and leaves their ratio alone (Bulej et al. 2020, Duet benchmarking). `None` as for [`Difference::of`], and for fewer than
    /// two pairs or sides of different size.
    pub fn of_pairs(before: &[Estimate], after: &[Estimate]) -> Option<Difference> {
        let log = |each: &Estimate| Some(each.value.ln()).filter(|log| log.is_finite());
        let logs = |side: &[Estimate]| side.iter().map(log).collect::<Option<Vec<f64>>>();
        let (before_logs, after_logs) = (logs(before)?, logs(after)?);
        if before_logs.len() != after_logs.len() || before_logs.len() < 2 {
            return None;
        }
        let changes: Vec<f64> = before_logs.iter().zip(&after_logs).map(|(one, other)| other - one).collect();
        let (change, variance, freedom) = moments(&changes);
        let found = Found {
            means: (moments(&before_logs).0, change),
            squared: variance / changes.len() as f64,
            freedom,
            // A pair's difference has the variance of two runs.
            deviation: ((variance / 2.0).sqrt(), freedom),
        };
        Some(found.difference(before, after))
    }

    /// `after` less `before`, as a share of `before`: 0.1 is 10 % more.
    pub fn change(&self) -> f64 {
        self.ratio - 1.0
    }

    /// Whether the change is for the better.
    pub fn is_better(&self) -> bool {
        match self.direction {
            Direction::HigherIsBetter => self.ratio > 1.0,
            Direction::LowerIsBetter => self.ratio < 1.0,
        }
    }

    /// Runs of each side with which a difference of this share is shown with a probability of 90 %: from the variation
    /// between the runs, or 5 as long as nothing is known of that.
    ///
    /// The deviation is known from few runs only; Student's quantiles of their degrees of freedom allow for it (Stein 1945,
    /// Annals of Mathematical Statistics 16).
    pub fn repeats_for(&self, share: f64) -> u32 {
        let (deviation, freedom) = self.deviation;
        let effect = share.abs().ln_1p();
        if !deviation.is_finite() || effect <= 0.0 {
            return MAX_REPEATS;
        }
        let reach = student(1.0 - LEVEL / 2.0, freedom) + student(POWER_OF_REPEATS, freedom);
        let runs = (2.0 * (deviation * reach / effect).powi(2)).ceil();
        (runs.min(f64::from(MAX_REPEATS)) as u32).max(MIN_REPEATS)
    }
}

/// The difference between two single runs.
fn within(before: &Estimate, after: &Estimate) -> Difference {
    let side = |estimate: &Estimate| {
        let log = estimate.value.ln();
        // A lower end of 0 is as far away as can be.
        let lower = if estimate.low > 0.0 { log - estimate.low.ln() } else { f64::INFINITY };
        let upper = estimate.high.ln() - log;
        // Rounding is on top of what the interval covers.
        let rounded = |half: f64| half.max(0.0).hypot(Z_95 * ROUNDING);
        (log, rounded(lower), rounded(upper))
    };
    let ((a, a_lower, a_upper), (b, b_lower, b_upper)) = (side(before), side(after));
    let change = b - a;
    let (lower, upper) = (b_lower.hypot(a_upper), b_upper.hypot(a_lower));
    // The half towards no difference decides.
    let error = if change >= 0.0 { lower } else { upper } / Z_95;
    let normal = |share| standard_normal().inverse_cdf(share);
    let reach = normal(1.0 - LEVEL / 2.0) + normal(POWER);
    Difference {
        before: before.value,
        after: after.value,
        ratio: change.exp(),
        low: (change - lower).exp(),
        high: (change + upper).exp(),
        p: 2.0 * standard_normal().cdf(-(change / error).abs()),
        detectable: (error * reach).exp_m1(),
        covers: Covers::WithinRuns,
        runs: (1, 1),
        direction: before.direction,
        deviation: (error / std::f64::consts::SQRT_2, f64::INFINITY),
    }
}

/// Mean, squared error of the mean and degrees of freedom of some logarithms.
fn moments(logs: &[f64]) -> (f64, f64, f64) {
    let n = logs.len() as f64;
    let mean = logs.iter().sum::<f64>() / n;
    let freedom = n - 1.0;
    let squares: f64 = logs.iter().map(|log| (log - mean).powi(2)).sum();
    let variance = if freedom > 0.0 { squares / freedom } else { f64::NAN };
    (mean, variance, freedom)
}

/// The difference between sets of runs, of which one at least has several.
fn between(before: &[Estimate], after: &[Estimate]) -> Difference {
    let logs = |side: &[Estimate]| side.iter().map(|each| each.value.ln()).collect::<Vec<_>>();
    let (a_logs, b_logs) = (logs(before), logs(after));
    let (a, a_variance, a_freedom) = moments(&a_logs);
    let (b, b_variance, b_freedom) = moments(&b_logs);
    let (a_n, b_n) = (a_logs.len() as f64, b_logs.len() as f64);
    let (squared, freedom, variance) = if a_freedom == 0.0 || b_freedom == 0.0 {
        // One run says nothing of how runs vary: the other side's variance is taken for both.
        let variance = if a_freedom == 0.0 { b_variance } else { a_variance };
        (variance * (1.0 / a_n + 1.0 / b_n), a_freedom + b_freedom, variance)
    } else {
        let (one, other) = (a_variance / a_n, b_variance / b_n);
        let freedom = (one + other).powi(2) / (one * one / a_freedom + other * other / b_freedom);
        // Runs that are all alike have no variance, and no degrees of freedom by Welch's formula.
        let freedom = if freedom.is_finite() { freedom } else { a_freedom + b_freedom };
        let pooled = (a_variance * a_freedom + b_variance * b_freedom) / (a_freedom + b_freedom);
        (one + other, freedom, pooled)
    };
    let deviation = (variance.sqrt(), a_freedom + b_freedom);
    Found { means: (a, b - a), squared, freedom, deviation }.difference(before, after)
}

/// What several runs say of a difference, in logarithms.
struct Found {
    /// Mean before, and what is added to it after.
    means: (f64, f64),
    /// Squared error of the change.
    squared: f64,
    /// Its degrees of freedom.
    freedom: f64,
    /// Standard deviation of a run, and its degrees of freedom.
    deviation: (f64, f64),
}

impl Found {
    fn difference(self, before: &[Estimate], after: &[Estimate]) -> Difference {
        let Found { means: (mean, change), squared, freedom, deviation } = self;
        // Repeats do not average rounding out: they are rounded alike.
        let error = (squared + 2.0 * ROUNDING * ROUNDING).sqrt();
        let half = student(1.0 - LEVEL / 2.0, freedom) * error;
        let reach = student(1.0 - LEVEL / 2.0, freedom) + student(POWER, freedom);
        Difference {
            before: mean.exp(),
            after: (mean + change).exp(),
            ratio: change.exp(),
            low: (change - half).exp(),
            high: (change + half).exp(),
            p: 2.0 * student_tail((change / error).abs(), freedom),
            detectable: (error * reach).exp_m1(),
            covers: Covers::BetweenRuns,
            runs: (before.len() as u32, after.len() as u32),
            direction: before.first().map_or(Direction::LowerIsBetter, |first| first.direction),
            deviation,
        }
    }
}

/// Which of several differences are shown: the expected share of false ones among these is at most 5 % (Benjamini & Hochberg
/// 1995, Journal of the Royal Statistical Society B 57). Where there is no difference at all, the probability that any is
/// shown is at most 5 %.
pub fn shown(p_values: &[f64]) -> Vec<bool> {
    let mut order: Vec<usize> = (0..p_values.len()).collect();
    order.sort_by(|&one, &other| p_values[one].total_cmp(&p_values[other]));
    let count = p_values.len() as f64;
    let passes = |(rank, &index): (usize, &usize)| p_values[index] <= LEVEL * (rank + 1) as f64 / count;
    let last = order.iter().enumerate().rposition(passes);
    let mut shown = vec![false; p_values.len()];
    for &index in order.iter().take(last.map_or(0, |last| last + 1)) {
        shown[index] = true;
    }
    shown
}

/// Student's quantile; the normal one where nothing limits the degrees of freedom.
fn student(share: f64, freedom: f64) -> f64 {
    match StudentsT::new(0.0, 1.0, freedom) {
        Ok(distribution) if freedom < 1e6 => distribution.inverse_cdf(share),
        _ => standard_normal().inverse_cdf(share),
    }
}

/// The share of Student's distribution above a value.
fn student_tail(value: f64, freedom: f64) -> f64 {
    match StudentsT::new(0.0, 1.0, freedom) {
        Ok(distribution) if freedom < 1e6 => distribution.cdf(-value),
        _ => standard_normal().cdf(-value),
    }
}

fn standard_normal() -> Normal {
    Normal::standard()
}
