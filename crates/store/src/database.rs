//! What the database of a phase is, and what its operations took: to rows and back.

use iolite_model::{DatabaseFacts, DatabaseUse, DeviceCounters, Nanos, Physical, RunId};
use rusqlite::{Row as Columns, params};

use crate::error::Error;
use crate::read::{collect, nanos, optional};
use crate::rows::{Outcome, Row, cells, columns, integer, json};
use crate::store::Store;

impl Row<'_> {
    pub(crate) fn database(&self, facts: &DatabaseFacts) -> Outcome {
        let mut row = columns("", "what is known of a database", facts)?;
        // In their order, which a value of JSON does not keep.
        row.retain(|(name, _)| name != "settings");
        let pair = |(name, value): &(String, String)| {
            Ok(format!("{}:{}", serde_json::to_string(name)?, serde_json::to_string(value)?))
        };
        let settings: Vec<_> = json("the settings", facts.settings.iter().map(pair).collect())?;
        row.extend(cells([
            ("sequence", self.sequence.into()),
            ("settings", format!("{{{}}}", settings.join(",")).into()),
        ]));
        self.insert("database_facts", row)
    }

    pub(crate) fn database_use(&self, usage: &DatabaseUse) -> Outcome {
        let mut row = columns("data_device_", "the device of the data", &usage.data_device)?;
        row.extend(columns("log_device_", "the device of the log", &usage.log_device)?);
        row.extend(columns("", "the counters of a database", &usage.database)?);
        let time = |time: Option<Nanos>| time.map(|time| integer(time.0));
        row.extend(cells([
            ("phase", usage.phase.into()),
            ("sequence", self.sequence.into()),
            ("writer_active_ns", time(usage.writer_active).into()),
            ("observed_ns", integer(usage.observed.0).into()),
            ("tool_cpu_ns", integer(usage.tool_cpu.0).into()),
            ("host_cpu_ns", time(usage.host_cpu).into()),
        ]));
        self.insert("database_use", row)
    }
}

impl Store {
    /// What is known of the databases of a run, or of one of its phases, each with its number among the run's events.
    pub(crate) fn databases(
        &self,
        run: &RunId,
        phase: Option<u32>,
    ) -> Result<Vec<(i64, DatabaseFacts)>, Error> {
        let sql =
            "SELECT * FROM database_facts WHERE run = ?1 AND (?2 IS NULL OR phase = ?2) ORDER BY sequence";
        collect(self, sql, params![run.0, phase], |row| {
            Ok((self.get(row, "sequence")?, self.structure(row, "", "what is known of a database")?))
        })
    }

    /// What the operations of a run's phases took, or those of one of them, each with its number among the run's events.
    pub(crate) fn database_uses(
        &self,
        run: &RunId,
        phase: Option<u32>,
    ) -> Result<Vec<(i64, DatabaseUse)>, Error> {
        let sql =
            "SELECT * FROM database_use WHERE run = ?1 AND (?2 IS NULL OR phase = ?2) ORDER BY sequence";
        collect(self, sql, params![run.0, phase], |row| {
            let usage = DatabaseUse {
                phase: self.get(row, "phase")?,
                data_device: self.device_counters(row, "data_device_", "data_device_reads")?,
                log_device: self.device_counters(row, "log_device_", "log_device_reads")?,
                database: self.structure::<Physical>(row, "", "the counters of a database")?,
                writer_active: optional(self, row, "writer_active_ns")?.map(Nanos),
                observed: nanos(self, row, "observed_ns")?,
                tool_cpu: nanos(self, row, "tool_cpu_ns")?,
                host_cpu: optional(self, row, "host_cpu_ns")?.map(Nanos),
            };
            Ok((self.get(row, "sequence")?, usage))
        })
    }

    /// The counters of a device; `None` where `first` of them is.
    fn device_counters(
        &self,
        row: &Columns<'_>,
        prefix: &str,
        first: &'static str,
    ) -> Result<Option<DeviceCounters>, Error> {
        let is_known = optional(self, row, first)?.is_some();
        is_known.then(|| self.structure(row, prefix, "the counters of a device")).transpose()
    }
}
