//! Back ends, targets and the measured loop.
//!
//! A phase runs as a [group of workers](iolite_workers). [`run_file_task`] does that for block I/O.

mod admit;
mod backend;
mod blank;
mod discard;
mod error;
mod errors;
mod flow;
mod guard;
mod layout;
mod measured;
mod metadata;
mod neighbours;
mod phase;
mod placement;
mod planned;
mod processes;
mod rate;
mod renewal;
mod run;
mod set;
mod target;
mod turns;
mod validate;
mod verify;
mod watch;
mod zoned;

pub use admit::{NamedDevice, Overwriting, contents};
pub use backend::{
    Backend, Busy, Completions, Fallocate, FileSpan, Files, IoOp, Libaio, Mmap, MoveExtents, Null, Op,
    Returned, Splice, Submission, Sync, Threads, Truncate, Uring, Vectored,
};
pub use discard::remove_created;
pub use error::EngineError;
pub use guard::{Leftover, Scratch, remove_leftovers};
pub use iolite_workers::{Control, Outcome};
pub use metadata::run_metadata_task;
pub use planned::{planned_layout, planned_writes};
pub use processes::{WORKER_COMMAND, serve_worker};
pub use run::{run_file_task, run_file_task_on, run_zoned_file_task_on};
pub use set::{Measured, make_ready, run_set, validate_task};
pub use turns::{released_together, validate_order};
pub use verify::{SavedState, checksum_speed};
pub use zoned::ZoneDevice;
