//! Whether what storage or a database has acknowledged is there after a crash.
//!
//! Workers write blocks that say what they are, make each durable, and only then tell a witness that it was acknowledged. The
//! witness is elsewhere: on another file system, or on another host. After the crash, [`check`](check::check) compares what the
//! witness knows with what is found. An acknowledgment that did not reach the witness before the crash proves nothing and is not
//! missed; one that did is a promise.

mod database;
mod error;
mod files;
mod plan;
mod record;
mod run;
mod server;
mod witness;

pub mod check;

pub use database::{Commits, open as open_database};
pub use error::{Error, Result};
pub use plan::{check_within as check_plan, new_key, slots, space};
pub use record::Identity;
pub use run::{Limits, Open, Outcome, Progress, Watch, run};
pub use server::serve;
pub use witness::{Acknowledged, Witness, parse as parse_witness, read as read_witness};
