//! The life of a group: its workers are started, become ready, are released, measure, and end or are given up on.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use iolite_model::{Ending, Event, Nanos, PhaseRelease, Sink, Stuck};
use iolite_stats::Collector;
use iolite_sys::clock::Clock;

use crate::barrier::StartLine;
use crate::control::Control;
use crate::ends::{Ends, Standing};
use crate::error::WorkersError;
use crate::group::{DRAIN_INTERRUPTED, WorkerGroup};
use crate::outcome::Outcome;
use crate::transport::{Transport, WorkerMessage};

/// How often the workers' counts are collected, unless intervals are shorter.
pub(crate) const TICK: Duration = Duration::from_millis(50);

/// How long what was written may take to become durable at the end, where that is asked for: a page cache full of it on a slow
/// disk takes minutes.
pub const LAST_SYNC: Duration = Duration::from_secs(3600);

/// Runs a group over a transport; `control` is that of the phase.
pub(crate) fn conduct(
    group: &WorkerGroup,
    control: &Control,
    transport: &mut dyn Transport,
    line: Option<&dyn StartLine>,
    sink: &mut dyn Sink,
) -> Result<Outcome, WorkersError> {
    let ready = prepare(group, control, transport);
    if let Ok(true) = ready {
        // Before the instant of the release is chosen, so that counters can be read between all that was prepared and the first
        // operation, however long that takes.
        sink.event(&Event::PhaseReady(group.phase));
    }
    let origin = match (&ready, line) {
        (Ok(true), Some(line)) => line.wait(&|| control.interrupted()),
        (Ok(true), None) => (!control.interrupted()).then(|| group.clock.now()),
        (_, line) => {
            line.inspect(|line| line.leave());
            None
        }
    };
    let origin = origin.map(|origin| origin.saturating_add(group.delay.0));
    transport.release(origin);
    ready?;
    let Some(origin) = origin else { return called_off(group, Instant::now(), transport) };
    sink.event(&Event::PhaseReleased(release(group.phase, group.clock, origin)));
    Ok(Conductor::new(group, control, transport, origin).conduct(sink))
}

/// Starts the workers and waits until all are ready; false when the user interrupts.
fn prepare(
    group: &WorkerGroup,
    control: &Control,
    transport: &mut dyn Transport,
) -> Result<bool, WorkersError> {
    let mut preparing = Preparing::start(group, transport)?;
    loop {
        if let Some(ready) = preparing.turn(TICK, group, control, transport)? {
            return Ok(ready);
        }
    }
}

/// Workers that get ready.
pub(crate) struct Preparing {
    pub(crate) ready: u32,
    /// When their patience began.
    pub(crate) since: Instant,
}

impl Preparing {
    /// Starts the workers.
    pub(crate) fn start(
        group: &WorkerGroup,
        transport: &mut dyn Transport,
    ) -> Result<Preparing, WorkersError> {
        (0..group.workers as usize).try_for_each(|worker| transport.start(worker))?;
        Ok(Preparing { ready: 0, since: Instant::now() })
    }

    /// Takes a message that comes within `wait`. True when all are ready, false when the user interrupts, `None` before.
    pub(crate) fn turn(
        &mut self,
        wait: Duration,
        group: &WorkerGroup,
        control: &Control,
        transport: &mut dyn Transport,
    ) -> Result<Option<bool>, WorkersError> {
        if self.ready >= group.workers {
            return Ok(Some(true));
        }
        if control.interrupted() {
            return Ok(Some(false));
        }
        let left = group.patience.ready.saturating_sub(self.since.elapsed());
        // What has come counts, however late it is looked at.
        match transport.receive(wait.min(left)) {
            Some((_, WorkerMessage::Ready)) => self.ready += 1,
            Some((_, WorkerMessage::Failed(error))) => return Err(WorkersError::Work(error)),
            Some((worker, WorkerMessage::Gone | WorkerMessage::Ended(_))) => {
                return Err(WorkersError::Died { worker: group.first + worker as u32 });
            }
            None if left.is_zero() => {
                return Err(WorkersError::NotReady {
                    workers: group.workers,
                    patience: group.patience.ready,
                });
            }
            Some((_, WorkerMessage::Interval(_) | WorkerMessage::Operations(_))) | None => {}
        }
        Ok((self.ready >= group.workers).then_some(true))
    }
}

/// The result of a phase that was not begun: a worker's error, or an interruption. Workers get a moment to leave from when it was called
/// off.
pub(crate) fn called_off(
    group: &WorkerGroup,
    called_off: Instant,
    transport: &mut dyn Transport,
) -> Result<Outcome, WorkersError> {
    let mut gone = 0;
    while gone < group.workers {
        let left = DRAIN_INTERRUPTED.saturating_sub(called_off.elapsed());
        match transport.receive(left) {
            Some((_, WorkerMessage::Failed(error))) => return Err(WorkersError::Work(error)),
            Some((_, WorkerMessage::Gone)) => gone += 1,
            Some(_) => {}
            None if left.is_zero() => break,
            None => {}
        }
    }
    Ok(Outcome::nothing(Ending::Interrupted))
}

/// Called with a phase's origin, an instant of its clock that may lie ahead.
pub(crate) fn release(phase: u32, clock: Clock, origin: u64) -> PhaseRelease {
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let now = u64::try_from(since_1970.as_nanos()).unwrap_or(u64::MAX);
    let at_unix = Nanos(now.saturating_add_signed(origin.wrapping_sub(clock.now()) as i64));
    PhaseRelease { phase, at_unix }
}

/// Collects while the workers measure.
pub(crate) struct Conductor<'a> {
    group: &'a WorkerGroup,
    control: &'a Control,
    transport: &'a mut dyn Transport,
    origin: u64,
    collector: Collector,
    ends: Ends,
    /// How often it collects.
    tick: Duration,
    /// When it has collected last.
    collected: Instant,
}

impl<'a> Conductor<'a> {
    /// Of workers that were released at `origin`.
    pub(crate) fn new(
        group: &'a WorkerGroup,
        control: &'a Control,
        transport: &'a mut dyn Transport,
        origin: u64,
    ) -> Conductor<'a> {
        let (collector, ends) = (transport.collector(), Ends::new(group.workers));
        let tick = TICK.min(group.interval.as_duration());
        let collected = Instant::now();
        Conductor { group, control, transport, origin, collector, ends, tick, collected }
    }
}

impl Conductor<'_> {
    fn conduct(mut self, sink: &mut dyn Sink) -> Outcome {
        while self.goes_on() {
            self.turn(self.until_tick(), sink);
        }
        self.finish(sink)
    }

    /// Whether workers measure that are not to be given up on.
    pub(crate) fn goes_on(&self) -> bool {
        self.ends.count(Standing::Running) > 0 && !self.overdue()
    }

    /// How often it collects.
    pub(crate) fn tick(&self) -> Duration {
        self.tick
    }

    /// Time until it is to collect.
    pub(crate) fn until_tick(&self) -> Duration {
        self.tick.saturating_sub(self.collected.elapsed())
    }

    /// Takes a message that comes within `wait`, passes on what is asked of the phase, and collects if it is time. Returns whether
    /// there was a message.
    pub(crate) fn turn(&mut self, wait: Duration, sink: &mut dyn Sink) -> bool {
        let message = self.transport.receive(wait);
        let any = message.is_some();
        if let Some((worker, message)) = message {
            self.take(worker, message, sink);
        }
        self.pass_on();
        // Many workers, or workers that report each operation, send messages more often than there is something to collect.
        if self.until_tick().is_zero() {
            self.collected = Instant::now();
            let settled = self.now().saturating_sub(self.transport.settle().as_nanos() as u64);
            for interval in self.collector.collect(settled) {
                sink.event(&Event::Interval(interval));
            }
        }
        any
    }

    /// Ends it: what was reported until now counts, also of workers that are given up on.
    pub(crate) fn finish(mut self, sink: &mut dyn Sink) -> Outcome {
        while let Some((worker, message)) = self.transport.receive(Duration::ZERO) {
            self.take(worker, message, sink);
        }
        self.conclude(sink)
    }

    fn take(&mut self, worker: usize, message: WorkerMessage, sink: &mut dyn Sink) {
        let number = self.group.first + worker as u32;
        match message {
            WorkerMessage::Ready => {}
            WorkerMessage::Operations(log) => sink.event(&Event::Operations(log)),
            WorkerMessage::Interval(interval) => {
                // What is not understood is not counted; what was before is kept.
                if let Err(error) = self.collector.absorb_interval(worker, &interval) {
                    self.ends.fail(format!("worker {number} sent an invalid interval: {error}"));
                }
            }
            WorkerMessage::Ended(report) => self.ends.take(worker, *report, &mut self.collector),
            WorkerMessage::Failed(error) => {
                self.ends.standing[worker] = Standing::Reported;
                self.ends.fail(error);
            }
            WorkerMessage::Gone if self.ends.standing[worker] == Standing::Running => {
                self.ends.standing[worker] = Standing::Dead;
                self.ends.fail(format!(
                    "worker {number} has died: ended by the system (see the kernel log, dmesg), else this is a bug"
                ));
            }
            WorkerMessage::Gone => {}
        }
    }

    /// Passes on what is asked of the phase, and notes when it was.
    fn pass_on(&mut self) {
        if self.ends.failure.is_some() {
            self.control.interrupt();
        }
        let now = self.now();
        if self.control.interrupted() && self.ends.interrupted_at.is_none() {
            self.ends.interrupted_at = Some(now);
            self.transport.interrupt();
        }
        if self.control.over() && self.ends.stopped_at.is_none() {
            self.ends.stopped_at = Some(now);
            self.transport.end();
        }
    }

    fn now(&self) -> u64 {
        self.group.clock.now().saturating_sub(self.origin)
    }

    /// Whether the workers that have not ended are to be given up on.
    fn overdue(&self) -> bool {
        let now = self.now();
        // The workers wait for their own operations; what they need beyond that is a few ticks.
        let grace = 4 * TICK.as_nanos() as u64;
        let after = |at: u64, patience: Duration| now > at.saturating_add(patience.as_nanos() as u64 + grace);
        let interrupted = self.group.patience.interrupted;
        if self.ends.interrupted_at.is_some_and(|at| after(at, interrupted)) {
            return true;
        }
        if self.control.stands_still() {
            return false;
        }
        let stood_until = self.control.stood_until().saturating_sub(self.origin);
        let end = self.ends.latest(self.transport.span().1, self.control.stood_still(), stood_until);
        after(end, if self.control.syncing() { LAST_SYNC } else { self.group.patience.ended })
    }

    fn conclude(mut self, sink: &mut dyn Sink) -> Outcome {
        let (now, (began, last)) = (self.now(), self.transport.span());
        let missing = (self.ends.standing.len() - self.ends.count(Standing::Reported)) as u64;
        self.find_the_missing(now);
        let mut ends = self.ends;
        // The last worker's end is the phase's. One that is still running has not reported its own.
        let reported = if missing > 0 { ends.stopped_at } else { ends.closed };
        let latest = if self.group.stop.in_flight && missing == 0 { u64::MAX } else { last };
        let end = reported.unwrap_or(last).min(latest).min(now);
        let measured = end.saturating_sub(began);
        // Ended in its ramp, it has measured nothing.
        let began = if began == u64::MAX { end } else { began };
        let (intervals, workers, totals) = self.collector.finish(began, measured);
        intervals.into_iter().for_each(|interval| sink.event(&Event::Interval(interval)));
        for mut worker in workers {
            worker.worker += self.group.first;
            sink.event(&Event::Worker(worker));
        }
        let mut outstanding = ends.outstanding;
        outstanding.oldest = Nanos(outstanding.oldest.0.max(totals.drain_max));
        if missing > 0 {
            outstanding.at_end += missing;
            outstanding.lost += missing;
            outstanding.oldest = Nanos(outstanding.oldest.0.max(now - end));
        }
        let oldest = ends.stuck.iter().map(|stuck| stuck.age).max();
        outstanding.oldest = outstanding.oldest.max(oldest.unwrap_or_default());
        ends.stuck.sort_by_key(|stuck| std::cmp::Reverse(stuck.age));
        ends.stuck.truncate(Stuck::LISTED);
        let ending = match ends.failure.or_else(|| self.control.failure().map(str::to_owned)) {
            Some(failure) => Ending::Failed(failure),
            None if self.control.interrupted() => Ending::Interrupted,
            None if self.control.over() && totals.is_empty() => Ending::Interrupted,
            None => Ending::Completed,
        };
        Outcome {
            totals,
            ending,
            outstanding,
            errors: ends.errors,
            stuck: ends.stuck,
            verified: ends.verified,
            read_back: ends.read_back,
            unread: 0,
            rate: None,
            usage: ends.usage,
            detail: ends.detail,
        }
    }

    /// What the workers that have not reported are stuck in, as far as that can be seen.
    fn find_the_missing(&mut self, now: u64) {
        for (index, _) in
            self.ends.standing.iter().enumerate().filter(|(_, standing)| **standing == Standing::Running)
        {
            let Some((kind, offset, issued)) = self.transport.stuck_in(index) else { continue };
            let (worker, age) = (self.group.first + index as u32, Nanos(now.saturating_sub(issued)));
            self.ends.stuck.push(Stuck { worker, kind, offset, age });
        }
    }
}
