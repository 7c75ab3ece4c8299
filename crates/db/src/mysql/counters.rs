//! What the server counts and knows of its files, and getting written what is not yet.

use std::collections::HashMap;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::lossy::Lossy;
use crate::mysql::rows::Rows;
use iolite_model::{Physical, ReadingValue};
use mysql::Conn;
use mysql::prelude::Queryable;

use super::Context;
use crate::error::{Error, Result};
use crate::instance::LockWait;

/// Longest to wait for the server's purge of what transactions left: about what ten million rows take.
const PURGE: Duration = Duration::from_secs(120);
/// The longest to wait without any of it being done.
const STANDSTILL: Duration = Duration::from_secs(5);
/// Errors of statements for which an account lacks a privilege: on a database, on a table, a global one.
pub(super) const DENIED: [u16; 3] = [1044, 1142, 1227];
const LOOK_AGAIN: Duration = Duration::from_millis(50);
const STATUS: &str = "SHOW /* iolite monitor */ GLOBAL STATUS WHERE Variable_name IN ('Innodb_data_reads', 'Innodb_data_read', \
                      'Innodb_data_writes', 'Innodb_data_written', 'Innodb_data_fsyncs', 'Innodb_log_writes', \
                      'Innodb_os_log_written', 'Innodb_os_log_fsyncs')";
const WRITE_BACK: &str = "SHOW /* iolite monitor */ GLOBAL STATUS WHERE Variable_name IN ('Innodb_checkpoint_age', 'Innodb_checkpoint_max_age', \
                          'Innodb_buffer_pool_pages_flushed', 'Innodb_buffer_pool_wait_free', 'Innodb_log_waits')";

/// Who waits for a row among the sessions in this database, and who holds it.
const ROW_LOCKS_OF_MARIADB: &str = "SELECT /* iolite monitor */ r.trx_mysql_thread_id, CONCAT('session ', b.trx_mysql_thread_id, ', user ', \
     p.USER, ', ', p.COMMAND, IFNULL(CONCAT(', ', LEFT(p.INFO, 80)), '')) \
     FROM information_schema.INNODB_LOCK_WAITS w \
     JOIN information_schema.INNODB_TRX r ON r.trx_id = w.requesting_trx_id \
     JOIN information_schema.INNODB_TRX b ON b.trx_id = w.blocking_trx_id \
     JOIN information_schema.PROCESSLIST p ON p.ID = b.trx_mysql_thread_id \
     JOIN information_schema.PROCESSLIST own ON own.ID = r.trx_mysql_thread_id AND own.DB = DATABASE() ORDER BY 1, 2";
const ROW_LOCKS_OF_MYSQL: &str = "SELECT /* iolite monitor */ r.trx_mysql_thread_id, CONCAT('session ', b.trx_mysql_thread_id, ', user ', \
     p.USER, ', ', p.COMMAND, IFNULL(CONCAT(', ', LEFT(p.INFO, 80)), '')) \
     FROM performance_schema.data_lock_waits w \
     JOIN information_schema.INNODB_TRX r ON r.trx_id = w.REQUESTING_ENGINE_TRANSACTION_ID \
     JOIN information_schema.INNODB_TRX b ON b.trx_id = w.BLOCKING_ENGINE_TRANSACTION_ID \
     JOIN information_schema.PROCESSLIST p ON p.ID = b.trx_mysql_thread_id \
     JOIN information_schema.PROCESSLIST own ON own.ID = r.trx_mysql_thread_id AND own.DB = DATABASE() ORDER BY 1, 2";
/// Who waits for a table. The server shows the holder in an optional plugin only.
const TABLE_LOCKS: &str = "SELECT /* iolite monitor */ ID, 'a session that has locked the table (SHOW FULL PROCESSLIST shows candidates)' \
     FROM information_schema.PROCESSLIST WHERE DB = DATABASE() AND STATE LIKE 'Waiting for table%lock'";

/// See [`Instance::counters`](crate::Instance::counters): the whole server's, InnoDB's part.
pub(super) fn physical(conn: &mut Conn) -> mysql::Result<Physical> {
    let rows = conn.query_rows::<(String, String)>(STATUS)?;
    let counts: HashMap<_, _> = rows
        .into_iter()
        .filter_map(|(name, value)| Some((name.to_ascii_lowercase(), value.parse().ok()?)))
        .collect();
    let count = |name: &str| counts.get(name).copied();
    let log_syncs: Option<u64> = count("innodb_os_log_fsyncs");
    // As strace shows it on 10.11: reads and writes are those of data files, the doublewrite's among them, without the
    // log's; the log's bytes are those of its records, which are written in blocks; syncs are counted together, and only
    // servers that count the log's as well distinguish them.
    let data_syncs = count("innodb_data_fsyncs").zip(log_syncs).and_then(|(all, log)| all.checked_sub(log));
    Ok(Physical {
        data_reads: count("innodb_data_reads"),
        data_read_bytes: count("innodb_data_read"),
        data_writes: count("innodb_data_writes"),
        data_write_bytes: count("innodb_data_written"),
        data_syncs,
        log_writes: count("innodb_log_writes"),
        log_write_bytes: count("innodb_os_log_written"),
        log_syncs,
    })
}

/// How much of the redo log's space the pages need that have not been written (the checkpoint age), and how often sessions had to wait
/// for a free page of the buffer pool or for space in the log buffer. MySQL does not report the age.
pub(super) fn write_back_state(conn: &mut Conn) -> mysql::Result<Vec<ReadingValue>> {
    let rows = conn.query_rows::<(String, String)>(WRITE_BACK)?;
    let value = |name: &str| {
        let row = rows.iter().find(|(other, _)| other.eq_ignore_ascii_case(name))?;
        row.1.parse::<f64>().ok()
    };
    let gauges = [
        ("checkpoint_age_bytes", "Innodb_checkpoint_age"),
        ("max_checkpoint_age_bytes", "Innodb_checkpoint_max_age"),
    ];
    let counters = [
        ("pages_flushed", "Innodb_buffer_pool_pages_flushed"),
        ("free_page_waits", "Innodb_buffer_pool_wait_free"),
        ("log_buffer_waits", "Innodb_log_waits"),
    ];
    let gauges = gauges.into_iter().filter_map(|(name, of)| Some(ReadingValue::gauge(name, value(of)?)));
    let counters =
        counters.into_iter().filter_map(|(name, of)| Some(ReadingValue::counter(name, value(of)?)));
    Ok(gauges.chain(counters).collect())
}

/// Sessions in this database that wait for a row or a table, with who holds it; none where this user may not see them. The
/// tables are asked only while the server counts waits: reading them stops its lock system for a moment.
///
/// # Errors
/// The server's.
pub(super) fn lock_waits(conn: &mut Conn, mariadb: bool) -> mysql::Result<Vec<LockWait>> {
    let count = "SHOW GLOBAL STATUS LIKE 'Innodb_row_lock_current_waits'";
    let rows = conn.query_row::<(String, u64)>(count)?.map_or(0, |(_, waits)| waits);
    let mut waits = Vec::new();
    if rows > 0 {
        let asked =
            conn.query_rows::<(u64, Lossy)>(if mariadb { ROW_LOCKS_OF_MARIADB } else { ROW_LOCKS_OF_MYSQL });
        // Without the privilege PROCESS nothing is known of them.
        waits.extend(asked.unwrap_or_default());
    }
    waits.extend(conn.query_rows::<(u64, Lossy)>(TABLE_LOCKS)?);
    Ok(waits.into_iter().map(|(id, holder)| LockWait { waiting: id.to_string(), holder: holder.0 }).collect())
}

/// Writes the changed pages of these tables, and of no other (FLUSH TABLES ... FOR EXPORT); writers of them wait meanwhile. The
/// buffer pool keeps the pages; the page cache forgets them where the server reads through it and the files can be opened.
///
/// # Errors
/// [`Error::Engine`], among others when a session is in the middle of a transaction; [`Error::Io`].
pub fn write_back(context: &Context, conn: &mut Conn, tables: &[&str]) -> Result<()> {
    export(conn, tables).map_err(|e| context.target.refusal("write the changed pages of", e))?;
    if context.facts.is_direct() {
        return Ok(());
    }
    match context.facts.files(&context.target).data {
        Some(data) => forget(&data.join(&context.target.schema)),
        None => Ok(()),
    }
}

/// The same without the page cache; `false` where this account may not have it done.
///
/// # Errors
/// [`Error::Engine`], among others when a session is in the middle of a transaction.
pub fn flush(context: &Context, conn: &mut Conn, tables: &[&str]) -> Result<bool> {
    match export(conn, tables) {
        Ok(()) => Ok(true),
        Err(mysql::Error::MySqlError(error)) if DENIED.contains(&error.code) => Ok(false),
        Err(error) => Err(context.target.refusal("write the changed pages of", error)),
    }
}

fn export(conn: &mut Conn, tables: &[&str]) -> mysql::Result<()> {
    let list: Vec<_> = tables.iter().map(|name| format!("`{name}`")).collect();
    // A session in the middle of a transaction holds its tables.
    conn.query_drop("SET SESSION lock_wait_timeout = 5")?;
    conn.query_drop(format!("FLUSH TABLES {} FOR EXPORT", list.join(", ")))?;
    conn.query_drop("UNLOCK TABLES")
}

/// Waits until the server has done what it does after transactions: MariaDB visits each row that was inserted once more, and
/// so reads and writes its page again. Where somebody's open transaction does not let it end, not for ever.
pub fn await_purge(conn: &mut Conn) -> mysql::Result<()> {
    let (began, mut min, mut fell) = (Instant::now(), u64::MAX, Instant::now());
    loop {
        let left: Option<(String, u64)> =
            conn.query_row("SHOW GLOBAL STATUS LIKE 'Innodb_history_list_length'")?;
        let left = left.map_or(0, |(_, transactions)| transactions);
        if left < min {
            (min, fell) = (left, Instant::now());
        }
        if left == 0 || fell.elapsed() > STANDSTILL || began.elapsed() > PURGE {
            return Ok(());
        }
        std::thread::sleep(LOOK_AGAIN);
    }
}

/// Has the page cache give back what it holds of the tables' files, where these can be opened.
fn forget(directory: &Path) -> Result<()> {
    let Ok(entries) = std::fs::read_dir(directory) else { return Ok(()) };
    for path in entries.filter_map(|entry| Some(entry.ok()?.path())) {
        if path.extension().is_none_or(|extension| extension != "ibd") {
            continue;
        }
        // Another user's files may not be opened: then they stay cached, as the results will show.
        let Ok(file) = std::fs::File::open(&path) else { continue };
        let failed = |e: rustix::io::Errno| Error::io("drop the page cache of", &path, e.into());
        rustix::fs::fsync(&file).map_err(failed)?;
        rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed).map_err(failed)?;
    }
    Ok(())
}
