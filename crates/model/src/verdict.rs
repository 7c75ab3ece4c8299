//! The answer: is this storage good enough, and if not, why not?

use std::fmt;

use serde::{Deserialize, Serialize};

/// How good the storage is for a profile. Ordered from good to bad.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fitness {
    /// Every criterion holds.
    Fit,
    /// A criterion is missed by little, or the measurement does not allow more to be said.
    Marginal,
    /// A criterion is missed clearly.
    Unfit,
}

/// One criterion and how it came out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Reason {
    /// Outcome of this criterion alone.
    pub fitness: Fitness,
    /// What was judged, for example `random read 8 KiB, p99.9 at the knee (8 outstanding)`.
    pub what: String,
    /// What was measured, with its uncertainty, as text.
    pub measured: String,
    /// What was requested, as text.
    pub asked: String,
    /// The measured value as a number (nanoseconds or operations per second), for machines.
    pub value: f64,
    /// The bound as a number of the same unit.
    pub bound: f64,
}

/// The answer with its reasons.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    /// Name of the profile judged by.
    pub profile: String,
    /// The worst of the reasons.
    pub fitness: Fitness,
    /// One reason per criterion, in the profile's order.
    pub reasons: Vec<Reason>,
}

impl Verdict {
    /// The verdict that follows from the reasons: the worst of them; without any, `marginal`, for nothing was shown.
    pub fn of(profile: &str, reasons: Vec<Reason>) -> Verdict {
        let fitness = reasons.iter().map(|reason| reason.fitness).max().unwrap_or(Fitness::Marginal);
        Verdict { profile: profile.to_owned(), fitness, reasons }
    }
}

impl fmt::Display for Fitness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Fitness::Fit => "fit",
            Fitness::Marginal => "marginal",
            Fitness::Unfit => "unfit",
        })
    }
}
