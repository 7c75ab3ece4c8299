//! Active sessions, sampled: what they execute, what they wait for, and who holds them up.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use iolite_model::WaitsFound;

use crate::error::Result;
use tally::Tally;

mod tally;

/// Time between two samples, unless asked for otherwise: 10 Hz.
pub const WAIT_INTERVAL: Duration = Duration::from_millis(100);
/// Different waits whose times are kept apart.
const TIMED: usize = 32;
/// How long the last sample may take when the sampler is to end.
const PATIENCE: Duration = Duration::from_secs(5);

/// A session that executed something when it was sampled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ActiveSession {
    /// What it waited for; `CPU` where the server knows of no wait.
    pub wait: String,
    /// What it executed.
    pub statement: String,
    /// What the session that held it up executed, where one did.
    pub holder: Option<String>,
    /// What it waited for, where the server shows that.
    pub object: Option<WaitObject>,
}

/// A table, a page of it, or a row in that page.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct WaitObject {
    /// The table, and the index if the lock is one of an index.
    pub table: String,
    /// Number of the page.
    pub page: Option<u64>,
    /// Number of the row within its page.
    pub row: Option<u64>,
}

impl fmt::Display for WaitObject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.table)?;
        self.page.map_or(Ok(()), |page| write!(f, " page {page}"))?;
        self.row.map_or(Ok(()), |row| write!(f, " row {row}"))
    }
}

/// The sessions at one instant.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Sample {
    /// Those that executed something, the reader's own not among them.
    pub active: Vec<ActiveSession>,
    /// Number of sessions, at least, whose activity or wait this account cannot see.
    pub hidden: u64,
}

/// Reads the active sessions of a database over a connection of its own.
pub trait WaitReader: Send {
    /// The sessions now.
    ///
    /// # Errors
    /// [`Error::Engine`](crate::Error::Engine).
    fn read(&mut self) -> Result<Sample>;

    /// What makes hidden sessions visible, as a sentence.
    fn remedy(&self) -> String;

    /// Kinds of waits that the server does not show as it is set, with what makes it show them; `None` where it shows all it can.
    fn gap(&self) -> Option<String> {
        None
    }

    /// Number of rows in a page that sessions waited for; `None` if this account or server does not show it.
    fn rows_in(&mut self, table: &str, page: u64) -> Option<u64> {
        let _ = (table, page);
        None
    }
}

/// A thread that samples until it is stopped.
#[derive(Debug)]
pub struct WaitSampler {
    end: Sender<()>,
    done: mpsc::Receiver<WaitsFound>,
    times: SessionTimes,
    thread: JoinHandle<()>,
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
        sampler.ok().map(|thread| WaitSampler { end, done, times, thread })
    }

    /// The times that sessions spent so far, also after it has ended.
    pub fn times(&self) -> SessionTimes {
        self.times.clone()
    }

    /// Whether it has ended by itself, because a sample failed.
    pub fn has_ended(&self) -> bool {
        self.thread.is_finished()
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
            Ok(sample) => {
                tally.add(&sample);
                times.add(&sample.active, asked - sampled);
                sampled = asked;
            }
            Err(error) => failure = Some(error.to_string()),
        }
        tally.spent += asked.elapsed();
        // Samples that came too late are left out, not made up for.
        let passed = began.elapsed().as_nanos() / interval.as_nanos().max(1);
        next = interval * u32::try_from(passed + 1).unwrap_or(u32::MAX);
    }
    let mut found = WaitsFound { failure, gap: reader.gap(), ..tally.found(interval, began.elapsed()) };
    if found.hidden > 0 {
        found.remedy = Some(reader.remedy());
    }
    if found.failure.is_none() {
        for hot in &mut found.pages {
            hot.rows_in_page = reader.rows_in(&hot.table, hot.page);
            // Versions of one row may have been waited for at the same moment.
            hot.rows = hot.rows.min(hot.rows_in_page.unwrap_or(u64::MAX).max(1));
        }
    }
    found
}
