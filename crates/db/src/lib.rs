//! Databases under test: the contract that every adapter fulfils, and the adapters, one module each.
//!
//! A database is made by [`Database::setup`] and [`Database::add_globals`], measured through one [`Session`] (or
//! [`Within`]) per worker and removed by [`Database::purge`]. What measures sees these traits and nothing of the engine
//! behind them.

mod adapter;
mod error;
mod gtm;
mod making;
mod monitor;
#[cfg(feature = "mysql")]
pub mod mysql;
#[cfg(feature = "postgres")]
pub mod postgres;
#[cfg(any(feature = "postgres", feature = "mysql"))]
mod private;
mod server;
mod sqlite;
mod url;

pub use adapter::{
    Batch, Cycle, Database, Description, Error, Files, Progress, Result, Session, Settings, Timed, Within,
};
pub use gtm::Gtm;
pub use making::check_replacing;
pub use monitor::{Monitor, Seen};
#[cfg(feature = "mysql")]
pub use mysql::Mysql;
#[cfg(feature = "postgres")]
pub use postgres::Postgres;
pub use server::{Server, Started};
pub use sqlite::Sqlite;
pub use url::{DatabaseUrl, without_password};
