//! A virtual user: transaction after transaction, each timed from when it was due to when it had committed.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use iolite_db::Error;
use iolite_model::{ErrorCause, Nanos, OpKind, Outstanding, TprocCTask};
use iolite_stats::Completion;
use iolite_workers::WorkerLane;

use super::contract::{Done, Session};
use super::input::{Kind, Transaction, User};
use crate::error::OltpError;

/// Longest that a user sleeps before it checks whether it is to end.
const LOOK: u64 = 50_000_000;
/// Times that a transaction is ended as a deadlock's victim: beyond it something else is wrong.
const MAX_DEADLOCKS: u32 = 100;
/// Times that a transaction waits for a lock as long as the server allows, where that has taken [`LONG_WAIT`] in all: servers allow
/// from a fraction of a second to a minute each time. As often as for deadlocks at most.
const MIN_LOCK_TIMEOUTS: u32 = 3;
const LONG_WAIT: u64 = 20_000_000_000;
/// Arrivals that are drawn after the end: a user that does not keep up at all may have some 10^12.
const MAX_DRAWN: u64 = 1_000_000;
/// Where a user's times come from: apart from what its transactions are made of.
const TIMES: u64 = 0x7469_6d65;

/// What all users have done over the whole phase.
#[derive(Debug, Default)]
pub(super) struct Tally {
    pub(super) new_orders: AtomicU64,
    pub(super) committed: AtomicU64,
    pub(super) rolled_back: AtomicU64,
    pub(super) deadlocks: AtomicU64,
    pub(super) lock_timeouts: AtomicU64,
    pub(super) skipped: AtomicU64,
}

impl Tally {
    fn add(counter: &AtomicU64, count: u64) {
        counter.fetch_add(count, Ordering::Relaxed);
    }
}

/// The kinds of operations that users record.
#[derive(Debug, Clone, Copy)]
pub(super) struct Kinds {
    of: [OpKind; 5],
    pub(super) rolled_back: OpKind,
}

impl Kinds {
    /// # Errors
    /// This process has too many kinds of operations.
    pub(super) fn register() -> Result<Kinds, OltpError> {
        let all = [Kind::NewOrder, Kind::Payment, Kind::OrderStatus, Kind::Delivery, Kind::StockLevel];
        let mut of = [OpKind::Read; 5];
        let failed = |error: iolite_model::TooManyKinds| OltpError::Task {
            task: "TPROC-C".into(),
            reason: error.to_string(),
        };
        for (slot, kind) in of.iter_mut().zip(all) {
            *slot = kind.operation().map_err(failed)?;
        }
        let rolled_back =
            OpKind::of("new-order-rollback", iolite_model::OpClass::Other, false).map_err(failed)?;
        Ok(Kinds { of, rolled_back })
    }

    /// In the order in which they are listed.
    pub(super) fn all(self) -> Vec<OpKind> {
        self.of.into_iter().chain([self.rolled_back]).collect()
    }

    fn of(self, kind: Kind) -> OpKind {
        self.of[kind as usize]
    }
}

/// One user, from its release to its end.
pub(super) struct Worker<'a> {
    pub(super) session: &'a mut dyn Session,
    pub(super) lane: WorkerLane,
    pub(super) user: User,
    pub(super) kinds: Kinds,
    pub(super) tally: Arc<Tally>,
    pub(super) keying_thinking: bool,
    /// Mean distance of transactions that arrive at random, in nanoseconds; `None` in a closed loop.
    pub(super) distance: Option<f64>,
    pub(super) left: u64,
    pub(super) last_completed: u64,
}

impl Worker<'_> {
    /// Works until the phase is over; returns the lane, what was outstanding, and why it had to end early.
    pub(super) fn run(mut self, task: &TprocCTask) -> (WorkerLane, Outstanding, Option<Error>) {
        let mut arrivals = self.distance.map(|distance| Arrivals::new(task, self.lane.worker(), distance));
        let failure = self.transactions(&mut arrivals).err();
        let now = self.lane.now();
        self.session.be_counted();
        let end = self.lane.end();
        let backlog = arrivals.map_or(0, |arrivals| arrivals.due_by(end.min(now)));
        let at_end = u64::from(self.last_completed > end);
        (self.lane, Outstanding { at_end, backlog, ..Outstanding::default() }, failure)
    }

    fn transactions(&mut self, arrivals: &mut Option<Arrivals>) -> Result<(), Error> {
        while self.left > 0 {
            let transaction = self.user.next_transaction();
            let kind = transaction.kind();
            let intended = match arrivals {
                Some(arrivals) => Some(arrivals.instant()),
                None if self.keying_thinking => Some(self.lane.now().saturating_add(kind.keying().0)),
                None => None,
            };
            if !self.sleep_until(intended.unwrap_or(0)) {
                return Ok(());
            }
            // An open loop's transaction was due when it was, whenever the user came to it; else it is due now.
            let issued = self.lane.now();
            let intended = if arrivals.is_some() { intended.unwrap_or(issued).min(issued) } else { issued };
            if let Some(arrivals) = arrivals {
                arrivals.step();
            }
            self.perform(&transaction, intended, issued)?;
            self.left -= 1;
            if self.keying_thinking && arrivals.is_none() {
                let thought = self.thought(kind);
                if !self.sleep_until(self.lane.now().saturating_add(thought)) {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// Thinking time: at random, cut off at ten times its mean (clause 5.2.5.4).
    fn thought(&mut self, kind: Kind) -> u64 {
        let mean = kind.thinking().0 as f64;
        self.user.chance().exponential(mean).min(10.0 * mean) as u64
    }

    /// False where the phase is over before.
    fn sleep_until(&self, at: u64) -> bool {
        loop {
            let now = self.lane.now();
            if self.lane.is_over(now) || at >= self.lane.end() && at > now {
                // What is due after the end need not be waited for, unless nothing but a signal ends it.
                return false;
            }
            match at.checked_sub(now) {
                None | Some(0) => return true,
                Some(ahead) => std::thread::sleep(Duration::from_nanos(ahead.min(LOOK))),
            }
        }
    }

    /// Does a transaction until it is done, the phase is over, or it has been ended too often.
    fn perform(&mut self, transaction: &Transaction, intended: u64, issued: u64) -> Result<(), Error> {
        let kind = self.kinds.of(transaction.kind());
        let (mut deadlocks, mut timeouts) = (0, 0);
        let began = self.lane.now();
        let has_waited =
            |timeouts, now: u64| timeouts >= MIN_LOCK_TIMEOUTS && now.saturating_sub(began) >= LONG_WAIT;
        let mut now = began;
        while deadlocks.max(timeouts) < MAX_DEADLOCKS && !has_waited(timeouts, now) {
            let done = self.session.perform(transaction);
            let completed = self.lane.now();
            (self.last_completed, now) = (completed, completed);
            let kind = match done {
                Ok(Done::Again | Done::NoLock) => {
                    let (times, counter) = match done {
                        Ok(Done::NoLock) => (&mut timeouts, &self.tally.lock_timeouts),
                        _ => (&mut deadlocks, &self.tally.deadlocks),
                    };
                    *times += 1;
                    Tally::add(counter, 1);
                    if self.lane.is_over(completed) {
                        return Ok(());
                    }
                    continue;
                }
                Ok(Done::Committed { skipped }) => {
                    Tally::add(&self.tally.committed, 1);
                    Tally::add(&self.tally.skipped, skipped.into());
                    let new_order = matches!(transaction, Transaction::NewOrder(_));
                    Tally::add(&self.tally.new_orders, new_order.into());
                    kind
                }
                Ok(Done::RolledBack) => {
                    Tally::add(&self.tally.rolled_back, 1);
                    self.kinds.rolled_back
                }
                Err(error) => {
                    self.lane.record_error(kind, completed);
                    return Err(error);
                }
            };
            self.lane.record_reported(Completion { kind, intended, issued, completed, bytes: 0 });
            return Ok(());
        }
        self.lane.record_error(kind, now);
        let why = format!(
            "it was ended {deadlocks} times as a deadlock's victim and {timeouts} times because it waited too long for a lock"
        );
        Err(Error::engine("finish a transaction of TPROC-C in", "the database", why, ErrorCause::LocksHeld))
    }
}

/// The instants of transactions that arrive at random (a Poisson process), whether or not the user keeps up.
struct Arrivals {
    distance: f64,
    next: f64,
    chance: super::chance::Chance,
}

impl Arrivals {
    fn new(task: &TprocCTask, worker: u32, distance: f64) -> Arrivals {
        let mut arrivals =
            Arrivals { distance, next: 0.0, chance: super::chance::Chance::new(task.seed ^ TIMES, worker) };
        arrivals.step();
        arrivals
    }

    fn instant(&self) -> u64 {
        self.next as u64
    }

    fn step(&mut self) {
        self.next += self.chance.exponential(self.distance);
    }

    /// Transactions that were due by an instant and have not begun: drawn one by one, and of very many as many as are expected.
    fn due_by(mut self, end: u64) -> u64 {
        let mut due = 0;
        while self.instant() < end {
            if due == MAX_DRAWN {
                return due.saturating_add(((end as f64 - self.next) / self.distance) as u64);
            }
            due += 1;
            self.step();
        }
        due
    }
}

/// Mean distance of a user's transactions at a rate over all users.
pub(super) fn distance(task: &TprocCTask) -> Option<f64> {
    Some(Nanos::SECOND.0 as f64 * f64::from(task.users.max(1)) / task.rate?.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tproc_c::chance::Chance;

    #[test]
    fn arrivals_after_the_end_are_counted_however_many() {
        const SECOND: f64 = 1e9;
        for rate in [1_000.0, 1e6, 1e9, 1e300] {
            let arrivals = Arrivals { distance: SECOND / rate, next: 0.0, chance: Chance::new(1, 0) };
            let due = arrivals.due_by(10_000_000_000) as f64;
            // Beyond the largest number there is no other.
            let expected = (10.0 * rate).min(u64::MAX as f64);
            assert!((due / expected - 1.0).abs() < 0.05, "{rate}: {due}");
        }
    }
}
