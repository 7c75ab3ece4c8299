//! What measuring inside a database sets up before and reports after.

use std::sync::Arc;
use std::time::Duration;

use anyhow::bail;
use iolite_db::{DatabaseUrl, Instance, Monitor, Waited};
use iolite_engine::{Control, EngineError, Outcome};
use iolite_model::{
    Bytes, DatabaseFacts, DatabaseUse, DbOperation, DbTask, DeviceCounters, Durability, Ending, Event, Nanos,
    Sink, Storage, Task, TimedBy, Warning,
};
use iolite_observe::{CacheProbe, LeafCounters, busy_cpu};
use iolite_oltp::ran::{self, Adapter, Description, Settings, run_db_task};
use iolite_session::{GaveUp, Session, Setup, patiently};
use iolite_stats::PhaseResult;
use iolite_suites::database_warnings;
use iolite_sys::usage;

use super::args::SessionArgs;
use super::place::{Place, too_small};
use super::refused;
use super::runs::measuring_on;
use crate::exit::UsageError;
use crate::setup;

/// A database to measure in, with all that a run needs besides its tasks.
pub(super) struct Bench<'a> {
    /// The run.
    pub(super) session: Session<'a>,
    control: &'a Control,
    url: DatabaseUrl,
    database: Arc<dyn Adapter>,
    description: Description,
    durability: Durability,
    timed_by: TimedBy,
    place: Place,
}

/// A database that has been found fit for what is asked, before anything is begun.
pub(super) struct Opened {
    url: DatabaseUrl,
    database: Arc<dyn Adapter>,
    /// What it is.
    pub(super) description: Description,
    /// Who times.
    pub(super) timed_by: TimedBy,
    place: Place,
    /// Subscripts of each global.
    pub(super) sizes: Vec<u64>,
}

impl Opened {
    /// Opens the database that the arguments name, and checks whether it exists.
    ///
    /// # Errors
    /// It is not there, does not answer, is not ours, or can't do what is asked; [`EngineError::Interrupted`].
    pub(super) fn open(args: &SessionArgs, control: &Control) -> anyhow::Result<Opened> {
        let asked = args.clone();
        answered(control, move || Opened::ask(&asked))
    }

    /// Refuses a second run that writes: each global is one job's alone.
    ///
    /// # Errors
    /// Another run writes into this database.
    pub(super) fn refuse_other_writers(&self, args: &SessionArgs) -> anyhow::Result<()> {
        let Some(run) = measuring_on(&self.url, args.results.clone(), true) else { return Ok(()) };
        let message = format!(
            "run {run} writes into the globals of {}, each of which is one job's alone: wait for its end, end it \
             (stop {run}), or set up another database",
            self.url
        );
        Err(UsageError(message).into())
    }

    fn ask(args: &SessionArgs) -> anyhow::Result<Opened> {
        let url = DatabaseUrl::parse(&args.database.db).map_err(refused)?;
        let settings = Settings { durability: args.durability, through_buffers: args.through_buffers };
        let database = ran::open(&url, settings).map_err(refused)?;
        let description = database.describe().map_err(refused)?;
        let sizes = database.sizes().map_err(refused)?;
        let within = !args.client_timed && database.within(0).map_err(refused)?.is_some();
        if args.client_timed {
            // Refused at once where operations can't be timed from outside.
            drop(database.session(0).map_err(refused)?);
        }
        let timed_by = if within { TimedBy::Database } else { TimedBy::Client };
        let place = Place::find(&url, database.instance().as_ref())?;
        Ok(Opened { url, database, description, timed_by, place, sizes })
    }

    /// Sessions that the server still takes, less those that this program needs beside the jobs'.
    pub(super) fn free_sessions(&self) -> Option<u32> {
        // One that does not say so takes as many as it takes.
        let free = self.database.instance().free_sessions().ok().flatten()?;
        Some(free.saturating_sub(OWN_SESSIONS))
    }

    /// The storage under the data.
    pub(super) fn storage(&self) -> &Storage {
        &self.place.storage
    }
}

/// Sessions that this program has beside those of its jobs: counters are read over one, and what is asked before and after a
/// run over another.
const OWN_SESSIONS: u32 = 2;
/// How long a database may take to say what it is.
const ANSWER: Duration = Duration::from_secs(60);

/// Asks a database something, for as long as the user wants and it can be expected to take.
///
/// # Errors
/// What it refuses; it did not answer; [`EngineError::Interrupted`].
pub(crate) fn answered<T: Send + 'static>(
    control: &Control,
    ask: impl FnOnce() -> anyhow::Result<T> + Send + 'static,
) -> anyhow::Result<T> {
    match patiently(control, ANSWER, ask) {
        Ok(answer) => answer,
        Err(GaveUp::Interrupted) => Err(EngineError::Interrupted.into()),
        Err(GaveUp::Late) => bail!(
            "the database has not answered in {}: something else listens there, or it hangs; check host and port of the \
             URL, and look at the server's log",
            Nanos(ANSWER.as_nanos() as u64)
        ),
        Err(GaveUp::Failed) => bail!("the thread that asks the database has died, which is a bug"),
    }
}

impl<'a> Bench<'a> {
    /// Opens the results and the live view for a run of about `duration`, and prints warnings about the database.
    ///
    /// # Errors
    /// The program can't measure itself.
    pub(super) fn set_up(
        opened: Opened,
        args: &SessionArgs,
        duration: Nanos,
        control: &'a Control,
    ) -> anyhow::Result<Bench<'a>> {
        let Opened { url, database, description, timed_by, place, sizes: _ } = opened;
        let setup = Setup {
            // Nothing is written there: the loop is measured on nothing.
            directory: &std::env::temp_dir(),
            results: setup::usable_results(args.results.clone())?,
            view: setup::view(setup::live(args.quiet), duration),
        };
        let session = Session::begin(setup::run_info(place.storage.clone()), setup, control)?;
        let durability = args.durability;
        let mut bench = Bench { session, control, url, database, description, durability, timed_by, place };
        bench.warn_of_size(args.controller_cache);
        let standby = ("role".to_owned(), "hot standby".to_owned());
        if !args.client_timed && bench.description.instance.settings.contains(&standby) {
            bench.session.warn(Warning::Standby);
        }
        bench.session.calibrate()?;
        Ok(bench)
    }

    fn warn_of_size(&mut self, controller: Option<iolite_model::Bytes>) {
        let memory = self.place.here.then_some(self.session.run().info.host.memory);
        // Its size has been asked for when it was opened, and is asked for again with the facts.
        let size = self.database.size().unwrap_or_default();
        too_small(size, memory, controller).into_iter().for_each(|warning| self.session.warn(warning));
    }

    /// A task of this database.
    pub(super) fn task(&self, name: &str, operation: DbOperation, workers: u32, seed: Option<u64>) -> DbTask {
        DbTask {
            name: name.into(),
            operation,
            workers,
            stop: iolite_model::Stop::default(),
            ramp: Nanos(0),
            interval: Nanos::SECOND,
            seed: seed.unwrap_or_else(|| {
                let run = self.session.run();
                run.info.started_unix.0.wrapping_add(u64::from(run.next_phase()))
            }),
            timed_by: self.timed_by,
        }
    }

    /// Makes the database ready for cold reads, runs a task in it, and returns what it took.
    ///
    /// # Errors
    /// The database can't be asked what it is. A failure later is the phase's ending.
    pub(super) fn measure(&mut self, task: DbTask) -> anyhow::Result<PhaseResult> {
        self.settle()?;
        let facts = self.facts(self.session.run().next_phase())?;
        // One that can't be asked now will say so in the phase.
        let before = self.database.instance().describe(self.durability).ok();
        let (database, place, durability) = (&self.database, &self.place, self.durability);
        let mut waits = Vec::new();
        let index = self.session.phase_by(Task::Database(task.clone()), |number, clock, control, events| {
            events.event(&Event::Database(Box::new(facts.clone())));
            let watch = Watch::start(place, database.instance());
            let probe = CacheProbe::start(place.data.as_ref(), None);
            let run = run_db_task(database, &task, number, clock, control, events);
            let (read, written) = events.run().requested(number);
            // Commits that are not waited for are in the log some time later: what has reached the device by then says
            // nothing.
            let written = if durability == Durability::Full { written } else { Bytes(0) };
            let cache = probe.finish(read, written);
            let (mut used, waited) = watch.finish(place, number);
            waits = waited;
            if !database.counts_block_reads() {
                // The server's count of its reads leaves out those of this run.
                (used.database.data_reads, used.database.data_read_bytes) = (None, None);
            }
            events.event(&Event::DatabaseUse(Box::new(used)));
            let outcome = run.unwrap_or_else(|error| Outcome::nothing(Ending::Failed(error.to_string())));
            Ok((outcome, Some(cache)))
        });
        let run = self.session.run();
        let Some(result) = run.phases.last().filter(|phase| phase.info.index == index).cloned() else {
            bail!("phase {index} has not ended, which is a bug")
        };
        let used = run.database_use.get(&index).cloned();
        let mut warnings = database_warnings(&result, &facts, used.as_ref(), &self.place.storage);
        let phase = || result.info.task.name().to_owned();
        warnings.extend(waits.first().map(|longest| Warning::LockWait {
            phase: phase(),
            waited: longest.time,
            holder: longest.wait.holder.clone(),
        }));
        let changes = before.map(|before| self.changes(&before)).unwrap_or_default();
        if !changes.is_empty() {
            warnings.push(Warning::SettingsChanged { phase: phase(), changes });
        }
        warnings.into_iter().for_each(|warning| self.session.warn(warning));
        Ok(result)
    }

    /// Settings of the database that are no longer what they were.
    fn changes(&self, before: &iolite_db::Description) -> Vec<String> {
        let (instance, durability) = (self.database.instance(), self.durability);
        // A server that is gone has ended the phase, which says so.
        let asked = patiently(self.control, ANSWER, move || instance.describe(durability));
        let Ok(Ok(later)) = asked else { return Vec::new() };
        before.changes(&later)
    }

    /// What an earlier phase has left in logs and caches goes where it belongs; a database that can't do it is a warning.
    fn settle(&mut self) -> anyhow::Result<()> {
        self.session.events().message("preparing the database");
        let database = self.database.clone();
        match patiently(self.control, Duration::MAX, move || database.settle()) {
            Ok(Ok(())) | Err(GaveUp::Interrupted) => {}
            Ok(Err(error)) => self.session.warn(Warning::NotSettled { reason: error.to_string() }),
            Err(GaveUp::Late | GaveUp::Failed) => {
                bail!("the thread that makes the database ready has died, which is a bug")
            }
        }
        Ok(())
    }

    fn facts(&self, phase: u32) -> anyhow::Result<DatabaseFacts> {
        let Description { instance, read_path, write_path, direct } = self.description.clone();
        let iolite_db::Description { engine, version, namespace, block, durability, settings } = instance;
        Ok(DatabaseFacts {
            phase,
            url: self.url.to_string(),
            namespace,
            engine,
            version,
            block,
            size: self.database.size().map_err(refused)?,
            blocks: self.database.blocks().map_err(refused)?,
            globals: self.database.sizes().map_err(refused)?,
            read_path,
            write_path,
            durability: self.durability,
            durable_by: durability,
            direct,
            timed_by: self.timed_by,
            settings,
        })
    }
}

/// Readings at the beginning of a phase.
pub(crate) struct Watch {
    monitor: Option<Monitor>,
    data: Option<DeviceCounters>,
    log: Option<DeviceCounters>,
    tool: Duration,
    host: Option<Nanos>,
}

impl Watch {
    /// Reads for the first time.
    pub(crate) fn start(place: &Place, database: Arc<dyn Instance>) -> Watch {
        let monitor = Monitor::start(database);
        Watch {
            monitor,
            data: counted(place.data.as_ref()),
            log: counted(place.log.as_ref()),
            tool: usage::of_this_process().unwrap_or_default(),
            host: busy_cpu(),
        }
    }

    /// What was counted since.
    pub(crate) fn finish(self, place: &Place, phase: u32) -> (DatabaseUse, Vec<Waited>) {
        let since = |counters: Option<&LeafCounters>, before: Option<DeviceCounters>| {
            counted(counters).zip(before).map(|(now, before)| now.since(before))
        };
        let (data, log) = (since(place.data.as_ref(), self.data), since(place.log.as_ref(), self.log));
        let tool = usage::of_this_process().unwrap_or_default().saturating_sub(self.tool);
        let host = busy_cpu().zip(self.host).map(|(now, before)| now.saturating_sub(before));
        let seen = self.monitor.map(Monitor::finish).unwrap_or_default();
        let used = DatabaseUse {
            phase,
            data_device: data,
            log_device: log,
            database: seen.physical,
            writer_active: seen.writer_active,
            observed: seen.observed,
            tool_cpu: Nanos(u64::try_from(tool.as_nanos()).unwrap_or(u64::MAX)),
            host_cpu: host,
        };
        (used, seen.lock_waits)
    }
}

fn counted(counters: Option<&LeafCounters>) -> Option<DeviceCounters> {
    counters?.read().ok()
}
