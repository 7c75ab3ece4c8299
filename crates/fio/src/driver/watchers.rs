//! What looks at running threads and ends them early: steady states, least rates, `exitall`.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use iolite_model::{Event, Interval, Nanos, OpTotals, PhaseEnd, Sink, Stage};
use iolite_suites::{SteadyRule, SteadyWatch};

use super::PhaseControl;
use super::blocks::Blocks;
use super::minimum_rate::{DIRECTIONS, MinimumRate};
use super::shared::Shared;
use crate::language::thread::Thread;
use crate::language::thread::{ExitWhat, SteadyMeasure, SteadyState};
use crate::output::blocks::BlockResult;
use crate::output::logs::LogWriter;
use crate::output::result::{SteadyPoint, SteadyResult};

/// The watchers of a run, shared with whoever wants to know what they found.
#[derive(Clone)]
pub struct Watchers(Arc<Mutex<State>>);

struct State {
    control: Box<dyn PhaseControl>,
    logs: Option<Shared<LogWriter>>,
    /// By phase.
    watched: BTreeMap<u32, Watched>,
    /// `exit_what=all` took effect: threads that have not begun are not to begin.
    all_ended: bool,
}

/// A running thread.
struct Watched {
    thread: Thread,
    /// It is still to be looked at.
    live: bool,
    /// When it was released, since 1970.
    released: Option<Nanos>,
    steady: Option<Steady>,
    blocks: Option<Blocks>,
    min: Vec<MinimumRate>,
}

impl Watchers {
    /// Watchers that end phases through `control`, and set for the logs which thread a phase is.
    pub fn new(control: Box<dyn PhaseControl>, logs: Option<Shared<LogWriter>>) -> Watchers {
        let watched = BTreeMap::new();
        Watchers(Arc::new(Mutex::new(State { control, logs, watched, all_ended: false })))
    }

    /// Looks at these threads, which run as phases from `first` on.
    pub fn watch<'a>(&self, threads: impl IntoIterator<Item = &'a Thread>, first: u32) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for (phase, thread) in (first..).zip(threads) {
            if let Some(logs) = &state.logs {
                logs.with(|logs| logs.is_phase(thread.number, phase));
            }
            state.watched.insert(phase, Watched::new(thread));
        }
    }

    /// What came of the search for a steady state of a phase, where there was one.
    pub fn steady(&self, phase: u32) -> Option<SteadyResult> {
        let state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.watched.get(&phase)?.steady.as_ref().map(Steady::result)
    }

    /// What came of the blocks of a phase, where they were watched.
    pub fn blocks(&self, phase: u32) -> Option<BlockResult> {
        let state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.watched.get(&phase)?.blocks.as_ref().map(Blocks::result)
    }

    /// The thread that a phase is.
    pub fn thread(&self, phase: u32) -> Option<Thread> {
        let state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Some(state.watched.get(&phase)?.thread.clone())
    }

    /// When a phase's time began, since 1970; `None` before.
    pub fn released(&self, phase: u32) -> Option<Nanos> {
        let state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.watched.get(&phase)?.released
    }

    /// Whether `exitall` with `exit_what=all` has ended the whole run.
    pub fn all_ended(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).all_ended
    }
}

impl Sink for Watchers {
    fn event(&mut self, event: &Event) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match event {
            Event::PhaseReleased(release) => {
                if let Some(watched) = state.watched.get_mut(&release.phase) {
                    watched.released = Some(release.at_unix);
                }
            }
            Event::Operations(recorded) => {
                let watched = state.watched.get_mut(&recorded.phase);
                if let Some(blocks) = watched.and_then(|watched| watched.blocks.as_mut()) {
                    blocks.add(&recorded.operations);
                }
            }
            Event::Interval(interval) if interval.stage == Stage::Measured => state.interval(interval),
            // Each phase has one worker: its totals are the phase's end.
            Event::Worker(worker) => {
                let failed = worker.ops.iter().any(|op| op.errors > 0);
                state.over(worker.phase, failed);
            }
            Event::PhaseEnded(PhaseEnd { phase, ending, .. }) => {
                let failed = matches!(ending, iolite_model::Ending::Failed(_));
                state.over(*phase, failed);
            }
            _ => {}
        }
    }
}

impl State {
    fn interval(&mut self, interval: &Interval) {
        let Some(watched) = self.watched.get_mut(&interval.phase).filter(|watched| watched.live) else {
            return;
        };
        if watched.steady.as_mut().is_some_and(|steady| steady.interval(interval)) {
            self.control.end_phase(interval.phase);
        }
        let missed = watched.min.iter_mut().find_map(|min| min.interval(interval));
        if let Some(reason) = missed {
            self.control.fail_phase(interval.phase, reason);
        }
    }

    /// A thread is over: ends what is to end with it.
    fn over(&mut self, phase: u32, failed: bool) {
        let Some(over) = self.watched.get_mut(&phase).filter(|watched| watched.live) else { return };
        over.live = false;
        let exit_all = over.thread.exit_all.filter(|exit| failed || !exit.on_error);
        let group = over.thread.group;
        self.end_with_the_last_io();
        let Some(exit) = exit_all else { return };
        if exit.what == ExitWhat::All {
            self.all_ended = true;
        }
        let others = self.watched.iter().filter(|(_, watched)| watched.live);
        let others = others.filter(|(_, other)| exit.what != ExitWhat::Group || other.thread.group == group);
        others.for_each(|(phase, _)| self.control.end_phase(*phase));
    }

    /// Ends what only keeps the CPUs busy beside the I/O of others (`exit_on_io_done`), when there is no I/O any more.
    fn end_with_the_last_io(&self) {
        let live = || self.watched.iter().filter(|(_, watched)| watched.live);
        if live().all(|(_, watched)| watched.thread.keeps_cpus_busy()) {
            let ends = live().filter(|(_, watched)| watched.thread.exit_on_io_done);
            ends.for_each(|(phase, _)| self.control.end_phase(*phase));
        }
    }
}

impl Watched {
    fn new(thread: &Thread) -> Watched {
        Watched {
            thread: thread.clone(),
            live: true,
            released: None,
            steady: thread.steady.map(Steady::new),
            blocks: Blocks::of(thread),
            min: MinimumRate::all(thread),
        }
    }
}

/// A steady state that is looked for.
struct Steady {
    state: SteadyState,
    watch: SteadyWatch,
    /// The values of the window, as they are reported.
    points: Vec<SteadyPoint>,
    attained: bool,
    /// What has been counted since the last value: time, operations, bytes, response times.
    open: (u64, u64, u64, u64),
}

impl Steady {
    fn new(state: SteadyState) -> Steady {
        let window = (state.duration.0 / state.interval.0.max(1)) as usize;
        let rule = SteadyRule { slope: state.slope, limit: state.limit, percent: state.percent, window };
        let watch = SteadyWatch::new(rule);
        Steady { state, watch, points: Vec::new(), attained: false, open: (0, 0, 0, 0) }
    }

    /// Takes an interval. True when the state is steady.
    fn interval(&mut self, interval: &Interval) -> bool {
        if interval.start < self.state.ramp || self.attained {
            return false;
        }
        let counted = |op: &&OpTotals| DIRECTIONS.contains(&op.kind);
        for op in interval.ops.iter().filter(counted) {
            self.open.1 += op.operations;
            self.open.2 += op.bytes;
            self.open.3 = self.open.3.saturating_add(op.response_sum.0);
        }
        self.open.0 += interval.length.0;
        if self.open.0 < self.state.interval.0 || self.open.0 == 0 {
            return false;
        }
        let (time, operations, bytes, response) = std::mem::take(&mut self.open);
        let seconds = time as f64 / 1e9;
        let latency = if operations == 0 { 0.0 } else { response as f64 / operations as f64 };
        let point = SteadyPoint { iops: operations as f64 / seconds, bytes: bytes as f64 / seconds, latency };
        self.points.push(point);
        self.attained = self.watch.push(match self.state.measure {
            SteadyMeasure::Iops => point.iops,
            SteadyMeasure::Bandwidth => point.bytes,
            SteadyMeasure::Latency => point.latency,
        });
        let window = self.watch.values().count();
        self.points.drain(..self.points.len() - window);
        self.attained
    }

    fn result(&self) -> SteadyResult {
        let window = self.watch.window();
        SteadyResult {
            attained: self.attained,
            criterion: window.criterion,
            max_deviation: window.max_deviation,
            slope: window.slope,
            window: self.filled(),
        }
    }

    /// The values of the window, with zeros for those that were not reached, as fio shows them.
    fn filled(&self) -> Vec<SteadyPoint> {
        let length = (self.state.duration.0 / self.state.interval.0.max(1)) as usize;
        let mut window = self.points.clone();
        window.resize(length.max(window.len()), SteadyPoint::default());
        window
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use iolite_model::OpKind;

    /// A half second of reads, `at` half seconds after the start.
    pub(in crate::driver) fn interval(at: u64, operations: u64, bytes: u64) -> Interval {
        let op = OpTotals {
            kind: OpKind::Read,
            operations,
            bytes,
            errors: 0,
            response_sum: Nanos(operations * 1000),
            delay_sum: Nanos(0),
            response_max: Nanos(1000),
            response: Default::default(),
            service: Default::default(),
        };
        let (start, length) = (Nanos(at * 500_000_000), Nanos(500_000_000));
        Interval { phase: 0, start, length, stage: Stage::Measured, ops: vec![op] }
    }

    #[test]
    fn a_steady_state_joins_intervals_to_its_own() {
        let second = Nanos::SECOND;
        let mut steady = Steady::new(SteadyState {
            measure: SteadyMeasure::Iops,
            slope: false,
            limit: 5.0,
            percent: true,
            duration: Nanos(3 * second.0),
            ramp: Nanos(second.0),
            interval: second,
        });
        let found: Vec<_> = [9, 9, 100, 300, 200, 200, 199, 201, 210, 190, 7]
            .iter()
            .enumerate()
            .map(|(at, operations)| steady.interval(&interval(at as u64, *operations, 0)))
            .collect();
        let expected = [false, false, false, false, false, false, false, true, false, false, false];
        assert_eq!(found, expected);
        let result = steady.result();
        assert!(result.attained && result.criterion < 0.01, "{result:?}");
        assert_eq!(result.window.iter().map(|point| point.iops).collect::<Vec<_>>(), [400.0, 400.0, 400.0]);
        assert_eq!(result.window[0].latency, 1000.0);
    }
}
