//! On which side of a bound the median of a series lies.

use statrs::distribution::{Binomial, DiscreteCDF};

/// What the sign test is content with: 2.5 % on each side, as a 95 % interval leaves.
const LEVEL: f64 = 0.025;

/// The sign test (Dixon & Mood 1946, Journal of the American Statistical Association 41; Conover 1999, Practical
/// Nonparametric Statistics, 3.4): how many intervals of a series lie above a bound.
///
/// One interval in which nothing came back widens the interval of a mean as much as many do; it is one sign here. Intervals that
/// follow each other are correlated, and count for as many as they are worth: taken as independent, the test would reject far too
/// often (Gastwirth & Rubin 1971, Journal of the American Statistical Association 66).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SignTest {
    above: f64,
    below: f64,
    worth: u64,
}

impl SignTest {
    /// Of intervals `(seconds, amount)` whose amount per second is compared with `bound`. `worth` is the number of independent
    /// intervals that they are worth, as an [`Estimate`](crate::Estimate) of their rate has it.
    pub fn of(series: &[(f64, f64)], bound: f64, worth: f64) -> SignTest {
        let rates =
            series.iter().filter(|(seconds, _)| *seconds > 0.0).map(|(seconds, amount)| amount / seconds);
        let (mut above, mut below) = (0.0, 0.0);
        for rate in rates {
            // One that equals the bound has no sign.
            above += f64::from(u8::from(rate > bound));
            below += f64::from(u8::from(rate < bound));
        }
        let signs: f64 = above + below;
        let worth = worth.min(signs).max(0.0);
        let share = |count: f64| if signs > 0.0 { count / signs } else { 0.0 };
        SignTest { above: share(above), below: share(below), worth: worth as u64 }
    }

    /// Whether the median lies above the bound, with 97.5 % confidence.
    pub fn above(&self) -> bool {
        self.shows(self.above)
    }

    /// Whether the median lies below the bound, with 97.5 % confidence.
    pub fn below(&self) -> bool {
        self.shows(self.below)
    }

    /// Whether so large a share of one sign is rarer than the level where both are as likely.
    fn shows(&self, share: f64) -> bool {
        let count = (share * self.worth as f64).floor() as u64;
        let Ok(signs) = Binomial::new(0.5, self.worth) else { return false };
        count > 0 && signs.sf(count - 1) <= LEVEL
    }
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_distr::StandardNormal;
    use rand_xoshiro::Xoshiro256PlusPlus;

    use super::*;
    use crate::{Direction, Estimate};

    fn test(rates: &[f64], bound: f64, worth: f64) -> SignTest {
        SignTest::of(&rates.iter().map(|rate| (0.1, rate / 10.0)).collect::<Vec<_>>(), bound, worth)
    }

    #[test]
    fn as_many_signs_are_needed_as_the_tables_say() {
        // Two-sided 5 %: 6 of 6, 9 of 10, 15 of 20.
        let of = |above: usize, all: usize| {
            let rates: Vec<f64> = (0..all).map(|index| if index < above { 2.0 } else { 0.5 }).collect();
            let found = test(&rates, 1.0, all as f64);
            assert!(!found.below());
            found.above()
        };
        assert_eq!(
            [of(5, 5), of(6, 6), of(8, 10), of(9, 10), of(14, 20), of(15, 20)],
            [false, true, false, true, false, true]
        );
        assert!(!test(&[2.0; 20], 1.0, 5.0).above(), "correlated, they are worth five");
        assert!(test(&[0.5; 20], 1.0, 20.0).below());
        assert!(!test(&[], 1.0, 0.0).above() && !test(&[1.0; 9], 1.0, 9.0).above());
    }

    #[test]
    fn of_series_around_the_bound_few_are_found_beside_it() {
        for correlation in [0.0, 0.5, 0.9_f64] {
            let mut dice = Xoshiro256PlusPlus::seed_from_u64(7);
            let mut wrong = 0;
            for _ in 0..400 {
                let mut state: f64 = dice.sample(StandardNormal);
                let series: Vec<(f64, f64)> = (0..40)
                    .map(|_| {
                        let step: f64 = dice.sample(StandardNormal);
                        state = correlation * state + (1.0 - correlation * correlation).sqrt() * step;
                        (1.0, 100.0 + 10.0 * state)
                    })
                    .collect();
                let worth = Estimate::rate(&series, Direction::HigherIsBetter).effective_samples;
                let found = SignTest::of(&series, 100.0, worth);
                wrong += u32::from(found.above() || found.below());
            }
            println!("correlation {correlation}: {wrong} of 400 sign tests are wrong");
            assert!(wrong <= 32, "{wrong} of 400 at a correlation of {correlation}");
        }
    }
}
