//! How the measured loop ends: what was written is made durable where that is asked for, and what is in flight is waited for.

use std::io;

use iolite_model::{Nanos, Outstanding, Stuck};
use iolite_workers::{DRAIN, DRAIN_INTERRUPTED};

use super::{Commit, InFlight, LONGEST_WAIT, Loop, Submitted};
use crate::backend::Backend;
use crate::verify::Checks;
use crate::watch::Watches;

/// Error number for an operation that the back end never had space for (EAGAIN).
const NO_ROOM: i32 = 11;

impl<B: Backend, V: Checks, W: Watches> Loop<'_, B, V, W> {
    /// Makes what has been written durable once more, where that is asked for, now that nothing is in flight.
    #[cold]
    pub(super) fn sync_at_end(&mut self) -> io::Result<()> {
        let off = !self.wrote || self.failure.is_some() || self.lane.interrupted();
        let Some(method) = self.plan.end_sync.take().filter(|_| !off) else { return Ok(()) };
        let Some(slot) = self.free.pop() else { return Ok(()) };
        // All of it, whatever was made durable before.
        self.written = None;
        self.lane.syncing(true);
        let (op, state) = self.sync(slot, method, self.lane.now(), Commit::None);
        let waited = match self.follow(op, state) {
            (Submitted::Done, completed) => {
                self.give_back(slot, completed);
                Ok(())
            }
            (Submitted::InFlight, _) => self.await_all(),
            (Submitted::Held, now) => {
                self.held = None;
                self.failed(slot, state, Err(NO_ROOM), now);
                Ok(())
            }
        };
        self.lane.syncing(false);
        waited
    }

    /// Waits for what is in flight, however long that takes, unless the user wants to stop.
    fn await_all(&mut self) -> io::Result<()> {
        while self.in_flight > 0 && !self.lane.interrupted() {
            self.reap_and_record(1, LONGEST_WAIT)?;
        }
        Ok(())
    }

    /// Waits for what is in flight, which no longer counts, but not for ever.
    pub(super) fn drain(&mut self) -> io::Result<(Outstanding, Vec<Stuck>)> {
        let end = self.lane.now().min(self.lane.end());
        self.lane.stop_issuing(end);
        self.plan.sync = self.plan.sync.filter(|_| self.plan.linked);
        self.plan.also.clear();
        let at_end = self.in_flight as u64;
        let due = self.plan.arrivals.backlog(end);
        let held = u64::from(self.held.take().is_some() && due > 0);
        // Beyond its share the worker has nothing to issue, whatever time it is.
        let backlog = if self.exhausted() { held } else { (due + held).min(self.plan.share.operations) };
        while self.in_flight > 0 {
            let patience = if self.lane.interrupted() { DRAIN_INTERRUPTED } else { DRAIN };
            let Some(left) = (end + patience.as_nanos() as u64).checked_sub(self.lane.now()) else { break };
            self.reap_and_record(1, left.min(LONGEST_WAIT))?;
        }
        self.lane.drained(self.lane.now());
        if self.in_flight == 0 {
            self.sync_at_end()?;
        }
        let now = self.lane.now();
        let worker = self.lane.worker();
        let stuck = |state: &InFlight| {
            let age = Nanos(now.saturating_sub(state.issued));
            Stuck { worker, kind: state.io.kind(), offset: state.offset, age }
        };
        let oldest = self.slots.iter().flatten().map(|state| now.saturating_sub(state.intended)).max();
        // A last sync that is given up on was not on its way at the end.
        let lost = self.in_flight as u64;
        let outstanding =
            Outstanding { at_end: at_end.max(lost), lost, oldest: Nanos(oldest.unwrap_or(0)), backlog };
        Ok((outstanding, self.slots.iter().flatten().map(stuck).collect()))
    }
}
