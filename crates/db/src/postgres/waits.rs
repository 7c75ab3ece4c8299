//! Active sessions of a PostgreSQL database, from `pg_stat_activity` and `pg_locks`.

use std::sync::Arc;

use postgres::{Client, Statement};

use super::connect::Target;
use crate::error::Result;
use crate::waits::{ActiveSession, WaitReader};

/// Sessions that execute something. A session that waits for another one to end its transaction holds, or wants, the lock of the
/// row's version meanwhile: that names the table, the page and the row.
const ACTIVE: &str = "SELECT coalesce(a.wait_event_type || ':' || a.wait_event, 'CPU'), left(a.query, 400), \
     (SELECT left(coalesce(nullif(h.query, ''), h.state, ''), 400) FROM pg_stat_activity h \
       WHERE a.wait_event_type = 'Lock' AND h.pid = (pg_blocking_pids(a.pid))[1]), \
     (SELECT CASE WHEN l.page IS NULL THEN l.relation::regclass::text \
             ELSE l.relation::regclass || ' page ' || l.page || coalesce(' row ' || l.tuple, '') END \
        FROM pg_locks l WHERE a.wait_event_type = 'Lock' AND l.pid = a.pid AND l.relation IS NOT NULL \
         AND (l.locktype IN ('tuple', 'page') OR NOT l.granted) AND l.database = (SELECT oid FROM pg_database \
         WHERE datname = current_database()) ORDER BY l.page IS NULL LIMIT 1) \
     FROM pg_stat_activity a WHERE a.datname = current_database() AND a.state = 'active' AND a.pid <> pg_backend_pid()";

/// See [`WaitReader`].
pub(super) struct PostgresWaits {
    client: Client,
    target: Arc<Target>,
    active: Statement,
}

impl PostgresWaits {
    pub(super) fn open(target: &Arc<Target>) -> Result<PostgresWaits> {
        let mut client = target.connect()?;
        let active = client.prepare(ACTIVE).map_err(|e| target.failed("ask for the sessions of", e))?;
        Ok(PostgresWaits { client, target: target.clone(), active })
    }
}

impl WaitReader for PostgresWaits {
    fn read(&mut self) -> Result<Vec<ActiveSession>> {
        let rows = self
            .client
            .query(&self.active, &[])
            .map_err(|e| self.target.failed("ask for the sessions of", e))?;
        let session = |row: &postgres::Row| ActiveSession {
            wait: row.get(0),
            // Without the privilege to see it (pg_read_all_stats) there is none.
            statement: row.get::<_, Option<String>>(1).unwrap_or_default(),
            holder: row.get(2),
            object: row.get(3),
        };
        Ok(rows.iter().map(session).collect())
    }
}
