//! What fio's jobs need between their phases: commands of the user's, files that are only created.

use std::error::Error;
use std::fs::File;
use std::path::Path;
use std::process::Command;

use anyhow::Context;
use iolite_engine::EngineError;
use iolite_fio::driver::{Failure, FailureKind, FioJob, Preparation};
use iolite_fio::language::ControlGroup;
use iolite_session::{ControlGroups, Environment, Session, SwitchedSchedulers, read_into_cache};

/// The environment of fio's jobs. When it is dropped, I/O schedulers that were switched are switched back, and control groups that
/// were created are removed.
#[derive(Debug, Default)]
pub(super) struct Shell {
    schedulers: SwitchedSchedulers,
    groups: ControlGroups,
}

impl Shell {
    /// Removes control groups; a note for each that remains.
    pub(super) fn close(mut self) {
        for error in self.groups.remove() {
            crate::output::complain("fio", &format!("warning: {error}"));
        }
    }
}

impl Environment<FioJob> for Shell {
    fn prepare(
        &mut self,
        session: &mut Session<'_>,
        job: &mut FioJob,
        preparation: Preparation,
    ) -> iolite_session::Result<()> {
        let prepared: anyhow::Result<()> = match preparation {
            Preparation::Command { command, output } => run_into(&command, &output),
            Preparation::Create(task) => session.make_ready(&task).map_err(Into::into),
            Preparation::PreRead(task) => session
                .make_ready(&task)
                .and_then(|()| read_into_cache(&task, session.control()))
                .map_err(Into::into),
            Preparation::Scheduler { paths, name } => {
                self.schedulers.switch(&paths, &name).map_err(Into::into)
            }
            Preparation::ControlGroup(ControlGroup { name, weight, keep }) => {
                self.groups.create(&name, weight, keep).map_err(Into::into)
            }
        };
        if let Err(error) = prepared {
            job.failed(failure(&*error));
        }
        Ok(())
    }

    fn failed(&mut self, job: &mut FioJob, error: &iolite_session::Error) {
        job.failed(failure(error));
    }
}

/// Why a step failed, with the error number that fio's results hold.
fn failure(error: &(dyn Error + 'static)) -> Failure {
    let kind = match anyhow::Chain::new(error).find_map(|cause| cause.downcast_ref()) {
        Some(EngineError::Interrupted) => FailureKind::Interrupted,
        Some(_) => FailureKind::Refused,
        None => FailureKind::Running,
    };
    Failure::of(anyhow::Chain::new(error), kind, iolite_session::describe(error))
}

/// Runs a command of the user's; what it prints goes to a file.
fn run_into(command: &str, output: &Path) -> anyhow::Result<()> {
    let opened = File::create(output).and_then(|out| Ok((out.try_clone()?, out)));
    let (out, errors) =
        opened.with_context(|| format!("cannot write the output of `{command}` to {}", output.display()))?;
    run(command, Command::new("/bin/sh").stdout(out).stderr(errors))
}

/// Runs a command of the user's by a shell.
///
/// # Errors
/// It can't be run, or says that it has failed.
pub(super) fn run(command: &str, shell: &mut Command) -> anyhow::Result<()> {
    match shell.arg("-c").arg(command).status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => anyhow::bail!("`{command}` failed: {status}; run it in a shell to see why"),
        Err(error) => anyhow::bail!("cannot run `{command}` by /bin/sh: {error}; check that there is one"),
    }
}
