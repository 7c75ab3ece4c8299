//! MariaDB and MySQL (InnoDB) as database instances: a database (schema) of a server, by its URL.
//!
//! Tried on MariaDB 10.11; the SQL is such as MySQL 8 takes, but it has not been tried there.

pub mod connect;
pub mod counters;
pub mod facts;
mod log_copies;
mod option_file;
mod rows;
pub mod server;
mod version;
mod waits;

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use iolite_model::{Bytes, Durability, LogCopy, Physical, ReadingValue};
use mysql::Conn;

use crate::error::Result;
use crate::instance::{Description, Files, Instance, LockWait};
use crate::waits::WaitReader;
pub use connect::Target;
pub use facts::Facts;
pub use log_copies::skip_binary_log;
pub(crate) use option_file::caveats as ignored_option_files;
pub use rows::Rows;

/// A database (schema) in a MariaDB or MySQL server.
#[derive(Debug)]
pub struct Mysql {
    target: Target,
    /// Connection that counters are read over.
    watching: Mutex<Option<Conn>>,
}

/// What is known of a server while something is done with it.
#[derive(Debug)]
pub struct Context {
    /// The server and the database.
    pub target: Target,
    /// Its version and settings.
    pub facts: Facts,
}

impl Context {
    /// What a message calls a table or procedure.
    pub fn path(&self, name: &str) -> PathBuf {
        format!("{}.{name}", self.target.schema).into()
    }

    /// Whether two names are the same table's here.
    pub fn same_name(&self, one: &str, other: &str) -> bool {
        if self.facts.folds_names() { one.eq_ignore_ascii_case(other) } else { one == other }
    }
}

impl Mysql {
    /// The database of a URL, `mysql://USER:PASSWORD@HOST:PORT/DATABASE`, also `mariadb://`, and with `?socket=PATH` where
    /// the server is to be reached by a socket. The database must exist. Connects to nothing yet.
    ///
    /// # Errors
    /// [`Error::Url`](crate::Error::Url).
    pub fn new(url: &str) -> Result<Mysql> {
        Ok(Mysql { target: Target::parse(url)?, watching: Mutex::new(None) })
    }

    /// The server and the database, to connect to.
    pub fn target(&self) -> &Target {
        &self.target
    }

    /// Asks something over the connection that is kept for that.
    fn watch<T>(&self, ask: impl Fn(&mut Conn) -> mysql::Result<T>) -> Result<T> {
        let mut watching = self.watching.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(conn) = watching.as_mut() {
            match ask(conn) {
                // The server may have closed an idle connection: try a new one.
                Err(error) if connect::is_gone(&error) => *watching = None,
                read => return read.map_err(|e| self.target.refusal("read the counters of", e)),
            }
        }
        let mut conn = self.target.open()?;
        let read = ask(&mut conn);
        *watching = Some(conn);
        read.map_err(|e| self.target.refusal("read the counters of", e))
    }

    /// A new connection, and what is known of the server.
    ///
    /// # Errors
    /// [`Error::Engine`](crate::Error::Engine), [`Error::TooOld`](crate::Error::TooOld).
    pub fn open(&self) -> Result<(Context, Conn)> {
        let mut conn = self.target.open()?;
        let facts = Facts::of(&mut conn).map_err(|e| self.target.refusal("ask for the settings of", e))?;
        Ok((Context { target: self.target.clone(), facts }, conn))
    }
}

impl Instance for Mysql {
    fn describe(&self, durability: Durability) -> Result<Description> {
        let (context, mut conn) = self.open()?;
        let mut description = context.facts.describe(&self.target, durability);
        let connection = self.target.connection(&mut conn);
        let connection =
            connection.map_err(|e| self.target.refusal("ask for the connection's state of", e))?;
        description.settings.push(("connection".to_owned(), connection));
        Ok(description)
    }

    fn files(&self) -> Result<Files> {
        let (context, _) = self.open()?;
        Ok(context.facts.files(&self.target))
    }

    /// Waits for the purge of what transactions left. Pages are written back table by table: [`counters::write_back`].
    fn settle(&self) -> Result<()> {
        let mut conn = self.target.open()?;
        counters::await_purge(&mut conn).map_err(|e| self.target.refusal("read the counters of", e))
    }

    fn counters(&self) -> Result<Physical> {
        self.watch(counters::physical)
    }

    fn write_back(&self) -> Result<Vec<ReadingValue>> {
        self.watch(counters::write_back_state)
    }

    fn free_sessions(&self) -> Result<Option<u32>> {
        let mut conn = self.target.open()?;
        let asked = || -> mysql::Result<Option<u32>> {
            let max: Option<u64> = conn.query_row("SELECT @@GLOBAL.max_connections")?;
            let used: Option<(String, u64)> =
                conn.query_row("SHOW GLOBAL STATUS LIKE 'Threads_connected'")?;
            // This session is among them, and ends.
            let free = max.zip(used).map(|(max, (_, used))| (max + 1).saturating_sub(used));
            Ok(free.map(|free| u32::try_from(free).unwrap_or(u32::MAX)))
        };
        let mut asked = asked;
        asked().map_err(|e| self.target.refusal("ask for the sessions of", e))
    }

    /// Pages, the redo log, pages once more in the doublewrite buffer, the binary log.
    fn bulk_writes(&self, data: Bytes) -> Result<Bytes> {
        let (Context { facts, .. }, _) = self.open()?;
        let times = 2 + u64::from(facts.writes_twice()) + u64::from(facts.has_binary_log());
        Ok(Bytes(data.0.saturating_mul(times)))
    }

    fn log_copies(&self) -> Result<Vec<LogCopy>> {
        let (context, mut conn) = self.open()?;
        log_copies::log_copies(&context, &mut conn)
            .map_err(|e| self.target.refusal("ask for the replication of", e))
    }

    fn lock_waits(&self) -> Result<Vec<LockWait>> {
        self.watch(|conn| {
            let mariadb = version::Version::of(conn)?.mariadb;
            counters::lock_waits(conn, mariadb)
        })
    }

    fn wait_reader(&self) -> Result<Option<Box<dyn WaitReader>>> {
        let (context, conn) = self.open()?;
        let mariadb = context.facts.version.mariadb;
        Ok(Some(Box::new(waits::MysqlWaits::open(conn, context.target, mariadb)?)))
    }
}
