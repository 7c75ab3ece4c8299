//! What operations on names may do to paths that the user names.

// Helpers of tests may give up as tests do.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use iolite_engine::{Control, EngineError, Scratch, run_metadata_task};
use iolite_model::{Bytes, MetadataOperation, MetadataTask, NullSink, Overwrite, RunId, Stop};
use iolite_sys::clock::Clock;
use tempfile::TempDir;

use MetadataOperation::{Create, Rmdir, Stat, Unlink};

fn on(operation: MetadataOperation, paths: &[PathBuf], overwrite: Overwrite) -> MetadataTask {
    MetadataTask {
        name: "paths".into(),
        operation,
        named: paths.to_vec(),
        files: paths.len() as u64,
        files_per_directory: paths.len() as u64,
        keep_existing: operation == Create,
        size: Bytes(if operation == Create { 4096 } else { 0 }),
        overwrite,
        stop: Stop { loops: (operation == Stat).then_some(1), ..Stop::default() },
        ..MetadataTask::default()
    }
}

/// Runs the task; the errors of its operations, if it is not refused.
fn run(directory: &Path, task: &MetadataTask) -> Result<u64, EngineError> {
    let mut scratch = Scratch::create(directory, &RunId("paths".into())).unwrap();
    let outcome = run_metadata_task(
        task,
        0,
        &mut scratch,
        Clock::best(),
        &Control::new(Arc::default()),
        &mut NullSink,
    )?;
    Ok(outcome.errors.iter().map(|error| error.count).sum())
}

fn refused(directory: &Path, task: &MetadataTask, why: &str) {
    let error = run(directory, task).unwrap_err().to_string();
    assert!(error.contains(why), "{:?} {:?}: {error}", task.operation, task.named);
}

fn everything(path: &Path) -> [MetadataTask; 4] {
    let paths = [path.to_owned()];
    let removing = MetadataTask { remove: true, ..on(Stat, &paths, Overwrite::Anything) };
    [
        on(Create, &paths, Overwrite::Anything),
        on(Unlink, &paths, Overwrite::Anything),
        on(Stat, &paths, Overwrite::Anything),
        removing,
    ]
}

#[test]
fn only_regular_files_of_storage_are_touched() {
    let dir = TempDir::new().unwrap();
    let path = |name: &str| dir.path().join(name);
    let _socket = UnixListener::bind(path("socket")).unwrap();
    fs::write(path("precious"), "mine").unwrap();
    symlink(path("precious"), path("link")).unwrap();
    fs::create_dir(path("directory")).unwrap();
    for name in ["socket", "link", "directory"] {
        everything(&path(name)).iter().for_each(|task| refused(dir.path(), task, "not a regular file"));
    }
    for pseudo in ["/proc/sys/kernel/hostname", "/proc/self/made-up", "/sys/made-up"] {
        for task in everything(Path::new(pseudo)) {
            assert!(
                matches!(run(dir.path(), &task), Err(EngineError::Guarded { .. })),
                "{pseudo} {:?}",
                task.operation
            );
        }
    }
    everything(Path::new("/dev/null")).iter().for_each(|task| assert!(run(dir.path(), task).is_err()));
    assert!(path("socket").exists() && path("link").is_symlink() && path("directory").is_dir());
    assert_eq!(fs::read(path("precious")).unwrap(), b"mine");
}

#[test]
fn what_exists_is_changed_only_where_that_is_allowed_and_nobody_uses_it() {
    let dir = TempDir::new().unwrap();
    let path = |name: &str| dir.path().join(name);
    fs::write(path("data"), "mine").unwrap();
    fs::write(path("empty"), "").unwrap();
    fs::create_dir(path("directory")).unwrap();
    let never = |operation, name: &str| on(operation, &[path(name)], Overwrite::Never);
    refused(dir.path(), &never(Unlink, "data"), "`overwrite`");
    refused(dir.path(), &never(Create, "empty"), "`overwrite`");
    refused(dir.path(), &never(Rmdir, "directory"), "`overwrite`");
    let removing = MetadataTask { remove: true, ..never(Stat, "data") };
    refused(dir.path(), &removing, "`overwrite`");
    // Another's lock, or a file that another process may be writing to, is in use.
    let locked = fs::File::options().write(true).open(path("data")).unwrap();
    locked.lock().unwrap();
    assert!(run(dir.path(), &on(Unlink, &[path("data")], Overwrite::Anything)).is_err());
    drop(locked);
    assert_eq!(
        run(dir.path(), &on(Create, &[path("data")], Overwrite::Never)).unwrap(),
        0,
        "it is left as it is"
    );
    assert_eq!(
        (fs::read(path("data")).unwrap(), fs::metadata(path("empty")).unwrap().len()),
        (b"mine".to_vec(), 0)
    );
    assert_eq!(run(dir.path(), &on(Create, &[path("empty")], Overwrite::Anything)).unwrap(), 0);
    assert_eq!(fs::metadata(path("empty")).unwrap().len(), 4096);
    assert_eq!(run(dir.path(), &on(Unlink, &[path("data"), path("empty")], Overwrite::Anything)).unwrap(), 0);
    assert!(!path("data").exists() && !path("empty").exists());
}

#[test]
fn nothing_is_removed_by_a_phase_that_was_refused() {
    let dir = TempDir::new().unwrap();
    let path = |name: &str| dir.path().join(name);
    fs::write(path("data"), "mine").unwrap();
    symlink("data", path("link")).unwrap();
    let task = on(Stat, &[path("data"), path("link")], Overwrite::Anything);
    refused(dir.path(), &MetadataTask { remove: true, ..task }, "not a regular file");
    assert_eq!(fs::read(path("data")).unwrap(), b"mine");
}
