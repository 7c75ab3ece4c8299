//! What a database counts, and what its sessions wait for, as readings of the run's sampler.
//!
//! The server is asked by threads of its own ([`Monitor`](iolite_db::Monitor), [`WaitSampler`](iolite_db::WaitSampler)): one that
//! does not respond holds up no reading of the host.

use iolite_db::{LatestCounters, SessionTimes, TimesSpent};
use iolite_model::{Nanos, Physical, ReadingValue};
use iolite_observe::{Probe, Subject, probe_from};

/// Name of the probe of a database's counters.
pub(super) const DATABASE: &str = "database";
/// Name of the probe of what sessions spend their time in.
pub(super) const WAITS: &str = "waits";
/// Name of the counter of the time in which either was observed.
const OBSERVED: &str = "observed_seconds";

/// Reads what a database of this engine counts, and the time observed; both begin at zero with each phase. Nothing where it counts
/// nothing.
pub(super) fn counters(engine: String, latest: LatestCounters) -> Box<dyn Probe> {
    probe_from(DATABASE, move || {
        // What a server that does not respond counted before is no reading of now.
        if !latest.is_current() {
            return Ok(Vec::new());
        }
        let (physical, observed) = latest.get();
        let values = counted(&physical, observed, latest.write_back());
        Ok(values.map(|values| Subject { name: engine.clone(), values }).into_iter().collect())
    })
}

/// Reads the time that sessions have spent in each wait, one subject for each, and the time observed, of no subject. Both begin at
/// zero with each phase.
pub(super) fn waits(times: SessionTimes) -> Box<dyn Probe> {
    probe_from(WAITS, move || Ok(spent(times.get())))
}

fn spent(times: TimesSpent) -> Vec<Subject> {
    let in_wait =
        |(name, seconds)| Subject { name, values: vec![ReadingValue::counter("session_seconds", seconds)] };
    let observed = Subject::host(vec![ReadingValue::counter(OBSERVED, times.observed)]);
    std::iter::once(observed).chain(times.waits.into_iter().map(in_wait)).collect()
}

/// What is not counted has no value; `None` where nothing is.
fn counted(physical: &Physical, observed: Nanos, others: Vec<ReadingValue>) -> Option<Vec<ReadingValue>> {
    let named = physical.named().into_iter();
    let counters = named.filter_map(|(name, count)| Some(ReadingValue::counter(name, count? as f64)));
    let mut values: Vec<ReadingValue> = counters.chain(others).collect();
    (!values.is_empty()).then(|| {
        values.push(ReadingValue::counter(OBSERVED, observed.as_secs_f64()));
        values
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_observed_is_read_with_the_time_of_each_wait() {
        let times = TimesSpent { observed: 2.0, waits: [("CPU".into(), 3.0)].into() };
        let read = spent(times).into_iter().map(|subject| (subject.name, subject.values)).collect::<Vec<_>>();
        let expected = [
            (String::new(), vec![ReadingValue::counter("observed_seconds", 2.0)]),
            ("CPU".into(), vec![ReadingValue::counter("session_seconds", 3.0)]),
        ];
        assert_eq!(read, expected);
    }

    #[test]
    fn what_a_database_does_not_count_has_no_reading() {
        let counts = Physical { data_reads: Some(7), log_syncs: Some(3), ..Physical::default() };
        let expected = [("data_reads", 7.0), ("log_syncs", 3.0), ("observed_seconds", 1.5)];
        let expected = expected.map(|(name, value)| ReadingValue::counter(name, value));
        assert_eq!(counted(&counts, Nanos(1_500_000_000), Vec::new()).unwrap(), expected);
        assert_eq!(counters("SQLite".into(), LatestCounters::default()).read().unwrap(), []);
    }
}
