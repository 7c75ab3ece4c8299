//! Operations on names: what mail servers, build trees and many small files ask of a file system.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::arrival::Stop;
use crate::phase_task::{Layer, PhaseTask};
use crate::units::{Bytes, Nanos};

/// Creating, finding and removing files, by `workers` threads, each in a directory tree of its own inside the run's scratch
/// directory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct MetadataTask {
    /// Name shown to people.
    pub name: String,
    /// Starts together with the task before it in a [`Job`](crate::Job), rather than after it.
    pub together: bool,
    /// Name of the trees within the scratch directory, without slashes: tasks of one run with the same name work on the
    /// same files.
    pub tree: PathBuf,
    /// What each operation does.
    pub operation: MetadataOperation,
    /// Files (or directories, where these are made) of each worker.
    pub files: u64,
    /// Files in a directory; at least 1.
    pub files_per_directory: u64,
    /// In an order without pattern, each file once per round, rather than one after the other.
    pub random: bool,
    /// Bytes that a created file gets.
    pub size: Bytes,
    /// Makes each change durable before the operation is over: fsync of a created file and of its directory, fsync of the
    /// directory after removing a name.
    pub sync: bool,
    /// Threads.
    pub workers: u32,
    /// What ends the phase: besides these, operations that make or remove a file end when all files have had theirs.
    pub stop: Stop,
    /// Time at the start that is recorded apart and left out of the totals.
    pub ramp: Nanos,
    /// Length of the intervals of the time series; at least 10 ms.
    pub interval: Nanos,
    /// Seed of every generator of this phase.
    pub seed: u64,
}

impl Default for MetadataTask {
    fn default() -> MetadataTask {
        MetadataTask {
            name: String::new(),
            together: false,
            tree: PathBuf::from("tree"),
            operation: MetadataOperation::Create,
            files: 1000,
            files_per_directory: 100,
            random: false,
            size: Bytes(0),
            sync: false,
            workers: 1,
            stop: Stop::default(),
            ramp: Nanos(0),
            interval: Nanos::SECOND,
            seed: 1,
        }
    }
}

impl PhaseTask for MetadataTask {
    fn name(&self) -> &str {
        &self.name
    }

    fn layer(&self) -> Layer {
        Layer::Metadata
    }

    fn workers(&self) -> u32 {
        self.workers
    }

    fn stop(&self) -> Stop {
        self.stop
    }

    fn ramp(&self) -> Nanos {
        self.ramp
    }

    fn interval(&self) -> Nanos {
        self.interval
    }

    fn is_uniform(&self) -> bool {
        false
    }

    fn reseed(&mut self, by: u64) {
        self.seed = self.seed.wrapping_add(by);
    }
}

/// What an operation of a [`MetadataTask`] does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MetadataOperation {
    /// Makes a file that does not exist (O_EXCL), writes its bytes, closes it.
    Create,
    /// Asks for a file's attributes by its name.
    Stat,
    /// Opens a file for reading and closes it.
    Open,
    /// Removes a file.
    Unlink,
    /// Makes a directory.
    Mkdir,
    /// Removes a directory that [`Mkdir`](MetadataOperation::Mkdir) made.
    Rmdir,
}
