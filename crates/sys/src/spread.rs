//! A file whose blocks are spread over the free space of its file system.
//!
//! File systems place a file's blocks next to each other, so that a file smaller than the free space covers little of the device: seeks
//! between its blocks are shorter than those of a database that fills the device, and it lies in one zone of a disk. Here the file is
//! reserved as if it was much longer, and what lies between its pieces is removed from it again (`FALLOC_FL_COLLAPSE_RANGE`), which
//! leaves the pieces where they are. ext4 then places the pieces over all of the free space; XFS stays within an allocation group.

use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::time::{Duration, Instant};

use rustix::fs::FallocateFlags;
use rustix::process::{Resource, getrlimit};

use crate::file;

/// Length of a piece at least: long enough that sequential I/O is one within a piece.
const PIECE: u64 = 16 << 20;

/// Pieces at least and at most. What lies between two is taken for a moment: an eighth to a thirty-second of the free space.
const MIN_PIECES: u64 = 8;
const MAX_PIECES: u64 = 32;

/// Pieces begin and end at multiples of this, and so at block boundaries of the file system.
const UNIT: u64 = 1 << 20;

/// Bytes reserved between two looks at the clock.
const STEP: u64 = 4 << 30;

/// Time after which the rest is reserved as it comes: where the file system has to read much of its maps from a slow disk.
const PATIENCE: Duration = Duration::from_secs(3);

/// Types of file systems (statfs(2)) that are able to, and do not keep for good what is reserved only for a moment.
const ABLE: [u64; 2] = [0xEF53, 0x5846_5342];

/// Reserves blocks for the first `length` bytes in pieces spread over the free space, as far as the file system lets that happen, and
/// sets the file's size to it. The file must be empty. False where the file system is not able to, or the file too large or too
/// small to be spread: then the file is still empty. Where the blocks really are says [`placed`](crate::extents::placed).
///
/// # Errors
/// The file cannot be made empty again.
pub fn preallocate(file: &File, length: u64) -> io::Result<bool> {
    let empty = file.metadata()?.len() == 0;
    if empty && spread(file, length).is_ok_and(|done| done) && file.metadata()?.len() == length {
        return Ok(true);
    }
    if empty {
        file.set_len(0)?;
    }
    Ok(false)
}

fn spread(file: &File, length: u64) -> io::Result<bool> {
    let kind = rustix::fs::fstatfs(file)?.f_type as u64;
    // A file that is longer for a moment must not end the program.
    if !ABLE.contains(&kind) || getrlimit(Resource::Fsize).current.is_some() || discards(file)? {
        return Ok(false);
    }
    let found = rustix::fs::fstatvfs(file)?;
    let free = found.f_bavail.saturating_mul(found.f_frsize);
    let Some(Pieces { each, count, gap }) = pieces(length, free) else { return Ok(false) };
    let begun = Instant::now();
    let mut end = length - each * (count - 1);
    file::reserve(file, 0, end, false)?;
    for _ in 1..count {
        let mut gone = 0;
        while gone < gap && begun.elapsed() < PATIENCE {
            let step = STEP.min(gap - gone);
            file::reserve(file, end + gone, step, false)?;
            gone += step;
        }
        file::reserve(file, end + gone, each, false)?;
        if gone > 0 {
            rustix::fs::fallocate(file, FallocateFlags::COLLAPSE_RANGE, end, gone)?;
        }
        end += each;
    }
    Ok(true)
}

/// Whether what is removed from files is discarded on the device: then what lies between the pieces would be.
fn discards(file: &File) -> io::Result<bool> {
    let device = file.metadata()?.dev();
    let number = format!("{}:{}", rustix::fs::major(device), rustix::fs::minor(device));
    let mounts = std::fs::read_to_string("/proc/self/mountinfo")?;
    // The number is the third field; options are the sixth and the last (proc_pid_mountinfo(5)).
    let mut of_device = mounts.lines().filter(|line| line.split(' ').nth(2) == Some(&number));
    Ok(of_device.any(|line| line.split([' ', ',']).any(|option| option == "discard")))
}

/// How a file is divided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Pieces {
    /// Length of each piece but the first, which has the rest too.
    each: u64,
    count: u64,
    /// Bytes from one piece to the next.
    gap: u64,
}

/// The pieces of a file of `length` bytes in `free` bytes; `None` where it fills a quarter of them anyway, or is too short for
/// some.
fn pieces(length: u64, free: u64) -> Option<Pieces> {
    let count = (length / PIECE).min(MAX_PIECES);
    if count < MIN_PIECES || length > free / 4 {
        return None;
    }
    // The last gap leaves some of the free space to others.
    let gap = (free / 10 * 9 - length) / count / UNIT * UNIT;
    Some(Pieces { each: length / count / UNIT * UNIT, count, gap })
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;
    use crate::extents;
    use crate::testing::LoopDevice;

    const GIB: u64 = 1 << 30;

    /// Of the file on a file system of its own.
    const LENGTH: u64 = 256 << 20;

    #[test]
    fn pieces_cover_the_length_and_most_of_the_free_space() {
        for (length, free) in [(GIB, 100 * GIB), (GIB + 4096, 10 * GIB), (8 * PIECE, GIB), (GIB, 1 << 44)] {
            let Pieces { each, count, gap } = pieces(length, free).unwrap();
            assert!((MIN_PIECES..=MAX_PIECES).contains(&count) && each >= PIECE && each * count <= length);
            let range = length + gap * (count - 1);
            assert!(range > free / 5 * 2 && range < free / 10 * 9, "{range} of {free}");
        }
        assert_eq!(pieces(7 * PIECE, 1 << 40), None, "too few pieces");
        assert_eq!(pieces(GIB, 2 * GIB), None, "half of it all");
    }

    #[test]
    fn a_file_is_whole_and_holds_nothing_wherever_its_blocks_are() {
        let file = tempfile::tempfile_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let length = 8 * PIECE + 4096;
        if preallocate(&file, length).unwrap() {
            assert_eq!(file.metadata().unwrap().len(), length);
            assert_eq!(extents::stored(&file, length).unwrap().written, 0);
            assert!(!preallocate(&file, length).unwrap(), "what is in use is left alone");
            assert_eq!(file.metadata().unwrap().len(), length);
        } else {
            eprintln!("not spread here: the file system cannot, or has too little space");
            assert_eq!(file.metadata().unwrap().len(), 0);
        }
    }

    /// The bytes of the device from the first to the last of a file of 256 MiB, and its pieces, on a file system of 4 GiB.
    fn on_a_file_system_of_its_own(kind: &str) -> Option<(u64, u64)> {
        let device = LoopDevice::new(4 * GIB)?;
        let directory = tempfile::tempdir().unwrap();
        let made = Command::new(format!("mkfs.{kind}")).arg("-q").arg(device.path()).status();
        if !made.is_ok_and(|status| status.success()) {
            eprintln!("skipped: no mkfs.{kind} here");
            return None;
        }
        let mounted = Command::new("mount").arg(device.path()).arg(directory.path()).status();
        if !mounted.is_ok_and(|status| status.success()) {
            eprintln!("skipped: {kind} cannot be mounted here");
            return None;
        }
        let found = std::panic::catch_unwind(|| {
            let file = tempfile::tempfile_in(directory.path()).unwrap();
            assert!(preallocate(&file, LENGTH).unwrap());
            let left = rustix::fs::fstatvfs(&file).unwrap();
            assert!(left.f_bavail * left.f_frsize > 3 * GIB, "what lay between the pieces is free again");
            extents::placed(&file, LENGTH).unwrap()
        });
        assert!(Command::new("umount").arg(directory.path()).status().unwrap().success());
        let placed = found.unwrap();
        Some((placed.end - placed.start, placed.pieces))
    }

    #[test]
    fn ext4_spreads_a_file_over_the_device() {
        let Some((range, pieces)) = on_a_file_system_of_its_own("ext4") else { return };
        assert!(range > 2 * GIB && pieces >= 8, "{pieces} pieces within {range} bytes");
    }

    #[test]
    fn xfs_spreads_a_file_over_more_than_its_length() {
        let Some((range, pieces)) = on_a_file_system_of_its_own("xfs") else { return };
        assert!(range > LENGTH / 2 * 3 && pieces >= 2, "{pieces} pieces within {range} bytes");
    }
}
