//! The guard: nothing is written except into files that this program made, inside a directory that it made.
//!
//! A run's files live in a [`Scratch`] directory. Its `owner` file is locked while the run lives and lists every file
//! before it is made, so that the next run can recognise a dead run's leftovers, and removes exactly those. Many small files
//! are listed as one [`tree`]: by its name with a slash after it, which versions without trees take for no file's.

pub(crate) mod tree;

use std::collections::BTreeSet;
use std::fs::{self, DirBuilder, File};
use std::io::{self, Read, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use iolite_model::errno::ENOLCK;
use iolite_model::{Overwrite, RunId, Warning};
use iolite_sys::directory::Directory;
use iolite_sys::file::Access;
use iolite_sys::{file, pseudo};

use crate::admit::{Admitted, Overwriting};
use crate::error::EngineError;

/// Start of the names of scratch directories.
const PREFIX: &str = ".iolite-";

/// How long a run may take from making its directory to owning it.
const BEGINNING: Duration = Duration::from_secs(60);

/// The file that records the owner of a scratch directory and its contents.
const OWNER: &str = "owner";

/// Its name until it is locked.
const NEW_OWNER: &str = "owner.new";

/// First line of the owner file: a directory without it is not ours.
const MAGIC: &str = "iolite scratch directory; the files named below are removed by the next iolite check";

/// A directory for a run's files, gone with all of them when dropped.
#[derive(Debug)]
pub struct Scratch {
    /// The directory that it is created in.
    parent: PathBuf,
    path: PathBuf,
    run: RunId,
    /// `None` until the directory is created.
    owner: Option<File>,
    names: BTreeSet<PathBuf>,
    trees: BTreeSet<PathBuf>,
    /// What exists already and may be written to.
    admitted: Admitted,
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
        let mut scratch = Scratch::on_demand(directory, run);
        scratch.owner()?;
        Ok(scratch)
    }

    /// A scratch directory that is made when the first file is claimed: a run without files of its own needs no directory
    /// that can be written to.
    pub fn on_demand(directory: &Path, run: &RunId) -> Scratch {
        Scratch {
            parent: directory.to_owned(),
            path: directory.join(format!("{PREFIX}{run}")),
            run: run.clone(),
            owner: None,
            names: BTreeSet::new(),
            trees: BTreeSet::new(),
            admitted: Admitted::default(),
        }
    }

    /// The owner file; the directory is made first, where it is not there yet.
    fn owner(&mut self) -> Result<&File, EngineError> {
        let owner = match self.owner.take() {
            Some(owner) => owner,
            None => make(&self.parent, &self.path, &self.run)?,
        };
        Ok(self.owner.insert(owner))
    }

    /// Says which devices with data on them this run may overwrite; none, unless said.
    pub fn allow_overwriting(&mut self, overwriting: Overwriting) {
        self.admitted.overwriting = overwriting;
    }

    /// Keeps tasks from files that this program itself has in use: they are refused as targets, also for reading.
    pub fn reserve(&mut self, files: Vec<PathBuf>) {
        self.admitted.reserved = files;
    }

    /// Opens an existing target to be overwritten as a whole, having made sure that it may be: not in use, and allowed to be
    /// overwritten where it holds data.
    ///
    /// # Errors
    /// It can't be opened, or may not be overwritten.
    pub fn open_to_overwrite(&mut self, path: &Path) -> Result<File, EngineError> {
        let access = Access { write: true, ..Access::default() };
        Ok(self.admitted.open(path, Overwrite::Anything, access)?.0)
    }

    /// What is to be known of the targets that were admitted since it was asked last, before anything is done with them.
    pub fn warning(&mut self) -> Option<Warning> {
        let targets: Vec<PathBuf> = std::mem::take(&mut self.admitted.unexamined).into_iter().collect();
        (!targets.is_empty()).then_some(Warning::UsersUnseen { targets })
    }

    /// The targets that exist already and that this run may write to.
    pub(crate) fn admitted(&mut self) -> &mut Admitted {
        &mut self.admitted
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
        let text = writable(name).map_err(failed)?;
        if self.trees.contains(name) {
            return Err(failed(io::Error::new(io::ErrorKind::AlreadyExists, "it is a tree of files")));
        }
        if !self.names.contains(name) {
            writeln!(self.owner()?, "{text}").map_err(failed)?;
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
            let source = io::Error::new(io::ErrorKind::NotFound, "it was not created by this run");
            Err(EngineError::File { action: "open", path, source })
        }
    }

    /// Claims a name for a [`tree`] of files and makes the directory, after writing the name down; or opens it, where
    /// this run has created it already.
    ///
    /// # Errors
    /// The name is not a plain one or a file's, cannot be written down, or the directory cannot be made.
    pub(crate) fn claim_tree(&mut self, name: &Path) -> Result<Directory, EngineError> {
        let path = self.path.join(name);
        let failed = |source| EngineError::File { action: "create", path: path.clone(), source };
        let text = writable(name).map_err(failed)?;
        if self.names.contains(name) {
            return Err(failed(io::Error::new(io::ErrorKind::AlreadyExists, "it is a file")));
        }
        let made = self.trees.contains(name);
        if !made {
            writeln!(self.owner()?, "{text}/").map_err(failed)?;
        }
        let scratch = Directory::open(&self.path).map_err(failed)?;
        if !made {
            scratch.make_directory(text).map_err(failed)?;
            self.trees.insert(name.to_owned());
        }
        scratch.open_directory(text).map_err(failed)
    }

    /// The directory of a tree that was claimed; `None` where it was not.
    ///
    /// # Errors
    /// It cannot be opened.
    pub(crate) fn claimed_tree(&self, name: &Path) -> Result<Option<Directory>, EngineError> {
        if !self.trees.contains(name) {
            return Ok(None);
        }
        let path = self.path.join(name);
        let opened = Directory::open(&path);
        opened.map(Some).map_err(|source| EngineError::File { action: "open", path, source })
    }

    /// Removes a claimed file now, to make room or so that it can be created again.
    ///
    /// # Errors
    /// It can't be removed.
    pub fn remove(&mut self, name: &Path) -> Result<(), EngineError> {
        if !self.names.contains(name) {
            return Ok(());
        }
        let path = self.path.join(name);
        removed(&path, fs::remove_file(&path))
    }

    /// Removes a claimed tree now, so that it can be created again.
    ///
    /// # Errors
    /// The scratch directory can't be opened, or the tree holds something that is not this run's.
    pub(crate) fn remove_tree(&mut self, name: &Path) -> Result<(), EngineError> {
        let path = self.path.join(name);
        let Some(text) = name.to_str().filter(|_| self.trees.contains(name)) else { return Ok(()) };
        let failed = |source| EngineError::File { action: "remove", path: path.clone(), source };
        tree::remove(&Directory::open(&self.path).map_err(failed)?, text);
        if path.exists() {
            return Err(failed(io::Error::new(io::ErrorKind::DirectoryNotEmpty, "it holds other files")));
        }
        self.trees.remove(name);
        Ok(())
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if self.owner.is_none() {
            return;
        }
        for name in &self.names {
            let _ = fs::remove_file(self.path.join(name));
        }
        if let Ok(scratch) = Directory::open(&self.path) {
            for name in self.trees.iter().filter_map(|name| name.to_str()) {
                let _ = tree::remove(&scratch, name);
            }
        }
        // With files left (a thread that was given up on may have made one again) the list of them has to stay.
        if fs::read_dir(&self.path).is_ok_and(|left| left.count() == 1) {
            let _ = fs::remove_file(self.path.join(OWNER));
        }
        let _ = fs::remove_dir(&self.path);
    }
}

/// What came of a removal: a file that is not there need not be removed.
pub(crate) fn removed(path: &Path, outcome: io::Result<()>) -> Result<(), EngineError> {
    match outcome {
        Err(source) if source.kind() != io::ErrorKind::NotFound => {
            Err(EngineError::File { action: "remove", path: path.to_owned(), source })
        }
        _ => Ok(()),
    }
}

/// Makes a scratch directory in `parent`, and its owner file.
fn make(parent: &Path, path: &Path, run: &RunId) -> Result<File, EngineError> {
    let failed = |source| EngineError::Scratch { directory: parent.to_owned(), source };
    // A directory there would be a setting of the kernel's, such as a control group.
    if let Some(reason) = pseudo::reason_of_directory(parent) {
        return Err(EngineError::Guarded { path: parent.to_owned(), reason });
    }
    DirBuilder::new().mode(0o700).create(path).map_err(failed)?;
    own(path, run).map_err(|source| {
        for name in [OWNER, NEW_OWNER] {
            let _ = fs::remove_file(path.join(name));
        }
        let _ = fs::remove_dir(path);
        failed(source)
    })
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
    for line in lines {
        if let Some(name) = line.strip_suffix('/').filter(|name| is_plain(name)) {
            let removed = tree::remove(&directory, name);
            leftover.files += removed.files;
            leftover.bytes += removed.bytes;
        } else if is_plain(line)
            && let Ok(bytes) = directory.remove_file(line)
        {
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

/// A name as it is written down: a line of its own, which means something in the scratch directory itself.
fn writable(name: &Path) -> io::Result<&str> {
    let text = name.to_str().filter(|text| is_plain(text) && !text.contains(['\n', '\r', '\0']));
    text.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "not a plain file name"))
}

/// Whether a name can only mean a file in the directory itself.
pub(crate) fn is_plain(name: &str) -> bool {
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
    fn without_a_file_no_directory_is_made() {
        let dir = tempfile::tempdir().unwrap();
        let mut scratch = Scratch::on_demand(dir.path(), &run("a"));
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
        fs::write(scratch.claim(Path::new("data")).unwrap(), "x").unwrap();
        let owner = fs::read_to_string(scratch.path().join(OWNER)).unwrap();
        assert!(owner.starts_with(MAGIC) && owner.ends_with("\na\ndata\n"), "{owner}");
        drop(scratch);
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
        let nowhere = Path::new("/nowhere/at/all");
        let error = Scratch::on_demand(nowhere, &run("a")).claim(Path::new("data")).unwrap_err().to_string();
        assert!(error.contains("/nowhere/at/all") && error.contains("check the path"), "{error}");
        // What another run has under its name stays.
        let other = Scratch::create(dir.path(), &run("a")).unwrap();
        drop(Scratch::on_demand(dir.path(), &run("a")));
        assert!(other.path().join(OWNER).exists());
    }

    #[test]
    fn names_that_lead_elsewhere_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        let mut scratch = Scratch::create(dir.path(), &run("a")).unwrap();
        for name in ["../file", "/etc/passwd", "a/b", "a/", "owner", "", ".", "..", "a\nb", "a\r"] {
            assert!(scratch.claim(Path::new(name)).is_err(), "{name:?}");
            assert!(scratch.claim_tree(Path::new(name)).is_err(), "{name:?}");
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
        for scratch in [&mut dead, &mut mixed] {
            scratch.owner().unwrap().unlock().unwrap();
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
        assert_eq!(fs::read(mixed.path().join("precious")).unwrap(), b"x");
        assert_eq!(fs::read(foreign.join("data")).unwrap(), b"x");
        std::mem::forget(dead);
    }

    #[test]
    fn a_directory_that_does_not_exist_is_said() {
        let error = Scratch::create(Path::new("/nowhere/at/all"), &run("a")).unwrap_err().to_string();
        assert!(error.contains("/nowhere/at/all") && error.contains("check the path"), "{error}");
    }

    #[test]
    fn a_name_is_a_files_or_a_trees() {
        let dir = tempfile::tempdir().unwrap();
        let mut scratch = Scratch::create(dir.path(), &run("a")).unwrap();
        let (file, tree) = (Path::new("file"), Path::new("tree"));
        scratch.claim(file).unwrap();
        assert!(scratch.claimed_tree(tree).unwrap().is_none());
        scratch.claim_tree(tree).unwrap().make_directory("w00000").unwrap();
        scratch.claim_tree(tree).unwrap().remove_directory("w00000").unwrap();
        assert!(scratch.claim(tree).is_err() && scratch.claim_tree(file).is_err());
        assert!(scratch.claimed(tree).is_err() && scratch.claimed_tree(file).unwrap().is_none());
        assert!(scratch.claimed_tree(tree).unwrap().is_some());
        let owner = fs::read_to_string(scratch.path().join(OWNER)).unwrap();
        assert!(owner.ends_with("\nfile\ntree/\n"), "{owner}");
        drop(scratch);
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_dead_runs_tree_is_removed_but_for_what_is_not_its() {
        let dir = tempfile::tempdir().unwrap();
        let mut dead = Scratch::create(dir.path(), &run("dead")).unwrap();
        let mut mixed = Scratch::create(dir.path(), &run("mixed")).unwrap();
        for scratch in [&mut dead, &mut mixed] {
            let tree = scratch.claim_tree(Path::new("tree")).unwrap();
            for name in ["w00000", "w00000/d000000000", "w00000/d000000000/s000000000"] {
                tree.make_directory(name).unwrap();
            }
            tree.make_file("w00000/d000000000/f000000000").unwrap();
            scratch.owner().unwrap().unlock().unwrap();
        }
        let precious = mixed.path().join("tree/w00000/precious");
        fs::write(&precious, "x").unwrap();
        let mut found = remove_leftovers(dir.path()).unwrap();
        found.sort_by(|a, b| a.run.cmp(&b.run));
        let reported: Vec<_> = found.iter().map(|l| (l.run.0.as_str(), l.files, l.kept)).collect();
        assert_eq!(reported, [("dead", 1, false), ("mixed", 1, true)]);
        assert!(!dead.path().exists() && precious.exists());
        assert_eq!(fs::read_dir(precious.parent().unwrap()).unwrap().count(), 1);
        fs::remove_file(precious).unwrap();
        let found = remove_leftovers(dir.path()).unwrap();
        assert_eq!(found.iter().map(|l| (l.files, l.kept)).collect::<Vec<_>>(), [(0, false)]);
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
    }
}
