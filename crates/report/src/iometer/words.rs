//! Workers, specifications and loads in words.

use iolite_model::{IometerPoint, IometerTerms};

/// Name of a worker by its number, from 1.
pub(super) fn worker_name(terms: &IometerTerms, number: u32) -> String {
    let named = terms.worker(number).map(|worker| worker.name.as_str()).filter(|name| !name.is_empty());
    named.map_or_else(|| format!("Worker {number}"), str::to_owned)
}

/// Name of a worker by its number, from 1, with that of its manager if there are several.
pub(super) fn full_name(terms: &IometerTerms, number: u32) -> String {
    let name = worker_name(terms, number);
    let several = terms.workers.iter().any(|worker| worker.manager != terms.workers[0].manager);
    match terms.worker(number).filter(|_| several) {
        Some(worker) if worker.manager_name.is_empty() => format!("manager {}, {name}", worker.manager),
        Some(worker) => format!("{}, {name}", worker.manager_name),
        None => name,
    }
}

/// Workers, targets if there are several, and outstanding operations; the number of workers if they differ.
pub(super) fn load(point: &IometerPoint) -> String {
    let IometerPoint { workers, targets, depth, loads, .. } = point;
    match loads.as_slice() {
        [] => product(*workers, *targets, *depth),
        [only] => product(1, only.targets, only.depth),
        _ => format!("{workers} workers"),
    }
}

pub(super) fn product(workers: u32, targets: u32, depth: u32) -> String {
    if targets > 1 { format!("{workers}x{targets}x{depth}") } else { format!("{workers}x{depth}") }
}
