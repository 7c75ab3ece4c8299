//! What is recorded of a phase besides its intervals and its end.

use iolite_model::{Conclusion, OpTotals, Usage};
use iolite_stats::{Detail, PhaseTotals};
use serde::{Deserialize, Serialize};

use crate::run::Run;

/// What reading back all that a phase has written counted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ReadBack {
    /// Measured time, in nanoseconds.
    pub measured_ns: u64,
    /// Counts by kind of operation.
    pub operations: Vec<OpTotals>,
    /// Reads that have failed when all that was left to verify was read back after the phase.
    #[serde(default)]
    pub unread: u64,
}

impl Conclusion for ReadBack {
    const KIND: &'static str = "read-back";
}

impl ReadBack {
    /// These counts, of which so many reads after the phase have failed, to be recorded.
    pub fn of(totals: &PhaseTotals, unread: u64) -> ReadBack {
        ReadBack { measured_ns: totals.measured, operations: totals.by_kind(), unread }
    }

    /// The counts; `None` where they are damaged.
    pub fn totals(&self) -> Option<PhaseTotals> {
        PhaseTotals::of_counts(self.measured_ns, &self.operations).ok()
    }
}

/// What is known of a phase besides its result: counts that are no interval of it.
#[derive(Debug, Clone, PartialEq)]
pub struct PhaseDetail {
    /// What reading back all that was written counted.
    pub read_back: Option<PhaseTotals>,
    /// What its workers used of the machine.
    pub usage: Usage,
    /// What was kept of each operation.
    pub detail: Option<Detail>,
}

impl PhaseDetail {
    /// What a run says of a phase besides its result.
    pub fn of(run: &Run, phase: u32) -> PhaseDetail {
        PhaseDetail {
            read_back: run.of_phase::<ReadBack>(phase).and_then(|read| read.totals()),
            usage: run.of_phase(phase).unwrap_or_default(),
            detail: run.of_phase(phase),
        }
    }
}
