//! Groups of workers: prepared, released together, collected while they measure, and ended.
//!
//! Block I/O, metadata operations and databases all run as a [`WorkerGroup`]; only the work differs.

mod barrier;
mod control;
mod error;
mod group;
mod lane;
mod outcome;
mod together;

pub use barrier::{Barrier, StartLine};
pub use control::Control;
pub use error::{WorkError, WorkersError};
pub use group::{DRAIN, DRAIN_INTERRUPTED, LAST_SYNC, Patience, TICK, WorkerGroup, release, usage_of};
pub use lane::{Finished, WorkerEnd, WorkerLane, WorkerStart};
pub use outcome::Outcome;
pub use together::{SharedSink, StartTogether};
