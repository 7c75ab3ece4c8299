//! The schema and how an older database becomes a current one.

use std::path::Path;

use rusqlite::{Connection, TransactionBehavior};

use crate::error::Error;

/// Marks a SQLite file as a results database (bytes 68 to 71 of the file): "ioli".
pub(crate) const APPLICATION_ID: i32 = 0x696f_6c69;

/// Step n turns version n into version n + 1; version 0 is an empty file. A released step is never edited.
const MIGRATIONS: &[&str] =
    &[include_str!("schema/001.sql"), include_str!("schema/002.sql"), include_str!("schema/003.sql")];

/// Brings the database at `path` to the current schema.
///
/// # Errors
/// [`Error::NotADatabase`], [`Error::NotIolite`] and [`Error::Newer`] leave the file untouched.
pub(crate) fn migrate(connection: &mut Connection, path: &Path) -> Result<(), Error> {
    migrate_by(MIGRATIONS, connection, path)
}

/// Refuses a file that is not a results database this program knows, without writing to it.
pub(crate) fn check(connection: &Connection, path: &Path) -> Result<(), Error> {
    version_now(connection, path, MIGRATIONS.len()).map(|_| ())
}

fn migrate_by(steps: &[&str], connection: &mut Connection, path: &Path) -> Result<(), Error> {
    if version_now(connection, path, steps.len())? == steps.len() {
        return Ok(());
    }
    let sql = |source| Error::sql("preparing", path, source);
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(sql)?;
    // Asked again under the lock: another process may have opened the same new file meanwhile.
    let from = version(&transaction, path, steps.len())?;
    for step in &steps[from..] {
        transaction.execute_batch(step).map_err(sql)?;
    }
    transaction.pragma_update(None, "application_id", APPLICATION_ID).map_err(sql)?;
    transaction.pragma_update(None, "user_version", steps.len() as i64).map_err(sql)?;
    transaction.commit().map_err(sql)
}

/// [`version`] of one state of the file: another process may be making its tables between two queries.
fn version_now(connection: &Connection, path: &Path, known: usize) -> Result<usize, Error> {
    let snapshot =
        connection.unchecked_transaction().map_err(|source| Error::sql("opening", path, source))?;
    version(&snapshot, path, known)
}

/// Version of the schema in the file, 0 for an empty one. To be asked within a transaction.
fn version(connection: &Connection, path: &Path, known: usize) -> Result<usize, Error> {
    let sql = |source| Error::sql("opening", path, source);
    let number =
        |pragma| connection.pragma_query_value(None, pragma, |row| row.get::<_, i64>(0)).map_err(sql);
    let (application, found) = (number("application_id")?, number("user_version")?);
    let objects: i64 =
        connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0)).map_err(sql)?;
    if application != i64::from(APPLICATION_ID) {
        let empty = application == 0 && found == 0 && objects == 0;
        let other =
            || Error::NotIolite { path: path.into(), found: application as i32, expected: APPLICATION_ID };
        return if empty { Ok(0) } else { Err(other()) };
    }
    match usize::try_from(found) {
        Ok(version) if version <= known => Ok(version),
        _ => Err(Error::Newer { path: path.into(), found, known: known as i64 }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iolite_model::{Arrival, BackendKind, IoFlags, Iops, RingOptions, SyncRule, Task, TimedBy};
    use std::collections::{BTreeMap, BTreeSet};

    const PATH: &str = "test.db";

    #[test]
    fn an_older_database_keeps_its_rows_and_gains_what_is_new() {
        let steps =
            ["CREATE TABLE t (a INTEGER) STRICT", "ALTER TABLE t ADD COLUMN b TEXT NOT NULL DEFAULT 'new'"];
        let mut db = Connection::open_in_memory().unwrap();
        migrate_by(&steps[..1], &mut db, Path::new(PATH)).unwrap();
        db.execute("INSERT INTO t VALUES (7)", []).unwrap();
        for _ in 0..2 {
            migrate_by(&steps, &mut db, Path::new(PATH)).unwrap();
            let row: (i64, String) =
                db.query_row("SELECT a, b FROM t", [], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
            assert_eq!(row, (7, "new".to_owned()));
        }
        assert_eq!(version(&db, Path::new(PATH), 2).unwrap(), 2);
        let error = migrate_by(&steps[..1], &mut db, Path::new(PATH)).unwrap_err();
        assert!(matches!(error, Error::Newer { found: 2, known: 1, .. }), "{error}");
    }

    #[test]
    fn a_step_that_fails_leaves_the_older_version() {
        let steps =
            ["CREATE TABLE t (a INTEGER) STRICT", "CREATE TABLE u (a INTEGER); CREATE TABLE t (a INTEGER)"];
        let mut db = Connection::open_in_memory().unwrap();
        migrate_by(&steps[..1], &mut db, Path::new(PATH)).unwrap();
        migrate_by(&steps, &mut db, Path::new(PATH)).unwrap_err();
        assert_eq!(version(&db, Path::new(PATH), 2).unwrap(), 1);
        assert!(db.prepare("SELECT * FROM u").is_err());
    }

    /// A database as the program made it when the schema was at version `version`, with rows in every table.
    fn of_version(version: usize, rows: &str) -> Connection {
        let mut db = Connection::open_in_memory().unwrap();
        db.pragma_update(None, "foreign_keys", true).unwrap();
        migrate_by(&MIGRATIONS[..version], &mut db, Path::new(PATH)).unwrap();
        db.execute_batch(rows).unwrap();
        db
    }

    fn version_1() -> Connection {
        of_version(1, include_str!("schema/001_rows.sql"))
    }

    fn version_2() -> Connection {
        of_version(2, include_str!("schema/002_rows.sql"))
    }

    fn rows(db: &Connection, sql: &str) -> Vec<String> {
        let mut statement = db.prepare(sql).unwrap();
        let columns = statement.column_count();
        let row = |row: &rusqlite::Row<'_>| {
            let cells = (0..columns).map(|cell| row.get::<_, rusqlite::types::Value>(cell));
            Ok(format!("{:?}", cells.collect::<Result<Vec<_>, _>>()?))
        };
        statement.query_map([], row).unwrap().collect::<Result<_, _>>().unwrap()
    }

    /// All that tables and views of a version show, by their names; tasks apart.
    fn content(db: &Connection, of: &BTreeMap<String, Vec<String>>) -> BTreeMap<String, Vec<String>> {
        let content = of.iter().map(|(name, columns)| {
            let columns: Vec<_> = columns.iter().map(|column| format!("\"{column}\"")).collect();
            (name.clone(), rows(db, &format!("SELECT {} FROM {name}", columns.join(", "))))
        });
        content.collect()
    }

    #[test]
    fn a_database_of_version_1_is_brought_up_to_date_in_place() {
        brought_up_to_date(version_1(), 16);
    }

    #[test]
    fn a_database_of_version_2_is_brought_up_to_date_in_place() {
        let db = brought_up_to_date(version_2(), 20);
        // What was measured before facts of databases were stored shows in the views all the same.
        let workers = rows(
            &db,
            "SELECT \"Database\", Namespace, Reads, ReadPct, round(ReadMeanMs, 3), ReadP99Ms, ReadMaxMs, Engine, TimedBy
               FROM RanRead ORDER BY phase, Job",
        );
        let row = |reads| {
            format!(
                "[Text(\"/var/lib/db\"), Text(\"\"), Integer({reads}), Integer(100), Real(1.0), Null, Real(5.0), Null, \
                 Text(\"client\")]"
            )
        };
        assert_eq!(workers, [row(150), row(150), row(100), row(100)]);
        let summary = "SELECT phase, reads, writes, device_reads FROM database_summary ORDER BY phase";
        let row =
            |phase, reads, writes| format!("[Integer({phase}), Integer({reads}), Integer({writes}), Null]");
        assert_eq!(rows(&db, summary), [row(0, 300, 0), row(1, 0, 300), row(2, 300, 300), row(3, 200, 0)]);
        assert_eq!(rows(&db, "SELECT count(*) FROM RanWrite"), ["[Integer(2)]"]);
        assert_eq!(rows(&db, "SELECT count(*) FROM RanIO"), ["[Integer(2)]"]);
    }

    /// Brings a database with so many tables and views up to date, and finds in it what it held before.
    fn brought_up_to_date(mut db: Connection, size: usize) -> Connection {
        let sql = "SELECT s.name, c.name FROM sqlite_schema AS s, pragma_table_info(s.name) AS c
                    WHERE s.type IN ('table', 'view') AND NOT (s.name = 'phase' AND c.name = 'task')";
        let mut columns: BTreeMap<String, Vec<String>> = BTreeMap::new();
        let mut statement = db.prepare(sql).unwrap();
        for row in statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap() {
            let (table, column) = row.unwrap();
            columns.entry(table).or_default().push(column);
        }
        drop(statement);
        let before = content(&db, &columns);
        assert!(before.len() == size && before.values().all(|rows| !rows.is_empty()), "{before:?}");

        migrate(&mut db, Path::new(PATH)).unwrap();
        assert_eq!(content(&db, &columns), before);
        assert_eq!(version(&db, Path::new(PATH), MIGRATIONS.len()).unwrap(), MIGRATIONS.len());
        assert_eq!(rows(&db, "PRAGMA foreign_key_check"), [""; 0]);
        assert_eq!(rows(&db, "PRAGMA integrity_check"), ["[Text(\"ok\")]"]);
        assert_eq!(rows(&db, "PRAGMA foreign_keys"), ["[Integer(1)]"]);
        let mut fresh = Connection::open_in_memory().unwrap();
        migrate(&mut fresh, Path::new(PATH)).unwrap();
        let schema = "SELECT type, name, sql FROM sqlite_schema ORDER BY name";
        assert_eq!(rows(&db, schema), rows(&fresh, schema));
        // What is appended afterwards may be of the new kinds, and of no others.
        let kinds = |kind| {
            db.execute("UPDATE interval_op SET kind = ?1 WHERE rowid = 1", [kind])?;
            db.execute("UPDATE worker_op SET kind = ?1 WHERE rowid = 1", [kind])
        };
        assert_eq!(kinds("rmdir"), Ok(1));
        assert!(kinds("sing").is_err());
        assert_eq!(db.execute("UPDATE phase SET layer = 'metadata' WHERE rowid = 1", []), Ok(1));
        assert!(db.execute("UPDATE phase SET layer = 'attic' WHERE rowid = 1", []).is_err());
        assert!(db.execute("UPDATE sqlite_schema SET sql = ''", []).is_err());
        kinds("read").unwrap();
        db.execute("UPDATE phase SET layer = 'database' WHERE rowid = 1", []).unwrap();
        db
    }

    #[test]
    fn tasks_of_version_2_read_as_the_model_has_them_now() {
        let mut db = version_2();
        migrate(&mut db, Path::new(PATH)).unwrap();
        let mut statement = db.prepare("SELECT task FROM phase ORDER BY run, number").unwrap();
        let tasks: Vec<Task> = statement
            .query_map([], |row| row.get::<_, String>(0))
            .unwrap()
            .map(|task| serde_json::from_str(&task.unwrap()).unwrap())
            .collect();
        let Task::Database(database) = &tasks[0] else { panic!("{:?}", tasks[0]) };
        assert_eq!((database.seed, database.workers, database.timed_by), (u64::MAX, 2, TimedBy::Client));
        assert_eq!(tasks.len(), 8);
    }

    #[test]
    fn tasks_of_version_1_read_as_the_model_has_them_now() {
        let mut db = version_1();
        let odd = "UPDATE phase SET task = json_set(task, '$.file.sync_every', 64) WHERE run LIKE '%0c'";
        assert_eq!(db.execute(odd, []), Ok(1));
        migrate(&mut db, Path::new(PATH)).unwrap();
        let mut tasks = Vec::new();
        let mut statement = db.prepare("SELECT task FROM phase ORDER BY run, number").unwrap();
        for task in statement.query_map([], |row| row.get::<_, String>(0)).unwrap() {
            tasks.push(serde_json::from_str::<Task>(&task.unwrap()).unwrap());
        }
        assert_eq!(tasks.len(), 7);
        let files: Vec<_> = tasks
            .iter()
            .filter_map(|task| match task {
                Task::File(file) => Some((file.backend, file.sync, file.seed, file.arrival)),
                _ => None,
            })
            .collect();
        let vectored = BackendKind::Vectored(IoFlags { dsync: true, ..IoFlags::default() });
        let rings = BackendKind::IoUring(RingOptions::default());
        let arrival = Arrival::Poisson(Iops(1_234.567_890_123_4));
        assert_eq!(
            files,
            [
                (vectored, None, u64::MAX, arrival),
                (rings, Some(SyncRule::fdatasync(1)), 42, arrival),
                (vectored, Some(SyncRule::fdatasync(64)), u64::MAX, arrival),
            ]
        );
        let Task::Database(database) = &tasks[0] else { panic!("{:?}", tasks[0]) };
        assert_eq!((database.seed, database.workers), (u64::MAX, 2));
    }

    /// Columns by table or view.
    type Columns = BTreeMap<String, BTreeSet<String>>;

    fn actual() -> Columns {
        let mut db = Connection::open_in_memory().unwrap();
        migrate(&mut db, Path::new(PATH)).unwrap();
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
