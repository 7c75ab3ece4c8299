//! When queued operations are handed to the kernel.

/// Decides between batches and single operations, by what the device shows.
///
/// Where operations complete within their submission (page cache, a device in memory) one system call for as many as possible
/// is best. A device that completes them later is idle while a batch is gathered, and what was handed over together tends to
/// come back together: the queue then empties and fills in turns instead of staying full.
#[derive(Debug)]
pub(super) struct Handover {
    /// Operations that are queued at most on a device that completes them later.
    eager: usize,
    /// Whether the device completes operations after their submission has returned.
    later: bool,
    /// Whether the device's behaviour makes no difference.
    fixed: bool,
}

impl Handover {
    /// Adapts to the device; on one that completes operations later, `eager` of them are handed over together.
    pub(super) fn adapting(eager: usize) -> Handover {
        debug_assert!(eager > 0, "an operation that is never handed over never comes back");
        Handover { eager, later: false, fixed: false }
    }

    /// Always hands over each operation at once.
    pub(super) fn each() -> Handover {
        Handover { eager: 1, later: true, fixed: true }
    }

    /// Hands nothing over before it is asked for.
    pub(super) fn on_request() -> Handover {
        Handover { eager: usize::MAX, later: false, fixed: true }
    }

    /// Whether so many queued operations are to be handed over now.
    #[inline(always)]
    pub(super) fn is_due(&self, queued: usize) -> bool {
        self.later && queued >= self.eager
    }

    /// Learns from a reap, before which everything was handed over: how many operations came back, and how many did not.
    #[inline]
    pub(super) fn reaped(&mut self, came: usize, left: usize) {
        if self.fixed {
            return;
        }
        if left > 0 {
            self.later = true;
        } else if came > self.eager {
            // What was handed over last is back as well, without having been waited for by itself.
            self.later = false;
        }
    }
}

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
        handover.reaped(5, 27);
        handover.reaped(2, 0);
        assert!(handover.is_due(2), "a queue that is short for a moment says nothing");
        handover.reaped(32, 0);
        assert!(!handover.is_due(32), "it has become a device in memory");
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
}
