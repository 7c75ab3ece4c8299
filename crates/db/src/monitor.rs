//! Reads what a database counts, and who waits for whose locks, while sessions are at work.

use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use iolite_model::{Nanos, Physical, ReadingKind, ReadingValue};

use crate::instance::{Instance, LockWait};

/// Time between two readings of the counters.
const TICK: Duration = Duration::from_millis(200);
/// Time after which the counters of the last look are none of now: a server under load may take longer than a tick to respond.
const LATE: Duration = Duration::from_secs(1);
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
pub struct LatestCounters(Arc<Mutex<Latest>>);

#[derive(Debug, Default)]
struct Latest {
    counted: Physical,
    observed: Nanos,
    write_back: Vec<ReadingValue>,
    /// When the counters were last read.
    read: Option<Instant>,
    failure: Option<String>,
    /// Nothing more is read.
    ended: bool,
}

impl LatestCounters {
    /// What the database counted since the monitor began, and the time observed.
    pub fn get(&self) -> (Physical, Nanos) {
        let latest = self.lock();
        (latest.counted, latest.observed)
    }

    /// What it reported of getting changed pages written; its counters, too, are those since the monitor began.
    pub fn write_back(&self) -> Vec<ReadingValue> {
        self.lock().write_back.clone()
    }

    /// Why these counters are not those of a database that goes on: the last look at it failed, or it was started anew.
    pub fn failure(&self) -> Option<String> {
        self.lock().failure.clone()
    }

    /// Whether these counters are those of now, or the last ones of a monitor that has ended: no look has failed since, and none is late.
    pub fn is_current(&self) -> bool {
        let ended = self.lock().ended;
        self.failure().is_none() && (ended || self.age() <= LATE)
    }

    /// Time since the counters were read.
    pub fn age(&self) -> Duration {
        self.lock().read.map_or(Duration::ZERO, |read| read.elapsed())
    }

    fn set(&self, seen: &DatabaseObservation, write_back: Vec<ReadingValue>, failure: Option<String>) {
        let DatabaseObservation { physical: counted, observed, .. } = *seen;
        *self.lock() =
            Latest { counted, observed, write_back, read: Some(Instant::now()), failure, ended: false };
    }

    fn lock(&self) -> MutexGuard<'_, Latest> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
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
            let begin = database.write_back().unwrap_or_default();
            let nothing =
                DatabaseObservation { physical: first.since(&first), ..DatabaseObservation::default() };
            published.set(&nothing, since(&begin, begin.clone()), None);
            // Nobody waits any more when the run has been given up on.
            let _ = ready.send(());
            let (mut looks, mut locks) = (Looks::new(first), Locks::default());
            for tick in 1_u32.. {
                let last = match ended.recv_timeout(TICK) {
                    Err(RecvTimeoutError::Timeout) => false,
                    Ok(()) | Err(RecvTimeoutError::Disconnected) => true,
                };
                // A database that does not respond now may do so next time.
                match database.counters() {
                    Ok(now) => {
                        looks.look(now, Instant::now());
                        let write_back = since(&begin, database.write_back().unwrap_or_default());
                        published.set(&looks.seen, write_back, looks.started_anew());
                    }
                    Err(error) => published.lock().failure = Some(error.to_string()),
                }
                if last {
                    break;
                }
                if tick % LOCKS_EVERY == 0 {
                    locks.look(database.lock_waits().unwrap_or_default(), Instant::now());
                }
            }
            published.lock().ended = true;
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

/// Values of which the counters are those since the first ones; without counters that were not read then, or have gone back.
fn since(first: &[ReadingValue], now: Vec<ReadingValue>) -> Vec<ReadingValue> {
    let since = |mut value: ReadingValue| {
        if value.kind == ReadingKind::Counter {
            value.value -= first.iter().find(|first| first.name == value.name)?.value;
        }
        (value.kind == ReadingKind::Gauge || value.value >= 0.0).then_some(value)
    };
    now.into_iter().filter_map(since).collect()
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

    /// Says so where a counter has gone back.
    fn started_anew(&self) -> Option<String> {
        let (first, seen) = (self.first.named(), self.seen.physical.named());
        let lost = first.iter().zip(seen).any(|((_, first), (_, seen))| first.is_some() && seen.is_none());
        lost.then(|| {
            "the server has begun to count anew: it was restarted, or its statistics were reset".into()
        })
    }
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_of_a_server_that_does_not_respond_are_not_those_of_now() {
        let latest = LatestCounters::default();
        latest.set(&DatabaseObservation::default(), Vec::new(), None);
        assert!(latest.is_current());
        latest.lock().failure = Some("gone".into());
        assert!(!latest.is_current());
        latest.set(&DatabaseObservation::default(), Vec::new(), None);
        latest.lock().read = Instant::now().checked_sub(2 * LATE);
        assert!(!latest.is_current());
        latest.lock().ended = true;
        assert!(latest.is_current());
    }

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
    fn states_are_those_of_now_and_counters_begin_at_zero() {
        let first = [ReadingValue::counter("waits", 5.0), ReadingValue::gauge("age", 7.0)];
        let now = |waits| {
            vec![
                ReadingValue::counter("waits", waits),
                ReadingValue::gauge("age", 3.0),
                ReadingValue::counter("new", 1.0),
            ]
        };
        let age = ReadingValue::gauge("age", 3.0);
        assert_eq!(since(&first, now(9.0)), [ReadingValue::counter("waits", 4.0), age.clone()]);
        assert_eq!(since(&first, now(1.0)), [age], "the server was restarted");
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
        assert_eq!(looks.started_anew(), None);
        looks.look(counted(Some(3)), at(6));
        assert!(looks.started_anew().is_some(), "the counter has gone back");
        let mut silent = Looks::new(counted(None));
        silent.look(counted(None), at(1));
        assert_eq!(silent.seen.writer_active, None);
    }
}
