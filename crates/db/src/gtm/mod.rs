//! GT.M (and YottaDB, which grew out of it): the installation, and processes that work within a database. A database is files in
//! a directory that a workload lays out, with a routine of its own that its processes run.

pub mod install;
pub mod process;

use std::path::Path;

use crate::error::Error;
pub use install::Installation;
pub use process::Process;

/// The engine's name.
pub const ENGINE: &str = "GT.M";
/// GT.M's global directory: which global is in which file.
pub const DIRECTORY: &str = "iolite.gld";
/// What helps against most failures of GT.M's.
pub const REMEDY: &str = "see the system log (journalctl, syslog), where GT.M reports details; after a killed process, the \
 database is recovered at its next use";

/// A failure of GT.M's.
pub fn engine(
    doing: &'static str,
    place: &Path,
    cause: Box<dyn std::error::Error + Send + Sync>,
    remedy: &'static str,
) -> Error {
    Error::Engine { doing, place: place.display().to_string(), cause, remedy }
}
