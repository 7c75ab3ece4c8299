//! What each kind of task says of itself.

use serde::{Deserialize, Serialize};

use crate::arrival::Stop;
use crate::kind::OpKind;
use crate::ramp::Ramp;
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
///
/// What every task has as a field of its own (`name`, `stop`, `ramp`, `interval`, `seed`) is answered by `task_fields!()`.
pub trait PhaseTask {
    /// Name shown in results.
    fn name(&self) -> &str;

    /// Gives it another name.
    fn set_name(&mut self, name: String);

    /// What its random numbers follow from.
    fn seed(&self) -> u64;

    /// Gives it other random numbers.
    fn set_seed(&mut self, seed: u64);

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

    /// What is left out of the totals at the start.
    fn ramp(&self) -> Ramp;

    /// Length of the intervals of the time series.
    fn interval(&self) -> Nanos;

    /// Time from the phase's start to its first operation.
    fn delay(&self) -> Nanos {
        Nanos(0)
    }

    /// What its operations per second are called.
    fn rate_word(&self) -> &'static str {
        "IOPS"
    }

    /// The kind of operation that its result is about, where that is another one than the most frequent.
    fn main_kind(&self) -> Option<OpKind> {
        None
    }

    /// Whether it asks for the same all the time: bursts, pauses, traces and rounds have a course of their own.
    fn is_uniform(&self) -> bool {
        true
    }
}

/// The answers of [`PhaseTask`] that are fields of every task.
macro_rules! task_fields {
    () => {
        fn name(&self) -> &str {
            &self.name
        }

        fn set_name(&mut self, name: String) {
            self.name = name;
        }

        fn seed(&self) -> u64 {
            self.seed
        }

        fn set_seed(&mut self, seed: u64) {
            self.seed = seed;
        }

        fn stop(&self) -> Stop {
            self.stop
        }

        fn ramp(&self) -> $crate::ramp::Ramp {
            self.ramp.into()
        }

        fn interval(&self) -> Nanos {
            self.interval
        }
    };
}
pub(crate) use task_fields;
