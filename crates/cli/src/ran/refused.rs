//! Refusals of databases as errors of the commands.

use iolite_db::Error;

use crate::exit::UsageError;

/// A database's refusal as an error of this command: what the user has typed wrong is reported as such.
pub(crate) fn refused(error: impl Into<anyhow::Error>) -> anyhow::Error {
    let error = error.into();
    match error.downcast_ref() {
        Some(
            Error::Url(_)
            | Error::Unsupported { .. }
            | Error::Layout { .. }
            | Error::FewGlobals { .. }
            | Error::Missing { .. },
        ) => UsageError::new(error).into(),
        _ => error,
    }
}
