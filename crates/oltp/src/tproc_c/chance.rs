//! Random values as clauses 2.1.6 and 4.3.2 define them: NURand, last names, strings.

use iolite_workload::{Purpose, below, generator};
use rand_xoshiro::Xoshiro256PlusPlus;

/// The syllables of last names (clause 4.3.2.3), by digit.
const SYLLABLES: [&str; 10] =
    ["BAR", "OUGHT", "ABLE", "PRI", "PRES", "ESE", "ANTI", "CALLY", "ATION", "EING"];
const LETTERS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

/// The constants C of NURand (clause 2.1.6.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Constants {
    /// For last names.
    pub name: i64,
    /// For customers.
    pub customer: i64,
    /// For items.
    pub item: i64,
}

impl Constants {
    /// The constants of a build.
    pub fn of_build(seed: u64) -> Constants {
        let mut chance = Chance::new(seed, 0);
        Constants {
            name: chance.uniform(0, 255),
            customer: chance.uniform(0, 1023),
            item: chance.uniform(0, 8191),
        }
    }

    /// The constants of a run on a database that was built with these: that of last names differs from the build's by 65
    /// to 119, but not by 96 or 112.
    pub fn of_run(self, seed: u64) -> Constants {
        let mut chance = Chance::new(seed, u32::MAX);
        let name = loop {
            let name = chance.uniform(0, 255);
            let delta = (name - self.name).abs();
            if (65..=119).contains(&delta) && delta != 96 && delta != 112 {
                break name;
            }
        };
        Constants { name, customer: chance.uniform(0, 1023), item: chance.uniform(0, 8191) }
    }
}

/// A source of random values.
#[derive(Debug, Clone)]
pub struct Chance(Xoshiro256PlusPlus);

impl Chance {
    /// The source of a user, or of a part of a build.
    pub fn new(seed: u64, part: u32) -> Chance {
        Chance(generator(seed, part, Purpose::Mix))
    }

    /// A number from `low` to `high`, both included.
    pub fn uniform(&mut self, low: i64, high: i64) -> i64 {
        debug_assert!(low <= high, "no number lies between {low} and {high}");
        low + below(&mut self.0, (high - low + 1).unsigned_abs()) as i64
    }

    /// NURand(A, x, y) of clause 2.1.6.
    pub fn non_uniform(&mut self, spread: i64, constant: i64, low: i64, high: i64) -> i64 {
        let mixed = self.uniform(0, spread) | self.uniform(low, high);
        (mixed + constant) % (high - low + 1) + low
    }

    /// Whether something happens that does in `percent` of the cases.
    pub fn percent(&mut self, percent: i64) -> bool {
        self.uniform(1, 100) <= percent
    }

    /// A time between arrivals that come at random at this mean distance.
    pub fn exponential(&mut self, mean: f64) -> f64 {
        let unit = (below(&mut self.0, 1 << 53) + 1) as f64 / (1_u64 << 53) as f64;
        -unit.ln() * mean
    }

    /// A text of letters and digits of random length.
    pub fn text(&mut self, shortest: i64, longest: i64) -> String {
        self.characters(LETTERS, shortest, longest)
    }

    /// A text of digits.
    pub fn digits(&mut self, length: i64) -> String {
        self.characters(b"0123456789", length, length)
    }

    fn characters(&mut self, from: &[u8], shortest: i64, longest: i64) -> String {
        let length = self.uniform(shortest, longest);
        (0..length).map(|_| char::from(from[below(&mut self.0, from.len() as u64) as usize])).collect()
    }

    /// A text of 26 to 50 characters, of which one in ten holds `ORIGINAL` somewhere (clause 4.3.3.1).
    pub fn data(&mut self) -> String {
        const MARK: &str = "ORIGINAL";
        let mut text = self.text(26, 50);
        if self.percent(10) {
            let at = self.uniform(0, (text.len() - MARK.len()) as i64) as usize;
            text.replace_range(at..at + MARK.len(), MARK);
        }
        text
    }

    /// A ZIP code: four digits, then 11111 (clause 4.3.2.7).
    pub fn zip(&mut self) -> String {
        self.digits(4) + "11111"
    }

    /// Puts a list into random order.
    pub fn shuffle<T>(&mut self, list: &mut [T]) {
        for last in (1..list.len()).rev() {
            list.swap(last, below(&mut self.0, last as u64 + 1) as usize);
        }
    }
}

/// The last name of a number from 0 to 999.
pub fn last_name(number: i64) -> String {
    let digit = |place: i64| SYLLABLES[(number / place % 10).unsigned_abs() as usize];
    format!("{}{}{}", digit(100), digit(10), digit(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The chi-square statistic of counts against the shares expected of them.
    fn chi_square(counts: &[u64], shares: &[f64]) -> f64 {
        let total: u64 = counts.iter().sum();
        let term = |(&count, share): (&u64, &f64)| {
            (count as f64 - share * total as f64).powi(2) / (share * total as f64)
        };
        counts.iter().zip(shares).map(term).sum()
    }

    /// A bound that chi-square with so many degrees of freedom exceeds once in some million times (Wilson and Hilferty's
    /// approximation at 5 standard deviations).
    fn bound(degrees: usize) -> f64 {
        let degrees = degrees as f64;
        degrees * (1.0 - 2.0 / (9.0 * degrees) + 5.0 * (2.0 / (9.0 * degrees)).sqrt()).powi(3)
    }

    /// The exact distribution of NURand, by counting all pairs.
    fn shares(spread: i64, constant: i64, low: i64, high: i64) -> Vec<f64> {
        let mut counts = vec![0_u64; (high - low + 1) as usize];
        for one in 0..=spread {
            for other in low..=high {
                counts[(((one | other) + constant) % (high - low + 1)) as usize] += 1;
            }
        }
        let all: u64 = counts.iter().sum();
        counts.into_iter().map(|count| count as f64 / all as f64).collect()
    }

    #[test]
    fn nurand_has_its_distribution() {
        for (spread, low, high) in [(255, 0, 999), (1023, 1, 3000), (63, 1, 1000), (7, 1, 30)] {
            let constant = spread / 3;
            let shares = shares(spread, constant, low, high);
            let mut chance = Chance::new(17, 1);
            let mut counts = vec![0; shares.len()];
            for _ in 0..shares.len() * 400 {
                let value = chance.non_uniform(spread, constant, low, high);
                assert!((low..=high).contains(&value));
                counts[(value - low) as usize] += 1;
            }
            // Values that are next to impossible are taken together, as the test wants expectations of 5 and more.
            let (mut joined_counts, mut joined_shares) = (vec![0], vec![0.0]);
            for (count, share) in counts.iter().zip(&shares) {
                if share * shares.len() as f64 * 400.0 >= 5.0 {
                    joined_counts.push(*count);
                    joined_shares.push(*share);
                } else {
                    joined_counts[0] += count;
                    joined_shares[0] += share;
                }
            }
            if joined_shares[0] * shares.len() as f64 * 400.0 < 5.0 {
                joined_counts.remove(0);
                joined_shares.remove(0);
            }
            let statistic = chi_square(&joined_counts, &joined_shares);
            let bound = bound(joined_counts.len() - 1);
            assert!(statistic < bound, "NURand({spread}, {low}, {high}): {statistic} > {bound}");
            // The same numbers are far from uniform: the test can fail.
            let uniform = vec![1.0 / counts.len() as f64; counts.len()];
            assert!(chi_square(&counts, &uniform) > self::bound(counts.len()), "({spread}, {low}, {high})");
        }
    }

    #[test]
    fn uniform_numbers_are_uniform() {
        let mut chance = Chance::new(3, 0);
        let mut counts = [0; 23];
        (0..23_000).for_each(|_| counts[chance.uniform(5, 27) as usize - 5] += 1);
        let statistic = chi_square(&counts, &[1.0 / 23.0; 23]);
        assert!(statistic < bound(22), "{statistic}");
    }

    #[test]
    fn last_names_are_three_syllables() {
        assert_eq!(
            [371, 40, 0, 999].map(last_name),
            ["PRICALLYOUGHT", "BARPRESBAR", "BARBARBAR", "EINGEINGEING"]
        );
    }

    #[test]
    fn the_constant_of_a_run_keeps_its_distance() {
        for seed in 0..500 {
            let build = Constants::of_build(seed);
            let delta = (build.of_run(seed + 1).name - build.name).abs();
            assert!((65..=119).contains(&delta) && delta != 96 && delta != 112, "{delta}");
        }
    }

    #[test]
    fn texts_are_of_their_length_and_one_in_ten_is_original() {
        let mut chance = Chance::new(11, 0);
        let original = (0..5000).filter(|_| {
            let text = chance.data();
            assert!((26..=50).contains(&text.len()), "{text}");
            text.contains("ORIGINAL")
        });
        let original = original.count();
        assert!((400..600).contains(&original), "{original}");
        assert_eq!(chance.zip().len(), 9);
    }
}
