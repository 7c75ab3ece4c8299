//! RanRead, RanWrite and RanIO in MariaDB and MySQL (InnoDB).
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
mod lock;
mod schema;
mod session;
mod setup;
mod within;

use std::sync::Arc;

use iolite_db::mysql::Rows;
use iolite_db::mysql::{Context, Mysql, counters};
use iolite_db::{Error, Instance, Result};
use iolite_model::Bytes;
use mysql::Conn;

use super::contract::{Adapter, Description, NewBlocks, Progress, Session, Settings, Within};

/// RanRead, RanWrite and RanIO in a database (schema) of a MariaDB or MySQL server.
#[derive(Debug)]
pub struct RanMysql {
    instance: Arc<Mysql>,
    settings: Settings,
}

impl RanMysql {
    /// In the database of a URL, as [`Mysql::new`] has it. Blocks are always read through the server's buffer pool, whatever
    /// [`Settings::through_buffers`] says. Connects to nothing yet.
    ///
    /// # Errors
    /// [`Error::Url`].
    pub fn new(url: &str, settings: Settings) -> Result<RanMysql> {
        Ok(RanMysql { instance: Arc::new(Mysql::new(url)?), settings })
    }

    /// The same for a database that is set up, with its catalogue.
    fn existing(&self) -> Result<(Context, Conn, catalogue::Catalogue)> {
        let (context, mut conn) = self.instance.open()?;
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

impl Adapter for RanMysql {
    fn instance(&self) -> Arc<dyn Instance> {
        self.instance.clone()
    }

    fn describe(&self) -> Result<Description> {
        let (context, _) = self.instance.open()?;
        context.facts.check(self.settings.durability)?;
        let mut instance = self.instance.describe(self.settings.durability)?;
        let direct = context.facts.is_direct();
        let how = if direct { "past the page cache (O_DIRECT)" } else { "through the page cache" };
        let pool = "not emptied before reads (only a restart of the server does that)";
        instance.settings.push(("buffer pool".to_owned(), pool.to_owned()));
        Ok(Description {
            instance,
            read_path: format!(
                "SELECT of a row by primary key, each of them in a page of its own of InnoDB's; a page that the buffer \
                 pool lacks is read {how}"
            ),
            write_path: "UPDATE by primary key, prepared or in a stored procedure; COMMIT is a command of its own, timed \
                         by its answer (in a procedure it may return before the log is synced)"
                .to_owned(),
            direct,
        })
    }

    fn counts_block_reads(&self) -> bool {
        true
    }

    fn create_blocks(&self, blocks: &NewBlocks, progress: &mut Progress<'_>) -> Result<()> {
        let (context, mut conn) = self.instance.open()?;
        let page = Bytes(context.facts.page());
        if let Some(asked) = blocks.block.filter(|asked| *asked != page) {
            let why = format!(
                "InnoDB reads pages, which have {page} here; the page size is chosen when a server's data is created (innodb_page_size, \
                 4 KiB to 64 KiB): iolite db start mariadb DIR --block-size 64KiB"
            );
            return Err(Error::BlockSize { database: context.facts.version.engine(), asked, why });
        }
        lock::making(&context, &mut conn)?;
        setup::setup(&context, &mut conn, blocks, progress)
    }

    fn add_globals(&self, count: u32, subscripts: u64, progress: &mut Progress<'_>) -> Result<()> {
        let (context, mut conn) = self.instance.open()?;
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
        let (context, mut conn) = self.instance.open()?;
        lock::making(&context, &mut conn)?;
        if let Ok(catalogue) = catalogue::existing(&context, &mut conn) {
            lock::all_globals(&context, &mut conn, catalogue.sizes().len() as u32)?;
        }
        catalogue::purge(&context, &mut conn)
    }

    fn size(&self) -> Result<Bytes> {
        let (context, mut conn, catalogue) = self.existing()?;
        catalogue::size(&context, &mut conn, &catalogue)
    }

    fn global_size(&self, subscripts: u64) -> Bytes {
        setup::global_size(subscripts)
    }

    fn max_subscripts(&self) -> u64 {
        setup::MAX_SUBSCRIPTS
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
                .query_row(format!("SELECT COUNT(*) FROM {table}"))
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

    fn settle(&self) -> Result<()> {
        let (context, mut conn, catalogue) = self.existing()?;
        self.instance.settle()?;
        counters::write_back(&context, &mut conn, &catalogue.tables().collect::<Vec<_>>())
    }

    fn session(&self, worker: u32) -> Result<Box<dyn Session>> {
        Ok(Box::new(session::MysqlSession::new(self.worker(worker)?)))
    }

    fn within(&self, worker: u32) -> Result<Option<Box<dyn Within>>> {
        Ok(Some(Box::new(within::MysqlWithin::new(self.worker(worker)?)?)))
    }
}
