//! A phase's course over time, in a bounded number of points whatever its length.

use iolite_model::{OpKind, PerKind};

use crate::sums::Sums;

/// Points that a series has at most. Estimates join a longer series to 2,000 batches anyway, and after joining pairwise
/// at least half of the points are left. At some 200 bytes each they are less than a MiB.
pub(crate) const POINTS: u64 = 4096;

/// One interval of a phase's measured part, for estimates over time. In a long phase it is as many of the task's
/// intervals as keep the number of points bounded.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Point {
    /// Length.
    pub seconds: f64,
    /// Operations of each kind.
    pub operations: PerKind<u64>,
    /// Bytes moved by each kind.
    pub bytes: PerKind<u64>,
    /// Sum of the response times of each kind in nanoseconds.
    pub response_sum: PerKind<u64>,
}

/// The points as they come about, at the cells of a grid that starts where the measured part does. Once [`POINTS`] cells
/// don't reach far enough they double in length, so that each point joins the two of half the length, and what comes
/// later arrives at the new one. Whatever the order in which intervals arrive, the points are the same.
#[derive(Debug, Clone)]
pub(crate) struct Series {
    origin: u64,
    /// Length of a cell.
    width: u64,
    /// In order, on the grid, without overlap.
    spans: Vec<Span>,
}

/// Neighbouring cells whose counts cannot be distinguished: as a rule, one.
#[derive(Debug, Clone)]
struct Span {
    start: u64,
    end: u64,
    point: Point,
}

impl Point {
    /// An interval in which nothing completed.
    pub(crate) fn idle(nanos: u64) -> Point {
        Point { seconds: nanos as f64 / 1e9, ..Point::default() }
    }

    /// Adds the operations of another, not its time.
    pub(crate) fn join(&mut self, other: &Point) {
        let sums = [
            (&mut self.operations, &other.operations),
            (&mut self.bytes, &other.bytes),
            (&mut self.response_sum, &other.response_sum),
        ];
        for (mine, theirs) in sums {
            for (kind, theirs) in theirs.iter().filter(|(_, theirs)| **theirs > 0) {
                mine[kind] = mine[kind].saturating_add(*theirs);
            }
        }
    }

    fn count(&mut self, kind: OpKind, sums: &Sums) {
        self.operations[kind] = self.operations[kind].saturating_add(sums.operations);
        self.bytes[kind] = self.bytes[kind].saturating_add(sums.bytes);
        self.response_sum[kind] = self.response_sum[kind].saturating_add(sums.response_sum);
    }
}

impl Series {
    /// An empty one of a measured part that starts at `origin`, with intervals of this length.
    pub(crate) fn new(origin: u64, interval: u64) -> Series {
        Series { origin, width: interval.max(1), spans: Vec::new() }
    }

    /// Adds what completed from `start` to `end`. What covers several cells makes one point of them.
    pub(crate) fn add<'a>(
        &mut self,
        (start, end): (u64, u64),
        counted: impl IntoIterator<Item = (OpKind, &'a Sums)>,
    ) {
        let mut point = None;
        for (kind, sums) in counted.into_iter().filter(|(_, sums)| !sums.is_empty()) {
            point.get_or_insert_with(Point::default).count(kind, sums);
        }
        // Idle time is what is left between the points: who reports it, and in how many pieces, makes no difference.
        let Some(point) = point else { return };
        self.reach(end);
        self.insert(Span { start, end, point });
    }

    /// Doubles the cells until [`POINTS`] of them reach `end`.
    fn reach(&mut self, end: u64) {
        let cells = |width| end.saturating_sub(self.origin).div_ceil(width);
        if cells(self.width) <= POINTS {
            return;
        }
        let mut width = self.width;
        while cells(width) > POINTS {
            width = width.saturating_mul(2);
        }
        self.width = width;
        std::mem::take(&mut self.spans).into_iter().for_each(|span| self.insert(span));
    }

    /// The cells that something covers: from the start of the first to the end of the last.
    fn cells(&self, start: u64, end: u64) -> (u64, u64) {
        let first = start.saturating_sub(self.origin) / self.width;
        let behind = end.saturating_sub(self.origin).div_ceil(self.width).max(first + 1);
        let at = |cell: u64| self.origin.saturating_add(cell.saturating_mul(self.width));
        (at(first), at(behind))
    }

    fn insert(&mut self, span: Span) {
        let (start, end) = self.cells(span.start, span.end);
        let mut whole = Span { start, end, point: span.point };
        if self.spans.last().is_none_or(|last| last.end <= start) {
            self.spans.push(whole);
            return;
        }
        let from = self.spans.partition_point(|span| span.end <= start);
        let to = self.spans.partition_point(|span| span.start < end).max(from);
        for other in &self.spans[from..to] {
            whole.start = whole.start.min(other.start);
            whole.end = whole.end.max(other.end);
            whole.point.join(&other.point);
        }
        self.spans.splice(from..to, [whole]);
    }

    /// The points from `from`, the start of the measured part, to `end`: in order, without gaps.
    pub(crate) fn points(mut self, from: u64, end: u64) -> Vec<Point> {
        self.reach(end);
        let mut points = Vec::with_capacity(self.spans.len());
        let mut reached = from;
        let spans = std::mem::take(&mut self.spans);
        for span in spans {
            self.idle(&mut points, reached, span.start.min(end));
            // The first cell may begin before the measured part: the ramp ended within it.
            let length = span.end.min(end).saturating_sub(span.start.max(from));
            points.push(Point { seconds: Point::idle(length).seconds, ..span.point });
            reached = span.end;
        }
        self.idle(&mut points, reached, end);
        points
    }

    fn idle(&self, points: &mut Vec<Point>, from: u64, to: u64) {
        let mut at = from;
        while at < to {
            let next = at.saturating_add(self.width).min(to);
            points.push(Point::idle(next - at));
            at = next;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sums(operations: u64) -> Sums {
        Sums {
            operations,
            bytes: operations.saturating_mul(512),
            response_sum: operations * 3,
            ..Sums::default()
        }
    }

    fn series(slots: &[(u64, u64, u64)], end: u64) -> Vec<Point> {
        let mut series = Series::new(100, 10);
        for &(start, end, operations) in slots {
            series.add((start, end), [(OpKind::Stat, &sums(operations))]);
        }
        series.points(100, end)
    }

    fn reported(points: &[Point]) -> Vec<(u64, u64)> {
        let stat = OpKind::Stat;
        points.iter().map(|point| ((point.seconds * 1e9).round() as u64, point.operations[stat])).collect()
    }

    #[test]
    fn idle_time_is_in_the_series_interval_by_interval() {
        let points = series(&[(110, 120, 5), (150, 160, 6)], 165);
        assert_eq!(reported(&points), [(10, 0), (10, 5), (10, 0), (10, 0), (10, 0), (10, 6), (5, 0)]);
        assert_eq!(reported(&series(&[], 125)), [(10, 0), (10, 0), (5, 0)]);
        assert_eq!(reported(&series(&[], 100)), []);
    }

    #[test]
    fn an_interval_that_was_prolonged_is_one_point_with_those_it_covers() {
        let points =
            series(&[(100, 110, 1), (110, 120, 2), (110, 130, 3), (120, 130, 4), (130, 140, 5)], 140);
        assert_eq!(reported(&points), [(10, 1), (20, 9), (10, 5)]);
    }

    #[test]
    fn what_lies_beyond_the_end_counts_without_time() {
        assert_eq!(reported(&series(&[(100, 110, 1), (120, 130, 2)], 115)), [(10, 1), (5, 0), (0, 2)]);
    }

    #[test]
    fn no_numbers_make_it_panic() {
        for (start, end) in [(0, 0), (0, u64::MAX), (u64::MAX, u64::MAX), (u64::MAX, 0), (100, 100)] {
            let points = series(&[(start, end, u64::MAX / 3), (start, end, u64::MAX / 3)], u64::MAX);
            assert!(points.len() as u64 <= POINTS);
        }
    }

    /// A day of intervals of 1 s, and of 10 ms (in a debug build, 2.4 hours of it).
    #[test]
    fn a_day_is_held_in_a_bounded_number_of_points() {
        let day = 86_400_000_000_000u64;
        let part =
            if cfg!(debug_assertions) { (10_000_000, day / 10, 3375) } else { (10_000_000, day, 2110) };
        for (interval, day, expected) in [(1_000_000_000u64, day, 2700), part] {
            let mut series = Series::new(0, interval);
            for number in 0..day / interval {
                let slot = (number * interval, (number + 1) * interval);
                series.add(slot, [(OpKind::Read, &sums(number % 7)), (OpKind::Write, &sums(1))]);
                assert!(series.spans.len() as u64 <= POINTS);
            }
            let held = series.spans.capacity() * size_of::<Span>();
            let points = series.points(0, day);
            println!("{} s: {} points, {held} bytes while collecting", interval as f64 / 1e9, points.len());
            assert_eq!(points.len(), expected);
            assert!(points.len() * size_of::<Point>() + held < 3 << 20);
            let reads = (0..day / interval).map(|number| number % 7).sum::<u64>();
            assert_eq!(points.iter().map(|p| p.operations[OpKind::Read]).sum::<u64>(), reads);
            assert_eq!(points.iter().map(|p| p.bytes[OpKind::Read]).sum::<u64>(), 512 * reads);
            assert_eq!(points.iter().map(|p| p.response_sum[OpKind::Read]).sum::<u64>(), 3 * reads);
            assert!((points.iter().map(|p| p.seconds).sum::<f64>() - day as f64 / 1e9).abs() < 1e-6);
        }
    }

    proptest! {
        #[test]
        fn the_order_of_arrival_makes_no_difference(
            slots in prop::collection::vec((0u64..30_000, 1u64..4, 1u64..9), 0..200),
            scattered in any::<prop::sample::Index>(),
        ) {
            let slots: Vec<_> = slots.iter().map(|&(cell, cells, n)| (100 + cell * 10, 100 + (cell + cells) * 10, n)).collect();
            let mut other = slots.clone();
            other.rotate_left(scattered.index(slots.len().max(1)));
            other.reverse();
            let end = 300_200;
            let points = series(&slots, end);
            prop_assert_eq!(&points, &series(&other, end));
            prop_assert!(points.len() as u64 <= POINTS);
            let stat = OpKind::Stat;
            prop_assert_eq!(points.iter().map(|p| p.operations[stat]).sum::<u64>(), slots.iter().map(|s| s.2).sum::<u64>());
            prop_assert!((points.iter().map(|p| p.seconds).sum::<f64>() - 300_100e-9).abs() < 1e-12);
        }
    }
}
