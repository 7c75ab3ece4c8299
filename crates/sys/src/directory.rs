//! A directory held open, so that what is done in it cannot be led elsewhere by renaming or linking meanwhile.
//!
//! Nothing here allocates for names of up to 255 bytes, except for reading the names in a directory: measured loops may call
//! it.

use std::ffi::{CStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::{IntoRawFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::Path;

use rustix::fs::{AtFlags, Dir, Mode, OFlags, fstat, fsync, mkdirat, open, openat, statat, unlinkat};

/// How a directory is opened.
const DIRECTORY: OFlags =
    OFlags::DIRECTORY.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC).union(OFlags::RDONLY);

/// A directory, not a link to one. Names are relative to it; a path's last part is never followed if it is a link.
#[derive(Debug)]
pub struct Directory(OwnedFd);

/// Closes a file and returns the file system's error, if any: NFS and others report here that what was written has
/// found no space.
///
/// # Errors
/// As close(2).
#[inline]
pub fn close(file: File) -> io::Result<()> {
    // SAFETY: the descriptor was the file's alone, which gave it up; Linux closes it whatever it answers.
    let closed = unsafe { libc::close(file.into_raw_fd()) };
    if closed == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

impl Directory {
    /// Opens it.
    ///
    /// # Errors
    /// It is not there, is no directory, or is a link.
    pub fn open(path: &Path) -> io::Result<Directory> {
        Ok(Directory(open(path, DIRECTORY, Mode::empty())?))
    }

    /// Opens a directory in it.
    ///
    /// # Errors
    /// It is not there, is no directory, or is a link.
    pub fn open_directory(&self, name: &str) -> io::Result<Directory> {
        Ok(Directory(openat(&self.0, name, DIRECTORY, Mode::empty())?))
    }

    /// Makes a directory in it, for its owner only.
    ///
    /// # Errors
    /// As mkdirat(2).
    #[inline]
    pub fn make_directory(&self, name: &str) -> io::Result<()> {
        Ok(mkdirat(&self.0, name, Mode::RWXU)?)
    }

    /// Removes an empty directory in it.
    ///
    /// # Errors
    /// As unlinkat(2) with AT_REMOVEDIR.
    #[inline]
    pub fn remove_directory(&self, name: &str) -> io::Result<()> {
        Ok(unlinkat(&self.0, name, AtFlags::REMOVEDIR)?)
    }

    /// Makes its names durable.
    ///
    /// # Errors
    /// As fsync(2).
    pub fn sync(&self) -> io::Result<()> {
        Ok(fsync(&self.0)?)
    }

    /// The file system that it is on.
    ///
    /// # Errors
    /// As fstat(2).
    pub fn device(&self) -> io::Result<u64> {
        Ok(fstat(&self.0)?.st_dev)
    }

    /// The user it belongs to.
    ///
    /// # Errors
    /// As fstat(2).
    pub fn user(&self) -> io::Result<u32> {
        Ok(fstat(&self.0)?.st_uid)
    }

    /// Makes a file that must not exist yet, for writing, readable and writable by its owner only.
    ///
    /// # Errors
    /// `AlreadyExists`, whatever is there (a dangling link too), and as openat(2).
    #[inline]
    pub fn make_file(&self, name: &str) -> io::Result<File> {
        let flags = OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::WRONLY;
        Ok(openat(&self.0, name, flags, Mode::RUSR | Mode::WUSR)?.into())
    }

    /// Opens a file for writing as [`make_file`](Directory::make_file) does, which may exist already; its length then.
    ///
    /// # Errors
    /// `InvalidInput` for anything else than a regular file; as openat(2).
    pub fn make_or_open_file(&self, name: &str) -> io::Result<(File, u64)> {
        match self.make_file(name) {
            Ok(file) => return Ok((file, 0)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
        let flags = OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::WRONLY | OFlags::NONBLOCK;
        let file: File = openat(&self.0, name, flags, Mode::empty())?.into();
        let metadata = file.metadata()?;
        if metadata.is_file() {
            Ok((file, metadata.len()))
        } else {
            Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"))
        }
    }

    /// Asks for the attributes of what has this name, and returns only whether there was an answer.
    ///
    /// # Errors
    /// As fstatat(2).
    #[inline]
    pub fn stat(&self, name: &str) -> io::Result<()> {
        Ok(statat(&self.0, name, AtFlags::SYMLINK_NOFOLLOW).map(drop)?)
    }

    /// Removes a file or link in it.
    ///
    /// # Errors
    /// As unlinkat(2).
    #[inline]
    pub fn unlink(&self, name: &str) -> io::Result<()> {
        Ok(unlinkat(&self.0, name, AtFlags::empty())?)
    }

    /// Opens a regular file in it for reading; a link is refused, and a pipe is not waited for.
    ///
    /// # Errors
    /// `InvalidInput` for anything else than a regular file; as openat(2).
    pub fn open_file(&self, name: &str) -> io::Result<File> {
        let flags = OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::RDONLY | OFlags::NONBLOCK;
        let file: File = openat(&self.0, name, flags, Mode::empty())?.into();
        if file.metadata()?.is_file() {
            Ok(file)
        } else {
            Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"))
        }
    }

    /// Removes a file or link in it, and returns the bytes of storage it had.
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
        self.for_each_name(|name| names.push(OsString::from_vec(name.to_bytes().to_vec())))?;
        Ok(names)
    }

    /// Passes on the names in it one by one, however many. Where names are removed meanwhile, others may be left out.
    ///
    /// # Errors
    /// As getdents(2).
    pub fn for_each_name(&self, mut visit: impl FnMut(&CStr)) -> io::Result<()> {
        for entry in Dir::read_from(&self.0)? {
            let entry = entry?;
            let name = entry.file_name();
            if name != c"." && name != c".." {
                visit(name);
            }
        }
        Ok(())
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

    #[test]
    fn files_and_directories_come_and_go() {
        use std::io::Write;
        let dir = tempfile::tempdir().unwrap();
        let root = Directory::open(dir.path()).unwrap();
        root.make_directory("d").unwrap();
        assert_eq!(root.make_directory("d").unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        let mut file = root.make_file("d/f").unwrap();
        file.write_all(b"x").unwrap();
        close(file).unwrap();
        assert_eq!(root.make_file("d/f").unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        root.stat("d/f").unwrap();
        close(root.open_file("d/f").unwrap()).unwrap();
        let inner = root.open_directory("d").unwrap();
        inner.sync().unwrap();
        assert_eq!(inner.device().unwrap(), root.device().unwrap());
        assert!(root.remove_directory("d").is_err(), "it is not empty");
        assert!(root.unlink("d").is_err(), "it is a directory");
        root.unlink("d/f").unwrap();
        assert_eq!(root.stat("d/f").unwrap_err().kind(), io::ErrorKind::NotFound);
        root.remove_directory("d").unwrap();
        std::os::unix::fs::symlink(dir.path(), dir.path().join("link")).unwrap();
        assert!(root.open_directory("link").is_err());
        assert_eq!(root.make_file("link").unwrap_err().kind(), io::ErrorKind::AlreadyExists);
    }
}
