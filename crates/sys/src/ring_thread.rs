//! The kernel's thread that submits for a ring.

use std::os::fd::AsRawFd;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use io_uring::IoUring;

/// How long the end of a thread is waited for.
const LAST_OF_THREAD: Duration = Duration::from_millis(150);

/// The kernel's thread that submits for a ring. It may be the last to let go of a file, and does so at its own end at the latest.
#[derive(Default)]
pub(crate) struct SubmitThread(Option<PathBuf>);

impl SubmitThread {
    /// That of a ring which has worked: before, the kernel names the thread that has created it.
    pub(crate) fn of(ring: &IoUring) -> SubmitThread {
        let path = || {
            let text = std::fs::read_to_string(format!("/proc/self/fdinfo/{}", ring.as_raw_fd())).ok()?;
            let id: u32 =
                text.lines().find_map(|line| line.strip_prefix("SqThread:"))?.trim().parse().ok()?;
            Some(format!("/proc/self/task/{id}").into())
        };
        SubmitThread(path())
    }
}

impl Drop for SubmitThread {
    /// Waits until the thread has ended, which it does when its ring is closed.
    fn drop(&mut self) {
        let start = Instant::now();
        while self.0.as_ref().is_some_and(|path| path.exists()) && start.elapsed() < LAST_OF_THREAD {
            std::thread::sleep(Duration::from_micros(200));
        }
    }
}
