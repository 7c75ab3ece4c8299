//! Does what the procedure asks for, step by step.

use std::fs::File;
use std::rc::Rc;
use std::time::Duration;

use anyhow::bail;
use iolite_engine::{Control, Outcome, Scratch, run_file_task, run_metadata_task};
use iolite_model::{
    Cache, Calibration, Ending, Event, FileTask, Nanos, PhaseEnd, PhaseInfo, Target, Task, Warning,
};
use iolite_observe::{CacheProbe, LeafCounters};
use iolite_oltp::ran::run_db_task;
use iolite_stats::PhaseResult;
use iolite_suites::{Check, Conclusion, Step, doubts};
use iolite_sys::clock::Clock;

use super::SharedDatabase;
use super::database::{self, Made};
use super::options::Options;
use crate::events::Events;
use crate::output;
use crate::patience::{GaveUp, patiently};
use crate::session::{calibrate, clear_leftovers, phase_end};

/// What a check has found.
pub(super) struct Measured {
    /// The program measured; `None` when interrupted before.
    pub(super) calibration: Option<Calibration>,
    /// The phases, in order.
    pub(super) history: Vec<PhaseResult>,
    /// The end; `None` when interrupted or failed.
    pub(super) conclusion: Option<Conclusion>,
    /// Why the check could not go on.
    pub(super) failure: Option<String>,
}

/// Runs a check.
pub(super) struct Runner<'a> {
    options: &'a Options,
    control: &'a Control,
    events: &'a mut Events,
    clock: Clock,
    started: u64,
    // Before the scratch directory, so that the database's files are closed when that goes.
    database: Option<SharedDatabase>,
    scratch: Scratch,
    counters: Option<Rc<LeafCounters>>,
    check: Check,
    history: Vec<PhaseResult>,
}

impl<'a> Runner<'a> {
    /// Prepares a check: removes what dead runs left, makes the scratch directory, finds out what the storage takes.
    ///
    /// # Errors
    /// The directory cannot be written to.
    pub(super) fn new(
        options: &'a Options,
        control: &'a Control,
        events: &'a mut Events,
    ) -> anyhow::Result<Runner<'a>> {
        let clock = Clock::best();
        let started = clock.now();
        clear_leftovers(&options.directory, options.quiet);
        let mut scratch = Scratch::create(&options.directory, &options.run.id)?;
        let direct = !options.buffered && takes_direct_io(&mut scratch, options, events)?;
        let io_uring = has_io_uring(events);
        let counters = LeafCounters::new(&options.run.storage).map(Rc::new);
        warn_of_the_medium(options, counters.is_none(), events);
        let check = Check::new(options.for_procedure(direct, io_uring))?;
        let (database, history) = (None, Vec::new());
        Ok(Runner { options, control, events, clock, started, database, scratch, counters, check, history })
    }

    /// Runs it to the end, or until it is interrupted or can't go on; what was measured until then is kept.
    pub(super) fn run(mut self) -> Measured {
        let mut measured =
            Measured { calibration: None, history: Vec::new(), conclusion: None, failure: None };
        match self.steps(&mut measured.calibration) {
            Ok(conclusion) => measured.conclusion = conclusion,
            Err(error) => measured.failure = Some(output::told(&error)),
        }
        measured.history = self.history;
        measured
    }

    fn steps(&mut self, calibration: &mut Option<Calibration>) -> anyhow::Result<Option<Conclusion>> {
        let own = calibrate(&mut self.scratch, self.clock, self.control)?;
        self.events.emit(&Event::Calibrated(own.clone()));
        *calibration = Some(own);
        while !self.control.interrupted() {
            match self.check.next(&self.history, self.elapsed()) {
                Step::Run(task) => self.phase(task)?,
                Step::CreateDatabase(size) => self.create_database(size),
                Step::Done(done) => {
                    done.warnings.iter().for_each(|warning| self.events.warn(warning.clone()));
                    return Ok(Some(*done));
                }
            }
        }
        Ok(None)
    }

    fn elapsed(&self) -> Nanos {
        Nanos(self.clock.now() - self.started)
    }

    /// Runs one phase and appends its result to the history.
    fn phase(&mut self, task: Task) -> anyhow::Result<()> {
        let index = self.history.len() as u32;
        let info = PhaseInfo { index, task, started: self.elapsed() };
        self.events.emit(&Event::PhaseStarted(info.clone()));
        let target = self.existing_target(&info.task);
        let span = info_span(&info.task);
        let counters = self.counters.clone();
        let storage = &self.options.run.storage;
        let probe =
            CacheProbe::start(counters.as_deref(), target.as_ref().map(|file| (file, span))).on(storage);
        let run = self.run_task(&info.task, index);
        let requested = self.events.requested(index);
        let cache = probe.finish(requested.read, requested.written);
        let outcome = match run {
            Ok(outcome) => outcome,
            // A database that fails is no reason to throw the rest away.
            Err(error) if matches!(info.task, Task::Database(_)) => {
                Outcome::nothing(Ending::Failed(output::told(&error)))
            }
            Err(error) => {
                self.end_phase(index, &Outcome::nothing(Ending::Failed(output::told(&error))), cache);
                bail!(error);
            }
        };
        let end = self.end_phase(index, &outcome, cache);
        let first_error = outcome.first_error().map(str::to_owned);
        let result = PhaseResult { info, end, totals: outcome.totals };
        doubts(&result, first_error.as_deref()).into_iter().for_each(|doubt| self.events.warn(doubt));
        let in_database = matches!(result.info.task, Task::Database(_));
        self.history.push(result);
        match outcome.ending {
            Ending::Failed(reason) if in_database => self.check.without_database(reason),
            Ending::Failed(reason) => bail!("{reason}"),
            Ending::Completed | Ending::Interrupted => {}
        }
        Ok(())
    }

    fn end_phase(&mut self, phase: u32, outcome: &Outcome, cache: Cache) -> PhaseEnd {
        let end = phase_end(phase, outcome, cache);
        self.events.emit(&Event::PhaseEnded(end.clone()));
        end
    }

    fn run_task(&mut self, task: &Task, index: u32) -> anyhow::Result<Outcome> {
        Ok(match task {
            Task::File(task) => {
                run_file_task(task, index, &mut self.scratch, self.clock, self.control, self.events)?
            }
            Task::Metadata(task) => {
                run_metadata_task(task, index, &mut self.scratch, self.clock, self.control, self.events)?
            }
            Task::Database(task) => {
                let Some(database) = &self.database else {
                    bail!("there is no database to run {} on", task.name)
                };
                checkpoint(database, self.control, left(self.options.time, self.elapsed()))?;
                run_db_task(database, task, index, self.clock, self.control, self.events)?
            }
        })
    }

    /// The phase's file, where it is there already, to see how much of it is in the page cache.
    fn existing_target(&self, task: &Task) -> Option<File> {
        let Task::File(FileTask { target: Target::File(target), .. }) = task else { return None };
        File::open(self.scratch.claimed(&target.name).ok()?).ok()
    }

    fn create_database(&mut self, size: iolite_suites::DatabaseSize) {
        let limit = left(database::deadline(self.options.time), self.elapsed());
        match database::create(size, &mut self.scratch, self.control, limit, self.events) {
            Made::Database(database) => self.database = Some(database),
            Made::Without(why) => self.check.without_database(why),
            Made::Interrupted => {}
        }
    }
}

/// Time until `deadline`.
fn left(deadline: Nanos, elapsed: Nanos) -> Duration {
    deadline.saturating_sub(elapsed).as_duration()
}

/// Brings what an earlier phase left in the log into the files: reads are to find it there.
fn checkpoint(database: &SharedDatabase, control: &Control, limit: Duration) -> anyhow::Result<()> {
    let database = database.clone();
    match patiently(control, limit, move || database.settle()) {
        Ok(done) => Ok(done?),
        // The phase that follows sees the interruption by itself.
        Err(GaveUp::Interrupted) => Ok(()),
        Err(GaveUp::Late) => {
            bail!("the checkpoint before it took longer than there was time; give a larger --budget-time")
        }
        Err(GaveUp::Failed) => bail!("the checkpoint's thread has died, which is a bug"),
    }
}

/// Whether direct I/O works here; warns where it does not.
fn takes_direct_io(scratch: &mut Scratch, options: &Options, events: &mut Events) -> anyhow::Result<bool> {
    scratch.claim(iolite_sys::file::PROBE.as_ref())?;
    let works = iolite_sys::file::direct_io_works(scratch.path()).map_err(|source| {
        iolite_engine::EngineError::Scratch { directory: options.directory.clone(), source }
    })?;
    if !works {
        events.warn(Warning::NoDirectIo { filesystem: options.run.storage.filesystem.kind.clone() });
    }
    Ok(works)
}

fn has_io_uring(events: &mut Events) -> bool {
    match iolite_sys::ring::available() {
        Ok(()) => true,
        Err(error) => {
            events.warn(Warning::NoIoUring { reason: error.to_string() });
            false
        }
    }
}

fn warn_of_the_medium(options: &Options, no_counters: bool, events: &mut Events) {
    let storage = &options.run.storage;
    if let Some(device) = iolite_observe::volatile(storage) {
        events.warn(Warning::Volatile { device });
    }
    if options.buffered {
        events.warn(Warning::ThroughCache);
    }
    if no_counters {
        events.warn(Warning::NoDeviceCounters { filesystem: storage.filesystem.kind.clone() });
    }
}

fn info_span(task: &Task) -> u64 {
    match task {
        Task::File(task) => task.target.size().0,
        Task::Metadata(_) | Task::Database(_) => 0,
    }
}
