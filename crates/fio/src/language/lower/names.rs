//! Operations on names.

use std::path::PathBuf;

use iolite_model::{Bytes, JobTask, MetadataOperation, MetadataTask, Nanos, OpKind, Stop};

use crate::language::error::{OptionError, Result};
use crate::language::options::Spec;
use crate::language::thread::{Thread, ThreadIndex};
use crate::language::value::Amount;

/// The operations on names of a thread.
///
/// # Errors
/// Settings that do not go with them.
pub(super) fn task(spec: &Spec, place: ThreadIndex, operation: MetadataOperation) -> Result<MetadataTask> {
    let files = &spec.files;
    let number = if files.names.is_empty() { u64::from(files.number) } else { files.names.len() as u64 };
    let size = match (spec.extents.file_size, spec.extents.size) {
        (Some((_, max)), _) => max,
        (None, Some(Amount::Bytes(size))) => Bytes(size.0 / number),
        (None, Some(Amount::Percent(_))) => {
            return Err(OptionError::refused(
                format!("a percentage means nothing to ioengine={}", spec.engine.name),
                "specify filesize",
            )
            .at("size"));
        }
        (None, None) => Bytes(0),
    };
    let makes = operation.requires().is_none();
    let rounds = (operation.kind() == OpKind::Stat && !spec.job.goes_on()).then_some(spec.job.loops);
    Ok(MetadataTask {
        name: spec.job.name.clone(),
        together: place.together,
        tree: tree(&spec.job.name, place),
        operation,
        files: number,
        files_per_directory: number,
        random: spec.io.random,
        // As in fio, files are created empty; those that are looked for have their size.
        size: if makes { Bytes(0) } else { size },
        sync: false,
        workers: 1,
        stop: Stop {
            runtime: spec.job.limit(),
            operations: spec.extents.operations,
            loops: rounds,
            ..Stop::default()
        },
        ramp: spec.job.ramp,
        interval: Nanos(500_000_000),
        seed: spec.io.seed(place),
    })
}

/// A name of its own for a thread's files, without what a file's name may not hold.
fn tree(name: &str, place: ThreadIndex) -> PathBuf {
    let plain: String = name
        .chars()
        .take(100)
        .map(|c| if c.is_ascii_alphanumeric() || c == '-' || c == '_' { c } else { '_' })
        .collect();
    PathBuf::from(format!("{plain}.{}", place.number))
}

/// What has to be made, unmeasured, before a thread can look for names or remove them.
pub fn preparation(thread: &Thread) -> Option<MetadataTask> {
    let JobTask::Metadata(task) = &thread.task else { return None };
    let operation = task.operation.requires()?;
    Some(MetadataTask {
        operation,
        together: false,
        random: false,
        stop: Stop::default(),
        ramp: Nanos(0),
        ..task.clone()
    })
}
