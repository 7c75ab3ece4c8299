//! Ranks of the order statistics between which a quantile lies.

use super::Z_95;

/// Below this many expected observations in the shorter tail, ranks come from the exact binomial distribution.
const EXACT_TAIL: f64 = 100.0;

/// Ranks, counted from 1, between which the quantile lies with at least 95 %; 0 and n + 1 say that there is none.
pub(super) fn ranks(q: f64, n: u64) -> (u64, u64) {
    // Room for the rank n + 1.
    let n = n.min(u64::MAX - 1);
    // The upper tail mirrors the lower one; the shorter of the two keeps the sum short and exact.
    if q > 0.5 {
        let (lower, upper) = ranks_by_lower_tail(1.0 - q, n);
        return (n + 1 - upper, n + 1 - lower);
    }
    ranks_by_lower_tail(q, n)
}

/// [`ranks`] for q up to one half. With Y the binomial count of observations below the quantile, the lower rank is
/// the smallest y with P(Y <= y) > 2.5 %, and the upper one more than the smallest with P(Y <= y) >= 97.5 %.
fn ranks_by_lower_tail(q: f64, n: u64) -> (u64, u64) {
    let expected = q * n as f64;
    if expected > EXACT_TAIL {
        let spread = Z_95 * (expected * (1.0 - q)).sqrt();
        return ((expected - spread).ceil() as u64, (expected + spread).ceil() as u64);
    }
    let mut term = (n as f64 * (-q).ln_1p()).exp();
    let mut below = term;
    let mut lower = None;
    for y in 0..n {
        if below > 0.025 && lower.is_none() {
            lower = Some(y);
        }
        if below >= 0.975 {
            return (lower.unwrap_or(y), y + 1);
        }
        term *= (n - y) as f64 / (y + 1) as f64 * (q / (1.0 - q));
        below += term;
    }
    (lower.unwrap_or(n), n + 1)
}
