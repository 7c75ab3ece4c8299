//! Statistics specific to storage: recorder, histogram, estimates and the knee. No clocks, no I/O, no printing.
//!
//! The measured loop writes into a [`Recorder`], which it owns alone. At each interval's end the recorder hands a
//! [`Snapshot`] over, without locks or allocation, to a thread that does not measure; there [`Collector`] adds them
//! up into the intervals that are stored and the [`PhaseTotals`] that are judged. Where the workers are processes, each has a
//! collector of its own, whose intervals the parent's adds up. A [`Merger`] makes totals of intervals alone.

mod buckets;
mod cap;
mod change;
mod collector;
mod conclusions;
mod counts;
mod coverage;
mod detail;
mod difference;
mod estimate;
mod histogram;
mod knee;
mod merge;
mod preconditioned;
mod ramp;
mod rare;
mod rate_bounds;
mod recorder;
mod repeat;
mod sections;
mod series;
mod sign;
mod steady;
mod stored;
mod streamed;
mod summary;
mod sums;
mod tally;
mod timetable;
mod totals;
mod tproc_c_rates;
mod whole_cycles;

pub use cap::{Cap, CapFound, cap};
pub use change::{Change, PhaseChanges, changes};
pub use collector::Collector;
pub use detail::{Detail, DetailRecorder, PriorityTimes};
pub use difference::{Covers, Difference, MAX_REPEATS, Sequential, SequentialInterval, shown};
pub use estimate::{Direction, Estimate, Z_95};
pub use histogram::{Histogram, HistogramError};
pub use knee::{Knee, KneeFound, LoadPoint, ScalingModel, refine, still_growing};
pub use merge::Merger;
pub use preconditioned::Preconditioned;
pub use ramp::AmountRamp;
pub use rate_bounds::{KindBounds, RateBounds};
pub use recorder::{Completion, Feed, Recorder, Snapshot, recorder};
pub use repeat::{Logical, SweepConcluded, SweptStep};
pub use series::Point;
pub use sign::SignTest;
pub use steady::{SteadyRule, SteadyWatch, SteadyWindow};
pub use stored::StoredTotals;
pub use streamed::Streamed;
pub use summary::{PhaseResult, Summary};
pub use timetable::{Slot, Timetable};
pub use totals::PhaseTotals;
pub use tproc_c_rates::TprocCRates;
pub use whole_cycles::WholeCycles;
