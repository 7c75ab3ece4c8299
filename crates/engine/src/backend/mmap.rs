//! Copies from and to the mapped file: the way of LMDB and its kin.

use std::io;

use iolite_sys::buffer::AlignedBuffer;
use iolite_sys::mapping::{Mapping, Use};

use iolite_model::errno::EINVAL;

use super::BlockingBackend;
use super::IoOp;
use super::Medium;
use super::Op;
use super::moved;
use crate::backend::files::FileSpan;
use crate::backend::files::Files;

/// Does each operation within its submission, by copying; a sync is an msync of what this back end has written since
/// the last one.
///
/// The page cache is the only way: a read is a device's only where its page is not in memory. A write is done when it
/// is in memory, and may wait for the device to take older ones. A page that the device can't read, or that a file cut short no
/// longer has, is an I/O error of the operation.
#[derive(Debug)]
pub struct Mmap {
    /// By file.
    mapped: Vec<Mapped>,
    medium: Medium,
    buffer: AlignedBuffer,
}

#[derive(Debug)]
struct Mapped {
    mapping: Mapping,
    /// Where this back end has written since its last sync.
    dirty: Option<(u64, u64)>,
}

impl Mmap {
    /// A back end over the files as long as they are now, with one slot of this size.
    ///
    /// # Errors
    /// A file is to be written, but is shorter than its span, which a mapping can't mend, or has holes for which there is no
    /// space; or it can't be mapped.
    pub fn new(files: impl Into<Files>, block: usize, usage: Use) -> io::Result<Mmap> {
        let files = files.into();
        let mapped = files.spans().iter().map(|span| Mapped::new(span, usage)).collect::<io::Result<_>>()?;
        Ok(Mmap { mapped, medium: Medium::of(files), buffer: AlignedBuffer::new(block)? })
    }

    fn transfer(&mut self, op: &Op) -> io::Result<usize> {
        let invalid = || io::Error::from_raw_os_error(EINVAL);
        let (index, offset) = self.medium.files.locate(op.offset);
        match op.io {
            IoOp::Read => {
                let into = self.buffer.as_mut_slice().get_mut(..op.length as usize).ok_or_else(invalid)?;
                self.mapped[index as usize].mapping.read(offset, into)
            }
            IoOp::Write => {
                let from = self.buffer.as_slice().get(..op.length as usize).ok_or_else(invalid)?;
                self.mapped[index as usize].write(offset, from)
            }
            IoOp::Trim | IoOp::LinkedWrite => {
                self.medium.without_data(op).map(|_| 0).map_err(io::Error::from_raw_os_error)
            }
            // A mapping has one sync, whichever is asked for.
            IoOp::Sync(_) => self.mapped.iter_mut().try_for_each(Mapped::sync).map(|()| 0),
        }
    }
}

impl Mapped {
    fn new(span: &FileSpan, usage: Use) -> io::Result<Mapped> {
        let mapping = Mapping::new(span.file.clone(), usage).map_err(|error| match error.kind() {
            io::ErrorKind::Unsupported => io::Error::new(
                error.kind(),
                "the file system cannot reserve the file's space, without which a write to its mapping could end this \
                 program: use another back end",
            ),
            _ => error,
        })?;
        let end = span.offset.saturating_add(span.size);
        if usage.write && (mapping.length() as u64) < end {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                format!(
                    "the file has {} bytes of the {end} to be written, and a mapping cannot extend it: preallocate it, or \
                     write it with another back end first",
                    mapping.length()
                ),
            ));
        }
        Ok(Mapped { mapping, dirty: None })
    }

    fn write(&mut self, offset: u64, from: &[u8]) -> io::Result<usize> {
        let written = self.mapping.write(offset, from)?;
        let (start, end) = self.dirty.unwrap_or((u64::MAX, 0));
        self.dirty = Some((start.min(offset), end.max(offset.saturating_add(written as u64))));
        Ok(written)
    }

    fn sync(&mut self) -> io::Result<()> {
        if let Some((start, end)) = self.dirty {
            self.mapping.sync(start, end)?;
        }
        self.dirty = None;
        Ok(())
    }
}

impl BlockingBackend for Mmap {
    #[inline]
    fn perform(&mut self, op: &Op) -> Result<u32, i32> {
        let result = self.transfer(op);
        moved(result)
    }

    fn slot(&mut self) -> &mut [u8] {
        self.buffer.as_mut_slice()
    }
}
