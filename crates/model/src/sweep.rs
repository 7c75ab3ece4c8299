//! A sweep over the number of jobs on a database: what was asked, and why it ended.

use serde::{Deserialize, Serialize};

use crate::ran::DbOperation;
use crate::units::{Iops, Nanos};

/// What a sweep is to be like.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SweepTerms {
    /// What each job does.
    pub operation: DbOperation,
    /// The numbers of jobs to run, ascending. Empty: 1, 5, 10, 20, 40 and so on until a rule ends it.
    pub jobs: Vec<u32>,
    /// Measured time of a step.
    #[serde(rename = "step_ns")]
    pub step: Nanos,
    /// Time at the start of each step that is left out.
    #[serde(rename = "ramp_ns")]
    pub ramp: Nanos,
    /// How often each step is run; at least 1.
    pub repeat: u32,
    /// Steps between those of the list, to see the knee more closely.
    pub closer: u32,
    /// Mean response time per operation beyond which more jobs are of no interest, in two steps in a row.
    #[serde(rename = "stop_response_ns")]
    pub stop_response: Nanos,
    /// Growth of the operations per second over a doubling of the jobs below which they are said not to grow: 0.1 is 10 %.
    pub min_growth: f64,
    /// Acceptable mean response time.
    #[serde(rename = "average_ns")]
    pub average: Nanos,
    /// Acceptable longest response time.
    #[serde(rename = "ceiling_ns")]
    pub ceiling: Nanos,
    /// Judge where this rate is reached rather than at the knee.
    pub target_iops: Option<Iops>,
}

impl SweepTerms {
    /// Measured time of a step: the articles say 30 to 60 s.
    pub const STEP: Nanos = Nanos(30_000_000_000);
    /// The articles raise the number of jobs until response time is consistently over this.
    pub const STOP_RESPONSE: Nanos = Nanos(10_000_000);
    /// As the search for the knee in a check.
    pub const MIN_GROWTH: f64 = 0.1;
    /// The articles' guide for uncached random reads on all-flash arrays: on average.
    pub const AVERAGE: Nanos = Nanos(2_000_000);
    /// The same: never above.
    pub const CEILING: Nanos = Nanos(5_000_000);
    /// Closer looks at the knee.
    pub const CLOSER: u32 = 2;
    /// Jobs at most where globals do not limit them.
    pub const MAX_JOBS: u32 = 1280;

    /// As the articles have it.
    pub const fn new(operation: DbOperation) -> SweepTerms {
        SweepTerms {
            operation,
            jobs: Vec::new(),
            step: SweepTerms::STEP,
            ramp: Nanos::SECOND,
            repeat: 1,
            closer: SweepTerms::CLOSER,
            stop_response: SweepTerms::STOP_RESPONSE,
            min_growth: SweepTerms::MIN_GROWTH,
            average: SweepTerms::AVERAGE,
            ceiling: SweepTerms::CEILING,
            target_iops: None,
        }
    }
}

/// Why a sweep raised the number of jobs no further.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "kebab-case", tag = "end")]
pub enum SweepEnd {
    /// Response time stayed over the limit.
    #[error("the mean response time exceeded {limit} with {before} and with {jobs} jobs")]
    ResponseOver {
        /// The limit.
        #[serde(rename = "limit_ns")]
        limit: Nanos,
        /// Jobs of the first of the two steps.
        before: u32,
        /// Jobs of the second.
        jobs: u32,
    },
    /// The rate no longer grew.
    #[error(
        "IOPS no longer grew: from {} to {jobs} jobs by {:.1} % per doubling of the jobs", .before, .growth * 100.0
    )]
    NotGrowing {
        /// Jobs of the step before the last.
        before: u32,
        /// Jobs of the last step.
        jobs: u32,
        /// Growth over a doubling of the jobs, at the last step: 0.1 is 10 %.
        growth: f64,
    },
    /// Every step of the list was run.
    #[error("all numbers of jobs in the list were run")]
    ListDone,
    /// There are no more globals, of which each job needs one.
    #[error(
        "there are only {globals} globals, and each job needs one: add globals (add-globals) to continue"
    )]
    Globals {
        /// How many.
        globals: u32,
    },
    /// As many jobs as are allowed.
    #[error("the maximum of {max} jobs was reached")]
    MaxJobs {
        /// How many.
        max: u32,
    },
    /// A step could not be started.
    #[error("{jobs} jobs could not be started: {why}")]
    NotStarted {
        /// How many.
        jobs: u32,
        /// Why, and what would help.
        why: String,
    },
    /// Operations failed.
    #[error("with {jobs} jobs: {why}")]
    Failed {
        /// Jobs of the step.
        jobs: u32,
        /// What happened.
        why: String,
    },
    /// By the user.
    #[error("interrupted")]
    Interrupted,
}

/// The step that response times were judged at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JudgedStep {
    /// Its jobs.
    pub jobs: u32,
    /// Why it is this one, as text: `the knee`.
    pub why: String,
}
