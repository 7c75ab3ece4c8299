//! Groups of workers: prepared, released together, collected while they measure, and ended.
//!
//! Block I/O, metadata operations and databases all run as a [`WorkerGroup`]; only the work differs. Its one conductor reaches
//! the workers over a [`Transport`]: threads here; processes in engine.

mod barrier;
mod conductor;
mod control;
mod ends;
mod error;
mod group;
mod joint;
mod lane;
mod outcome;
mod run;
mod threads;
mod together;
mod transport;

pub use barrier::{Barrier, StartLine};
pub use conductor::LAST_SYNC;
pub use control::Control;
pub use error::{WorkError, WorkersError};
pub use group::{DRAIN, DRAIN_INTERRUPTED, Patience, WorkerGroup};
pub use joint::{Conducted, conduct_together};
pub use lane::{Finished, WorkerLane, WorkerStart};
pub use outcome::Outcome;
pub use threads::usage_of;
pub use together::{SharedSink, StartTogether};
pub use transport::{Transport, WorkerEnd, WorkerMessage, WorkerReport};
