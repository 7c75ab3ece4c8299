//! When operations are meant to start.

use iolite_model::Arrival;
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::{Purpose, generator, unit};

/// Instants drawn one by one when a backlog is counted; beyond, their expectation is near enough.
const MOST_DRAWN: u64 = 1_000_000;

/// The intended instants of one worker's operations, in nanoseconds since the phase's start.
#[derive(Debug, Clone)]
pub enum Arrivals {
    /// Each as soon as the worker is ready.
    Closed,
    /// A Poisson process: exponentially distributed gaps, drawn whether or not the worker keeps up.
    Poisson {
        /// Mean gap in nanoseconds.
        mean_gap: f64,
        /// The next instant.
        next: f64,
        /// Where the chance comes from.
        generator: Xoshiro256PlusPlus,
    },
}

impl Arrivals {
    /// The arrivals of one of `workers` workers, which share the rate evenly (the sum of independent Poisson
    /// processes is one of the summed rate).
    pub fn new(arrival: Arrival, worker: u32, workers: u32, seed: u64) -> Arrivals {
        match arrival {
            Arrival::Closed => Arrivals::Closed,
            Arrival::Poisson(rate) => {
                let mut arrivals = Arrivals::Poisson {
                    mean_gap: 1e9 * f64::from(workers.max(1)) / rate.0,
                    next: 0.0,
                    generator: generator(seed, worker, Purpose::Arrivals),
                };
                arrivals.advance();
                arrivals
            }
        }
    }

    /// The instant that the next operation is meant to start at; `None` in a closed loop, where it is "now".
    #[inline]
    pub fn next(&self) -> Option<u64> {
        match self {
            Arrivals::Closed => None,
            Arrivals::Poisson { next, .. } => Some(*next as u64),
        }
    }

    /// Moves on to the instant after; to be called once per operation issued.
    #[inline]
    pub fn advance(&mut self) {
        if let Arrivals::Poisson { mean_gap, next, generator } = self {
            *next += -unit(generator).ln() * *mean_gap;
        }
    }

    /// Operations meant to start from now to `until` that have not been issued; draws them, so ask at the end only.
    pub fn backlog(&mut self, until: u64) -> u64 {
        let mut count = 0;
        while self.next().is_some_and(|next| next < until) {
            if count == MOST_DRAWN {
                return count + self.expected(until);
            }
            self.advance();
            count += 1;
        }
        count
    }

    /// Operations to be expected from the next instant to `until`.
    fn expected(&self, until: u64) -> u64 {
        match self {
            Arrivals::Closed => 0,
            Arrivals::Poisson { mean_gap, next, .. } => ((until as f64 - next) / mean_gap) as u64,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iolite_model::Iops;

    /// Kolmogorov-Smirnov distance of 10,000 gaps to the exponential law; 1.95 / sqrt(n) is its 99.9 % quantile.
    #[test]
    fn poisson_gaps_are_exponential() {
        let mut arrivals = Arrivals::new(Arrival::Poisson(Iops(4000.0)), 1, 4, 7);
        let mut gaps = Vec::new();
        let mut last = 0;
        for _ in 0..10_000 {
            let next = arrivals.next().unwrap();
            gaps.push((next - last) as f64);
            last = next;
            arrivals.advance();
        }
        gaps.sort_by(f64::total_cmp);
        let distance = gaps
            .iter()
            .enumerate()
            .map(|(rank, gap)| (1.0 - (-gap / 1e6).exp() - rank as f64 / 1e4).abs())
            .fold(0.0, f64::max);
        assert!(distance < 1.95 / 100.0, "{distance}");
    }

    #[test]
    fn the_backlog_counts_what_was_due() {
        let mut arrivals = Arrivals::new(Arrival::Poisson(Iops(1000.0)), 0, 1, 7);
        let backlog = arrivals.backlog(10_000_000_000);
        assert!((9_600..10_400).contains(&backlog), "{backlog} of about 10,000, 4 standard deviations");
        assert_eq!(arrivals.backlog(10_000_000_000), 0);
        assert_eq!(Arrivals::Closed.backlog(u64::MAX), 0);
        let huge = Arrivals::new(Arrival::Poisson(Iops(1e9)), 0, 1, 7).backlog(10_000_000_000) as f64;
        assert!((huge / 1e10 - 1.0).abs() < 0.01, "{huge}");
    }
}
