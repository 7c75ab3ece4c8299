//! Results that are only read, questions in SQL, and space given back.

use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags};

use crate::error::Error;
use crate::schema;
use crate::store::{PATIENCE, Store};

/// The answer to a question in SQL.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// Names of the columns.
    pub columns: Vec<String>,
    /// The rows; a value is JSON's null, number or text; a blob is its bytes in hexadecimal.
    pub rows: Vec<Vec<serde_json::Value>>,
}

impl Store {
    /// Opens a database that is only read: it must be one already, nothing is created or changed.
    ///
    /// # Errors
    /// As [`Store::open`], and where there is no results database at `path`.
    pub fn open_to_read(path: &Path) -> Result<Store, Error> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let opened = read_only(path, path, flags).or_else(|error| match unchanging(path) {
            // SQLite shares its state with writers through a file beside the database, which a directory that can't be written
            // to does not take. Where there are no writers either, none is needed.
            Some(uri) if error.is_cannot_open() => {
                read_only(path, Path::new(&uri), flags | OpenFlags::SQLITE_OPEN_URI)
            }
            _ => Err(error),
        });
        Ok(Store { connection: opened?, path: path.to_owned() })
    }

    /// The answer to a question in SQL; a statement that would write is refused.
    ///
    /// # Errors
    /// [`Error::Sql`] with SQLite's reason, [`Error::Writes`].
    pub fn ask(&self, sql: &str) -> Result<Answer, Error> {
        let failed = |source| self.reading(source);
        let mut statement = self.connection.prepare(sql).map_err(failed)?;
        if !statement.readonly() {
            return Err(Error::Writes);
        }
        let columns: Vec<String> = statement.column_names().map(str::to_owned).collect();
        let mut found = statement.query([]).map_err(failed)?;
        let mut rows = Vec::new();
        while let Some(row) = found.next().map_err(failed)? {
            let value = |index| row.get_ref(index).map(json).map_err(failed);
            rows.push((0..columns.len()).map(value).collect::<Result<Vec<_>, _>>()?);
        }
        Ok(Answer { columns, rows })
    }

    /// Gives the space of deleted runs back to the file system; returns the file's size before and after, in bytes.
    ///
    /// # Errors
    /// [`Error::Sql`]: another program holds the database, or the disk has no space for the copy that this takes.
    pub fn compact(&self) -> Result<(u64, u64), Error> {
        let size = || std::fs::metadata(&self.path).map_or(0, |metadata| metadata.len());
        let before = size();
        let compacted = self.connection.execute_batch("VACUUM; PRAGMA wal_checkpoint(TRUNCATE)");
        compacted.map_err(|source| Error::sql("compacting", &self.path, source))?;
        Ok((before, size()))
    }
}

/// Opens the results database at `path`, under a name for SQLite, to read.
fn read_only(path: &Path, name: &Path, flags: OpenFlags) -> Result<Connection, Error> {
    let sql = |source| Error::sql("opening", path, source);
    let connection = Connection::open_with_flags(name, flags).map_err(sql)?;
    connection.busy_timeout(PATIENCE).map_err(sql)?;
    if schema::check(&connection, path)? {
        Ok(connection)
    } else {
        Err(Error::Empty { path: path.to_owned() })
    }
}

/// The URI under which SQLite takes a database for one that nobody changes; `None` where changes wait in its write-ahead log, and
/// where there is no such file.
fn unchanging(path: &Path) -> Option<String> {
    let path = path.canonicalize().ok().filter(|path| path.is_file())?;
    let mut log = path.clone().into_os_string();
    log.push("-wal");
    if std::fs::metadata(log).is_ok_and(|log| log.len() > 0) {
        return None;
    }
    let escaped = percent_encode(path.as_os_str().as_bytes());
    Some(format!("file://{escaped}?immutable=1"))
}

/// A path in a URI: all but the bytes that stand for themselves there.
fn percent_encode(path: &[u8]) -> String {
    let encode = |byte: &u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'-' | b'_' | b'~' => {
            char::from(*byte).to_string()
        }
        byte => format!("%{byte:02X}"),
    };
    path.iter().map(encode).collect()
}

fn json(value: ValueRef<'_>) -> serde_json::Value {
    match value {
        ValueRef::Null => serde_json::Value::Null,
        ValueRef::Integer(number) => number.into(),
        ValueRef::Real(number) => number.into(),
        ValueRef::Text(text) => String::from_utf8_lossy(text).into_owned().into(),
        ValueRef::Blob(bytes) => bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>().into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic;

    #[test]
    fn what_is_no_results_database_is_not_imported_and_left_as_it_was() {
        let dir = tempfile::tempdir().unwrap();
        let cut = dir.path().join("cut.db");
        synthetic::write(&cut, &synthetic::failed_run("f"));
        let whole = std::fs::read(&cut).unwrap();
        std::fs::write(&cut, &whole[..whole.len() / 3]).unwrap();
        let (text, empty) = (dir.path().join("text"), dir.path().join("empty"));
        std::fs::write(&text, "no database, but long enough to have a header ".repeat(40)).unwrap();
        std::fs::write(&empty, "").unwrap();
        for path in [&cut, &text, &empty] {
            let before = std::fs::read(path).unwrap();
            let outcome = Store::open_to_read(path).and_then(|store| store.runs());
            assert!(outcome.is_err(), "{}: {outcome:?}", path.display());
            assert_eq!(std::fs::read(path).unwrap(), before);
        }
        let missing = dir.path().join("missing");
        assert!(Store::open_to_read(&missing).is_err() && !missing.exists());
    }

    #[test]
    fn questions_are_answered_and_nothing_is_written() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("results.db");
        synthetic::write(&path, &synthetic::failed_run("f"));
        let store = Store::open_to_read(&path).unwrap();
        let answer =
            store.ask("SELECT id, NULL AS missing, 1.5 AS number, x'0aff' AS bytes FROM run").unwrap();
        assert_eq!(answer.columns, ["id", "missing", "number", "bytes"]);
        assert_eq!(answer.rows, [vec!["f".into(), serde_json::Value::Null, 1.5.into(), "0aff".into()]]);
        for sql in ["DELETE FROM run", "DROP TABLE run", "nonsense", "INSERT INTO tag VALUES ('f', 'x')"] {
            assert!(store.ask(sql).is_err(), "{sql}");
        }
        assert_eq!(store.runs().unwrap().len(), 1);
        let store = Store::open(&path).unwrap();
        assert!(matches!(store.ask("DELETE FROM run"), Err(Error::Writes)));
        let (before, after) = store.compact().unwrap();
        assert!(before >= after && after > 0);
    }
}
