//! io_uring_enter through a registered ring: the kernel finds the ring without looking the descriptor up and counting its users,
//! which costs most where several threads share the table of descriptors.

use std::io;
use std::os::fd::{AsRawFd, RawFd};
use std::time::Duration;

use io_uring::IoUring;

/// `IORING_REGISTER_RING_FDS` and `IORING_UNREGISTER_RING_FDS` of linux/io_uring.h (5.18).
const REGISTER_RING_FDS: libc::c_uint = 20;
const UNREGISTER_RING_FDS: libc::c_uint = 21;

/// Flags of io_uring_enter (linux/io_uring.h).
const GETEVENTS: u32 = 1 << 0;
const EXT_ARG: u32 = 1 << 3;
const REGISTERED_RING: u32 = 1 << 4;

/// `struct io_uring_rsrc_update`: where in the thread's table of rings, and which descriptor.
#[repr(C)]
struct Update {
    offset: u32,
    reserved: u32,
    data: u64,
}

/// `struct io_uring_getevents_arg`.
#[repr(C)]
struct WaitArgs {
    signals: u64,
    signals_size: u32,
    min_wait: u32,
    time: u64,
}

/// `struct __kernel_timespec`.
#[repr(C)]
struct Time {
    seconds: i64,
    nanos: i64,
}

/// How a ring is entered. Belongs to the thread that makes it, as the registration does.
#[derive(Debug)]
pub(crate) struct Entrance {
    descriptor: RawFd,
    /// Index in the thread's table of rings, where the kernel has registered it.
    registered: Option<u32>,
}

impl Entrance {
    /// Registers the ring with this thread where the kernel can and the thread's table (16 rings) has a place.
    pub(crate) fn new(ring: &IoUring) -> Entrance {
        let descriptor = ring.as_raw_fd();
        // An offset of -1 lets the kernel choose.
        let mut update = Update { offset: u32::MAX, reserved: 0, data: descriptor as u64 };
        let done = register(descriptor, REGISTER_RING_FDS, &mut update);
        Entrance { descriptor, registered: (done == 1).then_some(update.offset) }
    }

    /// Hands over `submit` entries, and with a `wait` waits for so many completions, at most so long. Returns the number of entries
    /// that the kernel has taken.
    ///
    /// # Errors
    /// The kernel's: `ETIME` where the time is over, `EINTR` for a signal.
    #[inline]
    pub(crate) fn enter(&self, submit: u32, wait: Option<(u32, Duration)>) -> io::Result<usize> {
        let (descriptor, flags) = match self.registered {
            Some(index) => (index as RawFd, REGISTERED_RING),
            None => (self.descriptor, 0),
        };
        let Some((at_least, timeout)) = wait else {
            // SAFETY: without EXT_ARG and a signal mask the kernel reads no memory but the ring's own.
            return result(unsafe {
                libc::syscall(
                    libc::SYS_io_uring_enter,
                    descriptor,
                    submit,
                    0,
                    flags,
                    std::ptr::null::<u8>(),
                    0_usize,
                )
            });
        };
        let time = Time {
            seconds: i64::try_from(timeout.as_secs()).unwrap_or(i64::MAX),
            nanos: i64::from(timeout.subsec_nanos()),
        };
        let args =
            WaitArgs { signals: 0, signals_size: 0, min_wait: 0, time: (&raw const time).addr() as u64 };
        let flags = flags | GETEVENTS | EXT_ARG;
        // SAFETY: the structures are laid out as the kernel's, and live until the call returns.
        result(unsafe {
            libc::syscall(
                libc::SYS_io_uring_enter,
                descriptor,
                submit,
                at_least,
                flags,
                &raw const args,
                size_of::<WaitArgs>(),
            )
        })
    }
}

impl Drop for Entrance {
    /// A registered ring would stay open to the end of the thread.
    fn drop(&mut self) {
        if let Some(offset) = self.registered {
            let mut update = Update { offset, reserved: 0, data: 0 };
            register(self.descriptor, UNREGISTER_RING_FDS, &mut update);
        }
    }
}

fn register(descriptor: RawFd, what: libc::c_uint, update: &mut Update) -> libc::c_long {
    // SAFETY: one structure laid out as the kernel's, which lives until the call returns. The descriptor is a ring's: on any other
    // the kernel does nothing.
    unsafe { libc::syscall(libc::SYS_io_uring_register, descriptor, what, &raw mut *update, 1) }
}

fn result(status: libc::c_long) -> io::Result<usize> {
    usize::try_from(status).map_err(|_| io::Error::last_os_error())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ring() -> Option<IoUring> {
        IoUring::new(4)
            .inspect_err(|error| eprintln!("skipped: io_uring is not available here: {error}"))
            .ok()
    }

    #[test]
    fn a_ring_works_with_and_without_registration() {
        let Some(mut ring) = ring() else { return };
        let mut entrance = Entrance::new(&ring);
        if entrance.registered.is_none() {
            eprintln!("skipped: this kernel registers no rings (Linux 5.18 does)");
        }
        for _ in 0..2 {
            let entry = io_uring::opcode::Nop::new().build().user_data(7);
            // SAFETY: it has no buffer.
            unsafe { ring.submission().push(&entry) }.unwrap();
            assert_eq!(entrance.enter(1, Some((1, Duration::from_secs(5)))).unwrap(), 1);
            assert_eq!(ring.completion().map(|entry| entry.user_data()).collect::<Vec<_>>(), [7]);
            drop(std::mem::replace(
                &mut entrance,
                Entrance { descriptor: ring.as_raw_fd(), registered: None },
            ));
        }
    }

    #[test]
    fn waiting_ends_with_its_time() {
        let Some(ring) = ring() else { return };
        let error = Entrance::new(&ring).enter(0, Some((1, Duration::from_millis(1)))).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::ETIME));
    }

    #[test]
    fn a_thread_has_a_place_for_each_ring_that_comes_after_another() {
        let Some(first) = ring() else { return };
        let registers = Entrance::new(&first).registered.is_some();
        for _ in 0..100 {
            let Some(ring) = ring() else { return };
            assert_eq!(
                Entrance::new(&ring).registered.is_some(),
                registers,
                "the place of the one before is free"
            );
        }
    }
}
