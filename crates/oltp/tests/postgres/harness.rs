//! The private server that these tests work with, and psql.

use std::process::Command;

use iolite_db::Error;
use iolite_db::postgres::server;
use iolite_oltp::ran::{RanPostgres, Settings};
use tempfile::TempDir;

use crate::common::{created, until};

/// A server that is stopped, and gone, when the test ends, however it ends.
pub(crate) struct Server {
    pub(crate) directory: TempDir,
    pub(crate) url: String,
    pub(crate) pid: u32,
}

impl Server {
    pub(crate) fn start() -> Option<Server> {
        let directory = tempfile::tempdir().unwrap();
        created::fill(directory.path(), "postgres", |at| {
            server::start(at, false).is_ok() && server::stop(at).is_ok()
        });
        Server::start_in(directory, false)
    }

    pub(crate) fn start_in(directory: TempDir, port: bool) -> Option<Server> {
        match server::start(directory.path(), port) {
            Ok(started) => Some(Server { url: started.url, pid: started.pid, directory }),
            Err(Error::Build { what, .. }) => {
                println!("skipped: {what}");
                None
            }
            Err(error) => panic!("{error}"),
        }
    }

    pub(crate) fn open(&self) -> RanPostgres {
        RanPostgres::new(&self.url, Settings::default()).unwrap()
    }

    /// What psql answers, unaligned.
    pub(crate) fn psql(&self, sql: &str) -> String {
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

    pub(crate) fn version(&self) -> u64 {
        self.number("SHOW server_version_num")
    }

    /// Whether this version counts writes of its log.
    pub(crate) fn counts_log(&self) -> bool {
        self.version() >= 140_000
    }

    pub(crate) fn number(&self, sql: &str) -> u64 {
        self.psql(sql).parse().unwrap()
    }

    /// Ends it as a crash would.
    pub(crate) fn kill(&self) {
        let status = Command::new("kill").args(["-9", &self.pid.to_string()]).status().unwrap();
        assert!(status.success());
        until("the server's end", || server::stop(self.directory.path()).is_err());
    }

    /// Starts it anew, with the same data; sessions of the one that was killed may hold its memory for a moment.
    pub(crate) fn restart(&mut self) {
        until("a start", || match server::start(self.directory.path(), false) {
            Ok(started) => {
                (self.url, self.pid) = (started.url, started.pid);
                true
            }
            Err(_) => false,
        });
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // A server that a test has killed is no longer there to be stopped.
        let _ = server::stop(self.directory.path());
    }
}
