//! The normal law, cut off at the span's ends.

use rand_distr::{Distribution, StandardNormal};
use rand_xoshiro::rand_core::Rng;

use crate::error::WorkloadError;

/// Blocks around a place in the span.
#[derive(Debug, Clone)]
pub(crate) struct Normal {
    blocks: u64,
    /// Standard deviation as a part of the span.
    deviation: f64,
    /// The most frequent place as a part of the span.
    centre: f64,
}

/// Whether there is a law for this deviation.
///
/// # Errors
/// It is not above 0 and at most 100 %: with more, the ends would cut off most draws, and the law is all but uniform.
pub(super) fn check(deviation_percent: f64) -> Result<(), WorkloadError> {
    WorkloadError::unless(
        deviation_percent > 0.0 && deviation_percent <= 100.0,
        || format!("the deviation of normal is {deviation_percent} % of the span"),
        "it has to be above 0 and at most 100",
        "with 10, two thirds of the operations go to the middle fifth; for even spread use random",
    )
}

impl Normal {
    /// The law over `blocks` blocks (at least 1), around `centre` (0 to 1).
    pub(crate) fn new(blocks: u64, deviation_percent: f64, centre: f64) -> Normal {
        Normal { blocks: blocks.max(1), deviation: deviation_percent / 100.0, centre }
    }

    /// Draws a block; draws beyond the ends are drawn again.
    #[inline]
    pub(crate) fn block(&self, generator: &mut impl Rng) -> u64 {
        loop {
            let standard: f64 = StandardNormal.sample(generator);
            let place = self.centre + self.deviation * standard;
            if (0.0..1.0).contains(&place) {
                // Rounding may make the product the whole span.
                return ((place * self.blocks as f64) as u64).min(self.blocks - 1);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Purpose, generator};
    use statrs::distribution::ContinuousCDF;

    /// Kolmogorov-Smirnov distance to the normal law between the ends, by statrs; 1.95 / sqrt(n) is the 99.9 %
    /// quantile.
    #[test]
    fn the_law_holds() {
        for (percent, centre) in
            [(0.1, 0.5), (10.0, 0.5), (50.0, 0.5), (100.0, 0.5), (10.0, 0.0), (10.0, 0.25), (5.0, 1.0)]
        {
            let normal = Normal::new(1 << 45, percent, centre);
            let mut generator = generator(8, 0, Purpose::Offsets);
            let mut drawn: Vec<_> = (0..100_000).map(|_| normal.block(&mut generator)).collect();
            drawn.sort_unstable();
            let law = statrs::distribution::Normal::new(centre, percent / 100.0).unwrap();
            let (low, high) = (law.cdf(0.0), law.cdf(1.0));
            let distance = drawn
                .iter()
                .enumerate()
                .map(|(index, block)| {
                    let place = *block as f64 / (1u64 << 45) as f64;
                    ((law.cdf(place) - low) / (high - low) - index as f64 / 1e5).abs()
                })
                .fold(0.0, f64::max);
            assert!(distance < 1.95 / 1e5f64.sqrt(), "{percent}: {distance}");
        }
    }

    #[test]
    fn a_deviation_without_law_is_refused() {
        for percent in [0.0, -1.0, 100.1, f64::NAN] {
            let error = check(percent).unwrap_err().to_string();
            assert!(error.contains("normal") && error.contains("at most 100"), "{error}");
        }
        assert_eq!(Normal::new(1, 10.0, 0.5).block(&mut generator(1, 0, Purpose::Offsets)), 0);
    }
}
