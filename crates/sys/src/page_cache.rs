//! The page cache under a span of a file: how much of it is resident, and evicting it.

use std::fs::File;
use std::io;
use std::num::NonZeroU64;
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::fs::MetadataExt;
use std::ptr;

use rustix::fs::{Access, Advice, AtFlags, CWD};
use rustix::mm::{MapFlags, ProtFlags};

/// Most of a file that is mapped at a time, in bytes; its `mincore` vector is a 4096th of that with 4 KiB pages.
const WINDOW: u64 = 1 << 30;

/// Bytes of the span of `file` from `offset` (bytes) on for `length` (bytes) that are in the page cache, counted in
/// whole pages but never more than `length`.
///
/// Asks cachestat(2), Linux 6.5 and later, and where that is missing or refused maps the span and asks mincore(2),
/// for which the file must be open for reading. Neither reads the file or changes what is cached.
///
/// # Errors
///
/// Any error of the kernel; `PermissionDenied` where the kernel would report a wrong value to this user, because the user
/// neither owns the file nor may write to it.
pub fn resident_bytes(file: &File, offset: u64, length: u64) -> io::Result<u64> {
    match by_cachestat(file, offset, length) {
        // ENOSYS: an older kernel. EPERM: a container's system call filter that does not know the call, or the
        // kernel's own refusal, which the fallback checks for.
        Err(error) if matches!(error.raw_os_error(), Some(libc::ENOSYS | libc::EPERM)) => {
            by_mincore(file, offset, length)
        }
        answer => answer,
    }
}

/// Writes what is dirty in `file` to its device and drops the span from `offset` (bytes) on for `length` (bytes)
/// from the page cache; a `length` of 0 drops nothing.
///
/// Dropping is advice to the kernel (posix_fadvise(2), `DONTNEED`): pages stay that only partly lie in the span,
/// belong to a folio (up to some megabytes) that does, are mapped or locked by a process, or were dirtied again
/// meanwhile. [`resident_bytes`] returns what is left.
///
/// # Errors
///
/// Whatever fdatasync(2) or posix_fadvise(2) answers.
pub fn evict(file: &File, offset: u64, length: u64) -> io::Result<()> {
    file.sync_data()?;
    drop_clean(file, offset, length)
}

/// Drops from the page cache what is clean of the span from `offset` (bytes) on for `length` (bytes), and waits for nothing;
/// the kernel begins to write out what is dirty. Advice as that of [`evict`].
///
/// # Errors
///
/// Whatever posix_fadvise(2) answers.
pub fn drop_clean(file: &File, offset: u64, length: u64) -> io::Result<()> {
    // To the system call a length of 0 means "to the end of the file".
    let Some(length) = NonZeroU64::new(length) else { return Ok(()) };
    Ok(rustix::fs::fadvise(file, offset, Some(length), Advice::DontNeed)?)
}

/// Advises the kernel that the file will be read at random, so that it does not read ahead, or one after the other, so that it
/// reads further ahead. Holds for what is read through this open file.
///
/// # Errors
///
/// Whatever posix_fadvise(2) answers.
pub fn advise(file: &File, random: bool) -> io::Result<()> {
    let advice = if random { Advice::Random } else { Advice::Sequential };
    Ok(rustix::fs::fadvise(file, 0, None, advice)?)
}

/// Size of a page, in bytes.
pub fn page_size() -> u64 {
    rustix::param::page_size() as u64
}

/// Bytes of the span of `file` from `offset` (bytes) on for `length` (bytes) that wait in the page cache to be written, or are being
/// written, counted in whole pages.
///
/// # Errors
///
/// `ENOSYS` before Linux 6.5, which has no cachestat(2); `EPERM` where a filter of system calls does not know it.
pub fn dirty_bytes(file: &File, offset: u64, length: u64) -> io::Result<u64> {
    if length == 0 {
        return Ok(0);
    }
    let counts = cachestat(file.as_raw_fd(), offset, length)?;
    Ok((counts.dirty + counts.writeback).saturating_mul(rustix::param::page_size() as u64))
}

/// `struct cachestat` of include/uapi/linux/mman.h; all in pages.
#[repr(C)]
#[derive(Debug, Default)]
struct CacheStat {
    cached: u64,
    dirty: u64,
    writeback: u64,
    evicted: u64,
    recently_evicted: u64,
}

/// As [`resident_bytes`], by cachestat(2).
fn by_cachestat(file: &File, offset: u64, length: u64) -> io::Result<u64> {
    // To the system call a length of 0 means "to the end of the file".
    if length == 0 {
        return Ok(0);
    }
    let pages = cachestat(file.as_raw_fd(), offset, length)?.cached;
    Ok(pages.saturating_mul(rustix::param::page_size() as u64).min(length))
}

/// The pages of a span, by a system call that libc does not bind everywhere yet.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64"))]
fn cachestat(file: RawFd, offset: u64, length: u64) -> io::Result<CacheStat> {
    /// Number of cachestat(2), the same on these architectures (Linux, include/uapi/asm-generic/unistd.h).
    const SYS_CACHESTAT: libc::c_long = 451;
    /// `struct cachestat_range` of include/uapi/linux/mman.h.
    #[repr(C)]
    struct Range {
        offset: u64,
        length: u64,
    }
    let range = Range { offset, length };
    let mut counts = CacheStat::default();
    // SAFETY: both structures are laid out as the kernel's and live until the call returns; the kernel reads the
    // first, writes the second and keeps neither. The descriptor is borrowed from an open file.
    let status = unsafe { libc::syscall(SYS_CACHESTAT, file, &raw const range, &raw mut counts, 0_u32) };
    if status == 0 { Ok(counts) } else { Err(io::Error::last_os_error()) }
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64")))]
fn cachestat(_file: RawFd, _offset: u64, _length: u64) -> io::Result<CacheStat> {
    Err(io::Error::from_raw_os_error(libc::ENOSYS))
}

/// As [`resident_bytes`], by mincore(2) over one window of the span after the other.
fn by_mincore(file: &File, offset: u64, length: u64) -> io::Result<u64> {
    if length == 0 {
        return Ok(0);
    }
    refuse_if_the_kernel_hides_residency(file)?;
    let page = rustix::param::page_size() as u64;
    let end = offset.checked_add(length).ok_or(io::ErrorKind::InvalidInput)?;
    let mut start = offset / page * page;
    let mut resident = 0;
    while start < end {
        let window = WINDOW.min(end - start);
        resident += resident_pages(file, start, window)?;
        start += window;
    }
    Ok((resident * page).min(length))
}

/// Fails where mincore(2) would report every page as resident: since Linux 5.2 it does so for users who neither own
/// the file nor may write to it (mm/mincore.c, `can_do_mincore`).
fn refuse_if_the_kernel_hides_residency(file: &File) -> io::Result<()> {
    let user = rustix::process::geteuid();
    if user.is_root() || file.metadata()?.uid() == user.as_raw() {
        return Ok(());
    }
    let path = format!("/proc/self/fd/{}", file.as_raw_fd());
    rustix::fs::accessat(CWD, path, Access::WRITE_OK, AtFlags::EACCESS).map_err(|_| {
        io::Error::new(
            io::ErrorKind::PermissionDenied,
            "the kernel reports the page-cache residency of a file only to its owner and to those who may write to it",
        )
    })
}

/// The pages of `file` that are in the page cache from `start` (bytes, on a page boundary) on for `length` (bytes).
fn resident_pages(file: &File, start: u64, length: u64) -> io::Result<u64> {
    let length = usize::try_from(length).map_err(|_| io::ErrorKind::InvalidInput)?;
    let mut residency = vec![0_u8; length.div_ceil(rustix::param::page_size())];
    // SAFETY: the kernel chooses the address, so that no mapping of ours is replaced, and nothing ever reads or
    // writes through this one, so a file that shrinks meanwhile does no harm.
    let address =
        unsafe { rustix::mm::mmap(ptr::null_mut(), length, ProtFlags::READ, MapFlags::SHARED, file, start) }?;
    // SAFETY: the mapping above covers `length` bytes, and the vector holds one byte for each of its pages.
    let status = unsafe { libc::mincore(address, length, residency.as_mut_ptr().cast()) };
    let answer = if status == 0 { Ok(()) } else { Err(io::Error::last_os_error()) };
    // SAFETY: exactly the mapping made above, to which no reference exists.
    unsafe { rustix::mm::munmap(address, length) }?;
    answer?;
    // Only the lowest bit is defined (mincore(2)).
    Ok(residency.iter().filter(|&&page| page & 1 == 1).count() as u64)
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Seek, SeekFrom, Write};

    use super::*;

    const LENGTH: u64 = 4 << 20;
    /// tmpfs, where every page is resident for ever (linux/magic.h).
    const TMPFS_MAGIC: u64 = 0x0102_1994;

    /// A file of `LENGTH` bytes just written, or `None` (said why) where the temporary directory is memory.
    fn written() -> Option<File> {
        let mut file = tempfile::tempfile().unwrap();
        if rustix::fs::fstatfs(&file).unwrap().f_type as u64 == TMPFS_MAGIC {
            eprintln!("skipped: the temporary directory is a tmpfs, which evicts nothing");
            return None;
        }
        // A page at a time: a larger write may get a folio of many pages, which is only evicted as a whole.
        for _ in 0..LENGTH / 4096 {
            file.write_all(&[7; 4096]).unwrap();
        }
        Some(file)
    }

    #[test]
    fn what_is_written_is_resident_until_evicted() {
        let Some(file) = written() else { return };
        assert_eq!(resident_bytes(&file, 0, LENGTH).unwrap(), LENGTH);
        evict(&file, 0, LENGTH).unwrap();
        assert_eq!(resident_bytes(&file, 0, LENGTH).unwrap(), 0);
    }

    #[test]
    fn both_ways_agree() {
        let Some(mut file) = written() else { return };
        if let Err(error) = by_cachestat(&file, 0, LENGTH) {
            eprintln!("skipped: no cachestat here: {error}");
            return;
        }
        let agree = |file: &File, what: &str| {
            for (offset, length) in
                [(0, LENGTH), (1 << 20, 1 << 20), (5000, 10_000), (0, 1), (0, 0), (LENGTH, 4096)]
            {
                let ways =
                    (by_cachestat(file, offset, length).unwrap(), by_mincore(file, offset, length).unwrap());
                assert_eq!(ways.0, ways.1, "{what}: {length} bytes from {offset}");
            }
        };
        agree(&file, "written");
        evict(&file, 1 << 20, 1 << 20).unwrap();
        assert_eq!(by_mincore(&file, 1 << 20, 1 << 20).unwrap(), 0);
        assert_eq!(by_mincore(&file, 0, LENGTH).unwrap(), LENGTH - (1 << 20));
        agree(&file, "a quarter evicted");
        evict(&file, 0, LENGTH).unwrap();
        agree(&file, "all evicted");
        file.seek(SeekFrom::Start(2 << 20)).unwrap();
        file.read_exact(&mut [0; 4096]).unwrap();
        assert!(by_mincore(&file, 0, LENGTH).unwrap() >= 4096);
        agree(&file, "read again");
    }

    #[test]
    fn an_empty_span_holds_nothing_and_evicts_nothing() {
        let Some(file) = written() else { return };
        assert_eq!(resident_bytes(&file, 0, 0).unwrap(), 0);
        evict(&file, 0, 0).unwrap();
        assert_eq!(resident_bytes(&file, 0, LENGTH).unwrap(), LENGTH);
    }

    #[test]
    fn pages_beyond_the_end_of_the_file_are_not_resident() {
        let Some(file) = written() else { return };
        assert_eq!(resident_bytes(&file, 0, 4 * LENGTH).unwrap(), LENGTH);
        assert_eq!(by_mincore(&file, LENGTH, LENGTH).unwrap(), 0);
    }
}
