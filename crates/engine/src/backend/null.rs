//! No system call at all: measures the loop itself, and shows what a back end is.

use std::io;
use std::time::Duration;

use iolite_sys::buffer::AlignedBuffer;

use super::{Backend, Completions, Op, Submission};

/// Completes every operation at once, in full.
#[derive(Debug)]
pub struct Null {
    buffer: AlignedBuffer,
}

impl Null {
    /// A null back end whose slots share one buffer of this size.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn new(block: usize) -> io::Result<Null> {
        Ok(Null { buffer: AlignedBuffer::new(block)? })
    }
}

impl Backend for Null {
    #[inline]
    fn submit(&mut self, op: &Op) -> Submission {
        Submission::Done(Ok(if op.io.moves() { op.length } else { 0 }))
    }

    fn reap(&mut self, _at_least: usize, _timeout: Duration, _out: &mut Completions) -> io::Result<()> {
        Ok(())
    }

    fn buffer(&mut self, _slot: u32) -> &mut [u8] {
        self.buffer.as_mut_slice()
    }
}
