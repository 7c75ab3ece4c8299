//! A copy of a database's file for one run, in a directory of its own beside it.
//!
//! The directory is ours by a marker that is in it before anything else, and in use as long as somebody holds the marker's lock.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self as std_io, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use iolite_db::{Error, Result};
use iolite_model::Bytes;

/// Name of the directory.
const DIRECTORY: &str = "iolite-copy";
/// Name of the marker.
const MARKER: &str = "created-by-iolite";
/// Bytes that are copied at once.
const CHUNK: usize = 1 << 20;

/// The lock on a copy, held as long as this is.
#[derive(Debug)]
pub(super) struct Held(File);

/// The directory of the copy of a file.
pub(super) fn directory(original: &Path) -> PathBuf {
    original.with_file_name(DIRECTORY)
}

/// How the copy of a file is removed by hand.
pub(super) fn removal(original: &Path) -> String {
    format!("rm -r '{}'", directory(original).display())
}

/// Copies a file byte by byte, so that its blocks are allocated as those of a new file: a reflink would make each first write to a block
/// an allocation. Where that fails, or `stop` says that it is to end, the directory is removed.
///
/// # Errors
/// [`Error::Io`], [`Error::NoSpace`], [`Error::Cancelled`]; the directory must not exist.
pub(super) fn create(original: &Path, stop: &(dyn Fn() -> bool + Sync)) -> Result<Held> {
    let directory = directory(original);
    fs::create_dir(&directory).map_err(|e| Error::io("create", &directory, e))?;
    let marker = directory.join(MARKER);
    let file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(&marker)
        .map_err(|e| Error::io("create", &marker, e))?;
    let held = locked(file, original)?;
    let copy = directory.join(original.file_name().unwrap_or_default());
    match copied(original, &copy, stop) {
        Ok(()) => Ok(held),
        Err(error) => {
            // What could not be removed is refused by name when it is in the way.
            let _ = fs::remove_file(&copy);
            let _ = fs::remove_file(&marker).and_then(|()| fs::remove_dir(&directory));
            Err(error)
        }
    }
}

fn copied(original: &Path, copy: &Path, stop: &(dyn Fn() -> bool + Sync)) -> Result<()> {
    let size = fs::metadata(original).map_err(|e| Error::io("examine", original, e))?.len();
    iolite_db::space::check_space(&directory(original), Bytes(size))?;
    let failed = |e| Error::io("copy to", copy, e);
    let mut from = File::open(original).map_err(|e| Error::io("open", original, e))?;
    let mut to = OpenOptions::new().write(true).create_new(true).open(copy).map_err(failed)?;
    let mut chunk = vec![0; CHUNK];
    loop {
        if stop() {
            return Err(Error::Cancelled);
        }
        match from.read(&mut chunk).map_err(failed)? {
            0 => break,
            read => to.write_all(&chunk[..read]).map_err(failed)?,
        }
    }
    to.sync_all().map_err(failed)
}

/// Removes the directory with the files of these names, if it is there; `held` is the lock of this process, if it has one.
///
/// # Errors
/// [`Error::Unmarked`] where the directory is none, has no marker, or there is anything else in it; [`Error::Busy`] where another
/// process holds its lock; [`Error::Io`].
pub(super) fn remove(original: &Path, names: &[String], held: Option<Held>) -> Result<()> {
    let directory = directory(original);
    match fs::symlink_metadata(&directory) {
        Err(error) if error.kind() == std_io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(Error::io("examine", &directory, error)),
        Ok(found) if !found.is_dir() => return Err(unmarked(&directory, original)),
        Ok(_) => {}
    }
    // Held until the directory is gone.
    let _held = match held {
        Some(held) => held,
        None => lock(&directory.join(MARKER), original)?,
    };
    let failed = |e| Error::io("read", &directory, e);
    let mut files = Vec::new();
    for entry in fs::read_dir(&directory).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let name = entry.file_name();
        let is_file = entry.file_type().map_err(failed)?.is_file();
        if name == MARKER {
            continue;
        }
        if !is_file || !names.iter().any(|own| **own == *name) {
            return Err(unmarked(&entry.path(), original));
        }
        files.push(entry.path());
    }
    // The marker last: what is left of a removal that was interrupted is still ours.
    files.push(directory.join(MARKER));
    for file in &files {
        fs::remove_file(file).map_err(|e| Error::io("remove", file, e))?;
    }
    fs::remove_dir(&directory).map_err(|e| Error::io("remove", &directory, e))
}

fn unmarked(path: &Path, original: &Path) -> Error {
    Error::Unmarked { what: path.display().to_string(), remove: removal(original) }
}

/// Takes the lock of a directory that is there.
fn lock(marker: &Path, original: &Path) -> Result<Held> {
    let nofollow = rustix::fs::OFlags::NOFOLLOW.bits() as i32;
    let file = match OpenOptions::new().read(true).custom_flags(nofollow).open(marker) {
        Ok(file) => file,
        Err(error) if error.kind() == std_io::ErrorKind::PermissionDenied => {
            return Err(Error::io("open", marker, error));
        }
        Err(_) => return Err(unmarked(&directory(original), original)),
    };
    let held = locked(file, original)?;
    // Another process may have removed the directory before the lock was had, and a third one made it anew.
    let failed = |e| Error::io("examine", marker, e);
    let (ours, there) = (held.0.metadata().map_err(failed)?, fs::symlink_metadata(marker).map_err(failed)?);
    match (ours.dev(), ours.ino()) == (there.dev(), there.ino()) {
        true => Ok(held),
        false => Err(busy(original)),
    }
}

fn locked(file: File, original: &Path) -> Result<Held> {
    match file.try_lock() {
        Ok(()) => Ok(Held(file)),
        Err(TryLockError::WouldBlock) => Err(busy(original)),
        Err(TryLockError::Error(error)) => Err(Error::io("lock", &directory(original), error)),
    }
}

fn busy(original: &Path) -> Error {
    Error::Busy { what: format!("the copy in {}", directory(original).display()) }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn go() -> bool {
        false
    }

    fn names() -> [String; 2] {
        ["a.db".to_owned(), "a.db-wal".to_owned()]
    }

    /// A directory with a file to copy.
    fn place() -> (tempfile::TempDir, PathBuf, Vec<u8>) {
        let place = tempfile::tempdir().unwrap();
        let original = place.path().join("a.db");
        let contents: Vec<u8> = (0..3 * CHUNK / 2).map(|byte| byte as u8).collect();
        fs::write(&original, &contents).unwrap();
        (place, original, contents)
    }

    #[test]
    fn a_copy_is_the_same_and_removed_with_nothing_else() {
        let (_place, original, contents) = place();
        remove(&original, &names(), None).unwrap();
        let held = create(&original, &go).unwrap();
        let copy = directory(&original).join("a.db");
        assert!(fs::read(&copy).unwrap() == contents);
        let strange = directory(&original).join("strange");
        fs::write(&strange, "").unwrap();
        assert!(matches!(remove(&original, &names(), Some(held)), Err(Error::Unmarked { .. })));
        assert!(copy.exists());
        fs::remove_file(strange).unwrap();
        fs::write(directory(&original).join("a.db-wal"), "").unwrap();
        remove(&original, &names(), None).unwrap();
        assert!(!directory(&original).exists() && original.exists());
    }

    #[test]
    fn what_iolite_did_not_create_stays() {
        let (place, original, _) = place();
        let directory = directory(&original);
        fs::create_dir(&directory).unwrap();
        fs::write(directory.join("a.db"), "somebody's").unwrap();
        let refused = remove(&original, &names(), None).unwrap_err();
        assert!(
            matches!(&refused, Error::Unmarked { .. }) && refused.to_string().contains("rm -r"),
            "{refused}"
        );
        assert!(directory.join("a.db").exists());
        // A link to a directory that has everything a copy has.
        let elsewhere = place.path().join("elsewhere");
        fs::rename(&directory, &elsewhere).unwrap();
        fs::write(elsewhere.join(MARKER), "").unwrap();
        symlink(&elsewhere, &directory).unwrap();
        assert!(matches!(remove(&original, &names(), None), Err(Error::Unmarked { .. })));
        assert!(elsewhere.join("a.db").exists());
    }

    #[test]
    fn a_copy_in_use_stays() {
        let (_place, original, _) = place();
        let held = create(&original, &go).unwrap();
        assert!(matches!(remove(&original, &names(), None), Err(Error::Busy { .. })));
        assert!(directory(&original).join("a.db").exists());
        drop(held);
        remove(&original, &names(), None).unwrap();
    }

    #[test]
    fn copying_ends_when_it_is_to() {
        let (_place, original, _) = place();
        let looks = std::sync::atomic::AtomicU32::new(0);
        let second = || looks.fetch_add(1, std::sync::atomic::Ordering::Relaxed) == 1;
        assert!(matches!(create(&original, &second), Err(Error::Cancelled)));
        assert!(!directory(&original).exists());
    }
}
