//! What the server counts of its operations on files.
//!
//! It counts in its own terms, which are these. Data written: blocks that the checkpointer, the background writer and the
//! sessions themselves have written or added, cluster-wide. The checkpointer reports its own about every 100 ms while it takes its
//! time, as checkpoints that come by themselves do; those of a CHECKPOINT, or of one that is behind its schedule, when it has
//! ended. Up to version 15 it reports those of the sessions, too, in portions of half as many blocks as there are buffers at most.
//! Data read: blocks that were not among the buffers, of this database alone up to version 15. Reads of pg_prewarm in its mode `read`
//! are in none of the server's statistics; those of its mode `buffer` are. Log: writes and synchronisations from version 14 on; up to
//! 17 the server counts the bytes of records, not those of the writes, which are of whole pages.

use iolite_model::Physical;
use postgres::{Client, Row};

use super::connect::Target;
use crate::error::Result;
use crate::instance::LockWait;
use crate::lossy::Lossy;

/// Reads, blocks written, synchronisations of data (or null).
const DATA_TO_15: &str = "SELECT (SELECT blks_read FROM pg_stat_database WHERE datname = current_database()), \
     buffers_checkpoint + buffers_clean + buffers_backend, NULL::bigint FROM pg_stat_bgwriter";
const DATA_FROM_16: &str = "SELECT coalesce(sum(reads), 0)::bigint, \
     (coalesce(sum(writes), 0) + coalesce(sum(extends), 0))::bigint, coalesce(sum(fsyncs), 0)::bigint \
     FROM pg_stat_io WHERE object = 'relation'";
/// The same with the bytes read and written, since calls have different sizes.
const DATA_FROM_18: &str = "SELECT coalesce(sum(reads), 0)::bigint, \
     (coalesce(sum(writes), 0) + coalesce(sum(extends), 0))::bigint, coalesce(sum(fsyncs), 0)::bigint, \
     coalesce(sum(read_bytes), 0)::bigint, (coalesce(sum(write_bytes), 0) + coalesce(sum(extend_bytes), 0))::bigint \
     FROM pg_stat_io WHERE object = 'relation'";
/// Writes, synchronisations and bytes of the log. Up to 17 the server counts bytes of records, not of writes.
const LOG_FROM_14: &str = "SELECT wal_write, wal_sync, NULL::bigint FROM pg_stat_wal";
const LOG_FROM_18: &str = "SELECT coalesce(sum(writes), 0)::bigint, coalesce(sum(fsyncs), 0)::bigint, \
     coalesce(sum(write_bytes), 0)::bigint FROM pg_stat_io WHERE object = 'wal'";

/// Who waits among the sessions of this program in this database, and who holds the lock.
const LOCK_WAITS: &str = "SELECT w.pid, concat_ws(', ', 'process ' || h.pid, nullif('user ' || h.usename, 'user '), \
     nullif('application ' || h.application_name, 'application '), h.state, left(h.query, 80)) \
     FROM (SELECT pid, unnest(pg_blocking_pids(pid)) AS holder FROM pg_stat_activity \
       WHERE wait_event_type = 'Lock' AND application_name = 'iolite' AND datname = current_database()) w \
     JOIN pg_stat_activity h ON h.pid = w.holder ORDER BY 1, 2";

/// A connection that asks for counters, and how to ask this server.
pub(super) struct Monitor {
    client: Client,
    block: u64,
    data: &'static str,
    log: Option<&'static str>,
}

impl Monitor {
    /// Connects.
    ///
    /// # Errors
    /// [`Error::Engine`](crate::Error::Engine).
    pub(super) fn open(target: &Target) -> Result<Monitor> {
        let mut client = target.connect_to_watch()?;
        let block = super::Build::ask(target, &mut client)?.block;
        let sql = "SELECT current_setting('server_version_num')::int";
        let row = client.query_one(sql, &[]).map_err(|e| target.failed("ask the version of", e))?;
        let version: i32 = row.get(0);
        Ok(Monitor { client, block, data: data_query(version), log: log_query(version) })
    }

    /// Sessions of this program that wait for a lock, with who holds it: what this role may see of it.
    ///
    /// # Errors
    /// [`Error::Engine`](crate::Error::Engine).
    pub(super) fn lock_waits(&mut self, target: &Target) -> Result<Vec<LockWait>> {
        let rows = self.client.query(LOCK_WAITS, &[]).map_err(|e| target.failed("read the locks of", e))?;
        let holder = |row: &Row| row.get::<_, Lossy>(1).0;
        let wait = |row: &Row| LockWait { waiting: row.get::<_, i32>(0).to_string(), holder: holder(row) };
        Ok(rows.iter().map(wait).collect())
    }

    /// The counters.
    ///
    /// # Errors
    /// [`Error::Engine`](crate::Error::Engine).
    pub(super) fn ask(&mut self, target: &Target) -> Result<Physical> {
        let failed = |e| target.failed("read the statistics of", e);
        let row = self.client.query_one(self.data, &[]).map_err(failed)?;
        let (reads, writes) = (count(&row, 0), count(&row, 1));
        let sized = |bytes: usize, blocks: Option<u64>| {
            if row.len() > bytes { count(&row, bytes) } else { Some(blocks? * self.block) }
        };
        let mut physical = Physical {
            data_reads: reads,
            data_read_bytes: sized(3, reads),
            data_writes: writes,
            data_write_bytes: sized(4, writes),
            data_syncs: count(&row, 2),
            ..Physical::default()
        };
        if let Some(log) = self.log {
            let row = self.client.query_one(log, &[]).map_err(failed)?;
            physical.log_writes = count(&row, 0);
            physical.log_syncs = count(&row, 1);
            physical.log_write_bytes = count(&row, 2);
        }
        Ok(physical)
    }
}

fn count(row: &Row, column: usize) -> Option<u64> {
    row.get::<_, Option<i64>>(column).map(i64::unsigned_abs)
}

fn data_query(version: i32) -> &'static str {
    match version {
        ..160_000 => DATA_TO_15,
        160_000..180_000 => DATA_FROM_16,
        _ => DATA_FROM_18,
    }
}

/// How to ask for the log's counters, where the version has them.
fn log_query(version: i32) -> Option<&'static str> {
    match version {
        ..140_000 => None,
        140_000..180_000 => Some(LOG_FROM_14),
        _ => Some(LOG_FROM_18),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_version_is_asked_what_it_counts() {
        let tables = |version| (data_query(version).contains("pg_stat_io"), log_query(version));
        assert_eq!(tables(110_022), (false, None));
        assert_eq!(tables(130_000), (false, None));
        assert_eq!(tables(140_000), (false, Some(LOG_FROM_14)));
        assert_eq!(tables(150_018), (false, Some(LOG_FROM_14)));
        assert_eq!(tables(160_000), (true, Some(LOG_FROM_14)));
        assert_eq!(tables(180_000), (true, Some(LOG_FROM_18)));
        assert!(!data_query(170_004).contains("read_bytes"));
    }
}
