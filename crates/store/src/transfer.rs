//! Results that are only read, questions in SQL, and space given back.

use std::path::Path;

use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags};

use crate::error::Error;
use crate::schema;
use crate::store::{PATIENCE, Store, refuse_other_than_files};
use crate::unlocked::Unlocked;

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
        let path = path.to_owned();
        match read_only(&path, &path, flags) {
            Ok(connection) => Ok(Store { connection, path, unlocked: None }),
            // SQLite shares its state with writers through a file beside the database, which a directory that can't be written
            // to does not take. Where there are no writers either, none is needed.
            Err(error) if error.is_cannot_open() => {
                let Some(unlocked) = Unlocked::of(&path) else { return Err(error) };
                let flags = flags | OpenFlags::SQLITE_OPEN_URI;
                let connection = read_only(&path, Path::new(&unlocked.uri()), flags)?;
                Ok(Store { connection, path, unlocked: Some(unlocked) })
            }
            Err(error) => Err(error),
        }
    }

    /// Makes sure that a database that is read without locks is what it was when it was opened.
    ///
    /// # Errors
    /// [`Error::Changed`]: what was read may be parts of two states.
    pub(crate) fn still_as_opened(&self) -> Result<(), Error> {
        match &self.unlocked {
            Some(opened) if Unlocked::of(&self.path).as_ref() != Some(opened) => {
                Err(Error::Changed { path: self.path.clone() })
            }
            _ => Ok(()),
        }
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
        self.still_as_opened()?;
        Ok(Answer { columns, rows })
    }

    /// Gives the space of deleted runs back to the file system; returns the file's size before and after, in bytes.
    ///
    /// # Errors
    /// [`Error::Sql`]: another program holds the database, or the disk has no space for the copy that this takes.
    pub fn compact(&self) -> Result<(u64, u64), Error> {
        let size = || std::fs::metadata(&self.path).map_or(0, |metadata| metadata.len());
        let run = |sql| {
            let done = self.connection.execute_batch(sql);
            done.map_err(|source| Error::sql("compacting", &self.path, source))
        };
        // What is in the log belongs to the size, too.
        run("PRAGMA wal_checkpoint(TRUNCATE)")?;
        let before = size();
        run("VACUUM; PRAGMA wal_checkpoint(TRUNCATE)")?;
        Ok((before, size()))
    }
}

/// Opens the results database at `path`, under a name for SQLite, to read.
fn read_only(path: &Path, name: &Path, flags: OpenFlags) -> Result<Connection, Error> {
    refuse_other_than_files(path)?;
    let sql = |source| Error::sql("opening", path, source);
    let connection = iolite_db::sqlite::open_guarded(name, flags).map_err(sql)?;
    connection.busy_timeout(PATIENCE).map_err(sql)?;
    if schema::check(&connection, path)? {
        Ok(connection)
    } else {
        Err(Error::Empty { path: path.to_owned() })
    }
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
    fn what_is_read_without_locks_is_refused_once_somebody_writes() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("results.db");
        synthetic::write(&path, &synthetic::failed_run("f"));
        let unlocked = || {
            let unlocked = Unlocked::of(&path).unwrap();
            let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
            let connection = read_only(&path, Path::new(&unlocked.uri()), flags).unwrap();
            Store { connection, path: path.clone(), unlocked: Some(unlocked) }
        };
        let changed = |store: &Store| {
            let asked = store.ask("SELECT id FROM run").map(drop);
            [asked, store.runs().map(drop)].map(|read| matches!(read, Err(Error::Changed { .. })))
        };
        let reader = unlocked();
        assert_eq!(changed(&reader), [false; 2]);
        // A writer begins: its changes are in the log.
        let writer = Store::open(&path).unwrap();
        writer.add_tag(&iolite_model::RunId("f".into()), "new").unwrap();
        assert_eq!(changed(&reader), [true; 2]);
        // It ends: they are in the database.
        drop(writer);
        assert_eq!((changed(&reader), changed(&unlocked())), ([true; 2], [false; 2]));
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
        // Nothing was deleted: SQLite packs the rows anew, which may take a page more.
        assert!(after > 0 && after <= before + 4096, "{before} {after}");
    }
}
