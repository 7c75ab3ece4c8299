//! A test of pairs that may be looked at after each of them.

use serde::{Deserialize, Serialize};
use statrs::distribution::{ChiSquared, ContinuousCDF};

/// Pairs beyond which none are suggested: `iolite ab` runs no more.
const MAX_PAIRS: u32 = 10_000;

/// Prior variance of the effect, in standard deviations of a pair's difference: with 1, differences of about one standard
/// deviation are found soonest.
const PRIOR: f64 = 1.0;

/// Logarithms of after over before, pair by pair, of two systems that were measured in randomised blocks.
///
/// The test is the t-test that holds at any time: the Bayes factor of a normal effect size against none, with the
/// right-invariant prior on the standard deviation, is a test martingale where there is no difference (Lai 1976, Annals of
/// Statistics 4; Wang & Ramdas 2025, Anytime-valid t-tests and confidence sequences for Gaussian means with unknown variance,
/// Sequential Analysis 44; closed form: Gönen et al. 2005, American Statistician 59). By Ville's inequality, it ever
/// exceeds 1/α with a probability of at most α, however often one looks and whenever one stops. It takes the
/// differences as independent and normal; random order within the pairs makes them symmetric where there is no difference, and
/// heavier tails make the test cautious.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Sequential {
    count: f64,
    mean: f64,
    /// Sum of squared deviations from the mean (Welford).
    squares: f64,
}

/// What is known of the ratio after some pairs; holds at all times together.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct SequentialInterval {
    /// Geometric mean of after over before.
    pub ratio: f64,
    /// Lower end.
    #[serde(with = "iolite_model::real")]
    pub low: f64,
    /// Upper end.
    #[serde(with = "iolite_model::real")]
    pub high: f64,
    /// Number of pairs.
    pub pairs: u32,
}

impl SequentialInterval {
    /// Whether no difference lies outside of the interval: then there is one.
    pub fn is_shown(&self) -> bool {
        self.low > 1.0 || self.high < 1.0
    }

    /// Whether all of the interval is closer to no difference than this share, either way.
    pub fn excludes(&self, share: f64) -> bool {
        self.high < 1.0 + share && self.low > 1.0 / (1.0 + share)
    }
}

impl Sequential {
    /// Adds a pair; one whose figures are not positive and finite has no ratio and is left out.
    pub fn add(&mut self, before: f64, after: f64) {
        let difference = after.ln() - before.ln();
        if !difference.is_finite() {
            return;
        }
        self.count += 1.0;
        let step = difference - self.mean;
        self.mean += step / self.count;
        self.squares += step * (difference - self.mean);
    }

    /// The interval for the ratio whose probability of ever missing the truth is at most `error`: a confidence sequence.
    pub fn interval(&self, error: f64) -> SequentialInterval {
        let half = self.half_width(error);
        SequentialInterval {
            ratio: self.mean.exp(),
            low: (self.mean - half).exp(),
            high: (self.mean + half).exp(),
            pairs: self.count as u32,
        }
    }

    /// Number of pairs with which a difference of this share is shown with a probability of 90 %: the interval around it, and
    /// what its centre varies by, have to stay clear of no difference. At least as many as there are; `None` while fewer than
    /// two pairs say nothing of the variation, and where no reasonable number is enough.
    ///
    /// The deviation is known from few pairs: it is taken at the upper end of its one-sided 90 % interval. That one looks
    /// after each pair is on top.
    pub fn pairs_for(&self, share: f64, error: f64) -> Option<u32> {
        let effect = share.abs().ln_1p();
        if self.count < 2.0 || effect <= 0.0 {
            return None;
        }
        let variance = self.squares() / chi_squared(1.0 - super::POWER_OF_REPEATS, self.count - 1.0);
        let power = super::student(super::POWER_OF_REPEATS, f64::INFINITY);
        let shows = |pairs: &u32| {
            let count = f64::from(*pairs);
            let as_many = Sequential { count, mean: effect, squares: variance * (count - 1.0) };
            as_many.half_width(error) + power * (variance / count).sqrt() <= effect
        };
        (self.count as u32..=MAX_PAIRS).find(shows)
    }

    /// A pair is known no better than the histogram's buckets are wide.
    fn squares(&self) -> f64 {
        self.squares.max((self.count - 1.0) * 2.0 * super::ROUNDING * super::ROUNDING)
    }

    /// Where the Bayes factor reaches 1/error: `(1 + u) / (1 + u / (1 + n g)) = r`, with `u = t²/(n - 1)`.
    fn half_width(&self, error: f64) -> f64 {
        let n = self.count;
        if n < 2.0 {
            return f64::INFINITY;
        }
        let gain = 1.0 + n * PRIOR;
        let bound = (gain.sqrt() / error).powf(2.0 / n);
        if bound >= gain {
            return f64::INFINITY;
        }
        let u = (bound - 1.0) / (1.0 - bound / gain);
        // t² = (n - 1) u, and the standard error is sqrt(squares / (n - 1) / n).
        (u * self.squares() / n).sqrt()
    }
}

/// The quantile of the chi-squared distribution.
fn chi_squared(share: f64, freedom: f64) -> f64 {
    ChiSquared::new(freedom).map_or(freedom, |distribution| distribution.inverse_cdf(share))
}
