//! Where a database sends what is written to it, besides its data files and the log that it needs after a crash.

use serde::{Deserialize, Serialize};

use crate::units::Bytes;

/// A place to which a database also sends what is written to it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum LogCopy {
    /// The binary log of MariaDB or MySQL.
    BinaryLog {
        /// Replicas that read it now.
        replicas: u32,
        /// Whether this role may keep its statements out of it (`sql_log_bin=0`).
        skippable: bool,
    },
    /// The other nodes of a Galera cluster.
    Cluster {
        /// Nodes, this one included.
        nodes: u32,
    },
    /// Receivers of PostgreSQL's write-ahead log: standbys, `pg_receivewal`, subscribers.
    Receivers {
        /// Receivers that are connected now.
        count: u32,
    },
    /// PostgreSQL's archive of the write-ahead log.
    Archive {
        /// The command or library that archives.
        by: String,
    },
    /// Replication slots that nobody reads now: the server keeps the log for them.
    IdleSlots {
        /// Their names.
        names: Vec<String>,
    },
    /// Publications of all tables, those that are created later included.
    Publications {
        /// Their names.
        names: Vec<String>,
    },
}

/// What is written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CopiedWrites {
    /// For example `the rows of the blocks`.
    pub what: String,
    /// About how much; `None` where that is not known beforehand.
    pub bytes: Option<Bytes>,
    /// Whether it is kept out of a binary log.
    pub skipped: bool,
}

impl CopiedWrites {
    /// About so much, in every log.
    pub fn of(what: impl Into<String>, bytes: Option<Bytes>) -> CopiedWrites {
        CopiedWrites { what: what.into(), bytes, skipped: false }
    }

    /// The same for one of the places, where it is kept out of the binary log if it may be.
    pub fn kept_out_of(&self, copy: &LogCopy) -> CopiedWrites {
        let may = matches!(copy, LogCopy::BinaryLog { skippable: true, .. });
        CopiedWrites { skipped: self.skipped && may, ..self.clone() }
    }
}

impl LogCopy {
    /// What this means for what is written, with advice.
    pub fn describe(&self, written: &CopiedWrites) -> String {
        let CopiedWrites { what, bytes, skipped } = written;
        let size = bytes.map(|bytes| format!(" (about {bytes})")).unwrap_or_default();
        match self {
            LogCopy::BinaryLog { replicas, .. } if *skipped => {
                let readers = match replicas {
                    0 => "a replica".to_owned(),
                    n => format!("the {n} connected {}", if *n == 1 { "replica" } else { "replicas" }),
                };
                format!(
                    "{what}{size} are kept out of the binary log (sql_log_bin=0): {readers} will have the tables without these rows, \
                     and RanRead runs on this server only; to write them to the binary log too, use --binary-log"
                )
            }
            LogCopy::BinaryLog { replicas, .. } => {
                let readers = match replicas {
                    0 => String::new(),
                    n => {
                        format!(" and sent to {n} connected {}", if *n == 1 { "replica" } else { "replicas" })
                    }
                };
                format!(
                    "{what}{size} are also written to the binary log{readers}: its file system needs that space until the log expires \
                     (binlog_expire_logs_seconds), and backups of the log contain it"
                )
            }
            LogCopy::Cluster { nodes } => format!(
                "this server is a node of a Galera cluster of {nodes}: {what}{size} are written on every node, and commits wait for all \
                 of them; to measure the storage alone, use a server outside of the cluster"
            ),
            LogCopy::Receivers { count } => format!(
                "{what}{size} are also sent to {count} {} of the write-ahead log (pg_stat_replication): a slow one keeps the log on \
                 this server",
                if *count == 1 { "receiver" } else { "receivers" }
            ),
            LogCopy::Archive { by } => format!(
                "WAL archiving is on (archive_mode): {what}{size} are also archived by {by}; if it falls behind, pg_wal grows"
            ),
            LogCopy::IdleSlots { names } => format!(
                "nobody reads the replication {} {}: the server keeps the write-ahead log of {what}{size} in pg_wal until it is read or \
                 the slot is dropped (pg_drop_replication_slot)",
                if names.len() == 1 { "slot" } else { "slots" },
                names.join(", ")
            ),
            LogCopy::Publications { names } => {
                let (noun, verb) =
                    if names.len() == 1 { ("publication", "is") } else { ("publications", "are") };
                format!(
                    "the {noun} {} {verb} for all tables, also those of iolite: subscribers without these tables stop replicating with \
                     an error; measure in another database of this server",
                    names.join(", ")
                )
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(copy: &LogCopy, skipped: bool) -> String {
        let bytes = Some(Bytes(345_000_000));
        copy.describe(&CopiedWrites { what: "the rows of the blocks".into(), bytes, skipped })
    }

    #[test]
    fn what_is_written_elsewhere_is_said_with_its_amount() {
        let binary = |replicas| LogCopy::BinaryLog { replicas, skippable: true };
        assert!(
            of(&binary(2), false).contains(
                "(about 329 MiB) are also written to the binary log and sent to 2 connected replicas"
            )
        );
        assert!(!of(&binary(0), false).contains("replica"));
        assert!(
            of(&binary(1), true).contains("the 1 connected replica will have the tables without these rows")
        );
        assert!(
            of(&LogCopy::Archive { by: "`cp %p /archive`".into() }, false)
                .contains("archived by `cp %p /archive`")
        );
        assert!(
            of(&LogCopy::IdleSlots { names: vec!["a".into(), "b".into()] }, false).contains("slots a, b")
        );
        assert!(
            of(&LogCopy::Publications { names: vec!["all".into()] }, false)
                .contains("the publication all is for all tables")
        );
    }
}
