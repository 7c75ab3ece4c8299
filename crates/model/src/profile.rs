//! A profile: what storage must do to be fit for a purpose.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::units::Nanos;

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
    /// Time of an fdatasync after an 8 KiB append to a preallocated file.
    FdatasyncPreallocated,
    /// Time of an fdatasync after an 8 KiB append to a growing file.
    FdatasyncGrowing,
    /// Response time of RanRead's block reads, at the knee.
    DbRanRead,
}

impl fmt::Display for Measure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Measure::RandomRead8k => "random read 8 KiB",
            Measure::RandomRead64k => "random read 64 KiB",
            Measure::RandomWrite8k => "random write 8 KiB",
            Measure::FdatasyncPreallocated => "fdatasync, preallocated",
            Measure::FdatasyncGrowing => "fdatasync, growing",
            Measure::DbRanRead => "database RanRead",
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
