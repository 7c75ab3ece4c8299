//! What the sessions of workers have in common, whoever times them.

use std::sync::Arc;

use iolite_model::{Durability, ErrorCause};
use postgres::Client;

use super::super::contract::Settings;
use super::catalogue::{self, Catalogue, Listed};
use super::evict::Evictor;
use super::globals::present;
use super::reading::Reading;
use super::{RanPostgres, lock};
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
    reading: Reading,
    /// Blocks of a table.
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
        through_buffers: bool,
    ) -> Result<Tables> {
        let oids: Option<Vec<u32>> = catalogue.blocks.iter().map(|table| table.oid).collect();
        let oids = oids.ok_or_else(|| Error::Incomplete { path: super::schema(target) })?;
        let reading = Reading::new(Build::ask(target, client)?, catalogue.pages(), through_buffers);
        let mut paths = Vec::new();
        if !through_buffers && let Some(place) = iolite_db::postgres::files::seen(target, client)? {
            paths = place.main_files(target, client, &oids)?;
        }
        let per_table = catalogue.blocks.first().map_or(1, |table| (table.units / reading.pages).max(1));
        Ok(Tables {
            oids,
            reading,
            per_table,
            blocks: catalogue.block_count(),
            evictor: Evictor::new(&paths, reading.block()),
        })
    }

    /// How their blocks are read.
    pub(super) fn reading(&self) -> Reading {
        self.reading
    }

    /// Whether these are still the same.
    pub(super) fn are(&self, catalogue: &Catalogue) -> bool {
        self.reading.pages == catalogue.pages()
            && self.oids.iter().copied().map(Some).eq(catalogue.blocks.iter().map(|table| table.oid))
    }

    /// Where a block is; `None` beyond the last.
    fn spot(&self, number: u64) -> Option<Spot> {
        let table = usize::try_from(number / self.per_table).ok()?;
        let (oid, block) = (*self.oids.get(table)?, number % self.per_table);
        let page = (block * self.reading.pages).cast_signed();
        (number < self.blocks).then_some(Spot { table, oid, block, page })
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
    block: u64,
    /// The number of its first page.
    pub(super) page: i64,
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

    /// How blocks are read.
    pub(super) fn reading(&self) -> Reading {
        self.tables.reading
    }

    /// The expression that reads a block.
    ///
    /// # Errors
    /// As [`Reading::expression`].
    pub(super) fn expression(&mut self, table: &str, page: &str) -> Result<String> {
        self.tables.reading.expression(&self.target, &mut self.client, table, page)
    }

    /// Where a block is.
    ///
    /// # Errors
    /// [`Error::NoBlock`].
    pub(super) fn spot(&self, number: u64) -> Result<Spot> {
        self.tables.spot(number).ok_or(Error::NoBlock { number, blocks: self.tables.blocks })
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

    /// Notes blocks read, which the page cache is to give back.
    pub(super) fn have_read(&self, spots: &[Spot]) {
        if self.settings.through_buffers {
            return;
        }
        self.tables.evictor.note(spots.iter().map(|spot| (spot.table, spot.block)));
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_begins_where_the_one_before_ends_and_lies_in_one_table() {
        let build = Build { block: 8192, segment: 24, major: 15 };
        let reading = Reading::new(build, 8, false);
        let evictor = Evictor::new(&[], reading.block());
        let tables = Tables { oids: vec![10, 20], reading, per_table: 3, blocks: 5, evictor };
        let place = |number| tables.spot(number).map(|spot| (spot.oid, spot.page));
        assert_eq!([0, 2, 3, 4].map(place), [Some((10, 0)), Some((10, 16)), Some((20, 0)), Some((20, 8))]);
        assert_eq!((place(5), place(u64::MAX)), (None, None));
    }
}
