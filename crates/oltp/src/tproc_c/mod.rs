//! TPROC-C: transactions derived from TPC-C, revision 5.11, on nine tables.
//!
//! What a transaction is asked to do is drawn here (`input`), the same for every database. A database does it as statements
//! that this program sends (`statements`, written once, in each one's `dialect`) or by procedures of its own.

mod build;
mod chance;
mod consistency;
mod contract;
mod counters;
mod cycles;
mod dialect;
mod file_copy;
mod input;
mod layout;
#[cfg(feature = "mysql")]
mod mysql;
mod populate;
#[cfg(feature = "postgres")]
mod postgres;
mod run;
mod schema;
mod sqlite;
mod statements;
#[cfg(test)]
mod tests;
mod worker;

use std::sync::Arc;

use iolite_db::{DatabaseUrl, Error, Result};
use iolite_model::{Durability, ErrorCause};

pub use build::build;
pub use chance::{Chance, Constants, last_name};
pub use consistency::check;
pub use contract::{Database, Done, Loader, Progress, Reader, Session, Table, Value};
pub use input::{
    Customer, Delivery, Kind, Line, NewOrder, OrderStatus, Payment, StockLevel, Transaction, User,
};
pub use layout::{DISTRICTS, Layout, MAX_PARTITIONS, MAX_REDUCED, MAX_WAREHOUSES};
#[cfg(feature = "mysql")]
pub use mysql::TprocCMysql;
#[cfg(feature = "postgres")]
pub use postgres::TprocCPostgres;
pub use run::{Phase, kinds, run};
pub use sqlite::TprocCSqlite;

/// The database at a URL, for commits of this durability. Nothing is opened or asked yet.
///
/// # Errors
/// [`Error::Url`], [`Error::Unsupported`], [`Error::Build`].
pub fn open(url: &DatabaseUrl, durability: Durability) -> Result<Arc<dyn Database>> {
    match url {
        DatabaseUrl::Sqlite(directory) => Ok(Arc::new(TprocCSqlite::new(directory.clone(), durability))),
        #[cfg(feature = "postgres")]
        DatabaseUrl::Postgres(url) => Ok(Arc::new(TprocCPostgres::new(url, durability)?)),
        #[cfg(not(feature = "postgres"))]
        DatabaseUrl::Postgres(_) => {
            Err(Error::Build { what: "open PostgreSQL databases", remedy: ErrorCause::ClientNotBuilt })
        }
        #[cfg(feature = "mysql")]
        DatabaseUrl::Mysql(url) => Ok(Arc::new(TprocCMysql::new(url, durability)?)),
        #[cfg(not(feature = "mysql"))]
        DatabaseUrl::Mysql(_) => {
            Err(Error::Build { what: "open MariaDB or MySQL", remedy: ErrorCause::ClientNotBuilt })
        }
        other => Err(Error::Unsupported {
            database: other.system(),
            what: "run TPROC-C",
            remedy: ErrorCause::NoTprocC,
        }),
    }
}
