//! io_submit and io_getevents: what the field calls libaio, many direct operations at a time per thread.

use std::io;
use std::time::Duration;

use iolite_model::SyncMethod;
use iolite_model::errno::EINVAL;
use iolite_sys::aio::{Aio, AioOp};

use super::Backend;
use super::Completions;
use super::IoOp;
use super::Medium;
use super::Op;
use super::Returned;
use super::Submission;
use crate::backend::files::Files;
use crate::backend::handover::Handover;

/// Queues operations and submits them in batches; trims, sync_file_range and syncs of several files at once, which libaio has
/// not, are done within their submission. On a file opened without O_DIRECT the kernel does them one after the
/// other within the submission, as it does for everyone who uses libaio.
pub struct Libaio {
    aio: Aio,
    medium: Medium,
    handover: Handover,
}

/// Operations that are handed over together on a device that completes them later. Up to two the kernel passes on one by one
/// (AIO_PLUG_THRESHOLD in its fs/aio.c); of more it holds back the first until it has seen the last.
const EAGER: usize = 2;

impl Libaio {
    /// A back end over the files with `depth` slots of this size.
    ///
    /// # Errors
    /// As io_setup(2): the kernel has no asynchronous I/O, or /proc/sys/fs/aio-max-nr is used up.
    pub fn new(files: impl Into<Files>, depth: u32, block: usize) -> io::Result<Libaio> {
        let medium = Medium::of(files.into());
        let aio = Aio::new(&medium.files.handles(), depth as usize, block)?;
        Ok(Libaio { aio, medium, handover: Handover::adapting(EAGER) })
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
            IoOp::Sync(SyncMethod::FileRange | SyncMethod::FileSystem) | IoOp::Trim | IoOp::LinkedWrite => {
                return Submission::Done(self.medium.without_data(op));
            }
        };
        match self.aio.push(io, op.slot as usize, self.medium.files.place(op.offset), op.length) {
            Ok(()) => {
                if self.handover.is_due(self.aio.queued()) {
                    self.aio.submit();
                }
                Submission::Queued
            }
            Err(_) => Submission::Done(Err(EINVAL)),
        }
    }

    fn hand_over(&mut self) -> io::Result<()> {
        self.aio.submit();
        Ok(())
    }

    #[inline]
    fn reap(&mut self, at_least: usize, timeout: Duration, out: &mut Completions) -> io::Result<()> {
        if self.handover.completes_within() {
            self.aio.submit_and_wait(0, Duration::ZERO)?;
            self.handover.handed_over(self.aio.with_kernel());
        }
        self.aio.submit_and_wait(at_least, timeout)?;
        let before = out.len();
        self.aio.completions(|slot, result| out.push(Returned { slot: slot as u32, result, more: false }));
        self.handover.reaped(out.len() - before, self.aio.outstanding());
        Ok(())
    }

    fn prioritize(&mut self, priority: u16) {
        self.aio.set_priority(priority);
    }

    fn buffer(&mut self, slot: u32) -> &mut [u8] {
        self.aio.buffer_mut(slot as usize).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    const DEPTH: u32 = 32;

    /// A back end over a file in the page cache, where the kernel completes operations within their submission.
    fn libaio() -> Option<Libaio> {
        if let Err(error) = iolite_sys::aio::available() {
            eprintln!("skipped: asynchronous I/O is not available here: {error}");
            return None;
        }
        let file = tempfile::tempfile().unwrap();
        file.set_len(u64::from(DEPTH) * 4096).unwrap();
        Some(Libaio::new(Arc::new(file), DEPTH, 4096).unwrap())
    }

    fn fill(libaio: &mut Libaio) {
        for slot in 0..DEPTH {
            let op = Op { io: IoOp::Read, slot, offset: u64::from(slot) * 4096, length: 4096 };
            assert_eq!(libaio.submit(&op), Submission::Queued);
        }
    }

    #[test]
    fn what_completes_at_submission_is_handed_over_in_batches() {
        let Some(mut libaio) = libaio() else { return };
        let mut out = Completions::new();
        for _ in 0..10 {
            fill(&mut libaio);
            libaio.reap(1, Duration::from_secs(10), &mut out).unwrap();
            assert_eq!(out.drain(..).count(), DEPTH as usize);
        }
        assert_eq!(libaio.aio.calls(), 10, "a call of io_submit for each batch");
    }

    #[test]
    fn a_device_that_completes_later_has_its_operations_before_the_queue_is_full() {
        let Some(mut libaio) = libaio() else { return };
        libaio.handover.reaped(1, 31);
        fill(&mut libaio);
        assert_eq!((libaio.aio.calls(), libaio.aio.queued()), (u64::from(DEPTH) / EAGER as u64, 0));
        let mut out = Completions::new();
        libaio.reap(1, Duration::from_secs(10), &mut out).unwrap();
        assert_eq!(libaio.aio.calls(), u64::from(DEPTH) / EAGER as u64, "nothing was left to submit");
    }
}
