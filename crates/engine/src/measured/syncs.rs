//! Syncs that follow writes.

use iolite_model::{OpKind, SyncMethod, SyncRule};
use iolite_stats::Completion;

use super::{Commit, InFlight, Loop};
use crate::backend::{Backend, IoOp, Op};
use crate::verify::Checks;
use crate::watch::Watches;

impl<B: Backend, V: Checks, W: Watches> Loop<'_, B, V, W> {
    /// What is left to do when a write, a trim or a sync has succeeded.
    #[inline]
    pub(super) fn after(&mut self, slot: u32, state: InFlight, completed: u64) -> Option<(Op, InFlight)> {
        if let Commit::Of { intended, bytes } = state.commit {
            let (kind, issued, bytes) = (OpKind::Commit, intended, u64::from(bytes));
            self.lane.record(Completion { kind, intended, issued, completed, bytes });
        }
        self.wrote |= state.io.writes();
        let rule = self.plan.sync.filter(|_| state.io.writes())?;
        let (from, to) = self.written.unwrap_or((u64::MAX, 0));
        let end = state.offset.saturating_add(u64::from(state.length));
        self.written = Some((from.min(state.offset), to.max(end)));
        self.writes_since_sync += 1;
        let is_due = self.writes_since_sync >= rule.every;
        if is_due {
            self.writes_since_sync = 0;
        }
        let due = is_due.then_some(rule);
        let due = if self.plan.also.is_empty() { due } else { self.also_due(due) };
        due.map(|rule| self.sync_by(slot, rule, state, completed))
    }

    /// Counts a write for the further rules. Of all that are `due` after it, one sync is executed: by the strongest method, and a
    /// commit if one of them is.
    #[cold]
    fn also_due(&mut self, mut due: Option<SyncRule>) -> Option<SyncRule> {
        for (rule, left) in &mut self.plan.also {
            *left -= 1;
            if *left == 0 {
                *left = rule.every;
                due = Some(due.map_or(*rule, |other| SyncRule {
                    every: rule.every.min(other.every),
                    method: rule.method.stronger(other.method),
                }));
            }
        }
        due
    }

    /// The sync that a rule asks for after a write.
    fn sync_by(&mut self, slot: u32, rule: SyncRule, state: InFlight, now: u64) -> (Op, InFlight) {
        let bytes = state.length;
        let commit =
            if rule.every == 1 { Commit::Of { intended: state.intended, bytes } } else { Commit::None };
        self.sync(slot, rule.method, now, commit)
    }

    /// A sync of what has been written since the last one.
    pub(super) fn sync(&mut self, slot: u32, method: SyncMethod, now: u64, commit: Commit) -> (Op, InFlight) {
        let (from, to) = self.written.take().unwrap_or_default();
        // A range beyond what an operation can name goes on to the end, which a length of 0 means.
        let length = u32::try_from(to - from).unwrap_or(0);
        let io = IoOp::Sync(method);
        let state = InFlight { io, offset: from, length: 0, intended: now, issued: now, priority: 0, commit };
        (Op { io, slot, offset: from, length }, state)
    }
}
