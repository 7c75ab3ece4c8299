//! TPROC-C in MariaDB and MySQL: tables `tproc_c_*` in the database, the catalogue marked as ours by its comment.

mod checkpoints;
mod procedures;
mod session;

use std::sync::Arc;

use iolite_db::mysql::Rows;
use iolite_db::mysql::{Context, counters};
use iolite_db::{Error, Instance, Mysql, Result};
use iolite_model::{CheckpointReading, Durability, ErrorCause};
use mysql::Conn;
use mysql::prelude::Queryable;

use super::contract::{Database, Loader, Reader, Session, Table, Value};
use super::dialect::Dialect;
use super::layout::Layout;
use super::schema::{self, CATALOGUE, COMPLETE};
use session::MysqlSession;

/// The catalogue's comment.
const MARK: &str = "created by iolite: TPROC-C";
/// Seconds for which a purge waits for another session's transaction.
const PURGE_WAIT: u32 = 30;
/// Bytes of an INSERT of many rows: far below the smallest max_allowed_packet in use, 1 MiB.
const INSERT: usize = 256 << 10;

/// TPROC-C in a database (schema) of a server.
#[derive(Debug)]
pub struct TprocCMysql {
    instance: Arc<Mysql>,
    durability: Durability,
}

/// A table's name with what ours begin with.
fn named(name: &str) -> String {
    format!("{}{name}", Dialect::MYSQL.tables)
}

impl TprocCMysql {
    /// In the database of this URL. Commits are as durable as the server is set to make them: `durability` is compared with
    /// that.
    ///
    /// # Errors
    /// [`Error::Url`].
    pub fn new(url: &str, durability: Durability) -> Result<TprocCMysql> {
        Ok(TprocCMysql { instance: Arc::new(Mysql::new(url)?), durability })
    }

    fn failed(&self, doing: &'static str, error: mysql::Error) -> Error {
        self.instance.target().refusal(doing, error)
    }

    fn path(&self, context: &Context) -> std::path::PathBuf {
        context.path(&named(CATALOGUE))
    }

    /// The catalogue's entries; `None` where there is nothing of ours.
    fn find(&self, context: &Context, conn: &mut Conn) -> Result<Option<Vec<(String, i64)>>> {
        let sql = "SELECT table_comment FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name = ?";
        let comment: Option<String> =
            conn.exec_row(sql, (named(CATALOGUE),)).map_err(|e| self.failed("look for TPROC-C in", e))?;
        match comment.as_deref() {
            None => return Ok(None),
            Some(MARK) => {}
            Some(_) => return Err(Error::Foreign { path: self.path(context) }),
        }
        let sql = format!("SELECT CAST(name AS CHAR), CAST(value AS SIGNED) FROM {}", named(CATALOGUE));
        let entries: Vec<(Option<String>, Option<i64>)> =
            conn.query_rows(sql).map_err(|e| self.failed("read the catalogue of", e))?;
        Ok(Some(entries.into_iter().filter_map(|(name, value)| Some((name?, value?))).collect()))
    }

    /// Refuses to create what somebody else has: these statements commit one by one, and what was created until one fails is removed by
    /// its name.
    fn refuse_strangers(&self, context: &Context, conn: &mut Conn) -> Result<()> {
        let tables: Vec<String> = Table::ALL.iter().map(|table| named(table.name())).collect();
        let routines: Vec<String> = procedures::NAMES.iter().map(|name| named(name)).collect();
        let list =
            |names: &[String]| names.iter().map(|name| format!("'{name}'")).collect::<Vec<_>>().join(", ");
        let sql = format!(
            "SELECT table_name FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name IN ({}) \
             UNION ALL SELECT routine_name FROM information_schema.routines WHERE routine_schema = DATABASE() AND routine_name IN ({})",
            list(&tables),
            list(&routines)
        );
        let strange: Option<String> =
            conn.query_first(sql).map_err(|e| self.failed("look for TPROC-C in", e))?;
        strange.map_or(Ok(()), |name| Err(Error::Foreign { path: context.path(&name) }))
    }
}

impl Database for TprocCMysql {
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
        let (context, mut conn) = self.instance.open()?;
        if let Some(entries) = self.find(&context, &mut conn)? {
            return Err(schema::refusal(&entries, self.path(&context)));
        }
        self.refuse_strangers(&context, &mut conn)?;
        let mut sql = vec![format!(
            "CREATE TABLE {} (name VARCHAR(64) NOT NULL PRIMARY KEY, value BIGINT NOT NULL) ENGINE = InnoDB \
             DEFAULT CHARACTER SET latin1 COLLATE latin1_bin COMMENT '{MARK}'",
            named(CATALOGUE)
        )];
        for table in Table::ALL {
            // The key orders the rows on disk: it has to be there first.
            let key = schema::key(table).map_or(String::new(), |key| format!(", PRIMARY KEY ({key})"));
            let indexes: String = schema::INDEXES
                .iter()
                .filter(|(_, of, _)| *of == table)
                .map(|(name, _, columns)| format!(", KEY {name} ({columns})"))
                .collect();
            let columns = schema::columns(table).replace("TIMESTAMP", "DATETIME");
            let partitions = schema::partition_column(table)
                .filter(|_| layout.partitions > 1)
                .map_or_else(String::new, |column| {
                    format!(" PARTITION BY HASH ({column}) PARTITIONS {}", layout.partitions)
                });
            sql.push(format!(
                "CREATE TABLE {} ({columns}{key}{indexes}) ENGINE = InnoDB DEFAULT CHARACTER SET latin1 COLLATE \
                 latin1_bin{partitions}",
                named(table.name())
            ));
        }
        for (name, value) in schema::entries(layout) {
            sql.push(format!("INSERT INTO {} VALUES ('{name}', {value})", named(CATALOGUE)));
        }
        let done = sql.into_iter().try_for_each(|sql| conn.query_drop(sql));
        done.map_err(|e| self.failed("create the tables of TPROC-C in", e))
    }

    fn loader(&self) -> Result<Box<dyn Loader>> {
        let mut conn = self.instance.target().open()?;
        // Both checks stay on, although there is nothing for them to check: where both are off, MariaDB locks an empty table for
        // whoever is first to insert into it (MDEV-515), and workers that build beside each other end in a deadlock.
        conn.query_drop("SET SESSION autocommit = 0")
            .map_err(|e| self.failed("configure a session of", e))?;
        Ok(Box::new(MysqlLoader {
            conn,
            instance: self.instance.clone(),
            insert: String::new(),
            rows: String::new(),
        }))
    }

    fn finish(&self) -> Result<()> {
        let (_, mut conn) = self.instance.open()?;
        let failed = |e| self.failed("finish TPROC-C in", e);
        procedures::CREATE.iter().try_for_each(|sql| conn.query_drop(sql)).map_err(failed)?;
        conn.query_drop(format!("INSERT INTO {} VALUES ('{COMPLETE}', 1)", named(CATALOGUE)))
            .map_err(failed)?;
        self.settle()
    }

    fn layout(&self) -> Result<Layout> {
        let (context, mut conn) = self.instance.open()?;
        let missing = || Error::Missing { place: format!("tables tproc_c_* in {}", context.target.place) };
        let entries = self.find(&context, &mut conn)?.ok_or_else(missing)?;
        schema::layout_at(&entries, self.path(&context))
    }

    fn purge(&self) -> Result<()> {
        let (context, mut conn) = self.instance.open()?;
        if self.find(&context, &mut conn)?.is_none() {
            return Ok(());
        }
        // A session that never ends its transaction would keep this waiting for a day (lock_wait_timeout). One whose client has gone
        // may have to undo many rows first.
        let mut sql = vec![format!("SET SESSION lock_wait_timeout = {PURGE_WAIT}")];
        let procedures: Vec<String> = procedures::NAMES
            .iter()
            .map(|name| format!("DROP PROCEDURE IF EXISTS {}", named(name)))
            .collect();
        sql.extend(procedures);
        sql.extend(Table::ALL.map(|table| format!("DROP TABLE IF EXISTS {}", named(table.name()))));
        // Last: as long as it is there, the rest is known as ours.
        sql.push(format!("DROP TABLE {}", named(CATALOGUE)));
        let done = sql.into_iter().try_for_each(|sql| conn.query_drop(sql));
        done.map_err(|e| self.failed("remove TPROC-C from", e))
    }

    fn spreads_warehouses(&self) -> bool {
        true
    }

    /// A partition for each warehouse: each is a tree of its own, and so is its page.
    fn spread_warehouses(&self, spread: bool) -> Result<()> {
        let layout = self.layout()?;
        let (_, mut conn) = self.instance.open()?;
        let table = named(Table::Warehouse.name());
        let failed = |e| self.failed("rebuild the table of warehouses of", e);
        let sql = "SELECT COUNT(partition_name) FROM information_schema.partitions \
                   WHERE table_schema = DATABASE() AND table_name = ?";
        let partitions: u64 = conn.exec_row(sql, (&table,)).map_err(failed)?.unwrap_or(0);
        let change = match spread {
            _ if spread == (partitions > 0) => return Ok(()),
            true => format!("PARTITION BY HASH (w_id) PARTITIONS {}", layout.warehouses),
            false => "REMOVE PARTITIONING".to_owned(),
        };
        conn.query_drop(format!("ALTER TABLE {table} {change}")).map_err(failed)
    }

    fn why_not_copied(&self) -> Option<ErrorCause> {
        Some(ErrorCause::MyNoCopy)
    }

    fn copy(&self, _: &(dyn Fn() -> bool + Sync)) -> Result<Arc<dyn Database>> {
        Err(Error::Unsupported {
            database: "MariaDB",
            what: "copy a database within the server",
            remedy: ErrorCause::MyNoCopy,
        })
    }

    /// Statistics are renewed, what transactions have left is purged, and the tables' changed pages are written, as far as this account
    /// may have that done.
    fn settle(&self) -> Result<()> {
        let (context, mut conn) = self.instance.open()?;
        let tables: Vec<String> = Table::ALL.iter().map(|table| named(table.name())).collect();
        conn.query_drop(format!("ANALYZE TABLE {}", tables.join(", ")))
            .map_err(|e| self.failed("renew the statistics of", e))?;
        self.instance.settle()?;
        let tables: Vec<&str> = tables.iter().map(String::as_str).collect();
        counters::flush(&context, &mut conn, &tables).map(drop)
    }

    fn session(&self, procedures: bool) -> Result<Box<dyn Session>> {
        let (context, conn) = self.instance.open()?;
        context.facts.check(self.durability)?;
        Ok(Box::new(MysqlSession::open(self.instance.clone(), conn, procedures)?))
    }

    fn reader(&self) -> Result<Box<dyn Reader>> {
        Ok(Box::new(MysqlReader { conn: self.instance.target().open()?, instance: self.instance.clone() }))
    }
}

/// Rows by INSERTs of many.
struct MysqlLoader {
    conn: Conn,
    instance: Arc<Mysql>,
    insert: String,
    rows: String,
}

impl MysqlLoader {
    fn insert(&mut self) -> Result<()> {
        if self.rows.is_empty() {
            return Ok(());
        }
        let sql = format!("{}{}", self.insert, self.rows);
        self.rows.clear();
        self.conn.query_drop(sql).map_err(|e| self.instance.target().refusal("fill the tables of", e))
    }
}

impl Loader for MysqlLoader {
    fn begin(&mut self, table: Table) -> Result<()> {
        self.insert = format!("INSERT INTO {} VALUES ", named(table.name()));
        Ok(())
    }

    fn row(&mut self, row: &[Value]) -> Result<()> {
        self.rows.push_str(if self.rows.is_empty() { "(" } else { ",(" });
        for (column, value) in row.iter().enumerate() {
            if column > 0 {
                self.rows.push(',');
            }
            match value {
                Value::Int(value) => self.rows += &value.to_string(),
                // Letters, digits and blanks: nothing to escape.
                Value::Text(text) => {
                    self.rows.push('\'');
                    self.rows += text;
                    self.rows.push('\'');
                }
                Value::Null => self.rows += "NULL",
            }
        }
        self.rows.push(')');
        if self.rows.len() >= INSERT { self.insert() } else { Ok(()) }
    }

    fn end(&mut self) -> Result<()> {
        self.insert()?;
        self.conn.query_drop("COMMIT").map_err(|e| self.instance.target().refusal("fill the tables of", e))
    }
}

/// Reads beside the users.
struct MysqlReader {
    conn: Conn,
    instance: Arc<Mysql>,
}

impl Reader for MysqlReader {
    fn orders(&mut self) -> Result<u64> {
        let sql =
            format!("SELECT CAST(COALESCE(SUM(d_next_o_id), 0) AS UNSIGNED) FROM {}", named("district"));
        let sum: Option<u64> =
            self.conn.query_row(sql).map_err(|e| self.instance.target().refusal("read the orders of", e))?;
        Ok(sum.unwrap_or(0))
    }

    fn transactions(&mut self) -> Result<Option<u64>> {
        let sql = "SHOW GLOBAL STATUS WHERE Variable_name IN ('Com_commit', 'Com_rollback')";
        let rows: Vec<(String, u64)> = self
            .conn
            .query_rows(sql)
            .map_err(|e| self.instance.target().refusal("read the counters of", e))?;
        Ok(Some(rows.into_iter().map(|(_, count)| count).sum()))
    }

    fn checkpoints(&mut self) -> Result<Option<CheckpointReading>> {
        checkpoints::read(&mut self.conn)
            .map_err(|e| self.instance.target().refusal("read the checkpoints of", e))
    }

    fn numbers(&mut self, sql: &str) -> Result<Vec<Vec<i64>>> {
        let rows: Vec<mysql::Row> = self
            .conn
            .query_rows(Dialect::MYSQL.sql(sql))
            .map_err(|e| self.instance.target().refusal("check TPROC-C in", e))?;
        Ok(rows.into_iter().map(|row| session::values(row).iter().map(Value::int).collect()).collect())
    }
}
