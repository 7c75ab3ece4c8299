//! TPROC-C in PostgreSQL, asked by psql what is really there.

use std::sync::Arc;

use iolite_db::{DatabaseUrl, Error};
use iolite_model::{Durability, Ending, ErrorCause, Nanos};
use iolite_oltp::tproc_c::{Database, open};

use crate::common::tproc_c::{
    CounterEdges, Endless, built, measured, task, transactions_agree, until_killed, users_work,
    users_work_on_partitions, violated, whole_cycles,
};
use crate::common::{Small, until};
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

fn go() -> bool {
    false
}

/// Only what carries iolite's mark is dropped, and only when nobody is in it.
#[test]
fn copies_that_are_not_ours_or_in_use_stay() {
    let Some(server) = Server::start() else { return };
    let database = database(&server);
    built(database.as_ref());
    let copies = || server.number("SELECT COUNT(*) FROM pg_database WHERE datname = 'iolite_iolite_copy'");
    // One without a comment: of the same owner, but not ours.
    server.psql("CREATE DATABASE iolite_iolite_copy");
    for refused in [database.copy(&go).map(drop), database.remove_copy()] {
        let refused = refused.unwrap_err();
        assert!(matches!(refused, Error::Unmarked { .. }), "{refused}");
        assert!(refused.to_string().contains("DROP DATABASE \"iolite_iolite_copy\""), "{refused}");
    }
    assert_eq!(copies(), 1);
    server.psql("DROP DATABASE iolite_iolite_copy");

    // Another run's, in which no user works yet.
    let copy = database.copy(&go).unwrap();
    let other = self::database(&server);
    for refused in [other.copy(&go).map(drop), other.remove_copy()] {
        let refused = refused.unwrap_err();
        assert!(matches!(refused, Error::Busy { .. }), "{refused}");
    }
    copy.layout().unwrap();
    drop(copy);
    database.remove_copy().unwrap();
    assert_eq!(copies(), 0);

    // One that a killed run left is removed by the purge, also when the schema is gone.
    drop(database.copy(&go).unwrap());
    drop(database);
    other.purge().unwrap();
    assert_eq!(copies(), 0);
    server.psql("CREATE DATABASE iolite_iolite_copy");
    server.psql(
        "COMMENT ON DATABASE iolite_iolite_copy IS 'created by iolite: copy of a TPROC-C database for a run'",
    );
    other.purge().unwrap();
    assert_eq!(copies(), 0);
}

/// The server undoes what is cancelled while it copies.
#[test]
fn a_cancelled_copy_leaves_nothing() {
    let Some(server) = Server::start() else { return };
    let database = database(&server);
    built(database.as_ref());
    assert!(matches!(database.copy(&|| true), Err(Error::Cancelled)));
    assert_eq!(server.number("SELECT COUNT(*) FROM pg_database WHERE datname LIKE '%copy'"), 0);
    drop(database.copy(&go).unwrap());
    database.remove_copy().unwrap();
}

/// The server undoes a copy that does not fit, whether it reports that or ends itself because its log has no space.
#[test]
fn a_copy_that_fills_the_disk_leaves_nothing_and_the_database_as_it_was() {
    // Dropped after the server, which has been stopped by then.
    let Some(small) = Small::new(400) else { return };
    let Some(server) = Server::start_in(tempfile::tempdir_in(small.path()).unwrap(), false) else { return };
    let database = database(&server);
    built(database.as_ref());
    let mine = "CREATE TABLE mine AS SELECT repeat('x', 1000) AS text FROM generate_series(1, 40000)";
    server.psql(mine);
    small.fill(16 << 20);
    let refused = database.copy(&go).map(drop).unwrap_err().to_string();
    let full = refused.contains(ErrorCause::PgFull.remedy());
    assert!(full || refused.contains(ErrorCause::ServerGone.remedy()), "{refused}");
    std::fs::remove_file(small.fill(0)).unwrap();
    until("the server's recovery", || {
        let recovered = database.layout().is_ok();
        if !recovered {
            // Refused while it recovers by itself.
            let _ = iolite_db::postgres::server::start(server.directory.path(), false);
        }
        recovered
    });
    assert_eq!(server.number("SELECT COUNT(*) FROM pg_database WHERE datname LIKE '%copy'"), 0);
    assert_eq!(server.number("SELECT COUNT(*) FROM mine"), 40_000);
    assert_eq!(violated(database.as_ref()), Vec::<String>::new());
    drop(database.copy(&go).unwrap());
    database.remove_copy().unwrap();
}

#[test]
fn tables_are_partitioned_by_warehouse() {
    let Some(server) = Server::start() else { return };
    let database = database(&server);
    let partitions = |table: &str| {
        let parent = format!("to_regclass('iolite_tproc_c.{table}')");
        server.number(&format!("SELECT COUNT(*) FROM pg_inherits WHERE inhparent = {parent}"))
    };
    users_work_on_partitions(&database, partitions, || {
        server.psql("DELETE FROM iolite_tproc_c.orders WHERE o_w_id = 2 AND o_d_id = 3 AND o_id = 5");
    });
    assert_eq!(server.number("SELECT COUNT(*) FROM pg_namespace WHERE nspname LIKE 'iolite%'"), 0);
}

/// A session reports what it has counted when a transaction ends, at most once per second (PGSTAT_MIN_INTERVAL), and tries again a
/// second later where another session is reporting at this very moment. Of the readings, the two queries before, at the start and at
/// the end are two transactions each: they are parsed, then executed.
#[test]
fn tpm_is_what_the_server_counts_over_the_measured_part() {
    let Some(server) = Server::start() else { return };
    let database = database(&server);
    built(database.as_ref());
    // Its workers' transactions are counted, too.
    server.psql("ALTER SYSTEM SET autovacuum = off");
    server.psql("SELECT pg_reload_conf()");
    let counter =
        "SELECT xact_commit + xact_rollback FROM pg_stat_database WHERE datname = current_database()";
    // Beside them, the checkpoints are read twice a second by a prepared statement.
    let edges = CounterEdges { delay: Nanos(2 * Nanos::SECOND.0), readings: 3 * 2 * 2 + 40 };
    transactions_agree(&database, &edges, || server.number(counter));
}

/// As many as the server counts, when it does; each start ends a cycle.
#[test]
fn checkpoints_of_the_measured_time_are_seen() {
    let Some(server) = Server::start() else { return };
    let database = database(&server);
    built(database.as_ref());
    database.settle().unwrap();
    let counted = || {
        server.number(match server.version() < 170_000 {
            true => "SELECT checkpoints_timed + checkpoints_req FROM pg_stat_bgwriter",
            false => "SELECT num_timed + num_requested FROM pg_stat_checkpointer",
        })
    };
    let before = counted();
    let load = Endless::start(&database, 2);
    let mut reader = database.reader().unwrap();
    let orders = reader.orders().unwrap();
    until("some orders", || reader.orders().unwrap() > orders + 20);
    // The start of a checkpoint is known to a second: each is in another one, and none in that in which the phase began.
    for _ in 0..2 {
        server.psql("SELECT pg_sleep(1.2)");
        server.psql("CHECKPOINT");
    }
    let counted = counted() - before;
    let cycles = load.end().cycles.unwrap();
    let seen = (cycles.started.len() as u64, cycles.within().len() as u64);
    assert!(counted >= 2 && seen == (counted, counted), "{counted} by the server, {cycles:?}");
    let [start, end] = cycles.at;
    assert!((cycles.cycles - (counted as f64 + end - start)).abs() < 1e-6, "{cycles:?}");
    assert!(
        cycles.started.is_sorted() && cycles.due.time == Some(Nanos(300 * Nanos::SECOND.0)),
        "{cycles:?}"
    );
}

#[test]
fn a_server_that_does_not_report_its_checkpoints_is_asked_once() {
    let Some(server) = Server::start() else { return };
    let database = database(&server);
    built(database.as_ref());
    assert!(database.reader().unwrap().checkpoints().unwrap().is_some());
    server.psql("ALTER FUNCTION pg_catalog.pg_control_checkpoint() RENAME TO pg_control_checkpoint_of_yore");
    assert!(database.reader().unwrap().checkpoints().unwrap().is_none());
}

/// A checkpoint is due each time that a segment of the log is full.
#[test]
fn a_run_ends_when_whole_cycles_of_checkpoints_were_measured() {
    let Some(server) = Server::start() else { return };
    let database = database(&server);
    built(database.as_ref());
    server.psql("ALTER SYSTEM SET max_wal_size = '32MB'");
    server.psql("SELECT pg_reload_conf()");
    let phase = whole_cycles(&database);
    let cycles = phase.cycles.unwrap();
    assert!(cycles.has_starts && !cycles.started.is_empty(), "{cycles:?}");
    assert_eq!(cycles.due.log.map(|log| log.0), Some(16 << 20));
}

#[test]
fn a_server_killed_in_mid_run_has_kept_every_order() {
    let Some(mut server) = Server::start() else { return };
    let loaded = database(&server);
    built(loaded.as_ref());
    let killed = until_killed(loaded, || server.kill());
    let ending = &killed.phase.outcome.ending;
    assert!(matches!(ending, Ending::Failed(_)), "{ending:?}");
    assert!(killed.phase.counted.is_none());
    server.restart();
    let restarted = database(&server);
    killed.kept_every_order(restarted.as_ref());
    assert_eq!(violated(restarted.as_ref()), Vec::<String>::new());
    let phase = measured(&restarted, &task(2, 46, true));
    assert_eq!(phase.outcome.ending, Ending::Completed);
    assert_eq!(violated(restarted.as_ref()), Vec::<String>::new());
}

/// The server refuses what does not fit, or ends itself because its log has no space.
#[test]
fn a_disk_that_is_full_in_mid_run_loses_no_order() {
    // Dropped after the server, which has been stopped by then.
    let Some(small) = Small::new(400) else { return };
    let Some(server) = Server::start_in(tempfile::tempdir_in(small.path()).unwrap(), false) else { return };
    let loaded = database(&server);
    built(loaded.as_ref());
    let filled = until_killed(loaded.clone(), || drop(small.fill(64 << 10)));
    let Ending::Failed(error) = &filled.phase.outcome.ending else {
        panic!("{:?}", filled.phase.outcome.ending)
    };
    let full = error.contains(ErrorCause::PgFull.remedy());
    assert!(full || error.contains(ErrorCause::ServerGone.remedy()), "{error}");
    std::fs::remove_file(small.fill(0)).unwrap();
    until("the server's recovery", || {
        let recovered = loaded.layout().is_ok();
        if !recovered {
            // Refused while it recovers by itself.
            let _ = iolite_db::postgres::server::start(server.directory.path(), false);
        }
        recovered
    });
    filled.kept_every_order(loaded.as_ref());
    assert_eq!(violated(loaded.as_ref()), Vec::<String>::new());
    assert_eq!(measured(&loaded, &task(2, 46, true)).outcome.ending, Ending::Completed);
}

#[test]
fn warehouses_are_spread_over_pages_and_put_back() {
    let Some(server) = Server::start() else { return };
    let database = database(&server);
    built(database.as_ref());
    let pages =
        || server.number("SELECT count(DISTINCT (ctid::text::point)[0]) FROM iolite_tproc_c.warehouse");
    let columns =
        || server.number("SELECT count(*) FROM information_schema.columns WHERE table_name = 'warehouse'");
    assert_eq!((pages(), columns()), (1, 9));
    for _ in 0..2 {
        database.spread_warehouses(true).unwrap();
        assert_eq!((pages(), columns()), (2, 10));
    }
    let phase = measured(&database, &task(2, 92, true));
    assert_eq!(phase.outcome.ending, Ending::Completed);
    assert_eq!(violated(database.as_ref()), Vec::<String>::new());
    assert_eq!(pages(), 2, "new versions of a row stay in its page");
    database.spread_warehouses(false).unwrap();
    assert_eq!((pages(), columns()), (1, 9));
}

#[test]
fn who_waits_for_whom_and_for_which_page_is_seen() {
    let Some(server) = Server::start() else { return };
    let database = database(&server);
    built(database.as_ref());
    let pay = "UPDATE iolite_tproc_c.warehouse SET w_ytd = w_ytd WHERE w_id = 1";
    let connect = || ::postgres::Client::connect(&server.url, ::postgres::NoTls).unwrap();
    let mut holder = connect();
    holder.batch_execute(&format!("BEGIN; {pay}")).unwrap();
    let mut waiting = connect();
    let waiter = std::thread::spawn(move || waiting.batch_execute(pay).unwrap());
    let mut reader = database.instance().wait_reader().unwrap().unwrap();
    let mut seen = Vec::new();
    until("a session that waits", || {
        seen = reader.read().unwrap().active;
        seen.iter().any(|session| session.holder.is_some() && session.object.is_some())
    });
    holder.batch_execute("COMMIT").unwrap();
    waiter.join().unwrap();
    let session = seen.iter().find(|session| session.holder.is_some()).unwrap();
    assert!(session.wait.starts_with("Lock:") && session.statement == pay, "{session:?}");
    assert!(session.holder.as_ref().unwrap().contains("UPDATE"), "{session:?}");
    let object = session.object.as_ref().unwrap();
    assert_eq!((object.table.as_str(), object.page), ("iolite_tproc_c.warehouse", Some(0)), "{session:?}");
    assert!(object.row.is_some(), "{session:?}");
    let rows = server.number("SELECT count(*) FROM iolite_tproc_c.warehouse WHERE ctid::text LIKE '(0,%'");
    assert_eq!(reader.rows_in(&object.table, 0), Some(rows));
    assert_eq!(reader.rows_in("iolite_tproc_c.warehouse_of_none", 0), None);
}

#[test]
fn sessions_hidden_from_a_role_are_counted_until_it_may_see_them() {
    let Some(server) = Server::start() else { return };
    server.psql("CREATE ROLE weak LOGIN");
    let connect = || ::postgres::Client::connect(&server.url, ::postgres::NoTls).unwrap();
    let mut sessions = [connect(), connect()];
    sessions[0].batch_execute("BEGIN; LOCK TABLE pg_description IN ACCESS EXCLUSIVE MODE").unwrap();
    let [mut holder, mut waiting] = sessions;
    let statement = "SELECT count(*) FROM pg_description";
    let waiter = std::thread::spawn(move || waiting.batch_execute(statement).unwrap());
    until("a session that waits", || server.number("SELECT count(*) FROM pg_locks WHERE NOT granted") == 1);
    let url = server.url.replacen("iolite@", "weak@", 1);
    let instance = || open(&DatabaseUrl::parse(&url).unwrap(), Durability::AsConfigured).unwrap().instance();
    let mut reader = instance().wait_reader().unwrap().unwrap();
    let seen = reader.read().unwrap();
    assert_eq!((seen.active.len(), seen.hidden), (0, 2), "{seen:?}");
    assert!(reader.remedy().contains("GRANT pg_read_all_stats TO weak"), "{}", reader.remedy());
    server.psql("GRANT pg_monitor TO weak");
    let seen = instance().wait_reader().unwrap().unwrap().read().unwrap();
    holder.batch_execute("ROLLBACK").unwrap();
    waiter.join().unwrap();
    assert_eq!((seen.active.len(), seen.hidden), (1, 0), "{seen:?}");
    let session = &seen.active[0];
    assert_eq!((session.wait.as_str(), session.statement.as_str()), ("Lock:relation", statement));
    assert!(session.holder.as_ref().unwrap().contains("LOCK TABLE"), "{session:?}");
}

/// A database in SQL_ASCII takes and shows any bytes.
#[test]
fn a_statement_that_is_no_text_is_seen() {
    let Some(server) = Server::start() else { return };
    server.psql("CREATE DATABASE raw ENCODING 'SQL_ASCII' LOCALE 'C' TEMPLATE template0");
    let url = server.url.replace("/iolite?", "/raw?");
    let script = server.directory.path().join("script.sql");
    std::fs::write(&script, b"SELECT pg_sleep(600), '\xff\xfe';").unwrap();
    let mut psql = std::process::Command::new("psql");
    let mut sleeping = psql.args(["-X", "-q", &url, "-f"]).arg(&script).spawn().unwrap();
    let instance = open(&DatabaseUrl::parse(&url).unwrap(), Durability::AsConfigured).unwrap();
    let mut reader = instance.instance().wait_reader().unwrap().unwrap();
    let mut statement = String::new();
    until("a session that executes something", || {
        let active = reader.read().unwrap().active;
        let found = active.into_iter().find(|session| session.statement.contains("pg_sleep"));
        statement = found.map(|session| session.statement).unwrap_or_default();
        !statement.is_empty()
    });
    server.psql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'SELECT pg_sleep%'");
    assert!(!sleeping.wait().unwrap().success());
    assert!(statement.contains('\u{fffd}'), "{statement:?}");
}
