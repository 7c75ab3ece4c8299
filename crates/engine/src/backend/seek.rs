//! lseek, read and write: one operation at a time per thread, as programs do that know no pread.

use std::fs::File;
use std::io::{self, Read, Seek as _, SeekFrom, Write};

use iolite_model::errno::EINVAL;
use iolite_sys::buffer::AlignedBuffer;
use iolite_sys::file;

use super::{BlockingBackend, IoOp, Medium, Op, moved};
use crate::backend::files::Files;

/// Does each operation within its submission: a seek, unless the operation goes on where the one before it ended, and a read or
/// a write.
#[derive(Debug)]
pub(crate) struct Seek {
    medium: Medium,
    /// By file: opened again, because those who share an open file share its position too.
    files: Vec<Positioned>,
    buffer: AlignedBuffer,
}

/// A file and its position; not known after an error.
#[derive(Debug)]
struct Positioned {
    file: File,
    at: Option<u64>,
}

impl Seek {
    /// A back end over the files, with one slot of this size; `writes` as they are opened.
    ///
    /// # Errors
    /// There is no memory for the buffer, or a file can't be opened again (that takes /proc).
    pub(crate) fn new(files: impl Into<Files>, block: usize, writes: bool) -> io::Result<Seek> {
        let medium = Medium::of(files.into());
        let spans = medium.files.spans().iter();
        let again =
            spans.map(|span| Ok(Positioned { file: file::open_again(&span.file, writes)?, at: None }));
        let files = again.collect::<io::Result<_>>()?;
        Ok(Seek { medium, files, buffer: AlignedBuffer::new(block)? })
    }
}

impl Positioned {
    fn transfer(&mut self, offset: u64, io: IoOp, buffer: &mut [u8]) -> io::Result<usize> {
        if self.at.take() != Some(offset) {
            self.file.seek(SeekFrom::Start(offset))?;
        }
        let done = if io == IoOp::Read { self.file.read(buffer)? } else { self.file.write(buffer)? };
        self.at = Some(offset + done as u64);
        Ok(done)
    }
}

impl BlockingBackend for Seek {
    fn perform(&mut self, op: &Op) -> Result<u32, i32> {
        if !op.io.moves() {
            return self.medium.without_data(op);
        }
        let (index, _, offset) = self.medium.files.at(op.offset);
        let buffer = self.buffer.as_mut_slice().get_mut(..op.length as usize);
        match (self.files.get_mut(index), buffer) {
            (Some(file), Some(buffer)) => moved(file.transfer(offset, op.io, buffer)),
            _ => Err(EINVAL),
        }
    }

    fn slot(&mut self) -> &mut [u8] {
        self.buffer.as_mut_slice()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::{Backend, Submission};

    #[test]
    fn operations_go_to_their_offsets_whoever_shares_the_file() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("f");
        std::fs::write(&path, [0; 65536]).unwrap();
        let file = File::options().read(true).write(true).open(&path).unwrap();
        let files = Files::one(file, 0, 65536);
        let mut workers = [(); 2].map(|()| Seek::new(files.clone(), 4096, true).unwrap());
        let op = |io, block: u64| Op { io, slot: 0, offset: block * 4096, length: 4096 };
        for block in [3, 4, 0, 9, 10] {
            for (worker, number) in workers.iter_mut().zip(1u64..) {
                let place = block + number * 5 % 6;
                worker.buffer(0).fill(place as u8);
                assert_eq!(worker.submit(&op(IoOp::Write, place)), Submission::Done(Ok(4096)));
                assert_eq!(worker.submit(&op(IoOp::Read, place)), Submission::Done(Ok(4096)));
                assert!(worker.buffer(0).iter().all(|byte| *byte == place as u8), "block {place}");
            }
        }
        assert_eq!(workers[0].submit(&op(IoOp::Read, 16)), Submission::Done(Ok(0)), "the end of the file");
        assert_eq!(workers[0].submit(&op(IoOp::Read, 15)), Submission::Done(Ok(4096)));
    }
}
