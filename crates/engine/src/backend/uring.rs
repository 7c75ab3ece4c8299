//! io_uring: many operations at a time per thread.

use std::io;
use std::time::Duration;

use iolite_model::errno::EINVAL;
use iolite_model::{RingOptions, SyncMethod};
use iolite_sys::ring::{Part, PushError, Ring, RingOp, RingSetup};
use iolite_sys::vectored;

use super::Backend;
use super::Completions;
use super::IoOp;
use super::Medium;
use super::Op;
use super::Returned;
use super::Submission;
use crate::backend::files::Files;
use crate::backend::handover::Handover;

/// Operations that are handed over together on a device that completes them later: there, 32 outstanding 4 KiB reads in
/// batches of ten gave 15 % fewer operations than one by one. Up to four cost no throughput and fewer system calls.
const EAGER: usize = 4;

/// Queues operations on an io_uring with registered files and buffers. What the ring can't do (syncs where completions are
/// polled for or of several files at once, trims of devices before Linux 6.12) is done within its submission.
pub struct Uring {
    ring: Ring,
    medium: Medium,
    /// The sync of a linked write.
    linked: RingOp,
    handover: Handover,
}

impl Uring {
    /// A back end over the files with `depth` slots of this size; to be used by the thread that makes it. `linked` is the
    /// sync of a linked write.
    ///
    /// # Errors
    /// The kernel has no io_uring, forbids it, or has no memory for it; an option that the kernel or the target has not,
    /// named with a remedy.
    pub fn new(
        files: impl Into<Files>,
        depth: u32,
        block: usize,
        options: RingOptions,
        linked: SyncMethod,
    ) -> io::Result<Uring> {
        let nowait = if options.nowait { vectored::NOWAIT } else { 0 };
        let dontcache = if options.dontcache { vectored::DONTCACHE } else { 0 };
        let setup = RingSetup {
            submit_polling: options.submit_polling,
            completion_polling: options.completion_polling,
            submit_cpu: options.submit_polling_cpu,
            force_async: options.force_async,
            flags: nowait | dontcache,
        };
        let medium = Medium::of(files.into());
        let ring = Ring::new(&medium.files.handles(), depth as usize, block, setup)
            .map_err(|error| advise(options, error))?;
        let threads = medium.files.handles().iter().any(|file| vectored::refuses_nowait(file));
        // With the kernel's own thread polling, submission is no system call.
        let handover = match options.submit_polling {
            true => Handover::each(),
            false if options.completion_polling => Handover::adapting(EAGER),
            false => Handover::adapting(EAGER).trying_bunches(depth as usize, threads),
        };
        let linked = sync_op(linked, medium.files.range_flags()).unwrap_or(RingOp::Fdatasync);
        Ok(Uring { ring, medium, linked, handover })
    }

    /// Submits nothing before it is asked to.
    pub fn gathering(mut self) -> Uring {
        self.handover = Handover::on_request();
        self
    }

    fn without_ring(&self, op: &Op) -> Submission {
        Submission::Done(self.medium.without_data(op))
    }
}

/// Which option is to blame, and what helps.
fn advise(options: RingOptions, error: io::Error) -> io::Error {
    let said = match options {
        RingOptions { completion_polling: true, .. } => {
            "polling for completions needs a driver with polling queues (see queue/io_poll in /sys/block/DEVICE; for NVMe the \
             module parameter poll_queues) and a file system that passes them on: remove completion_polling"
        }
        RingOptions { submit_polling_cpu: Some(_), .. } => {
            "the polling thread of the kernel needs a CPU that exists and that this process may use: specify another \
             submit_polling_cpu, or none"
        }
        RingOptions { submit_polling: true, .. } => {
            "a polling thread of the kernel needs Linux 5.11, or privileges before: remove submit_polling"
        }
        _ => return error,
    };
    io::Error::new(error.kind(), format!("{error}: {said}"))
}

/// The ring's operation for a sync; none for what only a system call does.
fn sync_op(method: SyncMethod, range_flags: u32) -> Option<RingOp> {
    match method {
        SyncMethod::Fdatasync => Some(RingOp::Fdatasync),
        SyncMethod::Fsync => Some(RingOp::Fsync),
        SyncMethod::FileRange => Some(RingOp::SyncRange(range_flags)),
        SyncMethod::FileSystem => None,
    }
}

impl Backend for Uring {
    #[inline]
    fn submit(&mut self, op: &Op) -> Submission {
        let Op { io, length, .. } = *op;
        let (slot, place) = (op.slot as usize, self.medium.files.place(op.offset));
        let pushed = match io {
            IoOp::Read => self.ring.push(RingOp::Read, slot, place, length),
            IoOp::Write => self.ring.push(RingOp::Write, slot, place, length),
            IoOp::LinkedWrite => self.ring.push_linked([RingOp::Write, self.linked], slot, place, length),
            IoOp::Trim => self.ring.push(RingOp::Trim, slot, place, length),
            IoOp::Sync(_) if !self.medium.files.is_in_one(op.offset, length) => Err(PushError::Unsupported),
            IoOp::Sync(method) => match sync_op(method, self.medium.files.range_flags()) {
                Some(sync) => self.ring.push(sync, slot, place, length),
                None => Err(PushError::Unsupported),
            },
        };
        match pushed {
            Ok(()) => {
                if self.handover.is_due(self.ring.queued()) {
                    // An error occurs again at the next reap, which can report it.
                    let _ = self.ring.submit();
                }
                Submission::Queued
            }
            Err(PushError::Full) => Submission::Full,
            Err(PushError::Slot) => Submission::Done(Err(EINVAL)),
            Err(PushError::Unsupported) => self.without_ring(op),
        }
    }

    fn hand_over(&mut self) -> io::Result<()> {
        self.ring.submit()
    }

    #[inline]
    fn reap(&mut self, at_least: usize, timeout: Duration, out: &mut Completions) -> io::Result<()> {
        if self.handover.completes_within() {
            self.ring.submit()?;
            self.handover.handed_over(self.ring.unfinished());
        }
        let (at_least, timeout) = self.handover.wait(at_least, timeout, self.ring.outstanding());
        self.ring.submit_and_wait(at_least, timeout)?;
        let before = out.len();
        self.ring.completions(|slot, part, result| {
            out.push(Returned { slot: slot as u32, result, more: part == Part::First });
        });
        self.handover.reaped(out.len() - before, self.ring.outstanding());
        Ok(())
    }

    fn prioritize(&mut self, priority: u16) {
        self.ring.set_priority(priority);
    }

    fn buffer(&mut self, slot: u32) -> &mut [u8] {
        self.ring.buffer_mut(slot as usize).unwrap_or_default()
    }
}
