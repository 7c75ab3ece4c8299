//! What the database of a phase is, and what its operations took: to rows and back.

use std::fmt;

use iolite_model::{DatabaseFacts, DatabaseUse, DeviceCounters, Durability, Nanos, Physical, RunId, TimedBy};
use rusqlite::{Row as Columns, named_params, params};
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde::ser::{Serialize, Serializer};

use crate::error::Error;
use crate::insert::{Outcome, Row, integer, json};
use crate::read::{bytes, collect, nanos, optional, unsigned};
use crate::store::Store;

/// Names and values in their order, as a JSON object: so SQL can ask for one by its name.
struct Pairs(Vec<(String, String)>);

impl Serialize for Pairs {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, value)| (name, value)))
    }
}

impl<'de> Deserialize<'de> for Pairs {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Pairs, D::Error> {
        struct InOrder;
        impl<'de> Visitor<'de> for InOrder {
            type Value = Pairs;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object of texts")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Pairs, A::Error> {
                let mut pairs = Vec::new();
                while let Some(pair) = map.next_entry()? {
                    pairs.push(pair);
                }
                Ok(Pairs(pairs))
            }
        }
        deserializer.deserialize_map(InOrder)
    }
}

impl Row<'_> {
    pub(crate) fn database(&self, facts: &DatabaseFacts) -> Outcome {
        self.execute(
            "INSERT INTO database_facts (run, phase, sequence, url, namespace, engine, version, block_bytes, size_bytes,
                 blocks, globals, read_path, write_path, durability, durable_by, direct, timed_by, settings)
             VALUES (:run, :phase, :sequence, :url, :namespace, :engine, :version, :block, :size,
                 :blocks, :globals, :read_path, :write_path, :durability, :durable_by, :direct, :timed_by, :settings)",
            named_params! {
                ":run": self.run,
                ":phase": facts.phase,
                ":sequence": self.sequence,
                ":url": facts.url,
                ":namespace": facts.namespace,
                ":engine": facts.engine,
                ":version": facts.version,
                ":block": integer(facts.block.0),
                ":size": integer(facts.size.0),
                ":blocks": integer(facts.blocks),
                ":globals": json("the globals", serde_json::to_string(&facts.globals))?,
                ":read_path": facts.read_path,
                ":write_path": facts.write_path,
                ":durability": facts.durability.name(),
                ":durable_by": facts.durable_by,
                ":direct": facts.direct,
                ":timed_by": facts.timed_by.name(),
                ":settings": json("the settings", serde_json::to_string(&Pairs(facts.settings.clone())))?,
            },
        )?;
        Ok(())
    }

    pub(crate) fn database_use(&self, usage: &DatabaseUse) -> Outcome {
        let [data, log] = [usage.data_device, usage.log_device];
        let counted =
            |of: Option<DeviceCounters>, count: fn(DeviceCounters) -> u64| of.map(|of| integer(count(of)));
        let (database, count) = (usage.database, |count: Option<u64>| count.map(integer));
        self.execute(
            "INSERT INTO database_use (run, phase, sequence, data_device_reads, data_device_read_bytes,
                 data_device_writes, data_device_written_bytes, data_device_flushes, log_device_reads,
                 log_device_read_bytes, log_device_writes, log_device_written_bytes, log_device_flushes,
                 data_reads, data_read_bytes, data_writes, data_written_bytes, data_syncs, log_writes,
                 log_written_bytes, log_syncs, writer_active_ns, observed_ns, tool_cpu_ns, host_cpu_ns)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20,
                 ?21, ?22, ?23, ?24, ?25)",
            params![
                self.run,
                usage.phase,
                self.sequence,
                counted(data, |of| of.reads),
                counted(data, |of| of.read.0),
                counted(data, |of| of.writes),
                counted(data, |of| of.written.0),
                counted(data, |of| of.flushes),
                counted(log, |of| of.reads),
                counted(log, |of| of.read.0),
                counted(log, |of| of.writes),
                counted(log, |of| of.written.0),
                counted(log, |of| of.flushes),
                count(database.data_reads),
                count(database.data_read_bytes),
                count(database.data_writes),
                count(database.data_write_bytes),
                count(database.data_syncs),
                count(database.log_writes),
                count(database.log_write_bytes),
                count(database.log_syncs),
                count(usage.writer_active.map(|active| active.0)),
                integer(usage.observed.0),
                integer(usage.tool_cpu.0),
                count(usage.host_cpu.map(|cpu| cpu.0)),
            ],
        )?;
        Ok(())
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
            let text = |column| self.get::<String>(row, column);
            let unreadable = |column| move |error: serde_json::Error| self.unreadable(column, error);
            let facts = DatabaseFacts {
                phase: self.get(row, "phase")?,
                url: text("url")?,
                namespace: text("namespace")?,
                engine: text("engine")?,
                version: text("version")?,
                block: bytes(self, row, "block_bytes")?,
                size: bytes(self, row, "size_bytes")?,
                blocks: unsigned(self, row, "blocks")?,
                globals: serde_json::from_str(&text("globals")?).map_err(unreadable("globals"))?,
                read_path: text("read_path")?,
                write_path: text("write_path")?,
                durability: self.named::<Durability>(row, "durability")?,
                durable_by: text("durable_by")?,
                direct: self.get(row, "direct")?,
                timed_by: self.named::<TimedBy>(row, "timed_by")?,
                settings: serde_json::from_str::<Pairs>(&text("settings")?)
                    .map_err(unreadable("settings"))?
                    .0,
            };
            Ok((self.get(row, "sequence")?, facts))
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
            let count = |column| optional(self, row, column);
            let database = Physical {
                data_reads: count("data_reads")?,
                data_read_bytes: count("data_read_bytes")?,
                data_writes: count("data_writes")?,
                data_write_bytes: count("data_written_bytes")?,
                data_syncs: count("data_syncs")?,
                log_writes: count("log_writes")?,
                log_write_bytes: count("log_written_bytes")?,
                log_syncs: count("log_syncs")?,
            };
            let usage = DatabaseUse {
                phase: self.get(row, "phase")?,
                data_device: self.data_device(row)?,
                log_device: self.log_device(row)?,
                database,
                writer_active: count("writer_active_ns")?.map(Nanos),
                observed: nanos(self, row, "observed_ns")?,
                tool_cpu: nanos(self, row, "tool_cpu_ns")?,
                host_cpu: count("host_cpu_ns")?.map(Nanos),
            };
            Ok((self.get(row, "sequence")?, usage))
        })
    }

    fn data_device(&self, row: &Columns<'_>) -> Result<Option<DeviceCounters>, Error> {
        let Some(reads) = optional(self, row, "data_device_reads")? else { return Ok(None) };
        Ok(Some(DeviceCounters {
            reads,
            read: bytes(self, row, "data_device_read_bytes")?,
            writes: unsigned(self, row, "data_device_writes")?,
            written: bytes(self, row, "data_device_written_bytes")?,
            flushes: unsigned(self, row, "data_device_flushes")?,
        }))
    }

    fn log_device(&self, row: &Columns<'_>) -> Result<Option<DeviceCounters>, Error> {
        let Some(reads) = optional(self, row, "log_device_reads")? else { return Ok(None) };
        Ok(Some(DeviceCounters {
            reads,
            read: bytes(self, row, "log_device_read_bytes")?,
            writes: unsigned(self, row, "log_device_writes")?,
            written: bytes(self, row, "log_device_written_bytes")?,
            flushes: unsigned(self, row, "log_device_flushes")?,
        }))
    }

    /// A value that is stored by its name.
    fn named<T: serde::de::DeserializeOwned>(
        &self,
        row: &Columns<'_>,
        column: &'static str,
    ) -> Result<T, Error> {
        let name = serde_json::Value::String(self.get(row, column)?);
        serde_json::from_value(name).map_err(|error| self.unreadable(column, error))
    }
}
