//! The conductor over a transport whose workers follow a script.

// Helpers of tests may give up as tests do.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use iolite_model::{Ending, Event, HistogramBytes, Interval, Nanos, OpKind, Ramp, Sink, Stage, Stop};
use iolite_stats::{Collector, Completion, recorder};
use iolite_sys::clock::Clock;
use iolite_workers::{
    Control, Outcome, Patience, StartLine, Transport, WorkerEnd, WorkerGroup, WorkerMessage, WorkerReport,
    WorkersError,
};

/// Length of an interval.
const INTERVAL: u64 = 1000;

/// What comes next.
enum Step {
    /// A message of a worker.
    From(usize, WorkerMessage),
    /// No message, but something else happens.
    Happens(Box<dyn FnOnce()>),
}
use Step::{From, Happens};

#[derive(Debug, PartialEq, Eq)]
enum Call {
    Start(usize),
    Release,
    Cancel,
    End,
    Interrupt,
}

/// Workers that follow a script. What is after their release is not sent before it.
struct Scripted {
    group: WorkerGroup,
    before: VecDeque<Step>,
    after: VecDeque<Step>,
    calls: Vec<Call>,
    /// Nobody sends there.
    silence: (Sender<()>, Receiver<()>),
}

impl Scripted {
    fn new<const A: usize, const B: usize>(
        group: &WorkerGroup,
        before: [Step; A],
        after: [Step; B],
    ) -> Scripted {
        let (before, after) = (before.into(), after.into());
        Scripted { group: group.clone(), before, after, calls: Vec::new(), silence: channel() }
    }

    fn run(&mut self) -> (Result<Outcome, WorkersError>, Vec<Event>) {
        let mut events = Events::default();
        let group = self.group.clone();
        (group.run_over(self, None, &mut events), events.0)
    }
}

#[derive(Default)]
struct Events(Vec<Event>);

impl Sink for Events {
    fn event(&mut self, event: &Event) {
        self.0.push(event.clone());
    }
}

impl Transport for Scripted {
    fn start(&mut self, worker: usize) -> Result<(), WorkersError> {
        self.calls.push(Call::Start(worker));
        Ok(())
    }

    fn receive(&mut self, patience: Duration) -> Option<(usize, WorkerMessage)> {
        let steps = if self.calls.contains(&Call::Release) { &mut self.after } else { &mut self.before };
        match steps.pop_front() {
            Some(From(worker, message)) => return Some((worker, message)),
            Some(Happens(what)) => what(),
            None => drop(self.silence.1.recv_timeout(patience)),
        }
        None
    }

    fn release(&mut self, origin: Option<u64>) {
        self.calls.push(if origin.is_some() { Call::Release } else { Call::Cancel });
    }

    fn collector(&mut self) -> Collector {
        Collector::without_feeds(self.group.phase, self.group.workers, self.group.timetable())
    }

    fn settle(&self) -> Duration {
        Duration::ZERO
    }

    fn span(&self) -> (u64, u64) {
        let timetable = self.group.timetable();
        (timetable.ramp_end, timetable.end)
    }

    fn end(&mut self) {
        self.calls.push(Call::End);
    }

    fn interrupt(&mut self) {
        self.calls.push(Call::Interrupt);
    }

    fn stuck_in(&self, _worker: usize) -> Option<(OpKind, u64, u64)> {
        Some((OpKind::Write, 4096, 0))
    }
}

/// Two workers, numbered from 5, that nothing ends but themselves.
fn group() -> WorkerGroup {
    WorkerGroup {
        phase: 3,
        first: 5,
        workers: 2,
        kinds: vec![OpKind::Read],
        delay: Nanos(0),
        stop: Stop::default(),
        ramp: Ramp::NONE,
        interval: Nanos(INTERVAL),
        clock: Clock::best(),
        control: Control::default(),
        patience: Patience {
            ready: Duration::from_secs(60),
            ended: Duration::ZERO,
            interrupted: Duration::ZERO,
        },
    }
}

fn ready(worker: usize) -> Step {
    From(worker, WorkerMessage::Ready)
}

/// An interval in which a worker has read once.
fn read_in(number: u64) -> Interval {
    let timetable = group().timetable();
    let (mut recorder, feed) = recorder(timetable, &[OpKind::Read]);
    let (issued, completed) = (number * INTERVAL + 10, number * INTERVAL + 20);
    recorder.record(Completion { kind: OpKind::Read, intended: issued, issued, completed, bytes: 512 });
    let mut collector = Collector::new(3, vec![feed]);
    recorder.finish().iter().for_each(|snapshot| collector.absorb(0, snapshot));
    let (intervals, _, _) = collector.finish(number * INTERVAL, INTERVAL);
    intervals.into_iter().find(|interval| !interval.ops.is_empty()).unwrap()
}

fn interval(worker: usize, number: u64) -> Step {
    From(worker, WorkerMessage::Interval(read_in(number)))
}

fn ended(worker: usize, closed: u64) -> Step {
    let report = WorkerReport { end: WorkerEnd::default(), closed: Some(closed), left: Vec::new() };
    From(worker, WorkerMessage::Ended(Box::new(report)))
}

fn gone(worker: usize) -> Step {
    From(worker, WorkerMessage::Gone)
}

/// Something that a control is asked from outside.
fn asked(group: &WorkerGroup, what: impl FnOnce(&Control) + 'static) -> Step {
    let control = group.control.clone();
    Happens(Box::new(move || what(&control)))
}

fn reads(outcome: &Outcome) -> u64 {
    outcome.totals.operations(OpKind::Read)
}

#[test]
fn time_starts_when_the_last_is_ready_and_shares_of_an_interval_are_one() {
    let group = group();
    let late = [ready(0), Happens(Box::new(|| ())), Happens(Box::new(|| ())), ready(1)];
    let measuring = [interval(0, 0), interval(1, 0), interval(1, 2), ended(0, 1500), ended(1, 3000), gone(0)];
    let mut workers = Scripted::new(&group, late, measuring);
    let (outcome, events) = workers.run();
    let outcome = outcome.unwrap();
    assert!(workers.before.is_empty(), "released before all were ready");
    assert_eq!(workers.calls, [Call::Start(0), Call::Start(1), Call::Release]);
    assert_eq!((&outcome.ending, reads(&outcome), outcome.totals.measured), (&Ending::Completed, 3, 3000));
    assert!(matches!(&events[0], Event::PhaseReady(3)), "{:?}", events[0]);
    assert!(matches!(&events[1], Event::PhaseReleased(released) if released.phase == 3));
    let mut counted = [0; 3];
    let (mut length, mut by_worker) = (0, Vec::new());
    for event in &events {
        match event {
            Event::Interval(interval) => {
                assert_eq!(interval.stage, Stage::Measured);
                counted[(interval.start.0 / INTERVAL) as usize] +=
                    interval.ops.iter().map(|op| op.operations).sum::<u64>();
                length += interval.length.0;
            }
            Event::Worker(worker) => by_worker.push((worker.worker, worker.ops[0].operations)),
            _ => {}
        }
    }
    assert_eq!((counted, by_worker), ([2, 0, 1], vec![(5, 1), (6, 2)]));
    assert!(length >= 3000, "idle time is reported too: {length}");
}

/// Counts who leaves it.
#[derive(Default)]
struct Line(AtomicU32);

impl StartLine for Line {
    fn wait(&self, _: &dyn Fn() -> bool) -> Option<u64> {
        panic!("not all are ready")
    }

    fn leave(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn one_that_is_never_ready_calls_the_phase_off() {
    let refused = |group: &WorkerGroup, before| {
        let mut workers = Scripted::new(group, before, []);
        let (line, mut events) = (Line::default(), Events::default());
        let refused = group.run_over(&mut workers, Some(&line), &mut events).unwrap_err();
        assert_eq!(workers.calls, [Call::Start(0), Call::Start(1), Call::Cancel]);
        assert_eq!((line.0.load(Ordering::Relaxed), events.0.len()), (1, 0));
        refused
    };
    let died = refused(&group(), [ready(0), gone(1)]);
    assert!(matches!(died, WorkersError::Died { worker: 6 }), "{died}");
    let failed = refused(&group(), [ready(0), From(1, WorkerMessage::Failed("no such file".into()))]);
    assert!(matches!(&failed, WorkersError::Work(error) if error.to_string() == "no such file"), "{failed}");
    let patience = Patience { ready: Duration::from_millis(20), ..group().patience };
    let hung = refused(&WorkerGroup { patience, ..group() }, [ready(0), Happens(Box::new(|| ()))]);
    assert!(matches!(hung, WorkersError::NotReady { workers: 2, .. }), "{hung}");
}

#[test]
fn one_that_hangs_is_given_up_on_after_the_end() {
    let stop = Stop { runtime: Some(Nanos(2000)), ..Stop::default() };
    let group = WorkerGroup { stop, ..group() };
    let measuring = [interval(0, 0), interval(1, 0), ended(0, 2000)];
    let outcome = Scripted::new(&group, [ready(0), ready(1)], measuring).run().0.unwrap();
    assert_eq!((&outcome.ending, reads(&outcome), outcome.totals.measured), (&Ending::Completed, 2, 2000));
    assert_eq!((outcome.outstanding.at_end, outcome.outstanding.lost), (1, 1));
    let [stuck] = outcome.stuck.as_slice() else { panic!("{:?}", outcome.stuck) };
    assert_eq!((stuck.worker, stuck.kind, stuck.offset), (6, OpKind::Write, 4096));
    assert!(stuck.age == outcome.outstanding.oldest && stuck.age > Nanos(2000), "{stuck:?}");
}

#[test]
fn one_that_dies_ends_the_phase_for_all_and_what_was_measured_is_kept() {
    let group = group();
    let measuring = [interval(0, 0), interval(1, 0), gone(1), interval(0, 1), ended(0, 2000), gone(0)];
    let mut workers = Scripted::new(&group, [ready(0), ready(1)], measuring);
    let outcome = workers.run().0.unwrap();
    assert_eq!(workers.calls[2..], [Call::Release, Call::Interrupt, Call::End]);
    let Ending::Failed(reason) = &outcome.ending else { panic!("{:?}", outcome.ending) };
    assert!(reason.starts_with("worker 6 has died"), "{reason}");
    assert_eq!((reads(&outcome), outcome.outstanding.lost, outcome.stuck.len()), (3, 1, 0));
}

#[test]
fn an_interruption_is_passed_on_once_and_waited_for() {
    let interrupt = |group: &WorkerGroup| asked(group, Control::interrupt_run);
    let group = WorkerGroup {
        patience: Patience { interrupted: Duration::from_secs(60), ..group().patience },
        ..group()
    };
    let measuring = [interval(0, 0), interrupt(&group), interval(1, 0), ended(0, 700), ended(1, 800)];
    let mut workers = Scripted::new(&group, [ready(0), ready(1)], measuring);
    let outcome = workers.run().0.unwrap();
    assert_eq!(workers.calls[2..], [Call::Release, Call::Interrupt, Call::End]);
    assert_eq!((&outcome.ending, reads(&outcome), outcome.totals.measured), (&Ending::Interrupted, 2, 800));
    let group = WorkerGroup { control: Control::default(), ..group };
    let mut workers = Scripted::new(&group, [ready(0), interrupt(&group), gone(0), gone(1)], []);
    let outcome = workers.run().0.unwrap();
    assert_eq!((&outcome.ending, outcome.totals.is_empty()), (&Ending::Interrupted, true));
    assert_eq!(workers.calls[2..], [Call::Cancel]);
}

#[test]
fn an_early_end_is_passed_on_and_completes_what_was_measured() {
    let group = group();
    let end = || asked(&group, |control| control.end_phase(3));
    let patience = Patience { ended: Duration::from_secs(60), ..group.patience };
    let patient = WorkerGroup { patience, ..group.clone() };
    let measuring = [interval(0, 0), end(), interval(1, 0), ended(0, 900), ended(1, 1000)];
    let mut workers = Scripted::new(&patient, [ready(0), ready(1)], measuring);
    let outcome = workers.run().0.unwrap();
    assert_eq!(workers.calls[2..], [Call::Release, Call::End]);
    assert_eq!((&outcome.ending, reads(&outcome), outcome.totals.measured), (&Ending::Completed, 2, 1000));
    // One that then hangs is given up on, though nothing else would have ended the phase.
    let mut workers = Scripted::new(&group, [ready(0), ready(1)], [interval(0, 0), end(), ended(0, 900)]);
    let outcome = workers.run().0.unwrap();
    assert_eq!((&outcome.ending, outcome.outstanding.lost), (&Ending::Completed, 1));
    // One that had measured nothing by then was interrupted.
    let measuring = [end(), ended(0, 0), ended(1, 0)];
    let outcome = Scripted::new(&patient, [ready(0), ready(1)], measuring).run().0.unwrap();
    assert_eq!(outcome.ending, Ending::Interrupted);
}

#[test]
fn an_interval_that_is_not_understood_fails_the_phase_and_counts_nothing() {
    let mut damaged = read_in(1);
    damaged.ops[0].service = HistogramBytes(vec![1, 2, 3]);
    let damaged = From(0, WorkerMessage::Interval(damaged));
    let measuring = [interval(0, 0), damaged, interval(1, 2), ended(0, 3000), ended(1, 3000)];
    let outcome = Scripted::new(&group(), [ready(0), ready(1)], measuring).run().0.unwrap();
    let Ending::Failed(reason) = &outcome.ending else { panic!("{:?}", outcome.ending) };
    assert!(reason.starts_with("worker 5 sent an invalid interval"), "{reason}");
    assert_eq!(reads(&outcome), 2);
}
