//! The side of the process that measures by others.

use std::collections::BTreeSet;
use std::fmt::Display;
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

use iolite_model::{
    Ending, ErrorTally, Event, Interval, Nanos, OpTotals, Outstanding, Sink, Stage, Stuck, Usage, Verified,
};
use iolite_stats::{Merger, PhaseTotals};
use iolite_sys::clock::Clock;
use iolite_workers::{
    Control, DRAIN, DRAIN_INTERRUPTED, LAST_SYNC, Outcome, StartLine, TICK, WorkersError, release,
};

use super::{Assignment, ChildEnd, END, Message, WORKER_COMMAND, child};
use crate::error::EngineError;
use crate::phase::{Phase, Ran, Verifying};

/// How long processes may take to get ready.
const PREPARATION: Duration = Duration::from_secs(60);

/// Time that a child beyond its end is given to send the rest.
const GRACE: Duration = Duration::from_secs(2);

/// What came from a child; `None` when its output has ended.
type FromChild = (usize, Option<Message>);

/// The children of a phase.
struct Family {
    children: Vec<Child>,
    /// By child: the way to it, closed to interrupt it.
    ways: Vec<Option<ChildStdin>>,
    messages: Receiver<FromChild>,
}

/// Runs a phase with a process for each worker.
pub(crate) fn run(
    phase: &Phase,
    line: Option<&dyn StartLine>,
    clock: Clock,
    control: &Control,
    sink: &mut dyn Sink,
) -> Result<Ran, EngineError> {
    let ran = run_under(&control.for_phase(phase.number), phase, line, clock, sink);
    control.forget(phase.number);
    ran
}

fn run_under(
    control: &Control,
    phase: &Phase,
    line: Option<&dyn StartLine>,
    clock: Clock,
    sink: &mut dyn Sink,
) -> Result<Ran, EngineError> {
    let mut family = Family { children: Vec::new(), ways: Vec::new(), messages: channel().1 };
    let started = family.start(phase).and_then(|()| family.await_ready(clock, control));
    let ready = match started {
        Ok(ready) => ready,
        Err(error) => {
            line.inspect(|line| line.leave());
            return Err(error);
        }
    };
    let origin = match (ready, line) {
        (false, line) => {
            line.inspect(|line| line.leave());
            None
        }
        (true, Some(line)) => line.wait(&|| control.interrupted()),
        (true, None) => Some(clock.now()),
    };
    let Some(origin) = origin else { return Ok(Ran::nothing(Ending::Interrupted)) };
    family.release(clock.monotonic_at(origin));
    // The children add the phase's delay themselves.
    let origin = origin.saturating_add(phase.task.start.delay.0);
    sink.event(&Event::PhaseReleased(release(phase.number, clock, origin)));
    let mut collecting = Collecting::new(phase, family, clock, origin, control);
    collecting.collect(sink);
    Ok(collecting.conclude(sink))
}

impl Family {
    fn start(&mut self, phase: &Phase) -> Result<(), EngineError> {
        let failed = |error: io::Error| EngineError::worker(error.to_string());
        let (sender, messages) = channel();
        self.messages = messages;
        for worker in 0..phase.task.workers {
            let spans = phase.targets.files(worker).map(|files| files.spans()).unwrap_or_default();
            let files: io::Result<_> = spans.iter().map(|span| child::bequeath(&span.file)).collect();
            // Its own group, so that Ctrl-C in a terminal reaches the parent alone, which then ends its children in order.
            let mut child = Command::new("/proc/self/exe")
                .arg(WORKER_COMMAND)
                .process_group(0)
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .spawn()
                .map_err(failed)?;
            let (way, output) = (child.stdin.take(), child.stdout.take());
            self.children.push(child);
            self.ways.push(None);
            let assignment = Assignment {
                task: phase.task.clone(),
                phase: phase.number,
                worker,
                files: files.map_err(failed)?,
                base: phase.targets.base(),
                run: phase.verification.as_ref().map(|verification| verification.run()),
            };
            let (Some(mut way), Some(output)) = (way, output) else { continue };
            let text = serde_json::to_string(&assignment).map_err(|error| failed(error.into()))?;
            writeln!(way, "{text}").map_err(failed)?;
            self.ways[worker as usize] = Some(way);
            listen(worker as usize, output, sender.clone()).map_err(failed)?;
        }
        Ok(())
    }

    /// Waits until all are ready; false when the user interrupts.
    fn await_ready(&self, clock: Clock, control: &Control) -> Result<bool, EngineError> {
        let deadline = clock.now() + PREPARATION.as_nanos() as u64;
        let mut ready = BTreeSet::new();
        while ready.len() < self.children.len() {
            if control.interrupted() {
                return Ok(false);
            }
            if clock.now() > deadline {
                return Err(EngineError::Workers(WorkersError::NotReady {
                    workers: self.children.len() as u32,
                }));
            }
            match self.messages.recv_timeout(TICK) {
                Ok((child, Some(Message::Ready))) => drop(ready.insert(child)),
                Ok((_, Some(Message::Failed(error)))) => return Err(EngineError::Other(error)),
                Ok((_, None)) => {
                    let died = "its process has died before it was ready".to_owned();
                    return Err(EngineError::worker(died));
                }
                Ok(_) | Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(EngineError::worker("no process is left"));
                }
            }
        }
        Ok(true)
    }

    fn release(&mut self, instant: u64) {
        self.say(instant);
    }

    fn say(&mut self, word: impl Display) {
        for way in self.ways.iter_mut().flatten() {
            // One that has died meanwhile shows by the end of its output.
            let _ = writeln!(way, "{word}");
        }
    }

    /// Asks the children to verify, and adds up what they find.
    fn verify(mut self, outcome: &mut Outcome, control: &Control) -> Result<(), EngineError> {
        self.release(0);
        let verified = outcome.verified.get_or_insert_default();
        let (mut found, mut gone) = (BTreeSet::new(), BTreeSet::new());
        while gone.len() < self.children.len() && !control.interrupted() {
            match self.messages.recv_timeout(TICK) {
                Ok((child, Some(Message::Verified(what)))) => {
                    verified.add(what.unwrap_or_default());
                    found.insert(child);
                }
                Ok((_, Some(Message::Failed(failure)))) => return Err(EngineError::Other(failure)),
                Ok((child, None)) => drop(gone.insert(child)),
                Ok(_) | Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        verified.incomplete |= found.len() < self.children.len();
        Ok(())
    }

    fn interrupt(&mut self) {
        self.ways.iter_mut().for_each(|way| *way = None);
    }
}

impl Drop for Family {
    /// Ends what has not ended. A child in the kernel's hands ends when the kernel lets it go, and is not waited for.
    fn drop(&mut self) {
        self.interrupt();
        self.children.retain_mut(|child| !matches!(child.try_wait(), Ok(Some(_))));
        for child in &mut self.children {
            let _ = child.kill();
        }
        let patience = std::time::Instant::now();
        while !self.children.is_empty() && patience.elapsed() < DRAIN_INTERRUPTED {
            thread::sleep(Duration::from_millis(1));
            self.children.retain_mut(|child| matches!(child.try_wait(), Ok(None)));
        }
    }
}

/// Passes on what a child says, line by line, from a thread of its own.
fn listen(child: usize, output: impl io::Read + Send + 'static, sender: Sender<FromChild>) -> io::Result<()> {
    thread::Builder::new().name(format!("listener {child}")).spawn(move || {
        for line in BufReader::new(output).lines().map_while(Result::ok) {
            let Ok(message) = serde_json::from_str(&line) else { break };
            if sender.send((child, Some(message))).is_err() {
                return;
            }
        }
        let _ = sender.send((child, None));
    })?;
    Ok(())
}

/// The time in which no child completed anything, as intervals without operations.
fn idle<'a>(phase: &'a Phase, totals: &'a PhaseTotals) -> impl Iterator<Item = Interval> + 'a {
    let mut start = phase.task.ramp.0;
    totals.series.iter().filter_map(move |point| {
        let length = (point.seconds * 1e9).round() as u64;
        let interval = Interval {
            phase: phase.number,
            start: Nanos(start),
            length: Nanos(length),
            stage: Stage::Measured,
            ops: Vec::new(),
        };
        start += length;
        point.operations.iter().all(|(_, operations)| *operations == 0).then_some(interval)
    })
}

/// What the children's words add up to.
struct Collecting<'a> {
    phase: &'a Phase,
    family: Family,
    clock: Clock,
    origin: u64,
    /// Of this phase.
    control: &'a Control,
    merger: Merger,
    ended: BTreeSet<usize>,
    gone: BTreeSet<usize>,
    measured: u64,
    interrupted_at: Option<u64>,
    /// When the phase was asked to end before its time.
    stopped_at: Option<u64>,
    failure: Option<String>,
    interrupted: bool,
    outstanding: Outstanding,
    errors: Vec<ErrorTally>,
    stuck: Vec<Stuck>,
    verified: Option<Verified>,
    usage: Usage,
}

impl<'a> Collecting<'a> {
    fn new(
        phase: &'a Phase,
        family: Family,
        clock: Clock,
        origin: u64,
        control: &'a Control,
    ) -> Collecting<'a> {
        Collecting {
            merger: Merger::new(phase.timetable()),
            phase,
            family,
            clock,
            origin,
            control,
            ended: BTreeSet::new(),
            gone: BTreeSet::new(),
            measured: 0,
            interrupted_at: None,
            stopped_at: None,
            failure: None,
            interrupted: false,
            outstanding: Outstanding::default(),
            errors: Vec::new(),
            stuck: Vec::new(),
            verified: None,
            usage: Usage::default(),
        }
    }

    /// Takes what the children say until all have measured.
    fn collect(&mut self, sink: &mut dyn Sink) {
        while self.ended.union(&self.gone).count() < self.family.children.len() && !self.overdue() {
            match self.family.messages.recv_timeout(TICK) {
                Ok((child, messages)) => self.take(child, messages, sink),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            if self.control.interrupted() && self.interrupted_at.is_none() {
                self.interrupted_at = Some(self.now());
            }
            if self.control.over() && self.stopped_at.is_none() {
                self.stopped_at = Some(self.now());
                self.family.say(END);
            }
            if self.interrupted_at.is_some() || self.failure.is_some() {
                self.family.interrupt();
            }
        }
    }

    fn now(&self) -> u64 {
        self.clock.now().saturating_sub(self.origin)
    }

    /// Whether the children that have not ended are to be given up on.
    fn overdue(&self) -> bool {
        let after = |at: u64, patience: Duration| {
            self.now() > at.saturating_add((patience + GRACE).as_nanos() as u64)
        };
        let task = &self.phase.task;
        let end = task.stop.runtime.map(|runtime| task.ramp.0.saturating_add(runtime.0));
        let end = end.into_iter().chain(self.stopped_at).min();
        // A child itself knows how long it may wait for what it has written to become durable.
        let patience = if task.durability.end_sync.is_some() { LAST_SYNC } else { DRAIN };
        end.is_some_and(|end| after(end, patience))
            || self.interrupted_at.is_some_and(|at| after(at, DRAIN_INTERRUPTED))
    }

    fn take(&mut self, child: usize, messages: Option<Message>, sink: &mut dyn Sink) {
        match messages {
            Some(Message::Interval(interval)) => self.take_interval(interval, sink),
            Some(Message::Worker(worker)) => sink.event(&Event::Worker(worker)),
            Some(Message::Failed(failure)) => drop(self.failure.get_or_insert(failure)),
            Some(Message::End(end)) => self.take_end(child, *end),
            Some(Message::Ready | Message::Verified(_)) => {}
            None => {
                self.gone.insert(child);
                if !self.ended.contains(&child) {
                    let died = || format!("the process of worker {child} has died");
                    self.failure.get_or_insert_with(died);
                }
            }
        }
    }

    /// A child's interval in which nothing happened says nothing of the others.
    fn take_interval(&mut self, interval: Interval, sink: &mut dyn Sink) {
        let happened = |op: &OpTotals| op.operations > 0 || op.errors > 0;
        if !interval.ops.iter().any(happened) {
            return;
        }
        match self.merger.absorb(&interval) {
            Ok(()) => sink.event(&Event::Interval(interval)),
            // What is not understood is not counted; what was before is kept.
            Err(error) => {
                self.failure
                    .get_or_insert_with(|| format!("a worker process sent an invalid message: {error}"));
            }
        }
    }

    fn take_end(&mut self, child: usize, end: ChildEnd) {
        self.ended.insert(child);
        self.measured = self.measured.max(end.measured);
        self.outstanding.add(end.outstanding);
        self.usage.add(end.usage);
        end.errors.into_iter().for_each(|tally| ErrorTally::add(&mut self.errors, tally));
        self.stuck.extend(end.stuck);
        if let Some(verified) = end.verified {
            self.verified.get_or_insert_default().add(verified);
        }
        match end.ending {
            Ending::Completed => {}
            Ending::Interrupted => self.interrupted = true,
            Ending::Failed(failure) => drop(self.failure.get_or_insert(failure)),
        }
    }

    fn conclude(mut self, sink: &mut dyn Sink) -> Ran {
        let missing = (self.family.children.len() - self.ended.len()) as u64;
        self.outstanding.at_end += missing;
        self.outstanding.lost += missing;
        if self.ended.is_empty() {
            let ramp_end = self.phase.task.ramp.0;
            let runtime = self.phase.task.stop.runtime.map_or(u64::MAX, |runtime| runtime.0);
            self.measured = self.now().saturating_sub(ramp_end).min(runtime);
        }
        let interrupted = self.interrupted || self.interrupted_at.is_some();
        let failure = self.failure.take().or_else(|| self.control.failure().map(str::to_owned));
        let ending = match failure {
            Some(failure) => Ending::Failed(failure),
            None if interrupted => Ending::Interrupted,
            None => Ending::Completed,
        };
        let totals = self.merger.finish(self.phase.task.ramp.0, self.measured);
        idle(self.phase, &totals).for_each(|idle| sink.event(&Event::Interval(idle)));
        self.outstanding.oldest = Nanos(self.outstanding.oldest.0.max(totals.drain_max));
        let mut outcome = Outcome::nothing(ending);
        outcome.totals = totals;
        outcome.outstanding = self.outstanding;
        outcome.errors = self.errors;
        outcome.stuck = self.stuck;
        outcome.verified = self.verified;
        outcome.usage = self.usage;
        let verifies = self.phase.task.verify.as_ref().is_some_and(|verify| verify.after);
        let (family, control) = (self.family, self.control.apart());
        let verification =
            verifies.then(|| -> Verifying { Box::new(move |outcome| family.verify(outcome, &control)) });
        Ran { outcome, verification }
    }
}
