//! A job, looked at but not run.

use std::collections::BTreeMap;
use std::fs::File;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use iolite_jobs::{Language, native};
use iolite_model::{Bytes, Job};
use iolite_report::Style;

use iolite_report::explain::job::{ExistingFile, JobToExplain, SystemContext, text as words};

use crate::exit::UsageError;
use crate::job::{Loaded, check, parse_to_explain, targets};

/// What a job will do, in words, and what it is in iolite's own language where it is written in another.
///
/// # Errors
/// It is not a job: says what was expected, and where.
pub(super) fn explain(path: &Path, text: &str, style: Style) -> Result<String, UsageError> {
    let Loaded { job, mut notes } = parse_to_explain(text, path)?;
    let native = match Language::of(text, Some(path)) {
        Language::Native => None,
        Language::Fio => native::print(&job).map_err(|why| notes.push(why.to_string())).ok(),
    };
    // What is invalid is reported with what the rest means.
    notes.extend(check(&job).err().map(|error| format!("the job would be rejected: {error}")));
    let context = context(&job);
    let explained = JobToExplain { job: &job, notes: &notes, context: &context, native: native.as_deref() };
    Ok(words(explained, style))
}

/// What the job's warnings depend on: the memory, and what of its files is there.
fn context(job: &Job) -> SystemContext {
    let paths = targets(job);
    let found: BTreeMap<PathBuf, ExistingFile> =
        paths.filter_map(|path| Some((path.to_owned(), look_at(path)?))).collect();
    SystemContext { memory: iolite_observe::host().memory, found }
}

fn look_at(path: &Path) -> Option<ExistingFile> {
    let metadata = std::fs::metadata(path).ok()?;
    let device = metadata.file_type().is_block_device();
    if metadata.is_file() {
        return Some(ExistingFile { size: Bytes(metadata.len()), device });
    }
    // Opening anything else might do something to it.
    let size = device.then(|| File::open(path).and_then(|file| iolite_sys::device::size_of(&file)));
    // A device that may not be opened has a size all the same.
    size.map(|size| ExistingFile { size: Bytes(size.unwrap_or_default()), device })
}
