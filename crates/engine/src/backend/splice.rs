//! splice: between the file and a pipe, one operation at a time per thread.

use std::io;

use iolite_sys::buffer::AlignedBuffer;
use iolite_sys::splice::Pipe;

use iolite_model::errno::EINVAL;

use super::BlockingBackend;
use super::IoOp;
use super::Medium;
use super::Op;
use super::moved;
use crate::backend::files::Files;

/// Does each operation within its submission. A write's pages go from the buffer to the file without a copy in between, as
/// far as the file system can; what is read is copied from the pipe to the buffer.
#[derive(Debug)]
pub struct Splice {
    medium: Medium,
    pipe: Pipe,
    buffer: AlignedBuffer,
}

impl Splice {
    /// A back end over the files, with one slot of this size.
    ///
    /// # Errors
    /// There is no memory for the buffer, or the limit on open files is reached.
    pub fn new(files: impl Into<Files>, block: usize) -> io::Result<Splice> {
        let (pipe, buffer) = (Pipe::new(block)?, AlignedBuffer::new(block)?);
        Ok(Splice { medium: Medium::of(files.into()), pipe, buffer })
    }
}

impl BlockingBackend for Splice {
    fn perform(&mut self, op: &Op) -> Result<u32, i32> {
        if !op.io.moves() {
            return self.medium.without_data(op);
        }
        let (_, file, offset) = self.medium.files.at(op.offset);
        let result = match (op.io, self.buffer.as_mut_slice().get_mut(..op.length as usize)) {
            (_, None) => return Err(EINVAL),
            (IoOp::Read, Some(into)) => self.pipe.read(file, into, offset),
            (_, Some(from)) => self.pipe.write(file, from, offset),
        };
        moved(result)
    }

    fn slot(&mut self) -> &mut [u8] {
        self.buffer.as_mut_slice()
    }
}
