//! A copy of a database's file for one run, in a directory of its own beside it.

use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use iolite_db::{Error, Result};
use iolite_model::Bytes;

/// Name of the directory.
const DIRECTORY: &str = "iolite-copy";
/// Bytes that are copied at once.
const CHUNK: usize = 1 << 20;

/// The directory of the copy of a file.
pub(super) fn directory(original: &Path) -> PathBuf {
    original.with_file_name(DIRECTORY)
}

/// Copies a file byte by byte, so that its blocks are allocated as those of a new file: a reflink would make each first write to a block
/// an allocation.
///
/// # Errors
/// [`Error::Io`], [`Error::NoSpace`]; the directory must not exist.
pub(super) fn create(original: &Path) -> Result<()> {
    let directory = directory(original);
    let size = fs::metadata(original).map_err(|e| Error::io("examine", original, e))?.len();
    fs::create_dir(&directory).map_err(|e| Error::io("create", &directory, e))?;
    iolite_db::space::check_space(&directory, Bytes(size))?;
    let copy = directory.join(original.file_name().unwrap_or_default());
    let copied = || -> std::io::Result<()> {
        let (mut from, mut to) =
            (File::open(original)?, OpenOptions::new().write(true).create_new(true).open(&copy)?);
        let mut chunk = vec![0; CHUNK];
        loop {
            match from.read(&mut chunk)? {
                0 => break,
                read => to.write_all(&chunk[..read])?,
            }
        }
        to.sync_all()
    };
    copied().map_err(|e| Error::io("copy to", &copy, e))
}

/// Removes the directory with the files of these names, if it is there.
///
/// # Errors
/// [`Error::Foreign`] where there is anything else in it; [`Error::Io`].
pub(super) fn remove(original: &Path, names: &[String]) -> Result<()> {
    let directory = directory(original);
    if !directory.exists() {
        return Ok(());
    }
    let entries = fs::read_dir(&directory).map_err(|e| Error::io("read", &directory, e))?;
    let files: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    let ours = |file: &PathBuf| names.iter().any(|name| file.file_name().is_some_and(|own| *own == **name));
    if let Some(other) = files.iter().find(|file| !ours(file)) {
        return Err(Error::Foreign { path: other.clone() });
    }
    for file in &files {
        fs::remove_file(file).map_err(|e| Error::io("remove", file, e))?;
    }
    fs::remove_dir(&directory).map_err(|e| Error::io("remove", &directory, e))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_is_the_same_and_removed_with_nothing_else() {
        let place = tempfile::tempdir().unwrap();
        let original = place.path().join("a.db");
        let contents: Vec<u8> = (0..3 * CHUNK / 2).map(|byte| byte as u8).collect();
        fs::write(&original, &contents).unwrap();
        let names = ["a.db".to_owned(), "a.db-wal".to_owned()];
        remove(&original, &names).unwrap();
        create(&original).unwrap();
        let copy = directory(&original).join("a.db");
        assert!(fs::read(&copy).unwrap() == contents);
        let strange = directory(&original).join("strange");
        fs::write(&strange, "").unwrap();
        assert!(matches!(remove(&original, &names), Err(Error::Foreign { .. })));
        assert!(copy.exists());
        fs::remove_file(strange).unwrap();
        fs::write(directory(&original).join("a.db-wal"), "").unwrap();
        remove(&original, &names).unwrap();
        assert!(!directory(&original).exists() && original.exists());
    }
}
