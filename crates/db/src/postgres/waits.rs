//! Active sessions of a PostgreSQL database, from the functions beneath `pg_stat_activity` and `pg_locks`.

use std::sync::Arc;

use postgres::{Client, Row, Statement};

use super::connect::Target;
use crate::error::Result;
use crate::lossy::Lossy;
use crate::waits::{ActiveSession, Sample, WaitObject, WaitReader};

/// Sessions that execute something, or whose state is hidden.
///
/// The functions are read once, without the joins of their views, and the lock table only while a session waits for a lock. A
/// session that waits for another one to end its transaction holds, or wants, the lock of the row's version meanwhile: that names
/// the table, the page and the row. `pg_blocking_pids` stops the lock manager, and is called only for locks whose holder does not
/// follow from the lock table.
const ACTIVE: &str = "WITH a AS (SELECT pid, state, wait_event_type AS kind, wait_event, left(query, 400) AS query, \
       coalesce(state = 'disabled', query = '<insufficient privilege>') AS hidden \
       FROM pg_stat_get_activity(NULL) WHERE datid = $1 AND pid <> pg_backend_pid() \
       AND application_name IS DISTINCT FROM 'iolite monitor'), \
     l AS (SELECT * FROM pg_lock_status() WHERE EXISTS (SELECT FROM a WHERE kind = 'Lock')) \
     SELECT coalesce(a.kind || ':' || a.wait_event, 'CPU'), a.query, coalesce(nullif(h.query, ''), h.state), \
       o.relation::regclass::text, o.page::bigint, o.tuple::bigint, a.hidden \
     FROM a LEFT JOIN LATERAL (SELECT coalesce( \
         (SELECT g.pid FROM l w JOIN l g ON g.granted AND g.locktype = w.locktype AND g.pid <> w.pid AND \
            (g.transactionid = w.transactionid OR (g.database, g.relation, g.page, g.tuple) = (w.database, w.relation, w.page, w.tuple)) \
          WHERE w.pid = a.pid AND NOT w.granted LIMIT 1), (pg_blocking_pids(a.pid))[1]) AS pid OFFSET 0) b ON a.kind = 'Lock' \
     LEFT JOIN a h ON h.pid = b.pid \
     LEFT JOIN LATERAL (SELECT relation, page, tuple FROM l WHERE a.kind = 'Lock' AND l.pid = a.pid AND l.database = $1 \
         AND relation IS NOT NULL AND (locktype IN ('tuple', 'page') OR NOT granted) ORDER BY page IS NULL LIMIT 1) o ON true \
     WHERE a.state = 'active' OR a.hidden";

/// Rows that are visible in a page.
const ROWS: &str = "WHERE ctid = ANY (ARRAY(SELECT format('(%s,%s)', $1::bigint, line)::tid \
     FROM generate_series(1, current_setting('block_size')::int / 28) line))";

/// See [`WaitReader`].
pub(super) struct PostgresWaits {
    client: Client,
    target: Arc<Target>,
    active: Statement,
    database: u32,
    /// The role, and whether it may see the sessions of others.
    role: (String, bool),
}

impl PostgresWaits {
    pub(super) fn open(target: &Arc<Target>) -> Result<PostgresWaits> {
        let mut client = target.connect_to_watch()?;
        let mut open = || {
            // Compiling the query would cost more than it takes.
            client.batch_execute("SET jit = off")?;
            let own = client.query_one(
                "SELECT oid, quote_ident(current_user), pg_has_role('pg_read_all_stats', 'USAGE') FROM pg_database \
                 WHERE datname = current_database()",
                &[],
            )?;
            Ok((client.prepare(ACTIVE)?, own))
        };
        let (active, own) = open().map_err(|e| target.failed("ask for the sessions of", e))?;
        let (database, role) = (own.get(0), (own.get(1), own.get(2)));
        Ok(PostgresWaits { client, target: target.clone(), active, database, role })
    }
}

impl WaitReader for PostgresWaits {
    fn read(&mut self) -> Result<Sample> {
        let rows = self
            .client
            .query(&self.active, &[&self.database])
            .map_err(|e| self.target.failed("ask for the sessions of", e))?;
        let (hidden, active): (Vec<&Row>, Vec<&Row>) = rows.iter().partition(|row| row.get(6));
        Ok(Sample { active: active.into_iter().map(session).collect(), hidden: hidden.len() as u64 })
    }

    fn remedy(&self) -> String {
        match &self.role {
            (role, false) => format!(
                "as a superuser, run GRANT pg_read_all_stats TO {role} (pg_monitor includes it), and repeat"
            ),
            (_, true) => "set track_activities = on for these sessions, and repeat".to_owned(),
        }
    }

    fn rows_in(&mut self, table: &str, page: u64) -> Option<u64> {
        // The name is the server's own, quoted where needed.
        let sql = format!("SELECT count(*) FROM ONLY {table} {ROWS}");
        let row = self.client.query_one(&sql, &[&i64::try_from(page).ok()?]).ok()?;
        Some(row.get::<_, i64>(0).unsigned_abs())
    }
}

fn session(row: &Row) -> ActiveSession {
    let number = |at| row.get::<_, Option<i64>>(at).map(i64::unsigned_abs);
    let text = |at| row.get::<_, Option<Lossy>>(at).map(|text| text.0);
    let object = |table| WaitObject { table, page: number(4), row: number(5) };
    ActiveSession {
        wait: row.get(0),
        statement: text(1).unwrap_or_default(),
        holder: text(2),
        object: row.get::<_, Option<String>>(3).map(object),
    }
}
