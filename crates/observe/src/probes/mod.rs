//! The probes, one file each.

mod cgroup;
mod cpu;
mod devices;
mod memory;
mod network;
mod page_cache;
mod pressure;
mod process;

pub use cgroup::CgroupIo;
pub use cpu::{Cpu, busy_cpu, programs_cpu, steal};
pub use devices::Devices;
pub use memory::Memory;
pub use page_cache::PageCache;
pub use pressure::Pressure;
pub use process::OwnProcess;

use iolite_model::Storage;

use crate::probe::Probe;
use network::Network;

/// The probes that every run reads: of the host, and of the block devices beneath `storage` (`None` for all disks of the host).
///
/// What this host can't be asked for is left out: kernels without pressure information, hosts without a control group
/// for I/O.
pub fn host_probes(storage: Option<&Storage>) -> Vec<Box<dyn Probe>> {
    let mut probes: Vec<Box<dyn Probe>> = Vec::new();
    probes.extend(Devices::find(storage).map(boxed));
    probes.extend(Cpu::open().ok().map(boxed));
    probes.extend(Memory::open().ok().map(boxed));
    probes.extend(Pressure::open().map(boxed));
    probes.extend(PageCache::open().ok().map(boxed));
    probes.extend(Network::open().map(boxed));
    probes.extend(CgroupIo::of_this_process().map(boxed));
    probes.extend(OwnProcess::open().ok().map(boxed));
    probes
}

fn boxed(probe: impl Probe + 'static) -> Box<dyn Probe> {
    Box::new(probe)
}
