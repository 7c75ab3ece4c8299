//! In which order the runs of both sides were measured.

use iolite_model::Nanos;

use crate::run::Run;

/// Pairs from which they are compared one by one: of fewer, too little is known of how pairs vary.
const MIN_PAIRS: usize = 5;

/// Places of the runs that belong together: the first two runs in time, the next two, and so on, one of each side every time, in
/// either order. `None` where the runs do not alternate in this way, or are fewer than five pairs.
pub(super) fn pairs(before: &[&Run], after: &[&Run]) -> Option<Vec<(usize, usize)>> {
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
    let pair = |two: &[(Nanos, bool, usize)]| match *two {
        [(_, false, before), (_, true, after)] | [(_, true, after), (_, false, before)] => {
            Some((before, after))
        }
        _ => None,
    };
    all.chunks(2).map(pair).collect()
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
