//! Private servers, as `iolite db` starts and stops them.

use std::path::Path;
use std::process::{Command, Output};

use super::{IOLITE, created, skip, stderr};

fn db(verb: &str, kind: &str, directory: &Path) -> Output {
    Command::new(IOLITE).args(["db", verb, kind]).arg(directory).output().unwrap()
}

/// Starts a server in an empty directory, and returns its URL; `None`, with the reason printed, where its programs are missing.
pub(crate) fn start(kind: &str, directory: &Path) -> Option<String> {
    created::fill(directory, kind, |at| {
        ["start", "stop"].into_iter().all(|verb| db(verb, kind, at).status.success())
    });
    let started = db("start", kind, directory);
    if !started.status.success() && stderr(&started).contains("install") {
        return skip(stderr(&started).trim());
    }
    assert!(started.status.success(), "{}", stderr(&started));
    Some(String::from_utf8(started.stdout).unwrap().lines().next().unwrap().to_owned())
}

/// A private server, stopped when dropped.
pub(crate) struct PrivateServer {
    pub(crate) kind: &'static str,
    pub(crate) url: String,
    /// Not beneath a home directory, which the server's user may not pass; and a socket's path is short.
    pub(crate) directory: tempfile::TempDir,
}

impl PrivateServer {
    /// `None`, with the reason printed, where its programs are missing.
    pub(crate) fn start(kind: &'static str) -> Option<PrivateServer> {
        let directory = tempfile::tempdir().unwrap();
        let url = start(kind, directory.path())?;
        Some(PrivateServer { kind, url, directory })
    }
}

impl Drop for PrivateServer {
    fn drop(&mut self) {
        db("stop", self.kind, self.directory.path());
    }
}
