//! One phase of work, as plain data: every job language, suite and command lowers to a [`Task`].

use serde::{Deserialize, Serialize};

use crate::arrival::Stop;
use crate::kind::OpKind;
use crate::metadata::MetadataTask;
use crate::phase_task::{Layer, PhaseTask};
use crate::ramp::Ramp;
use crate::ran::DbTask;
use crate::task::FileTask;
use crate::tproc_c::TprocCTask;
use crate::units::Nanos;

/// Makes [`Task`] of its kinds; a kind of task is a line of the list below, and its own `impl PhaseTask`.
macro_rules! tasks {
    ($($(#[$meaning:meta])* $kind:ident($task:ty),)*) => {
        /// One phase of work.
        // There are few of them, and they live as long as a run does.
        #[allow(clippy::large_enum_variant)]
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
        #[serde(rename_all = "kebab-case")]
        pub enum Task {
            $($(#[$meaning])* $kind($task),)*
        }

        impl Task {
            fn phase_task(&self) -> &dyn PhaseTask {
                match self {
                    $(Task::$kind(task) => task,)*
                }
            }

            fn phase_task_mut(&mut self) -> &mut dyn PhaseTask {
                match self {
                    $(Task::$kind(task) => task,)*
                }
            }
        }
    };
}

tasks! {
    /// Block I/O on a file, on a device or on nothing.
    File(FileTask),
    /// Creating, finding and removing files.
    Metadata(MetadataTask),
    /// Operations inside a database.
    Database(DbTask),
    /// Transactions of TPROC-C inside a database.
    TprocC(TprocCTask),
}

impl Task {
    /// Name shown in results.
    pub fn name(&self) -> &str {
        self.phase_task().name()
    }

    /// The layer it exercises.
    pub fn layer(&self) -> Layer {
        self.phase_task().layer()
    }

    /// Threads, processes or sessions that do it.
    pub fn workers(&self) -> u32 {
        self.phase_task().workers()
    }

    /// Operations outstanding at once.
    pub fn concurrency(&self) -> u32 {
        self.phase_task().concurrency()
    }

    /// Threads of this program that issue operations.
    pub fn threads(&self) -> u32 {
        self.phase_task().threads()
    }

    /// What ends the phase.
    pub fn stop(&self) -> Stop {
        self.phase_task().stop()
    }

    /// What is left out of the totals at the start.
    pub fn ramp(&self) -> Ramp {
        self.phase_task().ramp()
    }

    /// Length of the intervals of the time series.
    pub fn interval(&self) -> Nanos {
        self.phase_task().interval()
    }

    /// Time from the phase's start to its first operation.
    pub fn delay(&self) -> Nanos {
        self.phase_task().delay()
    }

    /// Whether it asks for the same all the time.
    pub fn is_uniform(&self) -> bool {
        self.phase_task().is_uniform()
    }

    /// The kind of operation that its result is about, where that is another one than the most frequent.
    pub fn main_kind(&self) -> Option<OpKind> {
        self.phase_task().main_kind()
    }

    /// What its operations per second are called.
    pub fn rate_word(&self) -> &'static str {
        self.phase_task().rate_word()
    }

    /// The same under another name.
    pub fn named(mut self, name: &str) -> Task {
        self.phase_task_mut().set_name(name.to_owned());
        self
    }

    /// The same with random numbers that follow from another seed.
    pub fn with_seed(mut self, seed: u64) -> Task {
        self.phase_task_mut().set_seed(seed);
        self
    }

    /// Gives it other random numbers, which follow from its own and this.
    pub fn reseed(&mut self, by: u64) {
        let seed = self.phase_task().seed().wrapping_add(by);
        self.phase_task_mut().set_seed(seed);
    }
}
