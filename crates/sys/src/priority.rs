//! Priorities of the calling thread: for the CPU and for I/O.

use std::io::{self, ErrorKind};

/// `IOPRIO_WHO_PROCESS` of linux/ioprio.h: a thread by its number, 0 for the calling one.
const THREAD: libc::c_int = 1;

/// Gives the calling thread this nice value, from -20, which gets most of the CPU, to 19. On Linux it is each thread's own.
///
/// # Errors
/// `PermissionDenied` for a value below the present one without the right to (CAP_SYS_NICE, RLIMIT_NICE).
pub fn be_nice(nice: i8) -> io::Result<()> {
    // SAFETY: no pointer is passed; the kernel refuses what it does not know.
    let set = unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, i32::from(nice)) };
    if set == 0 {
        return Ok(());
    }
    let error = io::Error::last_os_error();
    match error.raw_os_error() {
        Some(libc::EACCES | libc::EPERM) => {
            let text = format!(
                "no permission for the nice value {nice}: run as root, raise the limit (`ulimit -e`) or use a higher value"
            );
            Err(io::Error::new(ErrorKind::PermissionDenied, text))
        }
        _ => Err(error),
    }
}

/// The nice value of the calling thread.
///
/// # Errors
/// None are known.
pub fn nice() -> io::Result<i8> {
    // The C library's call cannot distinguish -1 from an error; the system call returns 20 minus the value.
    // SAFETY: no pointer is passed.
    let found = unsafe { libc::syscall(libc::SYS_getpriority, libc::PRIO_PROCESS, 0) };
    if found < 0 { Err(io::Error::last_os_error()) } else { Ok((20 - found) as i8) }
}

/// Gives the calling thread's I/O this priority: the class (1 real time, 2 best effort, 3 idle) in the highest three of 16 bits,
/// the level (0 to 7) in the lowest (ioprio_set(2)).
///
/// # Errors
/// `PermissionDenied` for the class real time without the right to; `InvalidInput` for what is not a priority.
pub fn set_io(priority: u16) -> io::Result<()> {
    // SAFETY: no pointer is passed; the kernel refuses what it does not know.
    let set = unsafe { libc::syscall(libc::SYS_ioprio_set, THREAD, 0, libc::c_int::from(priority)) };
    if set == 0 {
        return Ok(());
    }
    let error = io::Error::last_os_error();
    match error.raw_os_error() {
        Some(libc::EPERM) => {
            let text = "this process may not have the I/O priority class real time: run as root (CAP_SYS_NICE) or choose best \
                        effort";
            Err(io::Error::new(ErrorKind::PermissionDenied, text))
        }
        _ => Err(error),
    }
}

/// The priority of the calling thread's I/O as [`set_io`] takes it; 0 where it follows from the nice value.
///
/// # Errors
/// None are known.
pub fn io() -> io::Result<u16> {
    // SAFETY: no pointer is passed.
    let found = unsafe { libc::syscall(libc::SYS_ioprio_get, THREAD, 0) };
    if found < 0 { Err(io::Error::last_os_error()) } else { Ok(found as u16) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether it was refused, which is no error of ours where the test may not do it.
    fn refused(result: io::Result<()>) -> bool {
        let Err(error) = result else { return false };
        assert_eq!(error.kind(), ErrorKind::PermissionDenied, "{error}");
        eprintln!("skipped: {error}");
        true
    }

    #[test]
    fn a_thread_has_priorities_of_its_own() {
        let before = (nice().unwrap(), io().unwrap());
        std::thread::spawn(move || {
            for value in [before.0.max(5), 19, -7] {
                if !refused(be_nice(value)) {
                    assert_eq!(nice().unwrap(), value);
                }
            }
            for priority in [2 << 13 | 3, 3 << 13, 1 << 13] {
                if !refused(set_io(priority)) {
                    assert_eq!(io().unwrap(), priority);
                }
            }
            assert_eq!(set_io(7 << 13).unwrap_err().kind(), ErrorKind::InvalidInput);
        })
        .join()
        .unwrap();
        assert_eq!((nice().unwrap(), io().unwrap()), before, "the others keep theirs");
    }
}
