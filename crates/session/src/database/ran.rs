//! RanRead, RanWrite and RanIO in a database.

use std::sync::Arc;

use iolite_db::DatabaseUrl;
use iolite_model::{Bytes, DatabaseFacts, DbTask, Storage, Task, TimedBy, Warning};
use iolite_oltp::ran::{self, Adapter, Description, Settings, run_db_task};
use iolite_suites::{Nothing, Procedure, small_database};

use super::ask::{is_standby, warn_of_copies};
use super::site::{Record, Site, settle};
use super::storage::DatabaseStorage;
use super::waits::WaitSampling;
use crate::drive::{Environment, no_database};
use crate::error::Result;
use crate::session::Session;
use crate::writes::WriteLimits;

/// A database in which RanRead, RanWrite or RanIO run, found fit for what is asked of it.
pub struct RanDatabase {
    url: DatabaseUrl,
    database: Arc<dyn Adapter>,
    description: Description,
    /// Whether the user wants operations timed in this program.
    client_timed: bool,
    timed_by: TimedBy,
    /// Subscripts of each global.
    sizes: Vec<u64>,
    site: Site,
}

impl RanDatabase {
    /// Opens a database, and asks it what it is; `client_timed` operations are timed in this program. May take as long as the server
    /// takes to respond: to be called by [`answered`](crate::answered).
    ///
    /// # Errors
    /// [`iolite_db::Error`]: it is not there, does not respond, is not ours, or can't do what is asked.
    pub fn open(url: DatabaseUrl, settings: Settings, client_timed: bool) -> Result<RanDatabase> {
        let database = ran::open(&url, settings)?;
        let description = database.describe()?;
        let sizes = database.sizes()?;
        let within = !client_timed && database.within(0)?.is_some();
        if client_timed {
            // Refused at once where operations can't be timed from outside.
            drop(database.session(0)?);
        }
        let timed_by = if within { TimedBy::Database } else { TimedBy::Client };
        let instance = database.instance();
        let storage = DatabaseStorage::find(&url, instance.as_ref())?;
        let limits = WriteLimits::default();
        let engine = description.instance.engine.clone();
        let site = Site { engine, instance, storage, durability: settings.durability, limits, waits: None };
        Ok(RanDatabase { url, database, description, client_timed, timed_by, sizes, site })
    }

    /// The same, held to what the user allows to be written.
    pub fn held_to(mut self, limits: WriteLimits) -> RanDatabase {
        self.site.limits = limits;
        self
    }

    /// The same with its sessions sampled as asked.
    ///
    /// # Errors
    /// [`iolite_db::Error::Unsupported`]: the database does not show its sessions.
    pub fn sampling_waits(mut self, asked: WaitSampling) -> Result<RanDatabase> {
        self.site.waits = asked.interval(self.site.instance.as_ref())?;
        Ok(self)
    }

    /// Its URL.
    pub fn url(&self) -> &DatabaseUrl {
        &self.url
    }

    /// Name of its engine, for example `PostgreSQL`.
    pub fn engine(&self) -> &str {
        &self.description.instance.engine
    }

    /// Who times the operations.
    pub fn timed_by(&self) -> TimedBy {
        self.timed_by
    }

    /// Whether it replays what another server writes, and only reads.
    pub fn is_standby(&self) -> bool {
        is_standby(&self.description.instance)
    }

    /// Number of globals: each is one job's alone.
    pub fn globals(&self) -> u32 {
        u32::try_from(self.sizes.len()).unwrap_or(u32::MAX)
    }

    /// Whether block reads bypass the page cache.
    pub fn direct(&self) -> bool {
        self.description.direct
    }

    /// The storage under the data.
    pub fn storage(&self) -> &Storage {
        &self.site.storage.storage
    }

    /// Sessions that the server still takes, less those that this program needs beside the jobs'; `None` without a limit.
    pub fn free_sessions(&self) -> Option<u32> {
        // One that does not report it takes as many as it takes.
        let free = self.site.instance.free_sessions().ok().flatten()?;
        Some(free.saturating_sub(OWN_SESSIONS))
    }

    /// Records warnings about the database before anything runs in it; `controller` is the cache of the storage controller, where
    /// the user knows it.
    pub fn warn(&self, session: &mut Session<'_>, controller: Option<Bytes>) {
        let memory = self.site.storage.here.then_some(session.run().info.host.memory);
        // Its size has been asked for when it was opened, and is asked for again with the facts.
        let size = self.database.size().unwrap_or_default();
        small_database(size, memory, controller).into_iter().for_each(|warning| session.warn(warning));
        if !self.client_timed && self.is_standby() {
            session.warn(Warning::Standby);
        }
    }

    /// Runs a task of RanRead, RanWrite or RanIO as a phase.
    ///
    /// # Errors
    /// It is another workload, or the run can't go on. A phase that fails is no error: its ending says so.
    pub(super) fn run(&self, session: &mut Session<'_>, task: Task) -> Result<()> {
        match task {
            Task::Database(task) => self.measure(session, task),
            other => Err(no_database(&other)),
        }
    }

    fn measure(&self, session: &mut Session<'_>, task: DbTask) -> Result<()> {
        session.refuse_spent_allowance()?;
        if task.operation.writes() {
            warn_of_copies(session, self.site.instance.as_ref(), "the sets of jobs");
        }
        let database = self.database.clone();
        settle(session, move || database.settle())?;
        let facts = self.facts(session.run().next_phase())?;
        let record = Record {
            facts: Some(facts),
            counts_block_reads: self.database.counts_block_reads(),
            writes: task.operation.writes(),
        };
        let as_task = Task::Database(task.clone());
        self.site.phase(session, as_task, record, |number, clock, control, events| {
            Ok(run_db_task(&self.database, &task, number, clock, control, events)?)
        });
        Ok(())
    }

    fn facts(&self, phase: u32) -> Result<DatabaseFacts> {
        let Description { instance, read_path, write_path, direct } = self.description.clone();
        let iolite_db::Description { engine, version, namespace, block, durability, settings } = instance;
        Ok(DatabaseFacts {
            phase,
            url: self.url.to_string(),
            namespace,
            engine,
            version,
            block,
            size: self.database.size()?,
            blocks: self.database.blocks()?,
            globals: self.database.sizes()?,
            read_path,
            write_path,
            durability: self.site.durability,
            durable_by: durability,
            direct,
            timed_by: self.timed_by,
            settings,
        })
    }
}

impl<P: Procedure<Preparation = Nothing>> Environment<P> for &RanDatabase {
    fn prepare(&mut self, _: &mut Session<'_>, _: &mut P, nothing: Nothing) -> Result<()> {
        match nothing {}
    }

    fn inside_database(&mut self, session: &mut Session<'_>, task: Task) -> Result<()> {
        self.run(session, task)
    }
}

/// Sessions that this program has beside those of its jobs: counters are read over one, waits over another, and what is asked
/// before and after a run over a third.
const OWN_SESSIONS: u32 = 3;
