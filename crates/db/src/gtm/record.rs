//! The processes that were started for a database, recorded beside it.
//!
//! GT.M considers a process alive as long as its number is in the process table (kill(2) with signal 0), and waits for the locks
//! it held. One that was killed stays there until its parent has reaped it: some time, or forever where process 1 of a container
//! does not reap orphans. With the record, the next process knows whose end to wait for before it opens the database.

use std::fmt::{self, Write as _};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, flock};

/// Name of the record: a line per process, with its number and its start (clock ticks since the host's).
pub const RECORD: &str = "iolite-gtm.processes";
/// How long to wait for the end of processes that were killed, and how often to look.
const PATIENCE: Duration = Duration::from_secs(20);
const PAUSE: Duration = Duration::from_millis(20);
/// The process has begun to exit (include/linux/sched.h).
const PF_EXITING: u64 = 0x4;
/// SIGKILL in the sets of pending signals (proc_pid_status(5)).
const KILLED: u64 = 1 << 8;

/// A process that was killed or has exited, and is still in the process table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dead {
    /// Its number.
    pub number: u32,
    /// Who has to reap it.
    pub parent: u32,
}

impl fmt::Display for Dead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = fs::read_to_string(format!("/proc/{}/comm", self.parent)).unwrap_or_default();
        let name = name.trim().escape_debug();
        write!(f, "process {} (its parent, process {}, {name}, has not reaped it)", self.number, self.parent)
    }
}

/// Such processes, as a sentence.
pub fn described(dead: &[Dead]) -> String {
    let mut text = String::new();
    for (index, process) in dead.iter().enumerate() {
        // Writing to a string does not fail.
        let _ = write!(text, "{}{process}", if index > 0 { ", " } else { "" });
    }
    format!("GT.M waits for locks of dead processes that are still in the process table: {text}")
}

/// Records a process. Without a record, for example on a full disk, the database is as usable as before: only the end of that
/// process is not waited for.
pub(super) fn add(directory: &Path, number: u32) {
    let Some(stat) = Stat::of(number) else { return };
    let opened = OpenOptions::new().append(true).create(true).open(directory.join(RECORD));
    let _ = opened.and_then(|mut file| {
        flock(&file, FlockOperation::LockExclusive)?;
        writeln!(file, "{number} {}", stat.started)
    });
}

/// Waits until no process of the database that was killed is in the process table, and returns those that still are after 20 s.
///
/// # Errors
/// The record can't be read.
pub fn wait_for_dead(directory: &Path) -> io::Result<Vec<Dead>> {
    dead_after(directory, PATIENCE)
}

fn dead_after(directory: &Path, patience: Duration) -> io::Result<Vec<Dead>> {
    let until = Instant::now() + patience;
    loop {
        let dead: Vec<Dead> = recorded(directory)?
            .into_iter()
            .filter_map(|(number, started)| {
                let stat = Stat::of(number).filter(|stat| stat.started == started && stat.dead)?;
                Some(Dead { number, parent: stat.parent })
            })
            .collect();
        if dead.is_empty() || Instant::now() > until {
            return Ok(dead);
        }
        std::thread::sleep(PAUSE);
    }
}

/// Removes all from the record that no longer live: after the database has been closed, nothing of theirs is left in it.
///
/// # Errors
/// The record can't be written.
pub fn forget_dead(directory: &Path) -> io::Result<()> {
    let Some(mut file) = existing(directory)? else { return Ok(()) };
    flock(&file, FlockOperation::LockExclusive)?;
    let mut text = String::new();
    file.read_to_string(&mut text)?;
    let alive = |&(number, started): &(u32, u64)| {
        Stat::of(number).is_some_and(|stat| stat.started == started && !stat.dead)
    };
    let kept: String =
        parsed(&text).filter(alive).map(|(number, started)| format!("{number} {started}\n")).collect();
    if kept != text {
        file.set_len(0)?;
        file.rewind()?;
        file.write_all(kept.as_bytes())?;
    }
    Ok(())
}

fn existing(directory: &Path) -> io::Result<Option<File>> {
    match OpenOptions::new().read(true).write(true).open(directory.join(RECORD)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        opened => opened.map(Some),
    }
}

fn recorded(directory: &Path) -> io::Result<Vec<(u32, u64)>> {
    let mut text = String::new();
    if let Some(mut file) = existing(directory)? {
        file.read_to_string(&mut text)?;
    }
    Ok(parsed(&text).collect())
}

/// What is not a record is not one of a process.
fn parsed(text: &str) -> impl Iterator<Item = (u32, u64)> + '_ {
    text.lines().filter_map(|line| {
        let (number, started) = line.split_once(' ')?;
        Some((number.parse().ok()?, started.parse().ok()?))
    })
}

/// What the system reports of a process.
struct Stat {
    /// Clock ticks from the host's start to its own: with the number, it identifies the process.
    started: u64,
    parent: u32,
    /// Whether it has ended, or can't but end.
    dead: bool,
}

impl Stat {
    /// See proc_pid_stat(5).
    fn of(number: u32) -> Option<Stat> {
        let text = fs::read_to_string(format!("/proc/{number}/stat")).ok()?;
        // "PID (NAME) STATE ...", and the name may hold anything.
        let fields: Vec<&str> = text.rsplit_once(')')?.1.split_whitespace().collect();
        let ended = matches!(*fields.first()?, "Z" | "X" | "x");
        let exiting = fields.get(6)?.parse::<u64>().ok()? & PF_EXITING != 0;
        let started = fields.get(19)?.parse().ok()?;
        let dead = ended || exiting || is_killed(number);
        Some(Stat { started, parent: fields.get(1)?.parse().ok()?, dead })
    }
}

/// Whether it was killed, and has only not noticed yet: it may be in the midst of a long write.
fn is_killed(number: u32) -> bool {
    let text = fs::read_to_string(format!("/proc/{number}/status")).unwrap_or_default();
    let pending = text.lines().filter_map(|line| {
        let set = line.strip_prefix("SigPnd:").or_else(|| line.strip_prefix("ShdPnd:"))?;
        u64::from_str_radix(set.trim(), 16).ok()
    });
    pending.fold(0, |all, set| all | set) & KILLED != 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn the_dead_are_waited_for_by_number_and_start() {
        let directory = tempfile::tempdir().unwrap();
        assert_eq!(wait_for_dead(directory.path()).unwrap(), []);
        forget_dead(directory.path()).unwrap();
        let mut alive = Command::new("sleep").arg("1000").spawn().unwrap();
        let mut dead = Command::new("sleep").arg("1000").spawn().unwrap();
        for child in [&alive, &dead] {
            add(directory.path(), child.id());
        }
        // The same number, started at another time, is another process.
        let lines = fs::read_to_string(directory.path().join(RECORD)).unwrap();
        assert_eq!(lines.lines().count(), 2, "{lines}");
        assert_eq!(wait_for_dead(directory.path()).unwrap(), [], "both are alive");

        dead.kill().unwrap();
        let left = dead_after(directory.path(), Duration::ZERO).unwrap();
        assert_eq!(left, [Dead { number: dead.id(), parent: std::process::id() }]);
        assert!(described(&left).contains(&format!("process {} (its parent, process ", dead.id())));
        let reaper = std::thread::spawn(move || dead.wait());
        assert_eq!(wait_for_dead(directory.path()).unwrap(), [], "it is reaped");
        reaper.join().unwrap().unwrap();
        forget_dead(directory.path()).unwrap();
        let kept = fs::read_to_string(directory.path().join(RECORD)).unwrap();
        assert_eq!(kept, format!("{}\n", lines.lines().next().unwrap()));

        let (number, started) = kept.trim().split_once(' ').unwrap();
        let other = started.parse::<u64>().unwrap() + 1;
        fs::write(directory.path().join(RECORD), format!("{number} {other}\nnot a record\n")).unwrap();
        alive.kill().unwrap();
        assert_eq!(wait_for_dead(directory.path()).unwrap(), [], "another process has that number");
        alive.wait().unwrap();
        forget_dead(directory.path()).unwrap();
        assert_eq!(fs::read_to_string(directory.path().join(RECORD)).unwrap(), "");
    }
}
