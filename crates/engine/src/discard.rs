//! Removing what a run has created for a task, so that the task can run again as it did the first time.

use std::fs;
use std::path::Path;

use iolite_model::{JobTask, Target};

use crate::error::EngineError;
use crate::guard::{Scratch, removed};
use crate::target::own_names;

/// Removes the files and trees of a task as far as this run has created them; what was there before the run is kept.
///
/// # Errors
/// A file can't be removed.
pub fn remove_created(task: &JobTask, scratch: &mut Scratch) -> Result<(), EngineError> {
    match task {
        JobTask::Metadata(task) => scratch.remove_tree(&task.tree),
        JobTask::Io(task) => match &task.target {
            Target::File(file) => {
                own_names(file, task.workers).iter().try_for_each(|name| scratch.remove(name))
            }
            Target::Files(files) => {
                let removed = files.files.iter().try_for_each(|named| remove_named(&named.path, scratch));
                scratch.admitted().begin_set();
                removed
            }
            Target::Null { .. } | Target::Existing(_) => Ok(()),
        },
    }
}

fn remove_named(path: &Path, scratch: &mut Scratch) -> Result<(), EngineError> {
    match fs::symlink_metadata(path) {
        Ok(found) if scratch.admitted().has_created(&found) => removed(path, fs::remove_file(path)),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use iolite_model::{Bytes, FileTarget, FileTask, FilesTarget, MetadataTask, NamedFile, RunId};

    use super::*;

    #[test]
    fn only_what_the_run_has_created_is_removed_and_can_be_created_again() {
        let place = tempfile::tempdir().unwrap();
        let mut scratch = Scratch::create(place.path(), &RunId("r".into())).unwrap();
        let target = FileTarget {
            name: "data".into(),
            size: Bytes(4096),
            create: true,
            preallocate: false,
            per_worker: true,
        };
        let own = FileTask { target: Target::File(target), workers: 2, ..FileTask::default() };
        let names = ["data.0", "data.1"].map(|name| scratch.claim(Path::new(name)).unwrap());
        let (theirs, made) = (place.path().join("theirs"), place.path().join("made"));
        fs::write(&theirs, "kept").unwrap();
        scratch.admitted().make(&made).unwrap();
        let named = |path: &Path| NamedFile { path: path.to_owned(), offset: Bytes(0), size: Bytes(0) };
        let files = FilesTarget::of(vec![named(&theirs), named(&made)]);
        let files = FileTask { target: Target::Files(files), ..FileTask::default() };
        let tasks = [
            JobTask::Io(Box::new(own)),
            JobTask::Io(Box::new(files)),
            JobTask::Metadata(MetadataTask::default()),
        ];
        for _ in 0..2 {
            names.iter().for_each(|name| drop(fs::File::create_new(name).unwrap()));
            let tree = scratch.claim_tree(&MetadataTask::default().tree).unwrap();
            tree.make_directory("w00000").unwrap();
            tasks.iter().for_each(|task| remove_created(task, &mut scratch).unwrap());
            assert!(names.iter().all(|name| !name.exists()) && !scratch.path().join("tree").exists());
            assert!(theirs.exists() && !made.exists());
            scratch.admitted().make(&made).unwrap();
        }
    }
}
