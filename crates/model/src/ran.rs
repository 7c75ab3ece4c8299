//! RanRead, RanWrite and RanIO inside a database, as plain data.

use serde::{Deserialize, Serialize};

use crate::arrival::Stop;
use crate::database::TimedBy;
use crate::kind::OpKind;
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
    /// Reads of the same blocks in ascending order: each session scans its part, again and again.
    Scan,
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

impl DbOperation {
    /// What it is called, as PerfTools write it.
    pub fn name(self) -> &'static str {
        match self {
            DbOperation::RanRead => "RanRead",
            DbOperation::Scan => "sequential scan",
            DbOperation::RanWrite { .. } => "RanWrite",
            DbOperation::RanIo { .. } => "RanIO",
        }
    }

    /// What each session does, in words.
    pub fn does(self) -> String {
        match self {
            DbOperation::RanRead => "reads blocks by number, at random".to_owned(),
            DbOperation::Scan => "reads its part of the blocks by number, in ascending order".to_owned(),
            DbOperation::RanWrite { transaction_length, hang } => {
                format!("{}, at random, {}", transactions(transaction_length), pause(hang))
            }
            DbOperation::RanIo { transaction_length, hang, read_percent } => format!(
                "reads {transaction_length} {} by number in {read_percent} % of its cycles, and in {} % {}, all at random, {}",
                if transaction_length == 1 { "block" } else { "blocks" },
                100u8.saturating_sub(read_percent),
                transactions(transaction_length),
                pause(hang)
            ),
        }
    }

    /// Percentage of its cycles that are reads of blocks; the others are transactions of sets.
    pub fn read_percent(self) -> u8 {
        match self {
            DbOperation::RanRead | DbOperation::Scan => 100,
            DbOperation::RanWrite { .. } => 0,
            DbOperation::RanIo { read_percent, .. } => read_percent,
        }
    }

    /// Operations of a cycle, and the pause after it; `None` where it has no cycles.
    pub fn cycle(self) -> Option<(u32, Nanos)> {
        match self {
            DbOperation::RanRead | DbOperation::Scan => None,
            DbOperation::RanWrite { transaction_length, hang }
            | DbOperation::RanIo { transaction_length, hang, .. } => Some((transaction_length, hang)),
        }
    }

    /// Kinds of operations that are counted. A mix counts all of them, whatever its percentage.
    pub fn kinds(self) -> &'static [OpKind] {
        match self {
            DbOperation::RanWrite { .. } => &[OpKind::Write, OpKind::Commit],
            DbOperation::RanIo { .. } => &[OpKind::Read, OpKind::Write, OpKind::Commit],
            _ => &[OpKind::Read],
        }
    }

    /// Whether it reads blocks.
    pub fn reads(self) -> bool {
        self.kinds().contains(&OpKind::Read)
    }

    /// Whether it writes, each session into a global of its own.
    pub fn writes(self) -> bool {
        self.kinds().contains(&OpKind::Write)
    }
}

fn transactions(sets: u32) -> String {
    format!(
        "sets {sets} {} of its global in a transaction",
        if sets == 1 { "subscript" } else { "subscripts" }
    )
}

fn pause(hang: Nanos) -> String {
    match hang {
        Nanos(0) => "without a pause".to_owned(),
        hang => format!("with a pause of {hang} after each"),
    }
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
