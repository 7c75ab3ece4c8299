//! The files, devices and directories that threads work on.

use std::path::{Path, PathBuf};

use iolite_model::JobTask;

use crate::language::lower::preparation;
use crate::language::thread::Thread;

/// The files and devices that threads work on.
pub fn paths<'a>(threads: impl IntoIterator<Item = &'a Thread>) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = Vec::new();
    for thread in threads {
        // Names are not there to be written to.
        if let JobTask::Io(task) = &thread.task {
            paths.extend(task.target.named().into_iter().map(Path::to_path_buf));
        }
    }
    paths.sort();
    paths.dedup();
    paths
}

/// Where the devices are that results report. As in fio, there are none for names that are only created.
pub fn reported(threads: &[Thread]) -> Vec<PathBuf> {
    let directory = |thread: &Thread| match &thread.task {
        JobTask::Metadata(_) if preparation(thread).is_some() => {
            Some(thread.directory.clone().unwrap_or_else(|| PathBuf::from(".")))
        }
        _ => None,
    };
    paths(threads).into_iter().chain(threads.iter().filter_map(directory)).collect()
}

/// Where the storage is that the jobs are about: all their files, which need not be there yet, or the directories that
/// names are created in.
pub fn places(threads: &[Thread]) -> Vec<PathBuf> {
    let files = paths(threads);
    if files.is_empty() {
        threads.iter().filter_map(|thread| thread.directory.clone()).collect()
    } else {
        files
    }
}
