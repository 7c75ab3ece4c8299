//! Runs sets of tasks one after the other.

use std::fs::File;
use std::path::{Path, PathBuf};

use anyhow::bail;
use iolite_engine::{Control, EngineError, Measured as MeasuredSet, Outcome, Scratch, make_ready, run_set};
use iolite_model::{
    Bytes, Cache, Calibration, Ending, Event, JobTask, Nanos, PhaseInfo, Storage, Target, Usage,
};
use iolite_observe::{CacheProbe, LeafCounters, ReleaseWatch};
use iolite_stats::{Detail, PhaseResult, PhaseTotals};
use iolite_suites::doubts;
use iolite_sys::clock::Clock;

use crate::events::Events;
use crate::session::{calibrate, phase_end};

/// What has been measured.
pub(crate) struct Measured {
    /// The program measured; `None` when it could not be.
    pub(crate) calibration: Option<Calibration>,
    /// The phases, in order.
    pub(crate) history: Vec<PhaseResult>,
}

/// What is known of a phase besides its result.
#[derive(Debug, Clone)]
pub(crate) struct Besides {
    /// What reading back all that was written counted.
    pub(crate) read_back: Option<PhaseTotals>,
    /// What its workers used of the machine.
    pub(crate) usage: Usage,
    /// What was kept of each operation.
    pub(crate) detail: Option<Detail>,
}

/// Runs tasks.
pub(crate) struct Runner<'a> {
    control: &'a Control,
    events: &'a mut Events,
    clock: Clock,
    started: u64,
    scratch: Scratch,
    counters: Option<LeafCounters>,
    storage: &'a Storage,
    calibration: Option<Calibration>,
    history: Vec<PhaseResult>,
    besides: Vec<Besides>,
}

impl<'a> Runner<'a> {
    pub(crate) fn new(
        scratch: Scratch,
        counters: Option<LeafCounters>,
        storage: &'a Storage,
        control: &'a Control,
        events: &'a mut Events,
    ) -> Runner<'a> {
        let clock = Clock::best();
        let (started, calibration) = (clock.now(), None);
        let (history, besides) = (Vec::new(), Vec::new());
        Runner { control, events, clock, started, scratch, counters, storage, calibration, history, besides }
    }

    /// The phases so far.
    pub(crate) fn history(&self) -> &[PhaseResult] {
        &self.history
    }

    /// The phases from number `first` on, with what else is known of each.
    pub(crate) fn since(&self, first: usize) -> impl Iterator<Item = (&PhaseResult, &Besides)> {
        self.history.iter().zip(&self.besides).skip(first)
    }

    /// Removes the run's files, and returns what was measured.
    pub(crate) fn end(self) -> Measured {
        Measured { calibration: self.calibration, history: self.history }
    }

    /// Makes the files that a task works on, and does nothing with them.
    ///
    /// # Errors
    /// They can't be made.
    pub(crate) fn make_ready(&mut self, task: &JobTask) -> anyhow::Result<()> {
        Ok(make_ready(task, &mut self.scratch, self.control)?)
    }

    /// Runs sets of tasks one after the other, until the user interrupts or one fails; what was measured until then is
    /// kept.
    ///
    /// # Errors
    /// Why it can't go on.
    pub(crate) fn sets(&mut self, sets: &[&[JobTask]]) -> anyhow::Result<()> {
        if self.calibration.is_none() {
            let own = calibrate(&mut self.scratch, self.clock, self.control)?;
            self.events.emit(&Event::Calibrated(own.clone()));
            self.calibration = Some(own);
        }
        for set in sets {
            if self.control.interrupted() {
                break;
            }
            self.set(set)?;
        }
        Ok(())
    }

    /// Runs tasks that start together, and appends their results to the history.
    fn set(&mut self, tasks: &[JobTask]) -> anyhow::Result<()> {
        let first = self.history.len() as u32;
        let started = Nanos(self.clock.now() - self.started);
        let infos: Vec<_> = (first..)
            .zip(tasks)
            .map(|(index, task)| PhaseInfo { index, task: task.task(), started })
            .collect();
        infos.iter().for_each(|info| self.events.emit(&Event::PhaseStarted(info.clone())));
        let target = self.path(tasks).and_then(|path| open(&path));
        // What goes to nothing is neither the device's nor a cache's.
        let idle = tasks
            .iter()
            .all(|task| matches!(task, JobTask::Io(task) if matches!(task.target, Target::Null { .. })));
        let mut probe = CacheProbe::start(
            self.counters.as_ref().filter(|_| !idle),
            target.as_ref().map(|(file, span)| (file, *span)),
        )
        .on(self.storage);
        let path = self.path(tasks);
        let run = run_set(
            tasks,
            first,
            &mut self.scratch,
            self.clock,
            self.control,
            &mut ReleaseWatch::new(&mut *self.events, &mut probe, move || open(&path?)),
        );
        let (mut read, mut written) = (Bytes(0), Bytes(0));
        for info in &infos {
            let requested = self.events.requested(info.index);
            (read.0, written.0) = (read.0 + requested.read.0, written.0 + requested.written.0);
        }
        // Tasks that run together share the device: what it counted is told of them all.
        let cache = probe.finish(read, written);
        // Only now: what is read to be verified is not what was measured.
        match run.map(MeasuredSet::verify) {
            Ok(outcomes) => self.end_set(infos, outcomes, cache),
            Err(error) => {
                for info in infos {
                    let ending = match &error {
                        EngineError::Interrupted => Ending::Interrupted,
                        other => Ending::Failed(other.to_string()),
                    };
                    self.end_phase(info, Outcome::nothing(ending), cache);
                }
                bail!(error)
            }
        }
    }

    fn end_set(&mut self, infos: Vec<PhaseInfo>, outcomes: Vec<Outcome>, cache: Cache) -> anyhow::Result<()> {
        let mut failure = None;
        for (info, outcome) in infos.into_iter().zip(outcomes) {
            if let Ending::Failed(reason) = &outcome.ending {
                failure.get_or_insert_with(|| format!("`{}`: {reason}", info.task.name()));
            }
            self.end_phase(info, outcome, cache);
        }
        failure.map_or(Ok(()), |failure| Err(anyhow::anyhow!(failure)))
    }

    fn end_phase(&mut self, info: PhaseInfo, outcome: Outcome, cache: Cache) {
        let end = phase_end(info.index, &outcome, cache);
        self.events.emit(&Event::PhaseEnded(end.clone()));
        let first_error = outcome.first_error().map(str::to_owned);
        let result = PhaseResult { info, end, totals: outcome.totals.clone() };
        doubts(&result, first_error.as_deref()).into_iter().for_each(|doubt| self.events.warn(doubt));
        self.history.push(result);
        let Outcome { read_back, usage, detail, .. } = outcome;
        self.besides.push(Besides { read_back, usage, detail });
    }

    /// The path of the one file that all these tasks go to, which need not be there yet.
    fn path(&self, tasks: &[JobTask]) -> Option<PathBuf> {
        let mut paths = tasks.iter().map(|task| self.path_of(task));
        let first = paths.next()??;
        paths.all(|path| path.as_ref() == Some(&first)).then_some(first)
    }

    fn path_of(&self, task: &JobTask) -> Option<PathBuf> {
        let JobTask::Io(task) = task else { return None };
        match &task.target {
            Target::File(file) if !file.per_worker => Some(self.scratch.path().join(&file.name)),
            Target::Existing(existing) => Some(existing.path.clone()),
            Target::Files(files) => match files.files.as_slice() {
                [file] => Some(file.path.clone()),
                _ => None,
            },
            Target::File(_) | Target::Null { .. } => None,
        }
    }
}

/// Now, in nanoseconds since 1970 (UTC).
pub(crate) fn unix_now() -> Nanos {
    Nanos(u64::try_from(jiff::Timestamp::now().as_nanosecond()).unwrap_or(0))
}

/// A file with its length, to see how much of it is in the page cache. Only a regular file: opening anything else might do
/// something to it.
fn open(path: &Path) -> Option<(File, u64)> {
    let length = std::fs::metadata(path).ok().filter(|metadata| metadata.is_file())?.len();
    Some((File::open(path).ok()?, length))
}
