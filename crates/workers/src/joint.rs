//! One thread that conducts several groups: of a thousand jobs with a worker each, a thread for each job would take more memory than its
//! counts, and be woken twenty times a second.

use std::thread;
use std::time::{Duration, Instant};

use iolite_model::{Event, Sink};

use crate::barrier::StartLine;
use crate::conductor::{Conductor, Preparing, TICK, called_off, release};
use crate::control::Control;
use crate::error::{WorkError, WorkersError};
use crate::group::WorkerGroup;
use crate::lane::{Finished, WorkerStart};
use crate::outcome::Outcome;
use crate::threads::Threads;
use crate::transport::Transport;

/// Messages of a group that are taken before it is the turn of the next: workers that report each operation may send more than the sinks
/// take, and the others' messages would never be looked at.
const TAKEN_IN_TURN: usize = 4;

/// A group whose workers are threads, to be conducted by the thread that has created it.
pub struct Conducted<'a> {
    group: &'a WorkerGroup,
    control: Control,
    transport: Box<dyn Transport + 'a>,
}

/// What came of a group.
type Ended = Result<Outcome, WorkersError>;

impl WorkerGroup {
    /// This group with a thread for each worker, as [`run`](WorkerGroup::run) has them, for [`conduct_together`].
    pub fn with_threads<'a, W, E>(&'a self, work: impl FnMut(u32) -> W + 'a) -> Conducted<'a>
    where
        W: FnOnce(WorkerStart) -> Result<Finished, E> + Send + 'static,
        E: Into<WorkError> + 'static,
    {
        let control = self.control.for_phase(self.phase);
        let transport = Box::new(Threads::new(self, control.clone(), work));
        Conducted { group: self, control, transport }
    }
}

/// Runs groups that start at the same instant, each after its own delay: they wait at `line` as one. `ended` is called with the index
/// of each that has measured, as soon as it has. Where one of them cannot be made ready, none of them measures.
///
/// The events of all of them go to `sink`.
pub fn conduct_together(
    mut groups: Vec<Conducted<'_>>,
    line: &dyn StartLine,
    sink: &mut dyn Sink,
    ended: &mut dyn FnMut(usize, &Outcome),
) -> Vec<Ended> {
    let ready = prepare(&mut groups);
    let all = ready.iter().all(|ready| matches!(ready, Ok(true)));
    let origin = if all {
        groups.iter().for_each(|of| sink.event(&Event::PhaseReady(of.group.phase)));
        line.wait(&|| groups.iter().any(|of| of.control.interrupted()))
    } else {
        line.leave();
        None
    };
    for of in &mut groups {
        of.transport.release(origin.map(|origin| origin.saturating_add(of.group.delay.0)));
    }
    let outcomes = match origin {
        Some(origin) => conduct(&mut groups, origin, sink, ended).into_iter().map(Ok).collect(),
        None => {
            let now = Instant::now();
            let called_off = |(of, ready): (&mut Conducted<'_>, Result<bool, WorkersError>)| {
                ready.and_then(|_| called_off(of.group, now, of.transport.as_mut()))
            };
            groups.iter_mut().zip(ready).map(called_off).collect()
        }
    };
    groups.iter().for_each(|of| of.group.control.forget(of.group.phase));
    outcomes
}

/// Starts the workers of all groups and waits until they are ready, or one of them can't be, or the user interrupts: false for those
/// that are not ready then.
fn prepare(groups: &mut [Conducted<'_>]) -> Vec<Result<bool, WorkersError>> {
    let mut preparing: Vec<Result<Preparing, WorkersError>> =
        groups.iter_mut().map(|of| Preparing::start(of.group, of.transport.as_mut())).collect();
    // From here on: the first have waited until the last were started.
    preparing.iter_mut().flatten().for_each(|preparing| preparing.since = Instant::now());
    let mut left = groups.len();
    while left > 0 && preparing.iter().all(Result::is_ok) {
        left = 0;
        for (of, preparing) in groups.iter_mut().zip(&mut preparing) {
            match all_ready(of, preparing) {
                Ok(Some(true)) => {}
                Ok(Some(false)) => return groups.iter().map(|_| Ok(false)).collect(),
                Ok(None) => left += 1,
                Err(error) => *preparing = Err(error),
            }
        }
        if left > 0 {
            thread::park_timeout(TICK);
        }
    }
    preparing.into_iter().map(|preparing| preparing.map(|_| left == 0)).collect()
}

/// Takes what a group's workers have reported: whether all are ready, as [`Preparing::turn`] says it.
fn all_ready(
    of: &mut Conducted<'_>,
    preparing: &mut Result<Preparing, WorkersError>,
) -> Result<Option<bool>, WorkersError> {
    let Ok(preparing) = preparing else { return Ok(None) };
    loop {
        let before = preparing.ready;
        let turn = preparing.turn(Duration::ZERO, of.group, &of.control, of.transport.as_mut())?;
        if turn.is_some() || preparing.ready == before {
            return Ok(turn);
        }
    }
}

/// Collects while the workers of all groups measure.
fn conduct(
    groups: &mut [Conducted<'_>],
    origin: u64,
    sink: &mut dyn Sink,
    ended: &mut dyn FnMut(usize, &Outcome),
) -> Vec<Outcome> {
    let mut conductors: Vec<Option<Conductor<'_>>> = Vec::with_capacity(groups.len());
    for Conducted { group, control, transport } in groups {
        let origin = origin.saturating_add(group.delay.0);
        sink.event(&Event::PhaseReleased(release(group.phase, group.clock, origin)));
        conductors.push(Some(Conductor::new(group, control, transport.as_mut(), origin)));
    }
    let mut outcomes: Vec<Option<Outcome>> = conductors.iter().map(|_| None).collect();
    while conductors.iter().any(Option::is_some) {
        let (mut wait, mut shortest, mut has_more) = (Duration::ZERO, TICK, false);
        for (index, place) in conductors.iter_mut().enumerate() {
            let Some(conductor) = place else { continue };
            has_more |= take_in_turn(conductor, sink);
            if conductor.goes_on() {
                // As long as the last of them has time, so that all are due together, and none misses a time to collect.
                wait = wait.max(conductor.until_tick());
                shortest = shortest.min(conductor.tick());
            } else if let Some(conductor) = place.take() {
                let outcome = conductor.finish(sink);
                ended(index, &outcome);
                outcomes[index] = Some(outcome);
            }
        }
        if !has_more {
            // Workers wake this thread when they have something to report.
            thread::park_timeout(wait.min(shortest));
        }
    }
    outcomes.into_iter().flatten().collect()
}

/// Takes some of what a group's workers have reported; whether there may be more.
fn take_in_turn(conductor: &mut Conductor<'_>, sink: &mut dyn Sink) -> bool {
    let mut taken = 0;
    while taken < TAKEN_IN_TURN && conductor.turn(Duration::ZERO, sink) && conductor.goes_on() {
        taken += 1;
    }
    taken == TAKEN_IN_TURN
}
