//! Copies from and to the mapped file: the way of LMDB and its kin.

use std::fs::File;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use iolite_sys::mapping::{Mapping, Use};

use super::{Backend, Completions, EINVAL, IoOp, Medium, Op, Submission, moved};

/// Does each operation within its submission, by copying; a sync is an msync of what this back end has written since
/// the last one.
///
/// The page cache is the only way: a read is a device's only where its page is not in memory. A write is done when it
/// is in memory, and may wait for the device to take older ones. A page that the device can't read ends the process
/// (SIGBUS): mapped memory has no error numbers.
#[derive(Debug)]
pub struct Mmap {
    mapping: Mapping,
    medium: Medium,
    buffer: Vec<u8>,
    /// Where this back end has written since its last sync.
    dirty: Option<(u64, u64)>,
}

impl Mmap {
    /// A back end over the file as long as it is now, with one slot of this size. `span` is the part of it that
    /// operations will cover, in bytes.
    ///
    /// # Errors
    /// It is to be written, but is shorter than `span`, which a mapping can't mend, or has holes for which there is no
    /// space; or it can't be mapped.
    pub fn new(file: Arc<File>, span: u64, block: usize, usage: Use) -> io::Result<Mmap> {
        let medium = Medium::of(file.clone());
        let mapping = Mapping::new(file, usage).map_err(|error| match error.kind() {
            io::ErrorKind::Unsupported => io::Error::new(
                error.kind(),
                "the file system can't reserve the file's space, without which a write to its mapping could end this \
                 program: use another back end",
            ),
            _ => error,
        })?;
        if usage.write && (mapping.length() as u64) < span {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                format!(
                    "the file has {} bytes of the {span} to be written, and a mapping can't extend it: preallocate it, or \
                     write it with another back end first",
                    mapping.length()
                ),
            ));
        }
        Ok(Mmap { mapping, medium, buffer: vec![0; block], dirty: None })
    }

    fn transfer(&mut self, op: &Op) -> io::Result<usize> {
        let invalid = || io::Error::from_raw_os_error(EINVAL);
        match op.io {
            IoOp::Read => {
                let into = self.buffer.get_mut(..op.length as usize).ok_or_else(invalid)?;
                Ok(self.mapping.read(op.offset, into))
            }
            IoOp::Write => {
                let from = self.buffer.get(..op.length as usize).ok_or_else(invalid)?;
                let written = self.mapping.write(op.offset, from)?;
                let (start, end) = self.dirty.unwrap_or((u64::MAX, 0));
                self.dirty = Some((start.min(op.offset), end.max(op.offset.saturating_add(written as u64))));
                Ok(written)
            }
            IoOp::Trim | IoOp::LinkedWrite => {
                self.medium.without_data(op).map(|_| 0).map_err(io::Error::from_raw_os_error)
            }
            // A mapping has one sync, whichever is asked for.
            IoOp::Sync(_) => {
                if let Some((start, end)) = self.dirty {
                    self.mapping.sync(start, end)?;
                }
                self.dirty = None;
                Ok(0)
            }
        }
    }
}

impl Backend for Mmap {
    #[inline]
    fn submit(&mut self, op: &Op) -> Submission {
        let result = self.transfer(op);
        Submission::Done(moved(result))
    }

    fn reap(&mut self, _at_least: usize, _timeout: Duration, _out: &mut Completions) -> io::Result<()> {
        Ok(())
    }

    fn buffer(&mut self, _slot: u32) -> &mut [u8] {
        &mut self.buffer
    }

    #[inline(always)]
    fn blocks(&self) -> bool {
        true
    }
}
