//! Programs that jobs run (`ioengine=exec`).

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use iolite_engine::Control;
use iolite_fio::driver::status::ThreadOf;
use iolite_fio::language::Thread;
use iolite_fio::language::thread::Program;
use iolite_model::{Event, JobTask, Sink};
use iolite_session::{ProgramCall, RunningProgram};

/// Starts the program of a thread with its phase, and ends it with that. As with fio, how the program ends says nothing about the job;
/// a job without a runtime ends with its program.
pub(super) struct Programs {
    control: Control,
    thread_of: ThreadOf,
    running: BTreeMap<u32, RunningProgram>,
}

impl Programs {
    /// Of the threads that `thread_of` finds for phases.
    pub(super) fn new(control: Control, thread_of: ThreadOf) -> Programs {
        Programs { control, thread_of, running: BTreeMap::new() }
    }

    fn start(&mut self, phase: u32) {
        let Some(thread) = (self.thread_of)(phase) else { return };
        let Some(program) = &thread.program else { return };
        let timed = matches!(&thread.task, JobTask::Io(task) if task.stop.runtime.is_some());
        let control = self.control.clone();
        let ended = move || {
            if !timed {
                control.end_phase(phase);
            }
        };
        match RunningProgram::start(&call(&thread, program), ended) {
            Ok(running) => drop(self.running.insert(phase, running)),
            Err(error) => self
                .control
                .fail_phase(phase, format!("cannot run {}: {error}; check program=", program.path.display())),
        }
    }
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
            Event::PhaseReleased(release) => self.start(release.phase),
            // The thread is over, and others of its set may go on.
            Event::Worker(worker) => {
                if let Some(running) = self.running.get_mut(&worker.phase) {
                    running.ask();
                }
            }
            Event::PhaseEnded(end) => {
                if let Some(running) = self.running.remove(&end.phase) {
                    running.end();
                }
            }
            _ => {}
        }
    }
}

impl Drop for Programs {
    fn drop(&mut self) {
        std::mem::take(&mut self.running).into_values().for_each(RunningProgram::end);
    }
}
