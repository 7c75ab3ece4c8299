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
use iolite_sys::file;
use iolite_workers::{Control, StartLine};

use super::{Assignment, ChildEnd, END, Message};
use crate::error::EngineError;
use crate::phase::{Phase, Ran};
use crate::target::{Targets, access_of};
use crate::verify::Verification;

/// How often a child that waits for the start checks whether it is called off.
const LOOK: Duration = Duration::from_millis(50);

/// The way to the parent: standard output.
#[derive(Clone)]
struct Parent(Arc<Mutex<io::Stdout>>);

/// Waits for the parent's word.
struct ParentsLine {
    parent: Parent,
    clock: Clock,
    /// The instant of the start, then anything: verify.
    words: Mutex<Receiver<u64>>,
}

/// Does what standard input says. To be called by a program whose first argument is
/// [`WORKER_COMMAND`](super::WORKER_COMMAND), and by nothing else; returns when all is done and reported.
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
    let (sender, words) = sync_channel(2);
    let (interrupted, phase) = (control.clone(), assignment.phase);
    thread::spawn(move || {
        let mut line = String::new();
        while input.read_line(&mut line).is_ok_and(|read| read > 0) {
            match line.trim() {
                END => interrupted.end_phase(phase),
                // Nobody waits for it where this worker could not be ready.
                word => drop(word.parse().map(|word: u64| sender.send(word))),
            }
            line.clear();
        }
        interrupted.interrupt_run();
    });
    let line = ParentsLine { parent: parent.clone(), clock, words: Mutex::new(words) };
    match work(&assignment, &line, clock, &control, &mut parent.clone()) {
        Ok(ran) => conclude(ran, &line, &control),
        Err(error) => parent.report(&Message::Failed(error.to_string())),
    }
}

/// Sends what was measured, and verifies when the parent says so.
fn conclude(ran: Ran, line: &ParentsLine, control: &Control) -> io::Result<()> {
    let Ran { mut outcome, verification } = ran;
    let end = Message::End(Box::new(ChildEnd {
        measured: outcome.totals.measured,
        ending: outcome.ending.clone(),
        outstanding: outcome.outstanding,
        errors: std::mem::take(&mut outcome.errors),
        stuck: std::mem::take(&mut outcome.stuck),
        verified: outcome.verified.take(),
        usage: outcome.usage,
    }));
    line.parent.report(&end)?;
    let Some(verification) = verification else { return Ok(()) };
    if line.word(&|| control.interrupted()).is_none() {
        return Ok(());
    }
    match verification(&mut outcome) {
        Ok(()) => line.parent.report(&Message::Verified(outcome.verified)),
        Err(error) => line.parent.report(&Message::Failed(error.to_string())),
    }
}

fn work(
    assignment: &Assignment,
    line: &ParentsLine,
    clock: Clock,
    control: &Control,
    sink: &mut dyn Sink,
) -> Result<Ran, EngineError> {
    let Assignment { task, phase, worker, files, base, run } = assignment;
    let access = access_of(task);
    let open = |descriptor: &i32| -> Result<Arc<File>, EngineError> {
        let failed =
            |source| EngineError::File { action: "open", path: "of the parent process".into(), source };
        file::reopen(*descriptor, access).map(Arc::new).map_err(failed)
    };
    let targets = Targets::inherited(task, files.iter().map(open).collect::<Result<_, _>>()?, *base);
    let mut phase = Phase::new(task.clone(), *phase, targets)?;
    phase.here = 1;
    if let (Some(verify), Some(run)) = (&task.verify, run) {
        phase.verification = Some(Verification::new(task, verify, *run)?);
    }
    let outcome = phase.run_threads(*worker, 1, Some(line), clock, control, sink)?;
    Ok(phase.conclude_on_files(outcome, clock, control))
}

impl Parent {
    fn report(&self, message: &Message) -> io::Result<()> {
        let mut out = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        serde_json::to_writer(&mut *out, message)?;
        out.write_all(b"\n")?;
        out.flush()
    }
}

impl ParentsLine {
    /// Waits for the parent's next word; `None` when this process is to stop.
    fn word(&self, give_up: &dyn Fn() -> bool) -> Option<u64> {
        let words = self.words.lock().unwrap_or_else(PoisonError::into_inner);
        while !give_up() {
            match words.recv_timeout(LOOK) {
                Ok(word) => return Some(word),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        None
    }
}

impl Sink for Parent {
    fn event(&mut self, event: &Event) {
        if let Event::Interval(interval) = event {
            // A parent that is gone shows by the end of standard input, which stops this process.
            let _ = self.report(&Message::Interval(interval.clone()));
        }
    }
}

impl StartLine for ParentsLine {
    fn wait(&self, give_up: &dyn Fn() -> bool) -> Option<u64> {
        self.parent.report(&Message::Ready).ok()?;
        self.word(give_up).map(|instant| self.clock.at_monotonic(instant))
    }

    fn leave(&self) {}
}

/// The number of a descriptor that a child is to inherit.
pub(super) fn bequeath(file: &File) -> io::Result<i32> {
    file::inheritable(file)?;
    Ok(file.as_raw_fd())
}
