//! The self-similar law, which fio calls pareto.

use rand_xoshiro::rand_core::Rng;

use crate::error::WorkloadError;
use crate::random::unit;

/// Ranks of which the first `h` get the share `1 - h` of the draws, and so on within them.
///
/// Gray et al. (1994), Quickly generating billion-record synthetic databases, SIGMOD (self-similar): the
/// rank is n u^(ln h / ln(1 - h)) for a uniform u. fio's `pareto_next` is the same formula.
#[derive(Debug, Clone)]
pub(crate) struct Pareto {
    ranks: u64,
    power: f64,
}

/// Whether there is a law for this share.
///
/// # Errors
/// `h` is not between 0 and 1.
pub(super) fn check(h: f64) -> Result<(), WorkloadError> {
    WorkloadError::unless(
        h > 0.0 && h < 1.0,
        || format!("the share h of pareto is {h}"),
        "it is a part of the blocks, above 0 and below 1",
        "0.2 sends 80 % of the operations to 20 % of the blocks; divide percentages by 100",
    )
}

impl Pareto {
    /// The law over `ranks` ranks (at least 1).
    pub(crate) fn new(ranks: u64, h: f64) -> Pareto {
        Pareto { ranks: ranks.max(1), power: h.ln() / (1.0 - h).ln() }
    }

    /// Draws a rank, from 0 on.
    #[inline]
    pub(crate) fn rank(&self, generator: &mut impl Rng) -> u64 {
        let rank = self.ranks as f64 * unit(generator).powf(self.power);
        // A draw of 1 is the last rank.
        (rank as u64).min(self.ranks - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Purpose, generator};

    fn drawn(ranks: u64, h: f64) -> Vec<u64> {
        let pareto = Pareto::new(ranks, h);
        let mut generator = generator(3, 0, Purpose::Offsets);
        let mut drawn: Vec<_> = (0..100_000).map(|_| pareto.rank(&mut generator)).collect();
        drawn.sort_unstable();
        drawn
    }

    /// The share of the draws in the first h, h^2 and h^3 of the ranks is 1 - h, (1 - h)^2 and (1 - h)^3: within four
    /// standard deviations (0.5 / sqrt(n) at most).
    #[test]
    fn it_is_self_similar() {
        for h in [0.1, 0.2, 0.5, 0.8] {
            let drawn = drawn(1 << 40, h);
            for power in 1..=3 {
                let bound = (h.powi(power) * (1u64 << 40) as f64) as u64;
                let share = drawn.partition_point(|rank| *rank < bound) as f64 / 1e5;
                assert!((share - (1.0 - h).powi(power)).abs() < 4.0 * 0.5 / 1e5f64.sqrt(), "{h}: {share}");
            }
        }
    }

    /// Kolmogorov-Smirnov distance to P(rank <= r) = ((r + 1) / n)^(ln(1 - h) / ln h), which for small h is a step of
    /// half the draws at rank 0; 1.95 / sqrt(draws) is the 99.9 % quantile, for steps at most.
    #[test]
    fn the_law_holds() {
        for h in [0.05, 0.2, 0.4] {
            let drawn = drawn(1 << 50, h);
            let distance = drawn
                .iter()
                .step_by(97)
                .map(|rank| {
                    let law = ((rank + 1) as f64 / (1u64 << 50) as f64).powf((1.0 - h).ln() / h.ln());
                    (law - drawn.partition_point(|other| other <= rank) as f64 / 1e5).abs()
                })
                .fold(0.0, f64::max);
            assert!(distance < 1.95 / 1e5f64.sqrt(), "{h}: {distance}");
        }
    }

    #[test]
    fn a_share_without_law_is_refused() {
        for h in [0.0, 1.0, 20.0, -0.5, f64::NAN] {
            let error = check(h).unwrap_err().to_string();
            assert!(error.contains("pareto") && error.contains("0.2"), "{error}");
        }
        assert_eq!(Pareto::new(1, 0.2).rank(&mut generator(1, 0, Purpose::Offsets)), 0);
    }
}
