//! A worker's side of a phase: its place at the barrier, then its lane.

use std::sync::Arc;
use std::time::Duration;

use iolite_model::{LoggedOperation, OpKind, OperationLog};
use iolite_stats::{Completion, Recorder};
use iolite_sys::board::Board;
use iolite_sys::clock::Clock;
use iolite_sys::usage::{self, ThreadUsage};

use crate::barrier::Barrier;
use crate::control::Control;
use crate::transport::{Sender, WorkerEnd, WorkerMessage};

/// How often a worker that waits for its start checks whether the user wants to stop.
const LOOK: Duration = Duration::from_millis(50);

/// Operations that are reported at once.
const REPORTED: usize = 256;

/// A worker's end: its lane with what it reported, or `None` when the phase was called off at the barrier.
pub type Finished = Option<(WorkerLane, WorkerEnd)>;

/// A worker's side of the phase, once it has been released.
#[derive(Debug)]
pub struct WorkerLane {
    pub(crate) phase: u32,
    /// Counted from the group's first.
    pub(crate) index: usize,
    pub(crate) worker: u32,
    pub(crate) clock: Clock,
    pub(crate) origin: u64,
    /// For how long its time has stood still, in nanoseconds.
    pub(crate) stood_still: u64,
    pub(crate) end: u64,
    pub(crate) closed: Option<u64>,
    pub(crate) control: Control,
    pub(crate) recorder: Recorder,
    pub(crate) board: Arc<Board>,
    /// What the worker's thread had used of the machine when it was ready, or at the ramp's end.
    pub(crate) used: Option<ThreadUsage>,
    /// Operations in flight at the end count.
    pub(crate) in_flight: bool,
    /// Its ramp is not over.
    pub(crate) ramping: bool,
    /// The way to the conductor.
    pub(crate) sender: Sender,
    /// Operations that are still to be reported.
    pub(crate) unreported: Vec<LoggedOperation>,
}

/// A worker's place at the barrier.
#[derive(Debug)]
pub struct WorkerStart {
    pub(crate) barrier: Arc<Barrier>,
    pub(crate) lane: WorkerLane,
}

impl WorkerStart {
    /// Reports that this worker is ready, waits for the others, and returns its lane: time starts now. `None` when the
    /// phase is off.
    pub fn ready(self) -> Option<WorkerLane> {
        let WorkerStart { barrier, mut lane } = self;
        // Where nobody listens the phase is off.
        lane.sender.send((lane.index, WorkerMessage::Ready)).ok()?;
        lane.origin = barrier.pass()?;
        // With a start delay the origin lies ahead.
        while let Some(ahead) = lane.origin.checked_sub(lane.clock.now()).filter(|ahead| *ahead > 0) {
            if lane.control.over() {
                break;
            }
            std::thread::sleep(Duration::from_nanos(ahead).min(LOOK));
        }
        lane.used = usage::of_this_thread().ok();
        Some(lane)
    }

    /// Number of the worker, from 0.
    pub fn worker(&self) -> u32 {
        self.lane.worker
    }
}

impl WorkerLane {
    /// Number of the worker, from 0.
    pub fn worker(&self) -> u32 {
        self.worker
    }

    /// Nanoseconds since the phase's start.
    #[inline(always)]
    pub fn now(&self) -> u64 {
        self.clock.now().saturating_sub(self.origin)
    }

    /// End of the measured part in nanoseconds since the phase's start; `u64::MAX` where only bytes or operations end
    /// it.
    pub fn end(&self) -> u64 {
        self.end
    }

    /// Whether nothing more is to be started: the time is over, or the phase is asked to end.
    #[inline]
    pub fn is_over(&self, now: u64) -> bool {
        now >= self.end || self.control.over()
    }

    /// Whether the user wants to stop.
    pub fn interrupted(&self) -> bool {
        self.control.interrupted()
    }

    /// Counts an operation that succeeded.
    #[inline]
    pub fn record(&mut self, op: Completion) {
        if self.recorder.record(op) {
            self.interval_begins(op.completed);
        }
    }

    /// Counts an operation that succeeded, and reports it where each is to be ([`Control::report_operations`]). For workers whose
    /// operations take so long that this makes no difference.
    pub fn record_reported(&mut self, op: Completion) {
        self.record(op);
        if self.control.reports_operations() {
            self.report_completion(op);
        }
    }

    /// Reports an operation that was counted, some hundreds at a time.
    pub fn report_completion(&mut self, op: Completion) {
        let Completion { kind, intended, issued, completed, bytes } = op;
        self.unreported.push(LoggedOperation {
            kind,
            offset: 0,
            file: 0,
            length: u32::try_from(bytes).unwrap_or(u32::MAX),
            error: None,
            priority: 0,
            intended,
            issued,
            submitted: issued,
            completed,
            counted: self.measures(completed),
        });
        if self.unreported.len() >= REPORTED {
            self.report_all();
        }
    }

    fn report_all(&mut self) {
        if !self.unreported.is_empty() {
            let operations = std::mem::take(&mut self.unreported);
            // Where nobody listens any more, nobody misses them.
            let _ = self.report(operations);
        }
    }

    /// Counts an operation that failed.
    pub fn record_error(&mut self, kind: OpKind, completed: u64) {
        self.recorder.record_error(kind, completed);
    }

    /// Notes that time has passed though nothing completed.
    pub fn advance(&mut self, now: u64) {
        if self.recorder.advance(now) {
            self.interval_begins(now);
        }
    }

    /// What a ramp has used of the machine is left out, as what it has done is.
    #[cold]
    fn interval_begins(&mut self, now: u64) {
        if self.ramping && now >= self.recorder.ramp_end() {
            self.ramping = false;
            // Where an amount has ended the ramp, the end is known only now.
            self.end = self.end.min(self.recorder.end());
            self.used = usage::of_this_thread().ok();
        }
    }

    /// Publishes that this worker is about to make a system call from which it may not come back:
    /// `issued` in nanoseconds since the phase's start.
    #[inline]
    pub fn enter(&self, kind: OpKind, offset: u64, issued: u64) {
        self.board.begin(kind.code(), offset, issued);
    }

    /// Publishes that it has returned.
    #[inline]
    pub fn leave(&self) {
        self.board.end();
    }

    /// Whether what comes back at this instant counts as measured.
    #[inline]
    pub fn measures(&self, at: u64) -> bool {
        self.recorder.measures(at)
    }

    /// Notes that this worker waits, or no longer waits, for what it has written to become durable, which may take long.
    pub fn syncing(&self, begins: bool) {
        if begins { self.control.sync_begins() } else { self.control.sync_ends() }
    }

    /// Lets measured time stand still while `work` is done, which sees it go on; nothing of it counts.
    ///
    /// # Errors
    /// Those of the work.
    pub fn standing_still<T, E>(&mut self, work: impl FnOnce(&WorkerLane) -> Result<T, E>) -> Result<T, E> {
        let begun = self.now();
        self.control.stop_begins();
        let before = usage::of_this_thread().ok();
        let done = work(self);
        if let (Some(used), Some(before), Ok(after)) = (&mut self.used, before, usage::of_this_thread()) {
            *used = used.and(after.since(before));
        }
        let stood = self.now().saturating_sub(begun);
        self.origin = self.origin.saturating_add(stood);
        self.stood_still = self.stood_still.saturating_add(stood);
        self.control.stop_ends(self.stood_still, self.clock.now());
        done
    }

    /// Passes operations on to whoever listens, waiting while too much is unheard. False where nobody listens any more.
    pub fn report(&self, operations: Vec<LoggedOperation>) -> bool {
        let log = OperationLog { phase: self.phase, worker: self.worker, operations };
        self.sender.send((self.index, WorkerMessage::Operations(log))).is_ok()
    }

    /// Lets nothing more be started: the worker has met an error that ends the phase.
    pub fn cut(&mut self, now: u64) {
        self.end = self.end.min(now);
        // What follows is the drain's, so that no interval begins after its end.
        if !self.in_flight {
            self.recorder.close(self.end);
        }
    }

    /// Nothing more is issued by this worker: ends its measured part as [`close`](WorkerLane::close) does, unless operations in
    /// flight count, whose part ends with [`drained`](WorkerLane::drained).
    pub fn stop_issuing(&mut self, now: u64) {
        if self.in_flight {
            self.end = self.end.min(now);
        } else {
            self.close(now);
        }
    }

    /// All that was in flight is back, or given up on.
    pub fn drained(&mut self, now: u64) {
        if self.in_flight {
            self.recorder.close(now);
            self.closed = Some(now);
        }
    }

    /// Ends the measured part for this worker, now or where the phase's time was over before; what completes from here
    /// on belongs to the drain. To be called once, by every worker.
    pub fn close(&mut self, now: u64) {
        self.report_all();
        let end = now.min(self.end);
        self.recorder.close(end);
        self.closed = Some(end);
        self.end = end;
    }
}
