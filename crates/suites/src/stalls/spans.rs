//! When something went on.

use iolite_model::Nanos;

/// Spans that are kept at most: the latest.
const MAX_SPANS: usize = 1 << 16;

/// Spans of time in order of their ends, those that overlap or follow closely joined to one.
#[derive(Debug, Default)]
pub(super) struct StallSpans(Vec<(Nanos, Nanos)>);

impl StallSpans {
    /// Adds a span that ends no earlier than all others, as what is reported when it is over does; joins it with those before that
    /// end within `gap` of its start.
    pub(super) fn add(&mut self, mut start: Nanos, mut end: Nanos, gap: Nanos) {
        while let Some((from, to)) = self.0.pop_if(|(_, to)| to.0.saturating_add(gap.0) >= start.0) {
            (start, end) = (start.min(from), end.max(to));
        }
        if self.0.len() >= MAX_SPANS {
            self.0.drain(..MAX_SPANS / 2);
        }
        self.0.push((start, end));
    }

    /// Whether it went on at any time from `start` to `end`.
    pub(super) fn overlap(&self, start: Nanos, end: Nanos) -> bool {
        let first = self.0.partition_point(|(_, to)| *to < start);
        self.0.get(first).is_some_and(|(from, _)| *from <= end)
    }

    /// The share of the time from `start` to `end` in which it went on.
    pub(super) fn share(&self, start: Nanos, end: Nanos) -> f64 {
        let within = |(from, to): &(Nanos, Nanos)| (*to).min(end).saturating_sub((*from).max(start)).0;
        let length = end.saturating_sub(start).0.max(1);
        self.0.iter().map(within).sum::<u64>() as f64 / length as f64
    }
}
