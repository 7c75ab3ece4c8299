//! A crew: workers that prepare, are released together, measure, and are collected.
//!
//! Block I/O and databases both run as crews; what differs is the work.

use std::sync::mpsc::{self, Receiver, RecvTimeoutError, SyncSender};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use iolite_model::{Ending, Event, Nanos, OpKind, Outstanding, Sink, Stop};
use iolite_stats::{Collector, Completion, PhaseTotals, Recorder, Snapshot, Timetable, recorder};
use iolite_sys::clock::Clock;

use crate::{Control, EngineError};

/// How often the workers' snapshots are collected.
const TICK: Duration = Duration::from_millis(50);

/// How long after its end an interval is passed on: a worker that is in time has handed its share over by then.
const SETTLE: Duration = Duration::from_millis(100);

/// How long to wait for operations in flight after the end of a phase, before they are reported as lost.
pub(crate) const DRAIN: Duration = Duration::from_secs(3);

/// How long workers may take to get ready: beyond it one of them hangs.
const PREPARATION: Duration = Duration::from_secs(30);

/// How long to wait for operations in flight when the user wants to stop.
pub(crate) const DRAIN_INTERRUPTED: Duration = Duration::from_millis(250);

/// What a crew needs to know of its phase.
#[derive(Debug, Clone)]
pub struct Crew {
    /// Number of the phase within the run.
    pub phase: u32,
    /// Workers.
    pub workers: u32,
    /// Kinds of operation that the workers will record.
    pub kinds: Vec<OpKind>,
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
}

/// What came of a phase.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// The counts.
    pub totals: PhaseTotals,
    /// How it ended.
    pub ending: Ending,
    /// What had not completed at the end.
    pub outstanding: Outstanding,
    /// The first error of an operation, for people.
    pub first_error: Option<String>,
}

/// What a worker tells at its end.
#[derive(Debug, Default)]
pub struct WorkerEnd {
    /// What had not completed at the end.
    pub outstanding: Outstanding,
    /// The first error of an operation, for people.
    pub first_error: Option<String>,
    /// Why the worker had to end before its time; ends the phase, what was measured is kept.
    pub failure: Option<EngineError>,
}

/// A worker's end: its lane with what it told, or `None` when the phase was called off at the barrier.
pub type Finished = Option<(Lane, WorkerEnd)>;

/// A worker's side of the phase, once it has been released.
#[derive(Debug)]
pub struct Lane {
    clock: Clock,
    origin: u64,
    end: u64,
    closed: Option<u64>,
    control: Control,
    recorder: Recorder,
}

/// A worker's place at the barrier.
#[derive(Debug)]
pub struct Start {
    gate: Arc<Gate>,
    lane: Option<Lane>,
}

/// The barrier: opens when every worker is ready, or fails when one is not.
#[derive(Debug, Default)]
struct Gate {
    state: Mutex<GateState>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct GateState {
    ready: u32,
    gone: u32,
    /// `Some(Some(origin))` when opened at that instant, `Some(None)` when the phase is off.
    decided: Option<Option<u64>>,
}

/// What a worker's thread sends when it ends.
struct Report {
    worker: usize,
    result: Result<Option<WorkerEnd>, EngineError>,
    closed: Option<u64>,
    left: Vec<Snapshot>,
}

impl Crew {
    /// Runs the phase: starts a thread per worker, which prepares and then calls [`Start::ready`], and collects until
    /// all have ended. Events of the phase go to `sink`.
    ///
    /// A worker that hangs does not hang a crew whose phase has a runtime: some seconds after its end the worker is given
    /// up on and counted as lost.
    ///
    /// # Errors
    /// A worker could not be started, or could not prepare. A failure after the barrier is the outcome's ending.
    pub fn run<W>(&self, sink: &mut dyn Sink, mut work: impl FnMut(u32) -> W) -> Result<Outcome, EngineError>
    where
        W: FnOnce(Start) -> Result<Finished, EngineError> + Send + 'static,
    {
        let control = self.control.for_phase();
        let end = self.stop.runtime.map_or(u64::MAX, |runtime| self.ramp.0.saturating_add(runtime.0));
        let timetable = Timetable { ramp_end: self.ramp.0, interval: self.interval.0.max(1), end };
        let gate = Arc::new(Gate::default());
        let (reports_in, reports) = mpsc::sync_channel(self.workers as usize);
        let mut feeds = Vec::with_capacity(self.workers as usize);
        for worker in 0..self.workers {
            let (recorder, feed) = recorder(timetable, &self.kinds);
            feeds.push(feed);
            let lane =
                Lane { clock: self.clock, origin: 0, end, closed: None, control: control.clone(), recorder };
            let start = Start { gate: gate.clone(), lane: Some(lane) };
            if let Err(error) = spawn(worker, start, work(worker), reports_in.clone()) {
                gate.decide(None);
                return Err(EngineError::Worker(error.to_string()));
            }
        }
        drop(reports_in);
        let Some(origin) = self.release(&gate) else { return self.called_off(&reports) };
        let collector = Collector::new(self.phase, feeds);
        Conductor { crew: self, control, timetable, origin, collector, reports }.conduct(sink)
    }

    /// Waits for all workers and opens the gate; `None` when a worker failed or the user interrupted.
    fn release(&self, gate: &Gate) -> Option<u64> {
        let deadline = self.clock.now() + PREPARATION.as_nanos() as u64;
        let mut state = gate.lock();
        let off =
            |state: &GateState| state.gone > 0 || self.control.interrupted() || self.clock.now() > deadline;
        while state.ready < self.workers && !off(&state) {
            state = gate.changed.wait_timeout(state, TICK).unwrap_or_else(PoisonError::into_inner).0;
        }
        let go = state.ready == self.workers && !off(&state);
        drop(state);
        gate.decide(go.then(|| self.clock.now()));
        gate.lock().decided.flatten()
    }

    /// The result of a phase that was not begun: the first worker's error, or an interruption.
    fn called_off(&self, reports: &Receiver<Report>) -> Result<Outcome, EngineError> {
        let deadline = self.clock.now() + DRAIN_INTERRUPTED.as_nanos() as u64;
        while let Some(left) = deadline.checked_sub(self.clock.now()) {
            match reports.recv_timeout(Duration::from_nanos(left)) {
                Ok(Report { result: Err(error), .. }) => return Err(error),
                Ok(_) => {}
                Err(_) => break,
            }
        }
        if !self.control.interrupted() {
            return Err(EngineError::Ready { workers: self.workers });
        }
        Ok(Outcome {
            totals: PhaseTotals::default(),
            ending: Ending::Interrupted,
            outstanding: Outstanding::default(),
            first_error: None,
        })
    }
}

fn spawn<W>(worker: u32, start: Start, work: W, reports: SyncSender<Report>) -> std::io::Result<()>
where
    W: FnOnce(Start) -> Result<Finished, EngineError> + Send + 'static,
{
    let thread = thread::Builder::new().name(format!("worker {worker}"));
    thread.spawn(move || {
        let worker = worker as usize;
        let report = match work(start) {
            Ok(Some((Lane { closed, recorder, .. }, end))) => {
                Report { worker, result: Ok(Some(end)), closed, left: recorder.finish() }
            }
            Ok(None) => Report { worker, result: Ok(None), closed: None, left: Vec::new() },
            Err(error) => Report { worker, result: Err(error), closed: None, left: Vec::new() },
        };
        // The conductor may have given up on this worker; then nobody listens.
        let _ = reports.send(report);
    })?;
    Ok(())
}

/// Collects while the workers measure.
struct Conductor<'a> {
    crew: &'a Crew,
    control: Control,
    timetable: Timetable,
    origin: u64,
    collector: Collector,
    reports: Receiver<Report>,
}

impl Conductor<'_> {
    fn conduct(mut self, sink: &mut dyn Sink) -> Result<Outcome, EngineError> {
        let mut ends = Ends::default();
        while ends.reports < self.crew.workers && !self.overdue(&mut ends) {
            match self.reports.recv_timeout(TICK) {
                Ok(report) => ends.take(report, &mut self.collector),
                Err(RecvTimeoutError::Timeout) => {}
                // All threads have ended, but not all have reported.
                Err(RecvTimeoutError::Disconnected) => {
                    ends.failure.get_or_insert_with(|| "a worker's thread has died, which is a bug".into());
                    break;
                }
            }
            if ends.failure.is_some() {
                self.control.interrupt();
            }
            let settled = self.now().saturating_sub(SETTLE.as_nanos() as u64);
            for interval in self.collector.collect(settled) {
                sink.event(&Event::Interval(interval));
            }
        }
        Ok(self.conclude(ends, sink))
    }

    fn now(&self) -> u64 {
        self.crew.clock.now().saturating_sub(self.origin)
    }

    /// Whether the workers that have not ended are to be given up on.
    fn overdue(&self, ends: &mut Ends) -> bool {
        let now = self.now();
        if self.control.interrupted() && ends.interrupted_at.is_none() {
            ends.interrupted_at = Some(now);
        }
        // The workers wait for their own operations; what they need beyond that is a few ticks.
        let grace = 4 * TICK.as_nanos() as u64;
        let after = |at: u64, patience: Duration| now > at.saturating_add(patience.as_nanos() as u64 + grace);
        after(self.timetable.end, DRAIN) || ends.interrupted_at.is_some_and(|at| after(at, DRAIN_INTERRUPTED))
    }

    fn conclude(self, ends: Ends, sink: &mut dyn Sink) -> Outcome {
        let now = self.now();
        let missing = u64::from(self.crew.workers - ends.reports);
        // The last worker's end is the phase's. One that is still at it has not told its own.
        let told = if missing > 0 { ends.interrupted_at } else { ends.closed };
        let end = told.unwrap_or(self.timetable.end).min(self.timetable.end).min(now);
        let measured = end.saturating_sub(self.timetable.ramp_end);
        let (intervals, workers, totals) = self.collector.finish(self.timetable.ramp_end, measured);
        intervals.into_iter().for_each(|interval| sink.event(&Event::Interval(interval)));
        workers.into_iter().for_each(|worker| sink.event(&Event::Worker(worker)));
        let mut outstanding = ends.outstanding;
        outstanding.oldest = Nanos(outstanding.oldest.0.max(totals.drain_max));
        if missing > 0 {
            outstanding.at_end += missing;
            outstanding.lost += missing;
            outstanding.oldest = Nanos(outstanding.oldest.0.max(now - end));
        }
        let ending = match ends.failure {
            Some(failure) => Ending::Failed(failure),
            None if self.control.interrupted() => Ending::Interrupted,
            None => Ending::Completed,
        };
        Outcome { totals, ending, outstanding, first_error: ends.first_error }
    }
}

/// What the workers' ends add up to.
#[derive(Default)]
struct Ends {
    reports: u32,
    failure: Option<String>,
    first_error: Option<String>,
    outstanding: Outstanding,
    /// The latest instant at which a worker ended its measured part.
    closed: Option<u64>,
    interrupted_at: Option<u64>,
}

impl Ends {
    fn take(&mut self, report: Report, collector: &mut Collector) {
        self.reports += 1;
        self.closed = self.closed.max(report.closed);
        report.left.iter().for_each(|snapshot| collector.absorb(report.worker, snapshot));
        let failure = match report.result {
            Ok(None) => None,
            Ok(Some(end)) => {
                self.outstanding.at_end += end.outstanding.at_end;
                self.outstanding.lost += end.outstanding.lost;
                self.outstanding.backlog += end.outstanding.backlog;
                self.outstanding.oldest = self.outstanding.oldest.max(end.outstanding.oldest);
                self.first_error = self.first_error.take().or(end.first_error);
                end.failure
            }
            Err(error) => Some(error),
        };
        self.failure = self.failure.take().or(failure.map(|error| error.to_string()));
    }
}

impl Gate {
    fn lock(&self) -> MutexGuard<'_, GateState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn decide(&self, origin: Option<u64>) {
        self.lock().decided.get_or_insert(origin);
        self.changed.notify_all();
    }
}

impl Start {
    /// Tells that this worker is ready, waits for the others, and returns its lane: time starts now. `None` when the
    /// phase is off.
    pub fn ready(mut self) -> Option<Lane> {
        let mut lane = self.lane.take()?;
        let mut state = self.gate.lock();
        state.ready += 1;
        self.gate.changed.notify_all();
        while state.decided.is_none() {
            state = self.gate.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        lane.origin = state.decided.flatten()?;
        Some(lane)
    }
}

impl Drop for Start {
    /// A place given up before it was ready calls the phase off.
    fn drop(&mut self) {
        if self.lane.is_some() {
            self.gate.lock().gone += 1;
            self.gate.changed.notify_all();
        }
    }
}

impl Lane {
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

    /// Whether nothing more is to be started: the time is over or the user wants to stop.
    #[inline]
    pub fn is_over(&self, now: u64) -> bool {
        now >= self.end || self.control.interrupted()
    }

    /// Whether the user wants to stop.
    pub fn interrupted(&self) -> bool {
        self.control.interrupted()
    }

    /// Counts an operation that succeeded.
    #[inline]
    pub fn record(&mut self, op: Completion) {
        self.recorder.record(op);
    }

    /// Counts an operation that failed.
    pub fn record_error(&mut self, kind: OpKind, completed: u64) {
        self.recorder.record_error(kind, completed);
    }

    /// Notes that time has passed though nothing completed.
    pub fn advance(&mut self, now: u64) {
        self.recorder.advance(now);
    }

    /// Ends the measured part for this worker, now or where the phase's time was over before; what completes from here
    /// on belongs to the drain. To be called once, by every worker.
    pub fn close(&mut self, now: u64) {
        let end = now.min(self.end);
        self.recorder.close(end);
        self.closed = Some(end);
        self.end = end;
    }
}
