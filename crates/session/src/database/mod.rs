//! Phases inside databases: what is settled, read and recorded around them, whatever the workload.

mod ask;
mod counted;
mod layers;
mod observation;
mod own;
mod probes;
mod ran;
mod sampling;
mod site;
mod storage;
mod tproc_c;
mod waits;
mod write_watch;

pub use ask::answered;
pub use layers::LayersDatabases;
pub use observation::ServerObservation;
pub use own::CheckDatabase;
pub use ran::RanDatabase;
pub use storage::DatabaseStorage;
pub use tproc_c::TprocCSite;
pub use waits::{WaitSampling, WaitsWatch};
pub use write_watch::DatabaseWrites;
