//! Runs from one results database to another, questions in SQL, and space given back.

use std::path::Path;

use iolite_model::{RunId, Sink};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags};

use crate::error::Error;
use crate::schema;
use crate::store::Store;
use crate::writer::Writer;

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
        let sql = |source| Error::sql("opening", path, source);
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(path, flags).map_err(sql)?;
        connection.busy_timeout(std::time::Duration::from_secs(10)).map_err(sql)?;
        if !schema::check(&connection, path)? {
            return Err(Error::Empty { path: path.to_owned() });
        }
        Ok(Store { connection, path: path.to_owned() })
    }

    /// Copies runs with their tags and notes into another results database, which is created where it is missing; runs that it
    /// has already are left as they are. Returns the runs that were copied.
    ///
    /// # Errors
    /// A run can't be read, or the other database can't be written to.
    pub fn copy_to(&self, other: &Path, runs: &[RunId]) -> Result<Vec<RunId>, Error> {
        let there = Store::open(other)?;
        let has: Vec<RunId> = there.runs()?.into_iter().map(|run| run.id).collect();
        let mut copied = Vec::new();
        for run in runs.iter().filter(|run| !has.contains(run)) {
            let events = self.events(run)?;
            let mut writer = Writer::start(other, drop);
            events.iter().for_each(|event| writer.event(event));
            writer.finish()?;
            for tag in self.tags(run)? {
                there.add_tag(run, &tag)?;
            }
            for note in self.notes(run)? {
                there.add_note(run, &note)?;
            }
            copied.push(run.clone());
        }
        Ok(copied)
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
    fn copied_runs_are_the_same_runs() {
        let dir = tempfile::tempdir().unwrap();
        let (path, other) = (dir.path().join("results.db"), dir.path().join("there/copy.db"));
        synthetic::write(&path, &synthetic::database_run("r", 1, 3));
        synthetic::write(&path, &synthetic::failed_run("f"));
        let store = Store::open(&path).unwrap();
        let run = RunId("r".into());
        store.add_tag(&run, "it's").unwrap();
        store.add_note(&run, "a \"note\"\n").unwrap();
        let all = [run.clone(), RunId("f".into())];
        assert_eq!(store.copy_to(&other, &all).unwrap(), all);
        assert_eq!(store.copy_to(&other, &all).unwrap(), []);
        let copy = Store::open_to_read(&other).unwrap();
        for id in &all {
            assert_eq!(copy.events(id).unwrap(), store.events(id).unwrap());
        }
        assert_eq!(
            (copy.tags(&run).unwrap(), copy.notes(&run).unwrap()),
            (vec!["it's".into()], vec!["a \"note\"\n".into()])
        );
        assert_eq!(copy.runs().unwrap().len(), 2);
        store.copy_to(&other, &[RunId("none".into())]).unwrap_err();
    }

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
