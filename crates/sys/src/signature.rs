//! What a device holds: signatures of file systems, partition tables, volume managers and swap space, at their documented
//! offsets. The terms are those of blkid(8).

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// Magic numbers of the superblocks of bcache and bcachefs.
const BCACHE: [u8; 16] =
    [0xC6, 0x85, 0x73, 0xF6, 0x4E, 0x1A, 0x45, 0xCA, 0x82, 0x65, 0xF5, 0x7F, 0x48, 0xBA, 0x6D, 0x81];
const BCACHEFS: [u8; 16] =
    [0xC6, 0x85, 0x73, 0xF6, 0x66, 0xCE, 0x90, 0xA9, 0xD9, 0x6A, 0x60, 0xCF, 0x80, 0x3D, 0xF7, 0xEF];

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
    (1024, &[2, 0, 0, 0, 0, 0, 0x34, 0x34], "a NILFS2 file system"),
    (0x0400, b"OCFSV2", "an OCFS2 file system"),
    (0x0800, b"OCFSV2", "an OCFS2 file system"),
    (0x1000, b"OCFSV2", "an OCFS2 file system"),
    (0x2000, b"OCFSV2", "an OCFS2 file system"),
    (0x1_0000, &[0x01, 0x16, 0x19, 0x70], "a GFS2 file system"),
    (1024, &[0x48, 0x2B, 0, 4], "an HFS+ file system"),
    (1024, &[0x48, 0x58, 0, 5], "an HFS+ file system"),
    (1024, b"BD", "an HFS file system"),
    (32, b"NXSB", "an APFS container"),
    (0, b"\0\0\0ReFS\0", "a ReFS file system"),
    (0x8001, b"BEA01", "a UDF file system"),
    (0, &[0x45, 0x3D, 0xCD, 0x28], "a cramfs file system"),
    (0, &[0xCE, 0xFA, 0xAD, 0x1B], "a BFS file system"),
    (0x410, &[0x7F, 0x13], "a Minix file system"),
    (0x410, &[0x8F, 0x13], "a Minix file system"),
    (0x410, &[0x68, 0x24], "a Minix file system"),
    (0x410, &[0x78, 0x24], "a Minix file system"),
    (0x418, &[0x5A, 0x4D], "a Minix file system"),
    (0x1018, &BCACHE, "a bcache device"),
    (0x1018, &BCACHEFS, "a bcachefs file system"),
    (0, b"integrt\0", "a dm-integrity volume"),
    (0, b"verity\0\0", "dm-verity data (VERITYSETUP)"),
    (0, b"dmvdo001", "a VDO volume"),
    (4086, b"SWAPSPACE2", "swap space"),
    (4086, b"SWAP-SPACE", "swap space"),
    // At the end of the first page, of the sizes that aarch64 and POWER have, too.
    (8182, b"SWAPSPACE2", "swap space"),
    (16_374, b"SWAPSPACE2", "swap space"),
    (32_758, b"SWAPSPACE2", "swap space"),
    (65_526, b"SWAPSPACE2", "swap space"),
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

/// Magic numbers of DRBD's metadata, 60 bytes after its start in the last 4 KiB: versions 8.0, 8.4 (unclean) and 9.
const DRBD: [[u8; 4]; 3] = [[0x83, 0x74, 0x02, 0x6B], [0x83, 0x74, 0x02, 0x6C], [0x83, 0x74, 0x02, 0x6D]];

/// The superblocks of md's versions 1.0 and 0.90, of DDF, Intel (IMSM) RAID and DRBD, and the second copy of a GPT.
fn at_the_end(file: &File, size: u64) -> io::Result<Option<&'static str>> {
    const MD: [u8; 4] = [0xFC, 0x4E, 0x2B, 0xA9];
    const DDF: [u8; 4] = [0xDE, 0x11, 0xDE, 0x11];
    let sectors = size / 512;
    let places = [
        (sectors.saturating_sub(16) & !7) * 512,
        (size & !0xFFFF).saturating_sub(0x1_0000),
        size.saturating_sub(512),
        size.saturating_sub(4096),
        // IMSM: before the last sector; DDF: its anchor, or its second one.
        size.saturating_sub(1024),
        size.saturating_sub(257 * 512),
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
        if block.starts_with(&DDF) {
            return Ok(Some("a DDF RAID member"));
        }
        if block.starts_with(b"Intel Raid ISM Cfg Sig. ") {
            return Ok(Some("an Intel (IMSM) RAID member"));
        }
        if place + 4096 == size
            && block.get(60..64).is_some_and(|magic| DRBD.iter().any(|known| magic == known))
        {
            return Ok(Some("a DRBD device"));
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
            (SIZE - 512, &[0xDE, 0x11, 0xDE, 0x11], "a DDF RAID member"),
            (SIZE - 257 * 512, &[0xDE, 0x11, 0xDE, 0x11], "a DDF RAID member"),
            (SIZE - 1024, b"Intel Raid ISM Cfg Sig. 1.3", "an Intel (IMSM) RAID member"),
            (SIZE - 4096 + 60, &[0x83, 0x74, 0x02, 0x6D], "a DRBD device"),
            ((128 << 10) + 5 * 1024, &[0x0C, 0xB1, 0xBA, 0, 0, 0, 0, 0], "a ZFS pool member"),
        ] {
            let file = device(SIZE);
            file.write_all_at(magic, offset).unwrap();
            assert_eq!(find(&file, SIZE).unwrap(), Some(what), "{offset}");
        }
    }

    /// What blkid(8) finds after mkfs(8) is found here, too.
    #[test]
    fn what_blkid_knows_is_known() {
        use std::process::Command;
        if Command::new("blkid").arg("--version").output().is_err() {
            return println!("skipped: no blkid(8)");
        }
        const SIZE: u64 = 320 << 20;
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("image");
        let empty = dir.path().join("empty");
        std::fs::create_dir(&empty).unwrap();
        let mut known = 0;
        for (tool, what) in [
            ("mkfs.ext2 -q -F", "an ext file system"),
            ("mkfs.ext4 -q -F", "an ext file system"),
            ("mkfs.xfs -q -f", "an XFS file system"),
            ("mkfs.btrfs -q -f", "a btrfs file system"),
            ("mkfs.minix -1", "a Minix file system"),
            ("mkfs.minix -2", "a Minix file system"),
            ("mkfs.minix -3", "a Minix file system"),
            ("mkfs.bfs", "a BFS file system"),
            ("mkfs.cramfs EMPTY", "a cramfs file system"),
            ("mkfs.vfat", "a FAT file system"),
            ("mkfs.exfat", "an exFAT file system"),
            ("mkfs.f2fs -q -f", "an F2FS file system"),
            ("mkfs.nilfs2 -q -f", "a NILFS2 file system"),
            ("mkudffs", "a UDF file system"),
            ("mkfs.ntfs -Q -F -q", "an NTFS file system"),
            ("mkswap", "swap space"),
        ] {
            let _ = std::fs::remove_file(&path);
            File::create(&path).unwrap().set_len(SIZE).unwrap();
            let command =
                format!("{} {}", tool.replace("EMPTY", &empty.display().to_string()), path.display());
            let made = Command::new("sh").arg("-c").arg(&command).output().unwrap();
            if !made.status.success() {
                println!("skipped in part: {command}: {}", String::from_utf8_lossy(&made.stderr).trim());
                continue;
            }
            let found =
                Command::new("blkid").args(["-p", "-o", "value", "-s", "TYPE"]).arg(&path).output().unwrap();
            let (file, kind) =
                (File::open(&path).unwrap(), String::from_utf8_lossy(&found.stdout).trim().to_owned());
            let size = file.metadata().unwrap().len();
            assert_eq!(find(&file, size).unwrap(), Some(what), "{command}, blkid: {kind}");
            known += usize::from(!kind.is_empty());
        }
        println!("blkid and iolite agree on {known}");
    }
}
