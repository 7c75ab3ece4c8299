//! A program that runs beside a phase.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use iolite_sys::process::Process;

/// A program, and where what it prints goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProgramCall {
    /// Its file, or a name that is looked up in PATH.
    pub path: PathBuf,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// Files for its standard output and its standard error, to which it adds; `None` for those of this program.
    pub output: Option<[PathBuf; 2]>,
    /// Time that it has to end by itself when it is asked to.
    pub grace: Duration,
}

impl ProgramCall {
    /// Creates the files for its output, in place of earlier ones.
    ///
    /// # Errors
    /// One can't be created, or what has its name is no regular file, such as a link or a device, which stays as it is.
    pub fn create_output(&self) -> io::Result<()> {
        let create = |path| unless_other(path).and_then(|()| File::create(path)).map(drop);
        self.output.iter().flatten().try_for_each(|path| create(path))
    }
}

/// A program that runs, or has ended by itself.
#[derive(Debug)]
pub struct RunningProgram {
    process: Arc<Process>,
    grace: Duration,
    /// Kills it when the time that it has to end by itself is over; there once it was asked to.
    deadline: Option<JoinHandle<()>>,
    waiting: JoinHandle<()>,
}

impl RunningProgram {
    /// Starts a program. `ended` is called by another thread when it has ended, for whatever reason.
    ///
    /// # Errors
    /// It, or a file for its output, can't be opened; or there is no thread for it.
    pub fn start(call: &ProgramCall, ended: impl FnOnce() + Send + 'static) -> io::Result<RunningProgram> {
        let mut child = spawn(call)?;
        let process = match Process::open(child.id()) {
            Ok(Some(process)) => Arc::new(process),
            unknown => {
                let _ = child.kill().and_then(|()| child.wait());
                return Err(unknown.err().unwrap_or_else(|| io::ErrorKind::NotFound.into()));
            }
        };
        let waiting = thread::Builder::new().name("program".into()).spawn(move || {
            let _ = child.wait();
            ended();
        });
        let waiting = waiting.inspect_err(|_| drop(process.kill()))?;
        Ok(RunningProgram { process, grace: call.grace, deadline: None, waiting })
    }

    /// Asks it to end (SIGTERM); when its time for that is over, it is killed (SIGKILL).
    pub fn ask(&mut self) {
        if self.deadline.is_some() || self.process.terminate().is_err() {
            return;
        }
        let (process, grace) = (self.process.clone(), self.grace);
        let deadline = thread::Builder::new().name("grace".into()).spawn(move || {
            if !process.wait_for(grace).unwrap_or(false) {
                let _ = process.kill();
            }
        });
        // Without a thread for it there is no time either.
        self.deadline = deadline.map_err(|_| self.process.kill()).ok();
    }

    /// Ends it as [`Self::ask`] does, and waits until it has ended.
    pub fn end(mut self) {
        self.ask();
        if let Some(deadline) = self.deadline.take() {
            let _ = deadline.join();
        }
        let _ = self.waiting.join();
    }
}

/// What is to be done later, by a thread of its own; dropped before its time, it is not done.
#[derive(Debug)]
pub struct Later {
    unless: Option<Sender<()>>,
    waiting: Option<JoinHandle<()>>,
}

impl Later {
    /// Does something when so much time has passed.
    ///
    /// # Errors
    /// There is no thread for it.
    pub fn after(delay: Duration, act: impl FnOnce() + Send + 'static) -> io::Result<Later> {
        let (unless, is_dropped) = mpsc::channel();
        let wait = move || {
            if is_dropped.recv_timeout(delay) == Err(RecvTimeoutError::Timeout) {
                act();
            }
        };
        let waiting = thread::Builder::new().name("later".into()).spawn(wait)?;
        Ok(Later { unless: Some(unless), waiting: Some(waiting) })
    }
}

impl Drop for Later {
    fn drop(&mut self) {
        self.unless = None;
        if let Some(waiting) = self.waiting.take() {
            let _ = waiting.join();
        }
    }
}

fn spawn(call: &ProgramCall) -> io::Result<Child> {
    let mut command = Command::new(&call.path);
    command.args(&call.arguments).stdin(Stdio::null());
    if let Some([out, errors]) = &call.output {
        command.stdout(added_to(out)?).stderr(added_to(errors)?);
    }
    command.spawn()
}

/// A file that others may write to as well, each behind what is there.
fn added_to(path: &Path) -> io::Result<File> {
    unless_other(path)?;
    OpenOptions::new().append(true).create(true).open(path)
}

/// What a link leads to, or a device, stays as it is.
fn unless_other(path: &Path) -> io::Result<()> {
    if path.symlink_metadata().is_ok_and(|metadata| !metadata.is_file()) {
        let why = format!("{} exists and is no regular file", path.display());
        return Err(io::Error::new(io::ErrorKind::AlreadyExists, why));
    }
    Ok(())
}
