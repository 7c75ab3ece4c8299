//! Verification of what an earlier run has written.

use std::io;
use std::path::{Path, PathBuf};

use iolite_model::{Access as Order, BackendKind, FileTask, Mix, Overwrite, Target, Verified};
use iolite_sys::clock::Clock;
use iolite_workers::Control;

use crate::backend::Sync;
use crate::error::EngineError;
use crate::target::Targets;
use crate::verify::state::State;
use crate::verify::verification::Subject;
use crate::verify::verification::Verification;

/// What a phase has kept of what it wrote (`Verify::state`), to be compared at another time: after a crash, a power failure, a move
/// to other storage.
#[derive(Debug)]
pub struct SavedState {
    path: PathBuf,
    state: State,
}

impl SavedState {
    /// Reads a state.
    ///
    /// # Errors
    /// It can't be read, or is damaged.
    pub fn load(path: &Path) -> Result<SavedState, EngineError> {
        Ok(SavedState { path: path.to_owned(), state: State::load(path)? })
    }

    /// The task that has written it.
    pub fn task(&self) -> &FileTask {
        &self.state.task
    }

    /// Reads and compares all that was written.
    ///
    /// # Errors
    /// The target can't be read.
    pub fn verify(&self, clock: Clock, control: &Control) -> Result<Verified, EngineError> {
        let mut task = self.state.task.clone();
        // Only to read: whatever the task was allowed to write stays as it is.
        (task.mix, task.backend, task.access) = (Mix::Read, BackendKind::Sync, Order::Sequential);
        match &mut task.target {
            Target::Existing(existing) => existing.overwrite = Overwrite::Never,
            Target::Files(files) => files.overwrite = Overwrite::Never,
            Target::Null { .. } | Target::File(_) => {}
        }
        let targets = Targets::open_to_read(&mut task)?;
        let verify = task.verify.take().ok_or_else(|| EngineError::State {
            action: "read",
            path: self.path.clone(),
            source: io::Error::new(io::ErrorKind::InvalidData, "its task verifies nothing"),
        })?;
        let verification = Verification::new(&task, &verify, self.state.run)?;
        targets.forget_cached(&task.name)?;
        let subject = Subject { workers: task.workers, task, phase: 0, targets: targets.clone() };
        let written = self.state.written.clone();
        let all = verification.read_all(&subject, written, clock, control, move |task, worker| {
            let room = Verification::read_back_block(task);
            let files = targets.files(worker).ok_or(io::ErrorKind::NotFound)?;
            Ok((Sync::new(files, room)?, 1, room))
        })?;
        Ok(all.verified)
    }
}
