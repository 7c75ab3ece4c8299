//! A group: workers that prepare, are released together, measure, and are collected.
//!
//! Block I/O, metadata and databases all run as groups; what differs is the work.

mod conductor;

use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use iolite_model::{Ending, Event, Nanos, OpKind, PhaseRelease, Sink, Stop, Usage};
use iolite_stats::{Collector, Timetable, recorder};
use iolite_sys::board::Board;
use iolite_sys::clock::Clock;
use iolite_sys::usage;

use crate::barrier::{Barrier, StartLine};
use crate::control::Control;
use crate::error::{WorkError, WorkersError};
use crate::lane::{Finished, WorkerLane, WorkerMessage, WorkerReport, WorkerStart};
use crate::outcome::Outcome;
use conductor::Conductor;

pub use conductor::LAST_SYNC;

/// How often the workers' snapshots are collected, unless intervals are shorter.
pub const TICK: Duration = Duration::from_millis(50);

/// How long to wait for operations in flight after the end of a phase, before they are reported as lost.
pub const DRAIN: Duration = Duration::from_secs(3);

/// How long workers may take to get ready: beyond it one of them hangs.
const PREPARATION: Duration = Duration::from_secs(30);

/// How long to wait for operations in flight when the user wants to stop.
pub const DRAIN_INTERRUPTED: Duration = Duration::from_millis(250);

/// Max messages that workers have sent and the conductor has not received: chunks of operations mostly, of some 64 KiB each. A
/// worker that finds no room waits.
const UNHEARD: usize = 256;

/// What a group needs to know of its phase.
#[derive(Debug, Clone)]
pub struct WorkerGroup {
    /// Number of the phase within the run.
    pub phase: u32,
    /// Number of the first worker: above 0 where the phase's workers are spread over processes.
    pub first: u32,
    /// Workers.
    pub workers: u32,
    /// Kinds of operation that the workers will record.
    pub kinds: Vec<OpKind>,
    /// Time from the release to the phase's start.
    pub delay: Nanos,
    /// What ends the phase; bytes and operations are the work's own affair.
    pub stop: Stop,
    /// Time at the start that is recorded apart.
    pub ramp: Nanos,
    /// Length of the intervals.
    pub interval: Nanos,
    /// The clock.
    pub clock: Clock,
    /// The way to end it from outside.
    pub control: Control,
    /// How long to wait for operations in flight.
    pub patience: Patience,
}

/// How long to wait for workers, and for operations that are in flight before they are reported as lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Patience {
    /// For workers to get ready; beyond it one of them hangs.
    pub ready: Duration,
    /// After the end of a phase.
    pub ended: Duration,
    /// When the user wants to stop.
    pub interrupted: Duration,
}

impl Default for Patience {
    /// That of block I/O.
    fn default() -> Patience {
        Patience { ready: PREPARATION, ended: DRAIN, interrupted: DRAIN_INTERRUPTED }
    }
}

/// The start line of a group that starts alone.
struct Alone(Clock);

impl StartLine for Alone {
    fn wait(&self, give_up: &dyn Fn() -> bool) -> Option<u64> {
        (!give_up()).then(|| self.0.now())
    }

    fn leave(&self) {}
}

impl WorkerGroup {
    /// Runs the phase: starts a thread per worker, which prepares and then calls [`WorkerStart::ready`], and collects until
    /// all have ended. Events of the phase go to `sink`.
    ///
    /// A worker that hangs does not hang a group whose phase has a runtime: some seconds after its end the worker is given
    /// up on and counted as lost.
    ///
    /// # Errors
    /// A worker could not be started, or could not prepare. A failure after the barrier is the outcome's ending.
    pub fn run<W, E>(&self, sink: &mut dyn Sink, work: impl FnMut(u32) -> W) -> Result<Outcome, WorkersError>
    where
        W: FnOnce(WorkerStart) -> Result<Finished, E> + Send + 'static,
        E: Into<WorkError> + 'static,
    {
        self.run_from(&Alone(self.clock), sink, work)
    }

    /// As [`run`](WorkerGroup::run), starting together with whatever else waits at `line`.
    pub fn run_from<W, E>(
        &self,
        line: &dyn StartLine,
        sink: &mut dyn Sink,
        work: impl FnMut(u32) -> W,
    ) -> Result<Outcome, WorkersError>
    where
        W: FnOnce(WorkerStart) -> Result<Finished, E> + Send + 'static,
        E: Into<WorkError> + 'static,
    {
        let outcome = self.run_under(&self.control.for_phase(self.phase), line, sink, work);
        self.control.forget(self.phase);
        outcome
    }

    fn run_under<W, E>(
        &self,
        control: &Control,
        line: &dyn StartLine,
        sink: &mut dyn Sink,
        mut work: impl FnMut(u32) -> W,
    ) -> Result<Outcome, WorkersError>
    where
        W: FnOnce(WorkerStart) -> Result<Finished, E> + Send + 'static,
        E: Into<WorkError> + 'static,
    {
        let end = self.stop.runtime.map_or(u64::MAX, |runtime| self.ramp.0.saturating_add(runtime.0));
        let timetable = Timetable { ramp_end: self.ramp.0, interval: self.interval.0.max(1), end };
        let barrier = Arc::new(Barrier::default());
        let (sender, messages) = mpsc::sync_channel((2 * self.workers as usize).clamp(4, UNHEARD));
        let (mut feeds, mut boards) = (Vec::new(), Vec::new());
        for index in 0..self.workers {
            let (mut recorder, feed) = recorder(timetable, &self.kinds);
            if self.stop.in_flight {
                recorder.stay_open();
            }
            let board = Arc::new(Board::default());
            feeds.push(feed);
            boards.push(board.clone());
            let worker = self.first + index;
            let lane = WorkerLane {
                phase: self.phase,
                worker,
                clock: self.clock,
                origin: 0,
                end,
                closed: None,
                control: control.clone(),
                recorder,
                board,
                used: None,
                in_flight: self.stop.in_flight,
                ramping: self.ramp > Nanos(0),
                sender: sender.clone(),
            };
            let start = WorkerStart { barrier: barrier.clone(), lane: Some(lane) };
            if let Err(error) = spawn(index, start, work(worker), sender.clone()) {
                barrier.decide(None);
                line.leave();
                return Err(WorkersError::Start(error.to_string()));
            }
        }
        drop(sender);
        let Some(origin) = self.release(&barrier, line) else { return self.called_off(&messages) };
        sink.event(&Event::PhaseReleased(release(self.phase, self.clock, origin)));
        let collector = Collector::new(self.phase, feeds);
        Ok(Conductor { group: self, control, timetable, origin, collector, messages, boards }.conduct(sink))
    }

    /// Waits for all workers and opens the barrier; `None` when a worker failed or the user interrupted.
    fn release(&self, barrier: &Barrier, line: &dyn StartLine) -> Option<u64> {
        let deadline = self.clock.now() + self.patience.ready.as_nanos() as u64;
        let interrupted = || self.control.interrupted();
        let ready = barrier.await_parties(self.workers, &|| interrupted() || self.clock.now() > deadline);
        let line_open = if ready {
            line.wait(&interrupted)
        } else {
            line.leave();
            None
        };
        let origin = line_open.map(|origin| origin.saturating_add(self.delay.0));
        barrier.decide(origin);
        origin
    }

    /// The result of a phase that was not begun: the first worker's error, or an interruption.
    fn called_off(&self, messages: &Receiver<WorkerMessage>) -> Result<Outcome, WorkersError> {
        let deadline = self.clock.now() + DRAIN_INTERRUPTED.as_nanos() as u64;
        let mut reported = 0;
        while let Some(left) = deadline.checked_sub(self.clock.now()) {
            match messages.recv_timeout(Duration::from_nanos(left)) {
                Ok(WorkerMessage::Ended(report)) => match report.result {
                    Err(error) => return Err(WorkersError::Work(error)),
                    Ok(_) => reported += 1,
                },
                Ok(WorkerMessage::Operations(_)) => {}
                Err(_) => break,
            }
        }
        // All were ready: whoever starts together with this one was not.
        if self.control.interrupted() || reported == self.workers {
            return Ok(Outcome::nothing(Ending::Interrupted));
        }
        Err(WorkersError::NotReady { workers: self.workers })
    }
}

/// Called with a phase's origin, an instant of its clock that may lie ahead.
pub fn release(phase: u32, clock: Clock, origin: u64) -> PhaseRelease {
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let now = u64::try_from(since_1970.as_nanos()).unwrap_or(u64::MAX);
    let at_unix = Nanos(now.saturating_add_signed(origin.wrapping_sub(clock.now()) as i64));
    PhaseRelease { phase, at_unix }
}

/// Starts a worker's thread; `index` counts from the group's first worker.
fn spawn<W, E>(
    index: u32,
    start: WorkerStart,
    work: W,
    sender: SyncSender<WorkerMessage>,
) -> std::io::Result<()>
where
    W: FnOnce(WorkerStart) -> Result<Finished, E> + Send + 'static,
    E: Into<WorkError> + 'static,
{
    let thread = thread::Builder::new().name(format!("worker {index}"));
    thread.spawn(move || {
        let worker = index as usize;
        let report = match work(start) {
            Ok(Some((WorkerLane { closed, recorder, used, ramping, .. }, mut end))) => {
                // One that was ended in its ramp has measured nothing.
                let used = used.filter(|_| !ramping);
                end.usage.add(used.map_or_else(Usage::default, used_since));
                WorkerReport { worker, result: Ok(Some(end)), closed, left: recorder.finish() }
            }
            Ok(None) => WorkerReport { worker, result: Ok(None), closed: None, left: Vec::new() },
            Err(error) => WorkerReport { worker, result: Err(error.into()), closed: None, left: Vec::new() },
        };
        // The conductor may have given up on this worker; then nobody listens.
        let _ = sender.send(WorkerMessage::Ended(Box::new(report)));
    })?;
    Ok(())
}

/// What the calling thread has used of the machine since `before`.
fn used_since(before: usage::ThreadUsage) -> Usage {
    usage::of_this_thread().map(|now| usage_of(now.since(before))).unwrap_or_default()
}

/// What a thread has used, as it is reported.
pub fn usage_of(used: usage::ThreadUsage) -> Usage {
    Usage {
        user: Nanos(used.user.as_nanos() as u64),
        system: Nanos(used.system.as_nanos() as u64),
        context_switches: used.context_switches,
        major_faults: used.major_faults,
        minor_faults: used.minor_faults,
        busiest: Nanos((used.user + used.system).as_nanos() as u64),
        longest_run_delay: Nanos(used.run_delay.as_nanos() as u64),
    }
}
