//! The guard: nothing is written except into files that this program made, inside a directory that it made.
//!
//! A run's files live in a [`Scratch`] directory. Its `owner` file is locked while the run lives and lists every file
//! before it is made, so that the next run can tell a dead run's leftovers, and removes exactly those.

use std::collections::BTreeSet;
use std::fs::{self, DirBuilder, File};
use std::io::{self, Read, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use iolite_model::RunId;
use iolite_sys::directory::Directory;
use iolite_sys::file;

use crate::EngineError;

/// "No locks available" of Linux: what some network file systems answer.
const ENOLCK: i32 = 37;

/// Start of the names of scratch directories.
const PREFIX: &str = ".iolite-";

/// How long a run may take from making its directory to owning it.
const BEGINNING: Duration = Duration::from_secs(60);

/// The file that tells whose a scratch directory is, and what is in it.
const OWNER: &str = "owner";

/// Its name until it is locked.
const NEW_OWNER: &str = "owner.new";

/// First line of the owner file: a directory without it is not ours.
const MAGIC: &str = "iolite scratch directory; the files named below are removed by the next iolite check";

/// A directory for a run's files, gone with all of them when dropped.
#[derive(Debug)]
pub struct Scratch {
    path: PathBuf,
    owner: File,
    names: BTreeSet<PathBuf>,
}

/// What was found of a run that died.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Leftover {
    /// The run.
    pub run: RunId,
    /// Where.
    pub path: PathBuf,
    /// Files removed.
    pub files: usize,
    /// Bytes freed.
    pub bytes: u64,
    /// Whether something that is not iolite's was in the directory, which is kept for that reason.
    pub kept: bool,
}

impl Scratch {
    /// Makes a scratch directory for a run inside `directory`.
    ///
    /// # Errors
    /// The directory does not exist, is not writable, or has no space left.
    pub fn create(directory: &Path, run: &RunId) -> Result<Scratch, EngineError> {
        let failed = |source| EngineError::Scratch { directory: directory.to_owned(), source };
        let path = directory.join(format!("{PREFIX}{run}"));
        DirBuilder::new().mode(0o700).create(&path).map_err(failed)?;
        match own(&path, run) {
            Ok(owner) => Ok(Scratch { path, owner, names: BTreeSet::new() }),
            Err(source) => {
                for name in [OWNER, NEW_OWNER] {
                    let _ = fs::remove_file(path.join(name));
                }
                let _ = fs::remove_dir(&path);
                Err(failed(source))
            }
        }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Claims a name for a file that is about to be made, and returns its path. The name is written down first, so that
    /// the file is known as ours even after a crash.
    ///
    /// # Errors
    /// The name is not a plain file name, or cannot be written down.
    pub fn claim(&mut self, name: &Path) -> Result<PathBuf, EngineError> {
        let path = self.path.join(name);
        let failed = |source| EngineError::File { action: "claim", path: path.clone(), source };
        let plain =
            path.parent() == Some(&self.path) && name != Path::new(OWNER) && name.file_name().is_some();
        let text = name.to_str().filter(|text| plain && !text.contains('\n'));
        let text =
            text.ok_or_else(|| failed(io::Error::new(io::ErrorKind::InvalidInput, "not a plain file name")))?;
        if !self.names.contains(name) {
            writeln!(&self.owner, "{text}").map_err(failed)?;
            self.names.insert(name.to_owned());
        }
        Ok(path)
    }

    /// The path of a file that was claimed.
    ///
    /// # Errors
    /// It was not.
    pub fn claimed(&self, name: &Path) -> Result<PathBuf, EngineError> {
        let path = self.path.join(name);
        if self.names.contains(name) {
            Ok(path)
        } else {
            let source = io::Error::new(io::ErrorKind::NotFound, "this run has not made it");
            Err(EngineError::File { action: "open", path, source })
        }
    }

    /// Removes one claimed file now, to make room.
    pub fn remove(&mut self, name: &Path) {
        if self.names.contains(name) {
            let _ = fs::remove_file(self.path.join(name));
        }
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        for name in &self.names {
            let _ = fs::remove_file(self.path.join(name));
        }
        // With files left (a thread that was given up on may have made one again) the list of them has to stay.
        if fs::read_dir(&self.path).is_ok_and(|left| left.count() == 1) {
            let _ = fs::remove_file(self.path.join(OWNER));
        }
        let _ = fs::remove_dir(&self.path);
    }
}

/// Makes the owner file and locks it. It gets its name only once it is locked, so that no other run takes it for a
/// dead one's in between.
fn own(path: &Path, run: &RunId) -> io::Result<File> {
    let new = path.join(NEW_OWNER);
    let mut owner = file::create_new(&new, false)?;
    match owner.lock() {
        // Where there are no locks, nobody takes ours for a dead one's either.
        Err(error) if error.kind() == io::ErrorKind::Unsupported || error.raw_os_error() == Some(ENOLCK) => {}
        other => other?,
    }
    writeln!(owner, "{MAGIC}\n{run}")?;
    fs::rename(&new, path.join(OWNER))?;
    Ok(owner)
}

/// Removes what dead runs have left in `directory`: the files they had written down, then their directories. Runs that
/// live, and anything that is not iolite's, are left alone.
///
/// # Errors
/// The directory cannot be read.
pub fn remove_leftovers(directory: &Path) -> io::Result<Vec<Leftover>> {
    let mut leftovers = Vec::new();
    for entry in fs::read_dir(directory)? {
        let Ok(entry) = entry else { continue };
        let name = entry.file_name();
        let Some(run) = name.to_str().and_then(|name| name.strip_prefix(PREFIX)) else { continue };
        leftovers.extend(remove_dead(&entry.path(), RunId(run.to_owned())));
    }
    Ok(leftovers)
}

/// Removes a scratch directory when its run is dead: when nobody holds the lock on its owner file. The directory is held
/// open meanwhile, so that nothing done here can be led elsewhere.
fn remove_dead(path: &Path, run: RunId) -> Option<Leftover> {
    let directory = Directory::open(path).ok()?;
    if directory.user().ok()? != file::effective_user() {
        return None;
    }
    let mut leftover = Leftover { run, path: path.to_owned(), files: 0, bytes: 0, kept: false };
    let Ok(mut owner) = directory.open_file(OWNER) else { return remove_unborn(&directory, leftover) };
    // Shared, because an exclusive lock needs a file open for writing on some network file systems.
    owner.try_lock_shared().ok()?;
    let mut text = String::new();
    owner.read_to_string(&mut text).ok()?;
    let mut lines = text.lines();
    if lines.next() != Some(MAGIC) || lines.next() != Some(&leftover.run.0) {
        return None;
    }
    for name in lines.filter(|name| is_plain(name)) {
        if let Ok(bytes) = directory.remove_file(name) {
            leftover.files += 1;
            leftover.bytes += bytes;
        }
    }
    leftover.kept = directory.names().is_ok_and(|names| names.iter().any(|name| name != OWNER));
    if !leftover.kept {
        let _ = directory.remove_file(OWNER);
        let _ = fs::remove_dir(path);
    }
    Some(leftover)
}

/// Removes the directory of a run that died before it owned it: empty, or with nothing but an owner file to be, and not
/// of a run that is only just beginning.
fn remove_unborn(directory: &Directory, leftover: Leftover) -> Option<Leftover> {
    let made = fs::symlink_metadata(&leftover.path).and_then(|meta| meta.modified()).ok()?;
    if made.elapsed().ok()? < BEGINNING {
        return None;
    }
    match directory.names().ok()?.as_slice() {
        [] => {}
        [only] if only == NEW_OWNER => {
            directory.open_file(NEW_OWNER).ok()?.try_lock_shared().ok()?;
            directory.remove_file(NEW_OWNER).ok()?;
        }
        _ => return None,
    }
    fs::remove_dir(&leftover.path).is_ok().then_some(leftover)
}

/// Whether a name can only mean a file in the directory itself.
fn is_plain(name: &str) -> bool {
    !name.is_empty() && !name.contains('/') && name != "." && name != ".." && name != OWNER
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(name: &str) -> RunId {
        RunId(name.into())
    }

    #[test]
    fn a_scratch_directory_goes_with_all_it_made() {
        let dir = tempfile::tempdir().unwrap();
        let mut scratch = Scratch::create(dir.path(), &run("a")).unwrap();
        fs::write(scratch.claim(Path::new("data")).unwrap(), "x").unwrap();
        assert!(scratch.claimed(Path::new("data")).is_ok());
        assert!(scratch.claimed(Path::new("other")).is_err());
        drop(scratch);
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
    }

    #[test]
    fn names_that_lead_elsewhere_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        let mut scratch = Scratch::create(dir.path(), &run("a")).unwrap();
        for name in ["../file", "/etc/passwd", "a/b", "owner", "", "..", "a\nb"] {
            assert!(scratch.claim(Path::new(name)).is_err(), "{name:?}");
        }
    }

    #[test]
    fn only_a_dead_runs_own_files_are_removed() {
        let dir = tempfile::tempdir().unwrap();
        let live = Scratch::create(dir.path(), &run("live")).unwrap();
        let mut dead = Scratch::create(dir.path(), &run("dead")).unwrap();
        fs::write(dead.claim(Path::new("data")).unwrap(), "x").unwrap();
        let mut mixed = Scratch::create(dir.path(), &run("mixed")).unwrap();
        fs::write(mixed.claim(Path::new("data")).unwrap(), "x").unwrap();
        fs::write(mixed.path().join("precious"), "x").unwrap();
        for scratch in [&dead, &mixed] {
            scratch.owner.unlock().unwrap();
        }
        let foreign = dir.path().join(".iolite-foreign");
        fs::create_dir(&foreign).unwrap();
        fs::write(foreign.join(OWNER), "something else\ndata\n").unwrap();
        fs::write(foreign.join("data"), "x").unwrap();
        std::os::unix::fs::symlink(&foreign, dir.path().join(".iolite-link")).unwrap();

        let mut found = remove_leftovers(dir.path()).unwrap();
        found.sort_by(|a, b| a.run.cmp(&b.run));
        assert_eq!(
            found.iter().map(|l| (l.run.0.as_str(), l.files, l.kept)).collect::<Vec<_>>(),
            [("dead", 1, false), ("mixed", 1, true)]
        );
        assert!(!dead.path().exists() && live.path().exists() && foreign.join("data").exists());
        assert!(mixed.path().join("precious").exists());
        std::mem::forget(dead);
    }

    #[test]
    fn a_directory_that_does_not_exist_is_said() {
        let error = Scratch::create(Path::new("/nowhere/at/all"), &run("a")).unwrap_err().to_string();
        assert!(error.contains("/nowhere/at/all") && error.contains("check the path"), "{error}");
    }
}
