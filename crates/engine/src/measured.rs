//! The measured loop: submits what the stream plans, reaps what comes back, records both instants of each.

mod batch;
mod ending;
mod memory;
mod plan;
mod syncs;
mod verifying;
mod zones;

use std::io;
use std::time::Duration;

use iolite_model::ErrorClass;
use iolite_stats::Completion;
use iolite_workers::{WorkerEnd, WorkerLane};
use iolite_workload::{IoKind, PlannedOp};

use crate::backend::{Backend, Completions, IoOp, Op, Returned, Submission};
use crate::error::EngineError;
use crate::errors::Errors;
use crate::verify::Checks;
use crate::watch::{Back, Watches};
pub(crate) use batch::Batching;
pub(crate) use memory::LoopMemory;
pub(crate) use plan::{Fill, Plan};

/// The longest uninterrupted wait: bounds how late the loop notices that it is to end.
const LONGEST_WAIT: u64 = 100_000_000;

/// Waiting shorter than this is done by looking at the clock: sleeping is not that exact.
const SPIN: u64 = 100_000;

/// Error number for data that was read and is not what was written (EILSEQ on Linux, all architectures we build for).
const WRONG: i32 = 84;

/// What a slot's buffer holds for the next write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Data {
    /// Nothing that was made up for it.
    None,
    /// What an earlier write has had, or what was read in order to be written back.
    Used,
    /// What is to be written.
    Ready,
}

/// An operation in flight.
#[derive(Debug, Clone, Copy)]
pub(crate) struct InFlight {
    io: IoOp,
    offset: u64,
    length: u32,
    intended: u64,
    issued: u64,
    /// Its I/O priority, where it has its own; 0 for the thread's.
    priority: u16,
    commit: Commit,
}

/// What a sync means for its write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Commit {
    /// It is not one write's alone.
    None,
    /// It completes a write that was meant to start at `intended`.
    Of { intended: u64, bytes: u32 },
    /// Its write has failed, and the kernel cancels it.
    Cancelled,
}

/// Where an operation is after its submission.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Submitted {
    /// Back, with all that had to follow it.
    Done,
    /// On its way.
    InFlight,
    /// Not submitted for want of room.
    Held,
}

/// One worker of a phase, on one back end, with or without verification and what is kept of each operation.
pub(crate) struct Loop<'a, B, V, W> {
    backend: &'a mut B,
    plan: Plan,
    checks: V,
    watches: W,
    lane: WorkerLane,
    /// By slot: the operation in flight.
    slots: Vec<Option<InFlight>>,
    /// By slot: what its buffer holds.
    held_data: Vec<Data>,
    /// Slots without an operation.
    free: Vec<u32>,
    /// An operation for which the back end had no room.
    held: Option<(Op, InFlight)>,
    in_flight: usize,
    /// Queued since the last time that anything was handed over, where that is done in batches.
    unsent: usize,
    /// Whether the queue was full and has not drained as far as it is to.
    draining: bool,
    /// What has come back and was not taken yet.
    returned: Completions,
    /// What has to follow operations that have come back.
    followers: Vec<(Op, InFlight)>,
    writes_since_sync: u32,
    /// Where this worker has written since its last sync.
    written: Option<(u64, u64)>,
    /// Whether it has written at all.
    wrote: bool,
    errors: Errors,
    failure: Option<EngineError>,
}

impl<'a, B: Backend, V: Checks, W: Watches> Loop<'a, B, V, W> {
    pub(crate) fn new(
        backend: &'a mut B,
        (plan, memory): (Plan, LoopMemory),
        checks: V,
        watches: W,
        lane: WorkerLane,
    ) -> Loop<'a, B, V, W> {
        let LoopMemory { slots, held_data, free, returned, followers } = memory;
        Loop {
            backend,
            plan,
            checks,
            watches,
            lane,
            slots,
            held_data,
            free,
            held: None,
            in_flight: 0,
            unsent: 0,
            draining: false,
            returned,
            followers,
            writes_since_sync: 0,
            written: None,
            wrote: false,
            errors: Errors::default(),
            failure: None,
        }
    }

    /// Runs to the end of the phase's time, or of the worker's share of operations.
    pub(crate) fn run(mut self) -> (WorkerLane, WorkerEnd) {
        let mut end = WorkerEnd::default();
        match self.measure().and_then(|()| self.drain()) {
            Ok((outstanding, stuck)) => (end.outstanding, end.stuck) = (outstanding, stuck),
            Err(error) => end.failure = Some(EngineError::Queue(error).into()),
        }
        end.failure = end.failure.or(self.failure.map(Into::into));
        end.errors = self.errors.into_tallies();
        end.usage = self.backend.finish();
        self.checks.finish(&mut end);
        self.watches.finish(&self.lane, &mut end);
        (self.lane, end)
    }

    fn measure(&mut self) -> io::Result<()> {
        let mut now = self.lane.now();
        while !self.lane.is_over(now) {
            let wake;
            (now, wake) = self.refill(now)?;
            if self.in_flight > 0 {
                let wait = wake.min(self.lane.end()).saturating_sub(now).min(LONGEST_WAIT);
                now = self.reap_and_record(self.plan.batch.complete_min, wait)?;
            } else if self.exhausted() {
                return self.sync_at_end();
            } else if V::ON && self.checks.is_due() && self.held.is_none() {
                now = self.verify_what_is_due();
            } else {
                now = self.idle(now, wake);
            }
        }
        Ok(())
    }

    /// Whether all that this worker may issue has been issued.
    #[inline(always)]
    fn exhausted(&self) -> bool {
        let share = &self.plan.share;
        share.operations == 0 || share.bytes == 0 || share.written < u64::from(self.plan.largest)
    }

    /// Submits all that is due and fits. Returns the present instant, and the one at which the next operation is due.
    #[inline]
    fn issue(&mut self, mut now: u64) -> io::Result<(u64, u64)> {
        if self.plan.fill == Fill::Ahead && self.fill() {
            now = self.lane.now();
        }
        while (!self.exhausted() || self.held.is_some()) && !self.lane.is_over(now) {
            let (op, state) = if let Some(held) = self.take_held() {
                held
            } else {
                let Some(&slot) = self.free.last() else { break };
                if V::ON && self.checks.is_due() {
                    break;
                }
                self.plan.arrivals.choose(now);
                if let Some(due) = self.plan.arrivals.next().filter(|due| *due > now) {
                    return Ok((now, due));
                }
                if let Some(flow) = &mut self.plan.flow {
                    if !flow.may_go() {
                        return Ok((now, now.saturating_add(flow.pause())));
                    }
                    flow.went();
                }
                let planned = if self.plan.zones.is_some() {
                    let placed = self.place_in_zone();
                    now = self.lane.now();
                    let Some(planned) = placed else { return Ok((now, now.saturating_add(zones::PAUSE))) };
                    planned
                } else {
                    self.draw()
                };
                self.free.pop();
                self.prepare(planned, slot, now)
            };
            match self.submit(op, state) {
                (Submitted::Done, completed) => {
                    self.give_back(op.slot, completed);
                    now = if self.fill_spare() { self.lane.now() } else { completed };
                }
                (Submitted::InFlight, submitted) if self.plan.batch.gathers() => {
                    now = self.gathered(submitted)?;
                }
                // What is filled next must not keep this one from the device.
                (Submitted::InFlight, _) if self.fills_drawn() => now = self.reap_and_record(0, 0)?,
                (Submitted::InFlight, submitted) => now = submitted,
                (Submitted::Held, _) => break,
            }
        }
        Ok((now, u64::MAX))
    }

    /// Whether something is done with each operation between its being drawn and issued.
    #[inline(always)]
    fn fills_drawn(&self) -> bool {
        V::ON || self.plan.fill == Fill::Drawn
    }

    /// Between two operations of a synchronous back end: generates data for the next. Returns whether that, or verifying the
    /// last, has taken time.
    #[inline(always)]
    fn fill_spare(&mut self) -> bool {
        (self.plan.fill == Fill::Ahead && self.fill()) || V::ON
    }

    /// The operation that found no room; looked at for each operation, hardly ever there.
    #[inline]
    fn take_held(&mut self) -> Option<(Op, InFlight)> {
        if self.held.is_none() { None } else { self.held.take() }
    }

    /// Generates data for every free slot. Returns whether there was anything to do.
    fn fill(&mut self) -> bool {
        let mut any = false;
        for &slot in &self.free {
            if self.held_data[slot as usize] != Data::Ready {
                let buffer = self.backend.buffer(slot);
                let length = (self.plan.largest as usize).min(buffer.len());
                match self.held_data[slot as usize] {
                    Data::Used => self.plan.filler.scramble(&mut buffer[..length]),
                    _ => self.plan.filler.fill(&mut buffer[..length]),
                }
                self.held_data[slot as usize] = Data::Ready;
                any = true;
            }
        }
        any
    }

    /// Draws the next operation.
    #[inline]
    fn draw(&mut self) -> PlannedOp {
        match self.plan.arrivals.kind() {
            None => self.plan.stream.next_op(),
            Some(kind) => self.plan.stream.next_of(kind),
        }
    }

    /// Makes the planned operation the one of a slot.
    #[inline]
    fn prepare(&mut self, planned: PlannedOp, slot: u32, now: u64) -> (Op, InFlight) {
        let io = match planned.kind {
            IoKind::Read => {
                // What is read takes the place of the data that was made up.
                if self.plan.fill == Fill::Ahead {
                    self.held_data[slot as usize] =
                        if self.plan.writes_back { Data::Used } else { Data::None };
                }
                IoOp::Read
            }
            IoKind::Trim => IoOp::Trim,
            IoKind::Sync(method) => IoOp::Sync(method),
            IoKind::Write => {
                self.plan.share.written = self.plan.share.written.saturating_sub(u64::from(planned.length));
                // A synchronous back end frees a slot as soon as it has taken it: fresh data for each write all the same.
                self.held_data[slot as usize] = match () {
                    () if self.plan.filler.refills() => Data::None,
                    () if self.plan.filler.scrambles() => Data::Used,
                    () => Data::Ready,
                };
                if self.plan.linked { IoOp::LinkedWrite } else { IoOp::Write }
            }
        };
        self.plan.share.operations -= 1;
        self.plan.share.bytes = self.plan.share.bytes.saturating_sub(u64::from(planned.length));
        // A sync of a trace's is of one file, which a byte of it names.
        let length = if io == IoOp::Read || io.writes() { planned.length } else { planned.length.max(1) };
        let op = Op { io, slot, offset: planned.offset + self.plan.base, length };
        let issued = if self.fills_drawn() { self.fill_drawn(&op) } else { now };
        let intended = self.plan.arrivals.next().unwrap_or(issued);
        self.plan.arrivals.advance(planned.length);
        let PlannedOp { length, .. } = planned;
        let offset = op.offset;
        let own = self.plan.priorities.as_mut();
        let priority = own.map_or(0, |priorities| priorities.next(planned.kind, length));
        (op, InFlight { io, offset, length, intended, issued, priority, commit: Commit::None })
    }

    /// Makes up the data of an operation that has been drawn. Returns the instant after.
    #[inline(never)]
    fn fill_drawn(&mut self, op: &Op) -> u64 {
        let buffer = self.backend.buffer(op.slot);
        let length = (op.length as usize).min(buffer.len());
        let buffer = &mut buffer[..length];
        if op.io.writes() {
            self.plan.filler.fill(buffer);
        }
        self.checks.issue(op, buffer);
        self.lane.now()
    }

    /// Submits an operation; where it is done at once, records it and submits what has to follow it. Returns the instant
    /// after.
    #[inline(always)]
    fn submit(&mut self, op: Op, state: InFlight) -> (Submitted, u64) {
        if self.backend.blocks() {
            self.lane.enter(op.io.kind(), op.offset, state.issued);
        }
        if self.plan.priorities.is_some() {
            self.backend.prioritize(state.priority);
        }
        let submission = self.backend.submit(&op);
        let now = self.lane.now();
        if self.backend.blocks() {
            self.lane.leave();
        }
        match submission {
            Submission::Done(result) => match self.complete(op.slot, state, result, now) {
                None => (Submitted::Done, now),
                // Nothing was begun that could be cancelled.
                Some((_, InFlight { commit: Commit::Cancelled, .. })) => (Submitted::Done, now),
                Some((op, state)) => self.follow(op, state),
            },
            Submission::Queued => {
                self.slots[op.slot as usize] = Some(state);
                self.in_flight += 1;
                if W::ON {
                    self.watches.queued(op.slot, now, self.in_flight, &self.lane);
                }
                (Submitted::InFlight, now)
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

    /// Waits for `at_least` operations, at most `wait` nanoseconds, and records what has come back; returns the instant after.
    /// Each has an instant of its own, unless it is compared then, which is not the device's time. What has to follow is
    /// submitted when all are recorded, for the same reason.
    #[inline]
    fn reap_and_record(&mut self, at_least: usize, wait: u64) -> io::Result<u64> {
        let mut returned = std::mem::take(&mut self.returned);
        self.reap(at_least, Duration::from_nanos(wait), &mut returned)?;
        let taken = returned.len().min(self.plan.batch.complete_max);
        let mut now = self.lane.now();
        if W::ON {
            self.watches.reaped(taken, now, &self.lane);
        }
        for Returned { slot, result, more } in returned.drain(..taken) {
            let Some(state) = self.slots[slot as usize].take() else { continue };
            let follower = self.complete(slot, state, result, now);
            if more {
                // The second of two linked operations is on its way already.
                self.slots[slot as usize] = follower.map(|(_, state)| state);
            } else {
                self.in_flight -= 1;
                match follower {
                    None => self.give_back(slot, now),
                    Some(follower) => self.followers.push(follower),
                }
            }
            if !V::ON {
                now = self.lane.now();
            }
        }
        self.returned = returned;
        if !self.followers.is_empty() {
            self.follow_all();
        }
        if V::ON || self.in_flight > 0 {
            now = self.lane.now();
        }
        self.lane.advance(now);
        Ok(now)
    }

    /// Submits all that has to follow what has come back.
    #[inline(never)]
    fn follow_all(&mut self) {
        let mut followers = std::mem::take(&mut self.followers);
        for (op, mut state) in followers.drain(..) {
            state.issued = self.lane.now();
            if let (Submitted::Done, completed) = self.follow(op, state) {
                self.give_back(op.slot, completed);
            }
        }
        self.followers = followers;
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
        let InFlight { io, intended, issued, length, .. } = state;
        let done = result == Ok(if io.moves() { length } else { 0 });
        if let Some(zones) = &mut self.plan.zones {
            zones.back(io, state.offset, length, done);
        }
        if V::ON && !self.checked(slot, &state, done, completed) {
            self.watch(slot, &state, Some(WRONG), completed);
            return None;
        }
        if !done {
            self.watch(slot, &state, Some(result.err().unwrap_or(0)), completed);
            return self.failed(slot, state, result, completed);
        }
        let (kind, bytes) = (io.kind(), u64::from(length));
        self.lane.record(Completion { kind, intended, issued, completed, bytes });
        self.watch(slot, &state, None, completed);
        if io.moves() && !io.writes() { None } else { self.after(slot, state, completed) }
    }

    /// Notifies the watch that an operation is over, and ends the phase where it took longer than any may.
    #[inline(always)]
    fn watch(&mut self, slot: u32, state: &InFlight, error: Option<i32>, completed: u64) {
        if !W::ON || state.commit == Commit::Cancelled {
            return;
        }
        let InFlight { io, offset, length, intended, issued, priority, .. } = *state;
        let (kind, linked) = (io.kind(), io == IoOp::LinkedWrite);
        let back = Back { slot, kind, offset, length, intended, issued, completed, priority, error, linked };
        if let Err(error) = self.watches.back(&back, &self.lane) {
            self.failure.get_or_insert(error);
            self.lane.cut(completed);
        }
    }

    /// Records an operation that failed. Returns the cancelled sync of a linked write, which is still to come back.
    #[cold]
    fn failed(
        &mut self,
        slot: u32,
        state: InFlight,
        result: Result<u32, i32>,
        completed: u64,
    ) -> Option<(Op, InFlight)> {
        let kind = state.io.kind();
        let class = result.map_or_else(ErrorClass::of, |_| ErrorClass::Short);
        // The last of the space may hold a part of a write.
        let full = matches!(class, ErrorClass::Space | ErrorClass::Short) && state.io.writes();
        if self.plan.until_full && full {
            self.lane.cut(completed);
        } else if state.commit != Commit::Cancelled {
            self.note_error(class, &state, completed, || match result {
                Ok(moved) => (format!("a {} moved {moved} of {} bytes", kind.name(), state.length), None),
                Err(number) => {
                    let error = io::Error::from_raw_os_error(number);
                    (format!("{}: {error}", kind.name()), Some(number))
                }
            });
        }
        let linked = (state.io == IoOp::LinkedWrite).then_some(self.plan.sync).flatten()?;
        Some(self.sync(slot, linked.method, completed, Commit::Cancelled))
    }

    /// Counts an error, and ends the phase where it is one of those that do.
    #[cold]
    fn note_error(
        &mut self,
        class: ErrorClass,
        state: &InFlight,
        at: u64,
        what: impl FnOnce() -> (String, Option<i32>),
    ) {
        let kind = state.io.kind();
        self.lane.record_error(kind, at);
        self.errors.note(kind, class, state.offset, what);
        if self.failure.is_none() && self.errors.end_it(&self.plan.errors, class) {
            self.failure = Some(EngineError::Stopped { what: self.errors.last_words(kind, class) });
            self.lane.cut(at);
        }
    }

    /// Waits for the next operation's time, or a moment.
    fn idle(&mut self, now: u64, wake: u64) -> u64 {
        let wait = wake.min(self.lane.end()).saturating_sub(now).min(LONGEST_WAIT);
        let busy = self.plan.arrivals.spin_until().is_some_and(|until| now < until);
        if wait > SPIN && !busy {
            std::thread::sleep(Duration::from_nanos(wait - SPIN / 2));
        } else {
            std::hint::spin_loop();
        }
        let now = self.lane.now();
        self.lane.advance(now);
        if W::ON {
            self.watches.pass(now, &self.lane);
        }
        now
    }
}
