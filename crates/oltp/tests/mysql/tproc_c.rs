//! TPROC-C in MariaDB, asked by its own client what is really there.

use std::process::Command;
use std::sync::Arc;

use iolite_db::mysql::server::{self, Options};
use iolite_db::{DatabaseUrl, Error};
use iolite_model::{Durability, Ending, ErrorCause, Nanos};
use iolite_oltp::tproc_c::{Database, build, open};

use crate::common::tproc_c::{
    CounterEdges, Endless, built, layout, measured, task, transactions_agree, until_killed, users_work,
    users_work_on_partitions, violated, whole_cycles,
};
use crate::common::{Small, go, until};
use crate::harness::Server;

fn database(server: &Server) -> Arc<dyn Database> {
    open(&DatabaseUrl::parse(&server.started.url).unwrap(), Durability::Full).unwrap()
}

#[test]
fn users_work_as_statements_and_as_procedures() {
    let Some(server) = Server::start(&Options::default()) else { return };
    let database = database(&server);
    assert!(matches!(database.layout(), Err(Error::Missing { .. })));
    database.purge().unwrap();
    built(database.as_ref());
    let lines = server.count("SELECT COUNT(*) FROM tproc_c_order_line");
    assert_eq!(server.count("SELECT SUM(o_ol_cnt) FROM tproc_c_orders"), lines);
    assert_eq!(server.count("SELECT COUNT(*) FROM tproc_c_stock"), 2000);
    users_work(&database, "tproc_c_", |sql| server.count(sql));

    server.ask("DELETE FROM tproc_c_orders WHERE o_w_id = 2 AND o_d_id = 3 AND o_id = 5");
    assert_eq!(violated(database.as_ref()), ["4", "orders"]);
    database.purge().unwrap();
    let ours = "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = 'iolite'";
    assert_eq!(server.count(ours), 0);
    assert_eq!(
        server.count("SELECT COUNT(*) FROM information_schema.routines WHERE routine_schema = 'iolite'"),
        0
    );
    server.ask("CREATE TABLE tproc_c_catalogue (a INT)");
    assert!(matches!(database.purge(), Err(Error::Foreign { .. })));
}

/// MariaDB commits each CREATE: the removal of what was created until one fails must not remove anybody else's.
#[test]
fn tables_of_others_stay() {
    let Some(server) = Server::start(&Options::default()) else { return };
    let database = database(&server);
    for (kind, name, what) in [
        ("TABLE", "tproc_c_stock", " (mine INT)"),
        ("VIEW", "tproc_c_item", " AS SELECT 1 AS mine"),
        ("PROCEDURE", "tproc_c_payment_txn", "() SELECT 1"),
    ] {
        server.ask(&format!("CREATE {kind} {name}{what}"));
        let refused = build(database.as_ref(), layout(), 2, 5, &mut go).unwrap_err();
        assert!(
            matches!(&refused, Error::Foreign { path } if path.to_string_lossy().ends_with(name)),
            "{refused}"
        );
        database.purge().unwrap();
        let sql = "SELECT (SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = DATABASE()) \
                   + (SELECT COUNT(*) FROM information_schema.routines WHERE routine_schema = DATABASE())";
        assert_eq!(server.count(sql), 1, "{kind} {name}");
        server.ask(&format!("DROP {kind} {name}"));
    }
}

/// A session that never ends its transaction keeps a table, but nobody waiting for a day.
#[test]
fn a_purge_that_others_keep_waiting_ends_with_its_remedy() {
    use ::mysql::prelude::Queryable;
    let Some(server) = Server::start(&Options::default()) else { return };
    let database = database(&server);
    built(database.as_ref());
    let mut other = ::mysql::Conn::new(server.started.url.as_str()).unwrap();
    other.query_drop("BEGIN").unwrap();
    other.query_drop("SELECT COUNT(*) FROM tproc_c_item").unwrap();
    let refused = database.purge().unwrap_err().to_string();
    assert!(refused.contains(ErrorCause::MyLocked.remedy()), "{refused}");
    drop(other);
    database.purge().unwrap();
    assert_eq!(server.ask("SHOW TABLES"), "");
}

#[test]
fn tables_are_partitioned_by_warehouse() {
    let Some(server) = Server::start(&Options::default()) else { return };
    let database = database(&server);
    let partitions = |table: &str| {
        server.count(&format!(
            "SELECT COUNT(partition_name) FROM information_schema.partitions WHERE table_schema = 'iolite' \
             AND table_name = 'tproc_c_{table}'"
        ))
    };
    users_work_on_partitions(&database, partitions, || {
        server.ask("DELETE FROM tproc_c_orders WHERE o_w_id = 2 AND o_d_id = 3 AND o_id = 5");
    });
}

/// Commits and rollbacks are counted at once, when the statement begins; reading the counters is neither.
#[test]
fn tpm_is_what_the_server_counts_over_the_measured_part() {
    let Some(server) = Server::start(&Options::default()) else { return };
    let database = database(&server);
    built(database.as_ref());
    let counter = "SELECT CAST(SUM(VARIABLE_VALUE) AS UNSIGNED) FROM information_schema.GLOBAL_STATUS \
                   WHERE VARIABLE_NAME IN ('COM_COMMIT', 'COM_ROLLBACK')";
    let edges = CounterEdges { delay: Nanos(0), readings: 0 };
    transactions_agree(&database, &edges, || server.count(counter));
}

/// A cycle is as much redo log as the largest checkpoint age, by the server's own variables.
#[test]
fn a_run_ends_when_the_redo_log_was_turned_over() {
    let small = Options { more: vec!["--innodb-log-file-size=8M".into()], ..Options::default() };
    let Some(server) = Server::start(&small) else { return };
    let database = database(&server);
    built(database.as_ref());
    let variable = |name: &str| {
        server.count(&format!(
            "SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS WHERE VARIABLE_NAME = '{name}'"
        ))
    };
    let (before, max) = (variable("INNODB_LSN_CURRENT"), variable("INNODB_CHECKPOINT_MAX_AGE"));
    let phase = whole_cycles(&database);
    let written = (variable("INNODB_LSN_CURRENT") - before) as f64 / max as f64;
    let cycles = phase.cycles.unwrap();
    assert_eq!((cycles.has_starts, cycles.due.log.map(|log| log.0)), (false, Some(max)));
    assert!(cycles.cycles <= written && cycles.cycles > 0.5 * written, "{written}: {cycles:?}");
    let [start, end] = cycles.age.unwrap();
    assert!((0.0..1.1).contains(&start) && (0.0..1.1).contains(&end), "{cycles:?}");
}

/// Sessions that wait within InnoDB are shown by a server that keeps such waits; of one that does not, that is a gap with its remedy.
#[test]
fn waits_within_innodb_are_seen_where_the_server_keeps_them() {
    let usual = Server::start(&Options::default());
    let Some(usual) = usual else { return };
    let gap = database(&usual).instance().wait_reader().unwrap().unwrap().gap().unwrap();
    assert!(gap.contains("performance_schema = ON"), "{gap}");
    drop(usual);
    let kept = [
        "--performance-schema=ON",
        "--performance-schema-instrument=wait/synch/%/innodb/%=ON",
        "--performance-schema-instrument=wait/io/file/innodb/%=ON",
        "--performance-schema-instrument=wait/io/table/%=ON",
        "--performance-schema-consumer-events-waits-current=ON",
    ];
    let more = kept.map(str::to_owned).to_vec();
    let Some(server) = Server::start(&Options { more, ..Options::default() }) else { return };
    let database = database(&server);
    built(database.as_ref());
    let load = Endless::start(&database, 4);
    let mut reader = database.instance().wait_reader().unwrap().unwrap();
    assert_eq!(reader.gap(), None);
    let (mut seen, mut samples) = (std::collections::BTreeSet::new(), 0);
    until("a wait within InnoDB", || {
        seen.extend(reader.read().unwrap().active.into_iter().map(|session| session.wait));
        samples += 1;
        samples >= 100 && seen.iter().any(|wait| wait.starts_with("wait/") && wait.contains("/innodb/"))
    });
    load.end();
    assert!(!seen.iter().any(|wait| wait.starts_with("wait/io/table/")), "{seen:?}");
    server.ask(
        "UPDATE performance_schema.setup_consumers SET ENABLED = 'NO' WHERE NAME = 'events_waits_current'",
    );
    let gap = database.instance().wait_reader().unwrap().unwrap().gap().unwrap();
    assert!(gap.contains("UPDATE performance_schema.setup_consumers"), "{gap}");
}

#[test]
fn a_server_killed_in_mid_run_has_kept_every_order() {
    let Some(mut server) = Server::start(&Options::default()) else { return };
    let loaded = database(&server);
    built(loaded.as_ref());
    let pid = server.started.pid;
    let killed = until_killed(loaded, || {
        assert!(Command::new("kill").args(["-9", &pid.to_string()]).status().unwrap().success());
    });
    let ending = &killed.phase.outcome.ending;
    assert!(matches!(ending, Ending::Failed(_)), "{ending:?}");
    assert!(killed.phase.counted.is_none());
    until("a start", || match server::start(server.directory.path(), &Options::default()) {
        Ok(started) => {
            server.started = started;
            true
        }
        Err(_) => false,
    });
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
    let Some(small) = Small::new(700) else { return };
    let directory = tempfile::tempdir_in(small.path()).unwrap();
    let Some(server) = Server::start_in(directory, &Options::default()) else { return };
    let loaded = database(&server);
    built(loaded.as_ref());
    let filled = until_killed(loaded.clone(), || drop(small.fill(64 << 10)));
    let Ending::Failed(error) = &filled.phase.outcome.ending else {
        panic!("{:?}", filled.phase.outcome.ending)
    };
    let full = error.contains(ErrorCause::MyFull.remedy());
    assert!(full || error.contains(ErrorCause::ServerGone.remedy()), "{error}");
    std::fs::remove_file(small.fill(0)).unwrap();
    until("the server's recovery", || {
        let recovered = loaded.layout().is_ok();
        if !recovered {
            // Refused while it recovers by itself.
            let _ = iolite_db::mysql::server::start(server.directory.path(), &Options::default());
        }
        recovered
    });
    filled.kept_every_order(loaded.as_ref());
    assert_eq!(violated(loaded.as_ref()), Vec::<String>::new());
    assert_eq!(measured(&loaded, &task(2, 46, true)).outcome.ending, Ending::Completed);
}

#[test]
fn warehouses_are_spread_over_pages_and_put_back() {
    let Some(server) = Server::start(&Options::default()) else { return };
    let database = database(&server);
    built(database.as_ref());
    let files = || {
        let files = std::fs::read_dir(server.directory.path().join("data/iolite")).unwrap();
        let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
        names.filter(|name| name.starts_with("tproc_c_warehouse") && name.ends_with(".ibd")).count()
    };
    assert_eq!(files(), 1);
    for _ in 0..2 {
        database.spread_warehouses(true).unwrap();
        assert_eq!(files(), 2, "a tree each");
    }
    for procedures in [false, true] {
        let phase = measured(&database, &task(2, 92, procedures));
        assert_eq!(phase.outcome.ending, Ending::Completed);
    }
    assert_eq!(violated(database.as_ref()), Vec::<String>::new());
    database.spread_warehouses(false).unwrap();
    assert_eq!(files(), 1);
}

/// The server's own client reads the same variables.
#[test]
fn what_the_page_cleaner_has_to_write_is_read() {
    let Some(server) = Server::start(&Options::default()) else { return };
    let database = database(&server);
    built(database.as_ref());
    let variable = |name: &str| {
        server.count(&format!(
            "SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS WHERE VARIABLE_NAME = '{name}'"
        ))
    };
    let read = || database.instance().write_back().unwrap();
    let value = |name: &str| {
        let read = read();
        let found = read.iter().find(|value| value.name == name);
        found.unwrap_or_else(|| panic!("{name}: {read:?}")).value
    };
    assert_eq!(value("max_checkpoint_age_bytes"), variable("INNODB_CHECKPOINT_MAX_AGE") as f64);
    assert!(value("checkpoint_age_bytes") > 0.0, "{:?}", read());
    assert_eq!(measured(&database, &task(2, 92, true)).outcome.ending, Ending::Completed);
    let flushed = value("pages_flushed");
    database.settle().unwrap();
    assert!(value("pages_flushed") > flushed, "the changed pages of the tables are written: {:?}", read());
    assert!(value("free_page_waits") >= 0.0 && value("log_buffer_waits") >= 0.0);
}

#[test]
fn who_waits_for_whom_and_for_which_page_is_seen() {
    use ::mysql::prelude::Queryable;
    let Some(server) = Server::start(&Options::default()) else { return };
    let database = database(&server);
    built(database.as_ref());
    let pay = "UPDATE tproc_c_warehouse SET w_ytd = w_ytd + 1 WHERE w_id = 1";
    let connect = || ::mysql::Conn::new(::mysql::Opts::from_url(&server.started.url).unwrap()).unwrap();
    let mut holder = connect();
    holder.query_drop("BEGIN").unwrap();
    holder.query_drop(pay).unwrap();
    let mut waiting = connect();
    let waiter = std::thread::spawn(move || waiting.query_drop(pay).unwrap());
    let mut reader = database.instance().wait_reader().unwrap().unwrap();
    let mut seen = Vec::new();
    until("a session that waits", || {
        seen = reader.read().unwrap().active;
        seen.iter().any(|session| session.holder.is_some())
    });
    holder.query_drop("COMMIT").unwrap();
    waiter.join().unwrap();
    let session = seen.iter().find(|session| session.holder.is_some()).unwrap();
    assert!(session.wait == "Lock:row" && session.statement == pay, "{session:?}");
    let object = session.object.as_ref().unwrap();
    assert_eq!(object.table, "iolite.tproc_c_warehouse index PRIMARY", "{session:?}");
    assert!(object.page.is_some() && object.row.is_some(), "{session:?}");
    assert_eq!(reader.rows_in(&object.table, object.page.unwrap()), Some(2), "a row for each warehouse");
}

#[test]
fn sessions_hidden_from_an_account_are_counted_until_it_may_see_them() {
    use ::mysql::prelude::Queryable;
    let Some(server) = Server::start(&Options::default()) else { return };
    server.ask("CREATE USER weak@localhost IDENTIFIED BY 'secret'; GRANT ALL ON iolite.* TO weak@localhost");
    let mut others = ::mysql::Conn::new(::mysql::Opts::from_url(&server.started.url).unwrap()).unwrap();
    let number: u64 = others.query_first("SELECT CONNECTION_ID()").unwrap().unwrap();
    let sleeping = std::thread::spawn(move || others.query_drop("SELECT SLEEP(600)"));
    let asleep = format!(
        "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE ID = {number} AND STATE = 'User sleep'"
    );
    until("a session that executes something", || server.count(&asleep) == 1);
    let url = server.url(&format!("root:{}", server.password()), "weak:secret");
    let instance = || open(&DatabaseUrl::parse(&url).unwrap(), Durability::AsConfigured).unwrap().instance();
    let mut reader = instance().wait_reader().unwrap().unwrap();
    // The client that asked before may still be on its way out.
    let mut seen = iolite_db::Sample::default();
    until("one hidden session", || {
        seen = reader.read().unwrap();
        seen.hidden == 1
    });
    assert!(seen.active.is_empty(), "{seen:?}");
    assert!(reader.remedy().contains("GRANT PROCESS ON *.*"), "{}", reader.remedy());
    server.ask("GRANT PROCESS ON *.* TO weak@localhost");
    let seen = instance().wait_reader().unwrap().unwrap().read().unwrap();
    server.ask(&format!("KILL {number}"));
    assert!(sleeping.join().unwrap().is_err());
    assert_eq!((seen.active.len(), seen.hidden), (1, 0), "{seen:?}");
    assert_eq!(seen.active[0].statement, "SELECT SLEEP(600)");
}

/// A statement holds the bytes of its literals, whatever they are.
#[test]
fn a_statement_that_is_no_text_is_seen() {
    use ::mysql::prelude::Queryable;
    let Some(server) = Server::start(&Options::default()) else { return };
    let mut others = ::mysql::Conn::new(::mysql::Opts::from_url(&server.started.url).unwrap()).unwrap();
    let number: u64 = others.query_first("SELECT CONNECTION_ID()").unwrap().unwrap();
    // Of a statement in a procedure, the server shows the values of its variables; bytes of half a surrogate pair count as text.
    others.query_drop("CREATE PROCEDURE hold(bytes VARBINARY(8)) SELECT SLEEP(600), bytes").unwrap();
    let sleeping = std::thread::spawn(move || others.query_drop("CALL hold(0xeda080)"));
    let instance = open(&DatabaseUrl::parse(&server.started.url).unwrap(), Durability::AsConfigured).unwrap();
    let mut reader = instance.instance().wait_reader().unwrap().unwrap();
    let mut statement = String::new();
    until("a session that executes something", || {
        let active = reader.read().unwrap().active;
        let found = active.into_iter().find(|session| session.statement.contains("SLEEP(600)"));
        statement = found.map(|session| session.statement).unwrap_or_default();
        !statement.is_empty()
    });
    server.ask(&format!("KILL {number}"));
    assert!(sleeping.join().unwrap().is_err());
    assert!(statement.starts_with("SELECT SLEEP(600),") && statement.contains('\u{fffd}'), "{statement:?}");
}
