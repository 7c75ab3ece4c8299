//! A profile: what storage must do to be fit for a purpose.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::parse::ParseError;
use crate::units::{Bandwidth, Iops, Nanos};

/// What storage must do to be fit for a purpose; read from TOML, see the built-in ones for the format.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    /// Short name, for example `oltp-flash`.
    pub name: String,
    /// What it is for, in a sentence.
    pub description: String,
    /// Where the bounds come from.
    pub source: String,
    /// What must hold; all of them.
    #[serde(rename = "criterion")]
    pub criteria: Vec<Criterion>,
    /// What throughput must be reached; all of them.
    #[serde(default, rename = "floor", skip_serializing_if = "Vec::is_empty")]
    pub floors: Vec<Floor>,
}

/// One lower bound on throughput.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Floor {
    /// What is judged.
    pub measure: Measure,
    /// The least throughput. Of random reads it is that within the bound on their mean response time.
    pub at_least: Rate,
    /// Down to `at_least` divided by this the verdict is `marginal` rather than `unfit`.
    #[serde(default = "default_marginal")]
    pub marginal_factor: f64,
    /// Where the bound comes from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
}

/// A throughput, written as `3000 IOPS` or `125 MiB/s`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Rate {
    /// Operations per second.
    Operations(Iops),
    /// Bytes per second.
    Bytes(Bandwidth),
}

impl TryFrom<String> for Rate {
    type Error = ParseError;

    fn try_from(text: String) -> Result<Rate, ParseError> {
        let wrong = || ParseError::new(&text, "throughput", "write for example `3000 IOPS` or `125 MiB/s`");
        if let Some(number) = text.trim().strip_suffix("IOPS") {
            let number: f64 = number.trim().parse().map_err(|_| wrong())?;
            return if number.is_finite() && number > 0.0 {
                Ok(Rate::Operations(Iops(number)))
            } else {
                Err(wrong())
            };
        }
        let bandwidth: Bandwidth = text.parse().map_err(|_| wrong())?;
        if bandwidth.0 > 0.0 { Ok(Rate::Bytes(bandwidth)) } else { Err(wrong()) }
    }
}

impl From<Rate> for String {
    fn from(rate: Rate) -> String {
        match rate {
            Rate::Operations(rate) => format!("{} IOPS", rate.0),
            Rate::Bytes(bandwidth) => format!("{}B/s", bandwidth.0),
        }
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Rate::Operations(rate) => write!(f, "{rate} IOPS"),
            Rate::Bytes(bandwidth) => write!(f, "{bandwidth}"),
        }
    }
}

/// One bound on one measured value.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Criterion {
    /// What is judged.
    pub measure: Measure,
    /// A quantile between 0 and 1; without it, the mean.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quantile: Option<f64>,
    /// The time that must not be exceeded.
    #[serde(with = "duration_text")]
    pub at_most: Nanos,
    /// How far above `at_most` (as a factor, for example 1.5) is still `marginal` rather than `unfit`.
    #[serde(default = "default_marginal")]
    pub marginal_factor: f64,
    /// Where the bound comes from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
}

fn default_marginal() -> f64 {
    1.25
}

/// What a criterion can judge.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Measure {
    /// Response time of 8 KiB random reads, at the knee or at the target rate.
    #[serde(rename = "random-read-8k")]
    RandomRead8k,
    /// Response time of 64 KiB random reads, at the knee or at the target rate.
    #[serde(rename = "random-read-64k")]
    RandomRead64k,
    /// Response time of 8 KiB random writes.
    #[serde(rename = "random-write-8k")]
    RandomWrite8k,
    /// Throughput of sequential reads of 1 MiB.
    SequentialRead,
    /// Throughput of sequential writes of 1 MiB.
    SequentialWrite,
    /// Time of an fdatasync after a buffered append of 2,300 bytes to a preallocated file: what etcd's own metric
    /// (etcd_disk_wal_fsync_duration_seconds) measures, the write not included.
    FdatasyncAppend,
    /// Time of a buffered append of 8 KiB to a growing file with its fdatasync: a log whose files are created for each write.
    CommitGrowing,
    /// Time of a direct overwrite of 8 KiB of written blocks with its fdatasync.
    CommitOverwriteDirect,
    /// Time of a buffered overwrite of 8 KiB of written blocks with its fdatasync: recycled segments of PostgreSQL's log, and
    /// InnoDB's log.
    CommitOverwriteBuffered,
    /// Time of a buffered overwrite of 8 KiB of written blocks of a file opened with O_DSYNC: PostgreSQL's
    /// wal_sync_method=open_datasync, InnoDB's O_DSYNC.
    CommitOverwriteDsync,
    /// Response time of RanRead's block reads, at the knee.
    DbRanRead,
    /// Time of RanWrite's commits of 50 sets by 4 jobs.
    DbCommit,
}

impl fmt::Display for Measure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Measure::RandomRead8k => "random read 8 KiB",
            Measure::RandomRead64k => "random read 64 KiB",
            Measure::RandomWrite8k => "random write 8 KiB",
            Measure::SequentialRead => "sequential read 1 MiB",
            Measure::SequentialWrite => "sequential write 1 MiB",
            Measure::FdatasyncAppend => "fdatasync after a buffered append",
            Measure::CommitGrowing => "commit to a growing file",
            Measure::CommitOverwriteDirect => "commit, direct overwrite",
            Measure::CommitOverwriteBuffered => "commit, buffered overwrite",
            Measure::CommitOverwriteDsync => "commit, O_DSYNC overwrite",
            Measure::DbRanRead => "database RanRead",
            Measure::DbCommit => "database commit",
        })
    }
}

mod duration_text {
    use serde::{Deserialize, Deserializer, Serializer};

    use crate::units::Nanos;

    pub(super) fn serialize<S: Serializer>(value: &Nanos, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&format!("{}ns", value.0))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Nanos, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}
