//! Triggers: a file that appears, or a time, ends the run; a command may follow.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::PhaseControl;

/// How often the file is looked for.
const LOOK: Duration = Duration::from_millis(100);

/// What sets a trigger off.
#[derive(Debug, Clone, Default)]
pub struct Trigger {
    /// A file, once it exists.
    pub file: Option<PathBuf>,
    /// This much time after the start.
    pub after: Option<Duration>,
}

/// A trigger that is waited for.
#[derive(Debug)]
pub struct Armed {
    fired: Arc<AtomicBool>,
}

impl Trigger {
    /// Waits for it on a thread of its own, which ends with the program; it then ends the run, so that what the jobs know
    /// (verification states, results) is written before a command is run.
    ///
    /// # Errors
    /// The program can't start a thread.
    pub fn arm(self, control: Box<dyn PhaseControl>) -> std::io::Result<Armed> {
        let armed = Armed { fired: Arc::default() };
        if self.file.is_none() && self.after.is_none() {
            return Ok(armed);
        }
        let (fired, started) = (armed.fired.clone(), Instant::now());
        thread::Builder::new().name("trigger".into()).spawn(move || {
            let due = || {
                self.after.is_some_and(|after| started.elapsed() >= after)
                    || self.file.as_ref().is_some_and(|file| file.exists())
            };
            while !due() {
                thread::sleep(LOOK);
            }
            fired.store(true, Ordering::Relaxed);
            control.end_run();
        })?;
        Ok(armed)
    }
}

impl Armed {
    /// Whether it was set off.
    pub fn fired(&self) -> bool {
        self.fired.load(Ordering::Relaxed)
    }
}
