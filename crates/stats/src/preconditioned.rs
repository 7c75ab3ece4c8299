//! What came of the random writes before a measurement.

use serde::{Deserialize, Serialize};

/// What came of the rounds of random writes that a thorough check begins with.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Preconditioned {
    /// Whether the rate was steady in the last five rounds.
    pub steady: bool,
    /// Rounds.
    pub rounds: u32,
    /// Mean rate of the last five, in operations per second.
    #[serde(with = "iolite_model::real")]
    pub iops: f64,
    /// Largest distance of one of them from their mean, in percent of it.
    #[serde(with = "iolite_model::real")]
    pub deviation_percent: f64,
}
