//! One worker's connections: to the file of the blocks, and to that of its global.

use std::hash::{BuildHasher, RandomState};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use iolite_model::{Bytes, ErrorCause};
use rusqlite::config::DbConfig;
use rusqlite::{Connection, params};

use super::super::contract::Session;
use super::create::Noise;
use super::{Header, READ_CACHE_PAGES, RanSqlite, WRITE_CACHE_KIB, block_header, header};
use iolite_db::Sqlite;
use iolite_db::sqlite::{engine, ffi_error, synchronous};
use iolite_db::{Error, Result};

const READ_PAGE: &str = "SELECT data FROM sqlite_dbpage WHERE pgno = ?1";
const SET: &str = "UPDATE global SET value = ?2 WHERE subscript = ?1";

/// See [`Session`]. Connections are opened when first needed and kept.
pub(super) struct SqliteSession {
    instance: Arc<Sqlite>,
    worker: u32,
    /// The file of the blocks and, if this worker has one, that of its global.
    blocks_file: PathBuf,
    global_file: Option<PathBuf>,
    globals: u32,
    blocks: Header,
    subscripts: u64,
    reader: Option<Connection>,
    writer: Option<Connection>,
    synchronous: &'static str,
    noise: Noise,
}

/// Whether SQLite has its table of pages, as it says itself.
fn admit(has_dbpage: bool) -> Result<()> {
    if has_dbpage {
        return Ok(());
    }
    Err(Error::Build { what: "read SQLite's pages by number", remedy: ErrorCause::SqliteWithoutPages })
}

impl SqliteSession {
    /// A session over complete files: that of the blocks, then those of the globals.
    pub(super) fn open(database: &RanSqlite, paths: &[PathBuf], worker: u32) -> Result<SqliteSession> {
        let sizes = super::catalogue::sizes(&paths[0])?;
        Ok(SqliteSession {
            instance: Arc::clone(&database.instance),
            worker,
            blocks_file: paths[0].clone(),
            global_file: paths.get(1 + worker as usize).cloned(),
            globals: paths.len() as u32 - 1,
            blocks: block_header(&paths[0])?,
            subscripts: sizes.get(worker as usize).copied().unwrap_or(0),
            reader: None,
            writer: None,
            synchronous: synchronous(database.durability),
            noise: Noise::new(RandomState::new().hash_one(worker)),
        })
    }

    fn connect(&self, path: &Path, pragmas: &str) -> Result<Connection> {
        let connection = self.instance.connect(path)?;
        // SQLite would checkpoint when the last connection closes: work that belongs to no measurement, in a place where
        // the worker has long been waited for. `Adapter::settle` does it when it is wanted.
        connection
            .set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)
            .and_then(|_| connection.execute_batch(pragmas))
            .map_err(|e| engine("configure", path, e))?;
        Ok(connection)
    }

    /// The connection that reads blocks, and their file.
    fn reader(&mut self) -> Result<(&Connection, &Path)> {
        let reader = match self.reader.take() {
            Some(reader) => reader,
            None => self.open_reader()?,
        };
        Ok((self.reader.insert(reader), &self.blocks_file))
    }

    fn open_reader(&self) -> Result<Connection> {
        let path = self.blocks_file.clone();
        let pragmas = format!("PRAGMA query_only=ON; PRAGMA cache_size={READ_CACHE_PAGES};");
        let connection = self.connect(&path, &pragmas)?;
        let has_dbpage: bool = connection
            .query_row("SELECT sqlite_compileoption_used('ENABLE_DBPAGE_VTAB')", [], |row| row.get(0))
            .map_err(|e| engine("read", &path, e))?;
        admit(has_dbpage)?;
        connection.prepare_cached(READ_PAGE).map_err(|e| engine("read", &path, e))?;
        Ok(connection)
    }

    /// The connection that writes this worker's global, and that global.
    fn writer(&mut self) -> Result<(&Connection, &Path)> {
        let Some(path) = &self.global_file else {
            return Err(Error::NoGlobal { worker: self.worker, globals: self.globals });
        };
        let writer = match self.writer.take() {
            Some(writer) => writer,
            None => self.open_writer(path)?,
        };
        Ok((self.writer.insert(writer), path))
    }

    fn open_writer(&self, path: &Path) -> Result<Connection> {
        let pragmas = format!(
            "PRAGMA synchronous={}; PRAGMA wal_autocheckpoint={}; PRAGMA cache_size=-{WRITE_CACHE_KIB};",
            self.synchronous,
            header(path)?.checkpoint_pages()
        );
        self.connect(path, &pragmas)
    }

    fn run(&mut self, doing: &'static str, sql: &str) -> Result<()> {
        let (connection, path) = self.writer()?;
        let done = connection.prepare_cached(sql).and_then(|mut statement| statement.execute([]));
        done.map(|_| ()).map_err(|e| engine(doing, path, e))
    }
}

impl Session for SqliteSession {
    fn prepare(&mut self, reads: bool, writes: bool) -> Result<()> {
        if reads && self.blocks.blocks() > 0 {
            // Reads the root page and the schema, which every later statement finds in memory.
            self.read_block(0)?;
        }
        if writes {
            let (connection, path) = self.writer()?;
            connection.prepare_cached(SET).map_err(|e| engine("write", path, e))?;
        }
        Ok(())
    }

    fn read_block(&mut self, number: u64) -> Result<Bytes> {
        let header = self.blocks;
        if number >= header.blocks() {
            return Err(Error::NoBlock { number, blocks: header.blocks() });
        }
        let (connection, path) = self.reader()?;
        let read = connection.prepare_cached(READ_PAGE).and_then(|mut statement| {
            let page = header.page_of(number) as i64;
            statement.query_row([page], |row| Ok(row.get_ref(0)?.as_blob()?.len() as u64))
        });
        match read {
            Ok(length) if length == header.page => Ok(Bytes(length)),
            Ok(_) => Err(engine("read a page of", path, ffi_error(rusqlite::ffi::SQLITE_CORRUPT))),
            Err(error) => Err(engine("read a page of", path, error)),
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks that the remedy of a cause is named. docs/errors.md lists each call as the test of that cause.
    fn produced(cause: ErrorCause, error: &Error) {
        assert!(error.to_string().contains(cause.remedy()), "{error}");
    }

    #[test]
    fn sqlite_without_its_table_of_pages_has_its_remedy() {
        admit(true).unwrap();
        produced(ErrorCause::SqliteWithoutPages, &admit(false).unwrap_err());
    }
}
