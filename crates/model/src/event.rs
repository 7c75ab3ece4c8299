//! Events: everything that consumers of a running measurement learn, in the order it happened.

use serde::{Deserialize, Serialize};

use crate::concluded::Concluded;
use crate::database::{DatabaseFacts, DatabaseUse};
use crate::oplog::OperationLog;
use crate::reading::Reading;
use crate::record::{
    Calibration, Ending, Interval, PhaseEnd, PhaseInfo, PhaseRelease, RunInfo, WorkerTotals,
};
use crate::verdict::Verdict;
use crate::warning::Warning;

/// Something that happened in a run.
// The large one comes once a phase.
#[allow(clippy::large_enum_variant)]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Event {
    /// First event of a run.
    RunStarted(Box<RunInfo>),
    /// The program has measured itself.
    Calibrated(Calibration),
    /// A phase begins; nothing is measured before this.
    PhaseStarted(PhaseInfo),
    /// What the database of the phase that has just started is.
    Database(Box<DatabaseFacts>),
    /// What the phase's operations on a database took; comes before the phase's end.
    DatabaseUse(Box<DatabaseUse>),
    /// A phase's target and its workers are ready, and nothing of it has been done yet. Is not stored.
    PhaseReady(u32),
    /// A phase's target and its workers are ready: its time counts from now on, or from the end of its delay.
    PhaseReleased(PhaseRelease),
    /// An interval of the running phase is complete.
    Interval(Interval),
    /// Operations one by one, where a task asks for them ([`Watch`](crate::Watch)).
    Operations(OperationLog),
    /// A worker's totals, at the end of a phase.
    Worker(WorkerTotals),
    /// What a probe read of the machine, its devices or its databases, in a phase or between phases.
    Reading(Reading),
    /// The phase is over.
    PhaseEnded(PhaseEnd),
    /// A warning.
    Warning(Warning),
    /// The verdict.
    Verdict(Verdict),
    /// What the run concludes: what was asked for in the procedure's own terms, knees, answers of searches, details of a
    /// phase that are no count.
    Concluded(Box<Concluded>),
    /// Last event of a run.
    RunEnded(Ending),
}

/// A consumer of events: the store, the live view, a log. It must not fail and must not block for long.
pub trait Sink: Send {
    /// Takes one event.
    fn event(&mut self, event: &Event);
}

/// A consumer that drops everything.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct NullSink;

impl Sink for NullSink {
    fn event(&mut self, _event: &Event) {}
}

/// A consumer that shows a running measurement to somebody.
pub trait View: Sink {
    /// Shows what is being done between the phases.
    fn message(&mut self, text: &str);

    /// Shows nothing from here on, and leaves the terminal as it was found.
    fn finish(&mut self);
}

impl View for NullSink {
    fn message(&mut self, _text: &str) {}

    fn finish(&mut self) {}
}

impl<S: Sink + ?Sized> Sink for Box<S> {
    fn event(&mut self, event: &Event) {
        (**self).event(event);
    }
}

impl<S: Sink> Sink for Vec<S> {
    fn event(&mut self, event: &Event) {
        for sink in self {
            sink.event(event);
        }
    }
}
