//! Operations on a file's space rather than its data: fallocate and ftruncate, one at a time per thread.

use std::io;

use iolite_sys::{device, file};

use iolite_model::errno::EINVAL;

use super::BlockingBackend;
use super::IoOp;
use super::Medium;
use super::Op;
use super::moved;
use crate::backend::files::Files;

/// Reserves the blocks of each write, and those of each read without changing the file's size. A trim punches a hole.
#[derive(Debug)]
pub struct Fallocate(Medium);

/// Makes the file end at each write's offset.
#[derive(Debug)]
pub struct Truncate(Medium);

impl Fallocate {
    /// A back end over the files.
    ///
    /// # Errors
    /// One of them is a block device, which has its blocks already.
    pub fn new(files: impl Into<Files>) -> io::Result<Fallocate> {
        regular(files.into()).map(Fallocate)
    }
}

impl Truncate {
    /// A back end over the files.
    ///
    /// # Errors
    /// One of them is a block device, which has one size.
    pub fn new(files: impl Into<Files>) -> io::Result<Truncate> {
        regular(files.into()).map(Truncate)
    }
}

fn regular(files: Files) -> io::Result<Medium> {
    for span in files.spans() {
        if device::is_block_device(&span.file)? {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "its space is what a file system gives to a file: name a regular file",
            ));
        }
    }
    Ok(Medium::of(files))
}

impl BlockingBackend for Fallocate {
    fn perform(&mut self, op: &Op) -> Result<u32, i32> {
        let keep_size = match op.io {
            IoOp::Read => true,
            IoOp::Write => false,
            _ => return self.0.without_data(op),
        };
        let (_, file, offset) = self.0.files.at(op.offset);
        let done = file::reserve(file, offset, u64::from(op.length), keep_size);
        moved(done.map(|()| op.length as usize))
    }

    fn slot(&mut self) -> &mut [u8] {
        &mut []
    }
}

impl BlockingBackend for Truncate {
    fn perform(&mut self, op: &Op) -> Result<u32, i32> {
        let (_, file, offset) = self.0.files.at(op.offset);
        match op.io {
            IoOp::Write => moved(file.set_len(offset).map(|()| op.length as usize)),
            // The loop is not to read: validated.
            IoOp::Read => Err(EINVAL),
            _ => self.0.without_data(op),
        }
    }

    fn slot(&mut self) -> &mut [u8] {
        &mut []
    }
}
