//! The knee: the concurrency up to which more outstanding operations buy throughput, and beyond which only waiting.

mod fit;
mod model;
mod search;

use std::collections::BTreeMap;

use rand::{RngExt, SeedableRng};
use rand_distr::StandardNormal;
use rand_xoshiro::Xoshiro256PlusPlus;
use serde::{Deserialize, Serialize};

use crate::estimate::{Direction, Estimate, Z_95};
pub use model::ScalingModel;
pub use search::{refine, still_growing};

/// Smallest relative error a point is credited with: below it, run-to-run variation that no single run can see
/// dominates, and one very steady point must not outweigh all others.
const ERROR_FLOOR: f64 = 0.01;

/// Share of the model's largest throughput above which a tested point belongs to the plateau.
const PLATEAU_SHARE: f64 = 0.97;

/// Resamples of the bootstrap: the 2.5 % percentile then rests on a dozen of them.
const RESAMPLES: usize = 500;

/// What was measured at one concurrency, in a closed loop.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LoadPoint {
    /// Operations kept outstanding (processes, or processes times queue depth).
    pub concurrency: u32,
    /// Operations per second.
    pub throughput: f64,
    /// Standard error of `throughput`, in operations per second; 0 where it is not known.
    pub throughput_se: f64,
    /// Mean response time in seconds; 0 where it is not known. The fit does not need it, see [`LoadPoint::in_flight`].
    pub response: f64,
}

impl LoadPoint {
    /// The point of a rate at this concurrency, with the mean response time in nanoseconds. The half-width of the rate's interval is
    /// taken as a normal error: it is wider where few intervals are behind it.
    pub fn of(concurrency: u32, rate: &Estimate, response: f64) -> LoadPoint {
        let throughput_se = (rate.high - rate.low) / 2.0 / Z_95;
        LoadPoint { concurrency, throughput: rate.value, throughput_se, response: response / 1e9 }
    }

    /// Mean number of operations really in flight, by Little's law (Little 1961, Operations Research 9): throughput
    /// times response time. Well below `concurrency`, the load generator was the limit and not the storage.
    pub fn in_flight(&self) -> f64 {
        self.throughput * self.response
    }
}

/// Where throughput stops paying for concurrency, with what it rests on.
///
/// The knee is the integer concurrency, among 1 to the largest tested, with the largest power: throughput over
/// response time (Kleinrock 1979, Power and deterministic rules of thumb for probabilistic problems in computer
/// communications, ICC), by Little's law `X(c)^2 / c`. There the elasticity of throughput falls to one half: doubling
/// concurrency buys 41 % and no longer more. For two asymptotes it is where they cross.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Knee {
    /// The knee. Without saturation it may be only the largest concurrency tested, and the true knee beyond.
    pub concurrency: u32,
    /// Lower end of its 95 % interval.
    pub low: u32,
    /// Upper end of its 95 % interval, at most the largest concurrency tested.
    pub high: u32,
    /// Operations per second at the knee, by the model.
    #[serde(with = "iolite_model::real")]
    pub throughput: f64,
    /// Operations per second on the plateau: the precision-weighted mean of the measured points on it, the number of
    /// these being the effective sample size. Without saturation it is only the largest throughput seen.
    pub plateau: Estimate,
    /// The model it was found by.
    pub model: ScalingModel,
    /// Whether a plateau was really seen: the last doubling of concurrency bought less than 10 %, or cost throughput.
    pub saturated: bool,
    /// How far the model is from the points: root mean square of the relative residuals over their degrees of
    /// freedom (0.02 is 2 %). Above about 0.1 neither model describes the storage, and the interval is a guess.
    #[serde(with = "iolite_model::real")]
    pub relative_residual: f64,
}

/// A knee with the phases it was found by.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct KneeFound {
    /// What was searched, for example `random read 8 KiB`.
    pub name: String,
    /// The search's phases, by their numbers.
    pub phases: Vec<u32>,
    /// The knee.
    pub knee: Knee,
}

/// A usable point: one per concurrency.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Point {
    /// Concurrency.
    c: f64,
    /// Throughput, operations per second.
    x: f64,
    /// Relative standard error, at least [`ERROR_FLOOR`].
    error: f64,
}

impl Knee {
    /// Finds the knee. The same points and seed give the same answer; order and repetition do not matter.
    ///
    /// Fits the universal scalability law and two asymptotes by least squared relative errors and keeps the one with
    /// the smaller Akaike criterion. The interval is a parametric bootstrap's (Efron & Tibshirani 1993, An
    /// Introduction to the Bootstrap, 6.5 and 13.3): every point of the fitted model is moved by its standard error,
    /// or by the fit's residual where that is larger, and everything is fitted anew, model choice included.
    ///
    /// `None` with fewer than two concurrencies at which anything was measured.
    pub fn fit(points: &[LoadPoint], seed: u64) -> Option<Knee> {
        let usable = usable(points);
        let max = largest(points)?;
        let model = fit::best(&usable)?;
        let residual = fit::relative_residual(&model, &usable);
        let concurrency = model.knee(max);
        let (low, high) = interval(&usable, &model, residual, max, seed);
        Some(Knee {
            concurrency,
            low: low.min(concurrency),
            high: high.max(concurrency),
            throughput: model.throughput(f64::from(concurrency)),
            plateau: plateau(&usable, &model, residual, max),
            model,
            saturated: !still_growing(points),
            relative_residual: residual,
        })
    }
}

impl Knee {
    /// The same knee, with what a later measurement at it adds to its uncertainty: the points of the search and the
    /// re-measurement differ by drift that no single point shows.
    ///
    /// The interval is bootstrapped anew with errors at least as large as the relative difference between the fit and
    /// `again`, and the plateau's reaches as far as what was measured again.
    #[must_use]
    pub fn remeasured(&self, points: &[LoadPoint], again: &Estimate, seed: u64) -> Knee {
        let difference = (again.value / self.throughput - 1.0).abs();
        let Some(max) = largest(points).filter(|_| difference.is_finite()) else { return self.clone() };
        let error = self.relative_residual.max(difference);
        let (low, high) = interval(&usable(points), &self.model, error, max, seed);
        let mut plateau = self.plateau;
        if self.saturated && difference > 0.0 {
            let moved = plateau.value * difference;
            plateau.low = plateau.low.min(plateau.value - moved).max(0.0);
            plateau.high = plateau.high.max(plateau.value + moved);
            plateau.standard_error = plateau.standard_error.max((plateau.high - plateau.low) / (2.0 * Z_95));
        }
        Knee { low: low.min(self.low), high: high.max(self.high), plateau, ..self.clone() }
    }
}

/// Points that can be used, one per concurrency, by concurrency; repetitions are pooled.
fn usable(points: &[LoadPoint]) -> Vec<Point> {
    let mut by_concurrency: BTreeMap<u32, Vec<Point>> = BTreeMap::new();
    for point in points.iter().filter(|point| is_usable(point)) {
        let known = point.throughput_se.is_finite() && point.throughput_se >= 0.0;
        let error = if known { (point.throughput_se / point.throughput).max(ERROR_FLOOR) } else { 1.0 };
        let usable = Point { c: f64::from(point.concurrency), x: point.throughput, error };
        by_concurrency.entry(point.concurrency).or_default().push(usable);
    }
    let pooled = by_concurrency.into_iter().map(|(concurrency, same)| {
        let (x, error) = pool(&same);
        Point { c: f64::from(concurrency), x, error: error.max(ERROR_FLOOR) }
    });
    pooled.filter(|point| point.x.is_normal() && point.error.is_finite()).collect()
}

/// Whether anything was measured at this point.
fn is_usable(point: &LoadPoint) -> bool {
    point.concurrency > 0 && point.throughput.is_normal() && point.throughput > 0.0
}

/// Largest usable concurrency.
fn largest(points: &[LoadPoint]) -> Option<u32> {
    points.iter().filter(|point| is_usable(point)).map(|point| point.concurrency).max()
}

/// Mean throughput weighted by relative precision, and its relative standard error. Where the points scatter more
/// than their errors allow, the error is widened by that ratio (Birge 1932, Physical Review 40, as the Particle
/// Data Group does).
fn pool(points: &[Point]) -> (f64, f64) {
    let weight = |point: &Point| point.error.powi(-2);
    let sum: f64 = points.iter().map(weight).sum();
    let mean = points.iter().map(|point| weight(point) * point.x).sum::<f64>() / sum;
    let scatter: f64 = points.iter().map(|point| weight(point) * (point.x / mean - 1.0).powi(2)).sum();
    let ratio = (scatter / (points.len() as f64 - 1.0).max(1.0)).sqrt().max(1.0);
    (mean, ratio / sum.sqrt())
}

/// The plateau, pooled from the points measured on it; from the model where its peak lies between tested points.
fn plateau(points: &[Point], model: &ScalingModel, residual: f64, max: u32) -> Estimate {
    let tested = points.iter().map(|point| model.throughput(point.c)).fold(0.0, f64::max);
    let on: Vec<Point> = match model {
        ScalingModel::Asymptotes { .. } => fit::on_plateau(points, model),
        ScalingModel::Usl { .. } => points
            .iter()
            .filter(|point| model.throughput(point.c) >= PLATEAU_SHARE * tested.max(model.plateau(max)))
            .copied()
            .collect(),
    };
    let (value, error) =
        if on.is_empty() { (model.plateau(max), residual.max(ERROR_FLOOR)) } else { pool(&on) };
    let standard_error = value * error;
    Estimate {
        value,
        standard_error,
        low: (value - Z_95 * standard_error).max(0.0),
        high: value + Z_95 * standard_error,
        effective_samples: on.len() as f64,
        direction: Direction::HigherIsBetter,
    }
}

/// 95 % percentile interval of the knee by the parametric bootstrap that [`Knee::fit`] describes.
fn interval(points: &[Point], model: &ScalingModel, residual: f64, max: u32, seed: u64) -> (u32, u32) {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut knees = Vec::with_capacity(RESAMPLES);
    for _ in 0..RESAMPLES {
        let resampled: Vec<Point> = points
            .iter()
            .map(|point| {
                let error = point.error.max(residual);
                // On the logarithm, so that a throughput stays above zero however large the error.
                let x = model.throughput(point.c) * (error * rng.sample::<f64, _>(StandardNormal)).exp();
                Point { x, error, ..*point }
            })
            .collect();
        knees.extend(fit::best(&resampled).map(|model| model.knee(max)));
    }
    knees.sort_unstable();
    let at = |share: f64| knees.get((share * knees.len() as f64) as usize).copied().unwrap_or(max);
    (at(0.025), at(0.975))
}

#[cfg(test)]
mod tests;
