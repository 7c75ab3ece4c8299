//! The write-ahead log beside a database that is being written.

use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rusqlite::config::DbConfig;

use crate::error::Error;
use crate::store::Store;

/// Bytes of a log before its frames, and of a frame before its page (SQLite documentation, "WAL-mode File Format").
const HEADER: u64 = 32;
const FRAME_HEADER: u64 = 24;

/// The log of a database, as it was after the last transaction.
#[derive(Debug)]
pub(crate) struct Log {
    path: PathBuf,
    /// Inode and length; `None` where there was none.
    noted: Option<(u64, u64)>,
}

impl Log {
    /// The log of the database at `path`.
    pub(crate) fn beside(path: &Path) -> Log {
        let mut log = path.to_owned().into_os_string();
        log.push("-wal");
        Log { path: log.into(), noted: None }
    }

    /// Notes how long it is now.
    pub(crate) fn note(&mut self) {
        self.noted = fs::metadata(&self.path).ok().map(|found| (found.ino(), found.len()));
    }

    /// Whether all is still there that was noted. SQLite keeps the length of a log until its last user has closed it, or asks for a
    /// checkpoint that truncates it: then the log's index counts no more frames than it has. Where somebody else cut it short, what
    /// is written next would follow a hole, and the next checkpoint would copy that into the database.
    ///
    /// # Errors
    /// [`Error::LogLost`]; [`Error::Sql`].
    pub(crate) fn is_whole(&self, store: &Store) -> Result<(), Error> {
        let Some((inode, length)) = self.noted else { return Ok(()) };
        let found = fs::metadata(&self.path).ok().filter(|found: &Metadata| found.ino() == inode);
        let left = found.map(|found| found.len());
        let is_whole = match left {
            Some(left) if left >= length => true,
            Some(left) => left >= indexed(store).map_err(|source| store.reading(source))?,
            None => false,
        };
        if is_whole {
            return Ok(());
        }
        // Nothing of it must come into the database by a checkpoint when the connection is closed.
        let never = store.connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true);
        never.map_err(|source| store.reading(source))?;
        Err(Error::LogLost { path: self.path.clone() })
    }
}

/// Bytes that the log has by its index.
fn indexed(store: &Store) -> rusqlite::Result<u64> {
    let frames: i64 = store.connection.query_row("PRAGMA wal_checkpoint(NOOP)", [], |row| row.get(1))?;
    let page: u32 = store.connection.pragma_query_value(None, "page_size", |row| row.get(0))?;
    Ok(match u64::try_from(frames) {
        Err(_) | Ok(0) => 0,
        Ok(frames) => HEADER + frames * (FRAME_HEADER + u64::from(page)),
    })
}
