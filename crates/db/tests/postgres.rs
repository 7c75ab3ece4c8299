//! The PostgreSQL adapter against a real server: a private one per test, asked by psql what is really there.
#![cfg(feature = "postgres")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)]

use std::ops::ControlFlow;
use std::process::Command;
use std::time::{Duration, Instant};

use iolite_db::postgres::server;
use iolite_db::{Batch, Cycle, Database, Error, Postgres, Settings, Timed};
use iolite_model::{Bytes, Durability, Nanos, OpKind};
use tempfile::TempDir;

const MIB: u64 = 1 << 20;

/// A server that is stopped, and gone, when the test ends, however it ends.
struct Server {
    directory: TempDir,
    url: String,
    pid: u32,
}

impl Server {
    fn start() -> Option<Server> {
        Server::start_in(tempfile::tempdir().unwrap(), false)
    }

    fn start_in(directory: TempDir, port: bool) -> Option<Server> {
        match server::start(directory.path(), port) {
            Ok(started) => Some(Server { url: started.url, pid: started.pid, directory }),
            Err(Error::Build { what, .. }) => {
                println!("skipped: {what}");
                None
            }
            Err(error) => panic!("{error}"),
        }
    }

    fn open(&self) -> Postgres {
        Postgres::new(&self.url, Settings::default()).unwrap()
    }

    /// What psql answers, unaligned.
    fn psql(&self, sql: &str) -> String {
        let socket = self.directory.path().canonicalize().unwrap();
        let port = std::fs::read_to_string(socket.join("iolite.conf")).unwrap();
        let port = port.lines().find_map(|line| line.strip_prefix("port = ")).unwrap().to_owned();
        let output = Command::new("psql")
            .args([
                "-X",
                "-A",
                "-t",
                "-q",
                "-v",
                "ON_ERROR_STOP=1",
                "-U",
                "iolite",
                "-d",
                "iolite",
                "-c",
                sql,
            ])
            .env("PGHOST", socket)
            .env("PGPORT", port)
            .output()
            .unwrap();
        assert!(output.status.success(), "{sql}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    fn number(&self, sql: &str) -> u64 {
        self.psql(sql).parse().unwrap()
    }

    fn kill(&self) {
        let status = Command::new("kill").args(["-9", &self.pid.to_string()]).status().unwrap();
        assert!(status.success());
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // A server that a test has killed is no longer there to be stopped.
        let _ = server::stop(self.directory.path());
    }
}

fn go(_: u64, _: u64) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

/// Waits for something, for a while.
fn until(what: &str, mut is: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_secs(30);
    while !is() {
        assert!(Instant::now() < end, "{what} did not come about");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// A batch without an end to its time.
fn batch(cycles: Vec<Cycle>) -> Batch {
    Batch { cycles, hang: Nanos(0), limit: Nanos(60_000_000_000) }
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

    let mut told = Vec::new();
    database
        .setup(Bytes(8 * MIB), &mut |done, total| {
            told.push((done, total));
            ControlFlow::Continue(())
        })
        .unwrap();
    assert_eq!(told.last(), Some(&(8 * MIB, 8 * MIB)));
    assert!(told.is_sorted());
    assert_eq!(database.blocks().unwrap(), 1024);
    assert_eq!(server.number("SELECT count(*) FROM iolite.\"Blocks1\""), 1024);
    assert_eq!(server.number("SELECT count(DISTINCT payload) FROM iolite.\"Blocks1\""), 1024);
    assert_eq!(server.number("SELECT pg_relation_size('iolite.\"Blocks1\"')"), 8 * MIB);
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
    use OpKind::{Commit, Read, Write};
    assert_eq!(kinds(&done), [Write, Write, Write, Commit, Read, Read, Write, Commit]);
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
    limit_and_pause_are_kept(&database);
    what_is_not_there_is_refused(&database);
}

fn limit_and_pause_are_kept(database: &Postgres) {
    let mut within = database.within(0).unwrap().unwrap();
    let hang = Nanos(20_000_000);
    let cycles = vec![Cycle::Sets(vec![1, 2]); 3];
    let mut done = Vec::new();
    within.perform(&Batch { hang, ..batch(cycles.clone()) }, &mut done).unwrap();
    assert_eq!(done.len(), 9);
    for pair in [(2, 3), (5, 6)] {
        let pause = done[pair.1].started - done[pair.0].ended;
        assert!(pause >= hang.0.cast_signed() - 1000, "{pause}");
    }
    // The time is over in the first pause, which is cut.
    let limit = Nanos(300_000_000);
    let began = Instant::now();
    done.clear();
    within.perform(&Batch { cycles, hang: Nanos(3_600_000_000_000), limit }, &mut done).unwrap();
    assert_eq!(kinds(&done), [OpKind::Write, OpKind::Write, OpKind::Commit]);
    assert!(began.elapsed() >= Duration::from_millis(299) && began.elapsed() < Duration::from_secs(60));
    // No time at all: nothing. Reads end in the middle of a cycle.
    done.clear();
    let reads = Cycle::Reads((0..512).cycle().take(200_000).collect());
    within.perform(&Batch { limit: Nanos(0), ..batch(vec![reads.clone()]) }, &mut done).unwrap();
    assert_eq!(done.len(), 0);
    within.perform(&Batch { limit: Nanos(1_000_000), ..batch(vec![reads]) }, &mut done).unwrap();
    assert!((1..200_000).contains(&done.len()), "{}", done.len());
}

fn what_is_not_there_is_refused(database: &Postgres) {
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
