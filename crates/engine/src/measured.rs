//! The measured loop: submits what the stream plans, reaps what comes back, records both instants of each.

use std::io;
use std::time::Duration;

use iolite_model::{Nanos, OpKind, Outstanding};
use iolite_stats::Completion;
use iolite_workload::{Arrivals, Filler, IoKind, OpStream};

use crate::EngineError;
use crate::backend::{Backend, Completions, IoOp, Op, Returned, Submission};
use crate::crew::{DRAIN, DRAIN_INTERRUPTED, Lane, WorkerEnd};

/// The longest uninterrupted wait: bounds how late the loop notices that it is to end.
const LONGEST_WAIT: u64 = 100_000_000;

/// Waiting shorter than this is done by looking at the clock: sleeping is not that exact.
const SPIN: u64 = 100_000;

/// What a worker of a block I/O phase is to do.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) stream: OpStream,
    pub(crate) arrivals: Arrivals,
    pub(crate) filler: Filler,
    /// Operations in flight at most; the back end has as many slots.
    pub(crate) depth: u32,
    /// Operations to issue at most.
    pub(crate) operations: u64,
    /// Whether any operation writes.
    pub(crate) writes: bool,
    /// Size of an operation.
    pub(crate) block: u32,
    /// An fdatasync after every so many writes.
    pub(crate) sync_every: Option<u32>,
}

/// An operation in flight.
#[derive(Debug, Clone, Copy)]
struct InFlight {
    io: IoOp,
    intended: u64,
    issued: u64,
    length: u32,
    /// For a sync: when its write was meant to start, and the write's bytes.
    commit: Option<(u64, u32)>,
}

/// Where an operation is after its submission.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Submitted {
    /// Back, with all that had to follow it.
    Done,
    /// On its way.
    Flying,
    /// Not submitted for want of room.
    Held,
}

/// One worker of a phase, on one back end.
pub(crate) struct Loop<'a, B> {
    backend: &'a mut B,
    plan: Plan,
    lane: Lane,
    /// By slot: the operation in flight.
    slots: Vec<Option<InFlight>>,
    /// By slot: whether its buffer holds data that has not been written yet.
    filled: Vec<bool>,
    free: Vec<u32>,
    /// An operation for which the back end had no room.
    held: Option<(Op, InFlight)>,
    flying: usize,
    returned: Completions,
    writes_since_sync: u32,
    first_error: Option<String>,
}

impl<'a, B: Backend> Loop<'a, B> {
    pub(crate) fn new(backend: &'a mut B, plan: Plan, lane: Lane) -> Loop<'a, B> {
        let depth = plan.depth.max(1);
        Loop {
            backend,
            plan,
            lane,
            slots: vec![None; depth as usize],
            filled: vec![false; depth as usize],
            free: (0..depth).rev().collect(),
            held: None,
            flying: 0,
            returned: Completions::with_capacity(depth as usize),
            writes_since_sync: 0,
            first_error: None,
        }
    }

    /// Runs to the end of the phase's time, or of the worker's share of operations.
    pub(crate) fn run(mut self) -> (Lane, WorkerEnd) {
        let mut end = WorkerEnd::default();
        match self.measure().and_then(|()| self.drain()) {
            Ok(outstanding) => end.outstanding = outstanding,
            Err(error) => {
                end.failure = Some(EngineError::Queue(error));
            }
        }
        end.first_error = self.first_error;
        (self.lane, end)
    }

    fn measure(&mut self) -> io::Result<()> {
        let mut now = self.lane.now();
        while !self.lane.is_over(now) {
            let wake;
            (now, wake) = self.issue(now);
            if self.flying > 0 {
                let wait = wake.min(self.lane.end()).saturating_sub(now).min(LONGEST_WAIT);
                now = self.take_back(1, wait)?;
            } else if self.plan.operations == 0 {
                break;
            } else {
                now = self.idle(now, wake);
            }
        }
        Ok(())
    }

    /// Submits all that is due and fits. Returns the present instant, and the one at which the next operation is due.
    #[inline]
    fn issue(&mut self, mut now: u64) -> (u64, u64) {
        if self.plan.writes && self.fill() {
            now = self.lane.now();
        }
        while (self.plan.operations > 0 || self.held.is_some()) && !self.lane.is_over(now) {
            let (op, state) = if let Some(held) = self.take_held() {
                held
            } else {
                let Some(&slot) = self.free.last() else { break };
                if let Some(due) = self.plan.arrivals.next().filter(|due| *due > now) {
                    return (now, due);
                }
                self.free.pop();
                self.prepare(slot, now)
            };
            match self.submit(op, state) {
                (Submitted::Done, completed) => {
                    self.give_back(op.slot, completed);
                    now = if self.plan.writes && self.fill() { self.lane.now() } else { completed };
                }
                (Submitted::Flying, submitted) => now = submitted,
                (Submitted::Held, _) => break,
            }
            if op.io != IoOp::Sync {
                self.plan.operations -= 1;
            }
        }
        (now, u64::MAX)
    }

    /// The operation that found no room; looked at for each operation, hardly ever there.
    #[inline]
    fn take_held(&mut self) -> Option<(Op, InFlight)> {
        if self.held.is_none() { None } else { self.held.take() }
    }

    /// Makes data up for every slot that is free, before any operation is begun: it is not the storage's time. Tells
    /// whether there was anything to do.
    fn fill(&mut self) -> bool {
        let mut any = false;
        for &slot in &self.free {
            if !self.filled[slot as usize] {
                let buffer = self.backend.buffer(slot);
                let length = (self.plan.block as usize).min(buffer.len());
                self.plan.filler.fill(&mut buffer[..length]);
                self.filled[slot as usize] = true;
                any = true;
            }
        }
        any
    }

    /// Draws the next operation.
    #[inline]
    fn prepare(&mut self, slot: u32, now: u64) -> (Op, InFlight) {
        let planned = self.plan.stream.next_op();
        let io = match planned.kind {
            IoKind::Read => IoOp::Read,
            IoKind::Write => {
                // A synchronous back end frees a slot as soon as it has taken it: fresh data for each write all the same.
                self.filled[slot as usize] = false;
                IoOp::Write
            }
        };
        let intended = self.plan.arrivals.next().unwrap_or(now);
        self.plan.arrivals.advance();
        let op = Op { io, slot, offset: planned.offset, length: planned.length };
        (op, InFlight { io, intended, issued: now, length: op.length, commit: None })
    }

    /// Submits an operation; where it is done at once, records it and submits what has to follow it. Tells the instant
    /// after.
    #[inline(always)]
    fn submit(&mut self, op: Op, state: InFlight) -> (Submitted, u64) {
        let submission = self.backend.submit(&op);
        let now = self.lane.now();
        match submission {
            Submission::Done(result) => match self.complete(op.slot, state, result, now) {
                None => (Submitted::Done, now),
                Some((op, state)) => self.follow(op, state),
            },
            Submission::Queued => {
                self.slots[op.slot as usize] = Some(state);
                self.flying += 1;
                (Submitted::Flying, now)
            }
            Submission::Full => {
                self.held = Some((op, state));
                (Submitted::Held, now)
            }
        }
    }

    /// Submits what has to follow an operation: apart, so that the loop stays small where nothing follows.
    #[inline(never)]
    fn follow(&mut self, op: Op, state: InFlight) -> (Submitted, u64) {
        self.submit(op, state)
    }

    /// Waits for `at_least` operations, at most `wait` nanoseconds, and records what has come back, each with an
    /// instant of its own; returns the last one.
    #[inline]
    fn take_back(&mut self, at_least: usize, wait: u64) -> io::Result<u64> {
        let mut returned = std::mem::take(&mut self.returned);
        self.backend.reap(at_least, Duration::from_nanos(wait), &mut returned)?;
        let mut now = self.lane.now();
        for Returned { slot, result } in returned.drain(..) {
            let Some(state) = self.slots[slot as usize].take() else { continue };
            self.flying -= 1;
            match self.complete(slot, state, result, now) {
                None => self.give_back(slot, now),
                Some((op, state)) => {
                    if let (Submitted::Done, completed) = self.follow(op, state) {
                        self.give_back(slot, completed);
                    }
                }
            }
            now = self.lane.now();
        }
        self.returned = returned;
        self.lane.advance(now);
        Ok(now)
    }

    /// A slot is free again, its operation with all that had to follow being over.
    #[inline(always)]
    fn give_back(&mut self, slot: u32, completed: u64) {
        self.free.push(slot);
        self.plan.arrivals.completed(completed);
    }

    /// Records an operation; returns the sync that has to follow it on the same slot, if any.
    #[inline(always)]
    fn complete(
        &mut self,
        slot: u32,
        state: InFlight,
        result: Result<u32, i32>,
        completed: u64,
    ) -> Option<(Op, InFlight)> {
        let InFlight { io, intended, issued, length, commit } = state;
        let kind = io.kind();
        match result {
            Ok(bytes) if bytes == length => {
                self.lane.record(Completion { kind, intended, issued, completed, bytes: u64::from(bytes) });
            }
            other => {
                self.failed(kind, other, length, completed);
                return None;
            }
        }
        if let Some((intended, bytes)) = commit {
            let bytes = u64::from(bytes);
            self.lane.record(Completion {
                kind: OpKind::Commit,
                intended,
                issued: intended,
                completed,
                bytes,
            });
        }
        let every = self.plan.sync_every.filter(|_| io == IoOp::Write)?;
        self.writes_since_sync += 1;
        if self.writes_since_sync < every {
            return None;
        }
        self.writes_since_sync = 0;
        let commit = (every == 1).then_some((intended, length));
        let sync = InFlight { io: IoOp::Sync, intended: completed, issued: completed, length: 0, commit };
        Some((Op { io: IoOp::Sync, slot, offset: 0, length: 0 }, sync))
    }

    #[cold]
    fn failed(&mut self, kind: OpKind, result: Result<u32, i32>, asked: u32, completed: u64) {
        self.lane.record_error(kind, completed);
        self.first_error.get_or_insert_with(|| match result {
            Ok(moved) => format!("a {} moved {moved} of {asked} bytes", kind.name()),
            Err(number) => format!("{}: {}", kind.name(), io::Error::from_raw_os_error(number)),
        });
    }

    /// Waits for the next operation's time, or a moment.
    fn idle(&mut self, now: u64, wake: u64) -> u64 {
        let wait = wake.min(self.lane.end()).saturating_sub(now).min(LONGEST_WAIT);
        if wait > SPIN {
            std::thread::sleep(Duration::from_nanos(wait - SPIN / 2));
        } else {
            std::hint::spin_loop();
        }
        let now = self.lane.now();
        self.lane.advance(now);
        now
    }

    /// Waits for what is in flight, which no longer counts, but not for ever.
    fn drain(&mut self) -> io::Result<Outstanding> {
        let end = self.lane.now().min(self.lane.end());
        self.lane.close(end);
        self.plan.sync_every = None;
        let at_end = self.flying as u64;
        let backlog = self.plan.arrivals.backlog(end) + u64::from(self.held.take().is_some());
        while self.flying > 0 {
            let patience = if self.lane.interrupted() { DRAIN_INTERRUPTED } else { DRAIN };
            let Some(left) = (end + patience.as_nanos() as u64).checked_sub(self.lane.now()) else { break };
            self.take_back(1, left.min(LONGEST_WAIT))?;
        }
        let now = self.lane.now();
        let oldest = self.slots.iter().flatten().map(|state| now.saturating_sub(state.intended)).max();
        Ok(Outstanding { at_end, lost: self.flying as u64, oldest: Nanos(oldest.unwrap_or(0)), backlog })
    }
}

impl IoOp {
    const fn kind(self) -> OpKind {
        match self {
            IoOp::Read => OpKind::Read,
            IoOp::Write => OpKind::Write,
            IoOp::Sync => OpKind::Sync,
        }
    }
}
