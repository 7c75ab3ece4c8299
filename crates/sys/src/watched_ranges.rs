//! The table of ranges of mapped memory that are watched (`watched.rs`): read by the handler of SIGBUS, hence made of atomics.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Ranges that can be watched at once. Those of SQLite are of 32 KiB, for 4096 pages in a log each.
const MAX_RANGES: usize = 1 << 14;

pub(crate) struct Slot {
    /// 0: not in use.
    pub(crate) start: AtomicUsize,
    pub(crate) end: AtomicUsize,
    pub(crate) faulted: AtomicBool,
}

pub(crate) static SLOTS: [Slot; MAX_RANGES] = [const {
    Slot { start: AtomicUsize::new(0), end: AtomicUsize::new(0), faulted: AtomicBool::new(false) }
}; MAX_RANGES];
/// Users of each slot that was ever in use.
pub(crate) static USERS: Mutex<Vec<usize>> = Mutex::new(Vec::new());
/// Slots that were ever in use.
pub(crate) static USED: AtomicUsize = AtomicUsize::new(0);
/// Faults in any of them: none, nearly always.
static FAULTS: AtomicUsize = AtomicUsize::new(0);

/// Whether there was a fault in any range so far.
#[inline]
pub(crate) fn any_fault() -> bool {
    FAULTS.load(Ordering::Acquire) > 0
}

/// Whether an address is in a range that is watched, which then reports a fault. Async-signal-safe.
pub(crate) fn note(address: usize) -> bool {
    let mut found = false;
    for slot in &SLOTS[..USED.load(Ordering::Acquire)] {
        let start = slot.start.load(Ordering::Acquire);
        if start != 0 && (start..slot.end.load(Ordering::Acquire)).contains(&address) {
            slot.faulted.store(true, Ordering::Release);
            FAULTS.fetch_add(1, Ordering::AcqRel);
            found = true;
        }
    }
    found
}
