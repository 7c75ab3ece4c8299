//! What is known of a run before anything is measured.

use std::path::{Path, PathBuf};

use iolite_model::{MODEL_VERSION, Nanos, RunId, RunInfo, Storage, View};
use jiff::Timestamp;

/// What a session is to be like.
pub struct Setup<'a> {
    /// Where the run's own files are created; `None` for a run that creates none.
    pub directory: Option<&'a Path>,
    /// The results database, or why there is none.
    pub results: Result<PathBuf, iolite_store::Error>,
    /// Who is shown the progress.
    pub view: Box<dyn View>,
}

/// A run that begins now on this storage; `command` is the command line without passwords, because results are kept and
/// shown.
pub fn run_info(storage: Storage, command: Vec<String>) -> RunInfo {
    let started = Timestamp::now();
    RunInfo {
        id: run_id(started),
        version: env!("CARGO_PKG_VERSION").into(),
        model_version: MODEL_VERSION,
        command,
        started_unix: Nanos(u64::try_from(started.as_nanosecond()).unwrap_or(0)),
        process: std::process::id(),
        host: iolite_observe::host(),
        storage,
    }
}

/// UTC start and eight hexadecimal digits that distinguish runs of one second.
fn run_id(started: Timestamp) -> RunId {
    use std::hash::{BuildHasher, RandomState};
    let suffix = RandomState::new().hash_one(std::process::id()) as u32;
    RunId(format!("{}-{suffix:08x}", started.strftime("%Y%m%dT%H%M%S")))
}
