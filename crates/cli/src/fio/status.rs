//! Results while jobs run (`--status-interval`): what has been counted so far.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use iolite_jobs::fio::Thread;
use iolite_model::{Event, Interval, Nanos, PhaseInfo, Sink, Stage};
use iolite_report::fio::JobResult;
use iolite_stats::{Merger, Timetable};

use super::perform::not_begun;
use crate::runner::unix_now;

/// Told, now and then, what has come of the jobs so far.
pub(super) type Told = Box<dyn FnMut(&[JobResult]) + Send>;

/// Collects what running threads have counted, and tells it every so often.
#[derive(Clone)]
pub(super) struct Status(Arc<Mutex<State>>);

struct State {
    every: Duration,
    last: Instant,
    /// Threads that are to run as phases from `.0` on.
    threads: Vec<Thread>,
    /// Results of threads that have ended.
    done: Vec<JobResult>,
    /// By phase.
    running: BTreeMap<u32, Running>,
    told: Told,
}

/// A thread under way.
struct Running {
    result: JobResult,
    merger: Merger,
    ramp: Nanos,
    /// End of the latest interval, since the phase's start.
    reached: Nanos,
}

impl Status {
    /// Tells `told` every `every`.
    pub(super) fn new(every: Duration, threads: &[Thread], told: Told) -> Status {
        let (last, threads) = (Instant::now(), threads.to_vec());
        let (done, running) = (Vec::new(), BTreeMap::new());
        Status(Arc::new(Mutex::new(State { every, last, threads, done, running, told })))
    }

    /// These threads have ended.
    pub(super) fn done(&self, results: &[JobResult]) {
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
            Event::Interval(interval) => state.interval(interval),
            _ => {}
        }
    }
}

impl State {
    fn started(&mut self, info: &PhaseInfo) {
        // Threads run in their order, as phases: the first that has neither ended nor begun is this one.
        let next = self.done.len() + self.running.len();
        let Some(thread) = self.threads.get(next) else { return };
        let (ramp, interval) = match &info.task {
            iolite_model::Task::File(task) => (task.ramp, task.interval),
            iolite_model::Task::Metadata(task) => (task.ramp, task.interval),
            iolite_model::Task::Database(task) => (task.ramp, task.interval),
        };
        let timetable = Timetable { ramp_end: ramp.0, interval: interval.0, end: u64::MAX };
        let running = Running {
            result: JobResult { started_unix: unix_now(), ..not_begun(thread) },
            merger: Merger::new(timetable),
            ramp,
            reached: ramp,
        };
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
        if self.last.elapsed() < self.every {
            return;
        }
        self.last = Instant::now();
        let running = self.running.values().map(Running::so_far);
        let results: Vec<_> = self.done.iter().cloned().chain(running).collect();
        (self.told)(&results);
    }
}

impl Running {
    fn so_far(&self) -> JobResult {
        let measured = self.reached.0.saturating_sub(self.ramp.0);
        let mut result = self.result.clone();
        result.phase.totals = self.merger.clone().finish(self.ramp.0, measured);
        result.phase.end.measured = Nanos(measured);
        result.ended_unix = unix_now();
        result
    }
}
