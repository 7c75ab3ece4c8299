//! fio: its command line, its job files, its outputs. Arguments -> plan -> run -> outputs, as fio's callers know them.
//!
//! Standard error stays empty unless something is wrong: programs that call fio take anything there for a failure.

pub(crate) mod context;
mod debug;
mod environment;
mod idle;
mod links;
mod merged;
mod output;
mod overwrite;
mod programs;
mod run;
mod self_tests;

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::ExitCode;

use iolite_fio::language::command_line::{self, Action};
use iolite_fio::language::job_file::{self, Document};
use iolite_fio::language::plan::{self, Plan};
use iolite_fio::language::{Invocation, Thread, help, print};
use iolite_fio::output::inflate::inflate;
use iolite_model::JobTask;

use crate::exit::{UsageError, refuse};

/// The version that is reported to callers: they compare it with fio's.
pub(crate) const VERSION: &str = "fio-3.42-iolite";

/// fio's words, which scripts may look for.
const LATENCY_LOG: &str = "--latency-log is deprecated. Use per-job latency log options.";

/// Exit code of a run in which anything went wrong.
const FAILED: u8 = 1;

/// Exit code of a run that was interrupted.
pub(crate) const INTERRUPTED: u8 = 128;

/// How a run under fio's name ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    /// As planned.
    Done,
    /// A job failed.
    Failed,
    /// By a signal.
    Interrupted,
}

/// The program under fio's name, or as `iolite fio`; `arguments` are those after that.
pub(crate) fn main(arguments: impl Iterator<Item = OsString>) -> ExitCode {
    let arguments: Result<Vec<String>, OsString> = arguments.map(OsString::into_string).collect();
    let answered = arguments.map_err(|argument| not_text(&argument).into());
    match answered.and_then(|arguments| answer(&arguments)) {
        Ok(Outcome::Done) => ExitCode::SUCCESS,
        Ok(Outcome::Failed) => FAILED.into(),
        Ok(Outcome::Interrupted) => INTERRUPTED.into(),
        Err(error) => {
            crate::output::complain("fio", &iolite_session::describe(&*error));
            FAILED.into()
        }
    }
}

/// Why an argument cannot be used: options are text, and another name than the one meant would be written to.
fn not_text(argument: &OsStr) -> UsageError {
    let shown = argument.to_string_lossy();
    UsageError::new(format!(
        "the argument `{shown}` is not valid UTF-8: rename the file, or name it by a symbolic link"
    ))
}

fn answer(arguments: &[String]) -> anyhow::Result<Outcome> {
    let invocation = command_line::parse(arguments).map_err(UsageError::new)?;
    let text = match &invocation.action {
        Action::Run => return perform(&invocation),
        Action::Help => help::general(),
        Action::Version => format!("{VERSION}\n"),
        Action::CommandHelp(option) => match (option, &invocation.profile) {
            (None, Some(profile)) => profile.help(),
            _ => help::cmdhelp(option.as_deref()).map_err(UsageError::new)?,
        },
        Action::EngineHelp(asked) => {
            let engine = asked.as_ref().map(|(engine, _)| engine.as_str());
            let option = asked.as_ref().and_then(|(_, option)| option.as_deref());
            help::enghelp(engine, option).map_err(UsageError::new)?
        }
        Action::DebugHelp => format!("{}\n", command_line::DEBUG_AREAS.join("\n")),
        Action::InflateLog(path) => inflate(path)?,
        Action::ChecksumTest(checksums) => return self_tests::checksums(checksums),
        Action::ClockTest => return self_tests::clock(),
        Action::LatencyLog => return Err(UsageError::new(LATENCY_LOG).into()),
    };
    crate::output::print_data(&text)?;
    Ok(Outcome::Done)
}

fn perform(invocation: &Invocation) -> anyhow::Result<Outcome> {
    if let Some(calibrated) = idle::calibrated(invocation) {
        crate::output::print_data(&calibrated)?;
        return Ok(Outcome::Done);
    }
    let documents = documents(invocation)?;
    if invocation.show_command {
        // On a command line variables and keywords mean nothing.
        let expanded = context::host_context(|around| {
            documents.iter().map(|document| document.expanded(around)).collect::<Result<Vec<_>, _>>()
        });
        let expanded = expanded.map_err(UsageError::new)?;
        let lines = expanded.iter().map(|document| print::command_line(&document.sections) + "\n");
        crate::output::print_data(&lines.collect::<String>())?;
        return Ok(Outcome::Done);
    }
    let plan = plan(invocation, &documents)?;
    if invocation.parse_only {
        return Ok(Outcome::Done);
    }
    if invocation.merge_only {
        merged::write(&plan.merged)?;
        return Ok(Outcome::Done);
    }
    if plan.threads.is_empty() {
        crate::output::print_data(&help::general())?;
        refuse!("no job is defined: specify a job file, or --name=NAME and the options of the job");
    }
    run::run(invocation, plan)
}

/// Reads the job files of a command line.
///
/// # Errors
/// One can't be read, or is no job file.
fn documents(invocation: &Invocation) -> anyhow::Result<Vec<Document>> {
    let read = |name: &String| {
        let bytes = context::read(name)?;
        let read = context::host_context(|around| job_file::read(name, &bytes, around));
        read.map_err(UsageError::new)
    };
    Ok(invocation.files.iter().map(read).collect::<Result<_, _>>()?)
}

fn plan(invocation: &Invocation, documents: &[Document]) -> anyhow::Result<Plan> {
    let plan = context::host_context(|around| plan::plan(invocation, documents, around));
    let mut plan = plan.map_err(UsageError::new)?;
    plan.threads.iter_mut().flat_map(Thread::clocks).try_for_each(context::read_clock)?;
    if let Some(directory) = &invocation.aux_path {
        plan.threads.iter_mut().for_each(|thread| keep_states_in(directory, &mut thread.task));
    }
    Ok(plan)
}

/// Puts a task's verification state into this directory (`--aux-path`).
fn keep_states_in(directory: &Path, task: &mut JobTask) {
    if let JobTask::Io(task) = task
        && let Some(state) = task.verify.as_mut().and_then(|verify| verify.state.as_mut())
    {
        *state = directory.join(&*state);
    }
}
