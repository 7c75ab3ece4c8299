//! Faults of mapped memory: SIGBUS while a copy is in progress is an error of that copy, and of nothing else; in a range that is
//! watched (`watched.rs`), one of that range.
//!
//! The handler puts an empty page in the place of the one that can't be had, so that the access comes to its end, and notes that
//! it did. A fault anywhere else ends the process, as it would without the handler.

use std::cell::Cell;
use std::io;
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{Ordering, compiler_fence};

use crate::watched_ranges;

thread_local! {
    /// First byte and end of what this thread copies from or to.
    static RANGE: Cell<(usize, usize)> = const { Cell::new((0, 0)) };
    /// Whether a page of it could not be had.
    static FAULTED: Cell<bool> = const { Cell::new(false) };
}

/// Installs the handler, once per process.
///
/// # Errors
/// As sigaction(2).
pub(crate) fn watch() -> io::Result<()> {
    static INSTALLED: OnceLock<i32> = OnceLock::new();
    let error = *INSTALLED.get_or_init(|| {
        // SAFETY: a sigaction is plain data, for which zero is a value.
        let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
        action.sa_sigaction = on_fault as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_NODEFER;
        // SAFETY: the handler has the signature that SA_SIGINFO asks for, and is async-signal-safe (see there).
        let done = unsafe { libc::sigaction(libc::SIGBUS, &raw const action, ptr::null_mut()) };
        if done == 0 { 0 } else { io::Error::last_os_error().raw_os_error().unwrap_or(libc::EINVAL) }
    });
    if error == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(error)) }
}

/// Copies, and reports whether a page of `length` bytes at address `start` could not be had meanwhile.
#[inline]
pub(crate) fn during(start: usize, length: usize, copy: impl FnOnce()) -> bool {
    let page = rustix::param::page_size();
    RANGE.set((start / page * page, start + length));
    compiler_fence(Ordering::SeqCst);
    copy();
    compiler_fence(Ordering::SeqCst);
    RANGE.set((0, 0));
    FAULTED.replace(false)
}

/// Async-signal-safe: it reads and sets thread-local cells that need no initialisation, and atomics, and makes system calls.
extern "C" fn on_fault(_: libc::c_int, info: *mut libc::siginfo_t, _: *mut libc::c_void) {
    // SAFETY: the kernel hands over a siginfo_t that is valid during the handler; for SIGBUS it has an address.
    let address = unsafe { (*info).si_addr() } as usize;
    let (start, end) = RANGE.get();
    if (start..end).contains(&address) {
        if replace(address) {
            FAULTED.set(true);
            return;
        }
    } else if watched_ranges::note(address) && replace(address) {
        return;
    }
    // SAFETY: the default action is the process's end, which follows when the instruction is repeated.
    unsafe { libc::signal(libc::SIGBUS, libc::SIG_DFL) };
}

/// Puts an empty page of this process in the place of the one at an address; whether that was possible.
pub(crate) fn replace(address: usize) -> bool {
    let page = rustix::param::page_size();
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED;
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    let at = (address / page * page) as *mut libc::c_void;
    // SAFETY: the page belongs to a mapping that this thread is copying from or to, to which there are no references and which
    // its owner maps anew afterwards, or to one that is watched, whose users access it as memory that others change.
    unsafe { libc::mmap(at, page, protection, flags, -1, 0) != libc::MAP_FAILED }
}
