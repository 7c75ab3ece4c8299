//! In which order the runs of both sides were measured.

use iolite_model::Nanos;
use iolite_stats::{Difference, Direction};

use super::bare;
use crate::run::Run;

/// Pairs from which they are compared one by one: of fewer, too little is known of how pairs vary.
pub(super) const MIN_PAIRS: usize = 5;

/// A trend that has this probability or less of being chance is one.
const LEVEL: f64 = 0.05;

/// One of the pairs that the runs of both sides make.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Pair {
    /// Its number in time, from 0.
    pub(super) number: usize,
    /// Whether the run after was measured first.
    pub(super) after_first: bool,
}

/// Places of the runs that belong together: the first two runs in time, the next two, and so on, one of each side every time, in
/// either order. `None` where the runs do not alternate in this way, or are fewer than five pairs.
pub(super) fn pairs(before: &[&Run], after: &[&Run]) -> Option<Vec<(usize, usize, Pair)>> {
    if before.len() != after.len() || before.len() < MIN_PAIRS {
        return None;
    }
    let places = |side: &[&Run], is_after| -> Vec<(Nanos, bool, usize)> {
        side.iter().enumerate().map(|(place, run)| (run.info.started_unix, is_after, place)).collect()
    };
    let mut all = [places(before, false), places(after, true)].concat();
    all.sort_unstable();
    // Of runs that started at the same instant it is not known which came first.
    if all.windows(2).any(|two| two[0].0 == two[1].0) {
        return None;
    }
    let pair = |(number, two): (usize, &[(Nanos, bool, usize)])| {
        let (before, after, after_first) = match *two {
            [(_, false, before), (_, true, after)] => (before, after, false),
            [(_, true, after), (_, false, before)] => (before, after, true),
            _ => return None,
        };
        Some((before, after, Pair { number, after_first }))
    };
    all.chunks(2).enumerate().map(pair).collect()
}

/// Why these pairs are not compared one by one: a steady trend has a direction in them. `None` where the order within the pairs
/// varies enough.
///
/// A trend alone makes the second run of every pair better or worse than the first by the same factor. If the test of pairs would
/// show this as a difference between the sides, one side came first too often.
pub(super) fn fixed(pairs: &[Pair]) -> Option<String> {
    let sides = |pair: &Pair| {
        let (first, second) = (1.0, 2.0);
        let (before, after) = if pair.after_first { (second, first) } else { (first, second) };
        (bare(before, Direction::HigherIsBetter), bare(after, Direction::HigherIsBetter))
    };
    let (before, after): (Vec<_>, Vec<_>) = pairs.iter().map(sides).unzip();
    let trend = Difference::of_pairs(&before, &after)?;
    let after_first = pairs.iter().filter(|pair| pair.after_first).count();
    let (side, first) = match pairs.len() - after_first {
        before_first if before_first >= after_first => ("before", before_first),
        _ => ("after", after_first),
    };
    (trend.p <= LEVEL).then(|| {
        format!(
            "In {first} of {} pairs of runs, the run {side} was measured first: a steady change of level would appear as a difference \
             between the runs of a pair. Both sides are therefore compared as sets (Welch's test), which detects less. Draw the \
             order of each pair at random, as `iolite ab` does.",
            pairs.len()
        )
    })
}

/// What cannot be distinguished where several runs of one side all came before those of the other.
pub(super) fn one_after_the_other(before: &[&Run], after: &[&Run]) -> Option<String> {
    let span = |side: &[&Run]| {
        let started = || side.iter().map(|run| run.info.started_unix);
        Some((started().min()?, started().max()?))
    };
    let ((before_first, before_last), (after_first, after_last)) = (span(before)?, span(after)?);
    let is_apart = before_last < after_first || after_last < before_first;
    (is_apart && before.len() > 1 && after.len() > 1).then(|| {
        "All runs of one side were measured before those of the other: a level that changed in the meantime, whatever the reason, \
         appears as a difference. Runs in turns do not have this error."
            .to_owned()
    })
}
