//! Another process, held so that its number can't come to mean a later one.

use std::io;
use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, retry_on_intr};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

/// A process that runs, or has ended since: never another one of the same number (pidfd_open(2)).
#[derive(Debug)]
pub struct Process(OwnedFd);

impl Process {
    /// The process of that number; `None` where there is none.
    ///
    /// Whether it is the one that was meant is to be asked after this: from then on the number can't change its meaning
    /// unnoticed.
    ///
    /// # Errors
    /// The kernel is older than 5.3, or there are too many open files.
    pub fn open(number: u32) -> io::Result<Option<Process>> {
        let Some(pid) = i32::try_from(number).ok().and_then(Pid::from_raw) else { return Ok(None) };
        match pidfd_open(pid, PidfdFlags::empty()) {
            Ok(fd) => Ok(Some(Process(fd))),
            // EINVAL: the number of a thread, not of a process.
            Err(Errno::SRCH | Errno::INVAL) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Interrupts it as Ctrl-C does (SIGINT); false when it has ended already.
    ///
    /// # Errors
    /// It is somebody else's.
    pub fn interrupt(&self) -> io::Result<bool> {
        match pidfd_send_signal(&self.0, Signal::INT) {
            Ok(()) => Ok(true),
            Err(Errno::SRCH) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Asks it to end (SIGTERM), unless it has ended already.
    ///
    /// # Errors
    /// It is somebody else's.
    pub fn terminate(&self) -> io::Result<()> {
        match pidfd_send_signal(&self.0, Signal::TERM) {
            Ok(()) | Err(Errno::SRCH) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Kills it (SIGKILL), unless it has ended already.
    ///
    /// # Errors
    /// It is somebody else's.
    pub fn kill(&self) -> io::Result<()> {
        match pidfd_send_signal(&self.0, Signal::KILL) {
            Ok(()) | Err(Errno::SRCH) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Waits until it has ended, for so long at most; whether it has.
    ///
    /// # Errors
    /// The system can't wait.
    pub fn wait_for(&self, limit: Duration) -> io::Result<bool> {
        let seconds = i64::try_from(limit.as_secs()).unwrap_or(i64::MAX);
        self.ended_within(Some(Timespec { tv_sec: seconds, tv_nsec: limit.subsec_nanos().into() }))
    }

    /// Waits until it has ended.
    ///
    /// # Errors
    /// The system can't wait.
    pub fn wait(&self) -> io::Result<()> {
        self.ended_within(None).map(|_| ())
    }

    /// Whether it has ended.
    ///
    /// # Errors
    /// The system does not report it.
    pub fn has_ended(&self) -> io::Result<bool> {
        self.ended_within(Some(Timespec { tv_sec: 0, tv_nsec: 0 }))
    }

    fn ended_within(&self, timeout: Option<Timespec>) -> io::Result<bool> {
        let mut ended = [PollFd::new(&self.0, PollFlags::IN)];
        Ok(retry_on_intr(|| poll(&mut ended, timeout.as_ref()))? > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::ExitStatusExt;
    use std::process::Command;

    #[test]
    fn a_process_is_interrupted_and_waited_for() {
        // Whoever runs the tests in the background of a shell ignores this signal, and so would the child.
        let mut child = Command::new("env").args(["--default-signal=INT", "sleep", "1000"]).spawn().unwrap();
        let started = std::time::Instant::now();
        while std::fs::read_to_string(format!("/proc/{}/comm", child.id())).unwrap().trim() != "sleep" {
            assert!(started.elapsed().as_secs() < 10, "it does not begin");
            std::thread::yield_now();
        }
        let process = Process::open(child.id()).unwrap().unwrap();
        assert!(!process.has_ended().unwrap());
        assert!(process.interrupt().unwrap());
        process.wait().unwrap();
        assert!(process.has_ended().unwrap());
        assert_eq!(child.wait().unwrap().signal(), Some(Signal::INT.as_raw()));
        // Whatever its number means now, it is not this process.
        assert!(!process.interrupt().unwrap());
    }

    #[test]
    fn a_process_is_waited_for_within_a_limit_and_killed() {
        let mut child = Command::new("sleep").arg("1000").spawn().unwrap();
        let process = Process::open(child.id()).unwrap().unwrap();
        assert!(!process.wait_for(Duration::from_millis(1)).unwrap());
        process.kill().unwrap();
        assert!(process.wait_for(Duration::from_secs(100)).unwrap());
        assert_eq!(child.wait().unwrap().signal(), Some(Signal::KILL.as_raw()));
        process.kill().unwrap();
    }

    #[test]
    fn there_are_numbers_without_a_process() {
        assert!(Process::open(0).unwrap().is_none());
        assert!(Process::open(u32::MAX).unwrap().is_none());
        // Above the kernel's largest process number (2^22).
        assert!(Process::open(1 << 23).unwrap().is_none());
    }
}
