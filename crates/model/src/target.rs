//! What operations go to.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::units::Bytes;

/// What the operations of a [`FileTask`](crate::FileTask) go to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Target {
    /// No target: operations complete immediately. Measures the loop itself.
    Null {
        /// Pretended size.
        size: Bytes,
    },
    /// A file inside the run's scratch directory.
    File(FileTarget),
    /// An existing file or block device. It is never created, extended or removed.
    Existing(ExistingTarget),
    /// Files or devices. Files that are missing or too short are laid out, and are kept (as in fio).
    Files(FilesTarget),
}

/// What exists already.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExistingTarget {
    /// Where.
    pub path: PathBuf,
    /// Start of the region, in bytes.
    #[serde(default)]
    pub offset: Bytes,
    /// Size of the region; 0 for everything from `offset` on.
    #[serde(default)]
    pub size: Bytes,
    /// Contents that may be overwritten or trimmed.
    #[serde(default)]
    pub overwrite: Overwrite,
}

/// Contents of an [`ExistingTarget`] that may be overwritten. A device that is in use is never written to.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    Hash,
    Default,
    Serialize,
    Deserialize,
    strum::EnumMessage,
    strum::IntoStaticStr,
)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Overwrite {
    /// None: reads only.
    #[default]
    Never,
    /// Only a target whose first and last MiB are zero.
    Blank,
    /// Any contents.
    Anything,
}

impl Overwrite {
    /// Whether nothing may be overwritten.
    pub fn is_never(&self) -> bool {
        *self == Overwrite::Never
    }
}

/// A file created by iolite.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FileTarget {
    /// Name within the scratch directory, without slashes.
    pub name: PathBuf,
    /// Size of the region that operations cover.
    pub size: Bytes,
    /// Create the file at the start of the phase (it must not exist); otherwise it must exist.
    pub create: bool,
    /// With `create`: preallocate the file (fallocate), so that writes do not extend it. A file of 128 MiB or more is spread over
    /// the free space if the file system supports it (ext4; XFS, within an allocation group), unless each worker has its own file.
    #[serde(default)]
    pub preallocate: bool,
    /// Each worker has its own file of this size, named `NAME.WORKER`.
    #[serde(default)]
    pub per_worker: bool,
}

/// Files over which the operations of a worker are distributed. They form one region in the given order: the offset of an
/// operation within the task counts through all files.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FilesTarget {
    /// The files; at least one.
    pub files: Vec<NamedFile>,
    /// Order in which several files are used.
    #[serde(default)]
    pub order: FileOrder,
    /// Number of files that a worker uses at the same time: it begins with another one when it has completed one. Only with
    /// `round-robin` and `random`, where it completes files; 0 for all.
    #[serde(default, skip_serializing_if = "is_none")]
    pub open: u32,
    /// Number of equal parts of the work of the worker, such as loops, before each of which, except the first, files are removed and
    /// created again, so that their blocks are allocated anew; devices stay as they are. Other tasks that have a file open go on with
    /// the one that was removed. 0 and 1 for never.
    #[serde(default, skip_serializing_if = "is_none")]
    pub parts_anew: u32,
    /// Whether operations on a file wait for each other.
    #[serde(default, skip_serializing_if = "FileLock::is_none")]
    pub lock: FileLock,
    /// Contents that may be overwritten or trimmed. A file created by the run may always be written to.
    #[serde(default)]
    pub overwrite: Overwrite,
    /// Handling of files that are missing or too short.
    #[serde(default)]
    pub lay_out: LayOut,
    /// How blocks are reserved for a file that is created or extended without being filled.
    #[serde(default)]
    pub reserve: Reserve,
    /// Remove the files after the phase and its verification, in every case; devices are kept. Files that existed before are
    /// removed only if `overwrite` allows writing to them.
    #[serde(default)]
    pub remove: bool,
    /// What the back end `move-extents` exchanges blocks with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub donor: Option<Donor>,
}

/// A file whose blocks are exchanged with those of others, on the same file system. It is created if it does not exist, and stays;
/// what it holds is lost, which `overwrite` must allow.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Donor {
    /// Where.
    pub path: PathBuf,
    /// Its blocks are reserved for each operation and given back after it, rather than all of them before the first.
    #[serde(default)]
    pub each_time: bool,
}

// The signature is serde's.
#[expect(clippy::trivially_copy_pass_by_ref)]
fn is_none(number: &u32) -> bool {
    *number == 0
}

/// A file of a [`FilesTarget`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NamedFile {
    /// Where.
    pub path: PathBuf,
    /// Start of the region, in bytes.
    #[serde(default)]
    pub offset: Bytes,
    /// Size of the region; 0 for everything from `offset` to the current end.
    #[serde(default)]
    pub size: Bytes,
}

/// Which of several files the next operation uses. With `round-robin` and `random`, a worker that accesses each file from start
/// to end, or covers it, skips completed files until all are complete.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FileOrder {
    /// Files in turn, with this number of operations each; at least 1.
    RoundRobin(u64),
    /// Each file completely before the next one.
    Sequential,
    /// A random file for this number of operations; at least 1.
    Random(u64),
    /// The file of rank k (from 1, in the given order) with a probability proportional to 1 / k^theta.
    Zipf(f64),
    /// Self-similar, like [`Access::Pareto`](crate::Access).
    Pareto(f64),
    /// Normally distributed around the middle file, with this standard deviation in percent of the number of files.
    Normal(f64),
}

impl Default for FileOrder {
    fn default() -> FileOrder {
        FileOrder::RoundRobin(1)
    }
}

/// Which operations on a file wait until those of other workers, of this or another task of the run, have completed (fio's `lockfile`).
/// The wait is part of their latency.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FileLock {
    /// None.
    #[default]
    None,
    /// All: one worker at a time.
    Exclusive,
    /// Writes, trims and syncs for all, reads for these only.
    ReadWrite,
}

impl FileLock {
    // The signature is serde's.
    #[expect(clippy::trivially_copy_pass_by_ref)]
    fn is_none(&self) -> bool {
        *self == FileLock::None
    }
}

/// Handling of files of a [`FilesTarget`] that are missing or too short.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LayOut {
    /// An error.
    Never,
    /// Files to be read are filled with random data before the phase; files that are only written get their size.
    #[default]
    Needed,
    /// Every file is written completely before the phase (fio's `overwrite`). Devices are not.
    Always,
    /// Files are created empty and grow with writes. Existing contents are kept, and appends follow them.
    Grow,
}

/// How the blocks of a file are reserved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reserve {
    /// fallocate(2), if the file system supports it; sets the file size.
    #[default]
    Allocate,
    /// fallocate(2) with FALLOC_FL_KEEP_SIZE: reserves blocks without setting the file size.
    KeepSize,
    /// ftruncate(2): sets the file size without reserving blocks.
    Truncate,
    /// Neither reserves blocks nor sets the size.
    None,
}

impl FilesTarget {
    /// These files, with the rest as by default.
    pub fn of(files: Vec<NamedFile>) -> FilesTarget {
        FilesTarget {
            files,
            order: FileOrder::default(),
            open: 0,
            parts_anew: 0,
            lock: FileLock::None,
            overwrite: Overwrite::default(),
            lay_out: LayOut::default(),
            reserve: Reserve::default(),
            remove: false,
            donor: None,
        }
    }

    /// Size of all spans together.
    pub fn size(&self) -> Bytes {
        Bytes(self.files.iter().fold(0, |sum, file| sum.saturating_add(file.size.0)))
    }
}

impl Target {
    /// Size of the region that operations cover.
    pub fn size(&self) -> Bytes {
        match self {
            Target::Files(files) => files.size(),
            Target::Null { size } => *size,
            Target::File(file) => file.size,
            Target::Existing(existing) => existing.size,
        }
    }

    /// The files and devices that the user has named; they need not be there yet.
    pub fn named(&self) -> Vec<&Path> {
        match self {
            Target::Files(files) => files.files.iter().map(|file| file.path.as_path()).collect(),
            Target::Existing(existing) => vec![&existing.path],
            Target::Null { .. } | Target::File(_) => Vec::new(),
        }
    }
}
