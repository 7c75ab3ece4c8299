//! What private servers have in common: one start at a time in a directory, the user that they run as, a port that stays theirs, room
//! for their files.

use std::fs::{self, File};
use std::io;
use std::net::TcpListener;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use iolite_model::{Bytes, ErrorCause};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_encode};
use rustix::fs::{FlockOperation, flock};

use crate::error::{Error, Result};
use crate::space::free_space;

/// What is left as it is of a path in a URL, besides letters and digits.
const IN_PATHS: &AsciiSet = &NON_ALPHANUMERIC.remove(b'/').remove(b'.').remove(b'-').remove(b'_');

/// Number of the user and the group `nobody` where there is no such name.
const NOBODY: u32 = 65_534;

/// A user that a server runs as, which is not root: servers refuse that.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ServerUser {
    pub(crate) uid: u32,
    pub(crate) gid: u32,
}

impl ServerUser {
    /// The first of these users that there is, else `nobody`; `None` where this program is not run by root.
    pub(crate) fn of_root(names: &[&str]) -> Option<ServerUser> {
        if iolite_sys::file::effective_user() != 0 {
            return None;
        }
        let users = fs::read_to_string("/etc/passwd").unwrap_or_default();
        let find = |name: &&str| {
            let mut fields = users.lines().map(|line| line.split(':').collect::<Vec<_>>());
            let fields = fields.find(|fields| fields.len() > 3 && fields[0] == *name)?;
            Some(ServerUser { uid: fields[2].parse().ok()?, gid: fields[3].parse().ok()? })
        };
        Some(names.iter().find_map(find).unwrap_or(ServerUser { uid: NOBODY, gid: NOBODY }))
    }

    /// Makes a file this user's.
    pub(crate) fn give(self, path: &Path) -> io::Result<()> {
        std::os::unix::fs::chown(path, Some(self.uid), Some(self.gid))
    }

    /// By owner, group and mode alone: only asked after something has failed.
    fn may_enter(self, directory: &Path) -> bool {
        let Ok(found) = fs::metadata(directory) else { return true };
        let search = match (found.uid() == self.uid, found.gid() == self.gid) {
            (true, _) => 0o100,
            (false, true) => 0o010,
            (false, false) => 0o001,
        };
        found.mode() & search != 0
    }

    /// Has this user run a command.
    pub(crate) fn run(self, command: &mut Command) {
        command.uid(self.uid).gid(self.gid);
    }
}

/// The error of a start; where the user of the server can't enter the directory, or one above it, an error that says so.
pub(crate) fn explained(error: Error, user: Option<ServerUser>, directory: &Path) -> Error {
    let Some(user) = user else { return error };
    let Some(barred) = directory.ancestors().filter(|above| !user.may_enter(above)).last() else {
        return error;
    };
    let (number, barred) = (user.uid, barred.display());
    let why = format!("root starts servers as another user (number {number}), who may not enter {barred}");
    Error::engine("start a server in", directory.display(), why, ErrorCause::PrivateUnreachable)
}

/// A path as part of a URL.
pub(crate) fn encoded(path: &Path) -> String {
    percent_encode(path.as_os_str().as_bytes(), IN_PATHS).to_string()
}

/// The file with the port of an earlier start.
const PORT: &str = "port";

/// A directory in which nobody else starts or stops a server meanwhile; until it is dropped.
#[derive(Debug)]
pub(crate) struct DirectoryLock(#[allow(dead_code)] File);

/// Holds a directory, which must exist.
///
/// # Errors
/// [`Error::Engine`] when another process holds it; [`Error::Io`].
pub(crate) fn hold(directory: &Path) -> Result<DirectoryLock> {
    let file = File::open(directory).map_err(|e| failed("open", directory, e))?;
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(DirectoryLock(file)),
        Err(rustix::io::Errno::WOULDBLOCK) => {
            let why = "another iolite is starting or stopping one there";
            Err(Error::engine("start or stop a server in", directory.display(), why, ErrorCause::PrivateBusy))
        }
        Err(error) => Err(failed("lock", directory, error.into())),
    }
}

/// A port of the loopback address for the server in `directory`: that of the start before, so that its URL stays, or where
/// somebody else has that by now, another one that is free.
///
/// # Errors
/// [`Error::Io`].
pub(crate) fn port(directory: &Path) -> Result<u16> {
    let path = directory.join(PORT);
    let before = fs::read_to_string(&path).ok().and_then(|text| text.trim().parse::<u16>().ok());
    let free = |port: u16| {
        TcpListener::bind(("127.0.0.1", port)).and_then(|listener| Ok(listener.local_addr()?.port()))
    };
    if let Some(port) = before.filter(|&port| port != 0 && free(port).is_ok()) {
        return Ok(port);
    }
    let port = free(0).map_err(|e| failed("find a free port for the server in", directory, e))?;
    fs::write(&path, format!("{port}\n")).map_err(|e| failed("write", &path, e))?;
    Ok(port)
}

/// # Errors
/// [`Error::Engine`] where there is less than a server's own files need.
pub(crate) fn require_space(directory: &Path, needed: Bytes) -> Result<()> {
    let free = free_space(directory)?;
    if free >= needed {
        return Ok(());
    }
    let why = format!("{free} are free there, and the server's own files need {needed}");
    Err(Error::engine("start a server in", directory.display(), why, ErrorCause::PrivateSpace))
}

fn failed(doing: &'static str, path: &Path, source: io::Error) -> Error {
    Error::io(doing, path, source)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_at_a_time() {
        let directory = tempfile::tempdir().unwrap();
        let held = hold(directory.path()).unwrap();
        let refused = hold(directory.path()).unwrap_err().to_string();
        assert!(refused.contains("another iolite"), "{refused}");
        drop(held);
        hold(directory.path()).unwrap();
    }

    #[test]
    fn a_port_stays_until_somebody_else_has_it() {
        let directory = tempfile::tempdir().unwrap();
        let first = port(directory.path()).unwrap();
        // Unless another program has taken it in between, which happens once in a very long time.
        let taken = TcpListener::bind(("127.0.0.1", first));
        let Ok(taken) = taken else { return println!("skipped: somebody has taken port {first}") };
        let second = port(directory.path()).unwrap();
        assert_ne!(second, first);
        drop(taken);
        assert_eq!(port(directory.path()).unwrap(), second);
        fs::write(directory.path().join(PORT), "nonsense").unwrap();
        assert_ne!(port(directory.path()).unwrap(), 0);
    }

    #[test]
    fn space_is_looked_at_before() {
        let directory = tempfile::tempdir().unwrap();
        assert!(require_space(directory.path(), Bytes(1)).is_ok());
        let refused = require_space(directory.path(), Bytes(u64::MAX)).unwrap_err().to_string();
        assert!(refused.contains("are free there"), "{refused}");
    }
}
