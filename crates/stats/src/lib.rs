//! Statistics specific to storage: recorder, histogram, estimates and the knee. No clocks, no I/O, no printing.
//!
//! The measured loop writes into a [`Recorder`], which it owns alone. At each interval's end the recorder hands a
//! [`Snapshot`] over, without locks or allocation, to a thread that does not measure; there [`Collector`] adds them
//! up into the intervals that are stored and the [`PhaseTotals`] that are judged.

mod collector;
mod estimate;
mod histogram;
mod knee;
mod recorder;
mod summary;
mod tally;

pub use collector::{Collector, PhaseTotals, Point};
pub use estimate::{Direction, Estimate};
pub use histogram::{Histogram, HistogramError};
pub use knee::{Knee, LoadPoint, ScalingModel, refine, still_growing};
pub use recorder::{Completion, Feed, Recorder, Slot, Snapshot, Timetable, recorder};
pub use summary::{PhaseResult, Summary};
