//! Operations on names: what mail servers, build trees and many small files ask of a file system.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::arrival::Stop;
use crate::kind::OpKind;
use crate::phase_task::{Layer, PhaseTask, task_fields};
use crate::target::Overwrite;
use crate::units::{Bytes, Nanos};

/// Creates, looks up and removes files with `workers` threads, each in its own directory tree inside the scratch directory of the
/// run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct MetadataTask {
    /// Name shown in results.
    pub name: String,
    /// Starts together with the previous task of the [`Job`](crate::Job) instead of after it.
    pub together: bool,
    /// Name of the trees within the scratch directory, without slashes. Tasks of a run with the same name use the same files.
    pub tree: PathBuf,
    /// Kind of operation.
    pub operation: MetadataOperation,
    /// Paths of the files (or directories) of the only worker, in place of names in the tree; they stay where they are.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub named: Vec<PathBuf>,
    /// For paths: creating what exists already succeeds, and leaves it as it is unless it is an empty file.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub keep_existing: bool,
    /// Removes what the paths name at the end.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub remove: bool,
    /// For paths: whether files that exist may be removed, or filled where they are empty.
    #[serde(skip_serializing_if = "Overwrite::is_never")]
    pub overwrite: Overwrite,
    /// Number of files (or directories) of each worker; with paths, their number.
    pub files: u64,
    /// Number of files in a directory; at least 1.
    pub files_per_directory: u64,
    /// In an order without pattern, each file once per round, rather than one after the other.
    pub random: bool,
    /// Bytes that a created file gets.
    pub size: Bytes,
    /// Makes each change durable before the operation is over: fsync of a created file and of its directory, fsync of the
    /// directory after removing a name.
    pub sync: bool,
    /// Every operation is reported when it completes ([`Event::Operations`](crate::Event)).
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub report_operations: bool,
    /// Threads.
    pub workers: u32,
    /// What ends the phase: besides these, operations that make or remove a file end when all files have had theirs.
    pub stop: Stop,
    /// Time at the start that is recorded separately and excluded from the totals.
    pub ramp: Nanos,
    /// Length of the intervals of the time series; at least 10 ms.
    pub interval: Nanos,
    /// Seed of the random number generators of this task.
    pub seed: u64,
}

impl Default for MetadataTask {
    fn default() -> MetadataTask {
        MetadataTask {
            name: String::new(),
            together: false,
            tree: PathBuf::from("tree"),
            operation: MetadataOperation::Create,
            named: Vec::new(),
            keep_existing: false,
            remove: false,
            overwrite: Overwrite::Never,
            files: 1000,
            files_per_directory: 100,
            random: false,
            size: Bytes(0),
            sync: false,
            report_operations: false,
            workers: 1,
            stop: Stop::default(),
            ramp: Nanos(0),
            interval: Nanos::SECOND,
            seed: 1,
        }
    }
}

impl PhaseTask for MetadataTask {
    task_fields!();

    fn layer(&self) -> Layer {
        Layer::Metadata
    }

    fn workers(&self) -> u32 {
        self.workers
    }

    fn is_uniform(&self) -> bool {
        false
    }

    fn rate_word(&self) -> &'static str {
        "per second"
    }
}

/// What an operation of a [`MetadataTask`] does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MetadataOperation {
    /// Creates a file (O_EXCL), writes it and closes it.
    Create,
    /// Reads the attributes of a file by name.
    Stat,
    /// Opens a file for reading and closes it.
    Open,
    /// Removes a file.
    Unlink,
    /// Creates a directory.
    Mkdir,
    /// Removes a directory created by [`Mkdir`](MetadataOperation::Mkdir).
    Rmdir,
    /// Reads the attributes of a directory created by [`Mkdir`](MetadataOperation::Mkdir), by name.
    StatDirectory,
}

impl MetadataOperation {
    /// What it is counted as.
    pub const fn kind(self) -> OpKind {
        match self {
            MetadataOperation::Create => OpKind::Create,
            MetadataOperation::Stat | MetadataOperation::StatDirectory => OpKind::Stat,
            MetadataOperation::Open => OpKind::Open,
            MetadataOperation::Unlink => OpKind::Unlink,
            MetadataOperation::Mkdir => OpKind::Mkdir,
            MetadataOperation::Rmdir => OpKind::Rmdir,
        }
    }

    /// The operation that creates what this one requires; `None` if it creates names itself.
    pub const fn requires(self) -> Option<MetadataOperation> {
        match self {
            MetadataOperation::Create | MetadataOperation::Mkdir => None,
            MetadataOperation::Stat | MetadataOperation::Open | MetadataOperation::Unlink => {
                Some(MetadataOperation::Create)
            }
            MetadataOperation::Rmdir | MetadataOperation::StatDirectory => Some(MetadataOperation::Mkdir),
        }
    }

    /// Whether it creates or removes names, so that it can be applied to each name only once.
    pub const fn changes(self) -> bool {
        !matches!(self, MetadataOperation::Stat | MetadataOperation::Open | MetadataOperation::StatDirectory)
    }

    /// Whether its names are those of directories.
    pub const fn is_of_directories(self) -> bool {
        matches!(self, MetadataOperation::Mkdir | MetadataOperation::Rmdir | MetadataOperation::StatDirectory)
    }

    /// What it does, as the predicate of a sentence.
    pub const fn in_words(self) -> &'static str {
        match self {
            MetadataOperation::Create => "creates files",
            MetadataOperation::Stat => "reads file attributes (stat)",
            MetadataOperation::Open => "opens and closes files",
            MetadataOperation::Unlink => "removes files",
            MetadataOperation::Mkdir => "creates directories",
            MetadataOperation::Rmdir => "removes directories",
            MetadataOperation::StatDirectory => "reads the attributes of directories (stat)",
        }
    }
}
