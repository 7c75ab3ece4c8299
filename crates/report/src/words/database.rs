//! Operations inside a database in words.

use iolite_model::{Task, TprocCTask};

use super::number;

/// What a set's time does not hold.
pub(crate) const SETS: &str = "sets are in the database's memory until their commit";

/// How many operations are in flight at once, or who issues them.
pub(crate) fn at_once(task: &Task) -> String {
    match (task, task.concurrency()) {
        (Task::TprocC(_), users) => number(users, "virtual user", "virtual users"),
        (Task::Database(_), jobs) => number(jobs, "job", "jobs"),
        (Task::File(_) | Task::Metadata(_), operations) => format!("{operations} in flight"),
    }
}

/// What each virtual user does.
pub(super) fn transactions_of(task: &TprocCTask) -> String {
    let way = if task.procedures { "stored procedures" } else { "statements sent by the client" };
    let where_to =
        if task.all_warehouses { "a random warehouse per transaction" } else { "the user's home warehouse" };
    let pages = if task.spread_warehouse { " with one warehouse row per page" } else { "" };
    let timing = if task.keying_thinking { "with" } else { "without" };
    let extended = task.whole_cycles.map_or(String::new(), |max| {
        format!("; measured for at most {max} longer, until checkpoint cycles are whole")
    });
    format!(
        "TPROC-C's five transactions as {way}, in {where_to} of {}{pages}, {timing} keying and thinking times{extended}",
        crate::styler::count(task.warehouses.into())
    )
}

/// The load of a task of transactions.
pub(super) fn users(task: &TprocCTask) -> String {
    let users = number(task.users, "virtual user", "virtual users");
    match task.rate {
        Some(rate) => format!("{users}, {rate} transactions per second with random arrivals (open loop)"),
        None => format!("{users}, each with one transaction after the other"),
    }
}
