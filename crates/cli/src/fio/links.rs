//! Symbolic links in the place of files that are to be laid out: as in fio, a file takes their place.

use std::fs;
use std::path::Path;

use anyhow::Context;
use iolite_fio::language::Thread;
use iolite_model::{JobTask, LayOut, Target};

/// Removes symbolic links to files that are missing or too short for a thread, which has them laid out: what a link points to
/// is not written. Links to devices and to files that are long enough are followed.
///
/// # Errors
/// One can't be removed.
pub(super) fn replace(threads: &[Thread]) -> anyhow::Result<()> {
    for thread in threads {
        let JobTask::Io(task) = &thread.task else { continue };
        let Target::Files(target) = &task.target else { continue };
        if matches!(target.lay_out, LayOut::Needed | LayOut::Always) {
            for file in &target.files {
                let end = file.offset.0.saturating_add(file.size.0);
                if is_link(&file.path) && is_short(&file.path, end) {
                    fs::remove_file(&file.path).with_context(|| {
                        format!("cannot replace the symbolic link {}", file.path.display())
                    })?;
                }
            }
        }
    }
    Ok(())
}

fn is_link(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|found| found.is_symlink())
}

/// Whether a regular file is shorter than this, or what a link points to is missing.
fn is_short(path: &Path, end: u64) -> bool {
    fs::metadata(path).map_or(true, |found| found.is_file() && found.len() < end)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn links_to_what_is_long_enough_are_followed() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        fs::write(at("file"), [0; 100]).unwrap();
        symlink(at("file"), at("link")).unwrap();
        symlink(at("nothing"), at("broken")).unwrap();
        symlink("/dev/null", at("device")).unwrap();
        let replaced = |name: &str, end| is_link(&at(name)) && is_short(&at(name), end);
        assert!(replaced("link", 101) && replaced("broken", 1));
        assert!(!replaced("link", 100) && !replaced("device", 1) && !replaced("file", 101));
    }
}
