//! Verification of what an earlier run has written.

use std::io;
use std::path::Path;

use iolite_model::{Access as Order, BackendKind, FileTask, Mix, Overwrite, Target, Verified};
use iolite_sys::clock::Clock;
use iolite_workers::Control;

use crate::backend::Sync;
use crate::error::EngineError;
use crate::target::Targets;
use crate::verify::state::State;
use crate::verify::verification::Subject;
use crate::verify::verification::Verification;

/// Reads and compares all that is in the verification state `path`, which a phase has kept (`Verify::state`): after a crash,
/// a power failure, a move to other storage. Returns the task that had written it with what was found.
///
/// # Errors
/// The state or the target can't be read.
pub fn verify_state(
    path: &Path,
    clock: Clock,
    control: &Control,
) -> Result<(FileTask, Verified), EngineError> {
    let state = State::load(path)?;
    let mut task = state.task.clone();
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
        path: path.to_owned(),
        source: io::Error::new(io::ErrorKind::InvalidData, "its task verifies nothing"),
    })?;
    let verification = Verification::new(&task, &verify, state.run)?;
    targets.forget_cached(&task.name)?;
    let subject = Subject { workers: task.workers, task, phase: 0, targets: targets.clone() };
    let (found, _) =
        verification.read_all(&subject, state.written, clock, control, move |task, worker| {
            let room = Verification::read_back_block(task);
            let files = targets.files(worker).ok_or(io::ErrorKind::NotFound)?.clone();
            Ok((Sync::new(files, room)?, 1, room))
        })?;
    Ok((state.task, found))
}
