//! What a run of TPROC-C sets up before and records after each phase.

use std::sync::Arc;

use iolite_db::{DatabaseUrl, WAIT_INTERVAL, WaitSampler};
use iolite_engine::{Control, Outcome};
use iolite_model::{
    Bytes, Concluded, Durability, Ending, Event, Iops, Nanos, Sink, Stop, Task, TprocCDatabase, TprocCTask,
    Warning,
};
use iolite_observe::CacheProbe;
use iolite_oltp::tproc_c::{self, Database, Layout};
use iolite_session::{Environment, Session, Setup, patiently};
use iolite_suites::{Nothing, Procedure};

use super::args::{DatabaseArgs, LoadArgs};
use super::refused;
use crate::args::OutputArgs;
use crate::exit::UsageError;
use crate::ran::{Place, Watch, answered};
use crate::setup;

/// A run in a database, with all that it needs besides its tasks.
pub(super) struct Bench<'a> {
    /// The run.
    pub(super) session: Session<'a>,
    /// What it is measured in.
    pub(super) site: Site,
    layout: Layout,
    load: LoadArgs,
    seed: u64,
}

/// A database to measure in.
pub(super) struct Site {
    database: Arc<dyn Database>,
    place: Place,
    durability: Durability,
}

/// How many users, for how long, at which rate.
#[derive(Debug, Clone, Copy)]
pub(super) struct Extent {
    pub(super) users: u32,
    pub(super) duration: Nanos,
    pub(super) ramp: Nanos,
    pub(super) rate: Option<Iops>,
}

/// What was found before anything is begun.
struct Opened {
    url: DatabaseUrl,
    database: Arc<dyn Database>,
    layout: Layout,
    description: iolite_db::Description,
    place: Place,
}

impl Opened {
    fn ask(args: &DatabaseArgs, durability: Durability) -> anyhow::Result<Opened> {
        let (url, database) = super::open(args, durability)?;
        let layout = database.layout().map_err(refused)?;
        let description = database.instance().describe(durability).map_err(refused)?;
        let place = Place::find(&url, database.instance().as_ref())?;
        Ok(Opened { url, database, layout, description, place })
    }
}

impl<'a> Bench<'a> {
    /// Opens the database, the results and the live view for a run of about `duration`.
    ///
    /// # Errors
    /// There is no such database, it takes fewer sessions than `users`, or the program can't measure itself.
    pub(super) fn set_up(
        args: &DatabaseArgs,
        load: &LoadArgs,
        users: u32,
        output: &OutputArgs,
        duration: Nanos,
        control: &'a Control,
    ) -> anyhow::Result<Bench<'a>> {
        let asked = (args.clone(), load.durability);
        let opened = answered(control, move || Opened::ask(&asked.0, asked.1))?;
        let Opened { url, database, layout, description, place } = opened;
        refuse_too_many(database.as_ref(), users)?;
        let setup = Setup {
            // Nothing is written there: the loop is measured on nothing.
            directory: &std::env::temp_dir(),
            results: setup::usable_results(output.results.clone())?,
            view: setup::view(setup::live(output.quiet), duration),
        };
        let mut session = Session::begin(setup::run_info(place.storage.clone()), setup, control)?;
        session.calibrate()?;
        session.conclude(Concluded::of(&TprocCDatabase {
            url: url.to_string(),
            engine: description.engine,
            version: description.version,
            warehouses: layout.warehouses,
            reduction: layout.reduction,
            durable_by: description.durability,
            settings: description.settings,
        }));
        let seed = load.seed.unwrap_or(session.run().info.started_unix.0);
        let site = Site { database, place, durability: load.durability };
        Ok(Bench { session, site, layout, load: load.clone(), seed })
    }

    /// A task of this database.
    pub(super) fn task(&self, extent: Extent) -> TprocCTask {
        TprocCTask {
            name: "TPROC-C".into(),
            users: extent.users,
            warehouses: self.layout.warehouses,
            reduction: self.layout.reduction,
            all_warehouses: self.load.all_warehouses,
            keying_thinking: self.load.keying_thinking,
            procedures: self.site.database.has_procedures() && !self.load.client_side,
            rate: extent.rate,
            stop: Stop { runtime: Some(extent.duration), ..Stop::default() },
            ramp: extent.ramp,
            interval: Nanos::SECOND,
            seed: self.seed.wrapping_add(u64::from(self.session.run().next_phase())),
        }
    }
}

impl Site {
    /// Brings the database to its start, runs a task in it, and records what it took. Returns how the phase ended.
    pub(super) fn measure(&self, session: &mut Session<'_>, task: &TprocCTask) -> Ending {
        self.settle(session);
        let Site { database, place, durability } = self;
        session.phase_by(Task::TprocC(task.clone()), |number, clock, control, events| {
            let watch = Watch::start(place, database.instance());
            // A server that does not show its sessions to this user is measured without.
            let reader = database.instance().wait_reader().ok().flatten();
            let sampler = reader.and_then(|reader| WaitSampler::start(reader, WAIT_INTERVAL));
            let probe = CacheProbe::start(place.data.as_ref(), None);
            let phase = tproc_c::run(database, task, number, clock, control, events);
            let (read, written) = events.run().requested(number);
            let written = if *durability == Durability::Full { written } else { Bytes(0) };
            let cache = probe.finish(read, written);
            let (used, _) = watch.finish(place, number);
            let waits = sampler.and_then(WaitSampler::finish);
            events.event(&Event::DatabaseUse(Box::new(used)));
            if let Some(waits) = &waits {
                events.conclude(Concluded::of_phase(number, waits));
            }
            let outcome = match phase {
                Ok(phase) => {
                    if let Some(counted) = &phase.counted {
                        events.conclude(Concluded::of_phase(number, counted));
                    }
                    phase.outcome
                }
                Err(error) => Outcome::nothing(Ending::Failed(error.to_string())),
            };
            Ok((outcome, Some(cache)))
        });
        session.history().last().map_or(Ending::Interrupted, |phase| phase.end.ending.clone())
    }

    /// A database that can't be brought to its start is a warning: the run is less repeatable, not wrong.
    fn settle(&self, session: &mut Session<'_>) {
        session.events().message("preparing the database");
        let database = self.database.clone();
        let settled = patiently(session.control(), std::time::Duration::MAX, move || database.settle());
        if let Ok(Err(error)) = settled {
            session.warn(Warning::NotSettled { reason: error.to_string() });
        }
    }
}

impl<P: Procedure<Preparation = Nothing>> Environment<P> for &Site {
    fn prepare(&mut self, _: &mut Session<'_>, _: &mut P, nothing: Nothing) -> anyhow::Result<()> {
        match nothing {}
    }

    fn transactions(&mut self, session: &mut Session<'_>, task: TprocCTask) -> anyhow::Result<()> {
        self.measure(session, &task);
        Ok(())
    }
}

/// Sessions that this program has beside those of its users: two read counters, one the waits, one asks and checks.
const OWN_SESSIONS: u32 = 4;

fn refuse_too_many(database: &dyn Database, users: u32) -> anyhow::Result<()> {
    // A server that does not say so takes as many as it takes.
    let Some(free) = database.instance().free_sessions().ok().flatten() else { return Ok(()) };
    if free.saturating_sub(OWN_SESSIONS) >= users {
        return Ok(());
    }
    let message = format!(
        "{users} virtual users need {} sessions, and the server takes {free} more: raise its max_connections, or use fewer \
         users",
        users.saturating_add(OWN_SESSIONS)
    );
    Err(UsageError(message).into())
}
