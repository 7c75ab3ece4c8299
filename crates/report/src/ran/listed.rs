//! A measurement inside a database as lists and exports show it: from what was stored.

use std::path::PathBuf;

use iolite_model::{
    Concluded, DatabaseFacts, DatabaseUse, DbTask, Ending, Interval, Nanos, OpKind, RunId, Stage,
    WorkerTotals,
};
use iolite_stats::{HistogramError, PhaseChanges, RateBounds, StoredTotals};

use crate::runs::utc;

/// A phase of one of the tools' runs, or a run that has none (yet).
#[derive(Debug, Clone, PartialEq)]
pub struct Listed {
    /// The run.
    pub run: RunId,
    /// Start, in nanoseconds since 1970 (UTC).
    pub started_unix: Nanos,
    /// How it ended; `None` while it runs.
    pub ending: Option<Ending>,
    /// Name of the machine that measured.
    pub host: String,
    /// The directory measured: stands for the database where nothing is known of that.
    pub directory: PathBuf,
    /// What was measured, where the run has come to that.
    pub measured: Option<ListedPhase>,
}

/// What was measured in a phase.
#[derive(Debug, Clone, PartialEq)]
pub struct ListedPhase {
    /// Its number within the run.
    pub number: u32,
    /// Whether the run has others.
    pub one_of_several: bool,
    /// What was asked for.
    pub task: DbTask,
    /// Measured time; up to now where it runs.
    pub measured: Nanos,
    /// The database, where it is known.
    pub facts: Option<DatabaseFacts>,
    /// What the operations took, where it is known.
    pub usage: Option<DatabaseUse>,
    /// Operations that succeeded over the whole phase, ramp and drain included, by their kind.
    pub whole: Vec<(OpKind, u64)>,
    /// The cache stamp, as text; `None` until it has ended.
    pub stamp: Option<String>,
    /// How certain the rates are; nothing of a phase that runs or was cut short.
    pub bounds: RateBounds,
    /// Whether the rate had several levels, of which its mean is none.
    pub shifted: bool,
    /// The operations in the measured time, all workers together.
    pub totals: ListedTotals,
    /// Reads and writes of each worker; none of a phase that runs or was cut short.
    pub workers: Vec<[u64; 2]>,
}

/// Operations by their kind.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ListedTotals {
    /// Blocks read.
    pub read: StoredTotals,
    /// Subscripts set.
    pub write: StoredTotals,
    /// Transactions committed.
    pub commit: StoredTotals,
}

impl ListedTotals {
    /// From the workers' totals; where there are none, from the measured intervals.
    ///
    /// # Errors
    /// A histogram is damaged.
    pub fn of(workers: &[WorkerTotals], intervals: &[Interval]) -> Result<ListedTotals, HistogramError> {
        let of = |kind| {
            let measured = intervals.iter().filter(|interval| interval.stage == Stage::Measured);
            if workers.is_empty() {
                StoredTotals::of(kind, measured.flat_map(|interval| &interval.ops))
            } else {
                StoredTotals::of(kind, workers.iter().flat_map(|worker| &worker.ops))
            }
        };
        Ok(ListedTotals { read: of(OpKind::Read)?, write: of(OpKind::Write)?, commit: of(OpKind::Commit)? })
    }
}

impl ListedPhase {
    /// How certain the rates are, from what was concluded about a phase.
    pub fn bounds_of(concluded: &[Concluded]) -> RateBounds {
        concluded.iter().find_map(Concluded::read).unwrap_or_default()
    }

    /// Whether the rate had several levels, from what was concluded about a phase.
    pub fn is_shifted(concluded: &[Concluded]) -> bool {
        let changes = concluded.iter().find_map(Concluded::read::<PhaseChanges>);
        changes.is_some_and(|changes| !changes.shifts().is_empty())
    }

    /// Operations of each worker that the export includes: reads and writes.
    pub fn of_workers(workers: &[WorkerTotals]) -> Vec<[u64; 2]> {
        let operations = |worker: &WorkerTotals, kind| {
            worker.ops.iter().filter(|op| op.kind == kind).map(|op| op.operations).sum()
        };
        workers
            .iter()
            .map(|worker| [operations(worker, OpKind::Read), operations(worker, OpKind::Write)])
            .collect()
    }

    pub(super) fn seconds(&self) -> f64 {
        self.measured.as_secs_f64()
    }

    /// Per second of the measured time; `None` where there was none.
    pub(super) fn per_second(&self, operations: u64) -> Option<f64> {
        (self.measured.0 > 0).then(|| operations as f64 / self.seconds())
    }

    /// Operations of a kind over the whole phase.
    pub(super) fn whole(&self, kind: OpKind) -> u64 {
        self.whole.iter().filter(|(of, _)| *of == kind).map(|(_, operations)| operations).sum()
    }

    pub(super) fn reads(&self) -> bool {
        self.task.operation.reads()
    }

    pub(super) fn writes(&self) -> bool {
        self.task.operation.writes()
    }

    /// The kinds of operation that the task is made of, with what they are called and came to.
    pub(super) fn kinds(&self) -> Vec<(OpKind, &'static str, &StoredTotals)> {
        let kinds = [
            (OpKind::Read, "read", &self.totals.read, self.reads()),
            (OpKind::Write, "set", &self.totals.write, self.writes()),
            (OpKind::Commit, "commit", &self.totals.commit, self.writes()),
        ];
        kinds.into_iter().filter(|kind| kind.3).map(|(kind, name, totals, _)| (kind, name, totals)).collect()
    }
}

impl Listed {
    /// The database's URL, else the directory.
    pub(super) fn database(&self) -> String {
        let facts = self.measured.as_ref().and_then(|phase| phase.facts.as_ref());
        facts.map_or_else(|| self.directory.to_string_lossy().into_owned(), |facts| facts.url.clone())
    }

    /// `completed`, `interrupted`, `failed`, or `running`.
    pub(super) fn state(&self) -> &'static str {
        Ending::state(self.ending.as_ref())
    }

    /// Start as date and time (UTC); empty for a time out of range.
    pub(super) fn started(&self) -> (String, String) {
        let [date, time] = ["%Y-%m-%d", "%H:%M:%S"].map(|format| match utc(self.started_unix, format) {
            unknown if unknown == "?" => String::new(),
            known => known,
        });
        (date, time)
    }
}
