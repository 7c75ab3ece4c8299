//! Why a group of workers did not run.

use std::io;

use iolite_model::{ErrorCause, ErrorOrigin};

/// An error of the work itself, of whatever type its room has.
pub type WorkError = Box<dyn std::error::Error + Send + Sync>;

/// Why a group of workers did not run.
#[derive(Debug, thiserror::Error)]
pub enum WorkersError {
    /// A thread or process could not be started.
    #[error("a worker could not be started: {}{}", .0, ErrorCause::advice(.0, ErrorOrigin::Thread))]
    Start(io::Error),
    /// A worker could not do its work.
    #[error("a worker could not be run: {0}")]
    Failed(String),
    /// A worker has ended without a word.
    #[error(
        "worker {worker} died before it became ready to begin: the system may have ended it for want of memory (see the \
         kernel log, dmesg), else this is a bug"
    )]
    Died {
        /// Its number.
        worker: u32,
    },
    /// Some worker was never ready to begin.
    #[error(
        "not all of the {workers} workers became ready to begin within {} s: the device hangs (see the kernel log, dmesg)",
        .patience.as_secs_f64()
    )]
    NotReady {
        /// Workers in all.
        workers: u32,
        /// How long they had.
        patience: std::time::Duration,
    },
    /// A worker could not prepare.
    #[error("{0}")]
    Work(WorkError),
}
