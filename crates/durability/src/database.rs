//! Commits of databases: a row for each, in a table of the run's own.

use std::collections::BTreeSet;

use iolite_db::DatabaseUrl;
use iolite_model::acknowledged::{Plan, RunKey};

use crate::error::{Error, Result};
use crate::record::Identity;

/// A connection that commits, and that can say what is there.
pub trait Commits: Send {
    /// Makes the run's table.
    ///
    /// # Errors
    /// The database's.
    fn create(&mut self) -> Result<()>;
    /// Inserts a row and commits: acknowledged when it returns.
    ///
    /// # Errors
    /// The database's: the commit was not acknowledged.
    fn commit(&mut self, identity: Identity) -> Result<()>;
    /// Rows that are there, of all workers; with each as often as it is there.
    ///
    /// # Errors
    /// The database's, also where the table is missing.
    fn present(&mut self) -> Result<Vec<Identity>>;
    /// Removes the run's table.
    ///
    /// # Errors
    /// The database's.
    fn remove(&mut self) -> Result<()>;
}

/// Connects to a database, for the table of this run.
///
/// # Errors
/// The database's; [`Error::Asked`] for GT.M, which has no client.
pub fn open(url: &DatabaseUrl, run: RunKey) -> Result<Box<dyn Commits>> {
    let table = table(run);
    match url {
        #[cfg(feature = "postgres")]
        DatabaseUrl::Postgres(url) => {
            let target = iolite_db::postgres::Target::new(url)?;
            let client = target.connect()?;
            // Sessions of ours look for names in the system's catalogue only.
            Ok(Box::new(Postgres { target, client, table: format!("public.{table}") }))
        }
        #[cfg(feature = "mysql")]
        DatabaseUrl::Mysql(url) => {
            let target = iolite_db::mysql::connect::Target::parse(url)?;
            let conn = target.open()?;
            Ok(Box::new(Mysql { target, conn, table }))
        }
        DatabaseUrl::Sqlite(directory) => Sqlite::open(directory, table),
        #[cfg(not(feature = "postgres"))]
        DatabaseUrl::Postgres(_) => Err(lacking("test commits of PostgreSQL")),
        #[cfg(not(feature = "mysql"))]
        DatabaseUrl::Mysql(_) => Err(lacking("test commits of MariaDB")),
        // Its processes, and how it recovers, are those of the workload that has laid it out.
        DatabaseUrl::Gtm(_) => Err(Error::Asked("commits of GT.M are opened by its workload".to_owned())),
    }
}

#[cfg(not(all(feature = "postgres", feature = "mysql")))]
fn lacking(what: &'static str) -> Error {
    Error::Database(iolite_db::Error::Build { what, remedy: iolite_model::ErrorCause::ClientNotBuilt })
}

fn table(run: RunKey) -> String {
    format!("iolite_durability_{}", &String::from(run)[..8])
}

/// What creates the table in all of them; the key keeps a row from being there twice.
fn create_sql(table: &str, engine: &str) -> String {
    format!(
        "CREATE TABLE {table} (worker BIGINT NOT NULL, number BIGINT NOT NULL, PRIMARY KEY (worker, number)){engine}"
    )
}

fn numbers(identity: Identity) -> (i64, i64) {
    (i64::from(identity.worker), i64::try_from(identity.number).unwrap_or(i64::MAX))
}

fn identity(worker: i64, number: i64) -> Identity {
    Identity { worker: u32::try_from(worker).unwrap_or(u32::MAX), number: u64::try_from(number).unwrap_or(0) }
}

#[cfg(feature = "postgres")]
struct Postgres {
    target: iolite_db::postgres::Target,
    client: postgres::Client,
    table: String,
}

#[cfg(feature = "postgres")]
impl Commits for Postgres {
    fn create(&mut self) -> Result<()> {
        let done = self.client.batch_execute(&create_sql(&self.table, ""));
        Ok(done.map_err(|error| self.target.failed("create a table in", error))?)
    }

    fn commit(&mut self, identity: Identity) -> Result<()> {
        let (worker, number) = numbers(identity);
        let sql = format!("INSERT INTO {} VALUES ($1, $2)", self.table);
        // One statement is a transaction: acknowledged when its answer is here.
        let done = self.client.execute(&sql, &[&worker, &number]);
        done.map(drop).map_err(|error| self.target.failed("commit to", error).into())
    }

    fn present(&mut self) -> Result<Vec<Identity>> {
        let rows = self.client.query(&format!("SELECT worker, number FROM {}", self.table), &[]);
        let rows = rows.map_err(|error| self.target.failed("read the run's table in", error))?;
        Ok(rows.iter().map(|row| identity(row.get(0), row.get(1))).collect())
    }

    fn remove(&mut self) -> Result<()> {
        let done = self.client.batch_execute(&format!("DROP TABLE {}", self.table));
        Ok(done.map_err(|error| self.target.failed("remove the run's table from", error))?)
    }
}

#[cfg(feature = "mysql")]
struct Mysql {
    target: iolite_db::mysql::connect::Target,
    conn: mysql::Conn,
    table: String,
}

#[cfg(feature = "mysql")]
impl Mysql {
    fn execute(&mut self, doing: &'static str, sql: &str) -> Result<()> {
        use mysql::prelude::Queryable;
        self.conn.query_drop(sql).map_err(|error| self.target.refusal(doing, error).into())
    }
}

#[cfg(feature = "mysql")]
impl Commits for Mysql {
    fn create(&mut self) -> Result<()> {
        self.execute("create a table in", &create_sql(&self.table, " ENGINE=InnoDB"))
    }

    fn commit(&mut self, identity: Identity) -> Result<()> {
        let (worker, number) = numbers(identity);
        self.execute("commit to", &format!("INSERT INTO {} VALUES ({worker}, {number})", self.table))
    }

    fn present(&mut self) -> Result<Vec<Identity>> {
        use iolite_db::mysql::Rows;
        let rows: mysql::Result<Vec<(i64, i64)>> =
            self.conn.query_rows(format!("SELECT worker, number FROM {}", self.table));
        let rows = rows.map_err(|error| self.target.refusal("read the run's table in", error))?;
        Ok(rows.into_iter().map(|(worker, number)| identity(worker, number)).collect())
    }

    fn remove(&mut self) -> Result<()> {
        self.execute("remove the run's table from", &format!("DROP TABLE {}", self.table))
    }
}

/// A database file of the run's own, in WAL mode with synchronous=FULL: commits are durable.
struct Sqlite {
    connection: rusqlite::Connection,
    path: std::path::PathBuf,
    table: String,
}

impl Sqlite {
    fn open(directory: &std::path::Path, table: String) -> Result<Box<dyn Commits>> {
        let path = directory.join(format!("{table}.db"));
        let failed = |error| sqlite_error("open", &path, error);
        let connection =
            iolite_db::sqlite::open_guarded(&path, rusqlite::OpenFlags::default()).map_err(failed)?;
        let mut opened = Sqlite { connection, path, table };
        if let Err(error) = opened.configure() {
            return Err(opened.given_up(error));
        }
        Ok(Box::new(opened))
    }

    fn configure(&self) -> rusqlite::Result<()> {
        self.connection.busy_timeout(std::time::Duration::from_secs(30))?;
        self.connection.pragma_update(None, "journal_mode", "WAL")?;
        self.connection.pragma_update(None, "synchronous", "FULL")
    }

    /// The error of a file that was created for nothing, and is removed: it has no table.
    fn given_up(&mut self, error: rusqlite::Error) -> Error {
        let tables = self.connection.query_row("SELECT count(*) FROM sqlite_master", (), |row| row.get(0));
        if matches!(tables, Ok(0)) {
            // It stays where it cannot be removed.
            let _ = self.remove();
        }
        sqlite_error("create a table in", &self.path, error)
    }
}

fn sqlite_error(doing: &'static str, path: &std::path::Path, error: rusqlite::Error) -> Error {
    Error::Database(iolite_db::sqlite::engine(doing, path, error))
}

impl Commits for Sqlite {
    fn create(&mut self) -> Result<()> {
        let done = self.connection.execute_batch(&create_sql(&self.table, ""));
        done.map_err(|error| self.given_up(error))
    }

    fn commit(&mut self, identity: Identity) -> Result<()> {
        let sql = format!("INSERT INTO {} VALUES (?1, ?2)", self.table);
        let done =
            self.connection.prepare_cached(&sql).and_then(|mut insert| insert.execute(numbers(identity)));
        done.map(drop).map_err(|error| sqlite_error("commit to", &self.path, error))
    }

    fn present(&mut self) -> Result<Vec<Identity>> {
        let read = || {
            let mut select =
                self.connection.prepare(&format!("SELECT worker, number FROM {}", self.table))?;
            let rows = select.query_map((), |row| Ok(identity(row.get(0)?, row.get(1)?)))?;
            rows.collect::<rusqlite::Result<Vec<_>>>()
        };
        read().map_err(|error| sqlite_error("read the run's table in", &self.path, error))
    }

    fn remove(&mut self) -> Result<()> {
        for suffix in ["", "-wal", "-shm"] {
            let mut name = self.path.clone().into_os_string();
            name.push(suffix);
            if let Err(error) = std::fs::remove_file(&name)
                && error.kind() != std::io::ErrorKind::NotFound
            {
                return Err(crate::error::io("remove", std::path::Path::new(&name))(error));
            }
        }
        Ok(())
    }
}

/// Writes that the plan's workers have acknowledged and that are not among those present.
pub(crate) fn missing(plan: &Plan, last: u64, worker: u32, present: &BTreeSet<Identity>) -> Vec<u64> {
    debug_assert!(worker < plan.workers, "acknowledgments are of the plan's workers");
    (1..=last).filter(|&number| !present.contains(&Identity { worker, number })).collect()
}
