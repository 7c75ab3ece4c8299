//! Database instances under test, one folder each: how a server or library is reached, what it is, where its files are, what it
//! counts, how rows are loaded in bulk, and private servers for those who have none running.
//!
//! What all of them have in common is [`Instance`]. What is stored in a database and done there is a workload's
//! (crate oltp), which uses an instance's own connections.

#[cfg(any(feature = "postgres", feature = "mysql"))]
mod client_file;
mod error;
pub mod gtm;
#[cfg(any(feature = "postgres", feature = "mysql"))]
mod ini;
mod instance;
#[cfg(any(feature = "postgres", feature = "mysql"))]
mod lossy;
mod monitor;
#[cfg(feature = "mysql")]
pub mod mysql;
#[cfg(feature = "postgres")]
pub mod postgres;
#[cfg(any(feature = "postgres", feature = "mysql"))]
mod private;
mod server;
#[cfg(any(feature = "postgres", feature = "mysql"))]
mod server_process;
pub mod space;
pub mod sqlite;
mod started;
#[cfg(any(feature = "postgres", feature = "mysql"))]
mod tls;
mod url;
mod waits;

pub use error::{Error, Result};
pub use instance::{Description, Files, Instance, LockWait, Unseen};
pub use monitor::{DatabaseObservation, LatestCounters, Monitor, Waited};
#[cfg(feature = "mysql")]
pub use mysql::Mysql;
#[cfg(feature = "postgres")]
pub use postgres::Postgres;
pub use server::{Server, ServerOptions};
pub use sqlite::Sqlite;
pub use started::Started;
pub use url::{DatabaseUrl, without_password};
pub use waits::{
    ActiveSession, Sample, SessionTimes, TimesSpent, WAIT_INTERVAL, WaitObject, WaitReader, WaitSampler,
};
