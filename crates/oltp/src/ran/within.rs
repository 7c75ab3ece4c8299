//! A worker whose database does whole batches by itself, and times each operation.
//!
//! Pauses are made here, between batches of one cycle each: GT.M's HANG and PostgreSQL's pg_sleep end at a time of day, so
//! that they would last an hour longer when somebody sets the clock back by one.

use std::collections::VecDeque;
use std::time::Duration;

use iolite_model::{Nanos, OpKind};
use iolite_stats::Completion;
use iolite_workers::WorkerLane;

use super::contract::{Batch, Cycle, Timed, Within};
use super::dice::Dice;
use super::placing::place;
use iolite_db::Error;

/// About how long a batch takes: often enough for a live view and a prompt end, seldom enough that what this program does
/// between two batches does not count.
const AIM: u64 = 100_000_000;

/// Most numbers in a batch: beyond it they are long messages.
const MAX_NUMBERS: u64 = 20_000;

/// One worker, from its release to its end.
pub(super) struct Worker<'a> {
    session: &'a mut dyn Within,
    lane: WorkerLane,
    dice: Dice,
    pace: Pace,
    /// Cycles that were rolled, and were not done when the batch's time was over: the next ones, so that what is done is what
    /// the dice say, however slow it is.
    carried: VecDeque<Cycle>,
    last_completed: u64,
}

impl Worker<'_> {
    /// A worker that has been released.
    pub(super) fn new(session: &mut dyn Within, lane: WorkerLane, dice: Dice) -> Worker<'_> {
        Worker { session, lane, dice, pace: Pace::default(), carried: VecDeque::new(), last_completed: 0 }
    }

    /// As `stepwise::Worker::run`.
    pub(super) fn run(mut self) -> (WorkerLane, Option<Error>, u64) {
        let failure = self.batches().err();
        (self.lane, failure, self.last_completed)
    }

    fn batches(&mut self) -> Result<(), Error> {
        let mut done = Vec::new();
        while !self.dice.is_done() {
            let sent = self.lane.now();
            if self.lane.is_over(sent) {
                break;
            }
            let batch = self.batch(sent);
            done.clear();
            let result = self.session.perform(&batch, &mut done);
            let received = self.lane.now();
            self.record(&done, sent, received);
            if let Err(error) = result {
                self.lane.record_error(in_flight(&batch, &done), received);
                self.last_completed = received;
                return Err(error);
            }
            self.pace.learn(operations(&done), received - sent);
            let carried = rest(batch.cycles, done.len());
            let cut = matches!(carried.first(), Some(Cycle::Reads(_)));
            self.carried = carried.into_iter().chain(std::mem::take(&mut self.carried)).collect();
            if !(cut && self.dice.length().is_some()) {
                self.hang(self.dice.hang());
            }
        }
        Ok(())
    }

    /// PerfTools' pause between batches.
    fn hang(&self, hang: Nanos) {
        let left = self.lane.end().saturating_sub(self.lane.now());
        std::thread::sleep(Duration::from_nanos(hang.0.min(left)));
    }

    /// The next batch: as much as is expected to take the time aimed at; one cycle where a pause follows.
    fn batch(&mut self, now: u64) -> Batch {
        let mut batch = Batch {
            cycles: Vec::new(),
            // Twice the aim: a batch that is slower than expected is cut.
            limit: Nanos(self.lane.end().saturating_sub(now).min(2 * AIM)),
        };
        let pauses = self.dice.hang().0 > 0;
        let (mut wanted, mut left) = (self.pace.next, self.dice.left());
        while wanted > 0 && left > 0 && (!pauses || batch.cycles.is_empty()) {
            let carried = self.carried.pop_front();
            let cycle =
                carried.unwrap_or_else(|| self.dice.cycle(u32::try_from(wanted).unwrap_or(u32::MAX), left));
            let numbers = length(&cycle) as u64;
            (wanted, left) = (wanted.saturating_sub(numbers.max(1)), left.saturating_sub(numbers));
            batch.cycles.push(cycle);
        }
        batch
    }

    fn record(&mut self, done: &[Timed], sent: u64, received: u64) {
        for (timed, placed) in done.iter().zip(place(done, sent, received)) {
            self.lane.record_reported(Completion {
                kind: timed.kind,
                intended: placed.issued,
                issued: placed.issued,
                completed: placed.completed,
                bytes: timed.bytes.0,
            });
            self.last_completed = placed.completed;
        }
        self.lane.advance(received);
        self.dice.done(operations(done));
    }
}

/// Numbers of a cycle.
fn length(cycle: &Cycle) -> usize {
    let (Cycle::Reads(numbers) | Cycle::Sets(numbers)) = cycle;
    numbers.len()
}

/// What is left of cycles after so many of their operations, commits among them. A transaction is done whole or not at all.
fn rest(cycles: Vec<Cycle>, mut done: usize) -> Vec<Cycle> {
    let mut rest = Vec::new();
    for cycle in cycles {
        let operations = length(&cycle) + usize::from(matches!(cycle, Cycle::Sets(_)));
        match cycle {
            _ if done >= operations => done -= operations,
            Cycle::Reads(mut blocks) => rest.push(Cycle::Reads(blocks.split_off(std::mem::take(&mut done)))),
            cycle @ Cycle::Sets(_) => {
                done = 0;
                rest.push(cycle);
            }
        }
    }
    rest
}

/// Reads and sets: a commit is not an operation of its own.
fn operations(done: &[Timed]) -> u64 {
    done.iter().filter(|timed| timed.kind != OpKind::Commit).count() as u64
}

/// What an operation that failed after these was to be.
fn in_flight(batch: &Batch, done: &[Timed]) -> OpKind {
    let mut left = done.len();
    for cycle in &batch.cycles {
        let (numbers, commits) = match cycle {
            Cycle::Reads(numbers) => (numbers.len(), 0),
            Cycle::Sets(numbers) => (numbers.len(), 1),
        };
        if left < numbers {
            return if commits == 0 { OpKind::Read } else { OpKind::Write };
        }
        if left < numbers + commits {
            return OpKind::Commit;
        }
        left -= numbers + commits;
    }
    match batch.cycles.last() {
        Some(Cycle::Reads(_)) => OpKind::Read,
        _ => OpKind::Commit,
    }
}

/// Number of operations in a batch of the target time.
struct Pace {
    next: u64,
}

impl Default for Pace {
    fn default() -> Pace {
        Pace { next: 1 }
    }
}

impl Pace {
    /// So many operations took so long.
    fn learn(&mut self, operations: u64, took: u64) {
        let fitting = u128::from(operations) * u128::from(AIM) / u128::from(took.max(1));
        // What one batch took says little of the next where both are short: no more than four times as many.
        let max = MAX_NUMBERS.min(self.next.saturating_mul(4));
        self.next = u64::try_from(fitting).unwrap_or(max).clamp(1, max);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iolite_model::Bytes;

    #[test]
    fn batches_grow_to_the_time_aimed_at() {
        let mut pace = Pace::default();
        let mut sizes = Vec::new();
        for _ in 0..9 {
            sizes.push(pace.next);
            pace.learn(pace.next, pace.next * 100_000);
        }
        assert_eq!(sizes, [1, 4, 16, 64, 256, 1000, 1000, 1000, 1000]);
        // A stall: what is left of it is done one by one, then it grows again.
        pace.learn(3, 5_000_000_000);
        assert_eq!(pace.next, 1);
        pace.learn(0, 0);
        assert_eq!(pace.next, 1);
        (0..40).for_each(|_| pace.learn(pace.next, 1));
        assert_eq!(pace.next, MAX_NUMBERS);
    }

    #[test]
    fn what_was_not_done_is_the_rest() {
        let (reads, sets) = (Cycle::Reads(vec![1, 2, 3]), Cycle::Sets(vec![4, 5]));
        let batch = || vec![reads.clone(), sets.clone(), reads.clone()];
        assert_eq!(rest(batch(), 0), batch());
        assert_eq!(rest(batch(), 2), [Cycle::Reads(vec![3]), sets.clone(), reads.clone()]);
        assert_eq!(rest(batch(), 3), [sets.clone(), reads.clone()]);
        assert_eq!(rest(batch(), 6), batch()[2..]);
        assert_eq!(rest(batch(), 8), [Cycle::Reads(vec![3])]);
        assert_eq!(rest(batch(), 9), []);
    }

    #[test]
    fn what_failed_is_reported_by_what_was_done() {
        let batch =
            Batch { cycles: vec![Cycle::Sets(vec![1, 2]), Cycle::Reads(vec![3])], ..Batch::default() };
        let timed = Timed { kind: OpKind::Write, started: 0, ended: 1, bytes: Bytes(1) };
        let failed: Vec<_> = (0..5).map(|done| in_flight(&batch, &vec![timed; done])).collect();
        assert_eq!(failed, [OpKind::Write, OpKind::Write, OpKind::Commit, OpKind::Read, OpKind::Read]);
    }
}
