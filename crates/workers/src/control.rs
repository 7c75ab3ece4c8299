//! The way to end a run or a phase from outside.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// Asks a run, and a phase of it, to end; cheap to look at from the measured loop.
#[derive(Debug, Clone, Default)]
pub struct Control {
    run: Arc<AtomicBool>,
    phase: Arc<Signal>,
    /// Of the phases that are running, and of those that were asked to end before they began.
    phases: Arc<Mutex<BTreeMap<u32, Arc<Signal>>>>,
    /// Each operation is to be reported.
    operations: Arc<AtomicBool>,
}

/// What is asked of one phase.
#[derive(Debug, Default)]
struct Signal {
    /// [`GOING`], [`ENDED`] or [`INTERRUPTED`].
    asked: AtomicU8,
    /// Why it has failed.
    failure: OnceLock<String>,
    /// Workers whose time is over and who wait for what they have written to become durable.
    syncing: AtomicU32,
    /// Workers whose measured time stands still.
    standing: AtomicU32,
    /// For how long the time of a worker has stood still at most, in nanoseconds.
    stood_still: AtomicU64,
    /// The last instant, of the group's clock, at which the time of a worker stood still.
    stood_until: AtomicU64,
}

/// Nothing is asked.
const GOING: u8 = 0;
/// To end as if its time were over.
const ENDED: u8 = 1;
/// To end at once.
const INTERRUPTED: u8 = 2;

impl Signal {
    /// Asks to end as if the time were over, unless more is asked already.
    fn end(&self) {
        // Whoever reads why it ends has seen that it does.
        let _ = self.asked.compare_exchange(GOING, ENDED, Ordering::Release, Ordering::Relaxed);
    }
}

impl Control {
    /// A control over a flag that someone else sets, for example a signal handler.
    pub fn new(run: Arc<AtomicBool>) -> Control {
        Control { run, ..Control::default() }
    }

    /// A control for one phase, which ends with the run but can also be ended alone.
    pub fn for_phase(&self, number: u32) -> Control {
        let phase = self.signals().entry(number).or_default().clone();
        Control { phase, ..self.clone() }
    }

    /// Forgets what was asked of a phase that is over.
    pub fn forget(&self, number: u32) {
        self.signals().remove(&number);
    }

    /// A control for what is done after phases, which ends with the run but with none of them.
    pub fn apart(&self) -> Control {
        Control::new(self.run.clone())
    }

    /// Asks the phase of this number to end now as if its time were over: what is measured is kept, and its ending is
    /// [`Completed`](iolite_model::Ending::Completed). A phase that has measured nothing by then, or has not begun, is
    /// [`Interrupted`](iolite_model::Ending::Interrupted). From any thread, also from a consumer of events. Phases of one
    /// run have different numbers; one that is over must not be asked any more.
    pub fn end_phase(&self, number: u32) {
        self.signals().entry(number).or_default().end();
    }

    /// As [`end_phase`](Control::end_phase), but its ending is [`Failed`](iolite_model::Ending::Failed) with this reason,
    /// the first that is given.
    pub fn fail_phase(&self, number: u32, reason: impl Into<String>) {
        let signal = self.signals().entry(number).or_default().clone();
        let _ = signal.failure.set(reason.into());
        signal.end();
    }

    /// Asks the phase, or a run that has no phases, to end. Phases of a run don't learn of it.
    pub fn interrupt(&self) {
        self.phase.asked.store(INTERRUPTED, Ordering::Relaxed);
    }

    /// Asks the whole run to end, as the user does: all phases that are running, and those to come.
    pub fn interrupt_run(&self) {
        self.run.store(true, Ordering::Relaxed);
    }

    /// Asks workers in databases to report each operation ([`Event::Operations`](iolite_model::Event)), in all phases of the run.
    pub fn report_operations(&self) {
        self.operations.store(true, Ordering::Relaxed);
    }

    /// Whether each operation is to be reported.
    #[inline]
    pub fn reports_operations(&self) -> bool {
        self.operations.load(Ordering::Relaxed)
    }

    /// Whether the user wants to stop.
    #[inline]
    pub fn interrupted(&self) -> bool {
        self.run.load(Ordering::Relaxed) || self.phase.asked.load(Ordering::Relaxed) == INTERRUPTED
    }

    /// Whether nothing more is to be started, for whatever reason.
    #[inline]
    pub fn over(&self) -> bool {
        self.run.load(Ordering::Relaxed) || self.phase.asked.load(Ordering::Relaxed) != GOING
    }

    /// Why the phase has failed, if someone has said so.
    pub fn failure(&self) -> Option<&str> {
        self.phase.failure.get().map(String::as_str)
    }

    /// Records that a worker waits, or no longer waits, for what it has written to become durable.
    pub fn sync_begins(&self) {
        self.phase.syncing.fetch_add(1, Ordering::Relaxed);
    }

    /// The end of what [`sync_begins`](Control::sync_begins) has announced.
    pub fn sync_ends(&self) {
        self.phase.syncing.fetch_sub(1, Ordering::Relaxed);
    }

    /// Whether any worker waits for what it has written to become durable.
    pub fn syncing(&self) -> bool {
        self.phase.syncing.load(Ordering::Relaxed) > 0
    }

    /// Records that the measured time of a worker stands still from now on.
    pub fn stop_begins(&self) {
        self.phase.standing.fetch_add(1, Ordering::Relaxed);
    }

    /// The end, at an instant `at` of the group's clock, of what [`stop_begins`](Control::stop_begins) has announced; the worker's
    /// time has stood still for so many nanoseconds in all.
    pub fn stop_ends(&self, in_all: u64, at: u64) {
        self.phase.stood_still.fetch_max(in_all, Ordering::Relaxed);
        self.phase.stood_until.fetch_max(at, Ordering::Relaxed);
        // Whoever sees that it goes on sees for how long it stood.
        self.phase.standing.fetch_sub(1, Ordering::Release);
    }

    /// Whether the measured time of any worker stands still.
    pub fn stands_still(&self) -> bool {
        self.phase.standing.load(Ordering::Acquire) > 0
    }

    /// For how long the time of a worker has stood still at most, in nanoseconds.
    pub fn stood_still(&self) -> u64 {
        self.phase.stood_still.load(Ordering::Relaxed)
    }

    /// The last instant, of the group's clock, at which the time of a worker stood still; 0 where none has.
    pub fn stood_until(&self) -> u64 {
        self.phase.stood_until.load(Ordering::Relaxed)
    }

    fn signals(&self) -> MutexGuard<'_, BTreeMap<u32, Arc<Signal>>> {
        self.phases.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_phase_ends_alone_before_it_begins_too() {
        let run = Control::default();
        let (one, other) = (run.for_phase(1), run.for_phase(2));
        run.end_phase(1);
        run.end_phase(3);
        assert!(one.over() && !one.interrupted() && !other.over() && !run.over());
        assert!(run.for_phase(3).over(), "asked before it began");
        one.forget(1);
        assert!(!run.for_phase(1).over(), "another phase of the same number");
        assert!(!one.apart().over());
        run.interrupt_run();
        assert!(one.interrupted() && other.interrupted() && one.apart().over());
    }

    #[test]
    fn an_end_does_not_undo_an_interruption_and_the_first_reason_holds() {
        let run = Control::default();
        let phase = run.for_phase(0);
        phase.interrupt();
        run.fail_phase(0, "slow");
        run.fail_phase(0, "slower");
        assert!(phase.interrupted());
        assert_eq!(phase.failure(), Some("slow"));
    }
}
