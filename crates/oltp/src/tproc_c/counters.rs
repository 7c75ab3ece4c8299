//! The database's own counters at the instants that a phase is reckoned by, read over a connection of their own.

use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use iolite_db::{Error, Result};
use iolite_model::{Nanos, TprocCCounts};
use iolite_sys::clock::Clock;

use super::contract::{Database, Reader};

/// Reads counters at a phase's start and end while its users are at work.
pub(super) struct Counters {
    released: Sender<u64>,
    thread: JoinHandle<Result<Read>>,
}

/// What has been read.
pub(super) struct Read {
    /// Before the first transaction; its time is 0.
    pub(super) before: TprocCCounts,
    pub(super) start: TprocCCounts,
    pub(super) end: TprocCCounts,
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
    /// Reads for the first time, and waits for the release. `ramp` and `end` are since that.
    pub(super) fn start(
        database: &Arc<dyn Database>,
        clock: Clock,
        ramp: Nanos,
        end: Option<Nanos>,
    ) -> Result<Counters> {
        let mut reader = database.reader()?;
        let before = counts(reader.as_mut(), Nanos(0))?;
        let (released, origin) = mpsc::channel();
        let watching = move || watch(reader, before, clock, ramp, end, &origin);
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
    mut reader: Box<dyn Reader>,
    before: TprocCCounts,
    clock: Clock,
    ramp: Nanos,
    end: Option<Nanos>,
    released: &Receiver<u64>,
) -> Result<Read> {
    let mut read = |at: Nanos| counts(reader.as_mut(), at);
    // Nobody is released where a session could not be opened.
    let Ok(origin) = released.recv() else {
        return Ok(Read { before, start: before, end: before, reader });
    };
    let now = || Nanos(clock.now().saturating_sub(origin));
    // The sender goes when the phase is over, also before its time.
    let wait = |until: Nanos| {
        let left = Duration::from_nanos(until.saturating_sub(now()).0);
        !matches!(released.recv_timeout(left), Err(RecvTimeoutError::Timeout) | Ok(_))
    };
    let ended_early = wait(ramp);
    // What has been read is as of the reading's end.
    let mut start = read(now())?;
    start.at = now();
    if !ended_early {
        wait(end.unwrap_or(Nanos(u64::MAX / 4)));
    }
    let mut end = read(now())?;
    end.at = now();
    Ok(Read { before, start, end, reader })
}
