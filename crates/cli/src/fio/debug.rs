//! `--debug`: what is known about a run before it begins, and its operations one by one.

use std::io::Write;

use iolite_fio::driver::status::ThreadOf;
use iolite_fio::language::command_line::Format;
use iolite_fio::language::{Invocation, Thread};
use iolite_jobs::native;
use iolite_model::{Access, Event, Job, JobTask, LoggedOperation, OpKind, OperationLog, Sink, Target};

use crate::exit::UsageError;

/// What can be printed here: the areas that are about what is going to be done, and operations one by one. The others trace fio's
/// own workings.
const AREAS: [&str; 6] = ["job", "parse", "process", "file", "io", "random"];

/// Areas of which `--debug` prints nothing that is built.
///
/// # Errors
/// The first one, with what to use instead.
pub(super) fn refuse_unknown(invocation: &Invocation) -> Result<(), UsageError> {
    match invocation.debug.iter().find(|area| *area != "all" && !AREAS.contains(&area.as_str())) {
        Some(area) => Err(UsageError::new(format!(
            "--debug={area} is not supported: use {}, write_lat_log with log_offset, or strace",
            AREAS.join(", ")
        ))),
        None => Ok(()),
    }
}

/// The threads of a run as iolite's own jobs, where any of it is asked for.
///
/// # Errors
/// A number of theirs can't be written.
pub(super) fn printed(invocation: &Invocation, threads: &[Thread]) -> Result<Option<String>, UsageError> {
    if invocation.debug.is_empty() {
        return Ok(None);
    }
    let mut out: String =
        invocation.debug.iter().map(|area| format!("fio: set debug option {area}\n")).collect();
    if wants(invocation, "parse") {
        for (name, value) in threads.iter().flat_map(|thread| &thread.settings) {
            out += &format!("parse    {} handle_option={name}, ptr={value}\n", std::process::id());
        }
    }
    let tasks = threads.iter().map(|thread| thread.task.clone()).collect();
    let job = Job { name: "as it is understood".into(), tasks };
    Ok(Some(out + &native::print(&job).map_err(UsageError::new)?))
}

fn wants(invocation: &Invocation, area: &str) -> bool {
    invocation.debug.iter().any(|asked| asked == area || asked == "all")
}

/// Prints operations as they come back (`--debug=io`), and where random ones went (`--debug=random`).
pub(super) struct Operations {
    io: bool,
    random: bool,
    thread_of: ThreadOf,
    out: Box<dyn Write + Send>,
}

impl Operations {
    /// `None` where neither is asked for. What prints JSON or terse on standard output is not mixed with lines: they go to
    /// standard error then.
    pub(super) fn of(invocation: &Invocation, thread_of: ThreadOf) -> Option<Operations> {
        let (io, random) = (wants(invocation, "io"), wants(invocation, "random"));
        let separate = invocation.output.is_some() || invocation.formats.0.contains(&Format::Normal);
        let out: Box<dyn Write + Send> =
            if separate { Box::new(std::io::stdout()) } else { Box::new(std::io::stderr()) };
        (io || random).then_some(Operations { io, random, thread_of, out })
    }

    /// Has the engine report each operation of these threads.
    pub(super) fn watch(invocation: &Invocation, threads: &mut [Thread]) {
        if wants(invocation, "io") || wants(invocation, "random") {
            for thread in threads {
                if let JobTask::Io(task) = &mut thread.task {
                    task.watch.operations = true;
                }
            }
        }
    }

    fn lines(&self, log: &OperationLog) -> Option<String> {
        let thread = (self.thread_of)(log.phase)?;
        let JobTask::Io(task) = &thread.task else { return None };
        let process = std::process::id();
        let mut out = String::new();
        for operation in &log.operations {
            if self.random && !matches!(task.access, Access::Sequential) {
                let block = operation.offset / task.block.0.max(1);
                out += &format!("random   {process:<5} off rand {block}\n");
            }
            if self.io {
                let of = described(operation, &file(&task.target, operation.file));
                for step in ["queue", "complete"] {
                    out += &format!("io       {process:<5} {step}: io_u {of}\n");
                }
            }
        }
        Some(out)
    }
}

/// `off=0x2000,len=0x1000,ddir=0,file=NAME`, with fio's numbers of the directions.
fn described(operation: &LoggedOperation, file: &str) -> String {
    let direction = match operation.kind {
        OpKind::Read => 0,
        OpKind::Write => 1,
        OpKind::Trim => 2,
        _ => 3,
    };
    let LoggedOperation { offset, length, issued, .. } = operation;
    format!("{issued:#x}: off={offset:#x},len={length:#x},ddir={direction},file={file}")
}

fn file(target: &Target, position: u32) -> String {
    match target {
        Target::Files(files) => {
            let file = files.files.get(position as usize);
            file.map_or_else(String::new, |file| file.path.display().to_string())
        }
        Target::Existing(existing) => existing.path.display().to_string(),
        Target::File(file) => file.name.display().to_string(),
        Target::Null { .. } => "null".into(),
    }
}

impl Sink for Operations {
    fn event(&mut self, event: &Event) {
        if let Event::Operations(log) = event
            && let Some(lines) = self.lines(log)
        {
            // A reader that has gone does not end the run.
            let _ = self.out.write_all(lines.as_bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_built_is_refused_by_name() {
        let of = |areas: &[&str]| {
            let debug = areas.iter().map(|area| (*area).to_owned()).collect();
            refuse_unknown(&Invocation { debug, ..Invocation::default() }).map_err(|error| error.to_string())
        };
        assert_eq!(of(&["job", "io", "random", "all"]), Ok(()));
        assert!(of(&["job", "mutex"]).unwrap_err().contains("--debug=mutex"));
    }
}
