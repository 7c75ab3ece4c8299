//! A table of file descriptors of a thread's own.
//!
//! Where threads share a table, the kernel counts each use of a descriptor with two locked instructions, because another thread may
//! close it meanwhile. A thread with a table of its own does not pay for that, as a program with a single thread does not. On a read of
//! 512 bytes from the page cache, this is 7 % of the time.

use std::any::Any;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::sync::{Mutex, PoisonError};

/// `CLOSE_RANGE_UNSHARE` of linux/close_range.h (Linux 5.9).
const UNSHARE: libc::c_uint = 1 << 1;

/// Numbers of descriptors from which on a thread gets no table of its own. The kernel copies all descriptors up to the highest that the
/// thread keeps, so that a thousand threads with a file each would copy, and close again, half a million.
pub const MAX_COPIED: RawFd = 256;

/// What owns descriptors of the shared table, and belonged to threads that no longer use that table.
static LEFT_BEHIND: Mutex<Vec<Box<dyn Any + Send>>> = Mutex::new(Vec::new());

/// Gives the calling thread a table of its own (close_range(2)), with the standard descriptors and those only that `lent` names of the
/// owner. They are returned: in the new table nothing else owns them. The table ends with the thread. `Err` with the owner if the kernel
/// does not support the call, or more than [`MAX_COPIED`] descriptors would be copied: the thread then still shares the table.
///
/// The owner is kept for [`close_left_behind`]. If this thread dropped it, and was the last to do so, the descriptors would be closed in
/// the thread's table, in which others own them now, and would stay open in the shared one. From here on, the thread must not use or
/// close any other descriptor that was opened before.
///
/// It must not be called by a thread that is alone in its process, whose only table it would empty.
///
/// # Errors
/// The owner.
pub fn own<O: Send + 'static>(
    owner: O,
    lent: impl FnOnce(&O) -> Vec<BorrowedFd<'_>>,
) -> Result<Vec<OwnedFd>, O> {
    let owner = Box::new(owner);
    let lent: Vec<RawFd> = lent(&owner).iter().map(AsRawFd::as_raw_fd).collect();
    let mut kept: Vec<RawFd> = lent.iter().copied().chain(0..=2).collect();
    kept.sort_unstable();
    kept.dedup();
    let beyond = kept.last().map_or(0, |last| last + 1);
    // The kernel copies only the descriptors below this one.
    if beyond > MAX_COPIED || !close(beyond, RawFd::MAX, UNSHARE) {
        return Err(*owner);
    }
    LEFT_BEHIND.lock().unwrap_or_else(PoisonError::into_inner).push(owner);
    for gap in kept.windows(2).filter(|gap| gap[1] > gap[0] + 1) {
        close(gap[0] + 1, gap[1] - 1, 0);
    }
    // SAFETY: they are open, and nothing owns them in the new table: their owner is only dropped by threads with the shared one.
    Ok(lent.into_iter().map(|lent| unsafe { OwnedFd::from_raw_fd(lent) }).collect())
}

/// Drops what threads with a table of their own have left behind in the shared table, which the calling thread must use.
pub fn close_left_behind() {
    let left = std::mem::take(&mut *LEFT_BEHIND.lock().unwrap_or_else(PoisonError::into_inner));
    drop(left);
}

fn close(first: RawFd, last: RawFd, flags: libc::c_uint) -> bool {
    // SAFETY: no pointers. Descriptors are closed only in the calling thread's own table: the first call makes it, the others follow it.
    unsafe { libc::syscall(libc::SYS_close_range, first, last, flags) == 0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::io::Read;
    use std::os::fd::AsFd;
    use std::os::unix::fs::FileExt;
    use std::sync::Arc;

    const SKIPPED: &str = "skipped: close_range is not available here (Linux 5.9)";

    fn is_readable(file: &File) -> bool {
        file.read_at(&mut [0; 4], 0).is_ok_and(|read| read == 4)
    }

    #[test]
    fn a_thread_keeps_its_files_and_closes_nothing_for_others() {
        let files: [Arc<File>; 3] = std::array::from_fn(|_| Arc::new(tempfile::tempfile().unwrap()));
        files.iter().for_each(|file| file.write_all_at(b"data", 0).unwrap());
        let of_thread = files.clone();
        let thread = std::thread::spawn(move || {
            let own: Vec<File> = own(of_thread[1].clone(), |file| vec![file.as_fd()])
                .ok()?
                .into_iter()
                .map(File::from)
                .collect();
            let others = of_thread.each_ref().map(|file| is_readable(file));
            let kept = is_readable(&own[0]);
            drop(own);
            Some((others, kept, is_readable(&of_thread[1])))
        });
        let seen = thread.join().unwrap();
        assert!(files.iter().all(|file| is_readable(file)), "the other threads have what they had");
        match seen {
            Some(seen) => assert_eq!(seen, ([false, true, false], true, false)),
            None => eprintln!("{SKIPPED}"),
        }
    }

    #[test]
    fn a_thread_whose_file_has_a_high_number_shares_the_table() {
        let file = tempfile::tempfile().unwrap();
        // SAFETY: the descriptor is open; nothing else is changed.
        let high = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_DUPFD_CLOEXEC, MAX_COPIED) };
        assert!(high >= MAX_COPIED, "{}", std::io::Error::last_os_error());
        // SAFETY: it was just created, and nothing else owns it.
        let high = unsafe { OwnedFd::from_raw_fd(high) };
        let thread = std::thread::spawn(move || {
            let shared = own(high, |high| vec![high.as_fd()]).err()?;
            Some(File::from(shared).metadata().is_ok())
        });
        assert_eq!(thread.join().unwrap(), Some(true));
    }

    /// The owner is dropped by neither thread in the wrong table, also where the thread was the last that had it.
    #[test]
    fn what_is_left_behind_is_closed_by_the_others() {
        let (mut reader, writer) = std::io::pipe().unwrap();
        let thread = std::thread::spawn(move || {
            let own = own(writer, |writer| vec![writer.as_fd()]);
            let is_own = own.is_ok();
            // In its own table: with debug assertions, std aborts where a descriptor is closed already.
            drop(own);
            is_own
        });
        if !thread.join().unwrap() {
            eprintln!("{SKIPPED}");
        }
        close_left_behind();
        let mut rest = Vec::new();
        reader.read_to_end(&mut rest).unwrap();
        assert!(rest.is_empty(), "the pipe has no writer any more");
    }
}
