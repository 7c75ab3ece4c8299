//! What fio's jobs need between their phases: commands of the user's, files that are only created.

use iolite_model::errno::{EINVAL, EIO};
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context;
use iolite_engine::EngineError;
use iolite_fio::driver::{Failure, FioJob, Preparation};
use iolite_model::{JobTask, Target};
use iolite_observe::IoScheduler;
use iolite_session::{Environment, Session};

/// The environment of fio's jobs. I/O schedulers that were switched are switched back when it is dropped.
#[derive(Debug, Default)]
pub(super) struct Shell {
    schedulers: Vec<IoScheduler>,
}

impl Environment<FioJob> for Shell {
    fn prepare(
        &mut self,
        session: &mut Session<'_>,
        job: &mut FioJob,
        preparation: Preparation,
    ) -> anyhow::Result<()> {
        let prepared = match preparation {
            Preparation::Command { command, output } => run_into(&command, &output),
            Preparation::Create(task) => session.make_ready(&task),
            Preparation::PreRead(task) => session.make_ready(&task).and_then(|()| read(&task)),
            Preparation::Scheduler { paths, name } => self.switch(&paths, &name),
        };
        if let Err(error) = prepared {
            job.failed(failure(&error));
        }
        Ok(())
    }

    fn failed(&mut self, job: &mut FioJob, error: &anyhow::Error) {
        job.failed(failure(error));
    }
}

impl Shell {
    /// Switches the devices beneath these paths to an I/O scheduler.
    fn switch(&mut self, paths: &[PathBuf], name: &str) -> anyhow::Result<()> {
        let Some(storage) = iolite_observe::storage_beneath(paths.iter().map(PathBuf::as_path))? else {
            return Ok(());
        };
        for device in &storage.devices {
            if let Some(scheduler) = IoScheduler::of(device) {
                let mut scheduler = scheduler?;
                let switched = scheduler.switch(name);
                self.schedulers.push(scheduler);
                switched?;
            }
        }
        Ok(())
    }
}

/// Reads the regular files of a task into the page cache.
fn read(task: &JobTask) -> anyhow::Result<()> {
    let JobTask::Io(task) = task else { return Ok(()) };
    let Target::Files(target) = &task.target else { return Ok(()) };
    for named in &target.files {
        let path = &named.path;
        let whole = || -> std::io::Result<()> {
            let mut file = File::open(path)?;
            if file.metadata()?.is_file() {
                file.seek(SeekFrom::Start(named.offset.0))?;
                std::io::copy(&mut file.take(named.size.0), &mut std::io::sink())?;
            }
            Ok(())
        };
        whole().with_context(|| format!("pre_read: cannot read {}", path.display()))?;
    }
    Ok(())
}

/// Why a step failed, with the error number that fio's results hold.
fn failure(error: &anyhow::Error) -> Failure {
    let system = error.chain().find_map(|cause| cause.downcast_ref::<std::io::Error>()?.raw_os_error());
    let number = system.unwrap_or(match error.downcast_ref::<EngineError>() {
        Some(EngineError::Interrupted) => 0,
        Some(_) => EINVAL,
        // What went wrong while it ran: a rate that was missed, a queue that broke.
        None => EIO,
    });
    Failure { number, reason: iolite_session::describe(error) }
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
        Ok(status) => anyhow::bail!("`{command}` failed: {status}"),
        Err(error) => anyhow::bail!("cannot run `{command}`: {error}"),
    }
}
