//! Watching what the sessions of a database wait for, beside whatever works in it.

use std::time::Duration;

use iolite_db::{DatabaseUrl, Instance, WAIT_INTERVAL, WaitSampler};
use iolite_model::{Concluded, Durability, ErrorCause, Nanos, Storage, WaitsFound, Warning};
use iolite_oltp::tproc_c;
use iolite_suites::{SingleStep, hot_page_advice};

use super::probes;
use super::storage::DatabaseStorage;
use crate::drive::Environment;
use crate::error::{Error, Result};
use crate::session::Session;

/// The sessions of a database, sampled since it was opened.
pub struct WaitsWatch {
    url: DatabaseUrl,
    storage: DatabaseStorage,
    /// Until it has been watched.
    sampler: Option<WaitSampler>,
}

impl WaitsWatch {
    /// Opens a database, and begins to sample its sessions; `None` for one that does not show them. May take as long as the server
    /// takes to respond: to be called by [`answered`](crate::answered).
    ///
    /// # Errors
    /// [`iolite_db::Error`]: it is not there, or does not respond.
    pub fn open(url: &DatabaseUrl, interval: Nanos) -> Result<Option<WaitsWatch>> {
        let instance = tproc_c::open(url, Durability::AsConfigured)?.instance();
        let storage = DatabaseStorage::find(url, instance.as_ref())?;
        let reader = instance.wait_reader()?;
        let sampler = reader.and_then(|reader| WaitSampler::start(reader, Duration::from_nanos(interval.0)));
        Ok(sampler.map(|sampler| WaitsWatch { url: url.clone(), storage, sampler: Some(sampler) }))
    }

    /// The storage under the data.
    pub fn storage(&self) -> &Storage {
        &self.storage.storage
    }
}

/// Whether, and how often, the active sessions of a database are sampled while phases run in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum WaitSampling {
    /// At the default interval, if the database shows its sessions.
    #[default]
    WhereShown,
    /// At this interval.
    Every(Nanos),
    /// Not at all.
    Off,
}

impl WaitSampling {
    /// Time between two samples of a database that shows its sessions; `None` for no samples.
    pub(super) fn interval_asked(self) -> Option<Duration> {
        match self {
            WaitSampling::WhereShown => Some(WAIT_INTERVAL),
            WaitSampling::Every(interval) => Some(interval.as_duration()),
            WaitSampling::Off => None,
        }
    }

    /// Time between two samples; `None` for no samples.
    ///
    /// # Errors
    /// [`iolite_db::Error::Unsupported`]: an interval was asked for, and this database does not show its sessions.
    pub(super) fn interval(self, instance: &dyn Instance) -> iolite_db::Result<Option<Duration>> {
        match self {
            WaitSampling::WhereShown => Ok(Some(WAIT_INTERVAL)),
            WaitSampling::Off => Ok(None),
            WaitSampling::Every(interval) => match instance.wait_reader() {
                Ok(None) => Err(iolite_db::Error::Unsupported {
                    database: "this database",
                    what: "report wait events",
                    remedy: ErrorCause::NoWaitEvents,
                }),
                // One that can't be asked now is asked again in the phase, which warns.
                Ok(Some(_)) | Err(_) => Ok(Some(Duration::from_nanos(interval.0))),
            },
        }
    }
}

/// What was found, with what would reduce the waits for pages.
pub(super) fn advised(mut found: WaitsFound) -> WaitsFound {
    found.pages.iter_mut().for_each(|page| page.advice = Some(hot_page_advice(page)));
    found
}

/// The warning that sessions were hidden, if some were.
pub(super) fn hidden(found: &WaitsFound) -> Option<Warning> {
    let remedy = found.remedy.clone()?;
    Some(Warning::HiddenSessions { sessions: found.hidden, remedy })
}

/// Watches for the time of the step, or until the user interrupts, and records what was seen.
impl Environment<SingleStep<Nanos>> for WaitsWatch {
    fn prepare(&mut self, session: &mut Session<'_>, _: &mut SingleStep<Nanos>, time: Nanos) -> Result<()> {
        session.events().message("watching the sessions of the database");
        let watched_twice = Error::Bug { what: "the sessions have been watched already" };
        let sampler = self.sampler.take().ok_or(watched_twice)?;
        session.events().watch(probes::waits(sampler.times()));
        session.pause(time);
        let found = sampler.finish();
        session.events().unwatch(probes::WAITS);
        let Some(found) = found.map(advised) else {
            return Err(Error::StoppedResponding { url: self.url.to_string() });
        };
        session.conclude(Concluded::of(&found));
        hidden(&found).into_iter().for_each(|warning| session.warn(warning));
        match found.failure {
            Some(reason) => Err(Error::Sampling { reason }),
            None => Ok(()),
        }
    }
}
