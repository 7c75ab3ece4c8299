//! Placement of workers: CPUs, scheduling priority, and NUMA nodes of their memory.

use std::io;

use iolite_model::{Bytes, MemoryPolicy, Placement};
use iolite_sys::locked::LockedMemory;
use iolite_sys::placement::{self as system, Memory};
use iolite_sys::{buffer, control_group, identity, priority};

use crate::error::EngineError;

/// What a worker holds as long as it runs.
#[derive(Debug)]
pub(crate) struct Held {
    _memory: Option<LockedMemory>,
}

/// Binds the calling thread, which is worker number `worker`, before it makes its buffers.
///
/// # Errors
/// A CPU or a node that there is not, or that this process may not use; a priority that it may not have.
pub(crate) fn place(placement: &Placement, worker: u32) -> Result<Held, EngineError> {
    let failed = EngineError::Placement;
    let mut cpus: Vec<usize> = placement.cpus.iter().map(|cpu| *cpu as usize).collect();
    for &node in &placement.nodes {
        cpus.extend(system::cpus_of_node(node as usize).map_err(failed)?);
    }
    cpus.sort_unstable();
    cpus.dedup();
    if placement.one_each && cpus.is_empty() {
        cpus = system::cpus().map_err(failed)?;
    }
    if placement.one_each && !cpus.is_empty() {
        cpus = vec![cpus[worker as usize % cpus.len()]];
    }
    if !cpus.is_empty() {
        system::run_on(&cpus).map_err(failed)?;
    }
    take_memory(&placement.memory).map_err(failed)?;
    let huge = placement.huge_pages.map_or(0, |size| usize::try_from(size.0).unwrap_or(0));
    buffer::use_huge_pages(huge);
    if let Some(name) = &placement.control_group {
        control_group::join(name, placement.processes).map_err(failed)?;
    }
    let locked = placement.locked_memory.map(|length| lock(length, worker)).transpose()?;
    placement.nice.map_or(Ok(()), |nice| priority::be_nice(nice).map_err(failed))?;
    placement.io_priority.map_or(Ok(()), |level| priority::set_io(level.packed()).map_err(failed))?;
    placement.thread_name.as_ref().map_or(Ok(()), |name| identity::name_thread(name).map_err(failed))?;
    // The group first: a user without privileges may not change it.
    placement.group.map_or(Ok(()), |group| identity::be_group(group).map_err(failed))?;
    placement.user.map_or(Ok(()), |user| identity::be_user(user).map_err(failed))?;
    Ok(Held { _memory: locked })
}

fn lock(length: Bytes, worker: u32) -> Result<LockedMemory, EngineError> {
    let length = usize::try_from(length.0).unwrap_or(usize::MAX);
    LockedMemory::new(length).map_err(|source| EngineError::LockedMemory { worker, source })
}

fn take_memory(policy: &MemoryPolicy) -> io::Result<()> {
    let (policy, nodes) = match policy {
        MemoryPolicy::Default => return Ok(()),
        MemoryPolicy::Prefer(node) => (Memory::Prefer, vec![*node as usize]),
        MemoryPolicy::Bind(nodes) => (Memory::Bind, all_if_none(nodes)?),
        MemoryPolicy::Interleave(nodes) => (Memory::Interleave, all_if_none(nodes)?),
    };
    system::take_memory(policy, &nodes)
}

fn all_if_none(nodes: &[u32]) -> io::Result<Vec<usize>> {
    if nodes.is_empty() { system::nodes() } else { Ok(nodes.iter().map(|node| *node as usize).collect()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iolite_model::{IoClass, IoPriority};

    #[test]
    fn a_worker_has_its_priorities() {
        let io_priority = Some(IoPriority { class: IoClass::BestEffort, level: 6, hint: 0 });
        let placement = Placement { nice: Some(19), io_priority, ..Placement::default() };
        let found = std::thread::spawn(move || {
            let _held = place(&placement, 0).unwrap();
            (priority::nice().unwrap(), priority::io().unwrap())
        });
        assert_eq!(found.join().unwrap(), (19, 0x4006));
    }
}
