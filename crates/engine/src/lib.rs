//! Back ends, targets and the measured loop.
//!
//! A phase runs as a [`crew`]: workers prepare, are released together, measure into recorders of their own, and are
//! collected by a thread that does not measure. [`run_file_task`] does that for block I/O.

mod backend;
mod control;
mod crew;
mod error;
mod guard;
mod measured;
mod phase;

pub use backend::{
    Backend, Completions, IoOp, Libaio, Mmap, Null, Op, Returned, Sim, SimFaults, SimImage, SimLatency,
    SimParameters, SimStall, Submission, Sync, Threads, Uring, Vectored,
};
pub use control::Control;
pub use crew::{Crew, Finished, Lane, Outcome, Start, WorkerEnd};
pub use error::EngineError;
pub use guard::{Leftover, Scratch, remove_leftovers};
pub use phase::{run_file_task, run_file_task_on};
