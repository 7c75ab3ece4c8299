//! The driver: runs what a procedure asks for, and records all that happens as events.
//!
//! A [`Session`] is one run. It owns the life of a phase once, for every command: what it announces, the probes around it,
//! the engine, the warnings, the end. It knows no suite: those are [`Procedure`](iolite_suites::Procedure)s, and
//! [`Session::drive`] asks them for one step after the other.

mod allowance;
mod cache_stat;
mod calibrate;
mod capabilities;
mod created;
mod database;
mod drive;
mod durability;
mod ending;
mod error;
mod events;
mod generator;
mod host_counters;
mod narrow;
mod observe;
mod patience;
mod phase;
mod preparation;
mod program;
mod purge;
mod resume;
mod session;
mod stall_watch;
mod stalls;
mod start;
mod stored;
mod study;
mod verify;
mod write_cache;
mod writes;

pub use cache_stat::CacheStatWatch;
pub use created::Renewing;
pub use database::{
    CheckDatabase, DatabaseStorage, DatabaseWrites, LayersDatabases, RanDatabase, ServerObservation,
    TprocCSite, WaitSampling, WaitsWatch, answered,
};
pub use drive::{Bare, Environment};
pub use durability::{AcknowledgedRun, Witnessed, WitnessedRun, witness_file};
pub use ending::{describe, ending};
pub use error::{Error, PurgeError, Result};
pub use events::Events;
pub use host_counters::HostCounters;
pub use observe::Observation;
pub use patience::{GRACE, GaveUp, patiently};
pub use preparation::{ControlGroups, SwitchedSchedulers, read_into_cache};
pub use program::{Later, ProgramCall, RunningProgram};
pub use purge::DevicePurge;
pub use session::{Session, unix_now};
pub use start::{Setup, run_info};
pub use study::StudyEnvironment;
pub use verify::SavedVerification;
pub use write_cache::SwitchedCache;
pub use writes::{WriteLimits, WriteRefusal};
