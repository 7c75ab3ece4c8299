//! The schema: one file of SQL, and how a database is found to hold it.

use std::path::Path;

use rusqlite::{Connection, TransactionBehavior};

use crate::error::Error;

/// Marks a SQLite file as a results database (bytes 68 to 71 of the file): "ioli".
pub(crate) const APPLICATION_ID: i32 = 0x696f_6c69;

/// Raised with every change of the schema, or of what is stored in it as JSON. Nothing is released: there are no migrations.
const VERSION: i64 = 19;

/// All tables, indexes and views.
const SCHEMA: &str = include_str!("schema.sql");

/// An empty results database in memory: the tables and columns that a results database has, whatever a user has added to it.
pub(crate) fn empty() -> rusqlite::Result<Connection> {
    let connection = Connection::open_in_memory()?;
    connection.execute_batch(SCHEMA)?;
    Ok(connection)
}

/// Creates the tables in an empty database at `path`.
///
/// # Errors
/// [`Error::NotADatabase`], [`Error::NotIolite`], [`Error::Newer`] and [`Error::Older`] leave the file untouched.
pub(crate) fn create(connection: &mut Connection, path: &Path) -> Result<(), Error> {
    if check(connection, path)? {
        return Ok(());
    }
    let sql = |source| Error::sql("preparing", path, source);
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(sql)?;
    // Asked again under the lock: another process may have opened the same new file meanwhile.
    if has_schema(&transaction, path)? {
        return Ok(());
    }
    transaction.execute_batch(SCHEMA).map_err(sql)?;
    transaction.pragma_update(None, "application_id", APPLICATION_ID).map_err(sql)?;
    transaction.pragma_update(None, "user_version", VERSION).map_err(sql)?;
    transaction.commit().map_err(sql)
}

/// Whether the file is a results database of this program; false for an empty file. Any other file is refused, without
/// writing to it.
pub(crate) fn check(connection: &Connection, path: &Path) -> Result<bool, Error> {
    // One snapshot: another process may be creating its tables between two queries.
    let snapshot =
        connection.unchecked_transaction().map_err(|source| Error::sql("opening", path, source))?;
    has_schema(&snapshot, path)
}

/// [`check`], to be asked within a transaction.
fn has_schema(connection: &Connection, path: &Path) -> Result<bool, Error> {
    let sql = |source| Error::sql("opening", path, source);
    let number =
        |pragma| connection.pragma_query_value(None, pragma, |row| row.get::<_, i64>(0)).map_err(sql);
    let (application, found) = (number("application_id")?, number("user_version")?);
    let objects = definitions(connection).map_err(sql)?.len();
    let path = || path.to_owned();
    if application != i64::from(APPLICATION_ID) {
        let empty = application == 0 && found == 0 && objects == 0;
        let other = || Error::NotIolite { path: path(), found: application as i32, expected: APPLICATION_ID };
        return if empty { Ok(false) } else { Err(other()) };
    }
    match found {
        VERSION => Ok(true),
        found if found > VERSION => Err(Error::Newer { path: path(), found, known: VERSION }),
        found => Err(Error::Older { path: path(), found, known: VERSION }),
    }
}

/// The definitions of all tables, indexes and views. In a damaged file they may be no text: rusqlite panics at a name of a column
/// that is not UTF-8, so that such a file is refused here.
fn definitions(connection: &Connection) -> rusqlite::Result<Vec<Option<String>>> {
    let mut statement = connection.prepare("SELECT sql FROM sqlite_schema")?;
    statement.query_map([], |row| row.get(0))?.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::{BTreeMap, BTreeSet};

    const PATH: &str = "test.db";

    /// A version, and the checksum of the schema that it stands for.
    const PINNED: (i64, u32) = (19, 0xe3a1594d);

    /// Comments and layout may change as they like: a program does not see them.
    #[test]
    fn a_schema_that_changed_has_another_version() {
        let statements = SCHEMA.lines().map(|line| line.split("--").next().unwrap_or_default());
        let words: Vec<&str> = statements.flat_map(str::split_whitespace).collect();
        let found = crc32c::crc32c(words.join(" ").as_bytes());
        assert_eq!(
            (VERSION, found),
            PINNED,
            "schema.sql is not that of version {}: raise VERSION, then pin {found:#010x} with it",
            PINNED.0
        );
    }

    #[test]
    fn a_database_whose_definitions_are_no_text_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("results.db");
        create(&mut Connection::open(&path).unwrap(), &path).unwrap();
        let mut bytes = std::fs::read(&path).unwrap();
        let name = b"concurrency";
        let at = bytes.windows(name.len()).position(|found| found == name).unwrap();
        bytes[at + 3] = 0xff;
        std::fs::write(&path, bytes).unwrap();
        let error = check(&Connection::open(&path).unwrap(), &path).unwrap_err().to_string();
        assert!(error.contains("results.db"), "{error}");
    }

    #[test]
    fn an_empty_database_gets_the_tables_once() {
        let mut db = Connection::open_in_memory().unwrap();
        assert!(!check(&db, Path::new(PATH)).unwrap());
        for _ in 0..2 {
            create(&mut db, Path::new(PATH)).unwrap();
            assert!(check(&db, Path::new(PATH)).unwrap());
        }
    }

    #[test]
    fn other_versions_are_refused() {
        let mut db = Connection::open_in_memory().unwrap();
        create(&mut db, Path::new(PATH)).unwrap();
        db.pragma_update(None, "user_version", VERSION - 1).unwrap();
        let error = check(&db, Path::new(PATH)).unwrap_err();
        assert!(matches!(error, Error::Older { found, .. } if found == VERSION - 1), "{error}");
        db.pragma_update(None, "user_version", VERSION + 1).unwrap();
        let error = create(&mut db, Path::new(PATH)).unwrap_err();
        assert!(matches!(error, Error::Newer { found, .. } if found == VERSION + 1), "{error}");
    }

    /// Columns by table or view.
    type Columns = BTreeMap<String, BTreeSet<String>>;

    fn actual() -> Columns {
        let mut db = Connection::open_in_memory().unwrap();
        create(&mut db, Path::new(PATH)).unwrap();
        let sql = "SELECT s.name, c.name FROM sqlite_schema AS s, pragma_table_info(s.name) AS c
                    WHERE s.type IN ('table', 'view')";
        let mut columns = Columns::new();
        let mut statement = db.prepare(sql).unwrap();
        let mut rows = statement.query([]).unwrap();
        while let Some(row) = rows.next().unwrap() {
            columns.entry(row.get(0).unwrap()).or_default().insert(row.get(1).unwrap());
        }
        columns
    }

    /// What the page says: a heading "### `name`" and rows "| `column` | ..." beneath it.
    fn documented() -> Columns {
        let mut columns = Columns::new();
        let mut current = None;
        for line in include_str!("../../../docs/results.md").lines() {
            if line.starts_with('#') {
                current = line.strip_prefix("### `").and_then(|rest| rest.strip_suffix('`'));
            } else if let (Some(name), Some(row)) = (current, line.strip_prefix("| `")) {
                let cell = row.split(" |").next().unwrap();
                let names = cell.split(", ").map(|column| column.trim_matches('`').to_owned());
                columns.entry(name.to_owned()).or_default().extend(names);
            }
        }
        columns
    }

    #[test]
    fn the_reference_page_names_every_table_view_and_column_and_no_others() {
        let (actual, documented) = (actual(), documented());
        for (name, columns) in &actual {
            assert_eq!(documented.get(name), Some(columns), "docs/results.md, `{name}`");
        }
        assert_eq!(documented.keys().collect::<Vec<_>>(), actual.keys().collect::<Vec<_>>());
    }
}
