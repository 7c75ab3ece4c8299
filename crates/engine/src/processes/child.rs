//! The side of a worker's process.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::os::fd::AsRawFd;
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use iolite_model::{Event, Sink};
use iolite_sys::clock::Clock;
use iolite_sys::file::{self, Access};

use super::{Assignment, ChildEnd, Message};
use crate::backend::Sync;
use crate::gate::StartLine;
use crate::phase::Phase;
use crate::target::Targets;
use crate::validate::changes;
use crate::verify::Verification;
use crate::{Control, EngineError, Outcome};

/// How often a child that waits for the start looks whether it is called off.
const LOOK: Duration = Duration::from_millis(50);

/// The way to the parent: standard output.
#[derive(Clone)]
struct Parent(Arc<Mutex<io::Stdout>>);

/// Waits for the parent's word.
struct ParentsLine {
    parent: Parent,
    clock: Clock,
    start: Mutex<Receiver<u64>>,
}

/// Does what standard input says. To be called by a program whose first argument is
/// [`WORKER_COMMAND`](super::WORKER_COMMAND), and by nothing else; returns when all is done and told.
///
/// # Errors
/// The parent is gone, or is not one.
pub fn serve_worker() -> io::Result<()> {
    let mut input = BufReader::new(io::stdin());
    let mut line = String::new();
    input.read_line(&mut line)?;
    let assignment: Assignment = serde_json::from_str(&line)?;
    let parent = Parent(Arc::new(Mutex::new(io::stdout())));
    let control = Control::default();
    let clock = Clock::best();
    let (tell_start, start) = sync_channel(1);
    let interrupted = control.clone();
    thread::spawn(move || {
        let mut line = String::new();
        if input.read_line(&mut line).is_ok_and(|read| read > 0) {
            // Nobody waits for it where this worker could not be ready.
            let _ = line.trim().parse().map(|instant: u64| tell_start.send(instant));
            line.clear();
            let _ = input.read_line(&mut line);
        }
        interrupted.interrupt_run();
    });
    let line = ParentsLine { parent: parent.clone(), clock, start: Mutex::new(start) };
    let end = match work(&assignment, &line, clock, &control, &mut parent.clone()) {
        Ok(outcome) => Message::End(Box::new(ChildEnd {
            measured: outcome.totals.measured,
            ending: outcome.ending,
            outstanding: outcome.outstanding,
            errors: outcome.errors,
            stuck: outcome.stuck,
            verified: outcome.verified,
        })),
        Err(error) => Message::Failed(error.to_string()),
    };
    parent.tell(&end)
}

fn work(
    assignment: &Assignment,
    line: &ParentsLine,
    clock: Clock,
    control: &Control,
    sink: &mut dyn Sink,
) -> Result<Outcome, EngineError> {
    let Assignment { task, phase, worker, target, base, run } = assignment;
    let access = Access {
        write: changes(task.mix),
        direct: task.direct,
        append: task.access == iolite_model::Access::Append,
    };
    let open = |descriptor: i32| -> Result<Arc<File>, EngineError> {
        let failed =
            |source| EngineError::File { action: "open", path: "of the parent process".into(), source };
        file::reopen(descriptor, access).map(Arc::new).map_err(failed)
    };
    let targets = Targets::inherited(target.map(open).transpose()?, *base);
    let mut phase = Phase::new(task.clone(), *phase, targets)?;
    if let (Some(verify), Some(run)) = (&task.verify, run) {
        phase.verification = Some(Verification::new(task, verify, *run)?);
    }
    let mut outcome = phase.run_threads(*worker, 1, Some(line), clock, control, sink)?;
    let targets = phase.targets.clone();
    phase.conclude(&mut outcome, clock, control, move |task, worker| {
        let room = Verification::read_back_block(task);
        let file = targets.file(worker).ok_or(io::ErrorKind::NotFound)?.clone();
        Ok((Sync::new(file, room)?, 1, room))
    })?;
    Ok(outcome)
}

impl Parent {
    fn tell(&self, message: &Message) -> io::Result<()> {
        let mut out = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        serde_json::to_writer(&mut *out, message)?;
        out.write_all(b"\n")?;
        out.flush()
    }
}

impl Sink for Parent {
    fn event(&mut self, event: &Event) {
        let message = match event {
            Event::Interval(interval) => Message::Interval(interval.clone()),
            Event::Worker(worker) => Message::Worker(worker.clone()),
            _ => return,
        };
        // A parent that is gone shows by the end of standard input, which stops this process.
        let _ = self.tell(&message);
    }
}

impl StartLine for ParentsLine {
    fn wait(&self, give_up: &dyn Fn() -> bool) -> Option<u64> {
        self.parent.tell(&Message::Ready).ok()?;
        let start = self.start.lock().unwrap_or_else(PoisonError::into_inner);
        while !give_up() {
            match start.recv_timeout(LOOK) {
                Ok(instant) => return Some(self.clock.at_monotonic(instant)),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        None
    }

    fn leave(&self) {}
}

/// The number of a descriptor that a child is to inherit.
pub(super) fn bequeath(file: &File) -> io::Result<i32> {
    file::inheritable(file)?;
    Ok(file.as_raw_fd())
}
