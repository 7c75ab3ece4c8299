//! Where a run's events go: the results database, the live view, and the list of warnings.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use iolite_engine::Control;
use iolite_model::{Bytes, Event, Nanos, OpKind, RunInfo, Sink, Warning};
use iolite_report::{Live, LiveKind};
use iolite_store::{Store, Writer};

use crate::patience::patiently;

/// All consumers of a run's events.
pub(crate) struct Events {
    live: Live,
    writer: Option<Writer>,
    store_failure: Failure,
    warnings: Vec<Warning>,
    /// By phase.
    requested: BTreeMap<u32, Requested>,
    /// Whoever else wants to know.
    listeners: Vec<Box<dyn Sink>>,
}

/// Bytes that a phase has asked for, ramp and drain included.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Requested {
    /// Bytes read.
    pub(crate) read: Bytes,
    /// Bytes written.
    pub(crate) written: Bytes,
}

impl Events {
    /// Opens the results database (or notes why there is none) and the live view. A database that can't be opened is a
    /// warning, nothing more. `time` is how long the run will take about.
    pub(crate) fn start(
        run: &RunInfo,
        results: &Result<PathBuf, String>,
        live: LiveKind,
        time: Nanos,
        control: &Control,
    ) -> Events {
        let store_failure = Failure::default();
        let writer = match results {
            Ok(path) => open(path, control, &store_failure),
            Err(reason) => {
                note(&store_failure, reason.clone());
                None
            }
        };
        let (live, warnings, requested) = (Live::new(live, time), Vec::new(), BTreeMap::new());
        let mut events = Events { live, writer, store_failure, warnings, requested, listeners: Vec::new() };
        events.emit(&Event::RunStarted(Box::new(run.clone())));
        events
    }

    /// Tells all events from here on to `listener` too, before anybody else.
    pub(crate) fn listen(&mut self, listener: Box<dyn Sink>) {
        self.listeners.push(listener);
    }

    /// Passes an event on.
    pub(crate) fn emit(&mut self, event: &Event) {
        self.event(event);
    }

    /// Notes a doubt, once.
    pub(crate) fn warn(&mut self, warning: Warning) {
        if !self.warnings.iter().any(|known| known.repeats(&warning)) {
            self.emit(&Event::Warning(warning));
        }
    }

    /// Tells what is being done between the phases.
    pub(crate) fn message(&mut self, text: &str) {
        self.live.message(text);
    }

    /// What a phase has asked for so far.
    pub(crate) fn requested(&self, phase: u32) -> Requested {
        self.requested.get(&phase).copied().unwrap_or_default()
    }

    /// Ends the live view, writes what is left, and returns the warnings.
    pub(crate) fn finish(mut self, control: &Control) -> Vec<Warning> {
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
        self.listeners.event(event);
        match event {
            // Far too many for anyone but those who have asked for them.
            Event::Operations(_) => return,
            Event::Interval(interval) => {
                let requested = self.requested.entry(interval.phase).or_default();
                for ops in &interval.ops {
                    match ops.kind {
                        OpKind::Read => requested.read.0 += ops.bytes,
                        OpKind::Write => requested.written.0 += ops.bytes,
                        _ => {}
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
