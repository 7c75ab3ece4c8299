//! fio's rules while jobs run: what ends a job early, interim results, the progress line, error numbers.
//!
//! Everything here listens to the run's events; phases are ended through [`PhaseControl`], so that nothing depends on who
//! runs them.

pub mod eta;
pub mod outcome;
pub mod shared;
pub mod status;
pub mod watchers;

pub use eta::EtaLine;
pub use shared::Shared;
pub use status::Status;
pub use watchers::Watchers;

/// Ends phases that run.
pub trait PhaseControl: Send {
    /// Ends a phase as if its time were over.
    fn end_phase(&self, phase: u32);
    /// Ends a phase as failed, for this reason.
    fn fail_phase(&self, phase: u32, reason: String);
}
