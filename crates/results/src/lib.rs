//! A run is what its events say, and nothing else.
//!
//! [`Run`] is the fold over [`iolite_model::Event`]. Whoever folds the events of a running measurement, and whoever folds
//! those that the store has kept, gets the same run; every output is a function of it.

pub mod ab;
pub mod comparison;
mod fold;
mod imported;
pub mod perftools;
mod phase_detail;
mod pts;
mod readings;
mod request;
mod run;
mod verification;

pub use imported::Imported;
pub use phase_detail::{PhaseDetail, ReadBack};
pub use pts::{
    MAX_POINT_RESPONSE, MAX_RANGE, MAX_RISE, PtsCriteria, PtsDemandFigures, PtsFigures, PtsProgress,
    PtsRounds, PtsStageFigures, PtsWindow,
};
pub use readings::{READINGS_KEPT, Readings};
pub use request::RunRequest;
pub use run::{Run, RunWatch};
pub use verification::StateVerified;
