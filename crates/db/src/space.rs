//! Free space under a database's directory.

use std::path::Path;

use iolite_model::Bytes;

use crate::error::{Error, Result};

/// Bytes that a file system has free for this user.
///
/// # Errors
/// [`Error::Io`].
pub fn free_space(directory: &Path) -> Result<Bytes> {
    let stat = rustix::fs::statvfs(directory).map_err(|e| Error::io("examine", directory, e.into()))?;
    Ok(Bytes(stat.f_bavail.saturating_mul(stat.f_frsize)))
}

/// Refuses what would not fit.
///
/// # Errors
/// [`Error::NoSpace`] where less than that is free.
pub fn check_space(directory: &Path, needed: Bytes) -> Result<()> {
    let free = free_space(directory)?;
    if needed > free { Err(Error::NoSpace { path: directory.into(), needed, free }) } else { Ok(()) }
}
