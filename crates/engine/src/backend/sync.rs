//! pread, pwrite, trims and syncs: one operation at a time per thread.

use std::io;

use iolite_sys::buffer::AlignedBuffer;

use super::BlockingBackend;
use super::Medium;
use super::Op;
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

impl BlockingBackend for Sync {
    #[inline]
    fn perform(&mut self, op: &Op) -> Result<u32, i32> {
        self.medium.blocking(op, &mut self.buffer)
    }

    fn slot(&mut self) -> &mut [u8] {
        self.buffer.as_mut_slice()
    }
}
