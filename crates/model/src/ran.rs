//! RanRead, RanWrite and RanIO inside a database, as plain data.

use serde::{Deserialize, Serialize};

use crate::arrival::Stop;
use crate::database::TimedBy;
use crate::phase_task::{Layer, PhaseTask, task_fields};
use crate::units::Nanos;

/// Operations inside a database by `workers` sessions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DbTask {
    /// Name shown in results, for example `RanRead`.
    pub name: String,
    /// What each session does.
    pub operation: DbOperation,
    /// Sessions ("jobs" in PerfTools).
    pub workers: u32,
    /// What ends the phase.
    pub stop: Stop,
    /// Time at the start that is recorded apart and left out of the totals.
    pub ramp: Nanos,
    /// Length of the intervals of the time series.
    pub interval: Nanos,
    /// Seed of every generator of this phase.
    pub seed: u64,
    /// Who times each operation.
    #[serde(default)]
    pub timed_by: TimedBy,
}

/// The operations of InterSystems PerfTools.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DbOperation {
    /// Reads of random physical blocks by number.
    RanRead,
    /// Transactions of `transaction_length` sets of random subscripts, each followed by a pause of `hang`.
    RanWrite {
        /// Sets per transaction.
        transaction_length: u32,
        /// Pause after each transaction.
        hang: Nanos,
    },
    /// In each cycle either a batch of block reads or a transaction of sets, by the roll of a die.
    RanIo {
        /// Operations per batch.
        transaction_length: u32,
        /// Pause after each batch.
        hang: Nanos,
        /// Probability of a batch of reads, in percent (0 to 100).
        read_percent: u8,
    },
}

impl PhaseTask for DbTask {
    task_fields!();

    fn layer(&self) -> Layer {
        Layer::Database
    }

    fn workers(&self) -> u32 {
        self.workers
    }
}
