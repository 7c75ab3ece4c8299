//! Linux's own asynchronous I/O (io_submit(2), what libaio wraps) over one file or several, with the buffers it reads into and
//! writes from.
//!
//! On a file opened without O_DIRECT the kernel does the whole operation within io_submit: correct, but one after the
//! other. Structures and constants as in linux/aio_abi.h.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::time::Duration;

use crate::file::FileOffset;
use crate::memory;
use crate::slots::Slots;

/// What an operation does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AioOp {
    /// Read into the slot's buffer.
    Read,
    /// Write from the slot's buffer.
    Write,
    /// fsync; asynchronous since Linux 4.18, done within the submission before.
    Fsync,
    /// fdatasync; as fsync.
    Fdatasync,
}

/// The slot or the file does not exist, the slot is in flight, or the length exceeds its buffer: a mistake of the caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SlotError;

const IOCB_CMD_PREAD: u16 = 0;
const IOCB_CMD_PWRITE: u16 = 1;
const IOCB_CMD_FSYNC: u16 = 2;
const IOCB_CMD_FDSYNC: u16 = 3;
/// The block names a priority.
const IOCB_FLAG_IOPRIO: u32 = 1 << 1;

/// `struct iocb`: what the kernel reads when an operation is submitted.
#[repr(C)]
#[derive(Debug, Default)]
struct ControlBlock {
    data: u64,
    #[cfg(target_endian = "little")]
    key: u32,
    rw_flags: i32,
    #[cfg(target_endian = "big")]
    key: u32,
    opcode: u16,
    priority: i16,
    fd: u32,
    buffer: u64,
    bytes: u64,
    offset: i64,
    reserved: u64,
    flags: u32,
    event_fd: u32,
}

/// `struct io_event`: what the kernel writes when an operation has come back.
#[repr(C)]
#[derive(Debug, Default, Clone, Copy)]
struct IoEvent {
    data: u64,
    object: u64,
    result: i64,
    result2: i64,
}

/// A context of asynchronous I/O over files, with `slots` buffers of equal size. A slot has at most one operation in
/// flight; while it has, its buffer belongs to the kernel.
pub struct Aio {
    context: libc::c_ulong,
    slots: Slots,
    /// By slot. The kernel copies a block within io_submit and keeps only its address, as a name.
    blocks: Vec<ControlBlock>,
    /// Slots whose operations have not been given to the kernel.
    queued: Vec<usize>,
    /// Scratch of `submit`: where the kernel finds the queued blocks.
    pointers: Vec<*mut ControlBlock>,
    /// Scratch of `wait`.
    events: Vec<IoEvent>,
    /// Slots that are free again, with their results, to be returned by `completions`.
    returned: Vec<(usize, Result<u32, i32>)>,
    /// Operations that the kernel has and has not given back.
    with_kernel: usize,
    /// Calls of io_submit.
    calls: u64,
    /// Of reads and writes that are pushed.
    priority: u16,
    files: Vec<Arc<File>>,
}

/// Whether asynchronous I/O can be used here.
///
/// # Errors
/// `Unsupported` where the kernel is built without it; `EAGAIN` where /proc/sys/fs/aio-max-nr is used up.
pub fn available() -> io::Result<()> {
    destroy(setup(1)?);
    Ok(())
}

fn setup(events: usize) -> io::Result<libc::c_ulong> {
    let events = libc::c_long::try_from(events.max(1))
        .map_err(|_| io::Error::new(io::ErrorKind::InvalidInput, "too many slots"))?;
    let mut context: libc::c_ulong = 0;
    // SAFETY: io_setup writes the new context's number to `context`, which lives and was zero, as it demands.
    let made = unsafe { libc::syscall(libc::SYS_io_setup, events, &raw mut context) };
    if made == 0 { Ok(context) } else { Err(io::Error::last_os_error()) }
}

fn destroy(context: libc::c_ulong) {
    // SAFETY: io_destroy takes a number and no memory of ours; one that is not a context is refused with EINVAL.
    unsafe { libc::syscall(libc::SYS_io_destroy, context) };
}

impl Aio {
    /// A context over the files.
    ///
    /// # Errors
    /// `Unsupported` where the kernel is built without it; `EAGAIN` where /proc/sys/fs/aio-max-nr is used up;
    /// `OutOfMemory`.
    pub fn new(files: &[Arc<File>], slots: usize, slot_size: usize) -> io::Result<Aio> {
        let buffers = Slots::new(slots, slot_size)?;
        let mut blocks = memory::with_capacity(slots)?;
        blocks.resize_with(slots, ControlBlock::default);
        Ok(Aio {
            slots: buffers,
            blocks,
            queued: memory::with_capacity(slots)?,
            pointers: memory::with_capacity(slots)?,
            events: memory::filled(IoEvent::default(), slots)?,
            returned: memory::with_capacity(slots)?,
            // The last that can fail: nothing has to be undone.
            context: setup(slots)?,
            with_kernel: 0,
            calls: 0,
            priority: 0,
            files: files.to_vec(),
        })
    }

    /// Operations that have been pushed and not returned by [`completions`](Aio::completions).
    pub fn outstanding(&self) -> usize {
        self.queued.len() + self.with_kernel + self.returned.len()
    }

    /// Operations that have been pushed and of which the kernel does not know.
    pub fn queued(&self) -> usize {
        self.queued.len()
    }

    /// Operations that the kernel has, as far as is known without asking it.
    pub fn with_kernel(&self) -> usize {
        self.with_kernel
    }

    /// Calls of io_submit so far.
    pub fn calls(&self) -> u64 {
        self.calls
    }

    /// The slot's buffer; `None` while the slot is in flight or where there is no such slot.
    pub fn buffer_mut(&mut self, slot: usize) -> Option<&mut [u8]> {
        self.slots.buffer_mut(slot)
    }

    /// Gives reads and writes that are pushed from now on this I/O priority, as [`set_io`](crate::priority::set_io) takes it; 0 for
    /// that of the thread. What the process may not have comes back with `EPERM`.
    pub fn set_priority(&mut self, priority: u16) {
        self.priority = priority;
    }

    /// Queues an operation on the slot; the kernel learns of it with the next
    /// [`submit_and_wait`](Aio::submit_and_wait).
    ///
    /// # Errors
    /// See [`SlotError`].
    #[inline]
    pub fn push(
        &mut self,
        op: AioOp,
        slot: usize,
        place: impl Into<FileOffset>,
        length: u32,
    ) -> Result<(), SlotError> {
        let FileOffset { file, offset } = place.into();
        let descriptor = self.files.get(file as usize).ok_or(SlotError)?.as_raw_fd() as u32;
        let transfers = matches!(op, AioOp::Read | AioOp::Write);
        if !self.slots.is_free(slot) || transfers && !self.slots.fits(length) {
            return Err(SlotError);
        }
        let (opcode, buffer, bytes, offset) = match op {
            AioOp::Read => (IOCB_CMD_PREAD, self.slots.address(slot) as u64, u64::from(length), offset),
            AioOp::Write => (IOCB_CMD_PWRITE, self.slots.address(slot) as u64, u64::from(length), offset),
            // The kernel refuses a sync that names a buffer or a place.
            AioOp::Fsync => (IOCB_CMD_FSYNC, 0, 0, 0),
            AioOp::Fdatasync => (IOCB_CMD_FDSYNC, 0, 0, 0),
        };
        let prioritized = transfers && self.priority > 0;
        self.blocks[slot] = ControlBlock {
            data: slot as u64,
            // Classes reach to the sign's bit, which means nothing here.
            priority: if prioritized { self.priority as i16 } else { 0 },
            flags: if prioritized { IOCB_FLAG_IOPRIO } else { 0 },
            opcode,
            fd: descriptor,
            buffer,
            bytes,
            // Beyond i64 it becomes negative, which the kernel refuses with EINVAL.
            offset: offset as i64,
            ..ControlBlock::default()
        };
        self.slots.lend(slot, 1);
        self.queued.push(slot);
        Ok(())
    }

    /// Hands what is queued to the kernel, in one call if it takes all, and waits until `at_least` operations have
    /// come back or `timeout` is over.
    ///
    /// # Errors
    /// The kernel's; neither a signal nor the end of the time is one.
    pub fn submit_and_wait(&mut self, at_least: usize, timeout: Duration) -> io::Result<()> {
        self.submit();
        let wanted = at_least.saturating_sub(self.returned.len()).min(self.with_kernel);
        self.wait(wanted, timeout)
    }

    /// Hands what is queued to the kernel. What it refuses comes back at once, with the reason.
    pub fn submit(&mut self) {
        let mut given = 0;
        self.pointers.clear();
        let blocks = self.blocks.as_mut_ptr();
        self.pointers.extend(self.queued.iter().map(|&slot| blocks.wrapping_add(slot)));
        while given < self.queued.len() {
            let rest = &mut self.pointers[given..];
            self.calls += 1;
            // SAFETY: `rest` holds `rest.len()` pointers to distinct elements of `blocks`, each of a slot below its
            // length; each block names the slot's part of `memory` and a length that fits it; the slot is marked in
            // flight until its event, so nobody touches or frees its buffer before.
            let taken = unsafe {
                libc::syscall(
                    libc::SYS_io_submit,
                    self.context,
                    rest.len() as libc::c_long,
                    rest.as_mut_ptr(),
                )
            };
            match usize::try_from(taken) {
                Ok(taken) if taken > 0 => {
                    given += taken;
                    self.with_kernel += taken;
                }
                _ => {
                    let number = io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO);
                    // For want of room the rest waits for something to come back.
                    if taken == 0 || number == libc::EAGAIN && self.with_kernel > 0 {
                        break;
                    }
                    // The kernel reports the error of the first block and accepts none.
                    let result = self.refused(self.queued[given], number);
                    self.give_back(self.queued[given], result);
                    given += 1;
                }
            }
        }
        self.queued.drain(..given);
    }

    /// What becomes of an operation that the kernel has not taken.
    #[cold]
    fn refused(&self, slot: usize, number: i32) -> Result<u32, i32> {
        let block = &self.blocks[slot];
        let named = |file: &&Arc<File>| file.as_raw_fd() as u32 == block.fd;
        let done = match (block.opcode, self.files.iter().find(named)) {
            (IOCB_CMD_FSYNC, Some(file)) if number == libc::EINVAL => file.sync_all(),
            (IOCB_CMD_FDSYNC, Some(file)) if number == libc::EINVAL => file.sync_data(),
            _ => return Err(number),
        };
        done.map(|()| 0).map_err(|error| error.raw_os_error().unwrap_or(libc::EIO))
    }

    fn give_back(&mut self, slot: usize, result: Result<u32, i32>) {
        self.slots.give_back(slot);
        self.returned.push((slot, result));
    }

    /// Takes events from the kernel, waiting for `at_least` of them, at most `timeout`.
    fn wait(&mut self, at_least: usize, timeout: Duration) -> io::Result<()> {
        if self.with_kernel == 0 {
            return Ok(());
        }
        let mut time = libc::timespec {
            tv_sec: i64::try_from(timeout.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: timeout.subsec_nanos() as libc::c_long,
        };
        // SAFETY: the kernel writes at most `events.len()` events into `events` and reads `time`; both live.
        let got = unsafe {
            libc::syscall(
                libc::SYS_io_getevents,
                self.context,
                at_least as libc::c_long,
                self.events.len() as libc::c_long,
                self.events.as_mut_ptr(),
                &raw mut time,
            )
        };
        let Ok(got) = usize::try_from(got) else {
            let error = io::Error::last_os_error();
            return if error.kind() == io::ErrorKind::Interrupted { Ok(()) } else { Err(error) };
        };
        for index in 0..got {
            let IoEvent { data, result, .. } = self.events[index];
            self.with_kernel -= 1;
            let failed = |_| i32::try_from(-result).unwrap_or(libc::EIO);
            self.give_back(data as usize, u32::try_from(result).map_err(failed));
        }
        Ok(())
    }

    /// Passes each operation that has come back to `each`: its slot, and the bytes moved or the error number.
    #[inline]
    pub fn completions(&mut self, mut each: impl FnMut(usize, Result<u32, i32>)) {
        self.returned.drain(..).for_each(|(slot, result)| each(slot, result));
    }
}

impl Drop for Aio {
    /// Does not wait for operations in flight, as io_destroy would: a hung device must not hang its caller. With any
    /// left, the context and the memory are left to the end of the process.
    fn drop(&mut self) {
        // What has not been submitted to the kernel is not in flight.
        for slot in self.queued.drain(..) {
            self.slots.give_back(slot);
        }
        let looked = self.wait(0, Duration::ZERO);
        if looked.is_ok() && self.with_kernel == 0 {
            destroy(self.context);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WAIT: Duration = Duration::from_secs(5);

    fn aio(slots: usize) -> Option<(Aio, Arc<File>)> {
        if let Err(error) = available() {
            eprintln!("skipped: asynchronous I/O is not available here: {error}");
            return None;
        }
        let file = Arc::new(tempfile::tempfile().unwrap());
        Some((Aio::new(std::slice::from_ref(&file), slots, 4096).unwrap(), file))
    }

    fn all(aio: &mut Aio) -> Vec<(usize, Result<u32, i32>)> {
        let mut seen = Vec::new();
        while aio.outstanding() > 0 {
            aio.submit_and_wait(1, WAIT).unwrap();
            aio.completions(|slot, result| seen.push((slot, result)));
        }
        seen.sort_unstable();
        seen
    }

    #[test]
    fn the_structures_are_the_kernels() {
        assert_eq!((size_of::<ControlBlock>(), size_of::<IoEvent>()), (64, 32));
    }

    #[test]
    fn writes_come_back_as_reads() {
        let Some((mut aio, _file)) = aio(4) else { return };
        for slot in 0..4 {
            aio.buffer_mut(slot).unwrap().fill(slot as u8 + 1);
            aio.push(AioOp::Write, slot, slot as u64 * 4096, 4096).unwrap();
            assert!(aio.buffer_mut(slot).is_none(), "the kernel owns the buffer of a slot in flight");
            assert_eq!(aio.push(AioOp::Write, slot, 0, 4096), Err(SlotError));
        }
        assert_eq!(all(&mut aio), (0..4).map(|slot| (slot, Ok(4096))).collect::<Vec<_>>());
        aio.push(AioOp::Fdatasync, 0, 77, 88).unwrap();
        aio.push(AioOp::Fsync, 2, 77, 1 << 20).unwrap();
        aio.push(AioOp::Read, 1, 3 * 4096, 4096).unwrap();
        assert_eq!(all(&mut aio), [(0, Ok(0)), (1, Ok(4096)), (2, Ok(0))]);
        assert_eq!(aio.buffer_mut(1).unwrap(), vec![4; 4096]);
    }

    #[test]
    fn each_file_is_reached() {
        use std::os::unix::fs::FileExt;
        if let Err(error) = available() {
            eprintln!("skipped: asynchronous I/O is not available here: {error}");
            return;
        }
        let files: Vec<_> = (0..3).map(|_| Arc::new(tempfile::tempfile().unwrap())).collect();
        let mut aio = Aio::new(&files, 3, 4096).unwrap();
        for slot in 0..3 {
            aio.buffer_mut(slot).unwrap().fill(slot as u8 + 1);
            aio.push(AioOp::Write, slot, FileOffset { file: slot as u32, offset: 100 }, 10).unwrap();
        }
        assert_eq!(all(&mut aio), [(0, Ok(10)), (1, Ok(10)), (2, Ok(10))]);
        for (index, file) in files.iter().enumerate() {
            let mut read = [0; 10];
            file.read_exact_at(&mut read, 100).unwrap();
            assert_eq!(read, [index as u8 + 1; 10]);
        }
        assert_eq!(aio.push(AioOp::Read, 0, FileOffset { file: 3, offset: 0 }, 1), Err(SlotError));
    }

    #[test]
    fn one_refused_operation_in_a_batch_does_not_hold_up_the_others() {
        let Some((mut aio, file)) = aio(4) else { return };
        file.set_len(8192).unwrap();
        aio.push(AioOp::Read, 0, 0, 4096).unwrap();
        aio.push(AioOp::Read, 1, u64::MAX, 4096).unwrap();
        aio.push(AioOp::Read, 2, 8000, 4096).unwrap();
        aio.push(AioOp::Read, 3, 1 << 40, 4096).unwrap();
        assert_eq!(all(&mut aio), [(0, Ok(4096)), (1, Err(libc::EINVAL)), (2, Ok(192)), (3, Ok(0))]);
        assert_eq!(aio.push(AioOp::Read, 0, 0, 8192), Err(SlotError));
        assert_eq!(aio.push(AioOp::Read, 9, 0, 4096), Err(SlotError));
    }

    #[test]
    fn a_sync_that_the_kernel_cannot_do_asynchronously_is_done_all_the_same() {
        let Some((mut aio, _file)) = aio(1) else { return };
        for op in [AioOp::Fsync, AioOp::Fdatasync] {
            aio.push(op, 0, 0, 0).unwrap();
            // What a kernel before 4.18 answers, which is not to be had here.
            assert_eq!(aio.refused(0, libc::EINVAL), Ok(0));
            assert_eq!(aio.refused(0, libc::EIO), Err(libc::EIO));
            assert_eq!(all(&mut aio), [(0, Ok(0))]);
        }
        aio.push(AioOp::Read, 0, 0, 4096).unwrap();
        assert_eq!(aio.refused(0, libc::EINVAL), Err(libc::EINVAL));
    }

    #[test]
    fn what_was_never_given_to_the_kernel_frees_its_memory() {
        let Some((mut aio, _file)) = aio(2) else { return };
        aio.push(AioOp::Read, 0, 0, 4096).unwrap();
        assert_eq!((aio.slots.outstanding(), aio.with_kernel), (1, 0));
        drop(aio);
    }

    #[test]
    fn more_than_the_address_space_is_refused() {
        for (slots, slot_size) in [(2, usize::MAX), (usize::MAX, 4096), (1 << 52, 8192)] {
            let file = Arc::new(tempfile::tempfile().unwrap());
            assert!(Aio::new(&[file], slots, slot_size).is_err());
        }
    }

    #[test]
    fn waiting_for_nothing_ends() {
        let Some((mut aio, _file)) = aio(1) else { return };
        aio.submit_and_wait(1, Duration::from_secs(3600)).unwrap();
        assert_eq!(aio.outstanding(), 0);
    }
}
