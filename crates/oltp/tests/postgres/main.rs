//! The PostgreSQL adapter against a real server: a private one per test, asked by psql what is really there.
#![cfg(feature = "postgres")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)]

mod causes;
#[path = "../common/mod.rs"]
mod common;
mod harness;
mod ranges;
mod replication;
mod tproc_c;

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use iolite_db::postgres::server;
use iolite_db::{Error, Unseen};
use iolite_model::{Bytes, Durability, ErrorCause, Nanos, OpKind};
use iolite_oltp::ran::{Adapter, Batch, Cycle, RanPostgres, Settings, Timed};

use common::{Small, go, produced, until};
use harness::Server;

const MIB: u64 = 1 << 20;

fn batch(cycles: Vec<Cycle>) -> Batch {
    Batch { cycles, limit: Nanos(60_000_000_000) }
}

fn kinds(done: &[Timed]) -> Vec<OpKind> {
    done.iter().map(|timed| timed.kind).collect()
}

#[test]
fn the_whole_life_agrees_with_psql() {
    let Some(server) = Server::start() else { return };
    let database = server.open();
    assert!(matches!(database.sizes(), Err(Error::Missing { .. })));
    assert!(matches!(database.within(0), Err(Error::Missing { .. })));
    database.purge().unwrap();

    let mut reported = Vec::new();
    database
        .setup(Bytes(8 * MIB), &mut |done, total| {
            reported.push((done, total));
            ControlFlow::Continue(())
        })
        .unwrap();
    assert_eq!(reported.last(), Some(&(8 * MIB, 8 * MIB)));
    assert!(reported.is_sorted());
    assert_eq!(database.blocks().unwrap(), 1024);
    assert_eq!(server.number("SELECT count(*) FROM iolite.\"Blocks1\""), 1024);
    assert_eq!(server.number("SELECT count(DISTINCT payload) FROM iolite.\"Blocks1\""), 1024);
    // From 16 on COPY leaves some empty pages behind the rows.
    let size = server.number("SELECT pg_relation_size('iolite.\"Blocks1\"')");
    assert!((8 * MIB..=9 * MIB).contains(&size), "{size}");
    assert_eq!(server.psql("SELECT max(ctid) FROM iolite.\"Blocks1\""), "(1023,1)");
    assert!(matches!(database.setup(Bytes(8 * MIB), &mut go), Err(Error::Exists { .. })));

    database.add_globals(2, 3000, &mut go).unwrap();
    let mut last = (0, 0);
    database
        .add_globals(1, 500, &mut |done, total| {
            last = (done, total);
            ControlFlow::Continue(())
        })
        .unwrap();
    assert_eq!(last, (500, 500));
    assert_eq!(database.sizes().unwrap(), [3000, 3000, 500]);
    assert_eq!(database.count_subscripts(&mut go).unwrap(), [3000, 3000, 500]);
    assert_eq!(server.number("SELECT count(*) FROM iolite.\"RanWriteGlobal2\""), 3000);
    let odd = "SELECT count(*) FROM iolite.\"RanWriteGlobal2\" WHERE length(value) <> 50 + subscript % 51";
    assert_eq!(server.number(odd), 0);
    assert_eq!(server.number("SELECT count(DISTINCT value) FROM iolite.\"RanWriteGlobal2\""), 3000);
    assert!(database.size().unwrap().0 > 8 * MIB);

    server.psql("DELETE FROM iolite.\"RanWriteGlobal1\" WHERE subscript <= 7");
    assert_eq!(database.count_subscripts(&mut go).unwrap()[0], 2993);

    database.drop_globals().unwrap();
    assert_eq!(database.sizes().unwrap(), [0; 0]);
    assert_eq!(database.blocks().unwrap(), 1024);
    database.purge().unwrap();
    assert_eq!(server.number("SELECT count(*) FROM pg_namespace WHERE nspname = 'iolite'"), 0);
    assert_eq!(server.number("SELECT count(*) FROM pg_extension WHERE extname <> 'plpgsql'"), 0);
    database.purge().unwrap();
}

#[test]
fn batches_within_are_done_in_order_and_timed() {
    let Some(server) = Server::start() else { return };
    let database = server.open();
    database.setup(Bytes(4 * MIB), &mut go).unwrap();
    database.add_globals(2, 2000, &mut go).unwrap();
    let mut within = database.within(1).unwrap().unwrap();
    assert_eq!(within.subscripts(), 2000);
    within.prepare(true, true).unwrap();
    let before =
        server.psql("SELECT md5(string_agg(value, '' ORDER BY subscript)) FROM iolite.\"RanWriteGlobal1\"");
    let value = |subscript: u64| {
        server.psql(&format!(
            "SELECT encode(value, 'hex') FROM iolite.\"RanWriteGlobal2\" WHERE subscript = {subscript}"
        ))
    };
    let old: Vec<String> = [1, 2000, 5].into_iter().map(value).collect();

    let mut done = Vec::new();
    let cycles = vec![
        Cycle::Sets(vec![1, 2000, 1]),
        Cycle::Reads(vec![511, 0]),
        Cycle::Reads(Vec::new()),
        Cycle::Sets(vec![5]),
    ];
    let wall = Instant::now();
    within.perform(&batch(cycles), &mut done).unwrap();
    let wall = wall.elapsed().as_nanos() as i64;
    assert_eq!(
        kinds(&done),
        ["write", "write", "write", "commit", "read", "read", "write", "commit"]
            .map(|name| OpKind::named(name).unwrap())
    );
    let bytes: Vec<u64> = done.iter().map(|timed| timed.bytes.0).collect();
    assert_eq!(bytes, [51, 61, 51, 0, 8192, 8192, 55, 0]);
    assert!(done.iter().all(|timed| timed.ended >= timed.started));
    assert!(done.windows(2).all(|pair| pair[1].started >= pair[0].ended), "{done:?}");
    assert!(done.last().unwrap().ended - done[0].started <= wall);

    for (subscript, old) in [1, 2000, 5].into_iter().zip(old) {
        let new = value(subscript);
        assert_ne!(new, old);
        assert_eq!(new.len(), old.len());
    }
    let after =
        server.psql("SELECT md5(string_agg(value, '' ORDER BY subscript)) FROM iolite.\"RanWriteGlobal1\"");
    assert_eq!(before, after, "another worker's global has changed");
    the_limit_is_kept(&database);
    what_is_not_there_is_refused(&database);
}

fn the_limit_is_kept(database: &RanPostgres) {
    let mut within = database.within(0).unwrap().unwrap();
    let mut done = Vec::new();
    // Far more than there is time for: a transaction begun is ended.
    let cycles = vec![Cycle::Sets(vec![1, 2]); 100_000];
    let began = Instant::now();
    within.perform(&Batch { cycles, limit: Nanos(300_000_000) }, &mut done).unwrap();
    assert!(began.elapsed() >= Duration::from_millis(299), "it goes on until the limit");
    // It is the limit that ends it, after a whole transaction.
    assert!(done.len() % 3 == 0 && (3..300_000).contains(&done.len()), "{}", done.len());
    // No time at all: nothing. Reads end in the middle of a cycle.
    done.clear();
    let reads = Cycle::Reads((0..512).cycle().take(200_000).collect());
    within.perform(&Batch { limit: Nanos(0), ..batch(vec![reads.clone()]) }, &mut done).unwrap();
    assert_eq!(done.len(), 0);
    within.perform(&Batch { limit: Nanos(1_000_000), ..batch(vec![reads]) }, &mut done).unwrap();
    assert!((1..200_000).contains(&done.len()), "{}", done.len());
}

fn what_is_not_there_is_refused(database: &RanPostgres) {
    let mut done = Vec::new();
    let mut within = database.within(0).unwrap().unwrap();
    let mut refusal = |cycle| within.perform(&batch(vec![cycle]), &mut done).unwrap_err();
    assert!(matches!(refusal(Cycle::Reads(vec![0, 512])), Error::NoBlock { number: 512, blocks: 512 }));
    assert!(matches!(refusal(Cycle::Sets(vec![2001])), Error::NoSubscript { subscript: 2001, .. }));
    assert!(matches!(refusal(Cycle::Sets(vec![0])), Error::NoSubscript { subscript: 0, .. }));
    let mut none = database.within(2).unwrap().unwrap();
    assert_eq!(none.subscripts(), 0);
    assert!(matches!(none.prepare(false, true), Err(Error::NoGlobal { worker: 2, globals: 2 })));
    none.prepare(true, false).unwrap();
    none.perform(&batch(vec![Cycle::Reads(vec![7])]), &mut done).unwrap();
    assert_eq!(done.len(), 1);
    assert!(matches!(database.session(2).unwrap().begin(), Err(Error::NoGlobal { .. })));
}

#[test]
fn sessions_timed_by_the_client_and_what_the_server_counts() {
    let Some(server) = Server::start() else { return };
    let database = server.open();
    database.setup(Bytes(8 * MIB), &mut go).unwrap();
    database.add_globals(2, 20_000, &mut go).unwrap();
    one_by_one(&server, &database);
    reads_are_not_kept(&server, &database);
    writes_are_counted(&server, &database);
    a_checkpoint_is_seen_at_work(&server, &database);
    through_the_buffers(&server);
    two_at_once(&server, &database);
    described(&server, &database);
}

fn one_by_one(server: &Server, database: &RanPostgres) {
    let mut session = database.session(0).unwrap();
    session.prepare(true, true).unwrap();
    assert_eq!(session.subscripts(), 20_000);
    assert_eq!(session.read_block(1023).unwrap(), Bytes(8192));
    assert!(matches!(session.read_block(1024), Err(Error::NoBlock { .. })));
    let sum = "SELECT md5(string_agg(value, '' ORDER BY subscript)) FROM iolite.\"RanWriteGlobal1\"";
    let before = server.psql(sum);
    session.begin().unwrap();
    assert_eq!(session.write(51).unwrap(), Bytes(50));
    assert_eq!(session.write(50).unwrap(), Bytes(100));
    assert!(matches!(session.write(20_001), Err(Error::NoSubscript { .. })));
    assert_eq!(server.psql(sum), before, "not committed yet");
    session.commit().unwrap();
    assert_ne!(server.psql(sum), before);
    assert!(session.commit().is_err(), "there is nothing to commit");
    // What is given up is rolled back.
    let before = server.psql(sum);
    session.begin().unwrap();
    session.write(3).unwrap();
    session.begin().unwrap();
    session.commit().unwrap();
    assert_eq!(server.psql(sum), before);
    let odd = "SELECT count(*) FROM iolite.\"RanWriteGlobal1\" WHERE length(value) <> 50 + subscript % 51";
    assert_eq!(server.number(odd), 0);
}

fn reads_are_not_kept(server: &Server, database: &RanPostgres) {
    database.settle().unwrap();
    let mut within = database.within(0).unwrap().unwrap();
    within.prepare(true, false).unwrap();
    let before = database.instance().counters().unwrap();
    let mut done = Vec::new();
    within.perform(&batch(vec![Cycle::Reads((0..1000).collect())]), &mut done).unwrap();
    let did = database.instance().counters().unwrap().since(&before);
    // What pg_prewarm reads is in none of the server's counters, and nobody pretends that it is. The server reads some of its
    // own catalogues meanwhile.
    assert!(!database.counts_block_reads() && did.data_reads.unwrap() < 200, "{did:?}");
    let path = server.psql(
        "SELECT current_setting('data_directory') || '/' || pg_relation_filepath('iolite.\"Blocks1\"')",
    );
    let Ok(file) = std::fs::File::open(path) else {
        return println!("skipped: the server's files cannot be opened");
    };
    let cached = || iolite_sys::page_cache::resident_bytes(&file, 0, 8 * MIB).unwrap();
    until("the end of what is cached", || cached() < MIB);
}

fn writes_are_counted(server: &Server, database: &RanPostgres) {
    database.settle().unwrap();
    let before = database.instance().counters().unwrap();
    let mut within = database.within(0).unwrap().unwrap();
    let mut done = Vec::new();
    let cycles =
        (0..40).map(|cycle| Cycle::Sets((0..50).map(|set| 1 + cycle * 500 + set * 10).collect())).collect();
    within.perform(&batch(cycles), &mut done).unwrap();
    assert_eq!(done.len(), 40 * 51);
    // A commit each, as the session has reported when its batch was over; before 15 a session may report its last half second
    // only when it ends.
    let kept = (server.version() >= 150_000).then_some(within);
    until("the log's counters", || {
        let did = database.instance().counters().unwrap().since(&before);
        did.log_syncs.map(|syncs| syncs >= 40 && did.log_writes.unwrap() >= 40)
            == server.counts_log().then_some(true)
    });
    drop(kept);
    let blocks = server.number("SELECT pg_relation_size('iolite.\"RanWriteGlobal1\"') / 8192");
    database.settle().unwrap();
    until("the checkpoint's writes", || {
        database.instance().counters().unwrap().since(&before).data_writes.unwrap() >= blocks
    });
    let did = database.instance().counters().unwrap().since(&before);
    assert_eq!(did.data_write_bytes, did.data_writes.map(|writes| writes * 8192));
    let hot = "SELECT n_tup_hot_upd * 10 > n_tup_upd * 9 FROM pg_stat_user_tables WHERE relname = 'RanWriteGlobal1'";
    until("updates that stay on their pages", || server.psql(hot) == "t");
}

/// A checkpoint that takes its time, as those that come by themselves do, is seen while it writes.
fn a_checkpoint_is_seen_at_work(server: &Server, database: &RanPostgres) {
    let mut within = database.within(0).unwrap().unwrap();
    let cycles = vec![Cycle::Sets((1..=20_000).step_by(10).collect())];
    within.perform(&batch(cycles), &mut Vec::new()).unwrap();
    let dirty = server.number("SELECT pg_relation_size('iolite.\"RanWriteGlobal1\"') / 8192");
    let before = database.instance().counters().unwrap();
    let written = || database.instance().counters().unwrap().since(&before).data_writes.unwrap();
    std::thread::scope(|scope| {
        // A backup's beginning waits for such a checkpoint; the backup is given up with its session.
        let backup = scope.spawn(|| {
            server.psql(match server.version() {
                ..150_000 => "SELECT pg_start_backup('iolite', false)",
                _ => "SELECT pg_backup_start('iolite', false)",
            })
        });
        let mut seen = 0;
        until("the checkpoint's first writes", || {
            seen = written();
            seen > 0
        });
        assert!(seen < dirty, "all {dirty} blocks at once: {seen}");
        assert!(!backup.is_finished());
        database.settle().unwrap();
        backup.join().unwrap();
    });
    until("the checkpoint's writes", || written() >= dirty);
}

fn through_the_buffers(server: &Server) {
    let settings = Settings { through_buffers: true, ..Settings::default() };
    let database = RanPostgres::new(&server.url, settings).unwrap();
    let mut session = database.session(0).unwrap();
    assert_eq!(session.read_block(900).unwrap(), Bytes(8192));
    let mut within = database.within(0).unwrap().unwrap();
    let mut done = Vec::new();
    within.perform(&batch(vec![Cycle::Reads(vec![900, 901])]), &mut done).unwrap();
    assert_eq!(done.len(), 2);
    let description = database.describe().unwrap();
    assert!(description.read_path.contains("get_raw_page") && !description.direct, "{description:?}");
}

fn two_at_once(server: &Server, database: &RanPostgres) {
    let sum = "SELECT sum(n_tup_upd) FROM pg_stat_user_tables WHERE relname LIKE 'RanWrite%'";
    let before = server.number(sum);
    std::thread::scope(|scope| {
        for worker in 0..2 {
            scope.spawn(move || {
                let mut within = database.within(worker).unwrap().unwrap();
                let mut done = Vec::new();
                let pair = [Cycle::Sets((1..=50).collect()), Cycle::Reads((0..50).collect())];
                let cycles = pair.iter().cycle().take(20).cloned().collect();
                within.perform(&batch(cycles), &mut done).unwrap();
                assert_eq!(done.len(), 10 * 101);
            });
        }
    });
    until("all sets", || server.number(sum) == before + 1000);
}

fn described(server: &Server, database: &RanPostgres) {
    let description = database.describe().unwrap();
    assert_eq!(
        (description.instance.engine.as_str(), description.instance.block),
        ("PostgreSQL", Bytes(8192))
    );
    assert!(server.psql("SHOW server_version").starts_with(&description.instance.version));
    assert!(description.instance.durability.starts_with("synchronous_commit=on"), "{description:?}");
    let setting = |name: &str| {
        description
            .instance
            .settings
            .iter()
            .find(|setting| setting.0 == name)
            .map(|setting| setting.1.clone())
    };
    for (name, value) in [("fsync", "on"), ("full_page_writes", "on"), ("shared_buffers", "64MB")] {
        assert_eq!(setting(name).as_deref(), Some(value), "{name}");
    }
    let files = database.instance().files().unwrap();
    let data = server.directory.path().canonicalize().unwrap().join("data");
    assert_eq!((files.data, files.log), (Some(data.clone()), Some(data.join("pg_wal"))));
}

#[test]
fn durability_is_what_was_asked_for_or_refused() {
    let Some(mut server) = Server::start() else { return };
    let database = server.open();
    database.setup(Bytes(MIB), &mut go).unwrap();
    database.add_globals(1, 1000, &mut go).unwrap();
    let relaxed = Settings { durability: Durability::Relaxed, ..Settings::default() };
    let relaxed = RanPostgres::new(&server.url, relaxed).unwrap();
    assert!(relaxed.describe().unwrap().instance.durability.starts_with("synchronous_commit=off"));
    let syncs = |database: &RanPostgres| {
        let before = database.instance().counters().unwrap();
        let mut within = database.within(0).unwrap().unwrap();
        let mut done = Vec::new();
        within.perform(&batch(vec![Cycle::Sets(vec![1]); 300]), &mut done).unwrap();
        drop(within);
        database.instance().counters().unwrap().since(&before).log_syncs.unwrap()
    };
    if server.counts_log() {
        let full = syncs(&database);
        assert!(full >= 300, "{full}");
        assert!(syncs(&relaxed) < 300);
    }
    // What was committed is there after the server was cut off.
    let value = "SELECT encode(value, 'hex') FROM iolite.\"RanWriteGlobal1\" WHERE subscript = 7";
    let mut within = database.within(0).unwrap().unwrap();
    within.perform(&batch(vec![Cycle::Sets(vec![7])]), &mut Vec::new()).unwrap();
    let written = server.psql(value);
    server.psql("ALTER SYSTEM SET fsync = off");
    server.kill();
    // Another one: a backend may still commit after its postmaster has ended, with or without reporting it.
    let mut ended = None;
    until("the end of the session", || {
        ended = within.perform(&batch(vec![Cycle::Sets(vec![8])]), &mut Vec::new()).err();
        ended.is_some()
    });
    let error = ended.unwrap().to_string();
    assert!(error.contains("the server has ended") && error.contains("log"), "{error}");
    let error =
        database.instance().counters().and_then(|_| database.instance().counters()).unwrap_err().to_string();
    assert!(error.contains("start it"), "{error}");
    server.restart();
    assert_eq!(server.psql(value), written);
    let database = server.open();
    let mut within = database.within(0).unwrap().unwrap();
    within.prepare(true, false).unwrap();
    produced(ErrorCause::PgNotDurable, within.prepare(false, true).unwrap_err());
    RanPostgres::new(&server.url, Settings { durability: Durability::Relaxed, ..Settings::default() })
        .and_then(|database| database.within(0))
        .unwrap()
        .unwrap()
        .prepare(true, true)
        .unwrap();
    assert!(database.describe().unwrap().instance.durability.contains("destroy"));
}

#[test]
fn what_is_interrupted_or_foreign_is_known() {
    let Some(server) = Server::start() else { return };
    let database = server.open();
    let mut calls = 0;
    let cancelled = database.setup(Bytes(16 * MIB), &mut |done, _| {
        calls += 1;
        if done > 4 * MIB { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    assert!(matches!(cancelled, Err(Error::Cancelled)) && calls > 1);
    for refused in [
        database.blocks().err(),
        database.sizes().err(),
        database.session(0).err(),
        database.setup(Bytes(MIB), &mut go).err(),
        database.add_globals(1, 10, &mut go).err(),
    ] {
        assert!(matches!(refused, Some(Error::Incomplete { .. })), "{refused:?}");
    }
    database.purge().unwrap();
    assert!(matches!(database.blocks(), Err(Error::Missing { .. })));

    database.setup(Bytes(MIB), &mut go).unwrap();
    assert!(matches!(database.setup(Bytes(0), &mut go), Err(Error::Exists { .. })));
    assert!(matches!(database.add_globals(0, 10, &mut go), Err(Error::Layout { .. })));
    assert!(matches!(database.add_globals(1, 0, &mut go), Err(Error::Layout { .. })));
    assert!(matches!(database.add_globals(100, 1 << 30, &mut go), Err(Error::NoSpace { .. })));
    let cancelled = database.add_globals(4, 100_000, &mut |done, _| {
        if done > 250_000 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    assert!(matches!(cancelled, Err(Error::Cancelled)));
    let whole = database.sizes().unwrap().len();
    assert!(whole < 4);
    database.add_globals(4, 100, &mut go).unwrap();
    assert_eq!(database.sizes().unwrap().len(), whole + 4);
    assert_eq!(database.count_subscripts(&mut go).unwrap(), database.sizes().unwrap());

    server.psql("DROP TABLE iolite.\"RanWriteGlobal2\"");
    for refused in [
        database.count_subscripts(&mut go).err(),
        database.add_globals(1, 10, &mut go).err(),
        database.within(1).unwrap().unwrap().prepare(false, true).err(),
        database.session(1).unwrap().prepare(false, true).err(),
    ] {
        let named = |global: &str| global == "RanWriteGlobal2";
        assert!(
            matches!(&refused, Some(Error::GlobalMissing { global, .. }) if named(global)),
            "{refused:?}"
        );
    }
    database.drop_globals().unwrap();
    strangers_are_left_alone(&server, &database);
}

fn strangers_are_left_alone(server: &Server, database: &RanPostgres) {
    server.psql(
        "CREATE TABLE iolite.mine (a int); CREATE FUNCTION iolite.f() RETURNS int LANGUAGE sql AS 'SELECT 1'",
    );
    let error = database.purge().unwrap_err();
    assert!(matches!(&error, Error::Foreign { .. }) && error.to_string().contains("mine"), "{error}");
    assert_eq!(database.blocks().unwrap(), 128, "purge has removed something");
    server.psql("DROP TABLE iolite.mine; DROP FUNCTION iolite.f()");
    // Something of another schema that needs a table of ours.
    server.psql("CREATE VIEW public.v AS SELECT * FROM iolite.\"Blocks1\"");
    let error = database.purge().unwrap_err().to_string();
    assert!(error.contains("drop that first"), "{error}");
    server.psql("DROP VIEW public.v");
    database.purge().unwrap();
    // An extension that was there stays.
    server.psql("CREATE EXTENSION pg_prewarm; CREATE SCHEMA iolite");
    assert!(matches!(database.purge(), Err(Error::Foreign { .. })));
    assert!(matches!(database.setup(Bytes(MIB), &mut go), Err(Error::Foreign { .. })));
    assert!(matches!(database.sizes(), Err(Error::Foreign { .. })));
    server.psql("DROP SCHEMA iolite");
    database.setup(Bytes(MIB), &mut go).unwrap();
    database.session(0).unwrap().read_block(3).unwrap();
    database.purge().unwrap();
    assert_eq!(server.psql("SELECT extname FROM pg_extension WHERE extname <> 'plpgsql'"), "pg_prewarm");
}

#[test]
fn ways_to_the_server_that_do_not_work_are_reported() {
    let Some(server) = Server::start_in(tempfile::tempdir().unwrap(), true) else { return };
    let error = |url: &str| {
        let error = RanPostgres::new(url, Settings::default()).unwrap().sizes().unwrap_err().to_string();
        assert!(!error.contains("secret"), "{error}");
        error
    };
    server.open().setup(Bytes(MIB), &mut go).unwrap();
    assert_eq!(server.open().blocks().unwrap(), 128);
    assert!(server.open().instance().files().unwrap().data.is_some());
    let host = server.url.rsplit_once('@').unwrap().1.to_owned();
    let wrong = error(&format!("postgres://iolite:secret@{host}"));
    assert!(wrong.contains("password authentication failed") && wrong.contains("PGPASSWORD"), "{wrong}");
    let none = error(&format!("postgres://iolite@{host}"));
    assert!(none.contains("PGPASSWORD"), "{none}");
    let nowhere = error(&server.url.replace("/iolite?", "/elsewhere?"));
    assert!(nowhere.contains("elsewhere") && nowhere.contains("createdb"), "{nowhere}");
    let closed = error("postgres://iolite:secret@127.0.0.1:1/iolite");
    assert!(closed.contains("no server listens there"), "{closed}");
    let absent = error("postgres://iolite:secret@/iolite?host=/nonexistent");
    assert!(absent.contains("no server listens there"), "{absent}");

    server.open().purge().unwrap();
    server.psql("CREATE ROLE plain LOGIN PASSWORD 'secret'");
    let plain = format!("postgres://plain:secret@{host}");
    let setup = |url: &str| {
        RanPostgres::new(url, Settings::default())
            .unwrap()
            .setup(Bytes(MIB), &mut go)
            .unwrap_err()
            .to_string()
    };
    let denied = setup(&plain);
    assert!(denied.contains("permission denied") && denied.contains("granted"), "{denied}");
    server.psql("GRANT CREATE ON DATABASE iolite TO plain");
    let denied = setup(&plain);
    assert!(denied.contains("CREATE EXTENSION pg_prewarm"), "{denied}");
    server.psql("CREATE EXTENSION pg_prewarm");
    plain_role(&RanPostgres::new(&plain, Settings::default()).unwrap());
    server_starts_and_stops_once(&server);
}

/// A role without privileges but for making a schema.
fn plain_role(database: &RanPostgres) {
    database.setup(Bytes(MIB), &mut go).unwrap();
    database.add_globals(1, 100, &mut go).unwrap();
    let mut within = database.within(0).unwrap().unwrap();
    within.perform(&batch(vec![Cycle::Sets(vec![1]), Cycle::Reads(vec![1])]), &mut Vec::new()).unwrap();
    drop(within);
    database.settle().unwrap();
    database.instance().counters().unwrap();
    // The server shows its directory to superusers only.
    let files = database.instance().files().unwrap();
    assert_eq!((files.data, files.unseen), (None, Some(Unseen::Role)));
    let settings = database.describe().unwrap().instance.settings;
    assert!(
        settings
            .iter()
            .any(|(name, value)| name.starts_with("checkpoint before") && value.contains("not permitted"))
    );
    database.purge().unwrap();
}

fn server_starts_and_stops_once(server: &Server) {
    let directory = server.directory.path();
    let again = server::start(directory, false).unwrap_err().to_string();
    assert!(again.contains("one runs there already"), "{again}");
    server::stop(directory).unwrap();
    let dead = server::stop(directory).unwrap_err().to_string();
    assert!(dead.contains("none runs there"), "{dead}");
    let empty = tempfile::tempdir().unwrap();
    assert!(matches!(server::stop(empty.path()), Err(Error::Missing { .. })));
}

#[test]
fn a_full_disk_is_reported() {
    // Dropped after the server, which has been stopped by then.
    let Some(small) = Small::new(160) else { return };
    let Some(server) = Server::start_in(tempfile::tempdir_in(small.path()).unwrap(), false) else { return };
    let database = server.open();
    let error = database.setup(Bytes(1 << 30), &mut go).unwrap_err();
    assert!(matches!(error, Error::NoSpace { .. }), "{error}");
    assert!(matches!(database.sizes(), Err(Error::Missing { .. })), "something was made");
    database.setup(Bytes(MIB), &mut go).unwrap();
    // Somebody else takes the rest meanwhile.
    let error = database.add_globals(1, 300_000, &mut |_, _| {
        small.fill(2 * MIB);
        ControlFlow::Continue(())
    });
    let error = error.unwrap_err().to_string();
    // PostgreSQL ends itself when it is the log that has no room.
    let reported = error.contains("file system is full");
    assert!(reported || error.contains("the server has ended"), "{error}");
    std::fs::remove_file(small.fill(0)).unwrap();
    until("the server's recovery", || {
        let recovered = database.sizes().is_ok();
        if !recovered {
            // Refused while it recovers by itself.
            let _ = server::start(server.directory.path(), false);
        }
        recovered
    });
    assert_eq!(database.sizes().unwrap(), [0; 0], "half a global is left");
    database.purge().unwrap();
}
