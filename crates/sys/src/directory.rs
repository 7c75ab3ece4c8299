//! A directory held open, so that what is done in it cannot be led elsewhere by renaming or linking meanwhile.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStringExt;
use std::path::Path;

use rustix::fs::{AtFlags, Dir, Mode, OFlags, fstat, open, openat, statat, unlinkat};

/// A directory, not a link to one. Names are relative to it.
#[derive(Debug)]
pub struct Directory(OwnedFd);

impl Directory {
    /// Opens it.
    ///
    /// # Errors
    /// It is not there, is no directory, or is a link.
    pub fn open(path: &Path) -> io::Result<Directory> {
        let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::RDONLY;
        Ok(Directory(open(path, flags, Mode::empty())?))
    }

    /// The user it belongs to.
    ///
    /// # Errors
    /// As fstat(2).
    pub fn user(&self) -> io::Result<u32> {
        Ok(fstat(&self.0)?.st_uid)
    }

    /// Opens a file in it for reading; a link is refused.
    ///
    /// # Errors
    /// As openat(2).
    pub fn open_file(&self, name: &str) -> io::Result<File> {
        let flags = OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::RDONLY;
        Ok(openat(&self.0, name, flags, Mode::empty())?.into())
    }

    /// Removes a file or link in it, and tells how many bytes of storage it had.
    ///
    /// # Errors
    /// As unlinkat(2).
    pub fn remove_file(&self, name: &str) -> io::Result<u64> {
        let blocks = statat(&self.0, name, AtFlags::SYMLINK_NOFOLLOW)?.st_blocks;
        unlinkat(&self.0, name, AtFlags::empty())?;
        Ok(u64::try_from(blocks).unwrap_or(0) * 512)
    }

    /// The names in it.
    ///
    /// # Errors
    /// As getdents(2).
    pub fn names(&self) -> io::Result<Vec<OsString>> {
        let mut names = Vec::new();
        for entry in Dir::read_from(&self.0)? {
            let name = entry?.file_name().to_bytes().to_vec();
            if name != b"." && name != b".." {
                names.push(OsString::from_vec(name));
            }
        }
        Ok(names)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_neither_opened_nor_followed() {
        let dir = tempfile::tempdir().unwrap();
        let real = dir.path().join("real");
        std::fs::create_dir(&real).unwrap();
        std::fs::write(dir.path().join("precious"), "mine").unwrap();
        std::os::unix::fs::symlink(&real, dir.path().join("link")).unwrap();
        std::os::unix::fs::symlink(dir.path().join("precious"), real.join("inner")).unwrap();
        assert!(Directory::open(&dir.path().join("link")).is_err());
        let directory = Directory::open(&real).unwrap();
        assert!(directory.open_file("inner").is_err());
        directory.remove_file("inner").unwrap();
        assert_eq!(directory.names().unwrap(), Vec::<OsString>::new());
        assert_eq!(std::fs::read_to_string(dir.path().join("precious")).unwrap(), "mine");
    }
}
