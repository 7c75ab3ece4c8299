//! What the settings of a job say, typed: one part per group of options.

use super::options;

/// A job as its settings describe it. Its default is fio's.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Spec {
    /// Name, clones, order and length of jobs.
    pub job: options::job::Job,
    /// Files and extents.
    pub files: options::files::Files,
    /// Direction and order of the I/O.
    pub io: options::io::Io,
    /// Sizes of operations.
    pub sizes: options::sizes::Sizes,
    /// What is written, and buffers.
    pub buffers: options::buffers::Buffers,
    /// Engines and their own options.
    pub engine: options::engine::Engine,
    /// Queue depth.
    pub depth: options::depth::Depth,
    /// Rates, think time, latency targets.
    pub rate: options::rate::Rate,
    /// Verification.
    pub verify: options::verify::Verify,
    /// Steady state.
    pub steady: options::steady::Steady,
    /// Statistics and logs.
    pub logging: options::logging::Logging,
    /// Errors.
    pub errors: options::errors::Errors,
    /// Traces and replay.
    pub trace: options::trace::Trace,
    /// CPUs, memory nodes, priorities, users.
    pub placement: options::placement::Placement,
}
