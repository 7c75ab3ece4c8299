//! Why a group of workers did not run.

/// An error of the work itself, of whatever type its room has.
pub type WorkError = Box<dyn std::error::Error + Send + Sync>;

/// Why a group of workers did not run.
#[derive(Debug, thiserror::Error)]
pub enum WorkersError {
    /// A thread or process could not be started, or has died.
    #[error("a worker could not be run: {0}; the limit on threads (ulimit -u) may be reached")]
    Start(String),
    /// Some worker was never ready to begin.
    #[error(
        "not all of the {workers} workers became ready to begin: the device hangs (see the kernel log, dmesg), or a worker \
         has died, which is a bug"
    )]
    NotReady {
        /// Workers in all.
        workers: u32,
    },
    /// A worker could not prepare.
    #[error("{0}")]
    Work(WorkError),
}
