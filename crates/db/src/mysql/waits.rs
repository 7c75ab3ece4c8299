//! Active sessions of a MariaDB or MySQL server, from the list of its processes, InnoDB's tables of transactions and locks, and where
//! its performance_schema keeps them, its waits for mutexes, latches and files.

use std::collections::HashMap;

use mysql::Conn;

use super::connect::Target;
use super::counters::DENIED;
use super::rows::Rows;
use crate::error::Result;
use crate::lossy::Lossy;
use crate::waits::{ActiveSession, Sample, WaitObject, WaitReader};

/// Sessions in this database that execute something, without those that read the counters for us.
const ACTIVE: &str = "SELECT p.ID, IFNULL(p.STATE, ''), IFNULL(LEFT(p.INFO, 400), p.COMMAND) FROM information_schema.PROCESSLIST p \
     WHERE p.DB = DATABASE() AND p.ID <> CONNECTION_ID() AND p.COMMAND NOT IN ('Sleep', 'Daemon', 'Binlog Dump') \
     AND IFNULL(p.INFO, '') NOT LIKE '%/* iolite monitor */%'";
/// Sessions that wait for a row just now: reading the tables of locks stops InnoDB's lock system for a moment, and is left out
/// where nobody waits.
const WAITING: &str = "SHOW GLOBAL STATUS LIKE 'Innodb_row_lock_current_waits'";
/// Who waits for a row, what its holder executes, and where the row is.
const ROWS_OF_MARIADB: &str = "SELECT r.trx_mysql_thread_id, IFNULL(LEFT(h.INFO, 400), h.COMMAND), CONCAT(REPLACE(l.lock_table, '`', ''), \
     IFNULL(CONCAT(' index ', l.lock_index), '')), l.lock_page, l.lock_rec FROM information_schema.INNODB_LOCK_WAITS w \
     JOIN information_schema.INNODB_TRX r ON r.trx_id = w.requesting_trx_id \
     JOIN information_schema.INNODB_TRX b ON b.trx_id = w.blocking_trx_id \
     JOIN information_schema.INNODB_LOCKS l ON l.lock_id = w.requested_lock_id \
     JOIN information_schema.PROCESSLIST h ON h.ID = b.trx_mysql_thread_id";
const ROWS_OF_MYSQL: &str = "SELECT r.trx_mysql_thread_id, IFNULL(LEFT(h.INFO, 400), h.COMMAND), CONCAT(l.OBJECT_SCHEMA, '.', \
     l.OBJECT_NAME, IFNULL(CONCAT(' index ', l.INDEX_NAME), '')), NULL, NULL FROM performance_schema.data_lock_waits w \
     JOIN information_schema.INNODB_TRX r ON r.trx_id = w.REQUESTING_ENGINE_TRANSACTION_ID \
     JOIN information_schema.INNODB_TRX b ON b.trx_id = w.BLOCKING_ENGINE_TRANSACTION_ID \
     JOIN performance_schema.data_locks l ON l.ENGINE_LOCK_ID = w.REQUESTING_ENGINE_LOCK_ID \
     JOIN information_schema.PROCESSLIST h ON h.ID = b.trx_mysql_thread_id";
/// What sessions wait for within the server: mutexes, latches of pages and trees, files; the innermost wait of a session is the last one.
/// The event of a table (`wait/io/table/sql/handler`) goes on while the engine computes, and is none.
const EVENTS: &str = "SELECT /* iolite monitor */ t.PROCESSLIST_ID, e.EVENT_NAME FROM performance_schema.events_waits_current e \
     JOIN performance_schema.threads t ON t.THREAD_ID = e.THREAD_ID WHERE e.END_EVENT_ID IS NULL \
     AND (e.EVENT_NAME LIKE 'wait/synch/%' OR e.EVENT_NAME LIKE 'wait/io/file/%') AND t.PROCESSLIST_ID IS NOT NULL \
     ORDER BY e.THREAD_ID, e.EVENT_ID";
/// Whether the server keeps them, and times some of InnoDB's.
const EVENTS_KEPT: &str = "SELECT (SELECT COUNT(*) FROM performance_schema.setup_consumers WHERE NAME = 'events_waits_current' AND ENABLED = 'YES') \
     * (SELECT COUNT(*) FROM performance_schema.setup_instruments WHERE NAME LIKE 'wait/synch/%/innodb/%' AND ENABLED = 'YES')";
/// Refused without the privilege PROCESS, however it is granted.
const PRIVILEGED: &str = "SELECT COUNT(*) FROM (SELECT trx_id FROM information_schema.INNODB_TRX LIMIT 1) t";
/// Sessions of the server, and those that this account sees.
const SESSIONS: &str = "SHOW GLOBAL STATUS LIKE 'Threads_connected'";
const VISIBLE: &str = "SELECT COUNT(*) FROM information_schema.PROCESSLIST";

/// Rows of a page of the buffer pool. The server lists the whole pool for that, which is left out where that is large.
const ROWS: &str = "SELECT NUMBER_RECORDS FROM information_schema.INNODB_BUFFER_PAGE WHERE PAGE_NUMBER = ? AND INDEX_NAME = ? \
     AND REPLACE(TABLE_NAME, '`', '') = ?";
const POOL: &str = "SELECT @@GLOBAL.innodb_buffer_pool_size";
/// The largest buffer pool that is listed.
const MAX_POOL: u64 = 1 << 30;

/// A session that waits for a row: its number, what the holder executes, and table, page and row.
type RowWait = (u64, Option<Lossy>, Option<String>, Option<u64>, Option<u64>);

/// See [`WaitReader`].
pub(super) struct MysqlWaits {
    conn: Conn,
    target: Target,
    mariadb: bool,
    /// Whether sessions of other accounts, and locks, are visible.
    privileged: bool,
    /// Whether the server shows who waits for a row: MySQL does not without its performance_schema.
    shows_rows: bool,
    /// Whether this account may not read the tables of locks.
    denied: bool,
    /// Whether the server shows waits for its mutexes, latches and files.
    events: Events,
}

/// Whether the server shows waits for its mutexes, latches and files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Events {
    Shown,
    /// Its performance_schema is off.
    Off,
    /// It does not keep them.
    NotKept,
    /// This account may not read them.
    Denied,
}

impl Events {
    fn of(conn: &mut Conn, schema: bool) -> mysql::Result<Events> {
        if !schema {
            return Ok(Events::Off);
        }
        match conn.query_row::<u64>(EVENTS_KEPT) {
            Ok(kept) if kept.unwrap_or(0) > 0 => Ok(Events::Shown),
            Ok(_) => Ok(Events::NotKept),
            Err(mysql::Error::MySqlError(error)) if DENIED.contains(&error.code) => Ok(Events::Denied),
            Err(error) => Err(error),
        }
    }
}

impl MysqlWaits {
    pub(super) fn open(mut conn: Conn, target: Target, mariadb: bool) -> Result<MysqlWaits> {
        let privileged = match conn.query_row::<u64>(PRIVILEGED) {
            Ok(_) => true,
            Err(mysql::Error::MySqlError(_)) => false,
            Err(error) => return Err(target.refusal("ask for the sessions of", error)),
        };
        let schema = conn.query_row::<u8>("SELECT @@performance_schema");
        let schema = schema.map_err(|e| target.refusal("ask for the sessions of", e))? == Some(1);
        let events = Events::of(&mut conn, schema);
        let events = events.map_err(|e| target.refusal("ask for the waits of", e))?;
        let shows_rows = mariadb || schema;
        Ok(MysqlWaits { conn, target, mariadb, privileged, shows_rows, denied: false, events })
    }

    /// The innermost wait of each session that waits within the server just now.
    fn events(&mut self) -> mysql::Result<HashMap<u64, String>> {
        if self.events != Events::Shown {
            return Ok(HashMap::new());
        }
        match self.conn.query_rows::<(u64, String)>(EVENTS) {
            Err(mysql::Error::MySqlError(error)) if DENIED.contains(&error.code) => {
                self.events = Events::Denied;
                Ok(HashMap::new())
            }
            rows => Ok(rows?.into_iter().collect()),
        }
    }

    /// Who waits for a row.
    fn rows(&mut self) -> mysql::Result<HashMap<u64, (String, Option<WaitObject>)>> {
        let rows: Vec<RowWait> =
            self.conn.query_rows(if self.mariadb { ROWS_OF_MARIADB } else { ROWS_OF_MYSQL })?;
        let wait = |(id, holder, table, page, row): RowWait| {
            (
                id,
                (
                    holder.map_or_else(String::new, |holder| holder.0),
                    table.map(|table| WaitObject { table, page, row }),
                ),
            )
        };
        Ok(rows.into_iter().map(wait).collect())
    }

    fn ask(&mut self) -> mysql::Result<Sample> {
        let waiting = self.number(WAITING)?;
        let held =
            if waiting > 0 && self.privileged && self.shows_rows { self.rows() } else { Ok(HashMap::new()) };
        let mut held = match held {
            Err(mysql::Error::MySqlError(error)) if DENIED.contains(&error.code) => {
                self.shows_rows = false;
                self.denied = true;
                HashMap::new()
            }
            held => held?,
        };
        let unseen_rows = if self.privileged && self.shows_rows { 0 } else { waiting };
        let unseen = if self.privileged {
            0
        } else {
            // In this order: a session of this account that begins meanwhile is not hidden.
            let sessions = self.number(SESSIONS)?;
            sessions.saturating_sub(self.conn.query_row(VISIBLE)?.unwrap_or(0))
        };
        let mut events = self.events()?;
        let active: Vec<(u64, String, Lossy)> = self.conn.query_rows(ACTIVE)?;
        let session = |(id, state, statement): (u64, String, Lossy)| {
            let held = held.remove(&id);
            let (holder, object) = held.map_or((None, None), |(holder, object)| (Some(holder), object));
            ActiveSession {
                wait: match (&holder, events.remove(&id), state.as_str()) {
                    (Some(_), ..) => "Lock:row".to_owned(),
                    (None, Some(event), _) => event,
                    (None, None, "") => "CPU".to_owned(),
                    (None, None, state) => format!("State:{state}"),
                },
                statement: statement.0,
                holder,
                object,
            }
        };
        let active = active.into_iter().map(session).collect();
        // A session of another account may be one that waits: counted once.
        Ok(Sample { active, hidden: unseen.max(unseen_rows) })
    }

    /// The value of a status variable.
    fn number(&mut self, variable: &str) -> mysql::Result<u64> {
        Ok(self.conn.query_row::<(String, u64)>(variable)?.map_or(0, |(_, value)| value))
    }
}

impl WaitReader for MysqlWaits {
    fn read(&mut self) -> Result<Sample> {
        self.ask().map_err(|e| self.target.refusal("ask for the sessions of", e))
    }

    fn gap(&self) -> Option<String> {
        let remedy = match self.events {
            Events::Shown => return None,
            Events::Off => {
                "start the server with performance_schema = ON, performance-schema-instrument = 'wait/synch/%/innodb/%=ON' and \
                 performance-schema-consumer-events-waits-current = ON (iolite db start mariadb --performance-schema)"
            }
            Events::NotKept => {
                "UPDATE performance_schema.setup_consumers SET ENABLED = 'YES' WHERE NAME = 'events_waits_current'; UPDATE \
                 performance_schema.setup_instruments SET ENABLED = 'YES' WHERE NAME LIKE 'wait/synch/%/innodb/%'"
            }
            Events::Denied => "as an administrator, run GRANT SELECT ON performance_schema.* TO this account",
        };
        Some(format!(
            "waits for InnoDB's mutexes, latches and files, which count as CPU or as a state; {remedy}"
        ))
    }

    fn rows_in(&mut self, table: &str, page: u64) -> Option<u64> {
        let (table, index) = table.split_once(" index ")?;
        let pool: u64 = self.conn.query_row(POOL).ok()??;
        if !self.privileged || pool > MAX_POOL {
            return None;
        }
        self.conn.exec_row(ROWS, (page, index, table)).ok()?
    }

    fn remedy(&self) -> String {
        if self.denied {
            "as an administrator, run GRANT SELECT ON performance_schema.* TO this account, and repeat"
                .to_owned()
        } else if self.privileged {
            "set performance_schema = ON in the server's option file, restart the server, and repeat"
                .to_owned()
        } else {
            "as an administrator, run GRANT PROCESS ON *.* TO this account, and repeat".to_owned()
        }
    }
}
