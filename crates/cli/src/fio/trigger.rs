//! Triggers: a file that appears, or a time, ends the run; a command may follow.

use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use iolite_engine::Control;

/// How often to look for the file.
const LOOK: Duration = Duration::from_millis(100);

/// What sets a trigger off.
#[derive(Debug, Clone, Default)]
pub(super) struct Trigger {
    /// A file, once it exists.
    pub(super) file: Option<PathBuf>,
    /// So much time after the start.
    pub(super) after: Option<Duration>,
}

/// A trigger that is being waited for.
#[derive(Debug)]
pub(super) struct Armed {
    fired: Arc<AtomicBool>,
}

impl Trigger {
    /// Waits for it on a thread of its own, which ends with the program; it then ends the run, so that what the jobs know
    /// (verification states, results) is written before a command is run.
    pub(super) fn arm(self, control: &Control) -> std::io::Result<Armed> {
        let armed = Armed { fired: Arc::default() };
        if self.file.is_none() && self.after.is_none() {
            return Ok(armed);
        }
        let (fired, control, started) = (armed.fired.clone(), control.clone(), Instant::now());
        thread::Builder::new().name("trigger".into()).spawn(move || {
            let due = || {
                self.after.is_some_and(|after| started.elapsed() >= after)
                    || self.file.as_ref().is_some_and(|file| file.exists())
            };
            while !due() {
                thread::sleep(LOOK);
            }
            fired.store(true, Ordering::Relaxed);
            control.interrupt_run();
        })?;
        Ok(armed)
    }
}

impl Armed {
    /// Runs the command, if it was set off.
    pub(super) fn fire(&self, command: Option<&str>) -> anyhow::Result<()> {
        match command.filter(|_| self.fired()) {
            Some(command) => super::perform::run(command, &mut Command::new("/bin/sh")),
            None => Ok(()),
        }
    }

    /// Whether it was set off.
    pub(super) fn fired(&self) -> bool {
        self.fired.load(Ordering::Relaxed)
    }
}
