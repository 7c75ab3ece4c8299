//! pread, pwrite and fdatasync: one operation at a time per thread.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::time::Duration;

use iolite_sys::buffer::AlignedBuffer;

use super::{Backend, Completions, IoOp, Op, Submission};

/// Error number told for an error that has none; EIO of Linux.
const EIO: i32 = 5;

/// Does each operation within its submission.
#[derive(Debug)]
pub struct Sync {
    file: Arc<File>,
    buffer: AlignedBuffer,
}

impl Sync {
    /// A back end over the file, with one slot of this size.
    ///
    /// # Errors
    /// There is no memory for the buffer.
    pub fn new(file: Arc<File>, block: usize) -> io::Result<Sync> {
        Ok(Sync { file, buffer: AlignedBuffer::new(block)? })
    }
}

impl Backend for Sync {
    #[inline]
    fn submit(&mut self, op: &Op) -> Submission {
        let length = op.length as usize;
        let result = match op.io {
            IoOp::Read => self.file.read_at(&mut self.buffer.as_mut_slice()[..length], op.offset),
            IoOp::Write => self.file.write_at(&self.buffer.as_slice()[..length], op.offset),
            IoOp::Sync => self.file.sync_data().map(|()| 0),
        };
        Submission::Done(
            result.map(|bytes| bytes as u32).map_err(|error| error.raw_os_error().unwrap_or(EIO)),
        )
    }

    fn reap(&mut self, _at_least: usize, _timeout: Duration, _out: &mut Completions) -> io::Result<()> {
        Ok(())
    }

    fn buffer(&mut self, _slot: u32) -> &mut [u8] {
        self.buffer.as_mut_slice()
    }
}
