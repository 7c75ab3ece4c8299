//! Active sessions, sampled: what they execute, what they wait for, and who holds them up.

use std::collections::BTreeMap;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use iolite_model::{Blocker, Nanos, StatementShare, WaitShare, WaitsFound};

use crate::error::Result;

/// Time between two samples, unless asked for otherwise: 10 Hz.
pub const WAIT_INTERVAL: Duration = Duration::from_millis(100);
/// Entries of each list that are kept.
const KEPT: usize = 20;
/// Characters of a statement that are kept.
const STATEMENT: usize = 120;
/// Different waits, statements and the like that are counted: beyond, they are no longer distinguished.
const DIFFERENT: usize = 4096;
/// Different waits whose times are kept apart.
const TIMED: usize = 32;
/// How long the last sample may take when the sampler is to end.
const PATIENCE: Duration = Duration::from_secs(5);

/// A session that executed something when it was looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ActiveSession {
    /// What it waited for; `CPU` where the server knows of no wait.
    pub wait: String,
    /// What it executed.
    pub statement: String,
    /// What the session that held it up executed, where one did.
    pub holder: Option<String>,
    /// What it waited for, where the server shows that: a table, a page, a row.
    pub object: Option<String>,
}

/// Reads the active sessions of a database over a connection of its own.
pub trait WaitReader: Send {
    /// The sessions that execute something now, this reader's own not among them.
    ///
    /// # Errors
    /// [`Error::Engine`](crate::Error::Engine).
    fn read(&mut self) -> Result<Vec<ActiveSession>>;
}

/// A thread that samples until it is stopped.
#[derive(Debug)]
pub struct WaitSampler {
    end: Sender<()>,
    done: mpsc::Receiver<WaitsFound>,
    times: SessionTimes,
    _thread: JoinHandle<()>,
}

/// What sessions have spent their time in since a [`WaitSampler`] began.
#[derive(Debug, Clone, Default)]
pub struct SessionTimes(Arc<Mutex<TimesSpent>>);

/// Time that was observed, and time that sessions spent, in seconds.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TimesSpent {
    /// Time observed.
    pub observed: f64,
    /// In each wait (and on a CPU), summed over the sessions: divided by the time observed, the average number of sessions in it.
    pub waits: BTreeMap<String, f64>,
}

impl SessionTimes {
    /// The times so far. Reading them never waits for the server.
    pub fn get(&self) -> TimesSpent {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Each of these sessions has been in its wait for so long. Waits that are new when there are many already are `other`.
    fn add(&self, sessions: &[ActiveSession], passed: Duration) {
        let mut spent = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        spent.observed += passed.as_secs_f64();
        for session in sessions {
            let known = spent.waits.len() < TIMED || spent.waits.contains_key(&session.wait);
            let wait = if known { &session.wait } else { "other" };
            *spent.waits.entry(wait.to_owned()).or_default() += passed.as_secs_f64();
        }
    }
}

impl WaitSampler {
    /// Begins to sample; `None` where no thread can be started.
    pub fn start(reader: Box<dyn WaitReader>, interval: Duration) -> Option<WaitSampler> {
        let ((end, ended), (found, done)) = (mpsc::channel(), mpsc::channel());
        let times = SessionTimes::default();
        let published = times.clone();
        let sampler = thread::Builder::new().name("waits".into()).spawn(move || {
            // Nobody listens where the run was given up.
            let _ = found.send(sample(reader, interval, &published, &ended));
        });
        sampler.ok().map(|thread| WaitSampler { end, done, times, _thread: thread })
    }

    /// The times that sessions spent so far, also after it has ended.
    pub fn times(&self) -> SessionTimes {
        self.times.clone()
    }

    /// Ends it; what it has seen. `None` where the server does not respond any more.
    pub fn finish(self) -> Option<WaitsFound> {
        // It has ended already where this is not heard.
        let _ = self.end.send(());
        self.done.recv_timeout(PATIENCE).ok()
    }
}

fn sample(
    mut reader: Box<dyn WaitReader>,
    interval: Duration,
    times: &SessionTimes,
    ended: &mpsc::Receiver<()>,
) -> WaitsFound {
    let (began, mut tally, mut next) = (Instant::now(), Tally::default(), interval);
    let (mut failure, mut sampled) = (None, began);
    while failure.is_none() {
        let wait = next.saturating_sub(began.elapsed());
        if !matches!(ended.recv_timeout(wait), Err(RecvTimeoutError::Timeout)) {
            break;
        }
        let asked = Instant::now();
        match reader.read() {
            Ok(sessions) => {
                tally.add(&sessions);
                times.add(&sessions, asked - sampled);
                sampled = asked;
            }
            Err(error) => failure = Some(error.to_string()),
        }
        tally.spent += asked.elapsed();
        // Samples that came too late are left out, not made up for.
        let passed = began.elapsed().as_nanos() / interval.as_nanos().max(1);
        next = interval * u32::try_from(passed + 1).unwrap_or(u32::MAX);
    }
    WaitsFound { failure, ..tally.found(interval, began.elapsed()) }
}

/// Sessions by what they were seen in.
#[derive(Debug, Default)]
struct Tally {
    samples: u64,
    spent: Duration,
    waits: BTreeMap<String, u64>,
    statements: BTreeMap<String, BTreeMap<String, u64>>,
    blockers: BTreeMap<(String, String, String), u64>,
    objects: BTreeMap<String, u64>,
}

impl Tally {
    fn add(&mut self, sessions: &[ActiveSession]) {
        self.samples += 1;
        for session in sessions {
            let statement = shortened(&session.statement);
            let object = session.object.clone().unwrap_or_default();
            if let Some(holder) = &session.holder {
                count(&mut self.blockers, (statement.clone(), shortened(holder), object.clone()));
            }
            if !object.is_empty() {
                count(&mut self.objects, object);
            }
            count(&mut self.waits, session.wait.clone());
            if self.statements.len() < DIFFERENT || self.statements.contains_key(&statement) {
                count(self.statements.entry(statement).or_default(), session.wait.clone());
            }
        }
    }

    fn found(&self, interval: Duration, observed: Duration) -> WaitsFound {
        let samples = self.samples.max(1) as f64;
        let nanos = |time: Duration| Nanos(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX));
        let share = |(name, count): (&String, &u64)| WaitShare {
            name: name.clone(),
            sessions: *count as f64 / samples,
        };
        let statement = |(statement, waits): (&String, &BTreeMap<String, u64>)| StatementShare {
            statement: statement.clone(),
            sessions: waits.values().sum::<u64>() as f64 / samples,
            wait: waits
                .iter()
                .max_by_key(|(_, count)| **count)
                .map_or(String::new(), |(wait, _)| wait.clone()),
        };
        let blocker = |((waiting, holder, object), count): (&(String, String, String), &u64)| Blocker {
            waiting: waiting.clone(),
            holder: holder.clone(),
            object: object.clone(),
            sessions: *count as f64 / samples,
        };
        WaitsFound {
            samples: self.samples,
            interval: nanos(interval),
            observed: nanos(observed),
            cost: nanos(self.spent / u32::try_from(self.samples.max(1)).unwrap_or(u32::MAX)),
            waits: largest(self.waits.iter().map(share).collect(), |wait| wait.sessions),
            statements: largest(self.statements.iter().map(statement).collect(), |one| one.sessions),
            blockers: largest(self.blockers.iter().map(blocker).collect(), |one| one.sessions),
            objects: largest(self.objects.iter().map(share).collect(), |one| one.sessions),
            failure: None,
        }
    }
}

fn count<K: Ord>(counts: &mut BTreeMap<K, u64>, key: K) {
    if counts.len() < DIFFERENT || counts.contains_key(&key) {
        *counts.entry(key).or_default() += 1;
    }
}

/// The entries with the most sessions.
fn largest<T>(mut list: Vec<T>, sessions: impl Fn(&T) -> f64) -> Vec<T> {
    list.sort_by(|one, other| sessions(other).total_cmp(&sessions(one)));
    list.truncate(KEPT);
    list
}

/// A statement in one line without its numbers and texts, so that calls of the same statement are the same.
fn shortened(statement: &str) -> String {
    let mut out = String::new();
    let mut characters = statement.chars().peekable();
    let mut before = ' ';
    while let Some(character) = characters.next() {
        let plain = match character {
            '\'' => {
                // Up to the closing quote; a doubled one begins the next part.
                characters.by_ref().take_while(|other| *other != '\'').for_each(drop);
                '?'
            }
            digit if digit.is_ascii_digit() && !(before.is_alphanumeric() || matches!(before, '_' | '$')) => {
                while characters.next_if(|other| other.is_ascii_digit() || *other == '.').is_some() {}
                '?'
            }
            blank if blank.is_whitespace() => ' ',
            other => other,
        };
        if !(plain == ' ' && before == ' ') {
            out.push(plain);
        }
        before = plain;
    }
    out.trim().chars().take(STATEMENT).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn session(wait: &str, statement: &str, holder: Option<&str>, object: Option<&str>) -> ActiveSession {
        ActiveSession {
            wait: wait.into(),
            statement: statement.into(),
            holder: holder.map(Into::into),
            object: object.map(Into::into),
        }
    }

    #[test]
    fn statements_are_the_same_but_for_their_values() {
        let text = "SELECT a1,\n  b FROM t_2\tWHERE c = 12.5 AND d = 'it''s' AND e = $1";
        assert_eq!(shortened(text), "SELECT a1, b FROM t_2 WHERE c = ? AND d = ?? AND e = $1");
        assert_eq!(shortened(&"x".repeat(500)).len(), STATEMENT);
        assert_eq!(shortened("CALL p(1,2,'3')"), shortened("CALL p(17,4,'x')"));
    }

    #[test]
    fn sessions_are_averaged_over_all_samples() {
        let mut tally = Tally::default();
        tally.add(&[
            session("Lock:tuple", "UPDATE t SET a = 1", Some("UPDATE t SET a = 2"), Some("t page 0")),
            session("CPU", "SELECT 1", None, None),
        ]);
        tally.add(&[session("Lock:tuple", "UPDATE t SET a = 3", Some("COMMIT"), Some("t page 0"))]);
        tally.add(&[]);
        tally.add(&[session("Lock:tuple", "UPDATE t SET a = 3", None, None)]);
        let found = tally.found(WAIT_INTERVAL, Duration::from_secs(1));
        assert_eq!((found.samples, found.active()), (4, 1.0));
        assert_eq!((found.waits[0].name.as_str(), found.waits[0].sessions), ("Lock:tuple", 0.75));
        assert_eq!(
            (found.statements[0].statement.as_str(), found.statements[0].sessions),
            ("UPDATE t SET a = ?", 0.75)
        );
        assert_eq!(found.statements[0].wait, "Lock:tuple");
        assert_eq!((found.objects[0].name.as_str(), found.objects[0].sessions), ("t page 0", 0.5));
        assert_eq!(found.blockers.len(), 2);
    }
}
