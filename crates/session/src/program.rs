//! A program that runs beside a phase.

use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use iolite_sys::process::Process;

/// A program, and where what it prints goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProgramCall {
    /// Its file, or a name that is looked up in PATH.
    pub path: PathBuf,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// Files for its standard output and its standard error; `None` for those of this program.
    pub output: Option<[PathBuf; 2]>,
    /// Time that it has to end by itself when it is asked to.
    pub grace: Duration,
}

/// A program that runs, or has ended by itself.
#[derive(Debug)]
pub struct RunningProgram {
    process: Process,
    grace: Duration,
    /// When it was asked to end.
    asked: Option<Instant>,
    waiting: JoinHandle<()>,
}

impl RunningProgram {
    /// Starts a program. `ended` is called by another thread when it has ended, for whatever reason.
    ///
    /// # Errors
    /// It, or a file for its output, can't be opened.
    pub fn start(call: &ProgramCall, ended: impl FnOnce() + Send + 'static) -> io::Result<RunningProgram> {
        let mut child = spawn(call)?;
        let process = match Process::open(child.id()) {
            Ok(Some(process)) => process,
            unknown => {
                let _ = child.kill().and_then(|()| child.wait());
                return Err(unknown.err().unwrap_or_else(|| io::ErrorKind::NotFound.into()));
            }
        };
        let waiting = std::thread::spawn(move || {
            let _ = child.wait();
            ended();
        });
        Ok(RunningProgram { process, grace: call.grace, asked: None, waiting })
    }

    /// Asks it to end (SIGTERM).
    pub fn ask(&mut self) {
        if self.asked.is_none() && self.process.terminate().is_ok() {
            self.asked = Some(Instant::now());
        }
    }

    /// Ends it, and waits until it has ended: by force (SIGKILL), when the time that it has for that is over.
    pub fn end(mut self) {
        self.ask();
        let left = self.asked.map_or(Duration::ZERO, |asked| self.grace.saturating_sub(asked.elapsed()));
        if !self.process.wait_for(left).unwrap_or(false) {
            let _ = self.process.kill();
        }
        let _ = self.waiting.join();
    }
}

fn spawn(call: &ProgramCall) -> io::Result<Child> {
    let mut command = Command::new(&call.path);
    command.args(&call.arguments).stdin(Stdio::null());
    if let Some([out, errors]) = &call.output {
        command.stdout(File::create(out)?).stderr(File::create(errors)?);
    }
    command.spawn()
}
