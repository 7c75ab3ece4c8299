//! Operations on names.

use std::path::PathBuf;

use iolite_model::{Bytes, JobTask, MetadataOperation, MetadataTask, Nanos, Overwrite, Stop};

use crate::language::error::{OptionError, Result};
use crate::language::options::Spec;
use crate::language::options::files::paths::paths;
use crate::language::thread::{Thread, ThreadIndex};
use crate::language::value::Amount;

/// The operations on names of a thread.
///
/// # Errors
/// Settings that do not go with them.
pub(super) fn task(spec: &Spec, place: ThreadIndex, operation: MetadataOperation) -> Result<MetadataTask> {
    let named = paths(spec, place)?;
    let number = named.len() as u64;
    let size = size(spec, number)?;
    let makes = operation.requires().is_none();
    let rounds = (!operation.changes() && !spec.job.goes_on()).then_some(spec.job.loops);
    Ok(MetadataTask {
        name: spec.job.name.clone(),
        together: place.together,
        tree: PathBuf::from("names"),
        operation,
        named,
        // As with fio, a file that exists is opened.
        keep_existing: operation == MetadataOperation::Create,
        remove: spec.files.remove || spec.files.remove_each,
        overwrite: Overwrite::Anything,
        files: number,
        files_per_directory: number,
        random: spec.io.random,
        // As in fio, files are created empty; those that are looked for have their size.
        size: if makes { Bytes(0) } else { size },
        sync: false,
        report_operations: false,
        workers: 1,
        stop: Stop {
            runtime: spec.job.limit(),
            operations: spec.extents.operations,
            loops: rounds,
            ..Stop::default()
        },
        ramp: spec.job.ramp_time,
        interval: Nanos(500_000_000),
        seed: spec.io.seed(place),
    })
}

/// The size of each of the files, of which fio counts each block.
///
/// # Errors
/// It is a percentage.
pub(super) fn size(spec: &Spec, number: u64) -> Result<Bytes> {
    match (spec.extents.file_size, spec.extents.size) {
        (Some((_, max)), _) => Ok(max),
        (None, Some(Amount::Bytes(size))) => Ok(Bytes(size.0 / number.max(1))),
        (None, Some(Amount::Percent(_))) => Err(OptionError::refused(
            format!("a percentage means nothing to ioengine={}", spec.engine.name),
            "specify filesize",
        )
        .at("size")),
        (None, None) => Ok(Bytes(0)),
    }
}

/// What has to be made, unmeasured, before a thread can look for names or remove them.
pub fn preparation(thread: &Thread) -> Option<MetadataTask> {
    let JobTask::Metadata(task) = &thread.task else { return None };
    let operation = task.operation.requires()?;
    Some(MetadataTask {
        operation,
        keep_existing: true,
        remove: false,
        report_operations: false,
        together: false,
        random: false,
        stop: Stop::default(),
        ramp: Nanos(0),
        ..task.clone()
    })
}
