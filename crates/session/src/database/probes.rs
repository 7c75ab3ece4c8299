//! What a database counts, and what its sessions wait for, as readings of the run's sampler.
//!
//! The server is asked by threads of its own ([`Monitor`](iolite_db::Monitor), [`WaitSampler`](iolite_db::WaitSampler)): one that
//! does not respond holds up no reading of the host.

use iolite_db::{LatestCounters, SessionTimes};
use iolite_model::{Physical, ReadingValue};
use iolite_observe::{Probe, Subject, probe_from};

/// Name of the probe of a database's counters.
pub(super) const DATABASE: &str = "database";
/// Name of the probe of what sessions spend their time in.
pub(super) const WAITS: &str = "waits";

/// Reads the counters of a database of this engine; nothing where it counts nothing.
pub(super) fn counters(engine: String, latest: LatestCounters) -> Box<dyn Probe> {
    probe_from(DATABASE, move || {
        let values = counted(&latest.get());
        Ok(if values.is_empty() { Vec::new() } else { vec![Subject { name: engine.clone(), values }] })
    })
}

/// Reads the time that sessions have spent in each wait, one subject for each.
pub(super) fn waits(times: SessionTimes) -> Box<dyn Probe> {
    probe_from(WAITS, move || {
        let subject = |(name, seconds)| Subject {
            name,
            values: vec![ReadingValue::counter("session_seconds", seconds)],
        };
        Ok(times.get().into_iter().map(subject).collect())
    })
}

/// What is not counted has no value.
fn counted(physical: &Physical) -> Vec<ReadingValue> {
    let named = physical.named().into_iter();
    named.filter_map(|(name, count)| Some(ReadingValue::counter(name, count? as f64))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_database_does_not_count_has_no_reading() {
        let counts = Physical { data_reads: Some(7), log_syncs: Some(3), ..Physical::default() };
        let expected = [ReadingValue::counter("data_reads", 7.0), ReadingValue::counter("log_syncs", 3.0)];
        assert_eq!(counted(&counts), expected);
        assert_eq!(counters("SQLite".into(), LatestCounters::default()).read().unwrap(), []);
    }
}
