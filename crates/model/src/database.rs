//! What is known of a database under test, and what it and the device counted meanwhile.

use serde::{Deserialize, Serialize};

use crate::storage::DeviceCounters;
use crate::units::{Bytes, Nanos};

/// What a commit has to have done when it returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, strum::IntoStaticStr)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Durability {
    /// Everything written is on stable storage.
    #[default]
    Full,
    /// The log is written out some time later, as the databases of the PerfTools do by default: a crash may take the last
    /// transactions, never the database's integrity.
    Relaxed,
    /// Whatever the server's own settings say: as its applications have it.
    AsConfigured,
}

impl Durability {
    /// As stored and printed: `full`, `relaxed`, `as-configured`.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// Who times operations on a database.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, strum::IntoStaticStr)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum TimedBy {
    /// This program, around each call: the way to the database and back included.
    #[default]
    Client,
    /// The database, which does whole batches by itself.
    Database,
}

impl TimedBy {
    /// As stored and printed: `client`, `database`.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// The database of a phase, as it was when the phase began.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DatabaseFacts {
    /// The phase.
    pub phase: u32,
    /// Where it is: the URL without its password.
    pub url: String,
    /// Its name within the server; empty where there is none.
    pub namespace: String,
    /// Name of the engine, for example `PostgreSQL`.
    pub engine: String,
    /// Version of the engine.
    pub version: String,
    /// Size of a block (page).
    #[serde(rename = "block_bytes")]
    pub block: Bytes,
    /// Size of the data files.
    #[serde(rename = "size_bytes")]
    pub size: Bytes,
    /// Blocks that can be read by number.
    pub blocks: u64,
    /// Subscripts of each global.
    pub globals: Vec<u64>,
    /// How a block is read.
    pub read_path: String,
    /// How a subscript is set.
    pub write_path: String,
    /// What a commit has to have done.
    pub durability: Durability,
    /// What makes it so.
    pub durable_by: String,
    /// Whether block reads bypass the page cache.
    pub direct: bool,
    /// Who times.
    pub timed_by: TimedBy,
    /// What else determines the figures, as (name, value).
    #[serde(with = "pairs")]
    pub settings: Vec<(String, String)>,
}

/// Names and values in their order, as an object: so SQL can ask for one by its name.
pub(crate) mod pairs {
    use std::fmt;

    use serde::de::{Deserializer, MapAccess, Visitor};
    use serde::ser::Serializer;

    type Pairs = Vec<(String, String)>;

    pub(crate) fn serialize<S: Serializer>(pairs: &Pairs, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(pairs.iter().map(|(name, value)| (name, value)))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Pairs, D::Error> {
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
                Ok(pairs)
            }
        }
        deserializer.deserialize_map(InOrder)
    }
}

/// What a database counted of its own operations on files: calls to the operating system, so that one logical operation may
/// be none (cached) or several of them. `None` where it does not count that.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Physical {
    /// Reads of data files.
    pub data_reads: Option<u64>,
    /// Bytes of those reads.
    pub data_read_bytes: Option<u64>,
    /// Writes of data files.
    pub data_writes: Option<u64>,
    /// Bytes of those writes.
    #[serde(rename = "data_written_bytes")]
    pub data_write_bytes: Option<u64>,
    /// Synchronisations (fsync) of data files.
    pub data_syncs: Option<u64>,
    /// Writes of the log.
    pub log_writes: Option<u64>,
    /// Bytes of those writes.
    #[serde(rename = "log_written_bytes")]
    pub log_write_bytes: Option<u64>,
    /// Synchronisations (fsync) of the log.
    pub log_syncs: Option<u64>,
}

impl Physical {
    /// All counts by their names, as in SQL.
    pub const fn named(&self) -> [(&'static str, Option<u64>); 8] {
        let Physical {
            data_reads,
            data_read_bytes,
            data_writes,
            data_write_bytes,
            data_syncs,
            log_writes,
            log_write_bytes,
            log_syncs,
        } = *self;
        [
            ("data_reads", data_reads),
            ("data_read_bytes", data_read_bytes),
            ("data_writes", data_writes),
            ("data_written_bytes", data_write_bytes),
            ("data_syncs", data_syncs),
            ("log_writes", log_writes),
            ("log_written_bytes", log_write_bytes),
            ("log_syncs", log_syncs),
        ]
    }

    /// What was added since `earlier`, a reading of the same database. A counter that went back (the server was started
    /// anew) is not known.
    pub fn since(&self, earlier: &Physical) -> Physical {
        let difference = |now: Option<u64>, then: Option<u64>| now?.checked_sub(then?);
        Physical {
            data_reads: difference(self.data_reads, earlier.data_reads),
            data_read_bytes: difference(self.data_read_bytes, earlier.data_read_bytes),
            data_writes: difference(self.data_writes, earlier.data_writes),
            data_write_bytes: difference(self.data_write_bytes, earlier.data_write_bytes),
            data_syncs: difference(self.data_syncs, earlier.data_syncs),
            log_writes: difference(self.log_writes, earlier.log_writes),
            log_write_bytes: difference(self.log_write_bytes, earlier.log_write_bytes),
            log_syncs: difference(self.log_syncs, earlier.log_syncs),
        }
    }
}

/// Logical against physical: what a phase's operations on a database took.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DatabaseUse {
    /// The phase.
    pub phase: u32,
    /// What the devices under the data files counted over the phase, ramp included: everybody's operations on them, not the
    /// database's alone. `None` where they can't be asked.
    pub data_device: Option<DeviceCounters>,
    /// The devices under the log, where they are others than those under the data.
    pub log_device: Option<DeviceCounters>,
    /// What the database itself counted.
    pub database: Physical,
    /// Time during which the database wrote data files (its write daemon, checkpointer or page cleaner was active), seen by
    /// looking at its counters several times a second; `None` where it does not count.
    #[serde(rename = "writer_active_ns")]
    pub writer_active: Option<Nanos>,
    /// Time looked at: the phase's, ramp and drain included.
    #[serde(rename = "observed_ns")]
    pub observed: Nanos,
    /// CPU time of this program meanwhile.
    #[serde(rename = "tool_cpu_ns")]
    pub tool_cpu: Nanos,
    /// CPU time that all of the host was busy meanwhile; `None` where that is not known.
    #[serde(rename = "host_cpu_ns")]
    pub host_cpu: Option<Nanos>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_are_of_what_is_known_at_both_ends() {
        let earlier = Physical { data_reads: Some(5), data_writes: Some(9), ..Physical::default() };
        let now = Physical { data_reads: Some(12), data_writes: Some(2), log_syncs: Some(1), ..earlier };
        let did = now.since(&earlier);
        assert_eq!((did.data_reads, did.data_writes, did.log_syncs), (Some(7), None, None));
    }
}
