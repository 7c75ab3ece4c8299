//! TPROC-C in a database.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use iolite_db::DatabaseUrl;
use iolite_engine::{Control, EngineError};
use iolite_model::{
    Bytes, CheckpointCycles, Concluded, Durability, Nanos, OpKind, Storage, Task, TprocCDatabase, TprocCTask,
    Warning,
};
use iolite_oltp::tproc_c::{self, Database, Layout};
use iolite_stats::{TprocCRates, WholeCycles};
use iolite_suites::{Ab, CreatedFiles, Nothing, Procedure, SingleStep, partial_cycles, unknown_cycles};

use super::ask::warn_of_copies;
use super::site::{Record, Site, arrange, settle};
use super::storage::DatabaseStorage;
use super::waits::WaitSampling;
use crate::drive::{Environment, no_database};
use crate::error::{Error, Result};
use crate::patience::{GaveUp, patiently, wait_for};
use crate::session::Session;
use crate::writes::WriteLimits;

/// How long the removal of a copy may take.
const REMOVAL: Duration = Duration::from_secs(60);

/// How long the copying may take to end when the user wants to stop.
const CANCELLATION: Duration = Duration::from_secs(10);

/// A database in which TPROC-C runs.
pub struct TprocCSite {
    url: DatabaseUrl,
    database: Arc<dyn Database>,
    layout: Layout,
    description: iolite_db::Description,
    kinds: Vec<OpKind>,
    site: Site,
    /// Each phase runs in a copy of the database.
    copies: bool,
}

impl TprocCSite {
    /// Opens a database, and asks it what it is. May take as long as the server takes to respond: to be called by
    /// [`answered`](crate::answered).
    ///
    /// # Errors
    /// [`iolite_db::Error`]: it is not there, does not respond, or was not supported by `tproc-c build`.
    pub fn open(url: DatabaseUrl, durability: Durability) -> Result<TprocCSite> {
        let database = tproc_c::open(&url, durability)?;
        let layout = database.layout()?;
        let instance = database.instance();
        let description = instance.describe(durability)?;
        let storage = DatabaseStorage::find(&url, instance.as_ref())?;
        let engine = description.engine.clone();
        let site =
            Site { engine, instance, storage, durability, limits: WriteLimits::default(), waits: None };
        let kinds = tproc_c::kinds()?;
        Ok(TprocCSite { url, database, layout, description, kinds, site, copies: false })
    }

    /// The same, held to what the user allows to be written.
    pub fn held_to(mut self, limits: WriteLimits) -> TprocCSite {
        self.site.limits = limits;
        self
    }

    /// The same with its sessions sampled as asked.
    ///
    /// # Errors
    /// [`iolite_db::Error::Unsupported`]: the database does not show its sessions.
    pub fn sampling_waits(mut self, asked: WaitSampling) -> Result<TprocCSite> {
        self.site.waits = asked.interval(self.site.instance.as_ref())?;
        Ok(self)
    }

    /// The same with each phase in a copy of the database as it is now, or not.
    ///
    /// # Errors
    /// [`iolite_db::Error::Unsupported`]: the database cannot be copied.
    pub fn restoring(mut self, copies: bool) -> Result<TprocCSite> {
        if let Some(remedy) = self.database.why_not_copied().filter(|_| copies) {
            let what = "start each run from a copy of the database (--restore)";
            return Err(iolite_db::Error::Unsupported { database: "this database", what, remedy }.into());
        }
        self.copies = copies;
        Ok(self)
    }

    /// Number of warehouses and the reduction of their contents.
    pub fn layout(&self) -> Layout {
        self.layout
    }

    /// The kinds of operation that are counted.
    pub fn kinds(&self) -> &[OpKind] {
        &self.kinds
    }

    /// Bytes that so many copies of the database write, its logs included, and the space that one takes.
    ///
    /// # Errors
    /// [`iolite_db::Error`]: the server can't be asked.
    pub fn copied(&self, copies: u32) -> Result<(Bytes, Bytes)> {
        let space = self.database.copied_bytes()?;
        let each = self.site.instance.bulk_writes(space)?;
        Ok((Bytes(each.0.saturating_mul(copies.into())), space))
    }

    /// Whether transactions may be procedures in the server.
    pub fn has_procedures(&self) -> bool {
        self.database.has_procedures()
    }

    /// Whether the rows of warehouses can be spread over pages.
    pub fn spreads_warehouses(&self) -> bool {
        self.database.spreads_warehouses()
    }

    /// The storage under the data.
    pub fn storage(&self) -> &Storage {
        &self.site.storage.storage
    }

    /// Virtual users that the server's limit of sessions leaves room for; `None` without a limit.
    pub fn free_sessions(&self) -> Option<u32> {
        // One that does not report it takes as many as it takes.
        let free = self.site.instance.free_sessions().ok().flatten()?;
        Some(free.saturating_sub(OWN_SESSIONS))
    }

    /// Records what the database is.
    pub fn describe(&self, session: &mut Session<'_>) {
        let mut description = self.description.clone();
        description.settings.extend(built(self.layout));
        if self.copies {
            description.settings.push(("start of each run".to_owned(), "a copy of the database".to_owned()));
        }
        session.conclude(Concluded::of(&TprocCDatabase {
            url: self.url.to_string(),
            engine: description.engine,
            version: description.version,
            warehouses: self.layout.warehouses,
            reduction: self.layout.reduction,
            durable_by: description.durability,
            settings: description.settings,
        }));
    }

    fn inside(&self, session: &mut Session<'_>, task: Task) -> Result<()> {
        match task {
            Task::TprocC(task) => self.measure(session, &task),
            other => Err(no_database(&other)),
        }
    }

    fn measure(&self, session: &mut Session<'_>, task: &TprocCTask) -> Result<()> {
        session.refuse_spent_allowance()?;
        warn_of_copies(session, self.site.instance.as_ref(), "the transactions of users");
        if !self.copies {
            return measure_in(session, task, &self.database, &self.site);
        }
        let copy = self.copy(session)?;
        let site = Site { instance: copy.instance(), ..self.site.clone() };
        let measured = measure_in(session, task, &copy, &site);
        // Their sessions would keep the copy.
        drop((copy, site));
        self.remove_copy(session);
        measured
    }

    /// Copies the database. When the user interrupts that, the copying is ended and awaited, so that no copy is left; where it does not
    /// end, a warning says how what it may leave is removed.
    fn copy(&self, session: &mut Session<'_>) -> Result<Arc<dyn Database>> {
        session.events().message("copying the database");
        let (original, stop) = (self.database.clone(), Arc::new(AtomicBool::new(false)));
        let is_to_stop = stop.clone();
        let (given_up, mut since) = (Control::default(), None);
        let copied = wait_for(
            &given_up,
            Duration::MAX,
            move || original.copy(&|| is_to_stop.load(Ordering::Relaxed)),
            || {
                if session.control().interrupted() {
                    stop.store(true, Ordering::Relaxed);
                    if since.get_or_insert_with(Instant::now).elapsed() > CANCELLATION {
                        given_up.interrupt();
                    }
                }
            },
        );
        match copied {
            Ok(Ok(copy)) => Ok(copy),
            Ok(Err(iolite_db::Error::Cancelled)) => Err(EngineError::Interrupted.into()),
            Ok(Err(error)) => Err(error.into()),
            Err(GaveUp::Interrupted | GaveUp::Late) => {
                let what = "the removal of the copy of the database".to_owned();
                let removal = self.database.copy_removal();
                let why = format!("its creation has not ended; what it may leave is removed by: {removal}");
                session.warn(Warning::LeftOut { what, why });
                Err(EngineError::Interrupted.into())
            }
            Err(GaveUp::NoThread) => Err(Error::NoThread),
            Err(GaveUp::Failed) => Err(Error::Bug { what: "the thread that copies the database has failed" }),
        }
    }

    /// Removes the copy of a phase, also where the user has interrupted it.
    fn remove_copy(&self, session: &mut Session<'_>) {
        let original = self.database.clone();
        let why = match patiently(&Control::default(), REMOVAL, move || original.remove_copy()) {
            Ok(Ok(())) => return,
            Ok(Err(error)) => error.to_string(),
            Err(_) => format!("it took longer than {}", Nanos(REMOVAL.as_nanos() as u64)),
        };
        let what = "the removal of the copy of the database".to_owned();
        session.warn(Warning::LeftOut {
            what,
            why: format!("{why}; it is removed by: {}", self.database.copy_removal()),
        });
    }
}

impl<P: Procedure<Preparation = Nothing>> Environment<P> for &TprocCSite {
    fn prepare(&mut self, _: &mut Session<'_>, _: &mut P, nothing: Nothing) -> Result<()> {
        match nothing {}
    }

    fn inside_database(&mut self, session: &mut Session<'_>, task: Task) -> Result<()> {
        self.inside(session, task)
    }
}

/// The same load in two ways, in turns.
impl Environment<Ab> for TprocCSite {
    /// Loads inside a database create no files.
    fn prepare(&mut self, _: &mut Session<'_>, _: &mut Ab, _: CreatedFiles) -> Result<()> {
        Ok(())
    }

    fn inside_database(&mut self, session: &mut Session<'_>, task: Task) -> Result<()> {
        self.inside(session, task)
    }
}

/// How the tables were built, as settings; nothing that an earlier version did not record.
fn built(layout: Layout) -> Vec<(String, String)> {
    let mut built = Vec::new();
    if layout.partitions > 1 {
        built.push(("partitions".to_owned(), format!("{} by hash of the warehouse", layout.partitions)));
    }
    if layout.loaders > 0 {
        built.push(("loaded by".to_owned(), format!("{} sessions", layout.loaders)));
    }
    built
}

/// Checks the consistency conditions, and records what was found.
impl Environment<SingleStep<()>> for TprocCSite {
    fn prepare(&mut self, session: &mut Session<'_>, _: &mut SingleStep<()>, (): ()) -> Result<()> {
        session.events().message("checking the consistency conditions");
        let database = self.database.clone();
        match session.patiently(Duration::MAX, move || tproc_c::check(database.as_ref())) {
            Ok(checked) => session.conclude(Concluded::of(&checked?)),
            Err(GaveUp::Interrupted) => return Err(EngineError::Interrupted.into()),
            Err(GaveUp::NoThread) => return Err(Error::NoThread),
            Err(GaveUp::Late | GaveUp::Failed) => {
                return Err(Error::Bug { what: "the thread that checks the database has failed" });
            }
        }
        Ok(())
    }
}

/// Brings a database to its start, and runs a task in it as a phase.
fn measure_in(
    session: &mut Session<'_>,
    task: &TprocCTask,
    database: &Arc<dyn Database>,
    site: &Site,
) -> Result<()> {
    let (rebuilt, spread) = (database.clone(), task.spread_warehouse);
    arrange(session, move || rebuilt.spread_warehouses(spread))?;
    let settled = database.clone();
    settle(session, move || settled.settle())?;
    let record = Record { counts_block_reads: true, writes: true, ..Record::default() };
    site.phase(session, Task::TprocC(task.clone()), record, |number, clock, control, events| {
        let phase = tproc_c::run(database, task, number, clock, control, events)?;
        if let Some(counted) = &phase.counted {
            events.conclude(Concluded::of_phase(number, counted));
        }
        if let Some(cycles) = &phase.cycles {
            events.conclude(Concluded::of_phase(number, cycles));
        }
        Ok(phase.outcome)
    });
    conclude_rates(session);
    conclude_cycles(session, task.ramp);
    Ok(())
}

/// Records how certain NOPM and TPM of the phase that has ended are.
fn conclude_rates(session: &mut Session<'_>) {
    let run = session.run();
    let Some(phase) = run.phases.last() else { return };
    let index = phase.info.index;
    let rates = run.of_phase(index).map(|counted| TprocCRates::of(&phase.totals, &counted));
    rates.iter().for_each(|rates| session.conclude(Concluded::of_phase(index, rates)));
}

/// Records the rate of the whole cycles of checkpoints in the phase that has ended, whose ramp was so long, and warns where they are not all of it.
fn conclude_cycles(session: &mut Session<'_>, ramp: Nanos) {
    let run = session.run();
    let Some(phase) = run.phases.last() else { return };
    let index = phase.info.index;
    let Some(cycles) = run.of_phase::<CheckpointCycles>(index) else {
        unknown_cycles(phase).into_iter().for_each(|warning| session.warn(warning));
        return;
    };
    let whole = WholeCycles::of(&phase.totals, ramp, &cycles);
    let warning = partial_cycles(phase, &cycles);
    whole.iter().for_each(|whole| session.conclude(Concluded::of_phase(index, whole)));
    warning.into_iter().for_each(|warning| session.warn(warning));
}

/// Sessions that this program has beside those of its users: two read counters, one the waits, one asks and checks, one keeps a copy.
const OWN_SESSIONS: u32 = 5;
