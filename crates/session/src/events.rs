//! Where a run's events go: its fold, the results database, the view, and whoever else listens.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, SyncSender, TrySendError};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use iolite_engine::Control;
use iolite_model::{Concluded, Event, Nanos, RunInfo, Sink, View, Warning};
use iolite_observe::{Probe, RunClock, Sampler, Schedule};
use iolite_results::{Run, RunWatch};
use iolite_store::{Store, Writer};

use crate::error::Error;
use crate::generator::HostCounts;
use crate::patience::{GaveUp, patiently, wait_for};
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
    watches: Vec<Box<dyn RunWatch>>,
    sampling: Option<Sampling>,
    /// What the host had counted when each phase that runs was released, by the phase's number.
    released: BTreeMap<u32, HostCounts>,
    /// When that was read last, since 1970.
    counted: Option<(Nanos, HostCounts)>,
    /// Time of an earlier run that this one continues.
    before: Nanos,
}

/// The thread that reads probes, and the channel of its events.
struct Sampling {
    sampler: Sampler,
    events: Receiver<Box<Event>>,
    /// Events that found the channel full.
    lost: Arc<AtomicU64>,
}

/// The sampler's end of the channel. Its places are there from the start, so that they hold addresses and not events of a kilobyte each.
struct Passed {
    channel: SyncSender<Box<Event>>,
    lost: Arc<AtomicU64>,
}

impl Sink for Passed {
    fn event(&mut self, event: &Event) {
        // Readings are lost, the run is not. Where the receiver is gone, the run has ended.
        if let Err(TrySendError::Full(_)) = self.channel.try_send(Box::new(event.clone())) {
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// Maximum number of readings that wait: those of some minutes in which the run does not take them (it lays out a file).
const WAITING: usize = 1 << 14;

/// The kernel counts CPU time in ticks of a hundredth of a second (proc_stat(5)), here in nanoseconds.
const COUNTED_EVERY: u64 = 10_000_000;

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
            watches: Vec::new(),
            sampling: None,
            released: BTreeMap::new(),
            counted: None,
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
        self.sample_waiting(probes, schedule, clock, WAITING);
    }

    /// As [`sample`](Events::sample), with the number of readings that wait.
    fn sample_waiting(
        &mut self,
        probes: Vec<Box<dyn Probe>>,
        schedule: Schedule,
        clock: RunClock,
        waiting: usize,
    ) {
        let (channel, events) = mpsc::sync_channel(waiting);
        let lost = Arc::new(AtomicU64::new(0));
        match Sampler::start(probes, schedule, clock, Passed { channel, lost: lost.clone() }) {
            Ok(sampler) => self.sampling = Some(Sampling { sampler, events, lost }),
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

    /// Passes on what the sampler has read: to be called again and again wherever a run waits.
    pub(crate) fn pass_readings(&mut self) {
        let Some(sampling) = &self.sampling else { return };
        let read = sampling.events.try_iter().map(|event| *event).collect();
        self.pass_read(read);
    }

    /// Ends the sampler, and passes on its last readings.
    fn end_sampling(&mut self) {
        let Some(Sampling { sampler, events, lost }) = self.sampling.take() else { return };
        let mut read: Vec<Event> = events.try_iter().map(|event| *event).collect();
        let warning = sampler.finish();
        read.extend(events.try_iter().map(|event| *event));
        read.extend(warning.map(Event::Warning));
        let lost = lost.load(Ordering::Relaxed);
        if lost > 0 {
            let reason =
                format!("{lost} of them came while a preparation took longer than readings can wait");
            read.push(Event::Warning(Warning::ProbeFailed { probe: "all probes".into(), reason }));
        }
        self.pass_read(read);
    }

    fn pass_read(&mut self, read: Vec<Event>) {
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

    /// Does `work` as [`patiently`] does, while readings of the probes are passed on.
    ///
    /// # Errors
    /// Why it was given up on.
    pub(crate) fn patiently<T: Send + 'static>(
        &mut self,
        control: &Control,
        limit: Duration,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, GaveUp> {
        wait_for(control, limit, work, || self.pass_readings())
    }

    fn pass(&mut self, event: &Event) {
        self.run.event(event);
        self.watches.iter_mut().for_each(|watch| watch.after(event, &self.run));
        self.view.event(event);
        if let Some(writer) = &mut self.writer {
            writer.event(event);
        }
    }

    /// Passes all events from here on to `listener` too, before anybody else gets them.
    pub fn listen(&mut self, listener: Box<dyn Sink>) {
        self.listeners.push(listener);
    }

    /// Shows `watch` the run after each event from here on.
    pub fn watch_run(&mut self, watch: Box<dyn RunWatch>) {
        self.watches.push(watch);
    }

    /// Records a warning, once per cause.
    pub fn warn(&mut self, warning: Warning) {
        if !self.run.warnings.iter().any(|known| known.repeats(&warning)) {
            self.event(&Event::Warning(warning));
        }
    }

    /// What the host had counted when a phase was released, reported once.
    pub(crate) fn released(&mut self, phase: u32) -> Option<HostCounts> {
        self.released.remove(&phase)
    }

    /// What the host has counted when a phase is released, since 1970: as for those that were released at the same instant, as far
    /// as its counters distinguish instants.
    fn count_at(&mut self, release: Nanos) -> HostCounts {
        match self.counted {
            Some((at, counts)) if at.0.abs_diff(release.0) < COUNTED_EVERY => counts,
            _ => self.counted.insert((release, HostCounts::now())).1,
        }
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
                // It was waited for instead, and has noted itself what has failed.
                Err(GaveUp::NoThread) => {}
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
            let counts = self.count_at(release.at_unix);
            self.released.insert(release.phase, counts);
        }
        if matches!(event, Event::RunEnded(_)) {
            self.end_sampling();
        } else {
            self.pass_readings();
        }
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
        Err(GaveUp::NoThread) => {
            note(failure, Error::NoThread.to_string());
            None
        }
        Err(_) => {
            note(failure, "the results database is held by another program".into());
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use iolite_model::{NullSink, ReadingValue};
    use iolite_observe::{Subject, probe_from};

    use super::*;
    use crate::session::Session;
    use crate::start::{Setup, run_info};

    /// Every millisecond.
    const OFTEN: Schedule = Schedule { interval: Nanos(1_000_000), max_cpu: None };

    /// A probe that counts its readings, and calls `read` with the count.
    fn counting(read: impl Fn(u32) + Send + 'static) -> Box<dyn Probe> {
        let mut count = 0;
        probe_from("counting", move || {
            count += 1;
            read(count);
            Ok(vec![Subject::host(vec![ReadingValue::counter("reads", f64::from(count))])])
        })
    }

    fn in_a_session(control: &Control, test: impl FnOnce(&mut Session<'_>)) -> Run {
        let place = tempfile::tempdir().unwrap();
        let results = Ok(place.path().join("results.db"));
        let info = run_info(iolite_observe::storage(place.path()).unwrap(), vec!["iolite".into()]);
        let setup = Setup { directory: None, results, view: Box::new(NullSink) };
        let mut session = Session::begin(info, setup, control).unwrap();
        // Ends the sampler of the host's probes.
        session.events.end_sampling();
        test(&mut session);
        session.end(iolite_model::Ending::Completed)
    }

    #[test]
    fn readings_are_passed_on_while_a_run_waits() {
        let waits: [fn(&mut Session<'_>); 2] = [
            |session| session.pause(Nanos(3600 * Nanos::SECOND.0)),
            |session| {
                let _ = session.patiently(Duration::MAX, std::thread::park);
            },
        ];
        for wait in waits {
            let control = Control::new(Default::default());
            in_a_session(&control, |session| {
                let end = control.clone();
                let probe = counting(move |count| {
                    if count > 100 {
                        end.interrupt()
                    }
                });
                session.events.sample_waiting(vec![probe], OFTEN, RunClock::starting_now(), WAITING);
                wait(session);
                assert!(!session.run().readings.of("counting", "").is_empty());
            });
        }
    }

    #[test]
    fn readings_that_were_lost_are_counted() {
        let (read, was_read) = mpsc::channel();
        let run = in_a_session(&Control::new(Default::default()), |session| {
            let probe = counting(move |_| {
                let _ = read.send(());
            });
            session.events.sample_waiting(vec![probe], OFTEN, RunClock::starting_now(), 2);
            was_read.iter().take(10).for_each(drop);
        });
        let lost = run.warnings.iter().filter_map(|warning| match warning {
            Warning::ProbeFailed { probe, reason } if probe == "all probes" => Some(reason.as_str()),
            _ => None,
        });
        let [reason] = lost.collect::<Vec<_>>()[..] else { panic!("{:?}", run.warnings) };
        assert!(reason.contains(" of them came while "), "{reason}");
    }
}
