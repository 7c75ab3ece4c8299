//! Refusals of databases as errors of the commands.

use iolite_db::Error;

use crate::exit::{self, UsageError};

/// A database's refusal as an error of this command: what the user has typed wrong is reported as such.
pub(crate) fn refused(error: impl Into<anyhow::Error>) -> anyhow::Error {
    let error = error.into();
    match exit::cause(&error) {
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
