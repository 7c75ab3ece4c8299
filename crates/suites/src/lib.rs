//! Procedures that decide the next step and, at the end, the verdict. They do no I/O: given what has been measured,
//! they answer with what to run next.

mod ab;
mod check;
mod checkpoints;
mod classic;
mod database;
mod durability_check;
mod hot_page;
mod iometer;
mod job_list;
mod judge;
mod latency_target;
mod layers;
mod phase_warnings;
mod procedure;
mod profiles;
mod pts;
mod repeat;
mod search;
mod shuffle;
mod single;
mod stalls;
mod study;
mod sweep;
mod user_sweep;

pub use ab::{Ab, CreatedFiles};
pub use check::{Check, CheckError, CheckOptions, DatabaseSize};
pub use checkpoints::{partial_cycles, unknown_cycles};
pub use classic::{Classic, ClassicError, ClassicPreparation, ClassicRequest, ClassicTest};
pub use database::{DatabaseState, database_warnings, small_database};
pub use durability_check::{DurabilityCheck, DurabilityStep};
pub use hot_page::hot_page_advice;
pub use iolite_stats::{SteadyRule, SteadyWatch, SteadyWindow};
pub use iometer::{Iometer, IometerAccess, IometerError};
pub use job_list::JobList;
pub use latency_target::{
    LatencyConclusion, LatencyFailure, LatencyFound, LatencyProcedure, LatencySearch, LatencyStep,
    LatencyTargetError,
};
pub use layers::{DatabaseCommits, Layers, LayersDatabase, LayersOptions};
pub use phase_warnings::phase_warnings;
pub use procedure::{Conclusions, CutShort, Nothing, Procedure, Step};
pub use profiles::{BUILT_IN, ProfileError, built_in, parse};
pub use pts::{
    Pts, PtsAccess, PtsError, PtsPreparation, PtsPurgeRequest, PtsRange, PtsRequest, PtsTarget,
    PtsWriteCacheRequest,
};
pub use repeat::Repeat;
pub use single::SingleStep;
pub use stalls::{Outlier, StalledPhase, Stalls};
pub use study::{
    Before, BlockSizeStudy, CacheStudy, DEFAULT_BLOCKS, DEFAULT_READ_AHEAD, OWN_FILE, ReadAheadStudy, Study,
    StudyPreparation, StudyProcedure, StudyStep, Subject,
};
pub use sweep::{Sweep, SweepError, SweepOptions};
pub use user_sweep::{UserSweep, UserSweepError, default_users};
