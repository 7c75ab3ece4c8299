//! One run: what it owns, and its phases.

use std::collections::HashSet;
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use iolite_engine::{Control, Scratch, make_ready};
use iolite_model::{Concluded, Ending, Event, JobTask, Nanos, RunInfo, Sink, Warning};
use iolite_observe::{LeafCounters, RunClock, Schedule, host_probes};
use iolite_results::Run;
use iolite_stats::PhaseResult;
use iolite_sys::clock::Clock;

use crate::allowance::WriteAllowance;
use crate::calibrate::calibrate;
use crate::error::Result;
use crate::events::Events;
use crate::patience::{GaveUp, TICK};
use crate::stall_watch::StallWatch;
use crate::start::Setup;

/// One run.
pub struct Session<'a> {
    pub(crate) control: &'a Control,
    pub(crate) events: Events,
    pub(crate) clock: Clock,
    started: u64,
    /// Time of an earlier run that this one continues.
    before: Nanos,
    pub(crate) scratch: Scratch,
    pub(crate) counters: Option<LeafCounters>,
    /// What may still be written, where that is limited.
    pub(crate) allowance: Option<WriteAllowance>,
    /// Targets in which a phase has found data, and hardly any zeros.
    pub(crate) with_data: HashSet<PathBuf>,
    /// What collects the slowest operations, where they are to be attributed.
    pub(crate) stalls: Option<StallWatch>,
}

impl<'a> Session<'a> {
    /// Begins a run: creates the scratch directory, if it has one, opens the results, and records warnings about the storage.
    ///
    /// # Errors
    /// The directory can't be written to.
    pub fn begin(info: RunInfo, setup: Setup<'_>, control: &'a Control) -> Result<Session<'a>> {
        Session::begin_sampling(info, setup, Schedule::default(), control)
    }

    /// The same, with the host's probes read as `schedule` says.
    ///
    /// # Errors
    /// As [`begin`](Session::begin).
    pub fn begin_sampling(
        info: RunInfo,
        setup: Setup<'_>,
        schedule: Schedule,
        control: &'a Control,
    ) -> Result<Session<'a>> {
        iolite_sys::file::raise_open_files();
        let mut scratch = match setup.directory {
            Some(directory) => Scratch::create(directory, &info.id)?,
            // The measured loop itself is measured on nothing.
            None => Scratch::on_demand(&std::env::temp_dir(), &info.id),
        };
        if let Ok(results) = &setup.results {
            scratch.reserve(iolite_store::files_of(results));
        }
        let mut events = Events::start(&info, &setup.results, setup.view, control);
        let counters = LeafCounters::new(&info.storage);
        if let Some(device) = iolite_observe::volatile(&info.storage) {
            events.warn(Warning::Volatile { device });
        }
        if counters.is_none() {
            events.warn(Warning::NoDeviceCounters { filesystem: info.storage.filesystem.kind.clone() });
        }
        let configuration = iolite_observe::configuration(&info.storage, &info.host);
        events.conclude(Concluded::of(&configuration));
        let clock = Clock::best();
        let started = clock.now();
        let probes = host_probes(Some(&info.storage));
        events.sample(probes, schedule, RunClock { clock, origin: started });
        Ok(Session {
            control,
            events,
            clock,
            started,
            before: Nanos(0),
            scratch,
            counters,
            allowance: None,
            with_data: HashSet::new(),
            stalls: None,
        })
    }

    /// What has happened so far.
    pub fn run(&self) -> &Run {
        self.events.run()
    }

    /// The finished phases.
    pub fn history(&self) -> &[PhaseResult] {
        &self.run().phases
    }

    /// The way to end it from outside.
    pub fn control(&self) -> &'a Control {
        self.control
    }

    /// Where its events go.
    pub fn events(&mut self) -> &mut Events {
        &mut self.events
    }

    /// Where its own files are.
    pub fn scratch(&mut self) -> &mut Scratch {
        &mut self.scratch
    }

    /// Counters of the devices beneath, where they have any.
    pub fn counters(&self) -> Option<&LeafCounters> {
        self.counters.as_ref()
    }

    /// Time since it began, after that of an earlier run that it continues.
    pub fn elapsed(&self) -> Nanos {
        Nanos(self.before.0.saturating_add(self.clock.now() - self.started))
    }

    /// The instant of CLOCK_MONOTONIC of a time since the run began.
    pub(crate) fn on_monotonic(&self, time: Nanos) -> Nanos {
        let own = time.0.saturating_sub(self.before.0);
        Nanos(self.clock.monotonic_at(self.started.saturating_add(own)))
    }

    /// Places everything from here on after so much time of an earlier run.
    pub(crate) fn begins_after(&mut self, before: Nanos) {
        self.before = before;
        self.events.begins_after(before);
    }

    /// Records a warning, once.
    pub fn warn(&mut self, warning: Warning) {
        self.events.warn(warning);
    }

    /// Records a conclusion.
    pub fn conclude(&mut self, concluded: Concluded) {
        self.events.conclude(concluded);
    }

    /// Creates the files that a task works on, and does nothing with them.
    ///
    /// # Errors
    /// They can't be created.
    pub fn make_ready(&mut self, task: &JobTask) -> Result<()> {
        Ok(make_ready(task, &mut self.scratch, self.control)?)
    }

    /// Measures the program itself, once a run.
    ///
    /// # Errors
    /// The program can't start a thread; [`EngineError::Interrupted`](iolite_engine::EngineError::Interrupted).
    pub(crate) fn calibrate(&mut self) -> Result<()> {
        if self.run().calibration.is_none() {
            let calibration = calibrate(&mut self.scratch, self.clock, self.control)?;
            self.events.event(&Event::Calibrated(calibration));
        }
        Ok(())
    }

    /// Does `work` as [`patiently`] does, while readings of the probes are passed on.
    ///
    /// # Errors
    /// Why it was given up on.
    pub(crate) fn patiently<T: Send + 'static>(
        &mut self,
        limit: Duration,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, GaveUp> {
        self.events.patiently(self.control, limit, work)
    }

    /// Lets a time pass, or less where the user interrupts, while readings of the probes are passed on.
    pub(crate) fn pause(&mut self, time: Nanos) {
        let end = Instant::now() + time.as_duration();
        while !self.control.interrupted() {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            thread::sleep(left.min(TICK));
            self.events.pass_readings();
        }
    }

    /// Ends the run, removes its files, stores what is left, and returns it.
    pub fn end(self, ending: Ending) -> Run {
        let Session { control, mut events, mut scratch, .. } = self;
        // Of targets that were prepared or purged only: a phase has warned of its own.
        scratch.warning().into_iter().for_each(|warning| events.warn(warning));
        events.event(&Event::RunEnded(ending));
        drop(scratch);
        events.finish(control)
    }
}

/// Now, in nanoseconds since 1970 (UTC).
pub fn unix_now() -> Nanos {
    Nanos(u64::try_from(jiff::Timestamp::now().as_nanosecond()).unwrap_or(0))
}
