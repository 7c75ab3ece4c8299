//! Giving back what the server's block reads leave in the page cache of this host, so that the next reading of a block is one
//! of the device again: pg_prewarm reads files as they are, through the page cache.
//!
//! One thread does it for all sessions, between and beside their operations: workers only note what they have read. What was
//! noted is given back one tick later, because pages that another CPU has read a moment ago are still on a list of that CPU's,
//! and the kernel would have to empty the lists of all of them (mm/fadvise.c, lru_add_drain_all).

use std::collections::BTreeSet;
use std::fs::File;
use std::path::PathBuf;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use iolite_sys::page_cache;

/// Time between two rounds.
const TICK: Duration = Duration::from_millis(50);
/// What is given back around a block that was read: the kernel's usual read-ahead, within which lies what it may have read
/// with a block, and a page that it holds in one piece with it.
const AROUND: u64 = 128 << 10;

/// Pieces of files, each by the number of its table and its own number within the table's file.
type Pieces = BTreeSet<(u32, u32)>;

/// The files of the tables of blocks, and the thread that gives back what was read of them.
#[derive(Debug)]
pub(super) struct Evictor {
    /// Size of a block in bytes.
    block: u64,
    noted: Arc<Mutex<Pieces>>,
    /// `None` where the files are not on this host or may not be opened.
    thread: Option<(Sender<()>, JoinHandle<()>)>,
}

impl Evictor {
    /// Of these files, in the order of the tables; none of them where they are not on this host.
    pub(super) fn new(paths: &[PathBuf], block: u64) -> Evictor {
        let noted = Arc::new(Mutex::new(Pieces::new()));
        let files: std::io::Result<Vec<File>> = paths.iter().map(File::open).collect();
        let files = files.ok().filter(|files| !files.is_empty());
        let thread = files.and_then(|files| {
            let (end, ended) = mpsc::channel::<()>();
            let shared = Arc::clone(&noted);
            let give_back = move || {
                let mut earlier = Pieces::new();
                while ended.recv_timeout(TICK) == Err(RecvTimeoutError::Timeout) {
                    let latest = std::mem::take(&mut *shared.lock().unwrap_or_else(PoisonError::into_inner));
                    evict(&files, &std::mem::replace(&mut earlier, latest));
                }
            };
            let thread = thread::Builder::new().name("evict".into()).spawn(give_back).ok()?;
            Some((end, thread))
        });
        Evictor { block, noted, thread }
    }

    /// Whether it can do anything.
    pub(super) fn works(&self) -> bool {
        self.thread.is_some()
    }

    /// Notes blocks that were read, each by its table and its number within it.
    pub(super) fn note(&self, blocks: impl Iterator<Item = (usize, u64)>) {
        if self.works() {
            let pieces = |(table, number): (usize, u64)| {
                let (first, end) = (number * self.block, (number + 1) * self.block);
                (first / AROUND..end.div_ceil(AROUND)).map(move |piece| (table as u32, piece as u32))
            };
            self.noted.lock().unwrap_or_else(PoisonError::into_inner).extend(blocks.flat_map(pieces));
        }
    }
}

impl Drop for Evictor {
    fn drop(&mut self) {
        if let Some((end, thread)) = self.thread.take() {
            drop(end);
            // One that has died has nothing to say.
            let _ = thread.join();
        }
    }
}

/// Advice: where it does not help, the device's counters show it.
fn evict(files: &[File], pieces: &Pieces) {
    let mut pieces = pieces.iter().copied().peekable();
    while let Some((table, first)) = pieces.next() {
        let mut last = first;
        while pieces.next_if_eq(&(table, last + 1)).is_some() {
            last += 1;
        }
        if let Some(file) = files.get(table as usize) {
            let (from, to) = (u64::from(first) * AROUND, (u64::from(last) + 1) * AROUND);
            let _ = page_cache::drop_clean(file, from, to - from);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::FileExt;

    use super::*;

    #[test]
    fn without_files_it_does_nothing() {
        for paths in [vec![], vec!["/nonexistent/16384".into()]] {
            let evictor = Evictor::new(&paths, 8192);
            assert!(!evictor.works());
            evictor.note([(3, 7)].into_iter());
        }
    }

    /// A file of 8 MiB in the page cache, page by page: what is read ahead or written is held in larger pieces, of which the kernel
    /// gives none back while it was asked for a part only. `None`, with the reason printed, where the kernel takes no such advice.
    fn cached() -> Option<tempfile::NamedTempFile> {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), vec![7; SIZE as usize]).unwrap();
        page_cache::evict(file.as_file(), 0, SIZE).unwrap();
        let reader = File::open(file.path()).unwrap();
        page_cache::advise(&reader, true).unwrap();
        let mut page = vec![0; page_cache::page_size() as usize];
        for at in (0..SIZE).step_by(page.len()) {
            reader.read_exact_at(&mut page, at).unwrap();
        }
        let whole = resident(&file, 0, SIZE) == SIZE;
        // Tried where nothing else looks: pages may stay for a moment on the list of a CPU, which the advice empties.
        let asked = (SIZE / 2, AROUND);
        page_cache::drop_clean(file.as_file(), asked.0, asked.1).unwrap();
        if whole && resident(&file, asked.0, asked.1) == 0 {
            return Some(file);
        }
        println!(
            "skipped: this file system keeps nothing in the page cache, or all of it whatever the advice"
        );
        None
    }

    const SIZE: u64 = 8 << 20;

    fn resident(file: &tempfile::NamedTempFile, from: u64, length: u64) -> u64 {
        page_cache::resident_bytes(file.as_file(), from, length).unwrap()
    }

    #[test]
    fn only_what_was_read_is_given_back() {
        let Some(file) = cached() else { return };
        let evictor = Evictor::new(&[file.path().to_owned()], 8192);
        evictor.note([(0, 0), (0, 17), (0, 40)].into_iter());
        let until = std::time::Instant::now() + Duration::from_secs(60);
        while resident(&file, 0, 3 * AROUND) > 0 {
            assert!(std::time::Instant::now() < until, "{} bytes are left", resident(&file, 0, 3 * AROUND));
            thread::sleep(Duration::from_millis(5));
        }
        assert_eq!(resident(&file, SIZE * 3 / 4, SIZE / 4), SIZE / 4, "the rest stays");
    }
}
