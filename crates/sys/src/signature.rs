//! What a device holds: signatures of file systems, partition tables, volume managers and swap space, at their documented
//! offsets. The terms are those of blkid(8).

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// Bytes at an offset, and what they are the signature of.
const FROM_START: &[(u64, &[u8], &str)] = &[
    (0x438, &[0x53, 0xEF], "an ext file system"),
    (0, b"XFSB", "an XFS file system"),
    (0x1_0040, b"_BHRfS_M", "a btrfs file system"),
    (1024, &[0x10, 0x20, 0xF5, 0xF2], "an F2FS file system"),
    (1024, &[0xE2, 0xE1, 0xF5, 0xE0], "an EROFS file system"),
    (0x8000, b"JFS1", "a JFS file system"),
    (0x1_0034, b"ReIsEr", "a ReiserFS file system"),
    (3, b"NTFS    ", "an NTFS file system"),
    (3, b"EXFAT   ", "an exFAT file system"),
    (3, b"-FVE-FS-", "a BitLocker volume"),
    (54, b"FAT1", "a FAT file system"),
    (82, b"FAT32", "a FAT file system"),
    (0x8001, b"CD001", "an ISO 9660 file system"),
    (0, b"hsqs", "a SquashFS file system"),
    (0, b"LUKS\xBA\xBE", "a LUKS volume"),
    (0x4000, b"SKUL\xBA\xBE", "a LUKS volume"),
    (0x000, b"LABELONE", "an LVM physical volume"),
    (0x200, b"LABELONE", "an LVM physical volume"),
    (0x400, b"LABELONE", "an LVM physical volume"),
    (0x600, b"LABELONE", "an LVM physical volume"),
    (0, &[0xFC, 0x4E, 0x2B, 0xA9], "an md (RAID) member"),
    (4096, &[0xFC, 0x4E, 0x2B, 0xA9], "an md (RAID) member"),
    (4086, b"SWAPSPACE2", "swap space"),
    (4086, b"SWAP-SPACE", "swap space"),
    (65526, b"SWAPSPACE2", "swap space"),
    (0, b"bluestore block device", "a Ceph BlueStore device"),
    (32, b"ORCLDISK", "an Oracle ASM disk"),
    (512, b"EFI PART", "a GPT partition table"),
    (4096, b"EFI PART", "a GPT partition table"),
    (510, &[0x55, 0xAA], "a DOS partition table or boot sector"),
];

/// The magic number of a ZFS uberblock, in either byte order; uberblocks are 1 KiB apart in the label's second half.
const ZFS: u64 = 0x00BA_B10C;

/// How much of the start is read: the tables above and a ZFS label.
const START: usize = 256 << 10;

/// What a device of `size` bytes holds by its signature; `None` where none is known.
///
/// # Errors
/// It can't be read.
pub fn find(file: &File, size: u64) -> io::Result<Option<&'static str>> {
    let mut start = vec![0; usize::try_from(size).unwrap_or(START).min(START)];
    file.read_exact_at(&mut start, 0)?;
    let is = |(offset, magic, _): &&(u64, &[u8], &str)| {
        start.get(*offset as usize..).is_some_and(|rest| rest.starts_with(magic))
    };
    if let Some((_, _, what)) = FROM_START.iter().find(is) {
        return Ok(Some(what));
    }
    let uberblocks = start.get(128 << 10..).unwrap_or_default().chunks_exact(1024);
    let magic =
        |block: &[u8]| block.first_chunk().map(|bytes| u64::from_le_bytes(*bytes)).unwrap_or_default();
    if uberblocks.map(magic).any(|magic| magic == ZFS || magic == ZFS.swap_bytes()) {
        return Ok(Some("a ZFS pool member"));
    }
    at_the_end(file, size)
}

/// md's superblocks of versions 1.0 and 0.90, and the second copy of a GPT.
fn at_the_end(file: &File, size: u64) -> io::Result<Option<&'static str>> {
    const MD: [u8; 4] = [0xFC, 0x4E, 0x2B, 0xA9];
    let sectors = size / 512;
    let places = [
        (sectors.saturating_sub(16) & !7) * 512,
        (size & !0xFFFF).saturating_sub(0x1_0000),
        size.saturating_sub(512),
        size.saturating_sub(4096),
    ];
    for place in places.into_iter().filter(|place| place + 512 <= size) {
        let mut block = [0; 512];
        file.read_exact_at(&mut block, place)?;
        if block.starts_with(&MD) {
            return Ok(Some("an md (RAID) member"));
        }
        if block.starts_with(b"EFI PART") {
            return Ok(Some("a GPT partition table"));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn device(size: u64) -> File {
        let file = tempfile::tempfile().unwrap();
        file.set_len(size).unwrap();
        file
    }

    #[test]
    fn each_signature_is_found_at_its_place() {
        for (offset, magic, what) in FROM_START {
            let file = device(1 << 20);
            file.write_all_at(magic, *offset).unwrap();
            assert_eq!(find(&file, 1 << 20).unwrap(), Some(*what));
        }
        assert_eq!(find(&device(1 << 20), 1 << 20).unwrap(), None);
        for small in [0, 1, 511, 512, 4096, 70_000] {
            assert_eq!(find(&device(small), small).unwrap(), None);
        }
    }

    #[test]
    fn what_stands_at_the_end_is_found() {
        const SIZE: u64 = (1 << 20) + 4096;
        let md: &[u8] = &[0xFC, 0x4E, 0x2B, 0xA9];
        for (offset, magic, what) in [
            (SIZE - 8192, md, "an md (RAID) member"),
            ((1 << 20) - 0x1_0000, md, "an md (RAID) member"),
            (SIZE - 512, b"EFI PART", "a GPT partition table"),
            ((128 << 10) + 5 * 1024, &[0x0C, 0xB1, 0xBA, 0, 0, 0, 0, 0], "a ZFS pool member"),
        ] {
            let file = device(SIZE);
            file.write_all_at(magic, offset).unwrap();
            assert_eq!(find(&file, SIZE).unwrap(), Some(what), "{offset}");
        }
    }
}
