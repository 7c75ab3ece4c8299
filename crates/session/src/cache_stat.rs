//! Watching the page cache: nothing is done but to let time pass, while its hits and misses are counted.

use iolite_model::{Nanos, Warning};
use iolite_observe::{CacheStat, Probe, ProbeError};
use iolite_suites::SingleStep;

use crate::drive::Environment;
use crate::error::Error;
use crate::session::Session;

/// The environment of a run of `observe cachestat`, whose step is its length.
#[derive(Debug)]
pub struct CacheStatWatch {
    /// Until it is read by the sampler.
    probe: Option<CacheStat>,
    warning: Option<Warning>,
}

impl CacheStatWatch {
    /// Begins to trace the page cache where that is possible; otherwise only its counters are read, which is a warning.
    ///
    /// # Errors
    /// The host does not even have counters.
    pub fn open() -> Result<CacheStatWatch, ProbeError> {
        let (probe, reason) = CacheStat::open()?;
        let warning = reason.map(|reason| Warning::CacheNotTraced { reason: reason.to_string() });
        Ok(CacheStatWatch { probe: Some(probe), warning })
    }
}

impl Environment<SingleStep<Nanos>> for CacheStatWatch {
    fn prepare(
        &mut self,
        session: &mut Session<'_>,
        _: &mut SingleStep<Nanos>,
        time: Nanos,
    ) -> Result<(), Error> {
        if let Some(warning) = self.warning.take() {
            session.warn(warning);
        }
        let Some(probe) = self.probe.take() else { return Ok(()) };
        let name = probe.name();
        session.events().message("counting lookups in the page cache");
        session.events().watch(Box::new(probe));
        session.pause(time);
        session.events().unwatch(name);
        session.events().pass_readings();
        let last = session.run().readings.of(name, "").last();
        let lost = last.and_then(|reading| reading.value("lost_events")).unwrap_or(0.0);
        if lost > 0.0 {
            session.warn(Warning::CacheEventsLost { lost: lost as u64 });
        }
        Ok(())
    }
}
