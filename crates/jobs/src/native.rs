//! iolite's own job language: a [`Job`] as TOML.

use iolite_model::{FileTask, Job, JobTask, MetadataTask};
use serde::Serialize;
use toml::{Table, Value};

/// Reads a job. A task without a name gets one from its position.
///
/// # Errors
/// The text is no job: says where and what was expected.
pub fn parse(text: &str) -> Result<Job, String> {
    let mut job: Job = toml::from_str(text).map_err(|error| error.to_string().trim_end().to_owned())?;
    if job.tasks.is_empty() {
        return Err(
            "it has no task: add a [[tasks]] with an `io` or a `metadata` part (see `iolite run --help`)"
                .into(),
        );
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
    Ok(job)
}

/// The job as text: of each task what is different from the default. Read again, it is the same job.
///
/// # Errors
/// The job holds what TOML can't: a path that is not UTF-8, or a number above 2^63.
pub fn print(job: &Job) -> Result<String, String> {
    let mut document = Table::new();
    if !job.name.is_empty() {
        document.insert("name".into(), Value::String(job.name.clone()));
    }
    let tasks = job.tasks.iter().map(print_task).collect::<Result<Vec<Value>, String>>()?;
    document.insert("tasks".into(), Value::Array(tasks));
    toml::to_string(&document).map_err(|error| not_toml(&error))
}

fn print_task(task: &JobTask) -> Result<Value, String> {
    let (kind, settings) = match task {
        JobTask::Io(task) => ("io", different(task.as_ref(), &FileTask::default())?),
        JobTask::Metadata(task) => ("metadata", different(task, &MetadataTask::default())?),
    };
    Ok(Value::Table(Table::from_iter([(kind.to_owned(), Value::Table(settings))])))
}

/// The fields of `task` whose values are not those of `default`.
fn different<T: Serialize>(task: &T, default: &T) -> Result<Table, String> {
    let default = Table::try_from(default).map_err(|error| not_toml(&error))?;
    let mut fields = Table::try_from(task).map_err(|error| not_toml(&error))?;
    fields.retain(|name, value| default.get(name) != Some(value));
    Ok(fields)
}

fn not_toml(error: &toml::ser::Error) -> String {
    format!("the job can't be written as TOML: {error}")
}

#[cfg(test)]
mod tests;
