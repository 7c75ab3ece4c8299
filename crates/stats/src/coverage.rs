//! Which time intervals have been reported, so that idle time can be reported too.

use std::collections::VecDeque;

/// Stretches that are kept apart at most: 256 KiB.
const STRETCHES: usize = 16_384;

/// The stretches of time that intervals cover: in order, apart from each other.
#[derive(Debug, Default)]
pub(crate) struct Coverage(VecDeque<(u64, u64)>);

impl Coverage {
    /// Covers the time from `start` to `end`.
    pub(crate) fn add(&mut self, start: u64, end: u64) {
        let from = self.0.partition_point(|stretch| stretch.1 < start);
        let to = self.0.partition_point(|stretch| stretch.0 <= end).max(from);
        let (mut start, mut end) = (start, end);
        if let Some(first) = self.0.get(from).filter(|_| from < to) {
            start = start.min(first.0);
        }
        for stretch in self.0.drain(from..to) {
            end = end.max(stretch.1);
        }
        self.0.insert(from, (start, end));
    }

    /// The oldest idle time, once there are more stretches than are kept; it is then covered. Should a worker that was
    /// held up since then have a share in it after all, that share is reported separately.
    pub(crate) fn oldest_idle(&mut self) -> Option<(u64, u64)> {
        if self.0.len() <= STRETCHES {
            return None;
        }
        let (start, idle) = self.0.pop_front()?;
        let next = self.0.front_mut()?;
        let until = std::mem::replace(&mut next.0, start);
        Some((idle, until))
    }

    /// The time from `from` to `end` that is not covered.
    pub(crate) fn idle(&self, from: u64, end: u64) -> Vec<(u64, u64)> {
        let mut reached = from;
        let stretches = self.0.iter().copied().chain([(end, end)]);
        let idle = stretches.filter_map(|(start, stretch_end)| {
            let idle = (reached, start.min(end));
            reached = reached.max(stretch_end);
            (idle.0 < idle.1).then_some(idle)
        });
        idle.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn idle_time_is_what_nobody_covers() {
        let mut coverage = Coverage::default();
        for (start, end) in [(10, 20), (50, 60), (20, 30), (80, 90), (55, 65), (100, 110)] {
            coverage.add(start, end);
        }
        assert_eq!(coverage.idle(0, 120), [(0, 10), (30, 50), (65, 80), (90, 100), (110, 120)]);
        coverage.add(25, 85);
        assert_eq!(coverage.idle(5, 95), [(5, 10), (90, 95)]);
        assert_eq!(coverage.0.len(), 2);
    }

    #[test]
    fn every_idle_time_is_reported_once_however_many() {
        let mut coverage = Coverage::default();
        let mut reported = Vec::new();
        let count = 3 * STRETCHES as u64;
        for number in 0..count {
            coverage.add(number * 20, number * 20 + 10);
            reported.extend(coverage.oldest_idle());
            assert!(coverage.0.len() <= STRETCHES);
        }
        reported.extend(coverage.idle(0, count * 20));
        assert_eq!(
            reported,
            (0..count).map(|number| (number * 20 + 10, number * 20 + 20)).collect::<Vec<_>>()
        );
    }
}
