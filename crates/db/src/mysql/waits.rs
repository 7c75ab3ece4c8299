//! Active sessions of a MariaDB or MySQL server, from the list of its processes and InnoDB's tables of transactions and locks.

use std::collections::HashMap;

use mysql::Conn;
use mysql::prelude::Queryable;

use super::connect::Target;
use crate::error::Result;
use crate::waits::{ActiveSession, WaitReader};

/// Sessions in this database that execute something.
const ACTIVE: &str = "SELECT p.ID, IFNULL(p.STATE, ''), IFNULL(LEFT(p.INFO, 400), p.COMMAND) FROM information_schema.PROCESSLIST p \
     WHERE p.DB = DATABASE() AND p.ID <> CONNECTION_ID() AND p.COMMAND NOT IN ('Sleep', 'Daemon', 'Binlog Dump')";
/// Sessions that wait for a row just now: reading the tables of locks stops InnoDB's lock system for a moment, and is left out
/// where nobody waits.
const WAITING: &str = "SHOW GLOBAL STATUS LIKE 'Innodb_row_lock_current_waits'";
/// Who waits for a row, what its holder executes, and where the row is.
const ROWS_OF_MARIADB: &str = "SELECT r.trx_mysql_thread_id, IFNULL(LEFT(h.INFO, 400), h.COMMAND), CONCAT(REPLACE(l.lock_table, '`', ''), \
     ' index ', l.lock_index, ' page ', l.lock_page) FROM information_schema.INNODB_LOCK_WAITS w \
     JOIN information_schema.INNODB_TRX r ON r.trx_id = w.requesting_trx_id \
     JOIN information_schema.INNODB_TRX b ON b.trx_id = w.blocking_trx_id \
     JOIN information_schema.INNODB_LOCKS l ON l.lock_id = w.requested_lock_id \
     JOIN information_schema.PROCESSLIST h ON h.ID = b.trx_mysql_thread_id";
const ROWS_OF_MYSQL: &str = "SELECT r.trx_mysql_thread_id, IFNULL(LEFT(h.INFO, 400), h.COMMAND), CONCAT(l.OBJECT_SCHEMA, '.', \
     l.OBJECT_NAME, ' index ', l.INDEX_NAME) FROM performance_schema.data_lock_waits w \
     JOIN information_schema.INNODB_TRX r ON r.trx_id = w.REQUESTING_ENGINE_TRANSACTION_ID \
     JOIN information_schema.INNODB_TRX b ON b.trx_id = w.BLOCKING_ENGINE_TRANSACTION_ID \
     JOIN performance_schema.data_locks l ON l.ENGINE_LOCK_ID = w.REQUESTING_ENGINE_LOCK_ID \
     JOIN information_schema.PROCESSLIST h ON h.ID = b.trx_mysql_thread_id";

/// See [`WaitReader`].
pub(super) struct MysqlWaits {
    conn: Conn,
    target: Target,
    rows: &'static str,
}

impl MysqlWaits {
    pub(super) fn new(conn: Conn, target: Target, mariadb: bool) -> MysqlWaits {
        MysqlWaits { conn, target, rows: if mariadb { ROWS_OF_MARIADB } else { ROWS_OF_MYSQL } }
    }

    fn ask(&mut self) -> mysql::Result<Vec<ActiveSession>> {
        let waiting = self.conn.query_first::<(String, u64), _>(WAITING)?.map_or(0, |(_, count)| count);
        let mut held: HashMap<u64, (String, String)> = HashMap::new();
        if waiting > 0 {
            // Without the privilege PROCESS nothing is known of them.
            let rows: Vec<(u64, String, String)> = self.conn.query(self.rows).unwrap_or_default();
            held.extend(rows.into_iter().map(|(id, holder, object)| (id, (holder, object))));
        }
        let active: Vec<(u64, String, String)> = self.conn.query(ACTIVE)?;
        let session = |(id, state, statement): (u64, String, String)| {
            let held = held.remove(&id);
            ActiveSession {
                wait: match (&held, state.as_str()) {
                    (Some(_), _) => "Lock:row".to_owned(),
                    (None, "") => "CPU".to_owned(),
                    (None, state) => format!("State:{state}"),
                },
                statement,
                object: held.as_ref().map(|(_, object)| object.clone()),
                holder: held.map(|(holder, _)| holder),
            }
        };
        Ok(active.into_iter().map(session).collect())
    }
}

impl WaitReader for MysqlWaits {
    fn read(&mut self) -> Result<Vec<ActiveSession>> {
        self.ask().map_err(|e| self.target.refusal("ask for the sessions of", e))
    }
}
