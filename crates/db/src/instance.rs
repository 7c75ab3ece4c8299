//! What all database instances have in common.

use std::path::PathBuf;

use iolite_model::{Bytes, Durability, LogCopy, Physical, ReadingValue};

use crate::error::Result;
use crate::waits::WaitReader;

/// A database instance as the results state it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Description {
    /// Name of the engine, for example `SQLite`.
    pub engine: String,
    /// Version of the engine.
    pub version: String,
    /// The database's own name for the place within the server (a PostgreSQL database, a GT.M region); empty where there is
    /// none.
    pub namespace: String,
    /// Size of a block (page).
    pub block: Bytes,
    /// What makes a commit durable, or what relaxed durability leaves out.
    pub durability: String,
    /// What else determines the figures, as (name, value).
    pub settings: Vec<(String, String)>,
}

impl Description {
    /// What `later`, a description of the same instance, states otherwise: one line each, with both values.
    pub fn changes(&self, later: &Description) -> Vec<String> {
        let mut changes = Vec::new();
        let mut compare = |name: &str, before: &str, after: &str| {
            if before != after {
                changes.push(format!("{name} was {before}, and is {after}"));
            }
        };
        compare("the version", &self.version, &later.version);
        for (name, before) in &self.settings {
            let after = later.settings.iter().find(|(other, _)| other == name);
            compare(name, before, after.map_or("not set", |(_, after)| after));
        }
        if changes.is_empty() && self.durability != later.durability {
            changes.push(format!("commits were: {}; they are: {}", self.durability, later.durability));
        }
        changes
    }
}

/// A session that waits for a lock, and who holds it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct LockWait {
    /// The waiting session, as the database numbers it.
    pub waiting: String,
    /// The session that holds the lock: its number, and what is known of it.
    pub holder: String,
}

/// Why the files of a server on this host can't be seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unseen {
    /// The server does not name its directories to this role.
    Role,
    /// This user may not look into the directory that the server names, and its address may lead to another host.
    Forbidden(PathBuf),
    /// The directory that the server names is not on this host, or is not that server's: it runs in a container, or behind a tunnel.
    Elsewhere(PathBuf),
}

/// Where a database's files are, as far as this host can see them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Files {
    /// Whether the server is on this host, as far as its address shows: its memory may then hold what is read.
    pub here: bool,
    /// The directory, or file, under which the data is; `None` when it is on another host or may not be asked for.
    pub data: Option<PathBuf>,
    /// The same of the log (write-ahead log, journal), where that is a file of its own.
    pub log: Option<PathBuf>,
    /// Why they are not known, where the server is on this host and its kind has more than one reason.
    pub unseen: Option<Unseen>,
    /// The process that, with its descendants, does the I/O on them: the server, or this program. `None` where this host or this
    /// user does not see it.
    pub process: Option<u32>,
}

/// A database instance: a server's database, or databases in a directory. Knows nothing of what a workload stores in it.
///
/// Sessions are not among these operations: each instance has connections of its own type, and a workload is written for
/// the instances that it supports.
pub trait Instance: Send + Sync {
    /// What it is, and how commits of this durability are made durable.
    ///
    /// # Errors
    /// [`Error::TooOld`](crate::Error::TooOld), [`Error::Engine`](crate::Error::Engine) (no server, wrong password, no such
    /// database...).
    fn describe(&self, durability: Durability) -> Result<Description>;

    /// Where the files are, to find the devices beneath and the free space.
    ///
    /// # Errors
    /// [`Error::Engine`](crate::Error::Engine) when the server can't be asked. A server on another host is no error.
    fn files(&self) -> Result<Files>;

    /// Brings everything committed from the log into the data files, as far as this user may.
    ///
    /// # Errors
    /// [`Error::Engine`](crate::Error::Engine), among others when a session is in the middle of a transaction.
    fn settle(&self) -> Result<()>;

    /// What the database itself has counted of its operations on files until now: readings of which a run takes the
    /// difference. Asked several times a second while sessions are at work, on a thread of its own.
    ///
    /// # Errors
    /// [`Error::Engine`](crate::Error::Engine).
    fn counters(&self) -> Result<Physical>;

    /// What it reports of getting changed pages written, besides [`counters`](Instance::counters): counters since its start, and
    /// states. Asked as often as those; nothing where it reports nothing.
    ///
    /// # Errors
    /// [`Error::Engine`](crate::Error::Engine).
    fn write_back(&self) -> Result<Vec<ReadingValue>> {
        Ok(Vec::new())
    }

    /// Sessions that can still be opened, by the server's own limit; `None` where there is none.
    ///
    /// # Errors
    /// [`Error::Engine`](crate::Error::Engine).
    fn free_sessions(&self) -> Result<Option<u32>> {
        Ok(None)
    }

    /// Bytes that it writes in all, at most, when so much is loaded in bulk: with its log, and with what it writes twice.
    ///
    /// # Errors
    /// [`Error::Engine`](crate::Error::Engine).
    fn bulk_writes(&self, data: Bytes) -> Result<Bytes> {
        Ok(data)
    }

    /// Where what is written goes besides the data files and the log that recovery needs, as far as this role may see it.
    ///
    /// # Errors
    /// [`Error::Engine`](crate::Error::Engine).
    fn log_copies(&self) -> Result<Vec<LogCopy>> {
        Ok(Vec::new())
    }

    /// Sessions of this program that wait for a lock just now. Asked once a second while sessions are at work. Where the
    /// database does not show them, or not to this user, there are none.
    ///
    /// # Errors
    /// [`Error::Engine`](crate::Error::Engine).
    fn lock_waits(&self) -> Result<Vec<LockWait>> {
        Ok(Vec::new())
    }

    /// Reads what sessions wait for; `None` for a database that does not show it.
    ///
    /// # Errors
    /// [`Error::Engine`](crate::Error::Engine).
    fn wait_reader(&self) -> Result<Option<Box<dyn WaitReader>>> {
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_setting_that_changed_is_named_with_both_values() {
        let of = |fsync: &str| Description {
            engine: "PostgreSQL".into(),
            version: "15".into(),
            namespace: String::new(),
            block: Bytes(8192),
            durability: format!("fsync={fsync}"),
            settings: vec![("fsync".into(), fsync.into()), ("wal_level".into(), "replica".into())],
        };
        assert_eq!(of("on").changes(&of("on")), Vec::<String>::new());
        assert_eq!(of("on").changes(&of("off")), ["fsync was on, and is off"]);
        let unset = Description { settings: Vec::new(), ..of("on") };
        assert_eq!(of("on").changes(&unset).len(), 2);
    }
}
