//! Why the storage under a directory cannot be identified.

use std::io;
use std::path::{Path, PathBuf};

/// Why [`storage`](crate::storage()) failed: always something about the directory it was asked about.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The path does not exist.
    #[error(
        "cannot examine the storage of `{path}`: there is no such directory. Either its name is misspelt or its file \
         system is not mounted. Check it with `ls -d`, mount the file system, or create it with `mkdir -p`"
    )]
    NotFound {
        /// The path as given.
        path: PathBuf,
    },
    /// The path exists and is something else.
    #[error(
        "cannot examine the storage of `{path}`: it is not a directory. A file or a device was given where the \
         directory for the test files is wanted. Give the directory instead, for example the one the file is in"
    )]
    NotADirectory {
        /// The path as given.
        path: PathBuf,
    },
    /// The user may not reach the path.
    #[error(
        "cannot examine the storage of `{path}`: permission denied. This user may not search one of the directories \
         on the way to it. Run as a user who may, such as the database's, or grant that with `chmod` (`namei -l` \
         shows which directory refuses)"
    )]
    Denied {
        /// The path as given.
        path: PathBuf,
    },
    /// The kernel gave another reason.
    #[error(
        "cannot examine the storage of `{path}`: {source}. The file system may be failing or its server not \
         answering. See the kernel's log (`dmesg`) and try `df` on the directory"
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
