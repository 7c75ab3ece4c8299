//! Keeps operations of several workers on the same file apart.

use std::collections::{HashMap, VecDeque};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError, Weak};
use std::thread::{self, Thread};
use std::time::Duration;

use iolite_model::{FileLock, SyncMethod, Usage};

use super::{Backend, Completions, IoOp, Op, Submission};
use crate::backend::files::Files;

/// What the system knows a file by: device and inode.
type FileId = (u64, u64);

/// The locks of this process, by file; those that nobody uses any more are removed when another one is created.
static LOCKS: LazyLock<Mutex<HashMap<FileId, Weak<Lock>>>> = LazyLock::new(Mutex::default);

/// A lock of a file. It has no owner: who has acquired it releases it, from any thread. Those that wait for it get it in their order.
#[derive(Debug, Default)]
struct Lock {
    holders: Mutex<Holders>,
}

#[derive(Debug, Default)]
struct Holders {
    /// Workers that share it.
    shared: u32,
    /// A worker has it for itself.
    exclusive: bool,
    /// Threads that wait for it.
    waiting: VecDeque<Thread>,
}

/// How an operation uses a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Use {
    /// With others that share it.
    Shared,
    /// Alone.
    Exclusive,
}

impl Lock {
    /// The lock of a file, the same for all who ask while one of them has it.
    fn of(file: FileId) -> Arc<Lock> {
        let mut locks = guard(&LOCKS);
        if let Some(lock) = locks.get(&file).and_then(Weak::upgrade) {
            return lock;
        }
        locks.retain(|_, lock| lock.strong_count() > 0);
        let lock = Arc::default();
        locks.insert(file, Arc::downgrade(&lock));
        lock
    }

    /// Acquires it if that is possible at once.
    fn try_acquire(&self, usage: Use) -> bool {
        let mut holders = guard(&self.holders);
        holders.waiting.is_empty() && holders.acquire(usage)
    }

    /// Waits for it.
    fn acquire(&self, usage: Use) {
        if self.try_acquire(usage) {
            return;
        }
        let me = thread::current();
        guard(&self.holders).waiting.push_back(me.clone());
        while !self.acquire_as_first(usage, &me) {
            thread::park();
        }
    }

    /// Acquires it if the calling thread is the first of those that wait, and lets the next one try.
    fn acquire_as_first(&self, usage: Use, me: &Thread) -> bool {
        let mut holders = guard(&self.holders);
        let first = holders.waiting.front().is_some_and(|first| first.id() == me.id());
        if !first || !holders.acquire(usage) {
            return false;
        }
        holders.waiting.pop_front();
        holders.wake();
        true
    }

    fn release(&self, usage: Use) {
        let mut holders = guard(&self.holders);
        match usage {
            Use::Shared => holders.shared -= 1,
            Use::Exclusive => holders.exclusive = false,
        }
        holders.wake();
    }

    /// Whether a worker waits for it.
    fn is_wanted(&self) -> bool {
        !guard(&self.holders).waiting.is_empty()
    }
}

impl Holders {
    fn acquire(&mut self, usage: Use) -> bool {
        let free = !self.exclusive && (usage == Use::Shared || self.shared == 0);
        if free {
            match usage {
                Use::Shared => self.shared += 1,
                Use::Exclusive => self.exclusive = true,
            }
        }
        free
    }

    /// Lets the first that waits try.
    fn wake(&self) {
        if let Some(first) = self.waiting.front() {
            first.unpark();
        }
    }
}

fn guard<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Another back end whose operations hold a lock of their file, which the workers of all tasks of this process share. The time that an
/// operation waits for it is part of its latency.
///
/// A worker holds a lock as long as it has operations on the file in flight. While it has any, it never waits for a lock: it is out of
/// room until they have come back. So no two workers wait for each other, and one with many in flight lets others have their turn.
pub(crate) struct Locking {
    inner: Box<dyn Backend>,
    files: Files,
    kind: FileLock,
    /// By file: its position in the order in which locks are acquired, in `held`.
    positions: Vec<usize>,
    /// In the order of their files' identities, which is the same for all workers.
    held: Vec<Held>,
    /// By slot: what its operation holds, as positions in `held`.
    slots: Vec<Vec<usize>>,
    in_flight: usize,
}

/// A lock, and what a worker holds of it.
struct Held {
    lock: Arc<Lock>,
    usage: Use,
    /// Operations in flight that hold it.
    operations: u32,
}

impl Locking {
    /// For a back end of this depth, with locks of this kind.
    ///
    /// # Errors
    /// The identity of a file cannot be read.
    pub(crate) fn new(
        inner: Box<dyn Backend>,
        files: Files,
        kind: FileLock,
        depth: u32,
    ) -> io::Result<Locking> {
        let id = |metadata: std::fs::Metadata| (metadata.dev(), metadata.ino());
        let ids: Vec<FileId> =
            files.spans().iter().map(|span| span.file.metadata().map(id)).collect::<io::Result<_>>()?;
        let mut order = ids.clone();
        order.sort_unstable();
        order.dedup();
        let positions = ids.iter().map(|id| order.partition_point(|other| other < id)).collect();
        let held = |id| Held { lock: Lock::of(id), usage: Use::Shared, operations: 0 };
        Ok(Locking {
            inner,
            files,
            kind,
            positions,
            held: order.into_iter().map(held).collect(),
            slots: vec![Vec::new(); depth.max(1) as usize],
            in_flight: 0,
        })
    }

    fn usage(&self, op: IoOp) -> Use {
        let shares = self.kind == FileLock::ReadWrite && op == IoOp::Read;
        if shares { Use::Shared } else { Use::Exclusive }
    }

    /// The locks that an operation needs, in their order.
    fn needed(&mut self, op: &Op) {
        let mut needed = std::mem::take(&mut self.slots[op.slot as usize]);
        needed.clear();
        match op.io {
            IoOp::Sync(SyncMethod::FileSystem) => needed.extend(0..self.held.len()),
            IoOp::Sync(_) if !self.files.is_in_one(op.offset, op.length) => needed.extend(0..self.held.len()),
            _ => needed.push(self.positions[self.files.locate(op.offset).0 as usize]),
        }
        self.slots[op.slot as usize] = needed;
    }

    /// Acquires what an operation needs. False if it has to wait for operations of this worker to come back first.
    fn acquire(&mut self, op: &Op) -> bool {
        let usage = self.usage(op.io);
        self.needed(op);
        let waits = self.in_flight == 0;
        let Locking { slots, held, .. } = self;
        let needed = &mut slots[op.slot as usize];
        for (taken, position) in needed.iter().enumerate() {
            let held = &mut held[*position];
            let has = match held.operations {
                0 if waits => {
                    held.lock.acquire(usage);
                    true
                }
                0 => held.lock.try_acquire(usage),
                // One that waits for it is let in before the next operation.
                _ => (held.usage == Use::Exclusive || usage == Use::Shared) && !held.lock.is_wanted(),
            };
            if !has {
                needed.truncate(taken);
                self.release(op.slot);
                return false;
            }
            if held.operations == 0 {
                held.usage = usage;
            }
            held.operations += 1;
        }
        true
    }

    /// Gives back what the operation of a slot holds.
    fn release(&mut self, slot: u32) {
        for position in self.slots[slot as usize].drain(..) {
            let held = &mut self.held[position];
            held.operations -= 1;
            if held.operations == 0 {
                held.lock.release(held.usage);
            }
        }
    }
}

impl Backend for Locking {
    fn submit(&mut self, op: &Op) -> Submission {
        if !self.acquire(op) {
            return Submission::Full;
        }
        let submission = self.inner.submit(op);
        match submission {
            Submission::Queued => self.in_flight += 1,
            Submission::Done(_) | Submission::Full => self.release(op.slot),
        }
        submission
    }

    fn hand_over(&mut self) -> io::Result<()> {
        self.inner.hand_over()
    }

    fn reap(&mut self, at_least: usize, timeout: Duration, out: &mut Completions) -> io::Result<()> {
        let before = out.len();
        self.inner.reap(at_least, timeout, out)?;
        for returned in out[before..].iter().filter(|returned| !returned.more) {
            self.in_flight = self.in_flight.saturating_sub(1);
            self.release(returned.slot);
        }
        Ok(())
    }

    fn prioritize(&mut self, priority: u16) {
        self.inner.prioritize(priority);
    }

    fn verifies(&mut self, on: bool) {
        self.inner.verifies(on);
    }

    fn buffer(&mut self, slot: u32) -> &mut [u8] {
        self.inner.buffer(slot)
    }

    fn finish(&mut self) -> Usage {
        self.inner.finish()
    }

    fn blocks(&self) -> bool {
        self.inner.blocks()
    }
}

impl Drop for Locking {
    /// Operations that never completed do not keep others from the file.
    fn drop(&mut self) {
        (0..self.slots.len() as u32).for_each(|slot| self.release(slot));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::Returned;
    use crate::backend::files::FileSpan;
    use std::fs::File;
    use std::sync::atomic::{AtomicI32, Ordering};

    /// A back end that counts who is in it: writers as 100, readers as 1. Its operations come back with the second call of `reap`.
    struct Counting {
        inside: Arc<AtomicI32>,
        max: Arc<AtomicI32>,
        buffer: [u8; 1],
        queued: Vec<(u32, i32)>,
        polled: bool,
    }

    impl Backend for Counting {
        fn submit(&mut self, op: &Op) -> Submission {
            let weight = if op.io == IoOp::Read { 1 } else { 100 };
            let now = self.inside.fetch_add(weight, Ordering::SeqCst) + weight;
            self.max.fetch_max(now, Ordering::SeqCst);
            self.queued.push((op.slot, weight));
            Submission::Queued
        }

        fn reap(&mut self, _: usize, _: Duration, out: &mut Completions) -> io::Result<()> {
            self.polled = !self.polled;
            if !self.polled {
                for (slot, weight) in self.queued.drain(..) {
                    self.inside.fetch_sub(weight, Ordering::SeqCst);
                    out.push(Returned { slot, result: Ok(1), more: false });
                }
            }
            Ok(())
        }

        fn buffer(&mut self, _: u32) -> &mut [u8] {
            &mut self.buffer
        }
    }

    #[derive(Clone, Default)]
    struct Counts {
        inside: Arc<AtomicI32>,
        max: Arc<AtomicI32>,
    }

    fn locking(file: &Arc<File>, kind: FileLock, counts: &Counts) -> Locking {
        let Counts { inside, max } = counts.clone();
        let inner = Counting { inside, max, buffer: [0], queued: Vec::new(), polled: false };
        Locking::new(Box::new(inner), Files::from(file.clone()), kind, 2).unwrap()
    }

    fn op(io: IoOp, slot: u32) -> Op {
        Op { io, slot, offset: 0, length: 1 }
    }

    /// Each worker keeps two operations in flight until it has done this number of them.
    fn work(mut back_end: Locking, io: IoOp, number: u32) {
        let (mut done, mut out) = (0, Vec::new());
        let mut free = vec![0, 1];
        while done < number {
            while let Some(slot) = free.last().copied() {
                match back_end.submit(&op(io, slot)) {
                    Submission::Queued => drop(free.pop()),
                    Submission::Full => break,
                    Submission::Done(_) => panic!("it is queued"),
                }
            }
            back_end.reap(1, Duration::ZERO, &mut out).unwrap();
            done += out.len() as u32;
            free.extend(out.drain(..).map(|returned| returned.slot));
        }
    }

    /// The largest sum of weights inside at once, of two workers with two operations each in flight.
    fn max(kind: FileLock, first: IoOp, second: IoOp) -> i32 {
        let file = Arc::new(tempfile::tempfile().unwrap());
        let counts = Counts::default();
        thread::scope(|scope| {
            for io in [first, second] {
                let (file, counts) = (&file, &counts);
                scope.spawn(move || work(locking(file, kind, counts), io, 2000));
            }
        });
        assert_eq!(counts.inside.load(Ordering::SeqCst), 0);
        counts.max.load(Ordering::SeqCst)
    }

    #[test]
    fn one_worker_at_a_time_is_in_a_file() {
        assert!(max(FileLock::Exclusive, IoOp::Write, IoOp::Write) <= 200);
        assert!(max(FileLock::Exclusive, IoOp::Read, IoOp::Read) <= 2);
        let mixed = max(FileLock::ReadWrite, IoOp::Read, IoOp::Write);
        assert!(
            mixed == 200 || mixed == 2 || mixed == 100 || mixed == 1,
            "{mixed}: a reader beside a writer"
        );
    }

    #[test]
    fn readers_share_a_file_and_writers_do_not() {
        let file = Arc::new(tempfile::tempfile().unwrap());
        let counts = Counts::default();
        let mut one = locking(&file, FileLock::ReadWrite, &counts);
        let mut other = locking(&file, FileLock::ReadWrite, &counts);
        assert_eq!(one.submit(&op(IoOp::Read, 0)), Submission::Queued);
        assert_eq!(other.submit(&op(IoOp::Read, 0)), Submission::Queued);
        // It has one in flight: it does not wait for the other reader.
        assert_eq!(other.submit(&op(IoOp::Write, 1)), Submission::Full);
        drop(one);
        assert_eq!(other.submit(&op(IoOp::Write, 1)), Submission::Full, "its own read is still in flight");
        let mut out = Vec::new();
        (0..2).for_each(|_| other.reap(1, Duration::ZERO, &mut out).unwrap());
        assert_eq!(other.submit(&op(IoOp::Write, 1)), Submission::Queued);
        assert_eq!(
            other.submit(&op(IoOp::Read, 0)),
            Submission::Queued,
            "who has it for itself may also read"
        );
    }

    /// Two workers that need two files each, in opposite orders.
    #[test]
    fn syncs_of_several_files_do_not_wait_for_each_other() {
        let files = [Arc::new(tempfile::tempfile().unwrap()), Arc::new(tempfile::tempfile().unwrap())];
        let counts = Counts::default();
        let with = |order: [usize; 2]| {
            let span = |(index, file): (usize, usize)| FileSpan {
                file: files[file].clone(),
                start: index as u64,
                offset: 0,
                size: 1,
            };
            let spans = order.into_iter().enumerate().map(span).collect();
            let Counts { inside, max } = counts.clone();
            let inner = Counting { inside, max, buffer: [0], queued: Vec::new(), polled: false };
            Locking::new(Box::new(inner), Files::new(spans).unwrap(), FileLock::Exclusive, 2).unwrap()
        };
        thread::scope(|scope| {
            for order in [[0, 1], [1, 0]] {
                let with = &with;
                scope.spawn(move || work(with(order), IoOp::Sync(SyncMethod::FileSystem), 2000));
            }
        });
        assert!(counts.max.load(Ordering::SeqCst) <= 200);
    }
}
