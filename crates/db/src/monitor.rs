//! Looks at what a database counts while sessions are at work.

use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use iolite_model::{Nanos, Physical};

use crate::Instance;

/// How often it looks.
const TICK: Duration = Duration::from_millis(200);

/// A thread that asks a database for its counters until it is told to end.
#[derive(Debug)]
pub struct Monitor {
    end: Sender<()>,
    thread: JoinHandle<Seen>,
}

/// What a [`Monitor`] has seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Seen {
    /// What the database counted meanwhile.
    pub physical: Physical,
    /// Time in which it wrote data files; `None` where it does not count that.
    pub writer_active: Option<Nanos>,
    /// Time looked at.
    pub observed: Nanos,
}

impl Monitor {
    /// Begins to look. `None` when no thread can be started: a run goes on without.
    pub fn start(database: Arc<dyn Instance>) -> Option<Monitor> {
        let (end, ended) = mpsc::channel();
        let (ready, is_ready) = mpsc::channel();
        let thread = thread::Builder::new().name("monitor".into()).spawn(move || {
            let first = database.counters().unwrap_or_default();
            // Nobody waits any more when the run has been given up on.
            let _ = ready.send(());
            let mut looks = Looks::new(first);
            loop {
                let last = match ended.recv_timeout(TICK) {
                    Err(RecvTimeoutError::Timeout) => false,
                    Ok(()) | Err(RecvTimeoutError::Disconnected) => true,
                };
                // A database that does not answer now may do so next time.
                if let Ok(now) = database.counters() {
                    looks.look(now, Instant::now());
                }
                if last {
                    return looks.seen;
                }
            }
        });
        let thread = thread.ok()?;
        // What sessions do is counted from before their first operation.
        is_ready.recv().ok()?;
        Some(Monitor { end, thread })
    }

    /// Looks for the last time, and tells what was seen.
    pub fn finish(self) -> Seen {
        // It has died already, where this is not heard.
        let _ = self.end.send(());
        self.thread.join().unwrap_or_default()
    }
}

/// Readings, one after the other.
struct Looks {
    first: Physical,
    before: Physical,
    started: Instant,
    looked: Instant,
    seen: Seen,
}

impl Looks {
    fn new(first: Physical) -> Looks {
        let now = Instant::now();
        Looks { first, before: first, started: now, looked: now, seen: Seen::default() }
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
