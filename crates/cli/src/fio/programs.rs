//! Programs that jobs run (`ioengine=exec`).

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use iolite_engine::Control;
use iolite_fio::driver::status::ThreadOf;
use iolite_fio::language::Thread;
use iolite_fio::language::thread::Program;
use iolite_model::{Event, JobTask, Nanos, PhaseRelease, Sink};
use iolite_session::{ProgramCall, RunningProgram, unix_now};

/// Starts the program of a thread with its phase, and ends it with that. As with fio, how the program ends says nothing about the job;
/// a job without a runtime ends with its program.
pub(super) struct Programs {
    control: Control,
    thread_of: ThreadOf,
    running: Arc<Mutex<BTreeMap<u32, RunningProgram>>>,
    /// Of phases with a delay, what starts the program after it; dropped, its sender says that there is nothing to start.
    delayed: BTreeMap<u32, (Sender<()>, JoinHandle<()>)>,
}

impl Programs {
    /// Of the threads that `thread_of` finds for phases.
    pub(super) fn new(control: Control, thread_of: ThreadOf) -> Programs {
        Programs { control, thread_of, running: Arc::default(), delayed: BTreeMap::new() }
    }

    /// A phase is released: its work begins at that instant, or has begun.
    fn start(&mut self, release: PhaseRelease) {
        let phase = release.phase;
        let Some(thread) = (self.thread_of)(phase) else { return };
        let Some(program) = &thread.program else { return };
        let timed = matches!(&thread.task, JobTask::Io(task) if task.stop.runtime.is_some());
        let (control, running) = (self.control.clone(), self.running.clone());
        let (call, name) = (call(&thread, program), program.path.display().to_string());
        let begin = move || {
            let ending = control.clone();
            let ended = move || {
                if !timed {
                    ending.end_phase(phase);
                }
            };
            match RunningProgram::start(&call, ended) {
                Ok(program) => drop(locked(&running).insert(phase, program)),
                Err(error) => {
                    control.fail_phase(phase, format!("cannot run {name}: {error}; check program="));
                }
            }
        };
        let delay = release.at_unix.saturating_sub(unix_now());
        if delay == Nanos(0) {
            return begin();
        }
        let (dropped, is_dropped) = mpsc::channel();
        let wait = move || {
            if is_dropped.recv_timeout(Duration::from_nanos(delay.0)) == Err(RecvTimeoutError::Timeout) {
                begin();
            }
        };
        match std::thread::Builder::new().name("startdelay".into()).spawn(wait) {
            Ok(waiting) => drop(self.delayed.insert(phase, (dropped, waiting))),
            Err(error) => self.control.fail_phase(phase, format!("cannot wait for startdelay: {error}")),
        }
    }

    /// Its program, started or not, is not to begin any more.
    fn settle(&mut self, phase: u32) {
        if let Some((sender, waiting)) = self.delayed.remove(&phase) {
            drop(sender);
            let _ = waiting.join();
        }
    }
}

fn locked(running: &Mutex<BTreeMap<u32, RunningProgram>>) -> MutexGuard<'_, BTreeMap<u32, RunningProgram>> {
    running.lock().unwrap_or_else(PoisonError::into_inner)
}

fn call(thread: &Thread, program: &Program) -> ProgramCall {
    let Program { path, arguments, grace, redirected } = program.clone();
    let file = |stream: &str| PathBuf::from(format!("{}.{stream}", thread.name));
    let output = redirected.then(|| [file("stdout"), file("stderr")]);
    ProgramCall { path, arguments, output, grace: Duration::from_nanos(grace.0) }
}

impl Sink for Programs {
    fn event(&mut self, event: &Event) {
        match event {
            Event::PhaseReleased(release) => self.start(*release),
            // The thread is over, and others of its set may go on.
            Event::Worker(worker) => {
                self.settle(worker.phase);
                if let Some(running) = locked(&self.running).get_mut(&worker.phase) {
                    running.ask();
                }
            }
            Event::PhaseEnded(end) => {
                self.settle(end.phase);
                let ended = locked(&self.running).remove(&end.phase);
                ended.into_iter().for_each(RunningProgram::end);
            }
            _ => {}
        }
    }
}

impl Drop for Programs {
    fn drop(&mut self) {
        let delayed: Vec<u32> = self.delayed.keys().copied().collect();
        delayed.into_iter().for_each(|phase| self.settle(phase));
        let running = std::mem::take(&mut *locked(&self.running));
        running.into_values().for_each(RunningProgram::end);
    }
}
