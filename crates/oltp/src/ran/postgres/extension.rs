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

/// Which of them block reads need.
pub(super) fn needed(through_buffers: bool) -> &'static str {
    if through_buffers { INSPECT } else { PREWARM }
}

/// Creates in our schema, and enters into the catalogue, those that are not there: the one that is needed, and the other
/// where that is possible.
pub(super) fn create(
    target: &Target,
    transaction: &mut Transaction<'_>,
    through_buffers: bool,
) -> Result<()> {
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
                if name == needed(through_buffers) {
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

/// The expression that reads a block and is its size in blocks or in bytes: `table` an oid, `number` a bigint.
///
/// # Errors
/// [`Error::Unsupported`] without the extension.
pub(super) fn reading(
    target: &Target,
    client: &mut Client,
    through_buffers: bool,
    table: &str,
    number: &str,
) -> Result<String> {
    let name = needed(through_buffers);
    let schema = schema_of(client, name).map_err(|e| target.failed("look for extensions in", e))?;
    match (schema, through_buffers) {
        (Some(schema), false) => {
            Ok(format!("{schema}.pg_prewarm({table}::regclass, 'read', 'main', {number}, {number})"))
        }
        // As int: before 1.9 the extension knew no more, and our tables have no more blocks than that.
        (Some(schema), true) => Ok(format!(
            "octet_length({schema}.get_raw_page({table}::regclass::text, 'main', ({number})::int))::bigint"
        )),
        (None, false) => Err(Error::Unsupported {
            database: "PostgreSQL",
            what: "read blocks past its buffers: the extension pg_prewarm is missing in this database",
            remedy: ErrorCause::PgPrewarmMissing,
        }),
        (None, true) => Err(Error::Unsupported {
            database: "PostgreSQL",
            what: "read blocks through its buffers: the extension pageinspect is missing in this database",
            remedy: ErrorCause::PgInspectMissing,
        }),
    }
}
