//! What came of a phase.

use iolite_model::{Ending, ErrorTally, Outstanding, RateKept, Stuck, Usage, Verified};
use iolite_stats::{Detail, PhaseTotals};

/// What came of a phase.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// The counts.
    pub totals: PhaseTotals,
    /// How it ended.
    pub ending: Ending,
    /// What had not completed at the end.
    pub outstanding: Outstanding,
    /// Errors of operations, by kind and class.
    pub errors: Vec<ErrorTally>,
    /// The operations that were given up on, the oldest first.
    pub stuck: Vec<Stuck>,
    /// What verification found, where it was asked for.
    pub verified: Option<Verified>,
    /// What reading back all that was written counted, during the phase and after it, where that was asked for: no part of the
    /// totals.
    pub read_back: Option<PhaseTotals>,
    /// Reads that have failed when all that was left to verify was read back after the phase.
    pub unread: u64,
    /// In an open loop: whether the requested rate was reached.
    pub rate: Option<RateKept>,
    /// What the workers themselves used of the machine.
    pub usage: Usage,
    /// What the task's [`Watch`](iolite_model::Watch) has kept of each operation.
    pub detail: Option<Detail>,
}

impl Outcome {
    /// The outcome of a phase that was not begun, or that measured nothing.
    pub fn nothing(ending: Ending) -> Outcome {
        Outcome {
            totals: PhaseTotals::default(),
            ending,
            outstanding: Outstanding::default(),
            errors: Vec::new(),
            stuck: Vec::new(),
            verified: None,
            read_back: None,
            unread: 0,
            rate: None,
            usage: Usage::default(),
            detail: None,
        }
    }

    /// The first error of an operation, as text.
    pub fn first_error(&self) -> Option<&str> {
        self.errors.first().map(|tally| tally.first.as_str())
    }
}
