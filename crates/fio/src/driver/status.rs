//! Results while jobs run (`--status-interval`, SIGUSR1): what has been counted so far.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use iolite_model::{Event, Nanos};
use iolite_results::{Run, RunWatch};

use crate::language::thread::Thread;
use crate::output::result::JobResult;

/// Called with the results so far.
pub type Report = Box<dyn FnMut(&[JobResult]) + Send>;

/// The thread that runs as a phase, if one does.
pub type ThreadOf = Box<dyn Fn(u32) -> Option<Thread> + Send>;

/// Reports what running threads have counted at intervals, or on request.
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
    /// By the number of a running thread: the phase that it is.
    running: BTreeMap<u32, u32>,
    report: Report,
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

impl RunWatch for Status {
    fn after(&mut self, event: &Event, run: &Run) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match event {
            Event::PhaseStarted(info) => state.started(info.index),
            Event::Interval(_) => state.report_if_due(run),
            _ => {}
        }
    }
}

impl State {
    fn started(&mut self, phase: u32) {
        // Which thread it is only the watchers know: a search and a preparation are phases too.
        if let Some(thread) = (self.thread_of)(phase) {
            // A further try of the same thread takes the place of the one before.
            self.running.insert(thread.number, phase);
        }
    }

    fn report_if_due(&mut self, run: &Run) {
        let asked = self.asked.swap(false, Ordering::Relaxed);
        if !asked && self.every.is_none_or(|every| self.last.elapsed() < every) {
            return;
        }
        self.last = Instant::now();
        let running = self.running.values().filter_map(|phase| self.so_far(*phase, run));
        let results: Vec<_> = self.done.iter().cloned().chain(running).collect();
        (self.report)(&results);
    }

    /// What a running thread has counted so far.
    fn so_far(&self, phase: u32, run: &Run) -> Option<JobResult> {
        let thread = (self.thread_of)(phase)?;
        let started = run.released.get(&phase).copied().unwrap_or(Nanos(0));
        let mut result = JobResult::not_begun(thread.facts(), thread.task.task(), run.info.process, started);
        (result.phase.totals, result.phase.end.measured) = run.so_far(phase)?;
        Some(result)
    }
}
