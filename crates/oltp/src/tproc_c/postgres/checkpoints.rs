//! What the server reports of its checkpoints.
//!
//! It counts a checkpoint when that starts, and publishes the count while it spreads its writes, or at the end of one that it does not
//! spread. The control file has the start of the last completed one, in whole seconds. A checkpoint is due a time (checkpoint_timeout)
//! after the start of the last, or when the log has grown by a number of segments since: max_wal_size divided by
//! 1 + checkpoint_completion_target (xlog.c, from version 11 on).

use iolite_model::{Bytes, CheckpointDue, CheckpointReading, Nanos};
use postgres::error::SqlState;
use postgres::{Client, Error, Statement};

const READ_TO_16: &str = "SELECT s.checkpoints_timed + s.checkpoints_req, \
     extract(epoch FROM clock_timestamp() - c.checkpoint_time)::float8, \
     pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::bigint, \
     pg_wal_lsn_diff(pg_current_wal_insert_lsn(), c.redo_lsn)::bigint FROM pg_stat_bgwriter s, pg_control_checkpoint() c";
const READ_FROM_17: &str = "SELECT s.num_timed + s.num_requested, \
     extract(epoch FROM clock_timestamp() - c.checkpoint_time)::float8, \
     pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::bigint, \
     pg_wal_lsn_diff(pg_current_wal_insert_lsn(), c.redo_lsn)::bigint FROM pg_stat_checkpointer s, pg_control_checkpoint() c";
/// In seconds, a share, MiB and bytes.
const SETTINGS: &str = "SELECT current_setting('server_version_num')::int, \
     (SELECT setting::float8 FROM pg_settings WHERE name = 'checkpoint_timeout'), \
     (SELECT setting::float8 FROM pg_settings WHERE name = 'checkpoint_completion_target'), \
     (SELECT setting::float8 * 1048576 FROM pg_settings WHERE name = 'max_wal_size'), \
     (SELECT setting::float8 FROM pg_settings WHERE name = 'wal_segment_size')";

/// How this server is asked.
pub(super) struct Checkpoints {
    read: Statement,
    due: CheckpointDue,
}

impl Checkpoints {
    /// # Errors
    /// The server's.
    pub(super) fn open(client: &mut Client) -> Result<Checkpoints, Error> {
        let row = client.query_one(SETTINGS, &[])?;
        let number = |at| row.get::<_, f64>(at);
        let sql = if row.get::<_, i32>(0) < 170_000 { READ_TO_16 } else { READ_FROM_17 };
        let due = due(number(1), number(2), number(3), number(4));
        Ok(Checkpoints { read: client.prepare(sql)?, due })
    }

    /// # Errors
    /// The server's, among others where this role may not read the control file.
    pub(super) fn read(&self, client: &mut Client) -> Result<CheckpointReading, Error> {
        let row = client.query_one(&self.read, &[])?;
        let age = row.get::<_, f64>(1).max(0.0);
        let bytes = |at| row.get::<_, i64>(at).max(0).unsigned_abs();
        Ok(CheckpointReading {
            started: Some(row.get::<_, i64>(0).unsigned_abs()),
            log: bytes(2),
            latest: Some((Nanos((age * 1e9) as u64), bytes(3))),
            due: self.due,
            age: None,
        })
    }
}

/// Whether the server does not report its checkpoints to this role, however often it is asked.
pub(super) fn are_not_reported(error: &Error) -> bool {
    error.code().is_some_and(|code| {
        [SqlState::INSUFFICIENT_PRIVILEGE, SqlState::UNDEFINED_FUNCTION, SqlState::UNDEFINED_TABLE]
            .contains(code)
    })
}

/// When a checkpoint is due: the log is looked at whenever a segment is full, and the segment that is begun counts.
fn due(timeout: f64, target: f64, max_wal: f64, segment: f64) -> CheckpointDue {
    let segments = (max_wal / segment).floor() / (1.0 + target);
    let log = (segments.floor().max(1.0) - 1.0).max(1.0) * segment;
    CheckpointDue { time: Some(Nanos((timeout * 1e9) as u64)), log: Some(Bytes(log as u64)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_checkpoint_is_due_by_time_or_by_segments_of_the_log() {
        let (segment, mib) = (16.0 * 1_048_576.0, 1_048_576.0);
        // The default settings: 64 segments, of which 33 until the next checkpoint is to be completed.
        let usual = due(300.0, 0.9, 1024.0 * mib, segment);
        assert_eq!((usual.time, usual.log), (Some(Nanos(300_000_000_000)), Some(Bytes(32 * (16 << 20)))));
        assert_eq!(due(30.0, 0.5, 32.0 * mib, segment).log, Some(Bytes(16 << 20)));
    }
}
