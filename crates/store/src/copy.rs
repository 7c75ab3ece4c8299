//! Runs from one results database to another, and runs that are made of other programs' results: each in one transaction, so that
//! a run is there whole or not at all.

use std::path::Path;

use iolite_model::{Event, Nanos, RunId};
use jiff::Timestamp;
use rusqlite::types::Value;
use rusqlite::{Connection, Transaction, TransactionBehavior, params, params_from_iter};

use crate::error::Error;
use crate::insert::{Recording, utc};
use crate::read::{collect, run_ending};
use crate::rows::{Failure, integer};
use crate::schema;
use crate::store::{Store, interrupt};

/// A table, and how its rows belong to a run.
struct Table {
    name: String,
    columns: Vec<String>,
    /// The rows of a run (the parameter).
    select: String,
    /// The column that numbers the rows of a table over all runs, or refers to such a number; with the table that is numbered.
    number: Option<(usize, String)>,
}

impl Store {
    /// Copies runs with their tags and notes into another results database, which is created where it is missing; runs that it
    /// has already are left as they are. Nothing of a run is changed, but one that was cut short is marked as interrupted: on
    /// another host, nobody could tell. Returns the runs that were copied.
    ///
    /// # Errors
    /// A run can't be read or has not ended, or the other database can't be written to: the runs before it have been copied,
    /// and nothing of it.
    pub fn copy_to(&self, other: &Path, runs: &[RunId]) -> Result<Vec<RunId>, Error> {
        let mut there = Store::open(other)?;
        let tables = self.tables()?;
        let mut copied = Vec::new();
        for run in runs {
            if there.takes(run, |target| self.copy_run(target, &tables, run, other))? {
                copied.push(run.clone());
            }
        }
        Ok(copied)
    }

    /// Stores a whole run that ended at a time (nanoseconds since 1970), with a note; `false` where it is there already.
    ///
    /// # Errors
    /// The database can't be written to, or the events are not those of a run.
    pub fn add_run(&mut self, events: &[Event], finished: Nanos, note: &str) -> Result<bool, Error> {
        let Some(Event::RunStarted(info)) = events.first() else {
            return Err(Error::OutOfOrder { event: "an event", missing: "its run's start" });
        };
        let path = self.path.clone();
        self.takes(&info.id, |target| {
            let failed = |failure| match failure {
                Failure::Sql(source) => Error::sql("storing", &path, source),
                Failure::Other(error) => error,
            };
            let mut recording = Recording::default();
            events.iter().try_for_each(|event| recording.write(target, event)).map_err(failed)?;
            let sql = |source| Error::sql("storing", &path, source);
            let at = Timestamp::from_nanosecond(i128::from(finished.0));
            let update = "UPDATE run SET finished_unix_ns = ?2, finished_utc = ?3 WHERE id = ?1";
            target.execute(update, params![info.id.0, integer(finished.0), utc(at)]).map_err(sql)?;
            let now = Timestamp::now().as_nanosecond();
            let insert = "INSERT INTO note (run, added_unix_ns, text) VALUES (?1, ?2, ?3)";
            let now = i64::try_from(now).unwrap_or(i64::MAX);
            target.execute(insert, params![info.id.0, now, note]).map_err(sql)?;
            Ok(())
        })
    }

    /// Lets a run be written in one transaction; `false` where it is there already.
    fn takes(
        &mut self,
        run: &RunId,
        write: impl FnOnce(&Transaction<'_>) -> Result<(), Error>,
    ) -> Result<bool, Error> {
        let path = self.path.clone();
        let sql = |source| Error::sql("storing", &path, source);
        let transaction =
            self.connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(sql)?;
        let known = "SELECT count(*) > 0 FROM run WHERE id = ?1";
        if transaction.query_row(known, params![run.0], |row| row.get(0)).map_err(sql)? {
            return Ok(false);
        }
        write(&transaction)?;
        transaction.commit().map_err(sql)?;
        Ok(true)
    }

    fn copy_run(
        &self,
        target: &Transaction<'_>,
        tables: &[Table],
        run: &RunId,
        path: &Path,
    ) -> Result<(), Error> {
        let _snapshot = self.snapshot()?;
        let sql = "SELECT * FROM run WHERE id = ?1";
        let endings = collect(self, sql, params![run.0], |row| run_ending(self, row))?;
        match endings.first() {
            None => return Err(Error::NoSuchRun { path: self.path.clone(), run: run.clone() }),
            Some(None) => return Err(Error::Running { run: run.clone() }),
            Some(Some(_)) => {}
        }
        let sql = |source| Error::sql("storing", path, source);
        // Rows are copied table by table, not parents first.
        target.pragma_update(None, "defer_foreign_keys", true).map_err(sql)?;
        // All offsets before the first row: copied rows are not counted.
        let offsets = tables.iter().map(|table| offset(target, table)).collect::<Result<Vec<_>, _>>();
        for (table, offset) in tables.iter().zip(offsets.map_err(sql)?) {
            self.copy_rows(target, table, offset, run, path)?;
        }
        interrupt(target, run).map_err(sql)?;
        Ok(())
    }

    fn copy_rows(
        &self,
        target: &Connection,
        table: &Table,
        offset: i64,
        run: &RunId,
        path: &Path,
    ) -> Result<(), Error> {
        let sql = |source| Error::sql("storing", path, source);
        let marks = vec!["?"; table.columns.len()].join(", ");
        let insert = format!("INSERT INTO {} ({}) VALUES ({marks})", table.name, table.columns.join(", "));
        let mut insert = target.prepare_cached(&insert).map_err(sql)?;
        let mut select =
            self.connection.prepare_cached(&table.select).map_err(|source| self.reading(source))?;
        let mut rows = select.query(params![run.0]).map_err(|source| self.reading(source))?;
        while let Some(row) = rows.next().map_err(|source| self.reading(source))? {
            let values = (0..table.columns.len()).map(|column| {
                let value = row.get::<_, Value>(column).map_err(|source| self.reading(source))?;
                Ok(match (value, &table.number) {
                    (Value::Integer(number), Some((numbered, _))) if *numbered == column => {
                        Value::Integer(number.saturating_add(offset))
                    }
                    (value, _) => value,
                })
            });
            let values = values.collect::<Result<Vec<Value>, Error>>()?;
            insert.execute(params_from_iter(values)).map_err(sql)?;
        }
        Ok(())
    }

    /// All tables and columns of the schema; not what the user has added.
    fn tables(&self) -> Result<Vec<Table>, Error> {
        let read = || -> rusqlite::Result<Vec<Table>> {
            let empty = schema::empty()?;
            let sql = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'";
            let mut statement = empty.prepare(sql)?;
            let names =
                statement.query_map([], |row| row.get::<_, String>(0))?.collect::<Result<Vec<_>, _>>()?;
            names.into_iter().map(|name| table(&empty, name)).collect()
        };
        read().map_err(|source| self.reading(source))
    }
}

fn table(connection: &Connection, name: String) -> rusqlite::Result<Table> {
    let mut statement = connection.prepare("SELECT name FROM pragma_table_info(?1) ORDER BY cid")?;
    let columns: Vec<String> = statement.query_map([&name], |row| row.get(0))?.collect::<Result<_, _>>()?;
    let mut statement = connection
        .prepare("SELECT \"from\", \"table\" FROM pragma_foreign_key_list(?1) WHERE \"to\" = 'id' AND \"table\" != 'run'")?;
    let parent: Option<(String, String)> =
        statement.query_map([&name], |row| Ok((row.get(0)?, row.get(1)?)))?.next().transpose()?;
    let place = |wanted: &str| columns.iter().position(|column| column == wanted);
    let (condition, number) = match parent {
        Some((column, parent)) => {
            let condition = format!("{column} IN (SELECT id FROM {parent} WHERE run = ?1)");
            (condition, place(&column).map(|place| (place, parent)))
        }
        None if name == "run" => ("id = ?1".to_owned(), None),
        None => ("run = ?1".to_owned(), place("id").map(|place| (place, name.clone()))),
    };
    let select = format!("SELECT {} FROM {name} WHERE {condition}", columns.join(", "));
    Ok(Table { name, columns, select, number })
}

/// What is added to the numbers of a table's rows, so that they are new in the target.
fn offset(target: &Connection, table: &Table) -> rusqlite::Result<i64> {
    let Some((_, numbered)) = &table.number else { return Ok(0) };
    target.query_row(&format!("SELECT coalesce(max(id), 0) FROM {numbered}"), [], |row| row.get(0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic;

    fn run(id: &str) -> RunId {
        RunId(id.into())
    }

    /// All rows of all tables, as text.
    fn content(store: &Store) -> Vec<String> {
        let tables = store.tables().unwrap();
        let rows = tables.iter().flat_map(|table| {
            let answer = store.ask(&format!("SELECT * FROM {}", table.name)).unwrap();
            answer.rows.into_iter().map(|row| format!("{} {row:?}", table.name)).collect::<Vec<_>>()
        });
        let mut rows: Vec<String> = rows.collect();
        rows.sort();
        rows
    }

    /// A run with everything, one that failed, and one that was killed.
    fn three(path: &Path) -> Store {
        synthetic::write(path, &synthetic::database_run("r", u32::MAX, 3));
        synthetic::write(path, &synthetic::failed_run("f"));
        let killed = synthetic::database_run("k", u32::MAX, 1);
        synthetic::write(path, &killed[..synthetic::position_of_first_interval(&killed) + 1]);
        let store = Store::open(path).unwrap();
        store.add_tag(&run("r"), "it's").unwrap();
        store.add_note(&run("r"), "a \"note\"\n").unwrap();
        store
    }

    #[test]
    fn copied_runs_are_the_same_in_every_row() {
        let dir = tempfile::tempdir().unwrap();
        let (path, other) = (dir.path().join("results.db"), dir.path().join("there/copy.db"));
        let store = three(&path);
        let all = [run("r"), run("f"), run("k")];
        assert_eq!(store.copy_to(&other, &all).unwrap(), all);
        assert_eq!(store.copy_to(&other, &all).unwrap(), []);
        let copy = Store::open_to_read(&other).unwrap();
        for id in &all {
            assert_eq!(copy.events(id).unwrap(), store.events(id).unwrap());
        }
        // The one that was killed is known to be, where its process is not.
        assert_eq!(store.mark_interrupted().unwrap(), [run("k")]);
        let endings =
            "SELECT ending FROM phase WHERE run = 'k' UNION ALL SELECT ending FROM run WHERE id = 'k'";
        assert_eq!(copy.ask(endings).unwrap().rows, [["interrupted"], ["interrupted"]]);
        assert_eq!(content(&copy).len(), content(&store).len());
        let ignoring_numbers = |store: &Store| {
            let sql = "SELECT i.run, i.phase, i.sequence, o.kind, hex(o.response) FROM interval AS i
                         LEFT JOIN interval_op AS o ON o.interval = i.id ORDER BY 1, 2, 3, 4";
            store.ask(sql).unwrap()
        };
        assert_eq!(ignoring_numbers(&copy), ignoring_numbers(&store));
        // Into a new one, row by row: the times of ends and notes too.
        let second = dir.path().join("second.db");
        copy.copy_to(&second, &all).unwrap();
        let first_of_it = dir.path().join("first.db");
        store.copy_to(&first_of_it, &all[..1]).unwrap();
        let only = |store: &Store| -> Vec<String> {
            let rows = content(store).into_iter();
            rows.filter(|row| !row.starts_with("interval") && !row.starts_with("worker")).collect()
        };
        assert_eq!(only(&Store::open(&second).unwrap()), only(&store));
        assert!(matches!(store.copy_to(&other, &[run("none")]), Err(Error::NoSuchRun { .. })));
    }

    #[test]
    fn a_run_that_goes_on_is_not_copied() {
        let dir = tempfile::tempdir().unwrap();
        let (path, other) = (dir.path().join("results.db"), dir.path().join("copy.db"));
        let events = synthetic::database_run("r", std::process::id(), 1);
        synthetic::write(&path, &events[..synthetic::position_of_first_interval(&events) + 1]);
        let error = Store::open(&path).unwrap().copy_to(&other, &[run("r")]).unwrap_err();
        assert!(error.to_string().contains("still running"), "{error}");
        assert_eq!(Store::open(&other).unwrap().runs().unwrap(), []);
    }

    #[test]
    fn a_copy_that_fails_leaves_nothing_of_the_run() {
        let dir = tempfile::tempdir().unwrap();
        let (path, other) = (dir.path().join("results.db"), dir.path().join("copy.db"));
        let store = three(&path);
        // A row that the other database does not take.
        let damage =
            "PRAGMA ignore_check_constraints = ON; UPDATE interval SET stage = 'none' WHERE run = 'r'";
        store.connection.execute_batch(damage).unwrap();
        store.copy_to(&other, &[run("f"), run("r")]).unwrap_err();
        let ids =
            || Store::open(&other).unwrap().runs().unwrap().into_iter().map(|run| run.id).collect::<Vec<_>>();
        assert_eq!(ids(), [run("f")]);
        assert!(content(&Store::open(&other).unwrap()).iter().all(|row| !row.contains("\"r\"")));
        store.connection.execute_batch("UPDATE interval SET stage = 'measured' WHERE run = 'r'").unwrap();
        assert_eq!(store.copy_to(&other, &[run("f"), run("r")]).unwrap(), [run("r")]);
    }

    #[test]
    fn tables_and_columns_that_a_user_has_added_are_not_copied() {
        let dir = tempfile::tempdir().unwrap();
        let (path, other) = (dir.path().join("results.db"), dir.path().join("copy.db"));
        let store = three(&path);
        let added = "CREATE TABLE mine (host TEXT); ALTER TABLE run ADD COLUMN rack TEXT DEFAULT 'r7'";
        store.connection.execute_batch(added).unwrap();
        assert_eq!(store.copy_to(&other, &[run("r"), run("f")]).unwrap(), [run("r"), run("f")]);
        let events = |store: &Store| store.events(&run("r")).unwrap();
        assert_eq!(events(&Store::open(&other).unwrap()), events(&store));
        // Neither do those of the target matter.
        let third = dir.path().join("third.db");
        Store::open(&third).unwrap().connection.execute_batch(added).unwrap();
        assert_eq!(store.copy_to(&third, &[run("r")]).unwrap(), [run("r")]);
    }

    #[test]
    fn a_run_of_another_program_has_its_own_times() {
        let dir = tempfile::tempdir().unwrap();
        let mut store = Store::open(&dir.path().join("results.db")).unwrap();
        let events = synthetic::failed_run("f");
        let finished = Nanos(1_795_000_000_000_000_000);
        assert!(store.add_run(&events, finished, "imported").unwrap());
        assert!(!store.add_run(&events, finished, "imported").unwrap());
        assert_eq!(store.runs().unwrap()[0].finished_unix, Some(finished));
        assert_eq!(store.notes(&run("f")).unwrap(), ["imported"]);
        assert_eq!(store.events(&run("f")).unwrap(), events);
    }
}
