//! Throttles named: a plateau that is the same at all depths, and the same in operations or in bytes at all block sizes.

use std::fmt;

use iolite_model::{Bytes, Iops};

use crate::knee::LoadPoint;

/// How far points of one plateau may lie from their mean: throttles count exactly, devices do not.
const EQUAL: f64 = 0.02;

/// How far plateaus of two block sizes may lie apart.
const ALIKE: f64 = 0.03;

/// A limit that the storage keeps to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Cap {
    /// Operations per second.
    Iops(f64),
    /// Bytes per second.
    Bandwidth(f64),
}

impl fmt::Display for Cap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Cap::Iops(rate) => write!(f, "capped at {} IOPS", Iops(*rate)),
            Cap::Bandwidth(rate) => write!(f, "capped at {}/s", Bytes(rate.round() as u64)),
        }
    }
}

/// A cap that a search has met.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CapFound {
    /// Size of the search's blocks.
    pub block: Bytes,
    /// The cap.
    pub cap: Cap,
    /// Outstanding operations from which on the rate is the same.
    pub from: u32,
}

/// Outstanding operations from which on a plateau is a throttle's, where several block sizes have one: flash serves more than so many
/// at the same time, and a disk gains from each.
const EARLY: u32 = 4;

/// The caps that searches with several block sizes have met, if any: the points of each search, with the size of its blocks.
///
/// A search has met a cap when at least two of its points, and all from the first of them up to the largest concurrency, lie
/// within 2 % of each other, though the concurrency at least doubles. Plateaus equal in operations at all sizes (within
/// 3 %) are a cap on operations; equal in bytes, on bytes. Otherwise a plateau is named
/// - where all sizes have one that begins at `EARLY` or fewer outstanding: both limits hold at once;
/// - where the rate does not grow from the first of at least three points on: no device is as slow at every depth.
///
/// It is then named in bytes where smaller blocks have reached a higher rate, else in operations.
pub fn cap(searches: &[(Bytes, Vec<LoadPoint>)]) -> Vec<CapFound> {
    let flat: Vec<(Bytes, Plateau)> =
        searches.iter().filter_map(|(block, points)| Some((*block, plateau(points)?))).collect();
    let of = |(block, plateau): &(Bytes, Plateau), cap| CapFound { block: *block, cap, from: plateau.from };
    let named = |cap: Cap| flat.iter().map(|plateau| of(plateau, cap)).collect();
    let all = flat.len() >= 2 && flat.len() == searches.len();
    if all {
        let rates: Vec<f64> = flat.iter().map(|(_, plateau)| plateau.rate).collect();
        let bytes: Vec<f64> = flat.iter().map(|(block, plateau)| plateau.rate * block.0 as f64).collect();
        if let Some(rate) = alike(&rates, ALIKE) {
            return named(Cap::Iops(rate));
        }
        if let Some(rate) = alike(&bytes, ALIKE) {
            return named(Cap::Bandwidth(rate));
        }
    }
    let early = all && flat.iter().all(|(_, plateau)| plateau.from <= EARLY);
    let found = flat.iter().filter(|(_, plateau)| early || plateau.is_whole);
    found.map(|each| of(each, of_one(each.0, each.1.rate, searches))).collect()
}

/// The cap of a plateau that not all block sizes have: on bytes, where smaller blocks have reached a higher rate.
fn of_one(block: Bytes, rate: f64, searches: &[(Bytes, Vec<LoadPoint>)]) -> Cap {
    let smaller = searches.iter().filter(|(other, _)| *other < block).flat_map(|(_, points)| points);
    let mut faster = smaller.filter(|point| point.throughput > rate * (1.0 + ALIKE));
    match faster.next() {
        Some(_) => Cap::Bandwidth(rate * block.0 as f64),
        None => Cap::Iops(rate),
    }
}

/// What is the same at all depths.
struct Plateau {
    /// Operations per second.
    rate: f64,
    /// The smallest concurrency on it.
    from: u32,
    /// Whether all of at least three points are on it.
    is_whole: bool,
}

fn plateau(points: &[LoadPoint]) -> Option<Plateau> {
    let mut sorted: Vec<&LoadPoint> = points.iter().filter(|point| point.throughput > 0.0).collect();
    sorted.sort_by_key(|point| point.concurrency);
    (0..sorted.len()).find_map(|first| {
        let on = sorted.get(first..)?;
        let from = on.first()?.concurrency;
        let doubled = on.last()?.concurrency >= 2 * from;
        let rates: Vec<f64> = on.iter().map(|point| point.throughput).collect();
        let rate = alike(&rates, EQUAL).filter(|_| on.len() >= 2 && doubled)?;
        Some(Plateau { rate, from, is_whole: first == 0 && on.len() >= 3 })
    })
}

/// The mean of values that lie within a share of it; `None` where one does not, or there is none.
fn alike(values: &[f64], share: f64) -> Option<f64> {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    (mean > 0.0 && values.iter().all(|value| (value / mean - 1.0).abs() <= share)).then_some(mean)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn search(block: u64, rate: impl Fn(f64) -> f64) -> (Bytes, Vec<LoadPoint>) {
        let point = |concurrency: u32| {
            let throughput = rate(f64::from(concurrency));
            LoadPoint {
                concurrency,
                throughput,
                throughput_se: 1.0,
                response: f64::from(concurrency) / throughput,
            }
        };
        (Bytes(block), [1, 2, 4, 8, 16].map(point).to_vec())
    }

    #[test]
    fn an_equal_rate_at_all_sizes_is_a_cap_on_operations() {
        let found =
            cap(&[search(8192, |c| (600.0 * c).min(1000.0)), search(65536, |c| (500.0 * c).min(1004.0))]);
        assert_eq!(found.iter().map(|found| found.from).collect::<Vec<_>>(), [2, 2]);
        assert_eq!(found[0].cap.to_string(), "capped at 1,002 IOPS");
    }

    #[test]
    fn equal_bytes_at_all_sizes_are_a_cap_on_bandwidth() {
        let mib = 250.0 * 1_048_576.0;
        let found = cap(&[
            search(8192, |c| (9000.0 * c).min(mib / 8192.0)),
            search(65536, |c| (2500.0 * c).min(mib / 65536.0)),
        ]);
        assert_eq!(found[1].cap.to_string(), "capped at 250 MiB/s");
    }

    #[test]
    fn a_device_that_saturates_is_not_capped() {
        let disk = search(8192, |c| 150.0 * (1.0 + 0.3 * c.ln()));
        let flash =
            [search(8192, |c| (9000.0 * c).min(60_000.0)), search(65536, |c| (4000.0 * c).min(21_000.0))];
        assert!(cap(&[disk]).is_empty() && cap(&flash).is_empty() && cap(&[]).is_empty());
        assert!(cap(&[search(8192, |_| f64::NAN)]).is_empty());
    }

    #[test]
    fn a_cap_on_operations_and_one_on_bytes_at_once_are_both_named() {
        // A gp3 volume: 3,000 IOPS and 125 MiB/s, of which large blocks meet the second.
        let mib = 125.0 * 1_048_576.0;
        let found = cap(&[
            search(8192, |c| (1400.0 * c).min(3000.0)),
            search(65536, |c| (1100.0 * c).min(mib / 65536.0)),
        ]);
        let texts: Vec<_> = found.iter().map(|found| found.cap.to_string()).collect();
        assert_eq!(texts, ["capped at 3,000 IOPS", "capped at 125 MiB/s"]);
        // Met by large blocks from the first on, and by small ones not at all.
        let found = cap(&[search(8192, |c| 1100.0 * c.powf(0.7)), search(65536, |_| 500.0)]);
        let expected = CapFound { block: Bytes(65536), cap: Cap::Bandwidth(500.0 * 65536.0), from: 1 };
        assert_eq!(found, [expected]);
    }

    #[test]
    fn a_rate_that_no_depth_changes_is_a_cap_with_one_size_too() {
        assert_eq!(cap(&[search(8192, |_| 500.0)])[0].cap, Cap::Iops(500.0));
    }
}
