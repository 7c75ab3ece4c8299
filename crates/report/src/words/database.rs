//! Operations inside a database in words.

use iolite_model::{DbOperation, DbTask, Nanos, TprocCTask};

use super::number;

/// What a set's time does not hold.
pub(crate) const SETS: &str = "sets are in the database's memory until their commit";

/// What each session does.
pub(super) fn does(task: &DbTask) -> String {
    match task.operation {
        DbOperation::RanRead => "reads blocks by number, at random".to_owned(),
        DbOperation::RanWrite { transaction_length, hang } => {
            format!("{}, at random, {}", transactions(transaction_length), pause(hang))
        }
        DbOperation::RanIo { transaction_length, hang, read_percent } => format!(
            "reads {} by number in {read_percent} % of its cycles, and in {} % {}, all at random, {}",
            number(transaction_length, "block", "blocks"),
            100u8.saturating_sub(read_percent),
            transactions(transaction_length),
            pause(hang)
        ),
    }
}

/// What each virtual user does.
pub(super) fn transactions_of(task: &TprocCTask) -> String {
    let way = if task.procedures { "procedures in the server" } else { "statements sent by the client" };
    let where_to = if task.all_warehouses { "a random warehouse each" } else { "the user's home warehouse" };
    let timing = if task.keying_thinking { "with" } else { "without" };
    format!(
        "TPROC-C's five transactions as {way}, in {where_to} of {}, {timing} keying and thinking times",
        crate::styler::count(task.warehouses.into())
    )
}

/// The load of a task of transactions.
pub(super) fn users(task: &TprocCTask) -> String {
    let users = number(task.users, "virtual user", "virtual users");
    match task.rate {
        Some(rate) => format!("{users}, {rate} transactions a second arriving at random (open loop)"),
        None => format!("{users}, each with one transaction after the other"),
    }
}

fn transactions(sets: u32) -> String {
    format!("sets {} of its global in a transaction", number(sets, "subscript", "subscripts"))
}

fn pause(hang: Nanos) -> String {
    match hang {
        Nanos(0) => "without a pause".to_owned(),
        hang => format!("with a pause of {hang} after each"),
    }
}
