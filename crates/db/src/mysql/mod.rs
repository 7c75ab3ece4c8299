//! MariaDB and MySQL (InnoDB) as databases under test.
//!
//! A block is a page of InnoDB's: the blocks to read are rows of a table, so long that three fill a page, and a read is a SELECT
//! by primary key of one row of a random page. The server reads the page from its data file, with O_DIRECT where
//! it is set so, unless its buffer pool holds it. A global is a table of its own; a set is an UPDATE by primary key.
//! Writes are durable because each commit writes the redo log and syncs it (innodb_flush_log_at_trx_commit=1, with a
//! binary log also sync_binlog=1), which is asked for before a run; pages are written back later, through the
//! doublewrite buffer.
//!
//! Batches run in stored procedures of ours, which stamp each operation by SYSDATE(6), in microseconds. COMMIT alone is a
//! command from outside: within a procedure MariaDB lets it return while another session still syncs the log.
//!
//! Tried on MariaDB 10.11; the SQL is such as MySQL 8 takes, but it has not been tried there.

mod bulk;
mod catalogue;
mod connect;
mod counters;
mod facts;
mod lock;
mod schema;
pub mod server;
mod session;
mod setup;
mod within;

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use iolite_model::{Bytes, Physical};
use mysql::Conn;
use mysql::prelude::Queryable;

use crate::adapter::{Database, Description, Error, Files, Progress, Result, Session, Settings, Within};
use connect::Target;
use facts::Facts;

/// A database (schema) in a MariaDB or MySQL server.
#[derive(Debug)]
pub struct Mysql {
    target: Target,
    settings: Settings,
    /// Connection that counters are read over.
    watching: Mutex<Option<Conn>>,
}

/// What is known of a server while something is done with it.
#[derive(Debug)]
struct Context {
    target: Target,
    facts: Facts,
}

impl Context {
    /// What a message calls a table or procedure.
    fn path(&self, name: &str) -> PathBuf {
        format!("{}.{name}", self.target.schema).into()
    }

    /// Whether two names are the same table's here.
    fn same_name(&self, one: &str, other: &str) -> bool {
        if self.facts.folds_names() { one.eq_ignore_ascii_case(other) } else { one == other }
    }
}

impl Mysql {
    /// The database of a URL, `mysql://USER:PASSWORD@HOST:PORT/DATABASE`, also `mariadb://`, and with `?socket=PATH` where
    /// the server is to be reached by a socket. The database must exist; what is made is made in it. Blocks are always
    /// read through the server's buffer pool, whatever [`Settings::through_buffers`] says. Connects to nothing yet.
    ///
    /// # Errors
    /// [`Error::Url`].
    pub fn new(url: &str, settings: Settings) -> Result<Mysql> {
        Ok(Mysql { target: Target::parse(url)?, settings, watching: Mutex::new(None) })
    }

    /// A new connection, and what is known of the server.
    fn open(&self) -> Result<(Context, Conn)> {
        let mut conn = self.target.open()?;
        let facts = Facts::of(&mut conn).map_err(|e| self.target.refusal("ask for the settings of", e))?;
        Ok((Context { target: self.target.clone(), facts }, conn))
    }

    /// The same for a database that is set up, with its catalogue.
    fn existing(&self) -> Result<(Context, Conn, catalogue::Catalogue)> {
        let (context, mut conn) = self.open()?;
        let catalogue = catalogue::existing(&context, &mut conn)?;
        Ok((context, conn, catalogue))
    }

    /// The same for a worker.
    fn worker(&self, worker: u32) -> Result<session::Worker> {
        let (context, conn, catalogue) = self.existing()?;
        context.facts.check(self.settings.durability)?;
        session::Worker::new(context, conn, &catalogue, worker)
    }
}

impl Database for Mysql {
    fn describe(&self) -> Result<Description> {
        let (context, _) = self.open()?;
        context.facts.check(self.settings.durability)?;
        Ok(context.facts.describe(&self.target))
    }

    fn setup(&self, size: Bytes, progress: &mut Progress<'_>) -> Result<()> {
        let (context, mut conn) = self.open()?;
        lock::making(&context, &mut conn)?;
        setup::setup(&context, &mut conn, size, progress)
    }

    fn add_globals(&self, count: u32, subscripts: u64, progress: &mut Progress<'_>) -> Result<()> {
        let (context, mut conn) = self.open()?;
        lock::making(&context, &mut conn)?;
        setup::add_globals(&context, &mut conn, count, subscripts, progress)
    }

    fn drop_globals(&self) -> Result<()> {
        let (context, mut conn, catalogue) = self.existing()?;
        lock::making(&context, &mut conn)?;
        lock::all_globals(&context, &mut conn, catalogue.sizes().len() as u32)?;
        setup::drop_globals(&context, &mut conn, 1)
    }

    fn purge(&self) -> Result<()> {
        let (context, mut conn) = self.open()?;
        lock::making(&context, &mut conn)?;
        if let Ok(catalogue) = catalogue::existing(&context, &mut conn) {
            lock::all_globals(&context, &mut conn, catalogue.sizes().len() as u32)?;
        }
        catalogue::purge(&context, &mut conn)
    }

    fn size(&self) -> Result<Bytes> {
        let (context, mut conn, catalogue) = self.existing()?;
        counters::size(&context, &mut conn, &catalogue)
    }

    fn global_size(&self, subscripts: u64) -> Bytes {
        setup::global_size(subscripts)
    }

    fn most_subscripts(&self) -> u64 {
        setup::MOST_SUBSCRIPTS
    }

    fn sizes(&self) -> Result<Vec<u64>> {
        Ok(self.existing()?.2.sizes())
    }

    fn count_subscripts(&self, progress: &mut Progress<'_>) -> Result<Vec<u64>> {
        let (context, mut conn, catalogue) = self.existing()?;
        let total = catalogue.sizes().iter().sum();
        let (mut counts, mut done) = (Vec::new(), 0);
        for number in (1..).take(catalogue.sizes().len()) {
            if progress(done, total).is_break() {
                return Err(Error::Cancelled);
            }
            let table = schema::global(number);
            let count: Option<u64> = conn
                .query_first(format!("SELECT COUNT(*) FROM {table}"))
                .map_err(|e| session::lacking(&context, &table, "count the subscripts of", e))?;
            counts.push(count.unwrap_or(0));
            done += counts.last().unwrap_or(&0);
        }
        let _ = progress(done, total);
        Ok(counts)
    }

    fn blocks(&self) -> Result<u64> {
        Ok(self.existing()?.2.blocks().unwrap_or(0))
    }

    fn files(&self) -> Result<Files> {
        let (context, _) = self.open()?;
        Ok(context.facts.files(&self.target))
    }

    fn settle(&self) -> Result<()> {
        let (context, mut conn, catalogue) = self.existing()?;
        counters::settle(&context, &mut conn, &catalogue)
    }

    fn physical(&self) -> Result<Physical> {
        let mut watching = self.watching.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(conn) = watching.as_mut() {
            match counters::physical(conn) {
                // The server may have closed an idle connection: a new one tells.
                Err(error) if connect::is_gone(&error) => *watching = None,
                read => return read.map_err(|e| self.target.refusal("read the counters of", e)),
            }
        }
        let mut conn = self.target.open()?;
        let read = counters::physical(&mut conn);
        *watching = Some(conn);
        read.map_err(|e| self.target.refusal("read the counters of", e))
    }

    fn session(&self, worker: u32) -> Result<Box<dyn Session>> {
        Ok(Box::new(session::MysqlSession::new(self.worker(worker)?)))
    }

    fn within(&self, worker: u32) -> Result<Option<Box<dyn Within>>> {
        Ok(Some(Box::new(within::MysqlWithin::new(self.worker(worker)?)?)))
    }
}
