//! TPROC-C: a workload of transactions derived from TPC-C, what is asked of it and what it reports beside its operations.

use serde::{Deserialize, Serialize};

use crate::arrival::Stop;
use crate::kind::OpKind;
use crate::phase_task::{Layer, PhaseTask, task_fields};
use crate::units::{Iops, Nanos};

/// Transactions of TPROC-C by virtual users.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct TprocCTask {
    /// Name shown in results: `TPROC-C`.
    pub name: String,
    /// Virtual users, each a session of its own.
    pub users: u32,
    /// Warehouses in the database.
    pub warehouses: u32,
    /// Cardinalities are divided by this; 1 is the specification's size.
    pub reduction: u32,
    /// Each transaction takes a random warehouse; otherwise a user stays with its home warehouse.
    pub all_warehouses: bool,
    /// Keying and thinking times are kept.
    pub keying_thinking: bool,
    /// Each transaction is a call of a procedure in the server; otherwise a sequence of statements.
    pub procedures: bool,
    /// Each row of the table of warehouses is in a page of its own.
    #[serde(default)]
    pub spread_warehouse: bool,
    /// Transactions per second that arrive at random over all users (open loop); `None` in a closed loop.
    pub rate: Option<Iops>,
    /// What ends the phase.
    pub stop: Stop,
    /// By how much the measured time may be extended, so that it holds whole cycles of checkpoints.
    #[serde(default)]
    pub whole_cycles: Option<Nanos>,
    /// Time at the start that is recorded separately and excluded from the totals.
    pub ramp: Nanos,
    /// Length of the intervals of the time series.
    pub interval: Nanos,
    /// Seed of the random number generators of this task.
    pub seed: u64,
    /// Kinds of operation that are counted: the transactions, and those that are rolled back.
    pub kinds: Vec<OpKind>,
}

impl PhaseTask for TprocCTask {
    task_fields!();

    fn layer(&self) -> Layer {
        Layer::Database
    }

    fn workers(&self) -> u32 {
        self.users
    }

    fn rate_word(&self) -> &'static str {
        "per second"
    }

    /// NOPM is about New-Orders.
    fn main_kind(&self) -> Option<OpKind> {
        OpKind::named("new-order").filter(|kind| self.kinds.contains(kind))
    }
}

/// The database of a TPROC-C run, as it was when the run began.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TprocCDatabase {
    /// Where it is: the URL without its password.
    pub url: String,
    /// Name of the engine, for example `PostgreSQL`.
    pub engine: String,
    /// Version of the engine.
    pub version: String,
    /// Warehouses it was built with.
    pub warehouses: u32,
    /// Cardinalities are divided by this.
    pub reduction: u32,
    /// What makes a commit durable.
    pub durable_by: String,
    /// What else determines the figures, as (name, value).
    #[serde(with = "crate::database::pairs")]
    pub settings: Vec<(String, String)>,
}

/// The counters of a TPROC-C database at an instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct TprocCCounts {
    /// When they had been read, since the phase's release.
    pub at: Nanos,
    /// Sum of `d_next_o_id` over all districts: one more for each New-Order that committed.
    pub orders: u64,
    /// Commits and rollbacks that the server has counted; `None` where it counts none.
    pub transactions: Option<u64>,
}

/// What a phase of TPROC-C counted beside its operations.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TprocCCounted {
    /// Before the first transaction.
    pub before: TprocCCounts,
    /// At the start of the measured time.
    pub start: TprocCCounts,
    /// At its end.
    pub end: TprocCCounts,
    /// When all users had closed their sessions.
    pub after: TprocCCounts,
    /// New-Orders that users have committed over the whole phase, ramp and end included.
    pub new_orders: u64,
    /// Transactions that users have committed over the whole phase.
    pub committed: u64,
    /// Transactions that users have rolled back as the specification wants it: 1 % of the New-Orders.
    pub rolled_back: u64,
    /// Transactions that the database ended as the victim of a deadlock, each of which was repeated.
    pub deadlocks: u64,
    /// Transactions that the database ended because they waited too long for a lock (PostgreSQL: lock_timeout; MariaDB and MySQL:
    /// innodb_lock_wait_timeout).
    #[serde(default)]
    pub lock_timeouts: u64,
    /// Deliveries that found a district without an order to deliver.
    pub skipped_deliveries: u64,
}

impl TprocCCounted {
    /// New-Orders per minute of the measured time, by the districts' counter (NOPM).
    pub fn nopm(&self) -> f64 {
        per_minute(self.end.orders.saturating_sub(self.start.orders), self.start.at, self.end.at)
    }

    /// Transactions per minute of the measured time, by the server's counter of commits and rollbacks (TPM).
    pub fn tpm(&self) -> Option<f64> {
        let transactions = self.end.transactions?.saturating_sub(self.start.transactions?);
        Some(per_minute(transactions, self.start.at, self.end.at))
    }

    /// Orders that the districts' counter gained over the whole phase.
    pub fn orders_gained(&self) -> u64 {
        self.after.orders.saturating_sub(self.before.orders)
    }

    /// Commits and rollbacks that the server counted over the whole phase, this program's own readings included.
    pub fn transactions_gained(&self) -> Option<u64> {
        Some(self.after.transactions?.saturating_sub(self.before.transactions?))
    }
}

fn per_minute(count: u64, from: Nanos, to: Nanos) -> f64 {
    let seconds = to.saturating_sub(from).as_secs_f64();
    if seconds > 0.0 { count as f64 * 60.0 / seconds } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_of_the_measured_time() {
        let counts = |seconds: u64, orders, transactions| TprocCCounts {
            at: Nanos(seconds * Nanos::SECOND.0),
            orders,
            transactions: Some(transactions),
        };
        let counted = TprocCCounted {
            before: counts(0, 100, 0),
            start: counts(10, 150, 200),
            end: counts(40, 450, 1400),
            after: counts(41, 451, 1410),
            new_orders: 351,
            committed: 1400,
            rolled_back: 3,
            deadlocks: 0,
            lock_timeouts: 0,
            skipped_deliveries: 0,
        };
        assert_eq!((counted.nopm(), counted.tpm()), (600.0, Some(2400.0)));
        assert_eq!((counted.orders_gained(), counted.transactions_gained()), (351, Some(1410)));
        let instant = TprocCCounted { end: counted.start, ..counted };
        assert_eq!(instant.nopm(), 0.0);
    }
}

/// Whether a database of TPROC-C has kept every order: the conditions that were checked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TprocCChecked {
    /// The conditions, in order.
    pub conditions: Vec<TprocCCondition>,
}

impl TprocCChecked {
    /// Whether all conditions hold everywhere.
    pub fn is_consistent(&self) -> bool {
        self.conditions.iter().all(|condition| condition.violations.is_empty())
    }
}

/// What was checked, and where it does not hold.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TprocCCondition {
    /// `1` to `4` as in clause 3.3.2; `orders` and `lines` are ours.
    pub name: String,
    /// What must hold.
    pub says: String,
    /// Warehouses or districts that were checked.
    pub checked: u64,
    /// Where it does not hold.
    pub violations: Vec<TprocCViolation>,
}

/// Where a condition does not hold.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TprocCViolation {
    /// Warehouse.
    pub warehouse: i64,
    /// District, or 0 for the whole warehouse.
    pub district: i64,
    /// What there is, in the condition's own order.
    pub found: Vec<i64>,
}
