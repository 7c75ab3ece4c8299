//! When queued operations are handed to the kernel, and how many are waited for.

use std::time::Duration;

use super::batched_reaping::{BatchedReaping, FAST, SLOW};

/// Decides between batches and single operations, by what the device shows.
///
/// Where operations complete within their submission (page cache, a device in memory) one system call for as many as possible
/// is best. A device that completes them later is idle while a batch is gathered, and what was handed over together tends to
/// come back together: the queue then empties and fills in turns instead of staying full. A device in memory that the kernel
/// serves from a thread of its own looks like one that completes later; whether it does better with batches is tried.
#[derive(Debug)]
pub(super) struct Handover {
    /// Operations that are queued at most on a device that completes them later.
    eager: usize,
    /// As many, or more where many came back together: the last of them would wait for a system call for each few before it.
    group: usize,
    /// Whether the device completes operations after their submission has returned.
    later: bool,
    /// Whether the device's behaviour makes no difference.
    fixed: bool,
    /// Times that a whole queue has to come back before batches are tried again, and how many of them are left.
    patience: (u32, u32),
    bunches: Option<BatchedReaping>,
}

impl Handover {
    /// Adapts to the device; on one that completes operations later, `eager` of them are handed over together.
    pub(super) fn adapting(eager: usize) -> Handover {
        debug_assert!(eager > 0, "an operation that is never handed over never comes back");
        Handover { eager, group: eager, later: false, fixed: false, patience: (PATIENCE, 0), bunches: None }
    }

    /// Also tries whether waiting for half of a full queue of `depth` operations, or for all of it, gives more of them: on any
    /// device that is [`FAST`], and on one served by threads of the kernel (`threads`) unless it is [`SLOW`].
    pub(super) fn trying_bunches(self, depth: usize, threads: bool) -> Handover {
        let below = if threads { SLOW } else { FAST };
        Handover { bunches: (depth >= 2 * self.eager).then(|| BatchedReaping::new(depth, below)), ..self }
    }

    /// Always hands over each operation at once.
    pub(super) fn each() -> Handover {
        Handover { later: true, fixed: true, ..Handover::adapting(1) }
    }

    /// Hands nothing over before it is asked for.
    pub(super) fn on_request() -> Handover {
        Handover { fixed: true, ..Handover::adapting(usize::MAX) }
    }

    /// Whether operations are back as soon as they are handed over, so that there is nothing to wait for.
    #[inline(always)]
    pub(super) fn completes_within(&self) -> bool {
        !self.later
    }

    /// Whether so many queued operations are to be handed over now.
    #[inline(always)]
    pub(super) fn is_due(&self, queued: usize) -> bool {
        self.later && queued >= self.group && !self.bunched()
    }

    /// Whether operations go to the device, and are waited for, in bunches.
    #[inline(always)]
    fn bunched(&self) -> bool {
        self.bunches.as_ref().is_some_and(|bunches| bunches.waited_for().is_some())
    }

    /// Number of operations to wait for, and for how long, where `at_least` are asked for and so many are outstanding.
    #[inline]
    pub(super) fn wait(&self, at_least: usize, timeout: Duration, outstanding: usize) -> (usize, Duration) {
        // Only while nothing could be issued anyway.
        let bunches = self.bunches.as_ref().filter(|bunches| at_least > 0 && outstanding >= bunches.depth());
        match bunches.and_then(BatchedReaping::waited_for) {
            Some((bunch, longest)) => (at_least.max(bunch), timeout.min(longest)),
            None => (at_least, timeout),
        }
    }

    /// Learns from a batch, of which so many operations were not back when its submission was over.
    #[inline]
    pub(super) fn handed_over(&mut self, left: usize) {
        if left > 0 && !self.fixed {
            self.complete_later();
        }
    }

    #[cold]
    fn complete_later(&mut self) {
        if !self.later {
            self.later = true;
            let (patience, _) = self.patience;
            self.patience = ((2 * patience).min(LONGEST_PATIENCE), patience);
        }
    }

    /// Learns from a reap, before which everything was handed over: how many operations came back, and how many did not.
    #[inline]
    pub(super) fn reaped(&mut self, came: usize, left: usize) {
        if self.fixed {
            return;
        }
        self.group = self.eager.max(came / GROUPS);
        if left > 0 {
            self.complete_later();
        } else if came > self.eager {
            self.whole_queue_is_back();
        }
        if let Some(bunches) = &mut self.bunches {
            bunches.reaped(came, self.later);
        }
    }

    /// What was handed over last is back as well, without having been waited for by itself.
    #[inline]
    fn whole_queue_is_back(&mut self) {
        if !self.later {
            self.patience = (PATIENCE, 0);
        } else if self.patience.1 > 0 {
            self.patience.1 -= 1;
        } else {
            self.later = self.bunched();
        }
    }
}

/// Groups in which operations that came back together are handed over, if they are not few.
const GROUPS: usize = 8;

/// Times that the whole queue of a device has to come back at once before it is taken for one in memory. A disk does so as well, when
/// the processor was busy otherwise; its operations would then go to it in batches, and come back in batches ever after.
const PATIENCE: u32 = 4;

/// The longest that [`PATIENCE`] grows where batches were not back at once after all.
const LONGEST_PATIENCE: u32 = 1 << 14;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_that_completes_at_submission_gets_whole_batches() {
        let mut handover = Handover::adapting(2);
        for _ in 0..3 {
            assert!((1..=32).all(|queued| !handover.is_due(queued)));
            handover.reaped(32, 0);
        }
    }

    #[test]
    fn a_device_that_completes_later_gets_operations_as_they_come() {
        let mut handover = Handover::adapting(2);
        handover.reaped(1, 31);
        assert!(!handover.is_due(1) && handover.is_due(2));
        handover.reaped(31, 1);
        assert!(!handover.is_due(2) && handover.is_due(3), "many go in eight groups");
        handover.reaped(5, 27);
        handover.reaped(2, 0);
        assert!(handover.is_due(2), "a queue that is short for a moment says nothing");
        for _ in 0..=PATIENCE {
            assert!(handover.is_due(4), "the whole queue came back, once");
            handover.reaped(32, 0);
        }
        assert!(!handover.is_due(32), "it has become a device in memory");
    }

    /// On a disk, a batch comes back as a batch: without looking before waiting, batches would go on for ever.
    #[test]
    fn batches_that_are_waited_for_are_tried_ever_less_often() {
        let mut handover = Handover::adapting(2);
        let mut batches = Vec::new();
        for reap in 0..100_000 {
            if handover.completes_within() {
                batches.push(reap);
                handover.handed_over(32);
            }
            handover.reaped(32, 0);
        }
        assert_eq!(batches[..4], [0, 5, 14, 31]);
        assert!(batches.len() < 20, "{batches:?}");
        // In memory, after all.
        while !handover.completes_within() {
            handover.reaped(32, 0);
        }
        for _ in 0..10 {
            handover.handed_over(0);
            handover.reaped(32, 0);
            assert!(handover.completes_within());
        }
    }

    #[test]
    fn what_is_fixed_does_not_adapt() {
        let (mut each, mut request) = (Handover::each(), Handover::on_request());
        for (came, left) in [(32, 0), (1, 31)] {
            each.reaped(came, left);
            request.reaped(came, left);
            assert!(each.is_due(1) && !request.is_due(1000));
        }
    }

    #[test]
    fn a_bunch_is_waited_for_while_nothing_can_be_issued() {
        let mut handover = Handover::adapting(4).trying_bunches(32, false);
        let asked = (1, Duration::from_secs(1));
        assert_eq!(handover.wait(asked.0, asked.1, 32), asked);
        handover.bunches.as_mut().unwrap().wait_for_half();
        handover.reaped(1, 31);
        assert!(!handover.is_due(31));
        assert_eq!(handover.wait(asked.0, asked.1, 32), (16, Duration::from_micros(200)));
        assert_eq!(handover.wait(0, asked.1, 32), (0, asked.1), "who only looks does not wait");
        assert_eq!(handover.wait(asked.0, asked.1, 31), asked, "what can be issued is not kept waiting");
        assert!(
            Handover::adapting(4).trying_bunches(4, false).bunches.is_none(),
            "a short queue has no halves"
        );
    }
}
