//! How operations reach the kernel: one file per back end, chosen once a phase.

mod libaio;
mod mmap;
mod null;
mod sim;
mod sync;
mod threads;
mod uring;
mod vectored;

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::time::Duration;

use iolite_sys::buffer::AlignedBuffer;

pub use libaio::Libaio;
pub use mmap::Mmap;
pub use null::Null;
pub use sim::{Sim, SimFaults, SimImage, SimLatency, SimParameters, SimStall};
pub use sync::Sync;
pub use threads::Threads;
pub use uring::Uring;
pub use vectored::Vectored;

/// Error number told for an error that has none (Linux, all architectures we build for, as are those below).
const EIO: i32 = 5;
/// Error number of an operation that would have had to wait.
const EAGAIN: i32 = 11;
/// Error number of an operation that the loop should not have submitted.
const EINVAL: i32 = 22;

/// What an operation does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IoOp {
    /// Read into the slot's buffer.
    Read,
    /// Write from the slot's buffer.
    Write,
    /// Make what was written durable (fdatasync).
    Sync,
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
    /// The slot it used, free again.
    pub slot: u32,
    /// Bytes moved, or the error number.
    pub result: Result<u32, i32>,
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

    /// Hands what was queued to the kernel and appends operations that have come back to `out`, waiting until there are
    /// `at_least` of them, but not longer than `timeout`. One call for both, because the kernel needs only one.
    ///
    /// # Errors
    /// The queue itself is broken; errors of operations come back with them.
    fn reap(&mut self, at_least: usize, timeout: Duration, out: &mut Completions) -> io::Result<()>;

    /// The buffer of a slot that has no operation in flight.
    fn buffer(&mut self, slot: u32) -> &mut [u8];
}

/// Does an operation with pread, pwrite or fdatasync: bytes moved, or the error number.
#[inline]
fn blocking(file: &File, op: &Op, buffer: &mut AlignedBuffer) -> Result<u32, i32> {
    let buffer = buffer.as_mut_slice().get_mut(..op.length as usize).ok_or(EINVAL)?;
    let result = match op.io {
        IoOp::Read => file.read_at(buffer, op.offset),
        IoOp::Write => file.write_at(buffer, op.offset),
        IoOp::Sync => file.sync_data().map(|()| 0),
    };
    result.map(|bytes| bytes as u32).map_err(|error| error.raw_os_error().unwrap_or(EIO))
}
