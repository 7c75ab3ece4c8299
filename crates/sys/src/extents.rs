//! How the blocks of a file are stored: fiemap (Linux, Documentation/filesystems/fiemap.rst).

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;

/// `FS_IOC_FIEMAP` of linux/fs.h: `_IOWR('f', 11, struct fiemap)`, whose fixed part has 32 bytes.
const FS_IOC_FIEMAP: libc::Ioctl = 0xC020_660B_u32 as libc::Ioctl;

/// `EXT4_IOC_MOVE_EXT` of the kernel's fs/ext4/ext4.h: `_IOWR('f', 15, struct move_extent)`, which has 40 bytes.
const EXT4_IOC_MOVE_EXT: libc::Ioctl = 0xC028_660F_u32 as libc::Ioctl;

/// Flags of an extent (linux/fiemap.h).
const LAST: u32 = 0x1;
const UNKNOWN: u32 = 0x2;
const ENCODED: u32 = 0x8;
const UNWRITTEN: u32 = 0x800;

/// Extents asked for by one call.
const BATCH: usize = 256;

/// Calls after which the answer is what was seen so far: some ten million extents of 4 KiB have more.
const MAX_CALLS: usize = 4096;

/// `struct fiemap` with room for a batch of `struct fiemap_extent`.
#[repr(C)]
struct Fiemap {
    start: u64,
    length: u64,
    flags: u32,
    mapped: u32,
    count: u32,
    reserved: u32,
    extents: [Extent; BATCH],
}

/// `struct fiemap_extent`.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
struct Extent {
    logical: u64,
    physical: u64,
    length: u64,
    reserved64: [u64; 2],
    flags: u32,
    reserved: [u32; 3],
}

/// `struct move_extent`: offsets and lengths in blocks of the file system.
#[repr(C)]
struct MoveExtent {
    reserved: u32,
    donor: u32,
    start: u64,
    donor_start: u64,
    length: u64,
    moved: u64,
}

/// Exchanges the blocks of a span, in bytes, with those of another file at the same offset. What `file` holds stays; what the donor held
/// there is lost: it reads as zeros. Returns the bytes whose blocks were exchanged.
///
/// # Errors
/// The file system is not ext4, or not that of both; a file is not open for writing, or is busy (EBUSY: as long as what was written
/// there is in the page cache); or the span is not one of whole blocks.
pub fn exchange(file: &File, donor: &File, offset: u64, length: u64) -> io::Result<u64> {
    let block = file.metadata()?.blksize().max(1);
    if !offset.is_multiple_of(block) || !length.is_multiple_of(block) {
        return Err(io::Error::from_raw_os_error(libc::EINVAL));
    }
    let mut exchanged = MoveExtent {
        reserved: 0,
        donor: donor.as_raw_fd().unsigned_abs(),
        start: offset / block,
        donor_start: offset / block,
        length: length / block,
        moved: 0,
    };
    // SAFETY: the structure is laid out as the kernel's and lives until the call returns. The descriptors are borrowed from open files.
    let status = unsafe { libc::ioctl(file.as_raw_fd(), EXT4_IOC_MOVE_EXT, &raw mut exchanged) };
    if status != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(exchanged.moved.saturating_mul(block).min(length))
}

/// How the bytes of a span are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Stored {
    /// Bytes that hold data, compressed or not.
    pub written: u64,
    /// Of these, bytes that are stored compressed or otherwise encoded.
    pub encoded: u64,
}

/// Where the blocks of a span lie on the file system's device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Placed {
    /// The first byte of any.
    pub start: u64,
    /// The byte after the last of any.
    pub end: u64,
    /// Pieces that do not follow each other on the device.
    pub pieces: u64,
}

/// How the first `length` bytes of a file are stored. What is neither written nor encoded is a hole, or allocated and never written.
///
/// Data that has not been written back may still count as unwritten.
///
/// # Errors
/// `Unsupported` (EOPNOTSUPP) or `ENOTTY` where the file system or device has no such map.
pub fn stored(file: &File, length: u64) -> io::Result<Stored> {
    let mut stored = Stored::default();
    each(file, length, |extent, bytes| {
        if extent.flags & UNWRITTEN == 0 {
            stored.written += bytes;
            stored.encoded += if extent.flags & ENCODED == 0 { 0 } else { bytes };
        }
    })?;
    Ok(stored)
}

/// Where the blocks of the first `length` bytes lie, written or only reserved.
///
/// # Errors
/// As [`stored`]; `NotFound` where there are none, or the file system does not say where they are.
pub fn placed(file: &File, length: u64) -> io::Result<Placed> {
    let mut placed: Option<Placed> = None;
    let mut follows = u64::MAX;
    each(file, length, |extent, _| {
        if extent.flags & (UNKNOWN | ENCODED) != 0 {
            return;
        }
        let (start, end) = (extent.physical, extent.physical.saturating_add(extent.length));
        let before = placed.unwrap_or(Placed { start, end, pieces: 0 });
        let pieces = before.pieces + u64::from(start != follows);
        placed = Some(Placed { start: before.start.min(start), end: before.end.max(end), pieces });
        follows = end;
    })?;
    placed.ok_or_else(|| io::ErrorKind::NotFound.into())
}

/// Passes each extent of the first `length` bytes on, with the bytes of it that lie within them.
fn each(file: &File, length: u64, mut look: impl FnMut(&Extent, u64)) -> io::Result<()> {
    let mut start = 0;
    let mut map = Fiemap {
        start: 0,
        length: 0,
        flags: 0,
        mapped: 0,
        count: BATCH as u32,
        reserved: 0,
        extents: [Extent::default(); BATCH],
    };
    for _ in 0..MAX_CALLS {
        if start >= length {
            break;
        }
        (map.start, map.length, map.mapped) = (start, length - start, 0);
        // SAFETY: the structure is laid out as the kernel's, has room for as many extents as its count says, and lives until
        // the call returns. The descriptor is borrowed from an open file.
        let status = unsafe { libc::ioctl(file.as_raw_fd(), FS_IOC_FIEMAP, &raw mut map) };
        if status != 0 {
            return Err(io::Error::last_os_error());
        }
        let extents = map.extents.get(..map.mapped as usize).unwrap_or_default();
        let Some(last) = extents.last() else { break };
        for extent in extents {
            // The first may begin before the span, the last may end after it.
            let end = extent.logical.saturating_add(extent.length).min(length);
            look(extent, end.saturating_sub(extent.logical.max(start)));
        }
        start = last.logical.saturating_add(last.length).max(start + 1);
        if last.flags & LAST != 0 {
            break;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::FileExt;

    use super::*;

    #[test]
    fn holes_and_unwritten_blocks_hold_no_data() {
        let file = tempfile::tempfile_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        file.set_len(1 << 20).unwrap();
        match stored(&file, 1 << 20) {
            Ok(found) => assert_eq!(found, Stored::default()),
            Err(error) => return eprintln!("skipped: no map of extents here: {error}"),
        }
        file.write_all_at(&[7; 256 << 10], 128 << 10).unwrap();
        file.sync_all().unwrap();
        assert_eq!(stored(&file, 1 << 20).unwrap().written, 256 << 10);
        assert_eq!(stored(&file, 256 << 10).unwrap().written, 128 << 10);
        if crate::file::preallocate(&file, 1 << 20).is_ok() {
            assert_eq!(stored(&file, 1 << 20).unwrap().written, 256 << 10, "allocated is not written");
        }
    }

    #[test]
    fn blocks_are_exchanged_and_what_the_donor_held_is_lost() {
        const SIZE: u64 = 64 << 10;
        let file = |byte: u8| {
            let file = tempfile::tempfile_in(env!("CARGO_MANIFEST_DIR")).unwrap();
            file.write_all_at(&[byte; SIZE as usize], 0).unwrap();
            crate::page_cache::evict(&file, 0, SIZE).unwrap();
            file
        };
        let (one, other) = (file(1), file(2));
        let Ok(before) = placed(&one, SIZE) else { return eprintln!("skipped: no map of extents here") };
        let donated = placed(&other, SIZE).unwrap();
        match exchange(&one, &other, 0, SIZE) {
            Ok(moved) => assert_eq!(moved, SIZE),
            Err(error) if matches!(error.raw_os_error(), Some(libc::EOPNOTSUPP | libc::ENOTTY)) => {
                return eprintln!("skipped: this file system exchanges no blocks: {error}");
            }
            Err(error) => panic!("{error}"),
        }
        assert_eq!(
            (placed(&one, SIZE).unwrap().start, placed(&other, SIZE).unwrap().start),
            (donated.start, before.start)
        );
        let mut held = [0; SIZE as usize];
        one.read_exact_at(&mut held, 0).unwrap();
        assert_eq!(held, [1; SIZE as usize]);
        other.read_exact_at(&mut held, 0).unwrap();
        assert_eq!(held, [0; SIZE as usize]);
        assert_eq!(exchange(&one, &other, 100, SIZE).unwrap_err().kind(), io::ErrorKind::InvalidInput);
    }
}
