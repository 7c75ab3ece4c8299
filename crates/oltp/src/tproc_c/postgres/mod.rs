//! TPROC-C in PostgreSQL: a schema `iolite_tproc_c` of the database, marked as ours by its comment.

mod checkpoints;
mod copy;
mod procedures;
mod session;

use std::io::Write;
use std::sync::Arc;

use iolite_db::postgres::Target;
use iolite_db::{Error, Instance, Postgres, Result};
use iolite_model::{Bytes, CheckpointReading, Durability, ErrorCause};
use postgres::{Client, CopyInWriter};

use super::contract::{Database, Loader, Reader, Session, Table, Value};
use super::dialect::Dialect;
use super::layout::Layout;
use super::schema::{self, CATALOGUE, COMPLETE};
use checkpoints::Checkpoints;
use session::PostgresSession;

const SCHEMA: &str = "iolite_tproc_c";
/// The schema's comment.
const MARK: &str = "created by iolite: TPROC-C";
/// Column that makes the rows of warehouses large.
const FILLER: &str = "w_filler";
/// Locks of a transaction for each partition number, at most: tables and indexes of all partitioned tables.
const LOCKS_PER_PARTITION: u64 = 16;
/// Locks that are left to everything else.
const OTHER_LOCKS: u64 = 400;
/// Bytes of rows that are sent at once.
const CHUNK: usize = 256 << 10;

/// TPROC-C in a database of a PostgreSQL server.
#[derive(Debug)]
pub struct TprocCPostgres {
    instance: Arc<Postgres>,
    target: Arc<Target>,
    durability: Durability,
    /// The session in its copy.
    keeper: copy::Keeper,
}

impl TprocCPostgres {
    /// In the database of this URL, with commits of this durability.
    ///
    /// # Errors
    /// [`Error::Url`], [`Error::Unsupported`].
    pub fn new(url: &str, durability: Durability) -> Result<TprocCPostgres> {
        let instance = Arc::new(Postgres::new(url)?);
        let target = Arc::clone(instance.target());
        Ok(TprocCPostgres { instance, target, durability, keeper: copy::Keeper::default() })
    }

    fn path(&self) -> std::path::PathBuf {
        format!("schema {SCHEMA} in {}", self.target.place()).into()
    }

    /// Refuses more partitions than the server has locks for: a transaction that creates, indexes or drops tables locks all of them.
    fn admit(&self, client: &mut Client, layout: Layout) -> Result<()> {
        if layout.partitions <= 1 {
            return Ok(());
        }
        let sql = "SELECT current_setting('max_locks_per_transaction')::bigint \
                   * (current_setting('max_connections')::bigint + current_setting('max_prepared_transactions')::bigint)";
        let row = client.query_one(sql, &[]).map_err(|e| self.target.failed("ask the settings of", e))?;
        let locks = row.get::<_, i64>(0).unsigned_abs();
        let max = most_partitions(locks);
        if u64::from(layout.partitions) <= max {
            return Ok(());
        }
        let why = format!(
            "so many partitions need about {} locks in a transaction, but {} has {locks}: specify at most {max}, or raise \
             max_locks_per_transaction and restart the server",
            u64::from(layout.partitions) * LOCKS_PER_PARTITION + OTHER_LOCKS,
            self.target.place()
        );
        Err(Error::Option { option: "--partitions", value: layout.partitions, why })
    }

    /// The catalogue's entries; `None` where there is nothing of ours.
    fn find(&self, client: &mut Client) -> Result<Option<Vec<(String, i64)>>> {
        let failed = |e| self.target.failed("look for TPROC-C in", e);
        let sql = "SELECT obj_description(oid, 'pg_namespace') FROM pg_namespace WHERE nspname = $1";
        let Some(row) = client.query_opt(sql, &[&SCHEMA]).map_err(failed)? else { return Ok(None) };
        if row.get::<_, Option<String>>(0).as_deref() != Some(MARK) {
            return Err(Error::Foreign { path: self.path() });
        }
        let rows =
            client.query(&format!("SELECT name, value FROM {SCHEMA}.{CATALOGUE}"), &[]).map_err(failed)?;
        // Of columns that somebody has changed, nothing is read, and the layout is not ours.
        let entry = |row: &postgres::Row| Some((row.try_get(0).ok()?, row.try_get(1).ok()?));
        Ok(Some(rows.iter().filter_map(entry).collect()))
    }
}

impl Database for TprocCPostgres {
    fn instance(&self) -> Arc<dyn Instance> {
        self.instance.clone()
    }

    fn has_procedures(&self) -> bool {
        true
    }

    fn partitions_tables(&self) -> bool {
        true
    }

    fn create(&self, layout: Layout) -> Result<()> {
        let mut client = self.target.connect()?;
        if let Some(found) = self.find(&mut client)? {
            return Err(schema::refusal(&found, self.path()));
        }
        self.admit(&mut client, layout)?;
        let mut sql = format!(
            "BEGIN; CREATE SCHEMA {SCHEMA}; COMMENT ON SCHEMA {SCHEMA} IS '{MARK}'; \
             CREATE TABLE {SCHEMA}.{CATALOGUE} (name TEXT PRIMARY KEY, value BIGINT NOT NULL);"
        );
        for table in Table::ALL {
            sql += &create(table, layout.partitions);
        }
        for (name, value) in schema::entries(layout) {
            sql += &format!("INSERT INTO {SCHEMA}.{CATALOGUE} VALUES ('{name}', {value});");
        }
        client
            .batch_execute(&(sql + "COMMIT"))
            .map_err(|e| self.target.failed("create the tables of TPROC-C in", e))
    }

    fn loader(&self) -> Result<Box<dyn Loader>> {
        let client = self.target.connect()?;
        Ok(Box::new(PostgresLoader { client, target: self.target.clone(), table: None, rows: Vec::new() }))
    }

    /// Keys and indexes are built when the rows are there, which takes less time than keeping them meanwhile.
    fn finish(&self) -> Result<()> {
        let mut client = self.target.connect()?;
        let mut sql = String::new();
        for table in Table::ALL {
            if let Some(key) = schema::key(table) {
                sql += &format!("ALTER TABLE {SCHEMA}.{} ADD PRIMARY KEY ({key});", table.name());
            }
        }
        for (name, table, columns) in schema::INDEXES {
            sql += &format!("CREATE INDEX {name} ON {SCHEMA}.{} ({columns});", table.name());
        }
        sql += procedures::CREATE;
        sql += &format!("INSERT INTO {SCHEMA}.{CATALOGUE} VALUES ('{COMPLETE}', 1);");
        client.batch_execute(&sql).map_err(|e| self.target.failed("finish TPROC-C in", e))?;
        self.settle()
    }

    fn layout(&self) -> Result<Layout> {
        let mut client = self.target.connect()?;
        let place = || format!("schema {SCHEMA} in {}", self.target.place());
        let found = self.find(&mut client)?.ok_or_else(|| Error::Missing { place: place() })?;
        schema::layout_at(&found, self.path())
    }

    fn purge(&self) -> Result<()> {
        let mut client = self.target.connect()?;
        if self.find(&mut client)?.is_none() {
            return self.remove_copy();
        }
        let mut sql = String::from("BEGIN;");
        sql += procedures::DROP;
        for table in Table::ALL {
            sql += &format!("DROP TABLE IF EXISTS {SCHEMA}.{};", table.name());
        }
        // Without CASCADE: what others have put there keeps the schema in place.
        sql += &format!("DROP TABLE IF EXISTS {SCHEMA}.{CATALOGUE}; DROP SCHEMA {SCHEMA}; COMMIT");
        client.batch_execute(&sql).map_err(|e| self.target.failed("remove TPROC-C from", e))?;
        self.remove_copy()
    }

    fn copy(&self, stop: &(dyn Fn() -> bool + Sync)) -> Result<Arc<dyn Database>> {
        let instance = Arc::new(Postgres::at(copy::create(&self.target, &self.keeper, stop)?));
        let target = Arc::clone(instance.target());
        let (durability, keeper) = (self.durability, copy::Keeper::default());
        Ok(Arc::new(TprocCPostgres { instance, target, durability, keeper }))
    }

    fn remove_copy(&self) -> Result<()> {
        copy::remove(&self.target, &self.keeper)
    }

    fn copy_removal(&self) -> String {
        copy::removal(&self.target)
    }

    fn copied_bytes(&self) -> Result<Bytes> {
        let mut client = self.target.connect()?;
        let row = client.query_one("SELECT pg_database_size(current_database())", &[]);
        let size: i64 = row.map_err(|e| self.target.failed("ask the size of", e))?.get(0);
        Ok(Bytes(size.unsigned_abs()))
    }

    fn spreads_warehouses(&self) -> bool {
        true
    }

    /// A filler column makes a row larger than the share of a page that the fillfactor allows, so that each page takes one; the rest of
    /// the page remains free for new versions of the row.
    fn spread_warehouses(&self, spread: bool) -> Result<()> {
        let mut client = self.target.connect()?;
        let table = format!("{SCHEMA}.{}", Table::Warehouse.name());
        let sql = format!(
            "SELECT EXISTS (SELECT FROM pg_attribute WHERE attrelid = '{table}'::regclass AND attname = '{FILLER}' \
               AND NOT attisdropped), current_setting('block_size')::int / 8"
        );
        let failed = |e| self.target.failed("rebuild the table of warehouses of TPROC-C in", e);
        let row = client.query_one(&sql, &[]).map_err(failed)?;
        let (is_spread, width): (bool, i32) = (row.get(0), row.get(1));
        let change = match spread {
            _ if spread == is_spread => return Ok(()),
            true => format!("ADD COLUMN {FILLER} CHAR({width}) NOT NULL DEFAULT '', SET (fillfactor = 10)"),
            false => format!("DROP COLUMN {FILLER}, RESET (fillfactor)"),
        };
        // One statement each: VACUUM runs in no transaction. It writes all rows anew, with the column.
        client.batch_execute(&format!("ALTER TABLE {table} {change}")).map_err(failed)?;
        client.batch_execute(&format!("VACUUM (FULL, ANALYZE) {table}")).map_err(failed)
    }

    fn settle(&self) -> Result<()> {
        let mut client = self.target.connect()?;
        for table in Table::ALL {
            // One statement each: VACUUM runs in no transaction.
            let sql = format!("VACUUM (ANALYZE) {SCHEMA}.{}", table.name());
            client.batch_execute(&sql).map_err(|e| self.target.failed("vacuum TPROC-C in", e))?;
        }
        self.instance.settle()
    }

    fn session(&self, procedures: bool) -> Result<Box<dyn Session>> {
        Ok(Box::new(PostgresSession::open(self.target.clone(), self.durability, procedures)?))
    }

    fn reader(&self) -> Result<Box<dyn Reader>> {
        let (client, target) = (self.target.connect()?, self.target.clone());
        Ok(Box::new(PostgresReader { client, target, checkpoints: None }))
    }
}

/// Partitions that a server of so many locks can create, index and drop in a transaction.
fn most_partitions(locks: u64) -> u64 {
    locks.saturating_sub(OTHER_LOCKS) / LOCKS_PER_PARTITION
}

/// Creates a table, and its partitions where it has several.
fn create(table: Table, partitions: u32) -> String {
    let (name, columns) = (table.name(), schema::columns(table));
    let Some(column) = schema::partition_column(table).filter(|_| partitions > 1) else {
        return format!("CREATE TABLE {SCHEMA}.{name} ({columns});");
    };
    let mut sql = format!("CREATE TABLE {SCHEMA}.{name} ({columns}) PARTITION BY HASH ({column});");
    for remainder in 0..partitions {
        sql += &format!(
            "CREATE TABLE {SCHEMA}.{name}_p{remainder} PARTITION OF {SCHEMA}.{name} \
             FOR VALUES WITH (MODULUS {partitions}, REMAINDER {remainder});"
        );
    }
    sql
}

/// Rows by COPY, in its text format.
struct PostgresLoader {
    client: Client,
    target: Arc<Target>,
    table: Option<Table>,
    rows: Vec<u8>,
}

impl PostgresLoader {
    /// Sends what there is as a COPY of its own.
    fn copy(&mut self) -> Result<()> {
        let Some(table) = self.table.filter(|_| !self.rows.is_empty()) else { return Ok(()) };
        let failed = |e| self.target.failed("copy rows into", e);
        let mut copy: CopyInWriter<'_> =
            self.client.copy_in(&format!("COPY {SCHEMA}.{} FROM STDIN", table.name())).map_err(failed)?;
        let written = copy.write_all(&self.rows);
        match written {
            Ok(()) => copy.finish().map(drop).map_err(failed)?,
            Err(error) => {
                let (doing, place) = ("copy rows into", self.target.place());
                return Err(Error::engine(doing, place, error, ErrorCause::ServerGone));
            }
        }
        self.rows.clear();
        Ok(())
    }
}

impl Loader for PostgresLoader {
    fn begin(&mut self, table: Table) -> Result<()> {
        self.table = Some(table);
        self.client.batch_execute("BEGIN").map_err(|e| self.target.failed("fill", e))
    }

    fn row(&mut self, row: &[Value]) -> Result<()> {
        for (column, value) in row.iter().enumerate() {
            if column > 0 {
                self.rows.push(b'\t');
            }
            match value {
                Value::Int(value) => self.rows.extend(value.to_string().as_bytes()),
                // Letters, digits and blanks: nothing to escape.
                Value::Text(text) => self.rows.extend(text.as_bytes()),
                Value::Null => self.rows.extend(b"\\N"),
            }
        }
        self.rows.push(b'\n');
        if self.rows.len() >= CHUNK { self.copy() } else { Ok(()) }
    }

    fn end(&mut self) -> Result<()> {
        self.copy()?;
        self.client.batch_execute("COMMIT").map_err(|e| self.target.failed("fill", e))
    }
}

/// Reads beside the users.
struct PostgresReader {
    client: Client,
    target: Arc<Target>,
    checkpoints: Option<Checkpoints>,
}

impl PostgresReader {
    fn read_checkpoints(&mut self) -> std::result::Result<CheckpointReading, postgres::Error> {
        let known = match self.checkpoints.take() {
            Some(known) => known,
            None => Checkpoints::open(&mut self.client)?,
        };
        let reading = known.read(&mut self.client);
        self.checkpoints = Some(known);
        reading
    }
}

impl Reader for PostgresReader {
    fn orders(&mut self) -> Result<u64> {
        let sql = format!("SELECT COALESCE(SUM(d_next_o_id), 0)::BIGINT FROM {SCHEMA}.district");
        let row =
            self.client.query_one(&sql, &[]).map_err(|e| self.target.failed("read the orders of", e))?;
        Ok(row.get::<_, i64>(0).unsigned_abs())
    }

    fn transactions(&mut self) -> Result<Option<u64>> {
        let sql =
            "SELECT xact_commit + xact_rollback FROM pg_stat_database WHERE datname = current_database()";
        let row =
            self.client.query_one(sql, &[]).map_err(|e| self.target.failed("read the counters of", e))?;
        Ok(row.get::<_, Option<i64>>(0).map(i64::unsigned_abs))
    }

    fn checkpoints(&mut self) -> Result<Option<CheckpointReading>> {
        match self.read_checkpoints() {
            Err(error) if checkpoints::are_not_reported(&error) => Ok(None),
            reading => reading.map(Some).map_err(|e| self.target.failed("read the checkpoints of", e)),
        }
    }

    fn numbers(&mut self, sql: &str) -> Result<Vec<Vec<i64>>> {
        let rows = self
            .client
            .query(&Dialect::POSTGRES.sql(sql), &[])
            .map_err(|e| self.target.failed("check TPROC-C in", e))?;
        let row = |row: &postgres::Row| (0..row.len()).map(|column| session::number(row, column)).collect();
        Ok(rows.iter().map(row).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::most_partitions;

    /// 64 locks for each of 100 sessions are the server's default.
    #[test]
    fn partitions_fit_the_default_settings_or_are_refused() {
        assert_eq!(most_partitions(64 * 100), 375);
        assert_eq!(most_partitions(0), 0);
    }
}
