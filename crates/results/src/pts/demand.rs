//! Tests that vary the demand: what each number of threads and queue depth achieves, and the operating points.

use iolite_model::{Nanos, PtsCell, PtsDemand, PtsPoint, PtsSection};

use super::progress::{PtsFigures, PtsProgress};

/// What the mean response time of the operating point with the highest rate is below.
pub const MAX_POINT_RESPONSE: Nanos = Nanos(5_000_000);

/// What a demand achieves in the measurement window.
#[derive(Debug, Clone, PartialEq)]
pub struct PtsDemandFigures {
    /// Number of threads and queue depth.
    pub demand: PtsDemand,
    /// Operations per second and response times.
    pub figures: PtsFigures,
}

impl PtsProgress<'_> {
    /// What each demand achieves over the measurement window, from the largest to the smallest; empty before there is a window.
    pub fn by_demand(&self, section: PtsSection) -> Vec<PtsDemandFigures> {
        let Some(window) = self.rounds(section).window else { return Vec::new() };
        let of = |cell: PtsCell| {
            let figures = self.figures(section, window, cell)?;
            Some(PtsDemandFigures { demand: cell.demand?, figures })
        };
        self.cells(section).into_iter().filter_map(of).collect()
    }

    /// The demand of an operating point; `None` before there is a measurement window.
    pub fn operating_point(&self, section: PtsSection, point: PtsPoint) -> Option<PtsDemand> {
        let all: Vec<Achieved> = self.by_demand(section).iter().map(Achieved::of).collect();
        operating_point(&all, point)
    }
}

/// Rate and mean response time of a demand.
#[derive(Debug, Clone, Copy)]
struct Achieved {
    demand: PtsDemand,
    rate: f64,
    response: f64,
}

impl Achieved {
    fn of(found: &PtsDemandFigures) -> Achieved {
        Achieved { demand: found.demand, rate: found.figures.mean, response: found.figures.response }
    }
}

fn operating_point(all: &[Achieved], point: PtsPoint) -> Option<PtsDemand> {
    let smallest = all.iter().min_by_key(|one| (one.demand.outstanding(), one.demand.threads))?;
    let within = |one: &&Achieved| one.response < MAX_POINT_RESPONSE.0 as f64;
    // Of the same rate, the one that needs fewer operations in flight.
    let better = |one: &&Achieved, other: &&Achieved| {
        one.rate.total_cmp(&other.rate).then(other.demand.outstanding().cmp(&one.demand.outstanding()))
    };
    let largest = all.iter().filter(within).max_by(better).or_else(|| all.iter().max_by(better))?;
    match point {
        PtsPoint::Min => Some(smallest.demand),
        PtsPoint::Max => Some(largest.demand),
        PtsPoint::Mid => {
            let middle = f64::midpoint(smallest.rate, largest.rate);
            let distance = |one: &Achieved| (one.rate - middle).abs();
            let nearer = |one: &&Achieved, other: &&Achieved| {
                distance(one)
                    .total_cmp(&distance(other))
                    .then(one.demand.outstanding().cmp(&other.demand.outstanding()))
            };
            all.iter().min_by(nearer).map(|one| one.demand)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rates and response times in milliseconds by threads and queue depth.
    const MEASURED: [(u32, u32, f64, f64); 6] = [
        (1, 1, 1000.0, 1.0),
        (1, 4, 3500.0, 1.2),
        (4, 1, 3600.0, 1.1),
        (4, 4, 8000.0, 2.0),
        (4, 32, 10_000.0, 12.8),
        (32, 4, 8000.0, 4.9),
    ];

    fn all(measured: &[(u32, u32, f64, f64)]) -> Vec<Achieved> {
        let of = |&(threads, depth, rate, milliseconds): &(u32, u32, f64, f64)| Achieved {
            demand: PtsDemand { threads, depth },
            rate,
            response: milliseconds * 1e6,
        };
        measured.iter().map(of).collect()
    }

    fn point(measured: &[(u32, u32, f64, f64)], point: PtsPoint) -> Option<(u32, u32)> {
        operating_point(&all(measured), point).map(|demand| (demand.threads, demand.depth))
    }

    #[test]
    fn the_points_are_those_calculated_by_hand() {
        assert_eq!(point(&MEASURED, PtsPoint::Min), Some((1, 1)));
        // 10,000 per second take 12.8 ms; of the two with 8000 the one with 16 in flight instead of 128.
        assert_eq!(point(&MEASURED, PtsPoint::Max), Some((4, 4)));
        // The middle of 1000 and 8000 is 4500: 3600 is nearer than 3500 and 8000.
        assert_eq!(point(&MEASURED, PtsPoint::Mid), Some((4, 1)));
        assert_eq!(point(&[], PtsPoint::Max), None);
    }

    #[test]
    fn where_every_response_takes_longer_the_highest_rate_counts() {
        let slow: Vec<_> = MEASURED.iter().map(|&(t, d, rate, ms)| (t, d, rate, ms + 5.0)).collect();
        assert_eq!(point(&slow, PtsPoint::Max), Some((4, 32)));
        // The middle of 1000 and 10,000 is 5500.
        assert_eq!(point(&slow, PtsPoint::Mid), Some((4, 1)));
    }
}
