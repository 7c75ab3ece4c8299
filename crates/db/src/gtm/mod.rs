//! GT.M (and YottaDB, which grew out of it): the installation, and processes that work within a database. A database is files in
//! a directory that a workload lays out, with a routine of its own that its processes run.

pub mod install;
pub mod process;
pub mod record;

use std::path::Path;

use iolite_model::ErrorCause;

use crate::error::Error;
pub use install::Installation;
pub use process::Process;

/// The engine's name.
pub const ENGINE: &str = "GT.M";
/// GT.M's global directory: which global is in which file.
pub const DIRECTORY: &str = "iolite.gld";

/// A failure of GT.M's.
pub fn engine(
    doing: &'static str,
    place: &Path,
    cause: Box<dyn std::error::Error + Send + Sync>,
    likely: ErrorCause,
) -> Error {
    Error::engine(doing, place.display(), cause, likely)
}
