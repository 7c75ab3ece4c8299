//! The private server that these tests work with, and its own client.

use std::process::Command;

use iolite_db::mysql::server::{self, Options};
use iolite_db::{Error, Started};
use iolite_oltp::ran::{RanMysql, Settings};
use tempfile::TempDir;

use crate::common::created;

/// A private server, stopped when the test ends, however it ends.
pub(crate) struct Server {
    pub(crate) directory: TempDir,
    pub(crate) started: Started,
}

impl Server {
    /// `None` where MariaDB is not installed.
    pub(crate) fn start(options: &Options) -> Option<Server> {
        let directory = tempfile::tempdir().unwrap();
        // Pages of another size are created with the data.
        if options.page.is_none() {
            created::fill(directory.path(), "mariadb", |at| {
                server::start(at, &Options::default()).is_ok() && server::stop(at).is_ok()
            });
        }
        Server::start_in(directory, options)
    }

    pub(crate) fn start_in(directory: TempDir, options: &Options) -> Option<Server> {
        match server::start(directory.path(), options) {
            Ok(started) => Some(Server { directory, started }),
            Err(Error::Build { .. }) => {
                println!("skipped: MariaDB's server is not installed");
                None
            }
            Err(error) => panic!("{error}"),
        }
    }

    pub(crate) fn database(&self) -> RanMysql {
        RanMysql::new(&self.started.url, Settings::default()).unwrap()
    }

    pub(crate) fn password(&self) -> &str {
        self.started.url.split(['@', ':']).nth(2).unwrap()
    }

    /// The URL with something in it replaced.
    pub(crate) fn url(&self, from: &str, to: &str) -> String {
        assert!(self.started.url.contains(from), "{from} in {}", self.started.url);
        self.started.url.replacen(from, to, 1)
    }

    /// Asks by the server's own client program.
    pub(crate) fn ask(&self, sql: &str) -> String {
        let output = Command::new("mariadb")
            .args(["--no-defaults", "--user=root", "--batch", "--skip-column-names"])
            .arg(format!("--password={}", self.password()))
            .arg(format!("--socket={}", self.directory.path().join("socket").display()))
            .args(["--execute", sql, "iolite"])
            .output()
            .unwrap();
        assert!(output.status.success(), "{sql}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    pub(crate) fn count(&self, sql: &str) -> u64 {
        self.ask(sql).parse().unwrap()
    }

    pub(crate) fn files(&self) -> u64 {
        let files = std::fs::read_dir(self.directory.path().join("data/iolite")).unwrap();
        files.map(|file| file.unwrap().metadata().unwrap().len()).sum()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // A test may have stopped or killed it.
        let _ = server::stop(self.directory.path());
    }
}
