//! Whether what is read is what was written: stamped on the way out, remembered, compared on the way back.

mod checker;
mod dump;
mod fio_state;
mod journal;
mod judge;
mod later;
mod passes;
mod read_back;
mod speed;
mod state;
mod verification;
mod written;

pub(crate) use checker::{Checker, Checks, Unchecked};
pub(crate) use fio_state::FioState;
pub use later::SavedState;
pub use speed::checksum_speed;
pub(crate) use state::can_be_created;
pub(crate) use verification::{Subject, Verification};
