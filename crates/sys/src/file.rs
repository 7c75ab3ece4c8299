//! Files made for a measurement: never opened unless made by this program, never through a link.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::fs::FallocateFlags;

/// What is durable when a write returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Durability {
    /// Nothing.
    #[default]
    None,
    /// O_DSYNC: the data, and what of the metadata is needed to find it.
    Data,
    /// O_SYNC: all metadata too.
    All,
}

/// A byte of one of several files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileOffset {
    /// Position of the file among them.
    pub file: u32,
    /// Bytes from its start.
    pub offset: u64,
}

impl From<u64> for FileOffset {
    /// In the first file.
    fn from(offset: u64) -> FileOffset {
        FileOffset { file: 0, offset }
    }
}

/// How to open a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Access {
    /// Open for writing too.
    pub write: bool,
    /// Bypass the page cache (O_DIRECT).
    pub direct: bool,
    /// Write at the end, whatever offset a write names (O_APPEND).
    pub append: bool,
    /// What is durable when a write returns.
    pub durability: Durability,
}

impl Access {
    /// The flags of open(2) that std has no method for.
    pub(crate) fn flags(self) -> libc::c_int {
        let direct = if self.direct { libc::O_DIRECT } else { 0 };
        let durable = match self.durability {
            Durability::None => 0,
            Durability::Data => libc::O_DSYNC,
            Durability::All => libc::O_SYNC,
        };
        direct | durable | if self.append { libc::O_APPEND } else { 0 }
    }
}

/// Makes a file that must not exist yet, readable and writable by its owner only.
///
/// # Errors
/// `AlreadyExists`, whatever is there (a dangling link too); `InvalidInput` where the file system refuses O_DIRECT,
/// in which case nothing is left behind.
pub fn create_new(path: &Path, direct: bool) -> io::Result<File> {
    create_new_with(path, Access { write: true, direct, ..Access::default() })
}

/// As [`create_new`], with this access; it is open for writing in any case.
///
/// # Errors
/// As [`create_new`].
pub fn create_new_with(path: &Path, access: Access) -> io::Result<File> {
    create(path, access, 0o600)
}

/// Makes a file of the user's, that must not exist yet and will stay: others may read it as far as the user's umask says.
///
/// # Errors
/// `AlreadyExists`, whatever is there; as open(2).
pub fn create_to_stay(path: &Path) -> io::Result<File> {
    create(path, Access { write: true, ..Access::default() }, 0o644)
}

/// Size in bytes of the file system that a file is on, whatever of it is in use.
///
/// # Errors
/// As fstatvfs(3).
pub fn file_system_size(file: &File) -> io::Result<u64> {
    let found = rustix::fs::fstatvfs(file)?;
    Ok(found.f_blocks.saturating_mul(found.f_frsize))
}

fn create(path: &Path, access: Access, mode: u32) -> io::Result<File> {
    let flags = libc::O_NOFOLLOW | access.flags();
    let made =
        OpenOptions::new().read(true).write(true).create_new(true).mode(mode).custom_flags(flags).open(path);
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
    let flags = libc::O_NOFOLLOW | access.flags();
    OpenOptions::new().read(true).write(access.write).custom_flags(flags).open(path)
}

/// Opens an existing regular file for reading, whatever its name leads to; a pipe is not waited for.
///
/// # Errors
/// `InvalidInput` for anything else than a regular file; as open(2).
pub fn open_regular(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(path)?;
    if file.metadata()?.is_file() {
        Ok(file)
    } else {
        Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"))
    }
}

/// The next range of a file, of `size` bytes, from an offset on that is not a hole; `None` where there is none. Where holes
/// aren't known, all is data: lseek(2), SEEK_DATA.
///
/// # Errors
/// As lseek(2).
pub fn next_data(file: &File, from: u64, size: u64) -> io::Result<Option<(u64, u64)>> {
    use rustix::fs::{SeekFrom, seek};
    use rustix::io::Errno;
    if from >= size {
        return Ok(None);
    }
    let start = match seek(file, SeekFrom::Data(from)) {
        Ok(start) => start,
        Err(Errno::NXIO) => return Ok(None),
        Err(Errno::INVAL | Errno::OPNOTSUPP) => return Ok(Some((from, size))),
        Err(error) => return Err(error.into()),
    };
    let end = seek(file, SeekFrom::Hole(start)).unwrap_or(size).min(size);
    Ok((start < end).then_some((start, end)))
}

/// Lets a process that this one starts inherit the file's descriptor.
///
/// # Errors
/// As fcntl(2).
pub fn inheritable(file: &File) -> io::Result<()> {
    Ok(rustix::io::fcntl_setfd(file, rustix::io::FdFlags::empty())?)
}

/// Opens anew what is open as descriptor number `descriptor` of this process, which inherited it: the same file, whatever is at
/// its path by now.
///
/// # Errors
/// There is no such descriptor; as open(2).
pub fn reopen(descriptor: i32, access: Access) -> io::Result<File> {
    let path = format!("/proc/self/fd/{descriptor}");
    OpenOptions::new().read(true).write(access.write).custom_flags(access.flags()).open(path)
}

/// Opens a file of this process again, with the same flags and a position of its own; for writing where it `writes`.
///
/// # Errors
/// As open(2); `InvalidData` where /proc does not have the flags.
pub fn open_again(file: &File, writes: bool) -> io::Result<File> {
    let number = file.as_raw_fd();
    let text = std::fs::read_to_string(format!("/proc/self/fdinfo/{number}"))?;
    let flags = text.lines().find_map(|line| line.strip_prefix("flags:"));
    let flags = flags.and_then(|flags| i32::from_str_radix(flags.trim(), 8).ok());
    let flags =
        flags.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "/proc has no flags of the file"))?;
    // What opens a file for reading, writing or both is set by the options; the name in /proc is a link.
    OpenOptions::new()
        .read(true)
        .write(writes)
        .custom_flags(flags & !libc::O_ACCMODE & !libc::O_NOFOLLOW)
        .open(format!("/proc/self/fd/{number}"))
}

/// Reserves blocks for the first `length` bytes and sets the file's size to it.
///
/// # Errors
/// `StorageFull`; `Unsupported` where the file system cannot reserve.
pub fn preallocate(file: &File, length: u64) -> io::Result<()> {
    if length == 0 {
        return Ok(());
    }
    reserve(file, 0, length, false)
}

/// Reserves blocks for `length` bytes at `offset`: fallocate(2). With `keep_size` the file's size stays what it is.
///
/// # Errors
/// `StorageFull`; `Unsupported` where the file system cannot reserve; `InvalidInput` for a length of 0.
#[inline]
pub fn reserve(file: &File, offset: u64, length: u64, keep_size: bool) -> io::Result<()> {
    let flags = if keep_size { FallocateFlags::KEEP_SIZE } else { FallocateFlags::empty() };
    rustix::fs::fallocate(file, flags, offset, length).map_err(io::Error::from)
}

/// What of sync_file_range(2) is done: pages on their way to the device are waited for, dirty ones sent, those waited for.
pub const SYNC_RANGE: u32 =
    libc::SYNC_FILE_RANGE_WAIT_BEFORE | libc::SYNC_FILE_RANGE_WRITE | libc::SYNC_FILE_RANGE_WAIT_AFTER;

/// Flags of [`sync_range_by`] for a part of what it can do: wait for what is being written, begin to write, wait until it is written.
pub fn range_flags(wait_before: bool, write: bool, wait_after: bool) -> u32 {
    let flag = |on: bool, flag: u32| if on { flag } else { 0 };
    flag(wait_before, libc::SYNC_FILE_RANGE_WAIT_BEFORE)
        | flag(write, libc::SYNC_FILE_RANGE_WRITE)
        | flag(wait_after, libc::SYNC_FILE_RANGE_WAIT_AFTER)
}

/// Writes what is dirty in the page cache of `length` bytes at `offset` to the device, and waits for it; a length of 0
/// reaches to the end of the file. Neither metadata nor the device's own cache is flushed: that makes nothing durable.
///
/// # Errors
/// As [`sync_range_by`].
#[inline]
pub fn sync_range(file: &File, offset: u64, length: u64) -> io::Result<()> {
    sync_range_by(file, offset, length, SYNC_RANGE)
}

/// The same, or the part of it that these flags ([`range_flags`]) say.
///
/// # Errors
/// The kernel's: `EIO` where it could not be written, `ESPIPE` for what is neither file nor block device, `EINVAL` for
/// what ends beyond the largest offset.
#[inline]
pub fn sync_range_by(file: &File, offset: u64, length: u64, flags: u32) -> io::Result<()> {
    // SAFETY: a system call on a descriptor that is open as long as `file` is borrowed; no memory is involved. Numbers
    // beyond i64 become negative, which the kernel refuses.
    let done = unsafe { libc::sync_file_range(file.as_raw_fd(), offset as i64, length as i64, flags) };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Makes everything durable that was written to the file system that the file is on.
///
/// # Errors
/// As syncfs(2).
pub fn sync_file_system(file: &File) -> io::Result<()> {
    Ok(rustix::fs::syncfs(file)?)
}

/// `F_SET_RW_HINT` of linux/fcntl.h.
const SET_WRITE_HINT: i32 = 1024 + 12;

/// Passes to the kernel how long what is written to the file is expected to live: a value of `RWH_WRITE_LIFE_` (F_SET_RW_HINT of
/// fcntl(2)).
///
/// # Errors
/// As fcntl(2): `EINVAL` if the kernel does not know the value.
pub fn set_write_hint(file: &File, hint: u64) -> io::Result<()> {
    // SAFETY: the command reads eight bytes at the address, which is that of a variable that outlives the call; the
    // descriptor is open as long as `file` is borrowed.
    let done = unsafe { libc::fcntl(file.as_raw_fd(), SET_WRITE_HINT, &raw const hint) };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Name of the file that [`direct_io_works`] makes for a moment.
pub const PROBE: &str = "direct-io-probe";

/// Whether files in this directory can be opened with O_DIRECT and really be read so: tried with a file of its own,
/// which is gone afterwards.
///
/// # Errors
/// The directory does not let a file be made.
pub fn direct_io_works(directory: &Path) -> io::Result<bool> {
    direct_unit(directory).map(|unit| unit.is_some())
}

/// The smallest size and alignment of direct I/O on files in this directory, in bytes; `None` where it does not work. Tried with
/// a file of its own, which is gone afterwards: what file systems report of it (statx) is newer than many kernels.
///
/// # Errors
/// The directory does not let a file be made.
pub fn direct_unit(directory: &Path) -> io::Result<Option<u32>> {
    use std::os::unix::fs::FileExt;
    let path = directory.join(PROBE);
    let file = match create_new(&path, true) {
        Ok(file) => file,
        Err(error) if error.raw_os_error() == Some(libc::EINVAL) => return Ok(None),
        Err(error) => return Err(error),
    };
    let mut buffer = crate::buffer::AlignedBuffer::new(crate::buffer::ALIGNMENT)?;
    let tried = file.write_all_at(buffer.as_slice(), 0).and_then(|()| smallest_read(&file, &mut buffer));
    std::fs::remove_file(&path)?;
    match tried {
        Err(error) if error.raw_os_error() == Some(libc::EINVAL) => Ok(None),
        tried => tried,
    }
}

/// The smallest size and alignment of direct I/O on a file that is opened for it and has at least 64 KiB, in bytes; `None` where none up
/// to that works. Found by reading.
///
/// # Errors
/// The file can't be read.
pub fn direct_unit_of(file: &File) -> io::Result<Option<u32>> {
    smallest_read(file, &mut crate::buffer::AlignedBuffer::new(64 << 10)?)
}

/// The smallest size, from the smallest logical block of any device up to the size of the buffer, that can be read; `None` where none can.
fn smallest_read(file: &File, buffer: &mut crate::buffer::AlignedBuffer) -> io::Result<Option<u32>> {
    use std::os::unix::fs::FileExt;
    // The last begins at the start of the file.
    let whole = buffer.as_slice().len();
    let mut size = 512;
    while size <= whole {
        let part = buffer.as_mut_slice().get_mut(..size).unwrap_or_default();
        match file.read_exact_at(part, (whole - size) as u64) {
            Ok(()) => return Ok(u32::try_from(size).ok()),
            Err(error) if error.raw_os_error() == Some(libc::EINVAL) => {}
            Err(error) => return Err(error),
        }
        size *= 2;
    }
    Ok(None)
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
    fn a_write_hint_is_the_files() {
        let file = tempfile::tempfile().unwrap();
        set_write_hint(&file, 4).unwrap();
        let mut hint = 0u64;
        // SAFETY: F_GET_RW_HINT writes eight bytes at the address, which is that of `hint`.
        let done = unsafe { libc::fcntl(file.as_raw_fd(), 1024 + 11, &raw mut hint) };
        assert_eq!((done, hint), (0, 4));
        assert!(set_write_hint(&file, 77).is_err());
        sync_file_system(&file).unwrap();
    }

    #[test]
    fn never_opens_what_it_did_not_make() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        std::fs::write(&path, "precious").unwrap();
        assert_eq!(create_new(&path, false).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        let link = dir.path().join("link");
        std::os::unix::fs::symlink(&path, &link).unwrap();
        assert_eq!(create_new(&link, false).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        assert!(open(&link, Access { write: true, ..Access::default() }).is_err());
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "precious");
    }

    #[test]
    fn what_was_inherited_is_opened_anew() {
        use std::io::{Read, Write};
        use std::os::fd::AsRawFd;
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(b"hello").unwrap();
        inheritable(&file).unwrap();
        let mut text = String::new();
        let again = reopen(file.as_raw_fd(), Access::default());
        again.unwrap().read_to_string(&mut text).unwrap();
        assert_eq!(text, "hello", "from a position of its own");
        assert!(reopen(-1, Access::default()).is_err());
    }

    #[test]
    fn the_probe_for_direct_io_leaves_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let unit = direct_unit(dir.path()).unwrap();
        assert!(unit.is_none_or(|unit| unit >= 512 && unit.is_power_of_two()), "{unit:?}");
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

    #[test]
    fn reserved_blocks_leave_the_size_where_asked() {
        use std::os::unix::fs::MetadataExt;
        let file = tempfile::tempfile().unwrap();
        reserve(&file, 0, 1 << 20, true).unwrap();
        let metadata = file.metadata().unwrap();
        assert!(metadata.len() == 0 && metadata.blocks() * 512 >= 1 << 20);
        reserve(&file, 4096, 4096, false).unwrap();
        assert_eq!(file.metadata().unwrap().len(), 8192);
        assert!(reserve(&file, 0, 0, false).is_err());
    }

    #[test]
    fn files_are_opened_as_durable_as_asked() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        create_to_stay(&path).unwrap();
        assert_eq!(create_to_stay(&path).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        for (durability, flags) in
            [(Durability::None, 0), (Durability::Data, libc::O_DSYNC), (Durability::All, libc::O_SYNC)]
        {
            let file = open(&path, Access { write: true, durability, ..Access::default() }).unwrap();
            let set = rustix::fs::fcntl_getfl(&file).unwrap();
            assert_eq!(set.bits() as i32 & libc::O_SYNC, flags, "{durability:?}");
        }
    }

    #[test]
    fn appended_data_goes_to_the_end() {
        use std::os::unix::fs::FileExt;
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        let access = Access { write: true, append: true, ..Access::default() };
        let file = create_new_with(&path, access).unwrap();
        file.write_all_at(b"one", 0).unwrap();
        open(&path, access).unwrap().write_all_at(b"two", 0).unwrap();
        open(&path, Access { append: false, ..access }).unwrap().write_all_at(b"O", 0).unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "Onetwo");
        assert_eq!(create_new_with(&path, access).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        let read_only = open(&path, Access { append: true, ..Access::default() }).unwrap();
        assert!(read_only.write_all_at(b"x", 0).is_err());
    }

    #[test]
    fn a_range_is_written_out() {
        use std::os::unix::fs::FileExt;
        let file = tempfile::tempfile().unwrap();
        file.write_all_at(&[7; 16384], 0).unwrap();
        sync_range(&file, 4096, 4096).unwrap();
        sync_range(&file, 8192, 0).unwrap();
        sync_range(&file, 1 << 40, 4096).unwrap();
        for (offset, length) in [(u64::MAX, 1), (0, u64::MAX), (i64::MAX as u64, 2)] {
            assert_eq!(sync_range(&file, offset, length).unwrap_err().raw_os_error(), Some(libc::EINVAL));
        }
    }
}
