//! The database that the arguments name, and its refusals as errors of the commands.

use std::sync::Arc;

use iolite_db::{DatabaseUrl, Error};
use iolite_model::Durability;
use iolite_oltp::tproc_c::{self, Database};

use super::args::DatabaseArgs;
use crate::exit::{self, UsageError};
use crate::setup;

/// The database that the arguments name; nothing is opened yet.
///
/// # Errors
/// The URL is invalid, or names a database that this program can't use.
pub(super) fn open(
    args: &DatabaseArgs,
    durability: Durability,
) -> anyhow::Result<(DatabaseUrl, Arc<dyn Database>)> {
    let url = setup::database(&args.db).map_err(refused)?;
    let database = tproc_c::open(&url, durability).map_err(refused)?;
    Ok((url, database))
}

/// A database's refusal as an error of this command.
pub(super) fn refused(error: impl Into<anyhow::Error>) -> anyhow::Error {
    let error = error.into();
    match exit::cause(&error) {
        Some(
            Error::Url(_) | Error::Option { .. } | Error::Unsupported { .. } | Error::Exists { .. },
        ) => {
            UsageError::new(error).into()
        }
        Some(Error::Missing { place }) => {
            UsageError::new(format!("there is no TPROC-C database in {place}: build it with iolite tproc-c build")).into()
        }
        Some(Error::Incomplete { path }) => UsageError::new(format!(
            "{} is incomplete, because its build was interrupted; remove it (iolite tproc-c purge) and build it again",
            path.display()
        ))
        .into(),
        _ => error,
    }
}
