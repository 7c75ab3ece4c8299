//! What only the kernel's tracepoints show, read through tracefs (Linux, Documentation/trace/events.rst).

mod cache_counter;
mod cache_stat;
mod instance;
mod line;

pub use cache_stat::CacheStat;
pub use instance::TraceError;
