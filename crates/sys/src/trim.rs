//! Giving back the blocks of a range: discard on a block device, a reset of zones where it has some, a hole in a file.

use std::fs::File;
use std::io;

use rustix::fs::FallocateFlags;
use rustix::ioctl::{self, Setter};

use crate::{device, zoned};

/// `BLKDISCARD` of linux/fs.h: takes the first byte and the number of bytes.
const BLKDISCARD: ioctl::Opcode = ioctl::opcode::none(0x12, 119);

/// `BLKSECDISCARD` of linux/fs.h: as BLKDISCARD.
const BLKSECDISCARD: ioctl::Opcode = ioctl::opcode::none(0x12, 125);

/// Discards `length` bytes at `offset` of a block device and has their data erased; waits until the device has done it.
///
/// # Errors
/// `EOPNOTSUPP` for a device that cannot, as most; else as [`Trim::trim`] of a device.
pub fn secure_discard(file: &File, offset: u64, length: u64) -> io::Result<()> {
    // SAFETY: BLKSECDISCARD reads two u64, the first byte and the length, from the pointer it is given (block/ioctl.c,
    // blk_ioctl_secure_erase), and keeps none.
    unsafe { ioctl::ioctl(file, Setter::<BLKSECDISCARD, [u64; 2]>::new([offset, length])) }?;
    Ok(())
}

/// How the blocks of a file or device are given back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trim {
    /// A block device: ioctl(2) with BLKDISCARD.
    Discard,
    /// A regular file: fallocate(2) with FALLOC_FL_PUNCH_HOLE; its size stays.
    PunchHole,
    /// A zoned block device: ioctl(2) with BLKRESETZONE, of whole zones.
    ResetZones,
}

impl Trim {
    /// The way for this file. That a file system has no holes shows only at the first [`trim`](Trim::trim).
    ///
    /// # Errors
    /// `EOPNOTSUPP` for a device that cannot discard (queue/discard_max_bytes is 0); `InvalidInput` for what is neither
    /// a block device nor a regular file.
    pub fn of(file: &File) -> io::Result<Trim> {
        match device::device_number(file)? {
            None => Ok(Trim::PunchHole),
            Some(_) if zoned::zone_size(file)?.is_some() => Ok(Trim::ResetZones),
            Some(number) if device::discards(number) => Ok(Trim::Discard),
            Some(_) => Err(io::Error::from_raw_os_error(libc::EOPNOTSUPP)),
        }
    }

    /// Gives back the blocks of `length` bytes at `offset`; waits until the device has done it, or the file system noted it.
    /// What is read there afterwards: zeros from a file, anything from a device.
    ///
    /// # Errors
    /// The kernel's: `EINVAL` for a length of 0 and, on a device, for what is not aligned to its logical blocks;
    /// `EOPNOTSUPP` where the file system has no holes; `EBADF` where the file is not open for writing.
    #[inline]
    pub fn trim(&self, file: &File, offset: u64, length: u64) -> io::Result<()> {
        match self {
            Trim::PunchHole => {
                let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
                rustix::fs::fallocate(file, flags, offset, length)?;
            }
            Trim::ResetZones => zoned::reset(file, offset, length)?,
            Trim::Discard => {
                // SAFETY: BLKDISCARD reads two u64, the first byte and the length, from the pointer it is given
                // (block/ioctl.c, blk_ioctl_discard), and keeps none.
                unsafe { ioctl::ioctl(file, Setter::<BLKDISCARD, [u64; 2]>::new([offset, length])) }?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::LoopDevice;
    use std::os::unix::fs::{FileExt, MetadataExt};

    #[test]
    fn a_hole_reads_as_zeros_and_takes_no_space() {
        let file = tempfile::tempfile().unwrap();
        file.write_all_at(&vec![7; 1 << 20], 0).unwrap();
        file.sync_all().unwrap();
        let before = file.metadata().unwrap().blocks();
        let trim = Trim::of(&file).unwrap();
        assert_eq!(trim, Trim::PunchHole);
        if let Err(error) = trim.trim(&file, 4096, 512 << 10) {
            assert_eq!(error.raw_os_error(), Some(libc::EOPNOTSUPP));
            eprintln!("skipped: no holes in files here");
            return;
        }
        let metadata = file.metadata().unwrap();
        assert_eq!(metadata.len(), 1 << 20);
        assert!(metadata.blocks() < before, "{} of {before} blocks are left", metadata.blocks());
        let mut read = [1; 3];
        file.read_exact_at(&mut read, 4095).unwrap();
        assert_eq!(read, [7, 0, 0]);
        assert_eq!(trim.trim(&file, 0, 0).unwrap_err().raw_os_error(), Some(libc::EINVAL));
        assert!(trim.trim(&file, u64::MAX, 4096).is_err());
    }

    #[test]
    fn only_files_and_block_devices_have_blocks() {
        let null = File::open("/dev/null").unwrap();
        assert_eq!(Trim::of(&null).unwrap_err().kind(), io::ErrorKind::InvalidInput);
    }

    #[test]
    fn a_device_without_secure_discard_keeps_its_data() {
        let Some(device) = LoopDevice::new(8 << 20) else { return };
        let file = device.open();
        file.write_all_at(&[7; 4096], 0).unwrap();
        file.sync_all().unwrap();
        assert_eq!(secure_discard(&file, 0, 4096).unwrap_err().raw_os_error(), Some(libc::EOPNOTSUPP));
        let mut read = [0; 4096];
        file.read_exact_at(&mut read, 0).unwrap();
        assert_eq!(read, [7; 4096]);
    }

    #[test]
    fn a_device_discards() {
        let Some(device) = LoopDevice::new(8 << 20) else { return };
        let file = device.open();
        file.write_all_at(&vec![7; 1 << 20], 0).unwrap();
        file.sync_all().unwrap();
        let trim = Trim::of(&file).unwrap();
        assert_eq!(trim, Trim::Discard);
        trim.trim(&file, 64 << 10, 64 << 10).unwrap();
        let mut read = [1; 4096];
        file.read_exact_at(&mut read, 64 << 10).unwrap();
        // A loop device punches a hole into the file behind it.
        assert_eq!(read, [0; 4096]);
        file.read_exact_at(&mut read, 0).unwrap();
        assert_eq!(read, [7; 4096]);
        assert_eq!(trim.trim(&file, 1, 4096).unwrap_err().raw_os_error(), Some(libc::EINVAL));
    }
}
