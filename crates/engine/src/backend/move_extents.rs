//! Exchanges the blocks of files with those of another one, an operation at a time per thread.

use std::fs::File;
use std::io;
use std::sync::Arc;

use iolite_model::errno::{EBUSY, EINVAL};
use iolite_sys::trim::Trim;
use iolite_sys::{extents, file, page_cache};

use super::BlockingBackend;
use super::IoOp;
use super::Medium;
use super::Op;
use super::moved;
use crate::backend::files::Files;

/// Each write exchanges the blocks there with those of the donor at the same offset. What the files hold stays; what the donor held there
/// is lost.
#[derive(Debug)]
pub struct MoveExtents {
    medium: Medium,
    donor: Arc<File>,
    /// How the donor's blocks are given back after each operation; `None` where they stay.
    gives_back: Option<Trim>,
}

impl MoveExtents {
    /// A back end over the files. The donor's blocks are reserved for each operation, or all of them now.
    ///
    /// # Errors
    /// They can't be reserved, or not be given back.
    pub fn new(files: impl Into<Files>, donor: Arc<File>, each_time: bool) -> io::Result<MoveExtents> {
        let medium = Medium::of(files.into());
        let ends = medium.files.spans().iter().map(|span| span.offset.saturating_add(span.size));
        let end = ends.max().unwrap_or(0);
        let gives_back = if each_time {
            if donor.metadata()?.len() < end {
                donor.set_len(end)?;
            }
            Some(Trim::of(&donor)?)
        } else {
            file::reserve(&donor, 0, end, false)?;
            None
        };
        Ok(MoveExtents { medium, donor, gives_back })
    }

    fn exchange(&self, target: &File, offset: u64, length: u64) -> io::Result<u64> {
        let Some(trim) = self.gives_back else {
            return self.exchange_evicted(target, offset, length);
        };
        file::reserve(&self.donor, offset, length, false)?;
        let exchanged = self.exchange_evicted(target, offset, length);
        trim.trim(&self.donor, offset, length)?;
        exchanged
    }

    /// The kernel calls busy what was exchanged just before and is in the page cache still.
    fn exchange_evicted(&self, target: &File, offset: u64, length: u64) -> io::Result<u64> {
        match extents::exchange(target, &self.donor, offset, length) {
            Err(error) if error.raw_os_error() == Some(EBUSY) => {
                page_cache::evict(target, offset, length)?;
                page_cache::evict(&self.donor, offset, length)?;
                extents::exchange(target, &self.donor, offset, length)
            }
            done => done,
        }
    }
}

impl BlockingBackend for MoveExtents {
    fn perform(&mut self, op: &Op) -> Result<u32, i32> {
        let (_, target, offset) = self.medium.files.at(op.offset);
        match op.io {
            IoOp::Write => {
                moved(self.exchange(target, offset, u64::from(op.length)).map(|bytes| bytes as usize))
            }
            // The loop is not to read: validated.
            IoOp::Read => Err(EINVAL),
            _ => self.medium.without_data(op),
        }
    }

    fn slot(&mut self) -> &mut [u8] {
        &mut []
    }
}
