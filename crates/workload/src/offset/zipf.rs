//! Zipf's law.

use rand_xoshiro::rand_core::Rng;

use crate::error::WorkloadError;
use crate::random::unit;

/// Ranks 1 to n, rank k with a probability in proportion to 1 / k^theta, in constant memory.
///
/// Rejection-inversion: Hörmann & Derflinger (1996), Rejection-inversion to generate variates from monotone discrete
/// distributions, ACM TOMACS 6(3). The sum of 1 / k^theta is never taken: the integral H over a hat that
/// touches the law is inverted, and few draws are rejected. The names are the paper's.
#[derive(Debug, Clone)]
pub(crate) struct Zipf {
    ranks: f64,
    theta: f64,
    /// H(1.5) - 1: the upper end of what is drawn.
    h_x1: f64,
    /// H(n + 0.5): the lower end, for our H falls short of infinity from below.
    h_n: f64,
    /// Draws this near to a rank are taken without a look at the hat.
    s: f64,
}

/// Whether there is a law for this skew.
///
/// # Errors
/// `theta` is negative or not finite.
pub(super) fn check(theta: f64) -> Result<(), WorkloadError> {
    WorkloadError::unless(
        theta.is_finite() && theta >= 0.0,
        || format!("the skew of zipf is {theta}"),
        "it has to be a finite number from 0 (uniform) up",
        "0.99 is what YCSB uses, 1.2 is very skewed",
    )
}

impl Zipf {
    /// The law over `ranks` ranks (at least 1).
    pub(crate) fn new(ranks: u64, theta: f64) -> Zipf {
        let ranks = ranks.max(1) as f64;
        let mut zipf = Zipf { ranks, theta, h_x1: 0.0, h_n: 0.0, s: 0.0 };
        zipf.h_x1 = zipf.integral(1.5) - 1.0;
        zipf.h_n = zipf.integral(ranks + 0.5);
        zipf.s = 2.0 - zipf.inverse(zipf.integral(2.5) - zipf.density(2.0));
        zipf
    }

    /// Draws a rank, from 0 (the most frequent) on.
    #[inline]
    pub(crate) fn rank(&self, generator: &mut impl Rng) -> u64 {
        loop {
            let u = self.h_n + unit(generator) * (self.h_x1 - self.h_n);
            let x = self.inverse(u);
            let k = (x + 0.5).floor().clamp(1.0, self.ranks);
            if k - x <= self.s || u >= self.integral(k + 0.5) - self.density(k) {
                return k as u64 - 1;
            }
        }
    }

    /// h(x) = x^-theta.
    fn density(&self, x: f64) -> f64 {
        (-self.theta * x.ln()).exp()
    }

    /// H(x), an integral of h: (x^(1 - theta) - 1) / (1 - theta), and ln x where theta is 1.
    fn integral(&self, x: f64) -> f64 {
        let log = x.ln();
        log * exp_m1_ratio((1.0 - self.theta) * log)
    }

    /// The inverse of H.
    fn inverse(&self, y: f64) -> f64 {
        // Rounding may take the argument below -1, where there is no logarithm.
        let t = (y * (1.0 - self.theta)).max(-1.0);
        (y * ln_1p_ratio(t)).exp()
    }
}

/// (e^x - 1) / x, continued at 0 by its series: so theta = 1 needs no case of its own.
fn exp_m1_ratio(x: f64) -> f64 {
    if x.abs() > 1e-8 { x.exp_m1() / x } else { 1.0 + x / 2.0 * (1.0 + x / 3.0) }
}

/// ln(1 + x) / x, continued at 0 by its series.
fn ln_1p_ratio(x: f64) -> f64 {
    if x.abs() > 1e-8 { x.ln_1p() / x } else { 1.0 - x * (0.5 - x / 3.0) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Purpose, generator};

    /// 100,000 draws of the first 19 ranks of 1,000 and of all others together, against 1 / k^theta summed up: 19
    /// degrees of freedom, of which 43.82 is the 99.9 % quantile.
    #[test]
    fn the_law_holds_for_every_skew() {
        for theta in [0.0, 0.5, 0.99, 1.0, 1.0 + 1e-12, 1.2, 2.0, 3.0] {
            let zipf = Zipf::new(1000, theta);
            let mut generator = generator(11, 0, Purpose::Offsets);
            let mut counts = [0f64; 20];
            (0..100_000).for_each(|_| counts[zipf.rank(&mut generator).min(19) as usize] += 1.0);
            let weights: Vec<_> = (1..=1000).map(|k| f64::from(k).powf(-theta)).collect();
            let total: f64 = weights.iter().sum();
            let expected = |class: usize| {
                let weight = if class < 19 { weights[class] } else { weights[19..].iter().sum() };
                1e5 * weight / total
            };
            let chi_square: f64 =
                (0..20).map(|class| (counts[class] - expected(class)).powi(2) / expected(class)).sum();
            assert!(chi_square < 43.82, "theta {theta}: {chi_square}");
        }
    }

    /// The logarithm of the ranks of 2^40, theta 1: P(rank <= k) = H_k / H_n, H_k about ln k + 0.5772 + 1 / 2k.
    /// Kolmogorov-Smirnov over k from 32 on; 1.95 / sqrt(n) is the 99.9 % quantile.
    #[test]
    fn the_law_holds_for_a_petabyte() {
        let ranks = 1u64 << 40;
        let zipf = Zipf::new(ranks, 1.0);
        let mut generator = generator(5, 0, Purpose::Offsets);
        let mut drawn: Vec<_> = (0..100_000).map(|_| zipf.rank(&mut generator) + 1).collect();
        drawn.sort_unstable();
        assert!(drawn.iter().all(|rank| (1..=ranks).contains(rank)));
        let harmonic = |k: f64| k.ln() + 0.577_215_664_9 + 0.5 / k;
        let distance = (5..40)
            .map(|power| {
                let below = drawn.partition_point(|rank| *rank <= 1 << power) as f64 / 1e5;
                (below - harmonic((1u64 << power) as f64) / harmonic(ranks as f64)).abs()
            })
            .fold(0.0, f64::max);
        assert!(distance < 1.95 / 1e5f64.sqrt(), "{distance}");
    }

    #[test]
    fn the_extremes_stay_within_the_ranks() {
        for (ranks, theta) in
            [(1, 0.0), (1, 5.0), (2, 1.0), (u64::MAX, 0.0), (u64::MAX, 1.0), (1 << 45, 1000.0)]
        {
            let zipf = Zipf::new(ranks, theta);
            let mut generator = generator(1, 0, Purpose::Offsets);
            assert!((0..1000).all(|_| zipf.rank(&mut generator) < ranks), "{ranks} {theta}");
        }
        let zipf = Zipf::new(1000, 100.0);
        let mut generator = generator(1, 0, Purpose::Offsets);
        assert!((0..1000).all(|_| zipf.rank(&mut generator) == 0));
    }

    #[test]
    fn a_skew_without_law_is_refused() {
        for theta in [-0.1, f64::NAN, f64::INFINITY] {
            let error = check(theta).unwrap_err().to_string();
            assert!(error.contains("zipf") && error.contains("from 0"), "{error}");
        }
        assert!(check(0.0).is_ok() && check(1.0).is_ok() && check(40.0).is_ok());
    }
}
