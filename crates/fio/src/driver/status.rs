//! Results while jobs run (`--status-interval`, SIGUSR1): what has been counted so far.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use iolite_model::{Event, Interval, Nanos, PhaseInfo, Ramp, Sink, Stage};
use iolite_stats::{Merger, Timetable};

use crate::language::thread::Thread;
use crate::output::result::JobResult;

/// Called with the results so far.
pub type Report = Box<dyn FnMut(&[JobResult]) + Send>;

/// The thread that runs as a phase, if one does.
pub type ThreadOf = Box<dyn Fn(u32) -> Option<Thread> + Send>;

/// Collects what running threads have counted, and reports it at intervals or on request.
#[derive(Clone)]
pub struct Status(Arc<Mutex<State>>);

struct State {
    /// `None`: only when asked.
    every: Option<Duration>,
    /// Set by a signal: results are wanted now.
    asked: Arc<AtomicBool>,
    last: Instant,
    /// The thread that a phase is, if it is one.
    thread_of: ThreadOf,
    /// Results of threads that have ended.
    done: Vec<JobResult>,
    /// By phase.
    running: BTreeMap<u32, Running>,
    report: Report,
}

/// A running thread.
struct Running {
    result: JobResult,
    merger: Merger,
    ramp: Ramp,
    /// End of the latest interval, since the phase's start.
    reached: Nanos,
}

impl Status {
    /// Calls `report` every `every`, and soon after `asked` was set.
    pub fn new(
        every: Option<Duration>,
        asked: Arc<AtomicBool>,
        thread_of: ThreadOf,
        report: Report,
    ) -> Status {
        let last = Instant::now();
        let (done, running) = (Vec::new(), BTreeMap::new());
        Status(Arc::new(Mutex::new(State { every, asked, last, thread_of, done, running, report })))
    }

    /// These threads have ended.
    pub fn done(&self, results: &[JobResult]) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.done.extend_from_slice(results);
        state.running.clear();
    }
}

impl Sink for Status {
    fn event(&mut self, event: &Event) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match event {
            Event::PhaseStarted(info) => state.started(info),
            Event::PhaseReleased(release) => {
                if let Some(running) = state.running.get_mut(&release.phase) {
                    running.result.started_unix = release.at_unix;
                }
            }
            Event::Interval(interval) => state.interval(interval),
            _ => {}
        }
    }
}

impl State {
    fn started(&mut self, info: &PhaseInfo) {
        // Which thread it is only the watchers know: a search and a preparation are phases too.
        let Some(thread) = (self.thread_of)(info.index) else { return };
        let (ramp, interval) = (info.task.ramp(), info.task.interval());
        let known = ramp.known_time();
        let timetable = Timetable { ramp_end: known.0, interval: interval.0, end: u64::MAX };
        // A further try of the same thread takes the place of the one before.
        self.running.retain(|_, running| running.result.thread.number != thread.number);
        let task = info.task.clone();
        let result = JobResult::not_begun(thread.facts(), task, std::process::id(), Nanos(0));
        let running = Running { result, merger: Merger::new(timetable), ramp, reached: known };
        self.running.insert(info.index, running);
    }

    fn interval(&mut self, interval: &Interval) {
        if let Some(running) = self.running.get_mut(&interval.phase) {
            // A damaged histogram would be a bug of ours, and the final results have their own.
            let _ = running.merger.absorb(interval);
            if interval.stage == Stage::Measured {
                running.reached = running.reached.max(Nanos(interval.start.0 + interval.length.0));
            }
        }
        let asked = self.asked.swap(false, Ordering::Relaxed);
        if !asked && self.every.is_none_or(|every| self.last.elapsed() < every) {
            return;
        }
        self.last = Instant::now();
        let running = self.running.values().map(Running::so_far);
        let results: Vec<_> = self.done.iter().cloned().chain(running).collect();
        (self.report)(&results);
    }
}

impl Running {
    fn so_far(&self) -> JobResult {
        let ramp_end = match self.ramp {
            Ramp::Time(ramp) => ramp.0,
            Ramp::Amount(_) => self.merger.began(),
        };
        let measured = self.reached.0.saturating_sub(ramp_end);
        let mut result = self.result.clone();
        result.phase.totals = self.merger.clone().finish(ramp_end, measured);
        result.phase.end.measured = Nanos(measured);
        result
    }
}
