//! One worker's connections to the files of the globals.

use std::ffi::CStr;
use std::hash::{BuildHasher, RandomState};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use iolite_model::Bytes;
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags, params};

use super::create::Noise;
use super::{
    CHECKPOINT_PAGES, Counted, Header, PAGE, READ_CACHE_PAGES, Sqlite, WRITE_CACHE_KIB, engine, header, open,
};
use crate::adapter::{Error, Result, Session};

const READ_PAGE: &str = "SELECT data FROM sqlite_dbpage WHERE pgno = ?1";
const SET: &str = "UPDATE global SET value = ?2 WHERE subscript = ?1";

/// See [`Session`]. Connections are opened when first needed and kept.
pub(super) struct SqliteSession {
    vfs: &'static CStr,
    worker: u32,
    files: Vec<Global>,
    blocks: u64,
    subscripts: u64,
    writer: Option<Connection>,
    synchronous: &'static str,
    counted: Arc<Mutex<Counted>>,
    noise: Noise,
}

/// A global's file.
struct Global {
    path: PathBuf,
    /// Blocks in the files before this one and in this one.
    end: u64,
    reader: Option<Connection>,
}

impl SqliteSession {
    /// A session over complete files: that of the blocks, then those of the globals.
    pub(super) fn open(database: &Sqlite, paths: &[PathBuf], worker: u32) -> Result<SqliteSession> {
        let (mut files, mut blocks) = (Vec::new(), 0);
        for path in paths {
            blocks += header(path)?.blocks();
            files.push(Global { path: path.clone(), end: blocks, reader: None });
        }
        let sizes = super::catalogue::sizes(&paths[0])?;
        Ok(SqliteSession {
            vfs: database.vfs(),
            worker,
            files,
            blocks,
            subscripts: sizes.get(worker as usize).copied().unwrap_or(0),
            writer: None,
            synchronous: database.synchronous(),
            counted: database.counted.clone(),
            noise: Noise(RandomState::new().hash_one(worker)),
        })
    }

    fn connect(&mut self, path: &Path, pragmas: &str) -> Result<Connection> {
        let open = open(path, OpenFlags::SQLITE_OPEN_READ_WRITE, self.vfs)?;
        // SQLite would checkpoint when the last connection closes: work that belongs to no measurement, in a place where
        // the worker has long been waited for. `Database::checkpoint` does it when it is wanted.
        open.connection
            .set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)
            .and_then(|_| open.connection.execute_batch(pragmas))
            .map_err(|e| engine("configure", path, e))?;
        self.counted.lock().unwrap_or_else(PoisonError::into_inner).open.push(open.counters);
        Ok(open.connection)
    }

    fn open_reader(&mut self, index: usize) -> Result<()> {
        let path = self.files[index].path.clone();
        let pragmas = format!("PRAGMA query_only=ON; PRAGMA cache_size={READ_CACHE_PAGES};");
        let connection = self.connect(&path, &pragmas)?;
        let has_dbpage: bool = connection
            .query_row("SELECT sqlite_compileoption_used('ENABLE_DBPAGE_VTAB')", [], |row| row.get(0))
            .map_err(|e| engine("read", &path, e))?;
        if !has_dbpage {
            return Err(Error::Build {
                what: "read SQLite's pages by number",
                remedy: "build it in its workspace, whose .cargo/config.toml sets \
                         LIBSQLITE3_FLAGS=-DSQLITE_ENABLE_DBPAGE_VTAB, or set that yourself and build again",
            });
        }
        connection.prepare_cached(READ_PAGE).map_err(|e| engine("read", &path, e))?;
        self.files[index].reader = Some(connection);
        Ok(())
    }

    /// The connection that writes this worker's global, and that global.
    fn writer(&mut self) -> Result<(&Connection, &Path)> {
        // Behind the file of the blocks.
        let index = 1 + self.worker as usize;
        if index >= self.files.len() {
            return Err(Error::NoGlobal { worker: self.worker, globals: self.files.len() as u32 - 1 });
        }
        if self.writer.is_none() {
            let path = self.files[index].path.clone();
            let pragmas = format!(
                "PRAGMA synchronous={}; PRAGMA wal_autocheckpoint={CHECKPOINT_PAGES};
                 PRAGMA cache_size=-{WRITE_CACHE_KIB};",
                self.synchronous
            );
            self.writer = Some(self.connect(&path, &pragmas)?);
        }
        match &self.writer {
            Some(connection) => Ok((connection, &self.files[index].path)),
            None => Err(Error::NoGlobal { worker: self.worker, globals: self.files.len() as u32 - 1 }),
        }
    }

    fn run(&mut self, doing: &'static str, sql: &str) -> Result<()> {
        let (connection, path) = self.writer()?;
        let done = connection.prepare_cached(sql).and_then(|mut statement| statement.execute([]));
        done.map(|_| ()).map_err(|e| engine(doing, path, e))
    }
}

impl Session for SqliteSession {
    fn prepare(&mut self, reads: bool, writes: bool) -> Result<()> {
        if reads {
            for index in 0..self.files.len() {
                if self.files[index].reader.is_none() {
                    self.open_reader(index)?;
                }
                // Reads the root page and the schema, which every later statement finds in memory.
                let first = if index == 0 { 0 } else { self.files[index - 1].end };
                if first < self.files[index].end {
                    self.read_block(first)?;
                }
            }
        }
        if writes {
            let (connection, path) = self.writer()?;
            connection.prepare_cached(SET).map_err(|e| engine("write", path, e))?;
        }
        Ok(())
    }

    fn read_block(&mut self, number: u64) -> Result<Bytes> {
        let index = self.files.partition_point(|file| file.end <= number);
        if index >= self.files.len() {
            return Err(Error::NoBlock { number, blocks: self.blocks });
        }
        let start = if index == 0 { 0 } else { self.files[index - 1].end };
        if self.files[index].reader.is_none() {
            self.open_reader(index)?;
        }
        let file = &self.files[index];
        let read = |connection: &Connection| {
            let page = Header::page(number - start) as i64;
            let mut statement = connection.prepare_cached(READ_PAGE)?;
            statement.query_row([page], |row| Ok(row.get_ref(0)?.as_blob()?.len() as u64))
        };
        match file.reader.as_ref().map(read) {
            Some(Ok(PAGE)) => Ok(Bytes(PAGE)),
            Some(Err(error)) => Err(engine("read a page of", &file.path, error)),
            _ => Err(engine("read a page of", &file.path, super::ffi_error(rusqlite::ffi::SQLITE_CORRUPT))),
        }
    }

    fn begin(&mut self) -> Result<()> {
        self.run("begin a transaction in", "BEGIN IMMEDIATE")
    }

    fn write(&mut self, subscript: u64) -> Result<Bytes> {
        let mut noise = self.noise.clone();
        let subscripts = self.subscripts;
        let mut buffer = [0; Noise::LONGEST];
        let (connection, path) = self.writer()?;
        let value = noise.value(subscript, &mut buffer);
        let done = connection
            .prepare_cached(SET)
            .and_then(|mut statement| statement.execute(params![subscript as i64, value]));
        match done {
            Ok(1) => {}
            Ok(_) => return Err(Error::NoSubscript { subscript, subscripts, path: path.into() }),
            Err(error) => return Err(engine("write to", path, error)),
        }
        self.noise = noise;
        Ok(Bytes(value.len() as u64))
    }

    fn commit(&mut self) -> Result<()> {
        let done = self.run("commit to", "COMMIT");
        if done.is_err()
            && let Some(writer) = self.writer.as_ref().filter(|writer| !writer.is_autocommit())
        {
            // The first error is the one to report; a rollback that fails leaves nothing else to do.
            let _ = writer.execute_batch("ROLLBACK");
        }
        done
    }

    fn subscripts(&self) -> u64 {
        self.subscripts
    }
}
