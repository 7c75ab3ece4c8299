//! What the storage and the host are, and what devices, CPUs, memory and the page cache do beside a run.
//!
//! Nothing here fails a run: a fact that is not available is `None` or left out, and a probe that fails is one warning. Only
//! [`storage()`] can fail, and only because the directory itself is not usable. What is changed here, a device's read-ahead,
//! is restored.

mod beneath;
mod block_stat;
mod cache;
mod chain;
mod configuration;
mod cpu_idle;
mod disk_probe;
mod error;
mod host;
mod leaf_counters;
mod mounts;
mod probe;
mod probes;
mod process_io;
mod read_ahead;
mod sampler;
mod scheduler;
mod storage;
mod sysfs;
mod tracing;
mod wear;
mod write_cache;
mod zeros;

pub use beneath::storage_beneath;
pub use cache::{CacheProbe, ReleaseWatch};
pub use configuration::configuration;
pub use cpu_idle::{CpuIdle, unit_work};
pub use disk_probe::DiskProbe;
pub use error::Error;
pub use host::host;
pub use leaf_counters::LeafCounters;
pub use probe::{Probe, ProbeError, Subject, probe_from};
pub use probes::{
    CgroupIo, Cpu, Devices, Memory, OwnProcess, PageCache, Pressure, busy_cpu, host_probes, programs_cpu,
    steal,
};
pub use process_io::ProcessIo;
pub use read_ahead::{ReadAhead, ReadAheadError};
pub use sampler::{RunClock, Sampler, Schedule};
pub use scheduler::{IoScheduler, IoSchedulerError};
pub use storage::{rotational, storage, storage_of_target, volatile};
pub use tracing::{BlockTrace, CacheStat, TraceError};
pub use wear::wear;
pub use write_cache::{WriteCache, WriteCacheError};
