//! Files made for a measurement: never opened unless made by this program, never through a link.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::fs::FallocateFlags;

/// How to open a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Access {
    /// Open for writing too.
    pub write: bool,
    /// Bypass the page cache (O_DIRECT).
    pub direct: bool,
}

/// Makes a file that must not exist yet, readable and writable by its owner only.
///
/// # Errors
/// `AlreadyExists`, whatever is there (a dangling link too); `InvalidInput` where the file system refuses O_DIRECT,
/// in which case nothing is left behind.
pub fn create_new(path: &Path, direct: bool) -> io::Result<File> {
    let flags = libc::O_NOFOLLOW | if direct { libc::O_DIRECT } else { 0 };
    let made =
        OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).custom_flags(flags).open(path);
    if let Err(error) = &made
        && error.raw_os_error() == Some(libc::EINVAL)
    {
        // Linux makes the file before the file system refuses the flag.
        let _ = std::fs::remove_file(path);
    }
    made
}

/// Opens an existing file; a symbolic link is refused.
///
/// # Errors
/// As open(2): `InvalidInput` where the file system refuses O_DIRECT.
pub fn open(path: &Path, access: Access) -> io::Result<File> {
    let flags = libc::O_NOFOLLOW | if access.direct { libc::O_DIRECT } else { 0 };
    OpenOptions::new().read(true).write(access.write).custom_flags(flags).open(path)
}

/// Reserves blocks for the first `length` bytes and sets the file's size to it.
///
/// # Errors
/// `StorageFull`; `Unsupported` where the file system cannot reserve.
pub fn preallocate(file: &File, length: u64) -> io::Result<()> {
    if length == 0 {
        return Ok(());
    }
    rustix::fs::fallocate(file, FallocateFlags::empty(), 0, length).map_err(io::Error::from)
}

/// Name of the file that [`direct_io_works`] makes for a moment.
pub const PROBE: &str = "direct-io-probe";

/// Whether files in this directory can be opened with O_DIRECT and really be read so: tried with a file of its own,
/// which is gone afterwards.
///
/// # Errors
/// The directory does not let a file be made.
pub fn direct_io_works(directory: &Path) -> io::Result<bool> {
    use std::os::unix::fs::FileExt;
    let path = directory.join(PROBE);
    let file = match create_new(&path, true) {
        Ok(file) => file,
        Err(error) if error.raw_os_error() == Some(libc::EINVAL) => return Ok(false),
        Err(error) => return Err(error),
    };
    let mut buffer = crate::buffer::AlignedBuffer::new(crate::buffer::ALIGNMENT)?;
    let tried =
        file.write_all_at(buffer.as_slice(), 0).and_then(|()| file.read_exact_at(buffer.as_mut_slice(), 0));
    std::fs::remove_file(&path)?;
    match tried {
        Ok(()) => Ok(true),
        Err(error) if error.raw_os_error() == Some(libc::EINVAL) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Columns of the terminal on standard output; `None` where it is none.
pub fn terminal_width() -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(std::io::stdout()).ok()?;
    Some(usize::from(size.ws_col)).filter(|&columns| columns > 0)
}

/// Raises the limit on open files to what this user may have: every worker needs some.
pub fn raise_open_files() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    // Where it can't be raised, the old limit stays, and whoever meets it says so.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit });
}

/// The effective user, 0 for root.
pub fn effective_user() -> u32 {
    rustix::process::geteuid().as_raw()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn never_opens_what_it_did_not_make() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        std::fs::write(&path, "precious").unwrap();
        assert_eq!(create_new(&path, false).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        let link = dir.path().join("link");
        std::os::unix::fs::symlink(&path, &link).unwrap();
        assert_eq!(create_new(&link, false).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        assert!(open(&link, Access { write: true, direct: false }).is_err());
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "precious");
    }

    #[test]
    fn the_probe_for_direct_io_leaves_nothing() {
        let dir = tempfile::tempdir().unwrap();
        direct_io_works(dir.path()).unwrap();
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
    }

    #[test]
    fn preallocation_reserves_blocks() {
        use std::os::unix::fs::MetadataExt;
        let dir = tempfile::tempdir().unwrap();
        let file = create_new(&dir.path().join("file"), false).unwrap();
        preallocate(&file, 1 << 20).unwrap();
        let metadata = file.metadata().unwrap();
        assert_eq!(metadata.len(), 1 << 20);
        assert!(metadata.blocks() * 512 >= 1 << 20);
    }
}
