//! Confidence limits of the share of rare events that come together: stalls, slow operations.

use statrs::distribution::{ContinuousCDF, Gamma};

/// How many occurrences of one size would be as uncertain a sum as these of various sizes: (Σx)² / Σx², at least one
/// (Kish 1965, Survey Sampling, 8.2). A single large one among many small ones is worth little more than one.
pub(crate) fn occurrences(sum: f64, squares: f64) -> f64 {
    if squares > 0.0 { (sum * sum / squares).max(1.0) } else { 1.0 }
}

/// The smallest multiple of what was seen in so many occurrences that is plausible, with this confidence (one-sided): the exact
/// lower limit of the mean of a Poisson distribution (Garwood 1936, Biometrika 28), over what was seen.
pub(crate) fn at_least(occurrences: f64, confidence: f64) -> f64 {
    Gamma::new(occurrences, 1.0).map_or(0.0, |of_mean| of_mean.inverse_cdf(1.0 - confidence) / occurrences)
}

/// The largest plausible share of slow operations, with this confidence (one-sided), where `slow` gives those of each section of
/// a phase, of `all` operations together. Those of one section count as one occurrence. The exact upper limit, as in [`at_least`].
pub(crate) fn share_at_most(all: f64, slow: impl Iterator<Item = f64>, confidence: f64) -> f64 {
    let limit = |seen: f64| {
        Gamma::new(seen + 1.0, 1.0).map_or(f64::INFINITY, |of_mean| of_mean.inverse_cdf(confidence))
    };
    let (sum, squares) = slow.fold((0.0, 0.0), |(sum, squares), x| (sum + x, squares + x * x));
    let seen = occurrences(sum, squares);
    let share = if sum > 0.0 { sum / all * limit(seen) / seen } else { limit(0.0) / all };
    if share.is_finite() { share.min(1.0) } else { 1.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{RngExt, SeedableRng};
    use rand_xoshiro::Xoshiro256PlusPlus;

    #[test]
    fn the_limits_are_those_of_the_tables() {
        // Garwood's table for a count of 10: 4.795 and 18.391 with 95 %, two-sided.
        assert!((at_least(10.0, 0.975) * 10.0 - 4.795).abs() < 1e-3);
        assert!((share_at_most(1000.0, [1.0; 10].into_iter(), 0.975) * 1000.0 - 18.391).abs() < 1e-3);
        assert!((share_at_most(1000.0, std::iter::empty(), 0.975) * 1000.0 - 3.689).abs() < 1e-3);
        assert!((occurrences(20.0, 20.0) - 20.0).abs() < 1e-9 && occurrences(0.0, 0.0) == 1.0);
        assert!((1.0..1.1).contains(&occurrences(20.0 + 1000.0, 20.0 + 1e6)));
        assert_eq!(share_at_most(0.0, std::iter::empty(), 0.975), 1.0);
    }

    /// Slow operations that come five at a time, in 24 sections: the limit lies below the true share as seldom as it claims to, or
    /// little more often. Where none is seen, their coming together is not seen either.
    #[test]
    fn the_limit_covers_what_comes_together() {
        const SECTIONS: usize = 24;
        const OPERATIONS: f64 = 1000.0;
        for (per_section, allowed) in [(0.5, 0.04), (2.0, 0.04), (10.0, 0.04)] {
            let mut dice = Xoshiro256PlusPlus::seed_from_u64(7);
            let together = 5.0;
            let missed = (0..2000)
                .filter(|_| {
                    let mut slow = [0.0; SECTIONS];
                    let mut at = 0.0;
                    loop {
                        at -= (1.0 - dice.random::<f64>()).ln() / per_section;
                        let Some(section) = slow.get_mut(at as usize) else { break };
                        *section += together;
                    }
                    let truth = per_section * together / OPERATIONS;
                    share_at_most(OPERATIONS * SECTIONS as f64, slow.into_iter(), 0.975) < truth
                })
                .count();
            println!(
                "{per_section} occurrences a section: the limit of {missed} of 2000 series is below the share"
            );
            assert!(missed as f64 <= allowed * 2000.0, "{per_section}: {missed}");
        }
    }
}
