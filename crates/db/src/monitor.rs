//! Reads what a database counts, and who waits for whose locks, while sessions are at work.

use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use iolite_model::{Nanos, Physical};

use crate::instance::{Instance, LockWait};

/// Time between two readings of the counters.
const TICK: Duration = Duration::from_millis(200);
/// Readings of the counters for each look at the locks.
const LOCKS_EVERY: u32 = 5;

/// A thread that reads a database's counters, and who waits for whom, until it is asked to end.
#[derive(Debug)]
pub struct Monitor {
    end: Sender<()>,
    thread: JoinHandle<DatabaseObservation>,
    latest: LatestCounters,
}

/// What a [`Monitor`] has counted so far: reading it never waits for the server.
#[derive(Debug, Clone, Default)]
pub struct LatestCounters(Arc<Mutex<(Physical, Nanos)>>);

impl LatestCounters {
    /// What the database counted since the monitor began, and the time observed.
    pub fn get(&self) -> (Physical, Nanos) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set(&self, counted: Physical, observed: Nanos) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = (counted, observed);
    }
}

/// What a [`Monitor`] has seen.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DatabaseObservation {
    /// What the database counted meanwhile.
    pub physical: Physical,
    /// Time in which it wrote data files; `None` where it does not count that.
    pub writer_active: Option<Nanos>,
    /// Time observed.
    pub observed: Nanos,
    /// Sessions that were seen waiting for the same lock holder in at least two looks, the longest wait first.
    pub lock_waits: Vec<Waited>,
}

/// A wait for a lock that lasted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Waited {
    /// Who waited for whom.
    pub wait: LockWait,
    /// For about how long: from the first look that saw it to the last.
    pub time: Nanos,
}

impl Monitor {
    /// Begins to observe. `None` when no thread can be started: a run goes on without.
    pub fn start(database: Arc<dyn Instance>) -> Option<Monitor> {
        let (end, ended) = mpsc::channel();
        let (ready, is_ready) = mpsc::channel();
        let latest = LatestCounters::default();
        let published = latest.clone();
        let thread = thread::Builder::new().name("monitor".into()).spawn(move || {
            let first = database.counters().unwrap_or_default();
            published.set(first.since(&first), Nanos(0));
            // Nobody waits any more when the run has been given up on.
            let _ = ready.send(());
            let (mut looks, mut locks) = (Looks::new(first), Locks::default());
            for tick in 1_u32.. {
                let last = match ended.recv_timeout(TICK) {
                    Err(RecvTimeoutError::Timeout) => false,
                    Ok(()) | Err(RecvTimeoutError::Disconnected) => true,
                };
                // A database that does not respond now may do so next time.
                if let Ok(now) = database.counters() {
                    looks.look(now, Instant::now());
                    published.set(looks.seen.physical, looks.seen.observed);
                }
                if last {
                    break;
                }
                if tick % LOCKS_EVERY == 0 {
                    locks.look(database.lock_waits().unwrap_or_default(), Instant::now());
                }
            }
            DatabaseObservation { lock_waits: locks.finish(), ..looks.seen }
        });
        let thread = thread.ok()?;
        // What sessions do is counted from before their first operation.
        is_ready.recv().ok()?;
        Some(Monitor { end, thread, latest })
    }

    /// What it has counted, also after it has ended.
    pub fn latest(&self) -> LatestCounters {
        self.latest.clone()
    }

    /// Reads for the last time, and returns what was seen.
    pub fn finish(self) -> DatabaseObservation {
        // It has died already, where this is not heard.
        let _ = self.end.send(());
        self.thread.join().unwrap_or_default()
    }
}

/// Waits as they are seen, each from look to look.
#[derive(Default)]
struct Locks {
    /// Those of the last look, each since when.
    current: Vec<(LockWait, Instant)>,
    ended: Vec<Waited>,
}

impl Locks {
    fn look(&mut self, waits: Vec<LockWait>, at: Instant) {
        let before = std::mem::take(&mut self.current);
        for wait in waits {
            let since = before.iter().find(|(other, _)| *other == wait).map_or(at, |(_, since)| *since);
            if at > since {
                let time = Nanos(nanos(at - since));
                match self.ended.iter_mut().find(|waited| waited.wait == wait) {
                    Some(waited) => waited.time = waited.time.max(time),
                    None => self.ended.push(Waited { wait: wait.clone(), time }),
                }
            }
            self.current.push((wait, since));
        }
    }

    fn finish(mut self) -> Vec<Waited> {
        self.ended.sort_by_key(|waited| std::cmp::Reverse(waited.time));
        self.ended
    }
}

/// Readings, one after the other.
struct Looks {
    first: Physical,
    before: Physical,
    started: Instant,
    looked: Instant,
    seen: DatabaseObservation,
}

impl Looks {
    fn new(first: Physical) -> Looks {
        let now = Instant::now();
        Looks { first, before: first, started: now, looked: now, seen: DatabaseObservation::default() }
    }

    fn look(&mut self, now: Physical, at: Instant) {
        let passed = nanos(at.saturating_duration_since(self.looked));
        let step = now.since(&self.before);
        if let Some(writes) = step.data_writes {
            let active = self.seen.writer_active.get_or_insert_default();
            active.0 += if writes > 0 { passed } else { 0 };
        }
        self.seen.physical = now.since(&self.first);
        self.seen.observed = Nanos(nanos(at.saturating_duration_since(self.started)));
        (self.before, self.looked) = (now, at);
    }
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_lasts_from_look_to_look() {
        let wait = |waiting: &str| LockWait { waiting: waiting.into(), holder: "session 7".into() };
        let (start, second) = (Instant::now(), Duration::from_secs(1));
        let mut locks = Locks::default();
        locks.look(vec![wait("1"), wait("2")], start);
        locks.look(vec![wait("1")], start + second);
        locks.look(vec![wait("1"), wait("2")], start + 2 * second);
        locks.look(vec![], start + 3 * second);
        let waited = locks.finish();
        assert_eq!(waited, [Waited { wait: wait("1"), time: Nanos(2_000_000_000) }]);
    }

    #[test]
    fn the_writer_is_active_where_its_count_grows() {
        let counted = |writes| Physical { data_writes: writes, data_reads: Some(7), ..Physical::default() };
        let mut looks = Looks::new(counted(Some(10)));
        let start = looks.looked;
        let at = |tenths: u64| start + Duration::from_millis(100 * tenths);
        for (tenths, writes) in [(1, 10), (2, 15), (3, 15), (5, 16)] {
            looks.look(counted(Some(writes)), at(tenths));
        }
        assert_eq!(looks.seen.writer_active, Some(Nanos(300_000_000)));
        assert_eq!(looks.seen.observed, Nanos(500_000_000));
        assert_eq!((looks.seen.physical.data_writes, looks.seen.physical.data_reads), (Some(6), Some(0)));
        let mut silent = Looks::new(counted(None));
        silent.look(counted(None), at(1));
        assert_eq!(silent.seen.writer_active, None);
    }
}
