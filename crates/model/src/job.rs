//! Several tasks, one after another or together.

use serde::{Deserialize, Serialize};

use crate::metadata::MetadataTask;
use crate::phase::Task;
use crate::task::FileTask;

/// Tasks in the order in which they are run.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Job {
    /// Name shown in results.
    pub name: String,
    /// The tasks. A task starts when the previous one has ended (a stonewall), unless it starts together with it.
    pub tasks: Vec<JobTask>,
}

/// A task of a job.
// There are few of them, and they live as long as a run does.
#[allow(clippy::large_enum_variant)]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum JobTask {
    /// Block I/O.
    Io(Box<FileTask>),
    /// Metadata operations of a file system.
    Metadata(MetadataTask),
}

impl Default for JobTask {
    fn default() -> JobTask {
        JobTask::Io(Box::default())
    }
}

impl JobTask {
    /// Whether it starts together with the one before it.
    pub fn together(&self) -> bool {
        match self {
            JobTask::Io(task) => task.start.together,
            JobTask::Metadata(task) => task.together,
        }
    }

    /// The task itself.
    pub fn task(&self) -> Task {
        match self {
            JobTask::Io(task) => Task::File((**task).clone()),
            JobTask::Metadata(task) => Task::Metadata(task.clone()),
        }
    }
}

impl Job {
    /// The tasks in sets that start together, in order.
    pub fn sets(&self) -> Vec<&[JobTask]> {
        self.tasks.chunk_by(|_, next| next.together()).collect()
    }
}
