//! A ring of io_uring over one file, with the buffers it reads into and writes from.

use std::fs::File;
use std::io;
use std::mem::ManuallyDrop;
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::time::Duration;

use io_uring::types::{Fixed, FsyncFlags, SubmitArgs, Timespec};
use io_uring::{IoUring, opcode, squeue};

use crate::buffer::{ALIGNMENT, AlignedBuffer};

/// What an entry does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RingOp {
    /// Read into the slot's buffer.
    Read,
    /// Write from the slot's buffer.
    Write,
    /// fdatasync.
    Fdatasync,
}

/// Why an entry could not be queued.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PushError {
    /// The submission queue is full: submit first.
    Full,
    /// The slot does not exist, is in flight, or the length exceeds its buffer: a mistake of the caller.
    Slot,
}

/// An io_uring over one registered file, with `slots` buffers of equal size. A slot has at most one operation in
/// flight; while it has, its buffer belongs to the kernel.
pub struct Ring {
    // Dropped by hand: with operations in flight the memory must outlive this value.
    memory: ManuallyDrop<AlignedBuffer>,
    ring: ManuallyDrop<IoUring>,
    slot_size: usize,
    in_flight: Vec<bool>,
    outstanding: usize,
    fixed_buffers: bool,
    _file: Arc<File>,
}

/// Whether rings can be used here.
///
/// # Errors
/// The kernel's answer: it has no io_uring, forbids it, or has one that cannot wait with a time limit (before 5.11).
pub fn available() -> io::Result<()> {
    let ring = IoUring::new(2)?;
    if ring.params().is_feature_ext_arg() {
        Ok(())
    } else {
        Err(io::Error::new(io::ErrorKind::Unsupported, "the kernel's io_uring is older than Linux 5.11"))
    }
}

impl Ring {
    /// A ring over the file. It must be used by the thread that makes it.
    ///
    /// Uses a single issuer with deferred task work where the kernel has it (6.1), and registered buffers where the
    /// limit on locked memory allows.
    ///
    /// # Errors
    /// The kernel has no io_uring, forbids it, or has no memory for it.
    pub fn new(file: Arc<File>, slots: usize, slot_size: usize) -> io::Result<Ring> {
        let entries = u32::try_from(slots.max(1).next_power_of_two())
            .map_err(|_| io::Error::new(io::ErrorKind::InvalidInput, "too many slots"))?;
        let too_large = || io::Error::new(io::ErrorKind::InvalidInput, "the slots' buffers are too large");
        let slot_size = slot_size.checked_next_multiple_of(ALIGNMENT).ok_or_else(too_large)?;
        let memory = AlignedBuffer::new(slots.checked_mul(slot_size).ok_or_else(too_large)?)?;
        let ring = IoUring::builder()
            .setup_single_issuer()
            .setup_defer_taskrun()
            .build(entries)
            .or_else(|_| IoUring::new(entries))?;
        ring.submitter().register_files(&[file.as_raw_fd()])?;
        let vectors: Vec<_> = (0..slots)
            .map(|slot| libc::iovec {
                iov_base: memory.as_ptr().wrapping_add(slot * slot_size).cast(),
                iov_len: slot_size,
            })
            .collect();
        // SAFETY: the vectors describe parts of `memory`, which is freed only after the ring, or never (see drop).
        let fixed_buffers = unsafe { ring.submitter().register_buffers(&vectors) }.is_ok();
        Ok(Ring {
            memory: ManuallyDrop::new(memory),
            ring: ManuallyDrop::new(ring),
            slot_size,
            in_flight: vec![false; slots],
            outstanding: 0,
            fixed_buffers,
            _file: file,
        })
    }

    /// Operations given to the ring that have not come back.
    pub fn outstanding(&self) -> usize {
        self.outstanding
    }

    /// The slot's buffer; `None` while the slot is in flight or where there is no such slot.
    pub fn buffer_mut(&mut self, slot: usize) -> Option<&mut [u8]> {
        if *self.in_flight.get(slot)? {
            return None;
        }
        let start = slot * self.slot_size;
        // SAFETY: the range lies within `memory`; the kernel owns only buffers of slots in flight, which this is not;
        // the slice borrows self exclusively, so that the slot can't be given to the kernel meanwhile.
        Some(unsafe { std::slice::from_raw_parts_mut(self.memory.as_ptr().add(start), self.slot_size) })
    }

    /// Queues an operation on the slot; the kernel learns of it with the next [`submit`](Ring::submit).
    ///
    /// # Errors
    /// See [`PushError`].
    #[inline]
    pub fn push(&mut self, op: RingOp, slot: usize, offset: u64, length: u32) -> Result<(), PushError> {
        if slot >= self.in_flight.len() || self.in_flight[slot] || length as usize > self.slot_size {
            return Err(PushError::Slot);
        }
        let entry = self.entry(op, slot, offset, length).user_data(slot as u64);
        // SAFETY: the entry's buffer is the slot's part of `memory` and `length` fits it; the slot is marked in flight
        // until its completion, so nobody touches or frees the buffer before; the file is registered with the ring.
        if unsafe { self.ring.submission().push(&entry) }.is_err() {
            return Err(PushError::Full);
        }
        self.in_flight[slot] = true;
        self.outstanding += 1;
        Ok(())
    }

    #[inline]
    fn entry(&self, op: RingOp, slot: usize, offset: u64, length: u32) -> squeue::Entry {
        let buffer = self.memory.as_ptr().wrapping_add(slot * self.slot_size);
        match (op, self.fixed_buffers) {
            (RingOp::Read, true) => {
                opcode::ReadFixed::new(Fixed(0), buffer, length, slot as u16).offset(offset).build()
            }
            (RingOp::Write, true) => {
                opcode::WriteFixed::new(Fixed(0), buffer, length, slot as u16).offset(offset).build()
            }
            (RingOp::Read, false) => opcode::Read::new(Fixed(0), buffer, length).offset(offset).build(),
            (RingOp::Write, false) => opcode::Write::new(Fixed(0), buffer, length).offset(offset).build(),
            (RingOp::Fdatasync, _) => opcode::Fsync::new(Fixed(0)).flags(FsyncFlags::DATASYNC).build(),
        }
    }

    /// Hands what is queued to the kernel.
    ///
    /// # Errors
    /// The kernel's; a signal is not one.
    pub fn submit(&mut self) -> io::Result<()> {
        if self.ring.submission().is_empty() { Ok(()) } else { ignore_signals(self.ring.submit()) }
    }

    /// Hands what is queued to the kernel and waits until `at_least` operations have come back or `timeout` is over.
    /// Tells whether there was anything to wait for: what the kernel does within the submission (reads from the page
    /// cache, say) is back at once.
    ///
    /// # Errors
    /// The kernel's; neither a signal nor the end of the time is one.
    pub fn submit_and_wait(&mut self, at_least: usize, timeout: Duration) -> io::Result<bool> {
        self.submit()?;
        if self.ring.completion().len() >= at_least {
            return Ok(false);
        }
        let time = Timespec::new().sec(timeout.as_secs()).nsec(timeout.subsec_nanos());
        let args = SubmitArgs::new().timespec(&time);
        ignore_signals(self.ring.submitter().submit_with_args(at_least, &args))?;
        Ok(true)
    }

    /// Operations queued that the kernel has not been told of.
    pub fn queued(&mut self) -> usize {
        self.ring.submission().len()
    }

    /// Passes each operation that has come back to `each`: its slot, and the bytes moved or the error number.
    #[inline]
    pub fn completions(&mut self, mut each: impl FnMut(usize, Result<u32, i32>)) {
        let (in_flight, outstanding) = (&mut self.in_flight, &mut self.outstanding);
        for entry in self.ring.completion() {
            let slot = entry.user_data() as usize;
            if let Some(flag) = in_flight.get_mut(slot) {
                *flag = false;
                *outstanding -= 1;
                let result = entry.result();
                each(slot, u32::try_from(result).map_err(|_| -result));
            }
        }
    }
}

fn ignore_signals(result: io::Result<usize>) -> io::Result<()> {
    match result {
        Ok(_) => Ok(()),
        Err(error) => match error.raw_os_error() {
            Some(libc::ETIME | libc::EINTR | libc::EAGAIN | libc::EBUSY) => Ok(()),
            _ => Err(error),
        },
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        let idle = self.outstanding == 0;
        // SAFETY: neither is used again; each is dropped at most once. With operations in flight the kernel may still
        // write into the memory after the ring is closed, so then the memory is left to the end of the process.
        unsafe {
            ManuallyDrop::drop(&mut self.ring);
            if idle {
                ManuallyDrop::drop(&mut self.memory);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ring(slots: usize) -> Option<(Ring, Arc<File>)> {
        if let Err(error) = available() {
            eprintln!("skipped: io_uring is not available here: {error}");
            return None;
        }
        let file = Arc::new(tempfile::tempfile().unwrap());
        Some((Ring::new(file.clone(), slots, 4096).unwrap(), file))
    }

    #[test]
    fn writes_come_back_as_reads() {
        let Some((mut ring, _file)) = ring(4) else { return };
        for slot in 0..4 {
            ring.buffer_mut(slot).unwrap().fill(slot as u8 + 1);
            ring.push(RingOp::Write, slot, slot as u64 * 4096, 4096).unwrap();
            assert!(ring.buffer_mut(slot).is_none(), "the kernel owns the buffer of a slot in flight");
            assert_eq!(ring.push(RingOp::Write, slot, 0, 4096), Err(PushError::Slot));
        }
        let mut seen = Vec::new();
        while ring.outstanding() > 0 {
            ring.submit_and_wait(1, Duration::from_secs(5)).unwrap();
            ring.completions(|slot, result| seen.push((slot, result)));
        }
        seen.sort_unstable();
        assert_eq!(seen, (0..4).map(|slot| (slot, Ok(4096))).collect::<Vec<_>>());

        ring.push(RingOp::Fdatasync, 0, 0, 0).unwrap();
        ring.push(RingOp::Read, 1, 3 * 4096, 4096).unwrap();
        while ring.outstanding() > 0 {
            ring.submit_and_wait(1, Duration::from_secs(5)).unwrap();
            ring.completions(|_, result| assert!(result.is_ok()));
        }
        assert_eq!(ring.buffer_mut(1).unwrap(), vec![4; 4096]);
    }

    #[test]
    fn errors_are_told_by_number_and_waiting_ends() {
        let Some((mut ring, _file)) = ring(1) else { return };
        ring.submit_and_wait(1, Duration::from_millis(1)).unwrap();
        ring.push(RingOp::Read, 0, u64::MAX / 2, 4096).unwrap();
        ring.submit_and_wait(1, Duration::from_secs(5)).unwrap();
        let mut results = Vec::new();
        ring.completions(|_, result| results.push(result));
        assert_eq!(results.len(), 1);
        assert!(matches!(results[0], Ok(0) | Err(_)), "a read past the end: {results:?}");
        assert_eq!(ring.push(RingOp::Read, 0, 0, 8192), Err(PushError::Slot));
        assert_eq!(ring.push(RingOp::Read, 9, 0, 4096), Err(PushError::Slot));
    }
}
