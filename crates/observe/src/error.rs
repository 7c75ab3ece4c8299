//! Why the storage under a directory cannot be identified.

use std::io;
use std::path::{Path, PathBuf};

/// Why [`storage`](crate::storage()) failed: always something about the directory it was asked about.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The path does not exist.
    #[error(
        "cannot examine the storage of `{path}`: no such directory. Check the path, mount the file system, or create the \
         directory with `mkdir -p`"
    )]
    NotFound {
        /// The path as given.
        path: PathBuf,
    },
    /// The path exists and is something else.
    #[error(
        "cannot examine the storage of `{path}`: not a directory. Specify a directory for the test files, for example the one \
         that contains the file"
    )]
    NotADirectory {
        /// The path as given.
        path: PathBuf,
    },
    /// The user may not reach the path.
    #[error(
        "cannot examine the storage of `{path}`: permission denied. The user lacks search permission on one of the directories \
         on the way to it. Run as a user who may, such as the database's, or grant that with `chmod` (`namei -l` \
         shows which directory refuses)"
    )]
    Denied {
        /// The path as given.
        path: PathBuf,
    },
    /// The kernel gave another reason.
    #[error(
        "cannot examine the storage of `{path}`: {source}. The file system may be failing, or its server may not respond. See \
         the kernel log (`dmesg`) and try `df` on the directory"
    )]
    Unreadable {
        /// The path as given.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
}

impl Error {
    /// The error that `source` amounts to for the directory `path`.
    pub(crate) fn new(path: &Path, source: io::Error) -> Error {
        let path = path.to_path_buf();
        match source.kind() {
            io::ErrorKind::NotFound => Error::NotFound { path },
            io::ErrorKind::NotADirectory => Error::NotADirectory { path },
            io::ErrorKind::PermissionDenied => Error::Denied { path },
            _ => Error::Unreadable { path, source },
        }
    }
}
