//! A copy of the database for one run, made by the server with the database as its template.

use iolite_db::postgres::Target;
use iolite_db::{Error, Result};
use postgres::Client;

/// The copy's comment.
const MARK: &str = "created by iolite: copy of a TPROC-C database for a run";
/// What the copy's name ends with.
const SUFFIX: &str = "_iolite_copy";
/// Bytes of a name (NAMEDATALEN - 1).
const MAX_NAME: usize = 63;

/// The name of the copy of a database.
fn name(database: &str) -> String {
    let mut end = database.len().min(MAX_NAME - SUFFIX.len());
    while !database.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}{SUFFIX}", &database[..end])
}

fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// Copies a database, of which no other session may be open; the copy of an earlier run is replaced.
///
/// # Errors
/// [`Error::Foreign`], [`Error::Engine`]: among others without the privilege CREATEDB, or where other sessions are open.
pub(super) fn create(original: &Target) -> Result<Target> {
    let mut client = original.connect()?;
    let name = name(original.database());
    remove_by(&mut client, original, &name)?;
    let copy = quoted(&name);
    client
        .batch_execute(&format!("CREATE DATABASE {copy} TEMPLATE {}", quoted(original.database())))
        .and_then(|()| client.batch_execute(&format!("COMMENT ON DATABASE {copy} IS '{MARK}'")))
        .map_err(|e| original.failed("copy (CREATE DATABASE ... TEMPLATE)", e))?;
    Ok(original.with_database(&name))
}

/// Removes the copy of a database, if there is one.
///
/// # Errors
/// As [`create`].
pub(super) fn remove(original: &Target) -> Result<()> {
    let mut client = original.connect()?;
    remove_by(&mut client, original, &name(original.database()))
}

fn remove_by(client: &mut Client, original: &Target, name: &str) -> Result<()> {
    let failed = |e| original.failed("remove the copy of", e);
    // One that a killed run was about to mark has no comment yet, but its owner.
    let sql = "SELECT coalesce(shobj_description(oid, 'pg_database') = $2, pg_get_userbyid(datdba) = current_user) \
               FROM pg_database WHERE datname = $1";
    let Some(row) = client.query_opt(sql, &[&name, &MARK]).map_err(failed)? else { return Ok(()) };
    if !row.get::<_, bool>(0) {
        return Err(Error::Foreign { path: format!("database {name} beside {}", original.place()).into() });
    }
    // Sessions of a run that was killed end only when they notice.
    let end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1";
    client.query(end, &[&name]).map_err(failed)?;
    client.batch_execute(&format!("DROP DATABASE {}", quoted(name))).map_err(failed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_fit_and_are_quoted() {
        assert_eq!(name("bench"), "bench_iolite_copy");
        let long = name(&"ä".repeat(40));
        assert!(long.len() <= MAX_NAME && long.ends_with(SUFFIX), "{long}");
        assert_eq!(quoted("a\"b"), "\"a\"\"b\"");
    }
}
