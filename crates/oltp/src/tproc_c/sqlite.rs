//! TPROC-C in SQLite: one file, `tproc-c.db`, in the directory.
//!
//! One transaction at a time can write. The users of this program queue for that at a lock of ours, first come first served as
//! far as the system does it, instead of looking again and again whether SQLite's is free.

use std::fs::{self, OpenOptions};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use iolite_db::sqlite::{APPLICATION_ID, Counts, alone, engine, mark, synchronous, vfs};
use iolite_db::{Error, Instance, Result, Sqlite};
use iolite_model::{Bytes, CheckpointDue, CheckpointReading, Durability, ErrorCause};
use rusqlite::config::DbConfig;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, ErrorCode, OpenFlags, ffi, params, params_from_iter};

use super::contract::{Database, Done, Loader, Reader, Session, Table, Value};
use super::dialect::Dialect;
use super::file_copy;
use super::input::Transaction;
use super::layout::Layout;
use super::schema::{self, CATALOGUE, COMPLETE};
use super::statements::{self, Fault, Outcome, Statements};

const FILE: &str = "tproc-c.db";
/// Marks the file as TPROC-C's: "tpcc".
const USER_VERSION: i64 = 0x7470_6363;
/// Pages of the log after which a commit writes it back: 64 MiB.
const CHECKPOINT_PAGES: u32 = 16_384;
/// Bytes of the log then: pages of SQLite's default size, each with its header (file format, 4.1).
const LOG_DUE: u64 = CHECKPOINT_PAGES as u64 * (4096 + 24);
/// Cache of each connection.
const CACHE_KIB: u32 = 16_384;
/// How long another process may hold the file.
const BUSY: Duration = Duration::from_secs(10);
/// How often to find the log empty before a database is taken for one that others write to.
const COPY_TRIES: u32 = 20;
/// What SQLite puts beside a database.
const COMPANIONS: [&str; 3] = ["-wal", "-shm", "-journal"];

/// TPROC-C in a directory.
#[derive(Debug)]
pub struct TprocCSqlite {
    instance: Arc<Sqlite>,
    path: PathBuf,
    durability: Durability,
    /// Held while a user's transaction writes.
    writer: Arc<Mutex<()>>,
    /// The lock of its copy.
    held: Mutex<Option<file_copy::Held>>,
}

impl TprocCSqlite {
    /// In `directory`, with commits of this durability.
    pub fn new(directory: PathBuf, durability: Durability) -> TprocCSqlite {
        let path = directory.join(FILE);
        let instance = Arc::new(Sqlite::new(directory));
        TprocCSqlite { instance, path, durability, writer: Arc::default(), held: Mutex::default() }
    }

    fn place(&self) -> String {
        self.path.display().to_string()
    }

    /// The file, which is there and ours.
    fn ours(&self) -> Result<()> {
        if !self.path.exists() {
            return Err(Error::Missing { place: self.place() });
        }
        match mark(&self.path)? {
            Some(USER_VERSION) => Ok(()),
            _ => Err(Error::Foreign { path: self.path.clone() }),
        }
    }

    fn entries(&self, connection: &Connection) -> Result<Vec<(String, i64)>> {
        let read = || -> rusqlite::Result<Vec<(String, i64)>> {
            let mut statement = connection.prepare(&format!("SELECT name, value FROM {CATALOGUE}"))?;
            statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?.collect()
        };
        read().map_err(|e| engine("read the catalogue of", &self.path, e))
    }

    /// Begins a transaction of a connection, while which nobody else writes, at a moment when everything committed is in the file alone.
    fn keep_writers_away(&self) -> Result<Connection> {
        let log = PathBuf::from(format!("{}-wal", self.path.display()));
        for _ in 0..COPY_TRIES {
            self.settle()?;
            let connection = self.connect()?;
            connection
                .execute_batch("BEGIN IMMEDIATE")
                .map_err(|e| engine("keep writers away from", &self.path, e))?;
            // Somebody may have committed in between.
            if fs::metadata(&log).map_or(0, |log| log.len()) == 0 {
                return Ok(connection);
            }
        }
        Err(Error::Busy { what: self.place() })
    }

    fn connect(&self) -> Result<Connection> {
        let connection = self.instance.connect(&self.path)?;
        let pragmas = format!(
            "PRAGMA synchronous={}; PRAGMA wal_autocheckpoint={CHECKPOINT_PAGES}; PRAGMA cache_size=-{CACHE_KIB};",
            synchronous(self.durability)
        );
        connection
            .set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)
            .and_then(|_| connection.busy_timeout(BUSY))
            .and_then(|()| connection.execute_batch(&pragmas))
            .map_err(|e| engine("configure", &self.path, e))?;
        connection.set_prepared_statement_cache_capacity(64);
        Ok(connection)
    }
}

impl Database for TprocCSqlite {
    fn instance(&self) -> Arc<dyn Instance> {
        self.instance.clone()
    }

    fn has_procedures(&self) -> bool {
        false
    }

    /// One connection writes at a time.
    fn loaders(&self, _: u32) -> u32 {
        1
    }

    fn create(&self, layout: Layout) -> Result<()> {
        if self.path.exists() {
            self.ours()?;
            // Distinguishes a build that did not end from one that did.
            self.layout()?;
            return Err(Error::Exists { path: self.path.clone() });
        }
        OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(&self.path)
            .map_err(|e| Error::io("create", &self.path, e))?;
        let mut sql = format!(
            "PRAGMA application_id={APPLICATION_ID}; PRAGMA user_version={USER_VERSION}; PRAGMA journal_mode=WAL; \
             BEGIN; CREATE TABLE {CATALOGUE} (name TEXT PRIMARY KEY, value INTEGER NOT NULL);"
        );
        for table in Table::ALL {
            let columns = schema::columns(table);
            sql += &match schema::key(table) {
                Some(key) => {
                    format!("CREATE TABLE {} ({columns}, PRIMARY KEY ({key})) WITHOUT ROWID;", table.name())
                }
                None => format!("CREATE TABLE {} ({columns});", table.name()),
            };
        }
        for (name, table, columns) in schema::INDEXES {
            sql += &format!("CREATE INDEX {name} ON {} ({columns});", table.name());
        }
        for (name, value) in schema::entries(layout) {
            sql += &format!("INSERT INTO {CATALOGUE} VALUES ('{name}', {value});");
        }
        let connection = iolite_db::sqlite::open(&self.path, OpenFlags::SQLITE_OPEN_READ_WRITE, vfs::CACHED)?;
        connection
            .execute_batch(&(sql + "COMMIT;"))
            .map_err(|e| engine("create the tables of", &self.path, e))
    }

    fn loader(&self) -> Result<Box<dyn Loader>> {
        let connection = iolite_db::sqlite::open(&self.path, OpenFlags::SQLITE_OPEN_READ_WRITE, vfs::CACHED)?;
        connection
            .execute_batch(
                "PRAGMA synchronous=OFF; PRAGMA cache_size=-65536; PRAGMA wal_autocheckpoint=16384;",
            )
            .map_err(|e| engine("configure", &self.path, e))?;
        Ok(Box::new(SqliteLoader { connection, path: self.path.clone(), insert: String::new() }))
    }

    fn finish(&self) -> Result<()> {
        let connection = self.connect()?;
        connection
            .execute_batch(&format!("ANALYZE; INSERT INTO {CATALOGUE} VALUES ('{COMPLETE}', 1);"))
            .map_err(|e| engine("finish", &self.path, e))?;
        drop(connection);
        self.settle()
    }

    fn layout(&self) -> Result<Layout> {
        self.ours()?;
        schema::layout_at(&self.entries(&self.connect()?)?, self.path.clone())
    }

    fn purge(&self) -> Result<()> {
        if !self.path.exists() {
            return self.remove_copy();
        }
        // A build that was killed at once has left a file without anything in it.
        let empty = fs::metadata(&self.path).is_ok_and(|file| file.len() == 0);
        if !empty {
            self.ours()?;
        }
        // Held until the file is gone: nobody is at work in it. Who opened it just before only finds that it has no name any more.
        let _alone = alone(&self.path)?;
        let beside = COMPANIONS.map(|suffix| PathBuf::from(format!("{}{suffix}", self.path.display())));
        for path in [self.path.clone()].into_iter().chain(beside).filter(|path| path.exists()) {
            fs::remove_file(&path).map_err(|e| Error::io("remove", &path, e))?;
        }
        self.remove_copy()
    }

    /// The file alone, when the log's commits are in it, with writers kept away.
    fn copy(&self, stop: &(dyn Fn() -> bool + Sync)) -> Result<Arc<dyn Database>> {
        self.layout()?;
        self.remove_copy()?;
        let writer = self.keep_writers_away()?;
        let held = file_copy::create(&self.path, stop);
        // The transaction has changed nothing: its end can't fail in a way that matters.
        drop(writer);
        *self.held.lock().unwrap_or_else(PoisonError::into_inner) = Some(held?);
        Ok(Arc::new(TprocCSqlite::new(file_copy::directory(&self.path), self.durability)))
    }

    fn remove_copy(&self) -> Result<()> {
        let companions = COMPANIONS.map(|suffix| format!("{FILE}{suffix}"));
        let names: Vec<String> = companions.into_iter().chain([FILE.to_owned()]).collect();
        let held = self.held.lock().unwrap_or_else(PoisonError::into_inner).take();
        file_copy::remove(&self.path, &names, held)
    }

    fn copy_removal(&self) -> String {
        file_copy::removal(&self.path)
    }

    fn copied_bytes(&self) -> Result<Bytes> {
        let file = fs::metadata(&self.path);
        Ok(Bytes(file.map_err(|e| Error::io("examine", &self.path, e))?.len()))
    }

    fn settle(&self) -> Result<()> {
        self.instance.checkpoint(&self.path)
    }

    fn session(&self, _: bool) -> Result<Box<dyn Session>> {
        let connection = self.connect()?;
        Ok(Box::new(SqliteSession { connection, path: self.path.clone(), writer: self.writer.clone() }))
    }

    fn reader(&self) -> Result<Box<dyn Reader>> {
        Ok(Box::new(SqliteReader {
            connection: self.connect()?,
            path: self.path.clone(),
            instance: self.instance.clone(),
            checkpoints: None,
        }))
    }
}

/// Rows by prepared inserts, a transaction per table and part.
struct SqliteLoader {
    connection: Connection,
    path: PathBuf,
    insert: String,
}

impl SqliteLoader {
    fn failed(&self, error: rusqlite::Error) -> Error {
        engine("fill", &self.path, error)
    }
}

impl Loader for SqliteLoader {
    fn begin(&mut self, table: Table) -> Result<()> {
        let columns = schema::columns(table).matches("NULL,").count() + 1;
        self.insert = format!("INSERT INTO {} VALUES (?{})", table.name(), ", ?".repeat(columns - 1));
        self.connection.execute_batch("BEGIN IMMEDIATE").map_err(|e| self.failed(e))
    }

    fn row(&mut self, row: &[Value]) -> Result<()> {
        let inserted = self
            .connection
            .prepare_cached(&self.insert)
            .and_then(|mut statement| statement.execute(params_from_iter(row.iter().map(Parameter))));
        inserted.map(drop).map_err(|e| self.failed(e))
    }

    fn end(&mut self) -> Result<()> {
        self.connection.execute_batch("COMMIT").map_err(|e| self.failed(e))
    }
}

/// A value as SQLite takes it.
struct Parameter<'a>(&'a Value);

impl rusqlite::ToSql for Parameter<'_> {
    fn to_sql(&self) -> rusqlite::Result<rusqlite::types::ToSqlOutput<'_>> {
        Ok(rusqlite::types::ToSqlOutput::Borrowed(match self.0 {
            Value::Int(value) => ValueRef::Integer(*value),
            Value::Text(text) => ValueRef::Text(text.as_bytes()),
            Value::Null => ValueRef::Null,
        }))
    }
}

/// A user's connection.
struct SqliteSession {
    connection: Connection,
    path: PathBuf,
    writer: Arc<Mutex<()>>,
}

impl Session for SqliteSession {
    fn perform(&mut self, transaction: &Transaction) -> Result<Done> {
        let reads = matches!(transaction, Transaction::OrderStatus(_) | Transaction::StockLevel(_));
        let writer = self.writer.clone();
        let _queued: Option<MutexGuard<'_, ()>> =
            (!reads).then(|| writer.lock().unwrap_or_else(PoisonError::into_inner));
        statements::perform(self, transaction)
    }
}

impl SqliteSession {
    fn fault(&self, doing: &'static str, error: rusqlite::Error) -> Fault {
        let is_stale =
            error.sqlite_error().is_some_and(|error| error.extended_code == ffi::SQLITE_BUSY_SNAPSHOT);
        match error.sqlite_error_code() {
            // Another process wrote what this transaction had read; or writes for longer than it is waited for.
            Some(ErrorCode::DatabaseBusy) if !is_stale => Fault::NoLock,
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Fault::Again,
            _ => Fault::Error(engine(doing, &self.path, error)),
        }
    }

    fn simple(&self, doing: &'static str, sql: &str) -> Outcome<()> {
        let done = self.connection.prepare_cached(sql).and_then(|mut statement| statement.execute([]));
        done.map(drop).map_err(|e| self.fault(doing, e))
    }
}

impl Statements for SqliteSession {
    fn begin(&mut self, writes: bool) -> Outcome<()> {
        self.simple("begin a transaction in", if writes { "BEGIN IMMEDIATE" } else { "BEGIN" })
    }

    fn commit(&mut self) -> Outcome<()> {
        self.simple("commit to", "COMMIT")
    }

    fn rollback(&mut self) {
        if !self.connection.is_autocommit() {
            // What fails here has been reported by what failed before.
            let _ = self.connection.execute_batch("ROLLBACK");
        }
    }

    fn query(&mut self, text: &'static str, values: &[Value]) -> Outcome<Vec<Vec<Value>>> {
        let read = || -> rusqlite::Result<Vec<Vec<Value>>> {
            let mut statement = self.connection.prepare_cached(&Dialect::SQLITE.sql(text))?;
            let columns = statement.column_count();
            let row = |row: &rusqlite::Row<'_>| {
                (0..columns).map(|column| Ok(value(row.get_ref(column)?))).collect()
            };
            statement.query_map(params_from_iter(values.iter().map(Parameter)), row)?.collect()
        };
        read().map_err(|e| self.fault("read", e))
    }

    fn execute(&mut self, text: &'static str, values: &[Value]) -> Outcome<u64> {
        let done = self
            .connection
            .prepare_cached(&Dialect::SQLITE.sql(text))
            .and_then(|mut statement| statement.execute(params_from_iter(values.iter().map(Parameter))));
        done.map(|rows| rows as u64).map_err(|e| self.fault("write to", e))
    }

    fn damaged(&self, what: &str) -> Fault {
        let (doing, why) = ("find what belongs to TPROC-C in", format!("{what} is missing"));
        Fault::Error(Error::engine(doing, self.path.display(), why, ErrorCause::ContentsChanged))
    }
}

fn value(value: ValueRef<'_>) -> Value {
    match value {
        ValueRef::Integer(value) => Value::Int(value),
        ValueRef::Text(text) => Value::Text(String::from_utf8_lossy(text).into_owned()),
        ValueRef::Null | ValueRef::Real(_) | ValueRef::Blob(_) => Value::Null,
    }
}

/// Reads beside the users.
struct SqliteReader {
    connection: Connection,
    path: PathBuf,
    instance: Arc<Sqlite>,
    /// Those seen since the first reading, and what was counted at the last one.
    checkpoints: Option<(u64, Counts)>,
}

impl SqliteReader {
    /// Checkpoints since the first time. Each synchronises the file once; where readers keep the log from being begun again, every commit
    /// does one, which are no cycles.
    fn checkpoints_seen(&mut self, now: Counts) -> u64 {
        let (mut seen, mut last) = self.checkpoints.unwrap_or((0, now));
        let passed = now.since(&last);
        if passed.syncs > 0 && passed.log_write_bytes.0 >= LOG_DUE / 2 {
            (seen, last) = (seen + 1, now);
        }
        self.checkpoints = Some((seen, last));
        seen
    }
}

impl Reader for SqliteReader {
    fn orders(&mut self) -> Result<u64> {
        let sum = self.connection.query_row("SELECT SUM(d_next_o_id) FROM district", params![], |row| {
            row.get::<_, Option<i64>>(0)
        });
        sum.map(|sum| sum.unwrap_or(0).unsigned_abs()).map_err(|e| engine("read", &self.path, e))
    }

    fn transactions(&mut self) -> Result<Option<u64>> {
        Ok(None)
    }

    fn checkpoints(&mut self) -> Result<Option<CheckpointReading>> {
        let now = self.instance.counts();
        Ok(Some(CheckpointReading {
            started: Some(self.checkpoints_seen(now)),
            log: now.log_write_bytes.0,
            latest: None,
            due: CheckpointDue { time: None, log: Some(Bytes(LOG_DUE)) },
            age: None,
        }))
    }

    fn numbers(&mut self, sql: &str) -> Result<Vec<Vec<i64>>> {
        let read = || -> rusqlite::Result<Vec<Vec<i64>>> {
            let mut statement = self.connection.prepare(&Dialect::SQLITE.sql(sql))?;
            let columns = statement.column_count();
            let row = |row: &rusqlite::Row<'_>| (0..columns).map(|column| row.get(column)).collect();
            statement.query_map([], row)?.collect()
        };
        read().map_err(|e| engine("check", &self.path, e))
    }
}
