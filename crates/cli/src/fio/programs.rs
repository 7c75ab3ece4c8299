//! Programs that jobs run (`ioengine=exec`).

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use iolite_engine::Control;
use iolite_fio::driver::status::ThreadOf;
use iolite_fio::language::Thread;
use iolite_fio::language::thread::Program;
use iolite_model::{Event, JobTask, Nanos, PhaseRelease, Sink};
use iolite_session::{Later, ProgramCall, RunningProgram, unix_now};

/// Starts the program of a thread with its phase, and ends it with that. As with fio, how the program ends says nothing about the job;
/// a job without a runtime ends with its program.
pub(super) struct Programs {
    control: Control,
    thread_of: ThreadOf,
    running: Arc<Mutex<BTreeMap<u32, RunningProgram>>>,
    /// Of phases with a delay, what starts the program after it.
    delayed: BTreeMap<u32, Later>,
    /// Jobs whose programs have files for their output: those of clones add to them.
    redirected: BTreeSet<String>,
}

impl Programs {
    /// Of the threads that `thread_of` finds for phases.
    pub(super) fn new(control: Control, thread_of: ThreadOf) -> Programs {
        let (running, delayed, redirected) = (Arc::default(), BTreeMap::new(), BTreeSet::new());
        Programs { control, thread_of, running, delayed, redirected }
    }

    /// A phase is released: its work begins at that instant, or has begun.
    fn start(&mut self, release: PhaseRelease) {
        let phase = release.phase;
        let Some(thread) = (self.thread_of)(phase) else { return };
        let Some(program) = &thread.program else { return };
        let timed = matches!(&thread.task, JobTask::Io(task) if task.stop.runtime.is_some());
        let (control, running) = (self.control.clone(), self.running.clone());
        let (call, name) = (call(&thread, program), program.path.display().to_string());
        let failed = {
            let control = control.clone();
            move |error: std::io::Error| {
                control.fail_phase(phase, format!("cannot run {name}: {error}; check program="))
            }
        };
        if self.redirected.insert(thread.name.clone())
            && let Err(error) = call.create_output()
        {
            return failed(error);
        }
        let begin = move || {
            let ending = control.clone();
            let ended = move || {
                if !timed {
                    ending.end_phase(phase);
                }
            };
            match RunningProgram::start(&call, ended) {
                Ok(program) => drop(locked(&running).insert(phase, program)),
                Err(error) => failed(error),
            }
        };
        let delay = release.at_unix.saturating_sub(unix_now());
        if delay == Nanos(0) {
            return begin();
        }
        match Later::after(Duration::from_nanos(delay.0), begin) {
            Ok(later) => drop(self.delayed.insert(phase, later)),
            Err(error) => self.control.fail_phase(phase, format!("cannot wait for startdelay: {error}")),
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
                drop(self.delayed.remove(&worker.phase));
                if let Some(running) = locked(&self.running).get_mut(&worker.phase) {
                    running.ask();
                }
            }
            Event::PhaseEnded(end) => {
                drop(self.delayed.remove(&end.phase));
                let ended = locked(&self.running).remove(&end.phase);
                ended.into_iter().for_each(RunningProgram::end);
            }
            _ => {}
        }
    }
}

impl Drop for Programs {
    fn drop(&mut self) {
        self.delayed.clear();
        let running = std::mem::take(&mut *locked(&self.running));
        running.into_values().for_each(RunningProgram::end);
    }
}
