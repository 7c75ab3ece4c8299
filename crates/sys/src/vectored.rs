//! preadv2(2) and pwritev2(2): one read or write with flags of its own.

use std::fs::File;
use std::io::{self, IoSlice, IoSliceMut};

use rustix::io::ReadWriteFlags;

/// Wait until the data is durable, as with O_DSYNC (writes; Linux 4.7).
pub const DSYNC: i32 = libc::RWF_DSYNC;
/// Poll for the completion (with O_DIRECT; Linux 4.6).
pub const HIPRI: i32 = libc::RWF_HIPRI;
/// Fail with EAGAIN rather than wait (Linux 4.14).
pub const NOWAIT: i32 = libc::RWF_NOWAIT;
/// Write all or nothing, even across a power failure (with O_DIRECT; Linux 6.11).
pub const ATOMIC: i32 = libc::RWF_ATOMIC;
/// Leave nothing behind in the page cache (Linux 6.14).
pub const DONTCACHE: i32 = libc::RWF_DONTCACHE;

/// Reads at `offset` with these `RWF_` flags.
///
/// # Errors
/// The kernel's: `EOPNOTSUPP` where it, or the file system, has not one of the flags.
#[inline]
pub fn read(file: &File, buffer: &mut [u8], offset: u64, flags: i32) -> io::Result<usize> {
    let flags = ReadWriteFlags::from_bits_retain(flags as u32);
    Ok(rustix::io::preadv2(file, &mut [IoSliceMut::new(buffer)], checked(offset)?, flags)?)
}

/// Writes at `offset` with these `RWF_` flags.
///
/// # Errors
/// The kernel's: `EOPNOTSUPP` where it, or the file system, has not one of the flags.
#[inline]
pub fn write(file: &File, buffer: &[u8], offset: u64, flags: i32) -> io::Result<usize> {
    let flags = ReadWriteFlags::from_bits_retain(flags as u32);
    Ok(rustix::io::pwritev2(file, &[IoSlice::new(buffer)], checked(offset)?, flags)?)
}

/// Whether reads of the file are refused where they must not wait: io_uring then has a thread of the kernel's do them, whatever the
/// file or device is. Asked beyond the end of the file, where there is nothing to read.
pub fn refuses_nowait(file: &File) -> bool {
    let refused = read(file, &mut [0], 1 << 62, NOWAIT);
    refused.is_err_and(|error| error.raw_os_error() == Some(libc::EOPNOTSUPP))
}

/// The kernel takes -1 for the file's own position: no offset beyond i64 may reach it.
#[inline]
fn checked(offset: u64) -> io::Result<u64> {
    if offset <= i64::MAX as u64 { Ok(offset) } else { Err(io::Error::from_raw_os_error(libc::EINVAL)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_and_writes_with_flags() {
        let file = tempfile::tempfile().unwrap();
        assert_eq!(write(&file, b"hello", 3, DSYNC).unwrap(), 5);
        let mut buffer = [0; 16];
        assert_eq!(read(&file, &mut buffer, 4, 0).unwrap(), 4);
        assert_eq!(&buffer[..4], b"ello");
        assert_eq!(read(&file, &mut buffer, 8, 0).unwrap(), 0);
    }

    #[test]
    fn a_file_that_can_be_read_without_waiting_is_known() {
        let file = tempfile::tempfile_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        file.set_len(4096).unwrap();
        let known = read(&file, &mut [0], 0, NOWAIT);
        // A hole needs no device.
        assert_eq!(
            refuses_nowait(&file),
            known.is_err_and(|error| error.raw_os_error() == Some(libc::EOPNOTSUPP))
        );
        let written = File::create(tempfile::tempdir().unwrap().path().join("written")).unwrap();
        assert!(!refuses_nowait(&written), "not to be read at all");
    }

    #[test]
    fn errors_are_the_kernels() {
        let file = tempfile::tempfile().unwrap();
        let number = |result: io::Result<usize>| result.unwrap_err().raw_os_error();
        assert_eq!(number(read(&file, &mut [0; 1], u64::MAX, 0)), Some(libc::EINVAL));
        assert_eq!(number(write(&file, &[0; 1], u64::MAX, 0)), Some(libc::EINVAL));
        let unknown = 1 << 30;
        assert_eq!(number(read(&file, &mut [0; 1], 0, unknown)), Some(libc::EOPNOTSUPP));
    }
}
