//! Mapped memory that a library reads and writes by itself: a page of it that can't be had is no end of this program.
//!
//! SQLite maps the index of its write-ahead log (the `-shm` file), as all of its users do. Where the storage can't deliver a page
//! of it, or the file was truncated, the access is SIGBUS. The page is then replaced by an empty one of this process, and its
//! range reports the fault: whoever watches it must not use what was read since, and must write nothing more.

use std::io;
use std::sync::PoisonError;
use std::sync::atomic::Ordering;

use crate::fault;
use crate::watched_ranges::{self, SLOTS, Slot, USED, USERS};

/// A range of mapped memory that is watched until this is dropped, which has to be before it is unmapped.
#[derive(Debug)]
pub struct Watched(usize);

impl Watched {
    /// Watches `length` bytes at address `start`. The same range can be watched by several: a fault is one of all of them.
    ///
    /// # Errors
    /// As sigaction(2); more than 16,384 ranges are watched.
    pub fn new(start: usize, length: usize) -> io::Result<Watched> {
        fault::watch()?;
        let mut users = USERS.lock().unwrap_or_else(PoisonError::into_inner);
        let same = |slot: &Slot| slot.start.load(Ordering::Acquire) == start;
        let slots = &SLOTS[..users.len()];
        if let Some(index) = slots.iter().zip(users.iter()).position(|(slot, &count)| count > 0 && same(slot))
        {
            SLOTS[index].end.fetch_max(start + length, Ordering::AcqRel);
            users[index] += 1;
            return Ok(Watched(index));
        }
        let index = users.iter().position(|&count| count == 0).unwrap_or(users.len());
        let Some(slot) = SLOTS.get(index) else { return Err(io::Error::from_raw_os_error(libc::ENOMEM)) };
        if index == users.len() {
            users.push(0);
        }
        users[index] = 1;
        slot.faulted.store(false, Ordering::Release);
        slot.end.store(start + length, Ordering::Release);
        slot.start.store(start, Ordering::Release);
        USED.store(users.len(), Ordering::Release);
        Ok(Watched(index))
    }

    /// Whether a page of it could not be had.
    pub fn has_faulted(&self) -> bool {
        SLOTS[self.0].faulted.load(Ordering::Acquire)
    }

    /// Puts an empty page of this process in the place of the first one, as for a fault: what is written to it from now on stays
    /// in this process. Where that is not possible, nothing changes.
    pub fn detach_first_page(&self) {
        fault::replace(self.start());
    }

    /// Address of its first byte.
    pub fn start(&self) -> usize {
        SLOTS[self.0].start.load(Ordering::Acquire)
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        let mut users = USERS.lock().unwrap_or_else(PoisonError::into_inner);
        users[self.0] -= 1;
        if users[self.0] == 0 {
            SLOTS[self.0].start.store(0, Ordering::Release);
        }
    }
}

/// Whether there was a fault in any range so far.
#[inline]
pub fn any_fault() -> bool {
    watched_ranges::any_fault()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ptr;

    const LENGTH: usize = 64 << 10;

    /// A file that is mapped whole, without any care for faults.
    struct Mapped {
        file: std::fs::File,
        at: *mut libc::c_void,
    }

    impl Mapped {
        fn new() -> Mapped {
            use std::os::fd::AsRawFd;
            let file = tempfile::tempfile().unwrap();
            file.set_len(LENGTH as u64).unwrap();
            let (protection, fd) = (libc::PROT_READ | libc::PROT_WRITE, file.as_raw_fd());
            // SAFETY: a new mapping, at a place the kernel chooses.
            let at = unsafe { libc::mmap(ptr::null_mut(), LENGTH, protection, libc::MAP_SHARED, fd, 0) };
            assert_ne!(at, libc::MAP_FAILED);
            Mapped { file, at }
        }

        fn byte(&self, at: usize) -> u8 {
            // SAFETY: within the mapping, which has no references.
            unsafe { ptr::read_volatile(self.at.cast::<u8>().add(at)) }
        }
    }

    impl Drop for Mapped {
        fn drop(&mut self) {
            // SAFETY: the mapping is ours, and nothing refers to it.
            unsafe { libc::munmap(self.at, LENGTH) };
        }
    }

    #[test]
    fn a_page_that_is_gone_is_reported_to_all_who_watch_it_and_to_nobody_else() {
        let (mapped, other) = (Mapped::new(), Mapped::new());
        let first = Watched::new(mapped.at as usize, LENGTH).unwrap();
        let second = Watched::new(mapped.at as usize, LENGTH).unwrap();
        let elsewhere = Watched::new(other.at as usize, LENGTH).unwrap();
        assert_eq!((mapped.byte(0), mapped.byte(LENGTH - 1)), (0, 0));
        assert!(!first.has_faulted());
        mapped.file.set_len(4096).unwrap();
        assert_eq!(mapped.byte(LENGTH - 1), 0, "an empty page is in its place");
        assert!(first.has_faulted() && second.has_faulted() && !elsewhere.has_faulted());
        drop(first);
        assert!(
            Watched::new(mapped.at as usize, LENGTH).unwrap().has_faulted(),
            "it is still the same range"
        );
        second.detach_first_page();
        // SAFETY: within the mapping, which has no references.
        unsafe { ptr::write_volatile(mapped.at.cast::<u8>(), 7) };
        let mut byte = [1];
        std::os::unix::fs::FileExt::read_exact_at(&mapped.file, &mut byte, 0).unwrap();
        assert_eq!((mapped.byte(0), byte), (7, [0]), "what is written stays in this process");
        drop(second);
        let anew = Watched::new(mapped.at as usize, LENGTH).unwrap();
        assert!(!anew.has_faulted() && anew.start() == mapped.at as usize);
    }
}
