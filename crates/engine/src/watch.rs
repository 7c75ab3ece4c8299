//! What the measured loop keeps of each operation, beyond counts and histograms.

use std::io;

use iolite_model::{FileTask, IoPriority, LoggedOperation, Nanos, OnError, OpKind};
use iolite_stats::DetailRecorder;
use iolite_sys::memory;
use iolite_workers::{WorkerEnd, WorkerLane};

use crate::error::EngineError;
use crate::target::Targets;

/// Operations that are reported together.
const CHUNK: usize = 1024;

/// Max time that operations wait to be reported, in nanoseconds, unless intervals are shorter.
const MAX_DELAY: u64 = 1_000_000_000;

/// An operation that has come back, in nanoseconds since the phase's start.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Back {
    pub(crate) slot: u32,
    pub(crate) kind: OpKind,
    pub(crate) offset: u64,
    pub(crate) length: u32,
    pub(crate) intended: u64,
    pub(crate) issued: u64,
    pub(crate) completed: u64,
    /// Its own I/O priority; 0 where it has none.
    pub(crate) priority: u16,
    /// The error number, where it has failed.
    pub(crate) error: Option<i32>,
    /// It is the first of two linked operations: what was submitted with it is still to come back.
    pub(crate) linked: bool,
}

/// What the measured loop reports of each operation; chosen once per run, so that a loop without it pays nothing. By default, nothing
/// is kept.
pub(crate) trait Watches: Sized {
    /// Whether there is any.
    const ON: bool;

    /// An operation was queued: its submission has returned, and so many are in flight with it.
    fn queued(&mut self, _slot: u32, _submitted: u64, _in_flight: usize, _lane: &WorkerLane) {}

    /// An operation has come back.
    ///
    /// # Errors
    /// It took longer than any may, which ends the phase.
    fn back(&mut self, _back: &Back, _lane: &WorkerLane) -> Result<(), EngineError> {
        Ok(())
    }

    /// What was queued has been handed over.
    fn handed_over(&mut self, _now: u64, _lane: &WorkerLane) {}

    /// What was queued has been handed over, and so many operations were brought back.
    fn reaped(&mut self, _returned: usize, _now: u64, _lane: &WorkerLane) {}

    /// Time has passed.
    fn pass(&mut self, _now: u64, _lane: &WorkerLane) {}

    /// The loop has ended.
    fn finish(self, _lane: &WorkerLane, _end: &mut WorkerEnd) {}
}

/// Nothing is kept.
pub(crate) struct Unwatched;

impl Watches for Unwatched {
    const ON: bool = false;
}

/// Keeps what a task asks for: [`Watch`](iolite_model::Watch) and limits.
#[derive(Debug)]
pub(crate) struct Watcher {
    /// By slot: when its operation's submission returned, where it was queued.
    submitted: Vec<Option<u64>>,
    /// Queued since the last reap.
    pending: usize,
    detail: Option<Box<DetailRecorder>>,
    log: Option<Log>,
    /// I/O priority of operations that have none of their own.
    priority: u16,
    /// The longest service times.
    limits: Option<OnError>,
}

/// Operations on their way to whoever listens.
#[derive(Debug)]
struct Log {
    targets: Targets,
    operations: Vec<LoggedOperation>,
    /// Time between two tellings at most.
    every: u64,
    hand_over_at: u64,
}

impl Watcher {
    /// Whether a task asks for anything that it does.
    pub(crate) fn is_needed(task: &FileTask) -> bool {
        task.watch.detail || task.watch.operations || task.errors.has_limits()
    }

    /// For a worker with so many slots, whose operations are of these kinds.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub(crate) fn new(
        task: &FileTask,
        kinds: &[OpKind],
        targets: &Targets,
        slots: u32,
    ) -> io::Result<Watcher> {
        let every = task.interval.0.clamp(1, MAX_DELAY);
        let priority = task.placement.io_priority.map_or(0, IoPriority::packed);
        let mut detail = task.watch.detail.then(|| Box::new(DetailRecorder::new(kinds)));
        if let Some(detail) = detail.as_mut().filter(|_| !task.priorities.is_empty()) {
            detail.keep_apart(&priorities(task, priority));
        }
        let log = || Log {
            targets: targets.clone(),
            operations: Vec::with_capacity(CHUNK),
            every,
            hand_over_at: every,
        };
        Ok(Watcher {
            submitted: memory::filled(None, slots.max(1) as usize)?,
            pending: 0,
            detail,
            log: task.watch.operations.then(log),
            priority,
            limits: task.errors.has_limits().then(|| task.errors.clone()),
        })
    }
}

/// The priorities that operations of a task may have.
fn priorities(task: &FileTask, default: u16) -> Vec<u16> {
    let mut all: Vec<u16> = task.priorities.iter().map(|share| share.priority.packed()).collect();
    all.push(default);
    all.sort_unstable();
    all.dedup();
    all
}

/// Counts an operation that its submission has done itself: a submission and a reap of one.
fn at_once(detail: &mut DetailRecorder) {
    detail.submitted(1);
    detail.handed_over(1);
    detail.brought_back(1);
}

impl Watches for Watcher {
    const ON: bool = true;

    fn queued(&mut self, slot: u32, submitted: u64, in_flight: usize, lane: &WorkerLane) {
        self.submitted[slot as usize] = Some(submitted);
        self.pending += 1;
        if let Some(detail) = self.detail.as_mut().filter(|_| lane.measures(submitted)) {
            detail.submitted(in_flight);
        }
    }

    fn back(&mut self, back: &Back, lane: &WorkerLane) -> Result<(), EngineError> {
        let back = &Back { priority: if back.priority > 0 { back.priority } else { self.priority }, ..*back };
        let slot = &mut self.submitted[back.slot as usize];
        let submitted = slot.take();
        if back.linked && back.error.is_none() {
            // The kernel begins the second when the first is over.
            *slot = submitted.map(|_| back.completed);
        }
        if let Some(detail) = self.detail.as_mut().filter(|_| lane.measures(back.completed)) {
            match submitted {
                None => at_once(detail),
                Some(submitted) if back.error.is_none() => {
                    let submission = submitted.saturating_sub(back.issued);
                    detail.queued(back.kind, submission, back.completed.saturating_sub(submitted));
                }
                Some(_) => {}
            }
            if back.error.is_none() {
                let completion = back.completed.saturating_sub(submitted.unwrap_or(back.issued));
                let service = back.completed.saturating_sub(back.issued);
                detail.prioritized(back.kind, back.priority, completion, service);
            }
        }
        if let Some(log) = &mut self.log {
            log.add(back, submitted.unwrap_or(back.completed), lane);
        }
        let took = Nanos(back.completed.saturating_sub(back.issued));
        match self.limits.as_ref().and_then(|limits| limits.limit(back.kind)) {
            Some(longest) if took > longest => {
                Err(EngineError::TooLong { kind: back.kind, offset: back.offset, took, longest })
            }
            _ => Ok(()),
        }
    }

    fn handed_over(&mut self, now: u64, lane: &WorkerLane) {
        let handed_over = std::mem::take(&mut self.pending);
        // Waiting alone hands nothing over.
        if let Some(detail) = self.detail.as_mut().filter(|_| handed_over > 0 && lane.measures(now)) {
            detail.handed_over(handed_over);
        }
    }

    fn reaped(&mut self, returned: usize, now: u64, lane: &WorkerLane) {
        self.handed_over(now, lane);
        if let Some(detail) = self.detail.as_mut().filter(|_| lane.measures(now)) {
            detail.brought_back(returned);
        }
        self.pass(now, lane);
    }

    fn pass(&mut self, now: u64, lane: &WorkerLane) {
        if let Some(log) = self.log.as_mut().filter(|log| now >= log.hand_over_at) {
            log.hand_over(now, lane);
        }
    }

    fn finish(mut self, lane: &WorkerLane, end: &mut WorkerEnd) {
        if let Some(log) = &mut self.log {
            log.hand_over(0, lane);
        }
        end.detail = self.detail;
    }
}

impl Log {
    fn add(&mut self, back: &Back, submitted: u64, lane: &WorkerLane) {
        let (file, offset) = self.targets.locate(back.offset);
        self.operations.push(LoggedOperation {
            kind: back.kind,
            offset,
            file,
            length: back.length,
            error: back.error,
            priority: back.priority,
            intended: back.intended,
            issued: back.issued,
            submitted,
            completed: back.completed,
            counted: lane.measures(back.completed),
        });
        if self.operations.len() >= CHUNK || back.completed >= self.hand_over_at {
            self.hand_over(back.completed, lane);
        }
    }

    /// Reports the operations collected. A full chunk is handed over as it is, otherwise copied.
    fn hand_over(&mut self, now: u64, lane: &WorkerLane) {
        self.hand_over_at = now.saturating_add(self.every);
        if self.operations.is_empty() {
            return;
        }
        let operations = if self.operations.len() < CHUNK {
            self.operations.drain(..).collect()
        } else {
            std::mem::replace(&mut self.operations, Vec::with_capacity(CHUNK))
        };
        // Nobody listens where the conductor has given up on this worker.
        lane.report(operations);
    }
}
