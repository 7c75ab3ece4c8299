//! Collects what the workers of a group measure, and knows when to give up on them.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use iolite_model::{Ending, ErrorTally, Event, Nanos, OpKind, Outstanding, Sink, Stuck, Usage, Verified};
use iolite_stats::{Collector, Detail, Timetable};
use iolite_sys::board::Board;

use crate::control::Control;
use crate::lane::{WorkerMessage, WorkerReport};
use crate::outcome::Outcome;

use super::{TICK, WorkerGroup};

/// How long after its end an interval is passed on: a worker that is in time has handed its share over by then.
const SETTLE: Duration = Duration::from_millis(100);

/// How long what was written may take to become durable at the end, where that is asked for: a page cache full of it on a slow
/// disk takes minutes.
pub const LAST_SYNC: Duration = Duration::from_secs(3600);

/// Collects while the workers measure.
pub(crate) struct Conductor<'a> {
    pub(crate) group: &'a WorkerGroup,
    /// Of this phase.
    pub(crate) control: &'a Control,
    pub(crate) timetable: Timetable,
    pub(crate) origin: u64,
    pub(crate) collector: Collector,
    pub(crate) messages: Receiver<WorkerMessage>,
    /// By worker: what it is doing, should it never come back.
    pub(crate) boards: Vec<Arc<Board>>,
}

impl Conductor<'_> {
    pub(crate) fn conduct(mut self, sink: &mut dyn Sink) -> Outcome {
        let mut ends = Ends::new(self.group.workers);
        let tick = TICK.min(self.group.interval.as_duration());
        let mut collected = Instant::now();
        while ends.reports < self.group.workers && !self.overdue(&mut ends) {
            match self.messages.recv_timeout(tick.saturating_sub(collected.elapsed())) {
                Ok(WorkerMessage::Ended(report)) => ends.take(*report, &mut self.collector),
                Ok(WorkerMessage::Operations(log)) => sink.event(&Event::Operations(log)),
                Err(RecvTimeoutError::Timeout) => {}
                // All threads have ended, but not all have reported.
                Err(RecvTimeoutError::Disconnected) => {
                    ends.failure.get_or_insert_with(|| "a worker's thread has died, which is a bug".into());
                    break;
                }
            }
            if ends.failure.is_some() {
                self.control.interrupt();
            }
            // Many workers, or workers that report each operation, send messages more often than there is something to collect.
            if collected.elapsed() < tick {
                continue;
            }
            collected = Instant::now();
            let settled = self.now().saturating_sub(SETTLE.as_nanos() as u64);
            for interval in self.collector.collect(settled) {
                sink.event(&Event::Interval(interval));
            }
        }
        // What was reported until now counts, also of workers that are given up on.
        while let Ok(message) = self.messages.try_recv() {
            match message {
                WorkerMessage::Ended(report) => ends.take(*report, &mut self.collector),
                WorkerMessage::Operations(log) => sink.event(&Event::Operations(log)),
            }
        }
        self.conclude(ends, sink)
    }

    fn now(&self) -> u64 {
        self.group.clock.now().saturating_sub(self.origin)
    }

    /// Whether the workers that have not ended are to be given up on.
    fn overdue(&self, ends: &mut Ends) -> bool {
        let now = self.now();
        if self.control.interrupted() {
            ends.interrupted_at.get_or_insert(now);
        }
        if self.control.over() {
            ends.stopped_at.get_or_insert(now);
        }
        // The workers wait for their own operations; what they need beyond that is a few ticks.
        let grace = 4 * TICK.as_nanos() as u64;
        let after = |at: u64, patience: Duration| now > at.saturating_add(patience.as_nanos() as u64 + grace);
        let end = ends.stopped_at.map_or(self.timetable.end, |at| at.min(self.timetable.end));
        let patience = if self.control.syncing() { LAST_SYNC } else { self.group.patience.ended };
        let interrupted = self.group.patience.interrupted;
        after(end, patience) || ends.interrupted_at.is_some_and(|at| after(at, interrupted))
    }

    fn conclude(self, mut ends: Ends, sink: &mut dyn Sink) -> Outcome {
        let now = self.now();
        let missing = u64::from(self.group.workers - ends.reports);
        // The last worker's end is the phase's. One that is still running has not reported its own.
        let messages = if missing > 0 { ends.stopped_at } else { ends.closed };
        let latest = if self.group.stop.in_flight && missing == 0 { u64::MAX } else { self.timetable.end };
        let end = messages.unwrap_or(self.timetable.end).min(latest).min(now);
        debug_assert!(ends.reports <= self.group.workers, "a worker has reported twice");
        let measured = end.saturating_sub(self.timetable.ramp_end);
        self.find_the_missing(&mut ends, now);
        let (intervals, workers, totals) = self.collector.finish(self.timetable.ramp_end, measured);
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
            read_back: None,
            rate: None,
            usage: ends.usage,
            detail: ends.detail,
        }
    }

    /// What the workers that have not reported are stuck in, as far as their boards show.
    fn find_the_missing(&self, ends: &mut Ends, now: u64) {
        for (worker, _) in ends.reported.iter().enumerate().filter(|(_, reported)| !**reported) {
            let Some((kind, offset, issued)) = self.boards[worker].look() else { continue };
            let Some(kind) = OpKind::from_code(kind) else { continue };
            let worker = self.group.first + worker as u32;
            ends.stuck.push(Stuck { worker, kind, offset, age: Nanos(now.saturating_sub(issued)) });
        }
    }
}

/// What the workers' ends add up to.
#[derive(Default)]
struct Ends {
    reports: u32,
    /// By worker: whether it has reported.
    reported: Vec<bool>,
    failure: Option<String>,
    errors: Vec<ErrorTally>,
    stuck: Vec<Stuck>,
    verified: Option<Verified>,
    outstanding: Outstanding,
    usage: Usage,
    detail: Option<Detail>,
    /// The latest instant at which a worker ended its measured part.
    closed: Option<u64>,
    interrupted_at: Option<u64>,
    /// When the phase was asked to end before its time.
    stopped_at: Option<u64>,
}

impl Ends {
    fn new(workers: u32) -> Ends {
        Ends { reported: vec![false; workers as usize], ..Ends::default() }
    }

    fn take(&mut self, report: WorkerReport, collector: &mut Collector) {
        debug_assert!(!self.reported[report.worker], "a worker reports once");
        self.reports += 1;
        self.reported[report.worker] = true;
        self.closed = self.closed.max(report.closed);
        report.left.iter().for_each(|snapshot| collector.absorb(report.worker, snapshot));
        let failure = match report.result {
            Ok(None) => None,
            Ok(Some(end)) => {
                self.outstanding.add(end.outstanding);
                self.usage.add(end.usage);
                if let Some(detail) = end.detail {
                    detail.add_to(self.detail.get_or_insert_default());
                }
                end.errors.into_iter().for_each(|tally| ErrorTally::add(&mut self.errors, tally));
                self.stuck.extend(end.stuck);
                if let Some(verified) = end.verified {
                    self.verified.get_or_insert_default().add(verified);
                }
                end.failure
            }
            Err(error) => Some(error),
        };
        self.failure = self.failure.take().or(failure.map(|error| error.to_string()));
    }
}
