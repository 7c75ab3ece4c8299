//! Whether a task of operations on names makes sense.

use iolite_model::{MetadataTask, Nanos};

use crate::error::EngineError;
use crate::guard::is_plain;
use crate::guard::tree::Part;

/// The shortest interval.
const SHORTEST_INTERVAL: Nanos = Nanos(10_000_000);

/// Checks a task.
///
/// # Errors
/// What is invalid, with its remedy.
pub(crate) fn validate(task: &MetadataTask) -> Result<(), EngineError> {
    let refuse = |reason: &str| Err(EngineError::Task { task: task.name.clone(), reason: reason.into() });
    if task.workers == 0 || u64::from(task.workers) > Part::WORKERS {
        return refuse("it needs at least one worker, and at most 100,000");
    }
    if task.files == 0 || task.files > Part::FILES {
        return refuse("each worker needs at least one file, and at most 1,000,000,000");
    }
    if task.files_per_directory == 0 {
        return refuse("`files_per_directory` must be at least 1");
    }
    if !task.named.is_empty() {
        if task.workers != 1 || task.files != task.named.len() as u64 {
            return refuse(
                "with paths there is one worker, and as many files as paths: set `workers` and `files` accordingly",
            );
        }
        if task.named.iter().any(|path| path.to_str().is_none_or(str::is_empty)) {
            return refuse("its paths must be text in UTF-8: use other names");
        }
    } else if task.keep_existing || task.remove {
        return refuse("`keep_existing` and `remove` are for paths: remove them, or name paths");
    }
    if !task.tree.to_str().is_some_and(is_plain) {
        return refuse("its tree is not a plain name: use a name without slashes, other than `owner`");
    }
    if task.interval < SHORTEST_INTERVAL {
        return refuse("its intervals are shorter than 10 ms, too short to measure: make them longer");
    }
    let stop = &task.stop;
    if stop.bytes.or(stop.worker_bytes).or(stop.written).is_some() {
        return refuse("a limit in bytes does not apply to metadata operations: use operations or a runtime");
    }
    if stop.full {
        return refuse("`full` does not apply to metadata operations: remove it");
    }
    if task.operation.changes() {
        // `sync` without a change is nothing to do; rounds without end are another matter.
        return match stop.loops {
            Some(_) => refuse("each name is created or removed once: remove the loops"),
            None => Ok(()),
        };
    }
    if !stop.has_end() {
        return refuse(
            "it has no stop condition: specify a runtime, operations or loops (rounds over all files)",
        );
    }
    Ok(())
}
