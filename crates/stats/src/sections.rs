//! A phase cut into sections, each with its own response times: how a quantile varies from section to section says how
//! uncertain it is.

use std::collections::BTreeMap;
use std::sync::Arc;

use iolite_model::{Nanos, OpKind, PerKind};

use crate::histogram::Histogram;

/// Sections that a phase has at most; at least half of them are left when neighbours have been joined. Asmussen & Glynn
/// 2007 (Stochastic Simulation, III.5) advise 10 to 30.
const SECTIONS: u64 = 24;

/// Finer sections that a phase has at most: four for each of the others, for pictures.
const FINE: u64 = 4 * SECTIONS;

/// The response times of one section of a phase, by kind. Copies share them until one of them counts on: a section that is not
/// joined with others is both a fine and a coarse one.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Section {
    responses: PerKind<Option<Arc<Histogram>>>,
    /// From where to where it reaches, in nanoseconds of the measured part.
    pub(crate) span: (u64, u64),
}

/// The sections of a finished phase, in order; those without operations are left out.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Cut {
    /// Some two dozens, for estimates.
    pub(crate) sections: Vec<Section>,
    /// The same in up to four parts each, for pictures.
    pub(crate) fine: Vec<Section>,
}

/// The sections as they come about: cells of a grid that starts where the measured part does. Once [`FINE`] cells do
/// not reach far enough they double in length. What covers several cells counts where it starts, so that the order in
/// which intervals arrive makes no difference.
#[derive(Debug, Clone)]
pub(crate) struct Sections {
    origin: u64,
    width: u64,
    /// How far the measured part is known to go.
    reached: u64,
    cells: BTreeMap<u64, Section>,
}

impl Section {
    /// The histogram of a kind, to count in.
    pub(crate) fn response_mut(&mut self, kind: OpKind) -> &mut Histogram {
        Arc::make_mut(self.responses.entry(kind).get_or_insert_default())
    }

    /// The histogram of a kind, where it occurred.
    pub(crate) fn response(&self, kind: OpKind) -> Option<&Histogram> {
        self.responses.get(kind).and_then(Option::as_deref)
    }

    /// Operations of a kind, and of these the ones slower than a bound.
    pub(crate) fn above(&self, kind: OpKind, bound: Nanos) -> (f64, f64) {
        let counts = |histogram: &Histogram| (histogram.count() as f64, histogram.count_above(bound) as f64);
        self.responses.get(kind).and_then(Option::as_deref).map_or((0.0, 0.0), counts)
    }

    /// Adds what another section counted.
    pub(crate) fn merge(&mut self, other: &Section) {
        for (kind, theirs) in other.responses.iter() {
            let Some(theirs) = theirs else { continue };
            match self.responses.entry(kind) {
                Some(mine) => Arc::make_mut(mine).merge(theirs),
                none => *none = Some(theirs.clone()),
            }
        }
    }
}

impl Sections {
    /// None yet, of a measured part that starts at `origin`, with intervals of this length.
    pub(crate) fn new(origin: u64, interval: u64) -> Sections {
        Sections { origin, width: interval.max(1), reached: 0, cells: BTreeMap::new() }
    }

    /// The section of what lasted from `start` to `end`; only for what has something to count.
    pub(crate) fn at(&mut self, start: u64, end: u64) -> &mut Section {
        self.reach(end);
        let cell = start.saturating_sub(self.origin) / self.width;
        self.cells.entry(cell).or_default()
    }

    /// Doubles the cells until [`FINE`] of them reach `end`.
    fn reach(&mut self, end: u64) {
        self.reached = self.reached.max(end.saturating_sub(self.origin));
        self.join_until(FINE);
    }

    /// Doubles the cells until so many of them reach the end.
    fn join_until(&mut self, at_most: u64) {
        while self.reached.div_ceil(self.width) > at_most && self.width < u64::MAX / 2 {
            self.width *= 2;
            let mut joined: BTreeMap<u64, Section> = BTreeMap::new();
            for (cell, section) in std::mem::take(&mut self.cells) {
                joined.entry(cell / 2).or_default().merge(&section);
            }
            self.cells = joined;
        }
    }

    /// Those with anything in them, of a measured part that began at `from`.
    pub(crate) fn finish(mut self, from: u64) -> Cut {
        self.shrink();
        let fine = self.placed(from);
        self.join_until(SECTIONS);
        Cut { sections: self.placed(from), fine }
    }

    fn shrink(&mut self) {
        let responses = self.cells.values_mut().flat_map(|section| section.responses.values_mut().flatten());
        responses.for_each(|response| Arc::make_mut(response).shrink());
    }

    fn placed(&self, from: u64) -> Vec<Section> {
        let placed = |(cell, section): (&u64, &Section)| {
            let start = self.origin.saturating_add(cell.saturating_mul(self.width));
            let span = [start, start.saturating_add(self.width)].map(|at| at.saturating_sub(from));
            Section { span: (span[0], span[1]), ..section.clone() }
        };
        self.cells.iter().map(placed).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_stay_few_and_lose_nothing_whatever_the_order() {
        let add = |order: &[u64]| {
            let mut sections = Sections::new(100, 10);
            for &number in order {
                let start = 100 + number * 10;
                sections.at(start, start + 10).response_mut(OpKind::Read).record(number + 1);
            }
            sections.finish(100)
        };
        let order: Vec<u64> = (0..1000).collect();
        let (forth, back) = (add(&order), add(&order.iter().rev().copied().collect::<Vec<_>>()));
        assert_eq!(forth, back);
        assert_eq!((forth.sections.len(), forth.fine.len()), (16, 63));
        for sections in [&forth.sections, &forth.fine] {
            let all: f64 = sections.iter().map(|section| section.above(OpKind::Read, Nanos(0)).0).sum();
            assert_eq!(all, 1000.0);
            assert!(sections.windows(2).all(|pair| pair[0].span.1 == pair[1].span.0));
            assert_eq!(sections[0].above(OpKind::Write, Nanos(0)), (0.0, 0.0));
        }
        // Few intervals are not joined for pictures.
        let few = add(&order[..40]);
        assert_eq!((few.sections.len(), few.fine.len()), (20, 40));
    }
}
