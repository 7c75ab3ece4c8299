//! What probes have read, from rows back to events.

use std::collections::HashMap;

use iolite_model::{Event, Reading, RunId};
use rusqlite::{Row, params};

use crate::error::Error;
use crate::read::{Numbered, collect, nanos};
use crate::store::Store;

/// Probe and subject.
type Series = (String, String);

impl Store {
    /// The readings of a run; of each probe and subject at most so many, evenly spaced, where a number is given: every second
    /// one, every fourth and so on, from the first.
    pub(crate) fn readings(&self, run: &RunId, at_most: Option<u64>) -> Result<Vec<Numbered>, Error> {
        let strides = match at_most {
            Some(at_most) => self.strides(run, at_most)?,
            None => HashMap::new(),
        };
        let mut passed: HashMap<Series, u64> = HashMap::new();
        let sql = "SELECT * FROM reading WHERE run = ?1 ORDER BY sequence";
        let readings = collect(self, sql, params![run.0], |row| {
            let series = self.series(row)?;
            if let Some(stride) = strides.get(&series) {
                let passed = passed.entry(series.clone()).or_default();
                *passed += 1;
                // Most of a long run's rows: their values are not even loaded.
                if !(*passed - 1).is_multiple_of(*stride) {
                    return Ok(None);
                }
            }
            let reading = Reading {
                probe: series.0.into(),
                subject: series.1,
                at: nanos(self, row, "at_ns")?,
                values: serde_json::from_str(&self.get::<String>(row, "json")?)
                    .map_err(|error| self.unreadable("a reading", error))?,
            };
            Ok(Some((self.get(row, "sequence")?, Event::Reading(reading))))
        })?;
        Ok(readings.into_iter().flatten().collect())
    }

    fn series(&self, row: &Row<'_>) -> Result<Series, Error> {
        Ok((self.get(row, "probe")?, self.get(row, "subject")?))
    }

    /// One reading in how many is kept of each series that has more than this.
    fn strides(&self, run: &RunId, at_most: u64) -> Result<HashMap<Series, u64>, Error> {
        let sql =
            "SELECT probe, subject, count(*) AS readings FROM reading WHERE run = ?1 GROUP BY probe, subject";
        let counts = collect(self, sql, params![run.0], |row| {
            let count: i64 = self.get(row, "readings")?;
            Ok((self.series(row)?, count.unsigned_abs().div_ceil(at_most.max(1)).next_power_of_two()))
        })?;
        Ok(counts.into_iter().filter(|(_, stride)| *stride > 1).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic;
    use iolite_model::{Nanos, ReadingValue};

    #[test]
    fn a_long_series_is_thinned_out_evenly_and_a_short_one_is_whole() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("results.db");
        let mut events = synthetic::failed_run("long");
        let reading = |subject: &str, second: u64| {
            Event::Reading(Reading {
                probe: "device".into(),
                subject: subject.into(),
                at: Nanos(second),
                values: vec![ReadingValue::counter("reads", second as f64)],
            })
        };
        let end = events.pop().unwrap();
        (0..100).for_each(|second| events.extend([reading("a", second), reading("b", second / 20)]));
        (0..5).for_each(|second| events.push(reading("c", second)));
        events.push(end);
        synthetic::write(&path, &events);
        let store = Store::open(&path).unwrap();
        let id = RunId("long".into());
        let of = |events: &[Event], subject: &str| -> Vec<u64> {
            let own = events.iter().filter_map(|event| match event {
                Event::Reading(reading) if reading.subject == subject => Some(reading.at.0),
                _ => None,
            });
            own.collect()
        };
        let thinned = store.events_thinned(&id, 30).unwrap();
        assert_eq!(of(&thinned, "a"), (0..100).step_by(4).collect::<Vec<_>>());
        assert_eq!((of(&thinned, "b").len(), of(&thinned, "c").len()), (25, 5));
        let all = store.events(&id).unwrap();
        assert_eq!((of(&all, "a").len(), of(&all, "c").len()), (100, 5));
        let other =
            |events: &[Event]| events.iter().filter(|event| !matches!(event, Event::Reading(_))).count();
        assert_eq!(other(&thinned), other(&all));
    }
}
