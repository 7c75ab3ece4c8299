//! Direct descriptors of database files, shared by all connections of the process, and the counters of a connection.
//!
//! POSIX drops every lock a process holds on a file as soon as the process closes *any* descriptor of it (fcntl(2),
//! "Record locks"). SQLite keeps its own descriptors open for that reason; ours has to stay as long as any connection
//! of this VFS to the file does, hence one per file, closed with the last lease. A connection through another VFS of
//! this same process is not seen here: it must not be open while the last one of ours closes.

use std::collections::BTreeMap;
use std::ffi::CStr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use iolite_model::Bytes;
use rustix::fd::{AsRawFd, OwnedFd};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use super::counts::Counts;

/// Alignment of memory, offset and length: satisfies devices of 512 and 4096 byte sectors. A device or file system
/// that wants more answers EINVAL, and the file falls back to cached reads.
pub(super) const ALIGNMENT: usize = 4096;

/// A file by device and inode.
type Key = (u64, u64);

/// Every direct descriptor of this process. Held while one is looked up, opened or closed: an opening connection must
/// never take its locks before a closing descriptor is gone.
static OPEN: Mutex<BTreeMap<Key, Arc<Direct>>> = Mutex::new(BTreeMap::new());

fn open_files() -> MutexGuard<'static, BTreeMap<Key, Arc<Direct>>> {
    // The map is valid between any two statements, so a panic elsewhere while it was held does no harm.
    OPEN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A descriptor opened with O_DIRECT.
#[derive(Debug)]
pub(super) struct Direct {
    fd: OwnedFd,
    key: Key,
    writable: bool,
    /// Set once the kernel has refused a direct transfer: from then on everything goes through the cache.
    refused: AtomicBool,
    /// Set when gathered writes were lost after SQLite had been notified that they are done.
    broken: AtomicBool,
}

/// A connection's share of a direct descriptor.
#[derive(Debug)]
pub(super) struct Lease(Option<Arc<Direct>>);

impl Lease {
    /// Leases the direct descriptor of `path`, opening it when this is the first lease. `unmoved` is asked after the
    /// file was identified, whether `path` still is the file that SQLite opened.
    ///
    /// `None` when the file can't be opened with O_DIRECT, for whatever reason: cached I/O always works.
    pub(super) fn open(path: &CStr, unmoved: impl FnOnce() -> bool) -> Option<Lease> {
        let mut open = open_files();
        // Closing an O_PATH descriptor drops no locks (fs/open.c, filp_close): the only safe way to look first.
        let seen = rustix::fs::open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).ok()?;
        let stat = rustix::fs::fstat(&seen).ok()?;
        if !unmoved() {
            return None;
        }
        let key = (stat.st_dev, stat.st_ino);
        if let Some(direct) = open.get(&key) {
            return Some(Lease(Some(Arc::clone(direct))));
        }
        let same = format!("/proc/self/fd/{}", seen.as_raw_fd());
        let flags = OFlags::DIRECT | OFlags::CLOEXEC;
        let (fd, writable) = match rustix::fs::open(&same, flags | OFlags::RDWR, Mode::empty()) {
            Ok(fd) => (fd, true),
            Err(_) => (rustix::fs::open(&same, flags | OFlags::RDONLY, Mode::empty()).ok()?, false),
        };
        let direct = Arc::new(Direct {
            fd,
            key,
            writable,
            refused: AtomicBool::new(false),
            broken: AtomicBool::new(false),
        });
        open.insert(key, Arc::clone(&direct));
        Some(Lease(Some(direct)))
    }

    /// The descriptor, unless the kernel has refused direct transfers on it.
    pub(super) fn get(&self) -> Option<&Direct> {
        self.0.as_deref().filter(|direct| !direct.refused.load(Relaxed))
    }

    /// Whether gathered writes were lost: then no connection of this process may believe what it reads.
    pub(super) fn is_broken(&self) -> bool {
        self.0.as_deref().is_some_and(|direct| direct.broken.load(Relaxed))
    }

    /// Says that gathered writes were lost.
    pub(super) fn set_broken(&self) {
        if let Some(direct) = &self.0 {
            direct.broken.store(true, Relaxed);
        }
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        let mut open = open_files();
        let Some(direct) = self.0.take() else { return };
        // Two: the map's own and ours. Leases are only cloned under the lock, so the count can't rise meanwhile.
        if Arc::strong_count(&direct) == 2 {
            open.remove(&direct.key);
        }
        // Closes the descriptor, if it was the last, before the lock is released.
        drop(direct);
    }
}

impl Direct {
    /// Reads up to `length` bytes at `offset` into `bounce`; fewer only at the end of the file. Requests that are not
    /// aligned are widened. Returns what was read, and the bytes moved to get it.
    ///
    /// # Errors
    /// The kernel's. After `EINVAL` the file is marked as refusing.
    pub(super) fn read<'b>(
        &self,
        bounce: &'b mut Bounce,
        offset: u64,
        length: usize,
    ) -> Result<(&'b [u8], Counted), Errno> {
        let skip = (offset % ALIGNMENT as u64) as usize;
        let span = (skip + length).next_multiple_of(ALIGNMENT);
        let buffer = bounce.get(span)?;
        let (mut filled, mut counted) = (0, Counted::default());
        while filled < span {
            let at = offset - skip as u64 + filled as u64;
            let n = match rustix::io::pread(&self.fd, &mut buffer[filled..], at) {
                Err(Errno::INTR) => continue,
                Err(error) => return Err(self.refusal(error)),
                Ok(n) => n,
            };
            counted.add(n);
            filled += n;
            // Direct reads stop in mid-block at the end of the file only.
            if n == 0 || n % ALIGNMENT != 0 {
                break;
            }
        }
        let end = filled.min(skip + length);
        Ok((buffer.get(skip..end).unwrap_or(&[]), counted))
    }

    /// Whether a write of this offset and length can go direct.
    pub(super) fn takes(&self, offset: u64, length: usize) -> bool {
        self.writable && offset.is_multiple_of(ALIGNMENT as u64) && length.is_multiple_of(ALIGNMENT)
    }

    /// Writes the first `length` bytes of `bounce` at `offset`, both aligned (see [`Direct::takes`]).
    ///
    /// # Errors
    /// The kernel's; some of the data may have been written. After `EINVAL` the file is marked as refusing.
    pub(super) fn write(&self, bounce: &mut Bounce, offset: u64, length: usize) -> Result<Counted, Errno> {
        let data = &*bounce.get(length)?;
        let (mut done, mut counted) = (0, Counted::default());
        while done < length {
            match rustix::io::pwrite(&self.fd, &data[done..], offset + done as u64) {
                Err(Errno::INTR) => {}
                Err(error) => return Err(self.refusal(error)),
                // A part of a block means the device is full; going on from there could not be direct.
                Ok(n) if n == 0 || n % ALIGNMENT != 0 => return Err(Errno::NOSPC),
                Ok(n) => {
                    counted.add(n);
                    done += n;
                }
            }
        }
        Ok(counted)
    }

    /// Takes note of a refusal by the kernel.
    pub(super) fn refusal(&self, error: Errno) -> Errno {
        if error == Errno::INVAL {
            self.refused.store(true, Relaxed);
        }
        error
    }
}

/// Calls and the bytes they moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Counted {
    calls: u64,
    bytes: u64,
}

impl Counted {
    fn add(&mut self, bytes: usize) {
        self.calls += 1;
        self.bytes += bytes as u64;
    }

    /// One call of so many bytes.
    pub(super) fn one(bytes: usize) -> Counted {
        Counted { calls: 1, bytes: bytes as u64 }
    }
}

/// Memory aligned for direct transfers, grown as needed.
#[derive(Debug, Default)]
pub(super) struct Bounce(Vec<u8>);

impl Bounce {
    /// The first `length` bytes, aligned. Contents survive as long as no longer piece is asked for.
    ///
    /// # Errors
    /// `ENOMEM`.
    pub(super) fn get(&mut self, length: usize) -> Result<&mut [u8], Errno> {
        let wanted = length + ALIGNMENT - 1;
        if self.0.len() < wanted {
            let mut memory = Vec::new();
            memory.try_reserve_exact(wanted).map_err(|_| Errno::NOMEM)?;
            memory.resize(wanted, 0);
            self.0 = memory;
        }
        let start = self.0.as_ptr().align_offset(ALIGNMENT);
        self.0.get_mut(start..start + length).ok_or(Errno::NOMEM)
    }
}

/// Adjacent page writes of a checkpoint, gathered into one: as the write daemons of databases do it. SQLite announces
/// the beginning and the end of a checkpoint's writes (SQLITE_FCNTL_CKPT_START and _DONE) and keeps readers off the
/// pages until after the end. At other times a batch holds one write, for as long as it takes to write it.
#[derive(Debug, Default)]
pub(super) struct Batch {
    memory: Bounce,
    offset: u64,
    length: usize,
    gathering: bool,
}

impl Batch {
    /// Most bytes of a gathered write: 16 blocks of 8 KiB, as in the databases that PerfTools measures. Also the
    /// largest page SQLite has, twice.
    pub(super) const MAX: usize = 128 << 10;

    /// Begins or ends gathering.
    pub(super) fn gather(&mut self, on: bool) {
        self.gathering = on;
    }

    /// Whether a write may be added: nothing is pending, or it follows on what is.
    pub(super) fn takes(&self, offset: u64, length: usize) -> bool {
        let follows = self.length == 0 || offset == self.offset + self.length as u64;
        follows && length <= Batch::MAX - self.length
    }

    /// Where to put the bytes of a write that [`Batch::takes`] has allowed; they count as pending from here on.
    ///
    /// # Errors
    /// `ENOMEM`, with nothing changed.
    pub(super) fn add(&mut self, offset: u64, length: usize) -> Result<&mut [u8], Errno> {
        let at = self.length;
        let room = self.memory.get(Batch::MAX)?.get_mut(at..at + length).ok_or(Errno::NOMEM)?;
        if at == 0 {
            self.offset = offset;
        }
        self.length += length;
        Ok(room)
    }

    /// Whether what is pending has to be written now.
    pub(super) fn is_due(&self) -> bool {
        !self.gathering || self.length >= Batch::MAX
    }

    /// What is pending, as offset, length and memory that starts with it; it no longer is.
    pub(super) fn take(&mut self) -> Option<(u64, usize, &mut Bounce)> {
        let length = std::mem::take(&mut self.length);
        (length > 0).then_some((self.offset, length, &mut self.memory))
    }
}

/// Which file of a database a count belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    /// The database file.
    Data,
    /// The write-ahead log or the journal.
    Log,
}

/// Counters of one connection: written by its thread, readable by any.
#[derive(Debug, Default)]
pub(super) struct Counters {
    reads: AtomicU64,
    read_bytes: AtomicU64,
    cached_reads: AtomicU64,
    writes: AtomicU64,
    write_bytes: AtomicU64,
    syncs: AtomicU64,
    log_reads: AtomicU64,
    log_writes: AtomicU64,
    log_write_bytes: AtomicU64,
    log_syncs: AtomicU64,
}

impl Counters {
    /// Counts direct reads.
    pub(super) fn direct_read(&self, counted: Counted) {
        self.reads.fetch_add(counted.calls, Relaxed);
        self.read_bytes.fetch_add(counted.bytes, Relaxed);
    }

    /// Counts a read through the page cache.
    pub(super) fn cached_read(&self, part: Part) {
        match part {
            Part::Data => &self.cached_reads,
            Part::Log => &self.log_reads,
        }
        .fetch_add(1, Relaxed);
    }

    /// Counts writes.
    pub(super) fn write(&self, part: Part, counted: Counted) {
        let (writes, bytes) = match part {
            Part::Data => (&self.writes, &self.write_bytes),
            Part::Log => (&self.log_writes, &self.log_write_bytes),
        };
        writes.fetch_add(counted.calls, Relaxed);
        bytes.fetch_add(counted.bytes, Relaxed);
    }

    /// Counts a synchronisation.
    pub(super) fn sync(&self, part: Part) {
        match part {
            Part::Data => &self.syncs,
            Part::Log => &self.log_syncs,
        }
        .fetch_add(1, Relaxed);
    }

    /// The counts so far.
    pub(super) fn counts(&self) -> Counts {
        let get = |counter: &AtomicU64| counter.load(Relaxed);
        Counts {
            reads: get(&self.reads),
            read_bytes: Bytes(get(&self.read_bytes)),
            cached_reads: get(&self.cached_reads),
            writes: get(&self.writes),
            write_bytes: Bytes(get(&self.write_bytes)),
            syncs: get(&self.syncs),
            log_reads: get(&self.log_reads),
            log_writes: get(&self.log_writes),
            log_write_bytes: Bytes(get(&self.log_write_bytes)),
            log_syncs: get(&self.log_syncs),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::CString;
    use std::os::unix::ffi::OsStrExt;

    #[test]
    fn bounce_memory_is_aligned_and_keeps_its_contents() {
        let mut bounce = Bounce::default();
        for length in [1, 100, 4096, 8192, 65536, 512] {
            let piece = bounce.get(length).unwrap();
            assert_eq!((piece.len(), piece.as_ptr().addr() % ALIGNMENT), (length, 0));
        }
        bounce.get(65536).unwrap()[0] = 7;
        assert_eq!(bounce.get(10).unwrap()[0], 7);
    }

    #[test]
    fn einval_marks_the_file_as_refusing() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let path = CString::new(file.path().as_os_str().as_bytes()).unwrap();
        let Some(lease) = Lease::open(&path, || true) else { return println!("skipped: no O_DIRECT here") };
        let direct = lease.get().unwrap();
        assert_eq!(direct.refusal(Errno::IO), Errno::IO);
        assert!(lease.get().is_some());
        direct.refusal(Errno::INVAL);
        assert!(lease.get().is_none());
    }

    #[test]
    fn one_descriptor_per_file_until_the_last_lease() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let path = CString::new(file.path().as_os_str().as_bytes()).unwrap();
        let Some(first) = Lease::open(&path, || true) else { return println!("skipped: no O_DIRECT here") };
        let second = Lease::open(&path, || true).unwrap();
        let (fd, key) = (first.get().unwrap().fd.as_raw_fd(), first.get().unwrap().key);
        assert_eq!(second.get().unwrap().fd.as_raw_fd(), fd);
        drop(first);
        assert!(open_files().contains_key(&key));
        drop(second);
        assert!(!open_files().contains_key(&key));
        assert!(Lease::open(&path, || false).is_none(), "a file that moved is not opened");
    }
}
