//! What the VFS counts.

use std::ops::AddAssign;

use iolite_model::{Bytes, Physical};

/// What a session, or a checkpoint, asked of the operating system on the database's behalf. Counts of calls, so one
/// logical operation may be none (cached) or several of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Reads of data files that bypassed the page cache.
    pub reads: u64,
    /// Bytes of those reads.
    pub read_bytes: Bytes,
    /// Reads of data files through the page cache, which may or may not have reached the device.
    pub cached_reads: u64,
    /// Writes of data files, cached or not.
    pub writes: u64,
    /// Bytes of those writes.
    pub write_bytes: Bytes,
    /// Synchronisations (fsync) of data files.
    pub syncs: u64,
    /// Reads of the log.
    pub log_reads: u64,
    /// Writes of the log.
    pub log_writes: u64,
    /// Bytes of those writes.
    pub log_write_bytes: Bytes,
    /// Synchronisations (fsync) of the log.
    pub log_syncs: u64,
}

impl Counts {
    /// What was added since `earlier`, a reading of the same session.
    pub fn since(&self, earlier: &Counts) -> Counts {
        let bytes = |now: Bytes, then: Bytes| Bytes(now.0.saturating_sub(then.0));
        Counts {
            reads: self.reads.saturating_sub(earlier.reads),
            read_bytes: bytes(self.read_bytes, earlier.read_bytes),
            cached_reads: self.cached_reads.saturating_sub(earlier.cached_reads),
            writes: self.writes.saturating_sub(earlier.writes),
            write_bytes: bytes(self.write_bytes, earlier.write_bytes),
            syncs: self.syncs.saturating_sub(earlier.syncs),
            log_reads: self.log_reads.saturating_sub(earlier.log_reads),
            log_writes: self.log_writes.saturating_sub(earlier.log_writes),
            log_write_bytes: bytes(self.log_write_bytes, earlier.log_write_bytes),
            log_syncs: self.log_syncs.saturating_sub(earlier.log_syncs),
        }
    }
}

impl AddAssign for Counts {
    fn add_assign(&mut self, other: Counts) {
        self.reads += other.reads;
        self.read_bytes.0 += other.read_bytes.0;
        self.cached_reads += other.cached_reads;
        self.writes += other.writes;
        self.write_bytes.0 += other.write_bytes.0;
        self.syncs += other.syncs;
        self.log_reads += other.log_reads;
        self.log_writes += other.log_writes;
        self.log_write_bytes.0 += other.log_write_bytes.0;
        self.log_syncs += other.log_syncs;
    }
}

impl From<Counts> for Physical {
    fn from(counts: Counts) -> Physical {
        // Of what went through the page cache only the number is known, and that is of bytes asked for.
        let bytes = (counts.cached_reads == 0).then_some(counts.read_bytes.0);
        Physical {
            data_reads: Some(counts.reads + counts.cached_reads),
            data_read_bytes: bytes,
            data_writes: Some(counts.writes),
            data_write_bytes: Some(counts.write_bytes.0),
            data_syncs: Some(counts.syncs),
            log_writes: Some(counts.log_writes),
            log_write_bytes: Some(counts.log_write_bytes.0),
            log_syncs: Some(counts.log_syncs),
        }
    }
}
