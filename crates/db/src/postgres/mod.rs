//! PostgreSQL as a database instance, version 11 or later: a database of a server, by its URL.

pub mod connect;
pub mod copy;
mod defaults;
mod describe;
pub mod failure;
pub mod files;
mod hosts;
mod log_copies;
mod physical;
pub mod server;
mod text;
mod tls;
mod waits;

use std::sync::{Arc, Mutex, PoisonError};

use iolite_model::{Bytes, Durability, LogCopy, Physical};
use postgres::Client;

use crate::error::Result;
use crate::instance::{Description, Files, Instance, LockWait};
use crate::waits::WaitReader;
pub use connect::Target;
pub use defaults::ClientEnvironment;
use physical::Monitor;

/// A database of a PostgreSQL server.
pub struct Postgres {
    target: Arc<Target>,
    monitor: Mutex<Option<Monitor>>,
}

/// What a server is built with.
#[derive(Debug, Clone, Copy)]
pub struct Build {
    /// Size of a block in bytes.
    pub block: u64,
    /// Blocks in a file; a table of more has several.
    pub segment: u64,
    /// Major version.
    pub major: u32,
}

impl Build {
    /// Asks the server.
    ///
    /// # Errors
    /// [`Error::Engine`](crate::Error::Engine).
    pub fn ask(target: &Target, client: &mut Client) -> Result<Build> {
        let sql = "SELECT (SELECT setting::bigint FROM pg_settings WHERE name = 'block_size'), \
                   (SELECT setting::bigint FROM pg_settings WHERE name = 'segment_size'), \
                   current_setting('server_version_num')::bigint / 10000";
        let row = client.query_one(sql, &[]).map_err(|e| target.failed("ask the block size of", e))?;
        let positive = |at| row.get::<_, i64>(at).unsigned_abs().max(1);
        Ok(Build { block: positive(0), segment: positive(1), major: positive(2) as u32 })
    }
}

impl Postgres {
    /// The database at a URL as libpq has it (`postgres://USER:PASSWORD@HOST:PORT/DATABASE`). Nothing is connected to yet.
    ///
    /// # Errors
    /// As [`Target::new`].
    pub fn new(url: &str) -> Result<Postgres> {
        Ok(Postgres { target: Arc::new(Target::new(url)?), monitor: Mutex::default() })
    }

    /// The database of a target. Nothing is connected to yet.
    pub fn at(target: Target) -> Postgres {
        Postgres { target: Arc::new(target), monitor: Mutex::default() }
    }

    /// Asks something over the connection that is kept for that.
    fn watch<T>(&self, ask: impl FnOnce(&mut Monitor, &Target) -> Result<T>) -> Result<T> {
        // What a panicking thread has left is as good as before: values are replaced as a whole.
        let mut monitor = self.monitor.lock().unwrap_or_else(PoisonError::into_inner);
        // One that has failed is not put back: the next reading connects anew.
        let mut open = match monitor.take() {
            Some(open) => open,
            None => Monitor::open(&self.target)?,
        };
        let answer = ask(&mut open, &self.target)?;
        *monitor = Some(open);
        Ok(answer)
    }

    /// The server and the database, to connect to.
    pub fn target(&self) -> &Arc<Target> {
        &self.target
    }
}

impl std::fmt::Debug for Postgres {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Postgres").field("target", &self.target).finish_non_exhaustive()
    }
}

impl Instance for Postgres {
    fn describe(&self, durability: Durability) -> Result<Description> {
        describe::describe(&self.target, durability)
    }

    fn files(&self) -> Result<Files> {
        files::files(&self.target)
    }

    fn settle(&self) -> Result<()> {
        let mut client = self.target.connect()?;
        files::checkpoint(&self.target, &mut client).map(drop)
    }

    fn counters(&self) -> Result<Physical> {
        self.watch(Monitor::ask)
    }

    fn free_sessions(&self) -> Result<Option<u32>> {
        let mut client = self.target.connect()?;
        // This session is among them, and ends.
        let sql = "SELECT greatest(0, current_setting('max_connections')::int + 1 \
                   - CASE WHEN rolsuper THEN 0 ELSE current_setting('superuser_reserved_connections')::int END \
                   - (SELECT count(*)::int FROM pg_stat_activity WHERE backend_type IN ('client backend', 'background worker') \
                      AND datid IS NOT NULL)) FROM pg_roles WHERE rolname = current_user";
        let row = client.query_one(sql, &[]).map_err(|e| self.target.failed("ask for the sessions of", e))?;
        Ok(Some(row.get::<_, i32>(0).unsigned_abs()))
    }

    /// Pages and the write-ahead log; COPY into a table of the same transaction needs no log where that serves recovery only.
    fn bulk_writes(&self, data: Bytes) -> Result<Bytes> {
        let mut client = self.target.connect()?;
        let row = client.query_one("SELECT current_setting('wal_level') = 'minimal'", &[]);
        let minimal: bool = row.map_err(|e| self.target.failed("ask the settings of", e))?.get(0);
        Ok(Bytes(data.0.saturating_mul(if minimal { 1 } else { 2 })))
    }

    fn log_copies(&self) -> Result<Vec<LogCopy>> {
        log_copies::log_copies(&self.target)
    }

    fn lock_waits(&self) -> Result<Vec<LockWait>> {
        self.watch(Monitor::lock_waits)
    }

    fn wait_reader(&self) -> Result<Option<Box<dyn WaitReader>>> {
        Ok(Some(Box::new(waits::PostgresWaits::open(&self.target)?)))
    }
}
