//! A job file: what is to be done, as TOML.

use std::io::Read;
use std::path::Path;

use anyhow::Context;
use iolite_model::{Job, JobTask, Target};

use crate::exit::UsageError;

/// A job file is read up to this size: what is larger is no job file.
const LARGEST: u64 = 16 << 20;

/// Reads a job from a file, or from standard input where that is `-`.
///
/// # Errors
/// It can't be read, or is not a job: says where and what was expected.
pub(super) fn load(path: &Path) -> anyhow::Result<Job> {
    let text = if path == Path::new("-") {
        read(std::io::stdin()).context("cannot read the job from standard input")?
    } else {
        let opened = std::fs::File::open(path);
        let shown = path.display();
        opened.and_then(read).map_err(|error| {
            UsageError(format!(
                "cannot read the job {shown}: {error}; give a TOML file, or `-` for standard input"
            ))
        })?
    };
    parse(&text).map_err(|message| UsageError(format!("{}: {message}", path.display())).into())
}

fn read(from: impl Read) -> std::io::Result<String> {
    let mut text = String::new();
    from.take(LARGEST).read_to_string(&mut text)?;
    Ok(text)
}

/// Reads a job from a text.
///
/// # Errors
/// It is no job: says where and what was expected.
pub(crate) fn parse(text: &str) -> Result<Job, String> {
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

/// Checks every task before the first one does anything.
///
/// # Errors
/// The first one that makes no sense, with its remedy.
pub(super) fn check(job: &Job) -> Result<(), UsageError> {
    let each = job.tasks.iter().try_for_each(iolite_engine::validate_task);
    each.and_then(|()| iolite_engine::validate_order(&job.tasks))
        .map_err(|error| UsageError(error.to_string()))
}

/// Whether the job makes files of its own.
pub(super) fn makes_files(job: &Job) -> bool {
    let makes = |task: &JobTask| match task {
        JobTask::Io(task) => matches!(task.target, Target::File(_)),
        JobTask::Metadata(_) => true,
    };
    job.tasks.iter().any(makes)
}

/// What exists already and is all that the job works on.
pub(super) fn only_target(job: &Job) -> Option<&Path> {
    let mut targets = job.tasks.iter().map(|task| match task {
        JobTask::Io(task) => match &task.target {
            Target::Existing(existing) => Some(existing.path.as_path()),
            Target::Files(files) => match files.files.as_slice() {
                [file] => Some(file.path.as_path()),
                _ => None,
            },
            Target::Null { .. } | Target::File(_) => None,
        },
        JobTask::Metadata(_) => None,
    });
    let first = targets.next()??;
    targets.all(|target| target == Some(first)).then_some(first)
}

#[cfg(test)]
mod tests {
    use super::*;
    use iolite_model::{Bytes, Mix, Nanos};

    #[test]
    fn a_job_says_what_is_different_from_the_default() {
        let job = parse(
            r#"
            name = "two"
            [[tasks]]
            [tasks.io]
            mix = { read-percent = 70 }
            block = "8KiB"
            stop.runtime = "5s"
            [[tasks]]
            [tasks.metadata]
            name = "make files"
            operation = "create"
            together = true
            "#,
        )
        .unwrap();
        let [JobTask::Io(io), JobTask::Metadata(metadata)] = job.tasks.as_slice() else { panic!("{job:?}") };
        assert_eq!((io.name.as_str(), io.mix, io.block), ("task 1", Mix::ReadPercent(70), Bytes(8192)));
        assert_eq!(io.stop.runtime, Some(Nanos(5_000_000_000)));
        assert_eq!((metadata.name.as_str(), job.sets().len()), ("make files", 1));
    }

    #[test]
    fn what_is_no_job_is_told_with_its_place() {
        for (text, part) in [
            ("", "it has no task"),
            ("[[tasks]]\n[tasks.io]\nblok = 1\n", "unknown field `blok`"),
            ("[[tasks]]\n[tasks.io]\nblock = \"8 parsecs\"\n", "8 parsecs"),
            ("[[tasks]]\n[tasks.io]\nworkers = -1\n", "line 3"),
            ("[[tasks]]\n[tasks.dance]\n", "unknown variant `dance`"),
            ("\u{0}", "line 1"),
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.contains(part), "{text:?}: {error}");
        }
    }
}
