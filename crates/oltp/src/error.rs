//! Why a task inside a database did not run.

use iolite_workers::WorkersError;

/// Why a task inside a database did not run.
#[derive(Debug, thiserror::Error)]
pub enum OltpError {
    /// The task itself is invalid.
    #[error("`{task}` cannot be run: {reason}")]
    Task {
        /// The task.
        task: String,
        /// Why, and what to do.
        reason: String,
    },
    /// The database refused or failed.
    #[error(transparent)]
    Database(#[from] iolite_db::Error),
    /// It was asked to do whole batches, which it can't.
    #[error("this database does not run batches in the server; this is a bug, please report it")]
    NoBatches,
    /// The workers could not be started, or one of them has died.
    #[error(transparent)]
    Workers(WorkersError),
}

impl From<WorkersError> for OltpError {
    fn from(error: WorkersError) -> OltpError {
        match error {
            WorkersError::Work(work) => match work.downcast() {
                Ok(own) => *own,
                Err(other) => OltpError::Workers(WorkersError::Work(other)),
            },
            other => OltpError::Workers(other),
        }
    }
}
