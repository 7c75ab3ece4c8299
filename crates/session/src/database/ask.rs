//! Asking a database something, with patience.

use std::time::Duration;

use iolite_db::Instance;
use iolite_engine::{Control, EngineError};
use iolite_model::{CopiedWrites, Nanos, Warning};

use crate::error::Error;
use crate::patience::{GaveUp, patiently};
use crate::session::Session;

/// How long a database may take to report what it is.
pub(super) const ANSWER: Duration = Duration::from_secs(60);

/// Asks a database something, for as long as the user wants and it can be expected to take.
///
/// # Errors
/// What it refuses; it did not respond; [`EngineError::Interrupted`].
pub fn answered<T: Send + 'static, E: From<Error> + Send + 'static>(
    control: &Control,
    ask: impl FnOnce() -> Result<T, E> + Send + 'static,
) -> Result<T, E> {
    let why = match patiently(control, ANSWER, ask) {
        Ok(answer) => return answer,
        Err(GaveUp::Interrupted) => Error::from(EngineError::Interrupted),
        Err(GaveUp::Late) => Error::NoResponse { waited: Nanos(ANSWER.as_nanos() as u64) },
        Err(GaveUp::NoThread) => Error::NoThread,
        Err(GaveUp::Failed) => Error::Bug { what: "the thread that asks the database has failed" },
    };
    Err(why.into())
}

/// Whether it is a server that only reads, and replays what another writes.
pub(super) fn is_standby(description: &iolite_db::Description) -> bool {
    description.settings.iter().any(|(name, value)| name == "role" && value == "hot standby")
}

/// Records where what a run writes goes besides the database's own files. What this role may not see is not known.
pub(super) fn warn_of_copies(session: &mut Session<'_>, instance: &dyn Instance, what: &str) {
    for copy in instance.log_copies().unwrap_or_default() {
        session.warn(Warning::AlsoWritten { copy, written: CopiedWrites::of(what, None) });
    }
}
