//! Where a worker runs and where its memory comes from.

use iolite_model::Placement;
use iolite_sys::placement as system;

use crate::EngineError;

/// Binds the calling thread, which is worker number `worker`, before it makes its buffers.
///
/// # Errors
/// A CPU or a node that there is not, or that this process may not use.
pub(crate) fn place(placement: &Placement, worker: u32) -> Result<(), EngineError> {
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
    match placement.memory_node {
        Some(node) => system::bind_memory(node as usize).map_err(failed),
        None => Ok(()),
    }
}
