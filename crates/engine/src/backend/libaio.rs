//! io_submit and io_getevents: what the field calls libaio, many direct operations at a time per thread.

use std::io;
use std::time::Duration;

use iolite_model::SyncMethod;
use iolite_sys::aio::{Aio, AioOp};

use super::Backend;
use super::Completions;
use super::EINVAL;
use super::IoOp;
use super::Medium;
use super::Op;
use super::Returned;
use super::Submission;
use crate::backend::files::Files;

/// Queues operations and submits them in batches; trims, sync_file_range and syncs of several files at once, which libaio has
/// not, are done within their submission. On a file opened without O_DIRECT the kernel does them one after the
/// other within the submission, as it does for everyone who uses libaio.
pub struct Libaio {
    aio: Aio,
    medium: Medium,
}

impl Libaio {
    /// A back end over the files with `depth` slots of this size.
    ///
    /// # Errors
    /// The kernel is built without asynchronous I/O, or /proc/sys/fs/aio-max-nr is used up: said with its remedy.
    pub fn new(files: impl Into<Files>, depth: u32, block: usize) -> io::Result<Libaio> {
        let medium = Medium::of(files.into());
        let aio = Aio::new(&medium.files.handles(), depth as usize, block).map_err(|error| match error.kind() {
            io::ErrorKind::WouldBlock => io::Error::new(
                error.kind(),
                "the system's limit on asynchronous operations is reached: raise it (sysctl fs.aio-max-nr)",
            ),
            io::ErrorKind::Unsupported => io::Error::new(
                error.kind(),
                "the kernel is built without CONFIG_AIO: use the back end io-uring or threads",
            ),
            _ => error,
        })?;
        Ok(Libaio { aio, medium })
    }
}

impl Backend for Libaio {
    #[inline]
    fn submit(&mut self, op: &Op) -> Submission {
        let io = match op.io {
            IoOp::Read => AioOp::Read,
            IoOp::Write => AioOp::Write,
            IoOp::Sync(_) if !self.medium.files.is_in_one(op.offset, op.length) => {
                return Submission::Done(self.medium.without_data(op));
            }
            IoOp::Sync(SyncMethod::Fdatasync) => AioOp::Fdatasync,
            IoOp::Sync(SyncMethod::Fsync) => AioOp::Fsync,
            // io_submit has no such operations: done here and now.
            IoOp::Sync(SyncMethod::FileRange) | IoOp::Trim | IoOp::LinkedWrite => {
                return Submission::Done(self.medium.without_data(op));
            }
        };
        match self.aio.push(io, op.slot as usize, self.medium.files.place(op.offset), op.length) {
            Ok(()) => Submission::Queued,
            Err(_) => Submission::Done(Err(EINVAL)),
        }
    }

    fn hand_over(&mut self) -> io::Result<()> {
        self.aio.submit();
        Ok(())
    }

    #[inline]
    fn reap(&mut self, at_least: usize, timeout: Duration, out: &mut Completions) -> io::Result<()> {
        self.aio.submit_and_wait(at_least, timeout)?;
        self.aio.completions(|slot, result| out.push(Returned { slot: slot as u32, result, more: false }));
        Ok(())
    }

    fn prioritize(&mut self, priority: u16) {
        self.aio.set_priority(priority);
    }

    fn buffer(&mut self, slot: u32) -> &mut [u8] {
        self.aio.buffer_mut(slot as usize).unwrap_or_default()
    }
}
