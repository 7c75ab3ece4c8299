//! TPROC-C in PostgreSQL, asked by psql what is really there.

use std::sync::Arc;

use iolite_db::{DatabaseUrl, Error};
use iolite_model::{Durability, Ending};
use iolite_oltp::tproc_c::{Database, open};

use crate::common::tproc_c::{built, measured, task, until_killed, users_work, violated};
use crate::harness::Server;

fn database(server: &Server) -> Arc<dyn Database> {
    open(&DatabaseUrl::parse(&server.url).unwrap(), Durability::Full).unwrap()
}

#[test]
fn users_work_as_statements_and_as_procedures() {
    let Some(server) = Server::start() else { return };
    let database = database(&server);
    assert!(matches!(database.layout(), Err(Error::Missing { .. })));
    database.purge().unwrap();
    built(database.as_ref());
    let lines = server.number("SELECT COUNT(*) FROM iolite_tproc_c.order_line");
    assert_eq!(server.number("SELECT SUM(o_ol_cnt) FROM iolite_tproc_c.orders"), lines);
    assert_eq!(server.number("SELECT COUNT(*) FROM iolite_tproc_c.stock"), 2000);
    users_work(&database, "iolite_tproc_c.", |sql| server.number(sql));

    server.psql("DELETE FROM iolite_tproc_c.orders WHERE o_w_id = 2 AND o_d_id = 3 AND o_id = 5");
    assert_eq!(violated(database.as_ref()), ["4", "orders"]);
    // What others have put into our schema keeps it, and is named by the server.
    server.psql("CREATE TABLE iolite_tproc_c.stranger (a int)");
    assert!(database.purge().is_err());
    server.psql("DROP TABLE iolite_tproc_c.stranger");
    database.purge().unwrap();
    assert_eq!(server.number("SELECT COUNT(*) FROM pg_namespace WHERE nspname LIKE 'iolite%'"), 0);
    server.psql("CREATE SCHEMA iolite_tproc_c");
    assert!(matches!(database.purge(), Err(Error::Foreign { .. })));
}

#[test]
fn a_server_killed_in_mid_run_has_kept_every_order() {
    let Some(mut server) = Server::start() else { return };
    let loaded = database(&server);
    built(loaded.as_ref());
    let phase = until_killed(loaded, || server.kill());
    assert!(matches!(phase.outcome.ending, Ending::Failed(_)), "{:?}", phase.outcome.ending);
    assert!(phase.counted.is_none());
    server.restart();
    let restarted = database(&server);
    assert_eq!(violated(restarted.as_ref()), Vec::<String>::new());
    let phase = measured(&restarted, &task(2, 46, true));
    assert_eq!(phase.outcome.ending, Ending::Completed);
    assert_eq!(violated(restarted.as_ref()), Vec::<String>::new());
}
