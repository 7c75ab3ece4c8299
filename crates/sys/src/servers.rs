//! Servers of databases whose files these are, although nobody has them open just now.

mod innodb;
mod postgres;
mod survey;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use crate::holders::{held, named, others};
use survey::Survey;

/// How long the data directories of running servers are looked at: one may be on a file system that does not respond.
const PATIENCE: Duration = Duration::from_secs(5);

/// What looks through the data directory of a process.
type Look = fn(u32, &Path) -> Survey;

/// Names of programs that are servers, and what looks through the data directory of one.
const KINDS: [(&[&str], Look); 2] = [(postgres::NAMES, postgres::survey), (innodb::NAMES, innodb::survey)];

/// The files of the servers of PostgreSQL, MariaDB and MySQL that run. They open these only when they need them, so that nobody may have
/// one open just now.
#[derive(Debug)]
pub struct Servers {
    surveys: Vec<Survey>,
    /// Whether the directories of one took too long.
    pub incomplete: bool,
}

impl Servers {
    /// Those that run now, as far as this user may see them. What is on a file system that does not respond is left out.
    pub fn now() -> Servers {
        let deadline = Instant::now() + PATIENCE;
        let (found, surveys) = mpsc::channel();
        for (process, directory, survey) in running() {
            let found = found.clone();
            // Without a thread it is as with one that does not respond.
            let _ = thread::Builder::new().spawn(move || found.send(survey(process, &directory)));
        }
        drop(found);
        let mut servers = Servers { surveys: Vec::new(), incomplete: false };
        loop {
            match surveys.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(survey) => servers.surveys.push(survey),
                Err(ended) => {
                    servers.incomplete = ended == mpsc::RecvTimeoutError::Timeout;
                    return servers;
                }
            }
        }
    }

    /// The server whose file this is, by any of its names.
    pub fn above(&self, path: &Path) -> Option<String> {
        self.of(&fs::canonicalize(path).ok()?)
    }

    /// The same, of a path without links but one into another mount namespace (`/proc/PID/root`).
    pub fn of(&self, path: &Path) -> Option<String> {
        let mut directories = path.ancestors().skip(1);
        let above = directories.find_map(|at| postgres::running_in(at).or_else(|| innodb::running_in(at)));
        let surveyed = || self.surveys.iter().find_map(|survey| survey.process_with(path)).map(named);
        above.or_else(|| innodb::writer_of_log(path)).or_else(surveyed)
    }
}

/// One process of each server, with the directory that it works in: its data directory, as soon as it has begun.
fn running() -> Vec<(u32, PathBuf, Look)> {
    let mut found = BTreeMap::new();
    for process in others() {
        let kind = KINDS.iter().find(|(names, _)| is_called(process, names));
        let directory = PathBuf::from(format!("/proc/{process}/cwd"));
        if let (Some((_, survey)), Some(data)) = (kind, kind.and_then(|_| held(&directory))) {
            found.entry(data).or_insert((process, directory, *survey));
        }
    }
    found.into_values().collect()
}

/// A path that a process in this directory uses. Of one in a container, it is as seen in it.
fn as_seen_by(process: u32, directory: &Path, path: &Path) -> PathBuf {
    match path.strip_prefix("/") {
        Ok(inside) => PathBuf::from(format!("/proc/{process}/root")).join(inside),
        Err(_) => directory.join(path),
    }
}

fn is_called(process: u32, names: &[&str]) -> bool {
    let name = fs::read_to_string(format!("/proc/{process}/comm"));
    name.is_ok_and(|name| names.contains(&name.trim()))
}

#[cfg(test)]
mod tests;
