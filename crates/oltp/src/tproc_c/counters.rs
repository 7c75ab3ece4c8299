//! The database's own counters at the instants that a phase is reckoned by, and its checkpoints in between, read over a connection of
//! their own.

use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use iolite_db::{Error, Result};
use iolite_model::{Nanos, TprocCCounts};
use iolite_sys::clock::Clock;

use super::contract::{Database, Reader};
use super::cycles::{MAX_PAUSE, PhaseCycles};

/// Later than any phase ends.
const NEVER: Nanos = Nanos(u64::MAX / 4);

/// Reads counters at a phase's start and end while its users are at work.
pub(super) struct Counters {
    released: Sender<u64>,
    thread: JoinHandle<Result<Read>>,
}

/// When a phase measures; times are since its release.
pub(super) struct Measures {
    pub(super) clock: Clock,
    /// When the measured time begins.
    pub(super) ramp: Nanos,
    /// When it ends; `None` where no time ends it.
    pub(super) end: Option<Nanos>,
    /// Ends the phase, and when that is at the latest: it goes on after `end` until the measured time holds whole cycles of checkpoints.
    pub(super) whole_cycles: Option<(Nanos, Box<dyn FnOnce() + Send>)>,
}

/// What has been read.
pub(super) struct Read {
    /// Before the first transaction; its time is 0.
    pub(super) before: TprocCCounts,
    pub(super) start: TprocCCounts,
    pub(super) end: TprocCCounts,
    pub(super) cycles: PhaseCycles,
    reader: Box<dyn Reader>,
}

impl Read {
    /// Once more, when all users have gone.
    pub(super) fn after(&mut self, at: Nanos) -> Result<TprocCCounts> {
        counts(self.reader.as_mut(), at)
    }
}

fn counts(reader: &mut dyn Reader, at: Nanos) -> Result<TprocCCounts> {
    let (orders, transactions) = (reader.orders()?, reader.transactions()?);
    Ok(TprocCCounts { at, orders, transactions })
}

impl Counters {
    /// Reads for the first time, and waits for the release.
    pub(super) fn start(database: &Arc<dyn Database>, measures: Measures) -> Result<Counters> {
        let mut reader = database.reader()?;
        let before = counts(reader.as_mut(), Nanos(0))?;
        let (released, origin) = mpsc::channel();
        let watching = move || watch(reader, before, measures, &origin);
        let thread = thread::Builder::new().name("counters".into()).spawn(watching).map_err(Error::thread)?;
        Ok(Counters { released, thread })
    }

    /// The phase has been released at this instant of the clock; called by whoever sees that.
    pub(super) fn released(&self) -> Sender<u64> {
        self.released.clone()
    }

    /// The phase is over.
    pub(super) fn finish(self) -> Option<Result<Read>> {
        drop(self.released);
        self.thread.join().ok()
    }
}

fn watch(
    reader: Box<dyn Reader>,
    before: TprocCCounts,
    measures: Measures,
    released: &Receiver<u64>,
) -> Result<Read> {
    let Measures { clock, ramp, end, whole_cycles } = measures;
    // Nobody is released where a session could not be opened.
    let Ok(origin) = released.recv() else {
        let cycles = PhaseCycles::default();
        return Ok(Read { before, start: before, end: before, cycles, reader });
    };
    let pause = Some(MAX_PAUSE);
    let mut watcher = Watcher { reader, clock, origin, released, cycles: PhaseCycles::default(), pause };
    watcher.look();
    let mut goes_on = watcher.wait(ramp, |_| false);
    let start = watcher.begin();
    goes_on = goes_on && watcher.wait(end.unwrap_or(NEVER), |_| false);
    if let Some((latest, _)) = &whole_cycles
        && goes_on
        && watcher.cycles.is_measured()
        && !watcher.cycles.are_accepted()
    {
        goes_on = watcher.wait(*latest, PhaseCycles::are_whole);
    }
    let end = watcher.end();
    // Also where the database could not be asked: its users would go on until the latest instant.
    whole_cycles.filter(|_| goes_on).into_iter().for_each(|(_, end_phase)| end_phase());
    Ok(Read { before, start: start?, end: end?, cycles: watcher.cycles, reader: watcher.reader })
}

/// Looks at the database while a phase goes on.
struct Watcher<'a> {
    reader: Box<dyn Reader>,
    clock: Clock,
    origin: u64,
    released: &'a Receiver<u64>,
    cycles: PhaseCycles,
    /// Time until the next look at the checkpoints; `None` where the database does not report them.
    pause: Option<Nanos>,
}

impl Watcher<'_> {
    fn now(&self) -> Nanos {
        Nanos(self.clock.now().saturating_sub(self.origin))
    }

    /// The counters, and where the database is in its cycle. What has been read is as of the reading's end.
    fn counts(&mut self) -> Result<TprocCCounts> {
        let mut read = counts(self.reader.as_mut(), Nanos(0))?;
        read.at = self.now();
        if self.pause.is_some() {
            self.look();
        }
        Ok(read)
    }

    /// The measured time begins. Where that can't be read, nothing can be said of cycles.
    fn begin(&mut self) -> Result<TprocCCounts> {
        let start = self.counts();
        match &start {
            Ok(start) => self.cycles.begin(start.at),
            Err(_) => self.pause = None,
        }
        start
    }

    /// It ends.
    fn end(&mut self) -> Result<TprocCCounts> {
        let end = self.counts()?;
        self.cycles.end(end.at);
        Ok(end)
    }

    /// A database that can't be asked now is asked again; one that does not report its checkpoints is not.
    fn look(&mut self) {
        self.pause = match self.reader.checkpoints() {
            Ok(Some(reading)) => {
                let at = self.now();
                self.cycles.look(at, reading);
                Some(self.cycles.pause())
            }
            Ok(None) => self.cycles.is_known().then_some(MAX_PAUSE),
            Err(_) => Some(MAX_PAUSE),
        };
    }

    /// Looks again and again until an instant, or until that is enough. False where the phase is over before: the sender goes then.
    fn wait(&mut self, until: Nanos, is_enough: impl Fn(&PhaseCycles) -> bool) -> bool {
        loop {
            let left = until.saturating_sub(self.now());
            if left == Nanos(0) || is_enough(&self.cycles) {
                return true;
            }
            let step = self.pause.map_or(left, |pause| left.min(pause));
            match self.released.recv_timeout(Duration::from_nanos(step.0)) {
                Err(RecvTimeoutError::Disconnected) => return false,
                Err(RecvTimeoutError::Timeout) | Ok(_) if self.pause.is_some() => self.look(),
                Err(RecvTimeoutError::Timeout) | Ok(_) => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;
    use std::sync::Mutex;

    use iolite_model::{Bytes, CheckpointDue, CheckpointReading, ErrorCause};

    use super::*;

    const MS: u64 = 1_000_000;

    /// What a question is answered with.
    #[derive(Clone, Copy, PartialEq, Eq)]
    enum Answer {
        /// The log has grown by six tenths of a cycle.
        Value,
        NotReported,
        Failure,
        /// A failure until the measured time has begun.
        Late,
    }

    /// Gives these answers, the last of each kind of question again and again.
    struct Scripted {
        orders: VecDeque<Answer>,
        checkpoints: VecDeque<Answer>,
        log: u64,
        asked: Arc<Mutex<usize>>,
        /// Questions for checkpoints since the first for orders, which is at the start of the measured time and followed by one.
        since: Option<usize>,
    }

    fn next(answers: &mut VecDeque<Answer>) -> Answer {
        if answers.len() > 1 { answers.pop_front().unwrap() } else { answers[0] }
    }

    fn failure<T>() -> Result<T> {
        Err(Error::engine("read", "a database", "it does not respond", ErrorCause::ServerGone))
    }

    impl Reader for Scripted {
        fn orders(&mut self) -> Result<u64> {
            self.since.get_or_insert(0);
            if next(&mut self.orders) == Answer::Value { Ok(1) } else { failure() }
        }

        fn transactions(&mut self) -> Result<Option<u64>> {
            Ok(None)
        }

        fn checkpoints(&mut self) -> Result<Option<CheckpointReading>> {
            *self.asked.lock().unwrap() += 1;
            self.since = self.since.map(|since| since + 1);
            let has_begun = self.since > Some(1);
            let due = CheckpointDue { time: None, log: Some(Bytes(10)) };
            match next(&mut self.checkpoints) {
                Answer::Late if !has_begun => failure(),
                Answer::Value | Answer::Late => {
                    self.log += 6;
                    Ok(Some(CheckpointReading { log: self.log, due, ..CheckpointReading::default() }))
                }
                Answer::NotReported => Ok(None),
                Answer::Failure => failure(),
            }
        }

        fn numbers(&mut self, _: &str) -> Result<Vec<Vec<i64>>> {
            failure()
        }
    }

    /// What came of a phase of 700 ms, the first 600 of them a ramp, that may be extended to ten minutes.
    struct Watched {
        read: Result<Read>,
        /// Since the release.
        ended: Nanos,
        /// How often it was asked for checkpoints.
        asked: usize,
    }

    fn watched(orders: &[Answer], checkpoints: &[Answer]) -> Watched {
        let asked = Arc::new(Mutex::new(0));
        let reader = Scripted {
            orders: orders.iter().copied().collect(),
            checkpoints: checkpoints.iter().copied().collect(),
            log: 0,
            asked: asked.clone(),
            since: None,
        };
        let clock = Clock::best();
        let (sender, released) = mpsc::channel();
        let origin = clock.now();
        sender.send(origin).unwrap();
        let ended = Arc::new(Mutex::new(None));
        let end = {
            let ended = ended.clone();
            move || *ended.lock().unwrap() = Some(Nanos(clock.now() - origin))
        };
        let measures = Measures {
            clock,
            ramp: Nanos(600 * MS),
            end: Some(Nanos(700 * MS)),
            whole_cycles: Some((Nanos(600_000 * MS), Box::new(end))),
        };
        let before = TprocCCounts { at: Nanos(0), orders: 0, transactions: None };
        let read = watch(Box::new(reader), before, measures, &released);
        let ended = ended.lock().unwrap().expect("the phase was ended");
        assert!(ended.0 >= 700 * MS, "{ended}");
        let asked = *asked.lock().unwrap();
        Watched { read, ended, asked }
    }

    #[test]
    fn a_phase_is_extended_to_whole_cycles() {
        let Watched { read, asked, .. } = watched(&[Answer::Value], &[Answer::Value]);
        let found = read.ok().unwrap().cycles.found().unwrap();
        assert!(found.cycles >= 1.0 && asked >= 4, "{found:?} {asked}");
    }

    #[test]
    fn a_phase_is_not_extended_where_cycles_are_not_known() {
        let reported = watched(&[Answer::Value], &[Answer::NotReported]);
        assert_eq!(reported.asked, 1, "what is not reported is not asked for again");
        let failed = watched(&[Answer::Value], &[Answer::Failure]);
        let late = watched(&[Answer::Value], &[Answer::Late]);
        for watched in [reported, failed, late] {
            assert!(watched.ended.0 < 300_000 * MS, "{}", watched.ended);
            assert_eq!(watched.read.ok().unwrap().cycles.found(), None);
        }
    }

    #[test]
    fn a_first_look_that_failed_is_repeated() {
        let Watched { read, .. } = watched(&[Answer::Value], &[Answer::Failure, Answer::Value]);
        let found = read.ok().unwrap().cycles.found().unwrap();
        assert!(found.cycles >= 1.0, "{found:?}");
    }

    #[test]
    fn a_phase_ends_in_time_where_the_database_cannot_be_asked() {
        for orders in [[Answer::Failure, Answer::Value], [Answer::Value, Answer::Failure]] {
            let Watched { read, .. } = watched(&orders, &[Answer::Value]);
            assert!(read.is_err());
        }
    }
}
