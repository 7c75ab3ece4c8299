//! Storing a run as it goes, from a thread that does not measure.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};
use std::{fs, io};

use iolite_model::{Event, Sink};
use rusqlite::Connection;

use crate::error::Error;
use crate::insert::Recording;
use crate::log::Log;
use crate::rows::Failure;
use crate::store::Store;

/// The longest that events wait for their transaction to be committed while more of them keep coming.
const COMMIT_AFTER: Duration = Duration::from_millis(200);

/// How long to wait for another program that holds the database, before storing is given up.
const PATIENCE: Duration = Duration::from_secs(10);

/// Stores events in a results database without ever holding up or failing the one who measures.
///
/// Events are committed as soon as none is waiting, and every 200 ms otherwise: from then on they survive the death
/// of the process. The first event must be [`Event::RunStarted`]; a further one begins another run. Once storing has
/// failed, the callback has been given the cause and all further events are dropped and counted.
///
/// Dropping the writer waits until everything is stored, as [`Writer::finish`] does, but reports no errors.
#[derive(Debug)]
pub struct Writer {
    sender: Option<Sender<Event>>,
    thread: Option<JoinHandle<Result<(), Error>>>,
    dropped: Arc<AtomicU64>,
}

impl Writer {
    /// Starts the thread that opens (or makes) the database at `path` and stores what comes.
    ///
    /// `on_failure` is called at most once, from that thread, with the reason why nothing more is stored; that the
    /// database can't be opened is such a reason too.
    pub fn start(path: &Path, on_failure: impl FnOnce(String) + Send + 'static) -> Writer {
        Writer::start_within(path, PATIENCE, on_failure)
    }

    fn start_within(
        path: &Path,
        patience: Duration,
        on_failure: impl FnOnce(String) + Send + 'static,
    ) -> Writer {
        let path = path.to_owned();
        // Unbounded, so that a send never waits. Intervals are a few kilobytes each second: a store that hangs for an
        // hour costs some ten megabytes.
        let (sender, receiver) = mpsc::channel();
        let dropped = Arc::new(AtomicU64::new(0));
        let counter = Arc::clone(&dropped);
        let alarm = Arc::new(Mutex::new(Some(on_failure)));
        let raise = {
            let alarm = Arc::clone(&alarm);
            move |error: &Error| {
                let on_failure = alarm.lock().unwrap_or_else(PoisonError::into_inner).take();
                if let Some(on_failure) = on_failure {
                    on_failure(error.to_string());
                }
            }
        };
        let raise_here = raise.clone();
        let body = move || {
            let outcome =
                Recorder::open(path, patience, &counter).and_then(|recorder| recorder.record(&receiver));
            outcome.inspect_err(|error| {
                raise(error);
                let lost = receiver.iter().count();
                counter.fetch_add(lost as u64, Ordering::Relaxed);
            })
        };
        let thread = Builder::new().name("store".into()).spawn(body);
        if let Err(source) = thread {
            raise_here(&Error::Thread { source });
            return Writer { sender: None, thread: None, dropped };
        }
        Writer { sender: Some(sender), thread: thread.ok(), dropped }
    }

    /// Events that were not stored because storing had failed. Final once [`Writer::finish`] has returned, so keep
    /// [`Writer::dropped_counter`] to ask then.
    pub fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }

    /// The counter behind [`Writer::dropped`], which outlives the writer.
    pub fn dropped_counter(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.dropped)
    }

    /// Waits until everything is stored and ends the thread.
    ///
    /// # Errors
    /// What made storing fail, be it long ago (the callback has been given the same).
    pub fn finish(mut self) -> Result<(), Error> {
        self.join()
    }

    fn join(&mut self) -> Result<(), Error> {
        self.sender = None;
        match self.thread.take() {
            Some(thread) => thread.join().unwrap_or(Err(Error::WriterDied)),
            None => Ok(()),
        }
    }
}

impl Sink for Writer {
    fn event(&mut self, event: &Event) {
        let sent = self.sender.as_ref().is_some_and(|sender| sender.send(event.clone()).is_ok());
        if !sent {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        // Whoever wants to know calls `finish`.
        let _ = self.join();
    }
}

/// The thread's side.
struct Recorder<'a> {
    store: Store,
    path: PathBuf,
    patience: Duration,
    /// Device and inode of the opened file: SQLite goes on writing to a deleted file without a word.
    file: (u64, u64),
    log: Log,
    recording: Recording,
    /// A commit was begun.
    committing: bool,
    dropped: &'a AtomicU64,
}

impl Recorder<'_> {
    fn open(path: PathBuf, patience: Duration, dropped: &AtomicU64) -> Result<Recorder<'_>, Error> {
        let store = Store::open_within(&path, patience)?;
        let file = identity(&path).map_err(|_| Error::Deleted { path: path.clone() })?;
        let log = Log::beside(&path);
        let recording = Recording::default();
        Ok(Recorder { store, path, patience, file, log, recording, committing: false, dropped })
    }

    fn record(mut self, receiver: &Receiver<Event>) -> Result<(), Error> {
        while let Ok(first) = receiver.recv() {
            let mut batch = vec![first];
            let outcome = self.still_there().and_then(|()| self.batch(&mut batch, receiver));
            if outcome.is_err() {
                self.dropped.fetch_add(batch.len() as u64, Ordering::Relaxed);
            }
            outcome?;
        }
        self.still_there()
    }

    /// Writes a batch and all that wait behind it, which become part of it: once more by a new connection, where a transfer failed.
    /// Then the memory that SQLite shares with others (the -shm file) may have been lost, which it creates anew from its log.
    fn batch(&mut self, batch: &mut Vec<Event>, receiver: &Receiver<Event>) -> Result<(), Error> {
        let before = self.recording.clone();
        if let Err(error) = self.fill(batch, receiver).and_then(|()| self.commit()) {
            if !error.is_of_input_or_output() {
                return Err(error);
            }
            let written = std::mem::replace(&mut self.recording, before);
            let was_committing = self.committing;
            self.reopen()?;
            match self.fill(batch, receiver).and_then(|()| self.commit()) {
                // It was in the log when the commit failed for what follows that: all of its rows are there.
                Err(error) if was_committing && error.is_contradiction() => {
                    self.reopen()?;
                    self.recording = written;
                }
                outcome => outcome?,
            }
        }
        self.log.note();
        Ok(())
    }

    /// Begins a transaction, and writes a batch and what waits behind it.
    fn fill(&mut self, batch: &mut Vec<Event>, receiver: &Receiver<Event>) -> Result<(), Error> {
        let sql = |source| Error::sql("storing", &self.path, source);
        let connection = &self.store.connection;
        self.committing = false;
        connection.execute_batch("BEGIN IMMEDIATE").map_err(sql)?;
        let since = Instant::now();
        let mut write = |event: &Event| match self.recording.write(connection, event) {
            Ok(()) => Ok(()),
            Err(Failure::Sql(source)) => Err(sql(source)),
            Err(Failure::Other(error)) => Err(error),
        };
        batch.iter().try_for_each(&mut write)?;
        while since.elapsed() < COMMIT_AFTER
            && let Ok(event) = receiver.try_recv()
        {
            let outcome = write(&event);
            batch.push(event);
            outcome?;
        }
        Ok(())
    }

    fn commit(&mut self) -> Result<(), Error> {
        self.committing = true;
        let done = self.store.connection.execute_batch("COMMIT");
        done.map_err(|source| Error::sql("storing", &self.path, source))
    }

    /// Opens the database anew. The old connection is closed before: within a process, all share what one of them has mapped.
    fn reopen(&mut self) -> Result<(), Error> {
        let nothing = Connection::open_in_memory().map_err(|e| Error::sql("opening", &self.path, e))?;
        drop(std::mem::replace(&mut self.store.connection, nothing));
        self.is_same_file()?;
        let store = Store::reopen_within(&self.path, self.patience);
        // What was removed meanwhile could not be opened, or another one was.
        self.is_same_file()?;
        self.store = store?;
        Ok(())
    }

    fn is_same_file(&self) -> Result<(), Error> {
        match identity(&self.path) {
            Ok(file) if file == self.file => Ok(()),
            _ => Err(Error::Deleted { path: self.path.clone() }),
        }
    }

    fn still_there(&self) -> Result<(), Error> {
        self.is_same_file()?;
        self.log.is_whole(&self.store)
    }
}

fn identity(path: &Path) -> io::Result<(u64, u64)> {
    fs::metadata(path).map(|metadata| (metadata.dev(), metadata.ino()))
}

#[cfg(test)]
mod tests;
