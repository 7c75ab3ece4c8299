//! What operations go to.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::units::Bytes;

/// What the operations of a [`FileTask`] go to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Target {
    /// Nothing: operations complete at once. Measures the loop itself.
    Null {
        /// Pretended size.
        size: Bytes,
    },
    /// A file inside the run's scratch directory.
    File(FileTarget),
    /// A file or block device that exists already, named by the user. It is never made, extended or removed.
    Existing(ExistingTarget),
}

/// What exists already.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExistingTarget {
    /// Where.
    pub path: PathBuf,
    /// First byte of the span.
    #[serde(default)]
    pub offset: Bytes,
    /// Size of the span; 0 for all from `offset` on.
    #[serde(default)]
    pub size: Bytes,
    /// What may be destroyed by writing or trimming.
    #[serde(default)]
    pub overwrite: Overwrite,
}

/// What of an [`ExistingTarget`] may be destroyed. Whatever is said here, a device that is in use is left alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Overwrite {
    /// Nothing: reads only.
    #[default]
    Never,
    /// A device or file that holds zeros where data would show: in its first and its last MiB.
    Blank,
    /// Whatever it holds.
    Anything,
}

/// A file that iolite makes for itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FileTarget {
    /// Name within the scratch directory, without slashes.
    pub name: PathBuf,
    /// Size of the span that operations cover.
    pub size: Bytes,
    /// Make the file at the start of the phase (it must not exist); otherwise it must exist already.
    pub create: bool,
    /// When created: reserve its blocks (fallocate) before the first write, so that writes do not extend it.
    #[serde(default)]
    pub preallocate: bool,
    /// Each worker has a file of its own of this size, named `NAME.WORKER`.
    #[serde(default)]
    pub per_worker: bool,
}

impl Target {
    /// Size of the span that operations cover.
    pub fn size(&self) -> Bytes {
        match self {
            Target::Null { size } => *size,
            Target::File(file) => file.size,
            Target::Existing(existing) => existing.size,
        }
    }
}
