//! Why a durability test can't be done.

use std::io;
use std::path::{Path, PathBuf};

use iolite_model::{ErrorCause, ErrorOrigin};

/// Result of a step of a durability test.
pub type Result<T> = std::result::Result<T, Error>;

/// What failed, where, and what helps.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The operating system refused.
    #[error("could not {doing} {path}: {source}{}", ErrorCause::appended(.likely))]
    Io {
        /// What was being done.
        doing: &'static str,
        /// To what.
        path: PathBuf,
        /// The answer.
        source: io::Error,
        /// The likely cause, where the answer does not say all there is.
        likely: Option<ErrorCause>,
    },
    /// A worker can't be started.
    #[error("a worker could not be started: {source}{}", ErrorCause::advice(.source, ErrorOrigin::Thread))]
    Thread {
        /// The answer.
        source: io::Error,
    },
    /// The witness can't be reached, or has gone.
    #[error("the witness at {place}: {source}; {likely}")]
    Witness {
        /// Its address.
        place: String,
        /// The answer.
        source: io::Error,
        /// The likely cause.
        likely: ErrorCause,
    },
    /// Whether the witness's file is on the storage under test could not be determined.
    #[error(
        "whether the witness {witness} would be lost with {directory} is not known: the directory that the overlay at {overlay} writes to is \
         not visible from here, as in a container; specify a file that is on no overlay for data that is on none, or a host \
         (tcp://HOST:PORT), or allow it with --same-file-system to test only the end of a process"
    )]
    PlaceUnknown {
        /// The file.
        witness: PathBuf,
        /// The directory under test.
        directory: PathBuf,
        /// Where the overlay is mounted.
        overlay: PathBuf,
    },
    /// The witness's file is on the storage under test.
    #[error(
        "the witness {witness} is on the same file system as {directory} and would be lost with it: specify a file on another \
         file system or a host (tcp://HOST:PORT), or allow it with --same-file-system to test only the end of a process"
    )]
    SamePlace {
        /// The file.
        witness: PathBuf,
        /// The directory under test.
        directory: PathBuf,
    },
    /// The witness's file is in memory.
    #[error(
        "the witness {witness} is in memory ({medium}) and would be lost with the power: specify a file on a disk or a host \
         (tcp://HOST:PORT), or allow it with --same-file-system to test only the end of a process"
    )]
    InMemory {
        /// The file.
        witness: PathBuf,
        /// What it is in.
        medium: String,
    },
    /// The file is no witness's.
    #[error(
        "{path} is not a witness file of this version: {why}; specify the file written by `durability run` or `witness`"
    )]
    Foreign {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// What was asked for is invalid.
    #[error("{0}")]
    Asked(String),
    /// The plan can't be written down, which is a bug.
    #[error("a bug: the plan cannot be written down: {0}")]
    Plan(serde_json::Error),
    /// The database refused.
    #[error(transparent)]
    Database(#[from] iolite_db::Error),
}

/// Makes errors of the operating system ours.
pub(crate) fn io(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Error {
    move |source| {
        let likely = ErrorCause::of(&source, ErrorOrigin::Path(path));
        Error::Io { doing, path: path.to_owned(), source, likely }
    }
}

/// The same where what is missing is to be had otherwise than elsewhere.
pub(crate) fn found(
    doing: &'static str,
    path: &Path,
    missing: ErrorCause,
) -> impl FnOnce(io::Error) -> Error {
    move |source| match io(doing, path)(source) {
        Error::Io { doing, path, source, likely: Some(ErrorCause::Missing) } => {
            Error::Io { doing, path, source, likely: Some(missing) }
        }
        other => other,
    }
}
