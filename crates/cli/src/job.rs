//! Jobs in whatever language they are written: loaded, checked, looked at.

use std::io::Read;
use std::path::{Path, PathBuf};

use iolite_fio::language::lower::preparation;
use iolite_fio::language::{Invocation, Thread, job_file, plan};
use iolite_jobs::Language;
use iolite_jobs::native;
use iolite_model::{Job, JobTask, Target};

use crate::exit::{UsageError, refuse};
use crate::fio::context;

/// A job file is read up to this size: what is larger is no job file.
const LARGEST: u64 = 16 << 20;

/// A job, and what its language says besides.
#[derive(Debug)]
pub(crate) struct Loaded {
    /// What is to be done.
    pub(crate) job: Job,
    /// What is done differently from what its language promises, as text.
    pub(crate) notes: Vec<String>,
}

/// Reads a job from a file, or from standard input where that is `-`: in iolite's own language or in fio's, by what it says.
///
/// # Errors
/// It can't be read, or is not a job: says where and what was expected.
pub(crate) fn load(path: &Path) -> anyhow::Result<Loaded> {
    let text = if path == Path::new("-") {
        read(std::io::stdin())
    } else {
        iolite_sys::input::open(path).and_then(read)
    };
    let shown = path.display();
    let text = text.map_err(|error| {
        let advice = "specify a TOML job, a fio job file, or `-` for standard input";
        UsageError::new(format!("cannot read the job {shown}: {error}; {advice}"))
    })?;
    Ok(parse(&text, path)?)
}

fn read(from: impl Read) -> std::io::Result<String> {
    let mut text = String::new();
    from.take(LARGEST).read_to_string(&mut text)?;
    Ok(text)
}

/// Reads a job from a text; `path` is what it is called.
///
/// # Errors
/// It is not a job: says where and what was expected.
pub(crate) fn parse(text: &str, path: &Path) -> Result<Loaded, UsageError> {
    parse_for(text, path, Purpose::Run)
}

/// As [`parse`], of a job that is only looked at: what is for `iolite fio` alone is reported in the notes.
///
/// # Errors
/// It is not a job: says where and what was expected.
pub(crate) fn parse_to_explain(text: &str, path: &Path) -> Result<Loaded, UsageError> {
    parse_for(text, path, Purpose::Explain)
}

/// What a job is read for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Purpose {
    Run,
    Explain,
}

fn parse_for(text: &str, path: &Path, purpose: Purpose) -> Result<Loaded, UsageError> {
    match Language::of(text, Some(path)) {
        Language::Native => {
            let job = native::parse(text).map_err(|error| {
                UsageError::new(format!("{}: {}", path.display(), in_short_lines(&error.to_string())))
            })?;
            Ok(Loaded { job, notes: Vec::new() })
        }
        Language::Fio => fio(text, &path.to_string_lossy(), purpose),
    }
}

/// A message that may quote what it is about, without the rest of lines that no terminal has room for.
fn in_short_lines(message: &str) -> String {
    /// Characters.
    const LONGEST: usize = 200;
    let short = |line: &str| match line.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}...", &line[..end]),
        None => line.to_owned(),
    };
    message.lines().map(short).collect::<Vec<_>>().join("\n")
}

fn fio(text: &str, file: &str, purpose: Purpose) -> Result<Loaded, UsageError> {
    let plan = context::host_context(|around| {
        let document =
            job_file::read(file, text.as_bytes(), around).map_err(|problem| problem.to_string())?;
        plan::plan(&Invocation::default(), &[document], around).map_err(|problems| problems.to_string())
    });
    let threads = plan.map_err(UsageError::new)?.threads;
    if threads.is_empty() {
        refuse!("{file} has no job: add a section with a name, such as [random-read]");
    }
    let notes = notes(&threads, purpose)?;
    let mut tasks = Vec::with_capacity(threads.len());
    for set in threads.chunk_by(|_, next| next.task.together()) {
        tasks.extend(set.iter().filter_map(preparation).map(JobTask::Metadata));
        tasks.extend(set.iter().map(|thread| thread.task.clone()));
    }
    Ok(Loaded { job: Job { name: String::new(), tasks }, notes })
}

/// What is reported of a fio job here, and what only fio's own command line does.
fn notes(threads: &[Thread], purpose: Purpose) -> Result<Vec<String>, UsageError> {
    let mut notes: Vec<(String, Vec<&str>)> = Vec::new();
    for thread in threads {
        let mut note = |text: String| match notes.iter_mut().find(|(noted, _)| *noted == text) {
            Some((_, jobs)) if jobs.contains(&thread.name.as_str()) => {}
            Some((_, jobs)) => jobs.push(&thread.name),
            None => notes.push((text, vec![&thread.name])),
        };
        let only_fio = [
            (thread.exit_all.is_some(), "exitall"),
            (thread.steady.is_some(), "steadystate"),
            (thread.latency_target.is_some(), "latency_target"),
            (thread.rate_min.iter().chain(&thread.rate_iops_min).any(Option::is_some), "rate_min"),
            (thread.create_only, "create_only"),
            (thread.exec.iter().any(Option::is_some), "exec_prerun and exec_postrun"),
            (!thread.logs.is_empty(), "write_*_log"),
        ];
        for (_, option) in only_fio.iter().filter(|(given, _)| *given) {
            let text = format!(
                "{option} is supported only by `iolite fio JOBFILE`: use that command, or remove the option"
            );
            match purpose {
                Purpose::Run => return Err(UsageError::new(format!("job `{}`: {text}", thread.name))),
                Purpose::Explain => note(text),
            }
        }
        thread.notes.iter().cloned().for_each(note);
    }
    Ok(notes.into_iter().map(|(text, jobs)| format!("{}: {text}", jobs.join(", "))).collect())
}

/// Checks every task before the first one does anything.
///
/// # Errors
/// The first one that is invalid, with its remedy.
pub(crate) fn check(job: &Job) -> Result<(), UsageError> {
    let each = job.tasks.iter().try_for_each(iolite_engine::validate_task);
    each.and_then(|()| iolite_engine::validate_order(&job.tasks)).map_err(UsageError::new)
}

/// Whether the job makes files of its own.
pub(crate) fn makes_files(job: &Job) -> bool {
    let makes = |task: &JobTask| match task {
        JobTask::Io(task) => matches!(task.target, Target::File(_)),
        JobTask::Metadata(task) => task.named.is_empty(),
    };
    job.tasks.iter().any(makes)
}

/// What the user has named for the job to work on; files need not be there yet.
pub(crate) fn targets(job: &Job) -> impl Iterator<Item = &Path> {
    job.tasks.iter().flat_map(|task| match task {
        JobTask::Io(task) => task.target.named(),
        JobTask::Metadata(task) => task.named.iter().map(PathBuf::as_path).collect(),
    })
}

/// What has to be there before the job begins.
pub(crate) fn existing(job: &Job) -> impl Iterator<Item = &Path> {
    job.tasks.iter().filter_map(|task| match task {
        JobTask::Io(task) => match &task.target {
            Target::Existing(existing) => Some(existing.path.as_path()),
            Target::Files(_) | Target::Null { .. } | Target::File(_) => None,
        },
        JobTask::Metadata(_) => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_is_read_in_its_own_language() {
        let native = "[[tasks]]\n[tasks.io]\nblock = '8KiB'\nstop.runtime = '1s'\n";
        assert_eq!(parse(native, Path::new("a.fio")).unwrap().job.tasks.len(), 1);
        let fio = "[global]\nioengine=null\nsize=1m\n[a]\n[b]\nnumjobs=2\n";
        assert_eq!(parse(fio, Path::new("a.toml")).unwrap().job.tasks.len(), 3);
    }

    #[test]
    fn what_is_wrong_is_reported_with_its_place() {
        for (text, part) in [
            ("[[tasks]]\n[tasks.io]\nblok = 1\n", "a.job: "),
            ("[x]\nioengine=null\nsize=1m\nblok=1\n", "a.job:4:"),
            ("[global]\nbs=4k\n", "has no job"),
            ("[x]\nioengine=null\nsize=1m\nexitall\n", "iolite fio"),
            (&"[".repeat(100_000), "line 1"),
        ] {
            let error = parse(text, Path::new("a.job")).unwrap_err().to_string();
            assert!(error.contains(part) && error.len() < 1000, "{text:.99}: {error:.999}");
        }
    }
}
