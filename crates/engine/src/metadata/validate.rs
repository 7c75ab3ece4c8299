//! Whether a task of operations on names makes sense.

use iolite_model::{MetadataTask, Nanos, Stop};

use super::changes;
use crate::error::EngineError;
use crate::guard::is_plain;
use crate::guard::tree::Part;

/// The shortest interval.
const SHORTEST_INTERVAL: Nanos = Nanos(10_000_000);

/// Checks a task.
///
/// # Errors
/// What makes no sense, with its remedy.
pub(crate) fn validate(task: &MetadataTask) -> Result<(), EngineError> {
    let refuse = |reason: &str| Err(EngineError::Task { task: task.name.clone(), reason: reason.into() });
    if task.workers == 0 || u64::from(task.workers) > Part::WORKERS {
        return refuse("it needs at least one worker, and at most 100,000");
    }
    if task.files == 0 || task.files > Part::FILES {
        return refuse("each worker needs at least one file, and at most 1,000,000,000");
    }
    if task.files_per_directory == 0 {
        return refuse("a directory holds at least one file: give more files per directory");
    }
    if !task.tree.to_str().is_some_and(is_plain) {
        return refuse("its tree is not a plain name: give one without slashes, and not `owner`");
    }
    if task.interval < SHORTEST_INTERVAL {
        return refuse("its intervals are shorter than 10 ms, too short to measure: make them longer");
    }
    let Stop {
        runtime,
        bytes,
        operations,
        loops,
        worker_bytes,
        worker_operations,
        written,
        full,
        in_flight: _,
    } = task.stop;
    if bytes.or(worker_bytes).or(written).is_some() {
        return refuse("bytes don't end operations on names: give operations or a runtime instead");
    }
    if full {
        return refuse("operations on names don't end where space does: leave `full` out");
    }
    if changes(task.operation) {
        // `sync` without a change is nothing to do; rounds without end are another matter.
        return match loops {
            Some(_) => refuse("each name is made or removed once: leave the loops out"),
            None => Ok(()),
        };
    }
    if runtime.is_none() && operations.or(worker_operations).is_none() && loops.is_none() {
        return refuse("nothing would end it: give a runtime, operations or loops (rounds over all files)");
    }
    Ok(())
}
