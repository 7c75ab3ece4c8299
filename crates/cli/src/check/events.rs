//! Where a check's events go: the results database, the live view, and the list of warnings.

use std::sync::{Arc, Mutex, PoisonError};

use iolite_model::{Bytes, Event, OpKind, Sink, Warning};
use iolite_report::Live;
use iolite_store::{Store, Writer};

use super::options::Options;

/// All consumers of a check's events.
pub(super) struct Events {
    live: Live,
    writer: Option<Writer>,
    store_failure: Arc<Mutex<Option<String>>>,
    warnings: Vec<Warning>,
    requested: Requested,
}

/// Bytes that the running phase has asked for, ramp and drain included.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Requested {
    /// Bytes read.
    pub(super) read: Bytes,
    /// Bytes written.
    pub(super) written: Bytes,
}

impl Events {
    /// Opens the results database and the live view. A database that can't be opened is a warning, nothing more.
    pub(super) fn start(options: &Options) -> Events {
        let store_failure = Arc::new(Mutex::new(None));
        let fail = |reason: String| {
            store_failure.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(reason);
        };
        let writer = match &options.results {
            Ok(path) => {
                // Runs that died without a word are told as what they are, whenever the next one begins.
                match Store::open(path).and_then(|store| store.mark_interrupted()) {
                    Ok(_) => {
                        let failure = store_failure.clone();
                        Some(Writer::start(path, move |reason| {
                            failure.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(reason);
                        }))
                    }
                    Err(error) => {
                        fail(error.to_string());
                        None
                    }
                }
            }
            Err(reason) => {
                fail(reason.clone());
                None
            }
        };
        let live = Live::new(options.live(), options.time);
        let mut events =
            Events { live, writer, store_failure, warnings: Vec::new(), requested: Requested::default() };
        events.emit(&Event::RunStarted(Box::new(options.run.clone())));
        events
    }

    /// Passes an event on.
    pub(super) fn emit(&mut self, event: &Event) {
        self.event(event);
    }

    /// Notes a doubt, once.
    pub(super) fn warn(&mut self, warning: Warning) {
        if !self.warnings.contains(&warning) {
            self.emit(&Event::Warning(warning));
        }
    }

    /// Tells what is being done between the phases.
    pub(super) fn message(&mut self, text: &str) {
        self.live.message(text);
    }

    /// What the running phase has asked for so far.
    pub(super) fn requested(&self) -> Requested {
        self.requested
    }

    /// Ends the live view, writes what is left, and returns the warnings.
    pub(super) fn finish(mut self) -> Vec<Warning> {
        self.live.finish();
        let finished = self.writer.take().map(Writer::finish);
        let mut failure = self.store_failure.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(Err(error)) = finished {
            failure.get_or_insert(error.to_string());
        }
        self.warnings.extend(failure.map(|reason| Warning::StoreFailed { reason }));
        self.warnings
    }
}

impl Sink for Events {
    fn event(&mut self, event: &Event) {
        match event {
            Event::PhaseStarted(_) => self.requested = Requested::default(),
            Event::Interval(interval) => {
                for ops in &interval.ops {
                    match ops.kind {
                        OpKind::Read => self.requested.read.0 += ops.bytes,
                        OpKind::Write => self.requested.written.0 += ops.bytes,
                        OpKind::Sync | OpKind::Commit => {}
                    }
                }
            }
            Event::Warning(warning) => self.warnings.push(warning.clone()),
            _ => {}
        }
        self.live.event(event);
        if let Some(writer) = &mut self.writer {
            writer.event(event);
        }
    }
}
