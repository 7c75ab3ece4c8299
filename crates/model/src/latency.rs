//! The largest load that keeps a response time: what is asked, what was tried, what came of it.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::task::FileTask;
use crate::units::{Iops, Nanos, Quantile};

/// What is asked of the response times, and which load is varied.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct LatencyTarget {
    /// What the response time must not exceed...
    #[serde(rename = "bound_ns")]
    pub bound: Nanos,
    /// ...with this share of the operations.
    pub quantile: Quantile,
    /// Measured time of each try, where so many operations come together that the quantile can rest on them; a search may
    /// take up to ten times as long else.
    #[serde(rename = "window_ns")]
    pub window: Nanos,
    /// Time before each window that is left out.
    #[serde(rename = "ramp_ns")]
    pub ramp: Nanos,
    /// What is varied.
    #[serde(flatten)]
    pub parameter: LoadParameter,
}

/// Which load is varied.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "parameter")]
pub enum LoadParameter {
    /// Operations outstanding in a closed loop, by whole numbers.
    Depth {
        /// The most to try.
        max: u32,
    },
    /// Operations a second in an open loop, with the task's concurrency outstanding at most.
    Rate {
        /// The most to try; without it, a billion a second.
        max: Option<Iops>,
        /// How close to the true answer, as a share of it ([`LoadParameter::PRECISION`] as a rule).
        precision: f64,
    },
}

impl LoadParameter {
    /// The usual precision of a rate.
    pub const PRECISION: f64 = 0.05;
}

/// A load that was tried.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Load {
    /// Operations outstanding.
    Depth(u32),
    /// Operations a second asked for.
    #[serde(rename = "rate_iops")]
    Rate(Iops),
}

/// What a try is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TryPurpose {
    /// A closed loop with one operation outstanding: from its rate the search for a rate starts.
    Sounding,
    /// Closing in.
    Search,
    /// Whether the answer is kept again.
    Confirmation,
}

/// How a try came out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TryOutcome {
    /// Nothing was asked of it.
    Sounded,
    /// The bound was kept.
    Kept,
    /// It was not.
    Broken,
    /// The rate was not reached, whatever the response times.
    Behind,
    /// Too few operations for the quantile: the load is tried again in a longer window.
    TooFew,
}

/// A window and what was found in it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Try {
    /// The phase's number.
    pub phase: u32,
    /// Measured time asked for.
    #[serde(rename = "window_ns")]
    pub window: Nanos,
    /// The load asked for.
    #[serde(flatten)]
    pub load: Load,
    /// What it was for.
    pub purpose: TryPurpose,
    /// How it came out.
    pub outcome: TryOutcome,
    /// The quantile of the response times that was judged: by operations or by time, whichever is longer; `None` where nothing
    /// completed.
    #[serde(rename = "quantile_ns")]
    pub quantile: Option<Nanos>,
    /// Operations that it rests on.
    pub operations: u64,
    /// Operations a second that came of it.
    #[serde(rename = "iops")]
    pub rate: Iops,
    /// Operations that were due by the end but not yet issued.
    pub backlog: u64,
}

/// What came of a search.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LatencyAnswer<Failure = String> {
    /// The largest load that kept the bound.
    Found {
        /// The load.
        load: Load,
        /// More was not tried.
        limited: bool,
        /// The largest load that surely kept it (lower end of a 95 % interval within this run); `None` where none is that sure.
        low: Option<Load>,
        /// The smallest load that surely did not: the answer lies below it.
        high: Option<Load>,
    },
    /// Even the lowest load broke it.
    NoneKept {
        /// That load.
        lowest: Load,
    },
    /// The search could not go on; stored, why as text.
    Failed(Failure),
}

impl<Failure: fmt::Display> LatencyAnswer<Failure> {
    /// As it is stored.
    pub fn in_words(self) -> LatencyAnswer {
        match self {
            LatencyAnswer::Found { load, limited, low, high } => {
                LatencyAnswer::Found { load, limited, low, high }
            }
            LatencyAnswer::NoneKept { lowest } => LatencyAnswer::NoneKept { lowest },
            LatencyAnswer::Failed(failure) => LatencyAnswer::Failed(failure.to_string()),
        }
    }
}

impl fmt::Display for Load {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Load::Depth(depth) => f.pad(&format!("{depth} outstanding")),
            Load::Rate(rate) => f.pad(&format!("{rate} IOPS")),
        }
    }
}

/// What was asked for: the target, and the task that is searched on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LatencyTerms {
    /// The task.
    pub task: FileTask,
    /// The target.
    pub target: LatencyTarget,
}
