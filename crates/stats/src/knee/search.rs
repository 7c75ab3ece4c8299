//! What a procedure that looks for the knee asks between two runs: more load, a closer look, or enough.

use super::{Knee, LoadPoint, Point, fit, largest, usable};

/// Growth over a doubling of concurrency below which throughput is said to have stopped growing.
const GROWTH: f64 = 0.1;

/// Two tested concurrencies nearer than this ratio are near enough.
const NEAR: f64 = 1.25;

impl Knee {
    /// What the last doubling of concurrency bought, as a share: 0.1 is 10 % more throughput, negative is a loss.
    ///
    /// Compares the largest tested concurrency with the best up to half of it, which is interpolated on logarithms
    /// where it was not tested itself; less than a doubling apart, the growth seen is carried on to a doubling.
    /// `None` with fewer than two usable concurrencies.
    pub fn growth(points: &[LoadPoint]) -> Option<f64> {
        let points = usable(points);
        let (last, before) = points.split_last()?;
        let half = (last.c / 2.0).max(before.first()?.c);
        let at_half = interpolate(&points, half)?;
        let best = before.iter().filter(|point| point.c <= half).map(|point| point.x).fold(at_half, f64::max);
        Some((last.x / best).powf(1.0 / (last.c / half).log2()) - 1.0)
    }
}

/// Whether more concurrency is worth testing: the last doubling still bought at least 10 %, or fewer than two
/// concurrencies have been measured.
pub fn still_growing(points: &[LoadPoint]) -> bool {
    Knee::growth(points).is_none_or(|growth| growth >= GROWTH)
}

/// The next concurrency worth testing: the geometric middle of the wider of the two gaps that the knee has to its
/// tested neighbours. `tested` lists concurrencies that were tried, whether or not a point came of it.
///
/// `None` when the gap's ends are adjacent integers or nearer than a ratio of 1.25, or when there is no knee yet.
pub fn refine(points: &[LoadPoint], tested: &[u32]) -> Option<u32> {
    let knee = fit::best(&usable(points))?.knee(largest(points)?);
    let mut tested: Vec<u32> =
        points.iter().map(|point| point.concurrency).chain(tested.iter().copied()).collect();
    tested.retain(|&concurrency| concurrency > 0);
    tested.sort_unstable();
    tested.dedup();
    let ratio = |gap: &(u32, u32)| f64::from(gap.1) / f64::from(gap.0);
    let gaps = tested.iter().copied().zip(tested.iter().copied().skip(1));
    let widest = gaps
        .filter(|gap| (gap.0..=gap.1).contains(&knee) && gap.1 - gap.0 > 1)
        .max_by(|a, b| ratio(a).total_cmp(&ratio(b)))?;
    let middle = (f64::from(widest.0) * f64::from(widest.1)).sqrt().round() as u32;
    (ratio(&widest) >= NEAR).then_some(middle.clamp(widest.0 + 1, widest.1 - 1))
}

/// Throughput at a concurrency between tested ones, on a straight line between their logarithms.
fn interpolate(points: &[Point], concurrency: f64) -> Option<f64> {
    let above = points.iter().position(|point| point.c >= concurrency)?;
    let right = points.get(above)?;
    let Some(left) = above.checked_sub(1).and_then(|below| points.get(below)) else { return Some(right.x) };
    let share = (concurrency / left.c).ln() / (right.c / left.c).ln();
    Some((left.x.ln() + share * (right.x / left.x).ln()).exp())
}
