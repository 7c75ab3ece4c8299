//! Watching what the sessions of a database wait for, beside whatever works in it.

use std::time::Duration;

use anyhow::{Context, bail};
use iolite_db::{DatabaseUrl, WaitSampler};
use iolite_model::{Concluded, Durability, Nanos, Storage};
use iolite_oltp::tproc_c;
use iolite_suites::SingleStep;

use super::probes;
use super::storage::DatabaseStorage;
use crate::drive::Environment;
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
    pub fn open(url: &DatabaseUrl, interval: Nanos) -> anyhow::Result<Option<WaitsWatch>> {
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

/// Watches for the time of the step, or until the user interrupts, and records what was seen.
impl Environment<SingleStep<Nanos>> for WaitsWatch {
    fn prepare(
        &mut self,
        session: &mut Session<'_>,
        _: &mut SingleStep<Nanos>,
        time: Nanos,
    ) -> anyhow::Result<()> {
        session.events().message("watching the sessions of the database");
        let sampler =
            self.sampler.take().context("the sessions have been watched already, which is a bug")?;
        session.events().watch(probes::waits(sampler.times()));
        session.pause(time);
        let found = sampler.finish();
        session.events().unwatch(probes::WAITS);
        let Some(found) = found else { bail!("{} has stopped responding", self.url) };
        session.conclude(Concluded::of(&found));
        match found.failure {
            Some(failure) => bail!(failure),
            None => Ok(()),
        }
    }
}
