//! The index of a write-ahead log, which SQLite maps from the `-shm` file and shares with all who have the database open.
//!
//! SQLite reads and writes it as memory. Where the storage can't deliver a page of it, the kernel sends SIGBUS, which ends other
//! programs that use SQLite. Here it is an I/O error of every later operation on the database: what was read by means of an
//! incomplete index is not used, and nothing is written by means of it.

use std::sync::{Mutex, PoisonError};

use iolite_sys::watched::Watched;

/// The regions of it that a connection has mapped.
#[derive(Debug, Default)]
pub(super) struct LogIndex(Mutex<Vec<Watched>>);

impl LogIndex {
    /// Watches a region at an address; false when it can't be watched, or a part of it is lost already.
    pub(super) fn watch(&self, start: usize, length: usize) -> bool {
        let mut regions = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !regions.iter().any(|region| region.start() == start) {
            match Watched::new(start, length) {
                Ok(region) => regions.push(region),
                Err(_) => return false,
            }
        }
        !regions.iter().any(Watched::has_faulted)
    }

    /// Whether a page of it could not be had.
    pub(super) fn is_lost(&self) -> bool {
        iolite_sys::watched::any_fault()
            && self.0.lock().unwrap_or_else(PoisonError::into_inner).iter().any(Watched::has_faulted)
    }

    /// Keeps what is written to its header from now on from other processes: entries before it are lost, and a header that counts
    /// them would have others read old pages. They find two copies that differ, and rebuild the index from the log.
    pub(super) fn keep_to_this_process(&self) {
        if let Some(first) = self.0.lock().unwrap_or_else(PoisonError::into_inner).first() {
            first.detach_first_page();
        }
    }

    /// Watches none of it any more.
    pub(super) fn forget(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}
