//! What operations go to.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::units::Bytes;

/// What the operations of a [`FileTask`](crate::FileTask) go to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
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
    /// Files or devices named by the user, of which files that are missing or too short are made, and stay (as fio's do).
    Files(FilesTarget),
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
    /// When created: reserve its blocks (fallocate) before the first write, so that writes do not extend it. Those of a file of
    /// 128 MiB or more are spread over the free space, where the file system lets that happen (ext4; XFS, within an allocation
    /// group), unless each worker has its own.
    #[serde(default)]
    pub preallocate: bool,
    /// Each worker has a file of its own of this size, named `NAME.WORKER`.
    #[serde(default)]
    pub per_worker: bool,
}

/// Files of the user's, over which a worker's operations are spread. The span is theirs one after the other: an operation's
/// offset within the task counts through all of them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FilesTarget {
    /// The files; at least one.
    pub files: Vec<NamedFile>,
    /// Which file an operation goes to, where there are several.
    #[serde(default)]
    pub order: FileOrder,
    /// What may be destroyed by writing or trimming. A file that the run has made may be written to whatever is said here.
    #[serde(default)]
    pub overwrite: Overwrite,
    /// What is done about files that are missing or too short.
    #[serde(default)]
    pub lay_out: LayOut,
    /// How the blocks of a file that is made or extended are reserved where it is not filled.
    #[serde(default)]
    pub reserve: Reserve,
    /// Remove the files after the phase and its verification, however it ends; devices stay. Files that were there before are
    /// removed only where `overwrite` lets them be written to.
    #[serde(default)]
    pub remove: bool,
}

/// A file of a [`FilesTarget`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NamedFile {
    /// Where.
    pub path: PathBuf,
    /// First byte of the span.
    #[serde(default)]
    pub offset: Bytes,
    /// Size of the span; 0 for all from `offset` to the end of what is there.
    #[serde(default)]
    pub size: Bytes,
}

/// Which file of several the next operation goes to. In turns and at random, a worker that goes through each file from end to
/// end, or covers it, leaves a file that it is through with out until it is through with all.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FileOrder {
    /// In turns, so many operations each; at least 1.
    RoundRobin(u64),
    /// All of a file before the next.
    Sequential,
    /// Any, each equally likely, for so many operations; at least 1.
    Random(u64),
    /// The file of rank k (from 1, in their order) with a probability in proportion to 1 / k^theta.
    Zipf(f64),
    /// Self-similar, as [`Access::Pareto`](crate::Access).
    Pareto(f64),
    /// Normally distributed around the middle one, with this standard deviation in percent of their number.
    Normal(f64),
}

impl Default for FileOrder {
    fn default() -> FileOrder {
        FileOrder::RoundRobin(1)
    }
}

/// What is done about files of a [`FilesTarget`] that are missing or too short.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LayOut {
    /// Refuse to begin.
    Never,
    /// What reads need is written with random data before the phase; files that are only written to get their size.
    #[default]
    Needed,
    /// Every file is written in full before the phase, whatever it holds (fio's `overwrite`). Devices are not.
    Always,
    /// Files are made empty and grow by what is written to them. What is there already stays, and appends go after it.
    Grow,
}

/// How the blocks of a file are reserved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reserve {
    /// fallocate(2), where the file system has it; the file has its size then.
    #[default]
    Allocate,
    /// fallocate(2) with FALLOC_FL_KEEP_SIZE: blocks, but no size.
    KeepSize,
    /// No blocks: ftruncate(2) only.
    Truncate,
    /// Neither blocks nor size.
    None,
}

impl FilesTarget {
    /// These files, with the rest as by default.
    pub fn of(files: Vec<NamedFile>) -> FilesTarget {
        FilesTarget {
            files,
            order: FileOrder::default(),
            overwrite: Overwrite::default(),
            lay_out: LayOut::default(),
            reserve: Reserve::default(),
            remove: false,
        }
    }

    /// Size of all spans together.
    pub fn size(&self) -> Bytes {
        Bytes(self.files.iter().fold(0, |sum, file| sum.saturating_add(file.size.0)))
    }
}

impl Target {
    /// Size of the span that operations cover.
    pub fn size(&self) -> Bytes {
        match self {
            Target::Files(files) => files.size(),
            Target::Null { size } => *size,
            Target::File(file) => file.size,
            Target::Existing(existing) => existing.size,
        }
    }
}
