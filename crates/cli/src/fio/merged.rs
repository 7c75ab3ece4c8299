//! Files of merged traces (`merge_blktrace_file`).

use std::fs;

use iolite_fio::language::options::trace::Merged;

use crate::exit::UsageError;

/// Writes merged traces, in place of earlier ones.
///
/// # Errors
/// One can't be written, or its name is that of something other than a file.
pub(super) fn write(merged: &[Merged]) -> Result<(), UsageError> {
    merged.iter().try_for_each(write_one)
}

fn write_one(merged: &Merged) -> Result<(), UsageError> {
    let Merged { path, contents } = merged;
    let failed = |why: &dyn std::fmt::Display| {
        UsageError::new(format!(
            "merge_blktrace_file: cannot write {}: {why}; check the path",
            path.display()
        ))
    };
    // A device that is named by mistake is not overwritten.
    if path.symlink_metadata().is_ok_and(|metadata| !metadata.is_file()) {
        return Err(failed(&"it exists and is no regular file"));
    }
    fs::write(path, contents).map_err(|error| failed(&error))
}
