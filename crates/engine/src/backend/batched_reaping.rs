//! How many operations of a full queue are waited for at a time, on devices so fast that a wakeup for each costs more than the
//! operation.

use std::time::{Duration, Instant};

/// Operations of a turn, in which operations are waited for in one way.
const TURN: usize = 4096;

/// A device that takes less than this for an operation, at a full queue, may be one in memory.
pub(super) const FAST: Duration = Duration::from_micros(6);

/// A device that takes longer than this is none, though threads of the kernel serve it.
pub(super) const SLOW: Duration = Duration::from_micros(20);

/// Time of an operation that each level must take at most, as a share of its time at the level below. Another wakeup saved gives less
/// than the first ones.
const WORTHWHILE: [f64; LEVELS] = [1.0, 0.9, 0.95];

/// Turns in a row that must show it.
const TRIALS: u32 = 2;

/// Turns after which it is tried again: the trials take about a hundredth of the time.
const AGAIN: u32 = 256;

/// The longest wait for a bunch: an operation that takes long must not hide the others' return.
const SHORT_WAIT: Duration = Duration::from_micros(200);

/// The same where no operation has taken so long lately. A timer that expires before the kernel's next tick has to be set in hardware,
/// which virtual machines leave the processor for: with the short wait, reads of zram took 15 to 20 % longer.
const LONG_WAIT: Duration = Duration::from_millis(5);

/// Reaps after one that took longer than [`SHORT_WAIT`] in which waits are short. With 32 operations each, less than 0.05 % of all return
/// with one that takes long.
const CAREFUL: u32 = 2048;

/// Each operation, half of a full queue, all of it.
const LEVELS: usize = 3;

/// Finds out in turns whether waiting for half of a full queue at a time gives more operations than waiting for each, and waiting
/// for all of it more than for half.
#[derive(Debug)]
pub(super) struct BatchedReaping {
    depth: usize,
    /// Only devices that take less than this for an operation are tried.
    below: Duration,
    /// The longest wait as long as no operation takes long: only threads of the kernel are worth waiting for so long.
    long: Duration,
    /// How operations are waited for in this turn.
    level: usize,
    /// Operations of this turn.
    operations: usize,
    /// Start of this turn.
    since: Option<Instant>,
    /// The last reap of a bunch.
    reaped: Option<Instant>,
    /// Reaps until waits may be long.
    careful: u32,
    /// Time of an operation in the last turn of each level.
    times: [Duration; LEVELS],
    /// Turns in a row at this level that were better than the level below.
    better: u32,
    /// Turns at each level until the next one is tried.
    rest: [u32; LEVELS],
}

impl BatchedReaping {
    /// For queues of `depth` operations, on devices that take less than `below` for each.
    pub(super) fn new(depth: usize, below: Duration) -> BatchedReaping {
        BatchedReaping {
            depth,
            below,
            long: if below > FAST { LONG_WAIT } else { SHORT_WAIT },
            level: 0,
            operations: 0,
            since: None,
            reaped: None,
            careful: CAREFUL / 8,
            times: [Duration::ZERO; LEVELS],
            better: 0,
            rest: [0; LEVELS],
        }
    }

    /// Operations of a full queue.
    pub(super) fn depth(&self) -> usize {
        self.depth
    }

    /// Number of operations that are waited for together in this turn, and for how long; `None` where each is.
    #[inline(always)]
    pub(super) fn waited_for(&self) -> Option<(usize, Duration)> {
        let longest = if self.careful > 0 { SHORT_WAIT } else { self.long };
        match self.level {
            0 => None,
            1 => Some((self.depth / 2, longest)),
            _ => Some((self.depth, longest)),
        }
    }

    /// Learns that so many operations came back. Turns begin and end only on a device that completes operations `later` than their
    /// submission returns.
    #[inline]
    pub(super) fn reaped(&mut self, came: usize, later: bool) {
        self.operations += came;
        if self.level == 0 {
            self.reaped = None;
        } else {
            self.note(Instant::now());
        }
        if self.operations >= TURN && later {
            self.end_turn(Instant::now());
        }
    }

    /// Whether an operation has taken long is seen by the time from one reap of a bunch to the next.
    #[inline]
    fn note(&mut self, now: Instant) {
        let took =
            self.reaped.replace(now).map_or(Duration::ZERO, |last| now.saturating_duration_since(last));
        self.careful = if took > SHORT_WAIT { CAREFUL } else { self.careful.saturating_sub(1) };
    }

    #[cold]
    fn end_turn(&mut self, now: Instant) {
        let operations = std::mem::take(&mut self.operations).max(1);
        if let Some(since) = self.since.replace(now) {
            self.judge(now.saturating_duration_since(since) / operations as u32);
        }
    }

    /// Decides how the next turn is done, from the time that an operation took in this one.
    fn judge(&mut self, each: Duration) {
        self.times[self.level] = each;
        self.rest[self.level] = self.rest[self.level].saturating_sub(1);
        if self.level > 0 {
            if each.as_secs_f64() > WORTHWHILE[self.level] * self.times[self.level - 1].as_secs_f64() {
                return self.step_down();
            }
            self.better += 1;
        }
        if self.may_try_next() {
            (self.level, self.better) = (self.level + 1, 0);
        } else if self.level > 0 && self.better.is_multiple_of(AGAIN) {
            // Compared with single operations from time to time, as long as it goes on.
            (self.level, self.better) = (0, 0);
        }
    }

    /// The level was not worthwhile. A single bad turn may be the host's: where the level has been better, it is compared again at
    /// once.
    fn step_down(&mut self) {
        let rest = if self.better >= TRIALS { 0 } else { AGAIN };
        self.level -= 1;
        self.rest[self.level] = rest;
        self.better = TRIALS;
    }

    fn may_try_next(&self) -> bool {
        let is_settled = if self.level == 0 { self.times[0] < self.below } else { self.better >= TRIALS };
        is_settled && self.level + 1 < LEVELS && self.rest[self.level] == 0
    }

    /// As if waiting for half of the queue had been found better.
    #[cfg(test)]
    pub(super) fn wait_for_half(&mut self) {
        self.level = 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Judges turns on a device whose operations take so many nanoseconds at each level; returns the turns done at each.
    fn turns(bunches: &mut BatchedReaping, nanoseconds: [u64; LEVELS], turns: u32) -> [u32; LEVELS] {
        let mut at = [0; LEVELS];
        for _ in 0..turns {
            at[bunches.level] += 1;
            bunches.judge(Duration::from_nanos(nanoseconds[bunches.level]));
        }
        at
    }

    #[test]
    fn bunches_are_used_where_they_give_more() {
        let bunches = &mut BatchedReaping::new(32, FAST);
        assert!(turns(bunches, [4000, 2000, 1000], 1000)[2] > 950);
        bunches.judge(Duration::from_millis(1));
        assert!(turns(bunches, [4000, 2000, 1000], 1000)[2] > 950, "the host was busy for a moment");
        assert!(turns(bunches, [4000, 2000, 2100], 1000)[1] > 950, "all of it has become worse than half");
        // It has become a device that loses by them.
        assert!(turns(bunches, [4000, 6000, 8000], 1000)[0] > 980);
        assert!(turns(bunches, [4000, 3800, 1000], 1000)[0] > 980, "the difference is hardly one");
    }

    #[test]
    fn waits_are_short_for_a_while_after_an_operation_that_took_long() {
        assert_eq!(BatchedReaping::new(32, FAST).long, SHORT_WAIT);
        let bunches = &mut BatchedReaping::new(32, SLOW);
        bunches.wait_for_half();
        bunches.careful = 0;
        let mut now = Instant::now();
        let mut after = |micros| {
            now += Duration::from_micros(micros);
            bunches.note(now);
            bunches.waited_for().unwrap().1
        };
        assert_eq!((after(0), after(80)), (LONG_WAIT, LONG_WAIT));
        assert_eq!(after(201), SHORT_WAIT);
        assert!((1..CAREFUL).all(|_| after(80) == SHORT_WAIT));
        assert_eq!(after(80), LONG_WAIT);
        // What was done one by one meanwhile is no long wait.
        bunches.level = 0;
        bunches.reaped(1, true);
        assert_eq!(bunches.reaped, None);
    }

    #[test]
    fn a_disk_never_waits_for_bunches() {
        let bunches = &mut BatchedReaping::new(32, FAST);
        assert_eq!(turns(bunches, [11_000, 100, 100], 1000), [1000, 0, 0]);
        let threads = || BatchedReaping::new(32, SLOW);
        let shared = turns(&mut threads(), [11_000, 9000, 9000], 1000);
        assert!(shared[1] > 950, "threads of the kernel share the processor with us: {shared:?}");
        assert_eq!(turns(&mut threads(), [25_000, 20_000, 20_000], 1000), [1000, 0, 0]);
    }
}
