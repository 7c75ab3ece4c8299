//! One worker's connection, and operations one by one from outside.

use std::hash::{BuildHasher, RandomState};

use iolite_db::mysql::Rows;
use iolite_model::Bytes;
use iolite_workload::Filler;
use mysql::prelude::Queryable;
use mysql::{Conn, Statement};

use super::super::contract::Session;
use super::bulk::value_bytes;
use super::catalogue::Catalogue;
use super::schema::{self, BLOCKS, Layout};
use iolite_db::mysql::Context;
use iolite_db::mysql::connect::code;
use iolite_db::{Error, Result};

/// What sessions of both kinds have.
pub(super) struct Worker {
    pub(super) context: Context,
    pub(super) conn: Conn,
    pub(super) number: u32,
    pub(super) layout: Layout,
    pub(super) blocks: u64,
    /// Which of a page's rows it is read by.
    offset: u64,
    /// Globals there are.
    pub(super) globals: u32,
    /// Of this worker's global; 0 when it has none.
    pub(super) subscripts: u64,
    pub(super) filler: Filler,
}

impl Worker {
    pub(super) fn new(context: Context, conn: Conn, catalogue: &Catalogue, number: u32) -> Result<Worker> {
        let sizes = catalogue.sizes();
        Ok(Worker {
            layout: Layout::of(context.facts.page()),
            context,
            conn,
            number,
            blocks: catalogue.blocks().unwrap_or(0),
            offset: catalogue.row_offset(),
            globals: sizes.len() as u32,
            subscripts: sizes.get(number as usize).copied().unwrap_or(0),
            filler: Filler::new(RandomState::new().hash_one(number), number),
        })
    }

    /// Table of this worker's global.
    pub(super) fn table(&self) -> String {
        schema::global(self.number.saturating_add(1))
    }

    pub(super) fn prepare(&mut self, doing: &'static str, sql: &str) -> Result<Statement> {
        self.conn.prep(sql).map_err(|e| self.refusal(doing, e))
    }

    /// # Errors
    /// [`Error::NoGlobal`].
    pub(super) fn needs_global(&self) -> Result<()> {
        if self.subscripts > 0 {
            return Ok(());
        }
        Err(Error::NoGlobal { worker: self.number, globals: self.globals })
    }

    /// Claims the global of this worker.
    ///
    /// # Errors
    /// [`Error::NoGlobal`], [`Error::Busy`].
    pub(super) fn owns_global(&mut self) -> Result<()> {
        self.needs_global()?;
        super::lock::writing(&self.context, &mut self.conn, self.number.saturating_add(1))
    }

    /// The row by which a block is read.
    ///
    /// # Errors
    /// [`Error::NoBlock`].
    pub(super) fn row(&self, block: u64) -> Result<u64> {
        if block < self.blocks {
            return Ok(block * self.layout.rows + self.offset);
        }
        Err(Error::NoBlock { number: block, blocks: self.blocks })
    }

    /// # Errors
    /// [`Error::NoSubscript`], [`Error::NoGlobal`].
    pub(super) fn needs_subscript(&self, subscript: u64) -> Result<()> {
        self.needs_global()?;
        if (1..=self.subscripts).contains(&subscript) {
            return Ok(());
        }
        let path = self.context.path(&self.table());
        Err(Error::NoSubscript { subscript, subscripts: self.subscripts, path })
    }

    /// A new value for a subscript.
    pub(super) fn value(&mut self, subscript: u64) -> Vec<u8> {
        let mut value = vec![0; value_bytes(subscript)];
        self.filler.fill(&mut value);
        value
    }

    pub(super) fn refusal(&self, doing: &'static str, error: mysql::Error) -> Error {
        self.context.target.refusal(doing, error)
    }

    pub(super) fn commit(&mut self) -> Result<()> {
        self.conn.query_drop("COMMIT").map_err(|error| {
            // The first error is the one to report; a rollback that fails leaves nothing else to do.
            let _ = self.conn.query_drop("ROLLBACK");
            self.refusal("commit to", error)
        })
    }
}

/// The server's refusal to do something with a global's table.
pub(super) fn lacking(context: &Context, table: &str, doing: &'static str, error: mysql::Error) -> Error {
    match code(&error) {
        Some(1146) => missing(context, table),
        _ => context.target.refusal(doing, error),
    }
}

pub(super) fn missing(context: &Context, table: &str) -> Error {
    Error::GlobalMissing { global: table.to_owned(), place: context.target.place.clone() }
}

/// See [`Session`].
pub(super) struct MysqlSession {
    worker: Worker,
    read: Option<Statement>,
    write: Option<Statement>,
}

impl MysqlSession {
    pub(super) fn new(worker: Worker) -> MysqlSession {
        MysqlSession { worker, read: None, write: None }
    }

    fn reading(&mut self) -> Result<Statement> {
        if let Some(statement) = &self.read {
            return Ok(statement.clone());
        }
        // The row's length alone: its page is read for it all the same, and this program has less to do.
        let sql = format!("SELECT LENGTH(data) FROM {BLOCKS} WHERE number = ?");
        let statement = self.worker.prepare("prepare reads of", &sql)?;
        Ok(self.read.insert(statement).clone())
    }

    fn writing(&mut self) -> Result<Statement> {
        if let Some(statement) = &self.write {
            return Ok(statement.clone());
        }
        self.worker.owns_global()?;
        let table = self.worker.table();
        let prepared = self.worker.conn.prep(format!("UPDATE {table} SET value = ? WHERE subscript = ?"));
        let statement =
            prepared.map_err(|e| lacking(&self.worker.context, &table, "prepare writes to", e))?;
        Ok(self.write.insert(statement).clone())
    }
}

impl Session for MysqlSession {
    fn prepare(&mut self, reads: bool, writes: bool) -> Result<()> {
        if reads {
            self.reading()?;
            if self.worker.blocks > 0 {
                self.read_block(0)?;
            }
        }
        if writes {
            self.writing()?;
        }
        Ok(())
    }

    fn read_block(&mut self, number: u64) -> Result<Bytes> {
        let (row, statement) = (self.worker.row(number)?, self.reading()?);
        let length: Option<u64> = self
            .worker
            .conn
            .exec_row(&statement, (row,))
            .map_err(|e| self.worker.refusal("read a block of", e))?;
        if length != Some(self.worker.layout.data) {
            let cause = format!("row {row} of {BLOCKS} has {length:?} bytes");
            return Err(self.worker.context.target.damaged("read a block of", cause));
        }
        Ok(Bytes(self.worker.layout.page))
    }

    fn begin(&mut self) -> Result<()> {
        self.worker.needs_global()?;
        self.worker
            .conn
            .query_drop("START TRANSACTION")
            .map_err(|e| self.worker.refusal("begin a transaction in", e))
    }

    fn write(&mut self, subscript: u64) -> Result<Bytes> {
        self.worker.needs_subscript(subscript)?;
        let (statement, value) = (self.writing()?, self.worker.value(subscript));
        let table = self.worker.table();
        self.worker
            .conn
            .exec_drop(&statement, (&value, subscript))
            .map_err(|e| lacking(&self.worker.context, &table, "write to", e))?;
        if self.worker.conn.affected_rows() != 1 {
            let cause = format!("{table} has no subscript {subscript}");
            return Err(self.worker.context.target.damaged("write to", cause));
        }
        Ok(Bytes(value.len() as u64))
    }

    fn commit(&mut self) -> Result<()> {
        self.worker.commit()
    }

    fn subscripts(&self) -> u64 {
        self.worker.subscripts
    }
}
