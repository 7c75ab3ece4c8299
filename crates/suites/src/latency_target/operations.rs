//! Number of operations that a quantile needs.

use iolite_model::{Nanos, Quantile};

/// Operations beyond a quantile that it has to rest on: with fewer, one slow operation more or less decides.
pub(super) const BEYOND: f64 = 10.0;

/// Min number of operations that a quantile can rest on: 1,000 for p99.
pub(super) fn needed(quantile: Quantile) -> u64 {
    // The quantile's own rounding must not ask for one more: 10 / (1 - 0.9) is a little above 100.
    (BEYOND / (1.0 - quantile.0) - 1e-6).ceil() as u64
}

/// A window in which a rate gives enough operations though chance has its way with their number, with four standard
/// deviations to spare.
pub(super) fn window_for(quantile: Quantile, per_second: f64) -> Nanos {
    let seconds = plenty(quantile) / per_second;
    // In whole tenths, as users give them.
    Nanos::from_secs_f64((seconds * 10.0).ceil() / 10.0)
}

/// The operations that give enough though chance has its way with their number.
pub(super) fn plenty(quantile: Quantile) -> f64 {
    let needed = needed(quantile) as f64;
    needed + 4.0 * needed.sqrt()
}
