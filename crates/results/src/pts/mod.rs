//! Where a run of SNIA's specification is, and what its figures are. The procedure decides by it, and the report prints it.

mod demand;
mod missing;
mod progress;
mod stage;
mod window;

pub use demand::{MAX_POINT_RESPONSE, PtsDemandFigures};
pub use progress::{PtsFigures, PtsProgress, PtsRounds};
pub use stage::PtsStageFigures;
pub use window::{MAX_RANGE, MAX_RISE, PtsCriteria, PtsWindow};
