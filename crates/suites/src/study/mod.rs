//! Studies: the same operations under one circumstance after another.
//!
//! Their steps are known beforehand, except for how many there are; what the windows say is worked out when they have been
//! measured.

mod block_size;
mod cache;
mod figures;
mod procedure;
mod read_ahead;
mod subject;

pub use block_size::{BlockSizeStudy, DEFAULT_BLOCKS};
pub use cache::CacheStudy;
pub use procedure::{Study, StudyPreparation, StudyProcedure};
pub use read_ahead::{DEFAULT_READ_AHEAD, ReadAheadStudy};
pub use subject::{Before, OWN_FILE, StudyStep, Subject};

#[cfg(test)]
mod tests;
