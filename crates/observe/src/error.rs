//! Why the storage under a directory cannot be identified.

use std::io;
use std::path::{Path, PathBuf};

use iolite_model::{ErrorCause, ErrorOrigin};

/// Why [`storage`](crate::storage()) failed: always something about the directory it was asked about.
#[derive(Debug, thiserror::Error)]
#[error(
    "cannot examine the storage of `{}`: {source}{}", .path.display(),
    ErrorCause::advice(.source, ErrorOrigin::Path(.path))
)]
pub struct Error {
    /// The path as given.
    pub path: PathBuf,
    /// The reason.
    pub source: io::Error,
}

impl Error {
    /// The error that `source` amounts to for the directory `path`.
    pub(crate) fn new(path: &Path, source: io::Error) -> Error {
        Error { path: path.to_path_buf(), source }
    }
}
