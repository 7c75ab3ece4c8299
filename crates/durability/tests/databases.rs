//! Commits of private servers that are killed while they commit.

// Tests may give up, and say what they skip.
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout)]
#![cfg(all(feature = "postgres", feature = "mysql"))]

use std::path::Path;
use std::process::Command;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use iolite_db::{DatabaseUrl, Error, Server, ServerOptions, Started};
use iolite_durability::check::check_database;
use iolite_durability::{Limits, Witness, new_key, open_database, read_witness, run};
use iolite_model::Bytes;
use iolite_model::acknowledged::{Findings, Method, Plan};

/// A private server that is stopped when the test ends, however it ends.
struct Private {
    server: Server,
    directory: tempfile::TempDir,
    started: Started,
}

impl Private {
    /// `None`, with the reason printed, where the server's programs are missing.
    fn start(server: Server) -> Option<Private> {
        let directory = tempfile::tempdir().unwrap();
        match server.start(directory.path(), ServerOptions::default()) {
            Ok(started) => Some(Private { server, directory, started }),
            Err(Error::Build { what, .. }) => {
                println!("skipped: {what}");
                None
            }
            Err(error) => panic!("{error}"),
        }
    }

    /// Ends all its processes at once, and starts it anew, which recovers its data.
    fn kill_and_restart(&mut self) {
        let pid = self.started.pid.to_string();
        let children = Command::new("pgrep").args(["-P", &pid]).output().unwrap();
        let children = String::from_utf8(children.stdout).unwrap();
        let all = std::iter::once(pid.as_str()).chain(children.split_whitespace());
        assert!(Command::new("kill").arg("-9").args(all).status().unwrap().success());
        let deadline = Instant::now() + Duration::from_secs(120);
        loop {
            match self.server.start(self.directory.path(), ServerOptions::default()) {
                Ok(started) => break self.started = started,
                // Sessions of the one that was killed may hold its memory for a moment.
                Err(error) => assert!(Instant::now() < deadline, "{error}"),
            }
            std::thread::sleep(Duration::from_millis(100));
        }
    }
}

impl Drop for Private {
    fn drop(&mut self) {
        let _ = self.server.stop(self.directory.path());
    }
}

/// Commits until the server is killed after `commits`, starts it anew, and looks for them.
fn killed(private: &mut Private, notes: &Path, commits: u64) -> Findings {
    let url = DatabaseUrl::parse(&private.started.url).unwrap();
    let plan = Plan {
        run: new_key().unwrap(),
        method: Method::Commit,
        block: Bytes(4096),
        workers: 3,
        slots: 1,
        place: url.to_string(),
    };
    let witness = Witness::file(notes, None).unwrap();
    let interrupted = AtomicBool::new(false);
    let limits = Limits {
        duration: Some(Duration::from_secs(120)),
        bytes: Bytes(1 << 40),
        interrupted: &interrupted,
        watch: &|| None,
    };
    let open = || open_database(&url, plan.run);
    std::thread::scope(|scope| {
        let running = scope.spawn(|| run(&plan, Some(&open), &witness, &limits, &mut |_| {}));
        let deadline = Instant::now() + Duration::from_secs(100);
        while read_witness(notes).map_or(0, |known| known.writes()) < commits {
            assert!(Instant::now() < deadline && !running.is_finished(), "no commits");
            std::thread::sleep(Duration::from_millis(5));
        }
        private.kill_and_restart();
        running.join().unwrap().unwrap().failure.unwrap();
    });
    let known = read_witness(notes).unwrap();
    assert!(known.writes() >= commits && !known.ended);
    let url = DatabaseUrl::parse(&private.started.url).unwrap();
    let mut session = open_database(&url, plan.run).unwrap();
    let findings = check_database(&known, session.as_mut()).unwrap();
    session.remove().unwrap();
    findings
}

#[test]
fn servers_that_are_killed_keep_their_commits() {
    let notes = tempfile::tempdir().unwrap();
    for server in Server::ALL {
        let Some(mut private) = Private::start(server) else { continue };
        let findings = killed(&mut private, &notes.path().join(server.name()), 200);
        assert_eq!((findings.lost, findings.judged), (0, findings.acknowledged), "{server:?}: {findings:?}");
    }
}

#[test]
fn a_server_that_acknowledges_before_it_has_written_is_found_out() {
    let notes = tempfile::tempdir().unwrap();
    let Some(mut private) = Private::start(Server::Postgres) else { return };
    let relax = |private: &Private| {
        let mut client = iolite_db::postgres::Target::new(&private.started.url).unwrap().connect().unwrap();
        client.batch_execute("ALTER SYSTEM SET synchronous_commit = off").unwrap();
        client.batch_execute("ALTER SYSTEM SET wal_writer_delay = '10s'").unwrap();
    };
    relax(&private);
    // The kill also lets the settings take effect. What is lost depends on when the log was last written.
    let lost = (0..5).any(|attempt| {
        let findings = killed(&mut private, &notes.path().join(attempt.to_string()), 300);
        attempt > 0 && findings.lost > 0
    });
    assert!(lost, "commits that were not yet in the log should be missing after a kill");
}

#[test]
fn a_lost_row_is_missed_and_a_missing_table_is_an_error() {
    let directory = tempfile::tempdir().unwrap();
    let url = DatabaseUrl::parse(&format!("sqlite:{}", directory.path().display())).unwrap();
    let place = url.to_string();
    let plan = Plan {
        run: new_key().unwrap(),
        method: Method::Commit,
        block: Bytes(4096),
        workers: 2,
        slots: 1,
        place,
    };
    let notes = directory.path().join("notes");
    let witness = Witness::file(&notes, None).unwrap();
    let interrupted = AtomicBool::new(false);
    let limits =
        Limits { duration: None, bytes: Bytes(2 * 30 * 4096), interrupted: &interrupted, watch: &|| None };
    assert_eq!(
        run(&plan, Some(&|| open_database(&url, plan.run)), &witness, &limits, &mut |_| {})
            .unwrap()
            .totals
            .acknowledged,
        60
    );
    let known = read_witness(&notes).unwrap();
    let mut session = open_database(&url, plan.run).unwrap();
    assert_eq!(check_database(&known, session.as_mut()).unwrap().lost, 0);
    let file = std::fs::read_dir(directory.path()).unwrap().map(|entry| entry.unwrap().path());
    let file = file.into_iter().find(|path| path.extension().is_some_and(|end| end == "db")).unwrap();
    let table = file.file_stem().unwrap().to_str().unwrap().to_owned();
    let other = rusqlite::Connection::open(&file).unwrap();
    other.execute(&format!("DELETE FROM {table} WHERE worker = 1 AND number = 7"), ()).unwrap();
    let findings = check_database(&known, session.as_mut()).unwrap();
    assert_eq!((findings.lost, findings.losses[0].worker, findings.losses[0].number), (1, 1, 7));
    other.execute(&format!("DROP TABLE {table}"), ()).unwrap();
    assert!(check_database(&known, session.as_mut()).is_err());
}
