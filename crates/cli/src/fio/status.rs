//! Results while jobs run (`--status-interval`): what has been counted so far.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use iolite_fio::language::Thread;
use iolite_fio::output::JobResult;
use iolite_model::{Event, Interval, Nanos, PhaseInfo, Sink, Stage};
use iolite_stats::{Merger, Timetable};

use super::perform::not_begun;

/// Told, now and then, what has come of the jobs so far.
pub(super) type Told = Box<dyn FnMut(&[JobResult]) + Send>;

/// The thread that runs as a phase, if one does.
pub(super) type ThreadOf = Box<dyn Fn(u32) -> Option<Thread> + Send>;

/// Collects what running threads have counted, and tells it every so often.
#[derive(Clone)]
pub(super) struct Status(Arc<Mutex<State>>);

struct State {
    every: Duration,
    last: Instant,
    /// The thread that a phase is, if it is one.
    thread_of: ThreadOf,
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
    pub(super) fn new(every: Duration, thread_of: ThreadOf, told: Told) -> Status {
        let last = Instant::now();
        let (done, running) = (Vec::new(), BTreeMap::new());
        Status(Arc::new(Mutex::new(State { every, last, thread_of, done, running, told })))
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
        let (ramp, interval) = match &info.task {
            iolite_model::Task::File(task) => (task.ramp, task.interval),
            iolite_model::Task::Metadata(task) => (task.ramp, task.interval),
            iolite_model::Task::Database(task) => (task.ramp, task.interval),
        };
        let timetable = Timetable { ramp_end: ramp.0, interval: interval.0, end: u64::MAX };
        // A further try of the same thread takes the place of the one before.
        self.running.retain(|_, running| running.result.thread.number != thread.number);
        let running =
            Running { result: not_begun(&thread), merger: Merger::new(timetable), ramp, reached: ramp };
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
        result
    }
}
