//! Number of operations that the loop submits and reaps at a time.

use std::io;
use std::time::Duration;

use iolite_model::Batch;

use super::Loop;
use crate::backend::{Backend, Completions};
use crate::verify::Checks;
use crate::watch::Watches;

/// A [`Batch`] as the loop uses it: numbers that need no looking at what they mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Batching {
    /// 0 where the back end knows best when to hand over.
    submit: usize,
    pub(super) complete_min: usize,
    pub(super) complete_max: usize,
    low: usize,
}

impl Batching {
    pub(crate) fn of(batch: Batch) -> Batching {
        let or_no_limit = |number: u32| if number == 0 { usize::MAX } else { number as usize };
        Batching {
            submit: batch.submit as usize,
            complete_min: batch.complete_min as usize,
            complete_max: or_no_limit(batch.complete_max),
            low: or_no_limit(batch.low),
        }
    }

    /// Whether operations are handed over in batches of some size.
    #[inline(always)]
    pub(super) fn gathers(&self) -> bool {
        self.submit > 0
    }
}

impl<B: Backend, V: Checks, W: Watches> Loop<'_, B, V, W> {
    /// Submits all that is due and fits, unless the queue was full and is to drain first.
    #[inline(always)]
    pub(super) fn refill(&mut self, now: u64) -> io::Result<(u64, u64)> {
        if self.plan.batch.low == usize::MAX {
            return self.issue(now);
        }
        self.draining &= self.in_flight > self.plan.batch.low;
        if self.draining {
            return Ok((now, u64::MAX));
        }
        let issued = self.issue(now)?;
        self.draining = self.free.is_empty();
        Ok(issued)
    }

    /// An operation was queued: hands over all that were where that makes a batch. Returns the instant after.
    #[inline(never)]
    pub(super) fn gathered(&mut self, now: u64) -> io::Result<u64> {
        self.unsent += 1;
        if self.unsent < self.plan.batch.submit {
            return Ok(now);
        }
        if self.plan.batch.complete_min == 0 {
            return self.reap_and_record(0, 0);
        }
        self.hand_over()?;
        Ok(self.lane.now())
    }

    fn hand_over(&mut self) -> io::Result<()> {
        self.unsent = 0;
        self.backend.hand_over()?;
        if W::ON {
            self.watches.handed_over(self.lane.now(), &self.lane);
        }
        Ok(())
    }

    /// Waits until `returned` holds `at_least` operations or all that are in flight, at most `wait`; what was queued is handed
    /// over before.
    #[inline(always)]
    pub(super) fn reap(
        &mut self,
        at_least: usize,
        wait: Duration,
        returned: &mut Completions,
    ) -> io::Result<()> {
        if returned.is_empty() {
            self.unsent = 0;
            return self.backend.reap(at_least.min(self.in_flight), wait, returned);
        }
        self.reap_more(at_least, wait, returned)
    }

    /// As [`reap`](Loop::reap), where something has come back already and was left for this time.
    #[cold]
    fn reap_more(&mut self, at_least: usize, wait: Duration, returned: &mut Completions) -> io::Result<()> {
        match at_least.min(self.in_flight).saturating_sub(returned.len()) {
            0 => self.hand_over(),
            more => {
                self.unsent = 0;
                self.backend.reap(more, wait, returned)
            }
        }
    }
}
