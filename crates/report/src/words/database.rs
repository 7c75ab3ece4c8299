//! Operations inside a database in words.

use iolite_model::{DbOperation, DbTask, Nanos};

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

fn transactions(sets: u32) -> String {
    format!("sets {} of its global in a transaction", number(sets, "subscript", "subscripts"))
}

fn pause(hang: Nanos) -> String {
    match hang {
        Nanos(0) => "without a pause".to_owned(),
        hang => format!("with a pause of {hang} after each"),
    }
}
