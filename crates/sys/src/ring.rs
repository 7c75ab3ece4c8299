//! A ring of io_uring over one file or several, with the buffers it reads into and writes from.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

use io_uring::squeue::{Entry, Flags};
use io_uring::types::{Fixed, FsyncFlags, SubmitArgs, Timespec};
use io_uring::{IoUring, Probe, opcode};
use rustix::fs::OFlags;

use crate::device;
use crate::file::FileOffset;
use crate::ring_enter::Entrance;
use crate::ring_thread::SubmitThread;
use crate::slots::Slots;

/// What an entry does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RingOp {
    /// Read into the slot's buffer.
    Read,
    /// Write from the slot's buffer.
    Write,
    /// fsync, of the whole file.
    Fsync,
    /// fdatasync, of the whole file.
    Fdatasync,
    /// sync_file_range with these flags, as [`sync_range_by`](crate::file::sync_range_by): a length of 0 reaches to the end of the file.
    SyncRange(u32),
    /// Give back the blocks of the range, as [`Trim`](crate::trim::Trim); only where [`Ring::trims`].
    Trim,
}

impl RingOp {
    /// Whether it moves data between the file and the slot's buffer.
    #[inline]
    fn transfers(self) -> bool {
        matches!(self, RingOp::Read | RingOp::Write)
    }
}

/// How operations are submitted to the kernel and completions are collected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RingSetup {
    /// A thread of the kernel's looks for new operations, so that submitting takes no system call (SQPOLL). It occupies a
    /// processor and goes to sleep after 100 ms without any; waiting for completions spins for up to 100 µs before it
    /// sleeps, too.
    pub submit_polling: bool,
    /// Completions are polled for in the device's queue instead of signalled by interrupt (IOPOLL). Only with O_DIRECT, on
    /// file systems and devices that can; most kernels then do nothing but reads and writes (see [`Ring::syncs`]).
    pub completion_polling: bool,
    /// CPU of the kernel's thread of `submit_polling`.
    pub submit_cpu: Option<u32>,
    /// Each entry after so many is executed by a thread of the kernel (`IOSQE_ASYNC`); 0: none.
    pub force_async: u32,
    /// Flags of reads and writes, as of [`vectored`](crate::vectored).
    pub flags: i32,
}

/// Which of the slot's operations has come back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// That of [`Ring::push`]: it was alone.
    Only,
    /// The first of [`Ring::push_linked`]: its slot is not free yet.
    First,
    /// The second of it.
    Last,
}

/// Why an entry could not be queued.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PushError {
    /// The submission queue is full: submit first.
    Full,
    /// The slot does not exist, is in flight, or the length exceeds its buffer: a mistake of the caller.
    Slot,
    /// This ring has no such operation, see [`Ring::syncs`] and [`Ring::trims`]: a mistake of the caller, who is to do it
    /// without the ring.
    Unsupported,
}

/// Most entries of a submission queue: IORING_MAX_ENTRIES of the kernel's io_uring.h.
const MAX_ENTRIES: usize = 32768;

/// How long the kernel's thread looks for new operations in vain before it sleeps, in milliseconds: longer than the
/// pauses of a steady load, so that it is awake when the next operation comes.
const SUBMIT_IDLE: u32 = 100;

/// How long to look for completions before sleeping, where the caller wanted no system calls: as long as a flash
/// device takes.
const SPIN: Duration = Duration::from_micros(100);

/// How long a ring that is dropped waits for what is in flight: its user has waited before.
const LAST_OPERATIONS: Duration = Duration::from_millis(50);

/// How long the answer to a question to the kernel may take; it is one operation on an idle ring.
const PATIENCE: Duration = Duration::from_secs(5);

/// `BLOCK_URING_CMD_DISCARD` of linux/blkdev.h (6.12): the first byte is in `addr`, the number of bytes in `addr3`, which
/// is where the command's own bytes start.
const DISCARD: u32 = rustix::ioctl::opcode::none(0x12, 0) as u32;

/// How a ring gives back blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Trims {
    /// A regular file: fallocate.
    PunchHole,
    /// A block device whose kernel has a command for it.
    Discard,
    /// Not at all.
    No,
}

/// An io_uring over registered files, with `slots` buffers of equal size. A slot has at most one operation, or linked
/// pair, in flight; while it has, its buffer belongs to the kernel.
pub struct Ring {
    // In this order: the ring's registration is removed, and the ring closed, before the buffers are freed. With operations in
    // flight they are not freed, because the kernel may still write into them after the ring is closed.
    entrance: Entrance,
    ring: IoUring,
    thread: SubmitThread,
    slots: Slots,
    setup: RingSetup,
    fixed_buffers: bool,
    syncs: bool,
    /// By file.
    trims: Vec<Trims>,
    /// Of reads and writes that are pushed.
    priority: u16,
    /// Entries since the last one for a thread of the kernel.
    since_async: u32,
    _files: Vec<Arc<File>>,
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

/// Makes the kernel's part of a ring. Nothing that was asked for is left away when it can't be had.
fn build(entries: u32, setup: RingSetup) -> io::Result<IoUring> {
    let mut builder = IoUring::builder();
    if setup.completion_polling {
        builder.setup_iopoll();
    }
    if setup.submit_polling {
        if let Some(cpu) = setup.submit_cpu {
            builder.setup_sqpoll_cpu(cpu);
        }
        return builder.setup_sqpoll(SUBMIT_IDLE).build(entries);
    }
    let mut modern = builder.clone();
    modern.setup_single_issuer().setup_defer_taskrun();
    modern.build(entries).or_else(|_| builder.build(entries))
}

impl Ring {
    /// A ring over the files, of which there is at least one. It must be used by the thread that makes it.
    ///
    /// Uses a single issuer with deferred task work where the kernel has it (6.1) and no thread of the kernel's submits,
    /// and registered buffers where the limit on locked memory allows. With completion polling, the start of each file
    /// is read once to see whether that works.
    ///
    /// # Errors
    /// The kernel has no io_uring, forbids it, or has no memory for it. `EOPNOTSUPP` where completions of a file
    /// can't be polled: the file system or device can't, or it is not opened with O_DIRECT. A file system over several
    /// devices may report that for each operation only.
    pub fn new(files: &[Arc<File>], slots: usize, slot_size: usize, setup: RingSetup) -> io::Result<Ring> {
        let mut ring = Ring::untried(files, slots, slot_size, setup)?;
        for (index, file) in (0..).zip(files) {
            if setup.completion_polling {
                ring.try_polling(file, index)?;
            }
            let device = device::is_block_device(file)?;
            let trims = match device {
                true if ring.has_discard(index)? => Trims::Discard,
                false if ring.syncs => Trims::PunchHole,
                _ => Trims::No,
            };
            ring.trims.push(trims);
        }
        Ok(ring)
    }

    /// A ring of which it is not known what it can do with these files.
    fn untried(files: &[Arc<File>], slots: usize, slot_size: usize, setup: RingSetup) -> io::Result<Ring> {
        // Two entries per slot, for linked pairs, as far as the kernel allows; it makes room for twice as many
        // completions.
        let entries = slots.max(1).saturating_mul(2).min(MAX_ENTRIES).max(slots).checked_next_power_of_two();
        let entries = entries
            .and_then(|entries| u32::try_from(entries).ok())
            .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "too many slots"))?;
        let ring = build(entries, setup)?;
        let slots = Slots::new(slots, slot_size)?;
        let vectors = slots.vectors()?;
        let descriptors: Vec<_> = files.iter().map(|file| file.as_raw_fd()).collect();
        ring.submitter().register_files(&descriptors)?;
        // SAFETY: the vectors describe the slots' memory, which is freed only after the ring, or never (see `Ring`).
        let fixed_buffers = unsafe { ring.submitter().register_buffers(&vectors) }.is_ok();
        let (trims, files) = (Vec::with_capacity(files.len()), files.to_vec());
        let entrance = Entrance::new(&ring);
        Ok(Ring {
            entrance,
            ring,
            thread: SubmitThread::default(),
            slots,
            setup,
            fixed_buffers,
            syncs: true,
            trims,
            priority: 0,
            since_async: 0,
            _files: files,
        })
    }

    /// Finds out whether completions of this file can be polled, and what else such a ring can do.
    fn try_polling(&mut self, file: &File, index: u32) -> io::Result<()> {
        let unsupported = || io::Error::from_raw_os_error(libc::EOPNOTSUPP);
        // What the kernel would answer to each operation; older ones would wait for interrupts without a word where the
        // device has no queues to poll (nvme's module option poll_queues).
        let direct = rustix::fs::fcntl_getfl(file)?.contains(OFlags::DIRECT);
        if !direct || device::polls(file)? == Some(false) {
            return Err(unsupported());
        }
        if self.slots.count() == 0 {
            return Ok(());
        }
        let start = FileOffset { file: index, offset: 0 };
        let read = self.entry(RingOp::Read, 0, start, crate::buffer::ALIGNMENT as u32);
        if self.ask(&read)? == Err(libc::EOPNOTSUPP) {
            return Err(unsupported());
        }
        if let Some(buffer) = self.slots.buffer_mut(0) {
            buffer.fill(0);
        }
        // Without flags it does nothing.
        let nothing = opcode::SyncFileRange::new(Fixed(index), 1).build();
        self.syncs &= self.ask(&nothing)?.is_ok();
        Ok(())
    }

    /// Whether the kernel discards asynchronously: a discard of no bytes is refused by those who know the command.
    fn has_discard(&mut self, index: u32) -> io::Result<bool> {
        let mut probe = Probe::new();
        let known = self.ring.submitter().register_probe(&mut probe).is_ok()
            && probe.is_supported(opcode::UringCmd16::CODE);
        Ok(known
            && self.slots.count() > 0
            && self.ask(&discard(FileOffset { file: index, offset: 0 }, 0))? == Err(libc::EINVAL))
    }

    /// Does an operation that transfers to or from the first slot, or nowhere, and waits for what comes of it.
    fn ask(&mut self, entry: &Entry) -> io::Result<Result<u32, i32>> {
        // SAFETY: the entry is of `entry` for slot 0, whose buffer it fits, or has no buffer; the slot is lent until
        // the completion; the file is registered.
        if unsafe { self.ring.submission().push(entry) }.is_err() {
            return Err(io::ErrorKind::ResourceBusy.into());
        }
        self.slots.lend(0, 1);
        let start = Instant::now();
        let mut answer = None;
        while answer.is_none() && start.elapsed() < PATIENCE {
            self.submit_and_wait(1, PATIENCE)?;
            self.completions(|_, _, result| answer = Some(result));
        }
        answer.ok_or_else(|| io::ErrorKind::TimedOut.into())
    }

    /// Entries given to the ring that have not come back; a linked pair is two.
    pub fn outstanding(&self) -> usize {
        self.slots.outstanding()
    }

    /// Operations that are outstanding and have not come back.
    pub fn unfinished(&mut self) -> usize {
        self.outstanding().saturating_sub(self.ring.completion().len())
    }

    /// Whether the ring can do [`RingOp::Fsync`], [`RingOp::Fdatasync`] and [`RingOp::SyncRange`]; it may not where
    /// completions are polled.
    pub fn syncs(&self) -> bool {
        self.syncs
    }

    /// Whether the ring can do [`RingOp::Trim`] on a file. Block devices need Linux 6.12 (and discard at all); where completions
    /// are polled it may not be possible either. Then the caller does it with [`Trim`](crate::trim::Trim).
    pub fn trims(&self, file: u32) -> bool {
        self.trims.get(file as usize).is_some_and(|trims| *trims != Trims::No)
    }

    /// The slot's buffer; `None` while the slot is in flight or where there is no such slot.
    pub fn buffer_mut(&mut self, slot: usize) -> Option<&mut [u8]> {
        self.slots.buffer_mut(slot)
    }

    /// Queues an operation on the slot; the kernel learns of it with the next [`submit`](Ring::submit).
    ///
    /// # Errors
    /// See [`PushError`].
    #[inline]
    pub fn push(
        &mut self,
        op: RingOp,
        slot: usize,
        place: impl Into<FileOffset>,
        length: u32,
    ) -> Result<(), PushError> {
        let place = place.into();
        self.check(op, slot, place, length)?;
        let mut entry = self.entry(op, slot, place, length).user_data(name(slot, Part::Only));
        if self.is_for_thread() {
            entry = entry.flags(Flags::ASYNC);
        }
        // SAFETY: the entry's buffer, if it has one, is the slot's and `length` fits it; the slot is lent until its
        // completion, so nobody touches or frees the buffer before; the file is registered with the ring.
        if unsafe { self.ring.submission().push(&entry) }.is_err() {
            return Err(PushError::Full);
        }
        self.slots.lend(slot, 1);
        Ok(())
    }

    /// Gives reads and writes that are pushed from now on this I/O priority, as [`set_io`](crate::priority::set_io) takes it; 0 for
    /// that of the thread. What the process may not have comes back with `EPERM`.
    pub fn set_priority(&mut self, priority: u16) {
        self.priority = priority;
    }

    /// Queues two operations on the slot, both with this offset and length: the kernel starts the second when the first
    /// has succeeded. Where the first fails or moves fewer bytes, the second comes back with `ECANCELED`. The slot is free
    /// when both have come back, as [`Part::First`] and then [`Part::Last`]: the kernel starts or cancels the second only
    /// after it has reported the first.
    ///
    /// # Errors
    /// See [`PushError`]; then neither is queued.
    #[inline]
    pub fn push_linked(
        &mut self,
        ops: [RingOp; 2],
        slot: usize,
        place: impl Into<FileOffset>,
        length: u32,
    ) -> Result<(), PushError> {
        let ([first, last], place) = (ops, place.into());
        self.check(first, slot, place, length)?;
        self.check(last, slot, place, length)?;
        let entries = [
            self.entry(first, slot, place, length).flags(Flags::IO_LINK).user_data(name(slot, Part::First)),
            self.entry(last, slot, place, length).user_data(name(slot, Part::Last)),
        ];
        // SAFETY: as in `push`; the slot is lent until both completions.
        if unsafe { self.ring.submission().push_multiple(&entries) }.is_err() {
            return Err(PushError::Full);
        }
        self.slots.lend(slot, 2);
        Ok(())
    }

    /// Whether the next entry is for a thread of the kernel.
    #[inline]
    fn is_for_thread(&mut self) -> bool {
        if self.setup.force_async == 0 {
            return false;
        }
        self.since_async = (self.since_async + 1) % self.setup.force_async;
        self.since_async == 0
    }

    #[inline]
    fn check(&self, op: RingOp, slot: usize, place: FileOffset, length: u32) -> Result<(), PushError> {
        if !self.slots.is_free(slot) || op.transfers() && !self.slots.fits(length) {
            return Err(PushError::Slot);
        }
        let possible = match op {
            RingOp::Read | RingOp::Write => true,
            RingOp::Fsync | RingOp::Fdatasync | RingOp::SyncRange(_) => self.syncs,
            RingOp::Trim => self.trims(place.file),
        };
        if possible { Ok(()) } else { Err(PushError::Unsupported) }
    }

    #[inline]
    fn entry(&self, op: RingOp, slot: usize, place: FileOffset, length: u32) -> Entry {
        let (file, offset, buffer) = (Fixed(place.file), place.offset, self.slots.address(slot));
        let (priority, flags) = (self.priority, self.setup.flags);
        match (op, self.fixed_buffers) {
            (RingOp::Read, true) => opcode::ReadFixed::new(file, buffer, length, slot as u16)
                .offset(offset)
                .ioprio(priority)
                .rw_flags(flags)
                .build(),
            (RingOp::Write, true) => opcode::WriteFixed::new(file, buffer, length, slot as u16)
                .offset(offset)
                .ioprio(priority)
                .rw_flags(flags)
                .build(),
            (RingOp::Read, false) => opcode::Read::new(file, buffer, length)
                .offset(offset)
                .ioprio(priority)
                .rw_flags(flags)
                .build(),
            (RingOp::Write, false) => opcode::Write::new(file, buffer, length)
                .offset(offset)
                .ioprio(priority)
                .rw_flags(flags)
                .build(),
            (RingOp::Fsync, _) => opcode::Fsync::new(file).build(),
            (RingOp::Fdatasync, _) => opcode::Fsync::new(file).flags(FsyncFlags::DATASYNC).build(),
            (RingOp::SyncRange(flags), _) => {
                opcode::SyncFileRange::new(file, length).offset(offset).flags(flags).build()
            }
            (RingOp::Trim, _) if self.trims.get(place.file as usize) == Some(&Trims::Discard) => {
                discard(place, u64::from(length))
            }
            (RingOp::Trim, _) => {
                let mode = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
                opcode::Fallocate::new(file, u64::from(length)).offset(offset).mode(mode).build()
            }
        }
    }

    /// Hands what is queued to the kernel.
    ///
    /// # Errors
    /// The kernel's; a signal is not one.
    pub fn submit(&mut self) -> io::Result<()> {
        let queued = self.queued();
        match self.setup {
            _ if queued == 0 => Ok(()),
            RingSetup { submit_polling: false, completion_polling: false, .. } => {
                ignore_signals(self.entrance.enter(queued as u32, None))
            }
            // Whether the kernel's thread has to be woken up is looked at there.
            _ => ignore_signals(self.ring.submit()),
        }
    }

    /// Hands what is queued to the kernel and waits until `at_least` operations have come back or `timeout` is over;
    /// where completions are polled, until any has. With an `at_least` of 0 it only looks. Returns whether there was anything
    /// to wait for: what the kernel has done within an earlier submission (reads from the page cache, say) is back at once.
    ///
    /// # Errors
    /// The kernel's; neither a signal nor the end of the time is one.
    pub fn submit_and_wait(&mut self, at_least: usize, timeout: Duration) -> io::Result<bool> {
        let polls = self.setup != RingSetup::default();
        if polls {
            self.submit()?;
        }
        let (at_least, timeout) = match at_least {
            // Without entering the kernel nothing would ever come back.
            0 => (self.outstanding().min(1), Duration::ZERO),
            at_least => (at_least, timeout),
        };
        if self.ring.completion().len() >= at_least {
            self.submit()?;
            return Ok(false);
        }
        if polls {
            return self.wait_polling(at_least, timeout);
        }
        // Handed over and waited for in one call.
        let queued = self.queued() as u32;
        ignore_signals(self.entrance.enter(queued, Some((at_least as u32, timeout))))?;
        Ok(true)
    }

    /// Waits in the kernel, and submits again what it did not accept before.
    fn wait(&self, at_least: usize, timeout: Duration) -> io::Result<bool> {
        let time = Timespec::new().sec(timeout.as_secs()).nsec(timeout.subsec_nanos());
        let args = SubmitArgs::new().timespec(&time);
        ignore_signals(self.ring.submitter().submit_with_args(at_least, &args))?;
        Ok(true)
    }

    /// As [`wait`](Ring::wait) where anything is polled.
    #[inline(never)]
    fn wait_polling(&mut self, at_least: usize, timeout: Duration) -> io::Result<bool> {
        let start = Instant::now();
        // With a thread of its own, the kernel polls for completions there, too.
        let polls_here = self.setup.completion_polling && !self.setup.submit_polling;
        let limit = if polls_here { timeout } else { timeout.min(SPIN) };
        // The kernel does not look at the device while completions wait to be taken.
        let enough = if polls_here { at_least.min(1) } else { at_least };
        while self.outstanding() > 0 {
            if polls_here {
                // One look at the device. A wait of the kernel's own would heed no time limit.
                ignore_signals(self.ring.submit())?;
            }
            if self.ring.completion().len() >= enough {
                return Ok(true);
            }
            if start.elapsed() >= limit {
                break;
            }
            std::hint::spin_loop();
        }
        if polls_here { Ok(true) } else { self.wait(at_least, timeout.saturating_sub(start.elapsed())) }
    }

    /// Entries queued that have not been submitted to the kernel, or that its own thread has not taken.
    pub fn queued(&mut self) -> usize {
        self.ring.submission().len()
    }

    /// Passes each operation that has come back to `each`: its slot, which one it is, and the bytes moved or the error
    /// number.
    #[inline]
    pub fn completions(&mut self, mut each: impl FnMut(usize, Part, Result<u32, i32>)) {
        let slots = &mut self.slots;
        for entry in self.ring.completion() {
            let (slot, part) = named(entry.user_data());
            if slots.give_back(slot) {
                let result = entry.result();
                each(slot, part, u32::try_from(result).map_err(|_| -result));
            }
        }
    }
}

impl Drop for Ring {
    /// The kernel takes a closed ring apart later, on a thread of its own. Unless files and buffers are given back before, the
    /// files stay open meanwhile: their file system can't be unmounted, and nobody gets a lease.
    fn drop(&mut self) {
        let start = Instant::now();
        // Where completions are polled, a wait of the kernel's own would heed no time limit.
        let at_least = if self.setup.completion_polling { 0 } else { 1 };
        while self.outstanding() > self.queued() {
            let left = LAST_OPERATIONS.saturating_sub(start.elapsed());
            // What hangs keeps its file anyway, and to give that back would wait for it.
            if left.is_zero() || ignore_signals(self.entrance.enter(0, Some((at_least, left)))).is_err() {
                return;
            }
            self.completions(|_, _, _| {});
        }
        if self.setup.submit_polling {
            self.thread = SubmitThread::of(&self.ring);
        }
        // Where it fails the kernel does it later.
        let _ = self.ring.submitter().unregister_buffers();
        let _ = self.ring.submitter().unregister_files();
    }
}

/// How an entry of the slot is known to the kernel; that of the first slot's only one is 0, as in a new entry.
#[inline]
fn name(slot: usize, part: Part) -> u64 {
    (slot as u64) << 2 | part as u64
}

#[inline]
fn named(name: u64) -> (usize, Part) {
    let part = match name & 3 {
        0 => Part::Only,
        1 => Part::First,
        _ => Part::Last,
    };
    ((name >> 2) as usize, part)
}

fn discard(place: FileOffset, length: u64) -> Entry {
    let mut command = [0; 16];
    command[..8].copy_from_slice(&length.to_ne_bytes());
    opcode::UringCmd16::new(Fixed(place.file), DISCARD).addr(Some(place.offset)).cmd(command).build()
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::SYNC_RANGE;
    use crate::file::{Access, create_new_with};
    use crate::testing::{LoopDevice, run};
    use std::os::unix::fs::{FileExt, MetadataExt};
    use std::process::Command;

    const WAIT: Duration = Duration::from_secs(5);

    type Seen = Vec<(usize, Part, Result<u32, i32>)>;

    fn over(file: &Arc<File>, slots: usize, setup: RingSetup) -> Option<Ring> {
        if let Err(error) = available() {
            eprintln!("skipped: io_uring is not available here: {error}");
            return None;
        }
        match Ring::new(std::slice::from_ref(file), slots, 4096, setup) {
            Ok(ring) => Some(ring),
            Err(error) if setup != RingSetup::default() => {
                eprintln!("skipped: no {setup:?} here: {error}");
                None
            }
            Err(error) => panic!("{error}"),
        }
    }

    fn ring(slots: usize) -> Option<(Ring, Arc<File>)> {
        let file = Arc::new(tempfile::tempfile().unwrap());
        Some((over(&file, slots, RingSetup::default())?, file))
    }

    fn all(ring: &mut Ring) -> Seen {
        let mut seen = Vec::new();
        while ring.outstanding() > 0 {
            ring.submit_and_wait(1, WAIT).unwrap();
            ring.completions(|slot, part, result| seen.push((slot, part, result)));
        }
        let mut firsts = std::collections::HashSet::new();
        for &(slot, part, _) in &seen {
            assert!(part != Part::First || firsts.insert(slot));
            assert!(part != Part::Last || firsts.remove(&slot), "the first comes back first: {seen:?}");
        }
        seen.sort_unstable();
        seen
    }

    fn only(results: &[Result<u32, i32>]) -> Seen {
        results.iter().enumerate().map(|(slot, &result)| (slot, Part::Only, result)).collect()
    }

    fn write_and_read_back(ring: &mut Ring) {
        for slot in 0..4 {
            ring.buffer_mut(slot).unwrap().fill(slot as u8 + 1);
            ring.push(RingOp::Write, slot, slot as u64 * 4096, 4096).unwrap();
            assert!(ring.buffer_mut(slot).is_none(), "the kernel owns the buffer of a slot in flight");
            assert_eq!(ring.push(RingOp::Write, slot, 0, 4096), Err(PushError::Slot));
        }
        assert_eq!(all(ring), only(&[Ok(4096); 4]));
        for slot in 0..4 {
            ring.push(RingOp::Read, slot, (3 - slot as u64) * 4096, 4096).unwrap();
        }
        assert_eq!(all(ring), only(&[Ok(4096); 4]));
        for slot in 0..4 {
            assert_eq!(ring.buffer_mut(slot).unwrap(), vec![4 - slot as u8; 4096]);
        }
    }

    #[test]
    fn writes_come_back_as_reads() {
        let Some((mut ring, _file)) = ring(4) else { return };
        write_and_read_back(&mut ring);
    }

    #[test]
    fn each_file_is_reached() {
        if let Err(error) = available() {
            eprintln!("skipped: io_uring is not available here: {error}");
            return;
        }
        let files: Vec<_> = (0..3).map(|_| Arc::new(tempfile::tempfile().unwrap())).collect();
        let mut ring = Ring::new(&files, 3, 4096, RingSetup::default()).unwrap();
        for slot in 0..3 {
            ring.buffer_mut(slot).unwrap().fill(slot as u8 + 1);
            let place = FileOffset { file: slot as u32, offset: 4096 };
            ring.push_linked([RingOp::Write, RingOp::Fdatasync], slot, place, 4096).unwrap();
        }
        assert_eq!(all(&mut ring).len(), 6);
        for (index, file) in files.iter().enumerate() {
            let mut read = [0; 8];
            file.read_exact_at(&mut read, 8184).unwrap();
            assert_eq!((read, file.metadata().unwrap().len()), ([index as u8 + 1; 8], 8192));
        }
        assert!(ring.trims(2) && !ring.trims(3));
        ring.push(RingOp::Read, 0, FileOffset { file: 3, offset: 0 }, 1).unwrap();
        assert_eq!(all(&mut ring), only(&[Err(libc::EBADF)]), "there is no such file");
    }

    #[test]
    fn syncs_need_no_buffer() {
        let Some((mut ring, file)) = ring(4) else { return };
        file.write_all_at(&[7; 8192], 0).unwrap();
        assert!(ring.syncs());
        ring.push(RingOp::Fsync, 0, 0, 0).unwrap();
        ring.push(RingOp::Fdatasync, 1, 0, 0).unwrap();
        ring.push(RingOp::SyncRange(SYNC_RANGE), 2, 4096, 1 << 30).unwrap();
        ring.push(RingOp::SyncRange(SYNC_RANGE), 3, 4096, 0).unwrap();
        assert_eq!(all(&mut ring), only(&[Ok(0); 4]));
        ring.push(RingOp::SyncRange(SYNC_RANGE), 0, u64::MAX, 1).unwrap();
        assert_eq!(all(&mut ring), only(&[Err(libc::EINVAL)]));
    }

    #[test]
    fn trim_punches_a_hole_into_a_file() {
        let Some((mut ring, file)) = ring(1) else { return };
        file.write_all_at(&vec![7; 1 << 20], 0).unwrap();
        file.sync_all().unwrap();
        let before = file.metadata().unwrap().blocks();
        assert!(ring.trims(0));
        ring.push(RingOp::Trim, 0, 4096, 512 << 10).unwrap();
        let seen = all(&mut ring);
        if seen == only(&[Err(libc::EOPNOTSUPP)]) {
            eprintln!("skipped: no holes in files here");
            return;
        }
        assert_eq!(seen, only(&[Ok(0)]));
        let metadata = file.metadata().unwrap();
        assert!(metadata.blocks() < before && metadata.len() == 1 << 20);
        let mut read = [1; 2];
        file.read_exact_at(&mut read, 4095).unwrap();
        assert_eq!(read, [7, 0]);
    }

    #[test]
    fn trim_discards_on_a_device_where_the_kernel_can() {
        let Some(device) = LoopDevice::new(8 << 20) else { return };
        let file = Arc::new(device.open());
        file.write_all_at(&vec![7; 1 << 20], 0).unwrap();
        file.sync_all().unwrap();
        let Some(mut ring) = over(&file, 2, RingSetup::default()) else { return };
        if !ring.trims(0) {
            eprintln!("skipped: the kernel does not discard asynchronously");
            assert_eq!(ring.push(RingOp::Trim, 0, 0, 4096), Err(PushError::Unsupported));
            return;
        }
        ring.push(RingOp::Trim, 0, 64 << 10, 64 << 10).unwrap();
        ring.push(RingOp::Trim, 1, 1, 4096).unwrap();
        assert_eq!(all(&mut ring), only(&[Ok(0), Err(libc::EINVAL)]));
        let mut read = [1; 64 << 10];
        file.read_exact_at(&mut read, 64 << 10).unwrap();
        assert!(read.iter().all(|&byte| byte == 0), "a loop device punches a hole into the file behind it");
        for place in [0, 128 << 10] {
            file.read_exact_at(&mut read, place).unwrap();
            assert!(read.iter().all(|&byte| byte == 7), "nothing else was discarded");
        }
    }

    #[test]
    fn the_second_of_a_pair_follows_the_first() {
        for submit_polling in [false, true] {
            let file = Arc::new(tempfile::tempfile().unwrap());
            let setup = RingSetup { submit_polling, ..RingSetup::default() };
            let Some(mut ring) = over(&file, 4, setup) else { return };
            for round in 0..10 {
                for slot in 0..4 {
                    let then =
                        [RingOp::Fdatasync, RingOp::Fsync, RingOp::SyncRange(SYNC_RANGE), RingOp::Read][slot];
                    ring.buffer_mut(slot).unwrap().fill(round);
                    ring.push_linked([RingOp::Write, then], slot, slot as u64 * 4096, 4096).unwrap();
                    assert_eq!(ring.push(RingOp::Read, slot, 0, 4096), Err(PushError::Slot));
                }
                assert!(ring.outstanding() == 8, "no pair was one too many for the queue");
                let mut halves = [0; 4];
                while ring.outstanding() > 0 {
                    ring.submit_and_wait(1, WAIT).unwrap();
                    let mut seen = Vec::new();
                    ring.completions(|slot, part, result| seen.push((slot, part, result)));
                    for (slot, part, result) in seen {
                        halves[slot] += 1;
                        assert_eq!(part, if halves[slot] == 1 { Part::First } else { Part::Last });
                        let reads = slot == 3;
                        assert_eq!(result, Ok(if part == Part::First || reads { 4096 } else { 0 }));
                    }
                    for (slot, halves) in halves.iter().enumerate() {
                        assert_eq!(ring.buffer_mut(slot).is_some(), *halves == 2, "free when both are back");
                    }
                }
            }
            let mut read = vec![0; 4 * 4096];
            file.read_exact_at(&mut read, 0).unwrap();
            assert_eq!(read, vec![9; 4 * 4096]);
        }
    }

    #[test]
    fn what_follows_a_failed_or_short_operation_is_cancelled() {
        let Some((mut ring, file)) = ring(3) else { return };
        file.set_len(4096 + 100).unwrap();
        ring.push_linked([RingOp::Write, RingOp::Fdatasync], 0, u64::MAX / 2 + 1, 4096).unwrap();
        ring.push_linked([RingOp::Read, RingOp::Fdatasync], 1, 4096, 4096).unwrap();
        ring.push_linked([RingOp::Write, RingOp::Fdatasync], 2, 0, 4096).unwrap();
        let seen = all(&mut ring);
        assert!(matches!(seen[0], (0, Part::First, Err(_))), "{seen:?}");
        assert_eq!(seen[1], (0, Part::Last, Err(libc::ECANCELED)));
        assert_eq!(seen[2..4], [(1, Part::First, Ok(100)), (1, Part::Last, Err(libc::ECANCELED))]);
        assert_eq!(seen[4..], [(2, Part::First, Ok(4096)), (2, Part::Last, Ok(0))]);
    }

    #[test]
    fn a_pair_is_queued_whole_or_not_at_all() {
        let Some((mut ring, _file)) = ring(2) else { return };
        let pair = [RingOp::Write, RingOp::Fsync];
        assert_eq!(ring.push_linked(pair, 0, 0, 8192), Err(PushError::Slot));
        assert_eq!(ring.push_linked(pair, 2, 0, 4096), Err(PushError::Slot));
        assert_eq!((ring.queued(), ring.outstanding()), (0, 0));
        ring.push(RingOp::Write, 1, 0, 4096).unwrap();
        ring.push_linked(pair, 0, 0, 4096).unwrap();
        assert_eq!((ring.queued(), ring.outstanding()), (3, 3));
        let expected =
            [(0, Part::First, Ok(4096)), (0, Part::Last, Ok(0)), (1, Part::Only, Ok(4096))].to_vec();
        assert_eq!(all(&mut ring), expected);
    }

    #[test]
    fn dropped_with_operations_in_flight() {
        for submit_polling in [false, true] {
            let file = Arc::new(tempfile::tempfile().unwrap());
            let setup = RingSetup { submit_polling, ..RingSetup::default() };
            let Some(mut ring) = over(&file, 8, setup) else { return };
            for slot in 0..8 {
                ring.buffer_mut(slot).unwrap().fill(9);
                ring.push_linked([RingOp::Write, RingOp::Fsync], slot, slot as u64 * 4096, 4096).unwrap();
            }
            ring.submit().unwrap();
            assert_eq!(ring.outstanding(), 16);
            drop(ring);
        }
    }

    /// Whether nobody else has the file open: only then a lease to write is granted.
    fn is_free(path: &std::path::Path) -> bool {
        let file = File::options().read(true).write(true).open(path).unwrap();
        // SAFETY: the descriptor is open, and the call has no pointers.
        unsafe { libc::fcntl(file.as_raw_fd(), libc::F_SETLEASE, libc::F_WRLCK) == 0 }
    }

    /// Works on a file of a file system of its own, drops the ring, and asks whether nobody has the file open and the file
    /// system can be unmounted.
    fn is_free_after_a_ring(setup: RingSetup) -> Option<(bool, bool)> {
        let dir = tempfile::tempdir().unwrap();
        let (path, mount) = (dir.path().join("file"), dir.path().to_str().unwrap());
        if !run("mount", &["-t", "tmpfs", "-o", "size=4m", "iolite-test", mount]) {
            return None;
        }
        let file = File::options().read(true).write(true).create_new(true).open(&path).unwrap();
        let file = Arc::new(file);
        let worked = over(&file, 8, setup).map(|mut ring| write_and_read_back(&mut ring));
        drop(file);
        let free = is_free(&path);
        let unmounted = Command::new("umount").arg(mount).status().unwrap().success();
        if !unmounted {
            run("umount", &["--lazy", mount]);
        }
        worked.map(|()| (free, unmounted))
    }

    #[test]
    fn files_are_free_as_soon_as_the_ring_is_dropped() {
        // A process that another test starts has the file open, too, until it has a program of its own.
        let free: Vec<_> = (0..20).map_while(|_| is_free_after_a_ring(RingSetup::default())).collect();
        let at_once = free.iter().filter(|free| **free == (true, true)).count();
        assert!(at_once >= free.len() * 3 / 4, "a write lease, and unmounting: {free:?}");
        // The kernel's thread needs a CPU to let go of them, which may take longer than it is waited for.
        let setup = RingSetup { submit_polling: true, ..RingSetup::default() };
        let freed: Vec<_> = (0..20).map_while(|_| is_free_after_a_ring(setup)).collect();
        assert!(freed.is_empty() || freed.contains(&(true, true)), "{freed:?}");
    }

    #[test]
    fn a_thread_of_the_kernels_submits() {
        let file = Arc::new(tempfile::tempfile().unwrap());
        let setup = RingSetup { submit_polling: true, ..RingSetup::default() };
        let Some(mut ring) = over(&file, 4, setup) else { return };
        write_and_read_back(&mut ring);
        // It goes to sleep, and says so.
        while !ring.ring.submission().need_wakeup() {
            std::thread::yield_now();
        }
        write_and_read_back(&mut ring);
        let start = Instant::now();
        ring.submit_and_wait(1, Duration::from_millis(20)).unwrap();
        assert!(start.elapsed() >= Duration::from_millis(19), "waiting for nothing takes its time");
    }

    #[test]
    fn completions_are_polled_with_direct_io_only() {
        let dir = tempfile::tempdir().unwrap();
        for submit_polling in [false, true] {
            let setup = RingSetup { completion_polling: true, submit_polling, ..RingSetup::default() };
            let buffered = Arc::new(tempfile::tempfile().unwrap());
            if available().is_ok() {
                let refused = Ring::new(&[buffered], 4, 4096, setup).err();
                assert_eq!(refused.and_then(|error| error.raw_os_error()), Some(libc::EOPNOTSUPP));
            }
            let access = Access { write: true, direct: true, ..Access::default() };
            let file = match create_new_with(&dir.path().join(format!("{submit_polling}")), access) {
                Ok(file) => Arc::new(file),
                Err(error) => {
                    eprintln!("skipped: no direct I/O here: {error}");
                    return;
                }
            };
            file.set_len(1 << 20).unwrap();
            let Some(mut ring) = over(&file, 4, setup) else { return };
            eprintln!(
                "polled completions work here ({setup:?}); syncs: {}, trims: {}",
                ring.syncs(),
                ring.trims(0)
            );
            write_and_read_back(&mut ring);
            let start = Instant::now();
            ring.submit_and_wait(1, Duration::from_millis(1)).unwrap();
            assert!(start.elapsed() < WAIT);
            if ring.syncs() {
                ring.push(RingOp::Fdatasync, 0, 0, 0).unwrap();
                assert_eq!(all(&mut ring), only(&[Ok(0)]));
            } else {
                assert_eq!(ring.push(RingOp::Fdatasync, 0, 0, 0), Err(PushError::Unsupported));
            }
        }
    }

    /// Reads of holes need no device that can be polled, but are reaped like those of one.
    #[test]
    fn polling_reaps_and_heeds_the_time() {
        let dir = tempfile::tempdir().unwrap();
        for submit_polling in [false, true] {
            let setup = RingSetup { completion_polling: true, submit_polling, ..RingSetup::default() };
            let access = Access { write: true, direct: true, ..Access::default() };
            let made = create_new_with(&dir.path().join(format!("{submit_polling}")), access);
            let Some(file) = made.ok().filter(|_| available().is_ok()) else {
                eprintln!("skipped: no direct I/O or no io_uring here");
                return;
            };
            file.set_len(1 << 20).unwrap();
            let mut ring = Ring::untried(&[Arc::new(file)], 4, 4096, setup).unwrap();
            for _ in 0..3 {
                for slot in 0..4 {
                    ring.buffer_mut(slot).unwrap().fill(1);
                    ring.push(RingOp::Read, slot, slot as u64 * 4096, 4096).unwrap();
                }
                let seen = all(&mut ring);
                if seen == only(&[Err(libc::EOPNOTSUPP); 4]) {
                    eprintln!("skipped: this file system has no polled completions");
                    return;
                }
                assert_eq!(seen, only(&[Ok(4096); 4]));
                assert_eq!(ring.buffer_mut(3).unwrap(), vec![0; 4096]);
            }
            // A submission of which the kernel never hears leaves something to wait for.
            ring.slots.lend(0, 1);
            let start = Instant::now();
            ring.submit_and_wait(1, Duration::from_millis(20)).unwrap();
            assert!((Duration::from_millis(19)..WAIT).contains(&start.elapsed()), "{:?}", start.elapsed());
            assert!(ring.slots.give_back(0));
        }
    }

    #[test]
    fn errors_are_reported_by_number_and_waiting_ends() {
        let Some((mut ring, _file)) = ring(1) else { return };
        ring.submit_and_wait(1, Duration::from_millis(1)).unwrap();
        ring.push(RingOp::Read, 0, u64::MAX / 2, 4096).unwrap();
        let seen = all(&mut ring);
        assert!(matches!(seen[..], [(0, Part::Only, Ok(0) | Err(_))]), "a read past the end: {seen:?}");
        assert_eq!(ring.push(RingOp::Read, 0, 0, 8192), Err(PushError::Slot));
        assert_eq!(ring.push(RingOp::Read, 9, 0, 4096), Err(PushError::Slot));
    }

    #[test]
    fn looking_without_waiting_brings_things_back() {
        for submit_polling in [false, true] {
            let file = Arc::new(tempfile::tempfile().unwrap());
            let Some(mut ring) = over(&file, 1, RingSetup { submit_polling, ..RingSetup::default() }) else {
                return;
            };
            ring.submit_and_wait(0, WAIT).unwrap();
            ring.push(RingOp::Fsync, 0, 0, 0).unwrap();
            let start = Instant::now();
            while ring.outstanding() > 0 {
                ring.submit_and_wait(0, WAIT).unwrap();
                ring.completions(|_, _, result| assert_eq!(result, Ok(0)));
                assert!(start.elapsed() < WAIT);
            }
        }
    }

    #[test]
    fn no_slots_and_too_many() {
        let Some((ring, file)) = ring(0) else { return };
        assert_eq!(ring.outstanding(), 0);
        assert!(Ring::new(std::slice::from_ref(&file), usize::MAX, 1, RingSetup::default()).is_err());
        assert!(Ring::new(&[file], 1 << 20, 4096, RingSetup::default()).is_err());
    }
}
