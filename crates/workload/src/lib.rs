//! Deterministic generators of operations: same seed, same operations. No clock: time is passed in.

mod arrival;
mod check;
mod data;
mod error;
mod files;
mod free_map;
mod mixed;
mod mixture;
mod offset;
mod planned;
mod priority;
mod random;
mod region;
mod share;
mod size;
mod spread;
mod stream;
mod verify;

pub use arrival::{Arrivals, ByKind, Paused};
pub use check::validate;
pub use data::Filler;
pub use error::WorkloadError;
pub use files::file_starts;
pub use offset::Offsets;
pub use planned::{IoKind, PlannedOp};
pub use priority::Priorities;
pub use random::{Purpose, below, generator, unit};
pub use share::{Share, round};
pub use size::SizeStream;
pub use stream::OpStream;
pub use verify::{Expected, Seal, Wrong};
