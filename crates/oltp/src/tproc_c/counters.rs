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
use super::cycles::PhaseCycles;

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
    let mut watcher = Watcher { reader, clock, origin, released, cycles: PhaseCycles::default() };
    watcher.look();
    let mut goes_on = watcher.wait(ramp, |_| false);
    let start = watcher.counts()?;
    watcher.cycles.begin(start.at);
    let runs_until = |at: Option<Nanos>| at.unwrap_or(Nanos(u64::MAX / 4));
    goes_on = goes_on && watcher.wait(runs_until(end), |_| false);
    let mut end_phase = None;
    if let Some((latest, end)) = whole_cycles.filter(|_| goes_on) {
        watcher.wait(latest, PhaseCycles::are_whole);
        end_phase = Some(end);
    }
    let end = watcher.counts()?;
    watcher.cycles.end(end.at);
    end_phase.into_iter().for_each(|end| end());
    Ok(Read { before, start, end, cycles: watcher.cycles, reader: watcher.reader })
}

/// Looks at the database while a phase goes on.
struct Watcher<'a> {
    reader: Box<dyn Reader>,
    clock: Clock,
    origin: u64,
    released: &'a Receiver<u64>,
    cycles: PhaseCycles,
}

impl Watcher<'_> {
    fn now(&self) -> Nanos {
        Nanos(self.clock.now().saturating_sub(self.origin))
    }

    /// The counters, and where the database is in its cycle. What has been read is as of the reading's end.
    fn counts(&mut self) -> Result<TprocCCounts> {
        let mut read = counts(self.reader.as_mut(), Nanos(0))?;
        read.at = self.now();
        if self.cycles.is_known() {
            self.look();
        }
        Ok(read)
    }

    /// A database that can't be asked now may be asked next time.
    fn look(&mut self) {
        if let Ok(Some(reading)) = self.reader.checkpoints() {
            let at = self.now();
            self.cycles.look(at, reading);
        }
    }

    /// Looks again and again until an instant, or until that is enough. False where the phase is over before: the sender goes then.
    fn wait(&mut self, until: Nanos, is_enough: impl Fn(&PhaseCycles) -> bool) -> bool {
        loop {
            let left = until.saturating_sub(self.now());
            if left == Nanos(0) || is_enough(&self.cycles) {
                return true;
            }
            let step = if self.cycles.is_known() { left.min(self.cycles.pause()) } else { left };
            match self.released.recv_timeout(Duration::from_nanos(step.0)) {
                Err(RecvTimeoutError::Disconnected) => return false,
                Err(RecvTimeoutError::Timeout) | Ok(_) if self.cycles.is_known() => self.look(),
                Err(RecvTimeoutError::Timeout) | Ok(_) => {}
            }
        }
    }
}
