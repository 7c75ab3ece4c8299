//! What only the kernel's tracepoints show, read through tracefs (Linux, Documentation/trace/events.rst).

mod block_trace;
mod cache_counter;
mod cache_stat;
mod instance;
mod line;
mod requests;

pub use block_trace::BlockTrace;
pub use cache_stat::CacheStat;
pub use instance::TraceError;
