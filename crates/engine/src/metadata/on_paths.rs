//! The guard of paths that the user names for operations on names.

use std::fs;
use std::io;
use std::path::Path;

use iolite_model::{MetadataOperation, MetadataTask, Overwrite};
use iolite_sys::pseudo;

use crate::admit::{Admitted, storage_only};
use crate::error::EngineError;

/// Checks every path of a task: nothing but files (or directories) of storage, and what is changed must be allowed to be, and not
/// be in use.
///
/// # Errors
/// The first path that may not be used, with the reason.
pub(super) fn check(task: &MetadataTask, admitted: &mut Admitted) -> Result<(), EngineError> {
    task.named.iter().try_for_each(|path| check_path(task, path, admitted))
}

fn check_path(task: &MetadataTask, path: &Path, admitted: &mut Admitted) -> Result<(), EngineError> {
    let guarded = |reason: String| Err(EngineError::Guarded { path: path.to_owned(), reason });
    let parent = path.parent().filter(|parent| *parent != Path::new("")).unwrap_or(Path::new("."));
    if let Some(reason) = pseudo::reason_of_directory(parent) {
        return guarded(reason);
    }
    let found = match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(source) => {
            return Err(EngineError::File { action: "examine", path: path.to_owned(), source });
        }
        Ok(found) => found,
    };
    if task.operation.is_of_directories() {
        if !found.is_dir() {
            return guarded("it is not a directory: use another name".into());
        }
        let removes = task.remove || task.operation == MetadataOperation::Rmdir;
        if removes && task.overwrite == Overwrite::Never {
            return guarded("say with `overwrite` that it may be removed (anything)".into());
        }
        return Ok(());
    }
    if !found.is_file() {
        return guarded("it is not a regular file: use another name".into());
    }
    storage_only(path)?;
    let fills = task.operation == MetadataOperation::Create && found.len() == 0 && task.size.0 > 0;
    if fills || task.remove || task.operation == MetadataOperation::Unlink {
        admitted.check(path, task.overwrite)?;
    }
    Ok(())
}

/// Removes what the paths of a task name, as far as it is what the operation is about.
pub(super) fn remove(task: &MetadataTask) {
    for path in &task.named {
        // What was not created, or has been removed, is not there.
        let Ok(found) = fs::symlink_metadata(path) else { continue };
        let _ = match task.operation.is_of_directories() {
            true if found.is_dir() => fs::remove_dir(path),
            false if found.is_file() => fs::remove_file(path),
            _ => Ok(()),
        };
    }
}
