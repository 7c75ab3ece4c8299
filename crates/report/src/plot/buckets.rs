//! Response times in buckets of equal width on a logarithmic axis.

use std::collections::BTreeMap;

use iolite_model::Nanos;
use iolite_stats::Histogram;

/// Buckets for each power of ten of a histogram that is drawn as an outline.
const OUTLINE: f64 = 20.0;

/// Operations by bucket, with so many buckets for each power of ten.
pub(super) fn buckets(response: &Histogram, per_decade: f64) -> BTreeMap<i32, u64> {
    let mut buckets = BTreeMap::<i32, u64>::new();
    for (Nanos(nanos), count) in response.iter() {
        let bucket = ((nanos.max(1) as f64).log10() * per_decade).floor() as i32;
        let had = buckets.entry(bucket).or_default();
        *had = had.saturating_add(count);
    }
    buckets
}

/// The lower edge of a bucket, in nanoseconds.
pub(super) fn edge(bucket: i32, per_decade: f64) -> f64 {
    10f64.powf(f64::from(bucket) / per_decade)
}

/// The outline of a histogram: time, and the share of the operations in percent.
pub(super) fn outline(response: &Histogram) -> Vec<(f64, f64)> {
    let buckets = buckets(response, OUTLINE);
    let edge = |bucket| edge(bucket, OUTLINE);
    let mut outline = Vec::new();
    if let (Some((&first, _)), Some((&last, _))) = (buckets.first_key_value(), buckets.last_key_value()) {
        outline.push((edge(first), 0.0));
        for bucket in first..=last {
            let count = buckets.get(&bucket).copied().unwrap_or(0);
            let share = 100.0 * count as f64 / response.count() as f64;
            outline.extend([(edge(bucket), share), (edge(bucket + 1), share)]);
        }
        outline.push((edge(last + 1), 0.0));
    }
    outline
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outline_has_shares_of_all_operations_and_is_zero_where_there_are_none() {
        let mut response = Histogram::new();
        [(10, 1_000), (90, 100_000)]
            .into_iter()
            .for_each(|(count, nanos)| response.record_many(nanos, count));
        let points = outline(&response);
        let area: f64 = points.windows(2).filter(|ends| ends[0].0 < ends[1].0).map(|ends| ends[0].1).sum();
        assert!((area - 100.0).abs() < 1e-9, "{points:?}");
        assert!(points.iter().any(|point| point.1 == 90.0), "{points:?}");
        assert!(points.iter().any(|point| (3e3..3e4).contains(&point.0) && point.1 == 0.0), "{points:?}");
        assert_eq!((points[0].1, points[points.len() - 1].1), (0.0, 0.0));
    }
}
