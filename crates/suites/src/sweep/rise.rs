//! When the number of jobs is raised no further, and where a closer look pays.

use iolite_model::{Iops, SweepEnd, SweepTerms};
use iolite_stats::{Knee, LoadPoint, Z_95, refine};

/// Two steps nearer than this ratio are near enough.
const NEAR: f64 = 1.25;

/// Why the number of jobs is raised no further, from the points in the order they were measured; `None` where it is.
pub(super) fn end(points: &[LoadPoint], terms: &SweepTerms) -> Option<SweepEnd> {
    let [.., before, last] = points else { return None };
    let limit = terms.stop_response;
    let is_over = |point: &LoadPoint| point.response > limit.as_secs_f64();
    if is_over(before) && is_over(last) {
        return Some(SweepEnd::ResponseOver { limit, before: before.concurrency, jobs: last.concurrency });
    }
    let flat = flat_steps(points, terms.min_growth);
    let end = SweepEnd::NotGrowing {
        before: before.concurrency,
        jobs: last.concurrency,
        growth: Knee::growth(points)?,
    };
    // Where the uncertainty leaves room for growth, it takes a third step to believe that there is none.
    let believed = flat.iter().take(2).all(|&sure| sure);
    (flat.len() >= 3 || (flat.len() == 2 && believed)).then_some(end)
}

/// The steps at the end that brought less than the least growth, the last first: whether each surely did, by the intervals.
fn flat_steps(points: &[LoadPoint], min: f64) -> Vec<bool> {
    let mut flat = Vec::new();
    for seen in (2..=points.len()).rev() {
        let so_far = &points[..seen];
        if Knee::growth(so_far).is_none_or(|growth| growth >= min) {
            break;
        }
        flat.push(Knee::growth(&at_best(so_far)).is_some_and(|growth| growth < min));
    }
    flat
}

/// The points with the last at the upper end of what its uncertainty and that of the best before it allow.
fn at_best(points: &[LoadPoint]) -> Vec<LoadPoint> {
    let mut points = points.to_vec();
    let relative = |point: &LoadPoint| point.throughput_se / point.throughput;
    let best = points
        .iter()
        .rev()
        .skip(1)
        .max_by(|a, b| a.throughput.total_cmp(&b.throughput))
        .map_or(0.0, relative);
    if let Some(last) = points.last_mut() {
        last.throughput *= 1.0 + Z_95 * relative(last).hypot(best);
    }
    points
}

/// The next number of jobs worth a closer look: where the target rate is reached, then the knee, then the wider of the gaps
/// around it. `None` where what was tested is near enough.
pub(super) fn closer(points: &[LoadPoint], knee: Option<&Knee>, target: Option<Iops>) -> Option<u32> {
    let knee = knee?;
    let tested: Vec<u32> = points.iter().map(|point| point.concurrency).collect();
    let max = tested.iter().copied().max()?;
    let reaches = |target: Iops| (1..=max).find(|&jobs| knee.model.throughput(f64::from(jobs)) >= target.0);
    let is_new = |jobs: &u32| {
        let ratio = |other: u32| f64::from(other.max(*jobs)) / f64::from(other.min(*jobs));
        !tested.contains(jobs) && tested.iter().all(|&other| ratio(other) >= NEAR)
    };
    let around = || Some(knee.concurrency).filter(is_new).or_else(|| refine(points, &tested));
    // Where even the most jobs have not shown the limit, there is no knee to look at more closely.
    target.and_then(reaches).filter(is_new).or_else(|| knee.saturated.then(around).flatten())
}

#[cfg(test)]
mod tests {
    use iolite_model::{DbOperation, Nanos};

    use super::*;

    fn terms() -> SweepTerms {
        SweepTerms { ramp: Nanos(0), ..SweepTerms::new(DbOperation::RanRead) }
    }

    /// Points with a relative error.
    fn points(measured: &[(u32, f64)], error: f64) -> Vec<LoadPoint> {
        let point = |&(concurrency, throughput): &(u32, f64)| LoadPoint {
            concurrency,
            throughput,
            throughput_se: throughput * error,
            response: f64::from(concurrency) / throughput,
        };
        measured.iter().map(point).collect()
    }

    /// After how many of the steps it ends, and why.
    fn ended(measured: &[(u32, f64)], error: f64) -> Option<(usize, SweepEnd)> {
        let points = points(measured, error);
        (1..=points.len()).find_map(|seen| Some((seen, end(&points[..seen], &terms())?)))
    }

    #[test]
    fn two_steps_without_growth_end_it_and_one_does_not() {
        let flat = [(1, 1597.0), (4, 6011.0), (8, 6136.0), (16, 6144.0)];
        let Some((4, SweepEnd::NotGrowing { before: 8, jobs: 16, growth })) = ended(&flat, 0.005) else {
            panic!("{:?}", ended(&flat, 0.005))
        };
        assert!((growth - (6144.0 / 6136.0 - 1.0)).abs() < 1e-9);
        assert_eq!(ended(&[(1, 1000.0), (5, 5000.0), (10, 5050.0), (20, 9000.0)], 0.005), None);
        let falling = [(1, 1000.0), (5, 5000.0), (10, 4000.0), (20, 3000.0), (40, 2000.0)];
        assert!(matches!(ended(&falling, 0.005), Some((4, SweepEnd::NotGrowing { .. }))));
    }

    #[test]
    fn where_growth_may_hide_in_the_uncertainty_it_takes_a_third_step() {
        let flat = [(1, 1000.0), (5, 4000.0), (10, 4100.0), (20, 4050.0), (40, 4100.0), (80, 4100.0)];
        assert_eq!(ended(&flat, 0.005).unwrap().0, 4);
        assert_eq!(ended(&flat, 0.10).unwrap().0, 5);
    }

    #[test]
    fn two_slow_steps_in_a_row_end_it_though_it_grows() {
        let slow = [(1, 90.0), (5, 480.0), (10, 990.0), (20, 1900.0)];
        let limit = SweepTerms::STOP_RESPONSE;
        // 11.1, 10.4, 10.1 and 10.5 ms.
        assert_eq!(ended(&slow, 0.005), Some((2, SweepEnd::ResponseOver { limit, before: 1, jobs: 5 })));
        // 10.5 ms alone, between 9.1 and 9.5.
        let once = [(1, 110.0), (5, 476.0), (10, 1050.0), (20, 2100.0)];
        assert_eq!(ended(&once, 0.005), None);
    }

    #[test]
    fn a_closer_look_is_at_the_target_then_at_the_knee_then_around_it() {
        let curve = [(1, 1500.0), (5, 6000.0), (10, 6000.0), (20, 6000.0)];
        let mut points = points(&curve, 0.005);
        let knee = Knee::fit(&points, 1).unwrap();
        assert_eq!(knee.concurrency, 4);
        assert_eq!(closer(&points, Some(&knee), Some(Iops(2900.0))), Some(2));
        assert_eq!(closer(&points, Some(&knee), Some(Iops(9000.0))), Some(4));
        assert_eq!(closer(&points, None, None), None);
        assert_eq!(closer(&points[..2], Knee::fit(&points[..2], 1).as_ref(), None), None);
        points.extend(super::tests::points(&[(4, 6000.0)], 0.005));
        let knee = Knee::fit(&points, 1).unwrap();
        let next = closer(&points, Some(&knee), None).unwrap();
        assert!((2..=3).contains(&next), "{next}");
    }
}
