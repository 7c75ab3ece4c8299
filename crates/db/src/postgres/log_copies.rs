//! Where the write-ahead log goes besides `pg_wal`: standbys and other receivers, the archive, slots that nobody reads,
//! publications of all tables.

use iolite_model::LogCopy;
use postgres::Client;

use super::connect::Target;
use crate::error::Result;

/// What archives, for those who may see it; empty where nothing does.
const ARCHIVE: &str = "SELECT CASE WHEN coalesce(current_setting('archive_mode', true), 'off') = 'off' THEN '' \
     WHEN coalesce(current_setting('archive_library', true), '') <> '' THEN 'the library ' || current_setting('archive_library', true) \
     WHEN coalesce(current_setting('archive_command', true), '') IN ('', '(disabled)') THEN 'archive_command, which is not set' \
     ELSE '`' || current_setting('archive_command', true) || '`' END";
const RECEIVERS: &str = "SELECT count(*)::int FROM pg_stat_replication";
const IDLE_SLOTS: &str =
    "SELECT slot_name::text FROM pg_replication_slots WHERE NOT active AND NOT temporary ORDER BY 1";
const PUBLICATIONS: &str = "SELECT pubname::text FROM pg_publication WHERE puballtables ORDER BY 1";

/// As [`Instance::log_copies`](crate::Instance::log_copies).
pub(super) fn log_copies(target: &Target) -> Result<Vec<LogCopy>> {
    let mut client = target.connect()?;
    let failed = |e| target.failed("ask for the replication of", e);
    let mut copies = Vec::new();
    let count: i32 = client.query_one(RECEIVERS, &[]).map_err(failed)?.get(0);
    if count > 0 {
        copies.push(LogCopy::Receivers { count: count.unsigned_abs() });
    }
    let by: String = client.query_one(ARCHIVE, &[]).map_err(failed)?.get(0);
    if !by.is_empty() {
        copies.push(LogCopy::Archive { by });
    }
    let slots = names(&mut client, IDLE_SLOTS).map_err(failed)?;
    if !slots.is_empty() {
        copies.push(LogCopy::IdleSlots { names: slots });
    }
    let publications = names(&mut client, PUBLICATIONS).map_err(failed)?;
    if !publications.is_empty() {
        copies.push(LogCopy::Publications { names: publications });
    }
    Ok(copies)
}

fn names(client: &mut Client, sql: &str) -> std::result::Result<Vec<String>, postgres::Error> {
    Ok(client.query(sql, &[])?.iter().map(|row| row.get(0)).collect())
}
