//! A `mumps` process that answers commands: lines to its standard input, lines from its standard output.

use std::io::{Read, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Output, Stdio};
use std::time::{Duration, Instant};

use iolite_model::ErrorCause;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::install::Installation;
use super::{engine, record};
use crate::error::{Error, Result};

/// How long a command may take. GT.M waits for as much as a minute and a half where a process died with one of its locks.
const PATIENCE: Duration = Duration::from_secs(300);
/// How long a process may take to end: the last one writes out whatever is in the buffers.
const ENDING: Duration = Duration::from_secs(300);

/// How often to ask again.
const PAUSE: Duration = Duration::from_millis(200);
/// How long the opening or closing of a database by another process may take.
const OPENING: Duration = Duration::from_secs(5);

/// An error that the routine or `mupip` reports, in GT.M's words, after which it goes on.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Refused(pub String);

impl Refused {
    /// Whether one of these codes of GT.M's is in it.
    pub fn mentions(&self, codes: &[&str]) -> bool {
        codes.iter().any(|code| self.0.contains(code))
    }
}

/// What a command comes to.
pub type Reply = std::result::Result<String, Refused>;

/// One such process. It ends when its standard input does, hence also when this program is killed.
#[derive(Debug)]
pub struct Process {
    child: Child,
    /// `None` once it has been asked to end.
    commands: Option<ChildStdin>,
    answers: ChildStdout,
    /// What has come and was not taken yet, from `start`.
    buffer: Vec<u8>,
    start: usize,
    directory: PathBuf,
}

impl Process {
    /// Starts one for the database in `directory`, at an entry reference of a routine that answers commands.
    pub fn start(installation: &Installation, directory: &Path, entry: &str) -> Result<Process> {
        let mut command = program(installation, "mumps", directory);
        command.args(["-run", entry]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = spawn(&mut command, directory).map_err(|e| failed(directory, e.into()))?;
        match (child.stdin.take(), child.stdout.take()) {
            (Some(commands), Some(answers)) => Ok(Process {
                child,
                commands: Some(commands),
                answers,
                buffer: Vec::new(),
                start: 0,
                directory: directory.into(),
            }),
            _ => Err(failed(directory, "it has no pipes".into())),
        }
    }

    /// Its number.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Has a command done and returns what it answers; `None` in place of an error it reported, with that error's text.
    pub fn ask(&mut self, doing: &'static str, command: &str) -> Result<String> {
        let line = self.converse(command.as_bytes(), |_| {})?;
        line.map_err(|cause| engine(doing, &self.directory, cause.into(), ErrorCause::GtmOther))
    }

    /// Has a command done; `each` sees the lines before the last. The inner error is one that the routine reported, after which
    /// it goes on.
    pub fn converse(&mut self, command: &[u8], mut each: impl FnMut(&str)) -> Result<Reply> {
        let until = Instant::now() + PATIENCE;
        self.write_line(command)?;
        loop {
            let line = self.line(until)?;
            if let Some(reply) = line.strip_prefix("done ") {
                return Ok(Ok(reply.to_owned()));
            }
            if let Some(cause) = line.strip_prefix("error ") {
                return Ok(Err(Refused(cause.to_owned())));
            }
            each(&line);
        }
    }

    fn write_line(&mut self, command: &[u8]) -> Result<()> {
        let answer = match self.commands.as_mut() {
            Some(pipe) => pipe.write_all(command).and_then(|()| pipe.write_all(b"\n")),
            None => Ok(()),
        };
        answer.map_err(|_| self.died())
    }

    fn line(&mut self, until: Instant) -> Result<String> {
        let mut searched = self.start;
        loop {
            if let Some(end) = self.buffer[searched..].iter().position(|&byte| byte == b'\n') {
                let line = String::from_utf8_lossy(&self.buffer[self.start..searched + end]).into_owned();
                self.start = searched + end + 1;
                return Ok(line);
            }
            self.buffer.drain(..self.start);
            self.start = 0;
            searched = self.buffer.len();
            self.wait(until)?;
            let mut more = [0; 1 << 16];
            match self.answers.read(&mut more) {
                Ok(0) => return Err(self.died()),
                Ok(got) => self.buffer.extend_from_slice(&more[..got]),
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => return Err(failed(&self.directory, error.into())),
            }
        }
    }

    /// Waits for something to read.
    fn wait(&mut self, until: Instant) -> Result<()> {
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let left = Timespec { tv_sec: left.as_secs() as i64, tv_nsec: left.subsec_nanos().into() };
            match poll(&mut [PollFd::new(&self.answers, PollFlags::IN)], Some(&left)) {
                Ok(0) => {
                    let _ = self.child.kill();
                    let cause = format!("process {} has not answered for minutes", self.id());
                    return Err(engine("ask GT.M in", &self.directory, cause.into(), ErrorCause::GtmOther));
                }
                Ok(_) => return Ok(()),
                Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(failed(&self.directory, std::io::Error::from(error).into())),
            }
        }
    }

    /// Why there is no answer any more.
    fn died(&mut self) -> Error {
        self.commands = None;
        let status = match self.child.wait() {
            Ok(status) => ended_by(status),
            Err(error) => error.to_string(),
        };
        let mut words = String::new();
        if let Some(pipe) = self.child.stderr.as_mut() {
            let _ = pipe.take(2000).read_to_string(&mut words);
        }
        // What it said on its way out stands among its answers where it was not an answer.
        words += &String::from_utf8_lossy(&self.buffer[self.start..]);
        let words = words.split_whitespace().collect::<Vec<_>>().join(" ");
        let cause =
            format!("process {} {status}{}{words}", self.id(), if words.is_empty() { "" } else { ": " });
        engine("go on with GT.M in", &self.directory, cause.into(), ErrorCause::GtmOther)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.commands = None;
        let until = Instant::now() + ENDING;
        let mut pause = Duration::from_millis(1);
        while matches!(self.child.try_wait(), Ok(None)) {
            if Instant::now() > until {
                let _ = self.child.kill();
                let _ = self.child.wait();
                return;
            }
            std::thread::sleep(pause);
            pause = (pause * 2).min(Duration::from_millis(50));
        }
    }
}

/// A program of GT.M's, in the database's directory and with nothing but our settings. Its own process group: a terminal's
/// interrupt is for this program, which has its children finish what they are at.
pub fn program(installation: &Installation, name: &str, directory: &Path) -> Command {
    let mut command = Command::new(installation.program(name));
    installation.surround(&mut command);
    command.current_dir(directory).process_group(0);
    command
}

/// Starts such a program, and records it beside the database.
///
/// # Errors
/// It can't be started.
pub fn spawn(program: &mut Command, directory: &Path) -> std::io::Result<Child> {
    let child = program.spawn()?;
    record::add(directory, child.id());
    Ok(child)
}

/// Runs `mupip`, for so long at most where there is a limit; what it says.
pub fn mupip(
    installation: &Installation,
    directory: &Path,
    arguments: &[&str],
    limit: Option<Duration>,
) -> Result<Reply> {
    let mut command = program(installation, "mupip", directory);
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = spawn(&mut command, directory).map_err(|e| failed(directory, e.into()))?;
    let (output, late) = match limit {
        Some(limit) => output_within(child, limit),
        None => child.wait_with_output().map(|output| (output, false)),
    }
    .map_err(|e| failed(directory, e.into()))?;
    let mut words = String::from_utf8_lossy(&output.stdout).into_owned();
    words += &String::from_utf8_lossy(&output.stderr);
    if let Some(limit) = limit.filter(|_| late) {
        words += &format!(" {LATE} within {} s", limit.as_secs());
    }
    Ok(if output.status.success() {
        Ok(words)
    } else {
        Err(Refused(words.split_whitespace().collect::<Vec<_>>().join(" ")))
    })
}

/// What [`mupip`] reports of one that took too long.
pub const LATE: &str = "mupip has not ended";

/// What a program prints, and whether it was killed because it took longer than `limit`.
fn output_within(child: Child, limit: Duration) -> std::io::Result<(Output, bool)> {
    // Where the kernel has no handles of processes (before 5.3) there is no limit.
    let held = iolite_sys::process::Process::open(child.id()).unwrap_or(None);
    std::thread::scope(|scope| {
        let watching = scope.spawn(|| -> std::io::Result<bool> {
            let Some(process) = &held else { return Ok(false) };
            let late = !process.wait_for(limit)?;
            if late {
                process.kill()?;
            }
            Ok(late)
        });
        let output = child.wait_with_output()?;
        let late = watching.join().unwrap_or(Ok(false))?;
        Ok((output, late))
    })
}

/// Asks `mupip` for something again as long as it answers with one of these codes: another process may be opening or closing
/// the database, which is soon over.
pub fn once_settled(codes: &[&str], ask: impl Fn() -> Result<Reply>) -> Result<Reply> {
    let until = Instant::now() + OPENING;
    loop {
        let answer = ask()?;
        let unsettled = matches!(&answer, Err(refused) if refused.mentions(codes));
        if !unsettled || Instant::now() > until {
            return Ok(answer);
        }
        std::thread::sleep(PAUSE);
    }
}

fn failed(directory: &Path, cause: Box<dyn std::error::Error + Send + Sync>) -> Error {
    engine("run GT.M in", directory, cause, ErrorCause::GtmBroken)
}

fn ended_by(status: ExitStatus) -> String {
    match (status.signal(), status.code()) {
        (Some(signal), _) => format!("was killed by signal {signal}"),
        (None, Some(code)) => format!("ended with exit code {code}"),
        (None, None) => "ended".to_owned(),
    }
}
