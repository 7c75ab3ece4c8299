//! A pool of threads that do pread, pwrite, trims and syncs: asynchronous I/O where the kernel has none, as POSIX aio
//! does it in user space.

use std::io;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TryRecvError, TrySendError, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use iolite_model::Usage;
use iolite_model::errno::{EINVAL, EIO};
use iolite_sys::buffer::AlignedBuffer;
use iolite_sys::usage::{self, ThreadUsage};
use iolite_workers::usage_of;

use super::Backend;
use super::Completions;
use super::Medium;
use super::Op;
use super::Returned;
use super::Submission;
use crate::backend::files::Files;

/// Stack of a thread of the pool: it calls the kernel and nothing else.
const STACK: usize = 64 * 1024;

/// An operation on its way to a thread or back, with its slot's buffer: the buffer belongs to whoever has this.
struct ThreadOperation {
    op: Op,
    buffer: AlignedBuffer,
    result: Result<u32, i32>,
}

/// A thread for each slot, so that as many operations are in flight as were asked for. The queues are of fixed size:
/// nothing is allocated while it runs.
pub struct Threads {
    /// By slot: the buffer, while no operation has it.
    buffers: Vec<Option<AlignedBuffer>>,
    /// By slot: the way to its thread; a thread ends when its queue is dropped.
    errands: Vec<SyncSender<ThreadOperation>>,
    threads: Vec<JoinHandle<ThreadUsage>>,
    done: Receiver<ThreadOperation>,
    in_flight: usize,
}

impl Threads {
    /// A back end over the files with `depth` slots of this size, each with a thread.
    ///
    /// # Errors
    /// The limit on threads is reached, or there is no memory for the buffers.
    pub fn new(files: impl Into<Files>, depth: u32, block: usize) -> io::Result<Threads> {
        let medium = Medium::of(files.into());
        let (finished, done) = sync_channel(depth as usize);
        let mut pool =
            Threads { buffers: Vec::new(), errands: Vec::new(), threads: Vec::new(), done, in_flight: 0 };
        for slot in 0..depth {
            let (errand, errands) = sync_channel(1);
            let (medium, finished) = (medium.clone(), finished.clone());
            let thread = thread::Builder::new().name(format!("io {slot}")).stack_size(STACK);
            pool.threads.push(thread.spawn(move || serve(&medium, &errands, &finished))?);
            pool.errands.push(errand);
            pool.buffers.push(Some(AlignedBuffer::new(block)?));
        }
        Ok(pool)
    }

    fn reap_one(&mut self, errand: ThreadOperation, out: &mut Completions) {
        let slot = errand.op.slot;
        self.buffers[slot as usize] = Some(errand.buffer);
        self.in_flight -= 1;
        out.push(Returned { slot, result: errand.result, more: false });
    }
}

/// What a thread of the pool does, until nobody can ask it for anything more. Returns what it has used of the machine.
fn serve(
    medium: &Medium,
    errands: &Receiver<ThreadOperation>,
    finished: &SyncSender<ThreadOperation>,
) -> ThreadUsage {
    while let Ok(mut errand) = errands.recv() {
        errand.result = medium.blocking(&errand.op, &mut errand.buffer);
        if finished.send(errand).is_err() {
            break;
        }
    }
    usage::of_this_thread().unwrap_or_default()
}

impl Backend for Threads {
    #[inline]
    fn submit(&mut self, op: &Op) -> Submission {
        let slot = op.slot as usize;
        let Some(buffer) = self.buffers.get_mut(slot).and_then(Option::take) else {
            return Submission::Done(Err(EINVAL));
        };
        match self.errands[slot].try_send(ThreadOperation { op: *op, buffer, result: Ok(0) }) {
            Ok(()) => {
                self.in_flight += 1;
                Submission::Queued
            }
            Err(TrySendError::Full(errand)) => {
                self.buffers[slot] = Some(errand.buffer);
                Submission::Full
            }
            Err(TrySendError::Disconnected(errand)) => {
                self.buffers[slot] = Some(errand.buffer);
                Submission::Done(Err(EIO))
            }
        }
    }

    #[inline]
    fn reap(&mut self, at_least: usize, timeout: Duration, out: &mut Completions) -> io::Result<()> {
        let gone = || io::Error::other("a thread of the back end has failed, which is a bug");
        let before = out.len();
        loop {
            match self.done.try_recv() {
                Ok(errand) => self.reap_one(errand, out),
                Err(TryRecvError::Empty) => break,
                Err(TryRecvError::Disconnected) => return Err(gone()),
            }
        }
        let wanted = at_least.min(out.len() - before + self.in_flight);
        if out.len() - before >= wanted {
            return Ok(());
        }
        let start = Instant::now();
        while out.len() - before < wanted {
            match self.done.recv_timeout(timeout.saturating_sub(start.elapsed())) {
                Ok(errand) => self.reap_one(errand, out),
                Err(RecvTimeoutError::Timeout) => break,
                Err(RecvTimeoutError::Disconnected) => return Err(gone()),
            }
        }
        Ok(())
    }

    fn buffer(&mut self, slot: u32) -> &mut [u8] {
        let buffer = self.buffers.get_mut(slot as usize).and_then(Option::as_mut);
        buffer.map(AlignedBuffer::as_mut_slice).unwrap_or_default()
    }

    /// Waits for the threads where none has anything to do. One that hangs in an operation has its own share of the
    /// file and its buffer, and ends when the operation does.
    fn finish(&mut self) -> Usage {
        self.errands.clear();
        let mut used = Usage::default();
        if self.in_flight == 0 {
            // One that died has been reported by `reap`.
            self.threads
                .drain(..)
                .filter_map(|thread| thread.join().ok())
                .for_each(|one| used.add(usage_of(one)));
        }
        used
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        self.finish();
    }
}
