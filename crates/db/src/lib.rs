//! Databases under test: the contract that every adapter fulfils, and the adapters, one module each.
//!
//! A database is made by [`Database::create`], measured through one [`Session`] per worker and removed by
//! [`Database::purge`]. Drivers of the measured loop see these two traits and nothing of the engine behind them.

mod adapter;
mod ran;
mod sqlite;

pub use adapter::{Database, Description, Error, Layout, Physical, Progress, Result, Session};
pub use ran::run_db_task;
pub use sqlite::Sqlite;
