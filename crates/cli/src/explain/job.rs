//! A job, looked at but not run.

use std::collections::BTreeMap;
use std::fs::File;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use iolite_model::{Bytes, Job, JobTask, Target};
use iolite_report::Style;

use iolite_report::explain::job::{Found, JobToExplain, Surroundings, text};

use crate::exit::UsageError;
use crate::job::Loaded;

/// What a job will do, in words.
///
/// # Errors
/// It is no job: says what was expected, and where.
pub(super) fn explain(path: &Path, job: &str, style: Style) -> Result<String, UsageError> {
    let Loaded { job, mut notes, only_fio } = crate::job::parse(job, path)?;
    notes.extend(only_fio);
    let surroundings = surroundings(&job);
    let native = iolite_jobs::native::print(&job).map_err(UsageError)?;
    let explained =
        JobToExplain { job: &job, notes: &notes, surroundings: &surroundings, native: Some(&native) };
    Ok(text(explained, style))
}

/// What the job's doubts depend on: the memory, and what of its files is there.
fn surroundings(job: &Job) -> Surroundings {
    let paths = job.tasks.iter().filter_map(|task| match task {
        JobTask::Io(task) => Some(&task.target),
        JobTask::Metadata(_) => None,
    });
    let paths = paths.flat_map(|target| match target {
        Target::Existing(existing) => vec![&existing.path],
        Target::Files(files) => files.files.iter().map(|file| &file.path).collect(),
        Target::File(_) | Target::Null { .. } => Vec::new(),
    });
    let found: BTreeMap<PathBuf, Found> =
        paths.filter_map(|path| Some((path.clone(), look_at(path)?))).collect();
    Surroundings { memory: iolite_observe::host().memory, found }
}

fn look_at(path: &Path) -> Option<Found> {
    let metadata = std::fs::metadata(path).ok()?;
    let device = metadata.file_type().is_block_device();
    if metadata.is_file() {
        return Some(Found { size: Bytes(metadata.len()), device });
    }
    // Opening anything else might do something to it.
    let size = device.then(|| File::open(path).and_then(|file| iolite_sys::device::size_of(&file)));
    // A device that may not be opened has a size all the same.
    size.map(|size| Found { size: Bytes(size.unwrap_or_default()), device })
}
