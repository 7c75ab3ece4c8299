//! The MariaDB adapter against real, private servers.
#![cfg(feature = "mysql")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)]

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::process::Command;

use iolite_db::mysql_server::{self, Options, Started};
use iolite_db::{Batch, Cycle, Database, Error, Mysql, Settings, Timed};
use iolite_model::{Bytes, Durability, Nanos, OpKind};
use tempfile::TempDir;

/// A private server, stopped when the test ends, however it ends.
struct Server {
    directory: TempDir,
    started: Started,
}

impl Server {
    /// `None` where MariaDB is not installed.
    fn start(options: &Options) -> Option<Server> {
        let directory = tempfile::tempdir().unwrap();
        match mysql_server::start(directory.path(), options) {
            Ok(started) => Some(Server { directory, started }),
            Err(Error::Build { .. }) => {
                println!("skipped: MariaDB's server is not installed");
                None
            }
            Err(error) => panic!("{error}"),
        }
    }

    fn database(&self) -> Mysql {
        Mysql::new(&self.started.url, Settings::default()).unwrap()
    }

    /// Asks by the server's own client program.
    fn ask(&self, sql: &str) -> String {
        let password = self.started.url.split(['@', ':']).nth(2).unwrap();
        let output = Command::new("mariadb")
            .args(["--no-defaults", "--user=root", "--batch", "--skip-column-names"])
            .arg(format!("--password={password}"))
            .arg(format!("--socket={}", self.started.socket.display()))
            .args(["--execute", sql, "iolite"])
            .output()
            .unwrap();
        assert!(output.status.success(), "{sql}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // A test may have stopped or killed it.
        let _ = mysql_server::stop(self.directory.path());
    }
}

fn go(_: u64, _: u64) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

const LONG: Nanos = Nanos(60_000_000_000);

#[test]
fn whole_life() {
    let Some(server) = Server::start(&Options::default()) else { return };
    let database = server.database();
    assert!(matches!(database.sizes(), Err(Error::Missing { .. })));
    database.purge().unwrap();
    let mut told = Vec::new();
    let mut tell = |done, total| {
        told.push((done, total));
        ControlFlow::Continue(())
    };
    database.setup(Bytes(8 << 20), &mut tell).unwrap();
    assert_eq!((told[0], told.last().copied()), ((0, 8 << 20), Some((8 << 20, 8 << 20))));
    assert_eq!(database.blocks().unwrap(), 512);
    assert_eq!(
        server.ask("SELECT COUNT(*), MAX(number), SUM(LENGTH(data)) FROM iolite_blocks"),
        format!("1024\t1023\t{}", 1024 * 7372)
    );
    assert!(matches!(database.setup(Bytes(1 << 20), &mut go), Err(Error::Exists { .. })));

    database.add_globals(2, 1000, &mut go).unwrap();
    database.add_globals(1, 77, &mut go).unwrap();
    assert_eq!(database.sizes().unwrap(), [1000, 1000, 77]);
    assert_eq!(database.count_subscripts(&mut go).unwrap(), [1000, 1000, 77]);
    let odd = "SELECT COUNT(*) FROM RanWriteGlobal2 WHERE LENGTH(value) <> 50 + subscript % 51";
    assert_eq!(
        server.ask("SELECT COUNT(*), MIN(subscript), MAX(subscript) FROM RanWriteGlobal2"),
        "1000\t1\t1000"
    );
    assert_eq!(server.ask(odd), "0");
    let _ = (database.size().unwrap(), database.describe().unwrap(), database.files().unwrap());
    database.settle().unwrap();

    let mut within = database.within(1).unwrap().unwrap();
    within.prepare(true, true).unwrap();
    let batch = Batch {
        cycles: vec![Cycle::Sets(vec![1, 2, 1000]), Cycle::Reads(vec![0, 511])],
        hang: Nanos(0),
        limit: LONG,
    };
    let mut done: Vec<Timed> = Vec::new();
    within.perform(&batch, &mut done).unwrap();
    let kinds: Vec<_> = done.iter().map(|op| op.kind).collect();
    assert_eq!(
        kinds,
        [OpKind::Write, OpKind::Write, OpKind::Write, OpKind::Commit, OpKind::Read, OpKind::Read]
    );
    println!("{done:?}");
    drop(within);

    database.drop_globals().unwrap();
    assert_eq!(database.sizes().unwrap(), [0; 0]);
    database.purge().unwrap();
    assert_eq!(server.ask("SHOW TABLES"), "");
    assert_eq!(
        server.ask("SELECT COUNT(*) FROM information_schema.ROUTINES WHERE ROUTINE_SCHEMA = 'iolite'"),
        "0"
    );
    let _ = (PathBuf::new(), Durability::Full);
}
