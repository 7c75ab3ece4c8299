//! RanRead, RanWrite and RanIO in PostgreSQL.
//!
//! Everything is in the schema `iolite` of the database that the URL names, known as ours by its comment: a catalogue, tables of
//! blocks to read, and a table per global. Schema and tables are made in transactions: what was interrupted is not there, or is
//! known as unfinished.
//!
//! *How it reads a block*: within the server, by number, past its shared buffers, with the extension pg_prewarm in its mode
//! `read`, which is one pread of one block; a larger block is a range of them ([`reading`]). The server reads through the page cache of its host; where its files can be
//! opened by this process a thread of this program has the cache
//! give back what was read within a tenth of a second, otherwise a database smaller than the memory is soon
//! cached. [`Settings::through_buffers`](super::Settings::through_buffers) reads through the buffers instead (get_raw_page of
//! pageinspect).
//!
//! *How it makes writes durable*: the server's write-ahead log, synchronised at each commit (`synchronous_commit=on` for the
//! session, refused where the server has `fsync=off`); relaxed, some time later (`synchronous_commit=off`).
//!
//! *Who times*: a procedure of PL/pgSQL, by the server's clock around each operation, in microseconds; or the caller.

mod catalogue;
mod evict;
mod extension;
mod globals;
mod lock;
mod purge;
mod reading;
mod session;
mod setup;
mod within;
mod worker;

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use iolite_db::postgres::{Build, Postgres, Target, files};
use iolite_db::{Error, Instance, Result};
use iolite_model::Bytes;
use postgres::Client;

use super::contract::{Adapter, Description, NewBlocks, Progress, Session, Settings, Within};
use catalogue::{Catalogue, SchemaState};
use reading::Reading;
use worker::Tables;

/// The schema that holds everything.
const SCHEMA: &str = "iolite";
/// Its comment, by which we know it.
const MARK: &str = "created by iolite (RanRead, RanWrite, RanIO): the verb purge removes it";
/// The role of a server that replays another's log.
const STANDBY: &str = "hot standby";
/// Names of globals, but for their number.
const GLOBAL: &str = "RanWriteGlobal";

/// RanRead, RanWrite and RanIO in a database of a PostgreSQL server.
pub struct RanPostgres {
    instance: Arc<Postgres>,
    target: Arc<Target>,
    settings: Settings,
    /// The tables of blocks as last found, shared by the sessions.
    tables: Mutex<Option<Arc<Tables>>>,
}

/// Our schema, as errors that speak of a path name it.
fn schema(target: &Target) -> PathBuf {
    format!("schema {SCHEMA} in {}", target.place()).into()
}

impl RanPostgres {
    /// In the database at a URL as libpq has it (`postgres://USER:PASSWORD@HOST:PORT/DATABASE`), for sessions as `settings`
    /// ask. Nothing is connected to yet.
    ///
    /// # Errors
    /// [`Error::Url`]; [`Error::Io`] and [`Error::Engine`] for certificates that can't be used.
    pub fn new(url: &str, settings: Settings) -> Result<RanPostgres> {
        let instance = Arc::new(Postgres::new(url)?);
        Ok(RanPostgres {
            target: Arc::clone(instance.target()),
            instance,
            settings,
            tables: Mutex::default(),
        })
    }

    /// The tables of blocks, whose files are opened once for all sessions.
    fn tables(&self, client: &mut Client, catalogue: &Catalogue) -> Result<Arc<Tables>> {
        let mut known = lock(&self.tables);
        if let Some(tables) = &*known
            && tables.are(catalogue)
        {
            return Ok(Arc::clone(tables));
        }
        let through_buffers = self.settings.through_buffers;
        let tables = Arc::new(Tables::new(&self.target, client, catalogue, through_buffers)?);
        Ok(Arc::clone(known.insert(tables)))
    }

    /// How blocks are read, and whether what that leaves in the page cache is given back; before setup nothing is known of it.
    fn reading(&self, client: &mut Client) -> Result<(Reading, bool)> {
        match catalogue::find(&self.target, client)? {
            SchemaState::Ours(found) if found.complete => {
                let tables = self.tables(client, &found)?;
                Ok((tables.reading(), tables.evicts()))
            }
            _ => {
                Ok((Reading::new(Build::ask(&self.target, client)?, 1, self.settings.through_buffers), false))
            }
        }
    }

    /// What the server reads at once: from version 17 on it has such a limit.
    fn combined(&self, client: &mut Client) -> Result<Option<Bytes>> {
        let sql = "SELECT setting::bigint * current_setting('block_size')::bigint FROM pg_settings \
                   WHERE name = 'io_combine_limit'";
        let row = client.query_opt(sql, &[]).map_err(|e| self.target.failed("ask the settings of", e))?;
        Ok(row.map(|row| Bytes(row.get::<_, i64>(0).unsigned_abs())))
    }

    fn is_standby(&self, client: &mut Client) -> Result<bool> {
        let row = client.query_one("SELECT pg_is_in_recovery()", &[]);
        Ok(row.map_err(|e| self.target.failed("ask the role of", e))?.get(0))
    }

    /// A connection, and the catalogue of a finished database.
    fn finished(&self) -> Result<(Client, Catalogue)> {
        let mut client = self.target.connect()?;
        let catalogue = catalogue::complete(&self.target, &mut client)?;
        Ok((client, catalogue))
    }
}

/// What a panicking thread has left is as good as before: values are replaced as a whole.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl std::fmt::Debug for RanPostgres {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RanPostgres")
            .field("target", &self.target)
            .field("settings", &self.settings)
            .finish_non_exhaustive()
    }
}

impl Adapter for RanPostgres {
    fn instance(&self) -> Arc<dyn Instance> {
        self.instance.clone()
    }

    fn describe(&self) -> Result<Description> {
        let mut instance = self.instance.describe(self.settings.durability)?;
        let direct =
            instance.settings.iter().any(|(name, value)| name == "debug_io_direct" && value.contains("data"));
        let mut client = self.target.connect()?;
        let (reading, evicts) = self.reading(&mut client)?;
        instance.block = Bytes(reading.block());
        if self.is_standby(&mut client)? {
            instance.settings.push(("role".to_owned(), STANDBY.to_owned()));
        }
        for (name, value) in [
            ("fillfactor of globals", globals::FILLFACTOR.to_string()),
            ("autovacuum of blocks", "off".to_owned()),
            ("autovacuum of globals", "as the server's".to_owned()),
        ] {
            instance.settings.push((name.to_owned(), value));
        }
        Ok(Description {
            instance,
            read_path: read_path(
                &reading.describe(self.combined(&mut client)?, direct),
                self.settings,
                direct,
                evicts,
            ),
            write_path: "UPDATE by primary key, one table per global, planned once per session".to_owned(),
            direct: direct && reading.passes_buffers(),
        })
    }

    /// As far as known: of the tables last found.
    fn counts_block_reads(&self) -> bool {
        lock(&self.tables)
            .as_ref()
            .map_or(self.settings.through_buffers, |tables| tables.reading().is_counted())
    }

    fn create_blocks(&self, blocks: &NewBlocks, progress: &mut Progress<'_>) -> Result<()> {
        setup::setup(self, blocks, progress)
    }

    fn add_globals(&self, count: u32, subscripts: u64, progress: &mut Progress<'_>) -> Result<()> {
        globals::add(self, count, subscripts, progress)
    }

    fn drop_globals(&self) -> Result<()> {
        let (mut client, catalogue) = self.finished()?;
        lock::making(&self.target, &mut client)?;
        globals::remove(&self.target, &mut client, &catalogue.globals)
    }

    fn purge(&self) -> Result<()> {
        *lock(&self.tables) = None;
        purge::purge(&self.target)
    }

    fn size(&self) -> Result<Bytes> {
        let (mut client, catalogue) = self.finished()?;
        let sql = "SELECT coalesce(sum(pg_total_relation_size(o)), 0)::bigint FROM unnest($1::oid[]) o";
        let row = client
            .query_one(sql, &[&catalogue.tables()])
            .map_err(|e| self.target.failed("ask the size of", e))?;
        Ok(Bytes(row.get::<_, i64>(0).unsigned_abs()))
    }

    fn global_size(&self, subscripts: u64) -> Bytes {
        globals::size(subscripts)
    }

    fn max_subscripts(&self) -> u64 {
        globals::MAX_SUBSCRIPTS
    }

    fn sizes(&self) -> Result<Vec<u64>> {
        let (_, catalogue) = self.finished()?;
        Ok(catalogue.whole().iter().map(|global| global.units).collect())
    }

    fn count_subscripts(&self, progress: &mut Progress<'_>) -> Result<Vec<u64>> {
        globals::count(&self.target, progress)
    }

    fn blocks(&self) -> Result<u64> {
        let (_, catalogue) = self.finished()?;
        if catalogue.blocks.iter().any(|table| table.oid.is_none()) {
            return Err(Error::Incomplete { path: schema(&self.target) });
        }
        Ok(catalogue.block_count())
    }

    fn settle(&self) -> Result<()> {
        let (mut client, catalogue) = self.finished()?;
        files::checkpoint(&self.target, &mut client)?;
        let paths = files::files_of(&self.target, &mut client, &catalogue.tables())?;
        files::evict(&paths).map(drop)
    }

    fn session(&self, worker: u32) -> Result<Box<dyn Session>> {
        Ok(Box::new(session::ClientSession::open(self, worker)?))
    }

    fn within(&self, worker: u32) -> Result<Option<Box<dyn Within>>> {
        // Nothing can be created on a standby, not even among a session's temporary objects.
        if self.is_standby(&mut self.target.connect()?)? {
            return Ok(None);
        }
        Ok(Some(Box::new(within::Inside::open(self, worker)?)))
    }
}

fn read_path(reading: &str, settings: Settings, direct: bool, evicts: bool) -> String {
    let cache = match (direct, evicts) {
        _ if settings.through_buffers => return reading.to_owned(),
        (true, _) => "and past the page cache (debug_io_direct)",
        (false, true) => "through the page cache, from which they are dropped after each batch",
        (false, false) => "through the page cache",
    };
    format!("{reading}, {cache}")
}
