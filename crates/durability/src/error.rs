//! Why a durability test can't be done.

use std::io;
use std::path::{Path, PathBuf};

/// Result of a step of a durability test.
pub type Result<T> = std::result::Result<T, Error>;

/// What failed, where, and what helps.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The operating system refused.
    #[error("could not {doing} {path}: {source}; {remedy}")]
    Io {
        /// What was being done.
        doing: &'static str,
        /// To what.
        path: PathBuf,
        /// The answer.
        source: io::Error,
        /// What may help.
        remedy: &'static str,
    },
    /// The witness can't be reached, or has gone.
    #[error("the witness at {place}: {source}; {remedy}")]
    Witness {
        /// Its address.
        place: String,
        /// The answer.
        source: io::Error,
        /// What may help.
        remedy: &'static str,
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
pub(crate) fn io<'a>(
    doing: &'static str,
    path: &'a Path,
    remedy: &'static str,
) -> impl FnOnce(io::Error) -> Error + 'a {
    move |source| Error::Io { doing, path: path.to_owned(), source, remedy }
}
