//! What a database timed by its own clock, placed on ours.
//!
//! The database's clock is the host's time of day as a rule, which somebody may set in the middle of a batch. How long the
//! whole batch took is known by our own clock, which nobody sets: what does not fit into that is what the setting did.

use super::contract::Timed;

/// How much longer a batch may seem by the database's clock than by ours: its resolution, and the difference in rate.
const TOLERANCE: u64 = 20_000;

/// When an operation was done, in nanoseconds since the phase's start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Placed {
    pub(super) issued: u64,
    pub(super) completed: u64,
}

/// Places operations done in a batch that was sent and came back at these instants.
pub(super) fn place(done: &[Timed], sent: u64, received: u64) -> Vec<Placed> {
    let whole = received.saturating_sub(sent);
    let mut stretches = stretches(done);
    mend(&mut stretches, whole);
    let spent: u64 = stretches.iter().map(|stretch| stretch.unsigned_abs()).sum();
    // The way there and the way back are taken to be equally long.
    let way = whole.saturating_sub(spent) / 2;
    let mut now = sent + way;
    let mut placed = Vec::with_capacity(done.len());
    for pair in stretches.chunks_exact(2) {
        let issued = now + pair[0].unsigned_abs();
        let completed = issued + pair[1].unsigned_abs();
        placed.push(Placed { issued, completed });
        now = completed;
    }
    placed
}

/// By turns the time before each operation since the one before ended, and the time it took.
fn stretches(done: &[Timed]) -> Vec<i64> {
    let mut before = done.first().map_or(0, |first| first.started);
    let mut stretches = Vec::with_capacity(2 * done.len());
    for timed in done {
        stretches.push(timed.started.saturating_sub(before));
        stretches.push(timed.ended.saturating_sub(timed.started));
        before = timed.ended;
    }
    stretches
}

/// Takes out what setting the clock has put in: a stretch that is negative gets what the others leave of the whole; where the
/// stretches are longer than the whole, the longest is shortened. Nothing is done where it all fits.
fn mend(stretches: &mut [i64], whole: u64) {
    let sum =
        |stretches: &[i64]| -> i128 { stretches.iter().map(|&stretch| i128::from(stretch.max(0))).sum() };
    if let Some(back) = stretches.iter().position(|&stretch| stretch < 0) {
        let rest = (i128::from(whole) - sum(stretches)).max(0);
        stretches[back] = i64::try_from(rest).unwrap_or(i64::MAX);
        // Set twice within a tenth of a second: nothing is known of the second.
        stretches.iter_mut().for_each(|stretch| *stretch = (*stretch).max(0));
    }
    loop {
        let excess = sum(stretches) - i128::from(whole);
        match stretches.iter_mut().max() {
            Some(longest) if *longest > 0 && excess > i128::from(TOLERANCE) => {
                *longest = i64::try_from(i128::from(*longest) - excess).unwrap_or(0).max(0);
            }
            _ => break,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iolite_model::{Bytes, OpKind};

    fn timed(started: i64, ended: i64) -> Timed {
        Timed { kind: OpKind::Read, started, ended, bytes: Bytes(8192) }
    }

    fn took(placed: &[Placed]) -> Vec<u64> {
        placed.iter().map(|placed| placed.completed - placed.issued).collect()
    }

    #[test]
    fn operations_lie_in_the_middle_of_their_batch() {
        let done = [timed(5_000, 6_000), timed(6_500, 9_500)];
        let placed = place(&done, 100_000, 105_500);
        let expected =
            [Placed { issued: 100_500, completed: 101_500 }, Placed { issued: 102_000, completed: 105_000 }];
        assert_eq!(placed, expected);
        assert_eq!(place(&[], 1, 2), []);
    }

    #[test]
    fn a_clock_that_is_set_changes_no_duration_but_its_own() {
        let hour = 3_600_000_000_000;
        // Each operation took a million; in the second the clock is set back, then ahead.
        for set in [-hour, hour] {
            let done = [
                timed(1_000_000, 2_000_000),
                timed(2_000_000, 3_000_000 + set),
                timed(3_000_000 + set, 4_000_000 + set),
            ];
            assert_eq!(took(&place(&done, 7, 3_000_007)), [1_000_000; 3]);
        }
        // Between two operations.
        let done = [timed(0, 1_000_000), timed(hour, hour + 1_000_000)];
        assert_eq!(took(&place(&done, 0, 2_500_000)), [1_000_000; 2]);
        let wild = [timed(i64::MIN, i64::MAX), timed(i64::MAX, i64::MIN), timed(0, -1)];
        let placed = place(&wild, 10, 1_000_010);
        assert!(placed.windows(2).all(|pair| pair[0].completed <= pair[1].issued), "{placed:?}");
        assert!(placed[2].completed <= 1_000_010 + TOLERANCE, "{placed:?}");
    }
}
