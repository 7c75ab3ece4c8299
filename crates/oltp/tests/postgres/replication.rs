//! A server whose log goes elsewhere, too: to an archive, a receiver, a slot, a publication.

use std::fs::OpenOptions;
use std::io::Write;
use std::process::{Child, Command, Stdio};

use iolite_model::LogCopy;
use iolite_oltp::ran::{Adapter, RanPostgres, Settings};

use crate::common::until;
use crate::harness::Server;

/// A program that is ended with the test.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A receiver of the server's log that is connected; `None` where there is none that can be.
fn receive(server: &Server) -> Option<Ended> {
    let versions = std::fs::read_dir("/usr/lib/postgresql").ok()?;
    let program = versions
        .flatten()
        .map(|version| version.path().join("bin/pg_receivewal"))
        .find(|path| path.exists())?;
    let mut receiver = Command::new(program)
        .args(["--no-password", "--no-loop", "--username=iolite", "--directory"])
        .arg(server.directory.path())
        .arg("--host")
        .arg(server.directory.path().canonicalize().unwrap())
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .map(Ended)
        .ok()?;
    let mut ended = false;
    until("the receiver's connection, or its end", || {
        ended = receiver.0.try_wait().unwrap().is_some();
        ended || server.number("SELECT count(*) FROM pg_stat_replication") == 1
    });
    (!ended).then_some(receiver)
}

fn copies(database: &RanPostgres) -> Vec<LogCopy> {
    database.instance().log_copies().unwrap()
}

#[test]
fn where_the_log_goes_is_known_to_every_role() {
    let Some(mut server) = Server::start() else { return };
    assert_eq!(copies(&server.open()), []);
    let settings = server.directory.path().join("data/postgresql.conf");
    let mut settings = OpenOptions::new().append(true).open(settings).unwrap();
    settings
        .write_all(b"\narchive_mode = on\narchive_command = 'test -n %p'\nwal_level = replica\n")
        .unwrap();
    iolite_db::postgres::server::stop(server.directory.path()).unwrap();
    server.restart();
    server.psql(
        "SELECT pg_create_physical_replication_slot('forgotten', true); CREATE PUBLICATION everything FOR ALL TABLES; \
         CREATE ROLE weak LOGIN; GRANT CREATE ON DATABASE iolite TO weak",
    );
    let receiver = receive(&server);
    if receiver.is_none() {
        println!("skipped in part: no pg_receivewal that speaks with this server");
    }
    let mut expected = vec![
        LogCopy::Archive { by: "`test -n %p`".into() },
        LogCopy::IdleSlots { names: vec!["forgotten".into()] },
        LogCopy::Publications { names: vec!["everything".into()] },
    ];
    if receiver.is_some() {
        expected.insert(0, LogCopy::Receivers { count: 1 });
    }
    let weak = RanPostgres::new(&server.url.replacen("iolite@", "weak@", 1), Settings::default()).unwrap();
    assert_eq!((copies(&server.open()), copies(&weak)), (expected.clone(), expected));
}
