//! The life of a phase: announced, probed, run, ended.

use std::fs::File;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use iolite_engine::{Control, EngineError, Measured, Outcome, released_together, run_set};
use iolite_model::{
    Bytes, Cache, Concluded, Ending, Event, JobTask, Nanos, PhaseEnd, PhaseInfo, Sink, SyncRule, Target,
    Task, Warning, WriteDurability,
};
use iolite_observe::{CacheProbe, ReleaseWatch};
use iolite_results::ReadBack;
use iolite_stats::{PhaseChanges, RateBounds};
use iolite_suites::phase_warnings;
use iolite_sys::clock::Clock;

use crate::ending::describe;
use crate::error::{Error, Result};
use crate::events::Events;
use crate::generator::{self, HostCounts};
use crate::session::Session;

impl Session<'_> {
    /// Runs tasks that start together.
    ///
    /// # Errors
    /// One of them is invalid, could not be made ready, or has failed.
    pub(crate) fn set(&mut self, tasks: &[JobTask]) -> Result<()> {
        let held = self.held_to_allowance(tasks)?;
        let watched = self.watched(held);
        let tasks = &*watched;
        let first = self.run().next_phase();
        let infos = self.announce(first, tasks.iter().map(JobTask::task));
        let path = self.path(tasks);
        let reach = reach(tasks);
        let target = path.as_deref().and_then(|path| open(path, reach));
        // What goes to nothing is neither the device's nor a cache's.
        let idle = tasks
            .iter()
            .all(|task| matches!(task, JobTask::Io(task) if matches!(task.target, Target::Null { .. })));
        let storage = self.events.run().info.storage.clone();
        let mut probe = CacheProbe::start(
            self.counters.as_ref().filter(|_| !idle),
            target.as_ref().map(|(file, span)| (file, *span)),
        )
        .on(&storage)
        .direct(tasks.iter().all(is_direct))
        .durable(tasks.iter().all(is_synchronised));
        let samples =
            !idle && tasks.iter().any(reads) && !path.as_ref().is_some_and(|path| self.holds_data(path));
        if samples {
            probe = probe.sampling(path.as_deref().and_then(|path| open_device(path, reach)));
        }
        let find = || path.as_deref().and_then(|path| open(path, reach));
        let mut events = ReleaseWatch::new(&mut self.events, &mut probe, released_together(tasks), find);
        let run = run_set(tasks, first, &mut self.scratch, self.clock, self.control, &mut events);
        drop(events);
        let requested: Vec<_> = infos.iter().map(|info| self.run().requested(info.index)).collect();
        let (read, written): (Vec<Bytes>, Vec<Bytes>) = requested.into_iter().unzip();
        let sum = |each: &[Bytes]| Bytes(each.iter().map(|bytes| bytes.0).sum());
        // Tasks that run together share the device: what it counted is reported for all of them.
        let verified = run.as_ref().map_or(Bytes(0), Measured::read_back);
        let cache = probe.finish(sum(&read), sum(&written)).without_verification(verified);
        if let Some(path) = path {
            self.note_contents(path, tasks, &cache);
        }
        self.take_from_allowance(tasks, &written);
        // Only now: what is read to be verified is not what was measured.
        match run.map(Measured::verify) {
            Ok(outcomes) => {
                let phases: Vec<u32> = infos.iter().map(|info| info.index).collect();
                let ended = self.end_set(infos, outcomes, cache);
                self.conclude_stalls(&phases);
                ended
            }
            Err(error) => {
                let host = HostCounts::now();
                for info in infos {
                    let ending = match &error {
                        EngineError::Interrupted => Ending::Interrupted,
                        other => Ending::Failed(other.to_string()),
                    };
                    self.end_phase(info, &Outcome::nothing(ending), cache, &host);
                }
                Err(error.into())
            }
        }
    }

    /// Runs a phase whose operations are not the engine's own, for example inside a database: `run` does it, as the phase of
    /// the number that it is given, and passes its events on; where it returns what the devices counted, that is the phase's,
    /// else what this session's devices counted. Returns the phase's number. What fails is the phase's ending.
    pub(crate) fn phase_by(
        &mut self,
        task: Task,
        run: impl FnOnce(u32, Clock, &Control, &mut Events) -> Result<(Outcome, Option<Cache>)>,
    ) -> u32 {
        let number = self.run().next_phase();
        self.expect_stalls();
        let infos = self.announce(number, [task]);
        let probe = CacheProbe::start(self.counters.as_ref(), None);
        let (outcome, cache) = run(number, self.clock, self.control, &mut self.events)
            .unwrap_or_else(|error| (Outcome::nothing(Ending::Failed(describe(&error))), None));
        let (read, written) = self.run().requested(number);
        let counted = probe.finish(read, written);
        let cache = cache.unwrap_or(counted);
        let host = HostCounts::now();
        infos.into_iter().for_each(|info| self.end_phase(info, &outcome, cache, &host));
        self.conclude_stalls(&[number]);
        number
    }

    fn announce(&mut self, first: u32, tasks: impl IntoIterator<Item = Task>) -> Vec<PhaseInfo> {
        let started = self.elapsed();
        let infos: Vec<_> =
            (first..).zip(tasks).map(|(index, task)| PhaseInfo { index, task, started }).collect();
        infos.iter().for_each(|info| self.events.event(&Event::PhaseStarted(info.clone())));
        infos
    }

    fn end_set(&mut self, infos: Vec<PhaseInfo>, outcomes: Vec<Outcome>, cache: Cache) -> Result<()> {
        let (mut failure, host) = (None, HostCounts::now());
        for (info, outcome) in infos.into_iter().zip(outcomes) {
            if let Ending::Failed(reason) = &outcome.ending {
                let task = || info.task.name().to_owned();
                failure.get_or_insert_with(|| Error::Task { task: task(), reason: reason.clone() });
            }
            self.end_phase(info, &outcome, cache, &host);
        }
        failure.map_or(Ok(()), Err)
    }

    /// Records the end of a phase: what is known of it besides its intervals, then the end, then what its intervals
    /// show, and the warnings. `host` is what the host had counted at its end.
    fn end_phase(&mut self, info: PhaseInfo, outcome: &Outcome, cache: Cache, host: &HostCounts) {
        let phase = info.index;
        self.events.conclude(Concluded::of_phase(phase, &outcome.usage));
        if let Some(detail) = &outcome.detail {
            self.events.conclude(Concluded::of_phase(phase, detail));
        }
        if let Some(totals) = &outcome.read_back {
            self.events.conclude(Concluded::of_phase(phase, &ReadBack::of(totals, outcome.unread)));
        }
        self.events.event(&Event::PhaseEnded(phase_end(phase, outcome, cache)));
        let Some(result) = self.run().phases.last() else { return };
        let (changes, bounds) = (PhaseChanges::of(result), RateBounds::of(result));
        debug_assert!(
            outcome.ending != Ending::Completed || result.totals == outcome.totals,
            "the events of phase {phase} do not add up to what was measured"
        );
        // What has ended a phase inside a database is reported as its end; it need not be the storage's fault.
        let ended = matches!((&info.task, &outcome.ending), (Task::Database(_), Ending::Failed(_)));
        let new = |warning: &Warning| !(ended && matches!(warning, Warning::Errors { .. }));
        let mut warnings = phase_warnings(result, outcome.first_error());
        warnings.retain(|warning| !self.was_suspended(result.info.started, warning));
        warnings.into_iter().filter(new).for_each(|warning| self.events.warn(warning));
        if let Some(bounds) = bounds {
            self.events.conclude(Concluded::of_phase(phase, &bounds));
        }
        if let Some(changes) = changes {
            self.events.conclude(Concluded::of_phase(phase, &changes));
        }
        let measured = Nanos(outcome.totals.measured);
        let counted = (self.events.released(phase), host);
        let cpus = self.run().info.host.cpus;
        if let Some(used) = generator::used(&info.task, &outcome.usage, measured, counted, cpus) {
            self.events.conclude(Concluded::of_phase(phase, &used));
            generator::limits(&info.task, &used).into_iter().for_each(|warning| self.events.warn(warning));
        }
    }

    /// Whether a warning of a phase is about a stall that was a time in which the program was not run.
    fn was_suspended(&self, started: Nanos, warning: &Warning) -> bool {
        let Warning::Stalls { longest, .. } = warning else { return false };
        self.run().warnings.iter().any(|known| match known {
            Warning::Suspended { at, length } | Warning::HostSuspended { at, length } => {
                *at >= started && length.0 >= longest.0 / 2
            }
            _ => false,
        })
    }

    /// The path of the one file that all these tasks go to, which need not be there yet: to see how much of it is in the page
    /// cache.
    fn path(&self, tasks: &[JobTask]) -> Option<PathBuf> {
        let mut paths = tasks.iter().map(|task| self.path_of(task));
        let first = paths.next()??;
        paths.all(|path| path.as_ref() == Some(&first)).then_some(first)
    }

    /// Whether an earlier phase has found data in a target.
    fn holds_data(&self, path: &PathBuf) -> bool {
        self.with_data.contains(path)
    }

    /// Notes what a phase has found in its target, so that it is sampled once and not before each of many phases.
    fn note_contents(&mut self, path: PathBuf, tasks: &[JobTask], cache: &Cache) {
        if tasks.iter().any(|task| matches!(task, JobTask::Io(task) if task.mix.trims())) {
            self.with_data.remove(&path);
        } else if cache.zeros.is_some_and(|share| share < NEARLY_NO_ZEROS) {
            self.with_data.insert(path);
        }
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

/// What is recorded at the end of a phase.
fn phase_end(phase: u32, outcome: &Outcome, cache: Cache) -> PhaseEnd {
    PhaseEnd {
        phase,
        ending: outcome.ending.clone(),
        measured: iolite_model::Nanos(outcome.totals.measured),
        outstanding: outcome.outstanding,
        cache,
        errors: outcome.errors.clone(),
        stuck: outcome.stuck.clone(),
        rate: outcome.rate,
        verified: outcome.verified.clone(),
    }
}

/// Share of zeros below which a target is not sampled again.
const NEARLY_NO_ZEROS: f64 = 0.1;

/// Writes between two syncs that are few: what the last sync leaves out weighs nothing.
const FEW_WRITES: u32 = 128;

/// Whether a task reads its target.
fn reads(task: &JobTask) -> bool {
    matches!(task, JobTask::Io(task) if task.mix.reads())
}

/// Whether a task's I/O is to bypass the page cache.
fn is_direct(task: &JobTask) -> bool {
    matches!(task, JobTask::Io(task) if task.direct)
}

/// Whether whatever a task writes is durable when it ends: each write, or all of them, or all but a few.
fn is_synchronised(task: &JobTask) -> bool {
    let JobTask::Io(task) = task else { return false };
    let WriteDurability { sync, also, end_sync, open, range: _ } = &task.durability;
    let often = |rule: &SyncRule| rule.every <= FEW_WRITES;
    !task.mix.writes() || open.is_some() || end_sync.is_some() || sync.iter().chain(also).any(often)
}

/// How far into their file tasks reach: what lies beyond (allocated, never written) says nothing about what they read.
fn reach(tasks: &[JobTask]) -> u64 {
    let of = |task: &JobTask| match task {
        JobTask::Io(task) => match &task.target {
            Target::File(file) => file.size.0,
            Target::Existing(existing) if existing.size.0 > 0 => {
                existing.offset.0.saturating_add(existing.size.0)
            }
            _ => u64::MAX,
        },
        JobTask::Metadata(_) => u64::MAX,
    };
    tasks.iter().map(of).max().unwrap_or(u64::MAX)
}

/// A file, and its length as far as tasks `reach`. Only a regular file: opening anything else might do something to it.
fn open(path: &Path, reach: u64) -> Option<(File, u64)> {
    let length = std::fs::metadata(path).ok().filter(|metadata| metadata.is_file())?.len();
    Some((File::open(path).ok()?, length.min(reach)))
}

/// A block device, and its length as far as tasks `reach`. It does not stay open during the phase: who closes a device last writes
/// and drops its pages.
fn open_device(path: &Path, reach: u64) -> Option<(File, u64)> {
    std::fs::metadata(path).ok().filter(|metadata| metadata.file_type().is_block_device())?;
    let file = File::open(path).ok()?;
    let length = iolite_sys::device::size_of(&file).ok()?;
    Some((file, length.min(reach)))
}

#[cfg(test)]
mod tests;
