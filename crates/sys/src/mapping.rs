//! A file mapped into memory, read and written by copying.

use std::fs::File;
use std::io;
use std::ptr::{self, NonNull};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::FallocateFlags;
use rustix::mm::{Advice, MapFlags, MsyncFlags, ProtFlags, madvise, mmap, msync, munmap};

use crate::device;
use crate::fault;

/// How a file is mapped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Use {
    /// It will be written too.
    pub write: bool,
    /// It will be used in random order: a fault reads its own page, not its neighbours (madvise(2), MADV_RANDOM).
    pub random: bool,
    /// The kernel is asked for huge pages (madvise(2), MADV_HUGEPAGE).
    pub huge: bool,
}

/// A whole file, as long as it was at the start, mapped and shared with whoever else has it open.
///
/// A page of a file that was cut short, or that the device can't read, raises SIGBUS. While an operation copies, that is an
/// error of the operation (see `fault`); the page is mapped anew afterwards.
#[derive(Debug)]
pub struct Mapping {
    /// Dangling where `length` is 0, which can't be mapped.
    start: NonNull<u8>,
    length: usize,
    writable: bool,
    random: bool,
    file: Arc<File>,
}

impl Mapping {
    /// Maps the file, or the block device, as long as it is now.
    ///
    /// To be written it must be open for writing, and its holes are filled first (fallocate(2); contents stay), because
    /// a write to a page for which there is no space would be a SIGBUS too.
    ///
    /// # Errors
    /// The kernel's: `StorageFull` where there is no space for the holes, `Unsupported` where space can't be reserved,
    /// `PermissionDenied` where the file is not open for what is to be done with it.
    pub fn new(file: Arc<File>, usage: Use) -> io::Result<Mapping> {
        if device::is_endless(&file)? {
            let text = "a device without an end is not mapped: use another way to it";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
        }
        let device = device::is_block_device(&file)?;
        let length = usize::try_from(device::size_of(&file)?)
            .map_err(|_| io::Error::new(io::ErrorKind::FileTooLarge, "the file is larger than the memory"))?;
        if length == 0 {
            return Ok(Mapping {
                start: NonNull::dangling(),
                length,
                writable: usage.write,
                random: usage.random,
                file,
            });
        }
        // A device has no holes.
        if usage.write && !device {
            rustix::fs::fallocate(&file, FallocateFlags::empty(), 0, length as u64)?;
        }
        fault::watch()?;
        // SAFETY: a new mapping at a place of the kernel's choice touches no memory that Rust knows of.
        let start =
            unsafe { mmap(ptr::null_mut(), length, protection(usage.write), MapFlags::SHARED, &file, 0) }?;
        let start = NonNull::new(start.cast::<u8>()).ok_or(io::ErrorKind::OutOfMemory)?;
        let mapping = Mapping { start, length, writable: usage.write, random: usage.random, file };
        if usage.random {
            // SAFETY: the range is the mapping; the advice changes how much is read ahead, no content.
            unsafe { madvise(start.as_ptr().cast(), length, Advice::Random) }?;
        }
        if usage.huge {
            // SAFETY: the range is the mapping; the advice changes the size of its pages, no content.
            unsafe { madvise(start.as_ptr().cast(), length, Advice::LinuxHugepage) }.map_err(|error| {
                let error = io::Error::from(error);
                let reason = format!("the kernel has no transparent huge pages ({error}): do without them");
                io::Error::new(error.kind(), reason)
            })?;
        }
        Ok(mapping)
    }

    /// Length of the file when it was mapped, in bytes.
    pub fn length(&self) -> usize {
        self.length
    }

    /// The part of `length` bytes at `offset` that is within the file.
    fn part(&self, offset: u64, length: usize) -> (*mut u8, usize) {
        let offset = usize::try_from(offset).unwrap_or(usize::MAX).min(self.length);
        (self.start.as_ptr().wrapping_add(offset), length.min(self.length - offset))
    }

    /// Copies from the file; returns the bytes copied, fewer where the file ended before when it was mapped.
    ///
    /// # Errors
    /// `EIO` where a page can't be read: the device fails, or the file was cut short.
    #[inline]
    pub fn read(&self, offset: u64, into: &mut [u8]) -> io::Result<usize> {
        let (from, length) = self.part(offset, into.len());
        // SAFETY: `from` and `length` lie within the mapping (see `part`) and `into` is at least that long; nobody hands
        // out references to the mapping, so `into` is apart from it, and any byte is a valid u8: one that another
        // mapping changes meanwhile is read old or new, as with read(2).
        let copy = || unsafe { ptr::copy_nonoverlapping(from, into.as_mut_ptr(), length) };
        if fault::during(from as usize, length, copy) { self.mend(from, length) } else { Ok(length) }
    }

    /// Copies to the file; returns the bytes copied, fewer where the file ended before: a mapping does not extend it.
    ///
    /// # Errors
    /// `PermissionDenied` where the file was mapped to be read only; `EIO` as with `read`.
    #[inline]
    pub fn write(&mut self, offset: u64, from: &[u8]) -> io::Result<usize> {
        if !self.writable {
            return Err(io::Error::from_raw_os_error(libc::EACCES));
        }
        let (into, length) = self.part(offset, from.len());
        // SAFETY: as in `read`; besides, the mapping is writable.
        let copy = || unsafe { ptr::copy_nonoverlapping(from.as_ptr(), into, length) };
        if fault::during(into as usize, length, copy) { self.mend(into, length) } else { Ok(length) }
    }

    /// Stores eight bytes at once, least significant byte first, so that whoever else has the file, or has it when this process
    /// is killed, finds the old or the new ones.
    ///
    /// # Errors
    /// As `write`; `InvalidInput` where the offset is no multiple of eight or the file ended before it when it was mapped.
    #[inline]
    pub fn store(&self, offset: u64, value: u64) -> io::Result<()> {
        if !self.writable {
            return Err(io::Error::from_raw_os_error(libc::EACCES));
        }
        let (at, length) = self.part(offset, 8);
        if length < 8 || !offset.is_multiple_of(8) {
            return Err(io::Error::from_raw_os_error(libc::EINVAL));
        }
        let value = value.to_le();
        // SAFETY: the eight bytes lie within the mapping (see `part`), are aligned because mappings begin at a page, and are only
        // ever copied from and to or stored like this; any bytes are a valid u64.
        let store = || unsafe { AtomicU64::from_ptr(at.cast()).store(value, Ordering::Release) };
        if fault::during(at as usize, 8, store) { self.mend(at, 8).map(drop) } else { Ok(()) }
    }

    /// Maps pages of a range anew that a fault has replaced, and reports the fault.
    #[cold]
    fn mend(&self, at: *mut u8, length: usize) -> io::Result<usize> {
        let page = rustix::param::page_size();
        let offset = (at as usize - self.start.as_ptr() as usize) / page * page;
        let length = (at as usize - self.start.as_ptr() as usize + length - offset).next_multiple_of(page);
        let start = self.start.as_ptr().wrapping_add(offset);
        let flags = MapFlags::SHARED | MapFlags::FIXED;
        // SAFETY: the range is whole pages of this mapping, which owns them and to which there are no references.
        unsafe {
            mmap(start.cast(), length, protection(self.writable), flags, &self.file, offset as u64)?;
            if self.random {
                madvise(start.cast(), length, Advice::Random)?;
            }
        }
        Err(io::Error::from_raw_os_error(libc::EIO))
    }

    /// Makes what was written between the two offsets durable: msync(2) with MS_SYNC, which is fdatasync for a range.
    ///
    /// # Errors
    /// The kernel's: `EIO` where it could not be written.
    pub fn sync(&self, from: u64, to: u64) -> io::Result<()> {
        let page = rustix::param::page_size() as u64;
        let (start, length) = self.part(from - from % page, to.saturating_sub(from - from % page) as usize);
        if length == 0 {
            return Ok(());
        }
        // SAFETY: the range lies within the mapping and starts at a page; contents stay.
        unsafe { msync(start.cast(), length, MsyncFlags::SYNC) }?;
        Ok(())
    }
}

fn protection(write: bool) -> ProtFlags {
    if write { ProtFlags::READ | ProtFlags::WRITE } else { ProtFlags::READ }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        if self.length > 0 {
            // SAFETY: the range is the whole mapping, which nobody refers to: it is only ever copied from and to.
            // A failure would leave it mapped, which harms nobody.
            let _ = unsafe { munmap(self.start.as_ptr().cast(), self.length) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::FileExt;

    fn mapped(length: u64, write: bool) -> (Mapping, Arc<File>) {
        let file = Arc::new(tempfile::tempfile().unwrap());
        file.set_len(length).unwrap();
        (Mapping::new(file.clone(), Use { write, random: write, huge: write }).unwrap(), file)
    }

    #[test]
    fn what_is_written_is_in_the_file_and_the_other_way_round() {
        let (mut mapping, file) = mapped(10_000, true);
        assert_eq!(mapping.write(5000, &[7; 4096]).unwrap(), 4096);
        mapping.sync(5000, 9096).unwrap();
        let mut read = vec![0; 4098];
        file.read_exact_at(&mut read, 4999).unwrap();
        assert!(read[0] == 0 && read[4097] == 0 && read[1..4097] == [7; 4096]);
        file.write_all_at(&[9; 10], 100).unwrap();
        let mut read = [0; 10];
        assert_eq!((mapping.read(100, &mut read).unwrap(), read), (10, [9; 10]));
    }

    #[test]
    fn the_end_of_the_file_is_never_passed() {
        let (mut mapping, file) = mapped(10_000, true);
        let mut buffer = [1; 4096];
        for (offset, expected) in [(9000, 1000), (10_000, 0), (u64::MAX, 0), (9999, 1)] {
            assert_eq!(mapping.read(offset, &mut buffer).unwrap(), expected);
            assert_eq!(mapping.write(offset, &buffer).unwrap(), expected);
        }
        mapping.sync(20_000, 30_000).unwrap();
        mapping.sync(9999, u64::MAX).unwrap();
        assert_eq!(file.metadata().unwrap().len(), 10_000);
        assert_eq!(mapping.length(), 10_000);
    }

    #[test]
    fn eight_bytes_are_stored_at_once_or_refused() {
        let (mapping, file) = mapped(4096, true);
        mapping.store(4088, 0x0102_0304_0506_0708).unwrap();
        let mut read = [0; 8];
        file.read_exact_at(&mut read, 4088).unwrap();
        assert_eq!(u64::from_le_bytes(read), 0x0102_0304_0506_0708);
        for offset in [4, 4096, u64::MAX - 7] {
            assert!(mapping.store(offset, 1).is_err(), "{offset}");
        }
        file.set_len(0).unwrap();
        assert_eq!(mapping.store(0, 1).unwrap_err().raw_os_error(), Some(libc::EIO));
    }

    #[test]
    fn an_empty_file_and_a_read_only_mapping() {
        let (mut empty, _file) = mapped(0, true);
        assert_eq!((empty.read(0, &mut [0; 8]).unwrap(), empty.write(0, &[0; 8]).unwrap()), (0, 0));
        empty.sync(0, 100).unwrap();
        let (mut read_only, _file) = mapped(8192, false);
        assert_eq!(read_only.write(0, &[0; 8]).unwrap_err().raw_os_error(), Some(libc::EACCES));
        assert_eq!(read_only.read(0, &mut [1; 8]).unwrap(), 8);
    }

    #[test]
    fn a_file_cut_short_is_an_error_of_the_operation_and_nothing_else() {
        let page = rustix::param::page_size();
        let (mut mapping, file) = mapped(16 * page as u64, true);
        mapping.write(0, &vec![7; 16 * page]).unwrap();
        file.set_len(4 * page as u64).unwrap();
        let mut buffer = vec![0; 3 * page];
        for offset in [3 * page, 5 * page, 13 * page] {
            let error = mapping.read(offset as u64, &mut buffer).unwrap_err();
            assert_eq!(error.raw_os_error(), Some(libc::EIO));
            assert_eq!(mapping.write(offset as u64, &buffer).unwrap_err().raw_os_error(), Some(libc::EIO));
        }
        assert_eq!(mapping.read(page as u64, &mut buffer).unwrap(), 3 * page);
        assert!(buffer.iter().all(|byte| *byte == 7), "what is there is read");
        // Pages that are back are the file's again.
        file.set_len(16 * page as u64).unwrap();
        mapping.write(5 * page as u64, &vec![9; page]).unwrap();
        let mut read = vec![0; page];
        file.read_exact_at(&mut read, 5 * page as u64).unwrap();
        assert!(read.iter().all(|byte| *byte == 9));
    }
}
