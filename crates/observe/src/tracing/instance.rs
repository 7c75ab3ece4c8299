//! A trace of one's own: an instance of tracefs, which others do not see and which is removed when its owner ends.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use iolite_model::{ErrorCause, ErrorOrigin};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::OFlags;

use crate::mounts::Mount;

/// Beginning of the names of instances; the process follows.
const PREFIX: &str = "iolite-";
/// Kilobytes of a CPU's buffer: some 30,000 events of 100 bytes, read many times per second.
const BUFFER_KIB: u32 = 4096;

/// Reads of the trace at once, each of some kilobytes.
const AT_ONCE: usize = 256;

/// Why nothing can be traced.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// No tracefs.
    #[error("tracefs is not mounted here: {}", ErrorCause::TracingNotMounted)]
    NotMounted,
    /// The kernel lacks a tracepoint.
    #[error("this kernel has no tracepoint {event}: {}", ErrorCause::TracepointMissing)]
    NoEvent {
        /// The tracepoint, `system/name`.
        event: String,
    },
    /// The kernel refuses.
    #[error("cannot trace through {}: {source}{}", .path.display(), ErrorCause::advice(.source, ErrorOrigin::Trace))]
    Failed {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// Nobody can read the trace.
    #[error("cannot trace: {}{}", .0, ErrorCause::advice(.0, ErrorOrigin::Thread))]
    NoThread(#[source] io::Error),
}

/// Tracepoints whose events are read as text. Removed when dropped.
#[derive(Debug)]
pub(crate) struct TraceInstance {
    directory: PathBuf,
    pipe: File,
    /// The beginning of a line whose end has not been read.
    rest: Vec<u8>,
}

impl TraceInstance {
    /// Begins to trace these tracepoints (`system/name`), where the filter is true of their fields (empty for all), with times
    /// of CLOCK_MONOTONIC.
    ///
    /// # Errors
    /// [`TraceError`].
    pub(crate) fn start(events: &[&str], filter: &str) -> Result<TraceInstance, TraceError> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let root = root().ok_or(TraceError::NotMounted)?;
        let instances = root.join("instances");
        remove_leftovers(&instances);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let directory = instances.join(format!("{PREFIX}{}-{number}", std::process::id()));
        fs::create_dir(&directory).map_err(|source| failed(&directory, source))?;
        match prepare(&directory, events, filter) {
            Ok(pipe) => Ok(TraceInstance { directory, pipe, rest: Vec::new() }),
            Err(error) => {
                // What cannot be removed now is removed by the next one.
                let _ = fs::remove_dir(&directory);
                Err(error)
            }
        }
    }

    /// Waits until half of a buffer is full, or for so long.
    pub(crate) fn wait(&self, limit: Duration) {
        let limit = Timespec { tv_sec: 0, tv_nsec: i64::from(limit.subsec_nanos()) };
        // An interrupted wait is a short one.
        let _ = poll(&mut [PollFd::new(&self.pipe.as_fd(), PollFlags::IN)], Some(&limit));
    }

    /// Passes on the lines that there are; of very many, the first, and returns true: there are more.
    ///
    /// # Errors
    /// The trace can't be read any more.
    pub(crate) fn read(&mut self, mut each: impl FnMut(&str)) -> io::Result<bool> {
        let mut buffer = [0; 1 << 16];
        for _ in 0..AT_ONCE {
            let length = match self.pipe.read(&mut buffer) {
                Ok(0) => return Ok(false),
                Ok(length) => length,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            self.rest.extend_from_slice(&buffer[..length]);
            let end = self.rest.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
            String::from_utf8_lossy(&self.rest[..end]).lines().for_each(&mut each);
            self.rest.drain(..end);
        }
        Ok(true)
    }

    /// Records nothing more; what is in the buffers can still be read.
    pub(crate) fn stop(&self) {
        // The instance goes away in any case.
        let _ = fs::write(self.directory.join("tracing_on"), "0");
    }
}

impl Drop for TraceInstance {
    fn drop(&mut self) {
        self.stop();
        // An open pipe keeps the instance: nobody else has it, and this one is closed first.
        if let Ok(null) = File::open("/dev/null") {
            self.pipe = null;
        }
        let _ = fs::remove_dir(&self.directory);
    }
}

/// Where tracefs is mounted.
fn root() -> Option<PathBuf> {
    Mount::all().into_iter().find(|mount| mount.kind == "tracefs").map(|mount| mount.mount_point)
}

fn prepare(directory: &Path, events: &[&str], filter: &str) -> Result<File, TraceError> {
    let write = |name: &str, text: &str| {
        let path = directory.join(name);
        fs::write(&path, text).map_err(|source| failed(&path, source))
    };
    write("trace_clock", "mono")?;
    write("buffer_size_kb", &BUFFER_KIB.to_string())?;
    let path = directory.join("trace_pipe");
    let pipe = OpenOptions::new()
        .read(true)
        .custom_flags(OFlags::NONBLOCK.bits() as i32)
        .open(&path)
        .map_err(|source| failed(&path, source))?;
    for event in events {
        if !directory.join("events").join(event).exists() {
            return Err(TraceError::NoEvent { event: (*event).to_owned() });
        }
        if !filter.is_empty() {
            write(&format!("events/{event}/filter"), filter)?;
        }
        write(&format!("events/{event}/enable"), "1")?;
    }
    Ok(pipe)
}

/// Removes the instances of processes that were killed: their tracepoints would stay enabled.
fn remove_leftovers(instances: &Path) {
    for entry in fs::read_dir(instances).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let owner =
            name.to_str().and_then(|name| name.strip_prefix(PREFIX)?.split('-').next()?.parse::<u32>().ok());
        if owner.is_some_and(|owner| !Path::new(&format!("/proc/{owner}")).exists()) {
            // Another process may be doing the same.
            let _ = fs::remove_dir(entry.path());
        }
    }
}

fn failed(path: &Path, source: io::Error) -> TraceError {
    TraceError::Failed { path: path.to_path_buf(), source }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks that the remedy of a cause is named. docs/errors.md lists each call as the test of that cause.
    fn produced(cause: ErrorCause, text: &str) {
        assert!(text.contains(cause.remedy()), "{cause:?}: {text}");
    }

    #[test]
    fn what_cannot_be_traced_has_the_remedy_of_its_cause() {
        // As tracefs has them.
        let instance = tempfile::tempdir().unwrap();
        fs::write(instance.path().join("trace_pipe"), "").unwrap();
        let missing = prepare(instance.path(), &["block/no_such_event"], "").unwrap_err().to_string();
        assert!(missing.contains("block/no_such_event"), "{missing}");
        produced(ErrorCause::TracepointMissing, &missing);
        let denied = failed(Path::new("/t/instances"), io::ErrorKind::PermissionDenied.into()).to_string();
        produced(ErrorCause::TracingNotPermitted, &denied);
        let full = failed(Path::new("/t/instances"), io::ErrorKind::OutOfMemory.into()).to_string();
        produced(ErrorCause::Memory, &full);
        produced(ErrorCause::Threads, &TraceError::NoThread(io::ErrorKind::WouldBlock.into()).to_string());
    }
}
