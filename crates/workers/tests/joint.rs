//! Groups that one thread conducts.

// Helpers of tests may give up as tests do.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::convert::Infallible;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use iolite_model::{Ending, Event, Nanos, OpKind, Ramp, Sink, Stop};
use iolite_stats::Completion;
use iolite_sys::clock::Clock;
use iolite_workers::{
    Control, Finished, Outcome, Patience, StartLine, WorkError, WorkerEnd, WorkerGroup, WorkerLane,
    WorkerStart, WorkersError, conduct_together,
};

fn group(phase: u32, workers: u32, control: &Control) -> WorkerGroup {
    WorkerGroup {
        phase,
        first: 0,
        workers,
        kinds: vec![OpKind::Read],
        delay: Nanos(0),
        stop: Stop::default(),
        ramp: Ramp::NONE,
        interval: Nanos(1_000_000),
        clock: Clock::best(),
        control: control.clone(),
        patience: Patience { ready: Duration::from_secs(60), ..Patience::default() },
    }
}

/// A line at which nobody else waits; counts who left.
#[derive(Default)]
struct Line(Mutex<u32>);

impl StartLine for Line {
    fn wait(&self, give_up: &dyn Fn() -> bool) -> Option<u64> {
        (!give_up()).then(|| Clock::best().now())
    }

    fn leave(&self) {
        *self.0.lock().unwrap() += 1;
    }
}

#[derive(Default)]
struct Events(Vec<Event>);

impl Sink for Events {
    fn event(&mut self, event: &Event) {
        self.0.push(event.clone());
    }
}

/// Reads so many times, until it is over.
fn read(start: WorkerStart, times: u64, then: impl FnOnce(&WorkerLane)) -> Result<Finished, Infallible> {
    let Some(mut lane) = start.ready() else { return Ok(None) };
    for _ in 0..times {
        let now = lane.now();
        lane.record(Completion {
            kind: OpKind::Read,
            intended: now,
            issued: now,
            completed: now,
            bytes: 512,
        });
    }
    then(&lane);
    let now = lane.now();
    lane.close(now);
    Ok(Some((lane, WorkerEnd::default())))
}

fn reads(outcome: &Outcome) -> u64 {
    outcome.totals.operations(OpKind::Read)
}

#[test]
fn each_group_has_its_own_outcome_and_ends_when_its_workers_do() {
    let control = Control::default();
    let delayed = WorkerGroup { delay: Nanos(20_000_000), ..group(2, 1, &control) };
    let groups = [group(0, 3, &control), group(1, 1, &control), delayed];
    let (end, ended) = mpsc::channel::<()>();
    let ended = Arc::new(Mutex::new(ended));
    let conducted = groups.iter().zip([10u64, 20, 30]).map(|(group, times)| {
        let (waits, ended) = (group.phase == 0, ended.clone());
        group.with_threads(move |worker| {
            let ended = ended.clone();
            move |start| {
                read(start, times + u64::from(worker), |_| {
                    // The first group goes on until another has ended.
                    if waits && worker == 0 {
                        let _ = ended.lock().unwrap().recv();
                    }
                })
            }
        })
    });
    let (mut events, mut order) = (Events::default(), Vec::new());
    let outcomes = conduct_together(conducted.collect(), &Line::default(), &mut events, &mut |index, of| {
        order.push((index, reads(of)));
        let _ = end.send(());
    });
    let outcomes: Vec<Outcome> = outcomes.into_iter().map(Result::unwrap).collect();
    assert_eq!(outcomes.iter().map(reads).collect::<Vec<_>>(), [33, 20, 30]);
    assert!(outcomes.iter().all(|of| of.ending == Ending::Completed));
    assert_ne!(order[0].0, 0, "{order:?}");
    order.sort_unstable();
    assert_eq!(order, [(0, 33), (1, 20), (2, 30)]);
    let phases = |of: fn(&Event) -> Option<u32>| events.0.iter().filter_map(of).collect::<Vec<_>>();
    let ready = phases(|event| if let Event::PhaseReady(phase) = event { Some(*phase) } else { None });
    let released = phases(|event| if let Event::PhaseReleased(of) = event { Some(of.phase) } else { None });
    assert_eq!((ready, released), (vec![0, 1, 2], vec![0, 1, 2]));
    let counted = |phase: u32| -> u64 {
        let of = events.0.iter().filter_map(|event| match event {
            Event::Interval(interval) if interval.phase == phase => Some(&interval.ops),
            _ => None,
        });
        of.flatten().map(|op| op.operations).sum()
    };
    assert_eq!([counted(0), counted(1), counted(2)], [33, 20, 30]);
}

#[test]
fn one_that_cannot_be_made_ready_calls_all_of_them_off() {
    let control = Control::default();
    let groups = [group(0, 2, &control), group(1, 1, &control)];
    let conducted = groups.iter().map(|group| {
        let fails = group.phase == 1;
        group.with_threads(move |_| {
            move |start: WorkerStart| {
                if fails { Err(WorkError::from("no buffer")) } else { Ok(read(start, 1, |_| ()).unwrap()) }
            }
        })
    });
    let (line, mut events) = (Line::default(), Events::default());
    let outcomes = conduct_together(conducted.collect(), &line, &mut events, &mut |_, _| panic!("measured"));
    assert_eq!(*line.0.lock().unwrap(), 1);
    assert!(events.0.is_empty(), "{:?}", events.0);
    let [one, other] = outcomes.try_into().unwrap();
    assert_eq!(one.unwrap().ending, Ending::Interrupted);
    assert!(matches!(other, Err(WorkersError::Work(error)) if error.to_string() == "no buffer"));
}

#[test]
fn a_phase_is_ended_alone_and_an_interruption_ends_all() {
    for all in [false, true] {
        let control = Control::default();
        let groups = [group(0, 1, &control), group(1, 1, &control)];
        let conducted = groups.iter().map(|group| {
            let (control, phase) = (control.clone(), group.phase);
            group.with_threads(move |_| {
                let control = control.clone();
                move |start| {
                    read(start, 1, |lane| {
                        match (phase, all) {
                            (0, true) => control.interrupt_run(),
                            (0, false) => control.end_phase(1),
                            _ => {}
                        }
                        while (all || phase == 1) && !lane.is_over(lane.now()) {
                            std::thread::yield_now();
                        }
                    })
                }
            })
        });
        let outcomes =
            conduct_together(conducted.collect(), &Line::default(), &mut Events::default(), &mut |_, _| ());
        let endings: Vec<Ending> = outcomes.into_iter().map(|of| of.unwrap().ending).collect();
        let expected = if all { Ending::Interrupted } else { Ending::Completed };
        assert_eq!(endings, [expected.clone(), expected]);
    }
}

/// Operations that a worker has reported, and whether it reports no more.
#[derive(Default)]
struct Reporter {
    reported: AtomicU64,
    is_done: AtomicBool,
}

/// Takes what a worker reports only after it has reported more: its messages never come to an end before it does.
struct Slow {
    of: Arc<Reporter>,
    taken: u64,
}

impl Sink for Slow {
    fn event(&mut self, event: &Event) {
        let Event::Operations(log) = event else { return };
        self.taken += log.operations.len() as u64;
        let wanted = self.taken + 2 * log.operations.len() as u64;
        while self.of.reported.load(Ordering::SeqCst) < wanted && !self.of.is_done.load(Ordering::SeqCst) {
            std::thread::yield_now();
        }
    }
}

#[test]
fn a_group_that_reports_without_end_keeps_no_other_from_its_end() {
    let control = Control::default();
    control.report_operations();
    let (of, is_over) = (Arc::<Reporter>::default(), Arc::<AtomicBool>::default());
    let groups = [group(0, 1, &control), group(1, 1, &control)];
    let conducted = groups.iter().map(|group| {
        let (of, is_over, reports) = (of.clone(), is_over.clone(), group.phase == 0);
        group.with_threads(move |_| {
            let (of, is_over) = (of.clone(), is_over.clone());
            move |start: WorkerStart| -> Result<Finished, Infallible> {
                let Some(mut lane) = start.ready() else { return Ok(None) };
                let max = if reports { 1 << 20 } else { 1 };
                for _ in 0..max {
                    if reports && is_over.load(Ordering::SeqCst) {
                        break;
                    }
                    let now = lane.now();
                    let (kind, bytes) = (OpKind::Read, 512);
                    lane.record_reported(Completion {
                        kind,
                        intended: now,
                        issued: now,
                        completed: now,
                        bytes,
                    });
                    of.reported.fetch_add(u64::from(reports), Ordering::SeqCst);
                }
                of.is_done.fetch_or(reports, Ordering::SeqCst);
                let now = lane.now();
                lane.close(now);
                Ok(Some((lane, WorkerEnd::default())))
            }
        })
    });
    let mut order = Vec::new();
    let mut slow = Slow { of: of.clone(), taken: 0 };
    let outcomes = conduct_together(conducted.collect(), &Line::default(), &mut slow, &mut |index, _| {
        order.push(index);
        is_over.store(true, Ordering::SeqCst);
    });
    assert!(outcomes.into_iter().all(|of| of.unwrap().ending == Ending::Completed));
    assert_eq!(order, [1, 0]);
}
