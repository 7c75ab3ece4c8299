//! The extensions that read blocks by number.

use postgres::error::SqlState;
use postgres::{Client, GenericClient, Transaction};

use super::catalogue::enter;
use iolite_db::postgres::Target;
use iolite_db::postgres::failure;
use iolite_db::{Error, Result};
use iolite_model::ErrorCause;

/// Reads blocks past the server's buffers.
pub(super) const PREWARM: &str = "pg_prewarm";
/// Reads blocks through the server's buffers.
pub(super) const INSPECT: &str = "pageinspect";

/// Creates in our schema, and enters into the catalogue, those that are not there: the one that is needed, and the other
/// where that is possible.
pub(super) fn create(target: &Target, transaction: &mut Transaction<'_>, needed: &str) -> Result<()> {
    let failed = |e| target.failed("look for extensions in", e);
    for (number, name) in (1..).zip([PREWARM, INSPECT]) {
        if schema_of(transaction, name).map_err(failed)?.is_some() {
            continue;
        }
        let mut attempt = transaction.savepoint("extension").map_err(failed)?;
        match attempt.batch_execute(&format!("CREATE EXTENSION {name} SCHEMA iolite")) {
            Ok(()) => {
                enter(&mut attempt, "extension", number, name, 0).map_err(failed)?;
                attempt.commit().map_err(failed)?;
            }
            Err(error) => {
                attempt.rollback().map_err(failed)?;
                if name == needed {
                    return Err(refused(target, name, error));
                }
            }
        }
    }
    Ok(())
}

fn refused(target: &Target, name: &str, error: postgres::Error) -> Error {
    if !failure::is(&error, &SqlState::INSUFFICIENT_PRIVILEGE) {
        return target.failed("create the extension that reads blocks by number in", error);
    }
    let (doing, likely) = if name == PREWARM {
        ("create the extension pg_prewarm in", ErrorCause::PgPrewarm)
    } else {
        ("create the extension pageinspect in", ErrorCause::PgInspect)
    };
    match target.failed(doing, error) {
        Error::Engine { doing, place, cause, .. } => Error::Engine { doing, place, cause, likely },
        other => other,
    }
}

/// The schema in which an extension is, as SQL has it; `None` when the database has none of that name.
pub(super) fn schema_of(
    client: &mut impl GenericClient,
    name: &str,
) -> std::result::Result<Option<String>, postgres::Error> {
    let sql = "SELECT quote_ident(n.nspname) FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace \
               WHERE e.extname = $1";
    Ok(client.query_opt(sql, &[&name])?.map(|row| row.get(0)))
}

/// The schema of the extension that reads blocks, as SQL has it.
///
/// # Errors
/// [`Error::Unsupported`] without the extension.
pub(super) fn needed_schema(target: &Target, client: &mut Client, name: &'static str) -> Result<String> {
    let schema = schema_of(client, name).map_err(|e| target.failed("look for extensions in", e))?;
    schema.ok_or_else(|| {
        let (what, remedy) = if name == PREWARM {
            (
                "read blocks past its buffers: the extension pg_prewarm is missing in this database",
                ErrorCause::PgPrewarmMissing,
            )
        } else {
            (
                "read blocks through its buffers: the extension pageinspect is missing in this database",
                ErrorCause::PgInspectMissing,
            )
        };
        Error::Unsupported { database: "PostgreSQL", what, remedy }
    })
}
