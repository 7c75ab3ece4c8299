//! Where a check's events go: the results database, the live view, and the list of warnings.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use iolite_engine::Control;
use iolite_model::{Bytes, Event, OpKind, Sink, Warning};
use iolite_report::Live;
use iolite_store::{Store, Writer};

use super::options::Options;
use super::patience::patiently;

/// All consumers of a check's events.
pub(super) struct Events {
    live: Live,
    writer: Option<Writer>,
    store_failure: Failure,
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
    pub(super) fn start(options: &Options, control: &Control) -> Events {
        let store_failure = Failure::default();
        let writer = match &options.results {
            Ok(path) => open(path, control, &store_failure),
            Err(reason) => {
                note(&store_failure, reason.clone());
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
    pub(super) fn finish(mut self, control: &Control) -> Vec<Warning> {
        self.live.finish();
        if let Some(writer) = self.writer.take() {
            match patiently(control, Duration::MAX, || writer.finish()) {
                Ok(Ok(())) => {}
                Ok(Err(error)) => note(&self.store_failure, error.to_string()),
                Err(_) => note(&self.store_failure, "the results database did not take them in time".into()),
            }
        }
        let failure = self.store_failure.lock().unwrap_or_else(PoisonError::into_inner).take();
        self.warnings.extend(failure.map(|reason| Warning::StoreFailed { reason }));
        self.warnings
    }
}

/// Why results are not stored, where they are not.
type Failure = Arc<Mutex<Option<String>>>;

fn note(failure: &Failure, reason: String) {
    failure.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(reason);
}

/// Opens the results database. Runs that died without a word are told as what they are, whenever the next one begins.
fn open(path: &Path, control: &Control, failure: &Failure) -> Option<Writer> {
    let file = path.to_owned();
    let marked = patiently(control, Duration::MAX, move || {
        Store::open(&file).and_then(|store| store.mark_interrupted())
    });
    match marked {
        Ok(Ok(_)) => {
            let failure = failure.clone();
            Some(Writer::start(path, move |reason| note(&failure, reason)))
        }
        Ok(Err(error)) => {
            note(failure, error.to_string());
            None
        }
        Err(_) => {
            note(failure, "the results database is held by another program".into());
            None
        }
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
