//! A database beside the host's readings, without a workload of ours: its counters, its waits, and the times in which they could not
//! be read.

use std::time::{Duration, Instant};

use iolite_db::{DatabaseUrl, LatestCounters, Monitor, WaitSampler};
use iolite_model::{Concluded, Durability, Nanos, ObservationGap, ObservedDatabase, Storage, Warning};
use iolite_oltp::tproc_c;
use iolite_suites::SingleStep;

use super::probes;
use super::sampling::{ANSWER, Retries, Sampling, add_gap};
use super::storage::DatabaseStorage;
use super::waits::WaitSampling;
use crate::drive::Environment;
use crate::ending::describe;
use crate::error::{Error, Result};
use crate::patience::GaveUp;
use crate::session::Session;

/// Time without a reading after which a server is taken for one that hangs: readings are five per second.
const SILENCE: Duration = Duration::from_secs(5);
/// Time between two looks at whether it still responds.
const LOOK: Duration = Duration::from_millis(200);
/// A database that is observed while time passes, for as long as it responds.
#[derive(Debug, Clone)]
pub struct ServerObservation {
    url: DatabaseUrl,
    /// Time between two samples of its sessions; `None` for no samples.
    waits: Option<Duration>,
    engine: Option<String>,
    gaps: Vec<ObservationGap>,
}

/// A database that has responded, read by threads of its own.
struct OpenServer {
    engine: String,
    version: String,
    monitor: Monitor,
    /// The sampler of its sessions, if they are shown, or why they can't be sampled; `None` where that is not asked for.
    sampler: Option<Result<Option<WaitSampler>>>,
}

/// Since when nothing is read, and why.
type Missing = (Nanos, String);

/// Why a database can't be read.
#[derive(Debug, thiserror::Error)]
enum OpenError {
    /// The user wants to stop.
    #[error("interrupted")]
    Interrupted,
    /// It refuses.
    #[error("{}", describe(.0))]
    Refused(Error),
    /// It does not respond.
    #[error("the server has not responded in {0}: it hangs, or another service uses its port")]
    Silent(Nanos),
    /// A defect of iolite.
    #[error("the thread that asks the database has failed, which is a bug")]
    ThreadFailed,
}

impl ServerObservation {
    /// Of the database at a URL, which is not asked yet.
    pub fn new(url: DatabaseUrl, waits: WaitSampling) -> ServerObservation {
        ServerObservation { url, waits: waits.interval_asked(), engine: None, gaps: Vec::new() }
    }

    /// The storage under its data. May take as long as the server takes to respond: to be called by
    /// [`answered`](crate::answered).
    ///
    /// # Errors
    /// [`iolite_db::Error`]: it does not respond, or refuses.
    pub fn storage(&self) -> Result<Storage> {
        if let DatabaseUrl::Gtm(directory) = &self.url {
            return Ok(iolite_observe::storage(directory)?);
        }
        let instance = tproc_c::open(&self.url, Durability::AsConfigured)?.instance();
        Ok(DatabaseStorage::find(&self.url, instance.as_ref())?.storage)
    }

    /// What a run states where the devices of the database are not known and others are observed.
    pub fn other_devices(why: String) -> Warning {
        let what = "the devices of the database (those observed are of the working directory)".to_owned();
        Warning::LeftOut { what, why }
    }

    /// Why nothing can ever be read of a database of this kind.
    fn unreadable(&self) -> Option<(&'static str, String)> {
        let system = self.url.system();
        let why = match &self.url {
            DatabaseUrl::Postgres(_) | DatabaseUrl::Mysql(_) => return None,
            DatabaseUrl::Sqlite(_) => {
                "SQLite is a library within the application, and reports neither counters nor waits to other processes; the readings \
                 of the devices and of the page cache include what it does"
                    .to_owned()
            }
            _ => format!(
                "iolite reads the counters of {system} only in its own processes; the readings of the devices and of the page cache \
                 include what others do"
            ),
        };
        Some((system, why))
    }

    /// Reads it until `end`, again and again where it goes away and comes back.
    fn observe(&mut self, session: &mut Session<'_>, end: Instant) {
        let (mut missing, mut retries): (Option<Missing>, Retries) = (None, Retries::new());
        while !is_over(session, end) {
            let asked = session.elapsed();
            let read = match self.open(session) {
                Ok(server) => {
                    self.end_gap(session, missing.take());
                    let begun = Instant::now();
                    missing = self.read(session, server, end);
                    begun.elapsed()
                }
                Err(OpenError::Interrupted) => break,
                Err(error) => {
                    missing.get_or_insert((asked, error.to_string()));
                    Duration::ZERO
                }
            };
            if let Some((_, why)) = &missing {
                session.events().message("observing the machine; the database cannot be read");
                session.warn(Warning::ProbeFailed { probe: "the database".into(), reason: why.clone() });
                pause(session, retries.after(read), end);
            }
        }
        self.end_gap(session, missing);
    }

    /// Asks the database what it is, and begins to read it.
    fn open(&self, session: &mut Session<'_>) -> Result<OpenServer, OpenError> {
        let (url, waits) = (self.url.clone(), self.waits);
        match session.patiently(ANSWER, move || open(&url, waits)) {
            Ok(opened) => opened.map_err(OpenError::Refused),
            Err(GaveUp::Late) => Err(OpenError::Silent(Nanos(ANSWER.as_nanos() as u64))),
            Err(GaveUp::NoThread) => Err(OpenError::Refused(Error::NoThread)),
            Err(GaveUp::Failed) => Err(OpenError::ThreadFailed),
            Err(GaveUp::Interrupted) => Err(OpenError::Interrupted),
        }
    }

    /// Reads a database until it no longer responds, which is returned, or the time is over.
    fn read(&mut self, session: &mut Session<'_>, server: OpenServer, end: Instant) -> Option<Missing> {
        let OpenServer { engine, version, monitor, sampler } = server;
        let latest = monitor.latest();
        self.engine = Some(format!("{engine} {version}"));
        session.events().message("observing the machine and the database");
        session.events().watch(probes::counters(engine, latest.clone()));
        let url = self.url.clone();
        let sampling = self.waits.zip(sampler);
        let mut sampling =
            sampling.map(|(interval, sampler)| Sampling::begin(url, interval, sampler, session));
        let mut missing = None;
        while missing.is_none() && !is_over(session, end) {
            pause(session, LOOK, end);
            missing = silent(&latest).map(|(since, why)| (ago(session, since), why));
            if missing.is_none() {
                sampling.iter_mut().for_each(|sampling| sampling.look(session, &mut self.gaps));
            }
        }
        // Its thread ends by itself: one that waits for a server that hangs would hold up the observation.
        drop(monitor);
        let failure = sampling.and_then(|sampling| sampling.end(session, &mut self.gaps));
        session.events().unwatch(probes::DATABASE);
        if let (Some((_, why)), Some(failure)) = (&mut missing, failure) {
            *why = failure;
        }
        missing
    }

    /// What was missing is no longer, or the observation ends.
    fn end_gap(&mut self, session: &Session<'_>, missing: Option<Missing>) {
        let to = session.elapsed();
        let gap = |(from, why)| ObservationGap { from, to, what: "counters and waits".into(), why };
        missing.map(gap).into_iter().for_each(|gap| add_gap(&mut self.gaps, gap));
    }
}

fn open(url: &DatabaseUrl, waits: Option<Duration>) -> Result<OpenServer> {
    let instance = tproc_c::open(url, Durability::AsConfigured)?.instance();
    // A refusal is that of the connection.
    instance.counters()?;
    let description = instance.describe(Durability::AsConfigured)?;
    let sampler = waits.map(|interval| match instance.wait_reader() {
        Err(error) => Err(error.into()),
        Ok(reader) => Ok(reader.and_then(|reader| WaitSampler::start(reader, interval))),
    });
    let monitor = Monitor::start(instance).ok_or(Error::NoThread)?;
    Ok(OpenServer { engine: description.engine, version: description.version, monitor, sampler })
}

/// Whether a database no longer responds: since how long ago, and why.
fn silent(latest: &LatestCounters) -> Option<(Duration, String)> {
    let age = latest.age();
    match latest.failure() {
        Some(failure) => Some((age, failure)),
        None if age > SILENCE => {
            Some((age, format!("the server has not responded for {}", Nanos(age.as_nanos() as u64))))
        }
        None => None,
    }
}

fn ago(session: &Session<'_>, since: Duration) -> Nanos {
    session.elapsed().saturating_sub(Nanos(u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)))
}

fn is_over(session: &Session<'_>, end: Instant) -> bool {
    session.control().interrupted() || Instant::now() >= end
}

/// Lets a time pass, but not beyond `end`.
fn pause(session: &mut Session<'_>, time: Duration, end: Instant) {
    let left = end.saturating_duration_since(Instant::now()).min(time);
    session.pause(Nanos(left.as_nanos() as u64));
}

/// Observes for the time of the step, or until the user interrupts. What can't be read of the database is stated, and keeps nothing of
/// the host's readings.
impl Environment<SingleStep<Nanos>> for ServerObservation {
    fn prepare(&mut self, session: &mut Session<'_>, _: &mut SingleStep<Nanos>, time: Nanos) -> Result<()> {
        session.events().message("observing the machine");
        match self.unreadable() {
            Some((engine, why)) => {
                let what = format!("counters and waits of {}", self.url);
                session.warn(Warning::LeftOut { what, why: why.clone() });
                let from = session.elapsed();
                session.pause(time);
                self.engine = Some(engine.to_owned());
                self.end_gap(session, Some((from, why)));
            }
            None => self.observe(session, Instant::now() + time.as_duration()),
        }
        let gaps = std::mem::take(&mut self.gaps);
        let observed = ObservedDatabase { url: self.url.to_string(), engine: self.engine.clone(), gaps };
        session.conclude(Concluded::of(&observed));
        Ok(())
    }
}
