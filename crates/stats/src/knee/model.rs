//! How throughput grows with concurrency: two models, as functions.

use std::fmt;

use iolite_model::Iops;
use serde::{Deserialize, Serialize};

/// Throughput as a function of the operations outstanding, in operations per second.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ScalingModel {
    /// The universal scalability law, `X(c) = λ c / (1 + σ (c - 1) + κ c (c - 1))` (Gunther 2007, Guerrilla Capacity
    /// Planning, ch. 4 to 6): a soft knee, and a peak after which throughput falls.
    Usl {
        /// Operations per second with one outstanding.
        #[serde(with = "iolite_model::real")]
        lambda: f64,
        /// Contention (0 to 1): the share that waits its turn.
        #[serde(with = "iolite_model::real")]
        sigma: f64,
        /// Coherency: the cost of keeping each two in agreement, which makes throughput fall.
        #[serde(with = "iolite_model::real")]
        kappa: f64,
    },
    /// The asymptotic bounds of a closed system, `X(c) = min(λ c, plateau)` (Denning & Buzen 1978, Computing Surveys
    /// 10; Lazowska et al. 1984, Quantitative System Performance, ch. 5): a sharp knee, as throttles have.
    Asymptotes {
        /// Operations per second for each one outstanding: the inverse of the response time without queueing.
        #[serde(with = "iolite_model::real")]
        lambda: f64,
        /// Largest throughput, operations per second; infinite while none has been seen.
        #[serde(with = "iolite_model::real")]
        plateau: f64,
    },
}

impl ScalingModel {
    /// Operations per second with this many outstanding.
    pub fn throughput(&self, concurrency: f64) -> f64 {
        let c = concurrency;
        match *self {
            ScalingModel::Usl { lambda, sigma, kappa } => {
                lambda * c / (1.0 + sigma * (c - 1.0) + kappa * c * (c - 1.0))
            }
            ScalingModel::Asymptotes { lambda, plateau } => (lambda * c).min(plateau),
        }
    }

    /// Largest throughput up to this concurrency, operations per second. The universal scalability law peaks at
    /// `sqrt((1 - σ) / κ)` (Gunther 2007, eq. 4.33), or at `up_to` when that lies beyond.
    pub fn plateau(&self, up_to: u32) -> f64 {
        let end = f64::from(up_to.max(1));
        match *self {
            ScalingModel::Usl { sigma, kappa, .. } if kappa > 0.0 => {
                self.throughput(((1.0 - sigma) / kappa).sqrt().clamp(1.0, end))
            }
            _ => self.throughput(end),
        }
    }

    /// The integer concurrency from 1 to `max` with the largest power, `X(c)^2 / c`.
    ///
    /// Power has one maximum over the real numbers, where the elasticity of X is one half, so one of its two integer
    /// neighbours is the knee. For two asymptotes that is their crossing; for the universal scalability law the
    /// condition is `3 κ c^2 + (σ - κ) c - (1 - σ) = 0`.
    pub(super) fn knee(&self, max: u32) -> u32 {
        let crossing = match *self {
            ScalingModel::Asymptotes { lambda, plateau } => plateau / lambda,
            ScalingModel::Usl { sigma, kappa, .. } => {
                // The root written so that κ = 0 needs no case of its own; without limits it is infinite.
                let b = sigma - kappa;
                2.0 * (1.0 - sigma) / (b + (b * b + 12.0 * kappa * (1.0 - sigma)).sqrt())
            }
        };
        let max = max.max(1);
        if crossing.is_nan() {
            return max;
        }
        // The conversion saturates, which is what is wanted of an infinite crossing.
        let below = (crossing as u32).clamp(1, max);
        let above = below.saturating_add(1).min(max);
        if self.power(above) > self.power(below) { above } else { below }
    }

    /// Throughput over response time, by Little's law.
    pub(super) fn power(&self, concurrency: u32) -> f64 {
        let c = f64::from(concurrency);
        self.throughput(c).powi(2) / c
    }

    /// Number of fitted parameters: those that are not at the edge of their range.
    pub(super) fn parameters(&self) -> usize {
        match *self {
            ScalingModel::Usl { sigma, kappa, .. } => 1 + usize::from(sigma > 0.0) + usize::from(kappa > 0.0),
            ScalingModel::Asymptotes { plateau, .. } => 1 + usize::from(plateau.is_finite()),
        }
    }
}

impl fmt::Display for ScalingModel {
    /// The model in the field's words, with its parameters.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            ScalingModel::Usl { lambda, sigma, kappa } => {
                let first = Iops(lambda);
                write!(
                    f,
                    "universal scalability law ({first} IOPS with one outstanding, σ={sigma:.4}, κ={kappa:.6})"
                )
            }
            ScalingModel::Asymptotes { lambda, plateau } if plateau.is_finite() => {
                let (slope, plateau) = (Iops(lambda), Iops(plateau));
                write!(f, "two asymptotes ({slope} IOPS per outstanding operation up to {plateau} IOPS)")
            }
            ScalingModel::Asymptotes { lambda, .. } => {
                write!(f, "two asymptotes ({} IOPS per outstanding operation, no plateau seen)", Iops(lambda))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_closed_form_knee_is_the_largest_power() {
        let usl = |sigma, kappa| ScalingModel::Usl { lambda: 900.0, sigma, kappa };
        let asymptotes = |plateau| ScalingModel::Asymptotes { lambda: 900.0, plateau };
        let laws = [
            (0.0, 0.0),
            (0.02, 0.0),
            (0.0, 1e-4),
            (0.05, 1e-3),
            (0.3, 0.01),
            (0.01, 0.2),
            (1.0, 0.0),
            (1.0, 0.1),
        ];
        let bounds = [500.0, 900.0, 1300.0, 4000.0, 90_000.0, f64::INFINITY];
        for model in laws.map(|(s, k)| usl(s, k)).into_iter().chain(bounds.map(asymptotes)) {
            for max in [1, 2, 7, 200] {
                // The first of equals, but for rounding.
                let largest = (1..=max).map(|c| model.power(c)).fold(0.0, f64::max);
                let knee = model.knee(max);
                assert!(model.power(knee) >= largest * (1.0 - 1e-12), "{model} up to {max}: {knee}");
            }
        }
    }

    #[test]
    fn the_peak_is_where_gunther_puts_it() {
        let model = ScalingModel::Usl { lambda: 1000.0, sigma: 0.05, kappa: 0.001 };
        let brute = (1..=64).map(|c| model.throughput(f64::from(c))).fold(0.0, f64::max);
        assert!((model.plateau(64) / brute - 1.0).abs() < 1e-3);
        assert_eq!(model.plateau(10), model.throughput(10.0));
    }

    #[test]
    fn models_speak_the_words_of_the_field() {
        let usl = ScalingModel::Usl { lambda: 17_960.0, sigma: 0.25, kappa: 0.0001 };
        assert_eq!(
            usl.to_string(),
            "universal scalability law (17,960 IOPS with one outstanding, σ=0.2500, κ=0.000100)"
        );
        let bounds = ScalingModel::Asymptotes { lambda: 1597.0, plateau: 6140.0 };
        assert_eq!(
            bounds.to_string(),
            "two asymptotes (1,597 IOPS per outstanding operation up to 6,140 IOPS)"
        );
    }
}
