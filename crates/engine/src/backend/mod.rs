//! How operations reach the kernel: one file per back end, chosen once a phase.

mod batched_reaping;
mod busy;
mod files;
mod handover;
mod in_parts;
mod libaio;
mod locking;
mod mmap;
mod move_extents;
mod null;
mod seek;
mod serializing;
mod space;
mod splice;
mod sync;
mod threads;
mod uring;
mod vectored;

use std::io;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::time::Duration;

use iolite_model::errno::{EINVAL, EIO, EOPNOTSUPP};
use iolite_model::{OpKind, SyncMethod, Usage};
use iolite_sys::buffer::AlignedBuffer;
use iolite_sys::file;
use iolite_sys::trim::Trim;

pub use busy::Busy;
pub use files::{FileSpan, Files};
pub(crate) use in_parts::{InParts, PartStart};
pub use libaio::Libaio;
pub(crate) use locking::Locking;
pub use mmap::Mmap;
pub use move_extents::MoveExtents;
pub use null::Null;
pub(crate) use seek::Seek;
pub(crate) use serializing::Serializing;
pub use space::{Fallocate, Truncate};
pub use splice::Splice;
pub use sync::Sync;
pub use threads::Threads;
pub use uring::Uring;
pub use vectored::Vectored;

/// What an operation does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IoOp {
    /// Read into the slot's buffer.
    Read,
    /// Write from the slot's buffer.
    Write,
    /// A write, and with it the sync that the back end was made for, begun by the kernel when the write has succeeded:
    /// both come back. For back ends that say so.
    LinkedWrite,
    /// Give blocks back.
    Trim,
    /// Make what was written durable: `offset` and `length` are the range that it lies in, a length of 0 being all to the
    /// end. Files of which none of it lies there are left out; only [`SyncMethod::FileRange`] leaves the rest of a file out.
    Sync(SyncMethod),
}

impl IoOp {
    /// How it is counted.
    pub const fn kind(self) -> OpKind {
        match self {
            IoOp::Read => OpKind::Read,
            IoOp::Write | IoOp::LinkedWrite => OpKind::Write,
            IoOp::Trim => OpKind::Trim,
            IoOp::Sync(_) => OpKind::Sync,
        }
    }

    /// Whether it writes data.
    #[inline]
    pub const fn writes(self) -> bool {
        matches!(self, IoOp::Write | IoOp::LinkedWrite)
    }

    /// Whether its result is a number of bytes: its length, when it succeeds; otherwise that is 0.
    #[inline]
    pub const fn moves(self) -> bool {
        matches!(self, IoOp::Read | IoOp::Write | IoOp::LinkedWrite)
    }
}

/// An operation to submit. Its buffer is that of its slot.
#[derive(Debug, Clone, Copy)]
pub struct Op {
    /// What it does.
    pub io: IoOp,
    /// Which of the back end's slots it uses, below its depth; a slot has one operation at a time.
    pub slot: u32,
    /// Where, in bytes.
    pub offset: u64,
    /// How much, in bytes.
    pub length: u32,
}

/// Answer to a submission.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Submission {
    /// It is done: bytes moved, or the error number.
    Done(Result<u32, i32>),
    /// It will come back from [`Backend::reap`].
    Queued,
    /// There is no room; reap, then submit again.
    Full,
}

/// An operation that has come back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Returned {
    /// The slot it used, free again unless there is more to come.
    pub slot: u32,
    /// Bytes moved (by a trim or a sync none), or the error number.
    pub result: Result<u32, i32>,
    /// It was the write of a [`IoOp::LinkedWrite`]; its sync comes back later, with `ECANCELED` if the write failed.
    pub more: bool,
}

/// Operations that have come back, to be reused from call to call so that nothing is allocated.
pub type Completions = Vec<Returned>;

/// How operations reach the kernel.
///
/// A back end owns the buffers of its slots and is used by the one thread that made it. It never prints, retries or
/// looks at a clock; short transfers and errors are passed on as they are. [`Null`] is the worked example.
pub trait Backend {
    /// Submits an operation.
    fn submit(&mut self, op: &Op) -> Submission;

    /// Hands what was queued to the kernel, for back ends that queue: as [`reap`](Backend::reap) would, without looking at
    /// what has come back.
    ///
    /// # Errors
    /// As [`reap`](Backend::reap).
    fn hand_over(&mut self) -> io::Result<()> {
        Ok(())
    }

    /// Hands what was queued to the kernel and appends operations that have come back to `out`, waiting until there are
    /// `at_least` of them, but not longer than `timeout`. One call for both, because the kernel needs only one.
    ///
    /// # Errors
    /// The queue itself is broken; errors of operations come back with them.
    fn reap(&mut self, at_least: usize, timeout: Duration, out: &mut Completions) -> io::Result<()>;

    /// Gives reads and writes that are submitted from now on this I/O priority, packed as the kernel has it; 0 for the thread's
    /// own. For back ends that say so; the others do all by the thread's.
    fn prioritize(&mut self, _priority: u16) {}

    /// Whether what is submitted from now on verifies what was written, and is no part of the work.
    fn verifies(&mut self, _on: bool) {}

    /// The buffer of a slot that has no operation in flight; empty while it has.
    fn buffer(&mut self, slot: u32) -> &mut [u8];

    /// Ends it when nothing more is to be submitted, and returns what its own threads have used of the machine.
    fn finish(&mut self) -> Usage {
        Usage::default()
    }

    /// Whether [`submit`](Backend::submit) does the operation itself, in system calls that may never come back.
    #[inline(always)]
    fn blocks(&self) -> bool {
        false
    }
}

/// A back end with one slot that does each operation within its submission, in system calls that may never come back.
trait BlockingBackend {
    /// Does an operation: bytes moved, or the error number.
    fn perform(&mut self, op: &Op) -> Result<u32, i32>;

    /// The buffer.
    fn slot(&mut self) -> &mut [u8];
}

impl<B: BlockingBackend> Backend for B {
    #[inline]
    fn submit(&mut self, op: &Op) -> Submission {
        Submission::Done(self.perform(op))
    }

    fn reap(&mut self, _at_least: usize, _timeout: Duration, _out: &mut Completions) -> io::Result<()> {
        Ok(())
    }

    fn buffer(&mut self, _slot: u32) -> &mut [u8] {
        self.slot()
    }

    #[inline(always)]
    fn blocks(&self) -> bool {
        true
    }
}

/// Open files with the ways to give their blocks back.
#[derive(Debug, Clone)]
struct Medium {
    files: Files,
    /// By file; none where there is no way.
    trims: Arc<[Option<Trim>]>,
}

impl Medium {
    fn of(files: Files) -> Medium {
        let trims = files.spans().iter().map(|span| Trim::of(&span.file).ok()).collect();
        Medium { files, trims }
    }

    /// Does an operation with a system call that waits for it: bytes moved, or the error number.
    #[inline]
    fn blocking(&self, op: &Op, buffer: &mut AlignedBuffer) -> Result<u32, i32> {
        if !op.io.moves() {
            return self.without_data(op);
        }
        let buffer = buffer.as_mut_slice().get_mut(..op.length as usize).ok_or(EINVAL)?;
        let (_, file, offset) = self.files.at(op.offset);
        moved(match op.io {
            IoOp::Read => file.read_at(buffer, offset),
            _ => file.write_at(buffer, offset),
        })
    }

    /// Does a trim or a sync.
    fn without_data(&self, op: &Op) -> Result<u32, i32> {
        let done = match op.io {
            IoOp::Trim => {
                let (index, file, offset) = self.files.at(op.offset);
                match self.trims[index] {
                    Some(trim) => trim.trim(file, offset, u64::from(op.length)),
                    None => return Err(EOPNOTSUPP),
                }
            }
            IoOp::Sync(method) => {
                let flags = self.files.range_flags();
                self.files.in_range(op.offset, op.length, |file, offset, length| match method {
                    SyncMethod::Fdatasync => file.sync_data(),
                    SyncMethod::Fsync => file.sync_all(),
                    SyncMethod::FileRange => file::sync_range_by(file, offset, length, flags),
                    SyncMethod::FileSystem => file::sync_file_system(file),
                })
            }
            // Linked operations are a ring's.
            IoOp::Read | IoOp::Write | IoOp::LinkedWrite => return Err(EINVAL),
        };
        moved(done.map(|()| 0))
    }
}

/// The result of a system call as bytes moved or an error number.
#[inline]
fn moved(result: io::Result<usize>) -> Result<u32, i32> {
    result.map(|bytes| bytes as u32).map_err(|error| error.raw_os_error().unwrap_or(EIO))
}
