//! A phase inside a database, whatever the workload: settled, counted, run, reported.

use std::sync::Arc;
use std::time::Duration;

use iolite_db::{Description, Instance, WaitSampler, Waited};
use iolite_engine::{Control, EngineError, Outcome};
use iolite_model::{Bytes, Concluded, DatabaseFacts, Durability, Ending, Event, Sink, Task, Warning};
use iolite_suites::{DatabaseState, database_warnings};
use iolite_sys::clock::Clock;

use super::ask::ANSWER;
use super::counted::Counted;
use super::probes;
use super::storage::DatabaseStorage;
use super::waits::{advised, hidden};
use super::write_watch::{RunningWatch, WriteWatch};
use crate::ending::describe;
use crate::error::{Error, Result};
use crate::events::Events;
use crate::patience::{GaveUp, patiently};
use crate::session::Session;
use crate::writes::WriteLimits;

/// A database in which phases run, with the storage beneath.
#[derive(Clone)]
pub(super) struct Site {
    /// Name of the engine.
    pub(super) engine: String,
    /// The database.
    pub(super) instance: Arc<dyn Instance>,
    /// What is beneath.
    pub(super) storage: DatabaseStorage,
    /// What a commit has done when it returns.
    pub(super) durability: Durability,
    /// What the user allows to be written.
    pub(super) limits: WriteLimits,
    /// Time between two samples of what its sessions wait for; `None` to sample none.
    pub(super) waits: Option<Duration>,
}

/// What is recorded of a phase besides its intervals.
#[derive(Debug, Clone, Default)]
pub(super) struct Record {
    /// What the database is at its begin, where that is asked for each phase.
    pub(super) facts: Option<DatabaseFacts>,
    /// Whether the database counts the block reads of this workload.
    pub(super) counts_block_reads: bool,
    /// Whether it writes.
    pub(super) writes: bool,
}

impl Site {
    /// Runs `work` as a phase: devices and database are read before and after it, and what they show is a warning. What fails is the
    /// phase's ending.
    pub(super) fn phase(
        &self,
        session: &mut Session<'_>,
        task: Task,
        record: Record,
        work: impl FnOnce(u32, Clock, &Control, &mut Events) -> Result<Outcome>,
    ) {
        let Site { engine, instance, storage, durability, limits, waits } = self;
        // One that can't be asked now will say so in the phase.
        let (asked, commits) = (instance.clone(), *durability);
        let before = session
            .patiently(ANSWER, move || asked.describe(commits))
            .ok()
            .and_then(|described| described.ok());
        let mut lock_waits = Vec::new();
        let (mut watched, mut unseen, name) = (None, None, task.name().to_owned());
        let watch =
            record.writes.then(|| WriteWatch::new(storage, instance, *limits, session.left_to_write()));
        let phase = session.phase_by(task, |number, clock, control, events| {
            if let Some(facts) = record.facts {
                events.event(&Event::Database(Box::new(facts)));
            }
            let counted = Counted::start(storage, instance.clone());
            let latest = counted.latest();
            latest.into_iter().for_each(|latest| events.watch(probes::counters(engine.clone(), latest)));
            let watch = watch.map(|watch| watch.start(control.clone(), number));
            let sampler = waits.and_then(|interval| sample(instance.as_ref(), interval, &mut unseen));
            sampler.iter().for_each(|sampler| events.watch(probes::waits(sampler.times())));
            let probe =
                storage.probe().durable(*durability == Durability::Full && synchronises(before.as_ref()));
            let done = work(number, clock, control, events);
            watched = watch.map(RunningWatch::finish);
            let (read, written) = events.run().requested(number);
            // Commits that are not waited for are in the log some time later: what has reached the device by then says
            // nothing.
            let written = if *durability == Durability::Full { written } else { Bytes(0) };
            let cache = probe.finish(read, written);
            let (mut used, waited) = counted.finish(storage, number);
            lock_waits = waited;
            if !record.counts_block_reads {
                // The server's count of its reads leaves out those of this run.
                (used.database.data_reads, used.database.data_read_bytes) = (None, None);
            }
            let waits = sampler.and_then(WaitSampler::finish).map(advised);
            // What they have read last stays to be read: these are the values at the phase's end.
            [probes::DATABASE, probes::WAITS].into_iter().for_each(|probe| events.unwatch(probe));
            events.event(&Event::DatabaseUse(Box::new(used)));
            if let Some(waits) = &waits {
                events.conclude(Concluded::of_phase(number, waits));
                unseen = hidden(waits);
            }
            let outcome = done.unwrap_or_else(|error| Outcome::nothing(Ending::Failed(describe(&error))));
            Ok((outcome, Some(cache)))
        });
        if let Some(seen) = watched {
            session.take_written(seen.written);
            if let Some(why) = seen.ended {
                session.warn(Warning::LeftOut { what: format!("the rest of `{name}`"), why });
            }
        }
        let warnings = self.warnings(session, phase, before.as_ref(), &lock_waits);
        unseen.into_iter().chain(warnings).for_each(|warning| session.warn(warning));
    }

    /// Warnings about a phase that has ended, whatever the workload; `before` is what the database was when it began.
    fn warnings(
        &self,
        session: &Session<'_>,
        phase: u32,
        before: Option<&Description>,
        waits: &[Waited],
    ) -> Vec<Warning> {
        let run = session.run();
        let Some(result) = run.phases.iter().rfind(|result| result.info.index == phase) else {
            return Vec::new();
        };
        let settings = before.map_or(&[][..], |before| &before.settings);
        let state = DatabaseState { durability: self.durability, settings };
        let mut warnings =
            database_warnings(result, state, run.database_use.get(&phase), &self.storage.storage);
        let name = || result.info.task.name().to_owned();
        warnings.extend(waits.first().map(|longest| Warning::LockWait {
            phase: name(),
            waited: longest.time,
            holder: longest.wait.holder.clone(),
        }));
        let changes = before.map(|before| self.changes(session, before)).unwrap_or_default();
        if !changes.is_empty() {
            warnings.push(Warning::SettingsChanged { phase: name(), changes });
        }
        warnings
    }

    /// Settings of the database that are no longer what they were.
    fn changes(&self, session: &Session<'_>, before: &Description) -> Vec<String> {
        let (instance, durability) = (self.instance.clone(), self.durability);
        // A server that is gone has ended the phase, which says so.
        let asked = patiently(session.control, ANSWER, move || instance.describe(durability));
        let Ok(Ok(later)) = asked else { return Vec::new() };
        before.changes(&later)
    }
}

/// Whether a server of these settings synchronises its log: PostgreSQL does not with `fsync=off`.
fn synchronises(server: Option<&Description>) -> bool {
    let is_off = |(name, value): &(String, String)| name == "fsync" && value == "off";
    server.is_some_and(|server| !server.settings.iter().any(is_off))
}

/// Begins to sample the sessions. A server that can't be asked for them is measured without, which is a warning; one that does not show
/// them is none.
fn sample(instance: &dyn Instance, interval: Duration, unseen: &mut Option<Warning>) -> Option<WaitSampler> {
    match instance.wait_reader() {
        Ok(reader) => WaitSampler::start(reader?, interval),
        Err(error) => {
            *unseen = Some(Warning::LeftOut { what: "waits".into(), why: error.to_string() });
            None
        }
    }
}

/// Rebuilds what a phase needs by `work`, for as long as it takes or the user wants.
///
/// # Errors
/// It can't be done; [`EngineError::Interrupted`]; the thread that does it has died, which is a bug.
pub(super) fn arrange<T: Send + 'static>(
    session: &mut Session<'_>,
    work: impl FnOnce() -> iolite_db::Result<T> + Send + 'static,
) -> Result<T> {
    match patiently(session.control(), Duration::MAX, work) {
        Ok(done) => Ok(done?),
        Err(GaveUp::Interrupted) => Err(EngineError::Interrupted.into()),
        Err(GaveUp::NoThread) => Err(Error::NoThread),
        Err(GaveUp::Late | GaveUp::Failed) => {
            Err(Error::Bug { what: "the thread that rebuilds a table has failed" })
        }
    }
}

/// Brings the database to its start by `work`, for as long as it takes or the user wants. A database that can't be brought there
/// is a warning: what follows is less repeatable, not wrong.
///
/// # Errors
/// The thread that does it has died, which is a bug.
pub(super) fn settle(
    session: &mut Session<'_>,
    work: impl FnOnce() -> iolite_db::Result<()> + Send + 'static,
) -> Result<()> {
    session.events().message("preparing the database");
    match session.patiently(Duration::MAX, work) {
        Ok(Ok(())) | Err(GaveUp::Interrupted) => {}
        Ok(Err(error)) => session.warn(Warning::NotSettled { reason: error.to_string() }),
        Err(GaveUp::NoThread) => return Err(Error::NoThread),
        Err(GaveUp::Late | GaveUp::Failed) => {
            return Err(Error::Bug { what: "the thread that prepares the database has failed" });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use iolite_db::{Files, Result as DbResult};
    use iolite_model::{DbOperation, DbTask, Nanos, NullSink, Physical, Stop, TimedBy};

    use super::*;
    use crate::start::{Setup, run_info};

    /// A server that accepts connections and then hangs.
    struct Hanging;

    impl Instance for Hanging {
        fn describe(&self, _: Durability) -> DbResult<Description> {
            loop {
                std::thread::park();
            }
        }

        fn files(&self) -> DbResult<Files> {
            Ok(Files::default())
        }

        fn settle(&self) -> DbResult<()> {
            Ok(())
        }

        fn counters(&self) -> DbResult<Physical> {
            Ok(Physical::default())
        }
    }

    #[test]
    fn a_server_that_hangs_before_a_phase_does_not_keep_the_user() {
        let place = tempfile::tempdir().unwrap();
        let storage = iolite_observe::storage(place.path()).unwrap();
        let control = Control::new(Default::default());
        let info = run_info(storage.clone(), vec!["iolite".into()]);
        let results = Ok(place.path().join("results.db"));
        let setup = Setup { directory: None, results, view: Box::new(NullSink) };
        let mut session = Session::begin(info, setup, &control).unwrap();
        let site = Site {
            engine: "server".into(),
            instance: Arc::new(Hanging),
            storage: DatabaseStorage {
                storage,
                here: true,
                data: None,
                log: None,
                process: None,
                directories: Vec::new(),
            },
            durability: Durability::AsConfigured,
            limits: WriteLimits::default(),
            waits: None,
        };
        let task = Task::Database(DbTask {
            name: "reads".into(),
            operation: DbOperation::RanRead,
            workers: 1,
            stop: Stop::default(),
            ramp: Nanos(0),
            interval: Nanos::SECOND,
            seed: 7,
            timed_by: TimedBy::Client,
        });
        control.interrupt();
        site.phase(&mut session, task, Record::default(), |_, _, _, _| {
            Ok(Outcome::nothing(Ending::Interrupted))
        });
        let run = session.end(Ending::Interrupted);
        assert_eq!(run.phases.len(), 1);
    }
}
