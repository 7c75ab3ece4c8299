//! iolite's own job language: a [`Job`] as TOML.

use iolite_model::{FileTask, Job, JobTask, MetadataTask};
use serde::Serialize;
use toml::{Table, Value};

/// Why a text is no job, or a job can't be written as one.
#[derive(Debug, thiserror::Error)]
pub enum JobError {
    /// It is not TOML, or names what a job does not have: the message says where, and what was expected.
    #[error("{}", .0.to_string().trim_end())]
    Text(#[from] toml::de::Error),
    /// It asks for nothing.
    #[error("it has no task: add a [[tasks]] with an `io` or a `metadata` part (see `iolite run --help`)")]
    NoTask,
    /// A size or time is too large.
    #[error("a size or a time is too large: the largest is 2^63 - 1 bytes or nanoseconds")]
    TooLarge,
    /// It holds what TOML can't.
    #[error("the job cannot be written as TOML: {0}")]
    NotToml(#[from] toml::ser::Error),
}

/// Reads a job. A task without a name gets one from its position.
///
/// # Errors
/// The text is no job: says where and what was expected; or it asks for what is too large.
pub fn parse(text: &str) -> Result<Job, JobError> {
    let mut job: Job = toml::from_str(text)?;
    if job.tasks.is_empty() {
        return Err(JobError::NoTask);
    }
    for (index, task) in job.tasks.iter_mut().enumerate() {
        let name = match task {
            JobTask::Io(task) => &mut task.name,
            JobTask::Metadata(task) => &mut task.name,
        };
        if name.is_empty() {
            *name = format!("task {}", index + 1);
        }
    }
    // What is written with a unit may be larger than TOML's own numbers, and no file or time is.
    print(&job).map_err(|_| JobError::TooLarge)?;
    Ok(job)
}

/// The job as text: of each task what is different from the default. Read again, it is the same job.
///
/// # Errors
/// The job holds what TOML can't: a path that is not UTF-8, or a number above 2^63.
pub fn print(job: &Job) -> Result<String, JobError> {
    let mut document = Table::new();
    if !job.name.is_empty() {
        document.insert("name".into(), Value::String(job.name.clone()));
    }
    let tasks = job.tasks.iter().map(print_task).collect::<Result<Vec<Value>, JobError>>()?;
    document.insert("tasks".into(), Value::Array(tasks));
    Ok(toml::to_string(&document)?)
}

fn print_task(task: &JobTask) -> Result<Value, JobError> {
    let (kind, settings) = match task {
        JobTask::Io(task) => ("io", different(task.as_ref(), &FileTask::default())?),
        JobTask::Metadata(task) => ("metadata", different(task, &MetadataTask::default())?),
    };
    Ok(Value::Table(Table::from_iter([(kind.to_owned(), Value::Table(settings))])))
}

/// The fields of `task` whose values are not those of `default`.
fn different<T: Serialize>(task: &T, default: &T) -> Result<Table, JobError> {
    let default = Table::try_from(default)?;
    let mut fields = Table::try_from(task)?;
    fields.retain(|name, value| default.get(name) != Some(value));
    Ok(fields)
}

#[cfg(test)]
mod tests;
