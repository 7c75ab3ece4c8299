//! What the storage and the machine are, and what the devices and the page cache did meanwhile.
//!
//! Probes never fail a run: a fact that cannot be had is `None` or left out. Only [`storage()`] can fail, and only
//! because the directory itself is not usable. What is changed here, a device's read-ahead, is restored.

mod cache;
mod chain;
mod cpu;
mod disk_use;
mod diskstats;
mod error;
mod host;
mod mounts;
mod read_ahead;
mod storage;
mod sysfs;

pub use cache::CacheProbe;
pub use cpu::busy_cpu;
pub use disk_use::DiskProbe;
pub use diskstats::LeafCounters;
pub use error::Error;
pub use host::host;
pub use read_ahead::{ReadAhead, ReadAheadError};
pub use storage::{storage, storage_of_target, volatile};
