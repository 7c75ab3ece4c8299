//! What the sessions of workers have in common, whoever times them.

use std::sync::Arc;

use iolite_model::{Durability, ErrorCause};
use postgres::Client;

use super::super::contract::Settings;
use super::catalogue::{self, Catalogue, Listed};
use super::evict::Evictor;
use super::globals::present;
use super::{RanPostgres, extension, lock};
use iolite_db::postgres::Build;
use iolite_db::postgres::Target;
use iolite_db::{Error, Result};

/// Settings of a session that writes: plans are made once, and by key whatever a table's statistics are, or are not yet.
const PLANS: &str = "SELECT set_config(s.name, w.value, false) FROM pg_settings s JOIN (VALUES \
     ('plan_cache_mode', 'force_generic_plan'), ('enable_seqscan', 'off'), ('enable_bitmapscan', 'off'), \
     ('jit', 'off')) w (name, value) ON w.name = s.name";

/// A worker's connection and what it works on.
pub(super) struct Worker {
    pub(super) target: Arc<Target>,
    pub(super) client: Client,
    /// Size of a block in bytes.
    pub(super) block: u64,
    settings: Settings,
    number: u32,
    tables: Arc<Tables>,
    globals: u32,
    global: Option<Listed>,
}

/// The tables of blocks.
#[derive(Debug)]
pub(super) struct Tables {
    oids: Vec<u32>,
    per_table: u64,
    blocks: u64,
    evictor: Evictor,
}

impl Tables {
    /// As the catalogue lists them.
    ///
    /// # Errors
    /// [`Error::Incomplete`] when one is missing.
    pub(super) fn new(
        target: &Target,
        client: &mut Client,
        catalogue: &Catalogue,
        evict: bool,
    ) -> Result<Tables> {
        let oids: Option<Vec<u32>> = catalogue.blocks.iter().map(|table| table.oid).collect();
        let oids = oids.ok_or_else(|| Error::Incomplete { path: super::schema(target) })?;
        let block = Build::ask(target, client)?.block;
        let mut paths = Vec::new();
        if evict && let Some(place) = iolite_db::postgres::files::seen(target, client)? {
            paths = place.main_files(target, client, &oids)?;
        }
        let per_table = catalogue.blocks.first().map_or(1, |table| table.units.max(1));
        Ok(Tables {
            oids,
            per_table,
            blocks: catalogue.blocks.iter().map(|table| table.units).sum(),
            evictor: Evictor::new(&paths, block),
        })
    }

    /// Whether these are still the same.
    pub(super) fn are(&self, catalogue: &Catalogue) -> bool {
        self.oids.iter().copied().map(Some).eq(catalogue.blocks.iter().map(|table| table.oid))
    }

    /// Whether what reads leave in the page cache is given back.
    pub(super) fn evicts(&self) -> bool {
        self.evictor.works()
    }
}

/// A block's place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Spot {
    table: usize,
    /// The table's identity.
    pub(super) oid: u32,
    /// The block's number within the table.
    pub(super) number: i64,
}

impl Worker {
    /// Connects.
    ///
    /// # Errors
    /// As [`Adapter::session`](super::super::Adapter::session).
    pub(super) fn open(database: &RanPostgres, number: u32) -> Result<Worker> {
        let target = Arc::clone(&database.target);
        let mut client = target.connect()?;
        lock::measuring(&target, &mut client)?;
        let catalogue = catalogue::complete(&target, &mut client)?;
        let tables = database.tables(&mut client, &catalogue)?;
        let globals = catalogue.whole();
        Ok(Worker {
            block: Build::ask(&target, &mut client)?.block,
            settings: database.settings,
            number,
            tables,
            globals: globals.len() as u32,
            global: globals.get(number as usize).cloned(),
            target,
            client,
        })
    }

    /// Subscripts of the worker's global; 0 without one.
    pub(super) fn subscripts(&self) -> u64 {
        self.global.as_ref().map_or(0, |global| global.units)
    }

    /// The worker's global, as SQL names it.
    ///
    /// # Errors
    /// [`Error::NoGlobal`], [`Error::GlobalMissing`].
    pub(super) fn global(&self) -> Result<String> {
        let none = Error::NoGlobal { worker: self.number, globals: self.globals };
        let global = self.global.as_ref().ok_or(none)?;
        present(&self.target, global)?;
        Ok(global.sql())
    }

    /// The expression that reads a block.
    ///
    /// # Errors
    /// As [`extension::reading`].
    pub(super) fn reading(&mut self, table: &str, number: &str) -> Result<String> {
        extension::reading(&self.target, &mut self.client, self.settings.through_buffers, table, number)
    }

    /// What that expression is when it has read one block.
    pub(super) fn read_answer(&self) -> i64 {
        if self.settings.through_buffers { self.block.cast_signed() } else { 1 }
    }

    /// Where a block is.
    ///
    /// # Errors
    /// [`Error::NoBlock`].
    pub(super) fn spot(&self, number: u64) -> Result<Spot> {
        let tables = &self.tables;
        let table = (number / tables.per_table) as usize;
        match tables.oids.get(table) {
            Some(&oid) if number < tables.blocks => {
                Ok(Spot { table, oid, number: (number % tables.per_table).cast_signed() })
            }
            _ => Err(Error::NoBlock { number, blocks: tables.blocks }),
        }
    }

    /// Refuses a subscript that the worker's global does not have.
    ///
    /// # Errors
    /// [`Error::NoSubscript`].
    pub(super) fn check(&self, subscript: u64) -> Result<()> {
        if (1..=self.subscripts()).contains(&subscript) {
            return Ok(());
        }
        Err(self.no_subscript(subscript))
    }

    /// The refusal of a subscript.
    pub(super) fn no_subscript(&self, subscript: u64) -> Error {
        let name = self.global.as_ref().map_or("no global", |global| &global.name);
        Error::NoSubscript {
            subscript,
            subscripts: self.subscripts(),
            path: format!("{name} in {}", self.target.place()).into(),
        }
    }

    /// Notes blocks read past the buffers, which the page cache is to give back.
    pub(super) fn have_read(&self, spots: &[Spot]) {
        if self.settings.through_buffers {
            return;
        }
        self.tables.evictor.note(spots.iter().map(|spot| (spot.table, spot.number)));
    }

    /// Makes this session's commits as durable as they have to be.
    ///
    /// # Errors
    /// [`Error::Unsupported`] where the server is set so that they can't be.
    pub(super) fn configure_writes(&mut self) -> Result<()> {
        let failed = |e| self.target.failed("configure a session of", e);
        let fsync: bool =
            self.client.query_one("SELECT current_setting('fsync')::bool", &[]).map_err(failed)?.get(0);
        let synchronous = match self.settings.durability {
            Durability::Full if !fsync => {
                return Err(Error::Unsupported {
                    database: "PostgreSQL",
                    what: "make commits durable: fsync is off on this server",
                    remedy: ErrorCause::PgNotDurable,
                });
            }
            Durability::Full => Some("on"),
            Durability::Relaxed => Some("off"),
            Durability::AsConfigured => None,
        };
        if let Some(synchronous) = synchronous {
            self.client.batch_execute(&format!("SET synchronous_commit = {synchronous}")).map_err(failed)?;
        }
        self.client.execute(PLANS, &[]).map_err(failed)?;
        lock::writing(&self.target, &mut self.client, self.number.saturating_add(1))
    }
}
