//! fio's rules while jobs run: their order, what ends a job early, interim results, the progress line, error numbers.
//!
//! [`FioJob`] is the procedure: it says what runs next. Everything else listens to the run's events; phases are ended through
//! [`PhaseControl`], so that nothing depends on who runs them.

mod blocks;
pub mod eta;
mod failure;
mod job;
mod latency;
mod minimum_rate;
mod outcome;
pub mod paths;
pub mod shared;
pub mod status;
mod trigger;
pub mod watchers;

pub use eta::EtaLine;
pub use failure::{Failure, FailureKind};
pub use job::{FioJob, Preparation};
pub use outcome::went_on;
pub use shared::Shared;
pub use status::Status;
pub use trigger::{Armed, Trigger};
pub use watchers::Watchers;

/// Ends phases that run.
pub trait PhaseControl: Send {
    /// Ends a phase as if its time were over.
    fn end_phase(&self, phase: u32);
    /// Ends a phase as failed, for this reason.
    fn fail_phase(&self, phase: u32, reason: String);
    /// Ends the run as the user does.
    fn end_run(&self);
}
