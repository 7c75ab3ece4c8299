//! What can go wrong before or while a phase runs.

use std::io;
use std::path::{Path, PathBuf};

use iolite_model::{BackendKind, Bytes, ErrorCause, ErrorOrigin, Nanos, OpKind};
use iolite_sys::file::Access;
use iolite_workers::WorkersError;

/// Why a phase could not run. Each says what, where, the likely cause and the remedy.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The place for the test files cannot be made.
    #[error("cannot create a directory for test files in {directory}: {source}{}", ErrorCause::advice(.source, ErrorOrigin::Path(.directory)))]
    Scratch {
        /// Where.
        directory: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
    /// A test file cannot be made or opened.
    #[error("cannot {action} the test file {path}: {source}{}", ErrorCause::advice(.source, ErrorOrigin::Path(.path)))]
    File {
        /// `make`, `open`...
        action: &'static str,
        /// Which.
        path: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
    /// A test file can't be made or opened past the page cache.
    #[error("cannot {action} the test file {path} for direct I/O: {source}{}", ErrorCause::advice(.source, ErrorOrigin::Direct(.path)))]
    DirectFile {
        /// `make` or `open`.
        action: &'static str,
        /// Which.
        path: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
    /// The target has not a block for each worker.
    #[error(
        "the target of `{task}` ({size}) is too small for {workers} workers with blocks of {block}: \
         make it larger or use fewer workers"
    )]
    TooSmall {
        /// The task.
        task: String,
        /// Size of the target.
        size: Bytes,
        /// Workers.
        workers: u32,
        /// Size of a block.
        block: Bytes,
    },
    /// The zones of a device cannot be reported, reset or finished.
    #[error("`{task}` cannot use the zones of its device: {source}{}", ErrorCause::advice(.source, ErrorOrigin::Zones))]
    Zones {
        /// The task.
        task: String,
        /// The system's answer.
        source: io::Error,
    },
    /// The back end cannot be had.
    #[error("the back end {} cannot be started: {source}{}", .backend.name(), ErrorCause::advice(.source, ErrorOrigin::Backend(.backend)))]
    Backend {
        /// Which.
        backend: BackendKind,
        /// The system's answer.
        source: io::Error,
    },
    /// The workers could not be started, or one of them has died.
    #[error(transparent)]
    Workers(WorkersError),
    /// The queue to the kernel is broken.
    #[error("the submission queue failed: {}{}", .0, ErrorCause::advice(.0, ErrorOrigin::Call))]
    Queue(io::Error),
    /// The task itself is invalid.
    #[error("`{task}` cannot be run: {reason}")]
    Task {
        /// The task.
        task: String,
        /// Why.
        reason: String,
    },
    /// The span is not within what exists.
    #[error(
        "{path} has {whole}, but the requested region is {size} from byte {} on: specify a smaller offset or size (0 for all)", .offset.0
    )]
    Span {
        /// What.
        path: PathBuf,
        /// Its size.
        whole: Bytes,
        /// WorkerStart of the span.
        offset: Bytes,
        /// Its length.
        size: Bytes,
    },
    /// The guard does not let a target be written.
    #[error("refusing to write to {path}: {reason}")]
    Guarded {
        /// Which.
        path: PathBuf,
        /// Why, and what to do.
        reason: String,
    },
    /// What was written through the page cache can't be written out.
    #[error(
        "`{task}`: the page cache could not be written to the device: {source}{}", ErrorCause::advice(.source, ErrorOrigin::Call)
    )]
    Lost {
        /// The task.
        task: String,
        /// The system's answer.
        source: io::Error,
    },
    /// The user wanted to stop while a phase was made ready.
    #[error("interrupted during preparation")]
    Interrupted,
    /// An error of an operation that was to end the phase.
    #[error("ended by the first error that the job does not allow: {what}")]
    Stopped {
        /// Which.
        what: String,
    },
    /// An operation that took longer than the task allows.
    #[error(
        "a {} at byte {offset} took {took}, longer than the maximum of {longest}: check the device, or raise the maximum", .kind.name()
    )]
    TooLong {
        /// What it was.
        kind: OpKind,
        /// Where, in bytes.
        offset: u64,
        /// Its service time.
        took: Nanos,
        /// What is allowed.
        longest: Nanos,
    },
    /// A worker can't run, or have its memory, where it should.
    #[error("the placement of a worker failed: {0}")]
    Placement(io::Error),
    /// A worker can't lock its memory.
    #[error("worker {worker} cannot lock its memory: {source}{}", ErrorCause::advice(.source, ErrorOrigin::Lock))]
    LockedMemory {
        /// Number of the worker.
        worker: u32,
        /// Why.
        source: io::Error,
    },
    /// A verification state can't be kept or read.
    #[error("cannot {action} the verification state {path}: {source}{}", ErrorCause::advice(.source, ErrorOrigin::Path(.path)))]
    State {
        /// `read` or `write`.
        action: &'static str,
        /// Which.
        path: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
    /// What a phase does other than block I/O (a database) failed.
    #[error(transparent)]
    Work(Box<dyn std::error::Error + Send + Sync>),
    /// What a worker reported of itself from elsewhere, in its own words.
    #[error("{0}")]
    Other(String),
}

impl EngineError {
    /// A file that could not be opened.
    pub(crate) fn opening(path: &Path, access: Access, source: io::Error) -> EngineError {
        EngineError::accessing("open", path, access, source)
    }

    /// A file that could not be made or opened.
    pub(crate) fn accessing(
        action: &'static str,
        path: &Path,
        access: Access,
        source: io::Error,
    ) -> EngineError {
        let path = path.to_owned();
        if access.direct {
            EngineError::DirectFile { action, path, source }
        } else {
            EngineError::File { action, path, source }
        }
    }

    /// A worker that could not be run.
    pub(crate) fn worker(why: impl Into<String>) -> EngineError {
        EngineError::Workers(WorkersError::Failed(why.into()))
    }
}

impl From<WorkersError> for EngineError {
    fn from(error: WorkersError) -> EngineError {
        match error {
            WorkersError::Work(work) => match work.downcast() {
                Ok(own) => *own,
                Err(other) => EngineError::Work(other),
            },
            other => EngineError::Workers(other),
        }
    }
}
