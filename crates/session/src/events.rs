//! Where a run's events go: its fold, the results database, the view, and whoever else listens.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use iolite_engine::Control;
use iolite_model::{Concluded, Event, Nanos, RunInfo, Sink, View, Warning};
use iolite_observe::{Probe, RunClock, Sampler, Schedule};
use iolite_results::Run;
use iolite_store::{Store, Writer};

use crate::generator::AtRelease;
use crate::patience::patiently;
use crate::stored;

/// All consumers of a run's events.
pub struct Events {
    run: Run,
    view: Box<dyn View>,
    writer: Option<Writer>,
    store_failure: Failure,
    /// The results database, where there is one.
    stored_in: Option<PathBuf>,
    listeners: Vec<Box<dyn Sink>>,
    sampling: Option<Sampling>,
    /// What the host had counted when each phase that runs was released, by the phase's number.
    released: BTreeMap<u32, AtRelease>,
    /// Time of an earlier run that this one continues.
    before: Nanos,
}

/// The thread that reads probes, and the way by which its events come.
struct Sampling {
    sampler: Sampler,
    events: Receiver<Event>,
}

/// The sampler's end of that way.
struct Passed(SyncSender<Event>);

impl Sink for Passed {
    fn event(&mut self, event: &Event) {
        // Full, or nobody listens any more: readings are lost, the run is not.
        let _ = self.0.try_send(event.clone());
    }
}

/// Readings that wait at most: some minutes of them, while the run emits nothing.
const WAITING: usize = 1 << 14;

impl Events {
    /// Opens the results database, and notifies all listeners that the run has begun. A database that can't be opened is a warning,
    /// nothing more: `results` says why there is none.
    pub fn start(
        info: &RunInfo,
        results: &Result<PathBuf, iolite_store::Error>,
        view: Box<dyn View>,
        control: &Control,
    ) -> Events {
        let store_failure = Failure::default();
        let writer = match results {
            Ok(path) => open(path, control, &store_failure),
            Err(reason) => {
                note(&store_failure, reason.to_string());
                None
            }
        };
        let run = Run::new(info.clone());
        let mut events = Events {
            run,
            view,
            writer,
            store_failure,
            stored_in: results.as_ref().ok().cloned(),
            listeners: Vec::new(),
            sampling: None,
            released: BTreeMap::new(),
            before: Nanos(0),
        };
        events.event(&Event::RunStarted(Box::new(info.clone())));
        events
    }

    /// What the events have said so far.
    pub fn run(&self) -> &Run {
        &self.run
    }

    /// Reads probes from here on until the run ends.
    pub fn sample(&mut self, probes: Vec<Box<dyn Probe>>, schedule: Schedule, clock: RunClock) {
        let (sender, events) = mpsc::sync_channel(WAITING);
        match Sampler::start(probes, schedule, clock, Passed(sender)) {
            Ok(sampler) => self.sampling = Some(Sampling { sampler, events }),
            Err(error) => {
                self.warn(Warning::ProbeFailed { probe: "sampler".into(), reason: error.to_string() });
            }
        }
    }

    /// Reads another probe too until [`unwatch`](Events::unwatch), now for the first time.
    pub(crate) fn watch(&self, probe: Box<dyn Probe>) {
        if let Some(sampling) = &self.sampling {
            sampling.sampler.add(probe);
        }
    }

    /// Reads the probe of this name for the last time.
    pub(crate) fn unwatch(&self, name: &'static str) {
        if let Some(sampling) = &self.sampling {
            sampling.sampler.remove(name);
        }
    }

    /// Places the readings from here on after so much time of an earlier run.
    pub(crate) fn begins_after(&mut self, before: Nanos) {
        self.before = before;
    }

    /// Passes on what the sampler has read; at the run's end its last readings too.
    fn take_readings(&mut self, last: bool) {
        let Some(Sampling { sampler, events }) = self.sampling.take() else { return };
        let mut read: Vec<Event> = events.try_iter().collect();
        if last {
            let warning = sampler.finish();
            read.extend(events.try_iter());
            read.extend(warning.map(Event::Warning));
        } else {
            self.sampling = Some(Sampling { sampler, events });
        }
        for event in read {
            match event {
                Event::Warning(warning) => self.warn(warning),
                Event::Reading(mut reading) => {
                    reading.at = Nanos(reading.at.0.saturating_add(self.before.0));
                    self.pass(&Event::Reading(reading));
                }
                event => self.pass(&event),
            }
        }
    }

    fn pass(&mut self, event: &Event) {
        self.run.event(event);
        self.view.event(event);
        if let Some(writer) = &mut self.writer {
            writer.event(event);
        }
    }

    /// Passes all events from here on to `listener` too, before anybody else gets them.
    pub fn listen(&mut self, listener: Box<dyn Sink>) {
        self.listeners.push(listener);
    }

    /// Records a warning, once per cause.
    pub fn warn(&mut self, warning: Warning) {
        if !self.run.warnings.iter().any(|known| known.repeats(&warning)) {
            self.event(&Event::Warning(warning));
        }
    }

    /// What the host had counted when a phase was released, reported once.
    pub(crate) fn released(&mut self, phase: u32) -> Option<AtRelease> {
        self.released.remove(&phase)
    }

    /// Records a conclusion.
    pub fn conclude(&mut self, concluded: Concluded) {
        self.event(&Event::Concluded(Box::new(concluded)));
    }

    /// Shows what is being done between the phases.
    pub fn message(&mut self, text: &str) {
        self.view.message(text);
    }

    /// Ends the view, writes what is left, and returns the run with all of its warnings.
    pub fn finish(mut self, control: &Control) -> Run {
        self.view.finish();
        if let Some(writer) = self.writer.take() {
            match patiently(control, Duration::MAX, || writer.finish()) {
                Ok(Ok(())) => {}
                Ok(Err(error)) => note(&self.store_failure, error.to_string()),
                Err(_) => note(&self.store_failure, "the results database did not take them in time".into()),
            }
        }
        let failure = self.store_failure.lock().unwrap_or_else(PoisonError::into_inner).take();
        if cfg!(debug_assertions)
            && failure.is_none()
            && let Some(path) = &self.stored_in
        {
            stored::check(path, &self.run);
        }
        self.run.warnings.extend(failure.map(|reason| Warning::StoreFailed { reason }));
        self.run
    }
}

impl Sink for Events {
    fn event(&mut self, event: &Event) {
        self.listeners.event(event);
        // Logs of operations are far too many for anyone but those who have asked for them.
        if matches!(event, Event::Operations(_)) {
            return;
        }
        if let Event::PhaseReleased(release) = event {
            self.released.insert(release.phase, AtRelease::now());
        }
        self.take_readings(matches!(event, Event::RunEnded(_)));
        self.pass(event);
    }
}

/// Why results are not stored, where they are not.
type Failure = Arc<Mutex<Option<String>>>;

fn note(failure: &Failure, reason: String) {
    failure.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(reason);
}

/// Opens the results database. Runs that died without a word are marked as what they are, whenever the next one begins.
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
