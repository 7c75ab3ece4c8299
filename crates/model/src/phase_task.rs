//! What each kind of task says of itself.

use serde::{Deserialize, Serialize};

use crate::arrival::Stop;
use crate::units::Nanos;

/// Which layer of the system a phase exercises.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Layer {
    /// The measuring program itself, on the null back end.
    Calibration,
    /// Block I/O through the file system, or on a device.
    File,
    /// Names of a file system.
    Metadata,
    /// Operations through a database.
    Database,
}

/// What every task says of itself, whatever it does: the one place that a kind of task answers this in.
pub trait PhaseTask {
    /// Name shown in results.
    fn name(&self) -> &str;

    /// The layer it exercises.
    fn layer(&self) -> Layer;

    /// Threads, processes or sessions that do it.
    fn workers(&self) -> u32;

    /// Operations outstanding at once.
    fn concurrency(&self) -> u32 {
        self.workers()
    }

    /// Threads of this program that issue operations.
    fn threads(&self) -> u32 {
        self.workers()
    }

    /// What ends the phase.
    fn stop(&self) -> Stop;

    /// Time at the start that is left out of the totals.
    fn ramp(&self) -> Nanos;

    /// Length of the intervals of the time series.
    fn interval(&self) -> Nanos;

    /// Time from the phase's start to its first operation.
    fn delay(&self) -> Nanos {
        Nanos(0)
    }

    /// Whether it asks for the same all the time: bursts, pauses, traces and rounds have a course of their own.
    fn is_uniform(&self) -> bool {
        true
    }

    /// Gives it other random numbers, which follow from its own and this.
    fn reseed(&mut self, by: u64);
}
