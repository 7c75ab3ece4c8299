//! The MariaDB adapter against real, private servers.
#![cfg(feature = "mysql")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)]

mod causes;
#[path = "../common/mod.rs"]
mod common;
mod first_start;
mod harness;
mod replication;
mod tproc_c;

use std::ops::ControlFlow;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use ::mysql::prelude::Queryable;
use iolite_db::Error;
use iolite_db::mysql::server::{self, Options};
use iolite_model::{Bytes, Durability, ErrorCause, Nanos, OpKind};
use iolite_oltp::ran::{Adapter, Batch, Cycle, NewBlocks, RanMysql, Settings, Timed};

use common::{Small, go, produced};
use harness::Server;

const LONG: Nanos = Nanos(60_000_000_000);
const PAGE: u64 = 16 << 10;

fn batch(cycles: Vec<Cycle>) -> Batch {
    Batch { cycles, limit: LONG }
}

/// Numbers below `bound` in a random order, none of them twice: a regular one would have InnoDB read ahead.
fn shuffled(bound: u64) -> Vec<u64> {
    let random = std::hash::RandomState::new();
    let mut numbers: Vec<_> = (0..bound).collect();
    numbers.sort_by_cached_key(|number| std::hash::BuildHasher::hash_one(&random, number));
    numbers
}

fn kinds(done: &[Timed]) -> String {
    done.iter().map(|op| op.kind.name().chars().next().unwrap()).collect()
}

/// Times go forward, and all of them together take no longer than the caller waited.
fn assert_plausible(done: &[Timed], waited: Duration) {
    assert!(done.iter().all(|op| op.ended >= op.started), "{done:?}");
    assert!(done.windows(2).all(|two| two[1].started >= two[0].started), "{done:?}");
    let sum: i64 = done.iter().map(|op| op.ended - op.started).sum();
    assert!(sum as u128 <= waited.as_nanos(), "{sum} ns in {waited:?}");
}

#[test]
fn whole_life() {
    let Some(server) = Server::start(&Options::default()) else { return };
    let database = server.database();
    assert!(matches!(database.sizes(), Err(Error::Missing { .. })));
    assert!(matches!(database.session(0).err(), Some(Error::Missing { .. })));
    database.purge().unwrap();
    let mut reported = Vec::new();
    let mut report = |done, total| {
        reported.push((done, total));
        ControlFlow::Continue(())
    };
    database.setup(Bytes(8 << 20), &mut report).unwrap();
    assert_eq!((reported[0], reported.last().copied()), ((0, 8 << 20), Some((8 << 20, 8 << 20))));
    assert_eq!(database.blocks().unwrap(), 512);
    let rows = server.ask("SELECT COUNT(*), MIN(number), MAX(number), SUM(LENGTH(data)) FROM iolite_blocks");
    assert_eq!(rows, format!("1536\t0\t1535\t{}", 1536 * 4642));
    assert!(matches!(database.setup(Bytes(1 << 20), &mut go), Err(Error::Exists { .. })));
    assert!(matches!(database.within(0).unwrap().unwrap().prepare(false, true), Err(Error::NoGlobal { .. })));

    database.add_globals(2, 1000, &mut go).unwrap();
    database.add_globals(1, 77, &mut go).unwrap();
    assert_eq!(database.sizes().unwrap(), [1000, 1000, 77]);
    assert_eq!(database.count_subscripts(&mut go).unwrap(), [1000, 1000, 77]);
    for (global, rows) in [(1, 1000), (2, 1000), (3, 77)] {
        let odd =
            format!("SELECT COUNT(*) FROM RanWriteGlobal{global} WHERE LENGTH(value) <> 50 + subscript % 51");
        assert_eq!(server.count(&odd), 0);
        let span = format!("SELECT COUNT(*), MIN(subscript), MAX(subscript) FROM RanWriteGlobal{global}");
        assert_eq!(server.ask(&span), format!("{rows}\t1\t{rows}"));
    }
    let size = database.size().unwrap().0;
    assert!((8 << 20..=server.files()).contains(&size), "{size} of {}", server.files());
    database.settle().unwrap();

    let description = database.describe().unwrap();
    assert_eq!(
        (description.instance.engine.as_str(), description.instance.namespace.as_str()),
        ("MariaDB", "iolite")
    );
    assert!(description.direct && description.instance.block == Bytes(PAGE), "{description:?}");
    assert!(
        description.instance.settings.contains(&("innodb_buffer_pool_size".into(), (64 << 20).to_string()))
    );
    assert!(description.instance.durability.contains("innodb_flush_log_at_trx_commit=1"), "{description:?}");
    let files = database.instance().files().unwrap();
    assert_eq!(
        files.data.unwrap().canonicalize().unwrap(),
        server.directory.path().join("data").canonicalize().unwrap()
    );

    database.drop_globals().unwrap();
    assert_eq!((database.sizes().unwrap().len(), database.blocks().unwrap()), (0, 512));
    assert_eq!(server.ask("SHOW TABLES LIKE 'Ran%'"), "");
    database.add_globals(1, 5, &mut go).unwrap();
    // What is not ours stays.
    server.ask("CREATE TABLE mine (x INT); INSERT INTO mine VALUES (1); CREATE PROCEDURE my_own() SELECT 1");
    database.purge().unwrap();
    assert_eq!(server.ask("SHOW TABLES"), "mine");
    assert_eq!(
        server.ask("SELECT ROUTINE_NAME FROM information_schema.ROUTINES WHERE ROUTINE_SCHEMA = 'iolite'"),
        "my_own"
    );
}

#[test]
fn batches_and_single_operations_do_what_is_requested() {
    let options = Options { buffer_pool: Bytes(16 << 20), tcp: true, ..Options::default() };
    let Some(server) = Server::start(&options) else { return };
    assert!(server.started.url.contains("@127.0.0.1:"), "by TCP here");
    let database = server.database();
    database.setup(Bytes(64 << 20), &mut go).unwrap();
    database.add_globals(2, 6000, &mut go).unwrap();
    database.settle().unwrap();
    reads_are_reads_of_pages(&database);
    sets_are_durable_and_keep_their_lengths(&server, &database);
    limits_are_obeyed(&database);
    one_by_one(&server, &database);
    two_at_once(&server, &database);
}

/// Within and from outside: n blocks of a table four times the buffer pool are about n reads of a page each.
fn reads_are_reads_of_pages(database: &RanMysql) {
    let blocks = shuffled(database.blocks().unwrap());
    let (first, second) = blocks.split_at(blocks.len() / 2);
    let mut within = database.within(7).unwrap().unwrap();
    within.prepare(true, false).unwrap();
    let mut session = database.session(7).unwrap();
    session.prepare(true, false).unwrap();
    // A batch's cycles may be longer than a call of the procedure takes: 2048 blocks in all here, three times.
    let before = database.instance().counters().unwrap();
    let (mut done, began) = (Vec::new(), Instant::now());
    within
        .perform(
            &batch(vec![Cycle::Reads(first.into()), Cycle::Reads(vec![]), Cycle::Reads(second.into())]),
            &mut done,
        )
        .unwrap();
    assert_plausible(&done, began.elapsed());
    assert_eq!(kinds(&done), "r".repeat(blocks.len()));
    assert!(done.iter().all(|op| op.bytes == Bytes(PAGE)));
    let mut did = vec![database.instance().counters().unwrap().since(&before)];
    let before = database.instance().counters().unwrap();
    for &block in &blocks {
        assert_eq!(session.read_block(block).unwrap(), Bytes(PAGE));
    }
    did.push(database.instance().counters().unwrap().since(&before));
    let n = blocks.len() as u64;
    for did in did {
        let (reads, bytes) = (did.data_reads.unwrap(), did.data_read_bytes.unwrap());
        // The pool's quarter may be there already; pages of the tree's inside come on top.
        assert!((n * 3 / 4 - 100..=n + 100).contains(&reads), "{reads} reads of {n} blocks, {did:?}");
        assert!(bytes.abs_diff(reads * PAGE) <= bytes / 50, "{bytes} in {reads}");
    }
    assert!(matches!(session.read_block(n), Err(Error::NoBlock { .. })));
    assert!(matches!(
        within.perform(&batch(vec![Cycle::Reads(vec![n])]), &mut done),
        Err(Error::NoBlock { .. })
    ));
}

fn sets_are_durable_and_keep_their_lengths(server: &Server, database: &RanMysql) {
    let mut within = database.within(1).unwrap().unwrap();
    within.prepare(true, true).unwrap();
    assert_eq!(within.subscripts(), 6000);
    server.ask("CREATE TABLE before_sets AS SELECT * FROM RanWriteGlobal2");
    let before = database.instance().counters().unwrap();
    let cycles = vec![
        Cycle::Sets(vec![1, 2, 6000]),
        Cycle::Reads(vec![5]),
        // More than one call of the procedure takes, still one transaction.
        Cycle::Sets((1..=5500).collect()),
        Cycle::Sets(vec![]),
    ];
    let (mut done, began) = (Vec::new(), Instant::now());
    within.perform(&batch(cycles), &mut done).unwrap();
    assert_plausible(&done, began.elapsed());
    assert_eq!(kinds(&done), format!("wwwcr{}c", "w".repeat(5500)));
    assert_eq!((done[0].bytes, done[2].bytes, done[3].bytes), (Bytes(51), Bytes(50 + 6000 % 51), Bytes(0)));
    let did = database.instance().counters().unwrap().since(&before);
    assert!(did.log_writes.unwrap() >= 2 && did.log_write_bytes.unwrap() > 5500 * 75, "{did:?}");
    let changed = "SELECT COUNT(*) FROM RanWriteGlobal2 NATURAL LEFT JOIN (SELECT subscript, value old FROM before_sets) b \
                   WHERE value <> old AND LENGTH(value) = LENGTH(old)";
    assert_eq!(server.count(changed), 5501);
    assert_eq!(server.count("SELECT COUNT(DISTINCT value) FROM RanWriteGlobal2"), 6000);
    server.ask("DROP TABLE before_sets");
    let outside = within.perform(&batch(vec![Cycle::Sets(vec![6001])]), &mut done);
    assert!(matches!(outside, Err(Error::NoSubscript { .. })));
}

fn limits_are_obeyed(database: &RanMysql) {
    let mut within = database.within(0).unwrap().unwrap();
    within.prepare(true, true).unwrap();
    // Far more than there is time for: all of it is used, and a transaction begun is ended.
    for cycle in [Cycle::Reads(vec![1]), Cycle::Sets(vec![1, 2])] {
        let endless = Batch { cycles: vec![cycle.clone(); 1_000_000], limit: Nanos(600_000_000) };
        let (mut done, began) = (Vec::new(), Instant::now());
        within.perform(&endless, &mut done).unwrap();
        assert!(began.elapsed() >= Duration::from_millis(599), "{cycle:?}: all of the time is used");
        assert!((1..1_000_000).contains(&done.len()), "{cycle:?}: {}", done.len());
        let last = if matches!(cycle, Cycle::Reads(_)) { OpKind::Read } else { OpKind::Commit };
        assert_eq!(done.last().unwrap().kind, last);
    }
    // A limit without room for anything.
    let mut done = Vec::new();
    within
        .perform(
            &Batch { limit: Nanos(0), ..batch(vec![Cycle::Reads(vec![1]), Cycle::Sets(vec![1])]) },
            &mut done,
        )
        .unwrap();
    assert!(done.is_empty());
    // Reads stop in the middle of a cycle.
    let many = Batch { cycles: vec![Cycle::Reads(vec![1; 4_000_000])], limit: Nanos(500_000_000) };
    within.perform(&many, &mut done).unwrap();
    assert!((1..4_000_000).contains(&done.len()), "{}", done.len());
}

fn one_by_one(server: &Server, database: &RanMysql) {
    let sum = "SELECT SUM(CRC32(value)) FROM RanWriteGlobal1";
    let mut session = database.session(0).unwrap();
    session.prepare(true, true).unwrap();
    let before = server.ask(sum);
    session.begin().unwrap();
    assert_eq!(session.write(50).unwrap(), Bytes(100));
    assert_eq!(server.ask(sum), before, "not before the commit");
    assert!(matches!(database.settle(), Err(Error::Engine { .. })), "a transaction is open");
    session.commit().unwrap();
    let after = server.ask(sum);
    assert_ne!(after, before);
    assert!(matches!(session.write(0), Err(Error::NoSubscript { .. })));
    assert!(matches!(session.write(6001), Err(Error::NoSubscript { .. })));
    session.begin().unwrap();
    session.write(51).unwrap();
    drop(session);
    assert_eq!(server.ask(sum), after, "rolled back");
    assert!(matches!(database.session(2).unwrap().begin(), Err(Error::NoGlobal { worker: 2, globals: 2 })));
}

fn two_at_once(server: &Server, database: &RanMysql) {
    let log = |name: &str| {
        server
            .ask(&format!("SHOW GLOBAL STATUS LIKE '{name}'"))
            .split('\t')
            .nth(1)
            .unwrap()
            .parse::<u64>()
            .unwrap()
    };
    let (writes, rounds) = (log("Innodb_log_writes"), 50);
    std::thread::scope(|scope| {
        let work = |worker| {
            let mut within = database.within(worker).unwrap().unwrap();
            within.prepare(true, true).unwrap();
            let mut done = Vec::new();
            let cycles = vec![Cycle::Sets(vec![7, 8]), Cycle::Reads(vec![9])];
            for _ in 0..rounds {
                within.perform(&batch(cycles.clone()), &mut done).unwrap();
            }
            assert_eq!(kinds(&done), "wwcr".repeat(rounds as usize));
        };
        scope.spawn(move || work(0));
        scope.spawn(move || work(1));
    });
    // Two sessions may share a write, of which each syncs.
    assert!(log("Innodb_log_writes") - writes >= rounds);
}

#[test]
fn what_is_unfinished_or_foreign_is_known() {
    let Some(server) = Server::start(&Options::default()) else { return };
    let database = server.database();
    let mut calls = 0;
    let mut stop_soon = |_, _| {
        calls += 1;
        if calls > 2 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    assert!(matches!(database.setup(Bytes(80 << 20), &mut stop_soon), Err(Error::Cancelled)));
    assert!(matches!(database.blocks(), Err(Error::Incomplete { .. })));
    assert!(matches!(database.setup(Bytes(1 << 20), &mut go), Err(Error::Exists { .. })));
    assert!(matches!(database.add_globals(1, 5, &mut go), Err(Error::Incomplete { .. })));
    database.purge().unwrap();
    assert_eq!(server.ask("SHOW TABLES"), "");

    database.setup(Bytes(1 << 20), &mut go).unwrap();
    database.add_globals(1, 10, &mut go).unwrap();
    calls = 0;
    let mut stop_soon = |_, _| {
        calls += 1;
        if calls > 1 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    assert!(matches!(database.add_globals(2, 300_000, &mut stop_soon), Err(Error::Cancelled)));
    assert_eq!(database.sizes().unwrap(), [10]);
    assert_eq!(server.ask("SHOW TABLES LIKE 'Ran%'"), "RanWriteGlobal1");
    // As a crash leaves it: listed, there, and not whole.
    server.ask(
        "CREATE TABLE RanWriteGlobal2 (x INT) COMMENT='created by iolite, layout 1';
         INSERT INTO iolite_catalogue VALUES ('RanWriteGlobal2', 'global', 2, 50, 0)",
    );
    assert_eq!(database.sizes().unwrap(), [10]);
    database.add_globals(1, 20, &mut go).unwrap();
    assert_eq!(database.count_subscripts(&mut go).unwrap(), [10, 20]);

    server.ask("DROP TABLE RanWriteGlobal2");
    let missing = |result: Option<Error>| {
        let Some(Error::GlobalMissing { global, .. }) = result else { panic!("{result:?}") };
        assert_eq!(global, "RanWriteGlobal2");
    };
    missing(database.count_subscripts(&mut go).err());
    missing(database.session(1).unwrap().prepare(false, true).err());
    missing(database.within(1).unwrap().unwrap().prepare(false, true).err());
    let mut unprepared = database.within(1).unwrap().unwrap();
    missing(unprepared.perform(&batch(vec![Cycle::Sets(vec![1])]), &mut Vec::new()).err());
    drop(unprepared);

    server.ask("CREATE TABLE RanWriteGlobal9 (x INT)");
    for refused in [database.purge().err(), database.drop_globals().err()] {
        assert!(matches!(refused, Some(Error::Foreign { .. })), "{refused:?}");
    }
    assert_eq!(database.sizes().unwrap(), [10, 20], "nothing was removed");
    server.ask("DROP TABLE RanWriteGlobal9; ALTER TABLE iolite_catalogue COMMENT='mine'");
    assert!(matches!(database.purge(), Err(Error::Foreign { .. })));
    assert!(matches!(database.sizes(), Err(Error::Foreign { .. })));
    server.ask("ALTER TABLE iolite_catalogue COMMENT='created by iolite, layout 1'");
    database.purge().unwrap();
    server.ask("CREATE TABLE iolite_blocks (x INT)");
    assert!(matches!(database.setup(Bytes(1 << 20), &mut go), Err(Error::Foreign { .. })));
    assert!(matches!(database.purge(), Err(Error::Foreign { .. })));
    assert_eq!(server.ask("SHOW TABLES"), "iolite_blocks");
    server.ask("DROP TABLE iolite_blocks");
    // Where the server takes no files from clients.
    server.ask("SET GLOBAL local_infile = 0");
    database.setup(Bytes(1 << 20), &mut go).unwrap();
    database.add_globals(1, 100_000, &mut go).unwrap();
    assert_eq!(
        server.ask("SELECT COUNT(*), SUM(LENGTH(value)) FROM RanWriteGlobal1"),
        format!("100000\t{}", (1..=100_000).map(|s| 50 + s % 51).sum::<u64>())
    );
    assert_eq!(server.count("SELECT SUM(LENGTH(data)) FROM iolite_blocks"), 192 * 4642);
}

#[test]
fn refusals_name_the_remedy() {
    let Some(server) = Server::start(&Options::default()) else { return };
    let database = server.database();
    database.setup(Bytes(1 << 20), &mut go).unwrap();
    database.add_globals(1, 100, &mut go).unwrap();
    let says = |url: &str, part: &str| {
        let error = RanMysql::new(url, Settings::default()).unwrap().describe().unwrap_err().to_string();
        assert!(error.contains(part) && !error.contains(server.password()), "{error}");
    };
    says(&server.url(server.password(), "wrong"), "check the user and the password");
    says(&server.url("root", "nobody"), "check the user and the password");
    says(&server.url("/iolite?", "/nowhere?"), "CREATE DATABASE");
    says(&server.url("/socket", "/nothing"), "no server listens there");
    server.ask("CREATE USER weak@localhost IDENTIFIED BY 'weak'; GRANT SELECT ON iolite.* TO weak@localhost");
    let weak = server.url(&format!("root:{}", server.password()), "weak:weak");
    let weak = RanMysql::new(&weak, Settings::default()).unwrap();
    let error = weak.add_globals(1, 5, &mut go).unwrap_err().to_string();
    assert!(error.contains("GRANT ALL"), "{error}");
    let error = weak.settle().unwrap_err().to_string();
    assert!(error.contains("RELOAD"), "{error}");

    let relaxed = Settings { durability: Durability::Relaxed, ..Settings::default() };
    let relaxed = RanMysql::new(&server.started.url, relaxed).unwrap();
    let refusal = |database: &RanMysql| database.session(0).err().map(|e| e.to_string()).unwrap_or_default();
    assert!(refusal(&relaxed).contains("SET GLOBAL innodb_flush_log_at_trx_commit = 2"));
    assert_eq!(refusal(&database), "");
    server.ask("SET GLOBAL innodb_flush_log_at_trx_commit = 2");
    assert!(refusal(&database).contains("SET GLOBAL innodb_flush_log_at_trx_commit = 1"));
    assert_eq!(refusal(&relaxed), "");
    assert!(relaxed.describe().unwrap().instance.durability.contains("about once a second"));
    server.ask("SET GLOBAL innodb_flush_log_at_trx_commit = 1");

    // Killed in mid-run.
    let mut within = database.within(0).unwrap().unwrap();
    let mut session = database.session(0).unwrap();
    within.prepare(true, true).unwrap();
    // Two may not write one global.
    assert!(matches!(session.prepare(true, true), Err(Error::Busy { .. })));
    session.prepare(true, false).unwrap();
    let pid = server.started.pid;
    let (begun, has_begun) = std::sync::mpsc::channel();
    let killed = std::thread::scope(|scope| {
        scope.spawn(move || {
            has_begun.recv().unwrap();
            let pid = pid.to_string();
            assert!(Command::new("kill").args(["-KILL", &pid]).status().unwrap().success());
        });
        let work = batch(vec![Cycle::Sets(vec![1, 2]), Cycle::Reads(vec![3])]);
        loop {
            match within.perform(&work, &mut Vec::new()) {
                // Nobody listens any more after the first.
                Ok(()) => drop(begun.send(())),
                Err(error) => break error.to_string(),
            }
        }
    });
    assert!(killed.contains("see its log") || killed.contains("error log"), "{killed}");
    produced(ErrorCause::ServerGone, session.read_block(1).unwrap_err());
}

#[test]
fn a_private_server_is_started_once_and_stopped_cleanly() {
    let Some(server) = Server::start(&Options::default()) else { return };
    let path: &Path = server.directory.path();
    let again = server::start(path, &Options::default()).unwrap_err().to_string();
    assert!(
        again.contains("runs there already") && again.contains(&server.started.pid.to_string()),
        "{again}"
    );
    produced(ErrorCause::PrivateRunning, again);
    server.database().setup(Bytes(1 << 20), &mut go).unwrap();
    let settings = "SELECT @@innodb_flush_log_at_trx_commit, @@innodb_doublewrite IN ('1', 'ON'), @@innodb_flush_method, @@log_bin, \
     @@skip_networking";
    assert_eq!(server.ask(settings), "1\t1\tO_DIRECT\t0\t1");
    server::stop(path).unwrap();
    let log = std::fs::read_to_string(path.join("server.log")).unwrap();
    assert!(log.contains("Shutdown complete"), "{log}");
    let stopped = server::stop(path).unwrap_err().to_string();
    produced(ErrorCause::PrivateNotRunning, stopped);
    // What was in it is kept, and so is its password.
    let started =
        server::start(path, &Options { buffer_pool: Bytes(32 << 20), tcp: false, ..Options::default() })
            .unwrap();
    assert_eq!(started.url, server.started.url);
    assert_eq!(server.database().blocks().unwrap(), 64);
    let mode = std::os::unix::fs::PermissionsExt::mode(
        &std::fs::metadata(path.join("iolite-server")).unwrap().permissions(),
    );
    assert_eq!(mode & 0o077, 0, "nobody else reads the password");
    let open = "SELECT COUNT(*) FROM mysql.global_priv WHERE IFNULL(JSON_VALUE(Priv, '$.authentication_string'), '') IN \
                ('', 'invalid') AND IFNULL(JSON_VALUE(Priv, '$.account_locked'), 'false') NOT IN ('1', 'true') \
                AND JSON_VALUE(Priv, '$.is_role') IS NULL";
    assert_eq!(server.count(open), 0, "no account without a password");
    assert!(!server.directory.path().join("init.sql").exists(), "the password is in no other file");

    let other = tempfile::tempdir().unwrap();
    std::fs::write(other.path().join("letter"), "dear").unwrap();
    assert!(matches!(server::start(other.path(), &Options::default()), Err(Error::Foreign { .. })));
    let deep = other.path().join("a".repeat(100));
    produced(ErrorCause::LongPath, server::start(&deep, &Options::default()).unwrap_err());
}

/// Blocks are pages, whose size is the server's.
#[test]
fn blocks_are_as_large_as_the_servers_pages() {
    let options = Options { page: Some(Bytes(64 << 10)), ..Options::default() };
    let Some(server) = Server::start(&options) else { return };
    let database = server.database();
    let of = |block: u64| NewBlocks { block: Some(Bytes(block)), ..NewBlocks::of(Bytes(4 << 20)) };
    let refused = database.create_blocks(&of(8 << 10), &mut go).unwrap_err().to_string();
    assert!(refused.contains("64 KiB here") && refused.contains("innodb_page_size"), "{refused}");
    assert_eq!(server.ask("SHOW TABLES"), "");
    database.create_blocks(&of(64 << 10), &mut go).unwrap();
    assert_eq!(
        (database.blocks().unwrap(), database.describe().unwrap().instance.block),
        (64, Bytes(64 << 10))
    );
    let mut session = database.session(0).unwrap();
    assert_eq!(session.read_block(63).unwrap(), Bytes(64 << 10));
    drop(session);
    server::stop(server.directory.path()).unwrap();
    let other = Options { page: Some(Bytes(16 << 10)), ..Options::default() };
    let refused = server::start(server.directory.path(), &other).unwrap_err().to_string();
    produced(ErrorCause::PrivateBlockSize, refused);
    // Without a wish it is as it was.
    server::start(server.directory.path(), &Options::default()).unwrap();
    assert_eq!(server.count("SELECT @@innodb_page_size"), 64 << 10);
    let odd = tempfile::tempdir().unwrap();
    let odd = server::start(odd.path(), &Options { page: Some(Bytes(5000)), ..Options::default() });
    produced(ErrorCause::PrivateNoSuchBlockSize, odd.unwrap_err());
}

#[test]
fn a_full_disk_is_reported() {
    // Dropped after the server, which has been stopped by then.
    let Some(small) = Small::new(700) else { return };
    let Some(server) = Server::start_in(tempfile::tempdir_in(small.path()).unwrap(), &Options::default())
    else {
        return;
    };
    let database = server.database();
    let error = database.setup(Bytes(1 << 30), &mut go).unwrap_err();
    assert!(matches!(error, Error::NoSpace { .. }), "{error}");
    assert_eq!(server.ask("SHOW TABLES"), "", "something was made");
    database.setup(Bytes(1 << 20), &mut go).unwrap();
    database.add_globals(1, 50_000, &mut go).unwrap();

    // Somebody else takes the rest while a global is made.
    let error = database.add_globals(1, 1_000_000, &mut |_, _| {
        small.fill(2 << 20);
        ControlFlow::Continue(())
    });
    produced(ErrorCause::MyFull, error.unwrap_err());
    assert_eq!(database.sizes().unwrap(), [50_000], "half a global is left");

    // What transactions have changed is kept as long as somebody may still ask for what was before: until there is no room.
    let mut reader = ::mysql::Conn::new(server.started.url.as_str()).unwrap();
    reader.query_drop("START TRANSACTION WITH CONSISTENT SNAPSHOT").unwrap();
    let mut within = database.within(0).unwrap().unwrap();
    within.prepare(false, true).unwrap();
    let mut done = Vec::new();
    let (before, error) = loop {
        let before = server.ask("SELECT SUM(CRC32(value)) FROM RanWriteGlobal1");
        done.clear();
        match within.perform(&batch(vec![Cycle::Sets((1..=20_000).collect())]), &mut done) {
            Ok(()) => assert_ne!(server.ask("SELECT SUM(CRC32(value)) FROM RanWriteGlobal1"), before),
            Err(error) => break (before, error.to_string()),
        }
    };
    assert!(error.contains("file system is probably full"), "{error}");
    assert!(done.iter().all(|timed| timed.kind == OpKind::Write), "it was committed");
    drop((within, reader));
    assert_eq!(
        server.ask("SELECT SUM(CRC32(value)) FROM RanWriteGlobal1"),
        before,
        "half a transaction is left"
    );

    std::fs::remove_file(small.fill(0)).unwrap();
    let mut within = database.within(0).unwrap().unwrap();
    within.perform(&batch(vec![Cycle::Sets((1..=1000).collect())]), &mut done).unwrap();
    drop(within);
    database.purge().unwrap();
    assert_eq!(server.ask("SHOW TABLES"), "");
}

/// What a server's administrator has set for all sessions must not change what ours do.
#[test]
fn defaults_of_the_server_do_not_matter() {
    let Some(server) = Server::start(&Options::default()) else { return };
    server.ask("SET GLOBAL sql_select_limit = 1, GLOBAL completion_type = 2, GLOBAL tx_read_only = 1");
    let database = server.database();
    database.setup(Bytes(1 << 20), &mut go).unwrap();
    database.add_globals(2, 100, &mut go).unwrap();
    assert_eq!(database.count_subscripts(&mut go).unwrap(), [100, 100]);
    let mut within = database.within(1).unwrap().unwrap();
    let mut done = Vec::new();
    let cycles = vec![Cycle::Sets(vec![1, 2]), Cycle::Reads(vec![3, 4]), Cycle::Sets(vec![5])];
    within.perform(&batch(cycles), &mut done).unwrap();
    assert_eq!(kinds(&done), "wwcrrwc");
    drop(within);
    let mut session = database.session(0).unwrap();
    for _ in 0..2 {
        session.begin().unwrap();
        session.write(7).unwrap();
        session.commit().unwrap();
    }
    drop(session);
    database.purge().unwrap();
    server.ask("SET GLOBAL tx_read_only = 0");
    assert_eq!(server.ask("SHOW TABLES"), "");
}

/// What fails once something was made is reported before: the caller then removes it.
#[test]
fn a_setup_that_fails_early_has_reported_that_it_began() {
    let Some(server) = Server::start(&Options::default()) else { return };
    server.ask(
        "CREATE USER weak@localhost IDENTIFIED BY 'weak'; \
                GRANT SELECT, INSERT, UPDATE, DELETE, CREATE, DROP ON iolite.* TO weak@localhost",
    );
    let weak = server.url(&format!("root:{}", server.password()), "weak:weak");
    let weak = RanMysql::new(&weak, Settings::default()).unwrap();
    let mut reported = Vec::new();
    let mut note = |done, _| {
        reported.push(done);
        ControlFlow::Continue(())
    };
    let error = weak.setup(Bytes(1 << 20), &mut note).unwrap_err().to_string();
    assert!(error.contains("GRANT ALL"), "{error}");
    assert_eq!(reported, [0]);
    assert!(matches!(weak.blocks(), Err(Error::Incomplete { .. })));
    weak.purge().unwrap();
    assert_eq!(server.ask("SHOW TABLES"), "");
}
