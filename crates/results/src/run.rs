//! The run.

use std::collections::BTreeMap;

use iolite_model::{
    Bytes, Calibration, Concluded, Conclusion, DatabaseFacts, DatabaseUse, Ending, Event, Nanos, PtsTerms,
    RunInfo, Sink, Verdict, Warning,
};
use iolite_stats::{PhaseResult, PhaseTotals};

use crate::fold::OpenPhase;
use crate::readings::Readings;
use crate::request::RunRequest;

/// A run: all that its events have said so far.
#[derive(Debug, Clone, PartialEq)]
pub struct Run {
    /// What was known when it started.
    pub info: RunInfo,
    /// The program's own cost, where it came to be measured.
    pub calibration: Option<Calibration>,
    /// The finished phases, in the order in which they ended.
    pub phases: Vec<PhaseResult>,
    /// What the database of a phase was, by the phase's number.
    pub databases: BTreeMap<u32, DatabaseFacts>,
    /// What a phase's operations took of a database and its devices, by the phase's number.
    pub database_use: BTreeMap<u32, DatabaseUse>,
    /// When each phase was released, in nanoseconds since 1970 (UTC), by the phase's number.
    pub released: BTreeMap<u32, Nanos>,
    /// What was concluded, in order.
    pub conclusions: Vec<Concluded>,
    /// What probes have read, in order; thinned out where there is much of it.
    pub readings: Readings,
    /// The warnings, in the order they arose.
    pub warnings: Vec<Warning>,
    /// The verdict, where one was reached: the last one.
    pub verdict: Option<Verdict>,
    /// How it ended; `None` while it runs, and where it was cut short.
    pub ending: Option<Ending>,
    /// Phases that have begun and not ended, by their number.
    pub(crate) open: BTreeMap<u32, OpenPhase>,
}

/// Whoever looks at a run after each of its events.
pub trait RunWatch: Send {
    /// Looks at the run that this event has changed. It must not block for long.
    fn after(&mut self, event: &Event, run: &Run);
}

impl Run {
    /// A run of which nothing is known yet but how it starts.
    pub fn new(info: RunInfo) -> Run {
        Run {
            info,
            calibration: None,
            phases: Vec::new(),
            databases: BTreeMap::new(),
            database_use: BTreeMap::new(),
            released: BTreeMap::new(),
            conclusions: Vec::new(),
            readings: Readings::default(),
            warnings: Vec::new(),
            verdict: None,
            ending: None,
            open: BTreeMap::new(),
        }
    }

    /// The run that these events report; `None` where the first of them is not a run's start.
    pub fn of<'a>(events: impl IntoIterator<Item = &'a Event>) -> Option<Run> {
        let mut events = events.into_iter();
        let Some(Event::RunStarted(info)) = events.next() else { return None };
        let mut run = Run::new((**info).clone());
        events.for_each(|event| run.event(event));
        Some(run)
    }

    /// Numbers of the phases that have started and not ended.
    pub fn open_phases(&self) -> Vec<u32> {
        self.open.keys().copied().collect()
    }

    /// Ends the phases that a run which was cut short (a crash, kill -9) has left open, as interrupted: what their intervals
    /// have counted is shown.
    pub fn close(&mut self) {
        for (_, phase) in std::mem::take(&mut self.open) {
            self.phases.push(phase.interrupted());
        }
    }

    /// Bytes that a phase which has not ended has asked for so far, ramp and drain included: read, and written.
    pub fn requested(&self, phase: u32) -> (Bytes, Bytes) {
        self.open.get(&phase).map_or((Bytes(0), Bytes(0)), OpenPhase::requested)
    }

    /// What a phase has counted so far over its measured part, and how long that is.
    pub fn so_far(&self, phase: u32) -> Option<(PhaseTotals, Nanos)> {
        let ended = || self.phases.iter().rev().find(|result| result.info.index == phase);
        let open = self.open.get(&phase).map(|open| (open.totals(), open.measured()));
        open.or_else(|| ended().map(|result| (result.totals.clone(), result.end.measured)))
    }

    /// The conclusions of one kind, in order.
    pub fn concluded<C: Conclusion>(&self) -> impl Iterator<Item = C> {
        self.conclusions.iter().filter_map(Concluded::read)
    }

    /// Operations that failed, over all stages of all phases: preparation, ramp, measured part and drain.
    pub fn errors(&self) -> u64 {
        self.phases.iter().map(PhaseResult::errors).fold(0, u64::saturating_add)
    }

    /// Operations that never completed, over all phases.
    pub fn lost(&self) -> u64 {
        self.phases.iter().map(|phase| phase.end.outstanding.lost).fold(0, u64::saturating_add)
    }

    /// What was asked for, where it was recorded.
    pub fn asked(&self) -> Option<RunRequest> {
        self.concluded().next()
    }

    /// The procedure that was asked for, for example `check`; empty where that was not recorded.
    pub fn procedure(&self) -> String {
        self.asked().map(|asked| asked.procedure).unwrap_or_default()
    }

    /// What the procedure is about, for example the name of a job; empty where that was not recorded.
    pub fn subject(&self) -> String {
        self.asked().map(|asked| asked.subject).unwrap_or_default()
    }

    /// The scale of a rehearsal of SNIA's specification, whose figures are none of the specification; `None` of any other run.
    pub fn rehearsal(&self) -> Option<f64> {
        self.concluded::<PtsTerms>().last().filter(PtsTerms::is_rehearsal).map(|terms| terms.scale)
    }

    /// The last conclusion of a kind about a phase.
    pub fn of_phase<C: Conclusion>(&self, phase: u32) -> Option<C> {
        let about = |concluded: &&Concluded| concluded.phase == Some(phase);
        self.conclusions.iter().rev().filter(about).find_map(Concluded::read)
    }

    /// Number of the phase that begins next: one more than the highest so far.
    pub fn next_phase(&self) -> u32 {
        let ended = self.phases.iter().map(|phase| phase.info.index);
        ended.chain(self.open.keys().copied()).max().map_or(0, |last| last.saturating_add(1))
    }
}

impl Sink for Run {
    fn event(&mut self, event: &Event) {
        match event {
            Event::RunStarted(info) => self.info = (**info).clone(),
            Event::Calibrated(calibration) => self.calibration = Some(calibration.clone()),
            Event::PhaseStarted(info) => {
                let before = self.open.insert(info.index, OpenPhase::new(info.clone()));
                debug_assert!(before.is_none(), "phase {} began twice", info.index);
            }
            Event::PhaseReleased(release) => {
                self.released.insert(release.phase, release.at_unix);
            }
            Event::Database(facts) => {
                self.databases.insert(facts.phase, (**facts).clone());
            }
            Event::DatabaseUse(usage) => {
                self.database_use.insert(usage.phase, (**usage).clone());
            }
            Event::Interval(interval) => {
                if let Some(phase) = self.open.get_mut(&interval.phase) {
                    phase.interval(interval);
                }
            }
            Event::PhaseEnded(end) => {
                if let Some(phase) = self.open.remove(&end.phase) {
                    self.phases.push(phase.end(end.clone()));
                }
            }
            Event::Warning(warning) => self.warnings.push(warning.clone()),
            Event::Verdict(verdict) => self.verdict = Some(verdict.clone()),
            Event::Concluded(concluded) => self.conclusions.push((**concluded).clone()),
            Event::RunEnded(ending) => self.ending = Some(ending.clone()),
            Event::Reading(reading) => self.readings.add(reading),
            // Logs of operations go to files, and the totals of single workers are read from the store.
            Event::Operations(_) | Event::Worker(_) | Event::PhaseReady(_) => {}
        }
    }
}
