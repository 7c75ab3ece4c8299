//! The search for the knee: more and more concurrency until it is clear, then a closer look around it.

use iolite_model::{Bytes, Nanos, OpKind, Warning};
use iolite_stats::{CapFound, LoadPoint, PhaseResult, cap, refine, still_growing};

/// How far and how long to search.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    /// The highest concurrency to try.
    pub(crate) highest: u32,
    /// Mean response time beyond which more load is of no interest.
    pub(crate) response: Nanos,
    /// Closer looks around the knee at most.
    pub(crate) refinements: usize,
}

/// Relative error up to which one doubling without growth is enough to believe it.
const STEADY: f64 = 0.02;

/// What a finished run says about the load it was under; `None` where nothing was measured.
pub(crate) fn load_point(result: &PhaseResult) -> Option<LoadPoint> {
    let summary = result.summary(OpKind::Read)?;
    Some(LoadPoint::of(result.info.task.concurrency(), &summary.rate, summary.mean.value))
}

/// The throttles that searches have met, each with its name and the size of its blocks: one warning for each cap.
pub(crate) fn capped(searches: &[(&str, Bytes, Vec<LoadPoint>)]) -> Vec<Warning> {
    let points: Vec<_> = searches.iter().map(|(_, block, points)| (*block, points.clone())).collect();
    let mut warnings: Vec<(String, u32, Vec<&str>)> = Vec::new();
    for CapFound { block, cap, from } in cap(&points) {
        let text = cap.to_string();
        let names = searches.iter().filter(|search| search.1 == block).map(|search| search.0);
        match warnings.iter_mut().find(|(known, ..)| *known == text) {
            Some((_, known_from, known)) => {
                *known_from = from.max(*known_from);
                known.extend(names);
            }
            None => warnings.push((text, from, names.collect())),
        }
    }
    let warning =
        |(cap, from, names): (String, u32, Vec<&str>)| Warning::Capped { what: names.join(", "), cap, from };
    warnings.into_iter().map(warning).collect()
}

/// The next concurrency to try, given the points so far in the order they were measured; `None` when it is clear.
///
/// Doubles from 1 until the response time breaks the limit or throughput stops growing, then halves the gaps around
/// the knee.
pub(crate) fn next_concurrency(points: &[LoadPoint], limits: Limits) -> Option<u32> {
    let Some(largest) = points.iter().map(|point| point.concurrency).max() else { return Some(1) };
    // Powers of two come from doubling, all else from a closer look.
    let refined = points.iter().filter(|point| !point.concurrency.is_power_of_two()).count();
    if refined == 0 && is_worth_more(points, largest, limits) {
        // Where even the highest has not shown the limit, there is no knee to look at more closely.
        return Some(largest * 2).filter(|&next| next <= limits.highest);
    }
    let tested: Vec<u32> = points.iter().map(|point| point.concurrency).collect();
    refine(points, &tested).filter(|_| refined < limits.refinements)
}

/// Whether to double once more: the response time allows it, and throughput has not stopped growing. The first two
/// doublings are always made, for a knee needs points on both sides. One run may be slow by chance: where the points
/// are uncertain, it takes two doublings without growth to believe it.
fn is_worth_more(points: &[LoadPoint], largest: u32, limits: Limits) -> bool {
    if points.len() < 3 {
        return true;
    }
    let slow =
        |point: &LoadPoint| point.concurrency == largest && point.response > limits.response.as_secs_f64();
    if points.iter().any(slow) {
        return false;
    }
    let before = &points[..points.len() - 1];
    let is_steady = |point: &LoadPoint| point.throughput_se <= STEADY * point.throughput;
    let is_believable = points[points.len() - 2..].iter().all(is_steady);
    still_growing(points) || (still_growing(before) && !is_believable)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: Limits = Limits { highest: 256, response: Nanos(2_000_000), refinements: 2 };

    /// Searches on a model of a device until the search is content.
    fn searched(throughput: impl Fn(f64) -> f64) -> Vec<u32> {
        let mut points: Vec<LoadPoint> = Vec::new();
        while let Some(concurrency) = next_concurrency(&points, LIMITS) {
            assert!(points.iter().all(|point| point.concurrency != concurrency), "{concurrency} twice");
            assert!(points.len() < 20);
            let rate = throughput(f64::from(concurrency));
            points.push(LoadPoint {
                concurrency,
                throughput: rate,
                throughput_se: rate * 0.005,
                response: f64::from(concurrency) / rate,
            });
        }
        points.iter().map(|point| point.concurrency).collect()
    }

    #[test]
    fn stops_soon_after_throughput_stops_growing() {
        let tried = searched(|c| (1597.0 * c).min(6140.0));
        assert_eq!(tried[..4], [1, 2, 4, 8]);
        assert!(!tried.contains(&16), "{tried:?}");
        assert!(tried.len() <= 6 && tried[4..].iter().all(|c| (2..=8).contains(c)), "{tried:?}");
    }

    #[test]
    fn a_throttle_met_at_once_takes_three_points() {
        assert_eq!(searched(|_| 2000.0), [1, 2, 4]);
    }

    #[test]
    fn stops_when_the_response_breaks_the_limit() {
        // 100 µs at first, growing by 100 µs per operation outstanding: over 2 ms at 32.
        let tried = searched(|c| c / (100e-6 * c));
        assert!(tried.iter().all(|&c| c <= 32), "{tried:?}");
    }

    #[test]
    fn goes_to_the_highest_where_nothing_stops_it() {
        assert_eq!(searched(|c| 20_000.0 * c).last(), Some(&256));
    }
}
