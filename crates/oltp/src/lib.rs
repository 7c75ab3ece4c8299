//! Workloads inside databases, one folder each. A workload knows what it stores in a database and which operations its workers
//! do there; how a server is reached, described and counted is [`iolite_db`]'s.

mod error;
pub mod ran;
pub mod tproc_c;

pub use error::OltpError;
