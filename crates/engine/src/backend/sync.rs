//! pread, pwrite, trims and syncs: one operation at a time per thread.

use std::io;
use std::time::Duration;

use iolite_sys::buffer::AlignedBuffer;

use super::Backend;
use super::Completions;
use super::Medium;
use super::Op;
use super::Submission;
use crate::backend::files::Files;

/// Does each operation within its submission.
#[derive(Debug)]
pub struct Sync {
    medium: Medium,
    buffer: AlignedBuffer,
}

impl Sync {
    /// A back end over the files, with one slot of this size.
    ///
    /// # Errors
    /// There is no memory for the buffer.
    pub fn new(files: impl Into<Files>, block: usize) -> io::Result<Sync> {
        Ok(Sync { medium: Medium::of(files.into()), buffer: AlignedBuffer::new(block)? })
    }
}

impl Backend for Sync {
    #[inline]
    fn submit(&mut self, op: &Op) -> Submission {
        Submission::Done(self.medium.blocking(op, &mut self.buffer))
    }

    fn reap(&mut self, _at_least: usize, _timeout: Duration, _out: &mut Completions) -> io::Result<()> {
        Ok(())
    }

    fn buffer(&mut self, _slot: u32) -> &mut [u8] {
        self.buffer.as_mut_slice()
    }

    #[inline(always)]
    fn blocks(&self) -> bool {
        true
    }
}
