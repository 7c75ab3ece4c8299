//! Memory that is kept from others.

use std::io;
use std::ptr::NonNull;

/// Memory that is locked: the kernel neither swaps it out nor gives it to others (mlock(2)).
#[derive(Debug)]
pub struct LockedMemory {
    start: NonNull<libc::c_void>,
    length: usize,
}

// SAFETY: the mapping is owned by this value alone, and never read or written through it.
unsafe impl Send for LockedMemory {}

impl LockedMemory {
    /// Locks `length` bytes, at least one, until the value is dropped.
    ///
    /// # Errors
    /// `ENOMEM`: there is not that much memory, or RLIMIT_MEMLOCK does not allow it; `EPERM` if the limit is 0.
    pub fn new(length: usize) -> io::Result<LockedMemory> {
        let (protection, flags) =
            (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        // SAFETY: an anonymous mapping at an address that the kernel chooses.
        let start = unsafe { libc::mmap(std::ptr::null_mut(), length, protection, flags, -1, 0) };
        let start = match NonNull::new(start) {
            Some(start) if start.as_ptr() != libc::MAP_FAILED => start,
            _ => return Err(io::Error::last_os_error()),
        };
        // It is unmapped by its own drop, also if it can't be locked.
        let memory = LockedMemory { start, length };
        // SAFETY: the range is the mapping made above.
        match unsafe { libc::mlock(memory.start.as_ptr(), memory.length) } {
            0 => Ok(memory),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

impl Drop for LockedMemory {
    fn drop(&mut self) {
        // SAFETY: the mapping is this value's own, and unmapped once.
        unsafe { libc::munmap(self.start.as_ptr(), self.length) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn locked_kib() -> u64 {
        let status = std::fs::read_to_string("/proc/thread-self/status").unwrap();
        let line = status.lines().find(|line| line.starts_with("VmLck:")).unwrap();
        line.split_whitespace().nth(1).unwrap().parse().unwrap()
    }

    #[test]
    fn memory_is_locked_until_it_is_dropped() {
        let before = locked_kib();
        let memory = match LockedMemory::new(4 << 20) {
            Ok(memory) => memory,
            Err(error) => return eprintln!("skipped: this user may not lock 4 MiB: {error}"),
        };
        assert!(locked_kib() >= before + 4096);
        drop(memory);
        assert!(locked_kib() < before + 4096);
        assert!(LockedMemory::new(usize::MAX / 2).is_err());
    }
}
