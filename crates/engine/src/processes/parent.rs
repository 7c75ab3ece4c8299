//! The side of the process that measures by others.

use std::collections::BTreeSet;
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use iolite_model::{Ending, FileTask, Nanos, Sink, Start};
use iolite_stats::Collector;
use iolite_sys::clock::Clock;
use iolite_workers::{
    Control, DRAIN, DRAIN_INTERRUPTED, LAST_SYNC, Outcome, Patience, StartLine, Transport, WorkerEnd,
    WorkerGroup, WorkerMessage, WorkerReport, WorkersError,
};

use super::{Assignment, ChildEnd, END, Message, WORKER_COMMAND, child};
use crate::backend::Files;
use crate::error::EngineError;
use crate::phase::{Phase, Ran, Verifying};

/// How long processes may take to get ready.
const PREPARATION: Duration = Duration::from_secs(60);

/// Time that a child beyond its own patience is given to send the rest.
const GRACE: Duration = Duration::from_secs(2);

/// How long after its end an interval is passed on: a child's own conductor has passed it on by then.
const SETTLE: Duration = Duration::from_millis(300);

/// How often a parent that waits for children to verify checks whether the user wants to stop.
const LOOK: Duration = Duration::from_millis(50);

/// A phase's workers as processes: children of this one, reached by pipes.
struct Processes {
    phase: Phase,
    group: WorkerGroup,
    children: Vec<Child>,
    /// By child: the way to it, closed to interrupt it.
    ways: Vec<Option<ChildStdin>>,
    /// Time has begun for them.
    released: bool,
    /// Children that have measured, and whose output has not ended.
    measured: BTreeSet<usize>,
    messages: (Sender<FromChild>, Receiver<FromChild>),
}

/// What came from a child; `None` when its output has ended.
type FromChild = (usize, Option<Message>);

/// Runs a phase with a process for each worker.
pub(crate) fn run(
    phase: &Phase,
    line: Option<&dyn StartLine>,
    clock: Clock,
    control: &Control,
    sink: &mut dyn Sink,
) -> Result<Ran, EngineError> {
    // A child itself knows how long it may wait for what it has written to become durable.
    let ended = if phase.task.durability.end_sync.is_some() { LAST_SYNC } else { DRAIN };
    let patience =
        Patience { ready: PREPARATION, ended: ended + GRACE, interrupted: DRAIN_INTERRUPTED + GRACE };
    let group = WorkerGroup { patience, ..phase.group(0, phase.task.workers, clock, control) };
    let mut processes = Processes {
        phase: phase.clone(),
        group: group.clone(),
        children: Vec::new(),
        ways: Vec::new(),
        released: false,
        measured: BTreeSet::new(),
        messages: channel(),
    };
    let outcome = group.run_over(&mut processes, line, sink)?;
    let verifies = phase.task.verify.as_ref().is_some_and(|verify| verify.after);
    let control = control.apart();
    let verification = (verifies && processes.released)
        .then(|| -> Verifying { Box::new(move |outcome| processes.verify(outcome, &control)) });
    Ok(Ran { outcome, verification })
}

impl Processes {
    /// What a child is to do. Its group's delay is the parent's affair.
    fn assignment(&self, worker: u32) -> io::Result<Assignment> {
        let phase = &self.phase;
        let files = phase.targets.files(worker);
        let spans = files.iter().flat_map(Files::spans);
        let start = Start { delay: Nanos(0), ..phase.task.start.clone() };
        Ok(Assignment {
            task: FileTask { start, ..phase.task.clone() },
            phase: phase.number,
            worker,
            files: spans.map(|span| child::bequeath(&span.file)).collect::<io::Result<_>>()?,
            base: phase.targets.base(),
            run: phase.verification.as_ref().map(|verification| verification.run()),
        })
    }

    fn spawn(&mut self, worker: usize) -> io::Result<()> {
        let assignment = serde_json::to_string(&self.assignment(worker as u32)?)?;
        // Its own group, so that Ctrl-C in a terminal reaches the parent alone, which then ends its children in order.
        let mut child = Command::new("/proc/self/exe")
            .arg(WORKER_COMMAND)
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let (way, output) = (child.stdin.take(), child.stdout.take());
        self.children.push(child);
        self.ways.push(way);
        self.say_to(worker, &assignment);
        let messages = self.messages.0.clone();
        listen(worker, output.ok_or(io::ErrorKind::BrokenPipe)?, messages)
    }

    /// Says a word to a child. One that has died meanwhile shows by the end of its output.
    fn say_to(&mut self, worker: usize, word: &str) {
        let _ = self.ways[worker].as_mut().map(|way| writeln!(way, "{word}"));
    }

    fn say(&mut self, word: &str) {
        (0..self.ways.len()).for_each(|worker| self.say_to(worker, word));
    }

    /// Asks the children to verify, and adds up what they find.
    fn verify(mut self, outcome: &mut Outcome, control: &Control) -> Result<(), EngineError> {
        self.say("0");
        let verified = outcome.verified.get_or_insert_default();
        let mut found = 0;
        while !self.measured.is_empty() && !control.interrupted() {
            match self.messages.1.recv_timeout(LOOK) {
                Ok((child, Some(Message::Verified(what)))) => {
                    verified.add(what.unwrap_or_default());
                    found += usize::from(self.measured.remove(&child));
                }
                Ok((_, Some(Message::Failed(failure)))) => return Err(EngineError::Other(failure)),
                Ok((child, None)) => drop(self.measured.remove(&child)),
                Ok(_) | Err(_) => {}
            }
        }
        verified.incomplete |= found < self.children.len();
        Ok(())
    }

    fn report(&self, end: ChildEnd) -> WorkerReport {
        let ChildEnd { measured, ending, outstanding, errors, stuck, verified, usage } = end;
        let failure = if let Ending::Failed(failure) = ending { Some(failure.into()) } else { None };
        let end =
            WorkerEnd { outstanding, errors, stuck, verified, read_back: None, usage, detail: None, failure };
        let closed = self.group.timetable().ramp_end.saturating_add(measured);
        WorkerReport { end, closed: Some(closed), left: Vec::new() }
    }
}

impl Transport for Processes {
    fn start(&mut self, worker: usize) -> Result<(), WorkersError> {
        self.spawn(worker).map_err(WorkersError::Start)
    }

    fn receive(&mut self, patience: Duration) -> Option<(usize, WorkerMessage)> {
        let (child, message) = self.messages.1.recv_timeout(patience).ok()?;
        let message = match message {
            Some(Message::Ready) => WorkerMessage::Ready,
            Some(Message::Interval(interval)) => WorkerMessage::Interval(interval),
            Some(Message::Failed(error)) => WorkerMessage::Failed(error.into()),
            Some(Message::End(end)) => {
                self.measured.insert(child);
                WorkerMessage::Ended(Box::new(self.report(*end)))
            }
            // Nobody has asked for it yet.
            Some(Message::Verified(_)) => return None,
            None => {
                self.measured.remove(&child);
                WorkerMessage::Gone
            }
        };
        Some((child, message))
    }

    fn release(&mut self, origin: Option<u64>) {
        self.released = origin.is_some();
        match origin {
            Some(origin) => self.say(&self.group.clock.monotonic_at(origin).to_string()),
            None => self.interrupt(),
        }
    }

    fn collector(&mut self) -> Collector {
        Collector::without_feeds(self.group.phase, self.group.workers, self.group.timetable())
    }

    fn settle(&self) -> Duration {
        SETTLE
    }

    fn span(&self) -> (u64, u64) {
        let timetable = self.group.timetable();
        (timetable.ramp_end, timetable.end)
    }

    fn end(&mut self) {
        self.say(END);
    }

    fn interrupt(&mut self) {
        self.ways.iter_mut().for_each(|way| *way = None);
    }
}

impl Drop for Processes {
    /// Ends what has not ended. A child in the kernel's hands ends when the kernel lets it go, and is not waited for.
    fn drop(&mut self) {
        self.interrupt();
        self.children.retain_mut(|child| !matches!(child.try_wait(), Ok(Some(_))));
        for child in &mut self.children {
            let _ = child.kill();
        }
        let patience = Instant::now();
        while !self.children.is_empty() && patience.elapsed() < DRAIN_INTERRUPTED {
            thread::sleep(Duration::from_millis(1));
            self.children.retain_mut(|child| matches!(child.try_wait(), Ok(None)));
        }
    }
}

/// Passes on what a child says, line by line, from a thread of its own.
fn listen(
    child: usize,
    output: impl io::Read + Send + 'static,
    messages: Sender<FromChild>,
) -> io::Result<()> {
    thread::Builder::new().name(format!("listener {child}")).spawn(move || {
        for line in BufReader::new(output).lines().map_while(Result::ok) {
            let Ok(message) = serde_json::from_str(&line) else { break };
            if messages.send((child, Some(message))).is_err() {
                return;
            }
        }
        let _ = messages.send((child, None));
    })?;
    Ok(())
}
